/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Probable mistakes in a policy that loads: rules that cannot apply, that mean less than they seem
 * to, or that the kernel cannot enforce
 */

#include <sbx/error.h>

#include "policy/model.h"

/* Codes stay the same from release to release; sbx-policy(5) lists them. */
struct policy_warning {
	char code[8]; /* "W01" */
	struct policy_place place;
	struct sbx_error error; /* of level warn, with what, why and fix */
	bool is_refused;	/* sbx-spawn of this version refuses to start under the policy */
};

/* Passes each warning to @report, in the order of the files. Returns their number, or negative
 * errno. */
int policy_check(const struct policy *policy,
		 void (*report)(const struct policy_warning *warning, void *userdata),
		 void *userdata);
