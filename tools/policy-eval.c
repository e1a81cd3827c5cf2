/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy eval: the answer of a policy to one request, or to each line of standard input
 *
 * With lines it can be a coprocess: before it waits for a line, all answers are written.
 */

#include "policy.h"

#include <unistd.h>

#include "base/json.h"
#include "policy/network.h"

#include "tool.h"

#define HINTS_MAX 3

/* The most severe answer of several; malformed input is worse than any. */
static int more_severe(int one, int other)
{
	static const int ranks[] = {
		[TOOL_YES] = 0, [TOOL_REVIEW] = 1, [TOOL_NO] = 2, [TOOL_USAGE] = 3
	};

	return ranks[one] >= ranks[other] ? one : other;
}

/* Rules that would have allowed it with one other fact. */
static void add_hints(struct text *out, struct judge *judge, const struct request_buffer *buffer)
{
	const struct artefact_rule *rules = artefact_rows(&judge->artefact, SECTION_RULES);
	size_t n = 0, n_hints = 0;
	_cleanup_free_ struct policy_explanation *rows = why_explain(judge, &buffer->request, &n);

	for (size_t i = 0; rows && i < n && n_hints < HINTS_MAX; i++) {
		if (rows[i].near == NEAR_APPLIES || rows[i].near == NEAR_OPERATION ||
		    decision_status((enum policy_action)rules[rows[i].rule].action) != 0)
			continue;
		text_add(out, "  near: ");
		decision_add_rule(out, &judge->artefact, rows[i].rule);
		text_add(out, " allows this operation, but ");
		why_add(out, judge, &buffer->request, &rows[i]);
		text_add_char(out, '\n');
		n_hints++;
	}
}

static void add_facts(struct text *out, unsigned facts)
{
	const char *separator = "  depends on ";

	for (int i = 0; i < N_UNSAID; i++) {
		if (!(facts & 1u << i))
			continue;
		text_addf(out, "%s%s", separator, policy_unsaid_name((enum policy_unsaid)i));
		separator = ", ";
	}
}

/* In a sandbox a denial that depends on such a fact always applies, and a permission never does. */
static void add_dependences(struct text *out, const struct artefact *artefact,
			    const struct policy_decision *decision)
{
	const struct artefact_rule *rules = artefact_rows(artefact, SECTION_RULES);

	if (decision->is_of_ordinary_address)
		text_add(out, "  depends on address: built-in rule '" SPECIAL_RULE_NAME
			      "' denies special ones\n");
	if (decision->builtin && decision->facts & 1u << UNSAID_MODE)
		text_addf(out, "  depends on mode: built-in rule '%s'\n", decision->builtin);
	for (size_t i = 0; i < decision->n_dependences; i++) {
		uint32_t row = decision->dependences[i].rule;

		add_facts(out, decision->dependences[i].facts);
		text_add(out, ": ");
		decision_add_rule(out, artefact, row);
		text_addf(out, " says %s\n",
			  policy_action_name((enum policy_action)rules[row].action));
	}
}

static int eval_words(struct tool_run *run, struct judge *judge, char *words[], int n_words,
		      struct sbx_error *err)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct policy_decision decision;
	int r = words_read(words, (size_t)n_words, &buffer, err), status;

	if (r < 0)
		return policy_bad_input(r);
	r = judge_adapt(judge, &buffer.request, err);
	if (r < 0)
		return r;
	judge_decide_noted(judge, &buffer, &decision);
	status = judge_status(&decision);
	if (run->json) {
		decision_add_json(&run->out, &judge->artefact, &buffer, &decision);
	} else if (run->verbosity >= 0) {
		decision_add_text(&run->out, &judge->artefact, &buffer, &decision);
		add_dependences(&run->out, &judge->artefact, &decision);
		why_add_note(&run->out, &decision);
		if (decision.cause == CAUSE_DEFAULT && status != 0)
			add_hints(&run->out, judge, &buffer);
	}
	return status;
}

/* A malformed line also yields "verdict":"deny", for readers that look at nothing else. */
static void add_malformed(struct text *out, uint64_t line, const struct sbx_error *err)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_u64(&json, "line", line);
	json_member_string(&json, "verdict", policy_action_name(POLICY_DENY));
	json_member_string(&json, "cause", "malformed");
	json_member_string(&json, "level", "error");
	json_member_string(&json, "what", err->what);
	json_member_string(&json, "why", err->why);
	json_member_string(&json, "fix", err->fix);
	json_end_line(&json);
}

static int eval_line(struct tool_run *run, struct judge *judge, struct request_buffer *buffer,
		     const struct line_reader *reader, const char *line, size_t len,
		     struct sbx_error *err)
{
	struct sbx_error problem = { .code = 0 };
	struct policy_decision decision;
	int r;

	if (request_parse(line, len, buffer, &problem) < 0) {
		add_malformed(&run->out, reader->number, &problem);
		return TOOL_USAGE;
	}
	r = judge_adapt(judge, &buffer->request, err);
	if (r < 0)
		return r;
	judge_decide_noted(judge, buffer, &decision);
	decision_add_json(&run->out, &judge->artefact, buffer, &decision);
	return judge_status(&decision);
}

static int too_long(struct tool_run *run, const struct line_reader *reader)
{
	struct sbx_error problem = { .code = 0 };

	(void)sbx_error_what(&problem, -1, "cannot read the request: it is too long");
	sbx_error_why(&problem, "a request has at most %d bytes", REQUEST_BYTES_MAX);
	sbx_error_fix(&problem, "send one request a line");
	add_malformed(&run->out, reader->number, &problem);
	return TOOL_USAGE;
}

static int eval_lines(struct tool_run *run, struct judge *judge, struct sbx_error *err)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	_cleanup_lines_ struct line_reader reader = { .fd = STDIN_FILENO,
						      .max = REQUEST_BYTES_MAX };
	int status = TOOL_YES;

	for (;;) {
		char *line = NULL;
		size_t len = 0;
		int r = lines_ready(&reader) ? 0 : tool_flush(run, err);

		if (r < 0)
			return r;
		r = lines_next(&reader, &line, &len);
		if (r < 0)
			return sbx_error_what(err, r, "cannot read the requests");
		if (r == LINE_END)
			return status;
		r = r == LINE_TOO_LONG ? too_long(run, &reader)
				       : eval_line(run, judge, &buffer, &reader, line, len, err);
		if (r < 0)
			return r;
		status = more_severe(status, r);
	}
}

int policy_verb_eval(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_judge_ struct judge judge = { .policy = NULL };
	int r = policy_check_stdin(run->values, 1, operands, n_operands == 1, err);

	if (r >= 0)
		r = judge_open(operands[0], run->values, &judge, err);
	if (r < 0)
		return policy_bad_input(r);
	if (n_operands > 1)
		return eval_words(run, &judge, operands + 1, n_operands - 1, err);
	return eval_lines(run, &judge, err);
}
