/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl: the sandboxes that there are, from their making to what they leave behind
 *
 * This file is the table of its verbs. There is no daemon: what is known of a sandbox stands in its
 * folder of the registry, and a sandbox is running as long as its supervisor holds that folder's
 * lock.
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
	  .help = "its name; without this, one is made up" },
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
	  .help = "go on until the sandbox ends" },
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
	  .help = "only say what would be done" },
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
	     create_options, "check a configuration and keep it, to be started later"),
	VERB(start, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "start what was created"),
	VERB(list, NULL, OPERAND_NONE, 0, 0, NULL, "the sandboxes that there are"),
	VERB(inspect, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "all that is known, as JSON"),
	VERB(stop, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, stop_options,
	     "ask a sandbox to end, and kill it if it does not"),
	VERB(kill, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, kill_options,
	     "kill a sandbox at once, or send a signal"),
	VERB(pause, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "hold all its processes"),
	VERB(resume, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL, "let them go on"),
	VERB(exec, "ID -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 2, OPERANDS_ANY, NULL,
	     "run another command in a sandbox that allows it"),
	VERB(logs, "ID", OPERAND_WORD, 1, 1, logs_options, "what it has written"),
	VERB(wait, "ID", OPERAND_WORD, 1, 1, NULL, "wait for its end; the status is the command's"),
	VERB(remove, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, remove_options,
	     "forget a sandbox that has ended"),
	VERB(gc, NULL, OPERAND_NONE, 0, 0, gc_options,
	     "take away what killed supervisors have left behind"),
	VERB(volume, "create NAME|list|remove NAME...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
	     "folders for output, each for one sandbox"),
	VERB(ping, "[ID...]", OPERAND_WORD, 0, OPERANDS_ANY, NULL,
	     "can this host build sandboxes? is this running?"),
	{ .name = NULL },
};
/* clang-format on */

static const struct tool tool = {
	.command = {
		.name = CTL_TOOL,
		.summary = "Starts, shows, stops and cleans up sandboxes.",
		.verbs = verbs,
	},
	.values_size = sizeof(struct ctl_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	_cleanup_free_ char **arranged = create_arrange(argc, argv, &argc);

	return arranged ? tool_main(&tool, argc, arranged) : TOOL_FAILED;
}
