/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the log
 */

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
#define META_LOG "log"			 /* its id */
#define META_FIRST "first"		 /* number of the first record */
#define META_PREVIOUS "previous"	 /* hash of the record before it */
#define META_FIRST_FRONTIER "frontier.0" /* of the tree before it */
#define META_FRONTIER "frontier"	 /* of the tree of the last checkpoint */
#define META_SIGNER "signer"		 /* of the key that signed it: epoch and public key */
#define META_BEGUN "begun"		 /* when the segment was made, in microseconds */
#define META_NEXT "next"		 /* where the segment behind it begins */
#define META_DELETED "deleted" /* how many records were in deleted archives, and the last hash */
#define META_STORAGE "storage" /* how full the directory was when a record said so last */
#define META_SPOOL "spool:"    /* and a claimed file: how much of it is taken */

/* What the last checkpoint says. */
struct log_signed {
	uint64_t size; /* 0: there is none */
	struct audit_hash head;
	struct audit_hash root;
};

/* Where the log ends. */
struct log_state {
	struct merkle_frontier frontier; /* its size is the log's */
	struct audit_hash head;
	bool has_time;	     /* of a record since the last checkpoint */
	uint64_t first_usec; /* the least and greatest one; else both are 0 */
	uint64_t last_usec;
	struct log_signed last;
};

struct audit_log {
	int directory; /* locked */
	struct store *store;
	struct hasher *hasher;
	const struct redactor *redactor;
	struct redactor *own_redactor;
	const char *credentials;
	struct audit_key key;
	struct note_verifier verifier; /* of this key */
	char log_id[AUDIT_LOG_ID_SIZE];
	bool keep_originals;
	bool is_in_transaction;
	bool is_closed; /* the next segment has begun, and could not be opened */
	bool has_reserve;
	bool is_broken;
	uint64_t broken_seq;
	unsigned patience_msec;
	struct log_state now;
	struct log_state committed;
	struct audit_entry entry;
	struct text line;
	struct text note; /* of the checkpoint that was signed last, committed or not */
	struct audit_watch watch;
	audit_imported *imported; /* called for each line that is taken in, or NULL */
	void *imported_userdata;
};

uint64_t log_now_usec(void);
void log_put_u64(uint8_t *at, uint64_t value);
uint64_t log_get_u64(const uint8_t *at);

/* "cannot open the log 'DIRECTORY'": returns @code. */
int log_fail(struct sbx_error *err, int code, const char *directory, const char *why,
	     const char *fix);
/* Opens and locks the directory. */
int log_open_directory(const struct audit_log_options *options, struct sbx_error *err);
/* The last segment: 1, or 0 where there is none. */
int log_find_segment(int directory, char ret[SEGMENT_NAME_SIZE]);
void log_segment_name(uint64_t first, char ret[SEGMENT_NAME_SIZE]);

/* Sets @n values of the table meta. */
struct log_meta {
	const char *key;
	const void *bytes;
	size_t n_bytes;
};
int log_set_meta(struct store *store, const struct log_meta *values, size_t n,
		 struct sbx_error *err);

/* A frontier as the table meta holds it: the size, and the peaks. -EBADMSG where it is none. */
size_t log_save_frontier(const struct merkle_frontier *frontier, uint8_t ret[FRONTIER_BYTES_MAX]);
int log_parse_frontier(const uint8_t *bytes, size_t n_bytes, struct merkle_frontier *ret);
/* Reads what the segment says about itself and verifies what came after the last checkpoint. */
int log_read_tail(struct audit_log *log, struct sbx_error *err);
void log_break(struct audit_log *log, uint64_t seq);
void log_note_time(struct log_state *state, uint64_t usec);
/* What comes now is of the next checkpoint. */
void log_forget_times(struct log_state *state);

/* The key that signs next, and what the last checkpoint says. Completes a change of keys that was
 * cut short. */
int log_load_checkpoint(struct audit_log *log, struct sbx_error *err);

int log_begin(struct audit_log *log, struct sbx_error *err);
/* Opens the segment that has begun, or takes it away again and goes on in the one before. */
int log_go_on(struct audit_log *log, struct sbx_error *err);
/* Rolls back; where the disk is full the reserve says so. Returns @code. */
int log_failed(struct audit_log *log, int code);
/* Tells the watch of log->note, which is the checkpoint that was committed last. */
void log_tell_head(struct audit_log *log);
/* Adds a checkpoint of all there is to the transaction; with @next, the last one of the epoch. */
int log_sign(struct audit_log *log, const struct audit_key *next, struct sbx_error *err);
