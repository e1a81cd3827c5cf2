/* SPDX-License-Identifier: MIT */

/*
 * Rows out: every one of a range goes by once
 *
 * The visitor is called by a function in the statement's condition, which is never true. So the
 * values of a row are SQLite's own, without the calls that a result costs for each column, and
 * nothing is copied: a verifier of ten million records spends more on reading than on hashing.
 *
 * What comes out may have been written by anybody with another program: a type, a length or a
 * number that no writer of ours makes is the row's problem, and the reader's to judge.
 */

#include "audit/store-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

struct store_scan {
	store_visit visit;
	void *userdata;
	struct sbx_error *err;
	int r; /* what the visitor has returned */
};

/* The length first: it is asked for in UTF-8, and the bytes are then there in that, too. */
static const char *bytes_of(sqlite3_value *value, size_t *ret_n)
{
	const char *bytes;
	int n = sqlite3_value_bytes(value);

	bytes = sqlite3_value_blob(value);
	*ret_n = n > 0 ? (size_t)n : 0;
	/* Nothing at all has no bytes; neither have those that could not be had. */
	return n == 0 ? "" : bytes;
}

static bool take_body(sqlite3_value *value, struct store_row *row)
{
	size_t n;

	if (sqlite3_value_type(value) != SQLITE_BLOB)
		return false;
	row->body = bytes_of(value, &n);
	row->n_body = (uint32_t)n;
	return row->body != NULL && n <= ENTRY_BYTES_MAX;
}

static bool take_hash(sqlite3_value *value, struct store_row *row)
{
	const char *hash;
	size_t n;

	if (sqlite3_value_type(value) != SQLITE_BLOB)
		return false;
	hash = bytes_of(value, &n);
	if (!hash || n != AUDIT_HASH_SIZE)
		return false;
	memcpy(row->hash.bytes, hash, AUDIT_HASH_SIZE);
	return true;
}

static const char *take_row(sqlite3_value *values[], struct store_row *row)
{
	row->seq = (uint64_t)sqlite3_value_int64(values[ROW_SEQ]);
	if (row->seq > INT64_MAX)
		return "its number is negative";
	if (!take_hash(values[ROW_HASH], row))
		return "its hash has another length than 32 bytes";
	if (!take_body(values[ROW_BODY], row))
		return "its body is no bytes, or too many";
	return NULL;
}

/* True ends the scan. */
static void visit(sqlite3_context *context, int n_values, sqlite3_value *values[])
{
	const struct store *store = sqlite3_user_data(context);
	struct store_scan *scan = store->scan;
	struct store_row row;

	row.problem = take_row(values, &row);
	scan->r = scan->visit(scan->userdata, &row, scan->err);
	sqlite3_result_int(context, scan->r != 0);
}

int store_prepare_scan(struct store *store, struct sbx_error *err)
{
	if (sqlite3_create_function(store->db, "visit", N_ROW_COLUMNS,
				    SQLITE_UTF8 | SQLITE_DIRECTONLY, store, visit, NULL,
				    NULL) != SQLITE_OK)
		return store_fail(store, "open", err);
	return 0;
}

int store_each(struct store *store, uint64_t from, uint64_t to, store_visit visit_row,
	       void *userdata, struct sbx_error *err)
{
	struct store_scan scan = { .visit = visit_row, .userdata = userdata, .err = err };
	struct store_scan *outer = store->scan;
	int r = 0, step;
	sqlite3_stmt *each = store_statement(store, STATEMENT_EACH, &r, err);

	if (!each)
		return r;
	if (from > INT64_MAX)
		return 0;
	if (to > INT64_MAX)
		to = INT64_MAX;
	(void)sqlite3_bind_int64(each, 1, (sqlite3_int64)from);
	(void)sqlite3_bind_int64(each, 2, (sqlite3_int64)to);
	store->scan = &scan;
	step = sqlite3_step(each);
	store->scan = outer;
	return store_end_statement(store, each, step, scan.r, err);
}
