/* SPDX-License-Identifier: MIT */

/*
 * Paths below a directory that another process may change at any time
 *
 * The kernel resolves and opens in one step (openat2, Linux 5.6), so there is no race between a
 * check and its use. Where a seccomp filter answers openat2() with ENOSYS (RestrictSUIDSGID= of a
 * unit, which DynamicUser= implies), and where missing directories are created, each component is
 * opened through the fd of its parent: no component can be a link, and ".." cannot leave.
 */

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"

/* The kernel returns -EAGAIN if a rename or mount anywhere on the host ran during the resolution of
 * "..". So many failures indicate an attack. */
#define N_TRIES 64

static bool creates(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* Why @name could not be opened as a directory; -EAGAIN if it is one by now. */
static int refuse_no_directory(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISLNK(st.st_mode) ? -ELOOP : S_ISDIR(st.st_mode) ? -EAGAIN : -ENOTDIR;
}

/* openat() of one component; -ELOOP if it is a symbolic link. As with openat2(), O_PATH and
 * O_NOFOLLOW together open the link itself. */
static int open_component(int dirfd, const char *name, int flags, mode_t mode)
{
	_cleanup_close_ int fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR && !(flags & O_NOFOLLOW) ? refuse_no_directory(dirfd, name)
								 : -errno;
	if (!(flags & O_PATH) || (flags & O_NOFOLLOW))
		return take_fd(&fd);
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISLNK(st.st_mode) ? -ELOOP : take_fd(&fd);
}

static bool is_parent(const char *component, size_t n)
{
	return n == 2 && memcmp(component, "..", 2) == 0;
}

/* What openat2() does without links, for every @path without ".."; -EXDEV if it contains one. */
static int open_by_components(int dirfd, const char *path, int flags, mode_t mode)
{
	_cleanup_close_ int directory = -EBADF;

	if (*path == '\0')
		return -ENOENT;
	if (*path == '/') {
		directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0)
			return -errno;
		dirfd = directory;
	}
	for (;;) {
		char name[NAME_MAX + 1];
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (is_parent(path, n))
			return -EXDEV;
		if (path[n] == '\0')
			return open_component(dirfd, n > 0 ? path : ".", flags, mode);
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';

		int next = open_component(dirfd, name, O_PATH | O_DIRECTORY, 0);

		if (next < 0)
			return next;
		close_fd(&directory);
		directory = dirfd = next;
		path += n;
	}
}

static int resolve_no_links(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		/* Unlike openat(), openat2() refuses a mode without O_CREAT or O_TMPFILE. */
		.mode = creates(flags) ? mode : 0,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};

	for (int i = 0; i < N_TRIES; i++) {
		int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

		if (fd < 0)
			fd = errno == ENOSYS ? open_by_components(dirfd, path, flags, mode)
					     : -errno;
		if (fd != -EAGAIN)
			return fd;
	}
	return -EAGAIN;
}

int path_open_no_links(int dirfd, const char *path, int flags)
{
	return resolve_no_links(dirfd, path, flags, 0, 0);
}

int path_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
	return *path == '/' ? -EXDEV : resolve_no_links(dirfd, path, flags, mode, RESOLVE_BENEATH);
}

int path_open_own(int dirfd, const char *name, struct stat *ret_status)
{
	_cleanup_close_ int found = path_open_beneath(dirfd, name, O_PATH | O_NOFOLLOW, 0);
	mode_t needed, mode;
	struct stat st;
	char path[64];
	int fd;

	if (found < 0 || fstat(found, &st) < 0)
		return found < 0 ? found : -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EBADMSG;
	needed = S_ISDIR(st.st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR;
	mode = st.st_mode & 07777;
	/* Use only the fd: mode and content are then those of the file that was checked. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	if (st.st_uid == geteuid() && (mode & needed) != needed && chmod(path, mode | needed) < 0)
		return -errno;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && (mode & needed) != needed)
		(void)fchmod(fd, mode);
	*ret_status = st;
	return fd;
}

/* Opens the directory @name in @dirfd, and creates it if necessary. */
static int open_or_make_directory(int dirfd, const char *name, mode_t mode)
{
	if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
		return -errno;
	/* If the name has become a link meanwhile, it is refused here. */
	return path_open_beneath(dirfd, name, O_PATH | O_DIRECTORY, 0);
}

int path_make_parents_beneath(int dirfd, const char *path, mode_t mode)
{
	_cleanup_close_ int directory = -EBADF;

	if (*path == '\0')
		return -ENOENT;
	if (*path == '/')
		return -EXDEV;

	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		size_t n = (size_t)(slash - path);

		if (n == 0)
			continue;
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';

		int next = open_or_make_directory(directory >= 0 ? directory : dirfd, name, mode);

		if (next < 0)
			return next;
		close_fd(&directory);
		directory = next;
	}
	return 0;
}

int path_make_parents(char *path, mode_t mode)
{
	for (char *slash = strchr(path + strspn(path, "/"), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, mode) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int path_make_directories(char *path, mode_t mode)
{
	int r;

	if (mkdir(path, mode) == 0 || errno == EEXIST) /* as nearly always */
		return 0;
	r = path_make_parents(path, mode);
	if (r < 0)
		return r;
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

static bool is_dots(const char *component, size_t n)
{
	return (n == 1 || n == 2) && component[0] == '.' && component[n - 1] == '.';
}

bool path_is_normal(const char *path)
{
	const char *at = path;

	if (strcmp(path, "/") == 0)
		return true;
	while (*at == '/') {
		size_t n = strcspn(++at, "/");

		if (n == 0 || is_dots(at, n))
			return false;
		at += n;
	}
	return at != path && at - path < PATH_MAX;
}

bool path_is_at_or_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/' || strcmp(directory, "/") == 0);
}

bool path_is_beneath(const char *path, const char *directory)
{
	return path_is_normal(path) && path_is_normal(directory) &&
	       path_is_at_or_below(path, directory);
}

bool path_has_no_links(const char *path)
{
	_cleanup_close_ int fd = path_open_no_links(AT_FDCWD, path, O_PATH);

	return fd >= 0 || fd == -ENOENT;
}

const char *path_follow(void *arena, const char *path)
{
	char real[PATH_MAX], *copy;

	if ((path_is_normal(path) && path_has_no_links(path)) || !realpath(path, real))
		return path;
	copy = arena_copy(arena, real, strlen(real));
	return copy ? copy : path;
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int path_beside_program(const char *name, char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);
	size_t len = strlen(name), n_directory;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	n_directory = (size_t)(path_last(ret) - ret);
	if (n_directory + len >= size)
		return -ENAMETOOLONG;
	memcpy(ret + n_directory, name, len + 1);
	return 0;
}
