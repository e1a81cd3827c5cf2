/* SPDX-License-Identifier: MIT */

/*
 * Repositories: git works inside, and what it would execute outside stays as it is
 *
 * Hooks and configuration name programs, which the user's next git would run without a sandbox. So
 * where a repository is writable they are not, unless somebody names them. A worktree's ".git" is a
 * file that says where the repository is; it must not change either, and the common folder that it
 * leads to is as visible as the project. Which names these are in all, down to submodules and what
 * configuration names, probing has found out; one that is missing must not appear.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"

static const struct step_origin protects = { ORIGIN_BUILT_IN, "the protection of repositories" };

static const char *const protected_names[] = { "hooks", "config" };

static struct mark *mark_at(const struct planner *planner, size_t i)
{
	return ((struct mark **)planner->marks.rows)[i];
}

/* Somebody who names the hooks themselves means them. */
static bool is_named(const struct planner *planner, const char *path)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind == MARK_ALLOW && (mark->rights & RIGHT_WRITE) &&
		    is_below(mark->path, path))
			return true;
	}
	return false;
}

static bool is_protected(const struct planner *planner, const char *path)
{
	for (size_t i = planner->marks.n_rows; i-- > 0;)
		if (mark_at(planner, i)->origin.text == protects.text &&
		    mark_at(planner, i)->kind == MARK_DENY &&
		    strcmp(mark_at(planner, i)->path, path) == 0)
			return true;
	for (size_t i = 0; i < planner->absent.n_rows; i++)
		if (strcmp(((struct plan_absent *)planner->absent.rows)[i].target, path) == 0)
			return true;
	return false;
}

/* Over what is missing nothing can be mounted, so it is looked after while the command runs. */
static void protect_name(struct planner *planner, const char *path, const char *outside)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, outside) : NULL;

	/* By its own name, as it will be looked for there. */
	if (facts && facts->kind == HOST_MISSING && strcmp(path, outside) == 0)
		path = outside = facts->real;
	if (is_named(planner, path) || is_protected(planner, path))
		return;
	if (facts && facts->kind == HOST_MISSING)
		*(struct plan_absent *)list_add(planner, &planner->absent,
						sizeof(struct plan_absent)) = (struct plan_absent){
			.target = path, .source = outside, .origin = protects
		};
	else
		planner_add_mark(planner, MARK_DENY, path, RIGHT_WRITE, protects);
}

static void protect_folder(struct planner *planner, const char *folder, const char *outside)
{
	for (size_t i = 0; i < N_ELEMENTS(protected_names); i++)
		protect_name(planner, planner_join(planner, folder, protected_names[i]),
			     planner_join(planner, outside, protected_names[i]));
}

/* Of all repositories that probing has found below @real; inside that is @folder. */
static void protect_below(struct planner *planner, const char *folder, const char *real)
{
	for (size_t i = 0; planner->host && i < planner->host->n_repository; i++) {
		const char *path = planner->host->repository[i].path, *rest;

		if (!is_below(path, real))
			continue;
		rest = path + strlen(real);
		protect_name(planner,
			     planner_keep(planner,
					  planner_join(planner, folder, rest + (*rest == '/'))),
			     planner_keep(planner, path));
	}
}

/* @outside is what stands at @git. While paths are listed all that may matter is asked about. */
static int protect(struct planner *planner, const char *git, const char *outside)
{
	const struct host_path *facts = planner->host ? planner_facts(planner, outside) : NULL;

	if (!planner->host) {
		planner_add_mark(planner, MARK_DENY, git, RIGHT_WRITE, protects);
		protect_folder(planner, git, outside);
		return 0;
	}
	if (facts && facts->kind == HOST_FOLDER)
		protect_folder(planner, git, outside);
	else if (facts && facts->kind == HOST_FILE)
		planner_add_mark(planner, MARK_DENY, git, RIGHT_WRITE, protects);
	if (!facts || facts->kind != HOST_LINK_REFUSED)
		return 0;
	(void)sbx_error_what(planner->err, -ELOOP, "cannot protect the repository of '%.300s'",
			     outside);
	sbx_error_why(planner->err, "'%.300s' is a link of user %u, which may lead anywhere",
		      facts->real, facts->uid);
	sbx_error_fix(planner->err, "let '.git' be the folder itself, or do not make it writable");
	return -ELOOP;
}

static bool is_writable(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && (mark->rights & RIGHT_WRITE) &&
	       mark->content == CONTENT_HOST;
}

/* What the project may do, as far as the marks above it say. */
static unsigned project_rights(const struct planner *planner)
{
	unsigned rights = 0;

	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind == MARK_ALLOW && mark->content != CONTENT_TMPFS && !mark->source &&
		    strcmp(mark->path, "/") != 0 && is_below(planner->request->project, mark->path))
			rights |= mark->rights & RIGHTS_SEEN;
	}
	return rights;
}

static void show_common_folder(struct planner *planner)
{
	const char *common = planner->host ? planner->host->git_common : NULL;
	unsigned rights = common ? project_rights(planner) : 0;

	if (!(rights & RIGHTS_FILES))
		return;
	common = planner_keep(planner, common);
	planner_add_mark(planner, MARK_ALLOW, common, rights, protects);
	if (rights & RIGHT_WRITE)
		protect_folder(planner, common, common);
	if (rights & RIGHT_WRITE)
		protect_below(planner, common, common);
}

/* The repository around the project, and what else was found: these go by their own names. */
static void protect_found(struct planner *planner, const struct mark *grant, const char *outside)
{
	const struct host_path *facts = planner_facts(planner, outside);
	const char *real = facts && facts->real ? facts->real : outside;
	const char *folder = grant->source ? grant->path : real;
	const char *git_folder = planner->host->git_folder;

	if (git_folder && is_below(git_folder, real)) {
		const char *rest = git_folder + strlen(real);

		protect_folder(planner,
			       planner_keep(planner,
					    planner_join(planner, folder, rest + (*rest == '/'))),
			       planner_keep(planner, git_folder));
	}
	protect_below(planner, folder, real);
}

/* May something be written that such a repository names? Whoever cannot tell takes it so. */
static int refuse_unclear(struct planner *planner)
{
	const struct host *host = planner->host;

	(void)sbx_error_what(planner->err, -EBADMSG, "cannot protect the repository '%.300s'",
			     host->git_unclear);
	sbx_error_why(planner->err, "%s, so what git would execute from it is not known",
		      host->git_unclear_why);
	sbx_error_fix(planner->err, "correct it (git config --list shows what git reads), or use "
				    "--out instead of --write");
	return -EBADMSG;
}

/* What was looked through at all lies in or around what may be written. */
static int check_found(struct planner *planner)
{
	const struct host *host = planner->host;
	bool has_any = false;

	for (size_t i = 0; i < planner->marks.n_rows; i++)
		has_any |= is_writable(mark_at(planner, i));
	if (!host || !has_any)
		return 0;
	if (host->git_is_cut)
		planner_note(planner, true,
			     "not all repositories below what may be written are protected",
			     "there are more folders than a start looks through: grant fewer of "
			     "them, or use --out");
	return host->git_unclear ? refuse_unclear(planner) : 0;
}

int mark_git(struct planner *planner)
{
	size_t n = planner->marks.n_rows;
	int r = check_found(planner);

	if (r < 0)
		return r;
	show_common_folder(planner);
	for (size_t i = 0; i < n; i++) {
		const struct mark *grant = mark_at(planner, i);
		const char *outside = grant->source ? grant->source : grant->path;

		if (!is_writable(grant))
			continue;
		r = protect(planner, planner_join(planner, grant->path, ".git"),
			    planner_join(planner, outside, ".git"));
		if (r < 0)
			return r;
		if (planner->host)
			protect_found(planner, grant, outside);
	}
	return 0;
}

/* On an overlay it is made apart from what git outside reads. */
static bool can_be_made(const struct planner *planner, const struct plan_absent *absent)
{
	const struct place *place = view_find(planner, absent->target), *shown;

	if (!place || !(place->rights & RIGHT_WRITE) || !place->carrier ||
	    place->carrier->is_hidden)
		return false;
	for (shown = place->carrier; shown && !shown->winner;)
		shown = shown->parent;
	return shown && shown->winner->content == CONTENT_HOST;
}

void add_absent(struct planner *planner)
{
	struct plan_absent *rows = planner->absent.rows;
	size_t n = 0;

	for (size_t i = 0; i < planner->absent.n_rows && planner->plan->tier == TIER_FULL; i++)
		if (can_be_made(planner, &rows[i]))
			rows[n++] = rows[i];
	planner->plan->absent = rows;
	planner->plan->n_absent = n;
}
