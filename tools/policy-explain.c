/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy explain: the answer, and for each rule that nearly applied why it did or did not
 *
 * Nothing is left out: a rule that lost against a more severe one is shown as well, because it
 * matters when the severe one is removed.
 */

#include "policy.h"

#include <unistd.h>

#include "base/json.h"
#include "base/path.h"
#include "policy/credentials.h"
#include "policy/enforcement.h"

#include "tool.h"

/* Rules further away than those that nearly applied are noise; -v shows all. */
#define FAR_SHOWN_MAX 20

/* The order of the output: what matters most first. */
static const enum policy_near reading_order[] = { NEAR_APPLIES, NEAR_EXCEPTED, NEAR_EXCLUDED,
						  NEAR_KEY, NEAR_OPERATION };

struct explaining {
	struct tool_run *run;
	struct judge *judge;
	const struct request_buffer *buffer;
	const struct policy_decision *decision;
	const struct policy_explanation *rows;
	size_t n_rows;
	struct credential credential; /* no path: not a credential */
};

static bool decides(const struct policy_decision *decision, uint32_t rule)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		if (decision->rules[i] == rule)
			return true;
	return false;
}

static const char *verdict_of(const struct explaining *explaining,
			      const struct policy_explanation *row)
{
	if (row->near != NEAR_APPLIES)
		return "does not apply";
	if (decides(explaining->decision, row->rule))
		return "applies and decides";
	if (artefact_rule_at(&explaining->judge->artefact, row->rule)->action == POLICY_PASS)
		return "applies, and decides nothing";
	return "applies, but something more severe decides";
}

/* How a sandbox enforces what the rule says of the request's operation; nothing if the rule's text
 * is not known. */
static bool add_enforcement(struct text *out, const struct explaining *explaining, uint32_t row)
{
	const struct judge *judge = explaining->judge;
	struct rule_enforcement enforcement;

	if (!judge->policy || row >= judge->policy->n_rules)
		return false;
	enforcement = operation_enforcement(judge->policy, &judge->policy->rules[row],
					    operation_set(explaining->buffer->request.operation));
	enforcement_add_text(out, &enforcement);
	return true;
}

static void add_row(const struct explaining *explaining, const struct policy_explanation *row)
{
	const struct judge *judge = explaining->judge;
	const struct artefact_rule *rule = artefact_rule_at(&judge->artefact, row->rule);
	struct text *out = &explaining->run->out;
	_cleanup_text_ struct text enforcement = TEXT_INIT;

	text_addf(out, "\n%s ", policy_action_name((enum policy_action)rule->action));
	decision_add_rule(out, &judge->artefact, row->rule);
	text_addf(out, " %s\n  ", verdict_of(explaining, row));
	why_add(out, judge, &explaining->buffer->request, row);
	text_add_char(out, '\n');
	if (row->near == NEAR_APPLIES && add_enforcement(&enforcement, explaining, row->rule))
		text_addf(out, "  in a sandbox: %s\n", text_string(&enforcement));
	if (row->near == NEAR_APPLIES && rule->reason != ARTEFACT_NONE) {
		text_add(out, "  reason: ");
		text_add_visible_string(out, artefact_text(&judge->artefact, rule->reason));
		text_add_char(out, '\n');
	}
}

/* What sbx-spawn's options do with the credential, which is in no rule. */
static void add_credential(const struct explaining *explaining)
{
	const struct credential *credential = &explaining->credential;
	struct text *out = &explaining->run->out;

	if (!credential->path)
		return;
	text_add(out, "\n'");
	text_add_visible_string(out, credential->path);
	if (credential->kinds == CREDENTIAL_STARTUP)
		text_add(out, "' is a startup file: where an option of sbx-spawn makes the home "
			      "writable, it stays read-only unless an option names it; rules "
			      "write what they allow\n");
	else
		text_add(out, "' is in the list of credentials: options and the working directory "
			      "of sbx-spawn do not show it unless they name it; rules show what "
			      "they allow\n");
}

static void add_text(const struct explaining *explaining)
{
	struct tool_run *run = explaining->run;
	size_t n_far = 0;

	decision_add_text(&run->out, &explaining->judge->artefact, explaining->buffer,
			  explaining->decision);
	why_add_note(&run->out, explaining->decision);
	if (explaining->n_rows == 0)
		text_add(&run->out,
			 "\nno rule is similar: none is about this operation or this argument\n");
	for (size_t i = 0; i < N_ELEMENTS(reading_order); i++) {
		for (size_t j = 0; j < explaining->n_rows; j++) {
			const struct policy_explanation *row = &explaining->rows[j];

			if (row->near != reading_order[i])
				continue;
			n_far += row->near == NEAR_KEY || row->near == NEAR_OPERATION;
			if (n_far <= FAR_SHOWN_MAX || run->verbosity > 0)
				add_row(explaining, row);
		}
	}
	if (n_far > FAR_SHOWN_MAX && run->verbosity <= 0)
		text_addf(&run->out, "\n%zu more rules do not apply; -v shows them\n",
			  n_far - FAR_SHOWN_MAX);
	add_credential(explaining);
}

static void add_row_json(const struct explaining *explaining, struct json_writer *json,
			 const struct policy_explanation *row)
{
	const struct judge *judge = explaining->judge;
	const struct artefact_rule *rule = artefact_rule_at(&judge->artefact, row->rule);
	_cleanup_text_ struct text why = TEXT_INIT, enforcement = TEXT_INIT;

	why_add(&why, judge, &explaining->buffer->request, row);
	json_add_object(json);
	json_member_string(json, "name", artefact_text(&judge->artefact, rule->name));
	json_member_string(json, "action", policy_action_name((enum policy_action)rule->action));
	json_member_string(json, "file", artefact_file_of(&judge->artefact, rule));
	json_member_u64(json, "line", rule->line);
	json_member_string(json, "near", why_near_name(row->near));
	if (row->near == NEAR_KEY)
		json_member_string(json, "key", match_key_name(row->key));
	if (row->near == NEAR_EXCEPTED)
		json_member_u64(json, "exception", row->exception);
	json_member_bool(json, "decides",
			 row->near == NEAR_APPLIES && decides(explaining->decision, row->rule));
	json_member_string(json, "why", text_string(&why));
	if (add_enforcement(&enforcement, explaining, row->rule))
		json_member_string(json, "enforcement", text_string(&enforcement));
	json_end_object(json);
}

static void add_json(const struct explaining *explaining)
{
	struct text *out = &explaining->run->out;
	struct json_writer json;

	json_begin_object(&json, out);
	json_add_name(&json, "decision");
	decision_add_json(out, &explaining->judge->artefact, explaining->buffer,
			  explaining->decision);
	if (out->len > 0)
		text_truncate(out, out->len - 1); /* its newline */
	json.needs_comma = true;
	json_member_array(&json, "near");
	for (size_t i = 0; i < explaining->n_rows; i++)
		add_row_json(explaining, &json, &explaining->rows[i]);
	json_end_array(&json);
	json_member_if_set(&json, "credential", explaining->credential.path);
	json_end_line(&json);
}

static int find_credential(const struct policy_request *request, struct arena *arena,
			   struct credential *ret, struct sbx_error *err)
{
	struct credential_list list;
	int r;

	if (!request->path || !path_is_normal(request->path))
		return 0;
	r = credentials_find(environ, geteuid(), arena, &list, err);
	if (r == 0)
		(void)credentials_match(&list, path_follow(arena, request->path), arena, ret);
	return r;
}

int policy_verb_explain(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_judge_ struct judge judge = { .policy = NULL };
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct policy_decision decision;
	size_t n = 0;
	int r = policy_check_stdin(run->values, 1, operands, false, err);

	if (r < 0)
		return policy_bad_input(r);
	r = judge_open(operands[0], run->values, &judge, err);
	if (r < 0)
		return policy_bad_input(r);
	r = words_read(operands + 1, (size_t)(n_operands - 1), &buffer, err);
	if (r < 0)
		return policy_bad_input(r);
	r = judge_adapt(&judge, &buffer.request, err);
	if (r < 0)
		return r;
	_cleanup_free_ struct policy_explanation *rows = why_explain(&judge, &buffer.request, &n);
	if (!rows)
		return sbx_error_what(err, -ENOMEM, "cannot explain the decision");
	/* Last, because its result is valid only until the engine is used again. */
	judge_decide_noted(&judge, &buffer, &decision);

	struct explaining explaining = { run, &judge, &buffer, &decision, rows, n, { NULL, 0 } };
	r = find_credential(&buffer.request, &judge.arena, &explaining.credential, err);
	if (r < 0)
		return r;
	if (run->json)
		add_json(&explaining);
	else
		add_text(&explaining);
	return judge_status(&decision);
}
