/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Verification: is the log what was written, and all of it?
 *
 * Every record's hash is computed again from its stored bytes; every checkpoint must be signed by
 * the key whose turn it was, and have the root, the head and the times of the records before it.
 * This does not need the writer's lock: each segment is read from one snapshot, and a log that is
 * being written to gives no false findings.
 *
 * The log must reproduce heads that were witnessed elsewhere. Without them a log can be cut at a
 * checkpoint unnoticed.
 *
 * Archives that were deleted for their age are reported as missing, unless signed records of the
 * log describe all of them, from record 0 on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "audit/known.h"

enum verify_verdict {
	VERIFY_INTACT,
	VERIFY_TAMPERED,   /* the log's content is not what was written */
	VERIFY_INCOMPLETE, /* no content is wrong, but records or checkpoints are missing */
	VERIFY_UNREADABLE,
};

const char *verify_verdict_name(enum verify_verdict verdict);

/* ---- verify ---- */

/* @total is where the current segment ends. */
typedef void (*verify_progress)(void *userdata, uint64_t done, uint64_t total);

struct verify_options {
	int directory;	      /* the log's directory fd */
	const char *verifier; /* "NAME+HEX+BASE64" of epoch 0; NULL: the key in record 0, which
				 proves that the log is consistent, but not whose it is */
	const struct verified_state *since; /* NULL: verify from the first record */
	bool is_full;	 /* verify from the first record; @since must still be reached */
	unsigned n_jobs; /* threads; 0 and 1: one */
	const struct witness *witness; /* may be NULL; a head before @since makes it full */
	uint64_t now_usec;	       /* 0: do not check the age of the last records */
	verify_progress progress;      /* may be NULL */
	void *userdata;
};

struct verify_report {
	enum verify_verdict verdict;
	struct sbx_error finding; /* valid unless the verdict is intact */
	bool has_bad; /* records first_bad to last_bad, or some of them, are wrong or missing */
	uint64_t first_bad;
	uint64_t last_bad;
	uint64_t good_size;  /* size at the last good checkpoint; 0: none */
	uint64_t begin;	     /* the first record verified in this run */
	uint64_t n_deleted;  /* records at the beginning, deleted according to signed stubs */
	uint64_t size;	     /* all records before it were right */
	uint64_t n_unsigned; /* at the end, covered by no checkpoint yet */
	uint64_t n_checkpoints;
	uint64_t n_heads; /* of the witness; the log reproduces all of them if it is intact */
	uint64_t epoch;
	bool is_key_own; /* the first key was taken from the log itself */
	char origin[NOTE_NAME_SIZE];
};

/*
 * 0 with a report, whatever the verdict is. -ENOMEM, -EBUSY and the like say nothing about the log;
 * -EINVAL means that @verifier is malformed. @ret_state may be NULL; it is the state at the last
 * good checkpoint, with an empty origin if there is none.
 */
int verify_directory(const struct verify_options *options, struct verify_report *ret,
		     struct verified_state *ret_state, struct sbx_error *err);
