/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The search for denials, as the files of denial*.c see it
 */

#include <stdbool.h>
#include <stdint.h>

#include "policy/artefact.h"
#include "token/scope.h"

/* What the paths of a condition have to do with the scope. */
#define PATHS_MEET 1u	  /* a glob of it and the scope have a path in common, or may have */
#define PATHS_COVER 2u	  /* a glob of it has all of the scope's paths */
#define PATHS_EXCLUDE 4u  /* a glob with '!' and the scope may have a path in common */
#define PATHS_TAKE_OUT 8u /* a glob with '!' has all of the scope's paths */

struct denial {
	const struct artefact *artefact;
	const struct scope *scope;
	const char *project_root; /* NULL: none, and no glob of the operation needs one */
	uint64_t bit;		  /* of the operation */
	bool is_exec;
	uint8_t *found; /* by condition: PATHS_ bits, and those of denial.c */
};

/* denial-path.c: adds PATHS_ bits. 0 or -ENOMEM. */
int denial_walk_paths(struct denial *denial);
/* denial-host.c: may one of these values hold for the scope? For all of it? */
bool denial_value_meets(const struct denial *denial, const struct artefact_value *value);
bool denial_value_covers(const struct denial *denial, const struct artefact_value *value);
