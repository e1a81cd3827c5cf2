/* SPDX-License-Identifier: MIT */

/*
 * The bytes are the input of sbx-audit append: lines that go into a log. Each line is accepted or
 * refused, a refused one does not affect the others, and uncommitted records are gone after
 * reopening. One log is used for all inputs, because nothing is committed. A failed check is an
 * abort.
 */

#include "audit/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "base/fd.h"
#include "base/lines.h"
#include "record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* A log whose directory is removed after it was opened. */
static struct audit_log *make_log(void)
{
	static const char *const names[] = { "00000000000000000000.db",
					     "00000000000000000000.db-wal",
					     "00000000000000000000.db-shm", "key", "reserve" };
	char path[] = "/tmp/fuzz-append-XXXXXX";
	struct audit_log_options options = { .directory = path };
	struct audit_log *log = NULL;

	check(mkdtemp(path) != NULL);
	check(audit_log_create(&options, NULL) == 0);
	check(audit_log_open(&options, &log, NULL) == 0);
	check(audit_log_say(log, "log_verified", "", NULL) == 0);
	check(audit_log_commit(log, NULL) == 0);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		char name[96];

		(void)snprintf(name, sizeof(name), "%s/%s", path, names[i]);
		(void)unlink(name);
	}
	check(rmdir(path) == 0);
	return log;
}

static void add_line(struct audit_log *log, const char *line, size_t n_bytes)
{
	const struct audit_writer writer = { .uid = 1, .pid = 2 };
	uint64_t size = audit_log_size(log);
	struct sbx_error err = { .code = 0 };
	struct audit_receipt receipt;
	int r = audit_log_add(log, line, n_bytes, &writer, &receipt, &err);

	check(r == 0 || r == AUDIT_REFUSED);
	check((r == AUDIT_REFUSED) == (err.code < 0));
	check(audit_log_size(log) == size + (r == 0));
	check(r != 0 || receipt.seq == size);
}

static void add_lines(struct audit_log *log, int fd, size_t n_bytes)
{
	_cleanup_lines_ struct line_reader reader = { .fd = fd, .max = RECORD_BYTES_MAX };
	size_t n_line, n_read = 0;
	char *line;
	int state;

	while ((state = lines_next(&reader, &line, &n_line)) != LINE_END) {
		check(state > 0);
		if (state == LINE_READY)
			add_line(log, line, n_line);
		n_read += n_line;
		check(n_line == 0 || n_read <= n_bytes);
		(void)lines_at_hand(&reader);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static struct audit_log *log;
	struct audit_hash before, after;
	uint64_t size;
	int fd = memfd_create("lines", MFD_CLOEXEC);

	if (!log)
		log = make_log();
	check(fd >= 0 && fd_write_all(fd, bytes, n_bytes) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	size = audit_log_size(log);
	before = log->now.head;
	add_lines(log, fd, n_bytes);
	audit_log_rollback(log);
	after = log->now.head;
	check(audit_log_size(log) == size && audit_hash_equal(&before, &after));
	(void)close(fd);
	return 0;
}
