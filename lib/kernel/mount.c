/* SPDX-License-Identifier: MIT */

/*
 * Thin wrappers: one function per system call, and one for the five calls that create a file system
 *
 * Linux 5.12 has all of them. Later features (mounts on detached trees, MOVE_MOUNT_BENEATH) are not
 * used, so that all kernels run the same code.
 */

#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "kernel/kernel-internal.h"
#include "plan/step.h"

#include "kernel/fault.h"

int mount_copy(int fd, unsigned flags)
{
	return fd_or_errno(
		open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | flags));
}

int mount_set(int fd, unsigned flags, uint64_t attributes, int userns_fd)
{
	struct mount_attr attr = {
		.attr_set = attributes,
		/* Otherwise later mounts of the host below the source would propagate into the
		 * sandbox. */
		.propagation = MS_PRIVATE,
	};

	if (userns_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns_fd;
	}
	return mount_setattr(fd, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int mount_attach(int fd, int dirfd, const char *path)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	return move_mount(fd, "", dirfd, path, flags) < 0 ? -errno : 0;
}

static int configure(int context, const struct mount_option *options)
{
	for (; options->key; options++)
		if (fsconfig(context, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			     options->key, options->value, 0) < 0)
			return -errno;
	return fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

int mount_make(const char *type, const struct mount_option *options, unsigned attributes)
{
	_cleanup_close_ int context = fsopen(type, FSOPEN_CLOEXEC);

	if (context < 0)
		return -errno;

	int r = configure(context, options);

	return r < 0 ? r : fd_or_errno(fsmount(context, FSMOUNT_CLOEXEC, attributes));
}

unsigned mount_attributes(const struct mount_attributes *attributes)
{
	return MOUNT_ATTR_NOSUID | (attributes->devices ? 0 : MOUNT_ATTR_NODEV) |
	       (attributes->is_read_only ? MOUNT_ATTR_RDONLY : 0) |
	       (attributes->no_exec ? MOUNT_ATTR_NOEXEC : 0);
}

/*
 * New instances of tmpfs, proc and devpts, which contain nothing of the host
 */

/* A name uses kernel memory that the size limit of a tmpfs does not count. */
#define BYTES_A_NAME 4096
#define N_NAMES_MIN 1024

int instance_make_tmpfs(uint64_t size, mode_t mode, unsigned attributes)
{
	uint64_t n_names = size / BYTES_A_NAME;
	char size_text[24], mode_text[8], names_text[24];
	const struct mount_option options[] = { { "size", size_text },
						{ "nr_inodes", names_text },
						{ "mode", mode_text },
						{ NULL, NULL } };

	/* For the kernel 0 means no limit. */
	if (size == 0)
		return -EINVAL;
	(void)snprintf(size_text, sizeof(size_text), "%" PRIu64, size);
	(void)snprintf(names_text, sizeof(names_text), "%" PRIu64,
		       n_names < N_NAMES_MIN ? N_NAMES_MIN : n_names);
	(void)snprintf(mode_text, sizeof(mode_text), "%o", mode & 07777);
	return mount_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes);
}

/* Creates a directory in @tmpfs, which is attached, and returns it as a separate detached mount. */
static int open_part(const struct step *step, int tmpfs, size_t number)
{
	char name[24];
	_cleanup_close_ int part = -EBADF;
	int r;

	(void)snprintf(name, sizeof(name), "%zu", number);
	if (mkdirat(tmpfs, name, step->tmpfs.mode) < 0)
		return -errno;
	part = open_tree(tmpfs, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (part < 0)
		return -errno;
	r = mount_set(part, 0,
		      mount_attributes(&step->tmpfs.attributes) & ~(unsigned)MOUNT_ATTR_RDONLY,
		      -EBADF);
	return r < 0 ? r : take_fd(&part);
}

/*
 * One tmpfs for all shared steps, with a directory for each. The kernel copies only mounts that are
 * attached in the caller's mount namespace, so the whole tmpfs is attached at the first target,
 * whose own mount then covers it. No process inside can unmount that, because none has
 * CAP_SYS_ADMIN.
 */
static int make_shared(struct kernel *kernel, const struct step *step, size_t number)
{
	const struct plan *plan = kernel->plan;
	_cleanup_close_ int tmpfs = instance_make_tmpfs(step->tmpfs.size_bytes, 0700, 0);
	int r = tmpfs < 0 ? tmpfs : tree_attach(kernel, number, tmpfs, true);

	for (size_t i = number; i < plan->n_steps && r >= 0; i++) {
		if (plan->steps[i].kind != STEP_TMPFS || !plan->steps[i].tmpfs.shared)
			continue;
		r = open_part(&plan->steps[i], tmpfs, i);
		if (r >= 0)
			*kernel_fds(kernel, i) = r;
	}
	return r < 0 ? r : 0;
}

static int attach_shared(struct kernel *kernel, const struct step *step, size_t number)
{
	int r = *kernel_fds(kernel, number) < 0 ? make_shared(kernel, step, number) : 0;

	return r < 0 ? r : tree_attach_directory(kernel, step, number);
}

int instance_tmpfs(struct kernel *kernel, const struct step *step, size_t number)
{
	/* Later steps may create names in it, and STEP_SEAL makes it read-only, so the plan must
	 * have that step. */
	unsigned attributes =
		mount_attributes(&step->tmpfs.attributes) & ~(unsigned)MOUNT_ATTR_RDONLY;
	_cleanup_close_ int fd = -EBADF;

	if (step->tmpfs.attributes.is_read_only && !plan_find_step(kernel->plan, STEP_SEAL))
		return -EINVAL;
	if (step->tmpfs.shared)
		return attach_shared(kernel, step, number);
	fd = instance_make_tmpfs(step->tmpfs.size_bytes, step->tmpfs.mode, attributes);
	if (fd < 0)
		return fd;
	return tree_attach(kernel, number, fd, true);
}

/* Before pivot_root(): the kernel allows a new /proc in a user namespace only if a fully visible
 * one is mounted already. */
int instance_make_proc(struct kernel *kernel, const struct step *step, size_t number)
{
	/* hidepid: processes that the reader may not trace, such as PID 1, are hidden. */
	static const struct mount_option options[] = { { "hidepid", "invisible" }, { NULL, NULL } };
	int fd = mount_make("proc", options,
			    mount_attributes(&step->proc.attributes) | MOUNT_ATTR_NOEXEC);

	if (fd < 0)
		return fd;
	*kernel_fds(kernel, number) = fd;
	return 0;
}

int instance_pts(struct kernel *kernel, const struct step *step, size_t number)
{
	static const struct mount_option options[] = { { "ptmxmode", "0666" }, { NULL, NULL } };
	_cleanup_close_ int fd =
		mount_make("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);

	return fd < 0 ? fd : tree_attach(kernel, number, fd, true);
}
