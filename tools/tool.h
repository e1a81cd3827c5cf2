/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The common main of all tools
 *
 * A tool's file contains a struct of values, an options table, its verbs and one const struct tool;
 * its main() is "return tool_main(&tool, argc, argv)". Parsing, --help, --version, --completion,
 * printing errors and the mapping to exit statuses are here, so that all tools behave alike.
 */

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"

struct progress;

/*
 * Exit statuses. A verb returns one of these or a negative errno, which becomes TOOL_FAILED; a
 * filled error is printed in both cases.
 */
enum tool_status {
	TOOL_YES = 0,	 /* done, or yes */
	TOOL_NO = 1,	 /* no: denied, tampered, not found */
	TOOL_USAGE = 2,	 /* wrong usage or bad input */
	TOOL_REVIEW = 3, /* needs review */
	TOOL_INCOMPLETE = 4,
	TOOL_REFUSED = 4, /* sbx-spawn of this release starts nothing under the policy */
	TOOL_UNREADABLE = 5,
	TOOL_FAILED = 125, /* sbx itself failed */
};

struct tool {
	struct command command;
	size_t values_size; /* of the struct that the options' offsets point into */
	int usage_status;   /* TOOL_USAGE; TOOL_FAILED where the status belongs to a command */
	/* Adapts the fix of an error to the values, before it is printed; or NULL. */
	void (*adapt)(const void *values, struct sbx_error *err);
};

/* The context of a verb. */
struct tool_run {
	const struct tool *tool;
	void *values; /* the tool's own struct, filled from the options */
	bool json;
	int verbosity; /* -1 quiet, 0, 1, 2 */
	struct config *config;
	struct log log;
	struct text out; /* standard output; written when it grows (tool_flush()) and at the end */
};

/* A row of the tool's verbs. The members that few rows have follow the help, by their names. */
#define TOOL_VERB(tool, verb, ...) TOOL_VERB_NAMED(#verb, tool##_verb_##verb, __VA_ARGS__)
/* The same for a function that is not called like the verb. */
#define TOOL_VERB_NAMED(verb, function, words, kind, least, most, table, text, ...)                \
	{                                                                                          \
		.name = verb, .run = function, .operands = words, .operand_kind = kind,            \
		.min_operands = least, .max_operands = most, .options = table, .help = text,       \
		__VA_ARGS__                                                                        \
	}

int tool_main(const struct tool *tool, int argc, char *argv[]);

/*
 * Writes run->out to standard output and empties it. If the reader has gone the tool exits as by
 * SIGPIPE; any other failure is a negative errno with @err.
 */
int tool_flush(struct tool_run *run, struct sbx_error *err);

/* @value, or @usual if it is 0: the option was not given. */
static inline uint64_t tool_or_usual(uint64_t value, uint64_t usual)
{
	return value > 0 ? value : usual;
}

/* Prints @err now: an error, or with SBX_LEVEL_WARN a warning after which the tool continues. The
 * error that a verb returns is printed without this. */
void tool_tell(const struct tool_run *run, const struct sbx_error *err);
/* The same with a fix of several lines, which are made visible one by one. */
void tool_tell_lines(const struct tool_run *run, struct sbx_error *err, const char *fix);

/* Should progress be shown on stderr? "auto" means a terminal, without --quiet and --json. */
bool tool_wants_progress(const struct tool_run *run);
/* Shows on stderr what is measured, if progress is wanted; an empty name clears the line. */
void tool_show_measuring(const struct tool_run *run, const char *name);
/* Starts a progress line on stderr for a number of records, if it is wanted; @what: "verifying". */
void tool_begin_progress(const struct tool_run *run, struct progress *ret, const char *what);
