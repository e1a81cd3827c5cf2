/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Does a rule that denies meet what a token is for?
 *
 * A token goes past the rules of the policy when it is used, so it must not be issued, and not
 * outlive a reload, where a rule denies something in its scope. Whoever will use it and how is not
 * known: a condition of a rule that denies is taken to hold unless its path, host or port are
 * others than the scope's, and an exception only where it takes back all of the scope.
 */

#include <stdint.h>

struct artefact;
struct token_terms;

/* 1: @ret_rule (a row of SECTION_RULES) meets it, or may. 0: none does. -ENOMEM, or -EINVAL for
 * terms that no token has. */
int denial_find(const struct artefact *artefact, const struct token_terms *terms,
		uint32_t *ret_rule);
