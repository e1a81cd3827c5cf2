/* SPDX-License-Identifier: MIT */

/*
 * What the configuration of a repository names: hooks, programs, its worktree, more configuration
 *
 * All that a file says counts, also what a later line takes back or what an includeIf may not mean:
 * it takes little to change which one holds. What cannot be made out is told, and then nothing
 * starts.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "kernel/git-config.h"
#include "kernel/probe-scan.h"

/* Git's own. */
#define INCLUDES_MAX 10
/* Of all repositories together. */
#define FILES_MAX 1024
/* Of one. */
#define VALUES_MAX 256

/* A file, while it is read. */
struct source {
	struct scan *scan;
	const char *folder; /* what is included lies there */
	unsigned depth;
};

/* Somebody's home, git's own folder, what came with later versions, what no name has. */
static bool is_only_for_git(const char *value)
{
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return true;
	return value[0] == '~' || strncmp(value, "%(", 2) == 0 || strncmp(value, ":(", 2) == 0;
}

/* A path as git's options have it. NULL where it cannot be told which: it has been told, or there
 * is no memory. */
static const char *expand(struct source *source, const char *value)
{
	struct arena *arena = source->scan->search->arena;
	const char *home = getenv("HOME");
	bool is_of_home = strncmp(value, "~/", 2) == 0 && home && path_is_normal(home);

	if (is_only_for_git(is_of_home ? value + 2 : value)) {
		(void)scan_give_up(source->scan,
				   "its configuration names a path in a way that only git knows");
		return NULL;
	}
	return is_of_home ? probe_join(arena, home, value + 2)
			  : arena_copy(arena, value, strlen(value));
}

static int keep(struct source *source, const char *value, bool is_folder)
{
	const char *text = expand(source, value);
	struct named *named =
		text ? arena_alloc(source->scan->search->arena, sizeof(*named)) : NULL;

	if (!named)
		return source->scan->host->git_unclear ? 0 : -ENOMEM;
	*named = (struct named){ .text = text, .is_folder = is_folder };
	named->next = source->scan->repository->named;
	source->scan->repository->named = named;
	return 0;
}

static int take_hooks(struct source *source, const char *value)
{
	return keep(source, value, true);
}

static int take_program(struct source *source, const char *value)
{
	return keep(source, value, false);
}

/* Always of the repository, wherever this is said. */
static int take_files(struct source *source, const char *value)
{
	struct repository *repository = source->scan->repository;
	struct host_path place = { .path = "" };
	int r = scan_resolve(source->scan, repository->folder, value, &place);

	if (r != 0 || place.kind != HOST_FOLDER)
		return r < 0 ? r : 0;
	repository->files = place.real;
	return scan_add_top(source->scan, &repository->tops, place.real);
}

static int read_file(struct source *source, const char *path);

/* What is relative in it is so to where it is named, not to where links lead. */
static int take_include(struct source *source, const char *value)
{
	struct scan *scan = source->scan;
	const char *text = expand(source, value);
	struct host_path place = { .path = "" }, around = { .path = "" };
	struct source below = *source;
	size_t n = text ? (size_t)(path_last(text) - text) : 0;
	char *folder = text ? arena_copy(scan->search->arena, text, n) : NULL;
	int r;

	if (!folder)
		return scan->host->git_unclear ? 0 : -ENOMEM;
	r = scan_resolve(scan, source->folder, text, &place);
	if (r == 0)
		r = scan_add_place(scan, &place);
	if (r != 0 || place.kind == HOST_MISSING || place.kind == HOST_FOLDER)
		return r < 0 ? r : 0;
	if (place.kind != HOST_FILE || source->depth == INCLUDES_MAX)
		return scan_give_up(scan, "its configuration includes what git would not read");
	r = scan_resolve(scan, source->folder, n > 0 ? folder : ".", &around);
	if (r != 0)
		return r < 0 ? r : 0;
	below.folder = around.real;
	below.depth++;
	return read_file(&below, place.real);
}

static const struct {
	const char *first; /* of the name, or all of it */
	const char *last;  /* or NULL */
	int (*take)(struct source *source, const char *value);
} keys[] = {
	{ "core.hookspath", NULL, take_hooks }, { "core.fsmonitor", NULL, take_program },
	{ "core.askpass", NULL, take_program }, { "gpg.program", NULL, take_program },
	{ "gpg.", ".program", take_program },	{ "core.worktree", NULL, take_files },
	{ "include.path", NULL, take_include }, { "includeif.", ".path", take_include },
};

static bool is_key(size_t i, const char *name)
{
	size_t n = strlen(name), n_first = strlen(keys[i].first);
	size_t n_last = keys[i].last ? strlen(keys[i].last) : 0;

	if (!keys[i].last)
		return strcmp(name, keys[i].first) == 0;
	return n > n_first + n_last && strncmp(name, keys[i].first, n_first) == 0 &&
	       strcmp(name + n - n_last, keys[i].last) == 0;
}

static int take(void *context, const char *name, const char *value)
{
	struct source *source = context;
	struct scan *scan = source->scan;

	for (size_t i = 0; value && value[0] && i < N_ELEMENTS(keys); i++) {
		if (!is_key(i, name))
			continue;
		if (++scan->repository->n_values > VALUES_MAX)
			(void)scan_give_up(scan, "its configuration names more than anybody means");
		/* What more it says could only take time. */
		return scan->host->git_unclear ? -ECANCELED : keys[i].take(source, value);
	}
	return 0;
}

/* A file that is not read may say anything. */
static int read_file(struct source *source, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	struct stat status;
	size_t n_bytes = 0;
	int r = -EBADMSG;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    ++source->scan->n_files <= FILES_MAX)
		r = file_read_fd(fd, path, GIT_CONFIG_MAX, &bytes, &n_bytes, NULL);
	if (r == 0)
		r = git_config_read(bytes, n_bytes, take, source);
	if (r == -ECANCELED)
		return 0;
	return r < 0 && r != -ENOMEM
		       ? scan_give_up(source->scan, "its configuration cannot be read to the end")
		       : r;
}

/* One name in the repository or in what it has of a worktree. */
static int read_own(struct scan *scan, const char *folder, const char *name)
{
	struct source source = { .scan = scan, .folder = folder };
	struct host_path place = { .path = "" };
	int r = probe_place_from(scan->search, folder, name, &place);

	/* What else it may be, its own name tells the plan. */
	if (r < 0 || place.kind != HOST_FILE)
		return r == -ENOMEM ? r : 0;
	return read_file(&source, place.real);
}

int scan_configuration(struct scan *scan)
{
	const struct repository *repository = scan->repository;
	int r = read_own(scan, repository->folder, "config");

	if (r == 0)
		r = read_own(scan, repository->folder, "config.worktree");
	for (const struct top *at = repository->worktrees; at && r == 0; at = at->next)
		r = read_own(scan, at->path, "config.worktree");
	return r;
}
