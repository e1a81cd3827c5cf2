/* SPDX-License-Identifier: MIT */

/*
 * Built-in denials: the guarded paths, and what git would execute
 *
 * Only granted paths need a guard, so each grant is compared with each row of the table: what must
 * not be written is made read-only if the grant writes, and what must not be seen is hidden.
 *
 * Hooks and configuration name programs that the user's next git outside executes without a
 * sandbox; and a command that can modify ".git" at all can make that git use another repository
 * instead. So every directory that probing found to be a repository, or to be named by one, is
 * read-only as a whole, unless a grant names it. In a repository that is granted itself, hooks and
 * configuration are read-only.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/path.h"
#include "policy/guarded.h"

/* ---- guarded paths ---- */

/* Does @mark grant content of the host? */
static bool shows_host(const struct mark *mark)
{
	static const bool shows[] = {
		[CONTENT_HOST] = true, [CONTENT_OVERLAY] = true, [CONTENT_SOCKET] = true,
		[CONTENT_COPY] = true, [CONTENT_PTS] = false,
	};

	/* Skip "/": the root is the sandbox's own; a mark there only says what may be executed. */
	return mark->kind == MARK_ALLOW && (mark->rights & RIGHTS_SEEN) && shows[mark->content] &&
	       strcmp(mark->path, "/") != 0;
}

/* The rights that @row removes from @mark, which shows host content. Writing to a copy or an
 * overlay changes no file outside, so only hiding applies to these. */
static unsigned rights_taken(const struct mark *mark, const struct guarded *row)
{
	if (row->what == GUARDED_HIDDEN)
		return RIGHTS_SEEN;
	return mark->content == CONTENT_HOST ? mark->rights & RIGHT_WRITE : 0;
}

/* The grant's path is a link. Does the table also have a row for the same file by the grant's own
 * name? */
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
		/* The evaluator denies a link to a guarded path itself. */
		if (path_is_at_or_below(row->path, real) && strcmp(row->path, real) != 0 &&
		    !has_row_before_link(list, outside, row->path + strlen(real)))
			return row;
	}
	return NULL;
}

/* The path inside at which the grant shows @path. */
static const char *seen_at(struct planner *planner, const struct mark *grant, const char *path)
{
	if (!grant->source || !path_is_at_or_below(path, grant->source))
		return path;
	return planner_rebase(planner, path, grant->source, grant->path);
}

/* Asks about each directory on the way: in one of them the guarded path could be created. */
void ask_about_way(struct planner *planner, const char *path)
{
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/'))
		list_add_path(planner, &planner->questions.paths,
			      planner_keep_bytes(planner, path, (size_t)(at - path)));
}

/* Root's sandbox writes as the owner of the granted directory. */
static bool may_write_to(const struct planner *planner, const struct mark *grant,
			 const struct host_path *directory)
{
	const struct host_path *granted = host_find_path(planner->host, mark_outside(grant));

	return directory->uid == planner->plan->uid || (directory->mode & (S_IWGRP | S_IWOTH)) ||
	       (is_real_root(planner->host) && (!granted || directory->uid == granted->uid));
}

/* Would owner and mode of the nearest existing directory let the command create @path?
 * *@ret_directory is that directory, or NULL if the host was not asked about it. */
static bool can_be_made(struct planner *planner, const struct mark *grant, const char *path,
			const char **ret_directory)
{
	*ret_directory = NULL;
	for (const char *end = strrchr(path, '/'); end > path;) {
		const char *directory = planner_keep_bytes(planner, path, (size_t)(end - path));
		const struct host_path *facts = host_find_path(planner->host, directory);

		if (!facts || facts->kind == HOST_LINK_REFUSED || facts->kind == HOST_UNREACHABLE)
			return true;
		if (facts->kind == HOST_DIRECTORY)
			*ret_directory = directory;
		if (facts->kind != HOST_MISSING)
			return *ret_directory && may_write_to(planner, grant, facts);
		while (--end > path && *end != '/')
			;
	}
	return false;
}

/* The plan follows a symbolic link of root's to the guarded path. But a user with write access to
 * the link's directory can rename the link away; refuse such a link like one that root does not
 * own. */
static const struct host_path *find_loose_link(struct planner *planner, const struct mark *grant,
					       const char *path, const char *inside)
{
	const char *outside = mark_outside(grant), *directory;

	for (size_t i = 0; i < planner->host->n_links; i++) {
		const char *link = planner->host->links[i].path;
		struct host_path *facts;

		if (!path_is_at_or_below(path, link) || !path_is_at_or_below(link, outside) ||
		    strcmp(link, outside) == 0 || !can_be_made(planner, grant, link, &directory))
			continue;
		facts = arena_alloc(planner->memory.scratch, sizeof(*facts));
		planner->memory.is_exhausted |= !facts;
		if (facts)
			*facts = (struct host_path){ .path = path,
						     .real = inside,
						     .kind = HOST_LINK_REFUSED };
		return facts;
	}
	return NULL;
}

/* A policy rule for "/" does not ask for write access to system directories: if root's sandbox
 * could create a file of sbx's in one, make that whole directory read-only. */
static void guard_directory(struct planner *planner, const struct mark *grant,
			    const char *directory, const struct guarded *row)
{
	const char *inside = planner_keep(planner, seen_at(planner, grant, directory));

	for (size_t i = planner->view.marks.n_rows; i-- > 0;) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind == MARK_DENY && mark->origin.kind == ORIGIN_BUILT_IN &&
		    strcmp(mark->path, inside) == 0)
			return;
	}
	planner_add_mark(planner, MARK_DENY, inside, RIGHT_WRITE,
			 (struct step_origin){ ORIGIN_BUILT_IN, row->rule });
	planner_note(planner, planner_format(planner, "'%s' is read-only", inside),
		     planner_format(planner,
				    "%s protects '%s', which the command could create there",
				    row->rule, row->path));
}

static bool lies_in_guarded(struct planner *planner, const char *path)
{
	const char *end = strrchr(path, '/');
	const char *directory = planner_keep_bytes(planner, path, (size_t)(end - path));

	return guarded_match(planner->request->guarded, directory, GUARDED_WRITE);
}

/* A mount cannot cover a missing path: make its directory read-only, or refuse the plan. A path
 * that only root could create may stay missing. False: the missing path needs no mount; true: the
 * place must be covered, and show.c refuses the plan if sbx-spawn cannot create it. */
static bool guard_missing(struct planner *planner, const struct mark *grant, const char *path,
			  const struct guarded *row)
{
	const char *outside = mark_outside(grant), *directory;
	const struct host_path *facts = host_find_path(planner->host, path);

	if (!can_be_made(planner, grant, path, &directory))
		return false;
	/* sbx-spawn creates it, or another row covers it. */
	if (row->may_be_made || lies_in_guarded(planner, path))
		return true;
	if (facts && facts->kind == HOST_MISSING && directory && is_real_root(planner->host) &&
	    path_is_at_or_below(directory, outside) && !(grant->flags & MARK_ASKED)) {
		guard_directory(planner, grant, directory, row);
		return false;
	}
	return true;
}

/*
 * A link inside a mount's source is resolved inside the sandbox. Its target has its own row
 * wherever it is visible, and a mask cannot be mounted over a link. If the command may replace the
 * link, the plan is refused.
 */
static bool is_behind_link(const struct planner *planner, const struct mark *grant,
			   const struct guarded *row)
{
	const struct host_path *facts =
		grant->source && planner->host ? host_find_path(planner->host, row->path) : NULL;

	return row->what == GUARDED_HIDDEN && facts && facts->real &&
	       facts->kind != HOST_LINK_REFUSED && strcmp(facts->real, row->path) != 0 &&
	       guarded_match(planner->request->guarded, facts->real, GUARDED_HIDDEN);
}

static void guard(struct planner *planner, const struct mark *grant, const struct guarded *row)
{
	const char *outside = mark_outside(grant), *path = row->path;
	const struct host_path *loose = NULL;
	unsigned rights = rights_taken(grant, row);
	bool is_linked;
	struct mark *mark;

	if (!rights || (!path_is_at_or_below(path, outside) && !path_is_at_or_below(outside, path)))
		return;
	if (path_is_at_or_below(outside, path))
		path = outside;
	is_linked = path == row->path && is_behind_link(planner, grant, row);
	/* sbx's programs reach a hidden directory that is not mounted by /run, never through a link
	 * such as /var/run. */
	if (!planner->is_listing &&
	    (row->what == GUARDED_WRITE || (is_linked && (grant->rights & RIGHT_WRITE))))
		loose = find_loose_link(planner, grant, path,
					planner_keep(planner, seen_at(planner, grant, path)));
	if (is_linked && !loose)
		return;
	if (planner->is_listing)
		ask_about_way(planner, path);
	/* A process outside may create a hidden path at any time, and a mount can only cover it
	 * once it exists: have it created. A write-protected path matters only to a grant that
	 * writes. */
	if (planner->is_listing && row->may_be_made &&
	    ((grant->rights & RIGHT_WRITE) || row->what == GUARDED_HIDDEN))
		list_add_path(planner, &planner->questions.made, row->path);
	mark = planner_add_mark(planner, MARK_DENY,
				planner_keep(planner, seen_at(planner, grant, path)), rights,
				(struct step_origin){ ORIGIN_BUILT_IN, row->rule });
	if (planner->is_listing)
		return;
	if (!guard_missing(planner, grant, path, row))
		mark->flags = MARK_GUARD;
	mark->facts = loose;
	if (loose)
		mark->flags = MARK_OURS;
}

void mark_guarded(struct planner *planner)
{
	const struct guarded_list *list = planner->request->guarded;
	size_t n = planner->view.marks.n_rows;

	for (size_t i = 0; list && i < n; i++) {
		const struct mark *mark = mark_at(planner, i);

		/* Most marks are exceptions for credentials, and the table has some 200 rows. */
		if (!shows_host(mark))
			continue;
		for (size_t k = 0; k < list->n_rows; k++)
			guard(planner, mark, &list->rows[k]);
	}
}

/* ---- repositories ---- */

static const struct step_origin protects = { ORIGIN_BUILT_IN, "the protection of repositories" };

static bool is_writable(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && (mark->rights & RIGHT_WRITE) &&
	       mark->content == CONTENT_HOST;
}

/* The facts about @grant's path outside, without links; NULL if it does not exist. */
static const struct host_path *facts_of(struct planner *planner, const struct mark *grant)
{
	const struct host_path *facts = planner_facts(planner, view_outside(planner, grant));

	return facts && facts->real && facts->kind != HOST_LINK_REFUSED ? facts : NULL;
}

/* The path inside of @path, which lies in @real, the directory that @grant shows. */
static const char *repository_seen_at(struct planner *planner, const struct mark *grant,
				      const char *real, const char *path)
{
	if (!view_find_mount(planner, grant->path))
		return path;
	return planner_keep(planner, planner_rebase(planner, path, real, grant->path));
}

/* May the command write to @path itself by any grant, or with @below to a path in it? */
static bool is_granted(struct planner *planner, const char *path, bool below)
{
	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);
		const struct host_path *facts;
		const char *at = mark->path;

		if (mark->kind != MARK_ALLOW || !(mark->rights & RIGHT_WRITE))
			continue;
		facts = view_find_mount(planner, at) ? NULL : planner_facts(planner, at);
		at = facts && facts->real ? facts->real : at;
		if (below ? path_is_at_or_below(at, path) : strcmp(at, path) == 0)
			return true;
	}
	return false;
}

/* A submodule's working tree contains a file ".git" that names its repository. */
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

const char *guard_find_protected(const struct planner *planner, const char *path,
				 const struct step_origin *denial)
{
	for (size_t i = planner->view.marks.n_rows; i-- > 0 && denial->text == protects.text;) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->origin.text == protects.text && mark->kind == MARK_DENY &&
		    path_is_at_or_below(path, mark->path))
			return mark->path;
	}
	return NULL;
}

/* The argument of --write, quoted for a shell, with which git can write to the repository of @path:
 * a file ".git" only names it. */
static const char *git_argument(struct planner *planner, const char *path)
{
	const struct host_path *facts = planner_facts(planner, path);
	const char *common = planner->host->git_common;

	if (!facts || facts->kind != HOST_FILE)
		return planner_word(planner, path);
	return common ? planner_word(planner, common) : "\"$(git rev-parse --git-common-dir)\"";
}

/* Protects @path, where @grant shows @outside, unless another mount covers it there. */
static void protect(struct planner *planner, const struct mark *grant, const char *path,
		    const char *outside)
{
	if (view_find_mount(planner, path) != view_find_mount(planner, grant->path) ||
	    is_granted(planner, path, is_worktree(planner, outside)) ||
	    guard_find_protected(planner, path, &protects))
		return;
	planner_add_mark(planner, MARK_DENY, path, RIGHT_WRITE, protects);
	if (planner->plan->git || strcmp(path_last(path), ".git") != 0)
		return;
	planner->plan->git = path;
	planner->plan->git_argument = git_argument(planner, path);
	planner_note(
		planner, planner_format(planner, "'%s' is read-only", path),
		planner_format(planner,
			       "git's status, diff, log and blame work inside; add and commit "
			       "need --write %s, which keeps hooks and configuration read-only",
			       planner->plan->git_argument));
}

static void protect_all(struct planner *planner, const struct mark *grant, const char *real)
{
	const struct host *host = planner->host;
	const char *git = planner_join(planner, real, ".git");
	const struct host_path *facts = planner_facts(planner, git);

	if (facts && facts->kind != HOST_MISSING)
		protect(planner, grant, repository_seen_at(planner, grant, real, git), git);
	for (size_t i = 0; i < host->n_repository; i++)
		if (path_is_at_or_below(host->repository[i].path, real))
			protect(planner, grant,
				repository_seen_at(planner, grant, real, host->repository[i].path),
				host->repository[i].path);
}

/* Refuses a grant to write a ".git" file that names the repository: the command could make it name
 * another one. */
static int refuse_file(struct planner *planner, const struct mark *grant)
{
	(void)sbx_error_what(planner->err, -EISDIR, "cannot make '%.300s' writable", grant->path);
	sbx_error_why(
		planner->err,
		"it is a file that names the repository, and git outside would follow any path that the command writes there");
	sbx_error_fix(planner->err, "name the repository: --write %s",
		      git_argument(planner, grant->path));
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
		planner_note(
			planner, planner_format(planner, "protection of all of '%s'", grant->path),
			"its hooks and configuration are read-only, but the command can write the rest, which can break the repository or redirect it through 'commondir'")
			->is_weaker = true;
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

/* The project's rights, from the marks at and above it. */
static unsigned project_rights(const struct planner *planner)
{
	unsigned rights = 0;

	for (size_t i = 0; i < planner->view.marks.n_rows; i++) {
		const struct mark *mark = mark_at(planner, i);

		if (mark->kind == MARK_ALLOW && mark->content != CONTENT_TMPFS && !mark->source &&
		    strcmp(mark->path, "/") != 0 &&
		    path_is_at_or_below(planner->request->project, mark->path))
			rights |= mark->rights & RIGHTS_SEEN;
	}
	return rights;
}

/* git in a worktree needs the common directory, and refuses a repository owned by another uid. */
static void show_common_directory(struct planner *planner)
{
	const char *common = planner->host->git_common;
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
	size_t n = planner->view.marks.n_rows;
	int r = 0;

	show_common_directory(planner);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct mark *grant = mark_at(planner, i);

		if (!is_writable(grant))
			continue;
		if (planner->is_listing)
			/* kernel/probe takes a mark for ".git" as the question about all
			 * repositories in that directory. */
			planner_add_mark(planner, MARK_DENY,
					 planner_join(planner, view_outside(planner, grant),
						      ".git"),
					 RIGHT_WRITE, protects);
		else if (planner->host->git_unclear)
			r = refuse_unclear(planner);
		else
			r = protect_grant(planner, grant);
	}
	planner->plan->tops = planner->tops.rows;
	planner->plan->n_tops = planner->tops.n_rows;
	return r;
}
