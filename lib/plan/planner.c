/* SPDX-License-Identifier: MIT */

/*
 * What all parts of planning use: memory, lists, messages, and the answers of policy and host
 *
 * Memory runs out in one place. Whatever adds something gives its caller a row to fill in, and a
 * spare one after the first failure, so that the parts need not look; what they made then is thrown
 * away, because planner_status() is asked before anything is handed out.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/guarded.h"

#define LIST_FIRST 32

static void *spare_row(struct planner *planner)
{
	planner->no_memory = true;
	memset(planner->spare, 0, sizeof(planner->spare));
	return planner->spare;
}

void *list_add(struct planner *planner, struct list *list, size_t row_size)
{
	if (list->n_free == 0) {
		size_t n = list->n_rows > 0 ? list->n_rows : LIST_FIRST;
		void *rows = arena_alloc(planner->arena, (list->n_rows + n) * row_size);

		if (!rows)
			return spare_row(planner);
		if (list->n_rows > 0)
			memcpy(rows, list->rows, list->n_rows * row_size);
		list->rows = rows;
		list->n_free = n;
	}
	list->n_free--;
	return (char *)list->rows + list->n_rows++ * row_size;
}

/* NULL would have to be looked for by all; so large things are asked for by those who look. */
void *planner_alloc(struct planner *planner, size_t n_bytes)
{
	void *bytes = arena_alloc(planner->arena, n_bytes);

	planner->no_memory |= !bytes;
	return bytes;
}

const char *planner_keep(struct planner *planner, const char *string)
{
	char *copy = arena_copy(planner->arena, string, strlen(string));

	planner->no_memory |= !copy;
	return copy ? copy : "";
}

const char *planner_format(struct planner *planner, const char *format, ...)
{
	va_list args;

	text_reset(&planner->text);
	va_start(args, format);
	text_addv(&planner->text, format, args);
	va_end(args);
	planner->no_memory |= text_status(&planner->text) < 0;
	return planner_keep(planner, text_string(&planner->text));
}

const char *planner_join(struct planner *planner, const char *folder, const char *rest)
{
	size_t n_folder = strcmp(folder, "/") == 0 ? 0 : strlen(folder), n_rest = strlen(rest);
	char *joined;

	if (n_rest == 0)
		return folder;
	joined = planner_alloc(planner, n_folder + n_rest + 2);
	if (!joined)
		return "";
	memcpy(joined, folder, n_folder);
	joined[n_folder] = '/';
	memcpy(joined + n_folder + 1, rest, n_rest + 1);
	return joined;
}

struct step *planner_add_step(struct planner *planner, enum step_kind kind,
			      struct step_origin origin)
{
	struct step *step = list_add(planner, &planner->steps, sizeof(*step));

	/* All of the union, whose first member alone an initialiser would clear. */
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->origin = origin;
	return step;
}

struct mark *planner_add_mark(struct planner *planner, enum mark_kind kind, const char *path,
			      unsigned rights, struct step_origin origin)
{
	struct mark **row = list_add(planner, &planner->marks, sizeof(*row));
	struct mark *mark = arena_alloc(planner->scratch, sizeof(*mark));

	if (!mark)
		mark = spare_row(planner);
	*mark = (struct mark){ .path = path, .kind = kind, .rights = rights, .origin = origin };
	*row = mark;
	return mark;
}

void planner_add_notice(struct planner *planner, struct plan_notice notice)
{
	if (planner->plan)
		*(struct plan_notice *)list_add(planner, &planner->notices, sizeof(notice)) =
			notice;
}

void planner_note(struct planner *planner, bool is_weaker, const char *what, const char *why)
{
	planner_add_notice(planner, (struct plan_notice){
					    .what = what, .why = why, .is_weaker = is_weaker });
}

int planner_status(struct planner *planner)
{
	int r;

	if (!planner->no_memory)
		return 0;
	r = sbx_error_what(planner->err, -ENOMEM, "no memory for the plan");
	sbx_error_fix(planner->err, "free memory, or raise its limit (ulimit -v)");
	return r;
}

int planner_refuse(struct planner *planner, int code, const char *what, const char *why,
		   const char *fix)
{
	(void)sbx_error_what(planner->err, code, "%s", what);
	sbx_error_why(planner->err, "%s", why);
	sbx_error_fix(planner->err, "%s", fix);
	return code;
}

const struct setting *planner_setting(const struct planner *planner, const char *path)
{
	return planner->policy ? policy_get_setting(planner->policy, path) : NULL;
}

const struct setting *planner_item(struct planner *planner, const char *list, size_t i,
				   const char *key)
{
	char path[64];
	int len;

	if (!planner->policy)
		return NULL;
	len = snprintf(path, sizeof(path), "%s[%zu]%s%s", list, i, key[0] ? "." : "", key);
	return len > 0 && (size_t)len < sizeof(path) ? policy_get_setting(planner->policy, path)
						     : NULL;
}

const char *planner_project_path(struct planner *planner, const char *path)
{
	if (path[0] == '/')
		return path;
	if (strncmp(path, "./", 2) == 0)
		path += 2;
	return planner_join(planner, planner->request->project, strcmp(path, ".") == 0 ? "" : path);
}

static const struct host_path *assume(struct planner *planner, const char *path,
				      enum host_path_kind kind)
{
	const struct host_path *project = host_find_path(planner->host, planner->request->project);
	struct host_path *facts = arena_alloc(planner->scratch, sizeof(*facts));

	planner->no_memory |= !facts;
	if (!facts)
		return NULL;
	*facts = (struct host_path){
		.path = path,
		.real = path,
		.kind = kind,
		.uid = project ? project->uid : planner->host->uid,
		.gid = project ? project->gid : planner->host->gid,
	};
	return facts;
}

/* What the caller makes before a start; a plan that is only shown is made without it. */
static bool is_to_be_made(const struct planner *planner, const char *path)
{
	const struct guarded_list *list = planner->request->guarded;

	for (size_t i = 0; list && i < list->n_rows; i++)
		if (list->rows[i].may_be_made && strcmp(list->rows[i].path, path) == 0)
			return true;
	return false;
}

const struct host_path *planner_facts(struct planner *planner, const char *path)
{
	const struct host_path *facts = host_find_path(planner->host, path);

	if (facts && facts->kind == HOST_MISSING && is_to_be_made(planner, path))
		facts = assume(planner, facts->real, HOST_FOLDER);
	if (!facts && planner->host->loader && strcmp(path, planner->host->loader) == 0)
		facts = assume(planner, path, HOST_FILE);
	for (size_t i = 0; !facts && i < planner->host->n_repository; i++)
		if (strcmp(planner->host->repository[i].path, path) == 0)
			facts = &planner->host->repository[i];
	if (!facts && planner->host->git_common && strcmp(planner->host->git_common, path) == 0)
		facts = assume(planner, path, HOST_FOLDER);
	return facts;
}
