/* SPDX-License-Identifier: MIT */
#pragma once

/* The search for rules that deny a token, shared by denial*.c */

#include <stdbool.h>
#include <stdint.h>

#include "policy/artefact.h"
#include "token/scope.h"

/* Bits of denial.found: how the path globs of a condition relate to the paths of the scope. */
#define PATHS_MEET 1u	  /* a glob and the scope have, or may have, a path in common */
#define PATHS_COVER 2u	  /* one glob contains all paths of the scope */
#define PATHS_EXCLUDE 4u  /* a glob with '!' and the scope may have a path in common */
#define PATHS_TAKE_OUT 8u /* one glob with '!' contains all paths of the scope */

struct denial {
	const struct artefact *artefact;
	const struct scope *scope;
	const char *project_root; /* NULL: the terms name no project */
	uint64_t bit;		  /* of the operation in operation sets */
	bool is_exec;
	uint8_t *found; /* one byte for each condition: PATHS_ bits and the VALUES_ bits of denial.c
			 */
};

/* denial-path.c: sets PATHS_ bits in @found. 0 or -ENOMEM. */
int denial_walk_paths(struct denial *denial);
/* denial-host.c: does this value match some host and port of the scope? All of them? */
bool denial_value_meets(const struct denial *denial, const struct artefact_value *value);
bool denial_value_covers(const struct denial *denial, const struct artefact_value *value);
