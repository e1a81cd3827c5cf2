/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl pause, resume: by the sandbox's own cgroup, else by stopping each of its processes
 *
 * Freezing a cgroup stops all processes in it at once, and none can leave it. The fallback, which
 * is reported, is SIGSTOP to every process of the sandbox, repeated until no new one is found;
 * since all are stopped, none can continue another.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path-lock.h"

#include "tool.h"

#define MARK_PATH_SIZE (SANDBOX_ID_MAX + sizeof("/" SANDBOX_PAUSED_NAME))

static void name_mark(const char *id, char ret[MARK_PATH_SIZE])
{
	(void)snprintf(ret, MARK_PATH_SIZE, "%s/" SANDBOX_PAUSED_NAME, id);
}

/* The file is created first and removed last: a failure in between can be resumed. It is locked
 * meanwhile, or a pause and a resume at the same time could leave a sandbox stopped without it. */
static int lock_mark(struct ctl *ctl, const char *path, int flags)
{
	for (;;) {
		_cleanup_close_ int fd = openat(ctl->registry, path,
						O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
		int r = fd < 0 ? -errno : path_lock_open(fd);

		/* 0: a resume has removed the file. */
		if (r != 0)
			return r < 0 ? r : take_fd(&fd);
	}
}

static int hold(struct ctl *ctl, const char *id, const struct sandbox_entry *entry, bool paused)
{
	_cleanup_close_ int cgroup = cgroup_open(entry);
	bool is_repeated = paused && entry->is_paused;
	char done[96];
	int r;

	if (cgroup >= 0) {
		r = cgroup_freeze(cgroup, paused);
		if (r == 0)
			ctl_say(ctl, id,
				is_repeated ? "is paused already"
				: paused    ? "paused (cgroup frozen)"
					    : "resumed (cgroup thawed)");
		return r;
	}
	r = processes_hold(entry, paused);
	if (r < 0)
		return r;
	if (is_repeated && r == 0) {
		ctl_say(ctl, id, "is paused already");
		return 0;
	}
	(void)snprintf(done, sizeof(done),
		       paused ? "paused (SIGSTOP to %d process%s, because it has no cgroup)"
			      : "resumed (SIGCONT to %d process%s)",
		       r, r == 1 ? "" : "es");
	ctl_say(ctl, id, done);
	return 0;
}

/* The time limit does not run while the file exists. SIGURG makes the supervisor check it; a
 * stopped supervisor checks when it continues. */
static void tell(const struct sandbox_entry *entry)
{
	_cleanup_close_ int supervisor = process_open(entry->supervisor, entry->supervisor_start);

	if (supervisor >= 0)
		(void)pidfd_kill(supervisor, SIGURG);
}

/* When a sandbox ends, the kernel removes the files of its cgroup, and its supervisor the directory
 * in the registry. */
static int fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *fix)
{
	if (code == -ENODEV || code == -ENOENT)
		return ctl_fail(err, -ESRCH, doing, id, "it has just ended",
				"'sbx-ctl list' shows its state");
	return ctl_fail(err, code, doing, id, NULL, fix);
}

static int pause_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_close_ int lock = -EBADF;
	char path[MARK_PATH_SIZE];
	struct target target;
	int r = ctl_read_running(ctl, id, &target, err);

	if (r < 0)
		return r;
	name_mark(id, path);
	lock = lock_mark(ctl, path, O_CREAT);
	r = lock;
	if (r >= 0) {
		tell(&target.entry);
		r = hold(ctl, id, &target.entry, true);
	}
	if (r < 0)
		return fail(
			err, r, "pause", id,
			"some of its processes may be stopped: 'sbx-ctl resume ID' continues them");
	return 0;
}

static int resume_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_close_ int lock = -EBADF;
	char path[MARK_PATH_SIZE];
	struct target target;
	int r = ctl_read_running(ctl, id, &target, err);

	if (r < 0)
		return r;
	name_mark(id, path);
	lock = lock_mark(ctl, path, 0);
	if (lock == -ENOENT)
		return ctl_fail(err, -EBUSY, "resume", id, "it is not paused",
				"nothing needs to be done");
	r = lock < 0 ? lock : hold(ctl, id, &target.entry, false);
	if (r == 0 && unlinkat(ctl->registry, path, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r < 0)
		return fail(err, r, "resume", id, "repeat it, or stop the sandbox");
	tell(&target.entry);
	return 0;
}

int ctl_verb_pause(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, pause_one, err);
}

int ctl_verb_resume(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, resume_one, err);
}
