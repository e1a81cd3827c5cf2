/* SPDX-License-Identifier: MIT */

/*
 * Files and directories of the host in the sandbox
 *
 * A source is opened once, without following any link, and copied as a detached mount with all
 * mounts below it. The copy gets its flags before it is attached. An ordinary user may copy mounts
 * only in a mount namespace of the user's own user namespace, so PID 1 does it. If root started
 * sbx-spawn, the supervisor does it before clone3(), because PID 1 has the command's uid and cannot
 * open paths that only root can.
 */

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/mount.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

static int open_source(const struct step *step)
{
	return path_open_no_links(AT_FDCWD, step->bind.source,
				  O_PATH | (step->bind.is_directory ? O_DIRECTORY : 0));
}

/* Without AT_RECURSIVE: the mounts below were not named, and one of them can show the system's
 * files. */
static int map_owner(struct kernel *kernel, const struct step *step, int copy)
{
	int owner = idmap_open(kernel, step->bind.owner.uid, step->bind.owner.gid);
	int r = owner < 0 ? owner : mount_set(copy, 0, 0, owner);

	/* EINVAL: the file system does not support it. EPERM: the mount is idmapped already. */
	if (!step->bind.owner.optional || (r != -EINVAL && r != -EPERM))
		return r;
	kernel->unmapped = step->bind.source;
	return 0;
}

int bind_reach(struct kernel *kernel, const struct step *step, size_t number)
{
	int *fd = kernel_fds(kernel, number);
	_cleanup_close_ int source = open_source(step);

	if (source < 0)
		return source;

	_cleanup_close_ int copy = mount_copy(source, AT_RECURSIVE);

	if (copy < 0)
		return copy;

	int r = mount_set(copy, AT_RECURSIVE, mount_attributes(&step->bind.attributes), -EBADF);

	if (r < 0)
		return r;
	if (idmap_applies(kernel, &step->bind.owner, source, step->bind.source)) {
		r = map_owner(kernel, step, copy);
		if (r < 0)
			return r;
	}
	*fd = take_fd(&copy);
	return 0;
}

int bind_attach(struct kernel *kernel, const struct step *step, size_t number)
{
	int *fd = kernel_fds(kernel, number);

	int r = tree_attach(kernel, number, *fd, step->bind.is_directory);

	fd_close_many(fd, 1);
	if (r == -EACCES && step->bind.may_be_closed && tree_is_closed(kernel, number))
		return 0;
	return r;
}
