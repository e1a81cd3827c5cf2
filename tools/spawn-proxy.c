/* SPDX-License-Identifier: MIT */

/*
 * The proxy of a sandbox in the network mode proxy: --proxy-fd, the service, or a process of its
 * own
 *
 * All three are one socket with the protocol of registry/handover.h. The proxy is found, or
 * started, before the sandbox is built, so that it starts meanwhile; it gets the policy and the
 * listeners as soon as PID 1 has made them, and the command is not executed before it has accepted
 * them. If it ends early, the command goes on without a network, because only the proxy accepts
 * connections.
 */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/environment.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/path.h"
#include "base/process.h"
#include "base/start.h"
#include "policy/artefact.h"
#include "policy/compose.h"
#include "policy/model.h"
#include "policy/network.h"
#include "policy/request.h"
#include "registry/handover.h"
#include "tool.h"

#define PROGRAM "sbx-proxy"
#define SOCKET_NAME "sbx/proxy.sock"
#define START_MSEC 10000
#define END_MSEC 5000
#define EXIT_MSEC 2000
/* Above the fds of a started program, which get their numbers one after the other. */
#define FIRST_FREE_FD 16
#define SAID_MAX 8

static bool uses_proxy(const struct spawn_run *run)
{
	return run->plan && strcmp(run->plan->net_mode, "proxy") == 0;
}

/* ---- the artefact ---- */

static int make_artefact(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_free_ void *block = NULL;
	const struct artefact_header *header;
	size_t n_bytes;
	int r = policy_compile_proxied(run->policy, &block, &n_bytes, err);

	if (r < 0)
		return r;
	header = block;
	run->proxy.digest = spawn_hex(run, header->policy_digest);
	if (!run->proxy.digest)
		return spawn_no_memory(err);
	r = handover_seal(block, n_bytes, &run->proxy.artefact);
	return r < 0 ? sbx_error_what(err, r, "cannot pass the policy to the proxy") : 0;
}

/* ---- waiting ---- */

/* Until @fd can be read: 0 or -ETIME. */
static int wait_for(int fd, int msec)
{
	int64_t end = (int64_t)moment_now(CLOCK_MONOTONIC) / 1000 + msec;

	for (int64_t left = msec; left > 0;
	     left = end - (int64_t)moment_now(CLOCK_MONOTONIC) / 1000) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

		if (poll(&poll_fd, 1, (int)left) > 0)
			return 0;
	}
	return -ETIME;
}

/* The fix depends on where the proxy is; one that the proxy itself gave stays. */
static void add_fix(const struct spawn_run *run, struct sbx_error *err)
{
	static const char *const fixes[] = {
		[SPAWN_PROXY_FD] = "check the program at the other end of --proxy-fd",
		[SPAWN_PROXY_SERVICE] = "look at 'systemctl status sbx-proxy', or stop the service",
		[SPAWN_PROXY_OWN] =
			"install all of sbx, or type --net none to run without a network",
	};

	if (err && !err->fix[0])
		sbx_error_fix(err, "%s", fixes[run->proxy.place]);
}

/* Fails closed: an answer that does not come is a refusal. */
static int take_answer(struct spawn_run *run, int socket, int *ret_fd, struct sbx_error *err)
{
	struct handover_summary *summary = arena_alloc(&run->arena, sizeof(*summary));
	int r = summary ? wait_for(socket, START_MSEC) : -ENOMEM;

	if (r < 0)
		(void)sbx_error_what(err, r, "the proxy does not answer");
	else
		r = handover_receive_answer(socket, &run->arena, summary, ret_fd, err);
	if (r < 0)
		add_fix(run, err);
	return r;
}

/* ---- a process of its own ---- */

/* Beside this program, as in a build; else where programs are installed. */
static int find_program(char *ret, size_t size)
{
	int r = path_beside_program(PROGRAM, ret, size), len;

	if (r < 0 && r != -ENAMETOOLONG)
		return r;
	if (r == 0 && access(ret, X_OK) == 0)
		return 0;
	len = snprintf(ret, size, "%s/" PROGRAM, SBX_PROGRAM_DIR);
	if (len < 0 || (size_t)len >= size)
		return -ENAMETOOLONG;
	return access(ret, X_OK) < 0 ? -errno : 0;
}

static int refuse_start(int code, const char *path, struct sbx_error *err)
{
	return error_fill(err, code,
			  "the network mode is proxy, and no service of sbx-proxy is running",
			  "install all of sbx, or type --net none to run without a network",
			  "cannot start '%.300s'", path);
}

static int start_own(struct spawn_run *run, int theirs, struct sbx_error *err)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char path[PATH_MAX], user[sizeof("--uid=4294967295")];
	bool has_audit = run->values->audit_fd >= 0;
	/* The first NULL ends it. */
	const char *const argv[] = { path,   "worker", user,
				     "--fd", "3",      has_audit ? "--audit-fd" : NULL,
				     "4",    NULL };
	const int fds[] = { theirs, run->values->audit_fd };
	struct start start = { .argv = argv,
			       .environment = (const char *const *)environ,
			       .stdin_fd = null,
			       .stdout_fd = null,
			       .fds = fds,
			       .n_fds = has_audit ? 2 : 1 };
	int r = find_program(path, sizeof(path));

	if (r < 0)
		return refuse_start(r, PROGRAM, err);
	(void)snprintf(user, sizeof(user), "--uid=%u", (unsigned)getuid());
	r = null < 0 ? -errno : start_program(&start, &run->proxy.pid);
	return r < 0 ? refuse_start(r, path, err) : 0;
}

static int open_own(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_close_ int theirs = -EBADF;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return sbx_error_what(err, -errno, "cannot connect to the proxy");
	theirs = fds[1];
	run->proxy.socket = fds[0];
	run->proxy.place = SPAWN_PROXY_OWN;
	r = start_own(run, theirs, err);
	if (r < 0)
		close_fd(&run->proxy.socket);
	return r;
}

/* ---- the service ---- */

/* -ENOENT: no service listens there. */
static int connect_to(const char *path)
{
	int fd = fd_connect(path, SOCK_NONBLOCK);

	return fd < 0 ? -ENOENT : fd;
}

/* Root's service, or first that of the user's own session. */
static int connect_service(void)
{
	const char *runtime =
		geteuid() == 0 ? NULL : environment_find_directory(environ, "XDG_RUNTIME_DIR");
	char path[PATH_MAX];
	int fd = -ENOENT;

	if (runtime && snprintf(path, sizeof(path), "%s/" SOCKET_NAME, runtime) < (int)sizeof(path))
		fd = connect_to(path);
	return fd >= 0 ? fd : connect_to("/run/" SOCKET_NAME);
}

/* 1: there is no service. */
static int open_service(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_close_ int service = connect_service();
	int r;

	if (service < 0)
		return 1;
	run->proxy.place = SPAWN_PROXY_SERVICE;
	r = handover_send_open(service);
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot ask the service of sbx-proxy");
		add_fix(run, err);
		return r;
	}
	return take_answer(run, service, &run->proxy.socket, err);
}

/* ---- the life of the connection ---- */

int spawn_open_proxy(struct spawn_run *run, struct sbx_error *err)
{
	int fd = run->values->proxy_fd, r;

	if (!uses_proxy(run))
		return 0;
	if (fd >= 0) {
		run->proxy.place = SPAWN_PROXY_FD;
		run->proxy.socket = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		r = run->proxy.socket < 0 ? sbx_error_what(err, -errno, "cannot use --proxy-fd")
					  : 0;
	} else {
		r = open_service(run, err);
		if (r == 1)
			r = open_own(run, err);
	}
	return r < 0 ? r : make_artefact(run, err);
}

static struct handover_limit limit_of(uint64_t value, uint64_t none)
{
	return (struct handover_limit){ .is_set = value != none, .value = value };
}

/* The kernel knows where a listener is bound. */
static int describe_listener(int fd, struct handover_listener *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t size = sizeof(address);
	bool is_ipv6;

	if (getsockname(fd, &address.any, &size) < 0)
		return -errno;
	is_ipv6 = address.any.sa_family == AF_INET6;
	*ret = (struct handover_listener){
		.kind = HANDOVER_HTTP,
		.address = is_ipv6 ? "::1" : "127.0.0.1",
		.port = ntohs(is_ipv6 ? address.ipv6.sin6_port : address.ipv4.sin_port),
		.fd = fd,
	};
	return 0;
}

int spawn_hand_listeners(void *userdata, const int *fds, size_t n_fds, struct sbx_error *err)
{
	struct spawn_run *run = userdata;
	struct net_limits limits = policy_net_limits(run->policy);
	struct handover handover = {
		.sandbox = run->request.id,
		.project = run->request.project,
		.digest = run->proxy.digest,
		/* What the denials name as the policy. */
		.policy = run->values->policy ? run->values->policy
			  : run->policy	      ? "--policy-fd"
					      : "no policy",
		.limits = { .connections = limit_of(limits.connections, UINT_MAX),
			    .bytes = limit_of(limits.bytes, UINT64_MAX),
			    .rate = limit_of(limits.rate, UINT64_MAX) },
		.artefact = run->proxy.artefact,
	};
	int r = n_fds <= HANDOVER_LISTENERS_MAX ? 0 : -E2BIG;

	for (size_t i = 0; r == 0 && i < n_fds; i++)
		r = describe_listener(fds[i], &handover.listeners[handover.n_listeners++]);
	if (r < 0)
		return sbx_error_what(err, r, "cannot hand the listeners to the proxy");
	r = handover_send(run->proxy.socket, &handover, err);
	close_fd(&run->proxy.artefact);
	run->proxy.is_asked = r == 0;
	if (r < 0)
		add_fix(run, err);
	return r;
}

int spawn_await_proxy(void *userdata, struct sbx_error *err)
{
	struct spawn_run *run = userdata;
	int r;

	if (!run->proxy.is_asked)
		return 0;
	r = take_answer(run, run->proxy.socket, NULL, err);
	run->proxy.is_accepted = r == 0;
	return r;
}

void spawn_end_proxy(struct spawn_run *run)
{
	struct handover_summary *summary =
		run->proxy.is_accepted ? arena_alloc(&run->arena, sizeof(*summary)) : NULL;

	if (summary && handover_send_end(run->proxy.socket) >= 0 &&
	    wait_for(run->proxy.socket, END_MSEC) >= 0 &&
	    handover_receive_answer(run->proxy.socket, &run->arena, summary, NULL, NULL) >= 0)
		run->proxy.summary = summary;
	run->proxy.is_lost = run->proxy.is_accepted && !run->proxy.summary;
	spawn_close_proxy(run);
}

void spawn_close_proxy(struct spawn_run *run)
{
	_cleanup_close_ int pidfd = run->proxy.pid > 0 ? pidfd_of(run->proxy.pid) : -EBADF;

	close_fd(&run->proxy.socket);
	close_fd(&run->proxy.artefact);
	if (run->proxy.pid <= 0)
		return;
	/* The process ends when its socket is closed; it is killed if it does not. */
	if (pidfd < 0 || wait_for(pidfd, EXIT_MSEC) < 0)
		(void)kill(run->proxy.pid, SIGKILL);
	(void)process_wait(run->proxy.pid, NULL);
	run->proxy.pid = 0;
}

/* ---- at the end ---- */

static bool is_unresolved(const struct handover_denial *denial)
{
	return strncmp(denial->reason, HANDOVER_UNRESOLVED, strlen(HANDOVER_UNRESOLVED)) == 0;
}

/* The reason that a rule of the policy gives is in @denial->why, the name of a built-in one is not.
 */
static void explain_denial(const struct handover_denial *denial, struct sbx_error *err)
{
	bool has_name = denial->why && denial->rule &&
			strncmp(denial->why, denial->rule, strlen(denial->rule)) == 0;

	if (denial->why && denial->rule && !has_name)
		sbx_error_why(err, "%s: %s", denial->rule, denial->why);
	else if (denial->why)
		sbx_error_why(err, "%s", denial->why);
	else if (!denial->rule)
		sbx_error_why(err, "no rule allows it");
	else if (strcmp(denial->reason, "denied") == 0)
		sbx_error_why(err, "%s does not allow it", denial->rule);
	else
		sbx_error_why(err, "%s: %s", denial->reason, denial->rule);
}

static void say_denial(const struct spawn_run *run, const struct handover_denial *denial)
{
	const char *fix = denial->fix ? denial->fix : "", *done = "denied";
	bool is_ipv6 = strchr(denial->host, ':') != NULL;
	_cleanup_text_ struct text line = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	if (is_unresolved(denial)) {
		fix = "check the name, and the name servers in /etc/resolv.conf";
		done = "did not resolve";
	}
	text_addf(&line, is_ipv6 ? "%s [%s]" : "%s %s", done, denial->host);
	if (denial->port > 0)
		text_addf(&line, ":%u", denial->port);
	if (denial->count > 1)
		text_addf(&line, " %" PRIu64 " times", denial->count);
	if (text_status(&line) < 0)
		return;
	(void)sbx_error_what(&err, 0, "%s", text_string(&line));
	err.level = SBX_LEVEL_WARN;
	if (is_unresolved(denial))
		sbx_error_why(&err, "%s: the host is allowed", denial->reason);
	else
		explain_denial(denial, &err);
	tool_tell_lines(run->tool, &err, fix);
}

/* Also with -q: the network ended before the command. */
static void say_lost(const struct spawn_run *run)
{
	struct sbx_error err = { .code = 0 };

	(void)sbx_error_what(&err, 0, "the proxy ended before the command, or did not end with it");
	sbx_error_why(&err, "from then on the command had no network");
	add_fix(run, &err);
	err.level = SBX_LEVEL_WARN;
	tool_tell(run->tool, &err);
}

void spawn_say_denials(const struct spawn_run *run)
{
	const struct handover_summary *summary = run->proxy.summary;
	_cleanup_text_ struct text rest = TEXT_INIT;
	size_t n;

	if (run->proxy.is_lost)
		say_lost(run);
	if (!summary || run->tool->verbosity < 0)
		return;
	n = summary->n_denials < SAID_MAX ? summary->n_denials : SAID_MAX;
	for (size_t i = 0; i < n; i++)
		say_denial(run, &summary->denials[i]);
	if (summary->n_denials + summary->n_denials_left_out <= n)
		return;
	text_addf(&rest, "denied or did not resolve %" PRIu64 " more; --report lists them",
		  (uint64_t)(summary->n_denials - n) + summary->n_denials_left_out);
	spawn_say_line(run, SBX_LEVEL_WARN, &rest);
}

const char *spawn_proxy_place(const struct spawn_run *run)
{
	static const char *const names[] = {
		[SPAWN_PROXY_FD] = "fd",
		[SPAWN_PROXY_SERVICE] = "service",
		[SPAWN_PROXY_OWN] = "own",
	};

	return names[run->proxy.place];
}

uint16_t spawn_proxy_port(const struct spawn_run *run)
{
	for (size_t i = 0; i < run->plan->n_steps; i++) {
		const struct step *step = &run->plan->steps[i];

		if (step->kind == STEP_LISTEN && strcmp(step->listen.purpose, "proxy") == 0)
			return step->listen.port;
	}
	return 0;
}

static void add_denial(struct json_writer *json, const struct handover_denial *denial)
{
	json_add_object(json);
	json_member_string(json, "host", denial->host);
	json_member_u64(json, "port", denial->port);
	json_member_string(json, "reason", denial->reason);
	json_member_string(json, "rule", denial->rule);
	json_member_string(json, "why", denial->why);
	json_member_string(json, "fix", denial->fix);
	json_member_u64(json, "count", denial->count);
	json_end_object(json);
}

static void add_network(struct json_writer *json, const struct spawn_run *run)
{
	const struct handover_summary *summary = run->proxy.summary;

	json_member_object(json, "network");
	json_member_string(json, "mode", run->plan->net_mode);
	if (run->proxy.place != SPAWN_PROXY_NONE) {
		json_member_u64(json, "port", spawn_proxy_port(run));
		json_member_string(json, "proxy", spawn_proxy_place(run));
		json_member_bool(json, "lost", run->proxy.is_lost);
		json_member_object(json, "counters");
		for (size_t i = 0; summary && i < summary->n_counters; i++)
			json_member_u64(json, summary->counters[i].name,
					summary->counters[i].value);
		json_end_object(json);
	}
	json_end_object(json);
}

static void add_some(struct json_writer *json, const char *name,
		     const struct handover_summary *summary, bool unresolved)
{
	json_member_array(json, name);
	for (size_t i = 0; i < summary->n_denials; i++)
		if (is_unresolved(&summary->denials[i]) == unresolved)
			add_denial(json, &summary->denials[i]);
	json_end_array(json);
}

void spawn_add_denials(struct json_writer *json, const struct spawn_run *run)
{
	const struct handover_summary *summary = run->proxy.summary;

	add_network(json, run);
	if (!summary) {
		json_add_name(json, "denials");
		json_add_null(json);
		return;
	}
	add_some(json, "denials", summary, false);
	add_some(json, "unresolved", summary, true);
	json_member_u64(json, "denials_left_out", summary->n_denials_left_out);
}
