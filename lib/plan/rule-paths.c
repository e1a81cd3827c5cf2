/* SPDX-License-Identifier: MIT */

/*
 * The paths of one condition → marks: places about which the evaluator is asked
 *
 * Only what is a path and all that is below it can be mounted and handed to Landlock. A glob is one
 * if it has no wildcard but a "**" at its end; every other glob is refused by name.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/compose.h"
#include "policy/glob.h"

/* What "/" stands for: the usual folders, without those that are the sandbox's own. */
static const char *const top_folders[] = {
	"/bin", "/etc", "/home", "/lib",  "/lib32", "/lib64", "/libx32", "/media",
	"/mnt", "/opt", "/root", "/sbin", "/srv",   "/usr",   "/var",
};

/* Everything is also what the command works in, wherever that lies. */
static void mark_project(struct planner *planner, unsigned rights, unsigned flags,
			 struct step_origin origin)
{
	const char *project = planner->request->project;

	for (size_t i = 0; i < N_ELEMENTS(top_folders); i++)
		if (is_below(project, top_folders[i]))
			return;
	if (strcmp(project, "/") == 0 || is_below(project, "/proc") || is_below(project, "/dev") ||
	    is_below(project, "/sys"))
		return;
	planner_add_mark(planner, MARK_ALLOW, planner_keep(planner, project), rights, origin)
		->flags = flags & (MARK_RULED | MARK_PROJECT);
}

void mark_everything(struct planner *planner, unsigned rights, unsigned flags,
		     struct step_origin origin)
{
	if (rights & RIGHT_EXEC) {
		struct mark *mark = planner_add_mark(planner, MARK_ALLOW, "/", RIGHT_EXEC, origin);

		mark->flags = MARK_OURS | (flags & (MARK_RULED | MARK_PROJECT));
		planner->exec_everywhere = true;
	}
	if (!(rights & RIGHTS_FILES))
		return;
	for (size_t i = 0; i < N_ELEMENTS(top_folders); i++) {
		struct mark *mark =
			planner_add_mark(planner, MARK_ALLOW, top_folders[i], rights, origin);

		mark->flags = flags | MARK_OPTIONAL;
	}
	mark_project(planner, rights, flags, origin);
	if (planner->plan)
		planner_note(
			planner, false,
			planner_format(planner, "'/' of %s is shown as its usual directories",
				       origin_text(&origin)),
			"the sandbox has its own /proc, /dev, /tmp and /run; name other directories one by one");
}

static const char *path_of(struct planner *planner, const struct glob *glob)
{
	const char *root = glob->absolute ? "/" : planner->request->project;

	text_reset(&planner->text);
	if (strcmp(root, "/") != 0 || glob->n_components == 0)
		text_add(&planner->text, root);
	for (size_t i = 0; i < glob->n_components; i++) {
		text_add_char(&planner->text, '/');
		text_add_bytes(&planner->text, glob->components[i].text, glob->components[i].len);
	}
	planner->no_memory |= text_status(&planner->text) < 0;
	return planner_keep(planner, text_string(&planner->text));
}

static void mark_path(struct planner *planner, const char *path, enum mark_kind kind,
		      unsigned rights, unsigned flags, struct step_origin origin)
{
	struct mark *mark;

	if (kind == MARK_ALLOW && strcmp(path, "/") == 0) {
		mark_everything(planner, rights, MARK_RULED, origin);
		return;
	}
	mark = planner_add_mark(planner, kind, path, rights, origin);
	mark->flags = flags | MARK_RULED;
	if (kind != MARK_ALLOW || !compose_is_private(path))
		return;
	mark->content = CONTENT_TMPFS;
	mark->value = planner->plan ? tmp_size(planner) : 0;
	mark->second = 01777;
}

int mark_values(struct planner *planner, const struct condition *condition, enum mark_kind kind,
		unsigned rights, struct step_origin origin)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];
	struct glob glob;

	if (!list->present) {
		mark_path(planner, "/", kind, rights, 0, origin);
		return 0;
	}
	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];
		int r = glob_parse(value->text, value->literal, &glob, planner->err);

		if (r < 0)
			return r;

		enum mark_kind own = glob.excludes ? MARK_EXCEPT : kind;
		bool is_alone = !glob.subtree && !value->literal;

		/* A glob that names a directory alone cannot be enforced: it is left out. */
		mark_path(planner, path_of(planner, &glob), own, rights,
			  is_alone && own == MARK_ALLOW ? MARK_ALONE : 0, origin);
	}
	return 0;
}
