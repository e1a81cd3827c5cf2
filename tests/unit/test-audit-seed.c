/* SPDX-License-Identifier: MIT */

#include "audit/seed.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/text.h"
#include "test.h"

/* Computed from the formula with Python's hashlib. */
#define PREV_1 "c227fc2f10a1a0797798af7690733b4ee4d6a41776af1ae11c3376d65607f547"
#define HASH_1 "9fc638ed9a171869c2f23d2a374694e7da707de46db56ca62c29eeaa0616273b"
#define HASH_2 "687dcf2401b44aaf24363d0f67f037d43b28f02a25cf28d8fb14ea912c228c1a"
#define HASH_3 "76413cd5b6bff4c06448e9c61623025f8c9fdf9e8b6487060818e29902c41f67"
#define LINE_1                                                                                     \
	"{\"id\":\"1\",\"timestamp\":1767323045678,\"prev_hash\":\"" PREV_1                        \
	"\",\"hash\":\"" HASH_1 "\",\"event_type\":\"kernel_start\",\"caller\":\"kernel\","        \
	"\"policy_decision\":\"allowed\",\"input_summary\":\"\"}\n"
#define LINE_2                                                                                     \
	"{ \"id\": \"2\", \"timestamp\": 1767323045700, \"prev_hash\": \"" HASH_1 "\", "           \
	"\"hash\": \"" HASH_2 "\",\"event_type\": \"tool\\u005fexecute\", "                        \
	"\"caller\": {\"name\": \"p\", \"x\":[1, 2]}, \"input_summary\": \"a\\n\\u00e9\" , "       \
	"\"duration_ms\": 12}\n"
#define LINE_3                                                                                     \
	"{\"id\":\"10\",\"timestamp\":1767323045701,\"prev_hash\":\"" HASH_2                       \
	"\",\"hash\":\"" HASH_3 "\",\"event_type\":\"kernel_shutdown\"}\n"
#define LINE_OTHER_PREV                                                                            \
	"{\"id\":\"1\",\"timestamp\":5,"                                                           \
	"\"prev_hash\":\"0000000000000000000000000000000000000000000000000000000000000000\","      \
	"\"hash\":\"117d851cbf8a3602bcd1a289a32c02673e3a3e2a812f530bb974ff5a9c1cb6be\","           \
	"\"event_type\":\"kernel_start\"}\n"
#define LINE_OTHER_EVENT                                                                           \
	"{\"id\":\"1\",\"timestamp\":5,"                                                           \
	"\"prev_hash\":\"2a115aa927554a959c5ee4845b85124a11045e8d0a58507fc28346bac4705e1a\","      \
	"\"hash\":\"eeacdf56c90759c8b372575778ea887f79128edf0d064fe575ea6b37ab54a03f\","           \
	"\"event_type\":\"syscall\"}\n"
#define LINE_SAME_ID                                                                               \
	"{\"id\":\"1\",\"timestamp\":6,"                                                           \
	"\"prev_hash\":\"9fc638ed9a171869c2f23d2a374694e7da707de46db56ca62c29eeaa0616273b\","      \
	"\"hash\":\"5dbd5290b81dbc2ef867d009a1637a360171d4ee2f600069b10249a0f3de17e4\","           \
	"\"event_type\":\"syscall\"}\n"
#define LINE_LESS_ID                                                                               \
	"{\"id\":\"0\",\"timestamp\":6,"                                                           \
	"\"prev_hash\":\"9fc638ed9a171869c2f23d2a374694e7da707de46db56ca62c29eeaa0616273b\","      \
	"\"hash\":\"9182cbb163e1e103552ca1ef9047ceac61867e0f5b26b666d5b31950b08102cd\","           \
	"\"event_type\":\"syscall\"}\n"

static struct seed_report report_of(const char *bytes)
{
	struct seed_report report = { .verdict = VERIFY_UNREADABLE };
	int fd = memfd_create("seed", MFD_CLOEXEC);

	expect_eq(write(fd, bytes, strlen(bytes)), strlen(bytes));
	expect_eq(lseek(fd, 0, SEEK_SET), 0);
	expect_eq(seed_verify(fd, &report, NULL), 0);
	(void)close(fd);
	return report;
}

#define expect_report(report, want, line)                                                          \
	do {                                                                                       \
		const struct seed_report _report = (report);                                       \
		expect_str(verify_verdict_name(_report.verdict), verify_verdict_name(want));       \
		if (_report.verdict != (want))                                                     \
			printf("# found: %s: %s\n", _report.finding.what, _report.finding.why);    \
		expect_eq(_report.bad_line, line);                                                 \
	} while (0)

static const char whole[] = LINE_1 LINE_2 LINE_3;

static void a_log_of_the_seeds_form_is_verified(void)
{
	struct seed_report report = report_of(whole);

	expect_report(report, VERIFY_INTACT, 0);
	expect_eq(report.n_good, 3);
	/* This format has no checkpoint, so a missing end cannot be detected. */
	expect_report(report_of(LINE_1 LINE_2), VERIFY_INTACT, 0);
}

static void any_byte_of_a_seeds_entry_counts(void)
{
	char bytes[sizeof(whole)];

	for (size_t i = 0; i + 1 < sizeof(whole); i++) {
		struct seed_report report;

		memcpy(bytes, whole, sizeof(whole));
		bytes[i] = bytes[i] == 'x' ? 'y' : 'x';
		report = report_of(bytes);
		expect(report.verdict != VERIFY_INTACT);
		if (report.verdict == VERIFY_INTACT)
			printf("# byte %zu\n", i);
		expect(report.finding.what[0] != '\0' && report.finding.fix[0] != '\0');
	}
}

static void a_seeds_entry_that_is_missing_is_found(void)
{
	expect_report(report_of(LINE_1 LINE_3), VERIFY_TAMPERED, 2);
	expect_report(report_of(LINE_1 LINE_3 LINE_2), VERIFY_TAMPERED, 2);
	expect_report(report_of(LINE_1 LINE_2 LINE_2), VERIFY_TAMPERED, 3);
	expect_report(report_of(LINE_2 LINE_3), VERIFY_INCOMPLETE, 1);
}

static void a_seeds_log_begins_with_kernel_start(void)
{
	/* Its own hash is right; its prev_hash is not that of the first entry. */
	expect_report(report_of(LINE_OTHER_PREV), VERIFY_INCOMPLETE, 1);
	expect_report(report_of(LINE_OTHER_EVENT), VERIFY_INCOMPLETE, 1);
}

static void ids_of_a_seeds_log_ascend(void)
{
	expect_report(report_of(LINE_1 LINE_SAME_ID), VERIFY_TAMPERED, 2);
	expect_report(report_of(LINE_1 LINE_LESS_ID), VERIFY_TAMPERED, 2);
}

#define ENTRY(timestamp, hash)                                                                     \
	("{\"id\":\"1\",\"timestamp\":" timestamp ",\"event_type\":\"x\",\"prev_hash\":\"" hash    \
	 "\",\"hash\":\"" hash "\"}\n")

static void refuses_lines_that_are_no_entries(void)
{
	static const char *const lines[] = {
		"",
		"\n",
		"nonsense\n",
		"[]\n",
		"{}\n",
		"{\"id\":\"1\"\n",
		"{\"id\":\"1\"} {}\n",
		"{\"id\":1,\"timestamp\":1,\"event_type\":\"x\",\"prev_hash\":\"\",\"hash\":\"\"}\n",
		ENTRY("1.5", ""),
		ENTRY("1", "00"),
		"{\"id\":\"1\",\"id\":\"1\"}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_text_ struct text behind = TEXT_INIT;

		expect_report(report_of(lines[i]), VERIFY_UNREADABLE, 1);
		text_addf(&behind, "%s%s", LINE_1, lines[i]);
		if (lines[i][0])
			expect_report(report_of(text_string(&behind)), VERIFY_TAMPERED, 2);
	}
}

static const struct test tests[] = {
	TEST(a_log_of_the_seeds_form_is_verified),
	TEST(any_byte_of_a_seeds_entry_counts),
	TEST(a_seeds_entry_that_is_missing_is_found),
	TEST(a_seeds_log_begins_with_kernel_start),
	TEST(ids_of_a_seeds_log_ascend),
	TEST(refuses_lines_that_are_no_entries),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
