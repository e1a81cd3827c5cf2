/* SPDX-License-Identifier: MIT */

/* With any number of threads the verdict and the report are the same */

#include "audit-verify-rig.h"
#include "audit/retain.h"

#define N_RECORDS 20001u /* three ranges, of which the last is short */

/* The large log is made once for all tests. */
static void large_make(struct copy *copy)
{
	struct audit_log *log;
	struct stat st;
	int fd;

	*copy = (struct copy){ .bytes = NULL };
	log_place_init(&copy->place);
	log = log_made(&copy->place);
	for (unsigned i = 1; i < N_RECORDS; i++)
		add_decision(log, i);
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	execute(&copy->place, "PRAGMA wal_checkpoint(TRUNCATE)");
	fd = segment_file_open(&copy->place, O_RDONLY);
	expect_eq(fstat(fd, &st), 0);
	copy->n_bytes = (size_t)st.st_size;
	copy->bytes = zeroed(1, copy->n_bytes);
	expect_eq(read(fd, copy->bytes, copy->n_bytes), copy->n_bytes);
	(void)close(fd);
}

static void expect_same(const struct verify_report *a, const struct verify_report *b)
{
	expect_str(verify_verdict_name(a->verdict), verify_verdict_name(b->verdict));
	expect_str(a->finding.what, b->finding.what);
	expect_str(a->finding.why, b->finding.why);
	expect_str(a->finding.fix, b->finding.fix);
	expect_eq(a->has_bad, b->has_bad);
	expect_eq(a->first_bad, b->first_bad);
	expect_eq(a->last_bad, b->last_bad);
	expect_eq(a->good_size, b->good_size);
	expect_eq(a->size, b->size);
	expect_eq(a->n_unsigned, b->n_unsigned);
	expect_eq(a->n_checkpoints, b->n_checkpoints);
}

static struct verify_report verified_by(const struct copy *copy, unsigned n,
					struct verified_state *state)
{
	return verified(&copy->place, (struct verify_options){ .n_jobs = n }, state);
}

static void several_find_a_right_log_right(void)
{
	_cleanup_copy_ struct copy copy;
	struct verified_state alone = { .origin = "" }, together = { .origin = "" };
	struct verify_report one, many;

	large_make(&copy);
	one = verified_by(&copy, 1, &alone);
	expect_verdict(one, VERIFY_INTACT);
	for (unsigned n = 2; n < 6; n++) {
		many = verified_by(&copy, n, &together);
		expect_same(&many, &one);
		expect_eq(together.frontier.size, N_RECORDS);
		expect(audit_hash_equal(&together.head, &alone.head));
	}
}

/* Changes at the ends of ranges and within them. */
static void several_find_what_one_finds(void)
{
	static const char *const changes[] = {
		"UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=0",
		"UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=1",
		"UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=8192",
		"UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=8193",
		"UPDATE records SET body=CAST(body||' 'AS BLOB) WHERE seq=20000",
		"UPDATE records SET body=CAST(replace(body,'Z','0') AS BLOB) WHERE seq=12000",
		"UPDATE records SET hash=zeroblob(32) WHERE seq=8192",
		"UPDATE records SET hash=x'00' WHERE seq=8192",
		"UPDATE records SET body=CAST(replace(body,'allow','deny') AS BLOB) WHERE seq=9999",
		"DELETE FROM records WHERE seq=1",
		"DELETE FROM records WHERE seq BETWEEN 8000 AND 9000",
		"DELETE FROM records WHERE seq>=16385",
		"DELETE FROM records WHERE seq>=16384",
		"DELETE FROM checkpoints WHERE size=8193",
		"UPDATE checkpoints SET note=replace(note,'epoch 0','epoch 1') WHERE size=12289",
		"UPDATE OR REPLACE records SET seq=8193 WHERE seq=8192",
		"UPDATE records SET seq=1<<40 WHERE seq=20000",
	};
	_cleanup_copy_ struct copy copy;

	large_make(&copy);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		struct verify_report one, many;

		execute(&copy.place, changes[i]);
		one = verified_by(&copy, 1, NULL);
		many = verified_by(&copy, 3, NULL);
		expect(one.verdict != VERIFY_INTACT);
		expect_same(&many, &one);
		copy_back(&copy);
	}
}

/* Makes the change and recomputes all hashes from @seq on. */
static struct verify_report found_by_all(const char *change, uint64_t seq)
{
	_cleanup_copy_ struct copy copy;
	struct verify_report one, many;

	large_make(&copy);
	execute(&copy.place, change);
	chain_again(&copy.place, seq);
	one = verified_by(&copy, 1, NULL);
	many = verified_by(&copy, 4, NULL);
	expect_verdict(one, VERIFY_TAMPERED);
	expect_same(&many, &one);
	return one;
}

static void several_find_an_end_that_was_written_again(void)
{
	struct verify_report found = found_by_all(
		"UPDATE records SET body=CAST(replace(body,'allow','deny') AS BLOB) WHERE seq=9000",
		9000);

	expect_eq(found.first_bad, 8193);
}

static void several_find_bytes_that_are_no_record(void)
{
	struct verify_report found = found_by_all(
		"UPDATE records SET body=CAST(substr(body,1,60)||'}' AS BLOB) WHERE seq=20000",
		20000);

	expect_eq(found.first_bad, 20000);
	expect_str(found.finding.why, "its bytes are not a valid record");
}

static void archive_closed(struct audit_log *log)
{
	const struct retain_options options = {
		.policy = { .archive_usec = UINT64_MAX, .max_bytes = UINT64_MAX },
		.now_usec = UINT64_MAX,
		.trusts_clock = true,
	};
	struct retain_report report;

	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	expect_eq(report.n_archived, 1);
}

/* An archive, a closed and an open segment, with key changes. */
static void a_large_log_is_never_accused(void)
{
	_cleanup_log_place_ struct log_place place;
	unsigned n = test_is_slow() ? 1000000 : 3000;
	struct verify_report report;
	struct audit_log *log;

	log_place_init(&place);
	log = log_made(&place);
	for (unsigned i = 1; i <= n; i++) {
		add_decision(log, i);
		if (i == n / 4)
			expect_eq(audit_log_change_key(log, NULL), 0);
		if (i == n / 3 || i == 2 * n / 3)
			expect_eq(audit_log_rotate(log, NULL), 1);
		if (i == n / 2)
			archive_closed(log);
	}
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	for (unsigned n_jobs = 1; n_jobs < 4; n_jobs++) {
		report = verified(&place, (struct verify_options){ .n_jobs = n_jobs }, NULL);
		expect_verdict(report, VERIFY_INTACT);
		expect_eq(report.size, n + 2);
		expect_eq(report.epoch, 1);
	}
	(void)audit_log_free(log);
}

static const struct test tests[] = {
	TEST(several_find_a_right_log_right),
	TEST(several_find_what_one_finds),
	TEST(several_find_an_end_that_was_written_again),
	TEST(several_find_bytes_that_are_no_record),
	TEST(a_large_log_is_never_accused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
