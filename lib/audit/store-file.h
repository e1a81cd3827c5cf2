/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The connection to a segment's file, for store.c; and large reads of it
 */

#include <sqlite3.h>

#include "audit/store.h"

#define STORE_NAME_SIZE 128

enum store_statement {
	STATEMENT_BEGIN,
	STATEMENT_BEGIN_WRITING,
	STATEMENT_COMMIT,
	STATEMENT_ROLLBACK,
	STATEMENT_ADD,
	STATEMENT_ADD_ORIGINAL,
	STATEMENT_ADD_CHECKPOINT,
	STATEMENT_SET_META,
	STATEMENT_DELETE_META,
	STATEMENT_GET_META,
	STATEMENT_EACH_META,
	STATEMENT_BOUNDS,
	STATEMENT_EACH,
	STATEMENT_EACH_CHECKPOINT,
	STATEMENT_LAST_CHECKPOINT,
	STATEMENT_EACH_ORIGINAL,
	N_STATEMENTS,
};

struct readahead;
struct store_scan;

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[N_STATEMENTS];
	char name[STORE_NAME_SIZE];
	struct readahead *readahead; /* NULL if the store is open for writing */
	struct store_scan *scan;     /* state of the running scan */
};

#define LENGTH_MAX (1024 * 1024)
#define WAL_PAGES 1000
#define NEW_SUFFIX ".new"

/* Fills @err with "cannot @doing the segment 'NAME'"; returns the errno for SQLite's last error. */
int store_fail(struct store *store, const char *doing, struct sbx_error *err);
/* The same for a file that is not a segment; returns -EBADMSG. */
int store_fail_format(const char *name, const char *why, struct sbx_error *err);
/* Registers the SQL function that visits rows. 0 or negative errno. */
int store_prepare_scan(struct store *store, struct sbx_error *err);

/* readahead.c: large reads of a database that is read sequentially */

/*
 * Hooks into the reads of the main file of @db, which must be open read-only. 0 or negative errno.
 * Free it after @db is closed.
 */
int readahead_new(sqlite3 *db, struct readahead **ret);
struct readahead *readahead_free(struct readahead *readahead);
