/* SPDX-License-Identifier: MIT */

/*
 * The result of reading a record depends only on its bytes: not on records that were read or
 * checked before, and not on white space between members, which only makes it slower
 */

#include "audit/entry.h"

#include <errno.h>

#include "audit/shape.h"
#include "base/json.h"
#include "base/text.h"
#include "count-alloc.h"
#include "test.h"

struct rig {
	struct audit_entry *used;
	struct audit_entry *fresh;
	struct shapes *shapes; /* shapes of all records that were checked */
	struct text body;
	struct text spaced;
};

static struct rig rig_new(void)
{
	return (struct rig){
		.used = calloc(1, sizeof(struct audit_entry)),
		.fresh = calloc(1, sizeof(struct audit_entry)),
		.shapes = calloc(1, sizeof(struct shapes)),
		.body = TEXT_INIT,
		.spaced = TEXT_INIT,
	};
}

static void rig_deinit(struct rig *rig)
{
	entry_free_ptr(&rig->used);
	entry_free_ptr(&rig->fresh);
	free(rig->shapes);
	text_deinit(&rig->body);
	text_deinit(&rig->spaced);
}
#define _cleanup_rig_ _cleanup_(rig_deinit)

static void expect_same(const struct audit_entry *a, const struct audit_entry *b)
{
	expect(a->event == b->event);
	expect_eq(a->time_usec, b->time_usec);
	expect_eq(a->n_members, b->n_members);
	for (size_t i = 0; i < N_ENTRY_COLUMNS; i++) {
		const struct entry_text *x = &a->columns[i], *y = &b->columns[i];

		expect((x->bytes == NULL) == (y->bytes == NULL) && x->n_bytes == y->n_bytes &&
		       (!x->bytes || memcmp(x->bytes, y->bytes, x->n_bytes) == 0));
	}
}

/* Expects the same error, or the same event, time and columns. */
static void compare(struct rig *rig, const char *body, size_t n_body)
{
	int r = entry_read_stored(rig->used, body, n_body, NULL);

	entry_deinit(rig->fresh);
	memset(rig->fresh, 0, sizeof(*rig->fresh));
	expect_eq(entry_check_stored(rig->fresh, rig->shapes, body, n_body), r);
	if (r == 0)
		expect_eq(rig->fresh->time_usec, rig->used->time_usec);
	entry_deinit(rig->fresh);
	memset(rig->fresh, 0, sizeof(*rig->fresh));
	expect_eq(entry_read_stored(rig->fresh, body, n_body, NULL), r);
	if (r == 0)
		expect_same(rig->used, rig->fresh);
	if (n_body == 0)
		return;
	text_reset(&rig->spaced);
	text_add_char(&rig->spaced, body[0]);
	text_add_char(&rig->spaced, ' ');
	text_add_bytes(&rig->spaced, body + 1, n_body - 1);
	expect_eq(entry_read_stored(rig->fresh, rig->spaced.data, rig->spaced.len, NULL), r);
	if (r == 0)
		expect_same(rig->used, rig->fresh);
}

/* Longer than a column. */
#define FORTY "0123456789abcdef0123456789abcdef01234567"
#define LONG_RULE "\"rule\":\"" FORTY FORTY FORTY FORTY FORTY FORTY FORTY "\""

static const char *const members[] = {
	"\"op\":\"fs.read\"",
	"\"op\":null",
	"\"op\":7",
	"\"op\":{\"op\":\"x\"}",
	"\"op\":\"\\u0061\"",
	"\"o\\u0070\":\"escaped name\"",
	"\"syscall_type\":\"openat\"",
	"\"input\":{\"op\":\"net.connect\",\"caller\":\"him\"}",
	"\"input\":{\"caller\":null,\"a\":[1,{\"op\":\"deep\"}],\"op\":\"late\"}",
	"\"input\":{}",
	"\"input\":[{\"op\":\"x\"}]",
	"\"input\":\"text\"",
	"\"input\":{\"op\":true}",
	"\"input\":{ \"op\" : \"spaces\" }",
	"\"verdict\":\"allow\"",
	"\"verdict\":\"denied\"",
	"\"policy_decision\":\"allowed\"",
	"\"policy_decision\":\"review_required\"",
	"\"policy_decision\":\"allowed_by_token\"",
	"\"decision\":\"warn\"",
	"\"policy_rule_name\":\"a-rule\"",
	"\"policy_rule_name\":null",
	"\"rule\":\"r\"",
	"\"builtin\":\"b\"",
	"\"rules\":[]",
	"\"rules\":[{\"name\":\"first\"},{\"name\":\"second\"}]",
	"\"rules\":[{\"line\":3,\"name\":\"first\",\"name\":\"again\"}]",
	"\"rules\":[{}]",
	"\"rules\":[[{\"name\":\"x\"}]]",
	"\"rules\":[\"a\",{\"name\":\"x\"}]",
	"\"rules\":{\"0\":{\"name\":\"x\"}}",
	"\"sandbox_id\":\"box\"",
	"\"sandbox_id\":\"b\xc3\xb6x\"",
	"\"peer\":{\"pid\":12,\"sandbox_id\":\"peer-box\"}",
	"\"peer\":null",
	"\"caller\":\"user\"",
	"\"caller\":{\"name\":\"plugin\",\"version\":\"1\"}",
	"\"caller\":[\"x\"]",
	"\"caller\":false",
	"\"tool\":\"sbx-spawn\"",
	"\"event\":\"syscall\"",
	"\"event\":\"policy_error\"",
	"\"event\":\"syscal\"",
	"\"event\":null",
	"\"event_type\":\"tool_result\"",
	"\"event_type\":\"kernel_start\"",
	"\"time\":\"2026-01-02T03:04:05.678901Z\"",
	"\"time\":\"2026-01-02T03:04:59.000000Z\"",
	"\"time\":\"2026-01-02T03:04:60.000000Z\"",
	"\"time\":\"2026-01-02T03:04:05.67890aZ\"",
	"\"time\":\"2026-02-31T03:04:05.678901Z\"",
	"\"time\":\"2026-01-02T03:04:05Z\"",
	"\"time\":\"1970-01-01T00:00:00.000000Z\"",
	"\"time\":\"1970-01-01T00:00:00.000001Z\"",
	"\"timestamp\":1767323045678",
	"\"timestamp\":\"x\"",
	"\"n\":0",
	"\"n\":-1.5e3",
	"\"n\":12",
	"\"n\":01",
	"\"n\":1-2",
	"\"long\":\"0123456789abcdef0123456789abcdef\\n\"",
	"\"\":\"\"",
	LONG_RULE,
};

static void add_member(struct text *body, uint32_t choice)
{
	if (body->len > 1)
		text_add_char(body, ',');
	text_add(body, members[choice % N_ELEMENTS(members)]);
}

static void make_body(struct text *body, uint32_t *seed)
{
	unsigned n = 1 + (*seed >> 20) % 12;

	text_reset(body);
	text_add_char(body, '{');
	/* Most inputs are valid records. */
	if (*seed >> 28 > 1) {
		add_member(body, 40);
		add_member(body, 46);
	}
	for (unsigned i = 0; i < n; i++) {
		*seed = *seed * 1664525 + 1013904223;
		add_member(body, *seed >> 8);
	}
	text_add_char(body, '}');
}

static void every_member_says_the_same(void)
{
	_cleanup_rig_ struct rig rig = rig_new();

	for (unsigned i = 0; i < N_ELEMENTS(members); i++)
		for (unsigned order = 0; order < 2; order++) {
			text_reset(&rig.body);
			text_add_char(&rig.body, '{');
			if (order)
				add_member(&rig.body, i);
			add_member(&rig.body, 40);
			add_member(&rig.body, 46);
			if (!order)
				add_member(&rig.body, i);
			text_add_char(&rig.body, '}');
			compare(&rig, rig.body.data, rig.body.len);
		}
}

static void any_mixture_of_members_says_the_same(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	unsigned n = test_is_slow() ? 500000 : 5000;
	uint32_t seed = 1;

	for (unsigned i = 0; i < n; i++) {
		make_body(&rig.body, &seed);
		compare(&rig, rig.body.data, rig.body.len);
	}
}

static void what_is_broken_is_so_for_every_reader(void)
{
	_cleanup_rig_ struct rig rig = rig_new();
	unsigned n = test_is_slow() ? 500000 : 5000;
	uint32_t seed = 2;

	for (unsigned i = 0; i < n; i++) {
		size_t at;

		make_body(&rig.body, &seed);
		seed = seed * 1664525 + 1013904223;
		at = (seed >> 8) % rig.body.len;
		if (seed >> 31)
			((uint8_t *)rig.body.data)[at] ^= (uint8_t)(1 << (seed >> 28 & 7));
		else
			text_truncate(&rig.body, at);
		compare(&rig, rig.body.data, rig.body.len);
	}
}

static void too_many_members_are_no_record(void)
{
	_cleanup_rig_ struct rig rig = rig_new();

	for (unsigned n = ENTRY_MEMBERS_MAX - 2; n < ENTRY_MEMBERS_MAX + 3; n++) {
		text_reset(&rig.body);
		text_add_char(&rig.body, '{');
		add_member(&rig.body, 40);
		add_member(&rig.body, 46);
		for (unsigned i = 2; i < n; i++)
			text_addf(&rig.body, ",\"m%u\":1", i);
		text_add_char(&rig.body, '}');
		compare(&rig, rig.body.data, rig.body.len);
	}
}

static void the_time_in_the_first_place_is_that_of_the_record(void)
{
	static const char *const times[] = {
		"2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:59.999999Z",
		"2026-01-02T03:05:00.000000Z", "1970-01-01T00:00:00.000001Z",
		"2024-02-29T23:59:59.000000Z", "9999-12-31T23:59:59.999999Z",
		"1970-01-01T00:00:00.000000Z",
	};
	_cleanup_rig_ struct rig rig = rig_new();

	for (size_t i = 0; i < N_ELEMENTS(times); i++) {
		text_reset(&rig.body);
		text_addf(&rig.body, "{\"version\":1,\"time\":\"%s\",\"event\":\"syscall\"}",
			  times[i]);
		compare(&rig, rig.body.data, rig.body.len);
	}
}

static void a_time_that_is_none_is_no_time(void)
{
	static const char *const bodies[] = {
		"{\"version\":1,\"time\":\"2026-01-02T03:04:60.000000Z\",\"event\":\"syscall\"}",
		"{\"version\":1,\"time\":\"2026-02-30T03:04:05.000000Z\",\"event\":\"syscall\"}",
		"{\"version\":1,\"time\":\"2026-01-02T03:04:05.00000aZ\",\"event\":\"syscall\"}",
		"{\"version\":1,\"time\":\"1969-12-31T23:59:59.000000Z\",\"event\":\"syscall\"}",
		"{\"version\":1,\"time\":\"2026-01-02T03:04:05.678901Z",
		"{\"version\":1,\"event\":\"syscall\"}",
		"{}",
		"",
	};
	_cleanup_rig_ struct rig rig = rig_new();

	for (size_t i = 0; i < N_ELEMENTS(bodies); i++) {
		int r = entry_read_stored(rig.used, bodies[i], strlen(bodies[i]), NULL);

		expect(r < 0 && r != -ENOMEM);
	}
}

/* A fresh reader must not match its empty cache of the last minute. */
static void a_minute_of_nuls_is_no_minute(void)
{
	static const char body[] =
		"{\"version\":1,\"time\":\"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0:05.000000Z\","
		"\"event\":\"syscall\"}";
	_cleanup_rig_ struct rig rig = rig_new();

	expect(entry_read_stored(rig.used, body, sizeof(body) - 1, NULL) < 0);
	compare(&rig, body, sizeof(body) - 1);
}

/* "op" and "caller" have no meaning for the log inside "input". */
static void a_name_means_something_else_in_another_object(void)
{
	static const char *const bodies[] = {
		"{\"time\":\"2026-01-02T03:04:05Z\",\"event\":\"syscall\",\"input\":{\"op\":\"inner\"},"
		"\"pad\":\"01234567890123456789\"}",
		"{\"time\":\"2026-01-02T03:04:05Z\",\"event\":\"syscall\",\"input\":{},\"op\":\"outer\","
		"\"pad\":\"01234567890123456789\"}",
		"{\"time\":\"2026-01-02T03:04:05Z\",\"event\":\"syscall\",\"input\":{\"op\":\"inner\"},"
		"\"op\":\"outer\",\"pad\":\"01234567890123456789\"}",
	};
	static const char *const ops[] = { "inner", "outer", "outer" };
	_cleanup_rig_ struct rig rig = rig_new();

	for (size_t i = 0; i < 30; i++) {
		const struct entry_text *op = &rig.used->columns[ENTRY_OP];

		compare(&rig, bodies[i * i % 3], strlen(bodies[i * i % 3]));
		expect(op->n_bytes == 5 && memcmp(op->bytes, ops[i * i % 3], 5) == 0);
		compare(&rig, bodies[i % 3], strlen(bodies[i % 3]));
		expect(op->n_bytes == 5 && memcmp(op->bytes, ops[i % 3], 5) == 0);
	}
}

static void what_is_nested_too_deeply_is_no_record(void)
{
	_cleanup_rig_ struct rig rig = rig_new();

	for (unsigned depth = JSON_DEPTH_MAX - 3; depth < JSON_DEPTH_MAX + 3; depth++) {
		text_reset(&rig.body);
		text_add(&rig.body, "{\"version\":1,\"time\":\"2026-01-02T03:04:05.678901Z\","
				    "\"event\":\"syscall\",\"deep\":");
		for (unsigned i = 0; i < depth; i++)
			text_add_char(&rig.body, '[');
		for (unsigned i = 0; i < depth; i++)
			text_add_char(&rig.body, ']');
		text_add_char(&rig.body, '}');
		compare(&rig, rig.body.data, rig.body.len);
	}
}

static void a_record_allocates_nothing(void)
{
	static const char *const bodies[] = {
		"{\"time\":\"2026-01-02T03:04:05.678901Z\",\"event\":\"syscall\",\"n\":1}",
		"{\"timestamp\":1767323045678,\"event\":\"syscall\",\"caller\":\"\\u0061\"}",
	};
	_cleanup_rig_ struct rig rig = rig_new();

	if (!count_alloc_works())
		skip("the heap belongs to a sanitizer");
	for (size_t i = 0; i < N_ELEMENTS(bodies); i++)
		compare(&rig, bodies[i], strlen(bodies[i]));
	count_alloc_start();
	for (unsigned i = 0; i < 1000; i++)
		expect_eq(entry_read_stored(rig.used, bodies[i % 2], strlen(bodies[i % 2]), NULL),
			  0);
	expect_eq(count_alloc_stop(), 0);
}

static const struct test tests[] = {
	TEST(every_member_says_the_same),
	TEST(any_mixture_of_members_says_the_same),
	TEST(what_is_broken_is_so_for_every_reader),
	TEST(too_many_members_are_no_record),
	TEST(the_time_in_the_first_place_is_that_of_the_record),
	TEST(a_time_that_is_none_is_no_time),
	TEST(a_minute_of_nuls_is_no_minute),
	TEST(a_name_means_something_else_in_another_object),
	TEST(what_is_nested_too_deeply_is_no_record),
	TEST(a_record_allocates_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
