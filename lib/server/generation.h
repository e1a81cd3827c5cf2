/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One policy in force: all that a decision needs, loaded and checked before it is used, and never
 * changed afterwards
 *
 * The server points at one generation. A reload makes another one and changes the pointer; a
 * question that still waits for an extension keeps the one it began with, so that no answer is made
 * of two policies.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/artefact.h"
#include "policy/decide.h"
#include "policy/guarded.h"

struct extension;
struct generation;
struct policy;
struct question;
struct sbx_error;
struct sd_event;
struct sd_event_source;
struct token_terms;

#define GENERATION_EXTENSIONS_MAX 64

struct generation_extension {
	struct generation *generation;
	size_t index;
	struct extension *extension;
	struct sd_event_source *source;
};

struct generation {
	unsigned n_refs;
	struct policy *policy; /* NULL: the file is a compiled one */
	char *bytes;	       /* the compiled file */
	void *block;	       /* what was compiled here */
	struct artefact artefact;
	struct policy_engine *engine;
	struct guarded_list guarded;
	struct arena arena; /* of its paths */
	struct generation_extension extensions[GENERATION_EXTENSIONS_MAX];
	size_t n_extensions;
	struct question *waiting; /* for extensions */
};

/*
 * @paths in the order system, user, project; a single one may be a compiled policy. @environment
 * is read for the places of guarded files (HOME and the like). Starts the extension programs.
 */
int generation_load(const char *const *paths, size_t n_paths, char *const *environment,
		    struct generation **ret, struct sbx_error *err);
struct generation *generation_ref(struct generation *generation);
struct generation *generation_unref(struct generation *generation);
void generation_unref_ptr(struct generation **generation);
#define _cleanup_generation_ _cleanup_(generation_unref_ptr)

const uint8_t *generation_digest(const struct generation *generation);

/*
 * May a token of these terms be issued, or stay, under this policy? -EACCES where a rule denies
 * something in its scope, or may, or a built-in rule does; -EINVAL where the policy cannot judge
 * it.
 */
int generation_check_token(struct generation *generation, const struct token_terms *terms,
			   struct sbx_error *err);
