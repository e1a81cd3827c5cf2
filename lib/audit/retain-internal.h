/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parts of retention: reading an archive to its end, making one, deleting one
 */

#include <sbx/error.h>

#include "audit/log-internal.h"
#include "audit/retain.h"
#include "audit/stub.h"

struct audit_archive;

#define RETAIN_NEW_SUFFIX ".new"

/* "cannot @doing the segment 'NAME'": returns @code. */
int retain_fail(struct sbx_error *err, int code, const char *doing, const char *name,
		const char *why, const char *fix);

/* Where a closed segment leads to. */
struct segment_end {
	struct audit_hash head;
	struct merkle_frontier frontier;
	struct audit_hash notes; /* a digest of all its notes */
	bool has_stub;		 /* something in it tells of a deleted archive */
};

/*
 * Reads all of it: each row's hash is the chain's, and the last checkpoint has the head and the
 * root of the records. -EBADMSG where it is not so.
 */
int retain_read_end(struct segment *segment, const char *name, struct segment_end *ret,
		    struct sbx_error *err);
/* Does @end lead to what the file behind says about itself? 0 or -EBADMSG. */
int retain_check_joint(int folder, const struct segment_file *behind, const char *name,
		       const struct segment_end *end, struct sbx_error *err);

/* How far the log is deleted. */
struct deleted {
	uint64_t size;
	struct audit_hash head;
};

/* One file that is dealt with, and what has been found out about it. */
struct retain_work {
	enum retain_action action;
	int folder;
	struct segment_file file, behind;
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
/* Without the keys of the epochs that have ended in it nothing behind it could be verified: are
 * they in the file of epochs? Puts them there; -EBADMSG where others are in their place. */
int retain_find_epochs(struct retain_work *work, struct segment *segment, struct sbx_error *err);
int retain_keep_epochs(const struct retain_work *work, struct sbx_error *err);
/* What the level of the folder is. Each that was crossed upwards says so once, in a record;
 * downwards they are forgotten. */
int retain_say_level(struct audit_log *log, uint64_t n_bytes, uint64_t max_bytes,
		     enum retain_level *ret, struct sbx_error *err);
/* Removes what a crash has left. */
void retain_clean(int folder);
/* The bytes of all files in the folder. */
int retain_measure(int folder, uint64_t *ret);
