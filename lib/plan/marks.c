/* SPDX-License-Identifier: MIT */

/*
 * Everything that says something about a path, in the order in which the parts need each other
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "base/cleanup.h"

/* What is denied outside is denied wherever a mount shows it. */
static void deny_where_shown(struct planner *planner)
{
	size_t n = planner->marks.n_rows;

	for (size_t i = 0; i < n; i++) {
		const struct mark *shown = ((struct mark **)planner->marks.rows)[i];

		if (shown->kind != MARK_ALLOW || !shown->source)
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct mark *denied = ((struct mark **)planner->marks.rows)[k];
			const char *path = shown->path, *rest;

			if (denied->kind != MARK_DENY || strcmp(denied->path, "/") == 0)
				continue;
			rest = denied->path + strlen(shown->source);
			if (is_below(denied->path, shown->source))
				path = planner_join(planner, path, rest + (*rest == '/'));
			else if (!is_below(shown->source, denied->path))
				continue;
			planner_add_mark(planner, MARK_DENY, path, denied->rights, denied->origin)
				->flags = MARK_RULED | (denied->flags & MARK_GUARD);
		}
	}
}

int mark_all(struct planner *planner)
{
	static int (*const parts[])(struct planner * planner) = {
		mark_rules, mark_requested, mark_mounts, mark_secrets, mark_sockets, mark_devices,
	};
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(parts) && r == 0; i++)
		r = parts[i](planner);
	if (r < 0)
		return r;
	mark_system(planner);
	mark_home(planner);
	r = mark_credentials(planner);
	if (r < 0)
		return r;
	deny_where_shown(planner);
	r = mark_git(planner);
	if (r < 0)
		return r;
	mark_guarded(planner);
	return planner_status(planner);
}
