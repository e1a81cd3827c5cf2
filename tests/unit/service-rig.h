/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A daemon in a child; this process is its service manager and its clients. The daemon's
 * notifications arrive on a datagram socket; a test sleeps only to check that no message comes.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/listen-fds.h"
#include "service/clients.h"
#include "service/peer.h"
#include "service/service.h"
#include "test.h"

#define DEADLINE_MSEC 60000
#define WATCHDOG_USEC 40000
#define STATUS_NOT_STARTED 99

/* Options of a test's daemon; zeroes are the defaults. */
struct setup {
	const char *watchdog_usec;
	const char *watchdog_pid; /* NULL: the daemon's PID */
	int handed_over;	  /* fd that becomes LISTEN_FDS=1; 0: none */
	const char *fd_name;
	size_t n_clients_max;
	rlim_t n_fds; /* free fds besides those that a service reserves */
	int accept_result;
	int reload_result;
	struct service *service; /* set by the daemon */
};

struct daemon {
	pid_t pid;
	int notify;
	int log;
	char directory[32];
	struct sockaddr_un notify_address;
	struct sockaddr_un address;
};

/* ---- the daemon's side ---- */

struct caller {
	const struct setup *setup;
	struct client *client;
	pid_t pid;
	uid_t uid;
};

/* Sends "PID UID ITERATION PACKET". */
static void reply(const struct caller *caller, const char *packet)
{
	char bytes[256];
	uint64_t iteration = 0;

	(void)sd_event_get_iteration(service_event(caller->setup->service), &iteration);
	(void)snprintf(bytes, sizeof(bytes), "%d %u %llu %s", (int)caller->pid,
		       (unsigned)caller->uid, (unsigned long long)iteration, packet);
	(void)client_reply(caller->client, bytes, strlen(bytes), NULL, 0);
}

static void on_message(void *data, const struct client_message *message)
{
	const struct caller *caller = data;
	struct service *service = caller->setup->service;
	struct pollfd wait = { .fd = message->n_fds > 0 ? message->fds[0] : -EBADF,
			       .events = POLLIN };

	reply(caller, message->bytes);
	/* "hang" blocks until the socket that came with it is readable. */
	if (strcmp(message->bytes, "hang") == 0)
		(void)poll(&wait, 1, DEADLINE_MSEC);
	if (strcmp(message->bytes, "stop") == 0)
		service_stop(service, 7);
	if (strncmp(message->bytes, "status ", 7) == 0)
		service_status(service, "%s", message->bytes + 7);
}

static void on_refuse(void *data, const struct sbx_error *why)
{
	const struct caller *caller = data;

	client_end(caller->client);
}

static int on_opened(void *service, struct client *client, const struct client_origin *origin,
		     void **ret_data)
{
	const struct setup *setup = service;
	struct caller *caller;

	if (setup->accept_result < 0)
		return setup->accept_result;
	caller = calloc(1, sizeof(*caller));
	*caller = (struct caller){
		.setup = setup, .client = client, .pid = origin->peer->pid, .uid = origin->peer->uid
	};
	*ret_data = caller;
	return 0;
}

static const struct client_protocol protocol = {
	.trusted_listener = "probe",
	.opened = on_opened,
	.message = on_message,
	.refuse = on_refuse,
	.closed = free,
};

static int on_reload(struct service *service, void *userdata)
{
	const struct setup *setup = userdata;

	service_status(service, "reloading");
	return setup->reload_result;
}

static void set_number(const char *name, long number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%ld", number);
	(void)setenv(name, text, 1);
}

static void set_environment(const struct daemon *daemon, const struct setup *setup)
{
	(void)setenv("NOTIFY_SOCKET", daemon->notify_address.sun_path, 1);
	if (setup->watchdog_usec) {
		(void)setenv("WATCHDOG_USEC", setup->watchdog_usec, 1);
		set_number("WATCHDOG_PID", getpid());
	}
	if (setup->watchdog_pid)
		(void)setenv("WATCHDOG_PID", setup->watchdog_pid, 1);
	if (setup->handed_over == 0)
		return;
	if (setup->handed_over != LISTEN_FDS_START)
		(void)dup2(setup->handed_over, LISTEN_FDS_START);
	set_number("LISTEN_PID", getpid());
	(void)setenv("LISTEN_FDS", "1", 1);
	if (setup->fd_name)
		(void)setenv("LISTEN_FDNAMES", setup->fd_name, 1);
}

/* Sets RLIMIT_NOFILE so that exactly @n_fds clients fit beside the eight reserved fds. */
static void limit_fds(rlim_t n_fds)
{
	int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	struct rlimit limit = { .rlim_cur = (rlim_t)lowest + n_fds + 8 };

	(void)close(lowest);
	limit.rlim_max = limit.rlim_cur;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int daemon_main(const struct daemon *daemon, struct setup *setup, int stderr_fd)
{
	const struct client_limits limits = { .n_clients = setup->n_clients_max
								   ? setup->n_clients_max
								   : CLIENTS_DEFAULT,
					      .n_bytes = 127,
					      .n_fds = 1,
					      .n_in_work = 1,
					      .n_per_turn = 1 };
	_cleanup_service_ struct service *service = NULL;
	_cleanup_clients_ struct clients *clients = NULL;
	struct log log = { .tool = "test",
			   .most = LOG_LEVEL_DEBUG,
			   .journal_fd = -EBADF,
			   .stderr_fd = stderr_fd };
	int r;

	set_environment(daemon, setup);
	r = service_new(&log, on_reload, setup, &service, NULL);
	if (r < 0)
		return STATUS_NOT_STARTED;
	setup->service = service;
	r = clients_new(service_ready(service), &log, &protocol, &limits, setup, &clients);
	if (r < 0)
		return STATUS_NOT_STARTED;
	r = service_listen(service, "probe", setup->handed_over ? NULL : daemon->address.sun_path,
			   0600, clients, NULL);
	if (r < 0)
		return STATUS_NOT_STARTED;
	if (setup->n_fds)
		limit_fds(setup->n_fds);
	r = service_run(service, NULL);
	return r < 0 ? STATUS_NOT_STARTED : r;
}

/* ---- the manager's side ---- */

static struct daemon daemon_start(struct setup *setup)
{
	struct daemon daemon = { .directory = "/tmp/service-XXXXXX",
				 .notify_address.sun_family = AF_UNIX,
				 .address.sun_family = AF_UNIX };
	int log[2];

	expect(mkdtemp(daemon.directory));
	(void)snprintf(daemon.notify_address.sun_path, sizeof(daemon.notify_address.sun_path),
		       "%s/notify", daemon.directory);
	(void)snprintf(daemon.address.sun_path, sizeof(daemon.address.sun_path), "%s/probe",
		       daemon.directory);
	daemon.notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(bind(daemon.notify, (struct sockaddr *)&daemon.notify_address,
		    sizeof(daemon.notify_address)) == 0);
	expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, log) == 0);
	daemon.log = log[0];
	(void)fflush(stdout);
	daemon.pid = fork();
	if (daemon.pid == 0)
		_exit(daemon_main(&daemon, setup, log[1]));
	expect(close(log[1]) == 0);
	return daemon;
}

/* What arrives at @fd before the deadline; "" if nothing does. */
static const char *await(int fd, int msec)
{
	static char bytes[1024];
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n = poll(&wait, 1, msec) == 1 ? recv(fd, bytes, sizeof(bytes) - 1, 0) : 0;

	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}

static const char *next_notice(const struct daemon *daemon)
{
	const char *notice;

	do
		notice = await(daemon->notify, DEADLINE_MSEC);
	while (strcmp(notice, "WATCHDOG=1") == 0);
	return notice;
}

static void await_watchdogs(const struct daemon *daemon, unsigned n)
{
	while (n-- > 0)
		expect_str(await(daemon->notify, DEADLINE_MSEC), "WATCHDOG=1");
}

/* The exit status; a daemon that does not exit fails the test and is killed. */
static int daemon_wait(struct daemon *daemon)
{
	struct pollfd end = { .fd = daemon->log, .events = POLLIN };
	char byte;
	int status;

	while (poll(&end, 1, DEADLINE_MSEC) == 1 && recv(daemon->log, &byte, 1, 0) > 0)
		;
	expect(end.revents & POLLHUP);
	if (!(end.revents & POLLHUP))
		(void)kill(daemon->pid, SIGKILL);
	expect(waitpid(daemon->pid, &status, 0) == daemon->pid);
	daemon->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void daemon_deinit(struct daemon *daemon)
{
	if (daemon->pid > 0) {
		expect(kill(daemon->pid, SIGTERM) == 0);
		expect_eq(daemon_wait(daemon), 0);
	}
	close_fd(&daemon->notify);
	close_fd(&daemon->log);
	(void)unlink(daemon->notify_address.sun_path);
	expect(rmdir(daemon->directory) == 0);
}

#define _cleanup_daemon_ _cleanup_(daemon_deinit)

static int client_open(const struct daemon *daemon)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	expect(connect(fd, (const struct sockaddr *)&daemon->address, sizeof(daemon->address)) ==
	       0);
	return fd;
}

static void say(int fd, const char *packet)
{
	expect(send(fd, packet, strlen(packet), MSG_NOSIGNAL) == (ssize_t)strlen(packet));
}

/* Sends one packet and gets the reply; returns the daemon's iteration. */
static unsigned long long talk(int fd, const char *packet)
{
	unsigned long long iteration;
	const char *got;
	char *end;

	say(fd, packet);
	got = await(fd, DEADLINE_MSEC);
	expect_eq(strtol(got, &end, 10), getpid());
	expect_eq(strtoul(end, &end, 10), getuid());
	iteration = strtoull(end, &end, 10);
	expect_str(*end == ' ' ? end + 1 : end, packet);
	return iteration;
}
