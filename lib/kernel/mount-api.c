/* SPDX-License-Identifier: MIT */

/*
 * Thin wrappers: one function per system call, and one for the five calls that create a file system
 *
 * Linux 5.12 has all of them. Later features (mounts on detached trees, MOVE_MOUNT_BENEATH) are not
 * used, so that all kernels run the same code.
 */

#include "kernel/mount-api.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/step.h"

#include "kernel/fault.h"

int mount_copy(int fd, unsigned flags)
{
	int copy = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | flags);

	return copy < 0 ? -errno : copy;
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

	if (r < 0)
		return r;

	int fd = fsmount(context, FSMOUNT_CLOEXEC, attributes);

	return fd < 0 ? -errno : fd;
}

unsigned mount_attributes(const struct mount_attributes *attributes)
{
	return MOUNT_ATTR_NOSUID | (attributes->devices ? 0 : MOUNT_ATTR_NODEV) |
	       (attributes->is_read_only ? MOUNT_ATTR_RDONLY : 0) |
	       (attributes->no_exec ? MOUNT_ATTR_NOEXEC : 0);
}
