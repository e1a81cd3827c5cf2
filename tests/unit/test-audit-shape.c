/* SPDX-License-Identifier: MIT */

/*
 * Checking a record against a known shape gives the same result as parsing it: after every change
 * of a byte, and with every byte more or less
 */

#include "audit/shape.h"

#include <assert.h>

#include "audit/entry.h"
#include "base/text.h"
#include "test.h"

#define RECORD(time, usec, pid, path)                                                              \
	"{\"version\":1,\"time\":\"2026-01-02T03:04:" time "Z\",\"boot_usec\":" usec               \
	",\"event\":\"policy_decision\",\"tool\":\"sbx-policy\",\"peer\":{\"pid\":" pid            \
	",\"sandbox_id\":\"box\"},\"verdict\":\"allow\",\"rules\":[{\"name\":\"a\",\"line\":3}],"  \
	"\"input\":{\"op\":\"fs.read\",\"path\":\"" path "\",\"n\":[0,-1,1.5,true,null]},"         \
	"\"policy\":\"d1\"}"

static const char *const records[] = {
	RECORD("05.678901", "12", "7", "/srv/a"),
	RECORD("06.000000", "1234567", "0", ""),
	RECORD("07.999999", "0", "4711", "/srv/a/path/that/is/longer/than/all/of/the/others"),
};

struct rig {
	struct shapes *shapes;
	struct audit_entry *entry;
	struct audit_entry *reader;
	struct text body;
};

static struct rig rig_new(void)
{
	struct rig rig = { .shapes = calloc(1, sizeof(struct shapes)),
			   .entry = calloc(1, sizeof(struct audit_entry)),
			   .reader = calloc(1, sizeof(struct audit_entry)),
			   .body = TEXT_INIT };

	assert(rig.shapes && rig.entry && rig.reader);
	return rig;
}

static void rig_deinit(struct rig *rig)
{
	free(rig->shapes);
	entry_free_ptr(&rig->entry);
	entry_free_ptr(&rig->reader);
	text_deinit(&rig->body);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

/* Compares the results of a reader that knows the shapes and of one that does not. */
static void expect_same(struct rig *rig, const char *bytes, size_t n_bytes)
{
	int r = entry_read_stored(rig->reader, bytes, n_bytes, NULL);

	expect_eq(entry_check_stored(rig->entry, rig->shapes, bytes, n_bytes), r);
	if (r == 0)
		expect_eq(rig->entry->time_usec, rig->reader->time_usec);
}

static void learn_records(struct rig *rig)
{
	memset(rig->shapes, 0, sizeof(*rig->shapes));
	for (size_t i = 0; i < 3 * N_ELEMENTS(records); i++)
		expect_eq(entry_check_stored(rig->entry, rig->shapes,
					     records[i % N_ELEMENTS(records)],
					     strlen(records[i % N_ELEMENTS(records)])),
			  0);
}

static void records_that_differ_in_their_values_have_one_shape(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	struct shape_match match;

	learn_records(&rig);
	expect_eq(rig.shapes->next, 1);
	for (size_t i = 0; i < N_ELEMENTS(records); i++) {
		expect(shapes_match(rig.shapes, records[i], strlen(records[i]), &match));
		expect_eq(match.n_time, 27);
		expect(memcmp(match.time, records[i] + 21, 27) == 0);
	}
}

static void every_changed_byte_is_read_as_by_the_reader(void)
{
	_cleanup_rig_ struct rig rig = rig_new();

	for (size_t i = 0; i < N_ELEMENTS(records); i++)
		for (size_t at = 0; at < strlen(records[i]); at++) {
			learn_records(&rig);
			for (unsigned byte = 0; byte < 256; byte++) {
				text_reset(&rig.body);
				text_add(&rig.body, records[i]);
				rig.body.data[at] = (char)byte;
				expect_same(&rig, rig.body.data, rig.body.len);
			}
		}
}

static void every_byte_too_many_is_read_as_by_the_reader(void)
{
	static const char bytes[] = "0 \"\\{}[],:-.ex\x7f\xc3\n";
	_cleanup_rig_ struct rig rig = rig_new();
	const char *record = records[0];

	for (size_t at = 0; at <= strlen(record); at++) {
		learn_records(&rig);
		for (size_t i = 0; i < sizeof(bytes); i++) {
			text_reset(&rig.body);
			text_add_bytes(&rig.body, record, at);
			text_add_char(&rig.body, bytes[i]);
			text_add(&rig.body, record + at);
			expect_same(&rig, rig.body.data, rig.body.len);
		}
	}
}

static void every_byte_too_few_is_read_as_by_the_reader(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	const char *record = records[0];
	size_t n = strlen(record);

	for (size_t from = 0; from < n; from++)
		for (size_t to = from + 1; to <= n; to += 1 + (to - from) / 4) {
			learn_records(&rig);
			text_reset(&rig.body);
			text_add_bytes(&rig.body, record, from);
			text_add(&rig.body, record + to);
			expect_same(&rig, text_string(&rig.body), rig.body.len);
		}
}

/* Which members are required depends on the event, so the event is part of the shape. */
static void another_event_is_another_shape(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	struct shape_match match;
	char *event;

	learn_records(&rig);
	text_add(&rig.body, records[0]);
	event = strstr(rig.body.data, "policy_decision");
	memcpy(event, "policy_decisive", strlen("policy_decisive"));
	expect(!shapes_match(rig.shapes, rig.body.data, rig.body.len, &match));
	expect_same(&rig, rig.body.data, rig.body.len);
}

static void a_record_that_is_long_or_not_plain_has_no_shape(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	struct shape_match match;

	text_add(&rig.body, "{\"time\":\"2026-01-02T03:04:05.678901Z\",\"event\":\"syscall\","
			    "\"x\":\"\xc3\xb6\"}");
	for (int i = 0; i < 3; i++)
		expect_same(&rig, rig.body.data, rig.body.len);
	expect(!shapes_match(rig.shapes, rig.body.data, rig.body.len, &match));
	text_truncate(&rig.body, rig.body.len - 4);
	for (int i = 0; i < SHAPE_BYTES_MAX; i++)
		text_add_char(&rig.body, 'x');
	text_add(&rig.body, "\"}");
	for (int i = 0; i < 3; i++)
		expect_same(&rig, rig.body.data, rig.body.len);
	expect(!shapes_match(rig.shapes, rig.body.data, rig.body.len, &match));
	text_reset(&rig.body);
	text_add(&rig.body, "{\"time\":\"2026-01-02T03:04:05.678901Z\",\"event\":\"syscall\"");
	for (int i = 0; i <= SHAPE_VALUES_MAX; i++)
		text_addf(&rig.body, ",\"n%d\":%d", i, i);
	text_add_char(&rig.body, '}');
	for (int i = 0; i < 3; i++)
		expect_same(&rig, rig.body.data, rig.body.len);
	expect(!shapes_match(rig.shapes, rig.body.data, rig.body.len, &match));
}

static void more_shapes_than_are_kept_are_read_all_the_same(void)
{
	_cleanup_rig_ struct rig rig = rig_new();

	for (unsigned i = 0; i < 20 * SHAPES_MAX; i++) {
		text_reset(&rig.body);
		text_addf(&rig.body,
			  "{\"time\":\"2026-01-02T03:04:05.%06uZ\",\"event\":\"syscall\","
			  "\"m%u\":%u}",
			  i, i % (2 * SHAPES_MAX), i);
		expect_same(&rig, rig.body.data, rig.body.len);
	}
}

static const struct test tests[] = {
	TEST(records_that_differ_in_their_values_have_one_shape),
	TEST(every_changed_byte_is_read_as_by_the_reader),
	TEST(every_byte_too_many_is_read_as_by_the_reader),
	TEST(every_byte_too_few_is_read_as_by_the_reader),
	TEST(another_event_is_another_shape),
	TEST(a_record_that_is_long_or_not_plain_has_no_shape),
	TEST(more_shapes_than_are_kept_are_read_all_the_same),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
