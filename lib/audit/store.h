/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A segment of the log: one SQLite file
 *
 *   records(seq, hash, body)
 *   checkpoints(size, note)          signed heads
 *   originals(seq, member, salt, original)   values of commitments; may be deleted
 *   meta(key, value)
 *
 * One process writes, under the lock of the directory; any number read, each from one snapshot.
 * Opening and closing a database locks it for moments, so a process waits for a lock and returns
 * -EBUSY only if it stays. A committed transaction is on disk. A file is opened only if it contains
 * exactly these tables (a trigger would be foreign code), and every row is checked when it is read.
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
	const char *problem; /* not NULL: why the row is not a valid record; then only seq is set */
	uint64_t seq;
	const void *body;
	uint32_t n_body;
	struct audit_hash hash;
};

/* A value to which a record has a commitment. */
struct store_original {
	const char *problem; /* not NULL: why the row is invalid; then only seq is set */
	uint64_t seq;
	struct entry_text member;
	struct entry_text value;
	uint8_t salt[ENTRY_SALT_SIZE];
};

/* Fills a new segment, in the transaction that creates it. */
typedef int (*store_fill)(struct store *store, void *userdata, struct sbx_error *err);

/*
 * Creates the file @name atomically, mode 0600: it gets this name when it is complete and synced.
 * -EEXIST if there is one. Only one process at a time may create files in the directory.
 */
int store_create(int directory, const char *name, store_fill fill, void *userdata,
		 struct sbx_error *err);
/* store_open() is for writing: this user must own the file, and no other user may have write
 * permission. -EBADMSG for a file that is not a segment, -ENOTSUP for one of a later format. */
int store_open(int directory, const char *name, struct store **ret, struct sbx_error *err);
int store_open_to_read(int directory, const char *name, struct store **ret, struct sbx_error *err);
/* Sets how long later calls wait for a lock. */
#define STORE_PATIENCE_MSEC 5000
void store_set_patience(struct store *store, unsigned msec);
struct store *store_free(struct store *store);
CLEANUP_BY(struct store, store_free)
#define _cleanup_store_ _cleanup_(store_free_ptr)

/*
 * Additions need a transaction. After a failure everything since store_begin() is or will be lost:
 * the caller must roll back. -ENOSPC, -EEXIST (the number is taken), -EIO ...
 */
int store_begin(struct store *store, struct sbx_error *err);
int store_commit(struct store *store, struct sbx_error *err);
void store_rollback(struct store *store);

int store_add(struct store *store, const struct store_row *row, struct sbx_error *err);
/* @with_value: stores the value, too, not only the salt. */
int store_add_original(struct store *store, uint64_t seq, const struct entry_original *original,
		       bool with_value, struct sbx_error *err);
/* 1, or 0 if there is one of this size already: it is not replaced, because a changed one must stay
 * to be found. */
int store_add_checkpoint(struct store *store, uint64_t size, const char *note, size_t n_bytes,
			 struct sbx_error *err);
/* Sets the value, or deletes it (@bytes: NULL). */
int store_set_meta(struct store *store, const char *key, const void *bytes, size_t n_bytes,
		   struct sbx_error *err);

/* All reads between these two see one snapshot. */
int store_begin_reading(struct store *store, struct sbx_error *err);
void store_end_reading(struct store *store);

/* The first and the last number: 1, or 0 if there are no records. */
int store_bounds(struct store *store, uint64_t *ret_first, uint64_t *ret_last,
		 struct sbx_error *err);
/* The value's length, -ENOENT if there is none (without @err), -EBADMSG if it has another type or
 * is too long. */
int store_get_meta(struct store *store, const char *key, void *bytes, size_t max,
		   struct sbx_error *err);

/* Visitors. A nonzero result stops the reading, which then returns it. Rows and notes are valid
 * only until the visitor returns. */
typedef int (*store_visit)(void *userdata, const struct store_row *row, struct sbx_error *err);
typedef int (*store_visit_note)(void *userdata, uint64_t size, const char *note, size_t n_bytes,
				struct sbx_error *err);
typedef int (*store_visit_original)(void *userdata, const struct store_original *original,
				    struct sbx_error *err);
typedef int (*store_visit_meta)(void *userdata, const char *key, struct sbx_error *err);

/* Visits the rows from @from to @to, inclusive, in ascending order; the caller must notice gaps. */
int store_each(struct store *store, uint64_t from, uint64_t to, store_visit visit, void *userdata,
	       struct sbx_error *err);
int store_each_checkpoint(struct store *store, uint64_t from_size, store_visit_note visit,
			  void *userdata, struct sbx_error *err);
/* Visits the checkpoint of the largest size: 1, or 0 if there is none. */
int store_last_checkpoint(struct store *store, store_visit_note visit, void *userdata,
			  struct sbx_error *err);
/* Visits the originals of records from @from on; from 0 on also those with negative numbers. */
int store_each_original(struct store *store, uint64_t from, store_visit_original visit,
			void *userdata, struct sbx_error *err);
/* Visits the keys that begin with @prefix, which must not contain wildcards. */
int store_each_meta(struct store *store, const char *prefix, store_visit_meta visit, void *userdata,
		    struct sbx_error *err);
