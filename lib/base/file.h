/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whole files: read one into memory, replace one atomically
 *
 * @dirfd may be AT_FDCWD. Use path_open_beneath() first where the folder is not ours.
 */

#include <stddef.h>
#include <sys/types.h>

struct sbx_error;

/*
 * Reads the regular file (or pipe) @path of at most @max_bytes. *@ret_bytes is followed by a NUL
 * that *@ret_n_bytes does not count; the caller frees it. A longer file is -EFBIG and is not read
 * to its end.
 */
int file_read(int dirfd, const char *path, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
	      struct sbx_error *err);
/* The same for a file of our own, which nobody has reason to replace: -EINVAL for anything but a
 * regular file, which is not waited for. */
int file_read_regular(int dirfd, const char *path, size_t max_bytes, char **ret_bytes,
		      size_t *ret_n_bytes, struct sbx_error *err);
/* The same as file_read(); "-" is standard input, whose name is "<stdin>". @ret_name is for
 * messages, and set in any case. */
int file_read_operand(int dirfd, const char *path, size_t max_bytes, const char **ret_name,
		      char **ret_bytes, size_t *ret_n_bytes, struct sbx_error *err);
/* The same from an open fd; @name is for messages. */
int file_read_fd(int fd, const char *name, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
		 struct sbx_error *err);

/*
 * Makes @path hold exactly these bytes: writes a new file beside it, syncs it, renames it over
 * @path and syncs the folder. At any crash either the old or the new content is there, whole.
 * Symbolic links are replaced, not followed. What is a device, a pipe or a socket, also behind a
 * link, stays: -ENOTSUP. The file gets exactly @mode, whatever the umask. On
 * failure nothing is left behind and @path is as it was; only where the folder's sync fails, with
 * -EIO, the new content is there and not yet safe.
 */
int file_replace(int dirfd, const char *path, const void *bytes, size_t n_bytes, mode_t mode,
		 struct sbx_error *err);
/*
 * The same for a file of somebody's: it keeps its mode and its owner, and is not written where it
 * cannot keep them. A new one gets what open() would give it.
 */
int file_update(int dirfd, const char *path, const void *bytes, size_t n_bytes,
		struct sbx_error *err);
