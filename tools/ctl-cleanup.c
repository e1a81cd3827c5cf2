/* SPDX-License-Identifier: MIT */

/*
 * The cleanup of a supervisor, done for one that was killed: a table of steps
 *
 * Each step can be repeated, and does not depend on the success of the others. Only the directory
 * is removed last: as long as something is left, its state says what and where.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "base/path.h"

#define KILL_WAIT_USEC (UINT64_C(10) * 1000 * 1000)
#define KILLED_STATUS (128 + SIGKILL)

bool is_work_folder(const char *name)
{
	return name[0] == '.' && (strstr(name, ".sbx-work-") || strstr(name, ".sbx-layer-"));
}

static void say(const struct cleanup *cleanup, const char *done, const char *would)
{
	if (!cleanup->is_quiet)
		ctl_say(cleanup->ctl, cleanup->registration->id, cleanup->dry_run ? would : done);
}

/* With the sandbox's PID 1 all of its pid namespace goes. */
static int end_init(struct cleanup *cleanup)
{
	const struct sandbox_entry *entry = &cleanup->entry;
	_cleanup_close_ int pidfd = process_open(entry->init, entry->init_start);
	int r;

	/* A zombie has ended, but its parent may not have reaped it yet. */
	if (pidfd == -ESRCH || (pidfd >= 0 && wait_for_pidfd(pidfd, 0) == 1))
		return 0;
	if (pidfd < 0)
		return pidfd;
	say(cleanup, "killed its processes", "would kill its processes");
	if (cleanup->dry_run)
		return 0;
	r = pidfd_kill(pidfd, SIGKILL);
	if (r == 0)
		r = wait_for_pidfd(pidfd, KILL_WAIT_USEC);
	return r == 0 ? -ETIMEDOUT : r < 0 && r != -ESRCH ? r : 0;
}

static int empty_cgroup(struct cleanup *cleanup)
{
	_cleanup_close_ int cgroup = cgroup_open(&cleanup->entry);
	int r;

	if (cgroup < 0)
		return cgroup == -ENOENT ? 0 : cgroup;
	if (cgroup_is_empty(cgroup))
		return 0;
	say(cleanup, "killed what was in its cgroup", "would kill what is in its cgroup");
	if (cleanup->dry_run)
		return 0;
	r = cgroup_kill_all(cgroup);
	/* A service manager removes its scope meanwhile. */
	return r < 0 && r != -ENOENT && r != -ENODEV ? r : 0;
}

static int remove_cgroup(struct cleanup *cleanup)
{
	_cleanup_close_ int cgroup = cgroup_open(&cleanup->entry);

	if (cgroup < 0)
		return cgroup == -ENOENT ? 0 : cgroup;
	if (cgroup_is_units(cleanup->entry.cgroup))
		return 0;
	say(cleanup, "removed its cgroup", "would remove its cgroup");
	return cleanup->dry_run ? 0 : cgroup_remove(cleanup->entry.cgroup);
}

/* The parent of --out may have files of other users: remove only a name that sbx has made. */
static int discard_work(struct cleanup *cleanup, const char *path)
{
	_cleanup_close_ int parent = -EBADF;
	char folder[PATH_MAX];
	struct stat st;

	if (!path || !path_is_normal(path) || !is_work_folder(path_last(path)))
		return 0;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(path_last(path) - path), path);
	parent = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || fstatat(parent, path_last(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	say(cleanup, "removed its work directory", "would remove its work directory");
	return cleanup->dry_run ? 0 : folder_discard(parent, path_last(path));
}

static int remove_work(struct cleanup *cleanup)
{
	int r = discard_work(cleanup, cleanup->entry.out_work);
	int last = discard_work(cleanup, cleanup->entry.out_layer);

	return r < 0 ? r : last;
}

/* RUNNING → FAILED → CLEANUP → DESTROYED, each as the life cycle has it. */
static int end_states(struct cleanup *cleanup)
{
	static const enum sandbox_state way[] = { SANDBOX_FAILED, SANDBOX_CLEANUP,
						  SANDBOX_DESTROYED };
	struct sandbox_entry *entry = &cleanup->entry;
	int r = 0;

	if (!entry->has_status) {
		entry->has_status = true;
		entry->status = KILLED_STATUS;
		entry->reason = "killed";
	}
	for (size_t i = 0; i < N_ELEMENTS(way) && r == 0; i++) {
		if (!sandbox_state_may_follow(entry->state, way[i]))
			continue;
		entry->state = way[i];
		r = registration_write(cleanup->registration, entry, NULL);
	}
	return r;
}

static int finish_folder(struct cleanup *cleanup)
{
	if (!cleanup->keeps_folder) {
		say(cleanup, "removed its directory", "would remove its directory");
		return cleanup->dry_run
			       ? 0
			       : registration_remove(cleanup->ctl->registry, cleanup->registration);
	}
	if (cleanup->entry.state == SANDBOX_DESTROYED)
		return 0;
	say(cleanup, "recorded that it was killed", "would record that it was killed");
	return cleanup->dry_run ? 0 : end_states(cleanup);
}

static const struct {
	const char *failing;
	int (*run)(struct cleanup *cleanup);
	bool needs_all; /* only if nothing before it has failed */
} steps[] = {
	{ "kill the processes of", end_init, false },
	{ "empty the cgroup of", empty_cgroup, false },
	{ "remove the cgroup of", remove_cgroup, false },
	{ "remove the work directory of", remove_work, false },
	{ "remove the directory of", finish_folder, true },
};

int cleanup_run(struct cleanup *cleanup, struct sbx_error *err)
{
	char id[SANDBOX_ID_MAX + 1];
	int first = 0;

	(void)snprintf(id, sizeof(id), "%s", cleanup->registration->id);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		int r = steps[i].needs_all && first < 0 ? 0 : steps[i].run(cleanup);

		if (r < 0 && first == 0)
			first = ctl_fail(err, r, steps[i].failing, id, NULL,
					 "repeat 'sbx-ctl gc' as the user whose sandbox it is, or "
					 "as root");
	}
	return first;
}

int cleanup_claim(struct cleanup *cleanup, struct ctl *ctl, const char *id,
		  struct registration *registration, struct sbx_error *err)
{
	bool is_alive;
	int r = registration_claim(ctl->registry, id, registration, err);

	if (r < 0)
		return r;
	*cleanup = (struct cleanup){ .ctl = ctl, .registration = registration };
	/* A sandbox made by sbx-ctl create is kept until sbx-ctl remove. */
	cleanup->keeps_folder =
		faccessat(registration->folder, SANDBOX_CONFIGURATION_NAME, F_OK, 0) == 0;
	/* No other process changes it while it is locked. */
	r = registry_read(ctl->registry, id, &ctl->arena, &cleanup->entry, &is_alive, NULL);
	/* An unreadable state names no processes or cgroup: only the directory can be removed. */
	if (r == -EBADMSG || r == -EFBIG)
		cleanup->entry =
			(struct sandbox_entry){ .id = registration->id, .state = SANDBOX_RUNNING };
	else if (r < 0)
		return ctl_fail(err, r, "look at", id, NULL, "check the runtime directory");
	return 0;
}
