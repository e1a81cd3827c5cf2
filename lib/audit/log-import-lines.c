/* SPDX-License-Identifier: MIT */

/*
 * The lines of one file of the spool. A line that is no record leaves a record that says so: what
 * was in the spool is deleted afterwards, and nothing may vanish without a trace.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/log-import.h"
#include "base/json.h"

int import_fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	(void)sbx_error_what(err, code, "cannot import the spool");
	if (why)
		sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return code;
}

int import_fail_file(struct sbx_error *err, int code)
{
	return import_fail(err, code, NULL, "check the file system of the spool");
}

/* ---- how much is taken ---- */

void import_add_key(const char *name, char ret[CLAIM_KEY_SIZE])
{
	(void)snprintf(ret, CLAIM_KEY_SIZE, META_SPOOL "%s", name);
}

int import_read_offset(struct import *import, struct sbx_error *err)
{
	char key[CLAIM_KEY_SIZE];
	uint8_t offset[8];
	int n;

	import_add_key(import->name, key);
	n = store_get_meta(import->log->store, key, offset, sizeof(offset), err);
	if (n < 0 && n != -ENOENT)
		return n;
	import->offset = n == sizeof(offset) ? log_get_u64(offset) : 0;
	return 0;
}

/* With everything that was taken since the last time. */
static int commit(struct import *import, struct sbx_error *err)
{
	struct audit_import *taken = &import->taken, *total = import->total;
	char key[CLAIM_KEY_SIZE];
	uint8_t offset[8];
	int r = log_begin(import->log, err);

	import_add_key(import->name, key);
	log_put_u64(offset, import->offset);
	if (r == 0)
		r = store_set_meta(import->log->store, key, offset, sizeof(offset), err);
	if (r == 0)
		r = audit_log_commit(import->log, err);
	if (r < 0)
		return r;
	total->n_records += taken->n_records;
	total->n_refused += taken->n_refused;
	total->n_torn += taken->n_torn;
	*taken = (struct audit_import){ .n_records = 0 };
	if (import->log->imported)
		import->log->imported(import->log->imported_userdata, total->n_records);
	return 0;
}

/* ---- lines ---- */

/* A record in the place of one that there is not: how long it was, and its hash where it is known.
 */
static int say_instead(struct import *import, const char *event, const char *line, size_t n_bytes,
		       const char *why, struct sbx_error *err)
{
	_cleanup_text_ struct text members = TEXT_INIT, hex = TEXT_INIT;
	const struct iovec part = { (void *)line, n_bytes };
	struct json_writer json;
	struct audit_hash hash;

	if (line && hasher_digest(import->log->hasher, &part, 1, &hash) < 0)
		return import_fail(err, -EIO, "libcrypto cannot hash",
				   "check how it is configured");
	for (size_t i = 0; line && i < sizeof(hash.bytes); i++)
		text_addf(&hex, "%02x", hash.bytes[i]);
	json_write(&json, &members);
	json_member_string(&json, "source", "spool");
	json_member_u64(&json, "uid", import->owner.uid);
	json_member_u64(&json, "bytes", n_bytes);
	if (line)
		json_member_string(&json, "sha256", text_string(&hex));
	json_member_string(&json, "why", why);
	if (text_status(&members) < 0 || text_status(&hex) < 0)
		return import_fail(err, -ENOMEM, NULL, "free some memory");
	return audit_log_say(import->log, event, members.data, err);
}

/* Does it end where something has to follow? */
static bool is_torn(const char *line, size_t n_bytes)
{
	size_t at;

	return json_validate(line, n_bytes, &at, NULL) < 0 && at >= n_bytes;
}

static int refuse(struct import *import, const char *line, size_t n_bytes, const char *why,
		  struct sbx_error *err)
{
	bool torn = line && is_torn(line, n_bytes);

	import->taken.n_torn += torn;
	import->taken.n_refused += !torn;
	return say_instead(import, torn ? "record_torn" : "record_refused", line, n_bytes, why,
			   err);
}

static int take_line(struct import *import, const char *line, size_t n_bytes, struct sbx_error *err)
{
	struct sbx_error refusal = { .code = 0 };
	int r;

	/* The end of a torn line, which the next writer has made. */
	if (n_bytes == 0)
		return 0;
	r = audit_log_add(import->log, line, n_bytes, &import->owner, NULL, &refusal);
	if (r == AUDIT_REFUSED)
		return refuse(import, line, n_bytes,
			      refusal.why[0] != '\0' ? refusal.why : refusal.what, err);
	if (r < 0 && err)
		*err = refusal;
	import->taken.n_records += r == 0;
	return r;
}

/* The bytes up to and with the next newline from @at on; 0 where there is none. */
static int64_t line_length(struct import *import, uint64_t at)
{
	uint64_t began = at;
	ssize_t n;

	while ((n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, (off_t)at)) > 0) {
		const char *end = memchr(import->chunk, '\n', (size_t)n);

		if (end)
			return (int64_t)(at - began) + (end - import->chunk) + 1;
		at += (uint64_t)n;
	}
	return n < 0 ? -errno : 0;
}

/* 1 if a line was taken that does not fit into a chunk, 0 where its end is not there yet. */
static int take_giant(struct import *import, struct sbx_error *err)
{
	int64_t n = line_length(import, import->offset);
	int r;

	if (n <= 0)
		return n < 0 ? import_fail_file(err, (int)n) : 0;
	r = refuse(import, NULL, (size_t)n - 1, "it is longer than 128KiB", err);
	import->offset += (uint64_t)n;
	if (r == 0)
		r = commit(import, err);
	return r < 0 ? r : 1;
}

/* The whole lines of the next chunk: 1, or 0 where there is none. */
static int take_chunk(struct import *import, struct sbx_error *err)
{
	const char *at = import->chunk, *end;
	ssize_t n;
	int r = 0;

	if (import->offset >= import->until)
		return 0;
	n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, (off_t)import->offset);
	if (n <= 0)
		return n < 0 ? import_fail_file(err, -errno) : 0;
	while (r == 0 && (end = memchr(at, '\n', (size_t)(import->chunk + n - at)))) {
		r = take_line(import, at, (size_t)(end - at), err);
		at = end + 1;
	}
	if (r < 0)
		return r;
	if (at == import->chunk)
		return n == IMPORT_CHUNK_SIZE ? take_giant(import, err) : 0;
	import->offset += (uint64_t)(at - import->chunk);
	r = commit(import, err);
	return r < 0 ? r : 1;
}

int import_take_lines(struct import *import, struct sbx_error *err)
{
	int r;

	do
		r = take_chunk(import, err);
	while (r > 0);
	return r;
}

int import_take_torn_end(struct import *import, struct sbx_error *err)
{
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(import->fd, &st) < 0)
		return import_fail_file(err, -errno);
	if ((uint64_t)st.st_size <= import->offset)
		return 0;
	n = pread(import->fd, import->chunk, IMPORT_CHUNK_SIZE, (off_t)import->offset);
	if (n < 0)
		return import_fail_file(err, -errno);
	import->taken.n_torn++;
	r = say_instead(import, "record_torn",
			(uint64_t)n == (uint64_t)st.st_size - import->offset ? import->chunk : NULL,
			(size_t)((uint64_t)st.st_size - import->offset), "it has no end", err);
	import->offset = (uint64_t)st.st_size;
	return r < 0 ? r : commit(import, err);
}
