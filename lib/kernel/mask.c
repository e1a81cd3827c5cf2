/* SPDX-License-Identifier: MIT */

/*
 * Masks: an empty directory or file without any permission, mounted read-only over hidden paths
 *
 * The root tmpfs contains one of each kind, created for the first mask; a mask is a bind mount of
 * it. Its owner is the command's user, but the mount is read-only, so its mode cannot be changed.
 */

#include "kernel/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kernel/kernel-internal.h"
#include "kernel/mount-api.h"
#include "kernel/tree.h"
#include "plan/plan.h"

#include "kernel/fault.h"

bool mask_has_name(const char *path)
{
	return strncmp(path, MASK_NAMES, strlen(MASK_NAMES)) == 0;
}

static int open_template(bool is_folder)
{
	const char *path = is_folder ? MASK_NAMES "folder" : MASK_NAMES "file";
	int r = is_folder ? mkdirat(AT_FDCWD, path, 0) : mknodat(AT_FDCWD, path, S_IFREG, 0);

	if (r < 0 && errno != EEXIST)
		return -errno;

	int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int mask_attach(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_close_ int fd = open_template(step->mask.is_folder);

	if (fd < 0)
		return fd;

	int r = mount_set(fd, 0,
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				  MOUNT_ATTR_NOEXEC,
			  -EBADF);

	if (r == 0)
		r = tree_attach(kernel, number, fd, step->mask.is_folder);
	if (r == -EACCES && step->mask.may_be_closed && tree_is_closed(kernel, number))
		return 0;
	/* EXDEV: the target does not exist in a bind mount of the host. */
	return r == -EXDEV && step->mask.optional ? 0 : r;
}
