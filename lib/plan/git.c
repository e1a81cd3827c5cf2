/* SPDX-License-Identifier: MIT */

/*
 * Repositories: git reads them inside, and what it would execute outside stays as it is
 *
 * Hooks and configuration name programs, which the user's next git executes without a sandbox; and
 * a command that can change ".git" at all can make that git take another repository for this one.
 * So what probing has found to be a repository, or to be named by one, is read-only as a whole,
 * unless a grant names it. A repository that is granted itself keeps its hooks and configuration.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"

static const struct step_origin protects = { ORIGIN_BUILT_IN, "the protection of repositories" };

static struct mark *mark_at(const struct planner *planner, size_t i)
{
	return ((struct mark **)planner->marks.rows)[i];
}

static bool is_writable(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && (mark->rights & RIGHT_WRITE) &&
	       mark->content == CONTENT_HOST;
}

/* What stands outside where @grant shows it, without links; NULL where nothing does. */
static const struct host_path *facts_of(struct planner *planner, const struct mark *grant)
{
	const struct host_path *facts =
		planner_facts(planner, grant->source ? grant->source : grant->path);

	return facts && facts->real && facts->kind != HOST_LINK_REFUSED ? facts : NULL;
}

/* Where @grant, of which @real stands outside, shows @path, which is in that. */
static const char *seen_at(struct planner *planner, const struct mark *grant, const char *real,
			   const char *path)
{
	const char *rest = path + strlen(real);

	if (!grant->source)
		return path;
	return planner_keep(planner, planner_join(planner, grant->path, rest + (*rest == '/')));
}

/* A grant of @path itself, or with @is_below of something in it. */
static bool is_granted(struct planner *planner, const char *path, bool below)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		const struct host_path *facts;
		const char *at = mark->path;

		if (mark->kind != MARK_ALLOW || !(mark->rights & RIGHT_WRITE))
			continue;
		facts = mark->source ? NULL : planner_facts(planner, at);
		at = facts && facts->real ? facts->real : at;
		if (below ? is_below(at, path) : strcmp(at, path) == 0)
			return true;
	}
	return false;
}

/* A submodule with a repository: its ".git" is a name, too. */
static bool is_worktree(const struct planner *planner, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < planner->host->n_repository; i++) {
		const char *name = planner->host->repository[i].path;

		if (strncmp(name, path, n) == 0 && strcmp(name + n, "/.git") == 0)
			return true;
	}
	return false;
}

/* With something around it or by itself. */
static bool is_protected(const struct planner *planner, const char *path)
{
	for (size_t i = planner->marks.n_rows; i-- > 0;)
		if (mark_at(planner, i)->origin.text == protects.text &&
		    mark_at(planner, i)->kind == MARK_DENY &&
		    is_below(path, mark_at(planner, i)->path))
			return true;
	return false;
}

/* @path is where @outside is shown. */
static void protect(struct planner *planner, const char *path, const char *outside)
{
	if (is_granted(planner, path, is_worktree(planner, outside)) || is_protected(planner, path))
		return;
	planner_add_mark(planner, MARK_DENY, path, RIGHT_WRITE, protects);
	if (planner->plan->git || strcmp(path_last(path), ".git") != 0)
		return;
	planner->plan->git = path;
	planner_note(planner, false, planner_format(planner, "'%s' is read-only", path),
		     "git's status, diff, log and blame work inside; add and commit need '--write "
		     ".git', which keeps hooks and configuration read-only");
}

static void protect_all(struct planner *planner, const struct mark *grant, const char *real)
{
	const struct host *host = planner->host;
	const char *git = planner_join(planner, real, ".git");
	const struct host_path *facts = planner_facts(planner, git);

	if (facts && facts->kind != HOST_MISSING)
		protect(planner, seen_at(planner, grant, real, git), git);
	for (size_t i = 0; i < host->n_repository; i++)
		if (is_below(host->repository[i].path, real))
			protect(planner, seen_at(planner, grant, real, host->repository[i].path),
				host->repository[i].path);
}

/* A file that says where the repository is: with it in its hands the command could name another. */
static int refuse_file(struct planner *planner, const struct mark *grant)
{
	const char *common = planner->host->git_common;

	(void)sbx_error_what(planner->err, -EISDIR, "cannot make '%.300s' writable", grant->path);
	sbx_error_why(
		planner->err,
		"it is a file that names the repository, and git outside would follow any path that the command writes there");
	sbx_error_fix(planner->err, "name the repository: --write %.300s",
		      common ? common : "\"$(git rev-parse --git-common-dir)\"");
	return -EISDIR;
}

static void add_top(struct planner *planner, const struct mark *grant, const struct host_top *top)
{
	struct plan_top *row = list_add(planner, &planner->tops, sizeof(*row));

	*row = (struct plan_top){
		.path = planner_keep(planner, grant->path),
		.source = planner_keep(planner, top->path),
		.signs = top->signs,
	};
	if (top->signs & (HOST_IS_REPOSITORY | HOST_HAS_COMMONDIR))
		planner_note(planner, true,
			     planner_format(planner, "protection of all of '%s'", grant->path),
			     "its hooks and configuration are read-only, but the command can write "
			     "the rest, and so break the repository or name another one in "
			     "'commondir'");
}

static int protect_grant(struct planner *planner, const struct mark *grant)
{
	const struct host *host = planner->host;
	const struct host_path *facts = facts_of(planner, grant);

	if (!facts)
		return 0;
	if (facts->kind == HOST_FILE && strcmp(path_last(facts->real), ".git") == 0)
		return refuse_file(planner, grant);
	protect_all(planner, grant, facts->real);
	for (size_t i = 0; i < host->n_tops; i++)
		if (strcmp(host->tops[i].path, facts->real) == 0) {
			add_top(planner, grant, &host->tops[i]);
			break;
		}
	return 0;
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

/* Of a worktree: git in the project could not read anything without it, and takes no repository
 * that is somebody else's. */
static void show_common_folder(struct planner *planner)
{
	const char *common = planner->host ? planner->host->git_common : NULL;
	unsigned rights = common ? project_rights(planner) & ~(unsigned)RIGHT_WRITE : 0;

	if ((rights & RIGHTS_FILES) && !is_granted(planner, common, false))
		planner_add_mark(planner, MARK_ALLOW, planner_keep(planner, common), rights,
				 protects)
			->flags = MARK_OWNED;
}

static int refuse_unclear(struct planner *planner)
{
	const struct host *host = planner->host;

	(void)sbx_error_what(planner->err, -EBADMSG, "cannot protect the repositories of '%.300s'",
			     host->git_unclear);
	sbx_error_why(planner->err, "%s, so it is not known what git would execute from it",
		      host->git_unclear_why);
	sbx_error_fix(planner->err, "%s", host->git_unclear_fix);
	return -EBADMSG;
}

int mark_git(struct planner *planner)
{
	size_t n = planner->marks.n_rows;
	int r = 0;

	show_common_folder(planner);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct mark *grant = mark_at(planner, i);

		if (!is_writable(grant))
			continue;
		if (!planner->host)
			/* Probing takes it for a question about all repositories there. */
			planner_add_mark(planner, MARK_DENY,
					 planner_join(planner,
						      grant->source ? grant->source : grant->path,
						      ".git"),
					 RIGHT_WRITE, protects);
		else if (planner->host->git_unclear)
			r = refuse_unclear(planner);
		else
			r = protect_grant(planner, grant);
	}
	if (planner->plan) {
		planner->plan->tops = planner->tops.rows;
		planner->plan->n_tops = planner->tops.n_rows;
	}
	return r;
}
