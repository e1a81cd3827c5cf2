/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is probably wrong with a policy that loads: rules that cannot fire, mean less than they
 * look, or that the kernel cannot hold
 */

#include <sbx/error.h>

#include "policy/model.h"

struct artefact;

/* Every warning has a code that stays the same from release to release; the table is in check.c and
 * sbx-policy(5). */
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

/* The code's one line; NULL behind the last. */
struct policy_warning_kind {
	const char *code;
	const char *help;
};
const struct policy_warning_kind *policy_warning_kinds(void);
