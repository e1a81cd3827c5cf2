/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Composition: a policy and everything else that grants or denies, as one set of rules
 *
 * A file's rules alone do not decide what a sandbox may do: a dialect has an implicit view of the
 * system, "mounts" put other files at a path, settings grant secrets and sockets, and the command
 * line grants more. Each of these becomes a rule with its origin, so that policy_decide() on the
 * composed policy is the one interpretation of all of them, for eval, the service and the planner.
 *
 * compose_begin() adds the rules and settings of the policy, compose_add() the rest;
 * compose_finish() returns a policy to compile. The policy's rules keep their numbers; added rules
 * follow them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/model.h"

struct glob;
struct sbx_error;

struct composition {
	const char *project; /* absolute and normal; NULL: unknown */
	/*
	 * The kernel cannot check callers, tags, states and modes: in the worst case a condition on
	 * one of them holds in a denial, and does not in a permission. A bound on file sizes is
	 * left out, because a resource limit enforces it.
	 */
	bool is_worst_case;
	const char *level;     /* in the worst case: the sandbox's level, such as "L1" */
	const char *home;      /* the command's, if it is on a tmpfs; or NULL */
	bool has_own_tmp;      /* the sandbox has its own /tmp, even if that is the project */
	bool is_limiting_exec; /* the view lets nothing be executed, because programs are named */
	/* Returns the real path of @path, or @path itself. May be NULL. */
	const char *(*resolve)(void *context, const char *path);
	/* The same for the target of a mount, where other links are followed; NULL: @resolve. */
	const char *(*resolve_target)(void *context, const char *path);
	/*
	 * Returns the real path inside at which the innermost mount, of the policy or of an option,
	 * shows @path; NULL if no mount does. NULL: the policy's mounts are all there are.
	 */
	const char *(*find_shown)(void *context, const char *path);
	void *context;
	/* Paths excluded from the implicit view of the project. */
	const struct composed_except *excepts;
	size_t n_excepts;
};

struct composer {
	struct arena *arena;
	struct policy policy; /* the composed policy */
	struct arena_rows rules;
	size_t n_original; /* rules of the policy's own files */
	struct composition with;
	struct arena_rows covers; /* rules that put other files at their path, or the host's files
				     into a tmpfs */
	bool no_memory;
};

/* A path below a granted directory that the grant excludes. */
struct composed_except {
	const char *path;
	uint64_t operations; /* 0: all; or only fs.write */
};

/* A path of a setting or an option. Borrows the strings. */
struct composed_path {
	const char *name; /* the rule's name: "--read", "mounts" */
	enum rule_kind kind;
	const char *path; /* as seen inside; absolute, or "." for the project */
	uint64_t operations;
	struct policy_place place; /* of the setting; line 0: not in a file */
	const struct composed_except *excepts;
	size_t n_excepts;
};

/* @policy may be NULL: then only added rules apply. @policy and @arena must outlive the composed
 * policy. */
void compose_begin(struct composer *composer, const struct policy *policy,
		   const struct composition *with, struct arena *arena);
enum composed_kind {
	COMPOSE_GRANT,
	COMPOSE_DENY,
	COMPOSE_COVER, /* mounts other files at the path: permissions around it do not apply */
	COMPOSE_SHOW,  /* grants files of the host; below /tmp and the home, where the rules around
			  it are about a tmpfs, it is also a cover */
	COMPOSE_ADD,   /* the same, but grants around it that show the host's files apply, too */
	COMPOSE_TMPFS, /* rules around a grant below it are about the tmpfs's own files */
};
void compose_add(struct composer *composer, enum composed_kind kind,
		 const struct composed_path *path);
/* 0 or -ENOMEM; @ret is valid as long as the arena and the original policy. */
int compose_finish(struct composer *composer, const struct policy **ret);

/*
 * Compiles a policy composed without command line options: eval and the service decide with it.
 * Without @project (NULL) it is for requests of any project, and the links in relative paths of
 * rules are not resolved. @resolve gets an arena, in which it allocates the path that it returns.
 */
int policy_compile_composed(const struct policy *policy, const char *project,
			    const char *(*resolve)(void *arena, const char *path), void **ret_block,
			    size_t *ret_n_bytes, struct sbx_error *err);
/*
 * Compiles the rules by which sbx-proxy decides for a sandbox, whose mode is proxy whatever the
 * policy says: the worst case, in which special addresses are protected. @policy may be NULL; then
 * everything is denied.
 */
int policy_compile_proxied(const struct policy *policy, void **ret_block, size_t *ret_n_bytes,
			   struct sbx_error *err);

/* ---- for the files that add rules to a composition ---- */

/* NULL if there is no memory, which the composer remembers. */
void *composer_take(struct composer *composer, size_t n_bytes);
struct rule *composer_add_rule(struct composer *composer, const struct rule *rule);

/* Does the value stand for one path, or one path and all below it? */
bool composer_parse_plain(const struct match_value *value, struct glob *ret);
/* The literal path of the glob; NULL if it is relative and @project is unknown. */
const char *composer_name_path(struct composer *composer, const struct glob *glob,
			       const char *project);

/* ---- covers (cover.c) ---- */

/*
 * Paths at which a sandbox has other files than the rules around them are about
 *
 * A mount hides the host's files, and a tmpfs hides them all; what is shown of the host inside a
 * tmpfs is a cover of that.
 */
struct cover {
	size_t number;	  /* number of its rule */
	const char *path; /* before links are resolved */
	bool is_of_host;  /* the host's own files, which other grants may also show; it only counts
			     as a cover if the rules around it are about a tmpfs */
	bool is_tmpfs;
	bool adds; /* the operations of covers around it that show the host's files apply, too */
};

void cover_add(struct composer *composer, struct cover cover);
/* When all rules are known: adds denials for the paths of covers, and exceptions to the grants of
 * tmpfs. */
void covers_apply(struct composer *composer);
