/* SPDX-License-Identifier: MIT */

/*
 * The process that resolves: questions from its parent's socket to c-ares, and the answers back
 *
 * It keeps nothing of its parent but that socket and stderr. c-ares is initialised by the first
 * question, so a worker that never resolves a name does not pay for it; what c-ares read then is
 * read again when /etc/resolv.conf has changed, as it does when a laptop moves to another network.
 */

#include "proxy/resolver-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"

#define CONFIGURATION "/etc/resolv.conf"
#define N_EVENTS 32

struct process {
	const struct resolver_options *options;
	int socket;
	int epoll_fd;
	ares_channel channel; /* NULL until the first question */
	struct stat configuration;
	size_t n_in_flight;
};

struct lookup {
	struct process *process;
	uint64_t number;
};

/* Not exit(): what the parent has registered for its own end is not for this process. */
static _Noreturn void end_process(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

/* ---- the start ---- */

static int reset_signals(void)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* SIGKILL, SIGSTOP and the two of libc cannot be set. */
	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &by_default, NULL);
	(void)sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/* Leaves stderr, for what a sanitizer says, and @socket. */
static int close_others(int socket)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
		return -errno;
	close_fd(&nothing);
	if (socket > STDERR_FILENO + 1 &&
	    close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0) < 0)
		return -errno;
	return close_range((unsigned)socket + 1, ~0u, 0) < 0 ? -errno : 0;
}

static int become_resolver(int socket, pid_t parent)
{
	int r = reset_signals();

	if (r < 0)
		return r;
	if (prctl(PR_SET_NAME, "sbx-resolver") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	/* A Ctrl-C is for the sandbox's command, and the proxy goes on. */
	if (setsid() < 0)
		return -errno;
	return close_others(socket);
}

/* ---- answers ---- */

static int watch(const struct process *process, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (epoll_ctl(process->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	return epoll_ctl(process->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Waits while the parent is slow; without a parent the process ends. */
static void answer(struct process *process, uint64_t number, const struct resolver_answer *answer)
{
	struct resolver_reply reply;
	ssize_t n;

	resolver_reply_write(number, answer, &reply);
	do
		n = send(process->socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(reply))
		end_process(EXIT_FAILURE);
}

static void found(void *userdata, int status, int n_timeouts, struct ares_addrinfo *result)
{
	struct lookup *lookup = userdata;
	struct process *process = lookup->process;
	struct resolver_answer told;

	(void)n_timeouts;
	resolver_answer_from(status, result, &told);
	ares_freeaddrinfo(result);
	answer(process, lookup->number, &told);
	free(lookup);
	/* take_question() may wait for this. */
	if (--process->n_in_flight == 0 && watch(process, process->socket, EPOLLIN) < 0)
		end_process(EXIT_FAILURE);
}

/* ---- questions ---- */

/* c-ares tells of each of its sockets, before it closes one too. */
static void socket_changed(void *userdata, ares_socket_t fd, int readable, int writable)
{
	struct process *process = userdata;

	if (!readable && !writable)
		(void)epoll_ctl(process->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	else /* if the kernel has no memory for it, the query times out */
		(void)watch(process, fd,
			    (readable ? EPOLLIN : 0u) | (writable ? (uint32_t)EPOLLOUT : 0u));
}

static void stat_configuration(struct stat *ret)
{
	if (stat(CONFIGURATION, ret) < 0)
		*ret = (struct stat){ .st_ino = 0 };
}

static bool is_stale(const struct process *process)
{
	const struct stat *old = &process->configuration;
	struct stat now;

	if (!process->channel || process->options->servers)
		return false;
	stat_configuration(&now);
	return old->st_dev != now.st_dev || old->st_ino != now.st_ino ||
	       old->st_size != now.st_size || old->st_mtim.tv_sec != now.st_mtim.tv_sec ||
	       old->st_mtim.tv_nsec != now.st_mtim.tv_nsec;
}

static int open_channel(struct process *process)
{
	if (is_stale(process)) {
		ares_destroy(process->channel);
		process->channel = NULL;
	}
	if (process->channel)
		return 0;
	stat_configuration(&process->configuration);
	return resolver_channel_new(process->options->servers, process->options->timeout_usec,
				    socket_changed, process, &process->channel);
}

static void look_up(struct process *process, const struct resolver_question *question)
{
	const struct resolver_answer failed = { .status = RESOLVER_FAILED };
	struct lookup *lookup;

	if (open_channel(process) < 0) {
		answer(process, question->number, &failed);
		return;
	}
	lookup = malloc(sizeof(*lookup));
	if (!lookup) {
		answer(process, question->number, &failed);
		return;
	}
	*lookup = (struct lookup){ .process = process, .number = question->number };
	process->n_in_flight++;
	resolver_channel_ask(process->channel, question->name, found, lookup);
}

static void take_question(struct process *process)
{
	struct resolver_question question;
	ssize_t n;

	/* The servers of a channel can be changed only while it has no query: let the open ones
	 * end, of which none takes longer than the timeout. */
	if (process->n_in_flight > 0 && is_stale(process)) {
		if (watch(process, process->socket, 0) < 0)
			end_process(EXIT_FAILURE);
		return;
	}
	n = recv(process->socket, &question, sizeof(question), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(question))
		end_process(n == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	question.name[sizeof(question.name) - 1] = '\0';
	look_up(process, &question);
}

/* ---- the loop ---- */

static int wait_msec(const struct process *process)
{
	struct timeval timeout, *next;

	if (!process->channel)
		return -1;
	next = ares_timeout(process->channel, NULL, &timeout);
	if (!next)
		return -1;
	/* Rounded up: earlier there would be nothing to do. */
	return (int)(next->tv_sec * 1000 + (next->tv_usec + 999) / 1000);
}

static void serve(struct process *process, const struct epoll_event *event)
{
	int fd = event->data.fd;

	if (fd == process->socket) {
		take_question(process);
		return;
	}
	/* EPOLLERR and EPOLLHUP: reading and writing find out. */
	ares_process_fd(process->channel,
			event->events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
			event->events & ~(uint32_t)EPOLLIN ? fd : ARES_SOCKET_BAD);
}

static int run(struct process *process)
{
	struct epoll_event events[N_EVENTS];
	int r = watch(process, process->socket, EPOLLIN);

	while (r >= 0) {
		int n = epoll_wait(process->epoll_fd, events, N_EVENTS, wait_msec(process));

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			serve(process, &events[i]);
		if (process->channel) /* timeouts */
			ares_process_fd(process->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	}
	return r;
}

_Noreturn void resolver_process_run(int socket, pid_t parent,
				    const struct resolver_options *options)
{
	struct process process = { .options = options, .socket = socket, .epoll_fd = -EBADF };
	struct sbx_error err = { .code = 0 };
	int r = become_resolver(socket, parent);

	if (r >= 0 && options->confine)
		r = options->confine(options->userdata, &err);
	if (r < 0)
		end_process(EXIT_FAILURE);
	process.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (process.epoll_fd >= 0)
		(void)run(&process);
	end_process(EXIT_FAILURE);
}
