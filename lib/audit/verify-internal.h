/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the verifier
 */

#include "audit/entry-reader.h"
#include "audit/log-internal.h"
#include "audit/segment.h"
#include "audit/trail.h"
#include "audit/verify.h"

/* A finding behind which there is nothing to be said. */
#define VERIFY_STOP 1

/* A note with a line "next" that was followed. */
struct verify_epoch {
	uint64_t epoch;
	struct audit_hash note; /* its digest */
};

struct verification {
	const struct verify_options *options;
	struct verify_report *report;
	struct hasher *hasher;
	struct note_verifier first; /* who signs epoch 0; without name: not known yet */
	bool is_key_given;
	struct segment *segment; /* that is being read */
	const struct segment_file *file;
	struct segment_about about;
	char log_id[AUDIT_LOG_ID_SIZE];
	struct log_state now; /* where the reading is, as the writer was there */
	struct audit_trail trail;
	struct note_verifier signer; /* of trail.last; without name: not of this segment */
	struct verified_state good;
	struct text note; /* the checkpoint that comes next in this segment */
	uint64_t note_size;
	bool has_note;		     /* there is one */
	struct audit_hash last_note; /* digest of the one that came last */
	bool has_last_note;
	size_t n_heads;	      /* of the witness, which have come by */
	size_t n_passed;      /* those of them whose records were deleted */
	bool is_since_due;    /* the state before has to come by */
	bool is_resuming;     /* its last record has to be found */
	uint64_t end;	      /* of the segment */
	uint64_t missed_next; /* the finding is the missing segment that began there; 0: another */
	uint64_t mtime_usec;
	bool is_from_future; /* mtime_usec is, when it is read */
	struct entry_reader reader;
	uint64_t linked_end; /* those before are records, and follow from the one before each */
	struct verified_place begin;   /* of the first segment that is there */
	struct verified_place deleted; /* what records say so far, signed or not */
	struct verified_place *joints; /* where the segments that were read begin */
	size_t n_joints;
	struct verify_epoch *epochs; /* that have ended since the begin, in their order */
	size_t n_epochs;
	uint64_t joint_epoch; /* of the first key of the segment: those before are in the file */
	uint64_t epochs_size; /* of the largest checkpoint in the file of epochs at the begin */
};

/* Where to describe what was found in records @first to @last, or NULL where there is something
 * worse already. */
struct sbx_error *verify_finding(struct verification *v, enum verify_verdict verdict);
struct sbx_error *verify_finding_at(struct verification *v, enum verify_verdict verdict,
				    uint64_t first, uint64_t last);
/* The usual fix: what to do with a log that somebody has changed. */
void verify_fix(const struct verification *v, struct sbx_error *finding);

/* These return 0, VERIFY_STOP or negative errno. */

/* verify-record.c */
int verify_row(void *userdata, const struct store_row *row, struct sbx_error *err);
/* Is it the log that the witness and the state before are about? */
int verify_origin(struct verification *v);
/* Those of the present size. */
int verify_heads(struct verification *v);

/* verify-checkpoint.c */
/* The first one of a segment, in front of which a copy of the one before has to stand. */
int verify_first_note(struct verification *v, struct sbx_error *err);
/* The one behind that of the state before, which has to be there. */
int verify_state_note(struct verification *v, struct sbx_error *err);
int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err);
int verify_checkpoint(struct verification *v, struct sbx_error *err);
/* The one that confirms what was before a gap. */
int verify_note_behind_gap(struct verification *v, struct sbx_error *err);
/* @note becomes the next one of the trail. */
int verify_follow(struct verification *v, const char *note, size_t n_note);
/* The one that is left at the end of a segment. */
int verify_left_note(struct verification *v, bool is_last);

/* What can be said about the note that comes next, whoever has signed it. */
bool verify_peek(const struct verification *v, struct audit_checkpoint *ret);

/* verify-epochs.c: the file of epochs. It is written to before the segments are, so it is looked at
 * before they are read, and again behind them. */
int verify_epochs_before(struct verification *v);
/* The note that was followed last may be the last one of its epoch. */
int verify_note_epoch(struct verification *v);
/* Which epoch a segment began with that is not read from its begin. */
int verify_epoch_before_state(struct verification *v, struct sbx_error *err);
int verify_epochs_behind(struct verification *v);

/* verify-segment.c */
int verify_fail_segment(struct verification *v, const char *why);
/* It was signed once, as @who tells, and the records, or the checkpoint alone, are gone. */
void verify_miss_signed(struct verification *v, uint64_t size, const char *who);
/* -ENOENT where it is not there any more: somebody has archived or deleted it meanwhile. */
int verify_segment(struct verification *v, const struct segment_file *file, bool is_last);

/* verify-originals.c: what commitments are about, of the records from @from on */
int verify_originals(struct verification *v, uint64_t from, struct sbx_error *err);

/* verify-gap.c: where records are not there any more */
/* Goes on with what the segment says was before it, if the checkpoint at its begin confirms it. */
int verify_gap(struct verification *v, struct sbx_error *err);
/* Remembers where the segment begins. */
int verify_note_joint(struct verification *v);
/* A record which says that others were deleted. */
int verify_stub(struct verification *v, const struct store_row *row);
/* Is what is missing at the beginning what the records say? */
void verify_deleted(struct verification *v);

/* verify-jobs.c */
/* The rows of the segment, by several at once. -ESTALE where it changes meanwhile. */
int verify_rows_at_once(struct verification *v, struct sbx_error *err);
