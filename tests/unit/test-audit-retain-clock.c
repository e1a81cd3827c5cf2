/* SPDX-License-Identifier: MIT */

/*
 * Retention while the clock is wrong
 */

#include "audit/retain.h"

#include <signal.h>
#include <sys/resource.h>

#include "audit-archive-rig.h"
#include "audit/clock.h"
#include "audit/log-internal.h"

#define SECOND "00000000000000000011"
#define DAY RETAIN_USEC_PER_DAY

uint64_t __real_moment_now(clockid_t clock);
uint64_t __wrap_moment_now(clockid_t clock);

/* How wrong the clock is. */
static int64_t wrong_usec;

uint64_t __wrap_moment_now(clockid_t clock)
{
	return __real_moment_now(clock) + (clock == CLOCK_REALTIME ? (uint64_t)wrong_usec : 0);
}

static void set_wrong(int days)
{
	wrong_usec = days * (int64_t)DAY;
}

static struct retain_report retained(struct audit_log *log, bool trusts_clock)
{
	const struct retain_options options = {
		.policy = { .archive_usec = 90 * DAY,
			    .store_usec = 7 * DAY,
			    .max_bytes = UINT64_MAX },
		.now_usec = moment_now(CLOCK_REALTIME),
		.trusts_clock = trusts_clock,
	};
	struct retain_report report = { .n_archived = 99 };

	expect_eq(audit_log_retain(log, &options, &report, NULL), 0);
	expect_eq(report.n_problems, 0);
	return report;
}

/* The segment or archive becomes so many days old. */
static void set_age(const struct log_place *place, const char *name, int days)
{
	static const char *const suffixes[] = { ".db", ".tar.zst" };

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		char file[128];

		(void)snprintf(file, sizeof(file), "%s%s", name, suffixes[i]);
		make_old(place, file, days);
	}
}

#define FIRST "00000000000000000000"

static uint64_t time_of(const struct log_place *place, const char *name)
{
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", place->log, name);
	expect(stat(path, &st) == 0);
	return moment_usec(&st.st_mtim);
}

static void expect_doubted(const struct retain_report *report)
{
	expect_eq(report->n_archived + report->n_deleted, 0);
	expect(report->doubt.code < 0);
	expect_eq(report->doubt.level, SBX_LEVEL_WARN);
	expect(strstr(report->doubt.why, "the clock has jumped") != NULL);
	expect(strstr(report->doubt.fix, "--trust-clock") != NULL);
}

static void expect_done(const struct retain_report *report, size_t n_archived, size_t n_deleted)
{
	expect_eq(report->n_archived, n_archived);
	expect_eq(report->n_deleted, n_deleted);
	expect_eq(report->doubt.code, 0);
}

/* A log with two closed segments, whose clock is believed. */
static void open_believed(struct open_log *own)
{
	struct retain_report report;

	set_wrong(0);
	open_log_init(own, 2);
	report = retained(own->log, false);
	expect_done(&report, 0, 0);
}

static void a_clock_that_is_fast_for_a_minute_deletes_nothing(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	open_believed(&own);
	set_age(&own.place, FIRST, 8);
	report = retained(own.log, false);
	expect_done(&report, 1, 0);
	set_wrong(100);
	/* Another day has begun: this closes the segment, too. */
	add_signed(own.log, 1);
	expect_eq(audit_log_rotate_if_due(own.log, ROTATION_DAILY, UINT64_MAX, NULL), 1);
	for (unsigned i = 0; i < 100; i++) {
		report = retained(own.log, false);
		expect_doubted(&report);
	}
	set_wrong(0);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
	expect(has_file(&own.place, FIRST_ARCHIVE));
	expect(has_file(&own.place, SECOND ".db"));
	expect_eq(intact_size(&own.place, own.key), 22);
}

/* A file that was too old before the jump is deleted. */
static void what_is_old_by_the_believed_time_goes_all_the_same(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	open_believed(&own);
	set_age(&own.place, FIRST, 91);
	set_wrong(100);
	report = retained(own.log, false);
	expect_eq(report.n_archived, 1);
	expect_eq(report.n_deleted, 1);
	expect(report.doubt.code < 0);
	expect(has_file(&own.place, SECOND ".db"));
}

static void a_log_that_was_idle_for_a_month_is_pruned_after_a_week(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	open_believed(&own);
	for (int day = 100; day < 107; day++) {
		set_wrong(day);
		report = retained(own.log, false);
		expect_doubted(&report);
		/* Neither a new segment nor another process forgets it. */
		add_signed(own.log, 1);
		expect_eq(audit_log_rotate(own.log, NULL), 1);
		(void)audit_log_free(own.log);
		own.log = log_opened(&own.place);
	}
	set_wrong(107);
	report = retained(own.log, false);
	expect_eq(report.n_deleted, 9);
	expect_eq(report.doubt.code, 0);
}

static void an_administrator_can_trust_it_at_once(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	open_believed(&own);
	set_wrong(100);
	report = retained(own.log, false);
	expect_doubted(&report);
	report = retained(own.log, true);
	expect_done(&report, 2, 2);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
}

/* A machine that was off, and whose log has nothing that is due, causes no warning. */
static void where_nothing_is_due_nothing_is_said(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	set_wrong(0);
	open_log_init(&own, 0);
	(void)retained(own.log, false);
	set_wrong(100);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
}

/* The clock of a log that was never retained, or was by an earlier version, is its oldest file. */
static void a_log_without_a_believed_time_takes_that_of_its_oldest_file(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	set_wrong(0);
	open_log_init(&own, 2);
	set_age(&own.place, FIRST, 91);
	set_age(&own.place, SECOND, 80);
	report = retained(own.log, false);
	expect_doubted(&report);
	expect_eq(intact_size(&own.place, own.key), 21);
	for (int day = 1; day < 7; day++) {
		set_wrong(day);
		report = retained(own.log, false);
		expect_doubted(&report);
	}
	set_wrong(7);
	report = retained(own.log, false);
	expect_done(&report, 2, 1);
	expect(intact_size(&own.place, own.key) > 21);
}

static void a_segment_that_is_closed_by_a_slow_clock_is_not_old(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;
	uint64_t before;

	open_believed(&own);
	before = moment_now(CLOCK_REALTIME);
	add_signed(own.log, 1);
	/* Without the kernel's clock the test cannot make a file old by closing it: so the file's
	 * time shows that it was set. */
	set_wrong(-200);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
	expect_eq(audit_log_rotate(own.log, NULL), 1);
	expect(time_of(&own.place, "00000000000000000021.db") <= before);
	expect(time_of(&own.place, "00000000000000000021.db") > before - DAY);
	set_wrong(0);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
}

/* The process can be killed after the slow clock has closed a file, and before its time is set. */
static void a_file_that_is_older_than_the_one_before_it_gets_its_time(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;
	uint64_t before;

	open_believed(&own);
	before = time_of(&own.place, SEGMENT);
	set_age(&own.place, SECOND, 100);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
	expect(time_of(&own.place, SECOND ".db") >= before);
	expect(time_of(&own.place, SECOND ".db") < before + DAY);
	/* The other one was closed by a fast clock. */
	set_age(&own.place, FIRST, -100);
	set_age(&own.place, SECOND, 5);
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
	expect(time_of(&own.place, SECOND ".db") < before - 4 * DAY);
}

static void a_segment_that_was_closed_by_a_fast_clock_becomes_old(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;
	uint64_t now;

	open_believed(&own);
	set_wrong(-100);
	/* The files are 100 days in the future now. A clock that is doubted changes no file. */
	report = retained(own.log, false);
	expect_done(&report, 0, 0);
	expect(time_of(&own.place, SEGMENT) > moment_now(CLOCK_REALTIME) + 99 * DAY);
	report = retained(own.log, true);
	expect_done(&report, 0, 0);
	now = moment_now(CLOCK_REALTIME);
	expect(time_of(&own.place, SEGMENT) <= now);
	expect(time_of(&own.place, SECOND ".db") <= now);
	set_wrong(-93);
	report = retained(own.log, false);
	expect_done(&report, 2, 0);
	expect_eq(intact_size(&own.place, own.key), 21);
}

/* As a full disk. */
static struct retain_report retained_without_room(struct audit_log *log)
{
	struct rlimit before, small;
	struct retain_report report;

	expect_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 1, .rlim_max = before.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	expect_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	report = retained(log, false);
	expect_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	return report;
}

static void a_full_disk_does_not_keep_the_doubt(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;

	open_believed(&own);
	for (int day = 100; day < 107; day++) {
		set_wrong(day);
		report = retained_without_room(own.log);
		expect_doubted(&report);
	}
	set_wrong(107);
	report = retained(own.log, false);
	expect_done(&report, 2, 2);
}

/* Records have the times that their writers chose. */
static void records_of_any_time_change_nothing(void)
{
	static const char *const times[] = { "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z" };
	_cleanup_open_log_ struct open_log own;
	struct retain_report report;
	char line[96];

	open_believed(&own);
	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		int len = snprintf(line, sizeof(line), "{\"time\":\"%s\",\"event\":\"syscall\"}",
				   times[i]);

		expect_eq(audit_log_add(own.log, line, (size_t)len, NULL, NULL, NULL), 0);
		expect_eq(audit_log_rotate(own.log, NULL), 1);
		report = retained(own.log, false);
		expect_done(&report, 0, 0);
	}
	set_wrong(7);
	report = retained(own.log, false);
	expect_done(&report, 4, 0);
}

static void a_preview_doubts_as_retention_does_and_stores_nothing(void)
{
	_cleanup_open_log_ struct open_log own;
	struct retain_options options = { .policy = { .archive_usec = 90 * DAY,
						      .store_usec = 7 * DAY,
						      .max_bytes = UINT64_MAX } };
	struct retain_report report;
	int directory;

	open_believed(&own);
	directory = directory_of(&own.place);
	for (int day = 100; day < 120; day++) {
		set_wrong(day);
		options.now_usec = moment_now(CLOCK_REALTIME);
		expect_eq(retain_preview(directory, &options, &report, NULL), 0);
		expect_doubted(&report);
	}
	options.trusts_clock = true;
	expect_eq(retain_preview(directory, &options, &report, NULL), 0);
	expect_done(&report, 2, 2);
	options.trusts_clock = false;
	expect_eq(retain_preview(directory, &options, &report, NULL), 0);
	expect_doubted(&report);
	(void)close(directory);
}

static const struct test tests[] = {
	TEST(a_clock_that_is_fast_for_a_minute_deletes_nothing),
	TEST(what_is_old_by_the_believed_time_goes_all_the_same),
	TEST(a_log_that_was_idle_for_a_month_is_pruned_after_a_week),
	TEST(an_administrator_can_trust_it_at_once),
	TEST(where_nothing_is_due_nothing_is_said),
	TEST(a_log_without_a_believed_time_takes_that_of_its_oldest_file),
	TEST(a_segment_that_is_closed_by_a_slow_clock_is_not_old),
	TEST(a_file_that_is_older_than_the_one_before_it_gets_its_time),
	TEST(a_segment_that_was_closed_by_a_fast_clock_becomes_old),
	TEST(a_full_disk_does_not_keep_the_doubt),
	TEST(records_of_any_time_change_nothing),
	TEST(a_preview_doubts_as_retention_does_and_stores_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
