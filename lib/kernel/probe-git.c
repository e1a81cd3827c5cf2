/* SPDX-License-Identifier: MIT */

/*
 * The repository of a project that is a linked worktree
 *
 * In a worktree ".git" is a file that names a directory elsewhere. A process that can write to the
 * project could put any path there, so it is not trusted alone: the directory must have the
 * structure of a git directory, the same owner, and refer back to this project, which only a
 * process with write access to that directory can have written.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-internal.h"

#define POINTER "gitdir: "

/* The ".git" in @project or in a parent; NULL if there is none. -ENOMEM. */
static int find_entry(struct arena *arena, const char *project, const char **ret,
		      struct stat *ret_status)
{
	char path[PATH_MAX + sizeof("/.git")];
	size_t n = strlen(project);

	memcpy(path, project, n + 1);
	for (;;) {
		n = n == 1 ? 0 : n;
		memcpy(path + n, "/.git", sizeof("/.git"));
		if (fstatat(AT_FDCWD, path, ret_status, AT_SYMLINK_NOFOLLOW) == 0) {
			*ret = arena_copy(arena, path, strlen(path));
			return *ret ? 0 : -ENOMEM;
		}
		if (n == 0)
			break;
		path[n] = '\0';
		n = (size_t)(strrchr(path, '/') - path);
	}
	*ret = NULL;
	return 0;
}

/* Resolves the path after @prefix in the file @name in @folder. 0, or -ENOENT. */
static int read_pointer(struct place_search *search, const char *folder, const char *name,
			const char *prefix, struct host_path *ret)
{
	char path[PATH_MAX + NAME_MAX + 2], text[PATH_MAX + sizeof(POINTER)];
	size_t n = strlen(prefix);
	int len = snprintf(path, sizeof(path), "%s/%s", folder, name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENOENT;
	if (probe_read(AT_FDCWD, path, text, sizeof(text)) <= (int)n ||
	    strncmp(text, prefix, n) != 0)
		return -ENOENT;
	return probe_place_from(search, folder, text + n, ret) < 0 ? -ENOENT : 0;
}

static bool has_shape(struct arena *arena, const char *common)
{
	const char *head = probe_join(arena, common, "HEAD");
	const char *objects = probe_join(arena, common, "objects");

	return head && objects && faccessat(AT_FDCWD, head, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(AT_FDCWD, objects, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * The ".git" of a worktree names COMMON/worktrees/NAME; commondir there contains "../..", and
 * gitdir there refers back to the ".git".
 */
static int find_common(struct place_search *search, const char *folder, const char *entry,
		       uid_t owner, const char **ret)
{
	struct host_path own = { .path = "" }, back = { .path = "" }, common = { .path = "" };
	size_t n;

	if (read_pointer(search, folder, ".git", POINTER, &own) < 0 || own.kind != HOST_FOLDER)
		return -ENOENT;
	if (read_pointer(search, own.real, "gitdir", "", &back) < 0 ||
	    strcmp(back.real, entry) != 0)
		return -ENOENT;
	if (read_pointer(search, own.real, "commondir", "", &common) < 0 ||
	    common.kind != HOST_FOLDER || common.uid != owner || own.uid != owner)
		return -ENOENT;
	n = strlen(common.real);
	if (strncmp(own.real, common.real, n) != 0 ||
	    strncmp(own.real + n, "/worktrees/", strlen("/worktrees/")) != 0 ||
	    strchr(own.real + n + strlen("/worktrees/"), '/') ||
	    !has_shape(search->arena, common.real))
		return -ENOENT;
	*ret = common.real;
	return 0;
}

int probe_git(struct place_search *search, const char *project, struct host *ret)
{
	struct stat status;
	const char *entry, *common;
	char *folder;
	int r = find_entry(search->arena, project, &entry, &status);

	if (r < 0 || !entry || !S_ISREG(status.st_mode))
		return r;
	folder = arena_copy(search->arena, entry, (size_t)(path_last(entry) - entry) - 1);
	if (!folder)
		return -ENOMEM;
	if (find_common(search, folder[0] ? folder : "/", entry, status.st_uid, &common) == 0 &&
	    !path_is_beneath(common, project))
		ret->git_common = common;
	return 0;
}
