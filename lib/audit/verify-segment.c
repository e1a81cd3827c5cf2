/* SPDX-License-Identifier: MIT */

/*
 * One segment: what it says about itself has to join it to the one before, and its rows and
 * checkpoints go by once, from one moment
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* How far the clock of the file system may be before ours. */
#define SKEW_USEC UINT64_C(10000000)
#define SIGNER_SIZE (8 + SIGNATURE_KEY_SIZE)
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC 1000

int verify_fail_segment(struct verification *v, const char *why)
{
	uint64_t size = v->now.frontier.size;
	struct sbx_error *finding = verify_finding_at(v, VERIFY_TAMPERED, size, size);

	(void)sbx_error_what(finding, -EBADMSG, "the segment '%s' does not belong here",
			     v->file->name);
	sbx_error_why(finding, "%s", why);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

/* ---- what it says about itself ---- */

static int is_meta(struct verification *v, const char *key, const void *bytes, size_t n_bytes,
		   struct sbx_error *err)
{
	uint8_t there[FRONTIER_BYTES_MAX];
	int n = store_get_meta(v->segment->store, key, there, sizeof(there), err);

	if (n < 0)
		return n == -ENOENT ? 0 : n;
	return (size_t)n == n_bytes && memcmp(there, bytes, n_bytes) == 0;
}

static int read_about(struct verification *v, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = segment_read_about(v->segment, &v->about, &why);

	if (r == -EBADMSG)
		return verify_fail_segment(v, why.why);
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	if (v->log_id[0] == '\0')
		memcpy(v->log_id, v->about.log_id, sizeof(v->log_id));
	if (strcmp(v->log_id, v->about.log_id) != 0)
		return verify_fail_segment(v, "it is of another log");
	if (v->about.first != v->file->first || v->about.frontier.size != v->file->first)
		return verify_fail_segment(v, "it begins with another record");
	return 0;
}

static bool is_frontier(const struct merkle_frontier *a, const struct merkle_frontier *b)
{
	uint8_t x[FRONTIER_BYTES_MAX], y[FRONTIER_BYTES_MAX];
	size_t n_x = log_save_frontier(a, x), n_y = log_save_frontier(b, y);

	return n_x == n_y && memcmp(x, y, n_x) == 0;
}

/* How the log was before the segment. */
static int verify_joint(struct verification *v)
{
	if (v->about.first != v->now.frontier.size)
		return verify_fail_segment(v, "it begins with another record");
	if (!audit_hash_equal(&v->about.previous, &v->now.head))
		return verify_fail_segment(v, "it does not follow from the record before it");
	if (!is_frontier(&v->about.frontier, &v->now.frontier))
		return verify_fail_segment(v, "it was begun with another tree than that of the "
					      "records before it");
	return 0;
}

/* It was signed once, and the records, or the checkpoint alone, are gone. */
void verify_miss_signed(struct verification *v, uint64_t size, const char *who)
{
	uint64_t there = v->now.frontier.size;
	struct sbx_error *finding;

	if (size > there) {
		finding = verify_finding_at(v, VERIFY_INCOMPLETE, there, size - 1);
		(void)sbx_error_what(finding, -EBADMSG,
				     "records %" PRIu64 " to %" PRIu64 " are missing at the end",
				     there, size - 1);
	} else {
		finding = verify_finding(v, VERIFY_INCOMPLETE);
		(void)sbx_error_what(finding, -EBADMSG,
				     "the checkpoint of %" PRIu64 " records is missing", size);
	}
	sbx_error_why(finding, "%s of %" PRIu64 " records", who, size);
	verify_fix(v, finding);
}

static int verify_signer(struct verification *v, struct sbx_error *err)
{
	uint8_t signer[SIGNER_SIZE];
	int r;

	log_put_u64(signer, v->trail.last.epoch);
	memcpy(signer + 8, v->signer.public_key, SIGNATURE_KEY_SIZE);
	r = is_meta(v, META_SIGNER, signer, sizeof(signer), err);
	if (r == 0)
		return verify_fail_segment(v, "the key that it names is not that of its last "
					      "checkpoint");
	return r < 0 ? r : 0;
}

/* What the writer goes on with. It checks that, too, but only when it opens the log. */
static int verify_signed(struct verification *v, struct sbx_error *err)
{
	uint8_t frontier[FRONTIER_BYTES_MAX], there[FRONTIER_BYTES_MAX];
	size_t n_frontier = log_save_frontier(&v->good.frontier, frontier);
	int n = store_get_meta(v->segment->store, META_FRONTIER, there, sizeof(there), err);

	if (n < 0 && n != -ENOENT)
		return n;
	if (n >= 8 && log_get_u64(there) > v->good.frontier.size &&
	    log_get_u64(there) <= MERKLE_SIZE_MAX) {
		verify_miss_signed(v, log_get_u64(there), "the writer has kept the tree");
		return 0;
	}
	if (n != (int)n_frontier || memcmp(there, frontier, n_frontier) != 0)
		return verify_fail_segment(v, "the tree that the writer continues is not that "
					      "of the last checkpoint");
	return v->signer.name[0] != '\0' ? verify_signer(v, err) : 0;
}

/* ---- the snapshot ---- */

static uint64_t usec_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * USEC_PER_SEC + (uint64_t)time->tv_nsec / NSEC_PER_USEC;
}

/* After the snapshot was taken: nothing in it was written later. A WAL without a byte is not
 * counted: SQLite makes one when it opens the segment, and would make any segment a new one. */
static void read_mtime(struct verification *v)
{
	static const char *const suffixes[] = { "", "-wal" };
	char path[SEGMENT_FILE_SIZE + 8];
	struct stat st;

	v->mtime_usec = 0;
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		uint64_t usec;

		(void)snprintf(path, sizeof(path), "%s%s", v->file->name, suffixes[i]);
		if (fstatat(v->options->folder, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_mtim.tv_sec < 0 || st.st_size == 0)
			continue;
		usec = usec_of(&st.st_mtim);
		if (usec > v->mtime_usec)
			v->mtime_usec = usec;
	}
	v->is_from_future = v->mtime_usec > log_now_usec() + SKEW_USEC;
}

/* ---- rows ---- */

/* No row may stand before the first one: a reader of all rows would see it. */
static int verify_bounds(struct verification *v, struct sbx_error *err)
{
	uint64_t least, last;
	struct sbx_error *finding;
	int r;

	v->end = v->about.size;
	if (v->file->kind == SEGMENT_ARCHIVE)
		return 0;
	r = store_bounds(v->segment->store, &least, &last, err);
	if (r <= 0 || least >= v->about.first)
		return r < 0 ? r : 0;
	finding = verify_finding_at(v, VERIFY_TAMPERED, least, least);
	(void)sbx_error_what(finding, -EBADMSG, "record %" PRIu64 " is there twice", least);
	sbx_error_why(finding, "it is in the segment that begins with record %" PRIu64,
		      v->about.first);
	verify_fix(v, finding);
	return VERIFY_STOP;
}

static int verify_rows(struct verification *v, bool is_last, struct sbx_error *err)
{
	int r;

	if (v->options->n_jobs > 1 && v->file->kind == SEGMENT_STORE)
		r = verify_rows_at_once(v, err);
	else
		r = segment_each(v->segment, v->now.frontier.size, UINT64_MAX, verify_row, v, err);
	return r == 0 ? verify_left_note(v, is_last) : r;
}

/* The record that was the last one when it was verified must be the same. */
static int see_last(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct verification *v = userdata;

	if (!row->problem && audit_hash_equal(&row->hash, &v->now.head))
		v->is_resuming = false;
	return 0;
}

static int resume(struct verification *v, struct sbx_error *err)
{
	uint64_t last = v->now.frontier.size - 1;
	struct sbx_error *finding;
	int r;

	if (v->end <= last)
		return 0;
	r = segment_each(v->segment, last, last, see_last, v, err);
	if (r < 0)
		return r;
	if (!v->is_resuming) {
		r = verify_epoch_before_state(v, err);
		return r == 0 ? verify_state_note(v, err) : r;
	}
	finding = verify_finding_at(v, VERIFY_TAMPERED, last, last);
	(void)sbx_error_what(finding, -EBADMSG,
			     "record %" PRIu64 " is not what it was when it was verified", last);
	sbx_error_why(finding, "its hash is another one, or it is missing");
	sbx_error_fix(finding, "find the first one that was changed: sbx-audit verify --full");
	return VERIFY_STOP;
}

static int begin_segment(struct verification *v, struct sbx_error *err)
{
	uint64_t size = v->now.frontier.size;
	int r = read_about(v, err);

	if (r == 0)
		r = verify_bounds(v, err);
	if (r != 0)
		return r;
	if (v->about.first < size && v->is_resuming)
		return resume(v, err);
	if (v->about.first > size)
		return verify_gap(v, err);
	r = verify_joint(v);
	if (r == 0)
		r = verify_note_joint(v);
	if (r != 0)
		return r;
	v->is_resuming = false;
	return verify_first_note(v, err);
}

static void miss_next(struct verification *v, uint64_t next)
{
	uint64_t size = v->now.frontier.size;
	struct sbx_error *finding;

	if (next > size) {
		finding = verify_finding_at(v, VERIFY_INCOMPLETE, size, next - 1);
		(void)sbx_error_what(finding, -EBADMSG,
				     "records %" PRIu64 " to %" PRIu64
				     " and the segment after them are missing",
				     size, next - 1);
	} else {
		finding = verify_finding(v, VERIFY_INCOMPLETE);
		(void)sbx_error_what(finding, -EBADMSG,
				     "the segment that began with record %" PRIu64 " is missing",
				     next);
	}
	sbx_error_why(finding, "'%s' was closed when it was made", v->file->name);
	verify_fix(v, finding);
	if (finding)
		v->missed_next = next;
}

/* It may have been begun while the others were read. */
static int verify_next(struct verification *v, bool is_last)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	uint64_t next = v->about.next;
	int r;

	if (next == 0)
		return 0;
	/* v->file is one of the list: verify_gap() names what is missing before the next. */
	if (!is_last && next >= v->now.frontier.size && v->file[1].first >= next)
		return 0;
	r = is_last ? segment_list(v->options->folder, &list) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++)
		if (list.files[i].first == next && next == v->now.frontier.size)
			return -ESTALE;
	miss_next(v, next);
	return 0;
}

static void miss_last(struct verification *v)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG, "the segment after '%s' is missing", v->file->name);
	sbx_error_why(finding, "a segment is archived when there is another one to write to");
	verify_fix(v, finding);
}

static int read_segment(struct verification *v, bool is_last, struct sbx_error *err)
{
	uint64_t from = 0;
	int r;

	v->signer.name[0] = '\0';
	r = begin_segment(v, err);
	if (v->about.first < v->now.frontier.size)
		from = v->now.frontier.size;
	if (r == 0)
		r = verify_rows(v, is_last, err);
	if (r == 0)
		r = verify_originals(v, from, err);
	if (r == 0 && !v->is_resuming)
		r = verify_next(v, is_last);
	if (r != 0 || !is_last || v->is_resuming)
		return r;
	if (v->file->kind == SEGMENT_STORE)
		return verify_signed(v, err);
	miss_last(v);
	return 0;
}

static int fail_reading(struct verification *v, int r, const struct sbx_error *err)
{
	struct sbx_error *finding;

	/* These say nothing about the log. */
	if (r == -ENOMEM || r == -EBUSY || r == -ENOENT || r == -ESTALE)
		return r;
	/* An archive got its name when it had been read completely. */
	finding = verify_finding(v, r == -EBADMSG && v->file->kind == SEGMENT_ARCHIVE
					    ? VERIFY_TAMPERED
					    : VERIFY_UNREADABLE);
	if (finding && err->code != 0)
		*finding = *err;
	else
		(void)sbx_error_what(finding, r, "cannot verify the log");
	return VERIFY_STOP;
}

int verify_segment(struct verification *v, const struct segment_file *file, bool is_last)
{
	struct sbx_error err = { .code = 0 };
	int r;

	v->file = file;
	r = segment_open_patiently(v->options->folder, file, &v->segment, &err);
	if (r == 0) {
		read_mtime(v);
		r = read_segment(v, is_last, &err);
		v->segment = segment_free(v->segment);
	}
	return r < 0 ? fail_reading(v, r, &err) : r;
}
