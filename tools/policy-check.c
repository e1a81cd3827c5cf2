/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy check: reports all problems of a policy in one run
 *
 * Errors keep a policy from being loaded. "Refused" means that it loads, but sbx-spawn of this
 * version starts nothing under it, on any host. Warnings are about a policy whose meaning may
 * differ from what it looks like. Findings are the output of this verb; the count is for people.
 */

#include "policy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "policy/check.h"
#include "policy/compile.h"

#include "tool.h"

/* Code of an error that keeps a policy from being loaded. */
#define CODE_ERROR "E00"

struct checking {
	struct tool_run *run;
	const char *name; /* name of the file */
	const struct policy *policy;
	bool strict;
	size_t n_files, n_errors, n_refusals, n_warnings;
};

enum level {
	LEVEL_WARNING,
	LEVEL_REFUSED, /* sbx-spawn of this version starts nothing under it */
	LEVEL_ERROR,
};

static const struct {
	const char *name;
	const char *json;
} levels[] = {
	[LEVEL_WARNING] = { "warning", "warn" },
	[LEVEL_REFUSED] = { "refused", "refused" },
	[LEVEL_ERROR] = { "error", "error" },
};

struct finding {
	const char *code;
	const char *file;
	const char *what; /* without the place */
	unsigned line;	  /* 0: unknown */
	unsigned column;
	enum level level;
	const struct sbx_error *err;
};

static unsigned read_number(const char **at)
{
	unsigned value = 0;

	for (; isdigit((unsigned char)**at) && value < 100000000; (*at)++)
		value = value * 10 + (unsigned)(**at - '0');
	return value;
}

/* Splits "p.yaml:3:5: " off the beginning of the error, if it is there. */
static void split_place(struct finding *finding)
{
	const char *at = finding->err->what;
	size_t len = strlen(finding->file);
	unsigned line, column;

	finding->what = at;
	if (strncmp(at, finding->file, len) != 0 || at[len] != ':')
		return;
	at += len + 1;
	line = read_number(&at);
	if (line == 0 || *at++ != ':')
		return;
	column = read_number(&at);
	if (column == 0 || strncmp(at, ": ", 2) != 0)
		return;
	finding->what = at + 2;
	finding->line = line;
	finding->column = column;
}

/* An error without a reason has that of its errno. */
static const char *why_of(const struct finding *finding)
{
	const struct sbx_error *err = finding->err;

	return err->why[0] == '\0' && err->code < 0 ? strerror(-err->code) : err->why;
}

static void add_json(struct text *out, const struct finding *finding)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "file", finding->file);
	if (finding->line > 0) {
		json_member_u64(&json, "line", finding->line);
		json_member_u64(&json, "column", finding->column);
	}
	json_member_string(&json, "code", finding->code);
	json_member_string(&json, "level", levels[finding->level].json);
	json_member_string(&json, "what", finding->what);
	json_member_string(&json, "why", why_of(finding));
	if (finding->err->context[0])
		json_member_string(&json, "context", finding->err->context);
	json_member_string(&json, "fix", finding->err->fix);
	json_end_line(&json);
}

static void add_line(struct text *out, const char *head, const char *body)
{
	if (body[0] == '\0')
		return;
	text_add(out, head);
	text_add_visible_string(out, body);
	text_add_char(out, '\n');
}

static void add_text(struct text *out, const struct finding *finding)
{
	text_add_visible_string(out, finding->file);
	if (finding->line > 0)
		text_addf(out, ":%u:%u", finding->line, finding->column);
	text_addf(out, ": %s %s", levels[finding->level].name, finding->code);
	add_line(out, ": ", finding->what);
	add_line(out, "  why: ", why_of(finding));
	add_line(out, "  context: ", finding->err->context);
	add_line(out, "  fix: ", finding->err->fix);
}

static void print_finding(struct tool_run *run, const struct finding *finding)
{
	if (run->json)
		add_json(&run->out, finding);
	else
		add_text(&run->out, finding);
}

static void add_finding(struct checking *checking, const struct finding *finding)
{
	print_finding(checking->run, finding);
	checking->n_errors += finding->level == LEVEL_ERROR;
	checking->n_refusals += finding->level == LEVEL_REFUSED;
	checking->n_warnings += finding->level == LEVEL_WARNING;
}

static void report_error(const struct sbx_error *err, void *userdata)
{
	struct checking *checking = userdata;
	struct finding finding = {
		.code = CODE_ERROR, .file = checking->name, .level = LEVEL_ERROR, .err = err
	};

	split_place(&finding);
	add_finding(checking, &finding);
}

static struct finding finding_of(const struct policy_warning *warning, const char *file)
{
	struct finding finding = { .code = warning->code,
				   .file = file,
				   .level = warning->is_refused ? LEVEL_REFUSED : LEVEL_WARNING,
				   .err = &warning->error };

	split_place(&finding);
	finding.line = warning->place.at.line;
	finding.column = warning->place.at.column;
	return finding;
}

void policy_print_warning(struct tool_run *run, const char *file,
			  const struct policy_warning *warning)
{
	struct finding finding = finding_of(warning, file);

	print_finding(run, &finding);
}

static void report_warning(const struct policy_warning *warning, void *userdata)
{
	struct checking *checking = userdata;
	struct finding finding = finding_of(warning, checking->name);

	if (checking->strict && finding.level == LEVEL_WARNING)
		finding.level = LEVEL_ERROR;
	if (checking->run->verbosity < 0 && finding.level == LEVEL_WARNING)
		return;
	add_finding(checking, &finding);
}

/* Checks that need a loaded policy: examples, costs, and warnings. */
static int check_policy(struct checking *checking, const char *bytes, size_t n_bytes)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ void *block = NULL;
	struct sbx_error err = { .code = 0 };
	size_t n_block = 0;
	int r = policy_load(checking->name, bytes, n_bytes, &policy, &err);

	if (r >= 0)
		r = policy_compile(policy, &block, &n_block, &err);
	if (r < 0) {
		report_error(&err, checking);
		return r == -ENOMEM ? r : 0;
	}
	return policy_check(policy, report_warning, checking);
}

static int check_file(struct checking *checking, const char *path)
{
	_cleanup_free_ char *bytes = NULL;
	struct sbx_error err = { .code = 0 };
	size_t n_bytes = 0;
	int r = judge_read(path, &bytes, &n_bytes, &err);

	checking->name = strcmp(path, "-") == 0 ? "<stdin>" : path;
	if (r >= 0 && artefact_has_magic(bytes, n_bytes)) {
		/* A compiled policy is either intact or not. */
		struct artefact artefact;

		r = artefact_open(bytes, n_bytes, &artefact, &err);
		if (r >= 0)
			return 0;
	}
	if (r < 0) {
		report_error(&err, checking);
		return r == -ENOMEM ? r : 0;
	}
	r = policy_load_all_mistakes(checking->name, bytes, n_bytes, report_error, checking);
	return r == 0 ? check_policy(checking, bytes, n_bytes) : r;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void say_summary(const struct checking *checking)
{
	bool wanted = checking->run->verbosity > 0 ||
		      (checking->run->verbosity == 0 && isatty(STDERR_FILENO));

	if (wanted && !checking->run->json)
		dprintf(STDERR_FILENO, "%zu file%s: %zu error%s, %zu refused, %zu warning%s\n",
			checking->n_files, plural(checking->n_files), checking->n_errors,
			plural(checking->n_errors), checking->n_refusals, checking->n_warnings,
			plural(checking->n_warnings));
}

int policy_verb_check(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	struct checking checking = { .run = run, .strict = values->strict };

	if (policy_check_stdin(values, (size_t)n_operands, operands, false, err) < 0)
		return TOOL_USAGE;
	for (int i = 0; i < n_operands; i++) {
		int r = check_file(&checking, operands[i]);

		if (r == -ENOMEM)
			return sbx_error_what(err, r, "cannot check '%s'", operands[i]);
		checking.n_files++;
	}
	say_summary(&checking);
	if (checking.n_errors > 0)
		return TOOL_USAGE;
	return checking.n_refusals > 0 ? TOOL_REFUSED : TOOL_YES;
}
