/* SPDX-License-Identifier: MIT */

/*
 * The cost of asking the service: one packet there, one decision back
 *
 * The peer is a minimal server: a process that echoes each packet. Both are separate processes
 * at the other end of a SOCK_SEQPACKET socket, so both have the same two context switches; the
 * difference is parsing the request, deciding and writing the answer. All three processes run on
 * one CPU, because a wake-up across CPUs costs more than everything else and varies. Sockets are
 * abstract, so no file remains.
 */

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bench-policy-tool.h"

#define LISTENER_FD 3 /* the first fd of LISTEN_FDS */
#define RECORDS_FD 4
#define ANSWER_SIZE 65536
#define PATIENCE_SEC 10
#define N_ENVIRONMENT 6

static const char request[] = "{\"op\":\"fs.read\",\"path\":\"/srv/m7/src/a.c\",\"project\":"
			      "\"/srv/project\",\"caller\":\"bench\",\"id\":7}";

/* A server in a child, and a connection to it. */
struct served {
	pid_t pid;
	int fd;
};

struct socket_bench {
	struct text tool;
	struct text policy_path;
	int policy;	      /* a memfd */
	cpu_set_t processors; /* CPU affinity of this process, to be restored */
	bool pinned;
	struct served own;
	struct served echo;
};

static void served_end(struct served *served)
{
	close_fd(&served->fd);
	if (served->pid <= 0)
		return;
	(void)kill(served->pid, SIGKILL);
	while (waitpid(served->pid, NULL, 0) < 0 && errno == EINTR)
		;
	served->pid = 0;
}

static void socket_teardown(void *data)
{
	struct socket_bench *bench = data;

	if (!bench)
		return;
	served_end(&bench->own);
	served_end(&bench->echo);
	if (bench->pinned)
		(void)sched_setaffinity(0, sizeof(bench->processors), &bench->processors);
	close_fd(&bench->policy);
	text_deinit(&bench->policy_path);
	text_deinit(&bench->tool);
	free(bench);
}

static void socket_bench_free(struct socket_bench **bench)
{
	socket_teardown(*bench);
}

/* Listens at an abstract address that the kernel chooses. */
static int make_listener(struct sockaddr_un *ret_address, socklen_t *ret_length)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
	    listen(fd, 8) < 0 || getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return -errno;
	*ret_address = address;
	*ret_length = length;
	return take_fd(&fd);
}

/* Runs in the child; does not return. */
static void echo(int listener)
{
	char packet[ANSWER_SIZE];
	int fd = accept(listener, NULL, NULL);
	ssize_t n;

	while ((n = recv(fd, packet, sizeof(packet), 0)) > 0)
		if (send(fd, packet, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	_exit(0);
}

/* Duplicate the fds above all target numbers first, because one may be at the number of another. */
static bool place_fds(int listener)
{
	int records = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int high_listener = fcntl(listener, F_DUPFD_CLOEXEC, RECORDS_FD + 1);
	int high_records = fcntl(records, F_DUPFD_CLOEXEC, RECORDS_FD + 1);

	return dup2(high_listener, LISTENER_FD) >= 0 && dup2(high_records, RECORDS_FD) >= 0;
}

static void serve(const struct socket_bench *bench, int listener)
{
	/* The listener is passed; the path keeps the service from creating its default directory.
	 */
	const char *const argv[] = { bench->tool.data,
				     "serve",
				     "--socket=/nonexistent/policy.sock",
				     "--audit-fd=4",
				     bench->policy_path.data,
				     NULL };
	char pid[32];
	char *const environment[N_ENVIRONMENT] = { (char *)"LC_ALL=C.UTF-8", (char *)"LISTEN_FDS=1",
						   (char *)"LISTEN_FDNAMES=policy", pid, NULL };

	(void)snprintf(pid, sizeof(pid), "LISTEN_PID=%d", (int)getpid());
	if (place_fds(listener))
		(void)execve(argv[0], (char *const *)argv, environment);
	_exit(1);
}

/* Returns the length of the answer, or negative errno. */
static ssize_t ask(const struct served *served, char answer[ANSWER_SIZE])
{
	ssize_t n;

	if (send(served->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		return -errno;
	n = recv(served->fd, answer, ANSWER_SIZE, 0);
	return n < 0 ? -errno : n;
}

static int connect_to(const struct sockaddr_un *address, socklen_t length)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = PATIENCE_SEC };

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, length) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The children inherit the affinity. */
static int pin(struct socket_bench *bench)
{
	cpu_set_t one;
	int processor = sched_getcpu();

	if (processor < 0 ||
	    sched_getaffinity(0, sizeof(bench->processors), &bench->processors) < 0)
		return -errno;
	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return -errno;
	bench->pinned = true;
	return 0;
}

static int start(struct socket_bench *bench, bool own, struct served *ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = 0;
	_cleanup_close_ int listener = make_listener(&address, &length);

	if (listener < 0)
		return listener;
	ret->pid = fork();
	if (ret->pid < 0)
		return -errno;
	if (ret->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (own)
			serve(bench, listener);
		else
			echo(listener);
	}
	ret->fd = connect_to(&address, length);
	return ret->fd < 0 ? ret->fd : 0;
}

static int socket_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(socket_bench_free) struct socket_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up policy_socket");
	bench->own.fd = bench->echo.fd = -EBADF;
	bench->policy = bench_policy_file();
	r = bench_find_tool("sbx-policy", &bench->tool, err);
	if (r < 0)
		return r;
	text_addf(&bench->policy_path, "/proc/%d/fd/%d", (int)getpid(), bench->policy);
	r = bench->policy < 0 ? bench->policy : text_status(&bench->policy_path);
	if (r == 0)
		r = pin(bench);
	if (r == 0)
		r = start(bench, true, &bench->own);
	if (r == 0)
		r = start(bench, false, &bench->echo);
	if (r < 0)
		return sbx_error_what(err, r, "cannot set up policy_socket");
	ret->data = take_ptr(bench);
	return 0;
}

static bool socket_verify(const void *data)
{
	const struct socket_bench *bench = data;
	char answer[ANSWER_SIZE];
	static const char allowed[] = "{\"id\":7,\"verdict\":\"allow\"";

	return ask(&bench->own, answer) > (ssize_t)sizeof(allowed) &&
	       memcmp(answer, allowed, sizeof(allowed) - 1) == 0 &&
	       ask(&bench->echo, answer) == sizeof(request) - 1 &&
	       memcmp(answer, request, sizeof(request) - 1) == 0;
}

static void ask_often(const struct served *served, uint64_t n_ops)
{
	char answer[ANSWER_SIZE];

	for (uint64_t i = 0; i < n_ops; i++) {
		(void)ask(served, answer);
		bench_keep(answer);
	}
}

static void socket_run(void *data, uint64_t n_ops)
{
	struct socket_bench *bench = data;

	ask_often(&bench->own, n_ops);
}

static void socket_peer(void *data, uint64_t n_ops)
{
	struct socket_bench *bench = data;

	ask_often(&bench->echo, n_ops);
}

const struct bench bench_policy_socket[] = {
	{
		.name = "policy_socket",
		.subject = "one request to sbx-policy serve and its decision, 24 rules",
		.unit = "ns/op",
		.against = "peer: a SEQPACKET echo in another process",
		.setup = socket_setup,
		.verify = socket_verify,
		.run = socket_run,
		.peer = socket_peer,
		.teardown = socket_teardown,
	},
	{ .name = NULL },
};
