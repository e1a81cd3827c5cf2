/* SPDX-License-Identifier: MIT */

/*
 * sbx-spawn: build one sandbox from a policy and run one command in it
 *
 * The status belongs to the command, so whatever is ours is 125. A build that cannot isolate says
 * so and runs nothing: there is no way from here to a command outside a sandbox.
 */

#include <errno.h>

#include <sbx/error.h>

#include "tool.h"

struct spawn_values {
	const char *policy;
};

static const struct option_spec options[] = {
	{ .name = "policy",
	  .letter = 'p',
	  .kind = OPTION_PATH,
	  .offset = offsetof(struct spawn_values, policy),
	  .metavar = "FILE",
	  .help = "read the policy from FILE" },
	OPTION_END,
};

static int spawn(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	int r = sbx_error_what(err, -ENOSYS, "cannot run '%s' in a sandbox yet", operands[0]);

	sbx_error_why(err, "this release, %s, cannot build sandboxes; nothing was run",
		      SBX_VERSION);
	sbx_error_fix(err, "install a release whose NEWS.md says that sbx-spawn isolates");
	return r;
}

static const struct tool tool = {
	.command = {
		.name = "sbx-spawn",
		.summary = "Builds a sandbox from a policy and runs one command in it.",
		.operands = "[--] COMMAND [ARGUMENT...]",
		.operand_kind = OPERAND_COMMAND,
		.min_operands = 1,
		.max_operands = OPERANDS_ANY,
		.stops_at_operand = true,
		.options = options,
		.run = spawn,
	},
	.values_size = sizeof(struct spawn_values),
	.usage_status = TOOL_FAILED,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
