/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy diff: what a change of a policy changes
 *
 * First by rule, from the texts; then, with --replay, by answer.
 */

#include "policy.h"

#include <errno.h>

#include <sbx/error.h>

#include "tool.h"

static int open_text(const char *path, struct judge *ret, struct sbx_error *err)
{
	int r = judge_open(path, NULL, ret, err);

	if (r < 0 || ret->policy)
		return r;
	r = sbx_error_what(err, -EINVAL, "cannot compare the compiled policy '%s'", path);
	sbx_error_why(err, "the text of its rules is not in it");
	sbx_error_fix(err, "name the file that it was compiled from");
	return r;
}

int policy_verb_diff(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct policy_values *values = run->values;
	_cleanup_judge_ struct judge before = JUDGE_INIT, after = JUDGE_INIT;
	struct replay replay = { .n_changed = 0 };
	size_t n_differences;
	int r = policy_check_stdin(values, 2, operands, false, err);

	if (r >= 0)
		r = open_text(operands[0], &before, err);
	if (r >= 0)
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
