/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the verbs of sbx-audit: the values of options, the place of the log, and its rows
 *
 * One file for each group of verbs: tools/audit-NAME.c. The table of verbs is in sbx-audit.c.
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
#include "base/error.h"
#include "base/options.h"
#include "base/text.h"

struct tool_run;

struct audit_values {
	const char *directory;
	const char *policy;	   /* NULL: the installed policy */
	const char *key;	   /* of the first epoch, as printed by setup */
	const char *key_place;	   /* setup */
	bool strict;		   /* append */
	int ring_fd;		   /* append; -EBADF: lines from stdin */
	bool follow;		   /* tail */
	uint64_t n_last;	   /* query; 0: all */
	const char *last;	   /* tail; NULL: the default, not 0 */
	const char *since, *until; /* query, stats */
	struct option_list events; /* records of any of these events */
	const char *columns[N_ENTRY_COLUMNS];
	const char *witness, *state; /* verify */
	const char *journal_directory;
	bool journal, seed_format;
	uint64_t n_jobs;	     /* 0: one */
	const char *witness_command; /* append, serve */
	/* serve; numbers: 0 means the default; @spool is also --to of gather */
	const char *socket, *spool, *on_full;
	uint64_t group_records, group_usec, queue_bytes, epoch_usec, max_clients;
	bool full;
	/* rotate, retain, export; numbers: 0 means the value of the policy */
	bool if_due, dry_run, trust_clock;
	uint64_t segment_size, max_size, retention_days;
	const char *archive, *segment;
};

#define OPTION(...) OPTION_ROW(struct audit_values, __VA_ARGS__)
#define OPTION_LOG OPTION("log", 'l', OPTION_PATH, directory, "DIR", "use the log in DIR")
#define OPTION_POLICY                                                                              \
	OPTION("policy", 'p', OPTION_PATH, policy, "FILE", "use the section audit of this policy")
#define OPTIONS_OF_LOG OPTION_LOG, OPTION_POLICY
#define OPTION_WITNESS                                                                             \
	OPTION("witness", 0, OPTION_STRING, witness_command, "CMD", "pass each new head to CMD")
#define OPTION_SEGMENT_SIZE                                                                        \
	OPTION("segment-size", 0, OPTION_SIZE, segment_size, "SIZE",                               \
	       "size of a large segment (256MiB)", .is_above_zero = true)
#define OPTIONS_OF_RETENTION                                                                       \
	OPTION("max-size", 0, OPTION_SIZE, max_size, "SIZE", "maximum size of the log (1GiB)",     \
	       .is_above_zero = true),                                                             \
		OPTION("retention-days", 0, OPTION_NUMBER, retention_days, "DAYS",                 \
		       "days to keep archives (90)", .is_above_zero = true)

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

/* As root: moves the spools of the system's services, by audit_gather() of audit/log.h. */
int gather_into(int staging, int inbox, uint64_t *ret_n_files, struct sbx_error *err);

/* Creates the log at the place in @values, for setup. */
int audit_make_log(const struct audit_values *values, struct sbx_error *err);

/* ---- audit-places.c ---- */

/* Finds a mistake in the policy before there is a log: with one, no log is opened for writing. */
int places_check_policy(const struct audit_values *values, struct sbx_error *err);

/* /var/lib/sbx/audit for root, else sbx/audit in the state directory; --log overrides both. */
int places_directory(const struct audit_values *values, struct text *out, struct sbx_error *err);
/* Fills why and fix for a log that is missing (-ENOENT), and fix for one that cannot be opened. */
void places_explain(const struct audit_values *values, int r, struct sbx_error *err);
/* Opens the log for writing and imports the spool. Reports damage at its end. */
int places_open(struct tool_run *run, struct audit_log **ret, struct sbx_error *err);
/* ---- sbx-audit.c ---- */

/* Adds the --log of @values (struct audit_values) to the commands in the fix, which would otherwise
 * use the default log. */
void audit_name_log(const void *values, struct sbx_error *err);

/* ---- audit-places.c: retention ---- */

struct keeping {
	enum rotation rotation;
	uint64_t segment_bytes; /* size from which a segment is rotated */
	struct retain_policy policy;
};
int keeping_read(const struct audit_values *values, struct keeping *ret, struct sbx_error *err);

/* Without importing and without messages. */
int places_open_only(struct tool_run *run, struct audit_log **ret, struct sbx_error *err);
/* The spool to which this user's tools write records while no service runs. */
int places_spool(struct text *out, struct sbx_error *err);
/* Imports the spool if possible; a verb that only reads continues if it is not, after one warning:
 * @has_said is kept by the caller, and may be NULL. */
void places_take_in(struct tool_run *run, bool *has_said);
/* The exit status of a reading verb: -EINVAL is wrong usage, -ERANGE a record that does not exist,
 * -EBADMSG an unreadable log. */
int places_status_of(int r);

/* ---- audit-serve.c ---- */

/* Sends new heads to their targets from now on; the last one when the log is freed, which may wait
 * for the command of --witness. */
int heads_watch(struct tool_run *run, struct audit_log *log, struct sbx_error *err);

/* ---- audit-rows.c ---- */

/* The segments of a log, each read in one transaction, and its archives. */
struct rows {
	int directory;
	struct segment_list list; /* at least one */
};
#define ROWS_INIT                                                                                  \
	{                                                                                          \
		.directory = -EBADF, .list = SEGMENT_LIST_INIT                                     \
	}
#define _cleanup_rows_ _cleanup_(rows_close)
int rows_open(const struct audit_values *values, struct rows *ret, struct sbx_error *err);
/* Also imports the spool (places_take_in()). -EBADMSG: the log cannot be read. */
int rows_open_to_show(struct tool_run *run, bool *has_said, struct rows *ret,
		      struct sbx_error *err);
void rows_close(struct rows *rows);
int rows_each(const struct rows *rows, uint64_t from, store_visit visit, void *userdata,
	      struct sbx_error *err);
int rows_each_checkpoint(const struct rows *rows, store_visit_note visit, void *userdata,
			 struct sbx_error *err);
/* Opens segment @i of the list, which may have been archived since; -EBADMSG: it cannot be read. */
int rows_open_segment(const struct rows *rows, size_t i, struct segment **ret,
		      struct sbx_error *err);
/* Reads the metadata of the first existing segment. */
int rows_read_begin(const struct rows *rows, struct segment_about *ret, struct sbx_error *err);
/* For export: checks the name of --archive, and writes it (audit-rotate.c). */
int audit_check_archive_name(const char *path, struct sbx_error *err);
int audit_export_archive(struct tool_run *run, const struct rows *rows, struct sbx_error *err);
/* The number of records. */
int rows_count(const struct rows *rows, uint64_t *ret, struct sbx_error *err);

/* The filter of --since and the like. */
struct row_filter;
int filter_new(struct tool_run *run, struct row_filter **ret, struct sbx_error *err);
void filter_free_ptr(struct row_filter **filter);
#define _cleanup_filter_ _cleanup_(filter_free_ptr)
/*
 * 1 if the record matches, 0 if not; *@ret is its content until the next call. A record that cannot
 * be read does not match: *@ret is NULL, and the first one causes a warning.
 */
int filter_take(struct row_filter *filter, const struct store_row *row,
		const struct audit_entry **ret, struct sbx_error *err);
/* @status, or that for a log with unreadable records. */
int filter_status(const struct row_filter *filter, int status);
bool rows_text_is(const struct entry_text *text, const char *wanted, size_t n_bytes);
/* The error for a record that cannot be read. */
int rows_refuse(const struct store_row *row, struct sbx_error *err);
/* Parses the number of a record. */
int audit_read_number(const char *text, uint64_t *ret, struct sbx_error *err);
/* Prints a line of text, or with --json the record itself. */
void rows_show(struct tool_run *run, const struct store_row *row, const struct audit_entry *said);
/* Writes the output if there is much of it. */
int rows_flush(struct tool_run *run, struct sbx_error *err);

/* ---- audit-verify.c ---- */

/* Up to which size, and when, this user's log was verified last: 1, or 0 if it is not known. */
int known_read_last(const struct audit_values *values, uint64_t *ret_size, uint64_t *ret_usec);

/* ---- audit-show.c ---- */

/* Details of a record about a command; start with { 0 }, it can be reused. */
struct details {
	struct text command; /* words, quoted as for a shell; empty: unknown */
	struct text reason;  /* why it ended, as in the record */
	struct text host;    /* of a connection or a decision about one */
	uint64_t port;	     /* 0: unknown */
	int64_t status;
	uint64_t usec; /* duration */
	uint64_t size; /* size of the log in records about the log; 0: unknown */
	bool has_status, has_usec;
};
#define _cleanup_details_ _cleanup_(details_deinit)
void details_deinit(struct details *details);
void details_read(const char *body, size_t n_body, struct details *ret);
/* Adds " NAME=TEXT", the text as a word for a shell (text_add_word()) if it has spaces, quotes or
 * what is not shown as it is: such a text must not look like further fields. */
void details_add_field(struct text *out, const char *name, const void *bytes, size_t n_bytes);
/* Adds " host=a.example:443 status=3 reason=exit duration=1.2s command=make -j4", as far as known.
 */
void details_add_text(struct text *out, const struct details *details);
