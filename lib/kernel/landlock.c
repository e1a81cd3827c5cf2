/* SPDX-License-Identifier: MIT */

/*
 * Landlock: access to files, enforced a second time
 *
 * Rules refer to inodes, which are looked up in the final file tree; later mounts do not change
 * them. Rights that the ruleset handles and no rule allows are denied for good, for PID 1 and all
 * its descendants. The kernel's headers may be older than the kernel, so this file defines the
 * layouts.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* struct landlock_ruleset_attr since ABI 6. Older kernels accept it if the members that they do not
 * know are zero. */
struct ruleset {
	uint64_t file_rights;
	uint64_t port_rights; /* ABI 4 */
	uint64_t scopes;      /* ABI 6 */
};

struct port_rule {
	uint64_t rights;
	uint64_t port;
};
#define RULE_PORT 2

/* Rights for files other than directories; the kernel refuses a rule with more. */
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
	 LANDLOCK_ACCESS_FS_READ_FILE | 1ull << 14 /* truncate */ | 1ull << 15 /* ioctl */)

int landlock_create(struct kernel *kernel, const struct step *step, size_t number)
{
	const struct ruleset ruleset = {
		.file_rights = step->landlock.file_rights,
		.port_rights = step->landlock.port_rights,
		.scopes = step->landlock.scopes,
	};
	long fd = syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);

	if (fd < 0)
		return -errno;
	close_fd(&kernel->ruleset_fd);
	kernel->ruleset_fd = (int)fd; /* close-on-exec, as every one is */
	return 0;
}

static int add_path(int ruleset, int fd, uint64_t rights)
{
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = rights,
		.parent_fd = fd,
	};

	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

int landlock_allow_path(struct kernel *kernel, const struct step *step, size_t number)
{
	uint64_t rights = step->landlock_path.rights;
	/*
	 * Without links: a link in a writable directory could make the rule refer to another file.
	 */
	_cleanup_close_ int fd = path_open_no_links(AT_FDCWD, step->landlock_path.target, O_PATH);
	int r;

	if (fd < 0)
		return fd;
	r = add_path(kernel->ruleset_fd, fd, rights);
	/* EINVAL: the target is a file and the rights are those of a directory. Add only the rights
	 * for files. */
	if (r == -EINVAL && (rights & ~FILE_RIGHTS) && (rights & FILE_RIGHTS))
		r = add_path(kernel->ruleset_fd, fd, rights & FILE_RIGHTS);
	return r;
}

int landlock_allow_port(struct kernel *kernel, const struct step *step, size_t number)
{
	const struct port_rule rule = { .rights = step->landlock_port.rights,
					.port = step->landlock_port.port };

	return syscall(SYS_landlock_add_rule, kernel->ruleset_fd, RULE_PORT, &rule, 0) < 0 ? -errno
											   : 0;
}

int landlock_enforce(struct kernel *kernel, const struct step *step, size_t number)
{
	if (syscall(SYS_landlock_restrict_self, kernel->ruleset_fd, 0) < 0)
		return -errno;
	close_fd(&kernel->ruleset_fd);
	kernel->ruleset_fd = -EBADF;
	return 0;
}
