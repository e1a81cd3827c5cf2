/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl: create, start, list, stop and clean up sandboxes
 *
 * This file is the table of its verbs. There is no daemon: the state of a sandbox is a file in its
 * directory of the registry, and a sandbox is running as long as its supervisor holds the lock of
 * that directory.
 */

#include "ctl.h"

#include <stdlib.h>

#include "tool.h"

static const char *const signals[] = { "KILL", "TERM", "INT", "HUP", "QUIT", "USR1", "USR2", NULL };

static const struct option_spec create_options[] = {
	{ .name = "id",
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct ctl_values, id),
	  .metavar = "ID",
	  .help = "name of the sandbox (default: a random one)" },
	OPTION_END,
};

static const struct option_spec stop_options[] = {
	{ .name = "time",
	  .letter = 't',
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct ctl_values, time),
	  .metavar = "TIME",
	  .help = "how long it may take to end by itself (10s)" },
	OPTION_END,
};

static const struct option_spec kill_options[] = {
	{ .name = "signal",
	  .letter = 's',
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct ctl_values, signal),
	  .metavar = "NAME",
	  .choices = signals,
	  .help = "another signal, for the command alone" },
	OPTION_END,
};

static const struct option_spec logs_options[] = {
	{ .name = "follow",
	  .letter = 'f',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct ctl_values, follow),
	  .help = "keep printing until the sandbox ends" },
	OPTION_END,
};

static const struct option_spec remove_options[] = {
	{ .name = "force",
	  .letter = 'f',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct ctl_values, force),
	  .help = "stop it first if it is running" },
	{ .name = "time",
	  .letter = 't',
	  .kind = OPTION_STRING,
	  .offset = offsetof(struct ctl_values, time),
	  .metavar = "TIME",
	  .help = "how long it may take to end by itself (10s)" },
	OPTION_END,
};

static const struct option_spec gc_options[] = {
	{ .name = "dry-run",
	  .letter = 'n',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct ctl_values, dry_run),
	  .help = "print what would be done, change nothing" },
	{ .name = "ended",
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct ctl_values, ended),
	  .help = "also remove those that have ended" },
	OPTION_END,
};

/* clang-format off */
#define VERB(verb, words, kind, least, most, table, text)                                          \
	{ .name = #verb, .operands = words, .operand_kind = kind, .min_operands = least,           \
	  .max_operands = most, .options = table, .help = text, .run = ctl_verb_##verb }

static const struct verb_spec verbs[] = {
	VERB(create, "[SPAWN OPTION...] -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 0, OPERANDS_ANY,
	     create_options, "check a configuration and store it for start"),
	VERB(start, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "start created sandboxes"),
	VERB(list, NULL, OPERAND_NONE, 0, 0, NULL, "list sandboxes, and how ended ones ended"),
	VERB(inspect, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "print the state of sandboxes as JSON"),
	VERB(stop, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, stop_options,
	     "ask a sandbox to end, and kill it if it does not"),
	VERB(kill, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, kill_options,
	     "kill a sandbox at once, or send a signal"),
	VERB(pause, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "pause all processes of a sandbox"),
	VERB(resume, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "resume a paused sandbox"),
	VERB(exec, "ID -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 2, OPERANDS_ANY, NULL,
	     "run another command in a sandbox that allows it"),
	VERB(logs, "ID", OPERAND_WORD, 1, 1, logs_options, "print what a sandbox has written"),
	VERB(wait, "ID", OPERAND_WORD, 1, 1, NULL, "wait for its end and exit with its status"),
	VERB(remove, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, remove_options,
	     "remove a sandbox with its log and status"),
	VERB(gc, NULL, OPERAND_NONE, 0, 0, gc_options,
	     "remove what crashed sandboxes left behind"),
	VERB(volume, "create NAME|list|remove NAME...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
	     "manage directories for output"),
	VERB(ping, "[ID...]", OPERAND_WORD, 0, OPERANDS_ANY, NULL,
	     "check that sandboxes can be built, or are running"),
	{ .name = NULL },
};
/* clang-format on */

static const struct tool tool = {
	.command = {
		.name = CTL_TOOL,
		.summary = "Starts, shows, stops and cleans up sandboxes.",
		.verbs = verbs,
		.first_verb = "list",
	},
	.values_size = sizeof(struct ctl_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	_cleanup_free_ char **arranged = create_arrange(argc, argv, &argc);

	return arranged ? tool_main(&tool, argc, arranged) : TOOL_FAILED;
}
