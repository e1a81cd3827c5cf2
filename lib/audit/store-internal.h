/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the store: the connection, its statements, and its errors
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

/* The columns of a row, in the order in which they are bound and read. */
enum row_column {
	ROW_SEQ,
	ROW_HASH,
	ROW_BODY,
	N_ROW_COLUMNS,
};

struct store_scan;

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[N_STATEMENTS];
	char name[STORE_NAME_SIZE];
	struct store_scan *scan; /* of the rows that are being visited */
};

/* The statement, prepared when it is first asked for and ready to be bound. NULL with @err and
 * *@ret_code. */
sqlite3_stmt *store_statement(struct store *store, enum store_statement which, int *ret_code,
			      struct sbx_error *err);
/* Steps through a statement without rows, and puts it back. 0 or negative errno. */
int store_run(struct store *store, enum store_statement which, struct sbx_error *err);
/* Puts back a statement that is read: @r, or where that is 0 the errno of a @step that failed. */
int store_end_statement(struct store *store, sqlite3_stmt *statement, int step, int r,
			struct sbx_error *err);
/* Makes the SQL function that visits rows. 0 or negative errno. */
int store_prepare_scan(struct store *store, struct sbx_error *err);
/* "cannot @doing the segment 'NAME'": returns the errno of what SQLite says now. */
int store_fail(struct store *store, const char *doing, struct sbx_error *err);
/* The same for what is no segment of ours. */
int store_fail_format(const char *name, const char *why, struct sbx_error *err);
int store_check_schema(struct store *store, struct sbx_error *err);
int store_make_schema(struct store *store, struct sbx_error *err);
