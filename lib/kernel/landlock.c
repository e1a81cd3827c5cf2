/* SPDX-License-Identifier: MIT */

/*
 * Landlock: what may be done with which files, enforced a second time
 *
 * The rules name inodes, found through the final tree; a mount that appears later changes nothing
 * about them. What the ruleset handles and no rule allows is refused for good: for us, and for all
 * that we start. The headers may be older than the kernel, so the layouts stand here.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"
#include "kernel/mount-api.h"

#include "kernel/fault.h"

/* struct landlock_ruleset_attr since ABI 6. Older kernels take it as long as what they do not know
 * is zero. */
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

/* What may be allowed for something that is no folder; the kernel refuses a rule with more. */
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
	/* A link in a writable tree must not lead a rule elsewhere. */
	_cleanup_close_ int fd = mount_open(AT_FDCWD, step->landlock_path.target, O_PATH);
	int r;

	if (fd < 0)
		return fd;
	r = add_path(kernel->ruleset_fd, fd, rights);
	/* A file, where the plan speaks of what may be done in a folder: less, never more. */
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
