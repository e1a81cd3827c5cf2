/* SPDX-License-Identifier: MIT */

/*
 * Whole files
 *
 * A replacement is a new file with an unpredictable name in the same directory, synced before it is
 * renamed over the old one: open() of the path, even after a crash, gets the complete old or the
 * complete new file. The directory is opened once and all system calls use its fd, so that they
 * cannot resolve the path to different directories.
 */

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

#define FIRST_READ 4096
#define N_NAME_TRIES 16
#define MODE_BITS 07777
#define TEMPORARY_NAME ".sbx-%016" PRIx64
#define TEMPORARY_SIZE sizeof(".sbx-0123456789abcdef")

/* The fix for each errno. */
static const struct {
	int code;
	const char *fix;
} remedies[] = {
	{ -ENOENT, "create what is missing, or correct the path" },
	{ -ENOTDIR, "correct the path: a component before the last is not a directory" },
	{ -EISDIR, "name a file, not a directory" },
	{ -EACCES, "change the permissions, or run as a user who has them" },
	{ -EPERM, "change the permissions, or run as a user who has them" },
	{ -ELOOP, "name the file itself, not a link to it" },
	{ -ENAMETOOLONG, "use a shorter name" },
	{ -ENOSPC, "free space on the file system" },
	{ -EDQUOT, "free space within the quota" },
	{ -EROFS, "choose a path on a writable file system" },
};

static int fail(struct sbx_error *err, int code, const char *doing, const char *path)
{
	(void)sbx_error_what(err, code, "cannot %s '%s'", doing, path);
	sbx_error_fix(err, "check this file and the file system that it is on");
	for (size_t i = 0; i < N_ELEMENTS(remedies); i++)
		if (remedies[i].code == code)
			sbx_error_fix(err, "%s", remedies[i].fix);
	return code;
}

static int fail_too_long(struct sbx_error *err, const char *name, size_t max_bytes)
{
	(void)fail(err, -EFBIG, "read", name);
	sbx_error_why(err, "it is longer than %zu bytes", max_bytes);
	sbx_error_fix(err, "use a shorter file");
	return -EFBIG;
}

/* One byte more than st_size, so that the first read() usually sees the end of the file. Only a
 * guess, because st_size is 0 for files in /proc. */
static size_t first_size(int fd, size_t max_bytes)
{
	struct stat status;
	uint64_t guess = FIRST_READ;

	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		guess = (uint64_t)status.st_size + 1;
	return guess < max_bytes ? (size_t)guess : max_bytes + 1;
}

int file_read_fd(int fd, const char *name, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
		 struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;

	/* size + 1 and 2 * size must not overflow. */
	if (max_bytes > SIZE_MAX / 4)
		max_bytes = SIZE_MAX / 4;
	for (size_t size = first_size(fd, max_bytes); n_bytes <= max_bytes; size *= 2) {
		if (size > max_bytes)
			size = max_bytes + 1;

		char *longer = realloc(bytes, size + 1);

		if (!longer)
			return fail(err, -ENOMEM, "read", name);
		bytes = longer;

		ssize_t n = fd_read_full(fd, bytes + n_bytes, size - n_bytes);

		if (n < 0)
			return fail(err, (int)n, "read", name);
		n_bytes += (size_t)n;
		if (n_bytes < size)
			break;
	}
	if (n_bytes > max_bytes)
		return fail_too_long(err, name, max_bytes);
	bytes[n_bytes] = '\0';
	*ret_bytes = take_ptr(bytes);
	*ret_n_bytes = n_bytes;
	return 0;
}

int file_read(int dirfd, const char *path, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
	      struct sbx_error *err)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return fail(err, -errno, "read", path);
	return file_read_fd(fd, path, max_bytes, ret_bytes, ret_n_bytes, err);
}

static int fail_kind(struct sbx_error *err, const char *path, mode_t mode)
{
	int code = S_ISDIR(mode) ? -EISDIR : -EINVAL;

	(void)fail(err, code, "read", path);
	error_explain(err, "it is not a regular file",
		      "find out which program created it, and move it away");
	return code;
}

int file_read_regular(int dirfd, const char *path, size_t max_bytes, char **ret_bytes,
		      size_t *ret_n_bytes, struct sbx_error *err)
{
	/* O_NONBLOCK: open() of a FIFO must not block until it has a writer. */
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return fail(err, -errno, "read", path);
	if (!S_ISREG(status.st_mode))
		return fail_kind(err, path, status.st_mode);
	return file_read_fd(fd, path, max_bytes, ret_bytes, ret_n_bytes, err);
}

int file_read_operand(int dirfd, const char *path, size_t max_bytes, const char **ret_name,
		      char **ret_bytes, size_t *ret_n_bytes, struct sbx_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;

	*ret_name = is_stdin ? "<stdin>" : path;
	return is_stdin ? file_read_fd(STDIN_FILENO, *ret_name, max_bytes, ret_bytes, ret_n_bytes,
				       err)
			: file_read(dirfd, path, max_bytes, ret_bytes, ret_n_bytes, err);
}

/* Opens the directory of @path's last component. */
static int open_directory(int dirfd, const char *path)
{
	_cleanup_free_ char *directory = strndup(path, (size_t)(path_last(path) - path));

	return directory ? fd_or_errno(openat(dirfd, *directory ? directory : ".",
					      O_RDONLY | O_DIRECTORY | O_CLOEXEC))
			 : -ENOMEM;
}

/* Creates a file with an unpredictable name in @directory, so that no other process can create it
 * first; the fd or negative errno. */
static int create_temporary(int directory, mode_t mode, char name[TEMPORARY_SIZE])
{
	for (int i = 0; i < N_NAME_TRIES; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		(void)snprintf(name, TEMPORARY_SIZE, TEMPORARY_NAME, random);

		int fd = openat(directory, name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Mode and owner of the new file come from @like; NULL: they stay those of open(). */
static int fill(int fd, const void *bytes, size_t n_bytes, const struct stat *like)
{
	int r = fd_write_all(fd, bytes, n_bytes);

	if (r < 0)
		return r;
	/* Set the mode after the content is complete, and before fsync(), which includes it.
	 * chown() first, because it clears the set-user-ID bit. */
	if (like && (fchown(fd, like->st_uid, like->st_gid) < 0 ||
		     fchmod(fd, like->st_mode & MODE_BITS) < 0))
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

/* Writes the new file and renames it to @name. */
static int put(int directory, const char *name, const void *bytes, size_t n_bytes,
	       const struct stat *like)
{
	char temporary[TEMPORARY_SIZE];
	_cleanup_close_ int fd = create_temporary(directory, like ? 0600 : 0666, temporary);

	if (fd < 0)
		return fd;

	int r = fill(fd, bytes, n_bytes, like);

	if (r == 0 && renameat(directory, temporary, directory, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, temporary, 0);
	return r;
}

/*
 * Refuses to replace a device, a FIFO or a socket, or a link to one: otherwise root could replace
 * "/dev/stdout" by a file. @ret_before: the status of @name; st_mode is 0 if it does not exist.
 */
static int look(int directory, const char *name, struct stat *ret_before)
{
	static const char fds[] = "/proc/";
	char target[sizeof(fds)] = "";
	struct stat behind;

	*ret_before = (struct stat){ .st_mode = 0 };
	if (fstatat(directory, name, ret_before, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	behind = *ret_before;
	if (S_ISLNK(behind.st_mode)) {
		/* A link to /proc/self/fd/N, as /dev/stdout is, refers to an open file. */
		if (readlinkat(directory, name, target, sizeof(fds) - 1) > 0 &&
		    strcmp(target, fds) == 0)
			return -ENOTSUP;
		if (fstatat(directory, name, &behind, 0) < 0)
			return 0;
	}
	return S_ISREG(behind.st_mode) ? 0 : S_ISDIR(behind.st_mode) ? -EISDIR : -ENOTSUP;
}

static int fail_device(struct sbx_error *err, int r, const char *path)
{
	(void)fail(err, r, "write", path);
	if (r == -ENOTSUP) {
		error_explain(err, "it is a device, a pipe or a socket, and would be replaced",
			      "give the path of a file");
	}
	return r;
}

/* Without @wanted, mode and owner are those of the existing file, if any. */
static int replace(int dirfd, const char *path, const void *bytes, size_t n_bytes,
		   const struct stat *wanted, struct sbx_error *err)
{
	const char *name = path_last(path);
	const struct stat *like = wanted;
	struct stat before;

	if (*path == '\0')
		return fail(err, -ENOENT, "write", path);
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return fail(err, -EISDIR, "write", path);

	_cleanup_close_ int directory = open_directory(dirfd, path);

	if (directory < 0)
		return fail(err, directory, "write", path);

	int r = look(directory, name, &before);

	if (r < 0)
		return fail_device(err, r, path);
	if (!like && S_ISREG(before.st_mode))
		like = &before;
	r = put(directory, name, bytes, n_bytes, like);

	if (r < 0)
		return fail(err, r, "write", path);
	/* EINVAL: the file system does not support fsync() of directories. */
	if (fsync(directory) < 0 && errno != EINVAL) {
		(void)fail(err, -EIO, "write", path);
		sbx_error_why(err,
			      "the new content is in place, but fsync() of its directory failed");
		return -EIO;
	}
	return 0;
}

int file_replace(int dirfd, const char *path, const void *bytes, size_t n_bytes, mode_t mode,
		 struct sbx_error *err)
{
	/* -1: do not change the owner. */
	const struct stat wanted = { .st_mode = mode, .st_uid = (uid_t)-1, .st_gid = (gid_t)-1 };

	return replace(dirfd, path, bytes, n_bytes, &wanted, err);
}

int file_update(int dirfd, const char *path, const void *bytes, size_t n_bytes,
		struct sbx_error *err)
{
	return replace(dirfd, path, bytes, n_bytes, NULL, err);
}
