/* SPDX-License-Identifier: MIT */

/*
 * Lists databases and archives together, and reads both in one way
 */

#include "audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sbx/error.h>

#include "audit/archive.h"
#include "base/array.h"
#include "base/base64.h"
#include "audit/log-internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"

/* ---- a database's meta table ---- */

static int fail_about(struct store *store, const char *what, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EBADMSG, "cannot use a segment of the log");
	sbx_error_why(err, "it does not say %s", what);
	sbx_error_fix(err, "check the log: sbx-audit verify --full");
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
	uint8_t bytes[FRONTIER_BYTES_MAX];
	int n = store_get_meta(store, META_FIRST_FRONTIER, bytes, sizeof(bytes), err);

	if (n < 0 && n != -ENOENT)
		return n;
	if (n < 0 || log_parse_frontier(bytes, (size_t)n, ret) < 0)
		return fail_about(store, "what tree it began with", err);
	return 0;
}

/* A closed segment stores where the next one begins; an archive ends there. */
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

static int read_store_about(struct store *store, struct segment_about *ret, struct sbx_error *err)
{
	struct segment_about about = { .size = 0 };
	uint8_t first[8];
	uint64_t least, last;
	int r = read_exactly(store, META_LOG, "which log it belongs to", about.log_id,
			     sizeof(about.log_id) - 1, err);

	if (r < 0)
		return r;
	r = read_exactly(store, META_FIRST, "with which record it begins", first, sizeof(first),
			 err);
	if (r < 0)
		return r;
	r = read_exactly(store, META_PREVIOUS, "what came before it", about.previous.bytes,
			 sizeof(about.previous.bytes), err);
	if (r < 0)
		return r;
	r = read_frontier(store, &about.frontier, err);
	if (r < 0)
		return r;
	r = read_next(store, &about.next, err);
	if (r < 0)
		return r;
	r = store_bounds(store, &least, &last, err);
	if (r < 0)
		return r;
	about.first = about.size = log_get_u64(first);
	if (r > 0)
		about.size = last + 1;
	*ret = about;
	return 0;
}

/* ---- an archive's description ---- */

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
	    strspn(about.log_id, "0123456789abcdef") != AUDIT_LOG_ID_SIZE - 1 ||
	    about.size <= about.first || about.size > MERKLE_SIZE_MAX)
		return -EBADMSG;
	*ret = about;
	return 0;
}

/* ---- files ---- */

#define BUSY_PAUSE_NSEC 2000000
#define USEC_PER_MSEC UINT64_C(1000)

/* ---- listing ---- */

void segment_list_deinit(struct segment_list *list)
{
	free(list->files);
	*list = (struct segment_list)SEGMENT_LIST_INIT;
}

static bool is_file(const char *name, struct segment_file *ret)
{
	static const char *const suffixes[] = {
		[SEGMENT_STORE] = ".db",
		[SEGMENT_ARCHIVE] = SEGMENT_ARCHIVE_SUFFIX,
	};

	if (strspn(name, "0123456789") != SEGMENT_DIGITS)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++)
		if (strcmp(name + SEGMENT_DIGITS, suffixes[i]) == 0) {
			*ret = (struct segment_file){ .kind = (enum segment_kind)i };
			memcpy(ret->name, name, SEGMENT_DIGITS + strlen(suffixes[i]) + 1);
			errno = 0;
			ret->first = strtoull(name, NULL, 10);
			return errno == 0 && ret->first <= MERKLE_SIZE_MAX;
		}
	return false;
}

/* Takes size and mtime. -shm counts for the size only: readers modify it. */
static void measure(int directory, struct segment_file *file)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	size_t n = file->kind == SEGMENT_STORE ? N_ELEMENTS(suffixes) : 1;

	for (size_t i = 0; i < n; i++) {
		char name[SEGMENT_FILE_SIZE + 8];
		struct stat st;
		uint64_t usec;

		(void)snprintf(name, sizeof(name), "%s%s", file->name, suffixes[i]);
		if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtim.tv_sec < 0)
			continue;
		file->n_bytes += (uint64_t)st.st_size;
		usec = moment_usec(&st.st_mtim);
		if (i < 2 && usec > file->mtime_usec)
			file->mtime_usec = usec;
	}
}

static int compare(const void *a, const void *b)
{
	const struct segment_file *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int add_file(struct segment_list *list, int directory, const char *name)
{
	struct segment_file file;

	if (!is_file(name, &file))
		return 0;
	measure(directory, &file);
	return ARRAY_ADD(list->files, list->n, &file);
}

static void sort(struct segment_list *list)
{
	size_t n = 0;

	if (list->n > 1)
		qsort(list->files, list->n, sizeof(*list->files), compare);
	for (size_t i = 0; i < list->n; i++)
		if (n == 0 || list->files[n - 1].first != list->files[i].first)
			list->files[n++] = list->files[i];
	list->n = n;
}

int segment_list(int directory, struct segment_list *ret)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		int r = add_file(&list, directory, entry->d_name);

		if (r < 0)
			return r;
	}
	sort(&list);
	*ret = list;
	list = (struct segment_list)SEGMENT_LIST_INIT;
	return 0;
}

void segment_become_archive(struct segment_file *file)
{
	file->kind = SEGMENT_ARCHIVE;
	(void)snprintf(file->name + SEGMENT_DIGITS, sizeof(file->name) - SEGMENT_DIGITS, "%s",
		       SEGMENT_ARCHIVE_SUFFIX);
}

/* ---- one file ---- */

struct segment *segment_free(struct segment *segment)
{
	if (!segment)
		return NULL;
	if (segment->store)
		store_end_reading(segment->store);
	(void)store_free(segment->store);
	(void)audit_archive_free(segment->archive);
	free(segment);
	return NULL;
}

int segment_open(int directory, const struct segment_file *file, struct segment **ret,
		 struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = calloc(1, sizeof(*segment));
	int r;

	if (!segment)
		return sbx_error_what(err, -ENOMEM, "cannot read the log");
	segment->kind = file->kind;
	if (file->kind == SEGMENT_ARCHIVE)
		r = audit_archive_open(directory, file->name, &segment->archive, err);
	else
		r = store_open_to_read(directory, file->name, &segment->store, err);
	if (r < 0)
		return r;
	r = segment->store ? store_begin_reading(segment->store, err) : 0;
	if (r < 0)
		return r;
	*ret = take_ptr(segment);
	return 0;
}

/* SQLite waits for its lock, but not in every case: retry on -EBUSY. */
int segment_open_patiently(int directory, const struct segment_file *file, struct segment **ret,
			   struct sbx_error *err)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE_NSEC };
	uint64_t end = moment_now(CLOCK_MONOTONIC) + STORE_PATIENCE_MSEC * USEC_PER_MSEC;
	int r;

	do
		r = segment_open(directory, file, ret, err);
	while (r == -EBUSY && moment_now(CLOCK_MONOTONIC) < end && nanosleep(&pause, NULL) == 0);
	return r;
}

int segment_read_about(struct segment *segment, struct segment_about *ret, struct sbx_error *err)
{
	if (segment->store)
		return read_store_about(segment->store, ret, err);
	*ret = *audit_archive_about(segment->archive);
	return 0;
}

int segment_each(struct segment *segment, uint64_t from, uint64_t to, store_visit visit,
		 void *userdata, struct sbx_error *err)
{
	if (segment->store)
		return store_each(segment->store, from, to, visit, userdata, err);
	return audit_archive_each(segment->archive, from, to, visit, userdata, err);
}

int segment_each_checkpoint(struct segment *segment, uint64_t from_size, store_visit_note visit,
			    void *userdata, struct sbx_error *err)
{
	if (segment->store)
		return store_each_checkpoint(segment->store, from_size, visit, userdata, err);
	return audit_archive_each_checkpoint(segment->archive, from_size, visit, userdata, err);
}
