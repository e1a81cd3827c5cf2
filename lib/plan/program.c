/* SPDX-License-Identifier: MIT */

/*
 * The command: the program that it is, and the folder that it starts in
 *
 * Whoever types a command starts it; the policy says what it may start. So where no rule speaks of
 * programs the command itself can be executed and nothing else. A policy that names programs means
 * the first one, too.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "base/path.h"

static const char *search_path(const struct planner *planner)
{
	const char *path = environment_find(planner->environment, "PATH");

	return path ? path : "";
}

const char *asked_folder(struct planner *planner)
{
	const struct setting *setting = planner_setting(planner, "working_dir");

	if (planner->request->cwd)
		return planner->request->cwd;
	return setting ? planner_project_path(planner, setting->text) : NULL;
}

/* "./a" and "a/b", from where the command will start; NULL where it cannot be said. */
static const char *join_folder(struct planner *planner, const char *name)
{
	const char *folder = asked_folder(planner), *path;

	while (strncmp(name, "./", 2) == 0)
		name += 2;
	path = planner_join(planner, folder ? folder : planner->request->project, name);
	return path_is_normal(path) ? path : NULL;
}

const char *next_candidate(struct planner *planner, const char **at)
{
	const char *name = planner->request->argv[0];

	if (strchr(name, '/')) {
		if (*at)
			return NULL;
		*at = name;
		return name[0] == '/' ? name : join_folder(planner, name);
	}
	if (!*at)
		*at = search_path(planner);
	while (**at) {
		size_t len = strcspn(*at, ":");
		const char *folder = *at;

		*at += len + ((*at)[len] == ':');
		if (folder[0] != '/')
			continue;
		text_reset(&planner->text);
		text_add_bytes(&planner->text, folder, len);
		text_add_char(&planner->text, '/');
		text_add(&planner->text, name);
		planner->no_memory |= text_status(&planner->text) < 0;
		if (path_is_normal(text_string(&planner->text)))
			return planner_keep(planner, text_string(&planner->text));
	}
	return NULL;
}

/* Where nothing limits it, everything visible may be executed. */
bool is_limiting_exec(const struct planner *planner)
{
	for (size_t i = 0; i < planner->request->n_paths; i++)
		if (planner->request->paths[i].grant == GRANT_EXEC)
			return true;
	return planner->policy != NULL;
}

void mark_program(struct planner *planner)
{
	const char *at = NULL, *path;

	if (!is_limiting_exec(planner) || planner->has_exec_rules)
		return;
	while ((path = next_candidate(planner, &at))) {
		const struct host_path *facts = host_find_path(planner->host, path);

		if (facts && facts->kind == HOST_FILE)
			planner_add_mark(planner, MARK_ALLOW, path, RIGHT_START, origin_built_in);
	}
}

static void note_links(struct planner *planner, const struct mark *mark)
{
	planner_add_notice(
		planner,
		(struct plan_notice){
			.what = planner_format(planner,
					       "'%s' has %" PRIu64 " hard links, and %s denies one",
					       mark->path, mark->facts->n_links,
					       origin_text(&mark->origin)),
			.why = "the file can be executed by another name in an executable "
			       "directory",
			.fix = planner_format(planner,
					      "deny the others, too: find / -xdev -samefile '%s'",
					      mark->path),
			.is_weaker = true,
		});
}

/* Mounts and Landlock act on the name that a denial has: nobody knows all names of a file. */
void note_other_names(struct planner *planner)
{
	for (size_t i = 0; i < planner->marks.n_rows; i++) {
		const struct mark *mark = ((struct mark **)planner->marks.rows)[i];

		if (mark->kind != MARK_DENY || !(mark->rights & RIGHT_EXEC) || !mark->facts ||
		    mark->facts->kind != HOST_FILE || mark->facts->n_links < 2)
			continue;
		note_links(planner, mark);
	}
}

static int refuse_program(struct planner *planner, const char *path, const struct place *place)
{
	struct step_origin origin;

	(void)sbx_error_what(planner->err, -ENOEXEC, "cannot execute '%.300s' in the sandbox",
			     path);
	if (place_find_denial(planner, place, RIGHT_EXEC, &origin)) {
		sbx_error_why(planner->err, "%s denies it", origin_text(&origin));
		sbx_error_fix(planner->err, "change that rule, or run another program");
	} else {
		sbx_error_why(
			planner->err,
			"the policy lists the programs that may be executed, and this is not one of them");
		sbx_error_fix(planner->err, "add it to an exec rule, or use --exec %.300s", path);
	}
	return -ENOEXEC;
}

/* Will the program that execvp() finds first be executed? If it finds none, that is its answer. */
int check_program(struct planner *planner)
{
	const char *at = NULL, *path;

	if (!is_limiting_exec(planner))
		return 0;
	while ((path = next_candidate(planner, &at))) {
		const struct host_path *facts = host_find_path(planner->host, path);
		const struct place *place;

		if (!facts || facts->kind != HOST_FILE)
			continue;
		place = view_find(planner, facts->real);
		if (!place || !place_is_shown(place))
			continue;
		if (place->rights & (RIGHT_EXEC | RIGHT_START))
			return 0;
		return refuse_program(planner, path, place);
	}
	return 0;
}

/* Something from outside is shown there: is it a folder? What we do not know the kernel finds out.
 */
static bool is_folder_outside(struct planner *planner, const struct place *place, const char *real)
{
	const struct host_path *facts;
	const char *rest = real + strlen(place->path);

	if (!place->source)
		return false;
	facts = planner_facts(planner, planner_join(planner, place->source, rest + (*rest == '/')));
	return !facts || facts->kind == HOST_FOLDER;
}

static bool is_folder_there(struct planner *planner, const char *path)
{
	const struct host_path *facts = host_find_path(planner->host, path);
	const char *real = facts && facts->real ? facts->real : path;
	const struct place *place = view_find(planner, real);

	if (strcmp(real, "/") == 0)
		return true;
	if (place && place_is_shown(place) && is_folder_outside(planner, place, real))
		return true;
	if (place && place_is_shown(place) && !place->source && strcmp(place->path, real) == 0)
		return true;
	return view_has_below(planner, real);
}

/* Without --cwd the command starts in "/" where nothing shows the project; but what --deny hides
 * the caller did not mean to start in. */
static int check_hidden_folder(struct planner *planner, const char *folder)
{
	const struct host_path *facts = host_find_path(planner->host, folder);
	const struct place *place = view_find(planner, facts && facts->real ? facts->real : folder);
	struct step_origin origin;

	if (!place || !place_find_denial(planner, place, RIGHTS_READ, &origin))
		return 0;
	if (origin.kind != ORIGIN_ARGUMENT) {
		planner_note(planner, false,
			     planner_format(planner, "the command starts in '/', not in '%s'",
					    folder),
			     planner_format(planner, "%s denies it", origin_text(&origin)));
		return 0;
	}
	(void)sbx_error_what(planner->err, -EACCES, "cannot start the command in '%.300s'", folder);
	sbx_error_why(planner->err, "it is the working directory, and %s hides it",
		      origin_text(&origin));
	sbx_error_fix(planner->err, "name another directory by --cwd, such as --cwd /");
	return -EACCES;
}

int add_folder(struct planner *planner)
{
	const char *asked = asked_folder(planner);
	const char *folder = asked ? asked : planner->request->project;
	bool is_there = is_folder_there(planner, folder);

	if (asked && !is_there) {
		(void)sbx_error_what(planner->err, -ENOENT, "cannot start the command in '%.300s'",
				     asked);
		sbx_error_why(planner->err, "that directory is not shown in the sandbox");
		sbx_error_fix(planner->err, "add --read %.300s, or name another one with --cwd",
			      asked);
		return -ENOENT;
	}
	if (!is_there && check_hidden_folder(planner, folder) < 0)
		return -EACCES;
	planner_add_step(planner, STEP_FOLDER_OF_COMMAND, origin_built_in)->working_folder.target =
		is_there ? planner_keep(planner, folder) : "/";
	return 0;
}
