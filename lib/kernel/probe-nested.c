/* SPDX-License-Identifier: MIT */

/*
 * The repositories in and below the folders that may be written
 *
 * Folder by folder, the higher ones first, so that where there are too many those near the top have
 * been found. Links are not followed: what they lead to is either below such a folder by its own
 * name, or cannot be written.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-scan.h"

/* Folders below one that may be written: src/HOST/OWNER/REPOSITORY. */
#define DEPTH_MAX 3
/* Of all together: about what a sandbox should wait for. */
#define FOLDERS_MAX 1024
#define NAMES_MAX 65536
#define REPOSITORIES_MAX 128

struct folder {
	const char *path;
	unsigned depth;
	struct folder *next;
};

struct walk {
	struct scan *scan;
	struct folder *first;
	struct folder **last;
	unsigned n_folders;
	unsigned n_names;
	unsigned n_repositories;
	_Alignas(struct dirent64) char entries[32768];
};

/* Of a repository's own there may be many, and none is one. */
static const char *const not_below_bare[] = { "hooks",	 "info",    "lfs",  "logs",
					      "modules", "objects", "refs", "worktrees" };

static int add_folder(struct walk *walk, const char *path, unsigned depth)
{
	struct folder *folder = arena_alloc(walk->scan->search->arena, sizeof(*folder));

	if (!folder || !path)
		return -ENOMEM;
	*folder = (struct folder){ .path = path, .depth = depth };
	*walk->last = folder;
	walk->last = &folder->next;
	return 0;
}

static int add_granted(struct walk *walk)
{
	const struct host *host = walk->scan->host;
	int r = 0;

	for (size_t i = 0; i < host->n_paths && r == 0; i++) {
		const struct host_path *entry = &host->paths[i];
		const char *real = entry->real;

		if (!probe_is_entry(entry) || entry->kind == HOST_LINK_REFUSED ||
		    strcmp(path_last(real), ".git") != 0)
			continue;
		size_t n = (size_t)(path_last(real) - real);

		r = add_folder(walk, arena_copy(walk->scan->search->arena, real, n > 1 ? n - 1 : n),
			       0);
	}
	return r;
}

/* The ".git" in @folder, which is @name in @fd. */
static int look_at_entry(struct walk *walk, int fd, const char *name, const char *folder)
{
	const char *path = probe_join(walk->scan->search->arena, folder, ".git");
	struct stat status;

	if (!path)
		return -ENOMEM;
	if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (++walk->n_repositories > REPOSITORIES_MAX) {
		walk->scan->host->git_is_cut = true;
		return 0;
	}
	return scan_entry(walk->scan, path, S_ISDIR(status.st_mode) ? HOST_FOLDER : HOST_FILE);
}

/* Below it nothing is looked for. */
static int look_at_last(struct walk *walk, int fd, const char *name, const char *path)
{
	_cleanup_close_ int below = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (below < 0)
		return 0;
	r = look_at_entry(walk, below, ".git", path);
	return r < 0 ? r : scan_bare(walk->scan, below, path);
}

static int look_at_name(struct walk *walk, int fd, const struct dirent64 *entry,
			const struct folder *folder, bool is_bare)
{
	const char *name = entry->d_name, *path;
	int r = 0;

	if (strcmp(name, ".git") == 0)
		/* Where the plan has asked it has been looked at. */
		return folder->depth > 0 ? look_at_entry(walk, fd, name, folder->path) : 0;
	if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return 0;
	for (size_t i = 0; is_bare && i < N_ELEMENTS(not_below_bare); i++)
		if (strcmp(name, not_below_bare[i]) == 0)
			return 0;
	if (++walk->n_folders > FOLDERS_MAX) {
		walk->scan->host->git_is_cut = true;
		return 0;
	}
	path = probe_join(walk->scan->search->arena, folder->path, name);
	if (!path)
		return -ENOMEM;
	if (folder->depth + 1 < DEPTH_MAX)
		r = add_folder(walk, path, folder->depth + 1);
	else
		r = look_at_last(walk, fd, name, path);
	return r < 0 ? r : 0;
}

static int look_at_names(struct walk *walk, int fd, const struct folder *folder, bool is_bare)
{
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = getdents64(fd, walk->entries, sizeof(walk->entries))) > 0) {
		const struct dirent64 *entry;

		for (ssize_t at = 0; at < n && r == 0; at += entry->d_reclen) {
			entry = (const struct dirent64 *)(walk->entries + at);
			r = look_at_name(walk, fd, entry, folder, is_bare);
			walk->n_names++;
		}
		if (walk->n_names > NAMES_MAX) {
			walk->scan->host->git_is_cut = true;
			break;
		}
	}
	return r;
}

static int look_at(struct walk *walk, const struct folder *folder)
{
	_cleanup_close_ int fd =
		open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	/* What is closed to us is so to the command; and a file is no folder. */
	if (fd < 0)
		return 0;
	r = scan_bare(walk->scan, fd, folder->path);
	return r < 0 ? r : look_at_names(walk, fd, folder, r > 0);
}

int scan_nested(struct scan *scan)
{
	struct walk walk = { .scan = scan };
	int r;

	walk.last = &walk.first;
	r = add_granted(&walk);
	for (const struct folder *at = walk.first; at && r == 0; at = at->next)
		r = look_at(&walk, at);
	return r;
}
