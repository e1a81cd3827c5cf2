/* SPDX-License-Identifier: MIT */

/*
 * What an archive and nothing else may know: the keys of epochs that have ended in it
 *
 * They are in the file of epochs since the segment was closed. Where somebody has taken them away
 * they are put back before the archive is deleted, and not earlier: until then it is a fault that
 * whoever verifies the log hears of.
 */

#include "audit/retain-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/epochs.h"

static bool ends_epoch(const char *note, size_t n_bytes)
{
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	struct audit_checkpoint checkpoint;

	return end && checkpoint_parse(note, (size_t)(end - note) + 1, &checkpoint, NULL) == 0 &&
	       checkpoint.is_last_of_epoch;
}

static int find_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	struct retain_work *work = userdata;
	int r = ends_epoch(note, n_bytes) ? epochs_has(work->folder, note, n_bytes, err) : 1;

	work->lacks_epochs |= r == 0;
	return r < 0 ? r : 0;
}

int retain_find_epochs(struct retain_work *work, struct segment *segment, struct sbx_error *err)
{
	return segment_each_checkpoint(segment, 0, find_epoch, work, err);
}

static int keep_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	const struct retain_work *work = userdata;
	int r;

	if (!ends_epoch(note, n_bytes))
		return 0;
	r = epochs_add(work->folder, note, n_bytes, err);
	if (r == 0)
		r = epochs_has(work->folder, note, n_bytes, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return retain_fail(err, -EBADMSG, "delete", work->file.name,
			   "the file '" EPOCHS_NAME "' has another key for an epoch in it",
			   "put a copy of the file '" EPOCHS_NAME "' in its place");
}

int retain_keep_epochs(const struct retain_work *work, struct sbx_error *err)
{
	_cleanup_segment_ struct segment *segment = NULL;
	int r = segment_open(work->folder, &work->file, &segment, err);

	return r == 0 ? segment_each_checkpoint(segment, 0, keep_epoch, (void *)work, err) : r;
}
