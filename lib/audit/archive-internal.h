/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of the archive: its members, and one way through them
 */

#include <stdbool.h>
#include <sys/types.h>

#include "audit/archive.h"
#include "audit/segment-internal.h"

struct archive; /* libarchive's */

#define ARCHIVE_MODE 0600
/* {"seq":9223372036854775807,"hash":"44 characters","record": ... }, and a newline */
#define ARCHIVE_LINE_MAX (ENTRY_BYTES_MAX + 128)

enum archive_member {
	MEMBER_ABOUT,
	MEMBER_NOTES,
	MEMBER_RECORDS,
	N_ARCHIVE_MEMBERS,
};

const char *archive_member_name(enum archive_member member);
/* Adds what stands in the line of a record before and behind it. */
#define ARCHIVE_LINE_END "}\n"
struct text;
void archive_add_line_begin(struct text *out, uint64_t seq, const struct audit_hash *hash);

/* "cannot read the archive 'NAME'": returns @code. */
int archive_fail(struct sbx_error *err, int code, const char *name, const char *why,
		 const char *fix);
/* The same for what is no archive of ours: -EBADMSG. */
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
