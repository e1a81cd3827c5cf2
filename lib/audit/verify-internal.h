/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the verifier
 */

#include "audit/entry.h"
#include "audit/log-internal.h"
#include "audit/trail.h"
#include "audit/verify.h"

/* A finding behind which there is nothing to be said. */
#define VERIFY_STOP 1

#define MINUTE_SIZE 16 /* "2026-01-02T03:04" */

/* Reads what a record says about its columns; start it as { 0 }. */
struct verify_columns {
	struct audit_entry entry;
	const struct audit_event *event; /* that came last */
	char minute[MINUTE_SIZE];	 /* the same */
	uint64_t minute_usec;
};

/* 0 where the columns are what the bytes say, 1 with the reason why not, or -ENOMEM. */
int verify_columns_compare(struct verify_columns *columns, const struct store_row *row,
			   const char **ret_why);
/* The same for records of any form. */
int verify_columns_compare_slowly(struct verify_columns *columns, const struct store_row *row,
				  const char **ret_why);

struct verification {
	const struct verify_options *options;
	struct verify_report *report;
	struct hasher *hasher;
	struct note_verifier first; /* who signs epoch 0; without name: not known yet */
	bool is_key_given;
	struct store *store; /* the segment that is being read */
	char log_id[AUDIT_LOG_ID_SIZE];
	struct log_state now; /* where the reading is, as the writer was there */
	struct audit_trail trail;
	struct note_verifier signer; /* of trail.last; without name: not known */
	struct verified_state good;
	struct text note;   /* the checkpoint that comes next in this segment */
	uint64_t note_size; /* 0: there is none */
	struct audit_hash last_note; /* digest of the one that came last */
	bool has_last_note;
	size_t n_heads;	    /* of the witness, which have come by */
	bool is_since_due;  /* the state before has to come by */
	uint64_t end;	    /* of the segment */
	uint64_t mtime_usec;
	struct verify_columns *columns;
};

/* Where to describe what was found in records @first to @last, or NULL where there is something
 * worse already. */
struct sbx_error *verify_finding(struct verification *v, enum verify_verdict verdict);
struct sbx_error *verify_finding_at(struct verification *v, enum verify_verdict verdict,
				    uint64_t first, uint64_t last);
/* The usual fix: what to do with a log that somebody has changed. */
void verify_fix(const struct verification *v, struct sbx_error *finding);

/* These return 0, VERIFY_STOP or negative errno. */

/* verify-record.c: begins with what record 0 says. */
int verify_row(void *userdata, const struct store_row *row, struct sbx_error *err);
int verify_heads(struct verification *v);

/* verify-checkpoint.c: reads the next one, looks at the one that is due, and at what is left. */
int verify_next_note(struct verification *v, uint64_t from_size, struct sbx_error *err);
int verify_checkpoint(struct verification *v, struct sbx_error *err);
int verify_left_note(struct verification *v, struct sbx_error *err);
int verify_end(struct verification *v);

/* verify-segment.c: one file. */
int verify_segment(struct verification *v, const char *name, bool is_last);
