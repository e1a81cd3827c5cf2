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
	{ .name = "layer",
	  .letter = 'l',
	  .kind = OPTION_PATHS,
	  .offset = offsetof(struct policy_values, layers),
	  .metavar = "FILE",
	  .help = "an additional policy that takes precedence" },
	{ .name = "project-file",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, project_file),
	  .metavar = "FILE",
	  .help = "a policy that can only narrow" },
	OPTION_END,
};

static const struct option_spec check_options[] = {
	{ .name = "strict",
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct policy_values, strict),
	  .help = "treat warnings as errors" },
	OPTION_END,
};

static const struct option_spec test_options[] = {
	{ .name = "coverage",
	  .kind = OPTION_NUMBER,
	  .offset = offsetof(struct policy_values, coverage),
	  .metavar = "PERCENT",
	  .help = "fail if fewer rules determined an answer" },
	OPTION_END,
};

static const struct option_spec merge_options[] = {
	{ .name = "project-file",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, project_file),
	  .metavar = "FILE",
	  .help = "a policy that can only narrow" },
	OPTION_END,
};

static const struct option_spec compile_options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, output),
	  .metavar = "FILE",
	  .help = "replace FILE atomically" },
	{ .name = "layer",
	  .letter = 'l',
	  .kind = OPTION_PATHS,
	  .offset = offsetof(struct policy_values, layers),
	  .metavar = "FILE",
	  .help = "an additional policy that takes precedence" },
	{ .name = "project-file",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, project_file),
	  .metavar = "FILE",
	  .help = "a policy that can only narrow" },
	OPTION_END,
};

static const struct option_spec diff_options[] = {
	{ .name = "replay",
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct policy_values, replay),
	  .metavar = "FILE",
	  .help = "evaluate these recorded requests" },
	{ .name = "last",
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct policy_values, last),
	  .metavar = "N",
	  .help = "only the last N requests (100), or all" },
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	{ .name = "check",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = check_options,
	  .help = "report mistakes in policies",
	  .run = policy_verb_check },
	{ .name = "eval",
	  .operands = "FILE [OPERATION [WORD...]]",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = layer_options,
	  .help = "print the decision for requests",
	  .run = policy_verb_eval },
	{ .name = "explain",
	  .operands = "FILE OPERATION [WORD...]",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 2,
	  .max_operands = OPERANDS_ANY,
	  .options = layer_options,
	  .help = "explain a decision, rule by rule",
	  .run = policy_verb_explain },
	{ .name = "test",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = test_options,
	  .help = "run the examples and tests of a policy",
	  .run = policy_verb_test },
	{ .name = "merge",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = merge_options,
	  .help = "print several policies as one",
	  .run = policy_verb_merge },
	{ .name = "print",
	  .operands = "FILE",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = layer_options,
	  .help = "print a policy in its canonical form",
	  .run = policy_verb_print },
	{ .name = "schema",
	  .operand_kind = OPERAND_NONE,
	  .help = "print the JSON Schema of a policy",
	  .run = policy_verb_schema },
	{ .name = "compile",
	  .operands = "FILE",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = compile_options,
	  .help = "write the binary form that the tools load",
	  .run = policy_verb_compile },
	{ .name = "diff",
	  .operands = "OLD NEW",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 2,
	  .max_operands = 2,
	  .options = diff_options,
	  .help = "compare two policies",
	  .run = policy_verb_diff },
	{ .name = "serve",
	  .operands = "FILE...",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = policy_serve_options,
	  .help = "answer requests on a socket",
	  .run = policy_verb_serve },
	{ .name = "token",
	  .operands = "issue|check|revoke|list [WORD...]",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 1,
	  .max_operands = OPERANDS_ANY,
	  .options = policy_token_options,
	  .help = "manage capability tokens of a service",
	  .run = policy_verb_token },
	{ .name = "update",
	  .operands = "FILE",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = policy_update_options,
	  .help = "review a new policy and install it",
	  .run = policy_verb_update },
	{ .name = "edit",
	  .operands = "FILE",
	  .operand_kind = OPERAND_PATH,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = policy_edit_options,
	  .help = "edit a policy, review and install it",
	  .run = policy_verb_edit },
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
