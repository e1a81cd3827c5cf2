/* SPDX-License-Identifier: MIT */

/*
 * The texts of the verifier's findings
 *
 * A record or note that is wrong ends the verification, since nothing after it can be proved. A
 * missing one mostly does not: there may be something worse later.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/key.h"

#define COMPARE "compare the log with a copy, and keep the directory as it is"
#define COPY_EPOCHS "restore the file '" EPOCHS_NAME "' from a copy"
#define BEFORE_GAP "restore the segments or archives before '%S', or the file 'epochs', from a copy"
#define SIGN                                                                                       \
	"find out why sbx-audit no longer signs; records without a checkpoint may have been changed"
#define ORIGINAL "an original value of record %I was changed"
#define ORIGINAL_FIX                                                                                 \
	"keep the directory as it is; the record itself is intact, restore its values in the table " \
	"'originals' from a copy"

/*
 * Placeholders: %F and %L are the first and last record, %E the size after it (%C: with the word
 * "records"), %N the number (%M: with the word "records"; %I: it may be negative), %S the segment's
 * file and %W the caller's text.
 */
enum {
	RECORDS = 1, /* the report names these records */
	GOES_ON = 2,
};

static const struct finding {
	enum verify_verdict verdict;
	unsigned flags;
	const char *what;
	const char *why; /* NULL: the caller's text */
	const char *fix; /* NULL: the standard advice for a log that was changed */
} findings[] = {
#define FOUR(flags, what, why, fix, ...) flags, what, why, fix
/* ROW(FOUND, VERDICT, FLAGS, WHAT[, WHY[, FIX]]) */
#define ROW(found, verdict, ...)                                                                   \
	[FOUND_##found] = { VERIFY_##verdict, FOUR(__VA_ARGS__, NULL, NULL, NULL) }
	ROW(RECORD, TAMPERED, RECORDS, "record %F was changed"),
	ROW(RECORD_MISSING, TAMPERED, RECORDS, "record %F is missing", "there are later records"),
	ROW(RECORDS_MISSING, TAMPERED, RECORDS, "records %F to %L are missing",
	    "there are later records"),
	ROW(RECORD_TWICE, TAMPERED, RECORDS, "record %F occurs twice",
	    "it is also in the segment that begins with record %N"),
	ROW(RECORD_AFTER_STATE, TAMPERED, RECORDS, "record %F was changed after it was verified",
	    "its hash differs, or it is missing",
	    "find the first one that was changed: sbx-audit verify --full"),
	ROW(OTHER_LOG, TAMPERED, RECORDS, "this is another log", NULL,
	    "find out how it got there; if it is expected, give the key that 'sbx-audit setup' "
	    "printed for it"),
	ROW(OTHER_HEAD, TAMPERED, RECORDS,
	    "the first %E records are not those that were seen before",
	    "%W has another root for them"),
	ROW(SEGMENT, TAMPERED, RECORDS, "the segment '%S' does not belong here"),
	ROW(SEGMENT_MISSING, INCOMPLETE, GOES_ON,
	    "the segment that began with record %N is missing",
	    "'%S' was closed when that segment was created"),
	ROW(SEGMENT_AND_RECORDS_MISSING, INCOMPLETE, RECORDS | GOES_ON,
	    "records %F to %L and the segment after them are missing",
	    "'%S' was closed when that segment was created"),
	ROW(LAST_SEGMENT_MISSING, INCOMPLETE, GOES_ON, "the segment after '%S' is missing",
	    "a segment is archived only after the next one was created"),
	ROW(GAP, INCOMPLETE, RECORDS | GOES_ON, "records %F to %L are missing", NULL,
	    "restore the segments or archives with them from a copy, and keep the directory as it is"),
	ROW(NOTE, TAMPERED, RECORDS, "the checkpoint of %C was changed"),
	ROW(NOTE_MISSING, INCOMPLETE, GOES_ON, "the checkpoint of %M is missing", NULL, COMPARE),
	ROW(NOTE_BETWEEN_MISSING, INCOMPLETE, GOES_ON,
	    "a checkpoint is missing between records %F and %L",
	    "the next one does not cover the times of all the records since", COMPARE),
	ROW(NOTE_OVERDUE, INCOMPLETE, GOES_ON, "a checkpoint is missing after the one of %M",
	    "one is required for every 4096 records",
	    "check whether sbx-audit could sign then, and keep the directory as it is"),
	ROW(NOTE_BEHIND_GAP, INCOMPLETE, RECORDS,
	    "the checkpoint at the beginning of a segment is missing",
	    "without it, the records before it are not signed", BEFORE_GAP),
	ROW(KEYS_BEHIND_GAP, INCOMPLETE, RECORDS,
	    "the checkpoints that name the later keys are missing",
	    "neither a segment nor the file 'epochs' has them", BEFORE_GAP),
	ROW(SIGNED_NOTE_MISSING, INCOMPLETE, GOES_ON, "the checkpoint of %M is missing",
	    "%W of %M"),
	ROW(CUT, INCOMPLETE, RECORDS | GOES_ON, "records %F to %L are missing at the end",
	    "%W of %M"),
	ROW(CUT_BELOW_NOTE, INCOMPLETE, RECORDS, "records %F to %L are missing at the end",
	    "a checkpoint of %C is there"),
	ROW(TAIL_NOT_SIGNED, INCOMPLETE, GOES_ON, "the last records have no checkpoint", NULL,
	    SIGN),
	ROW(NO_RECORDS, INCOMPLETE, GOES_ON, "the log has no records",
	    "not even the first one is there", SIGN),
	ROW(NO_NOTES, INCOMPLETE, GOES_ON, "the log has no checkpoints",
	    "its records are not signed", SIGN),
	ROW(STUB, TAMPERED, RECORDS, "record %F makes a false statement about a deleted archive"),
	ROW(DELETED_OTHERS, TAMPERED, RECORDS | GOES_ON,
	    "records %F to %L are not those that were deleted",
	    "their recorded hashes do not lead to the records that follow"),
	ROW(EPOCHS, TAMPERED, 0, "the file '" EPOCHS_NAME "' was changed", NULL, COPY_EPOCHS),
	ROW(EPOCHS_MISSING, INCOMPLETE, 0,
	    "the checkpoint that ends epoch %N is missing in the file '" EPOCHS_NAME "'",
	    "once its archive is deleted, nothing else leads to the current key", COPY_EPOCHS),
	ROW(ORIGINAL, TAMPERED, RECORDS, ORIGINAL, NULL, ORIGINAL_FIX),
	ROW(ORIGINAL_ANYWHERE, TAMPERED, 0, ORIGINAL, NULL, ORIGINAL_FIX),
	ROW(NO_KEY, UNREADABLE, 0, "the first key is not known",
	    "record 0, which contains it, was deleted",
	    "pass the key that 'sbx-audit setup' printed with --key, or the state of an earlier verification with --state"),
	ROW(UNREADABLE, UNREADABLE, 0, "cannot read the log", NULL,
	    "check the permissions of the directory"),
	ROW(NO_SEGMENT, UNREADABLE, 0, "cannot read the log",
	    "there is no segment in the directory",
	    "name the directory of a log, or create one with 'sbx-audit setup'"),
#undef ROW
};

_Static_assert(CHECKPOINT_RECORDS_MAX == 4096, "a finding says so");

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

/* ---- words ---- */

static void add_words(struct text *out, const struct verification *v, const char *words,
		      const struct found_at *at)
{
	for (; *words; words++) {
		if (*words != '%') {
			text_add_char(out, *words);
			continue;
		}
		switch (*++words) {
		case 'F':
			text_addf(out, "%" PRIu64, at->first);
			break;
		case 'L':
			text_addf(out, "%" PRIu64, at->last);
			break;
		case 'E':
			text_addf(out, "%" PRIu64, at->last + 1);
			break;
		case 'C':
			text_add_count(out, at->last + 1, "record");
			break;
		case 'N':
			text_addf(out, "%" PRIu64, at->number);
			break;
		case 'M':
			text_add_count(out, at->number, "record");
			break;
		case 'I':
			text_addf(out, "%" PRId64, (int64_t)at->number);
			break;
		case 'S':
			text_add(out, v->part->file->name);
			break;
		default:
			text_add(out, at->why);
		}
	}
}

static void fix_changed(const struct verification *v, struct sbx_error *err)
{
	_cleanup_text_ struct text good = TEXT_INIT;

	text_add_count(&good, v->report->good_size, "record");
	if (v->report->good_size > 0)
		sbx_error_fix(err,
			      "keep the directory as it is; the log is good up to the checkpoint "
			      "of %s, restore the rest from a copy",
			      text_string(&good));
	else
		sbx_error_fix(err, "keep the directory as it is, and restore the log from a copy");
}

static void describe(const struct verification *v, const struct finding *finding,
		     const struct found_at *at, struct sbx_error *err)
{
	_cleanup_text_ struct text what = TEXT_INIT, why = TEXT_INIT, fix = TEXT_INIT;

	add_words(&what, v, finding->what, at);
	if (finding->why)
		add_words(&why, v, finding->why, at);
	else if (at->why)
		text_add(&why, at->why);
	(void)sbx_error_what(err, at->code ? at->code : -EBADMSG, "%s", text_string(&what));
	if (why.len > 0)
		sbx_error_why(err, "%s", text_string(&why));
	if (!finding->fix) {
		fix_changed(v, err);
		return;
	}
	add_words(&fix, v, finding->fix, at);
	sbx_error_fix(err, "%s", text_string(&fix));
}

/* ---- findings ---- */

/* META_NEXT says where a missing segment began, but not where it ended. If its first record is
 * among those of a finding, that finding is about the same loss and more precise. */
static bool is_missed_next(const struct verification *v, const struct finding *finding,
			   const struct found_at *at)
{
	return (finding->flags & RECORDS) && v->missed_next != 0 && at->first <= v->missed_next &&
	       at->last >= v->missed_next;
}

int verify_find(struct verification *v, enum verify_found which, struct found_at at)
{
	const struct finding *finding = &findings[which];
	struct verify_report *report = v->report;
	int r = finding->flags & GOES_ON ? 0 : VERIFY_STOP;

	if (report->verdict != VERIFY_INTACT && finding->verdict == VERIFY_INCOMPLETE &&
	    !is_missed_next(v, finding, &at))
		return r;
	report->verdict = finding->verdict;
	report->has_bad = finding->flags & RECORDS;
	report->first_bad = (finding->flags & RECORDS) ? at.first : 0;
	report->last_bad = (finding->flags & RECORDS) ? at.last : 0;
	v->missed_next =
		which == FOUND_SEGMENT_MISSING || which == FOUND_SEGMENT_AND_RECORDS_MISSING
			? at.number
			: 0;
	describe(v, finding, &at, &report->finding);
	return r;
}

int verify_find_error(struct verification *v, enum verify_verdict verdict,
		      const struct sbx_error *err)
{
	v->report->verdict = verdict;
	v->report->has_bad = false;
	v->missed_next = 0;
	v->report->finding = *err;
	return VERIFY_STOP;
}

int verify_miss_signed(struct verification *v, uint64_t size, const char *why)
{
	uint64_t there = v->now.frontier.size;

	if (size > there)
		return verify_find(v, FOUND_CUT,
				   (struct found_at){ .first = there,
						      .last = size - 1,
						      .number = size,
						      .why = why });
	return verify_find(v, FOUND_SIGNED_NOTE_MISSING,
			   (struct found_at){ .number = size, .why = why });
}
