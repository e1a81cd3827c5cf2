/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The checker, for the three files that give its warnings
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
	char **paths;
	size_t n_paths;
	bool has_all;	   /* everything, or a pattern that no list of paths can say */
	bool has_relative; /* a path below the project */
	bool has_outside;  /* an absolute path at or above which the project may lie */
};

struct checker {
	const struct policy *policy;
	struct check_index index;
	struct check_readers readers;
	enum net_mode net_mode;
	struct policy_warning warning; /* the newest; it is reported when the next one begins */
	bool has_warning;
	int n_warnings;
	void (*report)(const struct policy_warning *warning, void *userdata);
	void *userdata;
};

/* Their codes are in check.c and sbx-policy(5). */
enum check_kind {
	CHECK_EMPTY_LIST,      /* an empty list, which never matches */
	CHECK_ALWAYS_EXCEPTED, /* an exception that cancels the whole rule */
	CHECK_NEVER,	       /* a rule that can never apply */
	CHECK_PARTLY_NEVER,    /* a part of a rule that can never apply */
	CHECK_DENIED,	       /* an allow that lies wholly under a deny */
	CHECK_SHADOWED,	       /* a rule that another one makes superfluous */
	CHECK_GLUED_FLOAT,     /* '**' beside other characters, where it is only '*' */
	CHECK_BROKER,	    /* a rule that the kernel alone cannot enforce: it needs the broker */
	CHECK_SERVICE,	    /* a rule that only a tool which asks can enforce */
	CHECK_EVERYTHING,   /* a rule that allows to write everywhere */
	CHECK_PASS,	    /* a rule that changes no answer */
	CHECK_LITERAL,	    /* a path with wildcards in it, which are literal */
	CHECK_CONSTRAINTS,  /* constraints of a rule that does not allow */
	CHECK_DEFAULT,	    /* a default that the kernel alone cannot enforce */
	CHECK_NOT_BELOW,    /* a deny that covers the directory but not its contents */
	CHECK_HOME,	    /* a path that looks like a home directory and is not one */
	CHECK_NETWORK,	    /* a network that this release does not have */
	CHECK_HOST_NETWORK, /* a rule that the network mode host or loopback does not enforce */
	CHECK_UNREADABLE,   /* a program that may be executed and not be read */
	CHECK_MOUNT,	    /* a mount that no sandbox can have */
	CHECK_SETTING,	    /* a setting that no sandbox can have */
	CHECK_PATH,	    /* a denial that neither a mount nor Landlock can enforce */
	CHECK_NO_FILES,	    /* a policy that grants no files */
};

/* check.c: begins a warning; sbx_error_why() and sbx_error_fix() of &checker->warning.error follow.
 */
void check_warn(struct checker *checker, enum check_kind kind, struct policy_place place,
		const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));

/* check-paths.c: warnings about the paths of one rule, about programs that it lets execute and no
 * rule lets read, and about mounts that no sandbox can have (-ENOMEM, or 0). */
void check_paths(struct checker *checker, const struct rule *rule);
void check_programs(struct checker *checker, const struct rule *rule);
int check_mounts(struct checker *checker);
int check_ports(struct checker *checker);
/* @ret is to be freed, also after a failure. */
int check_readers_make(const struct policy *policy, struct check_readers *ret);
void check_readers_deinit(struct check_readers *readers);

/*
 * check-cover.c: does @outer hold for every request for which @inner holds? False where that is not
 * certain. The caller compares their operations.
 */
bool check_covers(const struct condition *outer, const struct condition *inner);
bool check_path_covers(const struct match_value *outer, const struct match_value *inner);
int check_index_make(const struct policy *policy, struct check_index *ret);
void check_index_deinit(struct check_index *index);
/* The first other rule of the policy that denies every request that @rule matches, or NULL. */
const struct rule *check_find_denial(const struct check_index *index, const struct rule *rule);
/* Warnings about @rule beside the other rules: it can never win, or adds nothing. */
void check_neighbours(struct checker *checker, const struct rule *rule);
