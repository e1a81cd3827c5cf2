/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit: a log that can be proved
 *
 * This file is the table of its verbs. Every verb that may write takes in first what waits in the
 * spool, where the tools put their records when no service runs.
 */

#include "audit.h"

#include "tool.h"

/* clang-format off */
#define ROW(long_name, key, type, member, meta, text)                                              \
	{ .name = long_name, .letter = key, .kind = type,                                          \
	  .offset = offsetof(struct audit_values, member), .metavar = meta, .help = text }

#define LOG ROW("log", 'l', OPTION_PATH, folder, "DIR", "the log in DIR")
#define CHOICE                                                                                     \
	ROW("since", 's', OPTION_STRING, since, "TIME", "not before TIME (2026-01-02, 10m)"),      \
	ROW("until", 'u', OPTION_STRING, until, "TIME", "before TIME"),                            \
	ROW("event", 'e', OPTION_LIST, events, "EVENT", "of this type, or of that"),               \
	ROW("op", 'o', OPTION_STRING, columns[ENTRY_OP], "OP", "about this operation"),            \
	ROW("decision", 'd', OPTION_STRING, columns[ENTRY_DECISION], "DECISION",                   \
	    "allow, warn, require_review or deny"),                                                \
	ROW("rule", 'r', OPTION_STRING, columns[ENTRY_RULE], "RULE", "by this rule"),              \
	ROW("sandbox", 'i', OPTION_STRING, columns[ENTRY_SANDBOX], "ID", "of this sandbox"),       \
	ROW("caller", 'c', OPTION_STRING, columns[ENTRY_CALLER], "CALLER", "by this caller")

static const struct option_spec plain_options[] = { LOG, OPTION_END };

static const struct option_spec append_options[] = {
	LOG,
	ROW("strict", 0, OPTION_FLAG, strict, NULL, "stop at a line that is no record"),
	OPTION_END,
};

static const struct option_spec query_options[] = {
	LOG,
	CHOICE,
	ROW("last", 'n', OPTION_NUMBER, n_last, "N", "only the last N of them"),
	OPTION_END,
};

static const struct option_spec tail_options[] = {
	LOG,
	CHOICE,
	ROW("last", 'n', OPTION_NUMBER, n_last, "N", "begin with the last N (10)"),
	ROW("follow", 'f', OPTION_FLAG, follow, NULL, "go on with what comes"),
	OPTION_END,
};

static const struct option_spec stats_options[] = { LOG, CHOICE, OPTION_END };

static const struct option_spec proof_options[] = {
	ROW("key", 'k', OPTION_STRING, key, "KEY", "the first public key, as setup printed it"),
	OPTION_END,
};
/* clang-format on */

static const struct verb_spec verbs[] = {
	{ .name = "setup",
	  .operand_kind = OPERAND_NONE,
	  .options = plain_options,
	  .help = "make a log and print its public key",
	  .run = audit_verb_setup },
	{ .name = "key",
	  .operands = "[change]",
	  .operand_kind = OPERAND_WORD,
	  .max_operands = 1,
	  .options = plain_options,
	  .help = "print the public key of now, or begin an epoch",
	  .run = audit_verb_key },
	{ .name = "append",
	  .operand_kind = OPERAND_NONE,
	  .options = append_options,
	  .help = "JSON lines from standard input become records",
	  .run = audit_verb_append },
	{ .name = "tail",
	  .operand_kind = OPERAND_NONE,
	  .options = tail_options,
	  .help = "the last records",
	  .run = audit_verb_tail },
	{ .name = "query",
	  .operand_kind = OPERAND_NONE,
	  .options = query_options,
	  .help = "the records that options choose",
	  .run = audit_verb_query },
	{ .name = "stats",
	  .operand_kind = OPERAND_NONE,
	  .options = stats_options,
	  .help = "how many of what",
	  .run = audit_verb_stats },
	{ .name = "export",
	  .operand_kind = OPERAND_NONE,
	  .options = plain_options,
	  .help = "all of it, as lines that can be verified again",
	  .run = audit_verb_export },
	{ .name = "prove",
	  .operands = "NUMBER",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = plain_options,
	  .help = "a proof that this record is in the log",
	  .run = audit_verb_prove },
	{ .name = "verify-proof",
	  .operands = "[FILE]",
	  .operand_kind = OPERAND_PATH,
	  .max_operands = 1,
	  .options = proof_options,
	  .help = "does the proof hold",
	  .run = audit_verb_verify_proof },
	{ .name = "consistency",
	  .operands = "SIZE SIZE",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 2,
	  .max_operands = 2,
	  .options = plain_options,
	  .help = "a proof that the log only grew",
	  .run = audit_verb_consistency },
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-audit",
		.summary = "Keeps a log that can be proved.",
		.verbs = verbs,
	},
	.values_size = sizeof(struct audit_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
