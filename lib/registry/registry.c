/* SPDX-License-Identifier: MIT */

/*
 * The directory of all sandboxes, and reading its entries
 *
 * Another user with write access could make sbx-ctl kill any process of the caller, so each of
 * sbx's own directories in the path is opened through the fd of its parent, without links, and its
 * owner and mode are checked.
 */

#include "registry/registry-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/file.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/process.h"

#define SYSTEM_RUNTIME "/run"
#define FALLBACK_RUNTIME "/tmp"
#define PROJECT_DIRECTORY "sbx"
#define REGISTRY_DIRECTORY "sandboxes"
#define WRITABLE_BY_OTHERS 022
#define OPEN_TO_OTHERS 077

static int fail(struct sbx_error *err, int code, const char *base, const char *name,
		const char *why, const char *fix)
{
	return error_fill(err, code, why, fix,
			  "cannot open the directory of all sandboxes, '%s/%s'", base, name);
}

/* After "su USER" XDG_RUNTIME_DIR still names the directory of the first user. */
static int fail_at(struct sbx_error *err, int code, const char *base, const char *name,
		   const char *fix)
{
	return fail(err, code, base, name, NULL,
		    code == -EACCES ? "set XDG_RUNTIME_DIR to a directory of your own, or unset it"
				    : fix);
}

/* Opens a directory of the caller in @parent, and creates it if necessary. Refuses the mode bits
 * @forbidden. */
static int open_ours(int parent, const char *name, mode_t mode, mode_t forbidden)
{
	_cleanup_close_ int fd = path_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd == -ENOENT) {
		if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
			return -errno;
		fd = path_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0);
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() && (st.st_mode & forbidden) == 0 ? take_fd(&fd) : -EPERM;
}

static bool is_of_others(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid();
}

static int open_below(const char *base, const char *name, mode_t mode, struct sbx_error *err)
{
	_cleanup_close_ int runtime = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int ours = -EBADF;
	int r = runtime < 0 ? -errno : 0;
	char whole[64];

	if (r < 0)
		return fail_at(err, r, base, name,
			       "make the directory, or correct XDG_RUNTIME_DIR");
	ours = open_ours(runtime, name, mode, WRITABLE_BY_OTHERS);
	r = ours < 0 ? ours : open_ours(ours, REGISTRY_DIRECTORY, 0700, OPEN_TO_OTHERS);
	if (ours >= 0) {
		(void)snprintf(whole, sizeof(whole), "%s/" REGISTRY_DIRECTORY, name);
		name = whole;
	}
	if (r == -EPERM || r == -ELOOP || r == -ENOTDIR)
		return fail(
			err, -EPERM, base, name,
			is_of_others(runtime, name)
				? "it belongs to another user, who may have created it first"
				: "it is not a directory that only the calling user can access",
			"remove it, or change its owner to the calling user and its mode to 0700; or set "
			"XDG_RUNTIME_DIR to a directory of your own");
	if (r == -EACCES)
		return fail(err, r, base, name, "the calling user may not write there",
			    "set XDG_RUNTIME_DIR to a directory of your own, or unset it");
	if (r < 0)
		return fail_at(err, r, base, name,
			       geteuid() == 0 ? "check the file system that it is on"
					      : "check the file system that it is on, or set "
						"XDG_RUNTIME_DIR to a directory of your own");
	return r;
}

int registry_open_in(const char *runtime_directory, struct sbx_error *err)
{
	return open_below(runtime_directory, PROJECT_DIRECTORY, 0700, err);
}

static const char *find_runtime(char *const *environment)
{
	static const char prefix[] = "XDG_RUNTIME_DIR=/";

	for (; environment && *environment; environment++)
		if (strncmp(*environment, prefix, sizeof(prefix) - 1) == 0)
			return strchr(*environment, '/');
	return NULL;
}

int registry_open(char *const *environment, struct sbx_error *err)
{
	const char *runtime = find_runtime(environment);
	char name[32];

	/* 0755: the same directory contains sockets for members of a group. */
	if (geteuid() == 0)
		return open_below(SYSTEM_RUNTIME, PROJECT_DIRECTORY, 0755, err);
	if (runtime)
		return registry_open_in(runtime, err);
	(void)snprintf(name, sizeof(name), PROJECT_DIRECTORY "-%u", (unsigned)geteuid());
	return open_below(FALLBACK_RUNTIME, name, 0700, err);
}

int registry_open_directory(int registry, const char *id)
{
	if (!sandbox_id_is_valid(id))
		return -EINVAL;
	return path_open_beneath(registry, id, O_RDONLY | O_DIRECTORY, 0);
}

bool registry_is_removed(int directory)
{
	struct stat st;

	return fstat(directory, &st) < 0 || st.st_nlink == 0;
}

int registry_fail_to_find(const char *id, int code, struct sbx_error *err)
{
	if (code == -EINVAL) {
		(void)sbx_error_what(err, code, "'%s' is not a valid sandbox name", id);
		sbx_error_why(err,
			      "it has letters, digits, '-', '_' and '.', at most %d of them, and "
			      "begins with a letter or digit",
			      SANDBOX_ID_MAX);
	} else if (code == -ENOENT) {
		(void)sbx_error_what(err, code, "there is no sandbox '%s'", id);
		sbx_error_why(err, "it never existed, or it has ended and was removed");
	} else {
		(void)sbx_error_what(err, code, "cannot open the sandbox '%s'", id);
	}
	if (code == -EACCES) {
		sbx_error_why(err, "the calling user may not open its directory");
		sbx_error_fix(err, "open it: chmod 700 '%s' in the directory of sandboxes", id);
		return code;
	}
	sbx_error_fix(err, "see 'sbx-ctl list' for the existing ones");
	return code;
}

/* 1: there is no state yet, or no longer. */
static int read_state(int directory, const char *id, struct arena *arena, struct sandbox_entry *ret,
		      struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	struct sbx_error why = { .code = 0 };
	size_t n_bytes;
	int r = file_read_regular(directory, STATE_NAME, STATE_BYTES_MAX, &bytes, &n_bytes, &why);

	if (r == -ENOENT)
		return 1;
	if (r < 0 && err)
		*err = why;
	return r < 0 ? r : entry_read_state(id, bytes, n_bytes, arena, ret, err);
}

int registry_read(int registry, const char *id, struct arena *arena, struct sandbox_entry *ret,
		  bool *ret_is_alive, struct sbx_error *err)
{
	_cleanup_close_ int directory = registry_open_directory(registry, id);
	struct sandbox_entry entry = { .state = SANDBOX_CREATING };
	bool is_alive;
	int r;

	if (directory < 0)
		return registry_fail_to_find(id, directory, err);
	/* While this lock is held nothing can start, end or remove the sandbox: what is read here
	 * of one without an owner is of one moment. */
	is_alive = flock(directory, LOCK_SH | LOCK_NB) < 0;
	r = read_state(directory, id, arena, &entry, err);
	if (r < 0)
		return r;
	entry.id = arena_copy(arena, id, strlen(id));
	if (!entry.id)
		return sbx_error_what(err, -ENOMEM, "no memory to read the sandbox '%s'", id);
	/* Without a state its creator was killed. */
	entry.waits = r == 0 && entry.state == SANDBOX_CREATING && entry.supervisor == 0 &&
		      faccessat(directory, SANDBOX_CONFIGURATION_NAME, F_OK, 0) == 0;
	entry.is_paused = faccessat(directory, SANDBOX_PAUSED_NAME, F_OK, 0) == 0;
	/* Its owner may have removed files in the meantime, and then the directory. */
	if (registry_is_removed(directory))
		return registry_fail_to_find(id, -ENOENT, err);
	*ret = entry;
	*ret_is_alive = is_alive;
	return 0;
}

static int add_id(struct arena *arena, struct arena_rows *ids, const char *id)
{
	const char **row = arena_add_row(arena, ids, sizeof(*row));

	if (row)
		*row = arena_copy(arena, id, strlen(id));
	return row && *row ? 0 : -ENOMEM;
}

static int read_ids(int registry, struct arena *arena, struct arena_rows *ids)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(registry);
	const struct dirent *item;

	if (!dir)
		return -errno;
	while ((errno = 0, item = readdir(dir))) {
		int r = sandbox_id_is_valid(item->d_name) ? add_id(arena, ids, item->d_name) : 0;

		if (r < 0)
			return r;
	}
	return -errno;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int registry_list(int registry, struct arena *arena, const char *const **ret, struct sbx_error *err)
{
	struct arena_rows ids = { .rows = NULL };
	int r = read_ids(registry, arena, &ids);

	if (r < 0)
		return error_fill(err, r, NULL, "check the runtime directory and its file system",
				  "cannot list the sandboxes");
	if (ids.n_rows > 0)
		qsort(ids.rows, ids.n_rows, sizeof(const char *), compare_ids);
	/* The NULL at the end. */
	if (!arena_add_row(arena, &ids, sizeof(const char *)))
		return sbx_error_what(err, -ENOMEM, "no memory to list the sandboxes");
	*ret = ids.rows;
	return 0;
}

/* PIDs are reused, but not within one tick of 10 ms, so PID and start time together are unique. */
int process_open(pid_t pid, uint64_t start)
{
	_cleanup_close_ int fd = pid > 0 ? pidfd_of(pid) : -ESRCH;
	int64_t found;

	if (fd < 0)
		return fd;
	/* After opening the pidfd: a process that got this PID later has another start time. */
	found = process_start_ticks(pid);
	if (found < 0)
		return (int)found;
	return (uint64_t)found == start ? take_fd(&fd) : -ESRCH;
}
