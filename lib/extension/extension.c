/* SPDX-License-Identifier: MIT */

/*
 * One extension program and its open questions
 *
 * Every event (stdout readable, stdin writable, deadline, restart) makes one epoll fd readable,
 * which is all that an event loop has to watch. Every failure ends the same way: SIGKILL to the
 * process group, deny for all open questions with the reason, and a timer for the restart. A
 * question is never sent twice: after a crash it is not known whether the program has acted on it.
 */

#include "extension/extension.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/moment.h"
#include "base/process.h"
#include "base/start.h"
#include "base/text.h"
#include "extension/answer.h"

/*
 * The process
 *
 * posix_spawn() does not copy this process's memory and reports a failed exec. The child starts
 * with no blocked or ignored signals (the loop of a service blocks some), no fds but stdin, stdout
 * and stderr, only PATH and LC_ALL in its environment, and its own process group, which
 * program_kill() signals.
 */

struct program {
	pid_t pid;   /* 0: none; after program_kill() the killed process until it is reaped */
	int to_fd;   /* its stdin: a socket, because send() has MSG_NOSIGNAL */
	int from_fd; /* a pipe from its stdout */
};

/* One block, to free(). NULL: out of memory. */
static const char *const *program_copy_argv(const char *const *argv)
{
	size_t n = 0, n_bytes = 0;
	char **copy;
	char *at;

	for (; argv[n]; n++)
		n_bytes += strlen(argv[n]) + 1;
	copy = malloc((n + 1) * sizeof(*copy) + n_bytes);
	if (!copy)
		return NULL;
	at = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
	}
	copy[n] = NULL;
	return (const char *const *)copy;
}

static int program_start(struct program *program, const char *const *argv)
{
	static const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
						   "LC_ALL=C.UTF-8", NULL };
	_cleanup_close_ int to_fd = -EBADF, from_fd = -EBADF, stdin_fd = -EBADF, stdout_fd = -EBADF;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	to_fd = pair[0];
	stdin_fd = pair[1];
	/* The program's end is for reading only: a write() to its stdin gets EPIPE. */
	(void)shutdown(to_fd, SHUT_RD);
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	from_fd = pair[0];
	stdout_fd = pair[1];
	if (fcntl(from_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	const struct start start = { .argv = argv,
				     .environment = environment,
				     .directory = "/",
				     .stdin_fd = stdin_fd,
				     .stdout_fd = stdout_fd };

	r = start_program(&start, &program->pid);
	if (r < 0) {
		program->pid = 0;
		return r;
	}
	program->to_fd = take_fd(&to_fd);
	program->from_fd = take_fd(&from_fd);
	return 0;
}

/* Reaps the killed process; true if there is none left. */
static bool program_is_gone(struct program *program)
{
	if (program->pid > 0 && waitpid(program->pid, NULL, WNOHANG) == program->pid)
		program->pid = 0;
	return program->pid == 0;
}

/* Sends SIGKILL to its process group. Does not wait. */
static void program_kill(struct program *program)
{
	close_fd(&program->to_fd);
	close_fd(&program->from_fd);
	if (program->pid > 0)
		(void)kill(-program->pid, SIGKILL);
	(void)program_is_gone(program);
}

static void program_wait(struct program *program)
{
	if (program->pid > 0)
		(void)process_wait(program->pid, NULL);
	program->pid = 0;
}

/* ---- the extension ---- */

struct question {
	uint64_t number;
	uint64_t deadline_usec;
};

struct extension {
	char *name;
	const char *const *argv;
	struct program program;
	int epoll_fd;
	int timer_fd;
	uint64_t limit_usec; /* deadline of one answer */
	uint64_t pause_usec;
	uint64_t restart_usec; /* when to restart it; 0: it is running */
	uint64_t n_asked;
	size_t first, n_open; /* ring buffer of open questions */
	struct question questions[EXTENSION_OPEN_MAX];
	size_t n_failed; /* the first n_failed open questions will be denied, because of fault */
	const char *fault;
	struct text unsent;
	struct text read; /* bytes after the last complete line */
	struct text reason;
	uint32_t waits_for; /* events for which its stdin is in the epoll fd; 0: it is not in it */
	bool has_begun;	    /* it has read its first bytes: the start is over */
	int n_unread;	    /* unread bytes in its stdin (SIOCOUTQ) after the last send() */
};

static struct question *question_at(struct extension *extension, size_t i)
{
	return &extension->questions[(extension->first + i) % EXTENSION_OPEN_MAX];
}

/* Arms the timer for the next event: open questions to deny (at once), a deadline, a restart. */
static void arm(struct extension *extension)
{
	uint64_t at = extension->restart_usec;
	struct itimerspec when = { .it_interval.tv_sec = 0 };

	if (extension->n_open > extension->n_failed)
		at = question_at(extension, extension->n_failed)->deadline_usec;
	if (extension->n_failed > 0)
		at = 1;
	when.it_value = moment_timespec(at);
	(void)timerfd_settime(extension->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static int extension_watch(struct extension *extension, int fd, uint32_t events, int operation)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(extension->epoll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

static int start_and_watch(struct extension *extension)
{
	int r = program_start(&extension->program, extension->argv);

	if (r < 0)
		return r;
	return extension_watch(extension, extension->program.from_fd, EPOLLIN, EPOLL_CTL_ADD);
}

static int extension_start(struct extension *extension)
{
	int r = start_and_watch(extension);

	if (r < 0) {
		program_kill(&extension->program);
		return r;
	}
	extension->waits_for = 0;
	extension->has_begun = false;
	extension->n_unread = 0;
	extension->restart_usec = 0;
	return 0;
}

/* Does not wait for the killed process: program_is_gone() reaps it later. */
static void fail(struct extension *extension, const char *fault)
{
	program_kill(&extension->program);
	text_reset(&extension->unsent);
	text_reset(&extension->read);
	extension->n_failed = extension->n_open;
	extension->fault = fault;
	extension->restart_usec = moment_now(CLOCK_MONOTONIC) + extension->pause_usec;
	extension->pause_usec = extension->pause_usec * 2 < EXTENSION_PAUSE_MAX_USEC
					? extension->pause_usec * 2
					: EXTENSION_PAUSE_MAX_USEC;
	arm(extension);
}

static void try_restart(struct extension *extension)
{
	if (extension->restart_usec == 0 || moment_now(CLOCK_MONOTONIC) < extension->restart_usec)
		return;
	if (!program_is_gone(&extension->program) || extension_start(extension) < 0)
		fail(extension, "it cannot be started");
}

/* ---- the end of its start ---- */

/*
 * The program's start ends when it first reads its stdin. A unix socket signals EPOLLOUT to its
 * writer when the reader takes a packet; edge-triggered, because the socket is writable all the
 * time. After that, watch EPOLLOUT only while there is something to send: EPOLLHUP of a closed
 * stdin must not wake the loop.
 */
static void watch_stdin(struct extension *extension)
{
	uint32_t wanted = extension->unsent.len > 0 ? EPOLLOUT : 0;
	int operation = extension->waits_for == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (!extension->has_begun)
		wanted = EPOLLOUT | EPOLLET;
	if (wanted == extension->waits_for)
		return;
	(void)extension_watch(extension, extension->program.to_fd, wanted,
			      wanted == 0 ? EPOLL_CTL_DEL : operation);
	extension->waits_for = wanted;
}

static int count_unread(const struct extension *extension)
{
	int n = 0;

	return ioctl(extension->program.to_fd, SIOCOUTQ, &n) < 0 ? 0 : n;
}

/* The program has read from its stdin: the deadline of questions that were sent during its start
 * begins now.
 */
static void end_start(struct extension *extension)
{
	uint64_t deadline = moment_now(CLOCK_MONOTONIC) + extension->limit_usec;

	extension->has_begun = true;
	for (size_t i = 0; i < extension->n_open; i++)
		question_at(extension, i)->deadline_usec = deadline;
	watch_stdin(extension);
}

static void look_whether_it_has_begun(struct extension *extension)
{
	struct epoll_event ignored[4];

	if (extension->has_begun || extension->restart_usec != 0)
		return;
	/* epoll reports an edge until epoll_wait() has returned it. */
	(void)epoll_wait(extension->epoll_fd, ignored, N_ELEMENTS(ignored), 0);
	if (count_unread(extension) < extension->n_unread)
		end_start(extension);
}

static void note_sent(struct extension *extension)
{
	int n = extension->has_begun ? 0 : count_unread(extension);

	/* 0: the program has read everything already. 1 makes the comparison "less than was sent"
	 * true. */
	extension->n_unread = n > 0 ? n : 1;
}

/* ---- questions ---- */

static void send_unsent(struct extension *extension)
{
	struct text *unsent = &extension->unsent;
	ssize_t n = 0;

	if (unsent->len > 0)
		n = send(extension->program.to_fd, unsent->data, unsent->len,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		fail(extension, "it ended");
		return;
	}
	if (n > 0) {
		memmove(unsent->data, unsent->data + n, unsent->len - (size_t)n);
		text_truncate(unsent, unsent->len - (size_t)n);
		note_sent(extension);
	}
	watch_stdin(extension);
}

static void deny(struct extension *extension, const char *why, struct policy_vote *ret)
{
	text_reset(&extension->reason);
	text_addf(&extension->reason, "the extension '%s' gave no answer: %s", extension->name,
		  why);
	*ret = (struct policy_vote){ .extension = extension->name,
				     .action = POLICY_DENY,
				     .reason = text_string(&extension->reason) };
}

static uint64_t refuse(struct extension *extension, const char *why, struct policy_vote *ret)
{
	deny(extension, why, ret);
	return 0;
}

uint64_t extension_submit(struct extension *extension, const char *request_json, size_t n_bytes,
			  struct policy_vote *ret)
{
	struct question *question;

	try_restart(extension);
	look_whether_it_has_begun(extension);
	if (extension->restart_usec != 0)
		return refuse(extension, extension->fault, ret);
	if (extension->n_open == EXTENSION_OPEN_MAX ||
	    extension->unsent.len + n_bytes > EXTENSION_UNSENT_MAX)
		return refuse(extension, "too many questions are waiting for it", ret);

	extension->n_asked++;
	text_addf(&extension->unsent,
		  "{\"n\":%llu,\"request\":", (unsigned long long)extension->n_asked);
	text_add_bytes(&extension->unsent, request_json, n_bytes);
	text_add(&extension->unsent, "}\n");
	if (text_status(&extension->unsent) < 0) {
		/* The line may be incomplete: drop it. */
		text_deinit(&extension->unsent);
		fail(extension, "there was no memory to ask it");
		return refuse(extension, extension->fault, ret);
	}
	question = question_at(extension, extension->n_open++);
	question->number = extension->n_asked;
	question->deadline_usec =
		moment_now(CLOCK_MONOTONIC) +
		(extension->has_begun ? extension->limit_usec : EXTENSION_START_USEC);
	send_unsent(extension);
	if (extension->restart_usec == 0)
		look_whether_it_has_begun(extension);
	arm(extension);
	return extension->n_asked;
}

static void pop(struct extension *extension, uint64_t *ret_number)
{
	*ret_number = question_at(extension, 0)->number;
	extension->first = (extension->first + 1) % EXTENSION_OPEN_MAX;
	extension->n_open--;
}

/* ---- answers ---- */

/* Reads all available bytes, at most one line over EXTENSION_LINE_MAX. */
static void receive(struct extension *extension)
{
	char bytes[4096];
	ssize_t n;

	if (extension->restart_usec != 0)
		return;
	while (extension->read.len <= EXTENSION_LINE_MAX &&
	       (n = read(extension->program.from_fd, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		text_add_bytes(&extension->read, bytes, (size_t)n);
		if (text_status(&extension->read) < 0) {
			text_deinit(&extension->read);
			fail(extension, "there was no memory for its answer");
			return;
		}
	}
	/* At end of file a complete answer still counts. */
	if (!memchr(text_string(&extension->read), '\n', extension->read.len))
		fail(extension, extension->read.len > EXTENSION_LINE_MAX ? "its line is too long"
									 : "it ended");
}

/* 1: @ret is the answer of one complete line. 0: no complete line, or a failure. */
static int take_line(struct extension *extension, uint64_t *ret_number, struct policy_vote *ret)
{
	struct text *read = &extension->read;
	char *end = read->len > 0 ? memchr(read->data, '\n', read->len) : NULL;
	struct answer answer;
	size_t n_bytes;
	int r;

	if (!end)
		return 0;
	n_bytes = (size_t)(end - read->data);
	r = n_bytes <= EXTENSION_LINE_MAX
		    ? answer_parse(read->data, n_bytes, &answer, &extension->reason)
		    : -EBADMSG;
	memmove(read->data, end + 1, read->len - n_bytes - 1);
	text_truncate(read, read->len - n_bytes - 1);
	if (r < 0 || extension->n_open == 0 || question_at(extension, 0)->number != answer.number) {
		fail(extension, r < 0 ? "its line is not an answer" : "it answered out of order");
		return 0;
	}
	pop(extension, ret_number);
	if (!extension->has_begun)
		end_start(extension);
	extension->pause_usec = EXTENSION_PAUSE_FIRST_USEC;
	*ret = (struct policy_vote){
		.extension = extension->name,
		.action = answer.action,
		.reason = answer.has_reason ? text_string(&extension->reason) : NULL,
	};
	return 1;
}

static void check_deadline(struct extension *extension)
{
	if (extension->n_open > 0 && extension->n_failed == 0 &&
	    moment_now(CLOCK_MONOTONIC) >= question_at(extension, 0)->deadline_usec)
		fail(extension, extension->has_begun
					? "it took longer than 100 ms"
					: "it did not read its first question for 10 s");
}

int extension_next(struct extension *extension, uint64_t *ret_number, struct policy_vote *ret)
{
	int r = 0;

	look_whether_it_has_begun(extension);
	if (extension->n_failed == 0) {
		/* Read before the deadline is checked: the answer may be in the pipe because this
		 * process is late. */
		receive(extension);
		if (extension->restart_usec == 0)
			r = take_line(extension, ret_number, ret);
		if (r == 0)
			check_deadline(extension);
		if (r == 0 && extension->restart_usec == 0)
			send_unsent(extension);
	}
	if (r == 0 && extension->n_failed > 0) {
		pop(extension, ret_number);
		extension->n_failed--;
		deny(extension, extension->fault, ret);
		r = 1;
	}
	if (extension->n_failed == 0)
		try_restart(extension);
	arm(extension);
	return r;
}

/* For callers without an event loop. */
void extension_ask(struct extension *extension, const char *request_json, size_t n_bytes,
		   struct policy_vote *ret)
{
	struct pollfd wait = { .fd = extension->epoll_fd, .events = POLLIN };
	uint64_t number;

	if (extension_submit(extension, request_json, n_bytes, ret) == 0)
		return;
	/* At the deadline the timer makes the epoll fd readable. */
	while (extension_next(extension, &number, ret) == 0)
		(void)poll(&wait, 1, -1);
}

int extension_fd(const struct extension *extension)
{
	return extension->epoll_fd;
}

const char *extension_name(const struct extension *extension)
{
	return extension->name;
}

pid_t extension_pid(const struct extension *extension)
{
	return extension->restart_usec == 0 ? extension->program.pid : 0;
}

/* ---- creating and freeing ---- */

struct extension *extension_free(struct extension *extension)
{
	if (!extension)
		return NULL;
	program_kill(&extension->program);
	program_wait(&extension->program);
	close_fd(&extension->epoll_fd);
	close_fd(&extension->timer_fd);
	text_deinit(&extension->unsent);
	text_deinit(&extension->read);
	text_deinit(&extension->reason);
	free((void *)extension->argv);
	free(extension->name);
	free(extension);
	return NULL;
}

static int make(const char *name, const char *const *argv, struct extension **ret)
{
	_cleanup_extension_ struct extension *extension = calloc(1, sizeof(*extension));
	int r;

	if (!extension)
		return -ENOMEM;
	extension->program = (struct program){ .to_fd = -EBADF, .from_fd = -EBADF };
	extension->limit_usec = EXTENSION_DEADLINE_USEC;
	extension->pause_usec = EXTENSION_PAUSE_FIRST_USEC;
	extension->timer_fd = -EBADF;
	extension->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (extension->epoll_fd < 0)
		return -errno;
	extension->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (extension->timer_fd < 0)
		return -errno;
	extension->name = strdup(name);
	extension->argv = program_copy_argv(argv);
	if (!extension->name || !extension->argv)
		return -ENOMEM;
	r = extension_watch(extension, extension->timer_fd, EPOLLIN, EPOLL_CTL_ADD);
	if (r < 0)
		return r;
	r = extension_start(extension);
	if (r < 0)
		return r;
	*ret = take_ptr(extension);
	return 0;
}

int extension_new(const char *name, const char *const *argv, struct extension **ret,
		  struct sbx_error *err)
{
	int r = argv[0] && argv[0][0] == '/' ? make(name, argv, ret) : -EINVAL;

	if (r == 0)
		return 0;
	if (r == -EINVAL)
		return error_fill(err, r, "the path of its program is not absolute",
				  "write the path from '/' on, as in /usr/lib/sbx/rule",
				  "cannot start the extension '%s'", name);
	(void)sbx_error_what(err, r, "cannot start the extension '%s'", name);
	sbx_error_fix(err, "check that '%s' exists and may be executed", argv[0]);
	return r;
}

void extension_set_deadline(struct extension *extension, uint64_t usec)
{
	extension->limit_usec = usec;
}
