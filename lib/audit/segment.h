/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A part of the log, whatever holds it: a segment that is a database, or the archive that was made
 * of one
 *
 *   00000000000000000000.db        records are added to the last one
 *   00000000000000000000.tar.zst   a closed one
 *
 * Both are read with the same visitors. What either says about itself is only what was written
 * there, and no more.
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

/* A file of the directory. */
struct segment_file {
	enum segment_kind kind;
	uint64_t first; /* what its name says: the number of its first record */
	char name[SEGMENT_FILE_SIZE];
	uint64_t n_bytes;    /* with what SQLite keeps beside it */
	uint64_t mtime_usec; /* the latest of these files */
};

struct segment_list {
	struct segment_file *files; /* in the order of their numbers */
	size_t n;
};

#define SEGMENT_LIST_INIT                                                                          \
	{                                                                                          \
		.files = NULL                                                                      \
	}
#define _cleanup_segment_list_ _cleanup_(segment_list_deinit)

/*
 * Where both kinds have the same number the database is in the list: it goes only when the archive
 * is known to be whole. 0 or negative errno.
 */
int segment_list(int directory, struct segment_list *ret);
void segment_list_deinit(struct segment_list *list);
/* What a database is called once it is an archive. */
void segment_become_archive(struct segment_file *file);

/* What it says about itself. */
struct segment_about {
	char log_id[AUDIT_LOG_ID_SIZE];
	uint64_t first;			 /* number of the first record */
	uint64_t size;			 /* behind the last one: of the tree at its end */
	uint64_t next;			 /* where the one behind it began; 0: not known */
	struct audit_hash previous;	 /* hash of the record before the first */
	struct merkle_frontier frontier; /* of all records before the first; its size is first */
};

struct segment {
	enum segment_kind kind;
	struct store *store;	       /* from one moment; or */
	struct audit_archive *archive; /* these two are the holder's to look at */
};

/*
 * store_open_to_read() and store_begin_reading(), or audit_archive_open(): their errors. -EBUSY may
 * pass within moments.
 */
int segment_open(int directory, const struct segment_file *file, struct segment **ret,
		 struct sbx_error *err);
/* For readers beside other processes: waits some seconds while one of them closes the segment, or
 * has just opened it. */
int segment_open_patiently(int directory, const struct segment_file *file, struct segment **ret,
			   struct sbx_error *err);
struct segment *segment_free(struct segment *segment);
void segment_free_ptr(struct segment **segment);
#define _cleanup_segment_ _cleanup_(segment_free_ptr)

/* -EBADMSG where it does not say it. */
int segment_read_about(struct segment *segment, struct segment_about *ret, struct sbx_error *err);

/*
 * store_each() and store_each_checkpoint(). Going on with notes where the last call ended costs an
 * archive nothing.
 */
int segment_each(struct segment *segment, uint64_t from, uint64_t to, store_visit visit,
		 void *userdata, struct sbx_error *err);
int segment_each_checkpoint(struct segment *segment, uint64_t from_size, store_visit_note visit,
			    void *userdata, struct sbx_error *err);

/* ---- for archives: the line in which one says what it is ---- */

#define SEGMENT_ABOUT_MAX 4096

void segment_add_about(struct text *out, const struct segment_about *about);
/* Exactly that line: 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
int segment_parse_about(const char *bytes, size_t n_bytes, struct segment_about *ret);
