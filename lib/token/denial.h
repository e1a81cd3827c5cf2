/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Could a deny rule apply to a request that a token allows?
 *
 * A request with a valid token is allowed without evaluating the policy. So a token must not be
 * issued, and must not survive a reload, if a rule denies a request in its scope. The later
 * requests are not known: a condition of a deny rule counts as true unless its path, host or port
 * excludes the whole scope, and an exception counts only if it covers the whole scope.
 */

#include <stdint.h>

struct artefact;
struct token_terms;

/* 1: *@ret_rule (a row of SECTION_RULES) applies, or may apply. 0: no rule does. -ENOMEM; -EINVAL:
 * the terms are not valid. */
int denial_find(const struct artefact *artefact, const struct token_terms *terms,
		uint32_t *ret_rule);
