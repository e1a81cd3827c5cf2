/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a token's glob covers: a set of paths or of hosts, and whether one set lies within another
 *
 * Read from its text whenever it is needed: a table of tokens holds texts, not parsed globs.
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

/* Points into itself: not to be copied. */
struct scope {
	enum operation_argument argument;
	bool is_everything; /* no glob was given; a path's steps are then one "**" */
	/* ARGUMENT_PATH: the components from the root of the file system on */
	struct glob_component steps[SCOPE_STEPS_MAX];
	size_t n_steps;
	struct glob glob;      /* what the steps point into, besides the project's path */
	struct host_port host; /* ARGUMENT_HOST */
};

/*
 * @glob: NULL (everything), a path glob, "HOST", "*.HOST" or "HOST:PORT". @project_root is where a
 * relative glob begins, and is borrowed. -EINVAL with the reason.
 */
int scope_parse(enum operation_argument argument, const char *glob, const char *project_root,
		struct scope *ret, struct sbx_error *err);

bool scope_covers(const struct scope *scope, const struct policy_request *request);
/* True only if everything that @inner covers is covered by @outer; sometimes false although it is.
 */
bool scope_is_within(const struct scope *inner, const struct scope *outer);
/*
 * The same walk for whoever has other globs than a scope's: @at says for each step, and behind the
 * last one, whether the scope can be before it. Here what may be counts, not what surely is.
 */
void scope_begin(const struct scope *scope, bool at[SCOPE_STEPS_MAX + 1]);
/* Behind one component, which may stand for many names; a "**" for any number of any. */
void scope_may_step(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1],
		    const struct glob_component *component, bool ret[SCOPE_STEPS_MAX + 1]);
/* May a path of the scope have more components than have been walked? */
bool scope_may_go_on(const struct scope *scope, const bool at[SCOPE_STEPS_MAX + 1]);

/*
 * One argument that the scope covers, to ask a policy about it: a path, or a host. -ENOENT where
 * none is easily made up, as for a glob with classes or for everything.
 */
int scope_add_example(const struct scope *scope, struct text *out);
