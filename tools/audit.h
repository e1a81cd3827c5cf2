/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the verbs of sbx-audit share: the values of its options, where the log is, and its rows
 *
 * One file a group of verbs: tools/audit-NAME.c. The table of verbs is in sbx-audit.c.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "audit/log.h"
#include "audit/merkle.h"
#include "audit/store.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/options.h"
#include "base/text.h"

struct note_verifier;
struct sbx_error;
struct tool_run;

struct audit_values {
	const char *folder;
	const char *key;	   /* of the first epoch, as setup printed it */
	bool strict;		   /* append */
	bool follow;		   /* tail */
	uint64_t n_last;	   /* tail, query; 0: the default */
	const char *since, *until; /* query, stats */
	struct option_list events; /* any of these */
	const char *columns[N_ENTRY_COLUMNS];
	const char *witness, *state; /* verify */
	bool full;
};

verb_fn audit_verb_setup;
verb_fn audit_verb_key;
verb_fn audit_verb_append;
verb_fn audit_verb_query;
verb_fn audit_verb_tail;
verb_fn audit_verb_stats;
verb_fn audit_verb_export;
verb_fn audit_verb_prove;
verb_fn audit_verb_verify_proof;
verb_fn audit_verb_consistency;

/* ---- audit-places.c ---- */

/* /var/lib/sbx/audit for root, the state folder's sbx/audit else; what --log says before both. */
int places_folder(const struct audit_values *values, struct text *out, struct sbx_error *err);
/*
 * Opens the log to write and takes in what waits in the spool. What is wrong with its end is said.
 */
int places_open(struct tool_run *run, struct audit_log **ret, struct sbx_error *err);
/* Takes in what waits where that can be done; whoever only reads goes on where it cannot. */
int places_take_in(struct tool_run *run, struct sbx_error *err);

/* ---- audit-rows.c ---- */

/* The segments of a log, each read from one moment. */
struct rows {
	int folder;
	struct arena arena;
	const char **names; /* sorted, which is their order; in the arena */
	size_t n_names;
};
#define ROWS_INIT                                                                                  \
	{                                                                                          \
		.folder = -EBADF, .arena = ARENA_INIT                                              \
	}
#define _cleanup_rows_ _cleanup_(rows_close)
int rows_open(const struct audit_values *values, struct rows *ret, struct sbx_error *err);
void rows_close(struct rows *rows);
int rows_each(const struct rows *rows, uint64_t from, store_visit visit, void *userdata,
	      struct sbx_error *err);
int rows_each_checkpoint(const struct rows *rows, store_visit_note visit, void *userdata,
			 struct sbx_error *err);
/* How many records there are. */
int rows_count(const struct rows *rows, uint64_t *ret, struct sbx_error *err);

/* What --since and the like choose. */
struct row_filter {
	const struct audit_values *values;
	uint64_t since_usec, until_usec;
};
int filter_init(const struct audit_values *values, struct row_filter *ret, struct sbx_error *err);
bool filter_takes(const struct row_filter *filter, const struct store_row *row);
/* A record that cannot be read is a failure of whatever reads it. */
int rows_refuse(const struct store_row *row, struct sbx_error *err);
/* A line for people, or the record itself with --json. */
void rows_add(struct tool_run *run, const struct store_row *row);
/* Writes what there is to write when it is much. */
int rows_flush(struct tool_run *run, struct sbx_error *err);

/* ---- audit-proof.c ---- */

struct proof {
	uint64_t seq, size;
	struct audit_hash
		previous; /* the chain hash of the record before it; zeros before the first */
	struct audit_hash path[MERKLE_PATH_MAX];
	size_t n_path;
	const char *record;	   /* as it is stored */
	const char *checkpoint;	   /* the note whose root the path leads to */
	const char *const *epochs; /* the last checkpoints of the epochs before that one */
	size_t n_epochs;
};

void proof_add(struct text *out, const struct proof *proof);
void consistency_add(struct text *out, uint64_t old_size, uint64_t new_size,
		     const struct audit_hash *old_root, const struct audit_hash *new_root,
		     const struct audit_hash *path, size_t n_path);
