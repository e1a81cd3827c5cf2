/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy serve: decisions on a socket
 *
 * Here is only what a process needs around lib/server: its sockets, its loop, where its records go.
 */

#include "policy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "record/record.h"
#include "server/facts.h"
#include "server/server.h"
#include "service/service.h"

#include "tool.h"

#define SYSTEM_FOLDER "/run/sbx"
#define MAIN_MODE 0660
/* Whoever can reach the file may speak as the sandbox: its folder decides who that is, because a
 * sandboxed process has whatever user its namespace gives it. */
#define SANDBOX_MODE 0666

static const char *const record_names[] = {
	[SERVER_RECORDS_NONE] = "none",
	[SERVER_RECORDS_DENIALS] = "denials",
	[SERVER_RECORDS_ALL] = "all",
	NULL,
};

const struct option_spec policy_serve_options[] = {
	{ .name = "socket",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, socket),
	  .metavar = "PATH",
	  .help = "where to listen" },
	{ .name = "sandbox",
	  .kind = OPTION_LIST,
	  .offset = offsetof(struct policy_values, sandboxes),
	  .metavar = "ID[=PATH]",
	  .help = "a socket of one sandbox" },
	{ .name = "fact",
	  .kind = OPTION_LIST,
	  .offset = offsetof(struct policy_values, facts),
	  .metavar = "ID:NAME=VALUE",
	  .help = "an attribute of a sandbox" },
	{ .name = "record",
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct policy_values, record),
	  .metavar = "WHAT",
	  .choices = record_names,
	  .help = "which decisions to record (denials)" },
	{ .name = "audit-fd",
	  .kind = OPTION_FD,
	  .offset = offsetof(struct policy_values, audit_fd),
	  .metavar = "FD",
	  .help = "send records to this file descriptor" },
	{ .name = "max-clients",
	  .kind = OPTION_NUMBER,
	  .offset = offsetof(struct policy_values, max_clients),
	  .metavar = "N",
	  .help = "maximum number of clients (1024)" },
	OPTION_END,
};

/* Everything that has to end in a certain order. */
struct daemon {
	struct tool_run *run;
	const struct policy_values *values;
	struct recorder recorder;
	struct facts *sandboxes;
	struct service *service;
	struct server *server;
};

static void daemon_deinit(struct daemon *daemon)
{
	(void)server_free(daemon->server);
	(void)service_free(daemon->service);
	recorder_deinit(&daemon->recorder);
	facts_free_all(&daemon->sandboxes);
}

static int on_accept(struct service *service, const char *listener_name, int fd,
		     const struct peer *peer, void *userdata)
{
	const struct daemon *daemon = userdata;

	return server_accept(daemon->server, listener_name, fd, peer);
}

static int on_reload(struct service *service, void *userdata)
{
	const struct daemon *daemon = userdata;
	int r = server_reload(daemon->server, "signal", NULL);

	return r < 0 ? r : 0;
}

static const struct service_handlers handlers = { .accept = on_accept, .reload = on_reload };

/* ---- sandboxes ---- */

static int add_sandbox(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	_cleanup_free_ char *id = strndup(word, strcspn(word, "="));
	struct facts *facts;

	return id ? facts_add(&daemon->sandboxes, id, &facts, err)
		  : sbx_error_what(err, -ENOMEM, "cannot serve the sandbox '%s'", word);
}

static int add_fact(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	size_t len = strcspn(word, ":");
	struct facts *facts = facts_find(daemon->sandboxes, word, len);
	int r;

	if (facts && word[len] == ':')
		return facts_set(facts, word + len + 1, err);
	r = sbx_error_what(err, -EINVAL, "cannot take the fact '%s'", word);
	sbx_error_why(err, "it does not begin with the id of a sandbox that has a socket here");
	sbx_error_fix(err, "write --sandbox=ID=PATH and --fact=ID:NAME=VALUE");
	return r;
}

static int read_sandboxes(struct daemon *daemon, struct sbx_error *err)
{
	const struct policy_values *values = daemon->values;
	int r = 0;

	for (size_t i = 0; i < values->sandboxes.n_items && r >= 0; i++)
		r = add_sandbox(daemon, values->sandboxes.items[i], err);
	for (size_t i = 0; i < values->facts.n_items && r >= 0; i++)
		r = add_fact(daemon, values->facts.items[i], err);
	return r;
}

static int listen_for_sandbox(struct daemon *daemon, const char *word, struct sbx_error *err)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	size_t len = strcspn(word, "=");

	text_add(&name, SERVER_SANDBOX_PREFIX);
	text_add_bytes(&name, word, len);
	if (text_status(&name) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot listen for '%s'", word);
	return service_listen(daemon->service, text_string(&name),
			      word[len] == '=' ? word + len + 1 : NULL, SANDBOX_MODE, err);
}

/* ---- start ---- */

/* The usual place may not be there yet; one that somebody names is theirs to make. */
static int find_socket(const struct daemon *daemon, struct text *out, struct sbx_error *err)
{
	_cleanup_free_ char *folder = NULL;
	int r;

	if (daemon->values->socket) {
		text_add(out, daemon->values->socket);
		return text_status(out);
	}
	/* A service that is started by its socket unit needs no place. */
	r = policy_add_socket_path(out, NULL);
	if (r < 0)
		return getenv("LISTEN_FDS") ? 0 : policy_add_socket_path(out, err);
	folder = strndup(out->data, (size_t)(strrchr(out->data, '/') - out->data));
	if (folder && mkdir(folder, strcmp(folder, SYSTEM_FOLDER) == 0 ? 0755 : 0700) < 0 &&
	    errno != EEXIST && !getenv("LISTEN_FDS"))
		return sbx_error_what(err, -errno, "cannot make the directory '%s'", folder);
	return folder ? 0 : sbx_error_what(err, -ENOMEM, "cannot listen");
}

static int listen_all(struct daemon *daemon, struct sbx_error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	int r = find_socket(daemon, &path, err);

	if (r >= 0)
		r = service_listen(daemon->service, SERVER_MAIN_SOCKET,
				   path.len > 0 ? text_string(&path) : NULL, MAIN_MODE, err);
	for (size_t i = 0; i < daemon->values->sandboxes.n_items && r >= 0; i++)
		r = listen_for_sandbox(daemon, daemon->values->sandboxes.items[i], err);
	return r;
}

static enum server_records which_records(const char *name)
{
	for (int i = SERVER_RECORDS_NONE; name && i <= SERVER_RECORDS_ALL; i++)
		if (strcmp(record_names[i], name) == 0)
			return (enum server_records)i;
	return SERVER_RECORDS_DENIALS;
}

static int start(struct daemon *daemon, const char *const *paths, size_t n_paths,
		 struct sbx_error *err)
{
	const struct policy_values *values = daemon->values;
	struct server_options options = {
		.log = &daemon->run->log,
		.tool = "sbx-policy",
		.policy_paths = paths,
		.n_policy_paths = n_paths,
		.recorder = &daemon->recorder,
		.records = which_records(values->record),
		.n_clients_max = values->max_clients ? values->max_clients : SERVER_CLIENTS_DEFAULT,
	};
	int r = policy_open_recorder(&daemon->recorder, values, err);

	if (r >= 0)
		r = read_sandboxes(daemon, err);
	if (r >= 0)
		r = service_new(&daemon->run->log, &handlers, daemon, &daemon->service, err);
	if (r < 0)
		return r;
	options.event = service_event(daemon->service);
	options.ready = service_ready(daemon->service);
	options.service = daemon->service;
	options.sandboxes = daemon->sandboxes;
	options.environment = environ;
	service_limit_clients(daemon->service, options.n_clients_max);
	r = server_new(&options, &daemon->server, err);
	return r < 0 ? r : listen_all(daemon, err);
}

int policy_verb_serve(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(daemon_deinit) struct daemon daemon = { .run = run,
							  .values = run->values,
							  .recorder = RECORDER_INIT };
	int r = policy_check_stdin(run->values, (size_t)n_operands, operands, false, err), last;

	if (r < 0)
		return TOOL_USAGE;
	/* A record that cannot be written is an error to be answered with "deny", not the end. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	r = start(&daemon, (const char *const *)operands, (size_t)n_operands, err);

	if (r < 0)
		return r == -EINVAL || r == -ENOENT || r == -EEXIST ? TOOL_USAGE : r;
	r = service_run(daemon.service, err);
	last = server_finish(daemon.server, r < 0 ? NULL : err);
	return r < 0 || last >= 0 ? r : last;
}
