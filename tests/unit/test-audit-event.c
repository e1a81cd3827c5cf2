/* SPDX-License-Identifier: MIT */

#include "audit/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "test.h"

static const struct audit_event *named(const char *name)
{
	return event_of(name, strlen(name));
}

static void every_event_is_found_under_its_own_name_only(void)
{
	const struct audit_event *event;
	size_t n = 0;

	for (; (event = event_at(n)); n++) {
		expect(named(event->name) == event);
		expect(event_of(event->name + 1, strlen(event->name) - 1) == NULL);
		expect(event_of(event->name, strlen(event->name) + 1) == NULL);
	}
	expect(n > 18);
	expect(named("") == NULL);
	expect(named("Syscall") == NULL);
	expect(named("syscalls") == NULL);
}

static void the_events_that_change_what_is_allowed_wait_for_the_disk(void)
{
	static const char *const sync[] = {
		"state_transition",
		"policy_update",
		"session_mode_change",
		"capability_issued",
		"merge_approved",
		"merge_rejected",
		"kernel_start",
		"kernel_shutdown",
		"audit_storage_warning",
		"audit_storage_critical",
		"audit_archive_deleted",
		"proxy_start",
		"proxy_stop",
		"ring_violation",
		NULL,
	};
	static const char *const async[] = {
		"syscall",
		"tool_execute",
		"tool_result",
		"sandbox_created",
		"sandbox_destroyed",
		"sandbox_failed",
		"capability_expired",
		"proxy_connection",
		"ring_closed",
		NULL,
	};

	for (const char *const *name = sync; *name; name++)
		expect(named(*name) && named(*name)->is_sync);
	for (const char *const *name = async; *name; name++)
		expect(named(*name) && !named(*name)->is_sync);
}

static void only_the_log_speaks_of_deleted_archives_and_lost_records(void)
{
	static const char *const own[] = {
		"audit_archive_deleted",
		"audit_storage_warning",
		"audit_storage_critical",
		"records_lost",
		"record_torn",
		"record_refused",
		"log_created",
		NULL,
	};

	for (const char *const *name = own; *name; name++)
		expect(named(*name) && named(*name)->is_own);
	expect(!named("syscall")->is_own);
	expect(!named("kernel_start")->is_own);
}

static void an_unknown_event_comes_with_the_one_that_was_meant(void)
{
	struct sbx_error err = { 0 };

	expect_eq(event_unknown("sandbox_create", 14, &err), -EINVAL);
	expect_str(err.what, "'sandbox_create' is not an event");
	expect_str(err.fix, "did you mean 'sandbox_created'?");
	expect_eq(event_unknown("xyz", 3, &err), -EINVAL);
	expect(strstr(err.fix, "syscall, tool_execute") != NULL);
	expect_eq(event_unknown("xyz", 3, NULL), -EINVAL);
}

static void suggestions_omit_events_of_the_log_itself(void)
{
	struct sbx_error err = { 0 };

	expect_eq(event_unknown("records_los", 11, &err), -EINVAL);
	expect(strstr(err.fix, "records_lost") == NULL);
}

static void readers_get_suggestions_of_all_events(void)
{
	struct sbx_error err = { 0 };

	expect_eq(event_unknown_in_log("records_los", 11, &err), -EINVAL);
	expect_str(err.fix, "did you mean 'records_lost'?");
	expect_eq(event_unknown_in_log("xyz", 3, &err), -EINVAL);
	expect(strstr(err.fix, "sbx-audit-layout(7)") != NULL);
}

static void a_name_that_is_no_text_is_shown_safely_and_briefly(void)
{
	_cleanup_text_ struct text shown = TEXT_INIT;
	struct sbx_error err = { 0 };
	char name[300];

	memset(name, 'a', sizeof(name));
	name[0] = '\x1b';
	expect_eq(event_unknown(name, sizeof(name), &err), -EINVAL);
	expect(strlen(err.what) < 120);
	error_add_text(&shown, "x", &err);
	expect(strstr(text_string(&shown), "'\\x1baaa") != NULL);
}

static void add_row(struct text *table, const struct audit_event *event)
{
	text_addf(table, "%-24s%-6s%-5s", event->name, event->is_sync ? "sync" : "",
		  event->is_own ? "own" : "");
	for (size_t i = 0; i < EVENT_REQUIRED_MAX && event->required[i]; i++)
		text_addf(table, "%s%s", i > 0 ? ", " : "", event->required[i]);
	while (table->len > 0 && table->data[table->len - 1] == ' ')
		text_truncate(table, table->len - 1);
	text_add_char(table, '\n');
}

/* Clients and readers are written after the page. */
static void the_page_has_the_table_of_events(void)
{
	_cleanup_text_ struct text path = TEXT_INIT, table = TEXT_INIT;
	_cleanup_free_ char *page = NULL;
	const struct audit_event *event;
	size_t n_bytes;

	text_addf(&path, "%s/man/sbx-audit-layout.7.scd", getenv("SBX_SOURCE"));
	expect_eq(file_read(AT_FDCWD, text_string(&path), 1 << 20, &page, &n_bytes, NULL), 0);
	text_add(&table, "\n```\n");
	for (size_t i = 0; (event = event_at(i)); i++)
		add_row(&table, event);
	text_add(&table, "```\n");
	expect(page && strstr(page, text_string(&table)) != NULL);
}

static const struct test tests[] = {
	TEST(every_event_is_found_under_its_own_name_only),
	TEST(the_events_that_change_what_is_allowed_wait_for_the_disk),
	TEST(only_the_log_speaks_of_deleted_archives_and_lost_records),
	TEST(an_unknown_event_comes_with_the_one_that_was_meant),
	TEST(suggestions_omit_events_of_the_log_itself),
	TEST(readers_get_suggestions_of_all_events),
	TEST(a_name_that_is_no_text_is_shown_safely_and_briefly),
	TEST(the_page_has_the_table_of_events),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
