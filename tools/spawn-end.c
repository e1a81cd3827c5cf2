/* SPDX-License-Identifier: MIT */

/*
 * What a user is told when it is over: why the command was ended, and what it has left
 */

#include "spawn.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/probe.h"
#include "tool.h"

/* Each writable directory is looked at once more; a link in its place is none. */
void spawn_find_repositories(struct spawn_run *run)
{
	const struct plan *plan = run->plan;
	const struct plan_top **found =
		arena_alloc(&run->arena, (plan->n_tops + 1) * sizeof(*found));

	for (size_t i = 0; found && i < plan->n_tops; i++)
		if (host_find_signs(plan->tops[i].source) & ~plan->tops[i].signs)
			found[run->n_repositories++] = &plan->tops[i];
	run->repositories = found;
}

/* Also with -q: whoever runs git there next should know. */
void spawn_say_repositories(const struct spawn_run *run)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; i < run->n_repositories; i++) {
		const char *path = run->repositories[i]->source;

		text_add(&text, SPAWN_TOOL ": warning: '");
		text_add_visible(&text, path, strlen(path));
		text_add(&text, "' has become a repository: git outside takes programs from it, "
				"so look at it first\n");
	}
	if (text_status(&text) == 0)
		(void)fd_write_all(STDERR_FILENO, text_string(&text), text.len);
}

/* Git itself only says that a file system is read-only. */
void spawn_say_git(const struct spawn_run *run)
{
	const struct spawn_result *result = &run->result;
	_cleanup_text_ struct text text = TEXT_INIT;

	if (!run->plan->git || run->tool->verbosity < 0 || result->reason != SPAWN_REASON_EXIT ||
	    result->exit_code == 0 || strcmp(path_last(run->request.argv[0]), "git") != 0)
		return;
	text_add(&text, SPAWN_TOOL ": note: '");
	text_add_visible(&text, run->plan->git, strlen(run->plan->git));
	text_add(&text, "' is read-only inside; to add and commit: --write .git\n");
	if (text_status(&text) == 0)
		(void)fd_write_all(STDERR_FILENO, text_string(&text), text.len);
}

/* Also with -q: whoever unpacks the archive does not get all that was made. */
void spawn_say_left_out(const struct spawn_run *run)
{
	const struct output_result *archived = &run->changes.archived;
	_cleanup_text_ struct text text = TEXT_INIT;

	if (archived->n_left_out == 0 || !archived->first_left_out)
		return;
	text_add(&text, SPAWN_TOOL ": warning: '");
	text_add_visible(&text, archived->first_left_out, strlen(archived->first_left_out));
	text_addf(&text, "'%s %s not in '%s'\n", archived->n_left_out > 1 ? " and others" : "",
		  archived->n_left_out > 1 ? "are" : "is", run->changes.tar);
	text_add(&text,
		 "  why: a name that begins with '.wh.' says in an archive that something was "
		 "removed\n"
		 "  fix: let the changes land in a folder, or let the command choose another "
		 "name\n");
	if (text_status(&text) == 0)
		(void)fd_write_all(STDERR_FILENO, text_string(&text), text.len);
}

static void explain_loss(const struct spawn_result *result, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ESTALE, "killed: '%.300s' was not protected any more",
			     result->lost);
	sbx_error_why(
		err,
		"a process outside renamed or removed it, or put another file there, and what "
		"%s takes away is held by that name",
		result->lost_origin->text ? result->lost_origin->text : "the built-in view");
	sbx_error_fix(err, "look at what stands there now; change it when nothing runs there, or "
			   "use --out");
}

/* A status alone does not say that it was a limit. */
void spawn_explain_end(const struct spawn_run *run, struct sbx_error *err)
{
	static const struct {
		enum spawn_reason reason;
		const char *what;
		enum limit limit;
	} ends[] = {
		{ SPAWN_REASON_TIME, "the command ran out of time", LIMIT_TIME },
		{ SPAWN_REASON_MEMORY, "the command ran out of memory", LIMIT_MEMORY },
		{ SPAWN_REASON_OUTPUT, "the command wrote too much", LIMIT_OUTPUT },
	};

	if (run->result.lost)
		explain_loss(&run->result, err);
	for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
		const struct plan_limit *limit = &run->plan->limits[ends[i].limit];

		if (ends[i].reason != run->result.reason)
			continue;
		(void)sbx_error_what(err, -EDQUOT, "%s", ends[i].what);
		if (limit->origin.text)
			sbx_error_why(err, "the limit comes from %s", limit->origin.text);
		else
			sbx_error_why(err, "the limit is a default");
		sbx_error_fix(err, "give it more: %s", spawn_limit_option(ends[i].limit));
	}
}
