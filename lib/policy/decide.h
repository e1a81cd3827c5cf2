/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The evaluator: one for all tools, working on the artefact
 *
 * An engine has the scratch memory of one thread, sized when it is created: a decision never
 * allocates. Built-in rules are compiled into the program (policy/guarded.c) and always come first;
 * then, unless a valid token was given, the rules of the artefact. The caller asks extension
 * programs (lib/extension) between policy_decide() and policy_add_votes().
 *
 * Severity: deny > require_review > warn > allow > pass, and then the default of the operation's
 * class. The order of rules does not matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/artefact.h"
#include "policy/model.h"

struct guarded_list;
struct policy_engine;
struct sbx_error;

/* Borrows its texts, which may be NULL; lists end with NULL. */
struct policy_request {
	const char *operation;
	const char *path;	  /* for ARGUMENT_PATH: absolute and normal */
	const char *project_root; /* absolute and normal, for globs below the project */
	const char *host;	  /* for ARGUMENT_HOST: a name or an address */
	const char *address;	  /* one to which the host resolves; NULL: not known, or the host
				     is one */
	uint16_t port;
	bool has_port;
	const char *proto; /* "tcp" (the default for NULL) or "udp" */
	const char *caller;
	const char *const *caller_tags;
	const char *state;
	const char *mode;
	const char *sandbox; /* level such as "L2", for require_sandbox; or NULL */
	uint64_t size_bytes; /* of the write, for max_file_size */
	bool has_size;
	const char *sha256; /* of the executed program: 64 hex digits, or NULL */
	bool has_token;	    /* a valid token for exactly this request was given */
};

/* Facts that a request may leave out. A request by a sandboxed command has none of them. */
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

/* A rule that could change the answer, and the missing facts on which it depends. */
struct policy_dependence {
	uint32_t rule;	/* row of SECTION_RULES */
	unsigned facts; /* bits of enum policy_unsaid */
};
enum { POLICY_DEPENDENCES_MAX = 16 };

enum policy_cause {
	CAUSE_DEFAULT, /* no rule applied */
	CAUSE_RULES,
	CAUSE_BUILTIN,
	CAUSE_TOKEN,
	CAUSE_CONSTRAINT, /* a rule allows, but its constraint does not hold */
	CAUSE_EXTENSION,
	CAUSE_BAD_REQUEST, /* the request cannot be judged, so it is denied: an unknown operation, a
			      path that is not normal */
};

struct policy_decision {
	enum policy_action verdict; /* never POLICY_PASS */
	enum policy_cause cause;
	const uint32_t *rules; /* rows of SECTION_RULES with the verdict's action, ascending; the
				  engine's memory */
	size_t n_rules;
	const char *builtin;		/* for CAUSE_BUILTIN: the rule's name */
	const char *extension;		/* for CAUSE_EXTENSION: the program's name */
	const char *reason;		/* NULL for CAUSE_RULES */
	const char *note;		/* what differs in a sandbox; NULL unless eval or explain
					  sets it */
	struct constraints constraints; /* the strictest of all allowing rules'; without such a
					   rule its tls is TLS_SNI */
	/* The facts on which the answer may depend: stating any other fact does not change the
	 * verdict. Then the first rules that depend on them, without built-in rules. */
	unsigned facts;
	const struct policy_dependence *dependences; /* ascending by rule; the engine's memory */
	size_t n_dependences;
	bool is_of_ordinary_address; /* a special address would be denied: UNSAID_ADDRESS */
};

/* @artefact must outlive the engine. */
int policy_engine_new(const struct artefact *artefact, struct policy_engine **ret);
/* Compiles @policy for an engine that owns the result. @list, which is borrowed, is that of the
 * built-in rules from the beginning; NULL: the system's paths. @err is filled if a glob is refused.
 */
int policy_engine_compile(const struct policy *policy, const struct guarded_list *list,
			  struct policy_engine **ret, struct sbx_error *err);
struct policy_engine *policy_engine_free(struct policy_engine *engine);
CLEANUP_BY(struct policy_engine, policy_engine_free)
#define _cleanup_engine_ _cleanup_(policy_engine_free_ptr)

/* Sets the paths of built-in rules, which are borrowed. NULL: the list of the
 * beginning. */
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

/* Could votes of extensions still change the decision? If not, do not ask them. */
bool policy_wants_votes(const struct policy_decision *decision);
/* Adds the votes of extensions to a decision that policy_wants_votes(). */
void policy_add_votes(struct policy_decision *decision, const struct policy_vote *votes,
		      size_t n_votes);

/* Why a rule that nearly matched a request applies or not. */
enum policy_near {
	NEAR_APPLIES,
	NEAR_EXCEPTED,	/* the match holds, but so does an exception */
	NEAR_OPERATION, /* the argument matches, but not the operation */
	NEAR_KEY,	/* the operation matches, but not this key, the first that fails */
	NEAR_EXCLUDED,	/* a '!' glob excludes the path */
};

struct policy_explanation {
	uint32_t rule;
	enum policy_near near;
	enum match_key key; /* for NEAR_KEY; MATCH_CIDR also if a special address needs it */
	uint32_t exception; /* for NEAR_EXCEPTED: its number, from 0 */
};

/*
 * Checks all rules: one row for every rule whose operation or indexed key matches, ascending by
 * rule. Returns the number of rows, of which at most @max are written.
 */
size_t policy_explain(struct policy_engine *engine, const struct policy_request *request,
		      struct policy_explanation *rows, size_t max);
