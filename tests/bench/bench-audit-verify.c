/* SPDX-License-Identifier: MIT */

/*
 * The cost of verifying a log
 *
 * The peer only hashes the same stored bytes, record by record: no reading from the disk, no tree,
 * no parsing. The floor reads the rows of the segment and computes the three hashes of each record:
 * its own, its leaf, and one node of the tree. The verification that continues from a verified
 * state is measured, too.
 */

#define OPENSSL_SUPPRESS_DEPRECATED

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/chain.h"
#include "audit/log.h"
#include "audit/store.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "bench-audit-place.h"

#define N_RECORDS 20000u
#define N_NEW 1000u
#define SEGMENT "00000000000000000000.db"

struct verify_bench {
	struct arena arena;
	struct bench_line lines[BENCH_LINES];
	struct bench_place place;
	int directory;
	struct verified_state before; /* without the last N_NEW records */
	struct bench_line *bodies;    /* as stored */
	size_t n_bodies, n_bytes;
	EVP_MD *md;
	EVP_MD_CTX *context;
};

static void verify_teardown(void *data)
{
	struct verify_bench *bench = data;

	if (!bench)
		return;
	if (bench->directory >= 0)
		(void)close(bench->directory);
	bench_place_remove(&bench->place);
	EVP_MD_CTX_free(bench->context);
	EVP_MD_free(bench->md);
	arena_deinit(&bench->arena);
	free(bench);
}

static void verify_bench_free(struct verify_bench **bench)
{
	verify_teardown(*bench);
}

static int verify_once(const struct verify_bench *bench, const struct verified_state *since,
		       struct verify_report *ret, struct verified_state *ret_state,
		       struct sbx_error *err)
{
	const struct verify_options options = { .directory = bench->directory,
						.since = since,
						.now_usec = UINT64_MAX / 2 };

	return verify_directory(&options, ret, ret_state, err);
}

/* The lines repeat, so the records of a log differ only in their numbers. */
static int add_lines(struct verify_bench *bench, struct audit_log *log, unsigned n)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		const struct bench_line *line = &bench->lines[i % BENCH_LINES];

		r = audit_log_add(log, line->bytes, line->n_bytes, NULL, NULL, NULL);
	}
	return r == 0 ? audit_log_checkpoint(log, NULL) : -EIO;
}

static int make_log(struct verify_bench *bench, struct sbx_error *err)
{
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct verify_report report;
	int r = bench_place_make(&bench->place, NULL, err);

	if (r == 0)
		r = audit_log_create(&bench->place.options, err);
	if (r == 0)
		r = audit_log_open(&bench->place.options, &log, err);
	if (r == 0)
		r = add_lines(bench, log, N_RECORDS - N_NEW);
	if (r < 0)
		return r;
	bench->directory = open(bench->place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (bench->directory < 0)
		return -errno;
	r = verify_once(bench, NULL, &report, &bench->before, err);
	return r < 0 ? r : add_lines(bench, log, N_NEW);
}

static int keep_body(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct verify_bench *bench = userdata;
	const char *bytes = arena_copy(&bench->arena, row->body, row->n_body);

	if (!bytes || bench->n_bodies > N_RECORDS)
		return -ENOMEM;
	bench->bodies[bench->n_bodies++] = (struct bench_line){ bytes, row->n_body };
	bench->n_bytes += row->n_body;
	return 0;
}

static int keep_bodies(struct verify_bench *bench, struct sbx_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int r = store_open_to_read(bench->directory, SEGMENT, &store, err);

	bench->bodies = arena_alloc(&bench->arena, (N_RECORDS + 1) * sizeof(*bench->bodies));
	if (r == 0 && !bench->bodies)
		r = -ENOMEM;
	if (r == 0)
		r = store_each(store, 0, UINT64_MAX, keep_body, bench, err);
	bench->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	bench->context = EVP_MD_CTX_new();
	return r == 0 && (!bench->md || !bench->context) ? -ENOMEM : r;
}

static int verify_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(verify_bench_free) struct verify_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up audit_verify");
	bench->directory = -EBADF;
	if (bench_audit_make_lines(&bench->arena, bench->lines) == 0)
		return sbx_error_what(err, -ENOMEM, "cannot set up audit_verify");
	r = make_log(bench, err);
	if (r == 0)
		r = keep_bodies(bench, err);
	if (r < 0)
		return sbx_error_what(err, r, "cannot set up audit_verify");
	ret->bytes_per_op = bench->n_bytes;
	ret->data = take_ptr(bench);
	return 0;
}

static int new_setup(struct bench_state *ret, struct sbx_error *err)
{
	int r = verify_setup(ret, err);

	ret->bytes_per_op = 0;
	return r;
}

static bool verify_verify(const void *data)
{
	struct verify_bench *bench = (struct verify_bench *)data;
	struct verify_report report;

	if (verify_once(bench, NULL, &report, NULL, NULL) < 0 || report.verdict != VERIFY_INTACT ||
	    report.size != bench->n_bodies)
		return false;
	return verify_once(bench, &bench->before, &report, NULL, NULL) == 0 &&
	       report.verdict == VERIFY_INTACT && report.begin >= N_RECORDS - N_NEW;
}

static void run_verify(struct verify_bench *bench, const struct verified_state *since,
		       uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		struct verify_report report;

		(void)verify_once(bench, since, &report, NULL, NULL);
		bench_keep(&report);
	}
}

static void full_run(void *data, uint64_t n_ops)
{
	run_verify(data, NULL, n_ops);
}

static void new_run(void *data, uint64_t n_ops)
{
	struct verify_bench *bench = data;

	run_verify(bench, &bench->before, n_ops);
}

static void hash_bodies(void *data, uint64_t n_ops)
{
	struct verify_bench *bench = data;
	unsigned char digest[EVP_MAX_MD_SIZE];

	for (uint64_t i = 0; i < n_ops; i++)
		for (size_t j = 0; j < bench->n_bodies; j++) {
			(void)EVP_DigestInit_ex2(bench->context, bench->md, NULL);
			(void)EVP_DigestUpdate(bench->context, bench->bodies[j].bytes,
					       bench->bodies[j].n_bytes);
			(void)EVP_DigestFinal_ex(bench->context, digest, NULL);
			bench_keep(digest);
		}
}

/* ---- the floor ---- */

static void floor_digest(const void *head, size_t n_head, const void *bytes, size_t n_bytes,
			 uint8_t ret[AUDIT_HASH_SIZE])
{
	SHA256_CTX context;

	(void)SHA256_Init(&context);
	(void)SHA256_Update(&context, head, n_head);
	(void)SHA256_Update(&context, bytes, n_bytes);
	(void)SHA256_Final(ret, &context);
}

static void floor_row(sqlite3_stmt *each, uint8_t hash[AUDIT_HASH_SIZE])
{
	static const uint8_t prefixes[] = { 0, 1 };
	uint8_t head[sizeof(AUDIT_CHAIN_TAG) - 1 + 8 + AUDIT_HASH_SIZE + 4] = { 0 };
	uint8_t nodes[2 * AUDIT_HASH_SIZE] = { 0 };
	const void *body = sqlite3_column_blob(each, 2);

	bench_keep(sqlite3_column_blob(each, 1));
	memcpy(head, hash, AUDIT_HASH_SIZE);
	floor_digest(head, sizeof(head), body, (size_t)sqlite3_column_bytes(each, 2), hash);
	floor_digest(&prefixes[0], 1, hash, AUDIT_HASH_SIZE, nodes);
	floor_digest(&prefixes[1], 1, nodes, sizeof(nodes), nodes);
	bench_keep(nodes);
}

static void floor_run(void *data, uint64_t n_ops)
{
	struct verify_bench *bench = data;
	char path[sizeof(bench->place.log) + sizeof(SEGMENT) + 1];

	(void)snprintf(path, sizeof(path), "%s/" SEGMENT, bench->place.log);
	for (uint64_t i = 0; i < n_ops; i++) {
		uint8_t hash[AUDIT_HASH_SIZE] = { 0 };
		sqlite3_stmt *each = NULL;
		sqlite3 *db = NULL;

		if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, "SELECT seq,hash,body FROM records ORDER BY seq", -1,
				       &each, NULL) == SQLITE_OK)
			while (sqlite3_step(each) == SQLITE_ROW)
				floor_row(each, hash);
		(void)sqlite3_finalize(each);
		(void)sqlite3_close(db);
		bench_keep(hash);
	}
}

const struct bench bench_audit_verify[] = {
	{
		.name = "audit_verify",
		.subject = "verify a log of 20,000 records, from the first one",
		.unit = "MB/s",
		.against = "peer: bare SHA-256 of each record's bytes (libcrypto)",
		.setup = verify_setup,
		.verify = verify_verify,
		.run = full_run,
		.peer = hash_bodies,
		.teardown = verify_teardown,
	},
	{
		.name = "audit_verify_floor",
		.subject = "verify a log of 20,000 records, from the first one",
		.unit = "MB/s",
		.against = "floor: step the rows of the segment, three hashes of each (libcrypto)",
		.setup = verify_setup,
		.verify = verify_verify,
		.run = full_run,
		.peer = floor_run,
		.teardown = verify_teardown,
	},
	{
		.name = "audit_verify_new",
		.subject = "verify the 1,000 new records of a log of 20,000",
		.unit = "ns/op",
		.against = "peer: our own, from the first record",
		.setup = new_setup,
		.verify = verify_verify,
		.run = new_run,
		.peer = full_run,
		.teardown = verify_teardown,
	},
	{ .name = NULL },
};
