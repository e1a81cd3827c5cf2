/* SPDX-License-Identifier: MIT */

/*
 * The sandbox's file tree: an empty tmpfs that becomes "/", and names in it
 *
 * pivot_root() is called before anything is added to the tree. From tree_pivot() on the host's
 * files can be reached only through the fds that were opened for steps; every path, even one that
 * an attacker has prepared, is resolved inside the sandbox.
 */

#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/kernel-internal.h"
#include "plan/plan.h"

#include "kernel/fault.h"

/* /proc must exist: the id map was written through it. */
#define ATTACHED_AT "/proc"

int tree_make_root(struct kernel *kernel, const struct step *step, size_t number)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };
	_cleanup_close_ int root =
		instance_make_tmpfs(step->root.size_bytes, 0755, MOUNT_ATTR_NOEXEC);
	int r;

	if (root < 0)
		return root;
	/* Before the first mount: private propagation, so that no mount appears on the host. */
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) < 0)
		return -errno;
	r = mount_attach(root, AT_FDCWD, ATTACHED_AT);
	if (r < 0)
		return r;
	return fchdir(root) < 0 ? -errno : 0;
}

int tree_pivot(struct kernel *kernel, const struct step *step, size_t number)
{
	/* pivot_root(".", ".") stacks the old root on the new one, at the same mount point, where
	 * it is unmounted. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		return -errno;
	close_fd(&kernel->proc_fd);
	return 0;
}

/* Step kinds below whose target there may be another file system than the root tmpfs. Links count,
 * too, because paths through them lead elsewhere. */
static const bool carries[N_STEP_KINDS] = {
	[STEP_BIND] = true, [STEP_TMPFS] = true, [STEP_OVERLAY] = true, [STEP_MASK] = true,
	[STEP_LINK] = true, [STEP_PROC] = true,	 [STEP_PTS] = true,
};

bool tree_is_ours(const struct kernel *kernel, size_t number)
{
	const struct step *steps = kernel->plan->steps;
	const char *target = step_target(&steps[number]);

	/* The last step whose target contains the path determines the file system there. */
	for (size_t i = number; i-- > 0;)
		if (carries[steps[i].kind] && path_is_at_or_below(target, step_target(&steps[i])))
			return steps[i].kind == STEP_TMPFS;
	return true;
}

/* Creates the target of a step; negative errno, an fd, or 0. */
typedef int maker_fn(const struct step *step);

static int make_place_for_directory(const struct step *step)
{
	return mkdirat(AT_FDCWD, step_target(step), 0755) < 0 ? -errno : 0;
}

static int make_place_for_file(const struct step *step)
{
	return mknodat(AT_FDCWD, step_target(step), S_IFREG | 0444, 0) < 0 ? -errno : 0;
}

static int make_directory(const struct step *step)
{
	return mkdirat(AT_FDCWD, step->directory.target, step->directory.mode) < 0 ? -errno : 0;
}

static int make_link(const struct step *step)
{
	return symlinkat(step->link.points_to, AT_FDCWD, step->link.target) < 0 ? -errno : 0;
}

static int make_file(const struct step *step)
{
	return fd_or_errno(openat(AT_FDCWD, step->file.target,
				  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, step->file.mode));
}

static int make_parents(const char *path)
{
	char parent[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t n = (size_t)(slash - path);

		if (n >= sizeof(parent))
			return -ENAMETOOLONG;
		memcpy(parent, path, n);
		parent[n] = '\0';
		if (mkdirat(AT_FDCWD, parent, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* The parent directory usually exists, so try without creating it first. */
static int make(const struct step *step, maker_fn *maker)
{
	int r = maker(step);

	if (r != -ENOENT)
		return r;
	r = make_parents(step_target(step));
	return r < 0 ? r : maker(step);
}

int tree_attach(const struct kernel *kernel, size_t number, int mount_fd, bool is_directory)
{
	const struct step *step = &kernel->plan->steps[number];
	const char *target = step_target(step);

	if (!tree_is_ours(kernel, number)) {
		_cleanup_close_ int place = path_open_no_links(AT_FDCWD, target, O_PATH);

		if (place < 0)
			return place == -ENOENT ? -EXDEV : place;
		return mount_attach(mount_fd, place, "");
	}

	int r = make(step, is_directory ? make_place_for_directory : make_place_for_file);

	return r < 0 && r != -EEXIST ? r : mount_attach(mount_fd, AT_FDCWD, target);
}

int tree_attach_directory(struct kernel *kernel, const struct step *step, size_t number)
{
	int *fd = kernel_fds(kernel, number);
	int r = tree_attach(kernel, number, *fd, true);

	fd_close_many(fd, 1);
	return r;
}

bool tree_is_closed(const struct kernel *kernel, size_t number)
{
	const char *target = step_target(&kernel->plan->steps[number]);
	_cleanup_close_ int place = path_open_no_links(AT_FDCWD, target, O_PATH);

	return place == -EACCES;
}

int tree_directory(struct kernel *kernel, const struct step *step, size_t number)
{
	return tree_is_ours(kernel, number) ? make(step, make_directory) : -EXDEV;
}

int tree_link(struct kernel *kernel, const struct step *step, size_t number)
{
	return tree_is_ours(kernel, number) ? make(step, make_link) : -EXDEV;
}

int tree_reach_file(struct kernel *kernel, const struct step *step, size_t number)
{
	/* O_NONBLOCK: opening a FIFO could block; the type is checked afterwards. */
	_cleanup_close_ int fd =
		path_open_no_links(AT_FDCWD, step->file.source, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*kernel_fds(kernel, number) = take_fd(&fd);
	return 0;
}

static int copy(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1 << 20);
	while (n > 0);
	return n < 0 ? -errno : 0;
}

/* Adds @line, after a newline if the last line has none. */
static int add_line(int fd, const char *line)
{
	off_t end = lseek(fd, -1, SEEK_END);
	char last = '\n';
	int r;

	if (end >= 0 && read(fd, &last, 1) != 1)
		return -EIO;
	r = last == '\n' ? 0 : fd_write_all(fd, "\n", 1);
	if (r == 0)
		r = fd_write_all(fd, line, strlen(line));
	return r < 0 ? r : fd_write_all(fd, "\n", 1);
}

/* Copies the file @from with the added line to @to, and mounts @to over the target. */
static int cover_with(struct kernel *kernel, const struct step *step, size_t number, int from,
		      int to)
{
	_cleanup_close_ int cover = -EBADF;
	int r = copy(from, to);

	if (r < 0)
		return r;
	r = add_line(to, step->file.added);
	if (r < 0)
		return r;
	cover = mount_copy(to, 0);
	if (cover < 0)
		return cover;
	r = mount_set(cover, 0,
		      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		      -EBADF);
	return r < 0 ? r : tree_attach(kernel, number, cover, false);
}

/* An unlinked file cannot be mounted, so the file has a name in the root until it is mounted over
 * the target. */
static int cover_file(struct kernel *kernel, const struct step *step, size_t number, int from)
{
	static const char name[] = MASK_NAMES "copy";
	_cleanup_close_ int to = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, step->file.mode);
	int r = to < 0 ? -errno : cover_with(kernel, step, number, from, to);

	return unlinkat(AT_FDCWD, name, 0) < 0 && r == 0 ? -errno : r;
}

int tree_copy_file(struct kernel *kernel, const struct step *step, size_t number)
{
	int *from = kernel_fds(kernel, number), r;

	if (tree_is_ours(kernel, number)) {
		_cleanup_close_ int to = make(step, make_file);

		r = to < 0 ? to : copy(*from, to);
		if (r == 0 && step->file.added)
			r = add_line(to, step->file.added);
	} else {
		r = step->file.added ? cover_file(kernel, step, number, *from) : -EXDEV;
	}
	fd_close_many(from, 1);
	return r;
}

static int seal(const char *target)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int r = mount_setattr(AT_FDCWD, target, AT_SYMLINK_NOFOLLOW, &attr, sizeof(attr));

	return r < 0 ? -errno : 0;
}

int tree_seal(struct kernel *kernel, const struct step *step, size_t number)
{
	int r = seal(step->seal.target);

	for (size_t i = 0; i < number && r == 0; i++) {
		const struct step *other = &kernel->plan->steps[i];

		if (other->kind == STEP_TMPFS && other->tmpfs.attributes.is_read_only)
			r = seal(other->tmpfs.target);
	}
	return r;
}

/*
 * Masks: an empty directory or file without any permission, mounted read-only over hidden paths
 *
 * The root tmpfs contains one of each kind, created for the first mask; a mask is a bind mount of
 * it. Its owner is the command's user, but the mount is read-only, so its mode cannot be changed.
 */

bool mask_has_name(const char *path)
{
	return strncmp(path, MASK_NAMES, strlen(MASK_NAMES)) == 0;
}

static int open_template(bool is_directory)
{
	const char *path = is_directory ? MASK_NAMES "folder" : MASK_NAMES "file";
	int r = is_directory ? mkdirat(AT_FDCWD, path, 0) : mknodat(AT_FDCWD, path, S_IFREG, 0);

	if (r < 0 && errno != EEXIST)
		return -errno;
	return fd_or_errno(open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

int mask_attach(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_close_ int fd = open_template(step->mask.is_directory);

	if (fd < 0)
		return fd;

	int r = mount_set(fd, 0,
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				  MOUNT_ATTR_NOEXEC,
			  -EBADF);

	if (r == 0)
		r = tree_attach(kernel, number, fd, step->mask.is_directory);
	if (r == -EACCES && step->mask.may_be_closed && tree_is_closed(kernel, number))
		return 0;
	/* EXDEV: the target does not exist in a bind mount of the host. */
	return r == -EXDEV && step->mask.optional ? 0 : r;
}
