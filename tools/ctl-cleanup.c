/* SPDX-License-Identifier: MIT */

/*
 * Cleans up after a killed supervisor: a table of steps
 *
 * Each step can be repeated, and does not depend on the success of the others. The directory is
 * removed last: as long as something is left, its state says what and where.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/path.h"
#include "record/record.h"

#include "tool.h"

/* Longer than any start takes. */
#define YOUNG_USEC (UINT64_C(60) * 1000 * 1000)
#define KILL_WAIT_USEC (UINT64_C(10) * 1000 * 1000)
#define WORK_SUFFIX ".sbx-work-"
#define KILLED_STATUS (128 + SIGKILL)

bool is_work_directory(const char *name)
{
	return name[0] == '.' && (strstr(name, WORK_SUFFIX) || strstr(name, ".sbx-layer-"));
}

bool is_young(const struct stat *st)
{
	uint64_t now_usec = moment_now(CLOCK_REALTIME), made_usec = moment_usec(&st->st_mtim);

	return made_usec + YOUNG_USEC > now_usec && made_usec < now_usec + YOUNG_USEC;
}

/* @r is the result of what was done; it is returned. */
static int say(const struct cleanup *cleanup, int r, const char *done, const char *would)
{
	if (r == 0 && !cleanup->is_quiet)
		ctl_say(cleanup->ctl, cleanup->id, cleanup->dry_run ? would : done);
	return r;
}

/* Killing PID 1 of the sandbox kills its whole PID namespace. */
static int end_init(struct cleanup *cleanup)
{
	const struct sandbox_entry *entry = &cleanup->entry;
	_cleanup_close_ int pidfd = process_open(entry->init, entry->init_start);
	int r;

	/* A zombie has exited, but its parent may not have reaped it yet. */
	if (pidfd == -ESRCH || (pidfd >= 0 && wait_for_pidfd(pidfd, 0) == 1))
		return 0;
	if (pidfd < 0)
		return pidfd;
	r = cleanup->dry_run ? 1 : pidfd_kill(pidfd, SIGKILL);
	if (r == 0)
		r = wait_for_pidfd(pidfd, KILL_WAIT_USEC);
	return say(cleanup,
		   r == 0		  ? -ETIMEDOUT
		   : r < 0 && r != -ESRCH ? r
					  : 0,
		   "killed its processes", "would kill its processes");
}

static int empty_cgroup(struct cleanup *cleanup)
{
	_cleanup_close_ int cgroup = cgroup_open(&cleanup->entry);
	int r;

	if (cgroup < 0)
		return cgroup == -ENOENT ? 0 : cgroup;
	if (cgroup_is_empty(cgroup))
		return 0;
	r = cleanup->dry_run ? 0 : cgroup_kill_all(cgroup);
	/* systemd may remove its scope at the same time. */
	return say(cleanup, r < 0 && r != -ENOENT && r != -ENODEV ? r : 0,
		   "killed what was in its cgroup", "would kill what is in its cgroup");
}

static int remove_cgroup(struct cleanup *cleanup)
{
	_cleanup_close_ int cgroup = cgroup_open(&cleanup->entry);

	if (cgroup < 0)
		return cgroup == -ENOENT ? 0 : cgroup;
	if (cgroup_is_units(cleanup->entry.cgroup))
		return 0;
	return say(cleanup, cleanup->dry_run ? 0 : cgroup_remove(cleanup->entry.cgroup),
		   "removed its cgroup", "would remove its cgroup");
}

/* The parent of --out may have files of other users: remove only a name that sbx has made. */
static int discard_work(struct cleanup *cleanup, const char *path)
{
	_cleanup_close_ int parent = -EBADF;
	char directory[PATH_MAX];
	struct stat st;
	int r = 0;

	if (!path || !path_is_normal(path) || !is_work_directory(path_last(path)))
		return 0;
	(void)snprintf(directory, sizeof(directory), "%.*s", (int)(path_last(path) - path), path);
	parent = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || fstatat(parent, path_last(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if (S_ISREG(st.st_mode)) {
		if (!cleanup->dry_run && unlinkat(parent, path_last(path), 0) < 0)
			r = -errno;
		return say(cleanup, r, "removed its unfinished archive",
			   "would remove its unfinished archive");
	}
	r = cleanup->dry_run ? 0 : directory_discard(parent, path_last(path));
	return say(cleanup, r, "removed its work directory", "would remove its work directory");
}

/* The last WORK_SUFFIX in it: the name of --out may contain one, too. */
static const char *find_suffix(const char *name)
{
	const char *found = NULL;

	for (const char *next = name; (next = strstr(next, WORK_SUFFIX)); next++)
		found = next;
	return found;
}

/*
 * Of the directory of --out, which a killed supervisor could not do any more. It is beside
 * ".NAME.sbx-work-X", which is there until it is done.
 */
static int drop_privileges(struct cleanup *cleanup)
{
	const char *work = cleanup->entry.out_work, *name, *end;
	_cleanup_close_ int parent = -EBADF;
	char text[PATH_MAX];
	int r;

	if (!work || cleanup->entry.out_layer || !path_is_normal(work))
		return 0;
	name = path_last(work);
	end = find_suffix(name);
	if (name[0] != '.' || !end || end == name + 1)
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(name - work), work);
	parent = path_open_no_links(AT_FDCWD, text, O_PATH | O_DIRECTORY);
	r = parent < 0						     ? parent
	    : faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno
								     : 0;
	/* The work directory is removed when this is done. */
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_fill(&cleanup->why, r, NULL,
				  "check the directory of --out in it, where programs may have "
				  "set-user-ID bits; then repeat 'sbx-ctl gc'",
				  "cannot look for the directory of --out in '%s'", text);
	(void)snprintf(text, sizeof(text), "%.*s", (int)(end - name - 1), name + 1);
	r = cleanup->dry_run ? 0 : directory_drop_privileges(parent, text);
	return r < 0 ? error_fill(&cleanup->why, r, NULL,
				  "remove by hand what the command has left there",
				  "cannot clear set-user-ID bits and capabilities in '%s'", text)
		     : 0;
}

static int remove_work(struct cleanup *cleanup)
{
	const char *layer = cleanup->entry.out_layer;
	char archive[PATH_MAX];
	const char *const paths[] = { cleanup->entry.out_work, layer ? archive : NULL, layer };
	int first = drop_privileges(cleanup);

	if (first < 0)
		return first;
	(void)snprintf(archive, sizeof(archive), "%s" SANDBOX_ARCHIVE_SUFFIX, layer ? layer : "");
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		int r = discard_work(cleanup, paths[i]);

		first = first < 0 ? first : r;
	}
	return first;
}

/* RUNNING → FAILED → CLEANUP → DESTROYED, as in the life cycle. */
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
		r = registration_write(cleanup->registration, entry, &cleanup->why);
	}
	return r;
}

/* The record that the supervisor could not write any more: to the service or the spool of this
 * user, because an fd of --audit-fd has gone with the supervisor. */
static int send_record(struct cleanup *cleanup)
{
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_text_ struct text record = TEXT_INIT;
	struct json_writer json;
	int r = recorder_open_spool(&recorder, environ, &cleanup->why);

	if (r < 0)
		return r;
	record_begin(&recorder, &record, &json, "sandbox_failed", CTL_TOOL);
	json_member_string(&json, "sandbox_id", cleanup->entry.id);
	json_member_u64(&json, "status", KILLED_STATUS);
	json_member_string(&json, "reason", "killed");
	json_member_string(&json, "what", "its supervisor was killed");
	return record_send(&recorder, &record, &json, &cleanup->why);
}

static int write_end(struct cleanup *cleanup)
{
	int r = cleanup->entry.supervisor > 0 ? send_record(cleanup) : 0;

	return r < 0 ? r : end_states(cleanup);
}

/* A supervisor writes its name into the state before it records the sandbox, so each recorded one
 * has an end. The state says afterwards that it has, should the directory be kept. */
static int record_end(struct cleanup *cleanup)
{
	bool has_run = cleanup->entry.supervisor > 0;
	int r;

	if (cleanup->entry.state == SANDBOX_DESTROYED || (!has_run && !cleanup->keeps_directory))
		return 0;
	r = cleanup->dry_run ? 0 : write_end(cleanup);
	return say(cleanup, r, "recorded that it was killed", "would record that it was killed");
}

static int finish_directory(struct cleanup *cleanup)
{
	int r;

	if (cleanup->keeps_directory)
		return 0;
	r = cleanup->dry_run ? 0
			     : registration_remove(cleanup->ctl->registry, cleanup->registration);
	if (r == -ENOTEMPTY)
		(void)error_fill(&cleanup->why, r, "sbx has not made them",
				 "move them away; then repeat 'sbx-ctl gc'", "it contains files");
	return say(cleanup, r, "removed its directory", "would remove its directory");
}

static const struct {
	const char *failing;
	int (*run)(struct cleanup *cleanup);
	bool needs_all; /* only if no earlier step has failed */
} steps[] = {
	{ "kill the processes of", end_init, false },
	{ "empty the cgroup of", empty_cgroup, false },
	{ "remove the cgroup of", remove_cgroup, false },
	{ "remove the work directory of", remove_work, false },
	{ "record the end of", record_end, true },
	{ "remove the directory of", finish_directory, true },
};

/* With the reason and the fix of the step, if it knows them. */
static int fail_step(const struct cleanup *cleanup, int code, const char *doing,
		     struct sbx_error *err)
{
	const struct sbx_error *why = &cleanup->why;
	int r = ctl_fail(err, code, doing, cleanup->id, NULL,
			 why->code ? why->fix
				   : "repeat 'sbx-ctl gc' as the user whose sandbox it is, or as "
				     "root");

	if (why->code)
		sbx_error_why(err, "%s: %s", why->what, why->why[0] ? why->why : strerror(-code));
	return r;
}

int cleanup_run(struct cleanup *cleanup, struct sbx_error *err)
{
	int first = 0;

	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		int r = steps[i].needs_all && first < 0 ? 0 : steps[i].run(cleanup);

		if (r < 0 && first == 0)
			first = fail_step(cleanup, r, steps[i].failing, err);
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
	(void)snprintf(cleanup->id, sizeof(cleanup->id), "%s", id);
	/* A sandbox made by sbx-ctl create is kept until sbx-ctl remove. */
	cleanup->keeps_directory =
		faccessat(registration->directory, SANDBOX_CONFIGURATION_NAME, F_OK, 0) == 0;
	/* No other process changes it while it is locked. */
	r = registry_read(ctl->registry, id, &ctl->arena, &cleanup->entry, &is_alive, NULL);
	/* An unreadable state names no processes or cgroup: only the directory can be removed. */
	if (r == -EBADMSG || r == -EFBIG || r == -EINVAL || r == -EISDIR || r == -ELOOP ||
	    r == -ENXIO)
		cleanup->entry =
			(struct sandbox_entry){ .id = cleanup->id, .state = SANDBOX_RUNNING };
	else if (r < 0)
		return ctl_fail(err, r, "look at", id, NULL, "check the runtime directory");
	return 0;
}

/*
 * sbx-ctl gc: remove what killed supervisors left behind
 *
 * A directory whose lock is free is an orphan, unless sbx-ctl create has made it. A cgroup of sbx
 * without a directory may belong to a registry that is not visible here: it is removed only if it
 * is older than any start takes, and by rmdir, which fails if it is not empty.
 */

#define CGROUP_PREFIX "sbx-"
#define DEPTH_MAX 32

static int collect_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_registration_ struct registration registration = REGISTRATION_INIT;
	struct cleanup cleanup;
	struct sbx_error why = { .code = 0 };
	int r = cleanup_claim(&cleanup, ctl, id, &registration, &why);

	if (r == -EBUSY || r == -ENOENT)
		return 0;
	if (r == -EACCES) {
		ctl_warn(ctl, &why);
		return 0;
	}
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	/* A configured sandbox waits for its start, an ended one for a look at its status. */
	if (cleanup.keeps_directory &&
	    (cleanup.entry.waits || (ctl_has_ended(&cleanup.entry) && !ctl->values->ended)))
		return 0;
	if (ctl_has_ended(&cleanup.entry))
		cleanup.keeps_directory = false;
	cleanup.dry_run = ctl->values->dry_run;
	return cleanup_run(&cleanup, err);
}

static int collect_sandboxes(struct ctl *ctl, struct sbx_error *err)
{
	const char *const *ids = NULL;
	int first = registry_list(ctl->registry, &ctl->arena, &ids, err);

	for (; ids && *ids; ids++) {
		int r = collect_one(ctl, *ids, first < 0 ? NULL : err);

		first = first < 0 ? first : r;
	}
	return first;
}

static bool is_left_over(struct ctl *ctl, int parent, const char *name)
{
	struct stat st;

	if (strncmp(name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) != 0 || cgroup_is_units(name) ||
	    !sandbox_id_is_valid(name + strlen(CGROUP_PREFIX)) ||
	    fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid())
		return false;
	if (is_young(&st))
		return false;
	return faccessat(ctl->registry, name + strlen(CGROUP_PREFIX), F_OK, 0) < 0 &&
	       errno == ENOENT;
}

static void collect_cgroups_below(struct ctl *ctl, int directory, unsigned depth)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *item;

	while (dir && (item = readdir(dir))) {
		_cleanup_close_ int below = -EBADF;

		if (item->d_type != DT_DIR || item->d_name[0] == '.')
			continue;
		below = path_open_beneath(directory, item->d_name, O_RDONLY | O_DIRECTORY, 0);
		if (below >= 0 && depth < DEPTH_MAX)
			collect_cgroups_below(ctl, below, depth + 1);
		if (!is_left_over(ctl, directory, item->d_name))
			continue;
		if (ctl->values->dry_run)
			ctl_say(ctl, item->d_name + strlen(CGROUP_PREFIX),
				"would remove its cgroup");
		else if (unlinkat(directory, item->d_name, AT_REMOVEDIR) == 0)
			ctl_say(ctl, item->d_name + strlen(CGROUP_PREFIX), "removed its cgroup");
	}
}

static void collect_cgroups(struct ctl *ctl)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (size_t i = 0; i < N_ELEMENTS(mounts); i++) {
		_cleanup_close_ int mount = open(mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (mount >= 0 && fstatfs(mount, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			collect_cgroups_below(ctl, mount, 0);
	}
}

int ctl_verb_gc(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	int r = ctl_init(&ctl, context, err), first;

	if (r < 0)
		return r;
	first = collect_sandboxes(&ctl, err);
	collect_cgroups(&ctl);
	r = volumes_collect(&ctl, first < 0 ? NULL : err);
	return first < 0 ? first : r;
}

/* sbx-ctl remove: removes an ended sandbox with its log and status */

/* Stops it first. -ENOENT: the sandbox has removed its directory itself. */
static int stop_and_claim(struct cleanup *cleanup, struct ctl *ctl, const char *id,
			  struct registration *registration, uint64_t grace_usec,
			  struct sbx_error *err)
{
	int r = stop_sandbox(ctl, id, grace_usec, err);

	if (r < 0)
		return r;
	r = cleanup_claim(cleanup, ctl, id, registration, err);
	/* Its supervisor has exited, so another sbx-ctl has the lock. */
	if (r == -EBUSY)
		return ctl_fail(err, r, "remove", id,
				"it was stopped, and another process is cleaning up after it",
				"repeat it in a moment");
	return r;
}

static int remove_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_registration_ struct registration registration = REGISTRATION_INIT;
	struct sbx_error why = { .code = 0 };
	struct cleanup cleanup = { .registration = &registration };
	uint64_t grace_usec;
	int r = stop_read_time(ctl->values, &grace_usec, err);

	if (r < 0)
		return r;
	r = cleanup_claim(&cleanup, ctl, id, &registration, &why);
	if (r == -EBUSY && !ctl->values->force)
		return ctl_fail(
			err, r, "remove", id, "it is running",
			"stop it first: 'sbx-ctl stop ID', or use 'sbx-ctl remove --force ID'");
	if (r == -EBUSY) {
		r = stop_and_claim(&cleanup, ctl, id, &registration, grace_usec, &why);
		if (r == -ENOENT)
			return 0;
	}
	if (r < 0 && err)
		*err = why;
	if (r < 0)
		return r;
	/* The start would go on in a new directory of this name. A start that begins now finds this
	 * one locked. */
	if (cleanup.entry.waits && start_is_going_on(registration.directory))
		return ctl_fail(err, -EBUSY, "remove", id, "it is being started",
				"repeat it in a moment");
	cleanup.keeps_directory = false;
	cleanup.is_quiet = true;
	return cleanup_run(&cleanup, err);
}

int ctl_verb_remove(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, remove_one, err);
}
