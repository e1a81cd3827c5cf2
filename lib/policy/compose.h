/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Composition: a policy and everything around it that grants or denies, as one set of rules
 *
 * The rules of a file are not all that decides what a sandbox may do: a dialect has an implicit
 * view of the system, "mounts" put other files at a path, secrets and sockets are granted by
 * settings, and the command line grants more. Each of these becomes a rule with its origin, so that
 * policy_decide() over the composed policy is the one reading of all of them, for eval, the service
 * and the planner.
 *
 * compose_begin() adds the rules and settings of the policy; compose_grant(), compose_deny() and
 * compose_cover() add the rest; compose_finish() gives a policy to compile. The rules of the policy
 * keep their numbers; added rules follow them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/model.h"

struct sbx_error;

struct composition {
	const char *project; /* absolute and normal; or NULL: not known */
	/*
	 * The kernel cannot tell callers, tags, states and modes apart: with this a condition on
	 * one of them holds in a denial, and does not in a permission. A bound on the size of files
	 * is left out, because a resource limit enforces it.
	 */
	bool is_worst_case;
	const char *level;     /* with the worst case: the sandbox's, "L1" */
	const char *home;      /* the command's, where it is a directory in memory; or NULL */
	bool has_own_tmp;      /* the sandbox has a /tmp of its own, whatever the project is */
	bool is_limiting_exec; /* the view lets nothing be executed: programs are named */
	/* Returns the real path of @path, or @path itself. May be NULL. */
	const char *(*resolve)(void *context, const char *path);
	void *context;
	/* Exceptions from the implicit view of the project. */
	const struct composed_except *excepts;
	size_t n_excepts;
};

struct composer {
	struct arena *arena;
	struct policy policy; /* the result */
	struct arena_rows rules;
	size_t n_original; /* rules of the policy's own files */
	struct composition with;
	struct arena_rows covers; /* rules that put other files at their path, or the host's in a
				     tmpfs */
	bool no_memory;
};

/* A path that a grant of a directory above it does not include. */
struct composed_except {
	const char *path;
	uint64_t operations; /* 0: all; or fs.write alone */
};

/* A path of a setting or an option. Strings are borrowed. */
struct composed_path {
	const char *name; /* of the rule: "--read", "mounts" */
	const char *path; /* as it is seen inside; absolute, or "." for the project */
	uint64_t operations;
	struct policy_place place; /* of the setting; line 0: in no file */
	const struct composed_except *excepts;
	size_t n_excepts;
};

/* @policy may be NULL: then only added rules count. It must outlive the composed policy, as @arena
 * must. */
void compose_begin(struct composer *composer, const struct policy *policy,
		   const struct composition *with, struct arena *arena);
/* Each returns the number of the new rule. */
size_t compose_grant(struct composer *composer, const struct composed_path *path);
size_t compose_deny(struct composer *composer, const struct composed_path *path);
/* Other files are mounted at the path: permissions around it do not count for them. */
size_t compose_cover(struct composer *composer, const struct composed_path *path);
/* A grant of files of the host; a cover below /tmp and the home, where the rules around it are
 * about a tmpfs. */
size_t compose_show(struct composer *composer, const struct composed_path *path);
/* A tmpfs: rules around a grant below it are about the files of the tmpfs. */
size_t compose_tmpfs(struct composer *composer, const struct composed_path *path);
/* -ENOMEM, or 0: @ret is valid as long as arena and original policy. */
int compose_finish(struct composer *composer, const struct policy **ret);

/*
 * The artefact of a policy without options of a command line: eval and the service decide by it.
 * @resolve gets an arena as its context, for the path that it returns.
 */
int policy_compile_composed(const struct policy *policy,
			    const char *(*resolve)(void *arena, const char *path), void **ret_block,
			    size_t *ret_n_bytes, struct sbx_error *err);
