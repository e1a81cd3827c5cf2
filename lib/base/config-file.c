/* SPDX-License-Identifier: MIT */

/*
 * The files of the configuration: reading one, and writing one anew
 *
 * A project's last two components, ".sbx/config.yaml", may be anything that a hostile project
 * likes: links out of it, pipes that nobody writes to. They are opened beneath the folder that the
 * user chose to be in, and a change is read and written through one fd of ".sbx", so that the file
 * that was looked at is the one that is replaced. The user's and the system's own files are
 * followed where they lead.
 */

#include "base/config-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* O_NONBLOCK: a named pipe in the place of the file must not stop the tool. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define FOLDER_MODE 0755
#define FILE_MODE 0644

/* ".sbx/config.yaml" of "work/.sbx/config.yaml". */
static const char *project_part(const char *path)
{
	const char *last = path_last(path), *folder = last;

	if (folder > path)
		folder--;
	while (folder > path && folder[-1] != '/')
		folder--;
	return folder;
}

/* The folder of what begins at @part of @path; the fd or negative errno. */
static int open_folder_of(const char *path, const char *part, int flags)
{
	_cleanup_free_ char *folder =
		part > path ? strndup(path, (size_t)(part - path)) : strdup(".");
	int fd;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, flags | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

static int cannot_open(const char *path, int code, struct sbx_error *err)
{
	sbx_error_what(err, code, "cannot open '%s'", path);
	if (code == -ELOOP || code == -EXDEV) {
		sbx_error_why(err,
			      "it is, or passes, a symbolic link, which leads nowhere or could "
			      "lead out of the project");
		sbx_error_fix(err, "put a plain file there, or remove it");
	} else if (code == -ENOSYS) {
		sbx_error_why(err,
			      "openat2 is missing, and nothing in a project is opened without it");
		sbx_error_fix(err,
			      "use Linux 5.6 or newer; in a unit, leave RestrictSUIDSGID= out");
	} else {
		sbx_error_fix(err, "make it readable, or remove it");
	}
	return code;
}

/* Reads what was opened, which may be anything. */
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
			      S_ISDIR(st.st_mode)    ? "a folder"
			      : S_ISFIFO(st.st_mode) ? "a named pipe"
						     : "a device");
		sbx_error_fix(err, "put a plain file there, or remove it");
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
	}
	return file_read_fd(fd, path, TREE_BYTES_MAX, ret_bytes, ret_n_bytes, err);
}

/* The fd, or negative errno: -ENOENT also where a folder on the way cannot be searched, which is no
 * mistake of whoever runs a tool below it. */
static int open_layer(const char *path, enum config_origin origin)
{
	bool is_project = origin == CONFIG_FROM_PROJECT;
	const char *part = is_project ? project_part(path) : path;
	_cleanup_close_ int folder = is_project ? open_folder_of(path, part, O_PATH) : -EBADF;
	struct stat st;
	int fd;

	if (is_project && folder < 0)
		return folder == -EACCES || folder == -ENOTDIR ? -ENOENT : folder;
	fd = is_project ? path_open_beneath(folder, part, READ_FLAGS, 0) : open(path, READ_FLAGS);
	if (fd < 0 && !is_project)
		fd = -errno;
	/* What can be looked at but not opened is there, and was meant to be read. */
	if (fd == -EACCES &&
	    fstatat(is_project ? folder : AT_FDCWD, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
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

/* The folder of a project's file, made if it is not there. */
static int make_project_folder(const char *path)
{
	const char *part = project_part(path);
	_cleanup_close_ int project = open_folder_of(path, part, O_PATH);
	_cleanup_free_ char *name = strndup(part, (size_t)(path_last(path) - part));
	int r;

	if (project < 0)
		return project;
	if (!name)
		return -ENOMEM;
	r = path_make_parents_beneath(project, part, FOLDER_MODE);
	if (r < 0)
		return r;
	return path_open_beneath(project, name, O_RDONLY | O_DIRECTORY, 0);
}

/* The same for the user's or the system's. */
static int make_folder(const char *path)
{
	_cleanup_free_ char *folder = strdup(path);

	if (!folder)
		return -ENOMEM;
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return open_folder_of(path, path_last(path), O_RDONLY);
}

/* Changes the file @name of @folder; @path is for messages. */
static int save_in(int folder, const char *path, const char *key, const char *value,
		   struct sbx_error *err)
{
	const char *name = path_last(path);
	_cleanup_close_ int fd = path_open_beneath(folder, name, READ_FLAGS, 0);
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
	r = file_update(folder, name, after.data, after.len, err);
	return r < 0 ? error_retell(err, r, "cannot write '%s'", path) : 0;
}

/* The directory of @file, made if it is not there; @path is for messages. */
static int prepare_folder(const char *file, const char *path, enum config_origin origin,
			  struct sbx_error *err)
{
	int folder = origin == CONFIG_FROM_PROJECT ? make_project_folder(path) : make_folder(file);

	if (folder == -ELOOP || folder == -EXDEV)
		return cannot_open(path, folder, err);
	if (folder < 0) {
		(void)sbx_error_what(err, folder, "cannot make the folder of '%s'", path);
		sbx_error_fix(err, "make it yourself, or choose another file with --where");
	}
	return folder;
}

int config_save(const char *path, enum config_origin origin, const char *name, const char *value,
		struct sbx_error *err)
{
	bool is_project = origin == CONFIG_FROM_PROJECT;
	_cleanup_free_ char *target = is_project ? NULL : realpath(path, NULL);
	const char *file = target ? target : path;
	_cleanup_close_ int folder = prepare_folder(file, path, origin, err);

	return folder < 0 ? folder : save_in(folder, file, name, value, err);
}

static int refuse_existing(const char *path, struct sbx_error *err)
{
	int r = sbx_error_what(err, -EEXIST, "cannot make '%s'", path);

	sbx_error_why(err, "it exists");
	sbx_error_fix(err, "change it with 'sbx-config set KEY VALUE'");
	return r;
}

int config_create(const char *path, enum config_origin origin, struct sbx_error *err)
{
	_cleanup_close_ int folder = prepare_folder(path, path, origin, err);
	_cleanup_text_ struct text content = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (folder < 0)
		return folder;
	config_add_template(&content);
	if (text_status(&content) < 0)
		return sbx_error_what(err, -ENOMEM, "no memory to make '%s'", path);
	/* O_EXCL follows no link in the place of the file, and overwrites nothing. */
	fd = path_open_beneath(folder, path_last(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       FILE_MODE);
	if (fd == -EEXIST)
		return refuse_existing(path, err);
	if (fd < 0)
		return sbx_error_what(err, fd, "cannot make '%s'", path);
	r = fd_write_all(fd, content.data, content.len);
	if (r < 0)
		(void)unlinkat(folder, path_last(path), 0);
	return r < 0 ? sbx_error_what(err, r, "cannot write '%s'", path) : 0;
}
