/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The log as one object: a folder with its segments and its key
 *
 *   00000000000000000000.db   a segment, named after the number of its first record
 *   key                       the private key of the present epoch
 *
 * One process at a time has it open to write. Records are added to a transaction, and are there
 * once audit_log_commit() has returned 0; when something fails, everything since the last commit is
 * gone, and the log can be used again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"
#include "audit/hash.h"
#include "base/cleanup.h"

struct audit_log;
struct redactor;
struct sbx_error;
struct text;

/* A line that is no record: nothing was added, and what was added before stays. */
#define AUDIT_REFUSED 1

struct audit_log_options {
	const char *folder;
	const char *credentials;	 /* the value of $CREDENTIALS_DIRECTORY, or NULL */
	const struct redactor *redactor; /* NULL: known prefixes only */
	bool keep_originals;		 /* of what was cut out of records */
	uint64_t wait_usec;		 /* for another process that has the log */
};

/* Whose line it is, where the kernel has told. */
struct audit_writer {
	unsigned uid;
	int pid;
};

struct audit_receipt {
	uint64_t seq;
	bool is_sync; /* somebody waits until it is on the disk */
};

/*
 * Makes a log: the folder (its parents must be there), the first key, unless systemd gives one, a
 * segment with record 0, and a first checkpoint. -EEXIST where there is a log; one that was half
 * made is completed.
 */
int audit_log_create(const struct audit_log_options *options, struct sbx_error *err);
/*
 * -ENOENT where there is no log, -EBUSY where another process has it, -EPERM where somebody else
 * could write to it. What was added since the last checkpoint is verified; where that fails, the
 * log is open all the same, and audit_log_is_broken() tells.
 */
int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
		   struct sbx_error *err);
/* What was not committed is gone. */
struct audit_log *audit_log_free(struct audit_log *log);
void audit_log_free_ptr(struct audit_log **log);
#define _cleanup_audit_log_ _cleanup_(audit_log_free_ptr)

/* 0, AUDIT_REFUSED with @err, or a negative errno. @writer and @ret may be NULL. */
int audit_log_add(struct audit_log *log, const char *line, size_t n_bytes,
		  const struct audit_writer *writer, struct audit_receipt *ret,
		  struct sbx_error *err);
/* A record of the log's own. @members is the text of further members, "\"a\":1,\"b\":2", or "". */
int audit_log_say(struct audit_log *log, const char *event, const char *members,
		  struct sbx_error *err);
/* 0 where there is nothing to commit, too. */
int audit_log_commit(struct audit_log *log, struct sbx_error *err);
void audit_log_rollback(struct audit_log *log);

/* Commits, with a signed checkpoint of all there is. Nothing where the last one still says it. */
int audit_log_checkpoint(struct audit_log *log, struct sbx_error *err);
/* Ends the epoch: a record says so, a checkpoint names the next key, and the present one is erased.
 */
int audit_log_change_key(struct audit_log *log, struct sbx_error *err);

struct audit_import {
	uint64_t n_records;
	uint64_t n_refused; /* lines that were no records; a record says so for each */
	uint64_t n_torn;    /* the same for what a crash or a full disk has cut off */
};

/*
 * Takes what waits in the spool of lib/record: every line once, however often anybody is killed on
 * the way. Commits as it goes. @spool is the folder, which is ours alone; without a spool in it
 * there is nothing to do.
 */
int audit_log_import(struct audit_log *log, int spool, struct audit_import *ret,
		     struct sbx_error *err);

/* With what was not committed yet. */
uint64_t audit_log_size(const struct audit_log *log);
uint64_t audit_log_checkpoint_size(const struct audit_log *log);
void audit_log_head(const struct audit_log *log, struct audit_hash *ret);
const char *audit_log_id(const struct audit_log *log);
/* What "NAME+HEX+BASE64" of the present epoch's key is. */
void audit_log_add_verifier(const struct audit_log *log, struct text *out);
/* Was the end of the log not what was written there? Then with the first record in doubt. */
bool audit_log_is_broken(const struct audit_log *log, uint64_t *ret_seq);
