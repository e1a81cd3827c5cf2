/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Guarded paths and built-in rules, which no policy, token or extension can change
 *
 * A guarded path is one that no sandbox may write, or see. Evaluator, planner and server use one
 * table: sbx's own files, by literal paths from the system, the home and the XDG variables, and the
 * files of the policy in force. Each row means its path and everything below it. sbx-policy, the
 * service and sbx-spawn use one list for a request, so that eval and the sandbox agree.
 *
 * The built-in rules are compiled in and judged first. One of them is a default, which a rule of
 * the policy can override.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "policy/model.h"

struct arena;
struct policy_request;

/* Names of built-in rules. */
#define GUARDED_BY_POLICY_FILES "builtin:policy-files"
#define GUARDED_BY_PROGRAMS "builtin:programs"
#define GUARDED_BY_UNITS "builtin:units"
#define GUARDED_BY_DAEMON_FILES "builtin:daemon-files"
#define GUARDED_BY_AUDIT_LOG "builtin:audit-log"
#define GUARDED_BY_STATE "builtin:state-database"

/* Nearly all guarded paths contain this: a path without it is compared with few rows. */
#define GUARDED_MARK "sbx"

enum guarded_what {
	GUARDED_WRITE,	/* must not be written */
	GUARDED_HIDDEN, /* must not be seen either: sockets of services and of other sandboxes */
};

struct guarded {
	const char *path; /* absolute and normal */
	size_t len;
	const char *rule; /* name of the built-in rule */
	enum guarded_what what;
	bool may_be_made; /* a directory of the caller's own: if it is missing and a sandbox could
			     create it, the caller creates it first (0700) */
};

/* If two rows match a path, the first one counts. */
struct guarded_list {
	const struct guarded *rows;
	size_t n_rows;
	size_t n_unmarked; /* the leading rows: policies and link targets; the paths of all other
			      rows contain GUARDED_MARK */
	size_t n_own;	   /* the rows after those: the caller's places */
};

/* Absolute and normal paths; NULL if unknown. */
struct guarded_places {
	const char *home;
	const char *config;   /* $XDG_CONFIG_HOME */
	const char *state;    /* $XDG_STATE_HOME */
	const char *runtime;  /* $XDG_RUNTIME_DIR */
	const char *fallback; /* directory of the registry without $XDG_RUNTIME_DIR: /tmp/sbx-UID */
	const char *const *policies;
	size_t n_policies;
};

/* Pure. Allocates texts in @arena, or refers to those of @places. 0 or -ENOMEM. */
int guarded_list(const struct guarded_places *places, struct arena *arena,
		 struct guarded_list *ret);

/*
 * The same for this process: places from @environment, and for @uid. Includes each of @policies
 * (except "-" and NULL) with every symbolic link on the way to it, because replacing a link selects
 * another policy, and with the .previous and .meta.json that update keeps. If the path of another
 * row contains a link, its real path is a row, too. 0 or negative errno.
 */
int guarded_find(char *const *environment, uid_t uid, const char *const *policies,
		 size_t n_policies, struct arena *arena, struct guarded_list *ret);

/* The row that equals @path or contains it, among those that are @what or stricter; or NULL. */
const struct guarded *guarded_match(const struct guarded_list *list, const char *path,
				    enum guarded_what what);

#define BUILTIN_RULES_MAX 10

struct builtin_rule {
	const char *name;
	uint64_t operations;
	bool is_guard; /* applies to the guarded paths of its name; false: to any argument */
	const char *const *unless_modes; /* NULL-terminated; does not apply in these modes */
	enum policy_action action;
	bool is_default; /* a rule of the file that allows it overrides it; a token does not */
	const char *reason;
};

/* Terminated by a NULL name. */
const struct builtin_rule *builtin_rules(void);

/*
 * The most severe built-in rule that applies, or NULL. @guarded may be NULL. @rules is
 * builtin_rules(), or an empty table in the test that the system works without any.
 */
const struct builtin_rule *builtin_judge(const struct builtin_rule *rules,
					 const struct policy_request *request,
					 uint64_t operation_bit,
					 const struct guarded_list *guarded);
