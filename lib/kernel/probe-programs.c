/* SPDX-License-Identifier: MIT */

/*
 * Where that leads what a repository's configuration names
 *
 * Any link is followed here, because git outside will; but each one on the way is a name, too,
 * since whoever may replace it decides. Of what is missing the first part is a name: it would have
 * to appear before the rest.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/probe-scan.h"

/* What a shell, which starts such a program, does not take as a part of a word. */
#define BETWEEN_WORDS " \t\n|&;<>()$`\\\"'*?[#~=%"

static const char *const hooks[] = {
	"applypatch-msg",
	"commit-msg",
	"fsmonitor-watchman",
	"p4-changelist",
	"p4-post-changelist",
	"p4-pre-submit",
	"p4-prepare-changelist",
	"post-applypatch",
	"post-checkout",
	"post-commit",
	"post-index-change",
	"post-merge",
	"post-receive",
	"post-rewrite",
	"post-update",
	"pre-applypatch",
	"pre-auto-gc",
	"pre-commit",
	"pre-merge-commit",
	"pre-push",
	"pre-rebase",
	"pre-receive",
	"prepare-commit-msg",
	"proc-receive",
	"push-to-checkout",
	"reference-transaction",
	"sendemail-validate",
	"update",
};

int scan_give_up(struct scan *scan, const char *why)
{
	scan->host->git_unclear = scan->repository->folder;
	scan->host->git_unclear_why = why;
	return 0;
}

/* Of what there is not, what would have to appear first: only that can be waited for. */
static int find_first_missing(struct scan *scan, const char *path)
{
	for (;;) {
		size_t n = (size_t)(path_last(path) - path);
		struct stat status;
		char *above = n > 1 ? arena_copy(scan->search->arena, path, n - 1) : NULL;

		if (n > 1 && !above)
			return -ENOMEM;
		if (above && fstatat(AT_FDCWD, above, &status, AT_SYMLINK_NOFOLLOW) < 0) {
			path = above;
			continue;
		}
		if (above && !S_ISDIR(status.st_mode))
			path = above;
		return scan_add_path(scan, AT_FDCWD, path, path);
	}
}

static int add_links(struct scan *scan, const struct place_search *way)
{
	int r = 0;

	for (size_t i = 0; i < way->n_links && r == 0; i++) {
		const struct host_path link = {
			.path = way->links[i].path,
			.real = way->links[i].path,
			.kind = HOST_LINK_REFUSED,
		};

		r = scan_add(scan, &link);
	}
	return r;
}

int scan_resolve(struct scan *scan, const char *folder, const char *text, struct host_path *ret)
{
	struct place_search way = {
		.arena = scan->search->arena,
		.has_root = 1,
		.follows_all = true,
	};
	int r = probe_place_from(&way, folder, text, ret);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || ret->kind == HOST_LINK_REFUSED) {
		(void)scan_give_up(scan, "its configuration names a path that leads nowhere");
		return 1;
	}
	return add_links(scan, &way);
}

int scan_add_place(struct scan *scan, const struct host_path *place)
{
	/* A folder around the repository is not what git takes anything from. */
	if (place->kind == HOST_FOLDER && path_is_beneath(scan->repository->folder, place->real))
		return 0;
	return place->kind == HOST_MISSING ? find_first_missing(scan, place->real)
					   : scan_add(scan, place);
}

/* Is the repository in @folder, or something that is to be written for its own sake? */
static bool is_around(const struct scan *scan, const char *folder)
{
	const struct host *host = scan->host;
	size_t n = strlen(folder);

	for (size_t i = 0; i < host->n_paths; i++) {
		const char *asked = host->paths[i].real;

		if (probe_is_entry(&host->paths[i]) && path_is_beneath(asked, folder) &&
		    strcmp(asked + n, "/.git") != 0)
			return true;
	}
	return path_is_beneath(scan->repository->folder, folder);
}

/* Where all of a folder cannot be read-only, whatever git looks for in it is. */
static int add_folder_of_hooks(struct scan *scan, const struct host_path *place)
{
	int r = 0;

	if (place->kind != HOST_FOLDER || !is_around(scan, place->real))
		return scan_add_place(scan, place);
	for (size_t i = 0; i < N_ELEMENTS(hooks) && r == 0; i++) {
		const char *path = probe_join(scan->search->arena, place->real, hooks[i]);

		r = path ? scan_add_path(scan, AT_FDCWD, path, path) : -ENOMEM;
	}
	return r;
}

static int add_hooks(struct scan *scan, const char *top, const char *text)
{
	struct host_path place = { .path = "" };
	int r = scan_resolve(scan, top, text, &place);

	if (r == 0)
		r = add_folder_of_hooks(scan, &place);
	/* Husky's, which it makes itself, start those in the folder around it. */
	if (r != 0 || strcmp(path_last(place.real), "_") != 0)
		return r < 0 ? r : 0;
	r = scan_resolve(scan, place.real, "..", &place);
	return r == 0 ? add_folder_of_hooks(scan, &place) : r < 0 ? r : 0;
}

static int add_program(struct scan *scan, const char *top, const char *text)
{
	struct host_path place = { .path = "" };
	int r = scan_resolve(scan, top, text, &place);

	return r == 0 ? scan_add_place(scan, &place) : r < 0 ? r : 0;
}

/* What may be a file for the program before it; what is none is any word. */
static int add_operand(struct scan *scan, const char *top, const char *word)
{
	const char *path = probe_join(scan->search->arena, top, word);
	struct stat status;

	if (!path)
		return -ENOMEM;
	if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(status.st_mode))
		return 0;
	return add_program(scan, top, word);
}

/* A line for a shell. Its first word is looked for in PATH where it has no slash. */
static int add_words(struct scan *scan, const char *top, const char *text)
{
	bool is_first = true;
	int r = 0;

	text += strspn(text, BETWEEN_WORDS);
	for (size_t n; r == 0 && *text; text += n + strspn(text + n, BETWEEN_WORDS)) {
		const char *word;

		n = strcspn(text, BETWEEN_WORDS);
		word = arena_copy(scan->search->arena, text, n);
		if (!word)
			return -ENOMEM;
		if (strchr(word, '/'))
			r = add_program(scan, top, word);
		else if (!is_first)
			r = add_operand(scan, top, word);
		is_first = false;
	}
	return r;
}

static int add_named(struct scan *scan, const char *top, const struct named *named)
{
	int r = 0;

	if (named->is_folder)
		return add_hooks(scan, top, named->text);
	if (named->text[strcspn(named->text, BETWEEN_WORDS)] != '\0')
		r = add_words(scan, top, named->text);
	return r == 0 && strchr(named->text, '/') ? add_program(scan, top, named->text) : r;
}

int scan_programs(struct scan *scan)
{
	const struct repository *repository = scan->repository;
	int r = scan_configuration(scan);

	for (const struct named *at = repository->named; at && r == 0; at = at->next)
		for (const struct top *top = repository->tops; top && r == 0; top = top->next)
			r = add_named(scan, top->path, at);
	return r;
}
