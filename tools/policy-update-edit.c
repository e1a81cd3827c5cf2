/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy edit: the editor, and then the same way as update
 *
 * The editor gets a copy in a folder that is the user's alone. Nothing that was typed is lost: a
 * draft that does not come into force stays, and its place is said.
 */

#include "policy-update.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/tree.h"

#include "tool.h"

struct draft {
	struct text folder;
	struct text path;
	bool is_kept;
};

static void draft_close(struct draft *draft)
{
	if (!draft->is_kept && draft->path.len > 0) {
		(void)unlink(text_string(&draft->path));
		(void)rmdir(text_string(&draft->folder));
	}
	text_deinit(&draft->folder);
	text_deinit(&draft->path);
}

/* Under the policy's own name, by which editors know its syntax. */
static int draft_open(const char *policy, struct draft *ret, struct sbx_error *err)
{
	const char *temporary = getenv("TMPDIR");
	_cleanup_free_ char *bytes = NULL;
	size_t n_bytes = 0;
	int r = file_read(AT_FDCWD, policy, TREE_BYTES_MAX, &bytes, &n_bytes, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (err)
		*err = (struct sbx_error){ .code = 0 };
	text_addf(&ret->folder, "%s/sbx-edit-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (text_status(&ret->folder) < 0 || !mkdtemp(ret->folder.data))
		return sbx_error_what(err, -errno, "cannot make a directory for the draft");
	text_addf(&ret->path, "%s/%s", text_string(&ret->folder), path_last(policy));
	r = text_status(&ret->path);
	return r < 0 ? r
		     : file_replace(AT_FDCWD, text_string(&ret->path), bytes ? bytes : "", n_bytes,
				    0600, err);
}

static const char *find_editor(void)
{
	static const char *const variables[] = { "VISUAL", "EDITOR" };

	for (size_t i = 0; i < N_ELEMENTS(variables); i++) {
		const char *editor = getenv(variables[i]);

		if (editor && editor[0] != '\0')
			return editor;
	}
	return "vi";
}

/* The variable may hold options, too, so a shell takes it apart. */
static int run_editor(const char *path, struct sbx_error *err)
{
	_cleanup_text_ struct text script = TEXT_INIT;
	int status = 0, r;
	pid_t pid;

	text_addf(&script, "%s \"$1\"", find_editor());
	if (text_status(&script) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot start the editor");
	r = -posix_spawn(&pid, "/bin/sh", NULL, NULL,
			 (char *const[]){ (char *)"sh", (char *)"-c", script.data, (char *)"sh",
					  (char *)path, NULL },
			 environ);
	if (r < 0)
		return sbx_error_what(err, r, "cannot start the editor");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		return 0;
	(void)sbx_error_what(err, -ECANCELED, "the editor '%s' failed", find_editor());
	sbx_error_why(err, "its status was %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	sbx_error_fix(err, "set VISUAL or EDITOR to an editor that works here");
	return -ECANCELED;
}

static bool wants_another_try(struct tool_run *run, const struct sbx_error *why)
{
	_cleanup_text_ struct text message = TEXT_INIT;
	char answer[16];

	if (!isatty(STDIN_FILENO))
		return false;
	error_add_text(&message, run->tool->command.name, why);
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
	return review_ask("Edit it again? Type 'yes': ", answer, sizeof(answer)) &&
	       strcmp(answer, "yes") == 0;
}

static bool is_same(const char *path, const char *draft)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	size_t n_before = 0, n_after = 0;

	return file_read(AT_FDCWD, path, TREE_BYTES_MAX, &before, &n_before, NULL) == 0 &&
	       file_read(AT_FDCWD, draft, TREE_BYTES_MAX, &after, &n_after, NULL) == 0 &&
	       n_before == n_after && memcmp(before, after, n_before) == 0;
}

/* One turn: the editor, and what became of it. @ret_again: it cannot be read, and somebody wants to
 * go on. */
static int edit_once(struct tool_run *run, const char *policy, const char *draft, bool *ret_again,
		     struct sbx_error *err)
{
	_cleanup_update_ struct update update = { .run = run };
	int r = run_editor(draft, err);

	*ret_again = false;
	if (r < 0)
		return r;
	if (is_same(policy, draft)) {
		text_add(&run->out, "nothing was changed\n");
		return TOOL_YES;
	}
	r = update_open(run, policy, draft, &update, err);
	if (r < 0) {
		*ret_again = wants_another_try(run, err);
		return policy_bad_input(r);
	}
	r = update_review(&update, err);
	return r != TOOL_YES ? r : update_install(&update, err);
}

int policy_verb_edit(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(draft_close) struct draft draft = { .is_kept = false };
	bool again = true;
	int r = draft_open(operands[0], &draft, err);

	if (r < 0)
		return r;
	while (again) {
		*err = (struct sbx_error){ .code = 0 };
		r = edit_once(run, operands[0], text_string(&draft.path), &again, err);
	}
	if (r != TOOL_YES && !is_same(operands[0], text_string(&draft.path))) {
		draft.is_kept = true;
		sbx_error_context(err, "the draft is kept in '%s'", text_string(&draft.path));
	}
	return r;
}
