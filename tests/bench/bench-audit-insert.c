/* SPDX-License-Identifier: MIT */

/*
 * The cost of a record from a line to the disk
 *
 * The peer is SQLite: a database with the tables, indexes and settings of a segment gets the rows
 * that the log has made of the same lines. The difference is the cost of parsing the line,
 * searching for secrets, the hash chain and the Merkle tree.
 */

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/log.h"
#include "audit/store.h"
#include "base/cleanup.h"
#include "bench-audit-place.h"

#define GROUP 100u
#define SEGMENT "00000000000000000000.db"
#define DISK "/var/tmp"
#define SETTINGS                                                                                   \
	"PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA wal_autocheckpoint=1000;"          \
	"PRAGMA journal_size_limit=0;PRAGMA cell_size_check=ON;PRAGMA mmap_size=0"

struct insert_bench {
	struct arena arena;
	struct bench_line lines[BENCH_LINES];
	struct store_row rows[BENCH_LINES]; /* the rows of these lines */
	size_t n_rows, n_bytes;
	struct bench_place place, other;
	struct audit_log *log;
	uint64_t next;
	sqlite3 *bare;
	sqlite3_stmt *begin, *insert, *commit;
	struct audit_log *single; /* a log whose records are committed one by one */
	uint64_t next_other;
};

static void insert_teardown(void *data)
{
	struct insert_bench *bench = data;

	if (!bench)
		return;
	(void)sqlite3_finalize(bench->begin);
	(void)sqlite3_finalize(bench->insert);
	(void)sqlite3_finalize(bench->commit);
	(void)sqlite3_close(bench->bare);
	(void)audit_log_free(bench->log);
	(void)audit_log_free(bench->single);
	bench_place_remove(&bench->place);
	bench_place_remove(&bench->other);
	arena_deinit(&bench->arena);
	free(bench);
}

static void insert_bench_free(struct insert_bench **bench)
{
	insert_teardown(*bench);
}
#define _cleanup_bench_ _cleanup_(insert_bench_free)

/* ---- the log ---- */

static int add_line(struct insert_bench *bench, struct audit_log *log, uint64_t i)
{
	const struct bench_line *line = &bench->lines[i % BENCH_LINES];

	return audit_log_add(log, line->bytes, line->n_bytes, NULL, NULL, NULL);
}

static int open_log(struct bench_place *place, const char *parent, struct audit_log **ret,
		    struct sbx_error *err)
{
	int r = bench_place_make(place, parent, err);

	if (r == 0)
		r = audit_log_create(&place->options, err);
	return r < 0 ? r : audit_log_open(&place->options, ret, err);
}

static struct insert_bench *bench_open(const char *parent, struct sbx_error *err)
{
	_cleanup_bench_ struct insert_bench *bench = calloc(1, sizeof(*bench));
	int r = 0;

	if (bench)
		bench->n_bytes = bench_audit_make_lines(&bench->arena, bench->lines);
	if (!bench || bench->n_bytes == 0) {
		(void)sbx_error_what(err, -ENOMEM, "cannot set up audit_insert");
		return NULL;
	}
	r = open_log(&bench->place, parent, &bench->log, err);
	for (uint64_t i = 0; r == 0 && i < BENCH_LINES; i++)
		r = add_line(bench, bench->log, i);
	if (r == 0)
		r = audit_log_commit(bench->log, err);
	return r < 0 ? NULL : take_ptr(bench);
}

static void insert_run(void *data, uint64_t n_ops)
{
	struct insert_bench *bench = data;

	for (uint64_t i = 0; i < n_ops; i++) {
		for (unsigned j = 0; j < GROUP; j++)
			(void)add_line(bench, bench->log, bench->next++);
		(void)audit_log_commit(bench->log, NULL);
	}
}

/* ---- bare SQLite ---- */

static int keep_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct insert_bench *bench = userdata;
	struct store_row *copy = &bench->rows[bench->n_rows++];

	*copy = *row;
	copy->body = arena_copy(&bench->arena, row->body, row->n_body);
	return copy->body ? 0 : -ENOMEM;
}

static int keep_rows(struct insert_bench *bench, struct sbx_error *err)
{
	_cleanup_close_ int directory = open(bench->place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_store_ struct store *store = NULL;
	int r = directory < 0 ? -errno : store_open_to_read(directory, SEGMENT, &store, err);

	return r < 0 ? r : store_each(store, 1, BENCH_LINES, keep_row, bench, err);
}

/* Copies all definitions of the segment. */
static int define(void *userdata, int n, char **values, char **names)
{
	return sqlite3_exec(userdata, values[0], NULL, NULL, NULL) != SQLITE_OK;
}

static int copy_schema(struct insert_bench *bench)
{
	static const char sql[] = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL";
	sqlite3 *segment = NULL;
	char path[96];
	int r;

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT, bench->place.log);
	r = sqlite3_open_v2(path, &segment, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
			    sqlite3_exec(segment, sql, define, bench->bare, NULL) == SQLITE_OK
		    ? 0
		    : -EIO;
	(void)sqlite3_close(segment);
	return r;
}

static int open_bare(struct insert_bench *bench)
{
	static const char insert[] = "INSERT INTO records VALUES(?1,?2,?3)";
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/bare.db", bench->place.path);
	if (sqlite3_open_v2(path, &bench->bare,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(bench->bare, SETTINGS, NULL, NULL, NULL) != SQLITE_OK ||
	    copy_schema(bench) < 0 ||
	    sqlite3_prepare_v2(bench->bare, "BEGIN", -1, &bench->begin, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(bench->bare, "COMMIT", -1, &bench->commit, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(bench->bare, insert, -1, &bench->insert, NULL) != SQLITE_OK)
		return -EIO;
	return 0;
}

static bool run_statement(sqlite3_stmt *statement)
{
	bool is_done = sqlite3_step(statement) == SQLITE_DONE;

	(void)sqlite3_reset(statement);
	return is_done;
}

static bool insert_bare(struct insert_bench *bench, uint64_t i)
{
	const struct store_row *row = &bench->rows[i % BENCH_LINES];
	sqlite3_stmt *insert = bench->insert;

	(void)sqlite3_bind_int64(insert, 1, (sqlite3_int64)i);
	(void)sqlite3_bind_blob(insert, 2, row->hash.bytes, AUDIT_HASH_SIZE, SQLITE_STATIC);
	(void)sqlite3_bind_blob(insert, 3, row->body, (int)row->n_body, SQLITE_STATIC);
	return run_statement(insert);
}

static bool insert_bare_group(struct insert_bench *bench)
{
	bool is_good = run_statement(bench->begin);

	for (unsigned j = 0; j < GROUP; j++)
		is_good &= insert_bare(bench, bench->next_other++);
	return run_statement(bench->commit) && is_good;
}

static void insert_peer(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++)
		(void)insert_bare_group(data);
}

static bool insert_verify(const void *data)
{
	struct insert_bench *bench = (struct insert_bench *)data;
	uint64_t size = audit_log_size(bench->log);

	insert_run(bench, 3);
	for (unsigned i = 0; i < 3; i++)
		if (!insert_bare_group(bench))
			return false;
	return audit_log_size(bench->log) == size + 3 * (uint64_t)GROUP &&
	       sqlite3_total_changes64(bench->bare) == 3 * (sqlite3_int64)GROUP;
}

static int setup_beside_bare(struct bench_state *ret, const char *parent, struct sbx_error *err)
{
	_cleanup_bench_ struct insert_bench *bench = bench_open(parent, err);
	int r;

	if (!bench)
		return -EIO;
	r = keep_rows(bench, err);
	if (r == 0)
		r = open_bare(bench);
	if (r < 0)
		return sbx_error_what(err, r, "cannot set up audit_insert");
	ret->bytes_per_op = bench->n_bytes / BENCH_LINES * GROUP;
	ret->data = take_ptr(bench);
	return 0;
}

static int memory_setup(struct bench_state *ret, struct sbx_error *err)
{
	return setup_beside_bare(ret, NULL, err);
}

static int disk_setup(struct bench_state *ret, struct sbx_error *err)
{
	return setup_beside_bare(ret, DISK, err);
}

/* ---- one commit for each record ---- */

static bool add_single(struct insert_bench *bench)
{
	return add_line(bench, bench->single, bench->next_other++) == 0 &&
	       audit_log_commit(bench->single, NULL) == 0;
}

static void single_peer(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++)
		for (unsigned j = 0; j < GROUP; j++)
			(void)add_single(data);
}

static bool single_verify(const void *data)
{
	struct insert_bench *bench = (struct insert_bench *)data;
	uint64_t size = audit_log_size(bench->log);

	insert_run(bench, 1);
	return add_single(bench) && audit_log_size(bench->log) == size + GROUP;
}

static int single_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_bench_ struct insert_bench *bench = bench_open(DISK, err);
	int r;

	if (!bench)
		return -EIO;
	r = open_log(&bench->other, DISK, &bench->single, err);
	if (r < 0)
		return r;
	ret->bytes_per_op = bench->n_bytes / BENCH_LINES * GROUP;
	ret->data = take_ptr(bench);
	return 0;
}

const struct bench bench_audit_insert[] = {
	{
		.name = "audit_insert_memory",
		.subject = "100 lines become records and are committed, in a file system in memory",
		.unit = "ns/op",
		.against = "peer: bare SQLite, the same rows, tables and settings",
		.setup = memory_setup,
		.verify = insert_verify,
		.run = insert_run,
		.peer = insert_peer,
		.teardown = insert_teardown,
	},
	{
		.name = "audit_insert_disk",
		.subject = "100 lines become records and are committed to the disk",
		.unit = "ns/op",
		.against = "peer: bare SQLite, the same rows, tables and settings",
		.setup = disk_setup,
		.verify = insert_verify,
		.run = insert_run,
		.peer = insert_peer,
		.teardown = insert_teardown,
	},
	{
		.name = "audit_insert_group",
		.subject = "100 lines become records and are committed to the disk",
		.unit = "ns/op",
		.against = "peer: our own, one commit a record",
		.setup = single_setup,
		.verify = single_verify,
		.run = insert_run,
		.peer = single_peer,
		.teardown = insert_teardown,
	},
	{ .name = NULL },
};
