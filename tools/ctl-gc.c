/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl gc: remove what killed supervisors left behind
 *
 * A directory whose lock is free is an orphan, unless sbx-ctl create has made it. A cgroup of sbx
 * without a directory may belong to a registry that is not visible here: it is removed only if it
 * is older than any start takes, and by rmdir, which fails if it is not empty.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/path.h"

#include "tool.h"

#define CGROUP_PREFIX "sbx-"
#define DEPTH_MAX 32

/* A waiting one is to be started, an ended one to be looked at: neither is an orphan. */
static bool is_orphan(const struct cleanup *cleanup, bool ended_too)
{
	if (!cleanup->keeps_folder)
		return true;
	if (cleanup->entry.state == SANDBOX_CREATING)
		return false;
	return ended_too || !ctl_has_ended(&cleanup->entry);
}

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
	if (!is_orphan(&cleanup, ctl->values->ended))
		return 0;
	if (ctl_has_ended(&cleanup.entry))
		cleanup.keeps_folder = false;
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
	if ((uint64_t)st.st_mtim.tv_sec * 1000000 + YOUNG_USEC > ctl_now_usec())
		return false;
	return faccessat(ctl->registry, name + strlen(CGROUP_PREFIX), F_OK, 0) < 0 &&
	       errno == ENOENT;
}

static void collect_cgroup(struct ctl *ctl, int parent, const char *name)
{
	if (ctl->values->dry_run)
		ctl_say(ctl, name + strlen(CGROUP_PREFIX), "would remove its cgroup");
	else if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		ctl_say(ctl, name + strlen(CGROUP_PREFIX), "removed its cgroup");
}

static void collect_cgroups_below(struct ctl *ctl, int folder, unsigned depth)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;

	if (!dir)
		close_fd(&fd);
	while (dir && (item = readdir(dir))) {
		_cleanup_close_ int below = -EBADF;

		if (item->d_type != DT_DIR || item->d_name[0] == '.')
			continue;
		below = path_open_beneath(folder, item->d_name, O_RDONLY | O_DIRECTORY, 0);
		if (below >= 0 && depth < DEPTH_MAX)
			collect_cgroups_below(ctl, below, depth + 1);
		if (is_left_over(ctl, folder, item->d_name))
			collect_cgroup(ctl, folder, item->d_name);
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
