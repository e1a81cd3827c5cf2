/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The evaluator: the only one, on the artefact, for every tool
 *
 * An engine holds the scratch memory of one thread, sized when it is made: a decision allocates
 * nothing, whatever it is asked. Built-in rules are compiled into the program (policy/builtin),
 * come first and always; then, unless a valid token was given, the rules of the artefact. Extension
 * programs are asked by the caller (lib/extension), between policy_decide() and policy_add_votes().
 *
 * deny > require_review > warn > allow > pass, and then the default of the operation's class. Order
 * has no part in it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/artefact.h"
#include "policy/model.h"

struct guarded_list;
struct policy_engine;
struct sbx_error;

/* Texts are borrowed and may be NULL; a list ends with NULL. */
struct policy_request {
	const char *operation;
	const char *path;	  /* ARGUMENT_PATH: absolute and normal */
	const char *project_root; /* absolute and normal, for globs below the project */
	const char *host;	  /* ARGUMENT_HOST: a name or an address */
	const char *address;	  /* one that the host resolves to; NULL: not known, or the host
				     is one */
	uint16_t port;
	bool has_port;
	const char *proto; /* "tcp" (also NULL) or "udp" */
	const char *caller;
	const char *const *caller_tags;
	const char *state;
	const char *mode;
	const char *sandbox; /* the sandbox's level, "L2", for require_sandbox; or NULL */
	uint64_t size_bytes; /* of the write, for max_file_size */
	bool has_size;
	const char *sha256; /* of the program that is executed: 64 hex digits, or NULL */
	bool has_token;	    /* a token for exactly this request was found valid */
};

/* Facts that a request may leave unsaid. A request by a sandboxed command has none of them. */
enum policy_unsaid {
	UNSAID_CALLER,
	UNSAID_TAG,
	UNSAID_STATE,
	UNSAID_MODE,
	UNSAID_TOKEN,
	UNSAID_DIGEST,
	UNSAID_SIZE,
	UNSAID_LEVEL,
	UNSAID_ADDRESS, /* of a host that is a name */
	N_UNSAID,
};
/* "caller", "caller_tag", ... */
const char *policy_unsaid_name(enum policy_unsaid fact);

/* A rule that could change the answer, and the unsaid facts that it asks for. */
struct policy_dependence {
	uint32_t rule;	/* row of SECTION_RULES */
	unsigned facts; /* bits of enum policy_unsaid */
};
enum { POLICY_DEPENDENCES_MAX = 16 };

enum policy_cause {
	CAUSE_DEFAULT, /* no rule applies */
	CAUSE_RULES,
	CAUSE_BUILTIN,
	CAUSE_TOKEN,
	CAUSE_CONSTRAINT, /* a rule allows, but its constraint does not hold */
	CAUSE_EXTENSION,
	CAUSE_BAD_REQUEST, /* it cannot be judged, so it is denied: an unknown operation, a path
			      that is not normal */
};

struct policy_decision {
	enum policy_action verdict; /* never POLICY_PASS */
	enum policy_cause cause;
	const uint32_t *rules; /* rows of SECTION_RULES that have the verdict's action, ascending;
				  engine's memory */
	size_t n_rules;
	const char *builtin;		/* CAUSE_BUILTIN: the rule's name */
	const char *extension;		/* CAUSE_EXTENSION: the program's name */
	const char *reason;		/* of every cause but CAUSE_RULES; NULL there */
	struct constraints constraints; /* of all allowing rules together: the strictest */
	/* The facts on which the answer may depend: a request that says any other besides has the
	 * same verdict. Then the first rules that ask for them; a built-in rule is none. */
	unsigned facts;
	const struct policy_dependence *dependences; /* ascending by rule; engine's memory */
	size_t n_dependences;
	bool is_of_ordinary_address; /* a special address would be denied: UNSAID_ADDRESS */
};

/* @artefact must outlive the engine. */
int policy_engine_new(const struct artefact *artefact, struct policy_engine **ret);
/* With @list for the built-in rules from the beginning: borrowed. NULL: the system's. */
int policy_engine_new_guarded(const struct artefact *artefact, const struct guarded_list *list,
			      struct policy_engine **ret);
struct policy_engine *policy_engine_free(struct policy_engine *engine);
void policy_engine_free_ptr(struct policy_engine **engine);
#define _cleanup_engine_ _cleanup_(policy_engine_free_ptr)

/* Sets the paths that built-in rules are about: borrowed. NULL: those that it was made with. */
void policy_engine_guard(struct policy_engine *engine, const struct guarded_list *list);

/* @ret's pointers are valid until the engine's next decision. */
void policy_decide(struct policy_engine *engine, const struct policy_request *request,
		   struct policy_decision *ret);

/* The answer of an extension program. */
struct policy_vote {
	const char *extension;
	enum policy_action action;
	const char *reason;
};

/* May votes of extensions still change it? If not they are not even asked. */
bool policy_wants_votes(const struct policy_decision *decision);
/* Adds the votes of extensions to a decision that is neither denied nor made by a token. */
void policy_add_votes(struct policy_decision *decision, const struct policy_vote *votes,
		      size_t n_votes);

/* Why a rule that was near a request applies or not. */
enum policy_near {
	NEAR_APPLIES,
	NEAR_EXCEPTED,	/* the match holds, an exception takes it back */
	NEAR_OPERATION, /* right argument, other operation */
	NEAR_KEY,	/* right operation; this is the first key that does not hold */
	NEAR_EXCLUDED,	/* its path is taken out by a '!' glob */
};

struct policy_explanation {
	uint32_t rule;
	enum policy_near near;
	enum match_key key; /* NEAR_KEY; MATCH_CIDR also where a special address needs it */
	uint32_t exception; /* NEAR_EXCEPTED: which, from 0 */
};

/*
 * Never short-circuits: one row for every rule whose operation or indexed key holds, ascending by
 * rule. Returns the number of rows, of which at most @max are written.
 */
size_t policy_explain(struct policy_engine *engine, const struct policy_request *request,
		      struct policy_explanation *rows, size_t max);
