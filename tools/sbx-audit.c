/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit: a tamper-evident log
 *
 * This file is the table of its verbs. Every verb that reads or writes the log first imports the
 * spool, to which the tools write their records while no service runs.
 */

#include "audit.h"

#include "tool.h"

/* clang-format off */
#define ROW(long_name, key, type, member, meta, text)                                              \
	{ .name = long_name, .letter = key, .kind = type,                                          \
	  .offset = offsetof(struct audit_values, member), .metavar = meta, .help = text }

#define LOG ROW("log", 'l', OPTION_PATH, directory, "DIR", "use the log in DIR")
#define POLICY ROW("policy", 'p', OPTION_PATH, policy, "FILE", "use the section audit of this policy")
#define CHOICE                                                                                     \
	ROW("since", 's', OPTION_STRING, since, "TIME", "not before TIME (2026-01-02, today, 2h)"),      \
	ROW("until", 'u', OPTION_STRING, until, "TIME", "before TIME"),                            \
	ROW("event", 'e', OPTION_LIST, events, "EVENT", "of this event; may be repeated"),               \
	ROW("op", 'o', OPTION_STRING, columns[ENTRY_OP], "OP", "about this operation"),            \
	{ .name = "decision",                                                                      \
	  .letter = 'd',                                                                           \
	  .kind = OPTION_CHOICE,                                                                   \
	  .offset = offsetof(struct audit_values, columns[ENTRY_DECISION]),                        \
	  .metavar = "DECISION",                                                                   \
	  .choices = entry_decision_names,                                                         \
	  .help = "allow, warn, require_review, deny or pass" },                                   \
	ROW("rule", 'r', OPTION_STRING, columns[ENTRY_RULE], "RULE", "by this rule"),              \
	ROW("sandbox", 'i', OPTION_STRING, columns[ENTRY_SANDBOX], "ID", "of this sandbox"),       \
	ROW("caller", 'c', OPTION_STRING, columns[ENTRY_CALLER], "CALLER", "by this caller")

static const struct option_spec plain_options[] = { LOG, POLICY, OPTION_END };

static const struct option_spec setup_options[] = {
	LOG,
	POLICY,
	ROW("key-in", 0, OPTION_STRING, key_place, "PLACE", "its key is in keyring:NAME"),
	OPTION_END,
};

static const struct option_spec append_options[] = {
	LOG,
	POLICY,
	ROW("strict", 0, OPTION_FLAG, strict, NULL, "stop at an invalid line"),
	ROW("witness", 0, OPTION_STRING, witness_command, "CMD", "pass each new head to CMD"),
	OPTION_END,
};

static const struct option_spec query_options[] = {
	LOG,
	POLICY,
	CHOICE,
	ROW("last", 'n', OPTION_NUMBER, n_last, "N", "only the last N of them (0: all)"),
	OPTION_END,
};

static const struct option_spec tail_options[] = {
	LOG,
	POLICY,
	CHOICE,
	ROW("last", 'n', OPTION_STRING, last, "N", "print the last N first (10)"),
	ROW("follow", 'f', OPTION_FLAG, follow, NULL, "keep printing new records"),
	OPTION_END,
};

static const struct option_spec stats_options[] = { LOG, POLICY, CHOICE, OPTION_END };

static const struct option_spec proof_options[] = {
	ROW("key", 'k', OPTION_STRING, key, "KEY", "the first public key, as setup printed it"),
	OPTION_END,
};

static const struct option_spec verify_options[] = {
	LOG,
	ROW("full", 0, OPTION_FLAG, full, NULL, "start with the first record"),
	ROW("key", 'k', OPTION_STRING, key, "KEY", "the first public key, as setup printed it"),
	ROW("witness-file", 'w', OPTION_PATH, witness, "FILE", "the log must contain these heads"),
	ROW("journal", 0, OPTION_FLAG, journal, NULL, "the log must contain its heads in the journal"),
	ROW("journal-directory", 0, OPTION_PATH, journal_directory, "DIR",
	    "the same, with the journal files in DIR"),
	ROW("state", 0, OPTION_PATH, state, "FILE", "continue from this state, and update it"),
	ROW("jobs", 'j', OPTION_NUMBER, n_jobs, "N", "read with N threads (1)"),
	ROW("seed-format", 0, OPTION_FLAG, seed_format, NULL,
	    "a file of JSON lines with the seed's chain"),
	OPTION_END,
};

static const struct option_spec rotate_options[] = {
	LOG,
	POLICY,
	ROW("if-due", 0, OPTION_FLAG, if_due, NULL, "only if a new day has begun or it is large"),
	ROW("segment-size", 0, OPTION_SIZE, segment_size, "SIZE", "size of a large segment (256MiB)"),
	OPTION_END,
};

static const struct option_spec retain_options[] = {
	LOG,
	POLICY,
	ROW("dry-run", 'n', OPTION_FLAG, dry_run, NULL, "print what would be done, change nothing"),
	ROW("max-size", 0, OPTION_SIZE, max_size, "SIZE", "maximum size of the log (1GiB)"),
	ROW("retention-days", 0, OPTION_NUMBER, retention_days, "DAYS", "days to keep archives (90)"),
	OPTION_END,
};

static const struct option_spec export_options[] = {
	LOG,
	POLICY,
	ROW("archive", 0, OPTION_PATH, archive, "FILE", "write an archive to FILE"),
	ROW("segment", 0, OPTION_STRING, segment, "N", "only the segment that starts with record N"),
	OPTION_END,
};
/* clang-format on */

static const struct verb_spec verbs[] = {
	{ .name = "setup",
	  .operand_kind = OPERAND_NONE,
	  .options = setup_options,
	  .help = "create a log and print its public key",
	  .run = audit_verb_setup },
	{ .name = "key",
	  .operands = "[change]",
	  .operand_kind = OPERAND_WORD,
	  .max_operands = 1,
	  .options = plain_options,
	  .help = "print the current public key, or start a new epoch",
	  .run = audit_verb_key },
	{ .name = "append",
	  .operand_kind = OPERAND_NONE,
	  .options = append_options,
	  .help = "add JSON lines from standard input as records",
	  .run = audit_verb_append },
	{ .name = "serve",
	  .operand_kind = OPERAND_NONE,
	  .options = audit_serve_options,
	  .help = "accept records over a socket",
	  .run = audit_verb_serve },
	{ .name = "gather",
	  .operand_kind = OPERAND_NONE,
	  .options = audit_gather_options,
	  .help = "pass the spools of root and services to the log",
	  .run = audit_verb_gather },
	{ .name = "tail",
	  .operand_kind = OPERAND_NONE,
	  .options = tail_options,
	  .help = "print the last records",
	  .run = audit_verb_tail },
	{ .name = "query",
	  .operand_kind = OPERAND_NONE,
	  .options = query_options,
	  .help = "print the records that match the options",
	  .run = audit_verb_query },
	{ .name = "show",
	  .operands = "NUMBER",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = plain_options,
	  .help = "print one record in full",
	  .run = audit_verb_show },
	{ .name = "stats",
	  .operand_kind = OPERAND_NONE,
	  .options = stats_options,
	  .help = "count records, verdicts and failures",
	  .run = audit_verb_stats },
	{ .name = "rotate",
	  .operand_kind = OPERAND_NONE,
	  .options = rotate_options,
	  .help = "close the segment and start the next one",
	  .run = audit_verb_rotate },
	{ .name = "retain",
	  .operand_kind = OPERAND_NONE,
	  .options = retain_options,
	  .help = "archive closed segments, delete old archives",
	  .run = audit_verb_retain },
	{ .name = "export",
	  .operand_kind = OPERAND_NONE,
	  .options = export_options,
	  .help = "print all records with their hashes",
	  .run = audit_verb_export },
	{ .name = "prove",
	  .operands = "NUMBER",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 1,
	  .max_operands = 1,
	  .options = plain_options,
	  .help = "print a proof that a record is in the log",
	  .run = audit_verb_prove },
	{ .name = "verify",
	  .operands = "[FILE]",
	  .operand_kind = OPERAND_PATH,
	  .max_operands = 1,
	  .options = verify_options,
	  .help = "check that the log is complete and unchanged",
	  .run = audit_verb_verify },
	{ .name = "verify-proof",
	  .operands = "[FILE]",
	  .operand_kind = OPERAND_PATH,
	  .max_operands = 1,
	  .options = proof_options,
	  .help = "check a proof",
	  .run = audit_verb_verify_proof },
	{ .name = "consistency",
	  .operands = "SIZE SIZE",
	  .operand_kind = OPERAND_WORD,
	  .min_operands = 2,
	  .max_operands = 2,
	  .options = plain_options,
	  .help = "print a proof that the log only grew",
	  .run = audit_verb_consistency },
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-audit",
		.summary = "Keeps a tamper-evident log.",
		.verbs = verbs,
	},
	.values_size = sizeof(struct audit_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
