/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl remove: forgets a sandbox that is over, with its log and its status
 */

#include "ctl.h"

#include <errno.h>

#include <sbx/error.h>

/* Stops it first. -ENOENT: the sandbox has removed its directory itself. */
static int stop_and_claim(struct cleanup *cleanup, struct ctl *ctl, const char *id,
			  struct registration *registration, uint64_t grace_usec,
			  struct sbx_error *err)
{
	int r = stop_sandbox(ctl, id, grace_usec, err);

	if (r < 0)
		return r;
	r = cleanup_claim(cleanup, ctl, id, registration, err);
	/* Its supervisor has ended, so the lock belongs to another process of sbx-ctl. */
	if (r == -EBUSY)
		return ctl_fail(err, r, "remove", id,
				"it was stopped, and another process is cleaning up after it",
				"repeat it in a moment");
	return r;
}

static int remove_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_registration_ struct registration registration = REGISTRATION_INIT;
	struct sbx_error why = { .code = 0 };
	struct cleanup cleanup;
	uint64_t grace_usec;
	int r = stop_read_time(ctl->values, &grace_usec, err);

	if (r < 0)
		return r;
	r = cleanup_claim(&cleanup, ctl, id, &registration, &why);
	if (r == -EBUSY && !ctl->values->force)
		return ctl_fail(
			err, r, "remove", id, "it is running",
			"stop it first: 'sbx-ctl stop ID', or use 'sbx-ctl remove --force ID'");
	if (r == -EBUSY) {
		r = stop_and_claim(&cleanup, ctl, id, &registration, grace_usec, &why);
		if (r == -ENOENT)
			return 0;
	}
	if (r < 0 && err)
		*err = why;
	if (r < 0)
		return r;
	cleanup.keeps_folder = false;
	cleanup.is_quiet = true;
	return cleanup_run(&cleanup, err);
}

int ctl_verb_remove(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, remove_one, err);
}
