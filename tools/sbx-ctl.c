/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl: create, start, list, stop and clean up sandboxes
 *
 * This file is the table of its verbs. There is no daemon: the state of a sandbox is a file in its
 * directory of the registry, and a sandbox is running as long as its supervisor holds the lock of
 * that directory.
 */

#include "ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/process.h"

#include "tool.h"

static const char *const signals[] = { "KILL", "TERM", "INT", "HUP", "QUIT", "USR1", "USR2", NULL };

#define OPTION(...) OPTION_ROW(struct ctl_values, __VA_ARGS__)
#define OPTION_TIME_TO_END                                                                         \
	OPTION("time", 't', OPTION_STRING, time, "TIME",                                           \
	       "how long it may take to end by itself (10s)")

static const struct option_spec create_options[] = {
	OPTION("id", 0, OPTION_STRING, id, "ID", "name of the sandbox (default: a random one)"),
	OPTION_END,
};

static const struct option_spec stop_options[] = {
	OPTION_TIME_TO_END,
	OPTION_END,
};

static const struct option_spec kill_options[] = {
	OPTION("signal", 's', OPTION_CHOICE, signal, "NAME",
	       "another signal, for the command alone", .choices = signals),
	OPTION_END,
};

static const struct option_spec logs_options[] = {
	OPTION("follow", 'f', OPTION_FLAG, follow, NULL, "keep printing until the sandbox ends"),
	OPTION_END,
};

static const struct option_spec remove_options[] = {
	OPTION("force", 'f', OPTION_FLAG, force, NULL, "stop it first if it is running"),
	OPTION_TIME_TO_END,
	OPTION_END,
};

static const struct option_spec gc_options[] = {
	OPTION("dry-run", 'n', OPTION_FLAG, dry_run, NULL,
	       "print what would be done, change nothing"),
	OPTION("ended", 0, OPTION_FLAG, ended, NULL, "also remove those that have ended"),
	OPTION_END,
};

/* The names of sandboxes, for shells. */
#define LISTER CTL_TOOL " list -q"

static const struct verb_spec verbs[] = {
	TOOL_VERB(ctl, create, "[SPAWN OPTION...] -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 0,
		  OPERANDS_ANY, create_options, "check a configuration and store it for start"),
	TOOL_VERB(ctl, start, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
		  "start created sandboxes", .lister = LISTER),
	TOOL_VERB(ctl, list, NULL, OPERAND_NONE, 0, 0, NULL,
		  "list sandboxes, and how ended ones ended"),
	TOOL_VERB(ctl, inspect, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
		  "print the state of sandboxes as JSON", .lister = LISTER),
	TOOL_VERB(ctl, stop, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, stop_options,
		  "ask a sandbox to end, and kill it if it does not", .lister = LISTER),
	TOOL_VERB(ctl, kill, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, kill_options,
		  "kill a sandbox at once, or send a signal", .lister = LISTER),
	TOOL_VERB(ctl, pause, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
		  "pause all processes of a sandbox", .lister = LISTER),
	TOOL_VERB(ctl, resume, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, NULL,
		  "resume a paused sandbox", .lister = LISTER),
	TOOL_VERB(ctl, exec, "ID -- COMMAND [ARGUMENT...]", OPERAND_COMMAND, 2, OPERANDS_ANY, NULL,
		  "run another command in a sandbox that allows it", .lister = LISTER),
	TOOL_VERB(ctl, logs, "ID", OPERAND_WORD, 1, 1, logs_options,
		  "print what a sandbox has written", .lister = LISTER),
	TOOL_VERB(ctl, wait, "ID", OPERAND_WORD, 1, 1, NULL,
		  "wait for its end and exit with its status", .lister = LISTER),
	TOOL_VERB(ctl, remove, "ID...", OPERAND_WORD, 1, OPERANDS_ANY, remove_options,
		  "remove a sandbox with its log and status", .lister = LISTER),
	TOOL_VERB(ctl, gc, NULL, OPERAND_NONE, 0, 0, gc_options,
		  "remove what crashed sandboxes left behind"),
	TOOL_VERB(ctl, volume, "create NAME|list|remove NAME...", OPERAND_WORD, 1, OPERANDS_ANY,
		  NULL, "manage directories for output",
		  .lister = "echo create; echo list; echo remove"),
	TOOL_VERB(ctl, ping, "[ID...]", OPERAND_WORD, 0, OPERANDS_ANY, NULL,
		  "check that sandboxes can be built, or are running", .lister = LISTER),
	{ .name = NULL },
};

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

/* Shared by the verbs: the registry, a sandbox in it, and the exit status of a failure */

int ctl_init(struct ctl *ctl, struct tool_run *run, struct sbx_error *err)
{
	*ctl = (struct ctl){ .run = run, .values = run->values, .arena = ARENA_INIT };
	ctl->umask = process_open_umask();
	ctl->registry = registry_open(environ, err);
	return ctl->registry < 0 ? ctl->registry : 0;
}

void ctl_deinit(struct ctl *ctl)
{
	close_fd(&ctl->registry);
	arena_deinit(&ctl->arena);
}

int ctl_fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *why,
	     const char *fix)
{
	(void)error_fill(err, code, why, NULL, "cannot %s '%s'", doing, id);
	if (fix)
		error_fix_for(err, fix, id);
	return code;
}

int ctl_read(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err)
{
	return registry_read(ctl->registry, id, &ctl->arena, &ret->entry, &ret->is_alive, err);
}

bool ctl_has_ended(const struct sandbox_entry *entry)
{
	return entry->state == SANDBOX_DESTROYED ||
	       (entry->state == SANDBOX_FAILED && entry->has_status);
}

int ctl_read_running(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err)
{
	int r = ctl_read(ctl, id, ret, err);

	if (r < 0)
		return r;
	if (ret->is_alive && ret->entry.state == SANDBOX_RUNNING)
		return 0;
	if (ret->is_alive)
		return ctl_fail(err, -ESRCH, "find a running sandbox", id,
				ret->entry.state == SANDBOX_CREATING ? "it is being built"
								     : "it is ending",
				"wait a moment; 'sbx-ctl list' shows its state");
	if (ctl_has_ended(&ret->entry))
		return ctl_fail(err, -ESRCH, "find a running sandbox", id, "it has ended",
				"'sbx-ctl create' creates another");
	if (ret->entry.waits)
		return ctl_fail(err, -ESRCH, "find a running sandbox", id,
				"it was created, but not started", "start it: sbx-ctl start ID");
	return ctl_fail(err, -ESRCH, "find a running sandbox", id,
			"its supervisor was killed, and all its processes with it",
			"clean up with 'sbx-ctl gc'");
}

int ctl_status(int r)
{
	static const int refusals[] = { -ENOENT, -ESRCH, -EBUSY, -EEXIST, -EACCES, -EPERM };

	if (r == -EINVAL)
		return TOOL_USAGE;
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++)
		if (r == refusals[i])
			return TOOL_NO;
	return r;
}

int ctl_each(void *context, int n_operands, char *operands[], ctl_each_fn *one,
	     struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	int first = ctl_init(&ctl, context, err), n_failed = 0;

	if (first < 0)
		return first;
	for (int i = 0; i < n_operands; i++) {
		int r = one(&ctl, operands[i], n_failed > 0 ? NULL : err);

		if (r < 0 && n_failed++ == 0)
			first = r;
	}
	if (n_failed > 1)
		sbx_error_context(err, "%d more failed", n_failed - 1);
	return ctl_status(first);
}

void ctl_warn(struct ctl *ctl, struct sbx_error *warning)
{
	warning->level = SBX_LEVEL_WARN;
	tool_tell(ctl->run, warning);
}

void ctl_say(struct ctl *ctl, const char *id, const char *done)
{
	struct text *out = &ctl->run->out;
	struct json_writer json;

	if (ctl->run->verbosity < 0)
		return;
	if (!ctl->run->json) {
		text_addf(out, "%s: %s\n", id, done);
		return;
	}
	json_begin_object(&json, out);
	json_member_string(&json, "id", id);
	json_member_string(&json, "done", done);
	json_end_line(&json);
}
