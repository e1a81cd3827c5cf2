/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Probable mistakes of a policy that loads: rules that cannot apply, that mean less than they seem
 * to, or that the kernel cannot enforce
 */

#include <sbx/error.h>

#include "policy/model.h"

struct artefact;

/* A warning's code stays the same from release to release; sbx-policy(5) lists them. */
struct policy_warning {
	const char *code; /* "W01" */
	struct policy_place place;
	struct sbx_error error; /* level warn: what, why, fix */
	bool is_refused;	/* sbx-spawn of this version starts nothing under the policy */
};

/* Hands each warning to @report, in the order of the files. Returns how many, or negative errno. */
int policy_check(const struct policy *policy,
		 void (*report)(const struct policy_warning *warning, void *userdata),
		 void *userdata);
