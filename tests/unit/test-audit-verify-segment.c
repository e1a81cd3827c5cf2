/* SPDX-License-Identifier: MIT */

/* Logs with several segments */

#include "audit-verify-rig.h"
#include "audit/log-internal.h"

struct next {
	const char *log_id;
	uint64_t first;
	struct audit_hash previous;
	struct merkle_frontier frontier;
	char note[4096]; /* a copy of the last checkpoint */
	size_t n_note;	 /* 0: none */
};

static int fill(struct store *store, void *userdata, struct sbx_error *err)
{
	const struct next *next = userdata;
	uint8_t first[8], frontier[FRONTIER_BYTES_MAX];
	size_t n = log_save_frontier(&next->frontier, frontier);

	log_put_u64(first, next->first);
	expect_eq(store_set_meta(store, META_LOG, next->log_id, AUDIT_LOG_ID_SIZE - 1, err), 0);
	expect_eq(store_set_meta(store, META_FIRST, first, sizeof(first), err), 0);
	expect_eq(store_set_meta(store, META_PREVIOUS, next->previous.bytes, AUDIT_HASH_SIZE, err),
		  0);
	expect_eq(store_set_meta(store, META_FIRST_FRONTIER, frontier, n, err), 0);
	expect_eq(store_set_meta(store, META_FRONTIER, frontier, n, err), 0);
	if (next->n_note > 0)
		expect_eq(store_add_checkpoint(store, next->frontier.size, next->note, next->n_note,
					       err),
			  1);
	return 0;
}

static int copy_note(void *userdata, uint64_t size, const char *note, size_t n_bytes,
		     struct sbx_error *err)
{
	struct next *next = userdata;

	expect_eq(size, next->first);
	expect(n_bytes <= sizeof(next->note));
	memcpy(next->note, note, n_bytes);
	next->n_note = n_bytes;
	return 0;
}

static void copy_last_note(const struct log_place *place, struct next *next)
{
	_cleanup_store_ struct store *store = NULL;
	int directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[SEGMENT_NAME_SIZE];

	expect_eq(log_find_segment(directory, name), 1);
	expect_eq(store_open_to_read(directory, name, &store, NULL), 0);
	expect_eq(store_last_checkpoint(store, copy_note, next, NULL), 1);
	(void)close(directory);
}

/* Reads what the next segment repeats. The log must end with a checkpoint, and be verified up to
 * it. */
static struct next next_of(const struct log_place *place, struct verified_state *state)
{
	struct next next;

	expect_verdict(verified(place, (struct verify_options){ .now_usec = 0 }, state),
		       VERIFY_INTACT);
	next = (struct next){ .log_id = state->origin + strlen("sbx-audit/"),
			      .first = state->frontier.size,
			      .previous = state->head,
			      .frontier = state->frontier };
	copy_last_note(place, &next);
	return next;
}

static void segment_make(const struct log_place *place, struct next *next)
{
	int directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sbx_error err = { 0 };
	char name[SEGMENT_NAME_SIZE];

	log_segment_name(next->first, name);
	expect_eq(store_create(directory, name, fill, next, &err), 0);
	expect_str(err.what, "");
	(void)close(directory);
}

static void segment_remove(const struct log_place *place, uint64_t first)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char name[SEGMENT_NAME_SIZE], path[96];

	log_segment_name(first, name);
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s%s", place->log, name, suffixes[i]);
		(void)unlink(path);
	}
}

static void add_to(const struct log_place *place, unsigned n)
{
	struct audit_log *log = log_opened(place);

	add_signed(log, n);
	(void)audit_log_free(log);
}

/* Records 0 to 19, 20 to 24, 25 to 29. */
static void log_of_three(struct log_place *place)
{
	log_filled(place);
	for (int i = 0; i < 2; i++) {
		struct verified_state state = { .origin = "" };
		struct next next = next_of(place, &state);

		segment_make(place, &next);
		expect_verdict(verified_alone(place), VERIFY_INTACT);
		add_to(place, 5);
	}
}

static void segments_are_one_log(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verify_report report;

	log_of_three(&place);
	report = verified_alone(&place);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.size, 30);
	expect_eq(report.n_checkpoints, 7);
}

static void it_goes_on_in_the_segment_where_it_was(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state };
	struct verify_report report;
	struct next next;

	log_filled(&place);
	next = next_of(&place, &state);
	expect_verdict(verified(&place, options, NULL), VERIFY_INTACT);
	segment_make(&place, &next);
	add_to(&place, 5);
	report = verified(&place, options, &state);
	expect_verdict(report, VERIFY_INTACT);
	expect_eq(report.begin, 20);
	expect_eq(report.size, 25);
	/* Records that were verified before are reported when they are missing. */
	segment_remove(&place, 0);
	report = verified(&place, options, NULL);
	expect_found(report, VERIFY_INCOMPLETE, 0);
	expect_eq(report.last_bad, 19);
	/* Without the first segment the first key is not known. */
	expect_verdict(verified_alone(&place), VERIFY_UNREADABLE);
}

static void a_segment_begins_with_a_copy_of_the_last_checkpoint(void)
{
	for (int has_note = 0; has_note < 2; has_note++) {
		_cleanup_log_place_ struct log_place place;
		struct verified_state state = { .origin = "" };
		enum verify_verdict want = has_note ? VERIFY_INTACT : VERIFY_INCOMPLETE;
		struct next next;

		log_filled(&place);
		next = next_of(&place, &state);
		if (!has_note)
			next.n_note = 0;
		segment_make(&place, &next);
		expect_verdict(verified_alone(&place), want);
		add_to(&place, 5);
		expect_verdict(verified_alone(&place), want);
	}
}

static void another_checkpoint_in_front_is_none(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct next next;

	log_filled(&place);
	next = next_of(&place, &state);
	next.n_note = read_bytes(&place, "SELECT note FROM checkpoints WHERE size=16", next.note,
				 sizeof(next.note));
	segment_make(&place, &next);
	expect_verdict(verified_alone(&place), VERIFY_TAMPERED);
}

static void segments_that_do_not_join_are_found(void)
{
	for (int i = 0; i < 4; i++) {
		_cleanup_log_place_ struct log_place place;
		struct verified_state state = { .origin = "" };
		struct verify_report report;
		struct next next;

		log_filled(&place);
		next = next_of(&place, &state);
		if (i == 0)
			next.previous.bytes[0] ^= 1;
		if (i == 1)
			next.frontier.peaks[2].bytes[0] ^= 1;
		if (i == 2)
			next.first++;
		if (i == 3)
			next.log_id = "00000000000000000000000000000000";
		segment_make(&place, &next);
		report = verified_alone(&place);
		expect_found(report, VERIFY_TAMPERED, 20);
		expect_eq(report.good_size, 20);
	}
}

static void a_segment_that_was_taken_out_is_missed(void)
{
	static const struct {
		uint64_t first;
		enum verify_verdict verdict;
		uint64_t first_bad;
	} removals[] = {
		{ 0, VERIFY_INCOMPLETE, 0 },
		{ 20, VERIFY_INCOMPLETE, 20 },
		{ 25, VERIFY_INCOMPLETE, 25 },
	};

	for (size_t i = 0; i < N_ELEMENTS(removals); i++) {
		_cleanup_log_place_ struct log_place place;
		struct verified_state state = { .origin = "" };
		struct verify_options options = { .now_usec = 0 };

		log_of_three(&place);
		expect_verdict(verified(&place, options, &state), VERIFY_INTACT);
		segment_remove(&place, removals[i].first);
		options.since = &state;
		options.is_full = true;
		expect_found(verified(&place, options, NULL), removals[i].verdict,
			     removals[i].first_bad);
	}
}

static void a_checkpoint_in_the_wrong_segment_is_found(void)
{
	_cleanup_log_place_ struct log_place place;
	char sql[256];

	log_of_three(&place);
	(void)snprintf(sql, sizeof(sql),
		       "ATTACH '%s/00000000000000000020.db' AS next;"
		       "INSERT INTO checkpoints SELECT * FROM next.checkpoints WHERE size>20;"
		       "DELETE FROM next.checkpoints WHERE size>20",
		       place.log);
	execute(&place, sql);
	expect_verdict(verified_alone(&place), VERIFY_TAMPERED);
}

static void a_record_of_another_segment_is_found(void)
{
	_cleanup_log_place_ struct log_place place;
	char sql[256];

	log_of_three(&place);
	(void)snprintf(sql, sizeof(sql),
		       "ATTACH '%s/00000000000000000020.db' AS next;"
		       "INSERT INTO next.records SELECT * FROM records WHERE seq=7",
		       place.log);
	execute(&place, sql);
	expect_found(verified_alone(&place), VERIFY_TAMPERED, 7);
}

/* ---- the last segment ---- */

/* Records 0 to 19, and a segment after them that audit_log_rotate() made. */
static void log_rotated(struct log_place *place, unsigned n_behind)
{
	struct audit_log *log;

	log_filled(place);
	log = log_opened(place);
	expect_eq(audit_log_rotate(log, NULL), 1);
	if (n_behind > 0)
		add_signed(log, n_behind);
	(void)audit_log_free(log);
	expect_verdict(verified_alone(place), VERIFY_INTACT);
}

static void a_whole_last_segment_is_missed(void)
{
	for (unsigned n = 0; n < 3; n++) {
		_cleanup_log_place_ struct log_place place;
		struct verify_report report;

		log_rotated(&place, n * 5);
		segment_remove(&place, 20);
		report = verified_alone(&place);
		expect_verdict(report, VERIFY_INCOMPLETE);
		expect_str(report.finding.what, "the segment that began with record 20 is missing");
	}
}

static void the_records_of_a_missing_last_segment_are_named_where_they_are_known(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state, .is_full = true };
	struct witness_head head = { .size = 0 };
	const struct witness witness = { .heads = &head, .n_heads = 1 };
	struct verify_report report;

	log_rotated(&place, 5);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	head.size = state.frontier.size;
	segment_remove(&place, 20);
	report = verified(&place, options, NULL);
	expect_found(report, VERIFY_INCOMPLETE, 20);
	expect_eq(report.last_bad, state.frontier.size - 1);
	expect_str(report.finding.what, "records 20 to 24 are missing at the end");
	options = (struct verify_options){ .witness = &witness };
	report = verified(&place, options, NULL);
	expect_found(report, VERIFY_INCOMPLETE, 20);
	expect_eq(report.last_bad, state.frontier.size - 1);
}

static void records_missing_before_a_segment_are_named_and_not_the_segment(void)
{
	_cleanup_log_place_ struct log_place place;
	struct witness_head head = { .size = 25 };
	const struct witness witness = { .heads = &head, .n_heads = 1 };
	struct verify_report report;

	log_rotated(&place, 5);
	execute(&place, "DELETE FROM records WHERE seq>=16;"
			"DELETE FROM checkpoints WHERE size>16");
	report = verified_alone(&place);
	expect_found(report, VERIFY_INCOMPLETE, 16);
	expect_eq(report.last_bad, 19);
	expect_str(report.finding.what, "records 16 to 19 are missing");
	/* If the segment is missing as well, both are reported. */
	segment_remove(&place, 20);
	report = verified_alone(&place);
	expect_found(report, VERIFY_INCOMPLETE, 16);
	expect_eq(report.last_bad, 19);
	expect_str(report.finding.what, "records 16 to 19 and the segment after them are missing");
	report = verified(&place, (struct verify_options){ .witness = &witness }, NULL);
	expect_found(report, VERIFY_INCOMPLETE, 16);
	expect_eq(report.last_bad, 24);
}

static void a_last_segment_that_was_begun_again_is_missed_for_ever(void)
{
	_cleanup_log_place_ struct log_place place;
	struct audit_log *log;
	uint64_t seq = 0;

	log_rotated(&place, 5);
	segment_remove(&place, 20);
	log = log_opened(&place);
	expect(audit_log_is_broken(log, &seq));
	expect_eq(seq, 20);
	add_signed(log, 3);
	expect_eq(audit_log_rotate(log, NULL), 1);
	add_signed(log, 3);
	(void)audit_log_free(log);
	expect_verdict(verified_alone(&place), VERIFY_INCOMPLETE);
}

static const struct test tests[] = {
	TEST(segments_are_one_log),
	TEST(it_goes_on_in_the_segment_where_it_was),
	TEST(a_segment_begins_with_a_copy_of_the_last_checkpoint),
	TEST(another_checkpoint_in_front_is_none),
	TEST(segments_that_do_not_join_are_found),
	TEST(a_segment_that_was_taken_out_is_missed),
	TEST(a_checkpoint_in_the_wrong_segment_is_found),
	TEST(a_record_of_another_segment_is_found),
	TEST(a_whole_last_segment_is_missed),
	TEST(the_records_of_a_missing_last_segment_are_named_where_they_are_known),
	TEST(records_missing_before_a_segment_are_named_and_not_the_segment),
	TEST(a_last_segment_that_was_begun_again_is_missed_for_ever),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
