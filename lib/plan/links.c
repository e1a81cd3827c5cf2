/* SPDX-License-Identifier: MIT */

/*
 * Links of the host that are made again inside, because something that is marked lies behind them
 */

#include "plan/plan-internal.h"

#include <string.h>

/* The link of another link that leads through this one. */
static bool leads_to(const struct host_link *link, const char *path)
{
	const char *slash = strrchr(link->path, '/');
	size_t len = (size_t)(slash - link->path) + 1;

	if (link->target[0] == '/')
		return is_below(link->target, path);
	return strncmp(path, link->path, len) == 0 && is_below(link->target, path + len);
}

static bool is_on_the_way(const struct planner *planner, const struct host_link *link,
			  size_t n_marks)
{
	const struct host *host = planner->host;

	for (size_t i = 0; i < n_marks; i++) {
		const struct mark *mark = ((struct mark **)planner->marks.rows)[i];

		if (mark->kind == MARK_ALLOW && !(mark->flags & MARK_OURS) && !mark->source &&
		    (mark->rights & RIGHTS_SEEN) && is_below(mark->path, link->path))
			return true;
	}
	for (size_t i = 0; i < host->n_links; i++)
		if (&host->links[i] != link && leads_to(&host->links[i], link->path))
			return true;
	return false;
}

void mark_links(struct planner *planner)
{
	size_t n = planner->marks.n_rows;

	for (size_t i = 0; i < planner->host->n_links; i++) {
		const struct host_link *link = &planner->host->links[i];
		struct mark *mark;

		if (!is_on_the_way(planner, link, n))
			continue;
		mark = planner_add_mark(planner, MARK_ALLOW, link->path, RIGHT_READ,
					origin_built_in);
		mark->content = CONTENT_LINK;
		mark->flags = MARK_OURS;
		mark->text = link->target;
	}
}
