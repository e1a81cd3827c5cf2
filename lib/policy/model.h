/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The model: a policy of any dialect, before it is compiled
 *
 * Everything lives in the policy's arena and dies with it. A rule is a name, a match, an action,
 * exceptions, constraints, a reason and its place in a file. The order of rules has no meaning;
 * they are kept in the order of the file only so that messages are stable.
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
 * An operation that is not in the table is denied for a request, and an error where a policy names
 * it. The number of a row is its bit in a set of operations, also in artefacts, so a new row goes
 * to the end.
 */

/* Decides how the argument is checked and matched. */
enum operation_argument {
	ARGUMENT_NONE, /* or anything: tool.* operations are matched by caller, tags, state, mode */
	ARGUMENT_PATH, /* an absolute normal path */
	ARGUMENT_HOST, /* a host name or an address, and a port */
};

/* Classes have defaults of their own (defaults.fs and so on). */
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

/* The row of that name, or OPERATION_UNKNOWN. */
int operation_find(const char *name);
/* NULL behind the last row. */
const struct operation *operation_at(int row);
/* The nearest known name, or NULL. */
const char *operation_suggest(const char *name);
const char *operation_class_name(enum operation_class kind);
/*
 * The operations of a pattern: a name, "fs.*" (a class, or what the names begin with), or "*". 0
 * where it names none.
 */
uint64_t operation_set(const char *pattern);

#define DIGEST_SIZE 32 /* SHA-256 */

/* In the order of severity: the highest one that applies is the answer. */
enum policy_action {
	POLICY_PASS,
	POLICY_ALLOW,
	POLICY_WARN,
	POLICY_REVIEW,
	POLICY_DENY,
};

/* A place in one file (source) of a layered policy. */
struct policy_place {
	unsigned source;
	struct tree_place at;
};

/* The keys of a condition. All that are present must hold; a list holds if any of its values does.
 */
enum match_key {
	MATCH_PATH,   /* values: globs; text beginning with '!' excludes, and exclusion wins */
	MATCH_HOST,   /* values: "example.com", "*.example.com" */
	MATCH_CIDR,   /* values: "10.0.0.0/8", "::1/128", also single addresses */
	MATCH_PORT,   /* values: "443", "8000-9000" */
	MATCH_PROTO,  /* "tcp", "udp" */
	MATCH_CALLER, /* exact names, as the next three */
	MATCH_TAG,
	MATCH_STATE,
	MATCH_MODE,
	N_MATCH_KEYS,
};

/*
 * A value as written. A path that came as "path:" (not "path_glob:") is literal: it means itself
 * and everything below it.
 */
struct match_value {
	const char *text;
	struct policy_place place;
	bool literal;
};

/* Does it begin with '!', so that it takes out what the list's other globs take in? */
static inline bool match_value_excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

struct match_list {
	bool present; /* present with no values: holds for nothing */
	const struct match_value *values;
	size_t n_values;
	struct policy_place place;
};

struct condition {
	uint64_t operations; /* bit set; 0 in an exception: every operation of its rule */
	struct match_list lists[N_MATCH_KEYS];
	struct policy_place place;
};

struct constraints {
	const char *require_sandbox; /* "L2" or NULL */
	bool require_token;
	uint64_t max_file_size_bytes; /* UINT64_MAX: no limit */
	const char *sha256; /* of the program, 64 lower-case hex digits, or NULL; the caller
			       measures the program's, a decision compares them */
};

/* One line "OPERATION ARGUMENT" that the rule's match must, or must not, cover; run at every load.
 */
struct example {
	const char *text;
	bool matches;
	struct policy_place place;
};

struct rule {
	const char *name;
	enum policy_action action;
	struct condition match;
	const struct condition *exceptions;
	size_t n_exceptions;
	struct constraints constraints;
	const char *reason; /* or NULL */
	const struct example *examples;
	size_t n_examples;
	struct policy_place place;
};

/*
 * A named value of the sections that are not rules (isolation, limits, mounts, ...). A list has a
 * setting of its own, so that an empty one is not the same as none; a map has not. The limits and
 * the network of a manifest have our paths.
 */
struct setting {
	const char *path; /* "limits.memory", "mounts[2].source" */
	enum tree_type type;
	const char *text;
	uint64_t number; /* sizes in bytes, times in microseconds, counts, processors in
			    thousandths, true is 1, a list's length; else 0 */
	struct policy_place place;
};

struct extension_program {
	const char *name;
	const char *const *argv; /* NULL-terminated */
	struct policy_place place;
};

struct policy_source {
	const char *name; /* as it was opened: "p.yaml" */
	const char *bytes;
	size_t n_bytes;
	uint8_t digest[DIGEST_SIZE]; /* of its bytes */
	bool narrows; /* a project's own file: its allows count only where the other sources allow
			 too */
};

enum policy_dialect {
	DIALECT_SBX, /* both of the next two at once */
	DIALECT_BUNTIME,
	DIALECT_FLUFFY,
	DIALECT_MANIFEST,
};

struct policy {
	struct arena arena;
	enum policy_dialect dialect;
	struct policy_source *sources;
	size_t n_sources;
	enum policy_action defaults[N_CLASSES]; /* POLICY_DENY unless the file says otherwise */
	bool says_default[N_CLASSES];		/* merging takes over only such a default */
	struct rule *rules;
	size_t n_rules;
	struct setting *settings; /* sorted: policy_compare_paths() */
	size_t n_settings;
	struct extension_program *extensions;
	size_t n_extensions;
	/* Of a composed policy: sbx-proxy connects, so of the permissions to connect only those
	 * with 'cidr' count for special addresses (policy/special.h). */
	bool special_needs_cidr;
	uint8_t digest[DIGEST_SIZE]; /* over all sources; decisions and tokens are bound to it */
};

struct policy *policy_free(struct policy *policy);
void policy_free_ptr(struct policy **policy);
#define _cleanup_policy_ _cleanup_(policy_free_ptr)

/* NULL where the policy does not have it. */
const struct setting *policy_get_setting(const struct policy *policy, const char *path);
/* Like strcmp(), but "[2]" comes before "[10]" and what is inside a section behind the section. */
int policy_compare_paths(const char *a, const char *b);

/*
 * SHA-256 over each source in order: its length as 8 bytes, little-endian, then its bytes. The
 * highest bit of the length says that the source only narrows. 0 or -ENOMEM.
 */
int policy_make_digest(const struct policy *policy, uint8_t ret[DIGEST_SIZE]);
void digest_of(const void *bytes, size_t n_bytes, uint8_t ret[DIGEST_SIZE]);

const char *policy_action_name(enum policy_action action); /* "require_review" for POLICY_REVIEW */
/* False where there is no such action. */
bool policy_action_find(const char *name, enum policy_action *ret);
const char *match_key_name(enum match_key key);

/*
 * Text → model, for every dialect (load*.c)
 *
 * Keys are one const table (policy/keys.h). A key that is unknown or at a wrong place, a value of a
 * wrong type or with an ambiguous unit is an error with file:line:column and a suggestion. Examples
 * inside rules are run at the end: a rule that contradicts one of its examples is an error.
 */

/* @name comes before every line and column in errors. */
int policy_load(const char *name, const void *bytes, size_t n_bytes, struct policy **ret,
		struct sbx_error *err);
/* "-" is standard input. */
int policy_load_file(int dirfd, const char *path, struct policy **ret, struct sbx_error *err);

/*
 * All mistakes of the text that can be found in one pass, instead of the first: each is handed to
 * @report. A text that is not even YAML or JSON has one. The examples of rules are tried only where
 * nothing else is wrong. Returns how many there were, or -ENOMEM.
 */
int policy_load_all_mistakes(const char *name, const void *bytes, size_t n_bytes,
			     void (*report)(const struct sbx_error *err, void *userdata),
			     void *userdata);

/* Several files, and the text of a policy (merge.c and print.c) */

/*
 * Joins @policies (which it takes over, also on failure) in the order system, user, project. Rules
 * are all kept: severity decides, not order. Defaults: of those that files give, deny wins; one
 * that the first file does not give is deny, and a later file without it changes nothing. Settings:
 * a later file may only narrow a limit, drop a mount or a device, never widen: -EACCES with both
 * places in @err. Two extensions of one name are -EEXIST.
 *
 * With @last_narrows the last file is a project's own: its allows count only for what the files
 * before it allow as well; it names no extension; and a setting that no file before it has, it may
 * have only where that cannot widen (-EACCES).
 */
int policy_merge(struct policy **policies, size_t n_policies, int last_narrows, struct policy **ret,
		 struct sbx_error *err);

/*
 * Canonical text in our own dialect; loading it gives a policy that decides the same. Where two
 * files use one name for a rule, the second gets a number. -EOPNOTSUPP for a rule that one file
 * cannot express: an allow of a source that only narrows.
 */
int policy_print(const struct policy *policy, struct text *out);
int policy_print_json(const struct policy *policy, struct text *out);
/* The first such rule; NULL where the policy can be printed. */
const struct rule *policy_find_unprintable(const struct policy *policy);
