/* SPDX-License-Identifier: MIT */

/*
 * What is there without being asked for
 *
 * Without a policy: the system's folders and the working folder to read and execute, and a /tmp of
 * its own. A policy says itself what is visible; only the dialects that know nothing of a system's
 * folders get them: in one of these the working folder is writable, as it always was there, unless
 * it is the root, or a rule says what may be done in it.
 *
 * Libraries stay executable wherever they are visible, because the program loader maps them.
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/compose.h"

static const char *const library_folders[] = {
	"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
	"/lib",	    "/lib32",	  "/lib64",	"/libx32",
};

static void mark_folders(struct planner *planner, const char *const *paths, size_t n_paths,
			 unsigned rights)
{
	for (size_t i = 0; i < n_paths; i++)
		planner_add_mark(planner, MARK_ALLOW, paths[i], rights, origin_built_in)->flags =
			MARK_OPTIONAL;
}

static void mark_tmp(struct planner *planner, unsigned rights)
{
	struct mark *tmp = planner_add_mark(planner, MARK_ALLOW, "/tmp", rights, origin_built_in);

	tmp->content = CONTENT_TMPFS;
	tmp->flags = MARK_OURS | MARK_RULED;
	tmp->value = planner->plan ? tmp_size(planner) : 0;
	tmp->second = 01777;
}

/* A file of the host; where it is missing, the view has less. */
static void mark_seen(struct planner *planner, const char *path, unsigned rights)
{
	planner_add_mark(planner, MARK_ALLOW, path, rights, origin_built_in)->flags =
		MARK_RULED | MARK_OPTIONAL;
}

static void mark_project(struct planner *planner, unsigned rights)
{
	struct mark *mark = planner_add_mark(planner, MARK_ALLOW, planner->request->project, rights,
					     origin_built_in);

	mark->flags = MARK_RULED | MARK_MAPPED | MARK_PROJECT;
	mark->real = planner->request->project_real;
}

static void mark_view(struct planner *planner)
{
	struct view_row rows[VIEW_ROWS_MAX];

	policy_view(planner->policy, planner->request->project, rows);
	for (size_t i = 0; rows[i].path; i++) {
		unsigned rights = rights_of(rows[i].operations);

		/* Without a policy programs are limited once an option names one. */
		if (is_limiting_exec(planner))
			rights &= ~(unsigned)RIGHT_EXEC;
		if (strcmp(rows[i].path, "/") == 0)
			mark_everything(planner, rights, MARK_RULED | MARK_WIDE | MARK_PROJECT,
					origin_built_in);
		else if (strcmp(rows[i].path, ".") == 0)
			mark_project(planner, rights);
		else if (strcmp(rows[i].path, "/tmp") == 0)
			mark_tmp(planner, rights);
		else
			mark_seen(planner, rows[i].path, rights);
	}
}

/* The names of its user's keys, which no namespace keeps apart. */
static const struct host_path keys[] = {
	{ .path = "/proc/keys", .real = "/proc/keys", .kind = HOST_FILE },
	{ .path = "/proc/key-users", .real = "/proc/key-users", .kind = HOST_FILE },
};

/* A uid that is the sandbox's alone has none. Below a masked /proc nobody can mount another. */
static bool has_keys_to_hide(const struct planner *planner)
{
	return planner->plan && !planner->is_nested &&
	       (!is_real_root(planner->host) || planner->request->has_uid);
}

static void mark_keys(struct planner *planner)
{
	for (size_t i = 0; has_keys_to_hide(planner) && i < N_ELEMENTS(keys); i++) {
		struct mark *mark = planner_add_mark(planner, MARK_DENY, keys[i].path, RIGHTS_SEEN,
						     origin_built_in);

		mark->flags = MARK_OURS | MARK_GUARD;
		mark->facts = &keys[i];
	}
}

static void mark_proc(struct planner *planner)
{
	struct mark *proc;

	if (planner->plan && !planner->host->has_proc) {
		planner_note(
			planner, false, "there is no /proc",
			"the host does not allow a new one to be mounted, and its own shows all processes");
		return;
	}
	proc = planner_add_mark(planner, MARK_ALLOW, "/proc", RIGHTS_READ, origin_built_in);
	proc->content = CONTENT_PROC;
	proc->flags = MARK_OURS;
	if (planner->is_nested)
		proc->rights |= RIGHT_WRITE;
	mark_keys(planner);
}

void mark_system(struct planner *planner)
{
	mark_proc(planner);
	mark_view(planner);
	if (!is_limiting_exec(planner))
		return;
	mark_folders(planner, library_folders, N_ELEMENTS(library_folders), RIGHT_MAP);
	if (planner->host && planner->host->loader)
		planner_add_mark(planner, MARK_ALLOW, planner->host->loader, RIGHT_START,
				 origin_built_in);
	else if (planner->host)
		planner_note(planner, false, "the program loader may not be executed",
			     "none is found where programs of this machine look for it, or a link "
			     "that does not belong to root leads there; a program that needs it "
			     "starts only where a rule lets it be executed");
}
