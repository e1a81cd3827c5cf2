/* SPDX-License-Identifier: MIT */

/*
 * What git takes programs from in the repositories that a sandbox may write
 *
 * Hooks and configuration name programs, and "commondir" names another folder to look for both in.
 * Submodules have repositories of their own below "modules", and worktrees parts of one below
 * "worktrees". Each is opened once and its few names are looked at through that fd. What is missing
 * is a fact, too: it could be made. What cannot be looked through is one name as a whole. A bare
 * repository has the same names in the folder itself.
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
#include "kernel/probe-scan.h"

#define DEPTH_MAX 8
/* Of all folders together: more than a sandbox should wait for. */
#define FOLDERS_MAX 512

static const char *const of_repository[] = { "hooks", "config", "config.worktree", "commondir" };
static const char *const of_worktree[] = { "gitdir", "config.worktree", "commondir" };

int scan_add(struct scan *scan, const struct host_path *name)
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

int scan_add_path(struct scan *scan, int fd, const char *name, const char *path)
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
	return scan_add(scan, &place);
}

static int add_name(struct scan *scan, int fd, const char *folder, const char *name)
{
	const char *path = probe_join(scan->search->arena, folder, name);

	return path ? scan_add_path(scan, fd, name, path) : -ENOMEM;
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

int scan_add_top(struct scan *scan, struct top **tops, const char *path)
{
	struct top *top = arena_alloc(scan->search->arena, sizeof(*top));

	if (!top)
		return -ENOMEM;
	*top = (struct top){ .path = path, .next = *tops };
	*tops = top;
	return 0;
}

/* The folder that @path, which is canonical, stands in. */
static int add_top_of(struct scan *scan, struct top **tops, const char *path)
{
	size_t n = (size_t)(path_last(path) - path);
	const char *top = arena_copy(scan->search->arena, path, n > 1 ? n - 1 : n);

	return top ? scan_add_top(scan, tops, top) : -ENOMEM;
}

static int scan_repository(struct scan *scan, struct repository *repository, int fd,
			   unsigned depth);

/* @files is what a submodule's repository names as the place of its files: their ".git" leads back.
 */
static int scan_link_to(struct scan *scan, const char *files)
{
	struct host_path place;
	const char *path = files ? probe_join(scan->search->arena, files, ".git") : NULL;

	if (!path)
		return files ? -ENOMEM : 0;
	if (probe_place(scan->search, path, &place, NULL) < 0 || place.kind == HOST_MISSING)
		return 0;
	return scan_add(scan, &place);
}

/* Its hooks start where its files are. */
static int scan_worktree(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	char entry[PATH_MAX + 1];
	struct host_path place = { .path = "" };
	int r = add_names(scan, fd, folder, of_worktree, N_ELEMENTS(of_worktree));

	if (r == 0)
		r = scan_add_top(scan, &scan->repository->worktrees, folder);
	if (r < 0 || probe_read(fd, "gitdir", entry, sizeof(entry)) <= 0 ||
	    probe_place_from(scan->search, folder, entry, &place) < 0)
		return r;
	return add_top_of(scan, &scan->repository->tops, place.real);
}

/* The name of a submodule may have slashes, so what is no repository may contain some. */
static int scan_modules(struct scan *scan, int fd, const char *folder, unsigned depth);

static int scan_module(struct scan *scan, int fd, const char *folder, unsigned depth)
{
	struct repository repository = { .folder = folder };
	int r;

	if (faccessat(fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return scan_modules(scan, fd, folder, depth);
	r = scan_repository(scan, &repository, fd, depth);
	return r < 0 ? r : scan_link_to(scan, repository.files);
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

static bool has_name(const struct scan *scan, const char *folder, const char *rest)
{
	size_t n = strlen(folder);

	for (size_t i = 0; i < scan->n; i++)
		if (strncmp(scan->names[i].path, folder, n) == 0 &&
		    strcmp(scan->names[i].path + n, rest) == 0)
			return true;
	return false;
}

static bool is_scanned(const struct scan *scan, const char *folder)
{
	return has_name(scan, folder, "/config");
}

/* Git follows "commondir" once, and reads configuration and hooks there. */
static int scan_common(struct scan *scan, int fd, unsigned depth)
{
	struct repository repository = { .folder = "" };
	struct host_path place = { .path = "" };
	char text[PATH_MAX + 1];
	_cleanup_close_ int common = -EBADF;
	int r;

	if (depth == DEPTH_MAX || probe_read(fd, "commondir", text, sizeof(text)) <= 0)
		return 0;
	r = scan_resolve(scan, scan->repository->folder, text, &place);
	if (r != 0 || place.kind != HOST_FOLDER || is_scanned(scan, place.real))
		return r < 0 ? r : 0;
	repository.folder = place.real;
	common = open_folder(AT_FDCWD, place.real);
	return common < 0 ? 0 : scan_repository(scan, &repository, common, depth + 1);
}

static int scan_repository(struct scan *scan, struct repository *repository, int fd, unsigned depth)
{
	struct repository *around = scan->repository;
	const char *folder = repository->folder;
	int r = add_names(scan, fd, folder, of_repository, N_ELEMENTS(of_repository));

	scan->repository = repository;
	/* Where hooks start: there, or in it for what others push. */
	if (r == 0)
		r = scan_add_top(scan, &repository->tops, folder);
	if (r == 0 && strcmp(path_last(folder), ".git") == 0)
		r = add_top_of(scan, &repository->tops, folder);
	if (r == 0)
		r = scan_below(scan, fd, folder, "worktrees", scan_worktree, depth);
	if (r == 0)
		r = scan_programs(scan);
	if (r == 0)
		r = scan_common(scan, fd, depth);
	if (r == 0)
		r = scan_below(scan, fd, folder, "modules", scan_module, depth);
	scan->repository = around;
	return r;
}

/* What git takes for one: HEAD, and its objects and references here or elsewhere. */
static bool is_repository(int fd)
{
	static const char *const names[] = { "objects", "refs" };
	size_t n = 0;

	if (faccessat(fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		n += faccessat(fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return n == N_ELEMENTS(names) || faccessat(fd, "commondir", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int scan_bare(struct scan *scan, int fd, const char *path)
{
	struct repository repository = { .folder = path };
	int r;

	if (!is_repository(fd))
		return 0;
	r = is_scanned(scan, path) ? 0 : scan_repository(scan, &repository, fd, 0);
	return r < 0 ? r : 1;
}

/* The repository that @path, a file in a worktree or in a submodule, says it has. */
static int scan_pointer(struct scan *scan, const char *path)
{
	static const char prefix[] = "gitdir: ";
	const size_t n = sizeof(prefix) - 1;
	struct repository repository = { .folder = path };
	struct host_path place = { .path = "" };
	char text[PATH_MAX + sizeof(prefix)];
	_cleanup_close_ int fd = -EBADF;
	int r = add_top_of(scan, &repository.tops, path);

	if (r < 0 || probe_read(AT_FDCWD, path, text, sizeof(text)) <= (int)n ||
	    strncmp(text, prefix, n) != 0)
		return r;
	scan->repository = &repository;
	r = scan_resolve(scan, repository.tops->path, text + n, &place);
	scan->repository = NULL;
	if (r != 0 || place.kind != HOST_FOLDER || is_scanned(scan, place.real))
		return r < 0 ? r : 0;
	repository.folder = place.real;
	fd = open_folder(AT_FDCWD, place.real);
	return fd < 0 || !is_repository(fd) ? 0 : scan_repository(scan, &repository, fd, 0);
}

int scan_entry(struct scan *scan, const char *path, enum host_path_kind kind)
{
	struct repository repository = { .folder = path };
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (is_scanned(scan, path))
		return 0;
	if (kind != HOST_FOLDER) {
		r = has_name(scan, path, "") ? 0 : scan_add_path(scan, AT_FDCWD, path, path);
		return r < 0 ? r : scan_pointer(scan, path);
	}
	fd = open_folder(AT_FDCWD, path);
	/* The plan holds what it knows of it, or refuses. */
	return fd < 0 ? 0 : scan_repository(scan, &repository, fd, 0);
}

bool probe_is_entry(const struct host_path *place)
{
	return strcmp(path_last(place->path), ".git") == 0;
}

/* Is @entry below a folder that may be written, or in a folder around one? */
static bool is_near_granted(const struct host *host, const char *entry)
{
	size_t n_around = strlen(entry) - strlen("/.git");

	for (size_t i = 0; i < host->n_paths; i++) {
		const char *asked = host->paths[i].path;
		size_t n = strlen(asked) - strlen("/.git");

		if (!probe_is_entry(&host->paths[i]))
			continue;
		if (strncmp(entry, asked, n) == 0 && (n == 0 || entry[n] == '/'))
			return true;
		if (strncmp(asked, entry, n_around) == 0 && asked[n_around] == '/')
			return true;
	}
	return false;
}

int probe_repositories(struct place_search *search, const char *entry, struct host *ret)
{
	struct scan scan = { .search = search, .host = ret };
	int r = 0;

	for (size_t i = 0; i < ret->n_paths && r == 0; i++)
		if ((ret->paths[i].kind == HOST_FOLDER || ret->paths[i].kind == HOST_FILE) &&
		    probe_is_entry(&ret->paths[i]))
			r = scan_entry(&scan, ret->paths[i].real, ret->paths[i].kind);
	if (r == 0 && entry && is_near_granted(ret, entry)) {
		r = scan_entry(&scan, entry, ret->git_folder ? HOST_FOLDER : HOST_FILE);
		if (r == 0 && ret->git_common)
			r = scan_entry(&scan, ret->git_common, HOST_FOLDER);
	}
	if (r == 0)
		r = scan_nested(&scan);
	ret->repository = scan.names;
	ret->n_repository = scan.n;
	return r;
}
