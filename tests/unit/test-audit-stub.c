/* SPDX-License-Identifier: MIT */

#include "audit/chain.h"

#include <errno.h>

#include "audit/merkle.h"
#include "base/text.h"
#include "test.h"

#define HEAD "{\"version\":1,\"event\":\"audit_archive_deleted\",\"tool\":\"sbx-audit\","
#define TAIL ",\"time\":\"2026-01-02T03:04:05.678901Z\"}"

static struct audit_hash hash_of(uint8_t byte)
{
	struct audit_hash hash;

	memset(hash.bytes, byte, sizeof(hash.bytes));
	return hash;
}

static struct audit_stub some_stub(void)
{
	return (struct audit_stub){
		.first = 10,
		.last = 19,
		.previous = hash_of(1),
		.head = hash_of(2),
		.root = hash_of(3),
		.archive = hash_of(0xa4),
		.reason = STUB_SIZE,
	};
}

static void add_record(struct text *out, const struct audit_stub *stub)
{
	text_add(out, HEAD);
	expect_eq(stub_add_members(out, stub), 0);
	text_add(out, TAIL);
}

static void a_stub_is_read_as_it_was_written(void)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct audit_stub stub = some_stub(), read;

	add_record(&record, &stub);
	expect_str(text_string(&record),
		   HEAD "\"first\":10,\"last\":19,"
			"\"previous\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\","
			"\"head\":\"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\","
			"\"root\":\"AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\","
			"\"archive_sha256\":"
			"\"a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4\","
			"\"reason\":\"size\"" TAIL);
	expect(stub_is(record.data, record.len));
	expect_eq(stub_read(record.data, record.len, &read), 0);
	expect_eq(read.first, 10);
	expect_eq(read.last, 19);
	expect(audit_hash_equal(&read.previous, &stub.previous));
	expect(audit_hash_equal(&read.head, &stub.head));
	expect(audit_hash_equal(&read.root, &stub.root));
	expect(audit_hash_equal(&read.archive, &stub.archive));
	expect_eq(read.reason, STUB_SIZE);
}

static void writes_no_stub_that_could_not_be_read(void)
{
	struct audit_stub stubs[4] = { some_stub(), some_stub(), some_stub(), some_stub() };
	_cleanup_text_ struct text out = TEXT_INIT;

	stubs[0].first = 20;
	stubs[1].last = MERKLE_SIZE_MAX;
	stubs[2].reason = N_STUB_REASONS;
	for (size_t i = 0; i < 3; i++)
		expect_eq(stub_add_members(&out, &stubs[i]), -EINVAL);
	expect_eq(stub_add_members(&out, &stubs[3]), 0);
}

/* Changes every byte outside of the values: then the record must not be read as a stub. */
static void every_other_byte_is_refused(void)
{
	_cleanup_text_ struct text record = TEXT_INIT;
	struct audit_stub stub = some_stub(), read;

	add_record(&record, &stub);
	for (size_t i = 0; i < record.len; i++) {
		char before = record.data[i];

		record.data[i] = '\\';
		expect_eq(stub_read(record.data, record.len, &read), -EBADMSG);
		record.data[i] = before;
		expect_eq(stub_read(record.data, i, &read), -EBADMSG);
	}
}

static void refuses_other_forms_of_the_same(void)
{
	static const char *const changes[][2] = {
		{ "\"first\":10", "\"first\":010" },
		{ "\"first\":10", "\"first\":20" },
		{ "\"first\":10", "\"first\":1e1" },
		{ "\"first\":10", "\"first\": 10" },
		{ "\"first\":10,\"last\":19", "\"last\":19,\"first\":10" },
		{ "a4a4", "A4a4" },
		{ "a4a4", "a4" },
		{ "\"size\"", "\"whim\"" },
		{ "\"size\"", "\"size\",\"more\":1" },
		{ "AQEB", "AQEBAQEB" },
		{ "\"tool\"", "\"toil\"" },
		{ "audit_archive_deleted", "audit_storage_warning" },
		{ "05.678901Z", "61.678901Z" },
		{ "Z\"}", "Z\"} " },
	};
	_cleanup_text_ struct text record = TEXT_INIT;
	struct audit_stub stub = some_stub(), read;

	add_record(&record, &stub);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		_cleanup_text_ struct text changed = TEXT_INIT;
		const char *at = strstr(text_string(&record), changes[i][0]);

		expect(at != NULL);
		if (!at)
			continue;
		text_add_bytes(&changed, record.data, (size_t)(at - record.data));
		text_add(&changed, changes[i][1]);
		text_add(&changed, at + strlen(changes[i][0]));
		expect_eq(stub_read(changed.data, changed.len, &read), -EBADMSG);
	}
}

static void another_record_is_no_stub(void)
{
	static const char other[] =
		"{\"version\":1,\"event\":\"key_changed\",\"tool\":\"sbx-audit\","
		"\"epoch\":1,\"time\":\"2026-01-02T03:04:05.678901Z\"}";
	static const char claims[] =
		"{\"event\":\"audit_archive_deleted\",\"version\":1,\"tool\":\"sbx-audit\"}";

	expect(!stub_is(other, strlen(other)));
	expect(!stub_is(claims, strlen(claims)));
	expect(!stub_is("", 0));
}

static const struct test tests[] = {
	TEST(a_stub_is_read_as_it_was_written), TEST(writes_no_stub_that_could_not_be_read),
	TEST(every_other_byte_is_refused),	TEST(refuses_other_forms_of_the_same),
	TEST(another_record_is_no_stub),	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
