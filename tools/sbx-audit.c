/* SPDX-License-Identifier: MIT */

/*
 * sbx-audit: a tamper-evident log
 *
 * This file is the table of its verbs. Every verb that reads or writes the log first imports the
 * spool, to which the tools write their records while no service runs.
 */

#include "audit.h"

#include <string.h>

#include "tool.h"

#define OPTIONS_OF_CHOICE                                                                          \
	OPTION("since", 's', OPTION_STRING, since, "TIME",                                         \
	       "not before TIME (2026-01-02, today, 2h)"),                                         \
		OPTION("until", 'u', OPTION_STRING, until, "TIME", "before TIME"),                 \
		OPTION("event", 'e', OPTION_LIST, events, "EVENT",                                 \
		       "of this event; may be repeated", .word = event_nth_name),                  \
		OPTION("op", 'o', OPTION_STRING, columns[ENTRY_OP], "OP", "about this operation"), \
		OPTION("decision", 'd', OPTION_CHOICE, columns[ENTRY_DECISION], "DECISION",        \
		       "allow, warn, require_review, deny or pass",                                \
		       .choices = entry_decision_names),                                           \
		OPTION("rule", 'r', OPTION_STRING, columns[ENTRY_RULE], "RULE", "by this rule"),   \
		OPTION("sandbox", 'i', OPTION_STRING, columns[ENTRY_SANDBOX], "ID",                \
		       "of this sandbox"),                                                         \
		OPTION("caller", 'c', OPTION_STRING, columns[ENTRY_CALLER], "CALLER",              \
		       "by this caller")

static const struct option_spec plain_options[] = { OPTIONS_OF_LOG, OPTION_END };

static const struct option_spec setup_options[] = {
	OPTIONS_OF_LOG,
	OPTION("key-in", 0, OPTION_STRING, key_place, "PLACE", "its key is in keyring:NAME"),
	OPTION_END,
};

static const struct option_spec append_options[] = {
	OPTIONS_OF_LOG,
	OPTION("strict", 0, OPTION_FLAG, strict, NULL, "stop at an invalid line"),
	OPTION("ring-fd", 0, OPTION_FD, ring_fd, "N",
	       "take records from a channel over this socket", .is_once = true),
	OPTION_WITNESS,
	OPTION_END,
};

static const struct option_spec query_options[] = {
	OPTIONS_OF_LOG,
	OPTIONS_OF_CHOICE,
	OPTION("last", 'n', OPTION_NUMBER, n_last, "N", "only the last N of them (0: all)"),
	OPTION_END,
};

static const struct option_spec tail_options[] = {
	OPTIONS_OF_LOG,
	OPTIONS_OF_CHOICE,
	OPTION("last", 'n', OPTION_STRING, last, "N", "print the last N first (10)"),
	OPTION("follow", 'f', OPTION_FLAG, follow, NULL, "keep printing new records"),
	OPTION_END,
};

static const struct option_spec stats_options[] = { OPTIONS_OF_LOG, OPTIONS_OF_CHOICE, OPTION_END };

static const struct option_spec proof_options[] = {
	OPTION("key", 'k', OPTION_STRING, key, "KEY", "the first public key, as setup printed it"),
	OPTION_END,
};

static const struct option_spec verify_options[] = {
	OPTION_LOG,
	OPTION("full", 0, OPTION_FLAG, full, NULL, "start with the first record"),
	OPTION("key", 'k', OPTION_STRING, key, "KEY", "the first public key, as setup printed it"),
	OPTION("witness-file", 'w', OPTION_PATH, witness, "FILE",
	       "the log must contain these heads"),
	OPTION("journal", 0, OPTION_FLAG, journal, NULL,
	       "the log must contain its heads in the journal"),
	OPTION("journal-directory", 0, OPTION_PATH, journal_directory, "DIR",
	       "the same, with the journal files in DIR"),
	OPTION("state", 0, OPTION_PATH, state, "FILE", "continue from this state, and update it"),
	OPTION("jobs", 'j', OPTION_NUMBER, n_jobs, "N", "read with N threads (1)",
	       .is_above_zero = true),
	OPTION("seed-format", 0, OPTION_FLAG, seed_format, NULL,
	       "a file of JSON lines with the seed's chain"),
	OPTION_END,
};

static const struct option_spec rotate_options[] = {
	OPTIONS_OF_LOG,
	OPTION("if-due", 0, OPTION_FLAG, if_due, NULL,
	       "only if a new day has begun or it is large"),
	OPTION_SEGMENT_SIZE,
	OPTION_END,
};

static const struct option_spec retain_options[] = {
	OPTIONS_OF_LOG,
	OPTION("dry-run", 'n', OPTION_FLAG, dry_run, NULL,
	       "print what would be done, change nothing"),
	OPTIONS_OF_RETENTION,
	OPTION("trust-clock", 0, OPTION_FLAG, trust_clock, NULL,
	       "believe the clock, though it has jumped"),
	OPTION_END,
};

static const struct option_spec export_options[] = {
	OPTIONS_OF_LOG,
	OPTION("archive", 0, OPTION_PATH, archive, "FILE", "write an archive to FILE"),
	OPTION("segment", 0, OPTION_STRING, segment, "N",
	       "only the segment that starts with record N"),
	OPTION_END,
};

static const struct verb_spec verbs[] = {
	TOOL_VERB(audit, setup, NULL, OPERAND_NONE, 0, 0, setup_options,
		  "create a log and print its public key"),
	TOOL_VERB(audit, key, "[change]", OPERAND_WORD, 0, 1, plain_options,
		  "print the current public key, or start a new epoch", .lister = "echo change"),
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
	TOOL_VERB_NAMED("verify-proof", audit_verb_verify_proof, "[FILE]", OPERAND_PATH, 0, 1,
			proof_options, "check a proof"),
	TOOL_VERB(audit, consistency, "SIZE SIZE", OPERAND_WORD, 2, 2, plain_options,
		  "print a proof that the log only grew"),
	{ .name = NULL },
};

static bool is_verb(const char *word, size_t n)
{
	for (const struct verb_spec *verb = verbs; verb->name; verb++)
		if (strlen(verb->name) == n && memcmp(verb->name, word, n) == 0)
			return true;
	return false;
}

void audit_name_log(const void *values, struct sbx_error *err)
{
	static const char name[] = "sbx-audit ", option[] = " --log";
	const char *directory = ((const struct audit_values *)values)->directory;
	const char *rest = err->fix, *verb, *end;
	_cleanup_text_ struct text fix = TEXT_INIT;

	while (directory && (verb = strstr(rest, name))) {
		verb += strlen(name);
		end = verb + strspn(verb, "abcdefghijklmnopqrstuvwxyz-");
		text_add_bytes(&fix, rest, (size_t)(end - rest));
		if (is_verb(verb, (size_t)(end - verb)) &&
		    strncmp(end, option, strlen(option)) != 0) {
			text_addf(&fix, "%s ", option);
			text_add_word_string(&fix, directory);
		}
		rest = end;
	}
	text_add(&fix, rest);
	if (text_status(&fix) == 0)
		sbx_error_fix(err, "%s", text_string(&fix));
}

static const struct tool tool = {
	.command = {
		.name = "sbx-audit",
		.summary = "Keeps a tamper-evident log.",
		.verbs = verbs,
	},
	.values_size = sizeof(struct audit_values),
	.usage_status = TOOL_USAGE,
	.adapt = audit_name_log,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
