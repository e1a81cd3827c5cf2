/* SPDX-License-Identifier: MIT */

/*
 * Where the heads of a log go that a verb has open
 *
 * The watch belongs to the log: freeing the log sends the last head. A head that could not be sent
 * is reported and is not an error: the record is in the log, and the next head covers it.
 */

#include "audit.h"

#include <stdlib.h>
#include <time.h>

#include <sbx/error.h>

#include "audit/heads.h"
#include "tool.h"

struct watching {
	struct tool_run *run;
	struct heads *heads;
};

static void on_head(void *userdata, const struct audit_head *head)
{
	struct watching *watching = userdata;
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	heads_take(watching->heads, head);
	(void)heads_turn(watching->heads,
			 (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

static void on_end(void *userdata)
{
	struct watching *watching = userdata;
	struct heads_state state;

	heads_finish(watching->heads);
	heads_get_state(watching->heads, &state);
	if (state.problem[0] != '\0')
		log_write(&watching->run->log, LOG_LEVEL_WARNING, NULL, "%s", state.problem);
	(void)heads_free(watching->heads);
	free(watching);
}

int heads_watch(struct tool_run *run, struct audit_log *log, struct sbx_error *err)
{
	const struct audit_values *values = run->values;
	const struct heads_options options = { .tool = run->tool->command.name,
					       .witness = values->witness_command };
	_cleanup_free_ struct watching *watching = calloc(1, sizeof(*watching));
	int r;

	if (!watching)
		return sbx_error_what(err, -ENOMEM, "cannot prepare to send the log's heads");
	watching->run = run;
	r = heads_new(&options, &watching->heads, err);
	if (r < 0)
		return r;
	const struct audit_watch watch = { on_head, on_end, take_ptr(watching) };

	audit_log_watch(log, &watch);
	return 0;
}
