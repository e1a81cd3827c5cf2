/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whole files: read one into memory, replace one atomically
 *
 * @dirfd may be AT_FDCWD. If other users can write to a directory of the path, use
 * path_open_beneath() first.
 */

#include <stddef.h>
#include <sys/types.h>

struct sbx_error;

/*
 * Reads the regular file (or pipe) @path of at most @max_bytes. *@ret_bytes is followed by a NUL
 * that *@ret_n_bytes does not count; the caller frees it. A longer file is -EFBIG and is not read
 * completely.
 */
int file_read(int dirfd, const char *path, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
	      struct sbx_error *err);
/* The same for a file in sbx's own directories: -EINVAL, without blocking, unless it is a regular
 * file. */
int file_read_regular(int dirfd, const char *path, size_t max_bytes, char **ret_bytes,
		      size_t *ret_n_bytes, struct sbx_error *err);
/* The same as file_read(); "-" is standard input, whose name is "<stdin>". @ret_name is for
 * messages, and set even on failure. */
int file_read_operand(int dirfd, const char *path, size_t max_bytes, const char **ret_name,
		      char **ret_bytes, size_t *ret_n_bytes, struct sbx_error *err);
/* The same from an open fd; @name is for messages. */
int file_read_fd(int fd, const char *name, size_t max_bytes, char **ret_bytes, size_t *ret_n_bytes,
		 struct sbx_error *err);

/*
 * Replaces the content of @path: writes a new file beside it, syncs it, renames it over @path and
 * syncs the directory. After a crash @path has either the complete old or the complete new content.
 * Symbolic links are replaced, not followed. A device, a FIFO or a socket, and a link to one, is
 * not replaced: -ENOTSUP. The file gets exactly @mode, whatever the umask. On failure @path is
 * unchanged and the new file is removed; only if fsync() of the directory fails (-EIO), @path has
 * the new content, which a crash may undo.
 */
int file_replace(int dirfd, const char *path, const void *bytes, size_t n_bytes, mode_t mode,
		 struct sbx_error *err);
/*
 * The same, but an existing file keeps its mode and owner, and is not replaced if the new one
 * cannot get them. A new file has the mode and owner of open().
 */
int file_update(int dirfd, const char *path, const void *bytes, size_t n_bytes,
		struct sbx_error *err);
