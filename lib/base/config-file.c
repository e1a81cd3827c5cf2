/* SPDX-License-Identifier: MIT */

/*
 * Reading and replacing configuration files
 *
 * In a hostile project ".sbx/config.yaml" may be a symbolic link that leads outside, or a FIFO
 * without a writer. Both components are opened beneath the project's directory without links, and a
 * change is read and written through one fd of ".sbx", so that the file that was read is the one
 * that is replaced. In the paths of the user's and the system's files links are followed.
 */

#include "base/config-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/tree.h"

/* O_NONBLOCK: open() of a FIFO instead of the file must not block. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define DIRECTORY_MODE 0755
#define FILE_MODE 0644

/* ".sbx/config.yaml" of "work/.sbx/config.yaml". */
static const char *project_part(const char *path)
{
	const char *last = path_last(path), *directory = last;

	if (directory > path)
		directory--;
	while (directory > path && directory[-1] != '/')
		directory--;
	return directory;
}

/* Opens the directory that @part of @path is relative to; the fd or negative errno. */
static int open_directory_of(const char *path, const char *part, int flags)
{
	_cleanup_free_ char *directory =
		part > path ? strndup(path, (size_t)(part - path)) : strdup(".");
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, flags | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

static int cannot_open(const char *path, int code, struct sbx_error *err)
{
	sbx_error_what(err, code, "cannot open '%s'", path);
	if (code == -ELOOP || code == -EXDEV) {
		error_explain(err,
			      "the path contains a symbolic link that is dangling or could lead "
			      "out of the project",
			      "put a plain file there, or remove it");
	} else {
		sbx_error_fix(err, "make it readable, or remove it");
	}
	return code;
}

/* Reads @fd, which may be a directory, a FIFO or a device. */
static int read_plain(int fd, const char *path, char **ret_bytes, size_t *ret_n_bytes,
		      struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cannot_open(path, -errno, err);
	if (!S_ISREG(st.st_mode)) {
		(void)sbx_error_what(err, S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO,
				     "cannot read '%s'", path);
		sbx_error_why(err, "it is %s, not a file",
			      S_ISDIR(st.st_mode)    ? "a directory"
			      : S_ISFIFO(st.st_mode) ? "a named pipe"
						     : "a device");
		sbx_error_fix(err, "put a plain file there, or remove it");
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
	}
	return file_read_fd(fd, path, TREE_BYTES_MAX, ret_bytes, ret_n_bytes, err);
}

/* The fd, or negative errno: -ENOENT also if a directory of the path may not be searched, because a
 * user who runs a tool below it cannot change that. */
static int open_layer(const char *path, enum config_origin origin)
{
	bool is_project = origin == CONFIG_FROM_PROJECT;
	const char *part = is_project ? project_part(path) : path;
	_cleanup_close_ int directory = is_project ? open_directory_of(path, part, O_PATH) : -EBADF;
	struct stat st;
	int fd;

	if (is_project && directory < 0)
		return directory == -EACCES || directory == -ENOTDIR ? -ENOENT : directory;
	fd = is_project ? path_open_beneath(directory, part, READ_FLAGS, 0)
			: open(path, READ_FLAGS);
	if (fd < 0 && !is_project)
		fd = -errno;
	/* A file that can be stat()ed but not opened is an error: its settings would be missing. */
	if (fd == -EACCES &&
	    fstatat(is_project ? directory : AT_FDCWD, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -ENOENT;
	return fd == -ENOTDIR ? -ENOENT : fd;
}

int config_read(const char *path, enum config_origin origin, char **ret_bytes, size_t *ret_n_bytes,
		struct sbx_error *err)
{
	_cleanup_close_ int fd = open_layer(path, origin);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return cannot_open(path, fd, err);
	return read_plain(fd, path, ret_bytes, ret_n_bytes, err);
}

/* Opens the directory of a project's file, and creates it if necessary. */
static int make_project_directory(const char *path)
{
	const char *part = project_part(path);
	_cleanup_close_ int project = open_directory_of(path, part, O_PATH);
	_cleanup_free_ char *name = strndup(part, (size_t)(path_last(path) - part));
	int r;

	if (project < 0)
		return project;
	if (!name)
		return -ENOMEM;
	r = path_make_parents_beneath(project, part, DIRECTORY_MODE);
	if (r < 0)
		return r;
	return path_open_beneath(project, name, O_RDONLY | O_DIRECTORY, 0);
}

/* The same for the user's or the system's. */
static int make_directory(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	int r = copy ? path_make_parents(copy, DIRECTORY_MODE) : -ENOMEM;

	if (r < 0)
		return r;
	return open_directory_of(path, path_last(path), O_RDONLY);
}

/* Changes the file of @path in @directory. */
static int save_in(int directory, const char *path, const char *key, const char *value,
		   struct sbx_error *err)
{
	const char *name = path_last(path);
	_cleanup_close_ int fd = path_open_beneath(directory, name, READ_FLAGS, 0);
	_cleanup_text_ struct text after = TEXT_INIT;
	_cleanup_free_ char *before = NULL;
	size_t n_before = 0;
	int r;

	if (fd < 0 && fd != -ENOENT)
		return cannot_open(path, fd, err);
	if (fd >= 0) {
		r = read_plain(fd, path, &before, &n_before, err);
		if (r < 0)
			return r;
	}
	r = config_edit(path, before ? before : "", n_before, key, value, &after, err);
	if (r < 0)
		return r;
	r = file_update(directory, name, after.data, after.len, err);
	return r < 0 ? error_retell(err, r, "cannot write '%s'", path) : 0;
}

/* Opens the directory of @file, and creates it if necessary; @path is for messages. */
static int prepare_directory(const char *file, const char *path, enum config_origin origin,
			     struct sbx_error *err)
{
	int directory =
		origin == CONFIG_FROM_PROJECT ? make_project_directory(path) : make_directory(file);

	if (directory == -ELOOP || directory == -EXDEV)
		return cannot_open(path, directory, err);
	if (directory < 0)
		return error_fill(err, directory, NULL,
				  "create it with mkdir -p, or choose another file with --where",
				  "cannot create the directory of '%s'", path);
	return directory;
}

int config_save(const char *path, enum config_origin origin, const char *name, const char *value,
		struct sbx_error *err)
{
	bool is_project = origin == CONFIG_FROM_PROJECT;
	_cleanup_free_ char *target = is_project ? NULL : realpath(path, NULL);
	const char *file = target ? target : path;
	_cleanup_close_ int directory = prepare_directory(file, path, origin, err);

	return directory < 0 ? directory : save_in(directory, file, name, value, err);
}

int config_create(const char *path, enum config_origin origin, struct sbx_error *err)
{
	_cleanup_close_ int directory = prepare_directory(path, path, origin, err);
	_cleanup_text_ struct text content = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (directory < 0)
		return directory;
	config_add_template(&content);
	if (text_status(&content) < 0)
		return sbx_error_what(err, -ENOMEM, "no memory to create '%s'", path);
	/* O_EXCL: do not follow a link at @path, and do not overwrite a file. */
	fd = path_open_beneath(directory, path_last(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       FILE_MODE);
	if (fd == -EEXIST)
		return error_fill(err, fd, "it exists already",
				  "change it with 'sbx-config set KEY VALUE'", "cannot create '%s'",
				  path);
	if (fd < 0)
		return sbx_error_what(err, fd, "cannot create '%s'", path);
	r = fd_write_all(fd, content.data, content.len);
	if (r < 0)
		(void)unlinkat(directory, path_last(path), 0);
	return r < 0 ? sbx_error_what(err, r, "cannot write '%s'", path) : 0;
}
