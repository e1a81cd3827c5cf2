/* SPDX-License-Identifier: MIT */

/*
 * Reading and writing the rows of a segment
 *
 * The rows may have been written by another program: a type, length or number that the log never
 * writes is reported in row->problem, which the caller judges.
 */

#include "audit/store.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/store-file.h"

/* Columns of a row, in the order of binding and reading. */
enum row_column {
	ROW_SEQ,
	ROW_HASH,
	ROW_BODY,
	N_ROW_COLUMNS,
};

static const char *const sqls[] = {
	[STATEMENT_BEGIN] = "BEGIN",
	/* IMMEDIATE: SQLite waits for the write lock here; upgrading after a read would fail at
	 * once. */
	[STATEMENT_BEGIN_WRITING] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_ADD] = "INSERT INTO records VALUES(?1,?2,?3)",
	[STATEMENT_ADD_ORIGINAL] = "INSERT INTO originals VALUES(?1,?2,?3,?4)",
	[STATEMENT_ADD_CHECKPOINT] = "INSERT OR IGNORE INTO checkpoints VALUES(?1,?2)",
	[STATEMENT_SET_META] = "INSERT OR REPLACE INTO meta VALUES(?1,?2)",
	[STATEMENT_DELETE_META] = "DELETE FROM meta WHERE key=?1",
	[STATEMENT_GET_META] = "SELECT value FROM meta WHERE key=?1",
	[STATEMENT_EACH_META] = "SELECT key FROM meta WHERE key>=?1 ORDER BY key",
	[STATEMENT_BOUNDS] = "SELECT (SELECT min(seq) FROM records),(SELECT max(seq) FROM records)",
	[STATEMENT_EACH] =
		("SELECT 1 FROM records WHERE seq BETWEEN ?1 AND ?2 AND visit(seq,hash,body) "
		 "ORDER BY seq"),
	[STATEMENT_EACH_CHECKPOINT] =
		"SELECT size,note FROM checkpoints WHERE size>=?1 ORDER BY size",
	[STATEMENT_LAST_CHECKPOINT] =
		"SELECT size,note FROM checkpoints ORDER BY size DESC LIMIT 1",
	[STATEMENT_EACH_ORIGINAL] = ("SELECT seq,member,salt,original FROM originals WHERE seq>=?1 "
				     "AND original IS NOT NULL ORDER BY seq"),
};

/* ---- statements ---- */

/* Returns the statement, prepared at its first use and reset for binding. NULL with @err and
 * *@ret_code. */
static sqlite3_stmt *store_statement(struct store *store, enum store_statement which, int *ret_code,
				     struct sbx_error *err)
{
	sqlite3_stmt **statement = &store->statements[which];

	if (!*statement && sqlite3_prepare_v3(store->db, sqls[which], -1, SQLITE_PREPARE_PERSISTENT,
					      statement, NULL) != SQLITE_OK) {
		*ret_code = store_fail(store, "use", err);
		return NULL;
	}
	return *statement;
}

/* A value to be bound. */
struct bound {
	enum {
		BOUND_NUMBER,
		BOUND_TEXT,
		BOUND_BLOB,
		BOUND_NULL,
	} kind;
	const void *bytes;
	uint64_t n; /* the number, or how many bytes */
};

/* SQLITE_STATIC: bound values outlive the step that reads them, so SQLite need not copy them. */
static int bind_value(sqlite3_stmt *statement, int at, const struct bound *value)
{
	switch (value->kind) {
	case BOUND_NUMBER:
		return sqlite3_bind_int64(statement, at, (sqlite3_int64)value->n);
	case BOUND_TEXT:
		return sqlite3_bind_text(statement, at, value->bytes, (int)value->n, SQLITE_STATIC);
	case BOUND_BLOB:
		return sqlite3_bind_blob(statement, at, value->bytes, (int)value->n, SQLITE_STATIC);
	case BOUND_NULL:
		break;
	}
	return sqlite3_bind_null(statement, at);
}

/* Runs a statement without result rows, and resets it in any case. */
static int store_run(struct store *store, enum store_statement which, const struct bound *values,
		     size_t n_values, struct sbx_error *err)
{
	int r = 0, sqlite = SQLITE_OK;
	sqlite3_stmt *statement = store_statement(store, which, &r, err);

	if (!statement)
		return r;
	errno = 0; /* store_fail() takes it for that of this statement */
	for (size_t i = 0; sqlite == SQLITE_OK && i < n_values; i++)
		sqlite = bind_value(statement, (int)i + 1, &values[i]);
	if (sqlite != SQLITE_OK || sqlite3_step(statement) != SQLITE_DONE)
		r = store_fail(store, "write to", err);
	(void)sqlite3_reset(statement);
	return r;
}

int store_begin(struct store *store, struct sbx_error *err)
{
	return store_run(store, STATEMENT_BEGIN_WRITING, NULL, 0, err);
}

int store_commit(struct store *store, struct sbx_error *err)
{
	return store_run(store, STATEMENT_COMMIT, NULL, 0, err);
}

/* After some failures SQLite has already rolled back. */
void store_rollback(struct store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		(void)store_run(store, STATEMENT_ROLLBACK, NULL, 0, NULL);
}

int store_begin_reading(struct store *store, struct sbx_error *err)
{
	uint64_t first, last;
	int r = store_run(store, STATEMENT_BEGIN, NULL, 0, err);

	if (r < 0)
		return r;
	/* The first read takes the snapshot. */
	r = store_bounds(store, &first, &last, err);
	if (r < 0)
		store_rollback(store);
	return r < 0 ? r : 0;
}

void store_end_reading(struct store *store)
{
	store_rollback(store);
}

/* ---- rows in ---- */

int store_add(struct store *store, const struct store_row *row, struct sbx_error *err)
{
	const struct bound values[N_ROW_COLUMNS] = {
		[ROW_SEQ] = { BOUND_NUMBER, NULL, row->seq },
		[ROW_HASH] = { BOUND_BLOB, row->hash.bytes, AUDIT_HASH_SIZE },
		[ROW_BODY] = { BOUND_BLOB, row->body, row->n_body },
	};

	return store_run(store, STATEMENT_ADD, values, N_ELEMENTS(values), err);
}

int store_add_original(struct store *store, uint64_t seq, const struct entry_original *original,
		       bool with_value, struct sbx_error *err)
{
	const struct entry_text *value = &original->value;
	const struct bound values[] = {
		{ BOUND_NUMBER, NULL, seq },
		{ BOUND_TEXT, original->name.bytes, original->name.n_bytes },
		{ BOUND_BLOB, original->salt, ENTRY_SALT_SIZE },
		{ with_value ? BOUND_BLOB : BOUND_NULL, value->bytes, value->n_bytes },
	};

	return store_run(store, STATEMENT_ADD_ORIGINAL, values, N_ELEMENTS(values), err);
}

int store_add_checkpoint(struct store *store, uint64_t size, const char *note, size_t n_bytes,
			 struct sbx_error *err)
{
	const struct bound values[] = {
		{ BOUND_NUMBER, NULL, size },
		{ BOUND_TEXT, note, n_bytes },
	};

	int r = store_run(store, STATEMENT_ADD_CHECKPOINT, values, N_ELEMENTS(values), err);

	return r < 0 ? r : sqlite3_changes(store->db) > 0;
}

int store_set_meta(struct store *store, const char *key, const void *bytes, size_t n_bytes,
		   struct sbx_error *err)
{
	const struct bound values[] = {
		{ BOUND_TEXT, key, strlen(key) },
		{ BOUND_BLOB, bytes, n_bytes },
	};

	return store_run(store, bytes ? STATEMENT_SET_META : STATEMENT_DELETE_META, values,
			 bytes ? 2 : 1, err);
}

/* ---- meta and originals ---- */

static int store_end_statement(struct store *store, sqlite3_stmt *statement, int step, int r,
			       struct sbx_error *err)
{
	if (r == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		r = store_fail(store, "read", err);
	(void)sqlite3_reset(statement);
	return r;
}

int store_bounds(struct store *store, uint64_t *ret_first, uint64_t *ret_last,
		 struct sbx_error *err)
{
	int r = 0, step;
	sqlite3_stmt *bounds = store_statement(store, STATEMENT_BOUNDS, &r, err);
	sqlite3_int64 first = -1, last = -1;
	bool is_empty = true;

	if (!bounds)
		return r;
	step = sqlite3_step(bounds);
	if (step == SQLITE_ROW) {
		is_empty = sqlite3_column_type(bounds, 0) == SQLITE_NULL;
		first = sqlite3_column_int64(bounds, 0);
		last = sqlite3_column_int64(bounds, 1);
	}
	r = store_end_statement(store, bounds, step, 0, err);
	if (r < 0 || is_empty)
		return r;
	if (first < 0)
		return store_fail_format(store->name, "a record has a negative number", err);
	*ret_first = (uint64_t)first;
	*ret_last = (uint64_t)last;
	return 1;
}

/* Copies the value: its length, or -EBADMSG. */
static int take_meta(struct store *store, sqlite3_stmt *get, void *bytes, size_t max,
		     struct sbx_error *err)
{
	size_t n = (size_t)sqlite3_column_bytes(get, 0);

	if (sqlite3_column_type(get, 0) != SQLITE_BLOB || n > max)
		return store_fail_format(store->name,
					 "a value in its table 'meta' has the wrong type or size",
					 err);
	if (n > 0)
		memcpy(bytes, sqlite3_column_blob(get, 0), n);
	return (int)n;
}

int store_get_meta(struct store *store, const char *key, void *bytes, size_t max,
		   struct sbx_error *err)
{
	const struct bound name = { BOUND_TEXT, key, strlen(key) };
	int r = 0, step;
	sqlite3_stmt *get = store_statement(store, STATEMENT_GET_META, &r, err);

	if (!get)
		return r;
	step = bind_value(get, 1, &name) == SQLITE_OK ? sqlite3_step(get) : SQLITE_ERROR;
	if (step == SQLITE_ROW) {
		r = take_meta(store, get, bytes, max, err);
	} else if (step == SQLITE_DONE) {
		r = -ENOENT;
	}
	return store_end_statement(store, get, step, r, err);
}

static bool take_number(sqlite3_stmt *each, int at, uint64_t *ret)
{
	sqlite3_int64 value = sqlite3_column_int64(each, at);

	*ret = (uint64_t)value;
	return sqlite3_column_type(each, at) == SQLITE_INTEGER && value >= 0;
}

static int visit_note(struct store *store, sqlite3_stmt *each, store_visit_note visit,
		      void *userdata, struct sbx_error *err)
{
	const char *note;
	uint64_t size;
	size_t n;

	if (!take_number(each, 0, &size) || sqlite3_column_type(each, 1) != SQLITE_TEXT)
		return store_fail_format(store->name, "a checkpoint is not text", err);
	note = (const char *)sqlite3_column_text(each, 1);
	n = (size_t)sqlite3_column_bytes(each, 1);
	if (!note || n > STORE_NOTE_MAX)
		return store_fail_format(store->name, "a checkpoint is too long", err);
	return visit(userdata, size, note, n, err);
}

int store_each_checkpoint(struct store *store, uint64_t from_size, store_visit_note visit,
			  void *userdata, struct sbx_error *err)
{
	int r = 0, step = SQLITE_DONE;
	sqlite3_stmt *each = store_statement(store, STATEMENT_EACH_CHECKPOINT, &r, err);

	if (!each)
		return r;
	if (from_size > INT64_MAX)
		return 0;
	(void)sqlite3_bind_int64(each, 1, (sqlite3_int64)from_size);
	while (r == 0 && (step = sqlite3_step(each)) == SQLITE_ROW)
		r = visit_note(store, each, visit, userdata, err);
	return store_end_statement(store, each, step, r, err);
}

int store_last_checkpoint(struct store *store, store_visit_note visit, void *userdata,
			  struct sbx_error *err)
{
	int r = 0, step;
	sqlite3_stmt *last = store_statement(store, STATEMENT_LAST_CHECKPOINT, &r, err);

	if (!last)
		return r;
	step = sqlite3_step(last);
	if (step == SQLITE_ROW)
		r = visit_note(store, last, visit, userdata, err);
	r = store_end_statement(store, last, step, r, err);
	return r == 0 ? step == SQLITE_ROW : r;
}

static struct entry_text take_bytes(sqlite3_stmt *each, int at)
{
	const char *bytes = sqlite3_column_blob(each, at);
	size_t n = (size_t)sqlite3_column_bytes(each, at);

	/* SQLite returns NULL for an empty value. */
	return (struct entry_text){ n > 0 ? bytes : "", n };
}

static const char *take_original(sqlite3_stmt *each, struct store_original *original)
{
	struct entry_text salt = take_bytes(each, 2);

	if (!take_number(each, 0, &original->seq))
		return "its record has a negative number";
	if (sqlite3_column_type(each, 1) != SQLITE_TEXT ||
	    sqlite3_column_type(each, 3) != SQLITE_BLOB)
		return "its member is not text, or its value is not a blob";
	if (sqlite3_column_type(each, 2) != SQLITE_BLOB || salt.n_bytes != ENTRY_SALT_SIZE)
		return "its salt is not 32 bytes long";
	original->member = take_bytes(each, 1);
	original->value = take_bytes(each, 3);
	if (!original->member.bytes || !original->value.bytes || !salt.bytes)
		return "it cannot be read";
	memcpy(original->salt, salt.bytes, ENTRY_SALT_SIZE);
	return NULL;
}

int store_each_original(struct store *store, uint64_t from, store_visit_original visit,
			void *userdata, struct sbx_error *err)
{
	int r = 0, step = SQLITE_DONE;
	sqlite3_stmt *each = store_statement(store, STATEMENT_EACH_ORIGINAL, &r, err);

	if (!each)
		return r;
	if (from > INT64_MAX)
		return 0;
	(void)sqlite3_bind_int64(each, 1, from == 0 ? INT64_MIN : (sqlite3_int64)from);
	while (r == 0 && (step = sqlite3_step(each)) == SQLITE_ROW) {
		struct store_original original = { .seq = 0 };

		original.problem = take_original(each, &original);
		r = visit(userdata, &original, err);
	}
	return store_end_statement(store, each, step, r, err);
}

int store_each_meta(struct store *store, const char *prefix, store_visit_meta visit, void *userdata,
		    struct sbx_error *err)
{
	const struct bound from = { BOUND_TEXT, prefix, strlen(prefix) };
	int r = 0, step = SQLITE_DONE;
	sqlite3_stmt *each = store_statement(store, STATEMENT_EACH_META, &r, err);

	if (!each)
		return r;
	(void)bind_value(each, 1, &from);
	while (r == 0 && (step = sqlite3_step(each)) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(each, 0);

		if (!key || strncmp(key, prefix, from.n) != 0)
			break;
		r = visit(userdata, key, err);
	}
	return store_end_statement(store, each, step, r, err);
}

/* ---- rows out ---- */

/*
 * A function in the statement's WHERE clause, which always returns false, calls the visitor. So it
 * gets SQLite's own values, without a call for each column and without a copy.
 */

struct store_scan {
	store_visit visit;
	void *userdata;
	struct sbx_error *err;
	int r; /* what the visitor returned */
};

/* Ask for the length first: that converts the value to UTF-8, so that the bytes are UTF-8, too. */
static const char *bytes_of(sqlite3_value *value, size_t *ret_n)
{
	const char *bytes;
	int n = sqlite3_value_bytes(value);

	bytes = sqlite3_value_blob(value);
	*ret_n = n > 0 ? (size_t)n : 0;
	/* SQLite returns NULL for an empty value, and if it is out of memory. */
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
		return "its hash is not 32 bytes long";
	if (!take_body(values[ROW_BODY], row))
		return "its body is not a blob, or too long";
	return NULL;
}

/* Returning true ends the scan. */
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
