/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl start: runs sbx-spawn in its own session with the stored configuration
 *
 * sbx-spawn takes over the sandbox's directory and writes its state there: RUNNING after execve()
 * of the command. sbx-ctl watches the directory and the process: either shows that the command
 * runs, or that it will not.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"

#include "tool.h"

#define LOG_SHOWN_MAX 4096

struct starting {
	struct ctl *ctl;
	const char *id;
	int directory;
	int watch; /* inotify */
	int log;
	pid_t pid;
	int pidfd;
};

static void starting_deinit(struct starting *starting)
{
	close_fd(&starting->directory);
	close_fd(&starting->watch);
	close_fd(&starting->log);
	close_fd(&starting->pidfd);
}

/* A second start at the same time must neither empty the log of the first nor write to it, and
 * 'remove' must not take the directory from a start. sbx-spawn inherits the lock with the open
 * file. */
static bool lock_is_taken(int log)
{
	return flock(log, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

bool start_is_going_on(int directory)
{
	_cleanup_close_ int log =
		openat(directory, SANDBOX_LOG_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return log >= 0 && lock_is_taken(log);
}

static int prepare(struct starting *starting, struct sbx_error *err)
{
	char path[64];
	int r = 0;

	starting->directory = openat(starting->ctl->registry, starting->id,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	starting->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (starting->directory >= 0)
		starting->log = openat(starting->directory, SANDBOX_LOG_NAME,
				       O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", starting->directory);
	if (starting->log < 0 || starting->watch < 0 ||
	    inotify_add_watch(starting->watch, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) < 0)
		r = -errno;
	return r < 0 ? ctl_fail(err, r, "watch", starting->id, NULL,
				"check the runtime directory and the limit of inotify watches")
		     : 0;
}

static int run_spawn(struct starting *starting, const char *const *words, struct sbx_error *err)
{
	struct spawn_start start = { .cwd = words[0],
				     .out = starting->log,
				     .err = starting->log,
				     .is_own_session = true,
				     .umask = starting->ctl->umask };
	const char **argv;
	char path[4096];
	size_t n = 0;
	int r = spawn_find(path, err);

	if (r < 0)
		return r;
	while (words[n])
		n++;
	argv = arena_alloc(&starting->ctl->arena, (n + 3) * sizeof(*argv));
	if (!argv)
		return sbx_error_what(err, -ENOMEM, "no memory to start the sandbox");
	argv[0] = path;
	argv[1] = "--id";
	argv[2] = starting->id;
	memcpy(argv + 3, words + 1, n * sizeof(*argv));
	start.argv = argv;
	starting->pid = spawn_start(&start, err);
	if (starting->pid < 0)
		return starting->pid;
	starting->pidfd = pidfd_of(starting->pid);
	return starting->pidfd < 0
		       ? ctl_fail(err, starting->pidfd, "watch", starting->id, NULL, NULL)
		       : 0;
}

/* 1: the command runs or has run; 0: unknown yet; or negative errno. */
static int look(struct starting *starting)
{
	struct target target;
	int r = ctl_read(starting->ctl, starting->id, &target, NULL);
	const struct sandbox_entry *entry = &target.entry;

	/* On a full file system the state may be half written; its close wakes this process. */
	if (r == -EBADMSG)
		return 0;
	if (r < 0)
		return r;
	if (entry->supervisor != starting->pid)
		return 0;
	if (entry->state == SANDBOX_RUNNING || entry->state == SANDBOX_STOPPING)
		return 1;
	/* Did it end before the command began? */
	if (entry->state == SANDBOX_FAILED ||
	    (entry->reason &&
	     (strcmp(entry->reason, "setup") == 0 || strcmp(entry->reason, "exec") == 0)))
		return -ECANCELED;
	return entry->has_status && entry->reason;
}

static int wait_started(struct starting *starting)
{
	struct pollfd fds[] = { { .fd = starting->watch, .events = POLLIN },
				{ .fd = starting->pidfd, .events = POLLIN } };
	char events[4096];

	for (;;) {
		bool has_ended;
		int r;

		if (poll(fds, N_ELEMENTS(fds), -1) < 0 && errno != EINTR)
			return -errno;
		while (read(starting->watch, events, sizeof(events)) > 0)
			;
		/* Check for the exit first, so that the state that is read afterwards is the last
		 * one. */
		has_ended = fds[1].revents != 0;
		r = look(starting);
		if (r != 0 || has_ended)
			return r == 0 ? -ECANCELED : r;
	}
}

/* Prints the messages of sbx-spawn; nothing else has been written to the log yet. */
static int show_failure(struct starting *starting, struct sbx_error *err)
{
	char said[LOG_SHOWN_MAX];
	_cleanup_text_ struct text shown = TEXT_INIT;
	int status = 0;
	ssize_t n;

	(void)process_wait(starting->pid, &status);
	n = pread(starting->log, said, sizeof(said), 0);
	for (ssize_t at = 0, end; at < n; at = end + 1) {
		const char *newline = memchr(said + at, '\n', (size_t)(n - at));

		end = newline ? newline - said : n;
		text_add_visible(&shown, said + at, (size_t)(end - at));
		text_add_char(&shown, '\n');
	}
	(void)fd_write_all(STDERR_FILENO, text_string(&shown), shown.len);
	(void)sbx_error_what(err, -ECANCELED, "cannot start '%s'", starting->id);
	sbx_error_why(err, "sbx-spawn ended with %d before the command ran%s",
		      process_status(status), n > 0 ? "; its message is above" : "");
	sbx_error_fix(err,
		      "correct what the message names, or create the sandbox with other options");
	return -ECANCELED;
}

/* The start reads the policy again; it must be the checked one. */
static int check_unchanged(struct ctl *ctl, const struct sandbox_entry *entry,
			   const char *const *words, struct sbx_error *err)
{
	const char *before = entry->policy_digest ? entry->policy_digest : "";
	struct plan_facts facts = { .policy_digest = NULL };
	int r = plan_ask(ctl, entry->id, words[0], words + 1, &facts, err);

	if (r == -EINVAL)
		return -ECANCELED;
	if (r < 0 || strcmp(before, facts.policy_digest ? facts.policy_digest : "") == 0)
		return r;
	return ctl_fail(err, -EACCES, "start", entry->id,
			"its policy has changed since it was created",
			"put the policy back as it was, or create another sandbox");
}

static int check_directory(const char *id, const char *directory, struct sbx_error *err)
{
	struct stat st;

	if (stat(directory, &st) < 0 ? errno != ENOENT && errno != ENOTDIR : S_ISDIR(st.st_mode))
		return 0;
	(void)sbx_error_what(err, -ECANCELED, "cannot start '%s'", id);
	sbx_error_why(err,
		      "the directory that it was created in, '%.300s', does not exist any more",
		      directory);
	sbx_error_fix(err, "create that directory again, or create the sandbox in another one");
	return -ECANCELED;
}

/* With room for the messages of sbx-spawn: those of a start that fails must reach the user. */
static int empty_log(int log)
{
	if (ftruncate(log, 0) < 0)
		return -errno;
	if (fallocate(log, FALLOC_FL_KEEP_SIZE, 0, LOG_SHOWN_MAX) < 0 && errno != EOPNOTSUPP)
		return -errno;
	return 0;
}

static int start_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_(starting_deinit) struct starting starting = { .ctl = ctl,
								.id = id,
								.directory = -EBADF,
								.watch = -EBADF,
								.log = -EBADF,
								.pidfd = -EBADF };
	const char *const *words = NULL;
	struct target target;
	bool is_taken;
	int r = ctl_read(ctl, id, &target, err);

	if (r < 0)
		return r;
	r = configuration_read(ctl, id, &words, err);
	if (r < 0 || !words)
		return r;
	r = prepare(&starting, err);
	if (r < 0)
		return r;
	is_taken = lock_is_taken(starting.log);
	r = ctl_read(ctl, id, &target, err);
	if (r < 0)
		return r;
	if (is_taken || target.is_alive || !target.entry.waits)
		return ctl_fail(err, -EEXIST, "start", id,
				target.is_alive ? "it is running"
				: is_taken	? "it is being started"
						: "it has run already",
				"each can be started once: 'sbx-ctl create' creates another");
	r = check_directory(id, words[0], err);
	if (r < 0)
		return r;
	r = check_unchanged(ctl, &target.entry, words, err);
	if (r < 0)
		return r;
	r = empty_log(starting.log);
	if (r < 0)
		return ctl_fail(err, r, "start", id, NULL, "make room in the runtime directory");
	r = run_spawn(&starting, words, err);
	if (r < 0)
		return r;
	r = wait_started(&starting);
	if (r == -ENOENT)
		return ctl_fail(err, -ECANCELED, "start", id,
				"it was removed as soon as it was started", "create it again");
	return r < 0 ? show_failure(&starting, err) : 0;
}

int ctl_verb_start(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, start_one, err);
}
