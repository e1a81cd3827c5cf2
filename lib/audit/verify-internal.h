/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The verifier's state, and the functions that its files share
 *
 * A log is a sequence of events: a segment begins, a checkpoint occurs after its last record, a run
 * of rows, the end of a segment. What an event means depends on what the verifier is waiting for;
 * the table in verify.c has a function for each combination.
 */

#include "audit/checkpoint.h"
#include "audit/log-internal.h"
#include "audit/segment.h"
#include "audit/verify.h"
#include "base/text.h"

/* ---- rows: verify-rows.c ---- */

/*
 * The rows of one segment, run after run
 *
 * Whether rows are records and follow from each other depends only on the rows and the hash before
 * the first. So they are verified in runs, by this thread or by several, and the rest of the
 * verifier uses only the run's summary: where it ends, its part of the tree, the times, the stubs.
 * A run ends wherever another event may occur: see the cuts.
 */

/* Stops a visit when nothing more can be verified. */
#define VERIFY_STOP 1

enum run_fault {
	RUN_GOOD,
	RUN_RECORD,  /* row @fault_seq is wrong */
	RUN_MISSING, /* the next row is @fault_seq, which does not follow the last one */
	RUN_STUB,    /* row @fault_seq is a stub, but not in the form that the log writes */
};

struct run_stub {
	uint64_t seq;
	struct audit_stub stub;
};

struct verify_run {
	struct merkle_run tree;	  /* of the good rows: tree.first to tree.end - 1 */
	struct audit_hash before; /* hash of the record before the first */
	struct audit_hash last;	  /* hash of the last good one */
	bool has_time;
	uint64_t first_usec; /* minimum and maximum */
	uint64_t last_usec;
	bool has_genesis; /* record 0 is in the run */
	struct chain_genesis genesis;
	struct run_stub *stubs; /* in the order of their records */
	size_t n_stubs;
	enum run_fault fault; /* in the row after the good ones */
	uint64_t fault_seq;
	const char *why; /* for RUN_RECORD */
};

struct verify_rows {
	int directory;
	const struct segment_file *file;
	struct segment *segment;
	uint64_t from;
	struct audit_hash before; /* hash of the record before @from */
	uint64_t end;		  /* size after the segment, as it states */
	unsigned n_jobs;
	const uint64_t *cuts; /* for several threads: sizes at which a run has to end, ascending */
	size_t n_cuts;
	/* The first cut after @size; UINT64_MAX if there is none. */
	uint64_t (*next_cut)(void *userdata, uint64_t size);
	/* Takes a run: 0, VERIFY_STOP or negative errno, which ends the reading. No run follows one
	 * with a fault. */
	int (*take)(void *userdata, const struct verify_run *run, struct sbx_error *err);
	void *userdata;
};

/* 0, or the value that ended the reading. */
int verify_rows(const struct verify_rows *rows, struct sbx_error *err);

/* ---- findings: verify-findings.c ---- */

enum verify_found {
	FOUND_RECORD,
	FOUND_RECORD_MISSING,
	FOUND_RECORDS_MISSING,
	FOUND_RECORD_TWICE,
	FOUND_RECORD_AFTER_STATE,
	FOUND_OTHER_LOG,
	FOUND_OTHER_HEAD,
	FOUND_SEGMENT,
	FOUND_SEGMENT_MISSING,
	FOUND_SEGMENT_AND_RECORDS_MISSING,
	FOUND_LAST_SEGMENT_MISSING,
	FOUND_GAP,
	FOUND_NOTE,
	FOUND_NOTE_MISSING,
	FOUND_NOTE_BETWEEN_MISSING,
	FOUND_NOTE_OVERDUE,
	FOUND_NOTE_BEHIND_GAP,
	FOUND_KEYS_BEHIND_GAP,
	FOUND_SIGNED_NOTE_MISSING,
	FOUND_CUT,
	FOUND_CUT_BELOW_NOTE,
	FOUND_TAIL_NOT_SIGNED,
	FOUND_NO_RECORDS,
	FOUND_NO_NOTES,
	FOUND_STUB,
	FOUND_DELETED_OTHERS,
	FOUND_EPOCHS,
	FOUND_EPOCHS_MISSING,
	FOUND_ORIGINAL,
	FOUND_ORIGINAL_ANYWHERE,
	FOUND_NO_KEY,
	FOUND_UNREADABLE,
	FOUND_NO_SEGMENT,
};

/* Values for a finding's placeholders. */
struct found_at {
	uint64_t first; /* the wrong or missing records */
	uint64_t last;
	uint64_t number;
	const char *why; /* for findings without a text of their own, and for %W */
	int code;	 /* for FOUND_UNREADABLE */
};

/* ---- the state ---- */

/* What the verifier is waiting for; "earlier state" is @since of the options. */
enum verify_state {
	WANTS_STATE,   /* the last record of the earlier state */
	WANTS_SEGMENT, /* the next segment */
	WANTS_COPY,    /* at a segment's begin: the copy of the last checkpoint */
	WANTS_CONFIRM, /* the same after a gap, so that none of its records was seen */
	WANTS_NOTE,    /* the checkpoint with which the earlier state ended */
	WANTS_ROWS,    /* rows, and checkpoints after their last record */
	N_VERIFY_STATES,
};

/* The keys that sign checkpoints. */
struct verify_keys {
	struct note_verifier first; /* key of epoch 0; empty name: not known yet */
	bool is_given;
	struct audit_trail trail;
	struct audit_hash last_note; /* digest of the last note */
	bool has_last_note;
};

/* The segment being read. */
struct verify_part {
	struct segment *segment;
	const struct segment_file *file;
	bool is_last;	     /* last in the directory */
	uint64_t next_first; /* begin of the next segment in the directory; UINT64_MAX: none */
	struct segment_about about;
	struct text note; /* the next checkpoint */
	uint64_t note_size;
	bool has_note;		     /* note is set */
	struct note_verifier signer; /* of the last verified checkpoint; empty name: none */
};

/* A verified note with a line "next". */
struct verify_epoch {
	uint64_t epoch;
	struct audit_hash note; /* digest of the note */
};

/* Facts of the records read so far, which later records are compared with. */
struct verify_seen {
	char log_id[AUDIT_LOG_ID_SIZE];
	uint64_t begin;		       /* first record of the first existing segment */
	struct verified_place deleted; /* the deletions that stubs state so far, signed or not */
	struct verified_place *joints; /* where the segments begin that were read */
	size_t n_joints;
	struct verify_epoch *epochs; /* epochs that ended in what was read, in their order */
	size_t n_epochs;
	uint64_t joint_epoch; /* epoch of the first key in the segment; the file of epochs has those
				 before */
	uint64_t epochs_size; /* size of the largest checkpoint that the file of epochs had at the
				 start */
	size_t n_heads;	      /* witnessed heads that were reached */
	size_t n_passed;      /* those whose records were deleted */
	bool is_since_due;    /* the head of the earlier state must still be reached */
	uint64_t end;	      /* size after the last segment, as it states */
	uint64_t mtime_usec;  /* of the last segment's file, when it was read */
	bool is_from_future;
};

struct verification {
	const struct verify_options *options;
	struct verify_report *report;
	enum verify_state state;
	struct log_state now; /* state at the current position, like the writer's there */
	struct verify_keys keys;
	struct verify_seen seen;
	struct verified_state good;
	uint64_t missed_next; /* begin of the missing segment that the finding is about; 0: it is
				 about something else */
	struct verify_part *part;
};

/* All functions below return 0, VERIFY_STOP or negative errno, unless they say otherwise. */

/* Reports the finding, unless the report has a worse one. VERIFY_STOP if nothing after it can be
 * proved. */
int verify_find(struct verification *v, enum verify_found which, struct found_at at);
/* The same with a complete error. */
int verify_find_error(struct verification *v, enum verify_verdict verdict,
		      const struct sbx_error *err);
/* Reports that the log was signed at @size, as @why tells, but the records, or only the checkpoint,
 * are missing. */
int verify_miss_signed(struct verification *v, uint64_t size, const char *why);

/* ---- verify.c ---- */

int verify_refuse_segment(struct verification *v, const char *why);

/* ---- verify-notes.c: checkpoints, witnessed heads, and the file of epochs ---- */

/* Are the witness and the earlier state about this log? */
int verify_origin(struct verification *v);
int verify_other_log(struct verification *v, const char *why);
/* Compares the witnessed heads of the current size. */
int verify_heads(struct verification *v);
/* Finds the segment's first checkpoint of at least this size. */
int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err);
/* One function per state in which a checkpoint can occur: see the table in verify.c. */
int verify_note_copy(struct verification *v, struct sbx_error *err);
int verify_note_confirm(struct verification *v, struct sbx_error *err);
int verify_note_of_state(struct verification *v, struct sbx_error *err);
int verify_note_next(struct verification *v, struct sbx_error *err);
int verify_note_misplaced(struct verification *v, struct sbx_error *err);
int verify_note_left(struct verification *v, struct sbx_error *err);
int verify_no_copy(struct verification *v, struct sbx_error *err);
int verify_no_confirm(struct verification *v, struct sbx_error *err);
int verify_no_note_of_state(struct verification *v, struct sbx_error *err);
/* The writer updates the file of epochs before it renames a segment, so the file is checked before
 * the segments are read, and again after. */
int verify_epochs_before(struct verification *v);
int verify_epochs_behind(struct verification *v);
/* Follows the epochs that ended in the gap before the segment. */
int verify_follow_epochs(struct verification *v);
/* Finds the epoch with which a segment began, if it is not read from its begin. */
int verify_epoch_before_state(struct verification *v, struct sbx_error *err);

/* ---- verify-deleted.c: missing records ---- */

/* Continues with the head and tree that the segment states. */
int verify_gap(struct verification *v, struct sbx_error *err);
/* Remembers where the segment begins. */
int verify_note_joint(struct verification *v);
/* Takes a stub of deleted records. */
int verify_stub(struct verification *v, const struct run_stub *stub);
/* Do signed stubs explain all that is missing at the beginning? */
int verify_deleted(struct verification *v);

/* Checks the originals of the records from @from on. */
int verify_originals(struct verification *v, uint64_t from, struct sbx_error *err);
