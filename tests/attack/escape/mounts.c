/* SPDX-License-Identifier: MIT */

/*
 * Mounts: attempts to add to the mount tree, to make it writable and to look under it
 *
 * Outside, these run in their own mount namespace, so that the host does not change.
 */

#include "escape.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/mount.h>

static enum escape_verdict mount_tmpfs(long flags)
{
	return escape_judge(mount("tmpfs", "/tmp", "tmpfs", (unsigned long)flags, NULL));
}

static enum escape_verdict mount_proc(long unused)
{
	return escape_judge(mount("proc", "/tmp", "proc", 0, NULL));
}

static enum escape_verdict mount_devpts(long unused)
{
	return escape_judge(mount("devpts", "/tmp", "devpts", 0, NULL));
}

static enum escape_verdict bind_over(long unused)
{
	return escape_judge(mount("/usr", "/tmp", NULL, MS_BIND | MS_REC, NULL));
}

static enum escape_verdict make_writable(long unused)
{
	return escape_judge(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static enum escape_verdict make_usr_writable(long unused)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	/* Outside /usr need not be a mount point: then use the root. */
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof(attr)) == 0)
		return ESCAPED;
	return escape_judge(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)));
}

static enum escape_verdict clone_tree(long unused)
{
	return escape_judge(
		syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static enum escape_verdict new_file_system(long unused)
{
	return escape_judge(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
}

static enum escape_verdict pick_file_system(long unused)
{
	return escape_judge(syscall(SYS_fspick, AT_FDCWD, "/", FSPICK_CLOEXEC));
}

static enum escape_verdict move_a_mount(long unused)
{
	return escape_judge_reached(syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0),
				    EINVAL);
}

static enum escape_verdict unmount(long number)
{
	static const char *const carried[] = { "/proc", "/tmp", "/dev/pts" };

	return escape_judge_reached(umount2(carried[number], MNT_DETACH), EINVAL);
}

static enum escape_verdict pivot(long unused)
{
	return escape_judge_reached(syscall(SYS_pivot_root, "/", "/"), EBUSY);
}

/* The classic chroot escape: chroot() below the working directory, then "..". */
static enum escape_verdict chroot_and_climb(long unused)
{
	int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[64];
	bool is_root;

	(void)snprintf(path, sizeof(path), "/tmp/chroot-%d", getpid());
	if (mkdir(path, 0700) < 0)
		return UNKNOWN;
	is_root = chroot(path) == 0;
	(void)unlinkat(tmp, path + strlen("/tmp/"), AT_REMOVEDIR);
	return is_root && fchdir(top) == 0 ? ESCAPED : REFUSED;
}

static enum escape_verdict list_of_mounts(long unused)
{
	uint64_t request[4] = { 32, UINT64_MAX, 0, 0 }, ids[16];
	long r = syscall(457 /* statmount, since 6.8 */, request, ids, sizeof(ids), 0);

	if (r < 0 && errno == ENOSYS)
		return REFUSED;
	return escape_judge_reached(r, ENOENT);
}

/* clang-format off */
const struct escape escapes_mounts[] = {
	{ "mount_tmpfs", NEEDS_ROOT, mount_tmpfs, 0 },
	{ "mount_tmpfs_with_devices", NEEDS_ROOT, mount_tmpfs, MS_NOSUID },
	{ "mount_proc", NEEDS_ROOT, mount_proc, 0 },
	{ "mount_devpts", NEEDS_ROOT, mount_devpts, 0 },
	{ "mount_bind", NEEDS_ROOT, bind_over, 0 },
	{ "remount_root_writable", NEEDS_ROOT, make_writable, 0 },
	{ "clear_read_only_of_usr", NEEDS_ROOT, make_usr_writable, 0 },
	{ "clone_the_tree", NEEDS_ROOT, clone_tree, 0 },
	{ "open_a_file_system", NEEDS_ROOT, new_file_system, 0 },
	{ "pick_a_file_system", NEEDS_ROOT, pick_file_system, 0 },
	{ "move_a_mount", NEEDS_ROOT, move_a_mount, 0 },
	{ "unmount_proc", NEEDS_ROOT, unmount, 0 },
	{ "unmount_tmp", NEEDS_ROOT, unmount, 1 },
	{ "unmount_pts", NEEDS_ROOT, unmount, 2 },
	{ "pivot_root", NEEDS_ROOT, pivot, 0 },
	{ "chroot_and_climb", NEEDS_ROOT, chroot_and_climb, 0 },
	{ "statmount", NEEDS_NOTHING_OUTSIDE, list_of_mounts, 0 }, /* newer than some hosts */
	{ .name = NULL },
};
/* clang-format on */
