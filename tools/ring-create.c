/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring create: the process around a keeper, or a command with both ends of a socket
 *
 * The keeper stays in the foreground, so that a shell or a service manager owns it. Its end takes
 * the name away and leaves a channel that both sides hold alone: they are connected with each
 * other.
 */

#include "ring.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/units.h"
#include "service/service.h"

#include "tool.h"

#define SOCKET_MODE 0600
#define LISTENER "ring"

struct creating {
	struct tool_run *run;
	const struct ring_values *values;
	const char *name;
	size_t capacity;
	struct text path;
	struct service *service;
	struct keeper *keeper;
};

static void creating_deinit(struct creating *creating)
{
	(void)keeper_free(creating->keeper);
	(void)service_free(creating->service);
	text_deinit(&creating->path);
}

static void on_over(void *userdata)
{
	struct creating *creating = userdata;

	service_stop(creating->service, TOOL_YES);
}

static int make_keeper(struct creating *creating, struct sbx_error *err)
{
	const struct ring_values *values = creating->values;
	const struct keeper_options options = {
		.name = creating->name,
		.capacity = creating->capacity,
		.is_call = values->mode && strcmp(values->mode, "call") == 0,
		.keeps = values->keep,
		.log = &creating->run->log,
		.ready = service_ready(creating->service),
		.on_over = on_over,
		.userdata = creating,
	};
	int r = keeper_new(&options, &creating->keeper);

	return r < 0 ? sbx_error_what(err, r, "cannot keep the channel '%s'", creating->name) : 0;
}

/* ---- the directory of the keepers' sockets ---- */

#define WRITABLE_BY_OTHERS 022
#define OPEN_TO_OTHERS 077

static int refuse_directory(struct sbx_error *err, int code, const char *path, const char *why)
{
	return error_fill(
		err, code, why,
		"set XDG_RUNTIME_DIR to a directory of your own, or correct its owner and "
		"mode",
		"cannot use the directory of the channels, '%s'", path);
}

/* Refuses the mode bits @forbidden and links. */
static int make_ours(const char *path, mode_t mode, mode_t forbidden, struct sbx_error *err)
{
	struct stat st;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return refuse_directory(err, -errno, path, NULL);
	if (lstat(path, &st) < 0)
		return refuse_directory(err, -errno, path, NULL);
	if (!S_ISDIR(st.st_mode))
		return refuse_directory(err, -ENOTDIR, path, "it is not a directory");
	if (st.st_uid != geteuid())
		return refuse_directory(err, -EPERM, path, "it belongs to another user");
	return (st.st_mode & forbidden) == 0
		       ? 0
		       : refuse_directory(err, -EPERM, path,
					  "other users may write there, or read it");
}

/*
 * Another user with write access to the directory could offer a socket of the same name. The
 * parents are the caller's own and checked first, so that no other user can replace a directory
 * after its check.
 */
static int make_directory(struct text *out, struct sbx_error *err)
{
	_cleanup_free_ char *parent = NULL;
	bool is_root = geteuid() == 0;
	int r = named_add_directory(out, environ);

	if (r == 0)
		parent = strndup(out->data, (size_t)(strrchr(out->data, '/') - out->data));
	if (!parent)
		return sbx_error_what(err, -ENOMEM, "cannot find the directory of the channels");
	/* root's directory also has sockets that other users may connect to */
	r = make_ours(parent, is_root ? 0755 : 0700, WRITABLE_BY_OTHERS, err);
	return r < 0 ? r : make_ours(out->data, 0700, OPEN_TO_OTHERS, err);
}

/* ---- with a name ---- */

static int listen_by_name(struct creating *creating, struct sbx_error *err)
{
	int r = make_directory(&creating->path, err);

	if (r < 0)
		return r;
	text_addf(&creating->path, "/%s" NAMED_SUFFIX, creating->name);
	if (text_status(&creating->path) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot create the channel");
	r = service_listen(creating->service, LISTENER, text_string(&creating->path), SOCKET_MODE,
			   keeper_clients(creating->keeper), err);
	/* The errors of listen_open() are about paths; a user has typed a name. */
	if (r == -EADDRINUSE)
		return error_fill(err, r, "another process keeps a channel of this name",
				  "choose another name, or end the 'sbx-ring create' that keeps it",
				  "cannot create the channel '%s'", creating->name);
	if (r == -ENAMETOOLONG)
		sbx_error_fix(err, "choose a shorter name, or set XDG_RUNTIME_DIR to a shorter "
				   "path");
	return r < 0 ? r : 0;
}

static void say_in_json(const struct creating *creating, struct text *out)
{
	const struct ring_values *values = creating->values;
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "name", creating->name);
	json_member_string(&json, "socket", text_string(&creating->path));
	json_member_string(&json, "mode", values->mode ? values->mode : "stream");
	json_member_u64(&json, "capacity", creating->capacity);
	json_member_u64(&json, "bytes", 2 * creating->capacity);
	json_member_bool(&json, "keep", values->keep);
	json_end_line(&json);
}

/* One line, when clients can connect. */
static int say(const struct creating *creating, struct sbx_error *err)
{
	struct tool_run *run = creating->run;
	const struct ring_values *values = creating->values;

	if (run->json) {
		say_in_json(creating, &run->out);
	} else if (run->verbosity >= 0) {
		text_addf(&run->out, "%s: %s, ", creating->name,
			  values->mode ? values->mode : "stream");
		units_add_size(&run->out, creating->capacity);
		text_addf(&run->out, " each way, at %s\n", text_string(&creating->path));
	}
	return tool_flush(run, err);
}

static int start(struct creating *creating, struct sbx_error *err)
{
	int r = service_new(&creating->run->log, NULL, NULL, &creating->service, err);

	if (r < 0)
		return r;
	r = make_keeper(creating, err);
	if (r < 0)
		return r;
	r = listen_by_name(creating, err);
	if (r < 0)
		return r;
	service_status(creating->service, "keeps the channel %s", creating->name);
	return say(creating, err);
}

/* ---- without a name ---- */

/* Moves the two ends to numbers that the command has free, and becomes the command. */
static int run_with_ends(struct tool_run *run, char *const argv[], struct sbx_error *err)
{
	static const char *const variables[] = { RING_SERVER_FD_VARIABLE, RING_FD_VARIABLE };
	int sockets[2], number = PROCESS_FIRST_FD, r = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return sbx_error_what(err, -errno, "cannot make the socket of the channel");
	/* The first one is the server's, which passes the fds of the channel to the other. */
	fd_refuse_fds(sockets[0]);
	for (int i = 0; i < 2 && r == 0; i++) {
		number = process_free_number(number);
		/* The second end may have the number that the first one gets. */
		if (i == 0 && sockets[1] == number)
			sockets[1] = fcntl(sockets[1], F_DUPFD_CLOEXEC, number + 1);
		r = sockets[1] < 0 ? -errno : process_give(sockets[i], number++, variables[i]);
	}
	if (r < 0)
		return sbx_error_what(err, r, "cannot give the channel to '%s'", argv[0]);
	process_exec(run, argv);
}

int ring_verb_create(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(creating_deinit) struct creating creating = {
		.run = run, .values = run->values, .name = operands[0], .path = TEXT_INIT
	};
	int r;

	operands[n_operands] = NULL;
	if (creating.values->fds &&
	    (creating.values->size > 0 || creating.values->mode || creating.values->keep))
		return ring_refuse(err, "an option that --fds does not have",
				   "with --fds the command's server makes the channel, once",
				   "leave out --keep; give --size and --mode to 'sbx-ring recv "
				   "--create', for example");
	if (creating.values->fds)
		return run_with_ends(run, operands, err);
	if (n_operands > 1)
		return ring_refuse(err, "more than one name", "a keeper has one channel",
				   "leave out the others, or add --fds to start a command");
	r = named_check(creating.name, err);
	if (r >= 0)
		r = ring_check_size(creating.values->size, &creating.capacity, err);
	if (r < 0)
		return TOOL_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(&creating, err);
	if (r < 0)
		return r == -EADDRINUSE ? TOOL_NO : r == -ENAMETOOLONG ? TOOL_USAGE : r;
	return service_run(creating.service, err);
}
