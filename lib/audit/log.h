/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The log as one object: a directory with its segments and its key
 *
 *   00000000000000000000.db   a segment, named after the number of its first record
 *   00000000000000000000.tar.zst   a closed one that was packed (audit/retain.h)
 *   epochs                    the last checkpoint of each epoch (audit/key.h)
 *   key                       the private key of the present epoch
 *   reserve                   room for the record that the disk is full
 *
 * One process at a time has it open to write. Records are added to a transaction, and are there
 * once audit_log_commit() has returned 0; when something fails, everything since the last commit is
 * gone, and the log can be used again. Where that was for want of room (-ENOSPC), the record
 * audit_storage_critical has been committed, with a checkpoint, in the place of the reserve: once,
 * until there has been room again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/chain.h"
#include "base/cleanup.h"

struct audit_log;
struct redactor;
struct sbx_error;
struct text;

/* A line that is no record: nothing was added, and what was added before stays. */
#define AUDIT_REFUSED 1

#define AUDIT_RESERVE_BYTES (1024 * 1024)

struct audit_log_options {
	const char *directory;
	const char *key_place;	 /* create: where the key is instead of in the directory, or NULL */
	const char *credentials; /* the value of $CREDENTIALS_DIRECTORY, or NULL */
	const struct redactor *redactor; /* NULL: known prefixes only */
	const char *const *patterns;	 /* without a redactor: further secrets, by PCRE2 */
	size_t n_patterns;
	bool keep_originals; /* of what was cut out of records */
	uint64_t wait_usec;  /* for another process that has the log */
};

/* The writer of a line, as the kernel says; the owner of a file has no pid: 0. */
struct audit_writer {
	unsigned uid;
	int pid;
	const char *confined; /* how it is kept from being trusted; NULL: not at all. Lives on */
};

/* A checkpoint that was committed. */
struct audit_head {
	const char *origin;
	uint64_t size;
	struct audit_hash root;
	const char *note; /* signed, and ended by a NUL */
	size_t n_note;
};

/* Both functions may be NULL. */
struct audit_watch {
	/* After a commit that has a new checkpoint in it, with the newest. */
	void (*head)(void *userdata, const struct audit_head *head);
	/* The log is closed already, and others may have it. */
	void (*end)(void *userdata);
	void *userdata;
};

struct audit_receipt {
	uint64_t seq;
	bool is_sync; /* the caller waits until it is on the disk */
};

/*
 * Makes a log: the directory (its parents must be there), the first key, unless systemd gives one,
 * a segment with record 0, and a first checkpoint. -EEXIST where there is a log; one that was half
 * made is completed.
 */
int audit_log_create(const struct audit_log_options *options, struct sbx_error *err);
/*
 * -ENOENT where there is no log, -EBUSY where another process has it, -EPERM where another user
 * could write to it. What was added since the last checkpoint is verified; where that fails, the
 * log is open all the same, and audit_log_is_broken() tells.
 */
int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
		   struct sbx_error *err);
/* Records that were not committed are gone. */
struct audit_log *audit_log_free(struct audit_log *log);
void audit_log_free_ptr(struct audit_log **log);
#define _cleanup_audit_log_ _cleanup_(audit_log_free_ptr)

/* How long each write waits for a lock that another process has on the segment, instead of some
 * seconds; then it fails with -EBUSY, as any write may fail. */
void audit_log_set_patience(struct audit_log *log, unsigned msec);

/* The watch that was set last is called, until audit_log_free(). */
void audit_log_watch(struct audit_log *log, const struct audit_watch *watch);
/* Tells the watch of the last checkpoint that there is, also of another process. */
int audit_log_tell_head(struct audit_log *log, struct sbx_error *err);

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
/* False where the key is kept in a keyring or a credential. */
bool audit_log_can_change_key(const struct audit_log *log);

/*
 * Closes the segment with a checkpoint and begins the next one: 1, or 0 where it has no records
 * yet. A process that is killed on the way leaves a log that goes on in the one or in the other.
 */
int audit_log_rotate(struct audit_log *log, struct sbx_error *err);

struct audit_import {
	uint64_t n_records;
	uint64_t n_refused; /* lines that were no records; a record says so for each */
	uint64_t n_torn;    /* the same for what a crash or a full disk has cut off */
};

/*
 * Takes what waits in the spool of lib/record: every line once, however often a process is killed
 * on the way, with the owner of its file as the writer. Commits as it goes. @spool is the
 * directory, to which only this user has a right; files that root has handed over are taken in with
 * it.
 */
int audit_log_import(struct audit_log *log, int spool, struct audit_import *ret,
		     struct sbx_error *err);

/* Calls @imported after each commit of an import, with the number of records that this import has
 * taken so far. NULL: no longer. */
typedef void audit_imported(void *userdata, uint64_t n_records);
void audit_log_watch_import(struct audit_log *log, audit_imported *imported, void *userdata);

/* Can the log still say that the disk is full? The room for that was not to be had, or is used. */
bool audit_log_has_reserve(const struct audit_log *log);
/* With what was not committed yet. */
uint64_t audit_log_size(const struct audit_log *log);
uint64_t audit_log_checkpoint_size(const struct audit_log *log);
const char *audit_log_id(const struct audit_log *log);
/* What "NAME+HEX+BASE64" of the present epoch's key is. */
void audit_log_add_verifier(const struct audit_log *log, struct text *out);
/* Was the end of the log not what was written there? Then with the first record in doubt. */
bool audit_log_is_broken(const struct audit_log *log, uint64_t *ret_seq);

/* ---- spools of root and of services ---- */

/*
 * Handing the spools of root and of services over to the user who keeps the log
 *
 * That user may read none of them, and needs no capability to: root moves each file into a
 * directory of that user, and gives it to it. The name has the uid of the file's owner, so a
 * service that has been taken over can lie about itself only.
 */

struct gather_options {
	int state;   /* spools are below it, in NAME/sbx/spool: /var/lib/sbx */
	int staging; /* a spool of this user alone; on the same file system */
	int inbox;   /* of the user who keeps the log; may be the same directory as staging */
};

/*
 * Where the inbox is the caller's own spool, that one stays as it is: the log takes it in itself. A
 * spool that others could have written to is left alone and reported; the others are moved all the
 * same. 0 or the first negative errno; *@ret_n_files is set in any case.
 */
int audit_gather(const struct gather_options *options, uint64_t *ret_n_files,
		 struct sbx_error *err);

/* ---- names of claimed files of a spool ---- */

/*
 * Names of claimed files of a spool
 *
 *   claimed-HEX       claimed in the spool of the log's own user
 *   claimed-HEX.UID   of the spool of UID, handed over by root
 *
 * HEX is 32 random digits, so a name is never used twice.
 */

#define CLAIM_PREFIX "claimed-"
#define CLAIM_RANDOM_SIZE 16
/* The largest one: a point, and ten digits. */
#define CLAIM_NAME_SIZE (sizeof(CLAIM_PREFIX) + 2 * CLAIM_RANDOM_SIZE + 11)
#define CLAIM_NOBODY ((uid_t)-1)

/* @prefix is as long as CLAIM_PREFIX at most. Without a @uid: CLAIM_NOBODY. 0 or negative errno. */
int claim_make_name(const char *prefix, uid_t uid, char ret[CLAIM_NAME_SIZE]);
/* Is it such a name? *@ret_uid is CLAIM_NOBODY where the name has none. */
bool claim_parse_name(const char *prefix, const char *name, uid_t *ret_uid);
