/* SPDX-License-Identifier: MIT */

/*
 * A cgroup in which sbx may create children, and the controllers that these can use
 *
 * It is the current cgroup, or its parent if the service manager has delegated that ("Delegate=yes"
 * with DelegateSubgroup=). Other cgroups are not changed: every cgroup has a single manager. Except
 * for the root cgroup, controllers can be enabled for children only if the cgroup contains no
 * process; so children of the current cgroup usually have none.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-internal.h"

#define ALL (CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS)

/* The v2 tree alone, or in the hybrid layout. */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static unsigned controllers_of(int directory, const char *file)
{
	static const struct {
		const char *name;
		enum host_controller controller;
	} known[] = { { "memory", CONTROLLER_MEMORY },
		      { "cpu", CONTROLLER_CPU },
		      { "pids", CONTROLLER_PIDS } };
	char words[512], *rest = words;
	unsigned set = 0;

	if (probe_read(directory, file, words, sizeof(words)) < 0)
		return 0;
	for (char *word; (word = strsep(&rest, " "));)
		for (size_t i = 0; i < N_ELEMENTS(known); i++)
			if (strcmp(word, known[i].name) == 0)
				set |= known[i].controller;
	return set;
}

static bool is_writable(int directory, const char *name)
{
	return faccessat(directory, name, W_OK, AT_EACCESS) == 0;
}

/* Only the root cgroup has no cgroup.type. */
static bool is_root_cgroup(int directory)
{
	return faccessat(directory, "cgroup.type", F_OK, 0) < 0;
}

static bool has_no_processes(int directory)
{
	char first[16];

	return probe_read(directory, "cgroup.procs", first, sizeof(first)) == 0;
}

/* The root cgroup has no cgroup.kill. There process_mrelease(), which is one release younger (Linux
 * 5.15), is tested instead. */
static bool has_kill(int directory, bool is_root)
{
	if (!is_root)
		return faccessat(directory, "cgroup.kill", F_OK, 0) == 0;
	return syscall(SYS_process_mrelease, -1, 0) < 0 && errno == EBADF;
}

static bool is_read_only(int directory)
{
	struct statvfs status;

	return fstatvfs(directory, &status) == 0 && (status.f_flag & ST_RDONLY);
}

/* May the caller create children in it and move processes there? Moving a process needs write
 * access to cgroup.procs of the common ancestor. */
static bool may_use(int directory)
{
	return is_writable(directory, ".") && is_writable(directory, "cgroup.procs");
}

/*
 * Could a process of the calling user write to the files of this cgroup? Not whether it is mounted
 * writable here: with a cgroup namespace of its own it makes another mount. The command of root can
 * be any user.
 */
static bool owns(int directory)
{
	static const char *const files[] = { ".", "cgroup.procs", "cgroup.kill", "cgroup.freeze" };
	uid_t uid = geteuid();
	struct stat st;

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		if (fstatat(directory, files[i], &st, 0) == 0 &&
		    (uid == 0 || st.st_uid == uid || (st.st_mode & (S_IWGRP | S_IWOTH))))
			return true;
	return false;
}

static int describe(struct arena *arena, const char *path, int directory, struct host *ret)
{
	unsigned controllers = controllers_of(directory, "cgroup.subtree_control");
	bool is_root = is_root_cgroup(directory);

	if (controllers != ALL && (is_root || has_no_processes(directory)))
		controllers |= controllers_of(directory, "cgroup.controllers");
	ret->cgroup = arena_copy(arena, path, strlen(path));
	ret->controllers = controllers;
	ret->has_cgroup_kill = has_kill(directory, is_root);
	ret->cgroup_why =
		controllers == ALL ? NULL
		: is_root
			? "the root of cgroup v2 lacks controllers (cgroup v1 may have them)"
			: "controllers can be enabled only in a cgroup without processes, and sbx runs in this one";
	return ret->cgroup ? 0 : -ENOMEM;
}

/* The xattr that systemd sets on delegated cgroups. */
static bool is_delegated(const char *path)
{
	char mark;

	return (getxattr(path, "user.delegate", &mark, 1) == 1 && mark == '1') ||
	       (getxattr(path, "trusted.delegate", &mark, 1) == 1 && mark == '1');
}

/* Uses the parent only if it has more controllers than the current cgroup, which is in @ret. */
static int look_above(struct arena *arena, char *path, const char *mount, struct host *ret)
{
	_cleanup_close_ int directory = -EBADF;
	struct host above = { .cgroup = NULL };
	char *slash = strrchr(path, '/');
	int r;

	*slash = '\0';
	if (!path_is_beneath(path, mount) || !is_delegated(path))
		return 0;
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || !may_use(directory))
		return 0;
	r = describe(arena, path, directory, &above);
	if (r < 0 || (ret->cgroup && (above.controllers & ~ret->controllers) == 0))
		return r;
	ret->cgroup = above.cgroup;
	ret->controllers = above.controllers;
	ret->has_cgroup_kill = above.has_cgroup_kill;
	ret->cgroup_why = above.cgroup_why;
	return 0;
}

int probe_cgroup_at(struct arena *arena, const char *mount, const char *own, struct host *ret)
{
	_cleanup_close_ int directory = -EBADF;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
	int r = 0;

	ret->owns_cgroup = true;
	ret->cgroup_why = "the current cgroup is not visible here";
	if (n < 0 || (size_t)n >= sizeof(path) || !path_is_normal(path))
		return 0;
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return 0;
	ret->cgroup_why = is_read_only(directory)
				  ? "the cgroups are mounted read-only here"
				  : "sbx may not use its current cgroup (owned by another user)";
	ret->owns_cgroup = owns(directory);
	if (may_use(directory))
		r = describe(arena, path, directory, ret);
	if (r == 0 && ret->controllers != ALL && strcmp(own, "/") != 0)
		r = look_above(arena, path, mount, ret);
	return r;
}

static const char *find_mount(void)
{
	struct statfs status;

	for (size_t i = 0; i < N_ELEMENTS(mounts); i++)
		if (statfs(mounts[i], &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
			return mounts[i];
	return NULL;
}

/* "0::/user.slice/x.scope" is the line of the v2 tree; v1 hierarchies have other numbers. */
static char *own_of(char *lines)
{
	for (char *line; (line = strsep(&lines, "\n"));)
		if (strncmp(line, "0::/", 4) == 0)
			return line + 3;
	return NULL;
}

/* The service manager's private socket: the system's for root, the user's for others. */
static bool has_manager(uid_t uid)
{
	char path[64] = "/run/systemd/private";

	if (uid != 0)
		(void)snprintf(path, sizeof(path), "/run/user/%u/systemd/private", uid);
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* The machine's memory, for the default limit; only needed if a cgroup can enforce one. */
static void find_memory(struct host *ret)
{
	struct sysinfo info;

	if ((ret->controllers & CONTROLLER_MEMORY) && sysinfo(&info) == 0)
		ret->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
}

int probe_cgroup(struct arena *arena, struct host *ret)
{
	const char *mount = find_mount();
	char lines[4096];
	int n = probe_read(AT_FDCWD, "/proc/self/cgroup", lines, sizeof(lines));
	char *own = n < 0 ? NULL : own_of(lines);
	int r;

	ret->has_scope = has_manager(ret->uid);
	/* Without cgroup v2 there is no such line. */
	ret->owns_cgroup = n < 0 || own;
	ret->cgroup_why = mount ? "/proc/self/cgroup does not name the current cgroup"
				: "no cgroup v2 is mounted at /sys/fs/cgroup";
	if (!mount || !own)
		return 0;
	r = probe_cgroup_at(arena, mount, own, ret);
	find_memory(ret);
	return r;
}
