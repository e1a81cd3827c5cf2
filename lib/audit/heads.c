/* SPDX-License-Identifier: MIT */

/*
 * Publishing heads
 *
 * Only the newest head is kept, and for each of two destinations whether it is still due there. A
 * destination that cannot take it now (less than a second has passed, the journal's queue is full,
 * the command still runs) later gets the newest head of that moment. The command reads the note
 * from a memfd, so it cannot block the log by not reading; if it runs too long, its process group
 * is killed.
 */

#include "audit/heads.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/moment.h"
#include "base/start.h"
#include "base/text.h"

/* ---- the command ---- */

struct head_command {
	pid_t pid; /* not reaped yet, so the pid cannot have been reused */
	int pidfd; /* readable once it has exited; -EBADF: none runs */
};

#define HEAD_COMMAND_INIT                                                                          \
	{                                                                                          \
		.pidfd = -EBADF                                                                    \
	}

static int fd_of(const void *bytes, size_t n_bytes)
{
	_cleanup_close_ int fd = memfd_create("sbx-head", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, bytes, n_bytes);

	if (r < 0)
		return r;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : take_fd(&fd);
}

static int spawn(const char *command, int stdin_fd, pid_t *ret)
{
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	/* The command's output is diagnostics; the tool's own stdout is data. */
	const struct start start = { .argv = argv,
				     .environment = (const char *const *)environ,
				     .stdin_fd = stdin_fd,
				     .stdout_fd = STDERR_FILENO };

	return start_program(&start, ret);
}

/* Kills the command and all its descendants that stayed in its process group. */
static void head_command_kill(const struct head_command *command)
{
	(void)kill(-command->pid, SIGKILL);
}

/* Starts /bin/sh -c @command in a new process group, with stdout on the tool's stderr. */
static int head_command_start(struct head_command *ret, const char *command, const void *bytes,
			      size_t n_bytes)
{
	_cleanup_close_ int fd = fd_of(bytes, n_bytes);
	struct head_command started = HEAD_COMMAND_INIT;
	int r = fd < 0 ? fd : spawn(command, fd, &started.pid);

	if (r < 0)
		return r;
	started.pidfd = pidfd_of(started.pid);
	if (started.pidfd < 0) {
		head_command_kill(&started);
		(void)waitpid(started.pid, NULL, 0);
		return started.pidfd;
	}
	*ret = started;
	return 0;
}

static int head_command_has_ended(struct head_command *command, int *ret_status)
{
	pid_t pid = waitpid(command->pid, ret_status, WNOHANG);

	if (pid == 0)
		return 0;
	/* If SIGCHLD is ignored (inherited), the kernel has reaped the child, and its status is
	 * lost. */
	if (pid < 0)
		*ret_status = W_EXITCODE(127, 0);
	(void)close(take_fd(&command->pidfd));
	return 1;
}

static void head_command_deinit(struct head_command *command)
{
	if (command->pidfd < 0)
		return;
	head_command_kill(command);
	(void)waitpid(command->pid, NULL, 0);
	(void)close(take_fd(&command->pidfd));
}

/* ---- heads ---- */

#define INTERVAL_USEC UINT64_C(1000000)
#define JOURNAL_WAIT_USEC 250000
#define PROBLEM_SIZE 256

struct receiver {
	bool is_due;
	uint64_t not_before_usec;
	char problem[PROBLEM_SIZE]; /* "" once it works again */
};

struct heads {
	char *tool;
	char *witness_command;
	struct sockaddr_un journal_address;
	uint64_t witness_usec;
	/* the newest head */
	struct text origin, note;
	uint64_t size;
	struct audit_hash root;
	struct receiver journal, witness;
	/* the running command */
	int epoll; /* contains the pidfd, so that a loop needs to watch one fd only */
	struct head_command command;
	uint64_t running_size;
	uint64_t kill_usec; /* HEADS_NEVER: SIGKILL was sent */
	struct heads_state state;
};

/* ---- life ---- */

struct heads *heads_free(struct heads *heads)
{
	if (!heads)
		return NULL;
	head_command_deinit(&heads->command);
	close_fd(&heads->epoll);
	text_deinit(&heads->origin);
	text_deinit(&heads->note);
	free(heads->witness_command);
	free(heads->tool);
	free(heads);
	return NULL;
}

static int fill(struct heads *heads, const struct heads_options *options)
{
	const char *journal = options->journal ? options->journal : LOG_JOURNAL_SOCKET;
	int n = snprintf(heads->journal_address.sun_path, sizeof(heads->journal_address.sun_path),
			 "%s", journal);

	heads->command.pidfd = heads->epoll = -EBADF;
	heads->journal_address.sun_family = AF_UNIX;
	heads->witness_usec = options->witness_usec ? options->witness_usec : HEADS_WITNESS_USEC;
	if (n < 0 || (size_t)n >= sizeof(heads->journal_address.sun_path))
		return -ENAMETOOLONG;
	heads->tool = strdup(options->tool);
	if (options->witness)
		heads->witness_command = strdup(options->witness);
	if (!heads->tool || (options->witness && !heads->witness_command))
		return -ENOMEM;
	heads->epoll = epoll_create1(EPOLL_CLOEXEC);
	return heads->epoll < 0 ? -errno : 0;
}

int heads_new(const struct heads_options *options, struct heads **ret, struct sbx_error *err)
{
	_cleanup_heads_ struct heads *heads = calloc(1, sizeof(*heads));
	int r = heads ? fill(heads, options) : -ENOMEM;

	if (r < 0)
		return sbx_error_what(err, r, "cannot prepare to send the log's heads");
	*ret = take_ptr(heads);
	return 0;
}

/* ---- results ---- */

static void fail(struct heads *heads, struct receiver *receiver, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
static void fail(struct heads *heads, struct receiver *receiver, const char *format, ...)
{
	va_list args;

	heads->state.n_failed++;
	va_start(args, format);
	(void)vsnprintf(receiver->problem, sizeof(receiver->problem), format, args);
	va_end(args);
}

void heads_get_state(const struct heads *heads, struct heads_state *ret)
{
	*ret = heads->state;
	ret->problem =
		heads->witness.problem[0] != '\0' ? heads->witness.problem : heads->journal.problem;
}

void heads_take(void *userdata, const struct audit_head *head)
{
	struct heads *heads = userdata;

	text_reset(&heads->origin);
	text_reset(&heads->note);
	text_add(&heads->origin, head->origin);
	text_add_bytes(&heads->note, head->note, head->n_note);
	if (text_status(&heads->origin) < 0 || text_status(&heads->note) < 0) {
		/* The error of a struct text is sticky: reset both. */
		text_deinit(&heads->origin);
		text_deinit(&heads->note);
		fail(heads, &heads->journal, "no memory for the head of %llu records",
		     (unsigned long long)head->size);
		return;
	}
	heads->size = head->size;
	heads->root = head->root;
	heads->journal.is_due = true;
	heads->witness.is_due = heads->witness_command != NULL;
}

/* ---- the journal ---- */

static int make_datagram(const struct heads *heads, struct text *out)
{
	_cleanup_text_ struct text root = TEXT_INIT, size = TEXT_INIT, message = TEXT_INIT;

	base64_add(&root, heads->root.bytes, AUDIT_HASH_SIZE);
	text_addf(&size, "%llu", (unsigned long long)heads->size);
	text_addf(&message, "%s has %s records, root %s", text_string(&heads->origin),
		  text_string(&size), text_string(&root));
	if (text_status(&root) < 0 || text_status(&size) < 0 || text_status(&message) < 0)
		return -ENOMEM;
	const struct log_field fields[] = {
		{ "MESSAGE_ID", HEADS_MESSAGE_ID },
		{ HEADS_FIELD_LOG, text_string(&heads->origin) },
		{ HEADS_FIELD_SIZE, size.data },
		{ HEADS_FIELD_ROOT, root.data },
		{ HEADS_FIELD_NOTE, text_string(&heads->note) },
		{ NULL, NULL },
	};
	log_add_journal(out, heads->tool, LOG_LEVEL_INFO, fields, message.data, message.len);
	return text_status(out);
}

/* Connects each time: journald may have restarted since. */
static int write_journal(const struct heads *heads, bool may_wait)
{
	static const struct timeval timeout = { .tv_usec = JOURNAL_WAIT_USEC };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_text_ struct text datagram = TEXT_INIT;
	int flags = MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT);
	int r = make_datagram(heads, &datagram);

	if (r < 0)
		return r;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&heads->journal_address,
		    sizeof(heads->journal_address)) < 0 ||
	    send(fd, datagram.data, datagram.len, flags) < 0)
		return -errno;
	return 0;
}

static void tell_journal(struct heads *heads, uint64_t now_usec, bool may_wait)
{
	int r = write_journal(heads, may_wait);

	heads->journal.not_before_usec = now_usec + INTERVAL_USEC;
	/* The journal's queue is full: retry in a second with the newest head of then. */
	if (r == -EAGAIN && !may_wait)
		return;
	heads->journal.is_due = false;
	/* Without journald these errors are expected. */
	if (r < 0 && r != -ENOENT && r != -ECONNREFUSED && r != -ENOTDIR)
		fail(heads, &heads->journal, "cannot write heads to the journal: %s", strerror(-r));
	if (r < 0)
		return;
	heads->state.n_sent++;
	heads->journal.problem[0] = '\0';
}

/* ---- the command ---- */

static int start_command(struct heads *heads)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r = head_command_start(&heads->command, heads->witness_command, heads->note.data,
				   heads->note.len);

	if (r < 0)
		return r;
	if (epoll_ctl(heads->epoll, EPOLL_CTL_ADD, heads->command.pidfd, &event) == 0)
		return 0;
	r = -errno;
	head_command_deinit(&heads->command);
	return r;
}

static void tell_witness(struct heads *heads, uint64_t now_usec)
{
	int r = start_command(heads);

	heads->witness.is_due = false;
	heads->witness.not_before_usec = now_usec + INTERVAL_USEC;
	heads->running_size = heads->size;
	heads->kill_usec = now_usec + heads->witness_usec;
	if (r < 0)
		fail(heads, &heads->witness, "the witness cannot be started: %s", strerror(-r));
}

static void judge(struct heads *heads, int status)
{
	if (heads->kill_usec == HEADS_NEVER) {
		fail(heads, &heads->witness, "the witness took longer than %llu ms and was killed",
		     (unsigned long long)heads->witness_usec / 1000);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		heads->state.n_witnessed++;
		heads->state.witnessed_size = heads->running_size;
		heads->witness.problem[0] = '\0';
	} else if (WIFEXITED(status)) {
		fail(heads, &heads->witness, "the witness ended with %d", WEXITSTATUS(status));
	} else {
		fail(heads, &heads->witness, "the witness was killed by signal %d",
		     WTERMSIG(status));
	}
}

static void look_after_command(struct heads *heads, uint64_t now_usec)
{
	int status = 0;

	if (head_command_has_ended(&heads->command, &status)) {
		judge(heads, status);
	} else if (now_usec >= heads->kill_usec) {
		heads->kill_usec = HEADS_NEVER;
		head_command_kill(&heads->command);
	}
}

/* ---- turns ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t heads_turn(struct heads *heads, uint64_t now_usec)
{
	uint64_t next = HEADS_NEVER;

	if (heads->command.pidfd >= 0)
		look_after_command(heads, now_usec);
	if (heads->journal.is_due && now_usec >= heads->journal.not_before_usec)
		tell_journal(heads, now_usec, false);
	if (heads->witness.is_due && heads->command.pidfd < 0 &&
	    now_usec >= heads->witness.not_before_usec)
		tell_witness(heads, now_usec);
	if (heads->journal.is_due)
		next = earlier(next, heads->journal.not_before_usec);
	/* A running command blocks the next one: wait for its exit or its time limit first. */
	if (heads->command.pidfd >= 0)
		next = earlier(next, heads->kill_usec);
	else if (heads->witness.is_due)
		next = earlier(next, heads->witness.not_before_usec);
	return next;
}

int heads_fd(const struct heads *heads)
{
	return heads->epoll;
}

void heads_finish(struct heads *heads)
{
	if (heads->journal.is_due)
		tell_journal(heads, moment_now(CLOCK_MONOTONIC), true);
	while (heads->witness.is_due || heads->command.pidfd >= 0) {
		struct pollfd wait = { .fd = heads->epoll, .events = POLLIN };
		uint64_t now = moment_now(CLOCK_MONOTONIC), next;

		heads->witness.not_before_usec = 0;
		next = heads_turn(heads, now);
		if (heads->command.pidfd < 0)
			continue;
		(void)poll(&wait, 1, next == HEADS_NEVER ? -1 : (int)((next - now) / 1000) + 1);
	}
}
