/* SPDX-License-Identifier: MIT */

/*
 * The map of an idmapped mount is that of a user namespace, which the kernel creates only for a
 * process. So a child is created that waits until its map is written and its namespace is opened.
 * It reads from a pipe and exits when the supervisor closes the other end or dies.
 */

#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/kernel-internal.h"
#include "plan/plan.h"

#include "kernel/fault.h"

static pid_t start_waiting(const int ends[2])
{
	/* No exit signal: SIGCHLD is used for the sandbox only. */
	const struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_CLEAR_SIGHAND };
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	char end;

	if (pid != 0)
		return pid < 0 ? -errno : (pid_t)pid;
	(void)close(ends[1]);
	while (read(ends[0], &end, 1) < 0 && errno == EINTR)
		;
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

/*
 * The PIDs that clone3() returns are names in /proc only if /proc shows the caller's PID namespace.
 */
static int check_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid() ? 0 : -EXDEV;
}

static int write_map(pid_t pid, const char *name, uint64_t owner, uint64_t user)
{
	char path[64], line[64];
	_cleanup_close_ int fd = -EBADF;
	int n = snprintf(line, sizeof(line), "%llu %llu 1\n", (unsigned long long)owner,
			 (unsigned long long)user);

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, line, (size_t)n) < 0 ? -errno : 0;
}

static int map_and_open(const struct kernel *kernel, pid_t pid)
{
	char path[64];
	int r = check_proc();

	if (r < 0)
		return r;
	r = write_map(pid, "uid_map", kernel->owner_uid, kernel->plan->uid);
	if (r < 0)
		return r;
	r = write_map(pid, "gid_map", kernel->owner_gid, kernel->plan->gid);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return fd_or_errno(open(path, O_RDONLY | O_CLOEXEC));
}

static int make_namespace(const struct kernel *kernel)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;

	pid_t pid = start_waiting(ends);
	int fd = pid < 0 ? pid : map_and_open(kernel, pid);

	fd_close_many(ends, 2);
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	return fd;
}

int idmap_open(struct kernel *kernel, uid_t uid, gid_t gid)
{
	/* Only root's plans contain such a step. */
	if (!kernel_borrows(kernel))
		return -EPERM;
	if (kernel->owner_fd >= 0 && kernel->owner_uid == uid && kernel->owner_gid == gid)
		return kernel->owner_fd;
	close_fd(&kernel->owner_fd);
	kernel->owner_uid = uid;
	kernel->owner_gid = gid;
	kernel->owner_fd = make_namespace(kernel);
	return kernel->owner_fd;
}

static bool is_same_device(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* True where it is there. *@ret_unclear: what stands there cannot be told. */
static bool look_at(int dirfd, const char *path, struct statx *ret, bool *ret_unclear)
{
	const unsigned wanted = STATX_INO | STATX_MNT_ID;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH);

	if (statx(dirfd, path, flags, wanted, ret) < 0) {
		*ret_unclear |= errno != ENOENT && errno != ENOTDIR;
		return false;
	}
	*ret_unclear |= (ret->stx_mask & wanted) != wanted;
	return true;
}

static bool is_system_directory(const struct statx *found, bool *ret_unclear)
{
	struct statx known;

	for (size_t i = 0; plan_system_directories[i]; i++)
		if (look_at(AT_FDCWD, plan_system_directories[i], &known, ret_unclear) &&
		    known.stx_ino == found->stx_ino && is_same_device(&known, found))
			return true;
	return false;
}

/* Is one of the directories on the way to @path, or itself, a system directory by another name? */
static bool passes_system_directory(const char *path, bool *ret_unclear)
{
	char prefix[PATH_MAX];
	struct statx found;

	for (const char *at = path; *at;) {
		at = strchrnul(at + 1, '/');
		if ((size_t)(at - path) >= sizeof(prefix))
			return true;
		memcpy(prefix, path, (size_t)(at - path));
		prefix[at - path] = '\0';
		if (look_at(AT_FDCWD, prefix, &found, ret_unclear) &&
		    is_system_directory(&found, ret_unclear))
			return true;
	}
	return false;
}

/* In the mount of the root names are what they seem. Another mount of a file system that has files
 * of the system may show any of them. */
static bool is_other_mount_of(const struct statx *own, const char *const *directories,
			      bool *ret_unclear)
{
	struct statx known;

	for (size_t i = 0; directories[i]; i++)
		if (look_at(AT_FDCWD, directories[i], &known, ret_unclear) &&
		    is_same_device(&known, own) && known.stx_mnt_id != own->stx_mnt_id)
			return true;
	return false;
}

static bool is_of_system(int fd, const char *path)
{
	struct statx own, root;
	bool is_unclear = false;

	if (!look_at(fd, "", &own, &is_unclear) || !look_at(AT_FDCWD, "/", &root, &is_unclear) ||
	    passes_system_directory(path, &is_unclear))
		return true;
	if (own.stx_mnt_id != root.stx_mnt_id &&
	    (is_other_mount_of(&own, plan_system_directories, &is_unclear) ||
	     is_other_mount_of(&own, plan_shared_directories, &is_unclear)))
		return true;
	return is_unclear;
}

bool idmap_applies(struct kernel *kernel, const struct step_owner *owner, int fd, const char *path)
{
	if (!owner->is_set)
		return false;
	if (!owner->not_of_system || !is_of_system(fd, path))
		return true;
	if (!owner->optional)
		kernel->of_system = path;
	return false;
}
