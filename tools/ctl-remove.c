/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl remove: forgets a sandbox that is over, with its log and its status
 */

#include "ctl.h"

#include <errno.h>

#include <sbx/error.h>

static int remove_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_registration_ struct registration registration = REGISTRATION_INIT;
	struct cleanup cleanup;
	uint64_t grace_usec;
	int r = stop_read_time(ctl->values, &grace_usec, err);

	if (r == 0)
		r = cleanup_claim(&cleanup, ctl, id, &registration, err);
	if (r == -EBUSY && !ctl->values->force)
		return ctl_fail(err, r, "remove", id, "it is running",
				"stop it first: 'sbx-ctl stop', or 'sbx-ctl remove --force'");
	if (r == -EBUSY) {
		if (err)
			err->code = 0;
		r = stop_sandbox(ctl, id, grace_usec, err);
		if (r == 0)
			r = cleanup_claim(&cleanup, ctl, id, &registration, err);
		/* It has taken its folder with it. */
		if (r == -ENOENT) {
			if (err)
				err->code = 0;
			return 0;
		}
	}
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
