/* SPDX-License-Identifier: MIT */

/*
 * An overlay: writes go to a directory of the host, and the lower directory stays unchanged
 *
 * The layers are opened like the sources of binds, and PID 1 creates the overlay with its own
 * limited privileges. It names the layers by their fds, so that no path is resolved again (and no
 * path can contain a comma or a colon, which overlayfs would interpret).
 *
 * Layers must be mounted in the caller's mount namespace, and upper and work must be on one mount.
 * So if root's supervisor has opened them as detached mounts, PID 1 attaches these to the old tree,
 * which pivot_root() and umount2() remove later.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/mount.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* Indexes of the step's fds. The first is replaced by the overlay itself. */
enum { LOWER, UPPER, WORK, WRITABLE_MOUNT };

/* The parent directory of @path. */
static int name_parent(const char *path, char ret[static PATH_MAX])
{
	size_t n = (size_t)(path_last(path) - path);

	/* The parent of "/x" is "/". */
	n -= n > 1;
	if (n == 0 || n >= PATH_MAX)
		return -EINVAL;
	memcpy(ret, path, n);
	ret[n] = '\0';
	return 0;
}

static int open_directory(int dirfd, const char *path)
{
	return path_open_no_links(dirfd, path, O_PATH | O_DIRECTORY);
}

/* A detached copy of the mount at the directory @path, without mounts below it. */
static int copy_mount(const char *path)
{
	_cleanup_close_ int directory = open_directory(AT_FDCWD, path);

	return directory < 0 ? directory : mount_copy(directory, 0);
}

static int set_mount(int copy, unsigned attributes, int owner)
{
	return mount_set(copy, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes, owner);
}

/* The copy is made without AT_RECURSIVE: if upper or work is itself a mount point, the copy shows
 * the directory under it. */
static int check_not_mounted(const char *path)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) < 0)
		return -errno;
	return st.stx_attributes & STATX_ATTR_MOUNT_ROOT ? -EXDEV : 0;
}

/* Open upper and work before the mount is idmapped: afterwards root's own uid is not mapped, and
 * root could not search them. */
static int open_writable(const struct step *step, int *fds)
{
	char parent[PATH_MAX], parent_of_work[PATH_MAX];
	int r = name_parent(step->overlay.upper, parent);

	if (r < 0)
		return r;
	r = name_parent(step->overlay.work, parent_of_work);
	if (r < 0)
		return r;
	if (strcmp(parent, parent_of_work) != 0)
		return -EXDEV;
	r = check_not_mounted(step->overlay.upper);
	if (r < 0)
		return r;
	fds[WRITABLE_MOUNT] = copy_mount(parent);
	if (fds[WRITABLE_MOUNT] < 0)
		return fds[WRITABLE_MOUNT];
	fds[UPPER] = open_directory(fds[WRITABLE_MOUNT], path_last(step->overlay.upper));
	if (fds[UPPER] < 0)
		return fds[UPPER];
	fds[WORK] = open_directory(fds[WRITABLE_MOUNT], path_last(step->overlay.work));
	return fds[WORK] < 0 ? fds[WORK] : 0;
}

/* Files that the command writes must belong to the owner of the upper directory, so the mount is
 * idmapped for that owner. */
static int copy_writable(struct kernel *kernel, const struct step *step, int *fds)
{
	int owner = -EBADF, r = open_writable(step, fds);
	struct stat upper;

	if (r < 0)
		return r;
	if (fstat(fds[UPPER], &upper) < 0)
		return -errno;
	if (upper.st_uid != kernel->plan->uid) {
		owner = idmap_open(kernel, upper.st_uid, upper.st_gid);
		if (owner < 0)
			return owner;
	}
	return set_mount(fds[WRITABLE_MOUNT], 0, owner);
}

static int copy_layers(struct kernel *kernel, const struct step *step, int *fds)
{
	_cleanup_close_ int lower = open_directory(AT_FDCWD, step->overlay.source);
	int owner = -EBADF, r;

	if (lower < 0)
		return lower;
	if (idmap_applies(kernel, &step->overlay.owner, lower, step->overlay.source)) {
		owner = idmap_open(kernel, step->overlay.owner.uid, step->overlay.owner.gid);
		if (owner < 0)
			return owner;
	}
	fds[LOWER] = mount_copy(lower, 0);
	if (fds[LOWER] < 0)
		return fds[LOWER];
	r = set_mount(fds[LOWER], MOUNT_ATTR_RDONLY, owner);
	return r < 0 || !step->overlay.upper ? r : copy_writable(kernel, step, fds);
}

static int open_layers(const struct step *step, int *fds)
{
	const char *const paths[] = { [LOWER] = step->overlay.source,
				      [UPPER] = step->overlay.upper,
				      [WORK] = step->overlay.work };

	for (size_t i = 0; i < N_ELEMENTS(paths) && paths[i]; i++) {
		fds[i] = open_directory(AT_FDCWD, paths[i]);
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

int overlay_reach(struct kernel *kernel, const struct step *step, size_t number)
{
	int *fds = kernel_fds(kernel, number);

	return kernel_borrows(kernel) ? copy_layers(kernel, step, fds) : open_layers(step, fds);
}

static int enter_proc(struct kernel *kernel)
{
	if (kernel->proc_fd < 0)
		kernel->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* proc_fd and the working directory keep /proc reachable: attach_layers() mounts over it.
	 */
	return kernel->proc_fd < 0 || fchdir(kernel->proc_fd) < 0 ? -errno : 0;
}

/* If overlayfs cannot write to the work directory, it mounts read-only without an error. */
static int check_writable(int overlay)
{
	struct statvfs st;

	if (fstatvfs(overlay, &st) < 0)
		return -errno;
	return st.f_flag & ST_RDONLY ? -EROFS : 0;
}

static int mount_layers(const struct step *step, const int *fds)
{
	char lower[32], upper[32], work[32];
	/* Ignore extended attributes of the layers that redirect to other directories. */
	const struct mount_option options[] = {
		{ "lowerdir", lower }, { "upperdir", upper }, { "workdir", work },
		{ "userxattr", NULL }, { "metacopy", "off" }, { "redirect_dir", "nofollow" },
		{ "index", "off" },    { NULL, NULL },
	};

	(void)snprintf(lower, sizeof(lower), "self/fd/%d", fds[LOWER]);
	(void)snprintf(upper, sizeof(upper), "self/fd/%d", fds[UPPER]);
	(void)snprintf(work, sizeof(work), "self/fd/%d", fds[WORK]);

	_cleanup_close_ int overlay =
		mount_make("overlay", options, mount_attributes(&step->overlay.attributes));
	int r = overlay < 0 ? overlay : 0;

	if (r == 0 && !step->overlay.attributes.is_read_only)
		r = check_writable(overlay);
	return r < 0 ? r : take_fd(&overlay);
}

static int make_directory(int dirfd, const char *name, mode_t mode)
{
	return mkdirat(dirfd, name, mode) < 0 ? -errno : open_directory(dirfd, name);
}

/* For changes that are discarded. The mode of the upper directory is the mode of the overlay's
 * root. */
static int make_writable(const struct step *step, int *fds)
{
	struct stat lower;

	if (fstat(fds[LOWER], &lower) < 0)
		return -errno;
	fds[WRITABLE_MOUNT] = instance_make_tmpfs(step->overlay.size_bytes, 0755, 0);
	if (fds[WRITABLE_MOUNT] < 0)
		return fds[WRITABLE_MOUNT];
	fds[UPPER] = make_directory(fds[WRITABLE_MOUNT], "upper", lower.st_mode & 07777);
	if (fds[UPPER] < 0)
		return fds[UPPER];
	fds[WORK] = make_directory(fds[WRITABLE_MOUNT], "work", 0700);
	return fds[WORK] < 0 ? fds[WORK] : 0;
}

static int attach_layers(const struct kernel *kernel, const int *fds)
{
	int r = kernel_borrows(kernel) ? mount_attach(fds[LOWER], AT_FDCWD, "/proc") : 0;

	return r < 0 || fds[WRITABLE_MOUNT] < 0
		       ? r
		       : mount_attach(fds[WRITABLE_MOUNT], AT_FDCWD, "/proc");
}

int overlay_make(struct kernel *kernel, const struct step *step, size_t number)
{
	int *fds = kernel_fds(kernel, number);
	int r = enter_proc(kernel);

	if (r < 0)
		return r;
	if (!step->overlay.upper) {
		r = make_writable(step, fds);
		if (r < 0)
			return r;
	}
	r = attach_layers(kernel, fds);
	if (r < 0)
		return r;
	r = mount_layers(step, fds);
	fd_close_many(fds, KERNEL_STEP_FDS);
	if (r < 0)
		return r;
	fds[0] = r;
	return 0;
}
