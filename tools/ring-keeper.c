/* SPDX-License-Identifier: MIT */

/*
 * The keeper of one named channel
 *
 * The order of events makes the channel safe for the server: the server gets its file first, maps
 * and seals it, and only then does any client get an fd of it. A client that comes before waits
 * with its TAKE on hold. A side has left when its connection to the keeper ends, which the kernel
 * also does for a process that was killed.
 *
 * The keeper reads the files with pread() and never maps them, so it can neither get SIGBUS nor be
 * told anything by a process that has written nonsense there: numbers are only shown.
 */

#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "ring/members.h"
#include "ring/region.h"
#include "service/clients.h"

#define N_ROLES 2
#define N_VISITORS 64
#define N_PER_TURN 4
#define KEEPER_LISTENER "ring"

struct visitor {
	struct keeper *keeper;
	struct client *client;
	pid_t pid;
	bool is_trusted;
};

struct generation {
	struct region_files files;
	int eventfd;
	int sockets[N_ROLES]; /* until the role is taken */
	struct visitor *holders[N_ROLES];
	bool was_taken[N_ROLES];
	pid_t pids[N_ROLES];
	bool is_sealed;
};

#define GENERATION_INIT                                                                            \
	{                                                                                          \
		.files = { -EBADF, -EBADF }, .eventfd = -EBADF, .sockets = { -EBADF, -EBADF }      \
	}

struct keeper {
	struct keeper_options options;
	struct clients *clients;
	struct generation now;
	struct visitor *waiting[N_ROLES]; /* their clients are on hold */
};

static const char *const role_names[N_ROLES] = {
	[SBX_RING_SERVER] = "server",
	[SBX_RING_CLIENT] = "client",
};

static void generation_deinit(struct generation *generation)
{
	close_fd(&generation->files.server_fd);
	close_fd(&generation->files.client_fd);
	close_fd(&generation->eventfd);
	fd_close_many(generation->sockets, N_ROLES);
	*generation = (struct generation)GENERATION_INIT;
}

/* ---- answers ---- */

static void reply(struct visitor *visitor, const struct text *answer, const int *fds, size_t n_fds)
{
	int r = text_status(answer);

	if (r == 0)
		r = client_reply(visitor->client, answer->data, answer->len, fds, n_fds);
	if (r < 0)
		client_end(visitor->client);
}

static void refuse(struct visitor *visitor, const char *error, const char *what, const char *why,
		   const char *fix)
{
	_cleanup_text_ struct text answer = TEXT_INIT;
	struct json_writer json;

	json_begin_object(&json, &answer);
	json_member_bool(&json, "ok", false);
	json_member_string(&json, "error", error);
	json_member_string(&json, "what", what);
	json_member_string(&json, "why", why);
	json_member_string(&json, "fix", fix);
	json_end_object(&json);
	reply(visitor, &answer, NULL, 0);
}

static void refuse_role(struct visitor *visitor, int role, const char *why, const char *fix)
{
	const struct keeper *keeper = visitor->keeper;
	_cleanup_text_ struct text what = TEXT_INIT;

	text_addf(&what, "cannot be the %s of the channel '%s'", role_names[role],
		  keeper->options.name);
	refuse(visitor, "busy", text_string(&what), why, fix);
}

/* ---- what the files tell ---- */

static uint64_t read_word(int fd, off_t at)
{
	uint64_t word = 0;

	return fd >= 0 && pread(fd, &word, sizeof(word), at) == sizeof(word) ? word : 0;
}

/* Never more than there can be: both words belong to processes that may write anything. */
static uint64_t count_bytes(const struct keeper *keeper, int writer)
{
	const struct region_files *files = &keeper->now.files;
	int from = writer == SBX_RING_SERVER ? files->server_fd : files->client_fd;
	int to = writer == SBX_RING_SERVER ? files->client_fd : files->server_fd;
	uint64_t n = read_word(from, SBX_RING_TAIL_OFFSET) - read_word(to, SBX_RING_HEAD_OFFSET);

	return n <= keeper->options.capacity ? n : keeper->options.capacity;
}

static const char *name_state(const struct generation *now)
{
	bool is_server = now->holders[SBX_RING_SERVER], is_client = now->holders[SBX_RING_CLIENT];

	if (!now->was_taken[SBX_RING_SERVER])
		return "waiting_for_server";
	if (is_server && is_client)
		return "open";
	if (now->was_taken[SBX_RING_CLIENT])
		return is_server ? "client_left" : "server_left";
	return is_server ? "waiting_for_client" : "server_left";
}

static void reply_status(struct visitor *visitor, const int *fds, size_t n_fds)
{
	const struct keeper *keeper = visitor->keeper;
	const struct generation *now = &keeper->now;
	_cleanup_text_ struct text answer = TEXT_INIT;
	struct json_writer json;

	json_begin_object(&json, &answer);
	json_member_bool(&json, "ok", true);
	json_member_string(&json, "name", keeper->options.name);
	json_member_string(&json, "state", name_state(now));
	json_member_string(&json, "mode", keeper->options.is_call ? "call" : "stream");
	json_member_u64(&json, "capacity", keeper->options.capacity);
	json_member_u64(&json, "keeper_pid", (uint64_t)getpid());
	json_member_u64(&json, "server_pid", (uint64_t)now->pids[SBX_RING_SERVER]);
	json_member_u64(&json, "client_pid", (uint64_t)now->pids[SBX_RING_CLIENT]);
	json_member_u64(&json, "server_bytes", count_bytes(keeper, SBX_RING_SERVER));
	json_member_u64(&json, "client_bytes", count_bytes(keeper, SBX_RING_CLIENT));
	json_end_object(&json);
	reply(visitor, &answer, fds, n_fds);
}

/* ---- generations ---- */

static int make_generation(struct keeper *keeper, pid_t server)
{
	const struct visitor *client = keeper->waiting[SBX_RING_CLIENT];
	struct generation *now = &keeper->now;
	int r = region_make(keeper->options.capacity, keeper->options.is_call, (uint32_t)server,
			    client ? (uint32_t)client->pid : 0, &now->files, NULL);

	if (r < 0)
		return r;
	now->eventfd = region_make_eventfd();
	if (now->eventfd < 0)
		return now->eventfd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, now->sockets) < 0)
		return -errno;
	/* The keeper itself passes the fds of the channel. */
	for (size_t i = 0; i < N_ELEMENTS(now->sockets); i++)
		fd_refuse_fds(now->sockets[i]);
	return 0;
}

/* The keeper does not keep an end that it has given away: its HUP is the end of that side. */
static void give(struct visitor *visitor, int role)
{
	struct generation *now = &visitor->keeper->now;
	const int fds[NAMED_N_FDS_TAKEN] = { now->files.server_fd, now->files.client_fd,
					     now->eventfd, now->sockets[role] };

	now->holders[role] = visitor;
	now->was_taken[role] = true;
	now->pids[role] = visitor->pid;
	reply_status(visitor, fds, NAMED_N_FDS_TAKEN);
	close_fd(&now->sockets[role]);
}

static void give_to_server(struct visitor *visitor)
{
	struct keeper *keeper = visitor->keeper;
	int r = make_generation(keeper, visitor->pid);

	if (r == 0) {
		give(visitor, SBX_RING_SERVER);
		return;
	}
	generation_deinit(&keeper->now);
	refuse(visitor, "failed", "the keeper cannot make the channel", strerror(-r),
	       "free memory, or choose a smaller --size of sbx-ring create");
}

/* Also a channel that the server has left already: its messages can still be read. */
static bool may_be_given(const struct generation *now, int role)
{
	if (now->was_taken[role])
		return false;
	return role == SBX_RING_SERVER || now->is_sealed;
}

static void serve_waiting(struct keeper *keeper)
{
	for (int role = 0; role < N_ROLES; role++) {
		struct visitor *visitor = keeper->waiting[role];

		if (!visitor || !may_be_given(&keeper->now, role))
			continue;
		if (role == SBX_RING_SERVER)
			give_to_server(visitor);
		else
			give(visitor, role);
		keeper->waiting[role] = NULL;
		client_release(visitor->client);
	}
}

/* No process can get anything of this generation any more. */
static bool is_used_up(const struct generation *now)
{
	if (now->holders[SBX_RING_SERVER] || now->holders[SBX_RING_CLIENT] ||
	    !now->was_taken[SBX_RING_SERVER])
		return false;
	return now->was_taken[SBX_RING_CLIENT] || !now->is_sealed;
}

/* A server that came and left without a word, or before it sealed its file, does not count. */
static bool has_said_nothing(const struct generation *now)
{
	return !now->is_sealed || read_word(now->files.server_fd, SBX_RING_TAIL_OFFSET) == 0;
}

/* ---- requests ---- */

static void take(struct visitor *visitor, int role)
{
	struct keeper *keeper = visitor->keeper;
	struct generation *now = &keeper->now;

	if (now->holders[role] == visitor || keeper->waiting[role] == visitor) {
		refuse_role(visitor, role, "this connection has it already", "use that one");
	} else if (now->holders[role] || keeper->waiting[role]) {
		refuse_role(visitor, role, "another process has this role",
			    "end that process, or make a channel of another name");
	} else if (now->was_taken[role] && !keeper->options.keeps) {
		refuse_role(visitor, role, "the process that had this role has left",
			    "start the keeper with --keep, so that it makes a new channel");
	} else if (role == SBX_RING_SERVER && now->was_taken[role] &&
		   !now->was_taken[SBX_RING_CLIENT] && has_said_nothing(now)) {
		generation_deinit(now);
		give_to_server(visitor);
	} else if (may_be_given(now, role)) {
		role == SBX_RING_SERVER ? give_to_server(visitor) : give(visitor, role);
	} else {
		keeper->waiting[role] = visitor;
		client_hold(visitor->client);
	}
}

/* The client's file keeps its size, and the server's is sealed against everything. */
static bool are_sealed(const struct region_files *files)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int seals = fcntl(files->client_fd, F_GET_SEALS);

	return region_is_sealed(files->server_fd) && seals >= 0 && (seals & needed) == needed;
}

static void note_seals(struct visitor *visitor)
{
	struct keeper *keeper = visitor->keeper;

	if (keeper->now.holders[SBX_RING_SERVER] != visitor) {
		refuse(visitor, "denied", "only the server says that the files are sealed", "",
		       "take the role first");
		return;
	}
	if (!are_sealed(&keeper->now.files)) {
		refuse(visitor, "not_sealed", "the files of the channel are not sealed",
		       "the client could map the server's file writable",
		       "map the server's file, then add the seals");
		return;
	}
	keeper->now.is_sealed = true;
	reply_status(visitor, NULL, 0);
	serve_waiting(keeper);
}

static int copy_bytes(int from, int to, off_t size)
{
	off_t at = 0;

	while (at < size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(size - at));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/*
 * A process that inspects must not be able to write to the client's file, and the access mode of an
 * fd does not prevent it: /proc/self/fd opens a memfd again. So it gets a copy.
 */
static int copy_client_file(const struct keeper *keeper, bool with_data)
{
	off_t size = SBX_RING_DATA_OFFSET + (off_t)keeper->options.capacity;
	_cleanup_close_ int copy = memfd_create("sbx-ring-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (copy < 0 || ftruncate(copy, size) < 0)
		return -errno;
	r = copy_bytes(keeper->now.files.client_fd, copy, with_data ? size : SBX_RING_DATA_OFFSET);
	if (r < 0)
		return r;
	if (fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return take_fd(&copy);
}

static void inspect(struct visitor *visitor, bool with_data)
{
	const struct keeper *keeper = visitor->keeper;
	_cleanup_close_ int copy = -EBADF;

	if (!keeper->now.is_sealed) {
		reply_status(visitor, NULL, 0);
		return;
	}
	copy = copy_client_file(keeper, with_data);
	if (copy < 0)
		refuse(visitor, "failed", "the keeper cannot copy the client's file",
		       strerror(-copy), "free memory");
	else
		reply_status(visitor, (const int[]){ keeper->now.files.server_fd, copy },
			     NAMED_N_FDS_INSPECTED);
}

struct request {
	char type[16];
	int role; /* N_ROLES: none */
	bool with_data;
};

static void take_member(const struct json_item *name, const struct json_item *value, void *userdata)
{
	struct request *request = userdata;

	if (json_equals(name, "data"))
		request->with_data = value->kind == JSON_TRUE;
	if (value->kind != JSON_STRING)
		return;
	if (json_equals(name, "type") && value->n_bytes < sizeof(request->type)) {
		memcpy(request->type, value->bytes, value->n_bytes);
		request->type[value->n_bytes] = '\0';
	}
	for (int role = 0; json_equals(name, "role") && role < N_ROLES; role++)
		if (json_equals(value, role_names[role]))
			request->role = role;
}

static int parse_request(const struct client_message *message, struct request *ret)
{
	*ret = (struct request){ .role = N_ROLES };
	/* The text may not go on after the object. */
	return json_validate(message->bytes, message->n_bytes, NULL, NULL) < 0
		       ? -EBADMSG
		       : members_each(message->bytes, message->n_bytes, take_member, ret);
}

static void on_message(void *data, const struct client_message *message)
{
	struct visitor *visitor = data;
	struct request request;

	if (!visitor->is_trusted)
		refuse(visitor, "denied", "this channel is not for the calling process",
		       "it belongs to another user, or runs in a sandbox",
		       "pass the channel to it as a socket: --fd");
	else if (parse_request(message, &request) < 0)
		refuse(visitor, "bad_request", "the request is not a JSON object", "",
		       "see sbx-ring(1)");
	else if (strcmp(request.type, "TAKE") == 0 && request.role < N_ROLES)
		take(visitor, request.role);
	else if (strcmp(request.type, "SEALED") == 0)
		note_seals(visitor);
	else if (strcmp(request.type, "STATUS") == 0)
		reply_status(visitor, NULL, 0);
	else if (strcmp(request.type, "INSPECT") == 0)
		inspect(visitor, request.with_data);
	else
		refuse(visitor, "bad_request", "the keeper does not know this request",
		       "it knows TAKE with a role, SEALED, STATUS and INSPECT", "see sbx-ring(1)");
}

/* ---- visitors ---- */

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	struct visitor *visitor = calloc(1, sizeof(*visitor));

	if (!visitor)
		return -ENOMEM;
	*visitor = (struct visitor){ .keeper = service,
				     .client = client,
				     .pid = origin->peer->pid,
				     .is_trusted = origin->is_trusted };
	*ret_data = visitor;
	return 0;
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	refuse(data, "bad_request", why->what, why->why, why->fix);
}

static void on_closed(void *data)
{
	struct visitor *visitor = data;
	struct keeper *keeper = visitor->keeper;
	bool is_holder = false, is_over;

	for (int role = 0; role < N_ROLES; role++) {
		if (keeper->waiting[role] == visitor)
			keeper->waiting[role] = NULL;
		if (keeper->now.holders[role] != visitor)
			continue;
		keeper->now.holders[role] = NULL;
		is_holder = true;
	}
	free(visitor);
	if (!is_holder || !is_used_up(&keeper->now))
		return;
	is_over = keeper->now.was_taken[SBX_RING_CLIENT] && !keeper->options.keeps;
	generation_deinit(&keeper->now);
	if (is_over)
		keeper->options.on_over(keeper->options.userdata);
	else
		serve_waiting(keeper);
}

static const struct client_protocol protocol = {
	.trusted_listener = KEEPER_LISTENER,
	.opened = on_opened,
	.message = on_message,
	.refuse = on_refuse,
	.closed = on_closed,
};

int keeper_new(const struct keeper_options *options, struct keeper **ret)
{
	static const struct client_limits limits = {
		.n_clients = N_VISITORS,
		.idle_usec = CLIENTS_IDLE_USEC,
		.n_bytes = NAMED_BYTES_MAX,
		.n_in_work = 1,
		.n_per_turn = N_PER_TURN,
	};
	_cleanup_keeper_ struct keeper *keeper = calloc(1, sizeof(*keeper));
	int r;

	if (!keeper)
		return -ENOMEM;
	keeper->options = *options;
	keeper->now = (struct generation)GENERATION_INIT;
	r = clients_new(options->ready, options->log, &protocol, &limits, keeper, &keeper->clients);
	if (r < 0)
		return r;
	*ret = take_ptr(keeper);
	return 0;
}

struct keeper *keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return NULL;
	/* When visitors leave now, that is not the end of a generation. */
	keeper->now.was_taken[SBX_RING_SERVER] = false;
	(void)clients_free(keeper->clients);
	generation_deinit(&keeper->now);
	free(keeper);
	return NULL;
}

struct clients *keeper_clients(const struct keeper *keeper)
{
	return keeper->clients;
}
