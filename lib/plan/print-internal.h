/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Words that a printed plan uses, as text and as JSON
 */

#include "plan/plan-internal.h"

struct flag_name {
	unsigned flag;
	const char *name;
};

struct flag_names {
	const struct flag_name *rows;
	size_t n;
};

extern const struct flag_names names_of_flags;	  /* of steps */
extern const struct flag_names names_of_variants; /* of the filter */
extern const struct flag_names names_of_rights;	  /* of a Landlock rule, shortened */
extern const struct flag_names names_of_accesses; /* all that Landlock handles */

/* "p.yaml:14 'runtime'", "template 'code-executor'", "built-in" */
void origin_add_text(struct text *out, const struct step_origin *origin);
