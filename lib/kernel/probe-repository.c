/* SPDX-License-Identifier: MIT */

/*
 * What git takes programs from in the repositories that a sandbox may write
 *
 * Hooks and configuration name programs, and "commondir" names another folder to look for both in.
 * Submodules have repositories of their own below "modules", and worktrees parts of one below
 * "worktrees". Each is opened once and its few names are looked at through that fd. What is missing
 * is a fact, too: it could be made. What cannot be looked through is one name as a whole.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-internal.h"

#define DEPTH_MAX 8
/* Of all folders together: more than a sandbox should wait for. */
#define FOLDERS_MAX 512
#define CONFIG_MAX 16384

struct scan {
	struct place_search *search;
	struct host_path *names;
	size_t n;
	size_t n_room;
	unsigned n_folders;
};

static const char *const of_repository[] = { "hooks", "config", "config.worktree", "commondir" };
static const char *const of_worktree[] = { "gitdir", "config.worktree", "commondir" };

static int add(struct scan *scan, const struct host_path *name)
{
	if (scan->n == scan->n_room) {
		size_t n_room = scan->n_room ? scan->n_room * 2 : 8;
		struct host_path *names = arena_alloc(scan->search->arena, n_room * sizeof(*names));

		if (!names)
			return -ENOMEM;
		if (scan->n > 0)
			memcpy(names, scan->names, scan->n * sizeof(*names));
		scan->names = names;
		scan->n_room = n_room;
	}
	scan->names[scan->n++] = *name;
	return 0;
}

/* What stands at @path, which is @name in @fd. */
static int add_path(struct scan *scan, int fd, const char *name, const char *path)
{
	struct host_path place = { .path = path, .real = path, .kind = HOST_MISSING };
	struct stat status = { .st_mode = 0 };
	int r;

	if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			place.kind = HOST_UNREACHABLE;
	} else if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
		place.kind = S_ISDIR(status.st_mode) ? HOST_FOLDER : HOST_FILE;
		place.uid = status.st_uid;
		place.gid = status.st_gid;
		place.mode = status.st_mode;
	} else {
		/* A link, or nothing that git makes. */
		r = probe_place(scan->search, path, &place, NULL);
		if (r < 0)
			return r;
	}
	return add(scan, &place);
}

static int add_name(struct scan *scan, int fd, const char *folder, const char *name)
{
	const char *path = probe_join(scan->search->arena, folder, name);

	return path ? add_path(scan, fd, name, path) : -ENOMEM;
}

static int add_names(struct scan *scan, int fd, const char *folder, const char *const *names,
		     size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_name(scan, fd, folder, names[i]);
	return r;
}

static int open_folder(int fd, const char *name)
{
	int folder = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return folder < 0 ? -errno : folder;
}

static int scan_repository(struct scan *scan, int fd, const char *folder, unsigned depth);

/* @fd is the repository of a submodule: where its files are, a ".git" leads back. */
static int scan_link_to(struct scan *scan, int fd, const char *folder)
{
	static const char key[] = "worktree = ";
	char config[CONFIG_MAX];
	struct host_path place = { .path = "" };
	const char *path;
	char *at, *end;

	if (probe_read(fd, "config", config, sizeof(config)) < 0)
		return 0;
	at = strstr(config, key);
	end = at ? strchr(at, '\n') : NULL;
	if (end)
		*end = '\0';
	if (!at || probe_place_from(scan->search, folder, at + sizeof(key) - 1, &place) < 0 ||
	    place.kind != HOST_FOLDER)
		return 0;
	path = probe_join(scan->search->arena, place.real, ".git");
	if (!path)
		return -ENOMEM;
	if (probe_place(scan->search, path, &place, NULL) < 0 || place.kind == HOST_MISSING)
		return 0;
	return add(scan, &place);
}

static int scan_worktree(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	return add_names(scan, fd, folder, of_worktree, N_ELEMENTS(of_worktree));
}

/* The name of a submodule may have slashes, so what is no repository may contain some. */
static int scan_modules(struct scan *scan, int fd, const char *folder, unsigned depth);

static int scan_module(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	int r;

	if (faccessat(fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return scan_modules(scan, fd, folder, depth);
	r = scan_repository(scan, fd, folder, depth);
	return r < 0 ? r : scan_link_to(scan, fd, folder);
}

typedef int scan_fn(struct scan *scan, int fd, const char *folder, unsigned depth);

/* 0, or -E2BIG where there are too many. */
static int scan_each(struct scan *scan, int fd, const char *folder, scan_fn *fn, unsigned depth)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	_cleanup_closedir_ DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		close_fd(&copy);
		return -EMFILE;
	}
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int below = -EBADF;
		const char *path;

		if (entry->d_name[0] == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		below = open_folder(fd, entry->d_name);
		if (below == -ENOTDIR || below == -ENOENT)
			continue;
		if (below < 0) {
			r = add_name(scan, fd, folder, entry->d_name);
			continue;
		}
		path = probe_join(scan->search->arena, folder, entry->d_name);
		if (!path)
			return -ENOMEM;
		r = ++scan->n_folders > FOLDERS_MAX || depth == DEPTH_MAX
			    ? -E2BIG
			    : fn(scan, below, path, depth + 1);
	}
	return r;
}

static int scan_modules(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	return scan_each(scan, fd, folder, scan_module, depth);
}

static int scan_below(struct scan *scan, int fd, const char *folder, const char *name, scan_fn *fn,
		      unsigned depth)
{
	_cleanup_close_ int below = open_folder(fd, name);
	const char *path;
	int r;

	if (below == -ENOENT)
		return 0;
	path = probe_join(scan->search->arena, folder, name);
	if (!path)
		return -ENOMEM;
	r = below < 0 ? -E2BIG : scan_each(scan, below, path, fn, depth);
	return r == -E2BIG ? add_name(scan, fd, folder, name) : r;
}

static int scan_repository(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	int r = add_names(scan, fd, folder, of_repository, N_ELEMENTS(of_repository));

	if (r == 0)
		r = scan_below(scan, fd, folder, "worktrees", scan_worktree, depth);
	return r < 0 ? r : scan_below(scan, fd, folder, "modules", scan_module, depth);
}

/* @path is a ".git". */
static int scan_entry(struct scan *scan, const char *path, enum host_path_kind kind)
{
	_cleanup_close_ int fd = -EBADF;

	for (size_t i = 0; i < scan->n; i++)
		if (path_is_beneath(scan->names[i].path, path))
			return 0;
	if (kind != HOST_FOLDER)
		return add_path(scan, AT_FDCWD, path, path);
	fd = open_folder(AT_FDCWD, path);
	/* The plan holds what it knows of it, or refuses. */
	return fd < 0 ? 0 : scan_repository(scan, fd, path, 0);
}

static bool is_entry(const struct host_path *place)
{
	return strcmp(path_last(place->path), ".git") == 0;
}

/* Below a folder whose own ".git" the plan has asked about, because it may be written. */
static bool is_granted(const struct host *host, const char *path)
{
	for (size_t i = 0; i < host->n_paths; i++) {
		const char *asked = host->paths[i].path;
		size_t n = strlen(asked) - strlen("/.git");

		if (is_entry(&host->paths[i]) && strncmp(path, asked, n) == 0 &&
		    (n == 0 || path[n] == '/'))
			return true;
	}
	return false;
}

int probe_repositories(struct place_search *search, const char *entry, struct host *ret)
{
	struct scan scan = { .search = search };
	int r = 0;

	for (size_t i = 0; i < ret->n_paths && r == 0; i++)
		if (ret->paths[i].kind == HOST_FOLDER && is_entry(&ret->paths[i]))
			r = scan_entry(&scan, ret->paths[i].real, HOST_FOLDER);
	if (r == 0 && entry && is_granted(ret, entry)) {
		r = scan_entry(&scan, entry, ret->git_folder ? HOST_FOLDER : HOST_FILE);
		if (r == 0 && ret->git_common)
			r = scan_entry(&scan, ret->git_common, HOST_FOLDER);
	}
	ret->repository = scan.names;
	ret->n_repository = scan.n;
	return r;
}
