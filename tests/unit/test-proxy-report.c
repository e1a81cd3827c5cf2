/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proxy/report.h"
#include "record/record.h"
#include "registry/handover.h"
#include "test.h"

#define SECOND UINT64_C(1000000)

struct log {
	struct recorder recorder;
	struct report *report;
	int fd;
	char text[1 << 20];
};

static struct log *log_new(void)
{
	struct log *log = calloc(1, sizeof(*log));

	if (!log)
		abort();
	log->recorder = (struct recorder)RECORDER_INIT;
	log->fd = memfd_create("records", MFD_CLOEXEC);
	expect(log->fd >= 0);
	recorder_use_fd(&log->recorder, fcntl(log->fd, F_DUPFD_CLOEXEC, 3));
	expect_eq(report_new(&log->recorder, "box", &log->report), 0);
	return log;
}

static void log_free(struct log **log)
{
	(void)report_free((*log)->report);
	recorder_deinit(&(*log)->recorder);
	close_fd(&(*log)->fd);
	free(*log);
}

#define _cleanup_log_ _cleanup_(log_free)

static const char *read_log(struct log *log)
{
	ssize_t n = pread(log->fd, log->text, sizeof(log->text) - 1, 0);

	expect(n >= 0);
	log->text[n < 0 ? 0 : n] = '\0';
	return log->text;
}

static size_t count(const char *text, const char *wanted)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
		n++;
	return n;
}

static void deny_with(struct log *log, const char *host, uint16_t port, const char *decision,
		      uint64_t now)
{
	report_denied(log->report,
		      &(const struct report_denial){ .host = host,
						     .port = port,
						     .reason = "denied",
						     .rule = "r (p:1)",
						     .why = "r (p:1) denies it: closed",
						     .fix = "allow it",
						     .decision = decision },
		      now);
}

static void deny(struct log *log, const char *host, uint16_t port, uint64_t now)
{
	deny_with(log, host, port, "{\"verdict\":\"deny\"}\n", now);
}

static void equal_denials_within_a_second_are_one_record(void)
{
	_cleanup_log_ struct log *log = log_new();

	for (int i = 0; i < 5; i++)
		deny(log, "a.test", 443, 10 * SECOND + (uint64_t)i);
	deny(log, "a.test", 80, 10 * SECOND + 5);
	report_flush(log->report, 11 * SECOND - 1);
	expect_str(read_log(log), "");
	expect(report_has_pending(log->report));
	report_flush(log->report, 11 * SECOND + 5);
	expect_eq(count(read_log(log), "\n"), 2);
	expect_eq(count(log->text, "\"event\":\"policy_decision\""), 2);
	expect_eq(count(log->text, "\"sandbox_id\":\"box\",\"count\":5,\"reason\":\"denied\","
				   "\"verdict\":\"deny\""),
		  1);
	expect_eq(count(log->text, "\"count\":1"), 1);
	expect(!report_has_pending(log->report));
	deny(log, "a.test", 443, 12 * SECOND);
	report_flush(log->report, UINT64_MAX);
	expect_eq(count(read_log(log), "\n"), 3);
}

/* Only the decision has the server name that was asked for, and the address. */
static void denials_with_different_decisions_are_not_equal(void)
{
	_cleanup_log_ struct log *log = log_new();
	_cleanup_free_ struct handover_summary *summary = calloc(1, sizeof(*summary));

	expect(summary != NULL);
	for (int i = 0; i < 2; i++) {
		deny_with(log, "a.test", 443, "{\"server_name\":\"first.test\"}\n", SECOND);
		deny_with(log, "a.test", 443, "{\"server_name\":\"second.test\"}\n", SECOND);
	}
	report_flush(log->report, UINT64_MAX);
	expect_eq(count(read_log(log), "\n"), 2);
	expect_eq(count(log->text, "\"count\":2"), 2);
	expect_eq(count(log->text, "\"server_name\":\"first.test\""), 1);
	expect_eq(count(log->text, "\"server_name\":\"second.test\""), 1);
	report_get_denials(log->report, summary);
	expect_eq(summary->n_denials, 1);
	expect_eq(summary->denials[0].count, 4);
}

static void many_different_denials_are_all_recorded(void)
{
	_cleanup_log_ struct log *log = log_new();

	for (uint16_t port = 1; port <= 1000; port++)
		deny(log, "a.test", port, SECOND);
	report_flush(log->report, UINT64_MAX);
	expect_eq(count(read_log(log), "\n"), 1000);
}

static void the_summary_counts_what_it_leaves_out(void)
{
	_cleanup_log_ struct log *log = log_new();
	_cleanup_free_ struct handover_summary *summary = calloc(1, sizeof(*summary));

	expect(summary != NULL);
	for (uint16_t port = 1; port <= 100; port++)
		for (int i = 0; i < 3; i++)
			deny(log, "a.test", port, SECOND);
	report_get_denials(log->report, summary);
	expect(summary->n_denials > 0);
	expect_eq(summary->denials[0].count, 3);
	expect_str(summary->denials[0].host, "a.test");
	expect_str(summary->denials[0].why, "r (p:1) denies it: closed");
	expect_str(summary->denials[0].fix, "allow it");
	expect_eq(summary->n_denials * 3 + summary->n_denials_left_out, 300);
}

static void a_name_that_was_not_resolved_is_only_in_the_summary(void)
{
	_cleanup_log_ struct log *log = log_new();
	_cleanup_free_ struct handover_summary *summary = calloc(1, sizeof(*summary));

	expect(summary != NULL);
	report_unresolved(log->report, "a.test", 443, "name-not-found");
	report_unresolved(log->report, "a.test", 443, "name-not-found");
	report_flush(log->report, UINT64_MAX);
	expect_str(read_log(log), "");
	report_get_denials(log->report, summary);
	expect_eq(summary->n_denials, 1);
	expect_eq(summary->denials[0].count, 2);
	expect_str(summary->denials[0].reason, "name-not-found");
	expect(!summary->denials[0].why);
	expect(!summary->denials[0].fix);
}

static void a_record_that_cannot_be_written_is_sent_again(void)
{
	_cleanup_log_ struct log *log = log_new();
	int limited = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int good = log->recorder.fd;

	if (limited < 0)
		skip("there is no /dev/full");
	expect(!report_is_lost(log->report));
	log->recorder.fd = limited;
	deny(log, "a.test", 443, SECOND);
	report_flush(log->report, UINT64_MAX);
	expect(report_is_lost(log->report));
	deny(log, "b.test", 443, SECOND);
	report_flush(log->report, UINT64_MAX);
	expect(report_is_lost(log->report));
	log->recorder.fd = good;
	expect(!report_is_lost(log->report));
	expect_eq(count(read_log(log), "\"count\":1"), 2);
	expect(!report_is_lost(log->report));
	expect_eq(count(read_log(log), "\"count\":1"), 2);
	(void)close(limited);
}

static void connect_to(struct log *log, const char *host)
{
	report_connected(log->report, &(const struct report_connection){ .host = host,
									 .port = 443,
									 .rule = "",
									 .kind = "tunnel",
									 .cause = "end" });
}

static void all_records_that_could_not_be_written_are_sent_in_their_order(void)
{
	_cleanup_log_ struct log *log = log_new();
	int limited = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int good = log->recorder.fd;
	const char *first, *second, *third;

	if (limited < 0)
		skip("there is no /dev/full");
	log->recorder.fd = limited;
	connect_to(log, "first.test");
	connect_to(log, "second.test");
	expect_eq(report_count_lost(log->report), 2);
	log->recorder.fd = good;
	/* Not before those that wait. */
	connect_to(log, "third.test");
	expect_str(read_log(log), "");
	expect_eq(report_count_lost(log->report), 3);
	expect(report_has_pending(log->report));
	report_flush(log->report, 10 * SECOND);
	expect_eq(report_count_lost(log->report), 0);
	expect(!report_has_pending(log->report));
	expect_eq(count(read_log(log), "\n"), 3);
	first = strstr(log->text, "first.test");
	second = strstr(log->text, "second.test");
	third = strstr(log->text, "third.test");
	expect(first && second && third && first < second && second < third);
	(void)close(limited);
}

/* Each try may take a quarter of a second, in which no byte is relayed. */
static void a_flush_tries_once_in_a_second(void)
{
	_cleanup_log_ struct log *log = log_new();
	int limited = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int good = log->recorder.fd;

	if (limited < 0)
		skip("there is no /dev/full");
	log->recorder.fd = limited;
	connect_to(log, "a.test");
	report_flush(log->report, 10 * SECOND);
	log->recorder.fd = good;
	report_flush(log->report, 11 * SECOND - 1);
	expect_str(read_log(log), "");
	report_flush(log->report, 11 * SECOND);
	expect_eq(count(read_log(log), "\n"), 1);
	(void)close(limited);
}

static void records_that_wait_have_a_limit_and_are_counted(void)
{
	_cleanup_log_ struct log *log = log_new();
	_cleanup_free_ char *host = calloc(1, 65536);
	int limited = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int good = log->recorder.fd;

	if (!host)
		abort();
	if (limited < 0)
		skip("there is no /dev/full");
	memset(host, 'a', 65535);
	log->recorder.fd = limited;
	for (int i = 0; i < 300; i++)
		connect_to(log, host);
	expect_eq(report_count_lost(log->report), 300);
	log->recorder.fd = good;
	expect(!report_is_lost(log->report));
	expect(report_count_lost(log->report) > 0);
	expect(report_count_lost(log->report) < 60);
	(void)close(limited);
}

static void a_connection_has_its_record(void)
{
	_cleanup_log_ struct log *log = log_new();

	report_connected(log->report, &(const struct report_connection){ .host = "a.test",
									 .port = 443,
									 .address = "192.0.2.1",
									 .rule = "web (p.yaml:3)",
									 .kind = "tunnel",
									 .cause = "end",
									 .n_requests = 1,
									 .bytes_up = 5,
									 .bytes_down = 7,
									 .usec = 9 });
	expect(strstr(read_log(log), "\"event\":\"proxy_connection\",\"tool\":\"sbx-proxy\"") !=
	       NULL);
	expect(strstr(log->text,
		      "\"sandbox_id\":\"box\",\"host\":\"a.test\",\"port\":443,"
		      "\"address\":\"192.0.2.1\",\"rule\":\"web (p.yaml:3)\",\"kind\":\"tunnel\","
		      "\"cause\":\"end\",\"requests\":1,\"bytes_up\":5,\"bytes_down\":7,"
		      "\"usec\":9}\n") != NULL);
}

static const struct test tests[] = {
	TEST(equal_denials_within_a_second_are_one_record),
	TEST(denials_with_different_decisions_are_not_equal),
	TEST(many_different_denials_are_all_recorded),
	TEST(the_summary_counts_what_it_leaves_out),
	TEST(a_name_that_was_not_resolved_is_only_in_the_summary),
	TEST(a_record_that_cannot_be_written_is_sent_again),
	TEST(all_records_that_could_not_be_written_are_sent_in_their_order),
	TEST(a_flush_tries_once_in_a_second),
	TEST(records_that_wait_have_a_limit_and_are_counted),
	TEST(a_connection_has_its_record),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
