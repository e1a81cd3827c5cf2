/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A closed segment as one file: a pax tar with zstd, made by libarchive, of three members
 *
 *   segment.json    {"format":1,"log":ID,"first":N,"size":N,"previous":BASE64,
 *                    "frontier":[BASE64,...]}, on one line
 *   checkpoints     its signed notes, one behind the other, the sizes ascending
 *   records.jsonl   {"seq":N,"hash":BASE64,"record":R}, a line each; the numbers have no gap
 *
 * in this order. The notes come before the records, so that both can go by together. A reader
 * believes nothing of an archive: a member, a byte or a line that the log never writes is
 * -EBADMSG, no more memory is used than one record and one note need, and no more is unpacked than
 * the hashes, which cannot be packed, have room for in the file. What the hashes and the signatures
 * are worth is the reader's to find out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/segment.h"
#include "base/cleanup.h"

struct audit_archive;
struct sbx_error;

#define ARCHIVE_FORMAT 1

/* ---- write ---- */

/* What an archive is made of. Both are asked for twice, and have to give the same. */
struct archive_source {
	struct segment_about about;
	int (*each)(void *userdata, store_visit visit, void *visitor, struct sbx_error *err);
	int (*each_checkpoint)(void *userdata, store_visit_note visit, void *visitor,
			       struct sbx_error *err);
	void *userdata;
};

/* Writes it to the empty file @fd; @name is for messages. The caller syncs and names the file.
 * -EBADMSG for rows or notes that audit_archive_open() would not read again. */
int audit_archive_write(int fd, const char *name, const struct archive_source *source,
			struct sbx_error *err);

/* ---- read ---- */

/* Looks whether it is one frame, and reads segment.json. -EBADMSG where it is no archive of a log,
 * -ENOTSUP for a later format. */
int audit_archive_open(int directory, const char *name, struct audit_archive **ret,
		       struct sbx_error *err);
struct audit_archive *audit_archive_free(struct audit_archive *archive);
void audit_archive_free_ptr(struct audit_archive **archive);
#define _cleanup_audit_archive_ _cleanup_(audit_archive_free_ptr)

const struct segment_about *audit_archive_about(const struct audit_archive *archive);

/*
 * As store_each() and store_each_checkpoint(): what the visitor returns other than 0 ends it, and
 * is returned. Rows have seq, body and hash and nothing else. Rows before @from have to be unpacked
 * too; the note that a visitor ended with comes again where the next call asks for its size, and
 * notes are unpacked again only where one before it is asked for.
 *
 * Only a caller that reads all rows (or all notes) to their end knows that they are whole: that as
 * many are there as the archive says, and neither another member nor another byte behind them.
 */
int audit_archive_each(struct audit_archive *archive, uint64_t from, uint64_t to, store_visit visit,
		       void *userdata, struct sbx_error *err);
int audit_archive_each_checkpoint(struct audit_archive *archive, uint64_t from_size,
				  store_visit_note visit, void *userdata, struct sbx_error *err);

/* SHA-256 of the file as it is. */
int audit_archive_digest(struct audit_archive *archive, struct audit_hash *ret,
			 struct sbx_error *err);

/* ---- the file: one zstd frame, in it a tar ---- */

struct archive; /* libarchive's */

#define ARCHIVE_MODE 0600

enum archive_member {
	MEMBER_ABOUT,
	MEMBER_NOTES,
	MEMBER_RECORDS,
	N_ARCHIVE_MEMBERS,
};

const char *archive_member_name(enum archive_member member);
/* "cannot read the archive 'NAME'": returns @code. */
int archive_fail(struct sbx_error *err, int code, const char *name, const char *why,
		 const char *fix);
/* The same for a file that is no archive of a log: -EBADMSG. */
int archive_fail_format(struct sbx_error *err, const char *name, const char *why);

/* One way through the members, from the first to the last; several may be on their way through the
 * same file. */
struct stream {
	struct archive *tar;
	const char *name;
	int fd; /* not owned */
	uint64_t at, n_packed;
	int next_member;
	uint64_t left; /* of the member, which was not unpacked yet */
	char packed[32 * 1024];
	char *bytes; /* what was unpacked */
	size_t size;
	size_t begin, end;
};

/* No more than @n_packed bytes of the file are read; @size unpacked ones can be looked at together.
 */
int stream_open(int fd, uint64_t n_packed, const char *name, size_t size, struct stream **ret,
		struct sbx_error *err);
struct stream *stream_free(struct stream *stream);
void stream_free_ptr(struct stream **stream);
#define _cleanup_stream_ _cleanup_(stream_free_ptr)

/* Goes on to the next member, which must be the one that has to come, of at most @max bytes. */
int stream_next_member(struct stream *stream, uint64_t max, struct sbx_error *err);
/* Unpacks until the buffer is full or the member ends. */
int stream_fill(struct stream *stream, struct sbx_error *err);
/* Is everything of the member unpacked and used? */
bool stream_is_at_end(const struct stream *stream);
/* Passes over the rest of the member. */
int stream_skip(struct stream *stream, struct sbx_error *err);
/* No other member may come. */
int stream_expect_end(struct stream *stream, struct sbx_error *err);

/* Is the file of @n_bytes one zstd frame and nothing else? 0 or -EBADMSG, or what the file system
 * says. Its blocks are not unpacked. */
int archive_check_frame(int fd, uint64_t n_bytes, const char *name, struct sbx_error *err);
