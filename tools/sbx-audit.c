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
	{ .name = "ring-fd", .kind = OPTION_FD, .is_once = true,
	  .offset = offsetof(struct audit_values, ring_fd), .metavar = "N",
	  .help = "take records from a channel over this socket" },
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
	TOOL_VERB(audit, setup, NULL, OPERAND_NONE, 0, 0, setup_options,
		  "create a log and print its public key"),
	TOOL_VERB(audit, key, "[change]", OPERAND_WORD, 0, 1, plain_options,
		  "print the current public key, or start a new epoch"),
	TOOL_VERB(audit, append, NULL, OPERAND_NONE, 0, 0, append_options,
		  "add JSON lines from standard input as records"),
	TOOL_VERB(audit, serve, NULL, OPERAND_NONE, 0, 0, audit_serve_options,
		  "accept records over a socket"),
	TOOL_VERB(audit, gather, NULL, OPERAND_NONE, 0, 0, audit_gather_options,
		  "pass the spools of root and services to the log"),
	TOOL_VERB(audit, tail, NULL, OPERAND_NONE, 0, 0, tail_options, "print the last records"),
	TOOL_VERB(audit, query, NULL, OPERAND_NONE, 0, 0, query_options,
		  "print the records that match the options"),
	TOOL_VERB(audit, show, "NUMBER", OPERAND_WORD, 1, 1, plain_options,
		  "print one record in full"),
	TOOL_VERB(audit, stats, NULL, OPERAND_NONE, 0, 0, stats_options,
		  "count records, verdicts and failures"),
	TOOL_VERB(audit, rotate, NULL, OPERAND_NONE, 0, 0, rotate_options,
		  "close the segment and start the next one"),
	TOOL_VERB(audit, retain, NULL, OPERAND_NONE, 0, 0, retain_options,
		  "archive closed segments, delete old archives"),
	TOOL_VERB(audit, export, NULL, OPERAND_NONE, 0, 0, export_options,
		  "print all records with their hashes"),
	TOOL_VERB(audit, prove, "NUMBER", OPERAND_WORD, 1, 1, plain_options,
		  "print a proof that a record is in the log"),
	TOOL_VERB(audit, verify, "[FILE]", OPERAND_PATH, 0, 1, verify_options,
		  "check that the log is complete and unchanged"),
	{ .name = "verify-proof",
	  .operands = "[FILE]",
	  .operand_kind = OPERAND_PATH,
	  .max_operands = 1,
	  .options = proof_options,
	  .help = "check a proof",
	  .run = audit_verb_verify_proof },
	TOOL_VERB(audit, consistency, "SIZE SIZE", OPERAND_WORD, 2, 2, plain_options,
		  "print a proof that the log only grew"),
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
