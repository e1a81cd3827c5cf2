/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a segment that an attacker put into the log's directory: it is read, verified, and
 * opened for writing. It is refused or read, and all values that are read have a length. A failed
 * check is an abort.
 */

#include "audit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log.h"
#include "audit/verify.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define SEGMENT "00000000000000000000.db"

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void use_bytes(const void *bytes, size_t n_bytes)
{
	/* Reads each byte, for the sanitizer. */
	check(n_bytes == 0 || memchr(bytes, 0xff, n_bytes) != (const char *)bytes + n_bytes);
}

static int use_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	size_t *n = userdata;

	if (++*n > 100000)
		return -E2BIG;
	if (row->problem)
		return 0;
	check(row->n_body <= ENTRY_BYTES_MAX);
	use_bytes(row->body, row->n_body);
	return 0;
}

static int use_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		    struct sbx_error *err)
{
	size_t *n = userdata;

	check(n_bytes <= STORE_NOTE_MAX);
	use_bytes(note, n_bytes);
	return ++*n > 100000 ? -E2BIG : 0;
}

static int use_meta(void *userdata, const char *key, struct sbx_error *err)
{
	size_t *n = userdata;

	use_bytes(key, strlen(key));
	return ++*n > 100000 ? -E2BIG : 0;
}

static void read_store(int directory)
{
	_cleanup_store_ struct store *store = NULL;
	unsigned char meta[STORE_META_MAX];
	uint64_t first, last;
	size_t n = 0;
	int r;

	if (store_open_to_read(directory, SEGMENT, &store, NULL) < 0) {
		check(!store);
		return;
	}
	if (store_begin_reading(store, NULL) < 0)
		return;
	(void)store_bounds(store, &first, &last, NULL);
	(void)store_each(store, 0, UINT64_MAX, use_row, &n, NULL);
	(void)store_each_checkpoint(store, 0, use_note, &n, NULL);
	(void)store_last_checkpoint(store, use_note, &n, NULL);
	(void)store_each_meta(store, "", use_meta, &n, NULL);
	r = store_get_meta(store, "frontier", meta, sizeof(meta), NULL);
	if (r > 0)
		use_bytes(meta, (size_t)r);
	store_end_reading(store);
}

static void verify_store(int directory)
{
	struct verify_options options = { .directory = directory, .now_usec = 1767323045678901 };
	struct verify_report report;
	struct sbx_error err = { .code = 0 };

	if (verify_directory(&options, &report, NULL, &err) < 0)
		check(err.code < 0);
	else
		check(report.verdict == VERIFY_INTACT || report.finding.code < 0);
}

static void open_log(const char *path)
{
	const struct audit_log_options options = { .directory = path };
	struct audit_log *log = NULL;
	struct sbx_error err = { .code = 0 };

	if (audit_log_open(&options, &log, &err) < 0)
		check(!log && err.code < 0);
	(void)audit_log_free(log);
}

static void put_file(int directory, const char *name, const void *bytes, size_t n_bytes)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && fd_write_all(fd, bytes, n_bytes) == 0);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static const char *const names[] = { SEGMENT,	     SEGMENT "-wal",
					     SEGMENT "-shm", SEGMENT "-journal",
					     "key",	     "reserve",
					     "key.next" };
	/* The key of the log in the corpus; it signs nothing else. */
	static const char key[] =
		"sbx-audit-key/1 0 sLnPIW/pMknDWXqFi4Ly8PTP0kmb/zYWUFAAJgvPPL8=\n";
	char path[] = "/tmp/fuzz-store-XXXXXX";
	int directory;

	check(mkdtemp(path) != NULL);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(directory >= 0);
	put_file(directory, SEGMENT, bytes, n_bytes);
	put_file(directory, "key", key, strlen(key));
	read_store(directory);
	verify_store(directory);
	open_log(path);
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		(void)unlinkat(directory, names[i], 0);
	(void)close(directory);
	check(rmdir(path) == 0);
	return 0;
}
