/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy diff: the effect of a change of a policy
 *
 * First by rule, from the texts; then, with --replay, by answers.
 */

#include "policy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/units.h"

#include "tool.h"

static int open_text(const char *path, struct judge *ret, struct sbx_error *err)
{
	int r = judge_open(path, NULL, ret, err);

	if (r < 0 || ret->policy)
		return r;
	return error_fill(err, -EINVAL, "the text of its rules is not in it",
			  "name the file that it was compiled from",
			  "cannot compare the compiled policy '%s'", path);
}

int policy_verb_diff(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	_cleanup_judge_ struct judge before = { .policy = NULL }, after = { .policy = NULL };
	struct replay replay = { .n_changed = 0 };
	size_t n_differences;
	int r = policy_check_stdin(values, 2, operands, false, err);

	if (r < 0)
		return policy_bad_input(r);
	r = open_text(operands[0], &before, err);
	if (r < 0)
		return policy_bad_input(r);
	r = open_text(operands[1], &after, err);
	if (r < 0)
		return policy_bad_input(r);
	n_differences = policy_compare(before.policy, after.policy, &run->out, run->json);
	if (values->replay) {
		r = replay_record(run, &before, &after, values->replay, values->last, &replay, err);
		if (r < 0)
			return policy_bad_input(r);
	}
	return n_differences > 0 || replay.n_changed > 0 ? TOOL_NO : TOOL_YES;
}

/*
 * Evaluates recorded requests with two policies
 *
 * Prints only answers that change, grouped by the rule that made the change; the same answer to the
 * same request is printed once.
 */

#define RECORD_LINE_MAX (1024 * 1024)
#define LAST_DEFAULT 100

/* The last lines of an input, in a ring buffer of @size; or all of them. */
struct last_lines {
	struct text *lines;
	size_t size; /* 0: all */
	size_t n_read;
};

struct answer {
	const char *group; /* the rule that made the change */
	const char *text;
};

struct differing {
	struct tool_run *run;
	const struct judge *before;
	const struct judge *after;
	struct replay replay;
	struct request_buffer buffer;
	struct arena arena;
	struct arena_rows answers; /* struct answer */
	bool failed;
};

static const char *const kind_names[] = {
	[CHANGE_BREAKING] = "BREAKING",
	[CHANGE_WIDENS] = "WIDENS",
	[CHANGE_OTHER] = "OTHER",
};

static void add_rule_of(struct text *out, const struct judge *judge,
			const struct policy_decision *decision)
{
	if (decision->n_rules > 0)
		decision_add_rule(out, &judge->artefact, decision->rules[0]);
	else
		text_add(out, decision->cause == CAUSE_BUILTIN	 ? "a built-in rule"
			      : decision->cause == CAUSE_DEFAULT ? "no rule any more"
								 : "the request itself");
}

static void add_answer_json(struct text *out, const struct request_buffer *request,
			    const struct policy_decision *before,
			    const struct policy_decision *after, const char *kind,
			    const char *group)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "change", "answer");
	json_member_string(&json, "kind", kind);
	json_member_string(&json, "before", policy_action_name(before->verdict));
	json_member_string(&json, "after", policy_action_name(after->verdict));
	json_member_string(&json, "by", group);
	json_add_name(&json, "input");
	request_add_json(out, request);
	json.needs_comma = true;
	json_end_object(&json);
}

static void add_answer_text(struct text *out, const struct request_buffer *request,
			    const struct policy_decision *before,
			    const struct policy_decision *after, const char *kind)
{
	_cleanup_text_ struct text input = TEXT_INIT;

	request_add_json(&input, request);
	text_addf(out, "  [%s] %s -> %s: ", kind, policy_action_name(before->verdict),
		  policy_action_name(after->verdict));
	text_add_visible(out, text_string(&input), input.len);
}

static bool keep_answer(struct differing *differing, const struct text *group,
			const struct text *text)
{
	struct arena *arena = &differing->arena;
	struct answer *row = arena_add_row(arena, &differing->answers, sizeof(*row));

	if (!row || text_status(group) < 0 || text_status(text) < 0)
		return false;
	row->group = arena_copy(arena, group->data, group->len);
	row->text = arena_copy(arena, text->data, text->len);
	return row->group && row->text;
}

static void note_change(const struct request_buffer *request, const struct policy_decision *before,
			const struct policy_decision *after, enum change_kind kind, void *userdata)
{
	struct differing *differing = userdata;
	_cleanup_text_ struct text group = TEXT_INIT, text = TEXT_INIT;

	/* A new denial comes from a rule of the new file; if no rule decides any more, a rule of
	 * the old file did before. */
	if (after->n_rules == 0 && before->n_rules > 0) {
		add_rule_of(&group, differing->before, before);
		text_add(&group, " no longer decides");
	} else {
		add_rule_of(&group, differing->after, after);
		text_add(&group, " decides now");
	}
	if (differing->run->json)
		add_answer_json(&text, request, before, after, kind_names[kind],
				text_string(&group));
	else
		add_answer_text(&text, request, before, after, kind_names[kind]);
	differing->failed |= !keep_answer(differing, &group, &text);
}

static int by_group(const void *a, const void *b)
{
	const struct answer *one = a, *other = b;
	int order = strcmp(one->group, other->group);

	return order != 0 ? order : strcmp(one->text, other->text);
}

/* The number of the first of @n_max answers that are equal. */
static size_t count_same(const struct answer *answers, size_t n_max)
{
	size_t n = 1;

	while (n < n_max && by_group(&answers[0], &answers[n]) == 0)
		n++;
	return n;
}

static void print_answers(struct differing *differing)
{
	struct text *out = &differing->run->out;
	bool as_json = differing->run->json;
	const char *group = "";
	struct answer *answers = differing->answers.rows;
	size_t n_answers = differing->answers.n_rows;

	if (n_answers > 0)
		qsort(answers, n_answers, sizeof(*answers), by_group);
	for (size_t i = 0, n; i < n_answers; i += n) {
		const struct answer *answer = &answers[i];

		n = as_json ? 1 : count_same(answer, n_answers - i);
		if (!as_json && strcmp(group, answer->group) != 0)
			text_addf(out, "%s\n", answer->group);
		group = answer->group;
		text_add(out, answer->text);
		if (n > 1)
			text_addf(out, " (%zu times)", n);
		text_add_char(out, '\n');
	}
}

static void print_counts(struct tool_run *run, const struct replay *replay, const char *why)
{
	struct text *out = &run->out;
	struct json_writer json;

	if (!run->json) {
		text_addf(out,
			  "replayed %zu: %zu changed, %zu breaking, %zu widening; %zu could not "
			  "be replayed\n",
			  replay->n_replayed, replay->n_changed, replay->n_breaking,
			  replay->n_widening, replay->n_unreadable);
		/* The service records only refusals unless it is told otherwise. */
		if (replay->n_replayed > 0 && replay->n_permitted == 0)
			text_add(out, "none of them was allowed before, so none could break; "
				      "'sbx-policy serve --record=all' records allowed ones\n");
		return;
	}
	json_begin_object(&json, out);
	json_member_string(&json, "change", "counts");
	json_member_bool(&json, "tried", replay->n_replayed > 0);
	json_member_if_set(&json, "why", why);
	json_member_u64(&json, "replayed", replay->n_replayed);
	json_member_u64(&json, "permitted", replay->n_permitted);
	json_member_u64(&json, "changed", replay->n_changed);
	json_member_u64(&json, "breaking", replay->n_breaking);
	json_member_u64(&json, "widening", replay->n_widening);
	json_member_u64(&json, "unreadable", replay->n_unreadable);
	json_end_line(&json);
}

void replay_say_untried(struct tool_run *run, const char *why)
{
	const struct replay none = { .n_replayed = 0 };
	_cleanup_text_ struct text line = TEXT_INIT;

	if (run->json) {
		print_counts(run, &none, why);
		return;
	}
	text_addf(&line, "%s: no recorded requests were tried: ", run->tool->command.name);
	text_add_visible_string(&line, why);
	text_add_char(&line, '\n');
	(void)fd_write_all(STDERR_FILENO, text_string(&line), line.len);
}

static void free_lines(struct last_lines *last)
{
	for (size_t i = 0; last->lines && i < last->size; i++)
		text_deinit(&last->lines[i]);
	free(last->lines);
}

static int keep_line(struct last_lines *last, const char *line, size_t len)
{
	struct text *kept = &last->lines[last->n_read++ % last->size];

	text_reset(kept);
	text_add_bytes(kept, line, len);
	return text_status(kept);
}

static void replay_kept(struct differing *differing, const struct last_lines *last)
{
	size_t n = last->n_read < last->size ? last->n_read : last->size;

	for (size_t i = last->n_read - n; i < last->n_read; i++) {
		const struct text *kept = &last->lines[i % last->size];

		replay_line(&differing->replay, text_string(kept), kept->len, &differing->buffer,
			    note_change, differing);
	}
}

static int replay_fd(struct differing *differing, int fd, struct last_lines *last)
{
	/* A line that is too long is not a record, and may never end. */
	_cleanup_lines_ struct line_reader reader = { .fd = fd,
						      .max = RECORD_LINE_MAX,
						      .refuses_long = true };
	char *line = NULL;
	size_t len = 0;
	int r;

	while ((r = lines_next(&reader, &line, &len)) > 0) {
		if (last->size == 0)
			replay_line(&differing->replay, line, len, &differing->buffer, note_change,
				    differing);
		else
			r = keep_line(last, line, len);
		if (r < 0)
			return r;
	}
	if (r >= 0 && last->size > 0)
		replay_kept(differing, last);
	return differing->failed ? -ENOMEM : r;
}

static int read_last(const char *text, struct last_lines *ret, struct sbx_error *err)
{
	uint64_t n = LAST_DEFAULT;

	if (text && strcmp(text, "all") == 0)
		return 0;
	if (text && (units_parse_count(text, &n, NULL) < 0 || n == 0 || n > 100000000))
		return error_fill(err, -EINVAL, "it is neither a positive number nor 'all'",
				  "write --last=100 or --last=all",
				  "cannot replay the last '%s' requests", text);
	ret->lines = calloc(n, sizeof(*ret->lines));
	ret->size = n;
	return ret->lines ? 0 : sbx_error_what(err, -ENOMEM, "cannot replay");
}

static void end(struct differing *differing)
{
	arena_deinit(&differing->arena);
	request_deinit(&differing->buffer);
}

static int unreadable(const char *path, int r, struct sbx_error *err)
{
	bool is_long = r == -EMSGSIZE;

	return error_fill(err, r,
			  is_long ? "a line of it is longer than 1MiB, the limit of a request"
				  : NULL,
			  is_long ? "name a file of recorded decisions, one a line" : NULL,
			  "cannot read '%s'", path);
}

static int replay_file(struct differing *differing, const char *path, struct last_lines *last,
		       struct sbx_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	_cleanup_close_ int fd = is_stdin ? -EBADF : open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (!is_stdin && fd < 0)
		return error_fill(
			err, -errno, NULL,
			"name a file of recorded decisions, the directory of a log, 'log' or '-'",
			"cannot open '%s'", path);
	r = replay_fd(differing, is_stdin ? STDIN_FILENO : fd, last);
	return r < 0 ? unreadable(path, r, err) : 0;
}

/* Without the complete log the missing requests might be those that change. */
static int replay_log(struct differing *differing, const char *path, struct last_lines *last,
		      struct sbx_error *err)
{
	_cleanup_decision_log_ struct decision_log log = { .fd = -EBADF,
							   .pid = -1,
							   .messages_fd = -EBADF };
	int r = decision_log_open(path, last->size, &log, err);

	if (r < 0)
		return r;
	r = replay_fd(differing, log.fd, last);
	return r < 0 ? unreadable(path, r, err) : decision_log_close(&log, err);
}

int replay_record(struct tool_run *run, struct judge *before, struct judge *after, const char *path,
		  const char *last_text, struct replay *ret, struct sbx_error *err)
{
	_cleanup_(end) struct differing differing = {
		.run = run,
		.before = before,
		.after = after,
		.replay = { .before = before->engine, .after = after->engine },
	};
	_cleanup_(free_lines) struct last_lines last = { .size = 0 };
	int r = read_last(last_text, &last, err);

	/* The new policy is meant for the place of the old one, so the same files are guarded. */
	policy_engine_guard(after->engine, &before->guarded);
	if (r >= 0)
		r = decision_log_is(path) ? replay_log(&differing, path, &last, err)
					  : replay_file(&differing, path, &last, err);
	if (r < 0)
		return r;
	print_answers(&differing);
	print_counts(run, &differing.replay, NULL);
	*ret = differing.replay;
	return 0;
}
