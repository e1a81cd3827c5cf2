/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The private key that signs checkpoints, one per epoch
 *
 * The last checkpoint of an epoch names, and so signs, the public key of the next one; then the old
 * private key is erased. A later intruder cannot sign for a past epoch, and a verifier needs only
 * the first public key.
 *
 *   1. key_prepare_next()   writes the next key to disk beside the current one
 *   2. the log commits a checkpoint that names it
 *   3. key_advance()        erases the current key and puts the next one in its place
 *
 * After a crash between 1 and 2 the next attempt uses the prepared key. After a crash between 2 and
 * 3 the log's last checkpoint is the last of its epoch and the current key is still of that epoch:
 * the caller continues with 3. One process at a time does this, under the log's lock.
 *
 * Instead of a key the file may name the place that has it: a kernel keyring, or a systemd
 * credential. Then no part of the key is ever on the log's disk, and there is one epoch: a key that
 * only an administrator can store, only an administrator can replace. A missing key is an error,
 * never a reason to use or make another one.
 *
 * Overwriting removes a key from the file system, not from a disk that keeps old blocks; if that
 * matters, put the directory on an encrypted disk, or make the first key a systemd credential.
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

/* Syntax of a place: "keyring:NAME" or "credential:NAME"; names have letters, digits, '_', '-' and
 * '.'. */
#define KEY_PLACE_NAME_MAX 64

struct audit_key {
	uint64_t epoch;
	bool is_elsewhere; /* the directory only names the place of the key */
	uint8_t private_key[SIGNATURE_KEY_SIZE];
	uint8_t public_key[SIGNATURE_KEY_SIZE];
};

#define AUDIT_KEY_INIT                                                                             \
	{                                                                                          \
		.epoch = 0                                                                         \
	}
#define _cleanup_audit_key_ _cleanup_(key_deinit)

/* Overwrites the key in memory. */
void key_deinit(struct audit_key *key);

/* Makes a new key of this epoch from getrandom(). */
int key_make(uint64_t epoch, struct audit_key *ret, struct sbx_error *err);

/* Below, @directory is the log's directory: this user owns it, and no other user may write to
 * it. */

/*
 * Loads the key from @place and records @place in the directory. -EINVAL if @place is malformed,
 * -EEXIST if the directory has a key already; and the errors of key_load().
 */
int key_store_elsewhere(int directory, const char *place, const char *credentials,
			struct audit_key *ret, struct sbx_error *err);
/* Stores the first key of a log, mode 0600. -EEXIST if there is one already. */
int key_store_at(int directory, const struct audit_key *key, struct sbx_error *err);
/*
 * Loads the directory's key or systemd's credential: the one of the later epoch, because a log that
 * began with a credential continues in its directory. Completes an interrupted key_advance() first.
 * @credentials is the value of $CREDENTIALS_DIRECTORY, or NULL. -ENOENT if there is no key, -EPERM
 * if another user has rights to the file, -EBADMSG if it is not a key, -ENOKEY if it names a place
 * without a key.
 */
int key_load(int directory, const char *credentials, struct audit_key *ret, struct sbx_error *err);

/* -EOPNOTSUPP if the current key is not in the directory. */
int key_prepare_next(int directory, const struct audit_key *current, struct audit_key *ret,
		     struct sbx_error *err);
/* -ENOENT if no key was prepared; then nothing is erased. */
int key_advance(int directory, struct sbx_error *err);

/* ---- the file of epochs ---- */

/*
 * The file of epochs: the last checkpoint of each epoch, one note after the other
 *
 * It leads from the first public key to the present one after the segments with these notes were
 * deleted. Every note in it is signed and is verified like any other; the file itself proves
 * nothing.
 */

#define EPOCHS_NAME "epochs"
#define EPOCHS_BYTES_MAX (16 * 1024 * 1024)

/*
 * Inserts the note after those of earlier epochs, unless its epoch has one; replaces the file
 * atomically and syncs it. -EINVAL for a note that is not the last of its epoch, -EBADMSG if the
 * file has other content. Under the log's lock.
 */
int epochs_add(int directory, const char *note, size_t n_bytes, struct sbx_error *err);
/* Does the file contain exactly this note? 1, 0, or an error as above. */
int epochs_has(int directory, const char *note, size_t n_bytes, struct sbx_error *err);
/*
 * Visits the notes in ascending order of epoch and size. Stops if @visit returns nonzero, and
 * returns that; 0 if there is no file. -EBADMSG if it has other content.
 */
int epochs_each(int directory, store_visit_note visit, void *userdata, struct sbx_error *err);

/* ---- sequences of notes ---- */

/*
 * Length of the note at the begin of @bytes, up to its last signature line. 0 if there is no note,
 * or if it may continue after @n_bytes (and @is_end does not say that nothing follows).
 */
size_t notes_next(const char *bytes, size_t n_bytes, bool is_end);
