/* SPDX-License-Identifier: MIT */

/*
 * Facts about the host: listing the paths that a plan asks about, and looking up the answers
 *
 * A plan asks about the paths of all marks and about the program's candidates.
 */

#include "plan/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "plan/plan-internal.h"

bool host_path_is_closed(const struct host_path *facts)
{
	mode_t needed = facts->kind == HOST_DIRECTORY ? S_IROTH | S_IXOTH : S_IROTH;

	return (facts->mode & needed) != needed;
}

static int compare_with_row(const void *path, const void *row)
{
	return strcmp(path, ((const struct host_path *)row)->path);
}

const struct host_path *host_find_path(const struct host *host, const char *path)
{
	/* bsearch() must not be given NULL. */
	return host->n_paths == 0 ? NULL
				  : bsearch(path, host->paths, host->n_paths, sizeof(*host->paths),
					    compare_with_row);
}

static void add(struct planner *planner, struct arena_rows *paths, const char *path)
{
	if (strcmp(path, "/") != 0)
		list_add_path(planner, paths, path);
}

/* Adds the path below a mount's source for a path below the mount. */
static void add_below_mounts(struct planner *planner, struct arena_rows *paths, const char *path)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mount = mark_at(planner, i);

		if (mount->kind == MARK_ALLOW && mount->source &&
		    path_is_at_or_below(path, mount->path))
			add(planner, paths,
			    planner_rebase(planner, path, mount->path, mount->source));
	}
}

static bool has_mounts(const struct planner *planner)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++)
		if (mark_at(planner, i)->source)
			return true;
	return false;
}

static void add_marks(struct planner *planner, struct arena_rows *paths)
{
	bool below_mounts = has_mounts(planner);

	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (below_mounts)
			add_below_mounts(planner, paths, mark->path);
		if (mark->flags & MARK_OURS)
			continue;
		add(planner, paths, mark->path);
		if (mark->source)
			add(planner, paths, mark->source);
		ask_about_mapped(planner, mark);
	}
}

static void add_program(struct planner *planner, struct arena_rows *paths)
{
	const char *at = NULL, *path;

	while (is_limiting_exec(planner) && (path = next_candidate(planner, &at))) {
		add(planner, paths, path);
		if (has_mounts(planner))
			add_below_mounts(planner, paths, path);
	}
}

static int compare(const void *a, const void *b)
{
	const char *const *one = a, *const *other = b;

	return strcmp(*one, *other);
}

/* Sorts the paths, removes duplicates, and adds a NULL. */
static const char *const *finish(struct planner *planner, struct arena_rows *paths)
{
	const char **rows;
	size_t n = 0;

	list_add_path(planner, paths, NULL);
	if (planner->memory.is_exhausted)
		return NULL;
	rows = paths->rows;
	qsort(rows, paths->n_rows - 1, sizeof(*rows), compare);
	for (size_t i = 0; i + 1 < paths->n_rows; i++)
		if (n == 0 || strcmp(rows[n - 1], rows[i]) != 0)
			rows[n++] = rows[i];
	rows[n] = NULL;
	return rows;
}

static int list_paths(struct planner *planner, const char *const **ret,
		      const char *const **ret_made)
{
	static planner_part *const parts[] = { choose_template, make_environment, mark_all, NULL };
	struct arena_rows paths = { .rows = NULL };
	const char *directory;
	int r = planner_run(planner, parts);

	if (r < 0)
		return r;
	add_marks(planner, &paths);
	for (size_t i = 0; i < planner->questions.paths.n_rows; i++) {
		const char *path = ((const char **)planner->questions.paths.rows)[i];

		add(planner, &paths, path);
		if (has_mounts(planner))
			add_below_mounts(planner, &paths, path);
	}
	add_program(planner, &paths);
	add(planner, &paths, planner->request->project);
	directory = asked_directory(planner);
	if (directory)
		add(planner, &paths, directory);
	*ret = finish(planner, &paths);
	*ret_made = finish(planner, &planner->questions.made);
	return planner_status(planner);
}

int plan_list_paths(const struct policy *policy, const struct spawn_request *request,
		    struct arena *arena, const char *const **ret, const char *const **ret_made,
		    struct sbx_error *err)
{
	/* No path has been asked about yet, so assume that every layer is possible. */
	static const struct host not_asked = { .has_proc = true };
	struct plan plan = { .tier = TIER_FULL };
	struct arena scratch = ARENA_INIT;
	struct planner planner = {
		.is_listing = true,
		.policy = policy,
		.request = request,
		.host = &not_asked,
		.plan = &plan,
		.memory = { .arena = arena, .scratch = &scratch },
		.err = err,
		.ruled.file_size_max = UINT64_MAX,
	};
	const char *const *paths = NULL, *const *made = NULL;
	int r = list_paths(&planner, &paths, &made);

	if (r == 0)
		*ret = paths, *ret_made = made;
	text_deinit(&planner.memory.text);
	arena_deinit(&scratch);
	return r;
}
