/* SPDX-License-Identifier: MIT */

/* Redacted values that the log keeps outside of the records, and attacks on them */

#include "audit-verify-rig.h"

#define SECRET "ghp_0123456789abcdefghijABCDEFGHIJ012345"

static void add_secret(struct audit_log *log, const char *members)
{
	char line[512];
	struct sbx_error err = { .code = 0 };
	int n = snprintf(line, sizeof(line), "{" LOG_TIME ",\"event\":\"syscall\",%s}", members);

	expect_eq(audit_log_add(log, line, (size_t)n, NULL, NULL, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
}

/* Records 20 and 22 contain secrets; the second one has two, one of them under an unusual name. */
static void originals_make(struct log_place *place, bool keep)
{
	struct audit_log *log;

	log_filled(place);
	place->options.keep_originals = keep;
	log = log_opened(place);
	add_secret(log, "\"x\":\"token " SECRET "\"");
	add_decision(log, 1);
	add_secret(log, "\"a\\u0062\\\"c\":\"" SECRET "\",\"y\":{\"z\":[\"\",\"" SECRET "\"]}");
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
}

static void originals_that_were_kept_are_right(void)
{
	for (int keep = 0; keep < 2; keep++) {
		_cleanup_log_place_ struct log_place place;
		struct verified_state state = { .origin = "" };
		struct verify_report report;

		originals_make(&place, keep);
		report = verified(&place, (struct verify_options){ .n_jobs = 1 + (unsigned)keep },
				  &state);
		expect_verdict(report, VERIFY_INTACT);
		expect_verdict(verified(&place, (struct verify_options){ .since = &state }, NULL),
			       VERIFY_INTACT);
	}
}

static void originals_that_are_forgotten_are_not_missed(void)
{
	static const char *const changes[] = {
		"DELETE FROM originals WHERE seq=20",
		"UPDATE originals SET original=NULL",
		"UPDATE originals SET original=NULL,salt=zeroblob(32)",
		"DELETE FROM originals",
	};
	_cleanup_log_place_ struct log_place place;

	originals_make(&place, true);
	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		execute(&place, changes[i]);
		expect_verdict(verified_alone(&place), VERIFY_INTACT);
	}
}

static void another_original_is_found(void)
{
	static const struct {
		const char *sql;
		uint64_t seq;
	} changes[] = {
		{ "UPDATE originals SET original=CAST('\"other\"' AS BLOB) WHERE seq=20", 20 },
		{ "UPDATE originals SET original=x'' WHERE seq=22", 22 },
		{ "UPDATE originals SET salt=zeroblob(32) WHERE seq=20", 20 },
		{ "UPDATE originals SET salt=zeroblob(31) WHERE seq=20", 20 },
		{ "UPDATE originals SET salt=zeroblob(33) WHERE seq=22 AND member='y'", 22 },
		{ "UPDATE originals SET member='b' WHERE seq=20", 20 },
		{ "UPDATE originals SET member='ab\"c' WHERE seq=22 AND member LIKE 'a%'", 22 },
		{ "UPDATE originals SET seq=21 WHERE seq=20", 21 },
		{ "UPDATE originals SET seq=3 WHERE seq=20", 3 },
		{ "UPDATE originals SET seq=100 WHERE seq=20", 100 },
		{ "INSERT INTO originals SELECT seq,'event',salt,original FROM originals "
		  "WHERE seq=20",
		  20 },
	};

	for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
		_cleanup_log_place_ struct log_place place;
		struct verify_report report;

		originals_make(&place, true);
		execute(&place, changes[i].sql);
		report = verified_alone(&place);
		expect_found(report, VERIFY_TAMPERED, changes[i].seq);
		expect(strstr(report.finding.what, "original") != NULL);
		expect_eq(report.good_size, 23);
	}
}

static void an_original_of_a_record_with_a_negative_number_is_found(void)
{
	_cleanup_log_place_ struct log_place place;

	originals_make(&place, true);
	execute(&place, "UPDATE originals SET seq=-1 WHERE seq=20");
	expect_verdict(verified_alone(&place), VERIFY_TAMPERED);
}

static void originals_behind_the_state_are_looked_at(void)
{
	_cleanup_log_place_ struct log_place place;
	struct verified_state state = { .origin = "" };
	struct verify_options options = { .since = &state };
	struct audit_log *log;

	originals_make(&place, true);
	expect_verdict(verified(&place, (struct verify_options){ .now_usec = 0 }, &state),
		       VERIFY_INTACT);
	log = log_opened(&place);
	add_secret(log, "\"x\":\"" SECRET "\"");
	expect_eq(audit_log_checkpoint(log, NULL), 0);
	(void)audit_log_free(log);
	expect_verdict(verified(&place, options, NULL), VERIFY_INTACT);
	execute(&place, "UPDATE originals SET original=x'00' WHERE seq=20");
	expect_verdict(verified(&place, options, NULL), VERIFY_INTACT);
	execute(&place, "UPDATE originals SET original=x'00' WHERE seq=23");
	expect_found(verified(&place, options, NULL), VERIFY_TAMPERED, 23);
}

static const struct test tests[] = {
	TEST(originals_that_were_kept_are_right),
	TEST(originals_that_are_forgotten_are_not_missed),
	TEST(another_original_is_found),
	TEST(an_original_of_a_record_with_a_negative_number_is_found),
	TEST(originals_behind_the_state_are_looked_at),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
