/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The file of epochs: the last checkpoint of each epoch, one note behind the other
 *
 * It leads from the first public key to the present one where the segments in which these notes
 * stood are no longer there. Every note in it is signed, so it is checked like any other, and the
 * file is worth no more than that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/store.h"

struct sbx_error;

#define EPOCHS_NAME "epochs"
#define EPOCHS_BYTES_MAX (16 * 1024 * 1024)

/*
 * Puts the note behind those of the epochs before, unless one of its epoch is there: the file is
 * replaced, whole, and on the disk. -EINVAL for a note that is not the last of its epoch, -EBADMSG
 * for a file that holds something else. Under the log's lock.
 */
int epochs_add(int folder, const char *note, size_t n_bytes, struct sbx_error *err);
/* Is exactly this note there? 1, 0, or an error as above. */
int epochs_has(int folder, const char *note, size_t n_bytes, struct sbx_error *err);
/*
 * In their order: epochs and sizes ascend. Ends where @visit does not return 0, and returns that; 0
 * where there is no file. -EBADMSG for anything in it that is no such note.
 */
int epochs_each(int folder, store_visit_note visit, void *userdata, struct sbx_error *err);

/* ---- notes one behind the other ---- */

/*
 * The length of the note that @bytes begin with: up to the last line of its signatures. 0 where
 * none begins there, or where it may go on behind @n_bytes and @is_end does not say that nothing
 * comes.
 */
size_t notes_next(const char *bytes, size_t n_bytes, bool is_end);
