/* SPDX-License-Identifier: MIT */
#pragma once

/* Logs with several segments, archives of them, and archives that another program has made */

#include <archive.h>
#include <archive_entry.h>

#include "audit-log-place.h"
#include "audit-verdict.h"
#include "audit/archive.h"
#include "audit/key.h"
#include "audit/retain.h"
#include "audit/segment.h"
#include "base/file.h"
#include "base/moment.h"
#include "base/text.h"

#define FIRST_ARCHIVE "00000000000000000000.tar.zst"

static inline int directory_of(const struct log_place *place)
{
	return open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void add_signed(struct audit_log *log, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect_eq(log_add_n(log, "syscall", i, NULL), 0);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
}

/* @n_segments segments with ten or more records each and three checkpoints each; the last one is
 * empty. */
static inline struct audit_log *log_of_segments(struct log_place *place, unsigned n_segments)
{
	struct audit_log *log;

	log_place_init(place);
	log = log_made(place);
	for (unsigned i = 0; i < n_segments; i++) {
		add_signed(log, 5);
		add_signed(log, 5);
		expect_eq(audit_log_rotate(log, NULL), 1);
	}
	return log;
}

static inline bool has_file(const struct log_place *place, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", place->log, name);
	return access(path, F_OK) == 0;
}

/* The file of a segment, or an archive, becomes so many days old. */
static inline void make_old(const struct log_place *place, const char *name, int days)
{
	static const char *const suffixes[] = { "", "-wal" };
	struct timespec times[2];

	(void)clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= (time_t)days * 86400;
	times[1] = times[0];
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s%s", place->log, name, suffixes[i]);
		(void)utimensat(AT_FDCWD, path, times, 0);
	}
}

/* The verdict of a full verification, with @key as the key of the log's beginning. */
static inline enum verify_verdict verdict_of(const struct log_place *place, const char *key,
					     uint64_t *ret_size)
{
	int directory = directory_of(place);
	const struct verify_options options = {
		.directory = directory,
		.verifier = key,
		.is_full = true,
		.now_usec = 0,
	};
	struct verify_report report;

	expect_eq(verify_directory(&options, &report, NULL, NULL), 0);
	(void)close(directory);
	if (report.verdict != VERIFY_INTACT)
		printf("# %s: %s\n", report.finding.what, report.finding.why);
	*ret_size = report.size;
	return report.verdict;
}

/* The records of an intact log, or -1. */
static inline long long intact_size(const struct log_place *place, const char *key)
{
	uint64_t size;

	return verdict_of(place, key, &size) == VERIFY_INTACT ? (long long)size : -1;
}

static inline void key_of(const struct audit_log *log, char ret[256])
{
	_cleanup_text_ struct text key = TEXT_INIT;

	audit_log_add_verifier(log, &key);
	(void)snprintf(ret, 256, "%s", text_string(&key));
}

/* A log that stays open while its directory is changed and verified. */
struct open_log {
	struct log_place place;
	struct audit_log *log;
	char key[256];
};

static inline void open_log_init(struct open_log *own, unsigned n_segments)
{
	own->log = log_of_segments(&own->place, n_segments);
	key_of(own->log, own->key);
}

static inline void open_log_deinit(struct open_log *own)
{
	(void)audit_log_free(own->log);
	log_place_deinit(&own->place);
}
#define _cleanup_open_log_ _cleanup_(open_log_deinit)

/* Archives every closed segment, as if all were old. */
static inline void archive_all(struct audit_log *log)
{
	const struct retain_options options = {
		.policy = { .archive_usec = UINT64_MAX, .max_bytes = UINT64_MAX },
		.now_usec = moment_now(CLOCK_REALTIME) + USEC_PER_SEC,
		.trusts_clock = true,
	};
	struct retain_report report = { .n_archived = 0 };

	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	expect_eq(report.n_problems, 0);
}

/* ---- what is in an archive ---- */

struct seen {
	uint64_t n_rows, n_notes;
	struct text all; /* the records, concatenated */
};

static inline int see_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct seen *seen = userdata;

	seen->n_rows++;
	text_addf(&seen->all, "%llu ", (unsigned long long)row->seq);
	text_add_bytes(&seen->all, row->hash.bytes, sizeof(row->hash.bytes));
	text_add_bytes(&seen->all, row->body, row->n_body);
	return 0;
}

static inline int see_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
			   struct sbx_error *err)
{
	struct seen *seen = userdata;

	seen->n_notes++;
	text_addf(&seen->all, "%llu ", (unsigned long long)size);
	text_add_bytes(&seen->all, note, n_bytes);
	return 0;
}

static inline void see_about(struct seen *seen, const struct segment_about *about)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t n = merkle_save(&about->frontier, peaks);

	text_addf(&seen->all, "%s %llu %llu ", about->log_id, (unsigned long long)about->first,
		  (unsigned long long)about->size);
	text_add_bytes(&seen->all, about->previous.bytes, sizeof(about->previous.bytes));
	text_add_bytes(&seen->all, peaks, n * sizeof(peaks[0]));
}

/* Reads the whole archive or segment. */
static inline int see(int directory, const char *name, enum segment_kind kind, struct seen *ret,
		      struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	struct segment_file file = { .kind = kind };
	struct segment_about about;
	int r;

	*ret = (struct seen){ .n_rows = 0 };
	(void)snprintf(file.name, sizeof(file.name), "%s", name);
	r = segment_open(directory, &file, &segment, err);
	if (r == 0)
		r = segment_read_about(segment, &about, err);
	if (r == 0)
		see_about(ret, &about);
	if (r == 0)
		r = segment_each(segment, 0, UINT64_MAX, see_row, ret, err);
	if (r == 0)
		r = segment_each_checkpoint(segment, 0, see_note, ret, err);
	return r;
}

/* ---- archives made by another program ---- */

struct member {
	const char *name;
	const char *bytes;
	size_t n_bytes;
	mode_t mode; /* 0: the usual one */
};

/* Packs them with the filter "zstd", or with none ("none"), as @name. */
static inline void pack(int directory, const char *name, const char *filter,
			const struct member *members, size_t n)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct archive *tar = archive_write_new();

	if (strcmp(filter, "none") != 0)
		expect_eq(archive_write_add_filter_by_name(tar, filter), ARCHIVE_OK);
	expect_eq(archive_write_set_format_pax_restricted(tar), ARCHIVE_OK);
	expect_eq(archive_write_open_fd(tar, fd), ARCHIVE_OK);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *entry = archive_entry_new();

		archive_entry_set_pathname(entry, members[i].name);
		archive_entry_set_mode(entry, members[i].mode ? members[i].mode : S_IFREG | 0600);
		if (S_ISLNK(members[i].mode))
			archive_entry_set_symlink(entry, "/etc/passwd");
		archive_entry_set_mtime(entry, 0, 0);
		archive_entry_set_size(entry, (la_int64_t)members[i].n_bytes);
		expect_eq(archive_write_header(tar, entry), ARCHIVE_OK);
		(void)archive_write_data(tar, members[i].bytes, members[i].n_bytes);
		archive_entry_free(entry);
	}
	expect_eq(archive_write_close(tar), ARCHIVE_OK);
	(void)archive_write_free(tar);
	(void)close(fd);
}

/* The members of one of our archives, unpacked with libarchive only. */
struct unpacked {
	struct text members[3];
};

static inline void unpacked_deinit(struct unpacked *unpacked)
{
	for (size_t i = 0; i < 3; i++)
		text_deinit(&unpacked->members[i]);
}
#define _cleanup_unpacked_ _cleanup_(unpacked_deinit)

static inline void unpack(int directory, const char *name, struct unpacked *ret)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	struct archive *tar = archive_read_new();
	struct archive_entry *entry;
	char bytes[4096];
	la_ssize_t n;

	*ret = (struct unpacked){ .members = { TEXT_INIT } };
	(void)archive_read_support_filter_all(tar);
	(void)archive_read_support_format_tar(tar);
	expect_eq(archive_read_open_fd(tar, fd, 4096), ARCHIVE_OK);
	for (size_t i = 0; i < 3; i++) {
		expect_eq(archive_read_next_header(tar, &entry), ARCHIVE_OK);
		while ((n = archive_read_data(tar, bytes, sizeof(bytes))) > 0)
			text_add_bytes(&ret->members[i], bytes, (size_t)n);
	}
	(void)archive_read_free(tar);
	(void)close(fd);
}
