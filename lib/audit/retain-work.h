/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Work on one file of a log: reading it to its end, archiving it, or deleting it
 */

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "audit/retain.h"
#include "audit/chain.h"

#define RETAIN_NEW_SUFFIX ".new"

/* How far the log was deleted: the number of records, and the hash of the last one. */
struct deleted {
	uint64_t size;
	struct audit_hash head;
};

/* The records that were read for all files. */
struct retain_count {
	retain_progress progress; /* or NULL */
	void *userdata;
	uint64_t n_read;
};

/* The file being worked on, with the results so far. */
struct retain_work {
	enum retain_action action;
	int directory;
	struct segment_file file, behind;
	struct retain_count *count; /* not owned */
	int r;
	struct sbx_error problem; /* valid if r is negative */
	/* valid for a deletion: */
	struct deleted deleted; /* state before this deletion */
	struct audit_stub stub; /* the stub to be written, or */
	bool is_said;		/* it is in the log already */
	bool lacks_epochs;	/* the file of epochs lacks an epoch that ends in this archive */
};

/* Archives a closed segment. */
int retain_archive(const struct retain_work *work, struct sbx_error *err);
/* Deletes the log's oldest archive, in three steps: read how far the log is deleted; read the
 * archive (which takes long, and does not need the log); write the stub and delete the file. */
int retain_read_deleted(struct audit_log *log, struct retain_work *work, struct sbx_error *err);
int retain_prepare_deletion(struct retain_work *work, struct sbx_error *err);
int retain_delete(struct audit_log *log, const struct retain_work *work, struct sbx_error *err);
/* Removes leftovers of a crash. */
void retain_clean(int directory);
/* Total size of the files in the directory. */
int retain_measure(int directory, uint64_t *ret);
