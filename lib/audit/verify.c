/* SPDX-License-Identifier: MIT */

/*
 * The whole log: its segments in their order, and what is to be said at its end
 *
 * What is wrong ends the work, since nothing behind it could be proved. What is missing does not:
 * there may be worse behind.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"

#define TRIES_MAX 5

const char *verify_verdict_name(enum verify_verdict verdict)
{
	static const char *const names[] = {
		[VERIFY_INTACT] = "intact",
		[VERIFY_TAMPERED] = "tampered",
		[VERIFY_INCOMPLETE] = "incomplete",
		[VERIFY_UNREADABLE] = "unreadable",
	};

	return names[verdict];
}

/* ---- findings ---- */

static struct sbx_error *replace_finding(struct verification *v, enum verify_verdict verdict)
{
	v->report->verdict = verdict;
	v->report->has_bad = false;
	v->missed_next = 0;
	return &v->report->finding;
}

struct sbx_error *verify_finding(struct verification *v, enum verify_verdict verdict)
{
	if (v->report->verdict != VERIFY_INTACT && verdict == VERIFY_INCOMPLETE)
		return NULL;
	return replace_finding(v, verdict);
}

/* META_NEXT says where a missing segment began and not where it ended. Where the first of its
 * records is among those of a finding, that is the same loss, and says more about it. */
static bool is_missed_next(const struct verification *v, enum verify_verdict verdict,
			   uint64_t first, uint64_t last)
{
	return verdict == VERIFY_INCOMPLETE && v->missed_next != 0 && first <= v->missed_next &&
	       last >= v->missed_next;
}

struct sbx_error *verify_finding_at(struct verification *v, enum verify_verdict verdict,
				    uint64_t first, uint64_t last)
{
	struct sbx_error *finding = is_missed_next(v, verdict, first, last)
					    ? replace_finding(v, verdict)
					    : verify_finding(v, verdict);

	if (finding) {
		v->report->has_bad = true;
		v->report->first_bad = first;
		v->report->last_bad = last;
	}
	return finding;
}

void verify_fix(const struct verification *v, struct sbx_error *finding)
{
	if (v->report->good_size > 0)
		sbx_error_fix(
			finding,
			"keep the directory as it is; the log is good up to the checkpoint of "
			"%" PRIu64 " records, take the rest from a copy",
			v->report->good_size);
	else
		sbx_error_fix(finding, "keep the directory as it is, and take the log from a copy");
}

/* ---- segments ---- */

/* Of those that begin before the next record the last. */
static size_t find_begin(const struct verification *v, const struct segment_list *list)
{
	size_t begin = 0;

	for (size_t i = 1; i < list->n; i++)
		if (list->files[i].first < v->now.frontier.size)
			begin = i;
	return begin;
}

static int unreadable(struct verification *v, int code, const char *why, const char *fix)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_UNREADABLE);

	(void)sbx_error_what(finding, code, "cannot read the log");
	if (why)
		sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, "%s", fix);
	return VERIFY_STOP;
}

static int verify_segments(struct verification *v)
{
	_cleanup_segment_list_ struct segment_list list = SEGMENT_LIST_INIT;
	int r = segment_list(v->options->folder, &list);

	if (r < 0)
		return r == -ENOMEM
			       ? r
			       : unreadable(v, r, NULL, "check the permissions of the directory");
	if (list.n == 0)
		return unreadable(
			v, -ENOENT, "there is no segment in the directory",
			"name the directory of a log, or make one with 'sbx-audit setup'");
	v->begin.size = list.files[0].first;
	for (size_t i = find_begin(v, &list); r == 0 && i < list.n; i++)
		r = verify_segment(v, &list.files[i], i + 1 == list.n);
	return r;
}

/* ---- the end ---- */

static void tell_cut(struct verification *v, uint64_t size, uint64_t had, const char *who)
{
	struct sbx_error *finding = verify_finding_at(v, VERIFY_INCOMPLETE, size, had - 1);

	(void)sbx_error_what(finding, -EBADMSG,
			     "records %" PRIu64 " to %" PRIu64 " are missing at the end", size,
			     had - 1);
	sbx_error_why(finding, "%s has seen a log of %" PRIu64 " records", who, had);
	verify_fix(v, finding);
}

static void tell_unsigned(struct verification *v, const char *what, const char *why)
{
	struct sbx_error *finding = verify_finding(v, VERIFY_INCOMPLETE);

	(void)sbx_error_what(finding, -EBADMSG, "%s", what);
	sbx_error_why(finding, "%s", why);
	sbx_error_fix(finding, "look why sbx-audit does not sign any more; what has no checkpoint "
			       "can have been changed");
}

/* Of the last records, which nobody has signed: as old as the file that they are in. */
static void verify_age(struct verification *v)
{
	const char *what = "the last records have no checkpoint";

	if (v->mtime_usec + 2 * CHECKPOINT_INTERVAL_USEC < v->options->now_usec)
		tell_unsigned(v, what,
			      "they are older than twice the time in which one has to be made");
	else if (v->is_from_future)
		tell_unsigned(v, what, "their file says that it was written later than now");
}

static int verify_end(struct verification *v)
{
	const struct verify_options *options = v->options;
	const struct witness *witness = options->witness;

	verify_deleted(v);
	if (v->is_resuming || v->is_since_due)
		tell_cut(v, v->is_resuming ? v->end : v->now.frontier.size,
			 options->since->frontier.size, "who verified it before");
	if (witness && v->n_heads < witness->n_heads)
		tell_cut(v, v->now.frontier.size, witness->heads[witness->n_heads - 1].size,
			 "the witness");
	if (v->now.frontier.size == 0)
		tell_unsigned(v, "the log has no records", "not even the first one is there");
	else if (!v->trail.has_last)
		tell_unsigned(v, "the log has no checkpoints", "its records are not signed");
	else if (v->now.frontier.size > v->trail.last.size && options->now_usec > 0)
		verify_age(v);
	return v->report->verdict == VERIFY_TAMPERED ? 0 : verify_epochs_behind(v);
}

/* ---- begin ---- */

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

	v->is_key_given = text != NULL;
	if (!text)
		return 0;
	r = note_verifier_parse(v->hasher, text, strlen(text), &v->first, err);
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

static int take_since(struct verification *v)
{
	const struct verified_state *since = v->options->since;
	struct note_verifier next;
	struct audit_hash root;
	int r = 0;

	if (v->first.name[0] == '\0')
		r = note_verifier_make(v->hasher, since->origin, since->first_key, &v->first);
	if (r == 0)
		r = verify_origin(v);
	if (r == 0)
		r = note_verifier_make(v->hasher, since->origin, since->key, &next);
	if (r == 0)
		r = merkle_root(v->hasher, &since->frontier, &root);
	if (r != 0)
		return r;
	v->is_key_given |= !since->is_key_own;
	v->is_since_due = false;
	v->is_resuming = true;
	trail_begin(&v->trail, &next, since->epoch);
	v->trail.last.size = since->frontier.size;
	v->trail.last.head = since->head;
	v->trail.last.root = root;
	v->trail.has_last = true;
	v->now.frontier = since->frontier;
	v->now.head = since->head;
	v->deleted = since->deleted;
	v->good = *since;
	v->report->good_size = v->report->begin = since->frontier.size;
	(void)snprintf(v->log_id, sizeof(v->log_id), "%s",
		       since->origin + strlen(CHECKPOINT_ORIGIN_PREFIX));
	return 0;
}

/* 0, VERIFY_STOP or negative errno. */
static int verify(struct verification *v, struct sbx_error *err)
{
	const struct verify_options *options = v->options;
	int r = take_key(v, err);

	if (r < 0)
		return r;
	v->is_since_due = options->since != NULL;
	if (options->since && !options->is_full && !has_earlier_head(options))
		r = take_since(v);
	if (r == 0)
		r = verify_heads(v);
	if (r == 0)
		r = verify_epochs_before(v);
	if (r == 0)
		r = verify_segments(v);
	return r == 0 ? verify_end(v) : r;
}

static void finish(struct verification *v)
{
	struct verify_report *report = v->report;

	report->size = v->now.frontier.size;
	report->n_unsigned = report->size - report->good_size;
	report->epoch = v->trail.epoch;
	report->n_heads = v->n_heads - v->n_passed;
	report->is_key_own = !v->is_key_given;
	memcpy(report->origin, v->first.name, sizeof(report->origin));
}

static void verification_deinit(struct verification *v)
{
	entry_reader_deinit(&v->reader);
	free(v->joints);
	free(v->epochs);
	text_deinit(&v->note);
	v->segment = segment_free(v->segment);
	v->hasher = hasher_free(v->hasher);
	free(v);
}

static void verification_free(struct verification **v)
{
	if (*v)
		verification_deinit(*v);
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
	r = hasher_new(&v->hasher);
	if (r == 0)
		r = verify(v, err);
	if (r < 0)
		return r;
	finish(v);
	*ret = report;
	if (ret_state)
		*ret_state = v->good;
	return 0;
}

int verify_folder(const struct verify_options *options, struct verify_report *ret,
		  struct verified_state *ret_state, struct sbx_error *err)
{
	struct verify_options again = *options;
	int r, tries = 0;

	/* A segment is archived, or an archive deleted, while the others are read. */
	do {
		r = verify_once(&again, ret, ret_state, err);
		if (r == -ESTALE)
			again.n_jobs = 1;
	} while ((r == -ENOENT || r == -ESTALE) && ++tries < TRIES_MAX);
	if (r < 0 && r != -EINVAL)
		(void)sbx_error_what(err, r, "cannot verify the log");
	return r;
}
