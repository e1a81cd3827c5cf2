/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One loaded policy: all that a decision needs, checked before it is used and never changed
 * afterwards
 *
 * The server points at one generation. A reload builds another and switches the pointer; a question
 * that waits for an extension keeps a reference to the old one, so that no answer mixes two
 * policies.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "policy/artefact.h"
#include "policy/decide.h"
#include "policy/guarded.h"

struct extension;
struct generation;
struct policy;
struct question;
struct sbx_error;
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
	struct policy *policy; /* NULL if the file is a compiled policy */
	char *bytes;	       /* of the compiled file */
	void *block;	       /* the artefact that the server compiled */
	struct artefact artefact;
	struct policy_engine *engine;
	struct guarded_list guarded;
	struct arena arena; /* memory of the paths in guarded */
	struct generation_extension extensions[GENERATION_EXTENSIONS_MAX];
	size_t n_extensions;
	struct question *waiting; /* questions that wait for extensions */
};

/*
 * Loads @paths, in the order system, user, project; a single one may be a compiled policy. Takes
 * the places of guarded files from @environment (HOME and the like). Starts the extension programs.
 */
int generation_load(const char *const *paths, size_t n_paths, char *const *environment,
		    struct generation **ret, struct sbx_error *err);
struct generation *generation_ref(struct generation *generation);
struct generation *generation_unref(struct generation *generation);
CLEANUP_BY(struct generation, generation_unref)
#define _cleanup_generation_ _cleanup_(generation_unref_ptr)

const uint8_t *generation_digest(const struct generation *generation);

/*
 * Does this policy allow a token of these terms to be issued, or to stay valid? -EACCES if a deny
 * rule or a built-in rule covers, or may cover, something in its scope; -EINVAL if the policy
 * cannot judge the terms.
 */
int generation_check_token(struct generation *generation, const struct token_terms *terms,
			   struct sbx_error *err);
