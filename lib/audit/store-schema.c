/* SPDX-License-Identifier: MIT */

/*
 * The tables of a segment, and nothing beside them
 *
 * SQLite keeps the text of every definition. A segment is one of ours if it has exactly these
 * texts: then no trigger, no view, no generated column and no other type is in it.
 */

#include "audit/store-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sbx/error.h>

#define APPLICATION_ID 0x73627861 /* "sbxa" */

#define RECORDS                                                                                    \
	"CREATE TABLE records(seq INTEGER PRIMARY KEY,hash BLOB NOT NULL,body BLOB NOT NULL)STRICT"
#define ORIGINALS                                                                                  \
	"CREATE TABLE originals(seq INTEGER NOT NULL,member TEXT NOT NULL,salt BLOB NOT NULL,"     \
	"original BLOB,PRIMARY KEY(seq,member))STRICT,WITHOUT ROWID"

static const char *const definitions[] = {
	RECORDS,
	"CREATE TABLE checkpoints(size INTEGER PRIMARY KEY,note TEXT NOT NULL)STRICT",
	ORIGINALS,
	"CREATE TABLE meta(key TEXT PRIMARY KEY,value BLOB NOT NULL)STRICT,WITHOUT ROWID",
};

int store_make_schema(struct store *store, struct sbx_error *err)
{
	char pragmas[96];

	(void)snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d;PRAGMA user_version=%d",
		       APPLICATION_ID, STORE_FORMAT);
	for (size_t i = 0; i < N_ELEMENTS(definitions); i++)
		if (sqlite3_exec(store->db, definitions[i], NULL, NULL, NULL) != SQLITE_OK)
			return store_fail(store, "make", err);
	if (sqlite3_exec(store->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(store, "make", err);
	return 0;
}

static void statement_finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}
#define _cleanup_statement_ _cleanup_(statement_finalize)

static int read_number(struct store *store, const char *pragma, int *ret, struct sbx_error *err)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(store->db, pragma, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		return store_fail(store, "open", err);
	*ret = sqlite3_column_int(statement, 0);
	return 0;
}

static int check_numbers(struct store *store, struct sbx_error *err)
{
	int application = 0, format = 0, r;

	r = read_number(store, "PRAGMA application_id", &application, err);
	if (r == 0)
		r = read_number(store, "PRAGMA user_version", &format, err);
	if (r < 0)
		return r;
	if (application != APPLICATION_ID)
		return store_fail_format(store->name, "it is not marked as one", err);
	if (format == STORE_FORMAT)
		return 0;
	(void)sbx_error_what(err, -ENOTSUP, "cannot use the segment '%s'", store->name);
	sbx_error_why(err, "its format is %d, and this sbx-audit knows %d", format, STORE_FORMAT);
	sbx_error_fix(err, "use the release of sbx-audit that wrote it, or a later one");
	return -ENOTSUP;
}

int store_check_schema(struct store *store, struct sbx_error *err)
{
	static const char sql[] = "SELECT sql FROM sqlite_schema ORDER BY rowid";
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = check_numbers(store, err), step;
	size_t n = 0;

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(store, "open", err);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		if (n == N_ELEMENTS(definitions) || !text || strcmp(text, definitions[n++]) != 0)
			return store_fail_format(store->name,
						 "its tables are not those of a segment", err);
	}
	if (step != SQLITE_DONE)
		return store_fail(store, "open", err);
	if (n != N_ELEMENTS(definitions))
		return store_fail_format(store->name, "tables of a segment are missing", err);
	return 0;
}
