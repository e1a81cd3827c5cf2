/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A segment of the log: one SQLite file
 *
 *   records(seq, hash, body)
 *   checkpoints(size, note)          signed heads
 *   originals(seq, member, salt, original)   what commitments are about; may be deleted
 *   meta(key, value)
 *
 * One process writes, under the lock of the directory; any number read, each from one
 * snapshot. Opening and closing a database locks it for moments, so a process that meets a lock
 * waits for it, and has -EBUSY when it stays. A committed transaction is on the disk. A file is
 * opened only if its tables are these and nothing else (a trigger would be foreign code), and what
 * a row holds is checked when it is read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "audit/chain.h"
#include "base/cleanup.h"

struct sbx_error;
struct store;

#define STORE_FORMAT 1
#define STORE_NOTE_MAX 16384
#define STORE_META_MAX 8192

struct store_row {
	const char *problem; /* not NULL: the row is no record, for this reason; only seq is set */
	uint64_t seq;
	const void *body;
	uint32_t n_body;
	struct audit_hash hash;
};

/* A value of which a record has a commitment. */
struct store_original {
	const char *problem; /* not NULL: the row is none, for this reason; only seq is set */
	uint64_t seq;
	struct entry_text member;
	struct entry_text value;
	uint8_t salt[ENTRY_SALT_SIZE];
};

/* What a new segment begins with, written in the transaction that makes it. */
typedef int (*store_fill)(struct store *store, void *userdata, struct sbx_error *err);

/*
 * Makes the file @name, whole or not at all: it gets its name when it is complete and on the disk.
 * -EEXIST where there is one. 0600.
 */
int store_create(int directory, const char *name, store_fill fill, void *userdata,
		 struct sbx_error *err);
/* To write: the file must belong to this user, and no other user may write it. -EBADMSG for a file
 * that is no segment, -ENOTSUP for one of a later format. */
int store_open(int directory, const char *name, struct store **ret, struct sbx_error *err);
int store_open_to_read(int directory, const char *name, struct store **ret, struct sbx_error *err);
/* How long a lock is waited for, from now on. */
#define STORE_PATIENCE_MSEC 5000
void store_set_patience(struct store *store, unsigned msec);
struct store *store_free(struct store *store);
void store_free_ptr(struct store **store);
#define _cleanup_store_ _cleanup_(store_free_ptr)

/*
 * Additions are made in a transaction. After a failure everything since store_begin() is gone or is
 * going to be: the caller rolls back. -ENOSPC, -EEXIST (the number is taken), -EIO ...
 */
int store_begin(struct store *store, struct sbx_error *err);
int store_commit(struct store *store, struct sbx_error *err);
void store_rollback(struct store *store);

int store_add(struct store *store, const struct store_row *row, struct sbx_error *err);
/* @original: also the value itself, not only the salt. */
int store_add_original(struct store *store, uint64_t seq, const struct entry_original *original,
		       bool with_value, struct sbx_error *err);
int store_add_checkpoint(struct store *store, uint64_t size, const char *note, size_t n_bytes,
			 struct sbx_error *err);
/* Sets it, or takes it away (@bytes: NULL). */
int store_set_meta(struct store *store, const char *key, const void *bytes, size_t n_bytes,
		   struct sbx_error *err);

/* Between these two every read is of one snapshot. */
int store_begin_reading(struct store *store, struct sbx_error *err);
void store_end_reading(struct store *store);

/* The first and the last number: 1, or 0 where there are no records. */
int store_bounds(struct store *store, uint64_t *ret_first, uint64_t *ret_last,
		 struct sbx_error *err);
/* The value's length, -ENOENT where there is none (without @err), -EBADMSG where it is no value. */
int store_get_meta(struct store *store, const char *key, void *bytes, size_t max,
		   struct sbx_error *err);

/* Ends the reading where it does not return 0; that is then what the reader returns. Rows and notes
 * are there until it returns. */
typedef int (*store_visit)(void *userdata, const struct store_row *row, struct sbx_error *err);
typedef int (*store_visit_note)(void *userdata, uint64_t size, const char *note, size_t n_bytes,
				struct sbx_error *err);
typedef int (*store_visit_original)(void *userdata, const struct store_original *original,
				    struct sbx_error *err);
typedef int (*store_visit_meta)(void *userdata, const char *key, struct sbx_error *err);

/* The rows from @from to @to, both among them, in their order; whether one is missing is the
 * caller's to see. */
int store_each(struct store *store, uint64_t from, uint64_t to, store_visit visit, void *userdata,
	       struct sbx_error *err);
int store_each_checkpoint(struct store *store, uint64_t from_size, store_visit_note visit,
			  void *userdata, struct sbx_error *err);
/* The one of the largest size: 1, or 0 where there is none (and @visit is not called). */
int store_last_checkpoint(struct store *store, store_visit_note visit, void *userdata,
			  struct sbx_error *err);
/* Those of the records from @from on that are there; from 0 on also what has a negative number. */
int store_each_original(struct store *store, uint64_t from, store_visit_original visit,
			void *userdata, struct sbx_error *err);
/* The keys that begin with @prefix, which has no wildcards. */
int store_each_meta(struct store *store, const char *prefix, store_visit_meta visit, void *userdata,
		    struct sbx_error *err);
