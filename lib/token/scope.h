/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The scope of a token: the set of paths or hosts that its glob covers, and whether one scope
 * contains another
 *
 * It is parsed from the text of the token for each use, because tokens store texts, not parsed
 * globs.
 */

#include <stdbool.h>
#include <stddef.h>

#include "policy/glob.h"
#include "policy/network.h"
#include "policy/model.h"

struct policy_request;
struct sbx_error;
struct text;

#define SCOPE_STEPS_MAX 512

/* Contains pointers into itself: do not copy. */
struct scope {
	enum operation_argument argument;
	bool is_everything; /* no glob was given; the steps of a path are then one "**" */
	/* ARGUMENT_PATH: the components from the root directory */
	struct glob_component steps[SCOPE_STEPS_MAX];
	size_t n_steps;
	struct glob glob;      /* the steps point into it, or into the project's path */
	struct host_port host; /* ARGUMENT_HOST */
};

/*
 * @glob: NULL (everything), a path glob, "HOST", "*.HOST" or "HOST:PORT". A relative path glob
 * begins at @project_root, which is borrowed. -EINVAL with the reason.
 */
int scope_parse(enum operation_argument argument, const char *glob, const char *project_root,
		struct scope *ret, struct sbx_error *err);

bool scope_covers(const struct scope *scope, const struct policy_request *request);
/* True only if @outer covers everything that @inner covers; may be false although it does. */
bool scope_is_within(const struct scope *inner, const struct scope *outer);
/*
 * The same walk for callers with other globs. @at[i]: the first i steps may have matched what was
 * walked; @at[n_steps]: the whole scope may have. These functions say what is possible,
 * scope_is_within() what is certain.
 */
void scope_begin(const struct scope *scope, bool at[SCOPE_STEPS_MAX + 1]);
/* Advances by one component, which may match many names; a "**" by any number of any names. */
void scope_may_step(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1],
		    const struct glob_component *component, bool ret[SCOPE_STEPS_MAX + 1]);
/* May the scope contain paths that are longer than what was walked? */
bool scope_may_go_on(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1]);

/*
 * Adds one path or host that the scope covers, as an example for a request. -ENOENT if none is easy
 * to construct: a glob with character classes, or a scope of everything.
 */
int scope_add_example(const struct scope *scope, struct text *out);
