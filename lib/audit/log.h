/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A log: a directory with its segments and its key
 *
 *   00000000000000000000.db   a segment, named after the number of its first record
 *   00000000000000000000.tar.zst   a closed one that was archived (audit/retain.h)
 *   epochs                    the last checkpoint of each epoch (audit/key.h)
 *   key                       the private key of the present epoch
 *   reserve                   disk space for the record that the disk is full
 *
 * One process at a time has the log open for writing. Records are added to a transaction, and are
 * durable once audit_log_commit() has returned 0; on failure everything since the last commit is
 * rolled back, and the log can still be used. If the disk was full (-ENOSPC), the record
 * audit_storage_critical and a checkpoint have been committed in the space of the reserve: once,
 * until there is space again.
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
struct store;
struct text;

/* The line is not a valid record: nothing was added, and earlier additions stay. */
#define AUDIT_REFUSED 1

#define AUDIT_RESERVE_BYTES (1024 * 1024)

struct audit_log_options {
	const char *directory;
	const char *key_place; /* create: the place of the key instead of the directory, or NULL */
	const char *credentials;	 /* the value of $CREDENTIALS_DIRECTORY, or NULL */
	const struct redactor *redactor; /* NULL: one for known prefixes and @patterns */
	const char *const *patterns;	 /* without a redactor: PCRE2 patterns of further secrets */
	size_t n_patterns;
	bool keep_originals; /* keep the values that were cut out of records */
	uint64_t wait_usec;  /* how long to wait for the lock of another process */
};

/* The writer of a line, as the kernel reports it; pid 0 for a file's owner. */
struct audit_writer {
	unsigned uid;
	int pid;
	const char *confined; /* a name by peer_place_name(), static; NULL: not confined */
	const char *ring;     /* of the channel that it came over, in hexadecimal digits, the same
				 for as long as the log is open; or NULL */
};

/* A committed checkpoint. */
struct audit_head {
	const char *origin;
	uint64_t size;
	struct audit_hash root;
	const char *note; /* signed, NUL-terminated */
	size_t n_note;
};

/* Both functions may be NULL. */
struct audit_watch {
	/* Called after a commit with a new checkpoint, with the newest one. */
	void (*head)(void *userdata, const struct audit_head *head);
	/* Called when the log has been closed, and other processes may open it. */
	void (*end)(void *userdata);
	void *userdata;
};

struct audit_receipt {
	uint64_t seq;
	bool is_sync; /* the caller waits until the record is durable */
};

/*
 * Creates a log: the directory (its parents must exist), the first key, unless systemd provides
 * one, a segment with record 0, and a first checkpoint. -EEXIST if there is a log; completes one
 * whose creation was interrupted.
 */
int audit_log_create(const struct audit_log_options *options, struct sbx_error *err);
/*
 * -ENOENT if there is no log, -EBUSY if another process has it open, -EPERM if another user could
 * write to it. Verifies the records since the last checkpoint; if that fails, the log is open all
 * the same, and audit_log_is_broken() returns true.
 */
int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
		   struct sbx_error *err);
/* Discards uncommitted records. */
struct audit_log *audit_log_free(struct audit_log *log);
CLEANUP_BY(struct audit_log, audit_log_free)
#define _cleanup_audit_log_ _cleanup_(audit_log_free_ptr)

/* Sets how long each write waits for another process's lock on the segment, instead of some
 * seconds; then it fails with -EBUSY, as any write may. */
void audit_log_set_patience(struct audit_log *log, unsigned msec);

/* Replaces the watch, which is called until audit_log_free(). */
void audit_log_watch(struct audit_log *log, const struct audit_watch *watch);
/* Passes the last committed checkpoint to the watch, even if another process made it. */
int audit_log_tell_head(struct audit_log *log, struct sbx_error *err);

/* 0, AUDIT_REFUSED with @err, or a negative errno. @writer and @ret may be NULL. */
int audit_log_add(struct audit_log *log, const char *line, size_t n_bytes,
		  const struct audit_writer *writer, struct audit_receipt *ret,
		  struct sbx_error *err);
/* Adds a record of the log's own. @members is JSON text of further members, "\"a\":1,\"b\":2", or
 * "". */
int audit_log_say(struct audit_log *log, const char *event, const char *members,
		  struct sbx_error *err);
/* Returns 0 also if there is nothing to commit. */
int audit_log_commit(struct audit_log *log, struct sbx_error *err);
void audit_log_rollback(struct audit_log *log);

/* Commits with a signed checkpoint of all records. Does nothing if the last checkpoint covers
 * them. */
int audit_log_checkpoint(struct audit_log *log, struct sbx_error *err);
/* Ends the epoch: adds a record of it and a checkpoint that names the next key, then erases the
 * current key. */
int audit_log_change_key(struct audit_log *log, struct sbx_error *err);
/* False if the key is in a keyring or a credential. */
bool audit_log_can_change_key(const struct audit_log *log);

/*
 * Closes the segment with a checkpoint and begins the next one: 1, or 0 if it has no records yet.
 * If the process is killed meanwhile, the log continues in one or the other.
 */
int audit_log_rotate(struct audit_log *log, struct sbx_error *err);

struct audit_import {
	uint64_t n_records;
	uint64_t n_refused; /* lines that were not valid records; a record reports each */
	uint64_t n_torn;    /* lines torn by a crash or a full disk; a record reports each */
	bool has_more;	    /* more is there than audit_log_import_some() was to read */
};

/*
 * Imports the spool of lib/record: every line exactly once, even if the process is killed
 * meanwhile, with the file's owner as the writer. Commits several times. @spool is a directory to
 * which only this user has access; files that root has handed over to it are imported too.
 */
int audit_log_import(struct audit_log *log, int spool, struct audit_import *ret,
		     struct sbx_error *err);
/*
 * The same with about @n_bytes at most: the owner of a spool decides how much is in it. A commit
 * counts as some bytes, too. Each owner of files gets a share before any gets more, and the next
 * call goes on with the owner at whom this one has stopped.
 */
int audit_log_import_some(struct audit_log *log, int spool, uint64_t n_bytes,
			  struct audit_import *ret, struct sbx_error *err);

/* Calls @imported after each commit of an import, with the number of records imported so far; NULL
 * unsets it. */
typedef void audit_imported(void *userdata, uint64_t n_records);
void audit_log_watch_import(struct audit_log *log, audit_imported *imported, void *userdata);

/* Can the log still record that the disk is full? False if the reserve could not be made, or was
 * used. */
bool audit_log_has_reserve(const struct audit_log *log);
/* Includes uncommitted records. */
uint64_t audit_log_size(const struct audit_log *log);
uint64_t audit_log_checkpoint_size(const struct audit_log *log);
const char *audit_log_id(const struct audit_log *log);
/* Adds "NAME+HEX+BASE64" for the current epoch's key. */
void audit_log_add_verifier(const struct audit_log *log, struct text *out);
/*
 * The same without opening the log, beside its writer: from @store, its last segment, open for
 * reading. -EBADMSG if the segment does not tell.
 */
int audit_log_read_key(struct store *store, const char *log_id, struct text *out,
		       struct sbx_error *err);
/* Was the end of the log altered? Then *@ret_seq is the first record in doubt. */
bool audit_log_is_broken(const struct audit_log *log, uint64_t *ret_seq);

/* ---- spools of root and of services ---- */

/*
 * The user that owns the log may not read these spools, and needs no capability for it: root moves
 * each file into a directory of that user and changes its owner. The file's new name contains the
 * uid of its former owner, so a compromised service can only lie about itself.
 */

struct gather_options {
	int state;   /* /var/lib/sbx, which contains the spools NAME/sbx/spool */
	int staging; /* a private spool of this user; on the same file system */
	int inbox;   /* directory of the log's user; may be the same as staging */
};

/*
 * If the inbox is in the caller's own spool, that spool is left to the log's own import. A spool
 * that other users could have written to is left alone and reported; the others are moved all the
 * same. 0 or the first negative errno; sets *@ret_n_files in any case.
 */
int audit_gather(const struct gather_options *options, uint64_t *ret_n_files,
		 struct sbx_error *err);

/* ---- names of claimed files of a spool ---- */

/*
 *   claimed-HEX       claimed in the spool of the log's own user
 *   claimed-HEX.UID   from the spool of UID, handed over by root
 *
 * HEX is 32 random digits, so no name is ever used twice.
 */

#define CLAIM_PREFIX "claimed-"
#define CLAIM_RANDOM_SIZE 16
/* The longest name: with a dot and ten digits. */
#define CLAIM_NAME_SIZE (sizeof(CLAIM_PREFIX) + 2 * CLAIM_RANDOM_SIZE + 11)
#define CLAIM_NOBODY ((uid_t)-1)

/* @prefix must not be longer than CLAIM_PREFIX. CLAIM_NOBODY as @uid leaves the uid out. 0 or
 * negative errno. */
int claim_make_name(const char *prefix, uid_t uid, char ret[CLAIM_NAME_SIZE]);
/* Is @name such a name? *@ret_uid is CLAIM_NOBODY if it contains no uid. */
bool claim_parse_name(const char *prefix, const char *name, uid_t *ret_uid);
