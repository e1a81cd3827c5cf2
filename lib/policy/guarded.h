/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The guarded paths: what no sandbox writes, and what none sees, whatever a policy says
 *
 * One table for the evaluator, the planner and the server: sbx's own files, by literal paths from
 * the system, the home and the XDG variables, and the files that the policy in force came from.
 * Each row means its path and everything below it. sbx-policy, the service and sbx-spawn use one
 * list for a request, so that eval and the sandbox agree.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct arena;

/* Names of built-in rules, which stand in policy/builtin.c. */
#define GUARDED_BY_POLICY_FILES "builtin:policy-files"
#define GUARDED_BY_PROGRAMS "builtin:programs"
#define GUARDED_BY_UNITS "builtin:units"
#define GUARDED_BY_DAEMON_FILES "builtin:daemon-files"
#define GUARDED_BY_AUDIT_LOG "builtin:audit-log"
#define GUARDED_BY_STATE "builtin:state-database"

/* What nearly all of the paths contain: for others few rows need a look. */
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
	size_t n_unmarked; /* the first ones: policies and what links lead to; the paths of all
			      others contain GUARDED_MARK */
	size_t n_own;	   /* the next ones: the caller's places */
};

/* Absolute and normal paths; NULL where one is not known. */
struct guarded_places {
	const char *home;
	const char *config;   /* $XDG_CONFIG_HOME */
	const char *state;    /* $XDG_STATE_HOME */
	const char *runtime;  /* $XDG_RUNTIME_DIR */
	const char *fallback; /* where the registry lies without that: /tmp/sbx-UID */
	const char *const *policies;
	size_t n_policies;
};

/* Pure. Texts live in @arena, or are those of @places. 0 or -ENOMEM. */
int guarded_list(const struct guarded_places *places, struct arena *arena,
		 struct guarded_list *ret);

/*
 * guarded-find.c: the same for this process: places from @environment, and for @uid; each of
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
