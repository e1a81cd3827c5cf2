/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl logs: the output of a sandbox that sbx-ctl has started
 *
 * Written unchanged to a file or pipe. On a terminal control characters are escaped. Following
 * waits for changes in the sandbox's directory and for the end of its supervisor.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define PIECE_BYTES 65536
#define LOOK_MSEC 250

struct following {
	struct ctl *ctl;
	const char *id;
	int log;
	int watch;
	int supervisor; /* pidfd, if known */
	bool is_terminal;
	struct text rest; /* an incomplete line, on a terminal */
};

static void following_deinit(struct following *following)
{
	close_fd(&following->log);
	close_fd(&following->watch);
	close_fd(&following->supervisor);
	text_deinit(&following->rest);
}

/* Tabs and newlines are not escaped. */
static void show_line(struct text *out, const char *line, size_t len)
{
	while (len > 0) {
		const char *tab = memchr(line, '\t', len);
		size_t n = tab ? (size_t)(tab - line) : len;

		text_add_visible(out, line, n);
		if (tab)
			text_add_char(out, '\t');
		n += tab ? 1 : 0;
		line += n;
		len -= n;
	}
}

/* Writes complete lines; an incomplete one waits, so that no character is split. */
static void show(struct following *following, const char *bytes, size_t n_bytes)
{
	struct text *out = &following->ctl->run->out, *rest = &following->rest;
	const char *newline;
	size_t at = 0;

	text_add_bytes(rest, bytes, n_bytes);
	while (at < rest->len && (newline = memchr(rest->data + at, '\n', rest->len - at))) {
		size_t len = (size_t)(newline - rest->data) - at;

		show_line(out, rest->data + at, len);
		text_add_char(out, '\n');
		at += len + 1;
	}
	if (rest->len - at >= PIECE_BYTES) {
		show_line(out, rest->data + at, rest->len - at);
		at = rest->len;
	}
	if (at > 0) {
		memmove(rest->data, rest->data + at, rest->len - at);
		text_truncate(rest, rest->len - at);
	}
}

static int copy(struct following *following, struct sbx_error *err)
{
	char bytes[PIECE_BYTES];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(following->log, bytes, sizeof(bytes))) != 0) {
		if (n < 0)
			return ctl_fail(err, -errno, "read the log of", following->id, NULL, NULL);
		if (following->is_terminal)
			show(following, bytes, (size_t)n);
		else
			text_add_bytes(&following->ctl->run->out, bytes, (size_t)n);
		r = tool_flush(following->ctl->run, err);
	}
	return r;
}

/* 1 while more output may come. A removal takes the state away before the log. */
static int find_supervisor(struct following *following)
{
	struct target target;
	int r = ctl_read(following->ctl, following->id, &target, NULL);
	struct stat st;

	if (r < 0 || following->supervisor >= 0)
		return r < 0 ? 0 : 1;
	/* The id may already be that of a new sandbox. */
	if (target.entry.created_usec == 0 || fstat(following->log, &st) < 0 || st.st_nlink == 0)
		return 0;
	if (!target.is_alive)
		return target.entry.waits;
	if (target.entry.supervisor > 0)
		following->supervisor =
			process_open(target.entry.supervisor, target.entry.supervisor_start);
	return following->supervisor != -ESRCH;
}

static int follow(struct following *following, struct sbx_error *err)
{
	char events[4096], path[64];
	bool is_last = false;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", following->log);
	following->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (following->watch < 0 || inotify_add_watch(following->watch, path, IN_MODIFY) < 0)
		return ctl_fail(err, -errno, "follow", following->id, NULL,
				"raise the limit of inotify watches");
	/* Read once more after the supervisor's end: its last output was written before. */
	while (r == 0) {
		struct pollfd fds[] = { { .fd = following->watch, .events = POLLIN },
					{ .fd = following->supervisor, .events = POLLIN } };

		r = copy(following, err);
		if (r < 0 || is_last)
			return r;
		is_last = find_supervisor(following) == 0;
		fds[1].fd = following->supervisor;
		/* No event of the log tells of a start without output, or of a removal. */
		if (!is_last &&
		    poll(fds, N_ELEMENTS(fds), following->supervisor < 0 ? LOOK_MSEC : -1) < 0 &&
		    errno != EINTR)
			return ctl_fail(err, -errno, "follow", following->id, NULL, NULL);
		is_last = is_last || fds[1].revents != 0;
		while (read(following->watch, events, sizeof(events)) > 0)
			;
	}
	return r;
}

static int open_log(struct following *following, const struct target *target, struct sbx_error *err)
{
	char path[SANDBOX_ID_MAX + sizeof("/" SANDBOX_LOG_NAME)];

	(void)snprintf(path, sizeof(path), "%s/" SANDBOX_LOG_NAME, following->id);
	following->log = openat(following->ctl->registry, path,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (following->log >= 0)
		return 0;
	if (errno == ENOENT && !target->is_alive && target->entry.waits)
		return ctl_fail(err, -ENOENT, "find a log of", following->id, "it was not started",
				"start it: sbx-ctl start ID");
	if (errno == ENOENT)
		return ctl_fail(err, -ENOENT, "find a log of", following->id,
				"sbx-ctl has not started it",
				"what sbx-spawn starts writes to the stdout that it was given");
	return ctl_fail(err, -errno, "open the log of", following->id, NULL, NULL);
}

int ctl_verb_logs(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	_cleanup_(following_deinit) struct following following = {
		.ctl = &ctl,
		.id = operands[0],
		.log = -EBADF,
		.watch = -EBADF,
		.supervisor = -EBADF,
		.is_terminal = isatty(STDOUT_FILENO),
	};
	struct target target;
	int r = ctl_init(&ctl, context, err);

	if (r < 0)
		return ctl_status(r);
	r = ctl_read(&ctl, operands[0], &target, err);
	if (r < 0)
		return ctl_status(r);
	r = open_log(&following, &target, err);
	if (r < 0)
		return ctl_status(r);
	r = ctl.values->follow ? follow(&following, err) : copy(&following, err);
	if (following.rest.len > 0)
		show_line(&ctl.run->out, following.rest.data, following.rest.len);
	return r;
}
