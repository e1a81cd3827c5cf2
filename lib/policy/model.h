/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The model: a policy of any dialect, before it is compiled
 *
 * Everything is allocated in the policy's arena and freed with it. A rule is a name, a match, an
 * action, exceptions, constraints, a reason and its place in a file. The order of rules has no
 * meaning; the order of the file is kept only so that messages are stable.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/tree.h"

struct sbx_error;
struct text;

/*
 * The operations that a policy can name: one const table
 *
 * A request with an operation that is not in the table is denied; a policy that names one is an
 * error. A row's number is its bit in a set of operations, which artefacts store: append new rows
 * only.
 */

/* How the operation's argument is checked and matched. */
enum operation_argument {
	ARGUMENT_NONE, /* none, or anything: tool.* operations are matched by caller, tags, state,
			  mode */
	ARGUMENT_PATH, /* an absolute normal path */
	ARGUMENT_HOST, /* a host name or an address, and a port */
};

/* Each class has its own default (defaults.fs and so on). */
enum operation_class {
	CLASS_FS,
	CLASS_NET,
	CLASS_EXEC,
	CLASS_TOOL,
	N_CLASSES,
};

struct operation {
	const char *name; /* "fs.read" */
	enum operation_class kind;
	enum operation_argument argument;
	const char *help; /* one line */
};

#define OPERATION_UNKNOWN (-1)
#define OPERATIONS_MAX 64

/* The row with this name, or OPERATION_UNKNOWN. */
int operation_find(const char *name);
/* NULL after the last row. */
const struct operation *operation_at(int row);
/* The most similar known name, or NULL. */
const char *operation_suggest(const char *name);
const char *operation_class_name(enum operation_class kind);
/* Adds the names of a set: "fs.read, exec". */
void operation_add_names(struct text *out, uint64_t set);
/*
 * The operations that match a pattern: a name, "fs.*" (a class, or a prefix of names), or "*". 0 if
 * it matches none.
 */
uint64_t operation_set(const char *pattern);

#define DIGEST_SIZE 32 /* SHA-256 */

/* In ascending severity: the most severe action that applies is the answer. */
enum policy_action {
	POLICY_PASS,
	POLICY_ALLOW,
	POLICY_WARN,
	POLICY_REVIEW,
	POLICY_DENY,
};

/* Does it allow, if only with a warning? */
static inline bool policy_permits(enum policy_action action)
{
	return action == POLICY_ALLOW || action == POLICY_WARN;
}

/* A position in one file (source) of a layered policy. */
struct policy_place {
	unsigned source;
	struct tree_place at;
};

/* The keys of a condition. All that are present must hold; a list holds if any of its values
 * does. */
enum match_key {
	MATCH_PATH,   /* values: globs; one that begins with '!' excludes, and exclusion takes
			 precedence */
	MATCH_HOST,   /* values: "example.com", "*.example.com" */
	MATCH_CIDR,   /* values: "10.0.0.0/8", "::1/128", also single addresses */
	MATCH_PORT,   /* values: "443", "8000-9000" */
	MATCH_PROTO,  /* "tcp", "udp" */
	MATCH_CALLER, /* exact names, as are the next three */
	MATCH_TAG,
	MATCH_STATE,
	MATCH_MODE,
	N_MATCH_KEYS,
};

/*
 * A value as written. A path from "path:" (not "path_glob:") is literal: it means itself and
 * everything below it.
 */
struct match_value {
	const char *text;
	struct policy_place place;
	bool literal;
};

/* Does it begin with '!', so that it excludes paths that the list's other globs match? */
static inline bool match_value_excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

struct match_list {
	bool present; /* present without values: never holds */
	const struct match_value *values;
	size_t n_values;
	struct policy_place place;
};

struct condition {
	uint64_t operations; /* bit set; 0 in an exception: all operations of its rule */
	struct match_list lists[N_MATCH_KEYS];
	struct policy_place place;
};

/* What sbx-proxy demands of a connection that a client opens with CONNECT. Stored in artefacts. */
enum tls_demand {
	TLS_SNI, /* TLS, whose ClientHello names the host of the request; also without any rule */
	TLS_ANY, /* nothing: the proxy does not look at the bytes */
};

struct constraints {
	const char *require_sandbox; /* "L2" or NULL */
	bool require_token;
	uint64_t max_file_size_bytes; /* UINT64_MAX: no limit */
	const char *sha256;  /* of the program, 64 lower-case hex digits, or NULL; the caller
				computes the program's digest, a decision compares them */
	enum tls_demand tls; /* of net.connect */
};

/* A line "OPERATION ARGUMENT" that the rule's match must, or must not, cover; checked at every
 * load. */
struct example {
	const char *text;
	bool matches;
	struct policy_place place;
};

/* Where a rule comes from, which decides how it can be changed: a name is the author's. Stored in
 * artefacts. */
enum rule_kind {
	RULE_OF_CAPABILITIES,
	RULE_OF_SECTION, /* of fs, net, exec, a list of hosts or a manifest: has no exceptions */
	RULE_OF_MOUNT,	 /* implied by an entry of mounts */
	RULE_OF_NET_MODE,
	N_RULE_KINDS,
};

struct rule {
	const char *name;
	enum policy_action action;
	enum rule_kind kind;
	struct condition match;
	const struct condition *exceptions;
	size_t n_exceptions;
	struct constraints constraints;
	const char *reason; /* may be NULL */
	const struct example *examples;
	size_t n_examples;
	struct policy_place place;
};

/*
 * A named value of the sections that are not rules (isolation, limits, mounts, ...). A list is
 * itself a setting, so that an empty one differs from an absent one; a map is not. The limits and
 * the network of a manifest are stored under sbx's own paths.
 */
struct setting {
	const char *path; /* "limits.memory", "mounts[2].source" */
	enum tree_type type;
	const char *text;
	uint64_t number; /* sizes in bytes, times in microseconds, counts, processors in
			    thousandths, 1 for true, a list's length; else 0 */
	struct policy_place place;
};

struct extension_program {
	const char *name;
	const char *const *argv; /* NULL-terminated */
	struct policy_place place;
};

/* The name of the source where no file is given. */
#define POLICY_BUILT_IN_VIEW "the built-in view"

struct policy_source {
	const char *name; /* as given when it was opened: "p.yaml" */
	const char *bytes;
	size_t n_bytes;
	uint8_t digest[DIGEST_SIZE]; /* of the file's bytes */
	bool narrows; /* a project's own file: its allows count only if the other sources allow it
			 too */
};

enum policy_dialect {
	DIALECT_SBX, /* keys of both of the next two */
	DIALECT_BUNTIME,
	DIALECT_FLUFFY,
	DIALECT_MANIFEST,
};

/* What a policy shows other than by rules (view.h). */
enum policy_view_name {
	VIEW_NONE,
	VIEW_OF_PROJECT,
	VIEW_OF_SYSTEM,
};

struct policy {
	struct arena arena;
	struct policy *merged; /* freed with this one, which borrows its texts; it may have more */
	enum policy_dialect dialect;
	enum policy_view_name view; /* that of the dialect, unless the key "view" names another */
	struct policy_source *sources;
	size_t n_sources;
	enum policy_action defaults[N_CLASSES]; /* POLICY_DENY unless the file sets another */
	bool says_default[N_CLASSES]; /* the file sets it; merging only takes over such a default */
	struct rule *rules;
	size_t n_rules;
	struct setting *settings; /* sorted by policy_compare_paths() */
	size_t n_settings;
	struct extension_program *extensions;
	size_t n_extensions;
	/* Of a composed policy: sbx-proxy connects, so of the permissions to connect only those
	 * with 'cidr' count for special addresses (policy/network.h). */
	bool special_needs_cidr;
	/* Of a policy with a project's own file: the operations that the files before it cannot
	 * judge without the project's root, or without a port. They still cannot if that file
	 * removes the view, mount or setting that needs it. */
	uint64_t needs_project;
	uint64_t needs_port;
	uint8_t digest[DIGEST_SIZE]; /* over all sources; decisions and tokens are bound to it */
};

struct policy *policy_free(struct policy *policy);
CLEANUP_BY(struct policy, policy_free)
#define _cleanup_policy_ _cleanup_(policy_free_ptr)

/* NULL if the policy does not set it. In these four @policy may be NULL: it sets nothing. */
const struct setting *policy_get_setting(const struct policy *policy, const char *path);
/* 0 or NULL if it is not set. */
uint64_t policy_get_number(const struct policy *policy, const char *path);
const char *policy_get_text(const struct policy *policy, const char *path);
/* The i-th item of a list of values; NULL after the last. */
const struct setting *policy_get_item(const struct policy *policy, const char *list, size_t i);
/* The setting's path after @section ("env.set."), or NULL if it is not in it. */
const char *setting_below(const struct setting *setting, const char *section);
/* Like strcmp(), but "[2]" sorts before "[10]" and a section before its contents. */
int policy_compare_paths(const char *a, const char *b);

/*
 * SHA-256 over each source in order: its length as 8 bytes, little-endian, then its bytes. The
 * length's highest bit means that the source narrows. 0 or -ENOMEM.
 */
int policy_make_digest(const struct policy *policy, uint8_t ret[DIGEST_SIZE]);
void digest_of(const void *bytes, size_t n_bytes, uint8_t ret[DIGEST_SIZE]);

const char *policy_action_name(enum policy_action action); /* "require_review" for POLICY_REVIEW */
/* False if there is no such action. */
bool policy_action_find(const char *name, enum policy_action *ret);
const char *match_key_name(enum match_key key);

/*
 * Text → model, for every dialect (load*.c)
 *
 * Keys are one const table (policy/keys.h). An unknown or misplaced key, and a value of a wrong
 * type or with an ambiguous unit, is an error with file:line:column and a suggestion. Examples
 * inside rules are checked at the end: a rule that contradicts one of its examples is an error.
 */

/* @name precedes line and column in errors. */
int policy_load(const char *name, const void *bytes, size_t n_bytes, struct policy **ret,
		struct sbx_error *err);
/* "-" is standard input. */
int policy_load_file(int dirfd, const char *path, struct policy **ret, struct sbx_error *err);

/*
 * Passes all mistakes that one pass can find, not only the first, to @report. A text that is not
 * even YAML or JSON has one. The examples of rules are checked only if there is no other mistake.
 * Returns the number of mistakes, or -ENOMEM.
 */
int policy_load_all_mistakes(const char *name, const void *bytes, size_t n_bytes,
			     void (*report)(const struct sbx_error *err, void *userdata),
			     void *userdata);

/* Several files, and the text of a policy (merge.c and print.c): */

/*
 * Joins @policies (which it takes, also on failure) in the order system, user, project. Rules are
 * all kept: severity decides, not order. Defaults: of those that files set, deny takes precedence;
 * one that the first file does not set is deny, and a later file without it changes nothing.
 * Settings: a later file may only narrow a limit or drop a mount or a device, never widen: -EACCES
 * with both places in @err. Two extensions of one name are -EEXIST.
 *
 * With @last_narrows the last file is a project's own: its allows count only for requests that the
 * earlier files allow as well; it must not name an extension; and it may set what no earlier file
 * sets only if that cannot widen (-EACCES). A request that the earlier files cannot judge, because
 * it lacks the project or a port, stays refused.
 */
int policy_merge(struct policy **policies, size_t n_policies, int last_narrows, struct policy **ret,
		 struct sbx_error *err);

/*
 * Adds canonical text in sbx's own dialect; loading it gives a policy that decides the same. If two
 * files use one name for a rule, the second gets a number. -EOPNOTSUPP for a rule that one file
 * cannot express: an allow of a narrowing source.
 */
int policy_print(const struct policy *policy, struct text *out);
int policy_print_json(const struct policy *policy, struct text *out);
/* The first such rule; NULL if the policy can be printed. */
const struct rule *policy_find_unprintable(const struct policy *policy);
