/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Words that a printed plan uses, as text and as JSON
 */

#include "plan/plan-internal.h"

extern const struct flag_names names_of_accesses; /* all that Landlock handles */

/* "p.yaml:14 'runtime'", "template 'code-executor'", "built-in" */
void origin_add_text(struct text *out, const struct step_origin *origin);
/* "full: user mount pid" */
void plan_add_layers(struct text *out, const struct plan *plan);
