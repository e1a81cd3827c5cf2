/* SPDX-License-Identifier: MIT */

/*
 * The repositories in and around the directories that a sandbox may write
 *
 * The repository of such a directory, one in a parent, whose configuration may name paths in the
 * directory, and one in each direct subdirectory. Deeper ones are not protected. If there are more
 * subdirectories than the limit, the start is refused: a command could have created them to hide a
 * repository from the next run.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-scan.h"
#include "kernel/probe.h"

static bool has(int fd, const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static unsigned signs_in(int fd)
{
	unsigned signs = has(fd, ".git") ? HOST_HAS_GIT : 0;

	if (!has(fd, "HEAD"))
		return signs;
	if (has(fd, "objects") && has(fd, "refs"))
		signs |= HOST_IS_REPOSITORY;
	return has(fd, "commondir") ? signs | HOST_HAS_COMMONDIR : signs;
}

unsigned host_find_signs(const char *folder)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? 0 : signs_in(fd);
}

/* The parts of a writable repository that stay read-only. */
static int add_kept(struct scan *scan, const char *folder, const char *const *names, size_t n,
		    size_t n_needed)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct host_path place;

		r = scan_look(scan, folder, names[i], &place);
		if (r == 0 && (place.kind != HOST_MISSING || i < n_needed))
			r = scan_add_name(scan, &place);
	}
	return r;
}

static int keep_of_worktree(struct scan *scan, const char *folder, const char *name)
{
	static const char *const names[] = { "gitdir", "commondir", "config.worktree" };
	const char *own = probe_join(scan->search->arena, folder, name);

	return own ? add_kept(scan, own, names, N_ELEMENTS(names), 0) : -ENOMEM;
}

static bool is_bare(const char *folder)
{
	return !strstr(folder, "/.git/") && strcmp(path_last(folder), ".git") != 0;
}

static int scan_granted_repository(struct scan *scan, const char *folder)
{
	static const char *const names[] = { "hooks", "config", "config.worktree", "commondir",
					     "modules" };
	const char *worktrees = probe_join(scan->search->arena, folder, "worktrees");
	int r = add_kept(scan, folder, names, N_ELEMENTS(names), 2);

	if (r == 0)
		r = worktrees ? scan_each_folder(scan, worktrees, keep_of_worktree) : -ENOMEM;
	/* A repository with a worktree is found by its ".git" as well. */
	return r < 0 || !is_bare(folder) ? r : scan_repository(scan, folder, folder);
}

static int scan_child(struct scan *scan, const char *folder, const char *name)
{
	const char *path = probe_join(scan->search->arena, folder, name), *entry;
	struct host_path child = { .kind = HOST_UNREACHABLE, .uid = geteuid() };
	struct stat status;

	entry = path ? probe_join(scan->search->arena, path, ".git") : NULL;
	if (!entry)
		return -ENOMEM;
	if (fstatat(AT_FDCWD, entry, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return scan_add_entry(scan, entry);
	if (errno == EACCES && scan_is_closed(path))
		return 0;
	if (errno == EACCES) {
		/* The command has the same uid and could chmod the directory. */
		child.real = entry;
		return scan_add_name(scan, &child);
	}
	if (!(host_find_signs(path) & (HOST_IS_REPOSITORY | HOST_HAS_COMMONDIR)) ||
	    strcmp(name, ".git") == 0)
		return 0;
	return scan_repository(scan, path, path);
}

/* Includes repositories in parent directories, whose configuration may name paths below @folder. */
static int add_entries_around(struct scan *scan, const char *folder)
{
	const char *at = folder;
	int r = 0;

	for (;; at = scan_around(scan, at)) {
		const char *path = at ? probe_join(scan->search->arena, at, ".git") : NULL;
		struct stat status;

		if (!path)
			return -ENOMEM;
		if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0)
			r = scan_add_entry(scan, path);
		if (r < 0 || strcmp(at, "/") == 0)
			return r;
	}
}

/* Includes a broken repository, which a command could repair so that git uses it. */
static bool is_repository(const struct host_top *top)
{
	return (top->signs & (HOST_IS_REPOSITORY | HOST_HAS_COMMONDIR)) ||
	       strcmp(path_last(top->path), ".git") == 0;
}

/* Scans the directory @asked, for which the plan has asked for "@asked/.git". */
static int scan_top(struct scan *scan, const char *asked)
{
	struct host_top *top = &scan->host->tops[scan->host->n_tops];
	struct host_path place;
	int r = probe_place(scan->search, asked, &place, NULL);

	if (r < 0 || place.kind != HOST_FOLDER)
		return r == -ENOMEM ? r : 0;
	*top = (struct host_top){ .path = place.real, .signs = host_find_signs(place.real) };
	scan->host->n_tops++;
	r = add_entries_around(scan, place.real);
	if (r == 0 && is_repository(top))
		return scan_granted_repository(scan, place.real);
	return r < 0 ? r : scan_each_folder(scan, place.real, scan_child);
}

int probe_repositories(struct place_search *search, struct host *ret)
{
	struct scan scan = { .search = search, .host = ret };
	int r = 0;

	ret->tops = arena_alloc(search->arena, (ret->n_paths + 1) * sizeof(*ret->tops));
	if (!ret->tops)
		return -ENOMEM;
	scan.last = &scan.first;
	for (size_t i = 0; i < ret->n_paths && r == 0; i++) {
		const char *asked = ret->paths[i].path;

		if (strcmp(path_last(asked), ".git") != 0)
			continue;
		asked = scan_around(&scan, asked);
		r = asked ? scan_top(&scan, asked) : -ENOMEM;
	}
	for (const struct entry *entry = scan.first; entry && r == 0; entry = entry->next)
		r = scan_entry(&scan, entry->path);
	ret->repository = scan.names;
	ret->n_repository = scan.n;
	return r;
}
