/* SPDX-License-Identifier: MIT */

/*
 * An error as three lines of text, or as one JSON object. Both contain the same four parts.
 */

#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* An error without a why is explained by its errno. */
static const char *why_of(const struct sbx_error *err)
{
	if (err->why[0] != '\0')
		return err->why;
	return err->code < 0 ? strerror(-err->code) : "";
}

/* No path causes EMFILE or ENFILE, so the fix that the failed operation has for its path would
 * mislead. */
static const char *fix_of(const struct sbx_error *err)
{
	if (err->why[0] != '\0')
		return err->fix;
	return err->code == -EMFILE   ? "raise the limit of open files (ulimit -n)"
	       : err->code == -ENFILE ? "stop other programs, or raise the sysctl fs.file-max"
				      : err->fix;
}

static void add_line(struct text *out, const char *head, const char *body)
{
	if (body[0] == '\0')
		return;
	text_add(out, head);
	text_add_visible(out, body, strlen(body));
	text_add_char(out, '\n');
}

void error_add_text(struct text *out, const char *tool, const struct sbx_error *err)
{
	text_add(out, tool);
	add_line(out, ": ", err->what);
	add_line(out, "  why: ", why_of(err));
	add_line(out, "  context: ", err->context);
	add_line(out, "  fix: ", fix_of(err));
}

static void add_member(struct json_writer *json, const char *name, const char *value)
{
	if (value[0] != '\0')
		json_member_string(json, name, value);
}

void error_add_json(struct text *out, const struct sbx_error *err)
{
	static const char *const levels[] = {
		[SBX_LEVEL_ERROR] = "error",
		[SBX_LEVEL_WARN] = "warn",
		[SBX_LEVEL_INFO] = "info",
	};
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "level", levels[err->level]);
	add_member(&json, "what", err->what);
	add_member(&json, "why", why_of(err));
	add_member(&json, "fix", fix_of(err));
	add_member(&json, "context", err->context);
	json_end_line(&json);
}
