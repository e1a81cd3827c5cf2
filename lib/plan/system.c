/* SPDX-License-Identifier: MIT */

/*
 * What is there without being asked for
 *
 * Without a policy: the system's folders and the working folder to read and execute, and a /tmp of
 * its own. A policy says itself what is visible; only the dialects that know nothing of a system's
 * folders get them: in one of these the working folder is writable, as it always was there.
 *
 * Libraries stay executable wherever they are visible, because the program loader maps them.
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const system_folders[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
};

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
	tmp->flags = MARK_OURS;
	tmp->value = planner->plan ? tmp_size(planner) : 0;
	tmp->second = 01777;
}

static void mark_base(struct planner *planner, unsigned project_rights, unsigned run)
{
	mark_folders(planner, system_folders, N_ELEMENTS(system_folders), RIGHTS_READ | run);
	if (project_rights && strcmp(planner->request->project, "/") == 0)
		mark_everything(planner, project_rights | run, 0, 0, origin_built_in);
	else if (project_rights)
		planner_add_mark(planner, MARK_ALLOW, planner->request->project,
				 project_rights | run, origin_built_in);
	if (project_rights)
		mark_tmp(planner, RIGHTS_FILES | run);
}

static void mark_proc(struct planner *planner)
{
	struct mark *proc;

	if (planner->plan && !planner->host->has_proc) {
		planner_note(planner, false, "there is no /proc",
			     "this host lets nobody mount a new one, and its own shows too much");
		return;
	}
	proc = planner_add_mark(planner, MARK_ALLOW, "/proc", RIGHTS_READ, origin_built_in);
	proc->content = CONTENT_PROC;
	proc->flags = MARK_OURS;
	if (planner->is_nested)
		proc->rights |= RIGHT_WRITE;
}

void mark_system(struct planner *planner)
{
	const struct policy *policy = planner->policy;

	mark_proc(planner);
	if (!policy) {
		mark_base(planner, RIGHTS_READ, RIGHT_EXEC);
		return;
	}
	if (policy->dialect == DIALECT_BUNTIME)
		mark_base(planner, RIGHTS_FILES, 0);
	if (policy->dialect == DIALECT_MANIFEST)
		mark_base(planner, 0, 0);
	mark_folders(planner, library_folders, N_ELEMENTS(library_folders), RIGHT_MAP);
	if (planner->host && planner->host->loader)
		planner_add_mark(planner, MARK_ALLOW, planner->host->loader, RIGHT_START,
				 origin_built_in);
}
