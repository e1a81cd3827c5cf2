/* SPDX-License-Identifier: MIT */
#pragma once

/* Logs to verify, and functions of an attacker that change them with SQLite */

#include <sqlite3.h>

#include "audit-log-place.h"
#include "audit-verdict.h"
#include "base/text.h"

#define N_FIRST 20 /* records of a log from log_filled() */

/* ---- logs ---- */

/* A decision record that uses every column. */
static inline void add_decision(struct audit_log *log, unsigned n)
{
	char line[400];
	struct sbx_error err = { .code = 0 };
	int len = snprintf(
		line, sizeof(line),
		"{\"time\":\"2026-01-02T03:04:%02u.678901Z\",\"event\":\"policy_decision\","
		"\"tool\":\"sbx-policy\",\"verdict\":\"allow\",\"input\":{\"op\":\"fs.read\","
		"\"path\":\"/srv/%u\"},\"rules\":[{\"name\":\"rule-%u\"}],\"policy\":\"d1\","
		"\"peer\":{\"sandbox_id\":\"box\"}}",
		n % 60, n, n % 7);

	expect_eq(audit_log_add(log, line, (size_t)len, NULL, NULL, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
}

static inline void add_signed(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		add_decision(log, (unsigned)audit_log_size(log));
	expect_eq(audit_log_checkpoint(log, NULL), 0);
}

/* Checkpoints at sizes 1, 6, 11, 16 and 20. */
static inline void log_fill(struct audit_log *log)
{
	add_signed(log, 5);
	add_signed(log, 5);
	add_signed(log, 5);
	add_signed(log, 4);
	expect_eq(audit_log_size(log), N_FIRST);
}

static inline void log_filled(struct log_place *place)
{
	struct audit_log *log;

	log_place_init(place);
	log = log_made(place);
	log_fill(log);
	(void)audit_log_free(log);
}

static inline void key_of(const struct log_place *place, struct text *ret)
{
	struct audit_log *log = log_opened(place);

	audit_log_add_verifier(log, ret);
	(void)audit_log_free(log);
}

/* ---- changes through SQLite ---- */

static inline sqlite3 *db_open(const struct log_place *place, const char *name)
{
	sqlite3 *db = NULL;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/%s", place->log, name);
	expect_eq(sqlite3_open(path, &db), SQLITE_OK);
	(void)sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
	return db;
}

static inline void execute(const struct log_place *place, const char *sql)
{
	sqlite3 *db = db_open(place, SEGMENT);
	char *message = NULL;

	expect_eq(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK);
	if (message)
		printf("# %s: %s\n", sql, message);
	sqlite3_free(message);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

/* Reads the value that @select selects; returns its length. */
static inline size_t read_bytes(const struct log_place *place, const char *select, void *ret,
				size_t max)
{
	sqlite3 *db = db_open(place, SEGMENT);
	sqlite3_stmt *statement = NULL;
	size_t n = 0;

	expect_eq(sqlite3_prepare_v2(db, select, -1, &statement, NULL), SQLITE_OK);
	expect_eq(sqlite3_step(statement), SQLITE_ROW);
	n = (size_t)sqlite3_column_bytes(statement, 0);
	expect(n <= max);
	if (n > 0 && n <= max)
		memcpy(ret, sqlite3_column_blob(statement, 0), n);
	(void)sqlite3_finalize(statement);
	expect_eq(sqlite3_close(db), SQLITE_OK);
	return n;
}

static inline void write_bytes(const struct log_place *place, const char *update, bool is_text,
			       const void *bytes, size_t n)
{
	sqlite3 *db = db_open(place, SEGMENT);
	sqlite3_stmt *statement = NULL;

	expect_eq(sqlite3_prepare_v2(db, update, -1, &statement, NULL), SQLITE_OK);
	if (is_text)
		(void)sqlite3_bind_text(statement, 1, bytes, (int)n, SQLITE_STATIC);
	else
		(void)sqlite3_bind_blob(statement, 1, bytes, (int)n, SQLITE_STATIC);
	expect_eq(sqlite3_step(statement), SQLITE_DONE);
	(void)sqlite3_finalize(statement);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

/* An attacker who knows the hash chain: recomputes the hashes from record @from on. */
static inline void chain_again(const struct log_place *place, uint64_t from)
{
	sqlite3 *db = db_open(place, SEGMENT);
	sqlite3_stmt *each = NULL, *set = NULL;
	struct audit_hash hash = { { 0 } };

	expect_eq(sqlite3_prepare_v2(db, "SELECT seq,body,hash FROM records ORDER BY seq", -1,
				     &each, NULL),
		  SQLITE_OK);
	expect_eq(sqlite3_prepare_v2(db, "UPDATE records SET hash=?1 WHERE seq=?2", -1, &set, NULL),
		  SQLITE_OK);
	expect_eq(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	while (sqlite3_step(each) == SQLITE_ROW) {
		uint64_t seq = (uint64_t)sqlite3_column_int64(each, 0);

		expect_eq(chain_next(seq, &hash, sqlite3_column_blob(each, 1),
				     (uint32_t)sqlite3_column_bytes(each, 1), &hash),
			  0);
		if (seq < from)
			continue;
		(void)sqlite3_bind_blob(set, 1, hash.bytes, sizeof(hash.bytes), SQLITE_STATIC);
		(void)sqlite3_bind_int64(set, 2, (sqlite3_int64)seq);
		expect_eq(sqlite3_step(set), SQLITE_DONE);
		(void)sqlite3_reset(set);
	}
	(void)sqlite3_finalize(each);
	(void)sqlite3_finalize(set);
	expect_eq(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	expect_eq(sqlite3_close(db), SQLITE_OK);
}

/* ---- verify ---- */

static inline struct verify_report verified_alone(const struct log_place *place)
{
	return verified(place, (struct verify_options){ .now_usec = 0 }, NULL);
}

#define expect_found(report, want, first)                                                          \
	do {                                                                                       \
		expect_verdict(report, want);                                                      \
		expect((report).has_bad);                                                          \
		expect_eq((report).first_bad, first);                                              \
	} while (0)

/* Makes a witness of the log's newest checkpoint. */
static inline void witness_of(const struct log_place *place, struct witness *ret)
{
	char note[4096];
	size_t n = read_bytes(place, "SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1",
			      note, sizeof(note));

	expect_eq(witness_parse(ret, note, n, NULL), 0);
	expect_eq(ret->n_heads, 1);
}

/* ---- copies ---- */

/* A log and its original bytes, so that each case can restore it. */
struct copy {
	struct log_place place;
	char *bytes;
	size_t n_bytes;
};

static inline void copy_deinit(struct copy *copy)
{
	free(copy->bytes);
	log_place_deinit(&copy->place);
}
#define _cleanup_copy_ _cleanup_(copy_deinit)

static inline int segment_file_open(const struct log_place *place, int flags)
{
	char path[96];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT, place->log);
	fd = open(path, flags | O_CLOEXEC, 0600);
	expect(fd >= 0);
	return fd;
}

static inline void copy_make(struct copy *copy)
{
	struct stat st;
	int fd;

	*copy = (struct copy){ .bytes = NULL };
	log_filled(&copy->place);
	execute(&copy->place, "PRAGMA wal_checkpoint(TRUNCATE)");
	fd = segment_file_open(&copy->place, O_RDONLY);
	expect_eq(fstat(fd, &st), 0);
	copy->n_bytes = (size_t)st.st_size;
	copy->bytes = malloc(copy->n_bytes);
	expect_eq(read(fd, copy->bytes, copy->n_bytes), copy->n_bytes);
	(void)close(fd);
}

static inline void remove_beside(const struct log_place *place)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT "-wal", place->log);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/" SEGMENT "-shm", place->log);
	(void)unlink(path);
}

static inline void copy_back(const struct copy *copy)
{
	int fd = segment_file_open(&copy->place, O_WRONLY | O_TRUNC);

	remove_beside(&copy->place);
	expect_eq(write(fd, copy->bytes, copy->n_bytes), copy->n_bytes);
	(void)close(fd);
}
