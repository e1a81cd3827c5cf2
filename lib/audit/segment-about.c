/* SPDX-License-Identifier: MIT */

/*
 * What a segment says about itself: values of the table meta in a database, a line of JSON in an
 * archive
 */

#include "audit/segment-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/archive.h"
#include "audit/base64.h"
#include "audit/log-internal.h"
#include "base/json.h"
#include "base/text.h"

/* ---- a database ---- */

static int fail_about(struct store *store, const char *what, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EBADMSG, "cannot use a segment of the log");
	sbx_error_why(err, "it does not say %s", what);
	sbx_error_fix(err, "look at the log with 'sbx-audit verify --full'");
	return -EBADMSG;
}

static int read_exactly(struct store *store, const char *key, const char *what, void *bytes,
			size_t n_bytes, struct sbx_error *err)
{
	int n = store_get_meta(store, key, bytes, n_bytes, err);

	if (n == -ENOENT || (n >= 0 && (size_t)n != n_bytes))
		return fail_about(store, what, err);
	return n < 0 ? n : 0;
}

static int read_frontier(struct store *store, struct merkle_frontier *ret, struct sbx_error *err)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	uint8_t bytes[FRONTIER_BYTES_MAX];
	int n = store_get_meta(store, META_FIRST_FRONTIER, bytes, sizeof(bytes), err);
	size_t n_peaks;

	if (n < 0 && n != -ENOENT)
		return n;
	n_peaks = n < 8 ? 0 : (size_t)(n - 8) / sizeof(peaks[0]);
	if (n < 8 || (size_t)n != 8 + n_peaks * sizeof(peaks[0]))
		return fail_about(store, "what tree it began with", err);
	memcpy(peaks, bytes + 8, n_peaks * sizeof(peaks[0]));
	if (merkle_load(log_get_u64(bytes), peaks, n_peaks, ret) < 0)
		return fail_about(store, "what tree it began with", err);
	return 0;
}

/* A segment that was closed says it; an archive ends there. */
static int read_next(struct store *store, uint64_t *ret, struct sbx_error *err)
{
	uint8_t next[8];
	int n = store_get_meta(store, META_NEXT, next, sizeof(next), err);

	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return n;
	*ret = n == (int)sizeof(next) ? log_get_u64(next) : 0;
	return *ret == 0 ? fail_about(store, "where the one after it begins", err) : 0;
}

int segment_read_store(struct store *store, struct segment_about *ret, struct sbx_error *err)
{
	struct segment_about about = { .size = 0 };
	uint8_t first[8];
	uint64_t least, last;
	int r = read_exactly(store, META_LOG, "which log it is of", about.log_id,
			     sizeof(about.log_id) - 1, err);

	if (r == 0)
		r = read_exactly(store, META_FIRST, "with which record it begins", first,
				 sizeof(first), err);
	if (r == 0)
		r = read_exactly(store, META_PREVIOUS, "what came before it", about.previous.bytes,
				 sizeof(about.previous.bytes), err);
	if (r == 0)
		r = read_frontier(store, &about.frontier, err);
	if (r == 0)
		r = read_next(store, &about.next, err);
	if (r == 0)
		r = store_bounds(store, &least, &last, err);
	if (r < 0)
		return r;
	about.first = about.size = log_get_u64(first);
	if (r > 0)
		about.size = last + 1;
	*ret = about;
	return 0;
}

/* ---- an archive ---- */

void segment_add_about(struct text *out, const struct segment_about *about)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t n = merkle_save(&about->frontier, peaks);

	text_addf(out, "{\"format\":%d,\"log\":\"%s\",\"first\":%" PRIu64 ",\"size\":%" PRIu64,
		  ARCHIVE_FORMAT, about->log_id, about->first, about->size);
	text_add(out, ",\"previous\":\"");
	base64_add(out, about->previous.bytes, sizeof(about->previous.bytes));
	text_add(out, "\",\"frontier\":[");
	for (size_t i = 0; i < n; i++) {
		text_add(out, i == 0 ? "\"" : ",\"");
		base64_add(out, peaks[i].bytes, sizeof(peaks[i].bytes));
		text_add_char(out, '"');
	}
	text_add(out, "]}\n");
}

static bool next_value(struct json_scanner *scanner, enum json_kind kind, struct json_item *ret)
{
	bool has_name = json_next(scanner, ret) > 0;

	return has_name && json_next(scanner, ret) > 0 && ret->kind == kind;
}

static bool take_hash(const struct json_item *item, struct audit_hash *ret)
{
	return base64_decode_exactly(item->bytes, item->n_bytes, ret->bytes, sizeof(ret->bytes)) ==
	       0;
}

static bool take_frontier(struct json_scanner *scanner, struct segment_about *about)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	struct json_item item;
	size_t n = 0;

	while (json_next(scanner, &item) > 0 && item.kind == JSON_STRING)
		if (n == MERKLE_PATH_MAX || !take_hash(&item, &peaks[n++]))
			return false;
	return merkle_load(about->first, peaks, n, &about->frontier) == 0;
}

static bool take_about(struct json_scanner *scanner, uint64_t *ret_format,
		       struct segment_about *about)
{
	struct json_item item;

	if (json_next(scanner, &item) <= 0 || !next_value(scanner, JSON_NUMBER, &item) ||
	    json_u64(&item, ret_format) < 0 || *ret_format != ARCHIVE_FORMAT)
		return false;
	if (!next_value(scanner, JSON_STRING, &item) || item.n_bytes != sizeof(about->log_id) - 1 ||
	    memchr(item.bytes, '\\', item.n_bytes))
		return false;
	memcpy(about->log_id, item.bytes, item.n_bytes);
	if (!next_value(scanner, JSON_NUMBER, &item) || json_u64(&item, &about->first) < 0 ||
	    !next_value(scanner, JSON_NUMBER, &item) || json_u64(&item, &about->size) < 0 ||
	    !next_value(scanner, JSON_STRING, &item) || !take_hash(&item, &about->previous))
		return false;
	return next_value(scanner, JSON_ARRAY_BEGIN, &item) && take_frontier(scanner, about);
}

static bool is_log_id(const char *id)
{
	return strspn(id, "0123456789abcdef") == AUDIT_LOG_ID_SIZE - 1;
}

int segment_parse_about(const char *bytes, size_t n_bytes, struct segment_about *ret)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct segment_about about = { .size = 0 };
	struct json_scanner scanner;
	uint64_t format = 0;

	json_scan(&scanner, bytes, n_bytes);
	if (!take_about(&scanner, &format, &about))
		return format > ARCHIVE_FORMAT ? -ENOTSUP : -EBADMSG;
	segment_add_about(&again, &about);
	if (text_status(&again) < 0)
		return -ENOMEM;
	if (again.len != n_bytes || memcmp(again.data, bytes, n_bytes) != 0 ||
	    !is_log_id(about.log_id) || about.size <= about.first || about.size > MERKLE_SIZE_MAX)
		return -EBADMSG;
	*ret = about;
	return 0;
}
