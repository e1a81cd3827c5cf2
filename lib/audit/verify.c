/* SPDX-License-Identifier: MIT */

/*
 * Verification of the whole log: its segments in sequence, the events in each, and the checks at
 * its end
 *
 * One table handles every event: what it means depends on what the verifier is waiting for. Each
 * segment is read from one snapshot. The functions in the table are in verify-notes.c and
 * verify-deleted.c; this file has the iterator, and checks what a segment states about itself.
 */

#include "audit/verify-internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "audit/checkpoint.h"
#include "base/array.h"
#include "base/moment.h"

#define TRIES_MAX 5
#define PROGRESS_RECORDS 8192
/* How far the file system's clock may be ahead of the system clock. */
#define SKEW_USEC UINT64_C(10000000)
#define SIGNER_SIZE (8 + SIGNATURE_KEY_SIZE)

/* ---- begin of a segment ---- */

int verify_refuse_segment(struct verification *v, const char *why)
{
	uint64_t size = v->now.frontier.size;

	return verify_find(v, FOUND_SEGMENT,
			   (struct found_at){ .first = size, .last = size, .why = why });
}

static int read_about(struct verification *v, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	struct verify_part *part = v->part;
	int r = segment_read_about(part->segment, &part->about, &why);

	if (r == -EBADMSG)
		return verify_refuse_segment(v, why.why);
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	if (v->seen.log_id[0] == '\0')
		memcpy(v->seen.log_id, part->about.log_id, sizeof(v->seen.log_id));
	if (strcmp(v->seen.log_id, part->about.log_id) != 0)
		return verify_refuse_segment(v, "it belongs to another log");
	if (part->about.first != part->file->first ||
	    part->about.frontier.size != part->file->first)
		return verify_refuse_segment(v, "it begins with another record");
	v->seen.end = part->about.size;
	return 0;
}

/* A row before the first one is an error: a reader of all rows would see it. */
static int verify_bounds(struct verification *v, struct sbx_error *err)
{
	const struct verify_part *part = v->part;
	uint64_t least, last;
	int r;

	if (part->file->kind == SEGMENT_ARCHIVE)
		return 0;
	r = store_bounds(part->segment->store, &least, &last, err);
	if (r <= 0 || least >= part->about.first)
		return r < 0 ? r : 0;
	return verify_find(v, FOUND_RECORD_TWICE,
			   (struct found_at){
				   .first = least, .last = least, .number = part->about.first });
}

/* The segment must begin where the one before ended. */
static int join_segment(struct verification *v, struct sbx_error *err)
{
	const struct segment_about *about = &v->part->about;

	if (!audit_hash_equal(&about->previous, &v->now.head))
		return verify_refuse_segment(v, "it does not follow from the record before it");
	if (!merkle_equal(&about->frontier, &v->now.frontier))
		return verify_refuse_segment(
			v, "its initial tree does not match the records before it");
	v->state = WANTS_COPY;
	return verify_note_joint(v);
}

static int refuse_earlier(struct verification *v, struct sbx_error *err)
{
	return verify_refuse_segment(v, "it begins with another record");
}

/* The record that was last in the earlier state must be unchanged. */
static int see_last(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct verification *v = userdata;

	if (!row->problem && audit_hash_equal(&row->hash, &v->now.head))
		v->state = WANTS_NOTE;
	return 0;
}

static int resume(struct verification *v, struct sbx_error *err)
{
	uint64_t last = v->now.frontier.size - 1;
	int r;

	if (v->seen.end <= last)
		return 0;
	r = segment_each(v->part->segment, last, last, see_last, v, err);
	if (r < 0)
		return r;
	if (v->state == WANTS_NOTE)
		return verify_epoch_before_state(v, err);
	return verify_find(v, FOUND_RECORD_AFTER_STATE,
			   (struct found_at){ .first = last, .last = last });
}

/* ---- the table ---- */

enum event {
	SEGMENT_NEXT,	 /* the segment begins with the next record */
	SEGMENT_LATER,	 /* records before the segment are missing */
	SEGMENT_EARLIER, /* the segment begins with a record that was read already */
	NOTE_HERE,	 /* a checkpoint of the current size */
	NOTE_EARLIER,	 /* a checkpoint of a smaller size */
	NOTE_NONE,	 /* no checkpoint up to here */
	NOTE_LEFT,	 /* after the last row: a checkpoint of a larger size */
	N_EVENTS,
};

typedef int (*event_handler)(struct verification *v, struct sbx_error *err);

static const event_handler handlers[N_EVENTS][N_VERIFY_STATES] = {
	[SEGMENT_NEXT] = { [WANTS_STATE] = join_segment, [WANTS_SEGMENT] = join_segment },
	[SEGMENT_LATER] = { [WANTS_STATE] = verify_gap, [WANTS_SEGMENT] = verify_gap },
	[SEGMENT_EARLIER] = { [WANTS_STATE] = resume, [WANTS_SEGMENT] = refuse_earlier },
	[NOTE_HERE] = { [WANTS_COPY] = verify_note_copy,
			[WANTS_CONFIRM] = verify_note_confirm,
			[WANTS_NOTE] = verify_note_of_state,
			[WANTS_ROWS] = verify_note_next },
	[NOTE_EARLIER] = { [WANTS_COPY] = verify_note_copy,
			   [WANTS_CONFIRM] = verify_note_misplaced },
	[NOTE_NONE] = { [WANTS_COPY] = verify_no_copy,
			[WANTS_CONFIRM] = verify_no_confirm,
			[WANTS_NOTE] = verify_no_note_of_state },
	[NOTE_LEFT] = { [WANTS_ROWS] = verify_note_left },
};

static int handle(struct verification *v, enum event event, struct sbx_error *err)
{
	event_handler handler = handlers[event][v->state];

	assert(handler);
	return handler(v, err);
}

/* ---- rows ---- */

static int take_genesis(struct verification *v, const struct chain_genesis *genesis)
{
	struct verify_keys *keys = &v->keys;
	char origin[NOTE_NAME_SIZE];
	int r;

	if (strcmp(genesis->log_id, v->seen.log_id) != 0)
		return verify_find(v, FOUND_RECORD,
				   (struct found_at){
					   .why = "it belongs to another log than the file" });
	(void)snprintf(origin, sizeof(origin), CHECKPOINT_ORIGIN_PREFIX "%s", genesis->log_id);
	r = keys->first.name[0] == '\0'
		    ? note_verifier_make(origin, genesis->public_key, &keys->first)
		    : 0;
	if (r < 0)
		return r;
	if (strcmp(keys->first.name, origin) != 0)
		return verify_other_log(
			v, "its first record has another ID than the key that was given");
	if (memcmp(keys->first.public_key, genesis->public_key, sizeof(genesis->public_key)) != 0)
		return verify_other_log(v,
					"its first record names another key than the one that was "
					"given");
	trail_begin(&keys->trail, &keys->first, 0);
	return verify_origin(v);
}

/* Take genesis and stubs before the run's records are accepted: their content may end the
 * verification there. */
static int take_special_records(struct verification *v, const struct verify_run *run)
{
	int r = run->has_genesis ? take_genesis(v, &run->genesis) : 0;

	if (r != 0)
		return r;
	for (size_t i = 0; i < run->n_stubs; i++) {
		r = verify_stub(v, &run->stubs[i]);
		/* The records before the stub were right. */
		if (r > 0)
			v->now.frontier.size = run->stubs[i].seq;
		if (r != 0)
			return r;
	}
	return 0;
}

static int find_fault(struct verification *v, const struct verify_run *run)
{
	uint64_t size = v->now.frontier.size;
	const struct found_at row = { .first = run->fault_seq,
				      .last = run->fault_seq,
				      .why = run->why };

	switch (run->fault) {
	case RUN_RECORD:
		return verify_find(v, FOUND_RECORD, row);
	case RUN_MISSING:
		return verify_find(v,
				   run->fault_seq == size + 1 ? FOUND_RECORD_MISSING
							      : FOUND_RECORDS_MISSING,
				   (struct found_at){ .first = size, .last = run->fault_seq - 1 });
	case RUN_STUB:
		return verify_find(
			v, FOUND_STUB,
			(struct found_at){
				.first = run->fault_seq,
				.last = run->fault_seq,
				.why = "it does not have the format that sbx-audit writes" });
	case RUN_GOOD:
		break;
	}
	return 0;
}

/* Reported once: any one of the missing checkpoints may be meant. */
static void miss_overdue(struct verification *v)
{
	(void)verify_find(v, FOUND_NOTE_OVERDUE,
			  (struct found_at){ .number = v->keys.trail.last.size });
}

static void show_progress(const struct verification *v, uint64_t before)
{
	uint64_t size = v->now.frontier.size / PROGRESS_RECORDS * PROGRESS_RECORDS;

	if (v->options->progress && size > before)
		v->options->progress(v->options->userdata, size, v->seen.end);
}

static int add_run(struct verification *v, const struct verify_run *run)
{
	int r = take_special_records(v, run);

	if (r != 0)
		return r;
	if (run->has_time) {
		log_note_time(&v->now, run->first_usec);
		log_note_time(&v->now, run->last_usec);
	}
	v->now.head = run->last;
	return merkle_add_run(&v->now.frontier, &run->tree);
}

/* A checkpoint or a witnessed head has the current size: compare. */
static int compare_heads(struct verification *v, struct sbx_error *err)
{
	if (v->part->has_note && v->part->note_size == v->now.frontier.size) {
		int r = handle(v, NOTE_HERE, err);

		if (r != 0)
			return r;
	}
	return verify_heads(v);
}

/* At most CHECKPOINT_RECORDS_MAX records may follow a checkpoint: the next one is overdue above
 * the size @due, unless it has exactly the size @due + 1. */
static int take_run(void *userdata, const struct verify_run *run, struct sbx_error *err)
{
	struct verification *v = userdata;
	uint64_t before = v->now.frontier.size;
	uint64_t due = v->keys.trail.last.size + CHECKPOINT_RECORDS_MAX;
	int r = add_run(v, run);

	if (r != 0)
		return r;
	if (before <= due && v->now.frontier.size > due + 1)
		miss_overdue(v);
	r = run->tree.end > run->tree.first ? compare_heads(v, err) : 0;
	if (r != 0)
		return r;
	if (v->now.frontier.size == v->keys.trail.last.size + CHECKPOINT_RECORDS_MAX + 1)
		miss_overdue(v);
	show_progress(v, before);
	return find_fault(v, run);
}

static uint64_t next_cut(void *userdata, uint64_t size)
{
	const struct verification *v = userdata;
	const struct witness *witness = v->options->witness;
	uint64_t cut = UINT64_MAX;

	if (v->part->has_note && v->part->note_size > size)
		cut = v->part->note_size;
	if (witness && v->seen.n_heads < witness->n_heads &&
	    witness->heads[v->seen.n_heads].size < cut &&
	    witness->heads[v->seen.n_heads].size > size)
		cut = witness->heads[v->seen.n_heads].size;
	if (v->seen.is_since_due && v->options->since->frontier.size > size &&
	    v->options->since->frontier.size < cut)
		cut = v->options->since->frontier.size;
	return cut;
}

/* ---- cuts, for several threads ---- */

struct cuts {
	uint64_t *sizes;
	size_t n;
};

static void cuts_deinit(struct cuts *cuts)
{
	free(cuts->sizes);
}

static int add_cut(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		   struct sbx_error *err)
{
	struct cuts *cuts = userdata;

	return ARRAY_ADD(cuts->sizes, cuts->n, &size);
}

static int compare_cuts(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int find_cuts(struct verification *v, struct cuts *cuts, struct sbx_error *err)
{
	const struct witness *witness = v->options->witness;
	int r = segment_each_checkpoint(v->part->segment, v->now.frontier.size, add_cut, cuts, err);

	if (r < 0)
		return r;
	for (size_t i = v->seen.n_heads; witness && i < witness->n_heads; i++) {
		r = add_cut(cuts, witness->heads[i].size, NULL, 0, NULL);
		if (r < 0)
			return r;
	}
	r = v->options->since ? add_cut(cuts, v->options->since->frontier.size, NULL, 0, NULL) : 0;
	if (r < 0)
		return r;
	if (cuts->n > 1)
		qsort(cuts->sizes, cuts->n, sizeof(*cuts->sizes), compare_cuts);
	return 0;
}

static int read_rows(struct verification *v, struct sbx_error *err)
{
	_cleanup_(cuts_deinit) struct cuts cuts = { .n = 0 };
	struct verify_rows rows = {
		.directory = v->options->directory,
		.file = v->part->file,
		.segment = v->part->segment,
		.from = v->now.frontier.size,
		.before = v->now.head,
		.end = v->seen.end,
		.n_jobs = v->part->file->kind == SEGMENT_STORE ? v->options->n_jobs : 1,
		.next_cut = next_cut,
		.take = take_run,
		.userdata = v,
	};
	int r = rows.n_jobs > 1 ? find_cuts(v, &cuts, err) : 0;

	if (r < 0)
		return r;
	rows.cuts = cuts.sizes;
	rows.n_cuts = cuts.n;
	return verify_rows(&rows, err);
}

/* ---- end of a segment ---- */

/* The next segment may have been begun while the others were read. */
static int verify_next(struct verification *v)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	uint64_t next = v->part->about.next, size = v->now.frontier.size;
	int r;

	/* verify_gap() reports what is missing before the next existing segment. */
	if (next == 0 || (!v->part->is_last && next >= size && v->part->next_first >= next))
		return 0;
	r = v->part->is_last ? segment_list(v->options->directory, &list) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++)
		if (list.files[i].first == next && next == size)
			return -ESTALE;
	return next > size
		       ? verify_find(v, FOUND_SEGMENT_AND_RECORDS_MISSING,
				     (struct found_at){
					     .first = size, .last = next - 1, .number = next })
		       : verify_find(v, FOUND_SEGMENT_MISSING, (struct found_at){ .number = next });
}

static int verify_signer(struct verification *v, struct sbx_error *err)
{
	uint8_t signer[SIGNER_SIZE], there[FRONTIER_BYTES_MAX];
	int n = store_get_meta(v->part->segment->store, META_SIGNER, there, sizeof(there), err);

	if (n < 0 && n != -ENOENT)
		return n;
	log_put_u64(signer, v->keys.trail.last.epoch);
	memcpy(signer + 8, v->part->signer.public_key, SIGNATURE_KEY_SIZE);
	if (n == (int)sizeof(signer) && memcmp(there, signer, sizeof(signer)) == 0)
		return 0;
	return verify_refuse_segment(v, "the key that it names is not that of its last "
					"checkpoint");
}

/* Checks the tree from which the writer would continue. The writer checks it, too, but only when it
 * opens the log. */
static int verify_signed(struct verification *v, struct sbx_error *err)
{
	uint8_t frontier[FRONTIER_BYTES_MAX], there[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&v->good.frontier, frontier);
	int n = store_get_meta(v->part->segment->store, META_FRONTIER, there, sizeof(there), err);

	if (n < 0 && n != -ENOENT)
		return n;
	if (n >= 8 && log_get_u64(there) > v->good.frontier.size &&
	    log_get_u64(there) <= MERKLE_SIZE_MAX)
		return verify_miss_signed(v, log_get_u64(there), "the writer has kept the tree");
	if (n != (int)n_frontier || memcmp(there, frontier, n_frontier) != 0)
		return verify_refuse_segment(v, "the tree that the writer continues is not that "
						"of the last checkpoint");
	return v->part->signer.name[0] != '\0' ? verify_signer(v, err) : 0;
}

/* ---- a segment ---- */

static int begin_segment(struct verification *v, struct sbx_error *err)
{
	uint64_t size = v->now.frontier.size, first;
	int r = read_about(v, err);

	if (r != 0)
		return r;
	r = verify_bounds(v, err);
	if (r != 0)
		return r;
	first = v->part->about.first;
	return handle(v,
		      first == size  ? SEGMENT_NEXT
		      : first > size ? SEGMENT_LATER
				     : SEGMENT_EARLIER,
		      err);
}

static int read_first_note(struct verification *v, struct sbx_error *err)
{
	const struct verify_part *part = v->part;
	uint64_t size = v->now.frontier.size;
	int r = verify_next_note(v, v->state == WANTS_NOTE ? size : 0, err);

	if (r < 0)
		return r;
	r = handle(v,
		   !part->has_note || part->note_size > size ? NOTE_NONE
		   : part->note_size == size		     ? NOTE_HERE
							     : NOTE_EARLIER,
		   err);
	v->state = WANTS_ROWS;
	return r;
}

static int end_segment(struct verification *v, struct sbx_error *err)
{
	int r = verify_next(v);

	v->state = WANTS_SEGMENT;
	if (r != 0 || !v->part->is_last)
		return r;
	if (v->part->file->kind == SEGMENT_STORE)
		return verify_signed(v, err);
	return verify_find(v, FOUND_LAST_SEGMENT_MISSING, (struct found_at){ .number = 0 });
}

static int read_segment(struct verification *v, struct sbx_error *err)
{
	uint64_t from;
	int r = begin_segment(v, err);

	if (r != 0)
		return r;
	from = v->part->about.first < v->now.frontier.size ? v->now.frontier.size : 0;
	/* The earlier state ends in a later segment. */
	if (v->state == WANTS_STATE)
		return verify_originals(v, from, err);
	r = read_first_note(v, err);
	if (r != 0)
		return r;
	r = read_rows(v, err);
	if (r != 0)
		return r;
	r = v->part->has_note ? handle(v, NOTE_LEFT, err) : 0;
	if (r != 0)
		return r;
	r = verify_originals(v, from, err);
	return r == 0 ? end_segment(v, err) : r;
}

/* Takes the mtime after the snapshot was taken: nothing in the snapshot was written later. Ignores
 * an empty WAL: SQLite creates one when it opens the segment, and any segment would look new. */
static void read_mtime(struct verification *v)
{
	static const char *const suffixes[] = { "", "-wal" };
	char path[SEGMENT_FILE_SIZE + 8];
	struct stat st;

	v->seen.mtime_usec = 0;
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", v->part->file->name, suffixes[i]);
		if (fstatat(v->options->directory, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_mtim.tv_sec < 0 || st.st_size == 0)
			continue;
		if (moment_usec(&st.st_mtim) > v->seen.mtime_usec)
			v->seen.mtime_usec = moment_usec(&st.st_mtim);
	}
	v->seen.is_from_future = v->seen.mtime_usec > moment_now(CLOCK_REALTIME) + SKEW_USEC;
}

static int fail_reading(struct verification *v, int r, struct sbx_error *err)
{
	bool is_archive = v->part->file->kind == SEGMENT_ARCHIVE;

	/* These errors say nothing about the log. */
	if (r == -ENOMEM || r == -EBUSY || r == -ENOENT || r == -ESTALE)
		return r;
	if (err->code == 0)
		(void)sbx_error_what(err, r, "cannot verify the log");
	/* An archive gets its name only when it is complete, so a malformed one was tampered
	 * with. */
	return verify_find_error(v,
				 r == -EBADMSG && is_archive ? VERIFY_TAMPERED : VERIFY_UNREADABLE,
				 err);
}

static int open_and_read(struct verification *v, struct sbx_error *err)
{
	struct verify_part *part = v->part;
	int r = segment_open_patiently(v->options->directory, part->file, &part->segment, err);

	if (r < 0)
		return r;
	read_mtime(v);
	return read_segment(v, err);
}

/* -ENOENT if the segment is gone: it was archived or deleted meanwhile. */
static int verify_segment(struct verification *v, const struct segment_list *list, size_t i)
{
	struct verify_part part = {
		.file = &list->files[i],
		.is_last = i + 1 == list->n,
		.next_first = i + 1 < list->n ? list->files[i + 1].first : UINT64_MAX,
		.note = TEXT_INIT,
	};
	struct sbx_error err = { .code = 0 };
	int r;

	v->part = &part;
	r = open_and_read(v, &err);
	if (r < 0)
		r = fail_reading(v, r, &err);
	(void)segment_free(part.segment);
	text_deinit(&part.note);
	v->part = NULL;
	return r;
}

/* ---- the log ---- */

/* Index of the last segment that begins before the next record. */
static size_t find_begin(const struct verification *v, const struct segment_list *list)
{
	size_t begin = 0;

	for (size_t i = 1; i < list->n; i++)
		if (list->files[i].first < v->now.frontier.size)
			begin = i;
	return begin;
}

/* The index of the segment that the writer has begun where the verified records end. -ESTALE if it
 * is gone again: the retention has deleted it. */
static int list_again(struct verification *v, struct segment_list *list, size_t *ret)
{
	int r;

	segment_list_deinit(list);
	r = segment_list(v->options->directory, list);
	if (r < 0)
		return r;
	for (*ret = 0; *ret < list->n; ++*ret)
		if (list->files[*ret].first == v->now.frontier.size)
			return 0;
	return -ESTALE;
}

static int verify_segments(struct verification *v)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int r = segment_list(v->options->directory, &list);
	size_t i;

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return verify_find(v, FOUND_UNREADABLE, (struct found_at){ .code = r });
	if (list.n == 0)
		return verify_find(v, FOUND_NO_SEGMENT, (struct found_at){ .code = -ENOENT });
	v->seen.begin = list.files[0].first;
	i = find_begin(v, &list);
	while (i < list.n) {
		r = verify_segment(v, &list, i++);
		/* The last segment was closed after the directory was listed. */
		if (r == -ESTALE)
			r = list_again(v, &list, &i);
		if (r != 0)
			return r;
	}
	return 0;
}

static void miss_end(struct verification *v, uint64_t size, uint64_t had, const char *why)
{
	(void)verify_find(v, FOUND_CUT,
			  (struct found_at){
				  .first = size, .last = had - 1, .number = had, .why = why });
}

/* Checks the age of the last records, which no checkpoint covers: their file's mtime. */
static void verify_age(struct verification *v)
{
	const char *why = NULL;

	if (v->seen.mtime_usec + 2 * CHECKPOINT_INTERVAL_USEC < v->options->now_usec)
		why = "they are older than twice the interval between checkpoints";
	else if (v->seen.is_from_future)
		why = "the modification time of their file is in the future";
	if (why)
		(void)verify_find(v, FOUND_TAIL_NOT_SIGNED, (struct found_at){ .why = why });
}

static int verify_end(struct verification *v)
{
	const struct verify_options *options = v->options;
	const struct witness *witness = options->witness;
	uint64_t size = v->now.frontier.size;

	(void)verify_deleted(v);
	if (v->state == WANTS_STATE || v->seen.is_since_due)
		miss_end(v, v->state == WANTS_STATE ? v->seen.end : size,
			 options->since->frontier.size, "the last verification has seen a log");
	if (witness && v->seen.n_heads < witness->n_heads)
		miss_end(v, size, witness->heads[witness->n_heads - 1].size,
			 "the witness has seen a log");
	if (size == 0)
		(void)verify_find(v, FOUND_NO_RECORDS, (struct found_at){ .number = 0 });
	else if (!v->keys.trail.has_last)
		(void)verify_find(v, FOUND_NO_NOTES, (struct found_at){ .number = 0 });
	else if (size > v->keys.trail.last.size && options->now_usec > 0)
		verify_age(v);
	return v->report->verdict == VERIFY_TAMPERED ? 0 : verify_epochs_behind(v);
}

/* ---- start ---- */

static bool has_earlier_head(const struct verify_options *options)
{
	const struct witness *witness = options->witness;

	return witness && witness->n_heads > 0 &&
	       witness->heads[0].size < options->since->frontier.size;
}

static int take_key(struct verification *v, struct sbx_error *err)
{
	const char *text = v->options->verifier;
	int r;

	v->keys.is_given = text != NULL;
	if (!text)
		return 0;
	r = note_verifier_parse(text, strlen(text), &v->keys.first, err);
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

/* Starts from the earlier state. */
static int take_since(struct verification *v)
{
	const struct verified_state *since = v->options->since;
	struct audit_trail *trail = &v->keys.trail;
	struct note_verifier next;
	struct audit_hash root;
	int r;

	r = v->keys.first.name[0] == '\0'
		    ? note_verifier_make(since->origin, since->first_key, &v->keys.first)
		    : 0;
	if (r != 0)
		return r;
	r = verify_origin(v);
	if (r != 0)
		return r;
	r = note_verifier_make(since->origin, since->key, &next);
	if (r != 0)
		return r;
	r = merkle_root(&since->frontier, &root);
	if (r != 0)
		return r;
	v->state = WANTS_STATE;
	v->keys.is_given |= !since->is_key_own;
	v->seen.is_since_due = false;
	trail_begin(trail, &next, since->epoch);
	trail->last = (struct audit_checkpoint){ .size = since->frontier.size,
						 .head = since->head,
						 .root = root };
	trail->has_last = true;
	v->now.frontier = since->frontier;
	v->now.head = since->head;
	v->seen.deleted = since->deleted;
	v->good = *since;
	v->report->good_size = v->report->begin = since->frontier.size;
	(void)snprintf(v->seen.log_id, sizeof(v->seen.log_id), "%s",
		       since->origin + strlen(CHECKPOINT_ORIGIN_PREFIX));
	return 0;
}

static int verify(struct verification *v, struct sbx_error *err)
{
	const struct verify_options *options = v->options;
	int r = take_key(v, err);

	if (r < 0)
		return r;
	v->state = WANTS_SEGMENT;
	v->seen.is_since_due = options->since != NULL;
	r = options->since && !options->is_full && !has_earlier_head(options) ? take_since(v) : 0;
	if (r != 0)
		return r;
	r = verify_heads(v);
	if (r != 0)
		return r;
	r = verify_epochs_before(v);
	if (r != 0)
		return r;
	r = verify_segments(v);
	return r == 0 ? verify_end(v) : r;
}

static void finish(const struct verification *v)
{
	struct verify_report *report = v->report;

	report->size = v->now.frontier.size;
	report->n_unsigned = report->size - report->good_size;
	report->epoch = v->keys.trail.epoch;
	report->n_heads = v->seen.n_heads - v->seen.n_passed;
	report->is_key_own = !v->keys.is_given;
	memcpy(report->origin, v->keys.first.name, sizeof(report->origin));
}

static void verification_free(struct verification **v)
{
	if (!*v)
		return;
	free((*v)->seen.joints);
	free((*v)->seen.epochs);
	free(*v);
}

static int verify_once(const struct verify_options *options, struct verify_report *ret,
		       struct verified_state *ret_state, struct sbx_error *err)
{
	_cleanup_(verification_free) struct verification *v = calloc(1, sizeof(*v));
	struct verify_report report = { .verdict = VERIFY_INTACT };
	int r;

	if (!v)
		return -ENOMEM;
	v->options = options;
	v->report = &report;
	r = verify(v, err);
	if (r < 0)
		return r;
	finish(v);
	*ret = report;
	if (ret_state)
		*ret_state = v->good;
	return 0;
}

int verify_directory(const struct verify_options *options, struct verify_report *ret,
		     struct verified_state *ret_state, struct sbx_error *err)
{
	int r, tries = 0;

	/* Retry if a segment was archived, or an archive deleted, while the others were read. */
	do
		r = verify_once(options, ret, ret_state, err);
	while ((r == -ENOENT || r == -ESTALE) && ++tries < TRIES_MAX);
	if (r < 0 && r != -EINVAL)
		(void)sbx_error_what(err, r, "cannot verify the log");
	return r;
}
