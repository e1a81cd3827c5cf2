/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy: one file, one model, one evaluator
 *
 * This file is the table of its verbs. Every decision of a verb is made by lib/policy on the
 * compiled form, so that verbs and tools cannot disagree.
 */

#include "policy.h"

#include "tool.h"

static const struct option_spec layer_options[] = {
	OPTION_LAYERS,
	OPTION_END,
};

static const struct option_spec check_options[] = {
	OPTION("strict", 0, OPTION_FLAG, strict, NULL, "treat warnings as errors"),
	OPTION_END,
};

static const struct option_spec test_options[] = {
	OPTION("coverage", 0, OPTION_NUMBER, coverage, "PERCENT",
	       "fail if fewer rules determined an answer"),
	OPTION_END,
};

static const struct option_spec merge_options[] = {
	OPTION_PROJECT_FILE,
	OPTION_END,
};

static const struct option_spec compile_options[] = {
	OPTION("output", 'o', OPTION_PATH, output, "FILE", "replace FILE atomically"),
	OPTION_LAYERS,
	OPTION_END,
};

static const struct option_spec diff_options[] = {
	OPTION("replay", 0, OPTION_PATH, replay, "FILE", "evaluate these recorded requests"),
	OPTION_LAST,
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	TOOL_VERB(policy, check, "FILE...", OPERAND_PATH, 1, OPERANDS_ANY, check_options,
		  "report mistakes in policies"),
	TOOL_VERB(policy, eval, "FILE [OPERATION [WORD...]]", OPERAND_PATH, 1, OPERANDS_ANY,
		  layer_options, "print the decision for requests"),
	TOOL_VERB(policy, explain, "FILE OPERATION [WORD...]", OPERAND_PATH, 2, OPERANDS_ANY,
		  layer_options, "explain a decision, rule by rule"),
	TOOL_VERB(policy, test, "FILE...", OPERAND_PATH, 1, OPERANDS_ANY, test_options,
		  "run the examples and tests of a policy"),
	TOOL_VERB(policy, merge, "FILE...", OPERAND_PATH, 1, OPERANDS_ANY, merge_options,
		  "print several policies as one"),
	TOOL_VERB(policy, print, "FILE", OPERAND_PATH, 1, 1, layer_options,
		  "print a policy in its canonical form"),
	TOOL_VERB(policy, schema, NULL, OPERAND_NONE, 0, 0, NULL,
		  "print the JSON Schema of a policy"),
	TOOL_VERB(policy, compile, "FILE", OPERAND_PATH, 1, 1, compile_options,
		  "write the binary form that the tools load"),
	TOOL_VERB(policy, diff, "OLD NEW", OPERAND_PATH, 2, 2, diff_options,
		  "compare two policies"),
	TOOL_VERB(policy, serve, "FILE...", OPERAND_PATH, 1, OPERANDS_ANY, policy_serve_options,
		  "answer requests on a socket"),
	TOOL_VERB(policy, token, "issue|check|revoke|list [WORD...]", OPERAND_WORD, 1, OPERANDS_ANY,
		  policy_token_options, "manage capability tokens of a service",
		  .lister = "echo issue; echo check; echo revoke; echo list"),
	TOOL_VERB(policy, update, "FILE", OPERAND_PATH, 1, 1, policy_update_options,
		  "review a new policy and install it"),
	TOOL_VERB(policy, edit, "FILE", OPERAND_PATH, 1, 1, policy_edit_options,
		  "edit a policy, review and install it"),
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-policy",
		.summary = "Decides what sandboxes may do: checks, tests and explains policies.",
		.verbs = verbs,
	},
	.values_size = sizeof(struct policy_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
