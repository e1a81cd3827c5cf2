/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One file of a log that is dealt with: read to its end, made an archive, or deleted
 */

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "audit/retain.h"
#include "audit/chain.h"

struct audit_archive;

#define RETAIN_NEW_SUFFIX ".new"

/* How far the log is deleted. */
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

/* One file that is dealt with, and what has been found out about it. */
struct retain_work {
	enum retain_action action;
	int directory;
	struct segment_file file, behind;
	struct retain_count *count; /* not owned */
	int r;
	struct sbx_error problem; /* where r is negative */
	/* for a deletion: */
	struct deleted deleted; /* before it */
	struct audit_stub stub; /* what there is to say, or */
	bool is_said;		/* the record is there already */
	bool lacks_epochs;	/* the file of epochs has not all that is in it */
};

/* Makes an archive of a closed segment. */
int retain_archive(const struct retain_work *work, struct sbx_error *err);
/* Deletes the first archive of the log, and a record says so: what the log says before, what the
 * archive is (which takes long, and needs no log), and the deletion itself. */
int retain_read_deleted(struct audit_log *log, struct retain_work *work, struct sbx_error *err);
int retain_prepare_deletion(struct retain_work *work, struct sbx_error *err);
int retain_delete(struct audit_log *log, const struct retain_work *work, struct sbx_error *err);
/* Removes what a crash has left. */
void retain_clean(int directory);
/* The bytes of all files in the directory. */
int retain_measure(int directory, uint64_t *ret);
