/* SPDX-License-Identifier: MIT */

/*
 * The guarded paths, where something shows them
 *
 * Only what is granted needs a guard, so each grant is compared with each row of the table: what
 * must not be written is read-only where the grant writes, and what must not be seen is hidden.
 */

#include "plan/plan-internal.h"

#include <string.h>
#include <sys/stat.h>

#include "policy/guarded.h"

bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || len == 1);
}

/* The rights that a row takes from what @mark grants of the host: a copy or an overlay can show,
 * but writing to it changes no file outside. */
static unsigned rights_taken(const struct mark *mark, const struct guarded *row)
{
	static const bool shows[] = {
		[CONTENT_HOST] = true, [CONTENT_OVERLAY] = true, [CONTENT_SOCKET] = true,
		[CONTENT_COPY] = true, [CONTENT_PTS] = false,
	};

	if (mark->kind != MARK_ALLOW || !(mark->rights & RIGHTS_SEEN) || !shows[mark->content])
		return 0;
	/* The root is the sandbox's own; a mark there says what may be executed. */
	if (strcmp(mark->path, "/") == 0)
		return 0;
	if (row->what == GUARDED_HIDDEN)
		return RIGHTS_SEEN;
	return mark->content == CONTENT_HOST ? mark->rights & RIGHT_WRITE : 0;
}

/* @path, which lies in what the link of a grant leads to, has a row by the grant's own name too. */
static bool has_row_before_link(const struct guarded_list *list, const char *outside,
				const char *rest)
{
	size_t len = strlen(outside);

	for (size_t i = 0; i < list->n_rows; i++)
		if (strncmp(list->rows[i].path, outside, len) == 0 &&
		    strcmp(list->rows[i].path + len, rest) == 0)
			return true;
	return false;
}

const struct guarded *guard_find_behind_link(const struct planner *planner, const struct mark *mark)
{
	const struct guarded_list *list = planner->request->guarded;
	const char *outside = mark->facts ? mark->facts->path : NULL;
	const char *real = mark->facts ? mark->facts->real : NULL;

	if (!list || !real || mark->facts->kind == HOST_LINK_REFUSED || strcmp(real, outside) == 0)
		return NULL;
	for (size_t i = 0; i < list->n_rows; i++) {
		const struct guarded *row = &list->rows[i];

		if (!rights_taken(mark, row))
			continue;
		/* A link to a guarded path itself is refused by the evaluator's denial. */
		if (is_below(row->path, real) && strcmp(row->path, real) != 0 &&
		    !has_row_before_link(list, outside, row->path + strlen(real)))
			return row;
	}
	return NULL;
}

/* Inside, @path of the outside is where the grant shows it. */
static const char *seen_at(struct planner *planner, const struct mark *grant, const char *path)
{
	const char *rest;

	if (!grant->source || !is_below(path, grant->source))
		return path;
	rest = path + strlen(grant->source);
	return planner_join(planner, grant->path, rest + (*rest == '/'));
}

/* One of them may be where a guarded path could be made. */
void ask_about_way(struct planner *planner, const char *path)
{
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		char *folder = arena_copy(planner->arena, path, (size_t)(at - path));

		planner->no_memory |= !folder;
		*(const char **)list_add(planner, &planner->asked, sizeof(folder)) = folder;
	}
}

/* Root's sandbox writes as the owner of what is granted. */
static bool may_write_to(const struct planner *planner, const struct mark *grant,
			 const struct host_path *folder)
{
	const struct host_path *granted =
		host_find_path(planner->host, grant->source ? grant->source : grant->path);

	return folder->uid == planner->plan->uid || (folder->mode & (S_IWGRP | S_IWOTH)) ||
	       (is_real_root(planner->host) && (!granted || folder->uid == granted->uid));
}

/* Would the command be let by the owner and mode of the nearest directory that is there? Then that
 * is *@ret_folder, or NULL where it is not known. */
static bool can_be_made(struct planner *planner, const struct mark *grant, const char *path,
			const char **ret_folder)
{
	*ret_folder = NULL;
	for (const char *end = strrchr(path, '/'); end > path;) {
		char *folder = arena_copy(planner->arena, path, (size_t)(end - path));
		const struct host_path *facts =
			folder ? host_find_path(planner->host, folder) : NULL;

		if (!facts || facts->kind == HOST_LINK_REFUSED || facts->kind == HOST_UNREACHABLE)
			return true;
		if (facts->kind == HOST_FOLDER)
			*ret_folder = folder;
		if (facts->kind != HOST_MISSING)
			return *ret_folder && may_write_to(planner, grant, facts);
		while (--end > path && *end != '/')
			;
	}
	return false;
}

/* A link of root's is followed, so what is guarded lies behind it; but whoever may write to its
 * directory can rename it away. Such a one is refused like a link of somebody else's. */
static const struct host_path *find_loose_link(struct planner *planner, const struct mark *grant,
					       const char *path, const char *inside)
{
	const char *outside = grant->source ? grant->source : grant->path, *folder;

	for (size_t i = 0; i < planner->host->n_links; i++) {
		const char *link = planner->host->links[i].path;
		struct host_path *facts;

		if (!is_below(path, link) || !is_below(link, outside) ||
		    strcmp(link, outside) == 0 || !can_be_made(planner, grant, link, &folder))
			continue;
		facts = arena_alloc(planner->scratch, sizeof(*facts));
		planner->no_memory |= !facts;
		if (facts)
			*facts = (struct host_path){ .path = path,
						     .real = inside,
						     .kind = HOST_LINK_REFUSED };
		return facts;
	}
	return NULL;
}

/* A rule about everything is no request for the system's directories: where root's sandbox could
 * make a file of sbx's in one, all of that directory is read-only instead. */
static void guard_folder(struct planner *planner, const struct mark *grant, const char *folder,
			 const struct guarded *row)
{
	const char *inside = planner_keep(planner, seen_at(planner, grant, folder));

	for (size_t i = planner->marks.n_rows; i-- > 0;) {
		const struct mark *mark = ((struct mark **)planner->marks.rows)[i];

		if (mark->kind == MARK_DENY && mark->origin.kind == ORIGIN_BUILT_IN &&
		    strcmp(mark->path, inside) == 0)
			return;
	}
	planner_add_mark(planner, MARK_DENY, inside, RIGHT_WRITE,
			 (struct step_origin){ ORIGIN_BUILT_IN, row->rule });
	planner_note(planner, false, planner_format(planner, "'%s' is read-only", inside),
		     planner_format(planner,
				    "%s protects '%s', which the command could create there",
				    row->rule, row->path));
}

static bool lies_in_guarded(struct planner *planner, const char *path)
{
	const char *end = strrchr(path, '/');
	const char *folder = arena_copy(planner->scratch, path, (size_t)(end - path));

	return folder && guarded_match(planner->request->guarded, folder, GUARDED_WRITE);
}

/* A mount cannot cover a missing path: the directory is made read-only, or the plan is refused; a
 * path that only root could make may stay missing. */
static bool guard_missing(struct planner *planner, const struct mark *grant, const char *path,
			  const struct guarded *row)
{
	const char *outside = grant->source ? grant->source : grant->path, *folder;
	const struct host_path *facts = host_find_path(planner->host, path);

	if (!can_be_made(planner, grant, path, &folder))
		return false;
	/* It is made, or lies in what another row guards. */
	if (row->may_be_made || lies_in_guarded(planner, path))
		return true;
	if (facts && facts->kind == HOST_MISSING && folder && is_real_root(planner->host) &&
	    is_below(folder, outside) && !(grant->flags & MARK_ASKED)) {
		guard_folder(planner, grant, folder, row);
		return false;
	}
	return true;
}

static void guard(struct planner *planner, const struct mark *grant, const struct guarded *row)
{
	const char *outside = grant->source ? grant->source : grant->path, *path = row->path;
	unsigned rights = rights_taken(grant, row);
	struct mark *mark;

	if (!rights || (!is_below(path, outside) && !is_below(outside, path)))
		return;
	if (is_below(outside, path))
		path = outside;
	if (!planner->host)
		ask_about_way(planner, path);
	if (!planner->host && row->may_be_made && (grant->rights & RIGHT_WRITE))
		*(const char **)list_add(planner, &planner->made, sizeof(path)) = row->path;
	mark = planner_add_mark(planner, MARK_DENY,
				planner_keep(planner, seen_at(planner, grant, path)), rights,
				(struct step_origin){ ORIGIN_BUILT_IN, row->rule });
	if (planner->host && !guard_missing(planner, grant, path, row))
		mark->flags = MARK_GUARD;
	/* sbx reaches a hidden directory by /run, never through a link such as /var/run. */
	if (planner->host && row->what == GUARDED_WRITE)
		mark->facts = find_loose_link(planner, grant, path, mark->path);
	if (mark->facts)
		mark->flags = MARK_OURS;
}

void mark_guarded(struct planner *planner)
{
	const struct guarded_list *list = planner->request->guarded;
	size_t n = planner->marks.n_rows;

	for (size_t i = 0; list && i < n; i++)
		for (size_t k = 0; k < list->n_rows; k++)
			guard(planner, ((struct mark **)planner->marks.rows)[i], &list->rows[k]);
}
