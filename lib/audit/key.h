/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The private key that signs checkpoints, one an epoch
 *
 * The last checkpoint of an epoch names, and so signs, the public key of the next one; then the old
 * private key is erased. A later intruder cannot sign for an epoch that is past,
 * and a verifier needs the first public key only.
 *
 *   1. key_prepare_next()   the next key is on the disk, beside the current one
 *   2. the log commits a checkpoint that names it
 *   3. key_advance()        the current key is erased, the next one takes its place
 *
 * After a crash between 1 and 2 the prepared key waits for the next try. After one between 2 and 3
 * the log's last checkpoint is the last of its epoch and the current key is still of that epoch:
 * the caller goes on with 3. One process at a time does this, under the log's lock.
 *
 * Instead of a key the file may name the place that has it: the kernel's keyring, or a systemd
 * credential. Then nothing of it is ever on the log's disk, and there is one epoch: what only an
 * administrator puts there, only an administrator can replace. A key that is not there is an error,
 * never a reason to take or make another one.
 *
 * An overwritten file is gone from the file system, not from a disk that keeps old blocks; where
 * that matters the directory is on an encrypted disk, or the first key is a systemd credential.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/checkpoint.h"
#include "audit/store.h"
#include "base/cleanup.h"

struct sbx_error;

#define KEY_NAME "key"
#define KEY_NEXT_NAME "key.next"
#define KEY_CREDENTIAL_NAME "sbx-audit-key"

/* "keyring:NAME" and "credential:NAME"; names have letters, digits, '_', '-' and '.'. */
#define KEY_PLACE_NAME_MAX 64

struct audit_key {
	uint64_t epoch;
	bool is_elsewhere; /* the directory only names the place that has it */
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	uint8_t public_key[SIGNATURE_KEY_SIZE];
};

#define AUDIT_KEY_INIT                                                                             \
	{                                                                                          \
		.epoch = 0                                                                         \
	}
#define _cleanup_audit_key_ _cleanup_(key_deinit)

/* Overwrites it. */
void key_deinit(struct audit_key *key);

/* A new key of this epoch, from the kernel's random numbers. */
int key_make(uint64_t epoch, struct audit_key *ret, struct sbx_error *err);

/* @directory is the log's directory: it belongs to this user, and no other user may write to it. */

/*
 * The key that @place has, which the directory names from now on. -EINVAL where @place is none,
 * -EEXIST where the directory has a key already; and the errors of key_load().
 */
int key_store_elsewhere(int directory, const char *place, const char *credentials,
			struct audit_key *ret, struct sbx_error *err);
/* Keeps the first key of a log, mode 0600. -EEXIST where there is one already. */
int key_store_at(int directory, const struct audit_key *key, struct sbx_error *err);
/*
 * The directory's key, or the one that systemd gave: of both the one of the later epoch, because a
 * log that began with a credential goes on in its directory. An advance that was cut short is
 * completed first. @credentials is the value of $CREDENTIALS_DIRECTORY, or NULL. -ENOENT where
 * there is no key, -EPERM where another user has a right to the file, -EBADMSG where it is no key,
 * -ENOKEY where it names a place that has none.
 */
int key_load(int directory, const char *credentials, struct audit_key *ret, struct sbx_error *err);

/* -EOPNOTSUPP where the current one is elsewhere. */
int key_prepare_next(int directory, const struct audit_key *current, struct audit_key *ret,
		     struct sbx_error *err);
/* -ENOENT where no key was prepared; then nothing is erased. */
int key_advance(int directory, struct sbx_error *err);

/* ---- the file of epochs ---- */

/*
 * The file of epochs: the last checkpoint of each epoch, one note behind the other
 *
 * It leads from the first public key to the present one where the segments in which these notes
 * stood are no longer there. Every note in it is signed, so it is checked like any other, and the
 * file is worth no more than that.
 */

#define EPOCHS_NAME "epochs"
#define EPOCHS_BYTES_MAX (16 * 1024 * 1024)

/*
 * Puts the note behind those of the epochs before, unless one of its epoch is there: the file is
 * replaced, whole, and on the disk. -EINVAL for a note that is not the last of its epoch, -EBADMSG
 * for a file that holds something else. Under the log's lock.
 */
int epochs_add(int directory, const char *note, size_t n_bytes, struct sbx_error *err);
/* Is exactly this note there? 1, 0, or an error as above. */
int epochs_has(int directory, const char *note, size_t n_bytes, struct sbx_error *err);
/*
 * In their order: epochs and sizes ascend. Ends where @visit does not return 0, and returns that; 0
 * where there is no file. -EBADMSG for anything in it that is no such note.
 */
int epochs_each(int directory, store_visit_note visit, void *userdata, struct sbx_error *err);

/* ---- notes one behind the other ---- */

/*
 * The length of the note that @bytes begin with: up to the last line of its signatures. 0 where
 * none begins there, or where it may go on behind @n_bytes and @is_end does not say that nothing
 * comes.
 */
size_t notes_next(const char *bytes, size_t n_bytes, bool is_end);
