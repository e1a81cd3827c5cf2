/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of check share
 */

#include <stdbool.h>
#include <stddef.h>

#include "policy/check.h"
#include "policy/net-mode.h"

struct check_entry;
struct check_index {
	struct check_entry *entries;
	size_t n_entries;
};

/* The paths that rules and mounts make readable. */
struct check_readers {
	char **paths;
	size_t n_paths;
	bool has_all;	   /* everything, or it cannot be said */
	bool has_relative; /* below the project, wherever that is */
	bool has_outside;  /* where the project may lie */
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

/* The rows of the table of warnings, whose codes are W01, W02, ... */
enum check_kind {
	CHECK_EMPTY_LIST,
	CHECK_ALWAYS_EXCEPTED,
	CHECK_NEVER,
	CHECK_PARTLY_NEVER,
	CHECK_DENIED,
	CHECK_SHADOWED,
	CHECK_GLUED_FLOAT,
	CHECK_BROKER,
	CHECK_SERVICE,
	CHECK_EVERYTHING,
	CHECK_PASS,
	CHECK_LITERAL,
	CHECK_CONSTRAINTS,
	CHECK_DEFAULT,
	CHECK_NOT_BELOW,
	CHECK_HOME,
	CHECK_NETWORK,
	CHECK_HOST_NETWORK,
	CHECK_UNREADABLE,
	CHECK_MOUNT,
	CHECK_SETTING,
	CHECK_PATH,
};

/* check.c: begins a warning; sbx_error_why() and sbx_error_fix() of &checker->warning.error follow.
 */
void check_warn(struct checker *checker, enum check_kind kind, struct policy_place place,
		const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));

/* check-groups.c: groups of hosts without any. */
void check_groups(struct checker *checker);
/* check-rule.c: what shows in one rule alone. */
void check_rule(struct checker *checker, const struct rule *rule);
/* check-paths.c: what shows in its paths, one by one. */
void check_paths(struct checker *checker, const struct rule *rule);
/* check-enforce.c: what can hold it, the defaults, and the network. */
void check_enforcement(struct checker *checker, const struct rule *rule);
void check_defaults(struct checker *checker);
void check_network(struct checker *checker);
void check_settings(struct checker *checker);
/* check-mounts.c: mounts that no sandbox can have. -ENOMEM, or 0. */
int check_mounts(struct checker *checker);
/* check-programs.c: can what it lets execute be read, too? */
void check_programs(struct checker *checker, const struct rule *rule);
int check_readers_make(const struct policy *policy, struct check_readers *ret);
void check_readers_deinit(struct check_readers *readers);
/* check-pairs.c: what shows beside the other rules. */
void check_neighbours(struct checker *checker, const struct rule *rule);
/* Does @other deny all that @rule is about? */
bool check_is_denied(const struct rule *rule, const struct rule *other);

/* check-index.c: the first rule of the policy other than @rule that @fits says covers it, or NULL.
 */
typedef bool check_fits_fn(const struct rule *rule, const struct rule *other);
int check_index_make(const struct policy *policy, struct check_index *ret);
void check_index_deinit(struct check_index *index);
const struct rule *check_index_find(const struct check_index *index, const struct rule *rule,
				    check_fits_fn *fits);

/*
 * check-cover.c: does everything for which @inner holds also make @outer hold? Where that is not
 * certain: false. Their operations are compared by the caller.
 */
bool check_covers(const struct condition *outer, const struct condition *inner);
bool check_path_covers(const struct match_value *outer, const struct match_value *inner);
