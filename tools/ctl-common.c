/* SPDX-License-Identifier: MIT */

/*
 * What every verb begins and ends with: the registry, a sandbox in it, and what its failure means
 * for the exit status
 */

#include "ctl.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"

#include "tool.h"

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

uint64_t ctl_now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int ctl_fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *why,
	     const char *fix)
{
	(void)sbx_error_what(err, code, "cannot %s '%s'", doing, id);
	if (why)
		sbx_error_why(err, "%s", why);
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
	if (ret->entry.state == SANDBOX_CREATING)
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
	json_write(&json, out);
	json_add_object(&json);
	json_member_string(&json, "id", id);
	json_member_string(&json, "done", done);
	json_end_object(&json);
	text_add_char(out, '\n');
}
