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
#include <sys/stat.h>
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

#define TRUNCATE (UINT64_C(1) << 14) /* ABI 3 */
#define IOCTL (UINT64_C(1) << 15)    /* ABI 5; of devices */

/* Rights for files other than directories; the kernel refuses a rule with more. */
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
	 LANDLOCK_ACCESS_FS_READ_FILE | TRUNCATE | IOCTL)

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

/* The rights of @rights that the fd has by its open mode; a file or a device that is opened again
 * by /proc/self/fd gives no others. Truncating is part of writing: ftruncate() of the fd may do it.
 */
static uint64_t rights_of_fd(int fd, mode_t type, uint64_t rights)
{
	static const uint64_t of_modes[] = {
		[O_RDONLY] = LANDLOCK_ACCESS_FS_READ_FILE,
		[O_WRONLY] = LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE,
		[O_RDWR] = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE,
	};
	int flags = fcntl(fd, F_GETFL);
	size_t mode = (size_t)flags & O_ACCMODE;

	if (flags < 0 || (flags & O_PATH) || mode >= N_ELEMENTS(of_modes))
		return 0;
	return rights & (of_modes[mode] | (S_ISCHR(type) ? IOCTL : 0));
}

/* A pipe without a name or a socket needs no rule. */
int landlock_allow_streams(struct kernel *kernel, const struct step *step, size_t number)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
		int fd = kernel->streams[stream] < 0 ? stream : kernel->streams[stream], r;
		struct stat status;
		uint64_t rights;

		if (fstat(fd, &status) < 0 ||
		    !(S_ISREG(status.st_mode) || S_ISCHR(status.st_mode) ||
		      S_ISFIFO(status.st_mode)))
			continue;
		rights = rights_of_fd(fd, status.st_mode, step->landlock_streams.rights);
		r = rights ? add_path(kernel->ruleset_fd, fd, rights) : 0;
		/* EBADFD: a file that no path leads to, such as a memfd or a pipe. */
		if (r < 0 && r != -EBADFD)
			return r;
	}
	return 0;
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
	return 0;
}
