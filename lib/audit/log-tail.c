/* SPDX-License-Identifier: MIT */

/*
 * Finding the end again
 *
 * The tree of the last checkpoint is kept beside it, so that a log of any size is opened by going
 * through the few records that came after. These are verified on the way. If something is wrong the
 * log goes on where it can, because an intruder must not be able to stop it by one byte, and says
 * so: the proof of what was there before is the verifier's work.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/entry-reader.h"
#include "audit/log-internal.h"

/* Records that are missing one after the other before it is no use to go on. */
#define GAP_MAX 1000000

size_t log_save_frontier(const struct merkle_frontier *frontier, uint8_t ret[FRONTIER_BYTES_MAX])
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	size_t n = merkle_save(frontier, peaks);

	log_put_u64(ret, frontier->size);
	memcpy(ret + 8, peaks, n * sizeof(peaks[0]));
	return 8 + n * sizeof(peaks[0]);
}

static int fail(struct audit_log *log, const char *why, struct sbx_error *err)
{
	return log_fail(err, -EBADMSG, log->log_id, why,
			"look at it with 'sbx-audit verify --full', and keep it");
}

void log_break(struct audit_log *log, uint64_t seq)
{
	if (!log->is_broken || seq < log->broken_seq)
		log->broken_seq = seq;
	log->is_broken = true;
}

/* 0, -EBADMSG without @err for one that is none, or an error of the store's. */
static int load_frontier(struct audit_log *log, const char *key, struct merkle_frontier *ret,
			 struct sbx_error *err)
{
	struct audit_hash peaks[MERKLE_PATH_MAX];
	uint8_t bytes[FRONTIER_BYTES_MAX];
	struct sbx_error why = { .code = 0 };
	int n = store_get_meta(log->store, key, bytes, sizeof(bytes), &why);
	size_t n_peaks;

	if (n == -ENOENT || n == -EBADMSG)
		return -EBADMSG;
	if (n < 0 && err)
		*err = why;
	if (n < 0)
		return n;
	if (n < 8 || (n - 8) % AUDIT_HASH_SIZE != 0)
		return -EBADMSG;
	n_peaks = (size_t)(n - 8) / AUDIT_HASH_SIZE;
	memcpy(peaks, bytes + 8, n_peaks * sizeof(peaks[0]));
	return merkle_load(log_get_u64(bytes), peaks, n_peaks, ret);
}

/* ---- rows ---- */

/* Is it the tree that was signed? */
static bool is_signed(struct audit_log *log, const struct merkle_frontier *frontier)
{
	struct audit_hash root;

	return log->now.last.size > 0 && frontier->size == log->now.last.size &&
	       merkle_root(log->hasher, frontier, &root) == 0 &&
	       audit_hash_equal(&root, &log->now.last.root);
}

struct walk {
	struct audit_log *log;
	uint64_t first;	   /* that was asked for */
	uint64_t expected; /* the next number */
	bool has_previous; /* else the row before is not known, and the next one cannot be checked
			    */
	struct audit_hash previous;
	struct entry_reader *reader;
};

static int fill_gap(struct walk *walk, uint64_t to, struct sbx_error *err)
{
	struct merkle_frontier *frontier = &walk->log->now.frontier;
	const struct audit_hash zero = { .bytes = { 0 } };

	log_break(walk->log, walk->expected);
	if (to - walk->expected > GAP_MAX)
		return fail(walk->log, "its last records are missing", err);
	for (; walk->expected < to; walk->expected++)
		if (walk->expected >= frontier->size &&
		    merkle_add(walk->log->hasher, frontier, &zero) < 0)
			return fail(walk->log, "libcrypto cannot hash", err);
	walk->has_previous = false;
	return 0;
}

void log_note_time(struct log_state *state, uint64_t usec)
{
	if (!state->has_time || usec < state->first_usec)
		state->first_usec = usec;
	if (!state->has_time || usec > state->last_usec)
		state->last_usec = usec;
	state->has_time = true;
}

void log_forget_times(struct log_state *state)
{
	state->has_time = false;
	state->first_usec = state->last_usec = 0;
}

static int walk_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct walk *walk = userdata;
	struct audit_log *log = walk->log;
	struct audit_hash hash;
	struct entry_said said;
	int r = 0;

	if (row->problem)
		return fail(log, row->problem, err);
	if (row->seq > walk->expected)
		r = fill_gap(walk, row->seq, err);
	if (r < 0)
		return r;
	if (walk->has_previous) {
		r = chain_next(log->hasher, row->seq, &walk->previous, row->body, row->n_body,
			       &hash);
		if (r < 0)
			return fail(log, "libcrypto cannot hash", err);
		if (!audit_hash_equal(&hash, &row->hash))
			log_break(log, row->seq);
	}
	if (row->seq + 1 == log->now.last.size &&
	    !audit_hash_equal(&row->hash, &log->now.last.head))
		log_break(log, row->seq);
	walk->previous = row->hash;
	walk->has_previous = true;
	walk->expected = row->seq + 1;
	if (row->seq < log->now.frontier.size)
		return 0;
	r = entry_reader_read(walk->reader, row->body, row->n_body, &said);
	if (r == -ENOMEM)
		return log_fail(err, r, log->log_id, NULL, "free some memory");
	if (r < 0)
		log_break(log, row->seq);
	else
		log_note_time(&log->now, said.time_usec);
	if (merkle_add(log->hasher, &log->now.frontier, &row->hash) < 0)
		return fail(log, "libcrypto cannot hash", err);
	if (log->now.frontier.size != log->now.last.size)
		return 0;
	if (!is_signed(log, &log->now.frontier))
		log_break(log, walk->first);
	log_forget_times(&log->now);
	return 0;
}

/* The last records that a checkpoint has seen are not there. */
static int break_end(struct audit_log *log, uint64_t first, struct sbx_error *err)
{
	uint64_t lowest, last;
	int r = store_bounds(log->store, &lowest, &last, err);

	if (r >= 0)
		log_break(log, r > 0 ? last + 1 : first);
	return r < 0 ? r : 0;
}

/* The rows behind the frontier, and the one before them for its hash. */
static int walk_rows(struct audit_log *log, uint64_t first, const struct audit_hash *previous,
		     struct sbx_error *err)
{
	uint64_t size = log->now.frontier.size, from = size > first ? size - 1 : first;
	_cleanup_entry_reader_free_ struct entry_reader *reader = calloc(1, sizeof(*reader));
	struct walk walk = { .log = log, .expected = from, .reader = reader };
	int r;

	if (!reader)
		return log_fail(err, -ENOMEM, log->log_id, NULL, "free some memory");
	/* The last but one gives the last one something to be checked against. */
	if (from > first)
		walk.expected = --from;
	if (from == first) {
		walk.has_previous = true;
		walk.previous = *previous;
	}
	walk.first = from;
	r = store_each(log->store, from, UINT64_MAX, walk_row, &walk, err);
	if (r < 0)
		return r;
	if (walk.expected < log->now.frontier.size)
		return break_end(log, first, err);
	log->now.head = walk.previous;
	return 0;
}

/* ---- what the segment says ---- */

static int read_exactly(struct audit_log *log, const char *key, void *bytes, size_t n_bytes,
			struct sbx_error *err)
{
	int n = store_get_meta(log->store, key, bytes, n_bytes, err);

	if (n == -ENOENT || (n >= 0 && (size_t)n != n_bytes))
		return fail(log, "its segment does not say which log it is of", err);
	return n < 0 ? n : 0;
}

/*
 * The frontier to begin with. If the end of the log was cut off behind a checkpoint, numbers are
 * not given twice: it goes on behind that checkpoint, and what is missing stays missing.
 */
static int choose_frontier(struct audit_log *log, uint64_t first, const struct audit_hash *previous,
			   struct sbx_error *err)
{
	struct log_state *now = &log->now;
	int r = load_frontier(log, META_FRONTIER, &now->frontier, err);

	if (r < 0 && r != -EBADMSG)
		return r;
	if (r == 0 && is_signed(log, &now->frontier)) {
		now->head = now->last.head;
		return 0;
	}
	/* There was a later checkpoint. */
	if (r == 0 && now->frontier.size > first && now->frontier.size > now->last.size)
		log_break(log, now->last.size);
	r = load_frontier(log, META_FIRST_FRONTIER, &now->frontier, err);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0 || now->frontier.size != first)
		return fail(log, "its tree is not kept", err);
	now->head = *previous;
	return 0;
}

/* The segment behind it is not there: no other is opened to write. */
static int look_behind(struct audit_log *log, struct sbx_error *err)
{
	uint8_t next[8];
	int n = store_get_meta(log->store, META_NEXT, next, sizeof(next), err);

	if (n == (int)sizeof(next))
		log_break(log, log_get_u64(next));
	return n < 0 && n != -ENOENT ? n : 0;
}

int log_read_tail(struct audit_log *log, struct sbx_error *err)
{
	struct audit_hash previous;
	uint8_t first[8];
	int r = read_exactly(log, META_LOG, log->log_id, AUDIT_LOG_ID_SIZE - 1, err);

	if (r == 0)
		r = read_exactly(log, META_FIRST, first, sizeof(first), err);
	if (r == 0)
		r = read_exactly(log, META_PREVIOUS, previous.bytes, sizeof(previous.bytes), err);
	if (r == 0)
		r = log_load_checkpoint(log, err);
	if (r == 0)
		r = choose_frontier(log, log_get_u64(first), &previous, err);
	if (r == 0)
		r = walk_rows(log, log_get_u64(first), &previous, err);
	if (r == 0)
		r = look_behind(log, err);
	if (r < 0)
		return r;
	log->committed = log->now;
	return 0;
}
