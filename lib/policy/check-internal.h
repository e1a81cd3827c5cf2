/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The checker's state, shared by the files that produce its warnings
 */

#include <stdbool.h>
#include <stddef.h>

#include "policy/check.h"
#include "policy/network.h"

struct check_entry;
struct check_index {
	struct check_entry *entries;
	size_t n_entries;
};

/* The paths that rules and mounts make readable. */
struct check_readers {
	struct arena *arena;
	struct arena_rows paths; /* const char *, sorted */
	bool has_all;		 /* everything, or a pattern that cannot be listed as paths */
	bool has_relative;	 /* a path below the project */
	bool has_outside;	 /* an absolute path that may contain the project */
};

struct checker {
	const struct policy *policy;
	struct check_index index;
	struct check_readers readers;
	enum net_mode net_mode;
	struct policy_warning warning; /* the newest; reported when the next one begins */
	bool has_warning;
	int n_warnings;
	void (*report)(const struct policy_warning *warning, void *userdata);
	void *userdata;
};

/* The number of a warning is that of its code: W01 and so on, as in sbx-policy(5). */
enum check_kind {
	CHECK_EMPTY_LIST = 1,	   /* an empty list, which never matches */
	CHECK_ALWAYS_EXCEPTED = 2, /* an exception that cancels the whole rule */
	CHECK_NEVER = 3,	   /* a rule that can never apply */
	CHECK_PARTLY_NEVER = 4,	   /* a rule of which a part can never apply */
	CHECK_DENIED = 5,	   /* an allow that a deny covers completely */
	CHECK_SHADOWED = 6,	   /* a rule that another one makes superfluous */
	CHECK_GLUED_FLOAT = 7,	   /* '**' next to other characters, where it means '*' */
	CHECK_BROKER = 8,  /* a rule that the kernel alone cannot enforce: it needs the broker */
	CHECK_SERVICE = 9, /* a rule that only a tool which asks the service can enforce */
	CHECK_EVERYTHING = 10,	/* a rule that allows writing everywhere */
	CHECK_PASS = 11,	/* a rule that does not change any answer */
	CHECK_LITERAL = 12,	/* a literal path that contains wildcard characters */
	CHECK_CONSTRAINTS = 13, /* constraints of a rule that does not allow */
	CHECK_DEFAULT = 14,	/* a default that the kernel alone cannot enforce */
	CHECK_NOT_BELOW = 15,	/* a deny that covers the directory but not its contents */
	CHECK_HOME = 16,	/* a path that looks like a home directory, but is not expanded */
	CHECK_NETWORK = 17, /* a network mode that this release lacks, or more than a proxy does */
	CHECK_HOST_NETWORK = 18, /* a rule that the mode host or loopback does not enforce */
	CHECK_UNREADABLE = 19,	 /* a program that may be executed, but not read */
	CHECK_MOUNT = 20,	 /* a mount that no sandbox can provide */
	CHECK_SETTING = 21,	 /* a setting that no sandbox can provide */
	CHECK_PATH = 22,	 /* a denial that neither a mount nor Landlock can enforce */
	CHECK_NO_FILES = 23,	 /* a policy that grants no files */
	CHECK_SCHEDULER = 24,	 /* settings of sbx-sched, which this version does not have */
	CHECK_NET_LIMIT = 25,	 /* limits of sbx-proxy in a mode without it */
	CHECK_FILE_SIZE = 26,	 /* a max_file_size that also bounds the files of other rules */
};

/* check.c: begins a warning; where @why or @fix is NULL, add it with sbx_error_why() or
 * sbx_error_fix() on &checker->warning.error. */
void check_warn(struct checker *checker, enum check_kind kind, struct policy_place place,
		const char *why, const char *fix, const char *format, ...)
	__attribute__((__format__(__printf__, 6, 7)));

/* check-paths.c: warnings about the paths of one rule, about programs that it allows to execute but
 * no rule allows to read, and about settings that no sandbox can provide (0 or -ENOMEM). */
void check_paths(struct checker *checker, const struct rule *rule);
void check_programs(struct checker *checker, const struct rule *rule);
int check_judged(struct checker *checker);
int check_readers_make(const struct policy *policy, struct arena *arena, struct check_readers *ret);

/*
 * check-cover.c: does @outer hold for every request for which @inner holds? False if that is
 * uncertain. Does not compare operations.
 */
bool check_covers(const struct condition *outer, const struct condition *inner);
bool check_path_covers(const struct match_value *outer, const struct match_value *inner);
/* Does a value of the list cover @wanted: one with '!', or (not @excluding) one without? */
bool check_has_value(const struct match_list *list, bool excluding,
		     const struct match_value *wanted);
int check_index_make(const struct policy *policy, struct arena *arena, struct check_index *ret);
/* The first other rule of the policy that denies every request that @rule matches, or NULL. */
const struct rule *check_find_denial(const struct check_index *index, const struct rule *rule);
/* Warns if other rules make @rule useless: it can never win, or adds nothing. */
void check_neighbours(struct checker *checker, const struct rule *rule);
