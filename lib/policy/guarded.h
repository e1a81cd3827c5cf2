/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Guarded paths and built-in rules, which no policy, token or extension can change
 *
 * A guarded path is one that no sandbox writes, or sees. One table for the evaluator, the planner
 * and the server: sbx's own files, by literal paths from the system, the home and the XDG
 * variables, and the files of the policy in force. Each row means its path and everything below it.
 * sbx-policy, the service and sbx-spawn use one list for a request, so that eval and the sandbox
 * agree.
 *
 * The built-in rules are compiled in and judged first. One of them is a default, which a rule of
 * the policy can allow.
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

/* Nearly all of the paths contain it: a path without it is compared with few rows. */
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
	bool may_be_made; /* the caller's own directory: where it is missing, and a sandbox could
			     make it, the caller makes it first (0700) */
};

/* Where two rows hold for a path, the first one counts. */
struct guarded_list {
	const struct guarded *rows;
	size_t n_rows;
	size_t n_unmarked; /* the first rows: policies and targets of links; the paths of all other
			      rows contain GUARDED_MARK */
	size_t n_own;	   /* the next rows: the caller's places */
};

/* Absolute and normal paths; NULL where one is not known. */
struct guarded_places {
	const char *home;
	const char *config;   /* $XDG_CONFIG_HOME */
	const char *state;    /* $XDG_STATE_HOME */
	const char *runtime;  /* $XDG_RUNTIME_DIR */
	const char *fallback; /* the registry without $XDG_RUNTIME_DIR: /tmp/sbx-UID */
	const char *const *policies;
	size_t n_policies;
};

/* Pure. Texts live in @arena, or are those of @places. 0 or -ENOMEM. */
int guarded_list(const struct guarded_places *places, struct arena *arena,
		 struct guarded_list *ret);

/*
 * The same for this process: places from @environment, and for @uid; each of
 * @policies ("-" and NULL are left out) with every link on the way to it, because a link that is
 * replaced names another policy, and with .previous and .meta.json where update has kept them.
 * Where the way to another row leads through a link, the path behind it is a row, too. 0 or
 * negative errno.
 */
int guarded_find(char *const *environment, uid_t uid, const char *const *policies,
		 size_t n_policies, struct arena *arena, struct guarded_list *ret);

/* The row that @path is or lies below, of those that are @what or more; or NULL. */
const struct guarded *guarded_match(const struct guarded_list *list, const char *path,
				    enum guarded_what what);

#define BUILTIN_RULES_MAX 10

struct builtin_rule {
	const char *name;
	uint64_t operations;
	bool is_guard; /* about the guarded paths of its name; else about any argument */
	const char *const *unless_modes; /* NULL-terminated; not in these modes */
	enum policy_action action;
	bool is_default; /* a rule of the file that allows it is stronger; a token is not */
	const char *reason;
};

/* Ended by a NULL name. */
const struct builtin_rule *builtin_rules(void);

/*
 * The most severe built-in rule that applies, or NULL. @guarded may be NULL. @rules is
 * builtin_rules(), or an empty table in the test that shows that the system works without any.
 */
const struct builtin_rule *builtin_judge(const struct builtin_rule *rules,
					 const struct policy_request *request,
					 uint64_t operation_bit,
					 const struct guarded_list *guarded);
