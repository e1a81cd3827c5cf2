/* SPDX-License-Identifier: MIT */

/*
 * Workers are counted for the user whose process opened them, until they have exited, so that no
 * user can take the places of the others. A worker's page is read as what any process may have
 * written: it cannot shrink, texts are cut at its end, and numbers are only shown.
 */

#include "proxy/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/moment.h"
#include "base/start.h"
#include "proxy/worker.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/ready.h"
#include "service/service.h"

#define MESSAGE_BYTES_MAX 4096
#define ARGUMENTS_MAX 32
/* start_program() gives a child these two and stderr. */
#define SOCKET_ARGUMENT "--fd=0"
#define PAGE_ARGUMENT "--page-fd=1"
#define PAGE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct child {
	struct proxy_server *server;
	struct child *next;
	pid_t pid;
	uid_t uid;
	uint64_t began_usec;
	struct worker_page *page;
	sd_event_source *source;
};

struct proxy_server {
	struct proxy_server_options options;
	struct clients *clients;
	struct child *children;
	size_t n_children;
	uint64_t n_opened, n_refused;
};

struct connection {
	struct proxy_server *server;
	struct client *client;
	uid_t uid;
	enum peer_place place;
	bool is_trusted;
};

/* ---- workers ---- */

static void child_free(struct child *child)
{
	if (!child)
		return;
	(void)sd_event_source_disable_unref(child->source);
	if (child->page)
		(void)munmap(child->page, sizeof(*child->page));
	free(child);
}

static void child_free_ptr(struct child **child)
{
	child_free(*child);
}

static void tell_status(const struct proxy_server *server)
{
	if (server->options.service)
		service_status(server->options.service, "%zu workers, %llu opened, %llu refused",
			       server->n_children, (unsigned long long)server->n_opened,
			       (unsigned long long)server->n_refused);
}

static void log_exit(const struct child *child, const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED && info->si_status == 0)
		return;
	log_write(child->server->options.log, LOG_LEVEL_WARNING, NULL,
		  info->si_code == CLD_EXITED ? "worker %d of user %u ended with status %d"
					      : "worker %d of user %u was killed by signal %d",
		  (int)child->pid, (unsigned)child->uid, info->si_status);
}

static int on_exit_of(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct child *child = userdata, **at = &child->server->children;
	struct proxy_server *server = child->server;

	(void)source;
	while (*at && *at != child)
		at = &(*at)->next;
	if (*at) {
		*at = child->next;
		server->n_children--;
	}
	log_exit(child, info);
	child_free(child);
	tell_status(server);
	return 0;
}

static int make_page(struct worker_page **ret_page, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("sbx-proxy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page;

	if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct worker_page)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, PAGE_SEALS) < 0)
		return -errno;
	page = mmap(NULL, sizeof(struct worker_page), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	*ret_page = page;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int start_worker(const struct proxy_server *server, uid_t uid, int socket, int page,
			pid_t *ret)
{
	const char *argv[ARGUMENTS_MAX + 6] = { "sbx-proxy", "worker", SOCKET_ARGUMENT,
						PAGE_ARGUMENT };
	const struct start start = {
		.program = server->options.program,
		.argv = argv,
		.environment = server->options.environment,
		.stdin_fd = socket,
		.stdout_fd = page,
	};
	char user[32];
	size_t n = 4;

	(void)snprintf(user, sizeof(user), "--uid=%u", (unsigned)uid);
	argv[n++] = user;
	for (size_t i = 0; i < ARGUMENTS_MAX && server->options.arguments[i]; i++)
		argv[n++] = server->options.arguments[i];
	return start_program(&start, ret);
}

/* *@ret_socket: the supervisor's end. */
static int open_worker(struct proxy_server *server, uid_t uid, int *ret_socket)
{
	_cleanup_(child_free_ptr) struct child *child = calloc(1, sizeof(*child));
	int pair[2];
	int r;

	if (!child)
		return -ENOMEM;
	child->server = server;
	child->uid = uid;
	child->began_usec = moment_now(CLOCK_MONOTONIC);
	_cleanup_close_ int page = -EBADF;
	r = make_page(&child->page, &page);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	_cleanup_close_ int ours = pair[0], theirs = pair[1];
	r = start_worker(server, uid, theirs, page, &child->pid);
	if (r < 0)
		return r;
	r = sd_event_add_child(server->options.event, &child->source, child->pid, WEXITED,
			       on_exit_of, child);
	/* Without a watch it would never be counted as gone; it ends, because its socket closes. */
	if (r < 0)
		return r;
	child->next = server->children;
	server->children = take_ptr(child);
	server->n_children++;
	server->n_opened++;
	ready_wake_loop(server->options.ready);
	*ret_socket = take_fd(&ours);
	return 0;
}

/* ---- replies ---- */

static void send_text(struct connection *connection, const struct text *text, const int *fds,
		      size_t n_fds)
{
	if (text_status(text) < 0 ||
	    client_reply(connection->client, text->data, text->len, fds, n_fds) < 0)
		client_end(connection->client);
}

static void refuse(struct connection *connection, const struct sbx_error *why)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	connection->server->n_refused++;
	error_add_json(&text, why);
	send_text(connection, &text, NULL, 0);
}

static void refuse_for(struct connection *connection, int code, const char *why, const char *fix)
{
	struct sbx_error err = { .code = 0 };

	(void)error_fill(&err, code, why, fix, "cannot start a proxy");
	refuse(connection, &err);
}

/* ---- OPEN ---- */

static size_t count_of(const struct proxy_server *server, uid_t uid)
{
	size_t n = 0;

	for (const struct child *child = server->children; child; child = child->next)
		n += child->uid == uid;
	return n;
}

static void on_open(struct connection *connection)
{
	static const char ok[] = "{\"ok\":true}";
	struct proxy_server *server = connection->server;
	_cleanup_close_ int socket = -EBADF;
	int r;

	if (connection->place != PEER_BESIDE) {
		refuse_for(connection, -EPERM, "the process that asks is in a sandbox",
			   "let the process that starts the sandbox ask");
		return;
	}
	if (server->n_children >= server->options.n_workers_max) {
		refuse_for(connection, -EUSERS, "the service has its maximum number of workers",
			   "raise --max-workers of 'sbx-proxy serve'");
		return;
	}
	if (connection->uid != 0 &&
	    count_of(server, connection->uid) >= server->options.n_workers_each_max) {
		refuse_for(connection, -EUSERS, "the user has its maximum number of workers",
			   "end sandboxes, or raise --max-workers-each of 'sbx-proxy serve'");
		return;
	}
	r = open_worker(server, connection->uid, &socket);
	if (r < 0) {
		refuse_for(connection, r, strerror(-r), NULL);
		return;
	}
	if (client_reply(connection->client, ok, sizeof(ok) - 1, &socket, 1) < 0)
		client_end(connection->client);
	tell_status(server);
}

/* ---- STATUS ---- */

static void add_page_text(struct json_writer *json, const char *name,
			  const char text[WORKER_TEXT_SIZE])
{
	char copy[WORKER_TEXT_SIZE];

	memcpy(copy, text, sizeof(copy));
	copy[sizeof(copy) - 1] = '\0';
	if (copy[0] == '\0')
		return;
	json_add_name(json, name);
	json_add_string(json, copy);
}

static void send_worker(struct connection *connection, const struct child *child)
{
	const struct proxy_counters counters = child->page->counters;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct json_writer json;

	json_write(&json, &text);
	json_add_object(&json);
	json_member_object(&json, "worker");
	json_member_i64(&json, "pid", child->pid);
	json_member_u64(&json, "uid", child->uid);
	add_page_text(&json, "sandbox_id", child->page->sandbox);
	add_page_text(&json, "policy", child->page->policy);
	json_member_u64(&json, "usec", moment_now(CLOCK_MONOTONIC) - child->began_usec);
	json_member_object(&json, "counters");
	proxy_counters_add_members(&json, &counters);
	json_end_object(&json);
	json_end_object(&json);
	json_end_object(&json);
	send_text(connection, &text, NULL, 0);
}

/* Root sees all workers, a user only those that processes of the same user have opened. */
static void on_status(struct connection *connection)
{
	const struct proxy_server *server = connection->server;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct json_writer json;
	uint64_t n = 0;

	for (const struct child *child = server->children; child; child = child->next) {
		if (!connection->is_trusted && child->uid != connection->uid)
			continue;
		send_worker(connection, child);
		n++;
	}
	json_write(&json, &text);
	json_add_object(&json);
	json_member_bool(&json, "ok", true);
	json_member_u64(&json, "workers", n);
	json_member_u64(&json, "max_workers", server->options.n_workers_max);
	json_member_u64(&json, "max_workers_each", server->options.n_workers_each_max);
	if (connection->is_trusted) {
		json_member_u64(&json, "opened", server->n_opened);
		json_member_u64(&json, "refused", server->n_refused);
	}
	json_end_object(&json);
	send_text(connection, &text, NULL, 0);
}

/* ---- clients ---- */

static const struct {
	const char *type;
	void (*answer)(struct connection *connection);
} messages[] = {
	{ "OPEN", on_open },
	{ "STATUS", on_status },
};

/* Exactly one member, "type". */
static int find_message(const struct client_message *message)
{
	struct json_scanner scanner;
	struct json_item name, value;
	int found = -EBADMSG;

	json_scan(&scanner, message->bytes, message->n_bytes);
	if (json_next(&scanner, &name) != 1 || name.kind != JSON_OBJECT_BEGIN ||
	    json_next_member(&scanner, &name, &value) != 1 || !json_equals(&name, "type") ||
	    value.kind != JSON_STRING)
		return -EBADMSG;
	for (size_t i = 0; i < N_ELEMENTS(messages); i++)
		if (json_equals(&value, messages[i].type))
			found = (int)i;
	if (json_next_member(&scanner, &name, &value) != 0 || json_next(&scanner, &name) != 0)
		return -EBADMSG;
	return found;
}

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return -ENOMEM;
	connection->server = service;
	connection->client = client;
	connection->uid = origin->peer->uid;
	connection->place = origin->peer->place;
	connection->is_trusted = origin->is_trusted;
	*ret_data = connection;
	return 0;
}

static void on_message(void *data, const struct client_message *message)
{
	struct connection *connection = data;
	struct sbx_error err = { .code = 0 };
	int found = find_message(message);

	if (found >= 0) {
		messages[found].answer(connection);
		return;
	}
	(void)sbx_error_what(&err, -EBADMSG, "cannot understand the message");
	sbx_error_why(&err, "it is not {\"type\":\"OPEN\"} or {\"type\":\"STATUS\"}");
	refuse(connection, &err);
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	refuse(data, why);
}

static void on_closed(void *data)
{
	free(data);
}

static const struct client_protocol protocol = {
	.trusted_listener = PROXY_SERVER_SOCKET,
	.opened = on_opened,
	.message = on_message,
	.refuse = on_refuse,
	.closed = on_closed,
};

/* ---- life ---- */

struct proxy_server *proxy_server_free(struct proxy_server *server)
{
	if (!server)
		return NULL;
	(void)clients_free(server->clients);
	for (struct child *child; (child = server->children);) {
		server->children = child->next;
		child_free(child);
	}
	free(server);
	return NULL;
}

struct clients *proxy_server_clients(const struct proxy_server *server)
{
	return server->clients;
}

/* sd-event watches children only while SIGCHLD is blocked. */
static int block_sigchld(void)
{
	sigset_t mask;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	return -pthread_sigmask(SIG_BLOCK, &mask, NULL);
}

int proxy_server_new(const struct proxy_server_options *options, struct proxy_server **ret,
		     struct sbx_error *err)
{
	const struct client_limits limits = { .n_clients = options->n_clients_max,
					      .idle_usec = CLIENTS_IDLE_USEC,
					      .n_bytes = MESSAGE_BYTES_MAX,
					      .n_in_work = 1,
					      .n_per_turn = 1 };
	_cleanup_proxy_server_ struct proxy_server *server = calloc(1, sizeof(*server));
	int r = server ? block_sigchld() : -ENOMEM;

	if (r >= 0) {
		server->options = *options;
		r = clients_new(options->ready, options->log, &protocol, &limits, server,
				&server->clients);
	}
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the service");
	tell_status(server);
	*ret = take_ptr(server);
	return 0;
}
