/* SPDX-License-Identifier: MIT */

/*
 * A new segment
 *
 * The old one is signed to its end first, and what the new one has to know is in it when it gets
 * its name: the log goes on in the last segment that has one, so that moment decides. How much is
 * taken of each file of the spool moves with it, because a record of that file may be in the new
 * segment next.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "audit/epochs.h"
#include "audit/log-internal.h"

/* ---- epochs ---- */

static bool ends_epoch(const char *note, size_t n_bytes)
{
	const char *end = memmem(note, n_bytes, "\n\n", 2);
	struct audit_checkpoint checkpoint;

	return end && checkpoint_parse(note, (size_t)(end - note) + 1, &checkpoint, NULL) == 0 &&
	       checkpoint.is_last_of_epoch;
}

static int keep_epoch(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		      struct sbx_error *err)
{
	struct audit_log *log = userdata;

	return ends_epoch(note, n_bytes) ? epochs_add(log->folder, note, n_bytes, err) : 0;
}

/* ---- the new segment ---- */

struct next {
	struct audit_log *log;
	struct store *store;
};

static int copy_meta(void *userdata, const char *key, struct sbx_error *err)
{
	struct next *next = userdata;
	uint8_t bytes[STORE_META_MAX];
	int n = store_get_meta(next->log->store, key, bytes, sizeof(bytes), err);

	if (n < 0)
		return n == -ENOENT ? 0 : n;
	return store_set_meta(next->store, key, bytes, (size_t)n, err);
}

static int copy_all_meta(struct next *next, struct sbx_error *err)
{
	static const char *const keys[] = { META_LOG, META_SIGNER, META_DELETED, META_STORAGE };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(keys); i++)
		r = copy_meta(next, keys[i], err);
	return r == 0 ? store_each_meta(next->log->store, META_SPOOL, copy_meta, next, err) : r;
}

static int write_joint(struct next *next, struct sbx_error *err)
{
	const struct log_state *now = &next->log->now;
	uint8_t first[8], begun[8], frontier[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&now->frontier, frontier);
	const struct {
		const char *key;
		const void *bytes;
		size_t n_bytes;
	} values[] = {
		{ META_FIRST, first, sizeof(first) },
		{ META_BEGUN, begun, sizeof(begun) },
		{ META_PREVIOUS, now->head.bytes, sizeof(now->head.bytes) },
		{ META_FIRST_FRONTIER, frontier, n_frontier },
		{ META_FRONTIER, frontier, n_frontier },
	};
	int r = 0;

	log_put_u64(first, now->frontier.size);
	log_put_u64(begun, log_now_usec());
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(values); i++)
		r = store_set_meta(next->store, values[i].key, values[i].bytes, values[i].n_bytes,
				   err);
	return r;
}

/* The checkpoint that the old one ends with; others that somebody has put behind it are not. */
static int copy_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct next *next = userdata;
	int r = 0;

	if (size == next->log->now.frontier.size)
		r = store_add_checkpoint(next->store, size, note, n_bytes, err);
	return r == 0 ? 1 : r;
}

static int fill(struct store *store, void *userdata, struct sbx_error *err)
{
	struct next *next = userdata;
	int r;

	next->store = store;
	r = copy_all_meta(next, err);
	if (r == 0)
		r = write_joint(next, err);
	if (r == 0)
		r = store_each_checkpoint(next->log->store, next->log->now.frontier.size, copy_note,
					  next, err);
	return r < 0 ? r : 0;
}

/* So that the segment behind it is missed. What cannot be written is not: the log goes on. Once is
 * enough: where a lost one is begun again, the first one stays to be missed. */
static void note_next(struct audit_log *log)
{
	uint8_t next[8];
	int r;

	if (store_get_meta(log->store, META_NEXT, next, sizeof(next), NULL) != -ENOENT)
		return;
	log_put_u64(next, log->now.frontier.size);
	r = store_begin(log->store, NULL);
	if (r == 0)
		r = store_set_meta(log->store, META_NEXT, next, sizeof(next), NULL);
	if (r == 0)
		r = store_commit(log->store, NULL);
	if (r < 0)
		store_rollback(log->store);
}

/* It has its name, so whoever opens the log goes on in it: nothing may be added to the old one. */
static int switch_to(struct audit_log *log, const char *name, struct sbx_error *err)
{
	struct store *store = NULL;
	int r = store_open(log->folder, name, &store, err);

	log->is_closed = r < 0 && ((unlinkat(log->folder, name, 0) < 0 && errno != ENOENT) ||
				   fsync(log->folder) < 0);
	if (r < 0)
		return r;
	note_next(log);
	(void)store_free(log->store);
	log->store = store;
	store_set_patience(store, log->patience_msec);
	return 0;
}

int log_go_on(struct audit_log *log, struct sbx_error *err)
{
	char name[SEGMENT_NAME_SIZE];
	int r;

	log_segment_name(log->now.frontier.size, name);
	r = switch_to(log, name, err);
	return log->is_closed ? r : 0;
}

static int first_of(struct audit_log *log, uint64_t *ret, struct sbx_error *err)
{
	uint8_t first[8];
	int n = store_get_meta(log->store, META_FIRST, first, sizeof(first), err);

	if (n != (int)sizeof(first))
		return log_fail(err, n < 0 && n != -ENOENT ? n : -EBADMSG, log->log_id,
				"its segment does not say where it begins",
				"look at it with 'sbx-audit verify --full'");
	*ret = log_get_u64(first);
	return 0;
}

int audit_log_rotate(struct audit_log *log, struct sbx_error *err)
{
	struct next next = { .log = log };
	char name[SEGMENT_NAME_SIZE];
	uint64_t first = 0;
	int r = first_of(log, &first, err);

	if (r == 0)
		r = audit_log_checkpoint(log, err);
	if (r < 0 || log->now.frontier.size <= first)
		return r;
	if (log->is_closed)
		return log_go_on(log, err);
	r = store_each_checkpoint(log->store, 0, keep_epoch, log, err);
	log_segment_name(log->now.frontier.size, name);
	if (r == 0)
		r = store_create(log->folder, name, fill, &next, err);
	if (r == 0)
		r = switch_to(log, name, err);
	return r < 0 ? r : 1;
}
