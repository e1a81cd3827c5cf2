/* SPDX-License-Identifier: MIT */

/*
 * A name for the command's user
 *
 * Root's throw-away user, a service's dynamic one and those of a directory service have no line in
 * /etc/passwd, and without one whoami, ssh-keygen and initdb fail. So where the host's file is
 * shown, a copy with one more line is put over it.
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "plan/permits.h"

#define NAME "sbx"

/* Is it the host's own file that can be read there, and nothing else? */
static bool is_shown(struct planner *planner, const char *path)
{
	const struct plan tree = { .steps = planner->steps.rows, .n_steps = planner->steps.n_rows };
	const struct asked_path asked = { .path = path, .kind = HOST_FILE };
	const struct step *carrier = plan_find_carrier(&tree, path);

	return carrier && carrier->kind == STEP_BIND &&
	       strcmp(carrier->bind.source, carrier->bind.target) == 0 &&
	       carrier->bind.attributes.is_read_only &&
	       (decided_rights(planner, &asked) & RIGHT_READ);
}

static void add_line(struct planner *planner, const char *path, const char *line)
{
	struct step *step;

	if (!is_shown(planner, path))
		return;
	step = planner_add_step(planner, STEP_FILE, origin_built_in);
	step->file =
		(struct step_file){ .target = path, .source = path, .mode = 0444, .added = line };
}

/* As a field of the file. */
static const char *home_field(struct planner *planner)
{
	const char *home = environment_find(planner->environment, "HOME");

	return home && home[0] == '/' && !strpbrk(home, ":\n") ? home : "/";
}

void add_accounts(struct planner *planner)
{
	const struct plan *plan = planner->plan;

	if (planner->host->lacks_user)
		add_line(planner, "/etc/passwd",
			 planner_format(planner, NAME ":x:%u:%u::%s:/bin/sh", plan->uid, plan->gid,
					home_field(planner)));
	if (planner->host->lacks_group)
		add_line(planner, "/etc/group", planner_format(planner, NAME ":x:%u:", plan->gid));
}
