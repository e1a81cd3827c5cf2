/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Is the log what was written there, and all of it?
 *
 * Every record's hash is computed again from its stored bytes; every checkpoint must be signed by
 * the key whose turn it was, and have the root, the head and the times of the records before it.
 * Nothing of this needs the writer's lock: a segment is read from one moment, and a log that is
 * being written to is not accused.
 *
 * Heads that were witnessed elsewhere must be reproduced. Without them a log can be cut at a
 * checkpoint unnoticed.
 *
 * Archives that were deleted for their age are missed, unless signed records of the log say of all
 * of them, from record 0 on, what they were.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "audit/known.h"

enum verify_verdict {
	VERIFY_INTACT,
	VERIFY_TAMPERED,   /* what is there is not what was written */
	VERIFY_INCOMPLETE, /* what is there is right, but records or checkpoints are missing */
	VERIFY_UNREADABLE,
};

const char *verify_verdict_name(enum verify_verdict verdict);

/* ---- verify ---- */

/* @total is where the present segment ends. */
typedef void (*verify_progress)(void *userdata, uint64_t done, uint64_t total);

struct verify_options {
	int directory;			    /* of the log */
	const char *verifier;		    /* "NAME+HEX+BASE64" of epoch 0; NULL: what record 0
					       says, which proves that the log is of one piece, and
					       not whose it is */
	const struct verified_state *since; /* NULL: from the first record */
	bool is_full;			    /* from the first record, and @since must come by */
	unsigned n_jobs;		    /* how many read at once; 0 and 1: one */
	const struct witness *witness;	    /* NULL: none. A head before @since makes it full */
	uint64_t now_usec;		    /* 0: the last records may be of any age */
	verify_progress progress;	    /* may be NULL */
	void *userdata;
};

struct verify_report {
	enum verify_verdict verdict;
	struct sbx_error finding; /* unless it is intact: what, why, and what to do */
	bool has_bad; /* records first_bad to last_bad, or some of them, are not right */
	uint64_t first_bad;
	uint64_t last_bad;
	uint64_t good_size;  /* of the last good checkpoint, 0: none */
	uint64_t begin;	     /* the first record that was verified now */
	uint64_t n_deleted;  /* records at the beginning, of which signed ones say so */
	uint64_t size;	     /* all before were right */
	uint64_t n_unsigned; /* at the end, which no checkpoint has yet */
	uint64_t n_checkpoints;
	uint64_t n_heads; /* of the witness, all reproduced where the log is intact */
	uint64_t epoch;
	bool is_key_own; /* the first key is the log's own word */
	char origin[NOTE_NAME_SIZE];
};

/*
 * 0 with a report, whatever the verdict is. -ENOMEM, -EBUSY and the like mean that nothing is known
 * about the log; -EINVAL that @verifier is none. @ret_state may be NULL; it is what was verified up
 * to the last good checkpoint, or without origin where that is nothing.
 */
int verify_directory(const struct verify_options *options, struct verify_report *ret,
		     struct verified_state *ret_state, struct sbx_error *err);
