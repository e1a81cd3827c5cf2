/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A part of the log in either form: a segment that is a database, or the archive that was made of
 * one
 *
 *   00000000000000000000.db        the last one receives new records
 *   00000000000000000000.tar.zst   a closed one
 *
 * Both are read with the same visitors. Their content is untrusted: the caller verifies it.
 */

#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"
#include "audit/merkle.h"
#include "audit/store.h"
#include "base/cleanup.h"

struct audit_archive;
struct sbx_error;
struct text;

#define SEGMENT_ARCHIVE_SUFFIX ".tar.zst"
#define SEGMENT_FILE_SIZE 40 /* a name of either kind, with its NUL */

enum segment_kind {
	SEGMENT_STORE,
	SEGMENT_ARCHIVE,
};

/* A file of the log's directory. */
struct segment_file {
	enum segment_kind kind;
	uint64_t first; /* number of its first record, from the name */
	char name[SEGMENT_FILE_SIZE];
	uint64_t n_bytes;    /* including -wal and -shm */
	uint64_t mtime_usec; /* the latest of these files */
};

struct segment_list {
	struct segment_file *files; /* in ascending order of first */
	size_t n;
};

#define SEGMENT_LIST_INIT                                                                          \
	{                                                                                          \
		.files = NULL                                                                      \
	}
#define _cleanup_segment_list_ _cleanup_(segment_list_deinit)

/*
 * Lists the directory. If a database and an archive have the same number, the list has the
 * database: it is deleted only after the archive was found complete. 0 or negative errno.
 */
int segment_list(int directory, struct segment_list *ret);
void segment_list_deinit(struct segment_list *list);
/* Changes kind and name to those of the archive. */
void segment_become_archive(struct segment_file *file);

/* What a segment says about itself. */
struct segment_about {
	char log_id[AUDIT_LOG_ID_SIZE];
	uint64_t first;		    /* number of its first record */
	uint64_t size;		    /* size of the tree after its last record */
	uint64_t next;		    /* number of the first record of the next segment; 0: unknown */
	struct audit_hash previous; /* hash of the record before the first */
	struct merkle_frontier frontier; /* tree of all records before the first */
};

struct segment {
	enum segment_kind kind;
	struct store *store;	       /* open for reading one snapshot; or */
	struct audit_archive *archive; /* owned; the holder may look at both */
};

/*
 * store_open_to_read() and store_begin_reading(), or audit_archive_open(), with their errors.
 * -EBUSY may be transient.
 */
int segment_open(int directory, const struct segment_file *file, struct segment **ret,
		 struct sbx_error *err);
/* Retries for some seconds while another process closes the segment, or has just opened it. */
int segment_open_patiently(int directory, const struct segment_file *file, struct segment **ret,
			   struct sbx_error *err);
struct segment *segment_free(struct segment *segment);
CLEANUP_BY(struct segment, segment_free)
#define _cleanup_segment_ _cleanup_(segment_free_ptr)

/* -EBADMSG if it is missing or malformed. */
int segment_read_about(struct segment *segment, struct segment_about *ret, struct sbx_error *err);

/*
 * store_each() and store_each_checkpoint(). For an archive, continuing with the notes at the end of
 * the last call is free.
 */
int segment_each(struct segment *segment, uint64_t from, uint64_t to, store_visit visit,
		 void *userdata, struct sbx_error *err);
int segment_each_checkpoint(struct segment *segment, uint64_t from_size, store_visit_note visit,
			    void *userdata, struct sbx_error *err);

/* ---- for archives: the line of segment.json ---- */

#define SEGMENT_ABOUT_MAX 4096

void segment_add_about(struct text *out, const struct segment_about *about);
/* Parses exactly that line: 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
int segment_parse_about(const char *bytes, size_t n_bytes, struct segment_about *ret);
