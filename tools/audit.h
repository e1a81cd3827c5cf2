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
#include "audit/retain.h"
#include "audit/segment.h"
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
	const char *policy;	   /* NULL: the one in force */
	const char *key;	   /* of the first epoch, as setup printed it */
	const char *key_place;	   /* setup */
	bool strict;		   /* append */
	bool follow;		   /* tail */
	uint64_t n_last;	   /* query; 0: all */
	const char *last;	   /* tail; NULL: the default, which 0 is not */
	const char *since, *until; /* query, stats */
	struct option_list events; /* any of these */
	const char *columns[N_ENTRY_COLUMNS];
	const char *witness, *state; /* verify */
	const char *journal_directory;
	bool journal, seed_format;
	uint64_t n_jobs;	     /* 0: one */
	const char *witness_command; /* append, serve */
	/* serve; numbers: 0 is the default; @spool is gather's --to, too */
	const char *socket, *spool, *on_full;
	uint64_t group_records, group_usec, queue_bytes, epoch_usec, max_clients;
	bool full;
	/* rotate, retain, export; numbers: 0 is what the policy says */
	bool if_due, dry_run;
	uint64_t segment_size, max_size, retention_days;
	const char *archive, *segment;
};

verb_fn audit_verb_setup;
verb_fn audit_verb_key;
verb_fn audit_verb_append;
verb_fn audit_verb_query;
verb_fn audit_verb_tail;
verb_fn audit_verb_show;
verb_fn audit_verb_stats;
verb_fn audit_verb_export;
verb_fn audit_verb_prove;
verb_fn audit_verb_verify_proof;
verb_fn audit_verb_consistency;
verb_fn audit_verb_verify;
verb_fn audit_verb_serve;
verb_fn audit_verb_gather;
verb_fn audit_verb_rotate;
verb_fn audit_verb_retain;
extern const struct option_spec audit_serve_options[], audit_gather_options[];

/* Hands the spools of the system's services over, for root: audit_gather() in audit/log.h. */
int gather_into(int staging, int inbox, uint64_t *ret_n_files, struct sbx_error *err);

/* The log that setup makes, at the place of @values. */
int audit_make_log(const struct audit_values *values, struct sbx_error *err);

/* ---- audit-places.c: settings ---- */

struct policy;

/* What the policy says about the log; 0 and NULL is what it does not say. */
struct audit_settings {
	struct policy *policy; /* whose texts the rest are */
	bool keep_originals;
	uint64_t retention_days;
	uint64_t max_size;
	const char *rotation;  /* "hourly", "daily", "weekly", "monthly" */
	const char **patterns; /* of secrets */
	size_t n_patterns;
};
#define _cleanup_settings_ _cleanup_(settings_deinit)
/* Reads --policy, or the policy in force where there is one. */
int settings_read(const struct audit_values *values, struct audit_settings *ret,
		  struct sbx_error *err);
void settings_deinit(struct audit_settings *settings);

/* ---- audit-places.c ---- */

/* /var/lib/sbx/audit for root, the state folder's sbx/audit else; what --log says before both. */
int places_folder(const struct audit_values *values, struct text *out, struct sbx_error *err);
/* Why and fix of a log that is not there. */
void places_explain_missing(const struct audit_values *values, struct sbx_error *err);
/*
 * Opens the log to write and takes in what waits in the spool. What is wrong with its end is said.
 */
int places_open(struct tool_run *run, struct audit_log **ret, struct sbx_error *err);
/* ---- audit-places.c: what is kept ---- */

struct keeping {
	enum rotation rotation;
	uint64_t segment_bytes; /* from which on a segment is large */
	struct retain_policy policy;
};
int keeping_read(const struct audit_values *values, struct keeping *ret, struct sbx_error *err);

/* Without taking anything in, and without a word. */
int places_open_only(struct tool_run *run, struct audit_log **ret, struct sbx_error *err);
/* Where the tools of this user leave their records while no service runs. */
int places_spool(struct text *out, struct sbx_error *err);
/* Takes in what waits where that can be done; whoever only reads goes on where it cannot, which is
 * said once: @has_said is remembered by the caller, and may be NULL. */
void places_take_in(struct tool_run *run, bool *has_said);
/* What a verb that reads ends with: -EINVAL is wrong usage, -ERANGE a record that is not there,
 * -EBADMSG a log that cannot be read. */
int places_status_of(int r);

/* ---- audit-serve.c ---- */

/* From now on new heads go where they should; the last one when the log is freed, which may wait
 * for the command of --witness. */
int heads_watch(struct tool_run *run, struct audit_log *log, struct sbx_error *err);

/* ---- audit-rows.c ---- */

/* The segments of a log, each read from one moment, and its archives. */
struct rows {
	int folder;
	struct segment_list list; /* at least one */
};
#define ROWS_INIT                                                                                  \
	{                                                                                          \
		.folder = -EBADF, .list = SEGMENT_LIST_INIT                                        \
	}
#define _cleanup_rows_ _cleanup_(rows_close)
int rows_open(const struct audit_values *values, struct rows *ret, struct sbx_error *err);
/* And takes in what waits (places_take_in()). -EBADMSG for whatever keeps the log from being read.
 */
int rows_open_to_show(struct tool_run *run, bool *has_said, struct rows *ret,
		      struct sbx_error *err);
void rows_close(struct rows *rows);
int rows_each(const struct rows *rows, uint64_t from, store_visit visit, void *userdata,
	      struct sbx_error *err);
int rows_each_checkpoint(const struct rows *rows, store_visit_note visit, void *userdata,
			 struct sbx_error *err);
/* Number @i of the list, whatever it has become since; -EBADMSG for whatever keeps it from being
 * read. */
int rows_open_segment(const struct rows *rows, size_t i, struct segment **ret,
		      struct sbx_error *err);
/* What the first one that is there says about itself. */
int rows_read_begin(const struct rows *rows, struct segment_about *ret, struct sbx_error *err);
/* For export: writes the archive that --archive names (audit-rotate.c). */
int audit_export_archive(struct tool_run *run, const struct rows *rows, struct sbx_error *err);
/* How many records there are. */
int rows_count(const struct rows *rows, uint64_t *ret, struct sbx_error *err);

/* What --since and the like choose. */
struct row_filter;
int filter_new(struct tool_run *run, struct row_filter **ret, struct sbx_error *err);
void filter_free_ptr(struct row_filter **filter);
#define _cleanup_filter_ _cleanup_(filter_free_ptr)
/*
 * 1 for a record that is one of these, 0 for another, with what it says until the next one is
 * taken. A record that cannot be read is none of them: *@ret is NULL, and a warning tells of the
 * first.
 */
int filter_take(struct row_filter *filter, const struct store_row *row,
		const struct audit_entry **ret, struct sbx_error *err);
/* @status, or that of a log with records which could not be read. */
int filter_status(const struct row_filter *filter, int status);
bool rows_text_is(const struct entry_text *text, const char *wanted);
/* A record that cannot be read is a failure of whatever reads it. */
int rows_refuse(const struct store_row *row, struct sbx_error *err);
/* The number of a record, as it is typed. */
int audit_read_number(const char *text, uint64_t *ret, struct sbx_error *err);
/* A line for people, or the record itself with --json. */
void rows_show(struct tool_run *run, const struct store_row *row, const struct audit_entry *said);
/* Writes what there is to write when it is much. */
int rows_flush(struct tool_run *run, struct sbx_error *err);

/* ---- audit-verify.c ---- */

/* How far this user's log was verified the last time, and when that was: 1, or 0 where it is not
 * known. */
int known_read_last(const struct audit_values *values, uint64_t *ret_size, uint64_t *ret_usec);

/* ---- audit-show.c ---- */

struct json_item;

/* What a record says about a command; start it as { 0 }, it may be read into again. */
struct details {
	struct text command; /* the words, quoted as for a shell; empty: not said */
	struct text reason;  /* why it ended, as the record has it */
	int64_t status;
	uint64_t usec; /* how long it ran */
	uint64_t size; /* of the log, in what the log says about itself; 0: not said */
	bool has_status, has_usec;
};
#define _cleanup_details_ _cleanup_(details_deinit)
void details_deinit(struct details *details);
void details_read(const char *body, size_t n_body, struct details *ret);
/* " status=3 reason=exit duration=1.2s command=make -j4", as far as it is known. */
void details_add_text(struct text *out, const struct details *details);
/* The decoded characters of a name or string. */
void details_decode(const struct json_item *item, struct text *out);
/* In single quotes where a shell would read something else in it. */
void details_add_word(struct text *out, const char *bytes, size_t n_bytes);
