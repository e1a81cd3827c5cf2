/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A closed segment as one file: a pax tar compressed with zstd, made by libarchive, with three
 * members in this order
 *
 *   segment.json    {"format":1,"log":ID,"first":N,"size":N,"previous":BASE64,
 *                    "frontier":[BASE64,...]}, on one line
 *   checkpoints     the segment's signed notes, one after the other, in ascending size
 *   records.jsonl   {"seq":N,"hash":BASE64,"record":R}, one a line; the numbers have no gap
 *
 * The notes come before the records, so that a reader can take both in step. A reader trusts
 * nothing in an archive: a member, byte or line that the log never writes is -EBADMSG; memory use
 * is bounded by one record and one note; and at most as much is unpacked as fits the number of
 * hashes, which cannot be compressed, that the file has room for. The caller must verify the hashes
 * and signatures.
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

/* The content of a new archive. Each function is called twice and must give the same content both
 * times. */
struct archive_source {
	struct segment_about about;
	int (*each)(void *userdata, store_visit visit, void *visitor, struct sbx_error *err);
	int (*each_checkpoint)(void *userdata, store_visit_note visit, void *visitor,
			       struct sbx_error *err);
	void *userdata;
};

/* Writes the archive to the empty file @fd; @name is for messages. The caller syncs and names the
 * file. -EBADMSG for rows or notes that audit_archive_open() would refuse. */
int audit_archive_write(int fd, const char *name, const struct archive_source *source,
			struct sbx_error *err);

/* ---- read ---- */

/* Checks that the file is one zstd frame, and reads segment.json. -EBADMSG if it is not an archive
 * of a log, -ENOTSUP for a later format. */
int audit_archive_open(int directory, const char *name, struct audit_archive **ret,
		       struct sbx_error *err);
struct audit_archive *audit_archive_free(struct audit_archive *archive);
CLEANUP_BY(struct audit_archive, audit_archive_free)
#define _cleanup_audit_archive_ _cleanup_(audit_archive_free_ptr)

const struct segment_about *audit_archive_about(const struct audit_archive *archive);

/*
 * Like store_each() and store_each_checkpoint(): a visitor that returns nonzero stops the reading,
 * and that value is returned. Rows have only seq, body and hash. Rows before @from still have to be
 * unpacked. A note at which a visitor stopped is visited again if the next call asks for its size;
 * the notes are unpacked again only if a call asks for an earlier one.
 *
 * Only a caller that reads all rows (or all notes) knows that they are complete: as many as the
 * archive says, with no other member and no further byte after them.
 */
int audit_archive_each(struct audit_archive *archive, uint64_t from, uint64_t to, store_visit visit,
		       void *userdata, struct sbx_error *err);
int audit_archive_each_checkpoint(struct audit_archive *archive, uint64_t from_size,
				  store_visit_note visit, void *userdata, struct sbx_error *err);

/* SHA-256 of the compressed file. */
int audit_archive_digest(struct audit_archive *archive, struct audit_hash *ret,
			 struct sbx_error *err);

/* ---- the file: a tar in one zstd frame ---- */

struct archive; /* of libarchive */

#define ARCHIVE_MODE 0600

enum archive_member {
	MEMBER_ABOUT,
	MEMBER_NOTES,
	MEMBER_RECORDS,
	N_ARCHIVE_MEMBERS,
};

const char *archive_member_name(enum archive_member member);
/* Fills @err with "cannot read the archive 'NAME'"; returns @code. */
int archive_fail(struct sbx_error *err, int code, const char *name, const char *why,
		 const char *fix);
/* The same for a file that is not an archive of a log; returns -EBADMSG. */
int archive_fail_format(struct sbx_error *err, const char *name, const char *why);

/* One pass over the members, from the first to the last; one file may have several streams. */
struct stream {
	struct archive *tar;
	const char *name;
	int fd; /* not owned */
	uint64_t at, n_packed;
	int next_member;
	uint64_t left; /* bytes of the current member that are not unpacked yet */
	char packed[32 * 1024];
	char *bytes; /* unpacked data: begin to end is not used yet */
	size_t size;
	size_t begin, end;
};

/* Reads no more than @n_packed bytes of the file; the buffer holds @size unpacked bytes. */
int stream_open(int fd, uint64_t n_packed, const char *name, size_t size, struct stream **ret,
		struct sbx_error *err);
struct stream *stream_free(struct stream *stream);
CLEANUP_BY(struct stream, stream_free)
#define _cleanup_stream_ _cleanup_(stream_free_ptr)

/* Goes to the next member, which must be the expected one and have at most @max bytes. */
int stream_next_member(struct stream *stream, uint64_t max, struct sbx_error *err);
/* Unpacks until the buffer is full or the member ends. */
int stream_fill(struct stream *stream, struct sbx_error *err);
/* Has the member been unpacked and consumed to its end? */
bool stream_is_at_end(const struct stream *stream);
/* Skips the rest of the member. */
int stream_skip(struct stream *stream, struct sbx_error *err);
/* Checks that no other member follows. */
int stream_expect_end(struct stream *stream, struct sbx_error *err);

/* Checks that a file of @n_bytes is one zstd frame and nothing else, without unpacking it: 0,
 * -EBADMSG, or the errno of a failed read. */
int archive_check_frame(int fd, uint64_t n_bytes, const char *name, struct sbx_error *err);
