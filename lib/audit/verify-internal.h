/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The verifier's state, and what its parts ask of each other
 *
 * A log is a row of events: a segment begins, a checkpoint comes where its last record was read, a
 * run of rows, the end of a segment. What an event means depends on what the verifier is waiting
 * for; the table in verify.c says so, and has the function for each.
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
 * Whether rows are records, and follow from each other, needs nothing but the rows and the hash
 * before the first. So they are verified in runs, by this thread or by several, and what a run says
 * of its rows is what the rest of the verifier goes on with: where it ends, its part of the tree,
 * the times, the stubs. A run ends where anything else has to happen: see the cuts.
 */

/* Ends a visit behind which there is nothing more to be said. */
#define VERIFY_STOP 1

enum run_fault {
	RUN_GOOD,
	RUN_RECORD,  /* row @fault_seq is not right */
	RUN_MISSING, /* the next row is @fault_seq, and is not behind the last one */
	RUN_STUB,    /* row @fault_seq is a stub of another form than the log writes */
};

struct run_stub {
	uint64_t seq;
	struct audit_stub stub;
};

struct verify_run {
	struct merkle_run tree;	  /* of the good rows: tree.first to tree.end - 1 */
	struct audit_hash before; /* hash of the record before the first */
	struct audit_hash last;	  /* of the last good one */
	bool has_time;
	uint64_t first_usec; /* the least and the greatest */
	uint64_t last_usec;
	bool has_genesis; /* record 0 is among them */
	struct chain_genesis genesis;
	struct run_stub *stubs; /* in their order */
	size_t n_stubs;
	enum run_fault fault; /* of the row behind the good ones */
	uint64_t fault_seq;
	const char *why; /* RUN_RECORD */
};

struct verify_rows {
	int directory;
	const struct segment_file *file;
	struct segment *segment;
	uint64_t from;
	struct audit_hash before; /* hash of the record before */
	uint64_t end;		  /* of the segment, as it says */
	unsigned n_jobs;
	const uint64_t *cuts; /* for several threads: sizes at which a run has to end, ascending */
	size_t n_cuts;
	/* The next of them behind @size; UINT64_MAX where there is none. */
	uint64_t (*next_cut)(void *userdata, uint64_t size);
	/* 0, VERIFY_STOP or negative errno, which ends the reading. Behind a run with a fault comes
	 * none. */
	int (*take)(void *userdata, const struct verify_run *run, struct sbx_error *err);
	void *userdata;
};

/* 0, or what ended the reading. */
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

/* What a finding's words are filled with. */
struct found_at {
	uint64_t first; /* the records that are not right, or are missing */
	uint64_t last;
	uint64_t number;
	const char *why; /* where the table has none, and in it %W */
	int code;	 /* FOUND_UNREADABLE */
};

/* ---- the state ---- */

/* What the verifier is waiting for. */
enum verify_state {
	WANTS_STATE,   /* the last record of the state before */
	WANTS_SEGMENT, /* the next segment */
	WANTS_COPY,    /* a segment has begun: the copy of the last checkpoint */
	WANTS_CONFIRM, /* the same behind a gap, where no record of it was seen */
	WANTS_NOTE,    /* the checkpoint with which the state before has ended */
	WANTS_ROWS,    /* rows, and checkpoints where their last record was read */
	N_VERIFY_STATES,
};

/* The keys that sign. */
struct verify_keys {
	struct note_verifier first; /* signs epoch 0; without name: not known yet */
	bool is_given;
	struct audit_trail trail;
	struct audit_hash last_note; /* digest of the note that came last */
	bool has_last_note;
};

/* The segment that is being read. */
struct verify_part {
	struct segment *segment;
	const struct segment_file *file;
	bool is_last;	     /* of the directory */
	uint64_t next_first; /* where the next one there begins; UINT64_MAX: it is the last */
	struct segment_about about;
	struct text note; /* the checkpoint that comes next */
	uint64_t note_size;
	bool has_note;		     /* there is one */
	struct note_verifier signer; /* of the last one that was followed; without name: none */
};

/* A note with a line "next" that was followed. */
struct verify_epoch {
	uint64_t epoch;
	struct audit_hash note; /* its digest */
};

/* Facts of the records read so far, which verify compares with later records. */
struct verify_seen {
	char log_id[AUDIT_LOG_ID_SIZE];
	uint64_t begin;		       /* of the first segment that is there */
	struct verified_place deleted; /* what stubs say so far, signed or not */
	struct verified_place *joints; /* where the segments that were read begin */
	size_t n_joints;
	struct verify_epoch *epochs; /* that have ended since the begin, in their order */
	size_t n_epochs;
	uint64_t joint_epoch; /* of the first key of the segment: those before are in the file */
	uint64_t epochs_size; /* of the largest checkpoint in the file of epochs at the begin */
	size_t n_heads;	      /* of the witness, which have come by */
	size_t n_passed;      /* those of them whose records were deleted */
	bool is_since_due;    /* the head of the state before has to come by */
	uint64_t end;	      /* of the last segment, as it says */
	uint64_t mtime_usec;  /* of its file, when it was read */
	bool is_from_future;
};

struct verification {
	const struct verify_options *options;
	struct verify_report *report;
	struct hasher *hasher;
	enum verify_state state;
	struct log_state now; /* where the reading is, as the writer was there */
	struct verify_keys keys;
	struct verify_seen seen;
	struct verified_state good;
	uint64_t missed_next; /* the finding is the missing segment that began there; 0: another */
	struct verify_part *part;
};

/* Everything below returns 0, VERIFY_STOP or negative errno, unless it says otherwise. */

/* Puts the finding into the report, where there is nothing worse already. VERIFY_STOP where
 * nothing behind it can be proved. */
int verify_find(struct verification *v, enum verify_found which, struct found_at at);
/* The same with an error that says all. */
int verify_find_error(struct verification *v, enum verify_verdict verdict,
		      const struct sbx_error *err);
/* A size that was signed, as @why tells, and the records, or the checkpoint alone, are gone. */
int verify_miss_signed(struct verification *v, uint64_t size, const char *why);

/* ---- verify.c ---- */

int verify_refuse_segment(struct verification *v, const char *why);

/* ---- verify-notes.c: checkpoints, heads that were kept elsewhere, and the file of epochs ---- */

/* Is it the log that the witness and the state before are about? */
int verify_origin(struct verification *v);
int verify_other_log(struct verification *v, const char *why);
/* Heads of the present size. */
int verify_heads(struct verification *v);
/* The first one in the segment from that size on. */
int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err);
/* One for each state in which a checkpoint can come: see the table in verify.c. */
int verify_note_copy(struct verification *v, struct sbx_error *err);
int verify_note_confirm(struct verification *v, struct sbx_error *err);
int verify_note_of_state(struct verification *v, struct sbx_error *err);
int verify_note_next(struct verification *v, struct sbx_error *err);
int verify_note_misplaced(struct verification *v, struct sbx_error *err);
int verify_note_left(struct verification *v, struct sbx_error *err);
int verify_no_copy(struct verification *v, struct sbx_error *err);
int verify_no_confirm(struct verification *v, struct sbx_error *err);
int verify_no_note_of_state(struct verification *v, struct sbx_error *err);
/* The file of epochs is written before the segments are, so it is looked at before they are read,
 * and again behind them. */
int verify_epochs_before(struct verification *v);
int verify_epochs_behind(struct verification *v);
/* Goes through those that are missing before the segment. */
int verify_follow_epochs(struct verification *v);
/* Which epoch a segment began with that is not read from its begin. */
int verify_epoch_before_state(struct verification *v, struct sbx_error *err);

/* ---- verify-deleted.c: where records are not there any more ---- */

/* Goes on with what the segment says was before it. */
int verify_gap(struct verification *v);
/* Remembers where the segment begins. */
int verify_note_joint(struct verification *v);
/* A record which says that others were deleted. */
int verify_stub(struct verification *v, const struct run_stub *stub);
/* Is what is missing at the beginning what the records say? */
int verify_deleted(struct verification *v);

/* verify-originals.c: what commitments are about, of the records from @from on */
int verify_originals(struct verification *v, uint64_t from, struct sbx_error *err);
