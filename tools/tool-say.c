/* SPDX-License-Identifier: MIT */

/*
 * What a tool writes: its output, its errors and warnings, and whether these have colours
 */

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/progress.h"

int tool_flush(struct tool_run *run, struct sbx_error *err)
{
	int r = text_status(&run->out);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, text_string(&run->out), run->out.len);
	text_reset(&run->out);
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot write the output");
		sbx_error_fix(err, "check where standard output goes: disk space, a closed pipe");
	}
	return r;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] != '\0';
}

/* A setting with the values always, never and auto. */
static bool is_wanted(const struct tool_run *run, const char *key, bool automatic)
{
	const char *setting = run->config ? config_get(run->config, key).text : "auto";

	return strcmp(setting, "always") == 0 || (strcmp(setting, "auto") == 0 && automatic);
}

bool tool_wants_color(const struct tool_run *run, int fd)
{
	const char *terminal = getenv("TERM");

	return is_wanted(run, "color",
			 isatty(fd) && terminal && terminal[0] != '\0' &&
				 strcmp(terminal, "dumb") != 0 && !is_set("NO_COLOR"));
}

bool tool_wants_progress(const struct tool_run *run)
{
	return is_wanted(run, "progress",
			 run->verbosity >= 0 && !run->json && isatty(STDERR_FILENO));
}

void tool_begin_progress(const struct tool_run *run, struct progress *ret, const char *what)
{
	progress_begin(ret, tool_wants_progress(run) ? STDERR_FILENO : -EBADF, what, "records");
}

void tool_tell(const struct tool_run *run, const struct sbx_error *err)
{
	const char *name = run->tool->command.name;
	const char *level = err->level == SBX_LEVEL_WARN ? ": warning" : "";
	_cleanup_text_ struct text message = TEXT_INIT, head = TEXT_INIT;
	bool colored = tool_wants_color(run, STDERR_FILENO);

	if (run->json) {
		error_add_json(&message, err);
	} else {
		text_addf(&head, colored ? "\033[1;31m%s\033[0m%s" : "%s%s", name, level);
		error_add_text(&message, text_string(&head), err);
	}
	(void)fd_write_all(STDERR_FILENO, text_string(&message), message.len);
}
