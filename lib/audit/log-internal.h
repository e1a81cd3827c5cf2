/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The log's state, shared by the files that implement it
 */

#include "audit/clock.h"
#include "audit/entry.h"
#include "audit/key.h"
#include "audit/log.h"
#include "audit/merkle.h"
#include "audit/checkpoint.h"
#include "audit/store.h"

#define SEGMENT_DIGITS 20
#define SEGMENT_NAME_SIZE (SEGMENT_DIGITS + sizeof(".db"))
#define FRONTIER_BYTES_MAX (8 + MERKLE_PATH_MAX * AUDIT_HASH_SIZE)

/* Keys of the table meta. */
#define META_LOG "log"			 /* the log's id */
#define META_FIRST "first"		 /* number of the first record */
#define META_PREVIOUS "previous"	 /* hash of the record before that one */
#define META_FIRST_FRONTIER "frontier.0" /* tree before that record */
#define META_FRONTIER "frontier"	 /* tree of the last checkpoint */
#define META_SIGNER "signer"		 /* key that signed it: epoch and public key */
#define META_BEGUN "begun"		 /* when the segment was created, in microseconds */
#define META_NEXT "next"		 /* number of the first record of the next segment */
#define META_DELETED "deleted" /* how many records deleted archives held, and the last hash */
#define META_STORAGE "storage" /* storage level at the last record about it */
#define META_CLOCK "clock"     /* struct audit_clock: believed, doubted, advanced (audit/clock.h) */
#define META_SPOOL "spool:"    /* followed by a claimed file's name: the imported offset */

/* The content of the last checkpoint. */
struct log_signed {
	uint64_t size; /* 0: there is no checkpoint */
	struct audit_hash head;
	struct audit_hash root;
};

/* The end of the log. */
struct log_state {
	struct merkle_frontier frontier; /* its size is the log's size */
	struct audit_hash head;
	bool has_time;	     /* there are records since the last checkpoint */
	uint64_t first_usec; /* minimum and maximum of their times, else 0 */
	uint64_t last_usec;
	struct log_signed last;
};

struct audit_log {
	int directory; /* fd, locked with flock() */
	struct store *store;
	const struct redactor *redactor;
	struct redactor *own_redactor;
	const char *credentials;
	struct audit_key key;
	uint64_t epoch_due; /* of the key that has to take the place of @key first, or 0 */
	struct note_verifier verifier; /* of the current key */
	char log_id[AUDIT_LOG_ID_SIZE];
	bool keep_originals;
	bool is_in_transaction;
	bool is_closed; /* the next segment exists, but could not be opened */
	bool has_reserve;
	bool is_broken;
	uint64_t broken_seq;
	unsigned patience_msec;
	struct log_state now;
	struct log_state committed;
	struct audit_entry entry;
	struct text line;
	struct text note; /* the checkpoint signed last, committed or not */
	struct audit_watch watch;
	struct audit_clock unsaved; /* that a full disk could not take; or all 0 */
	size_t n_imports;	    /* so far: see log-import.c */
	uid_t import_next;	    /* owner of the file with which the next import begins */
	audit_imported *imported;   /* called for each imported line, or NULL */
	void *imported_userdata;
};

void log_put_u64(uint8_t *at, uint64_t value);
uint64_t log_get_u64(const uint8_t *at);

/* Fills @err with "cannot open the log 'DIRECTORY'"; returns @code. */
int log_fail(struct sbx_error *err, int code, const char *directory, const char *why,
	     const char *fix);
/* Opens the directory and locks it. */
int log_open_directory(const struct audit_log_options *options, struct sbx_error *err);
/* Finds the last segment: 1, or 0 if there is none. */
int log_find_segment(int directory, char ret[SEGMENT_NAME_SIZE]);
void log_segment_name(uint64_t first, char ret[SEGMENT_NAME_SIZE]);

/* A value of the table meta; log_set_meta() sets @n of them. */
struct log_meta {
	const char *key;
	const void *bytes;
	size_t n_bytes;
};
int log_set_meta(struct store *store, const struct log_meta *values, size_t n,
		 struct sbx_error *err);

/* Converts a frontier to and from its form in the table meta: the size, and the peaks. -EBADMSG if
 * the bytes are malformed. */
size_t log_save_frontier(const struct merkle_frontier *frontier, uint8_t ret[FRONTIER_BYTES_MAX]);
int log_parse_frontier(const uint8_t *bytes, size_t n_bytes, struct merkle_frontier *ret);
/* Reads the segment's meta table and verifies the records after the last checkpoint. */
int log_read_tail(struct audit_log *log, struct sbx_error *err);
void log_break(struct audit_log *log, uint64_t seq);
void log_note_time(struct log_state *state, uint64_t usec);
/* Later records count for the next checkpoint. */
void log_forget_times(struct log_state *state);

/* Reads the last checkpoint and the key that signs next. Completes an interrupted change of
 * keys. */
int log_load_checkpoint(struct audit_log *log, struct sbx_error *err);

int log_begin(struct audit_log *log, struct sbx_error *err);
/* Opens the next segment, or removes it again and continues in the present one. */
int log_go_on(struct audit_log *log, struct sbx_error *err);
/* Rolls back; if the disk is full, uses the reserve to record that. Returns @code. */
int log_failed(struct audit_log *log, int code);
/* Passes log->note, the checkpoint committed last, to the watch. */
void log_tell_head(struct audit_log *log);
/* Adds a checkpoint of all records to the transaction; with @next, the last one of the epoch. */
int log_sign(struct audit_log *log, const struct audit_key *next, struct sbx_error *err);
