/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/frame-layout.h>

#include "base/text.h"
#include "ring/message.h"
#include "test.h"

#define PARSE(literal) parse(literal, sizeof(literal) - 1)

/* Expects a refusal that names its problem and writes nothing else. */
static const char *parse(const char *bytes, size_t n_bytes)
{
	static const char untouched = 'X';
	struct module_message message = { .module = "X", .error = 91, .body = &untouched };
	const char *problem = "";

	if (module_parse(bytes, n_bytes, &message, &problem) == 0)
		return "accepted";
	expect_str(message.module, "X");
	expect_eq(message.error, 91);
	expect(message.body == &untouched);
	return problem;
}

static void numbers_are_those_of_the_protocols(void)
{
	static const struct {
		unsigned type;
		const char *name;
	} numbers[] = {
		{ 0x00, "STDOUT" },
		{ 0x01, "FS_READ" },
		{ 0x02, "FS_WRITE" },
		{ 0x03, "NET_CONNECT" },
		{ 0x04, "EXEC" },
		{ 0x05, "LISTDIR" },
		{ 0x10, "ALLOW" },
		{ 0x11, "DENY" },
		{ 0x20, "CODE" },
		{ 64 + 1, "LOAD_MODULE" },
		{ 64 + 2, "MODULE_LOADED" },
		{ 64 + 3, "START_MODULE" },
		{ 64 + 4, "MODULE_STARTED" },
		{ 64 + 5, "STOP_MODULE" },
		{ 64 + 6, "MODULE_STOPPED" },
		{ 64 + 10, "CALL_SERVICE" },
		{ 64 + 11, "SERVICE_RESPONSE" },
		{ 64 + 20, "HEARTBEAT" },
		{ 64 + 21, "STATUS_QUERY" },
		{ 64 + 22, "STATUS_REPORT" },
		{ 64 + 30, "SHUTDOWN" },
		{ 64 + 31, "ERROR" },
	};
	size_t n_known = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		expect_str(message_name(numbers[i].type), numbers[i].name);
	for (unsigned type = 0; type < 256; type++)
		n_known += message_row(type) != NULL;
	expect_eq(n_known, sizeof(numbers) / sizeof(numbers[0]));
}

static void every_row_is_complete(void)
{
	for (unsigned type = 0; type < MESSAGE_TYPE_END; type++) {
		const struct message_row *row = message_row(type);

		if (!row)
			continue;
		expect(row->sender >= MESSAGE_BY_SUPERVISOR && row->sender <= MESSAGE_BY_BOTH);
		expect(row->payload_min <= row->payload_max);
		expect(row->payload_max <= SBX_FRAME_PAYLOAD_MAX);
		expect(row->meaning && row->meaning[0]);
		expect((row->payload == PAYLOAD_IS_MODULE) == (type >= 0x40));
		expect((row->payload == PAYLOAD_IS_EMPTY) == (row->payload_max == 0));
	}
}

static void refuses_types_that_no_message_has(void)
{
	static const unsigned types[] = { 0x06, 0x0f, 0x12, 0x1f, 0x21,	 0x40,
					  0x47, 0x5d, 0x60, 0xff, 0x100, UINT32_MAX };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		expect(!message_name(types[i]));
		expect_eq(message_check(types[i], MESSAGE_BY_WORKER, 0, 0), MESSAGE_UNKNOWN_TYPE);
	}
}

static void refuses_a_message_from_the_other_side(void)
{
	expect_eq(message_check(MESSAGE_ALLOW, MESSAGE_BY_SUPERVISOR, 7, 0), 0);
	expect_eq(message_check(MESSAGE_ALLOW, MESSAGE_BY_WORKER, 7, 0), MESSAGE_WRONG_SENDER);
	expect_eq(message_check(MESSAGE_CODE, MESSAGE_BY_WORKER, 0, 1), MESSAGE_WRONG_SENDER);
	expect_eq(message_check(MESSAGE_STDOUT, MESSAGE_BY_SUPERVISOR, 0, 1), MESSAGE_WRONG_SENDER);
	expect_eq(message_check(MESSAGE_HEARTBEAT, MESSAGE_BY_SUPERVISOR, 0, 32), 0);
	expect_eq(message_check(MESSAGE_HEARTBEAT, MESSAGE_BY_WORKER, 0, 32), 0);
	for (unsigned type = 0; type < MESSAGE_TYPE_END; type++) {
		const struct message_row *row = message_row(type);

		for (unsigned sender = 1; row && sender <= 2; sender++)
			expect_eq(message_check(type, sender, 1, row->payload_min) ==
					  MESSAGE_WRONG_SENDER,
				  !(row->sender & sender));
	}
}

static void output_and_code_have_no_request_id(void)
{
	expect_eq(message_check(MESSAGE_STDOUT, MESSAGE_BY_WORKER, 0, 0), 0);
	expect_eq(message_check(MESSAGE_STDOUT, MESSAGE_BY_WORKER, 1, 0),
		  MESSAGE_REQUEST_ID_NOT_ZERO);
	expect_eq(message_check(MESSAGE_CODE, MESSAGE_BY_SUPERVISOR, UINT32_MAX, 0),
		  MESSAGE_REQUEST_ID_NOT_ZERO);
}

static void what_waits_has_a_request_id(void)
{
	expect_eq(message_check(MESSAGE_FS_WRITE, MESSAGE_BY_WORKER, 42, 4), 0);
	expect_eq(message_check(MESSAGE_FS_WRITE, MESSAGE_BY_WORKER, 0, 4),
		  MESSAGE_REQUEST_ID_MISSING);
	expect_eq(message_check(MESSAGE_DENY, MESSAGE_BY_SUPERVISOR, 0, 0),
		  MESSAGE_REQUEST_ID_MISSING);
	expect_eq(message_check(MESSAGE_FS_READ, MESSAGE_BY_WORKER, 0, 4), 0);
	expect_eq(message_check(MESSAGE_FS_READ, MESSAGE_BY_WORKER, 3, 4), 0);
}

static void a_payload_has_the_size_of_its_type(void)
{
	expect_eq(message_check(MESSAGE_DENY, MESSAGE_BY_SUPERVISOR, 42, 1),
		  MESSAGE_PAYLOAD_TOO_LONG);
	expect_eq(message_check(MESSAGE_EXEC, MESSAGE_BY_WORKER, 1, 0), MESSAGE_PAYLOAD_TOO_SHORT);
	expect_eq(message_check(MESSAGE_EXEC, MESSAGE_BY_WORKER, 1, 4095), 0);
	expect_eq(message_check(MESSAGE_EXEC, MESSAGE_BY_WORKER, 1, 4096),
		  MESSAGE_PAYLOAD_TOO_LONG);
	expect_eq(message_check(MESSAGE_CODE, MESSAGE_BY_SUPERVISOR, 0, SBX_FRAME_PAYLOAD_MAX), 0);
	expect_eq(message_check(MESSAGE_CODE, MESSAGE_BY_SUPERVISOR, 0, SBX_FRAME_PAYLOAD_MAX + 1),
		  MESSAGE_PAYLOAD_TOO_LONG);
	expect_eq(message_check(MESSAGE_CODE, MESSAGE_BY_SUPERVISOR, 0, SIZE_MAX),
		  MESSAGE_PAYLOAD_TOO_LONG);
	expect_eq(message_check(MESSAGE_SHUTDOWN, MESSAGE_BY_SUPERVISOR, 9, 31),
		  MESSAGE_PAYLOAD_TOO_SHORT);
}

static void refuses_a_request_id_that_the_frame_cannot_carry(void)
{
	uint32_t id = 5;

	expect_eq(message_request_id(UINT64_C(0x100000000), &id), -ERANGE);
	expect_eq(message_request_id(UINT64_MAX, &id), -ERANGE);
	expect_eq(id, 5);
	expect_eq(message_request_id(UINT32_MAX, &id), 0);
	expect_eq(id, UINT32_MAX);
}

static void reads_a_module_message(void)
{
	static const char text[] =
		" { \"error\" : -3 , \"body\" : [ 1, {\"body\": null} ] , \"module\":\"a\\u002fb\" } ";
	struct module_message message;
	const char *problem = NULL;

	expect_eq(module_parse(text, sizeof(text) - 1, &message, &problem), 0);
	expect_str(message.module, "a/b");
	expect_eq(message.error, -3);
	expect_eq(message.body_size, strlen("[ 1, {\"body\": null} ]"));
	expect(memcmp(message.body, "[ 1, {\"body\": null} ]", message.body_size) == 0);
}

static void prints_what_it_reads(void)
{
	struct module_message again, message = {
		.module = "com.example.\"quoted\" \xc3\xa9",
		.error = INT32_MIN,
		.body = "{\"path\":\"/m.so\"}",
		.body_size = strlen("{\"path\":\"/m.so\"}"),
	};
	_cleanup_text_ struct text out = TEXT_INIT;
	const char *problem = NULL;

	expect_eq(module_print(&message, &out), 0);
	expect_eq(module_parse(out.data, out.len, &again, &problem), 0);
	expect_str(again.module, message.module);
	expect_eq(again.error, message.error);
	expect_eq(again.body_size, message.body_size);
	expect(memcmp(again.body, message.body, message.body_size) == 0);
}

static void the_least_module_message_has_the_least_size_of_the_table(void)
{
	struct module_message message = { .body = "0", .body_size = 1 };
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(module_print(&message, &out), 0);
	expect_eq(out.len, message_row(MESSAGE_HEARTBEAT)->payload_min);
}

static void refuses_what_is_not_exactly_the_three_members(void)
{
	expect_str(PARSE("{\"module\":\"\",\"error\":0}"), "'body' is missing");
	expect_str(PARSE("{\"module\":\"\",\"body\":0}"), "'error' is missing");
	expect_str(PARSE("{\"error\":0,\"body\":0}"), "'module' is missing");
	expect_str(PARSE("{\"module\":\"\",\"error\":0,\"error\":1,\"body\":0}"),
		   "'error' is there twice");
	expect_str(PARSE("{\"module\":\"\",\"error\":0,\"body\":0,\"\\u0062ody\":1}"),
		   "'body' is there twice");
	expect_str(PARSE("{\"module\":\"\",\"error\":0,\"body\":0,\"id\":1}"),
		   "it has a member that is not known");
	expect_str(PARSE("[]"), "it is not an object");
	expect_str(PARSE("null"), "it is not an object");
	expect_str(PARSE("{}"), "'module' is missing");
}

static void refuses_members_of_another_type(void)
{
	static const char *const errors[] = { "null",	     "\"0\"", "0.5", "1e3", "2147483648",
					      "-2147483649", "true",  "{}",  "[0]" };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_addf(&text, "{\"module\":\"\",\"error\":%s,\"body\":0}", errors[i]);
		expect_str(parse(text.data, text.len), "'error' is not an integer of 32 bits");
	}
	expect_str(PARSE("{\"module\":null,\"error\":0,\"body\":0}"), "'module' is not a string");
	expect_str(PARSE("{\"module\":{},\"error\":0,\"body\":0}"), "'module' is not a string");
}

static void refuses_what_is_not_json(void)
{
	static const char whole[] = "{\"module\":\"m\",\"error\":0,\"body\":[\"x\"]}";

	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		expect(strcmp(parse(whole, n), "accepted") != 0);
	expect_str(parse(whole, sizeof(whole) - 1), "accepted");
	expect(strcmp(PARSE("{\"module\":\"m\",\"error\":0,\"body\":0}x"), "accepted") != 0);
	expect(strcmp(PARSE("{\"module\":\"m\",\"error\":0,\"body\":0}\0"), "accepted") != 0);
	expect(strcmp(PARSE("{\"module\":\"m\",\"error\":0,\"body\":0,}"), "accepted") != 0);
	expect(strcmp(PARSE("{\"module\":\"m\",\"error\":00,\"body\":0}"), "accepted") != 0);
	expect(strcmp(PARSE("{\"module\":\"m\",\"error\":0,\"body\":'x'}"), "accepted") != 0);
	expect(strcmp(PARSE("{\"module\":\"\xff\",\"error\":0,\"body\":0}"), "accepted") != 0);
}

static void refuses_a_name_that_would_deceive_a_terminal(void)
{
	expect_str(PARSE("{\"module\":\"a\\u0000b\",\"error\":0,\"body\":0}"),
		   "the name of the module has a character that cannot be seen");
	expect_str(PARSE("{\"module\":\"a\\u001b[2J\",\"error\":0,\"body\":0}"),
		   "the name of the module has a character that cannot be seen");
	expect_str(PARSE("{\"module\":\"a\\u202eb\",\"error\":0,\"body\":0}"),
		   "the name of the module has a character that cannot be seen");
	expect_str(PARSE("{\"module\":\"\\ud800\",\"error\":0,\"body\":0}"),
		   "the name of the module is not UTF-8");
}

static void a_name_has_at_most_255_bytes(void)
{
	for (size_t n = 255; n <= 256; n++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_add(&text, "{\"module\":\"");
		for (size_t i = 0; i < n; i++)
			text_add(&text, "\\u0061");
		text_add(&text, "\",\"error\":0,\"body\":0}");
		expect_str(parse(text.data, text.len),
			   n == 255 ? "accepted" : "the name of the module is too long");
	}
}

static void prints_nothing_that_it_would_refuse(void)
{
	static const char *const bodies[] = { "",  "0,\"error\":1", "0}", "0}{", "0,\"x\":1",
					      "[", "nul",	    "\"" };
	_cleanup_text_ struct text out = TEXT_INIT;
	struct module_message message = { .module = "m" };

	text_add(&out, "kept");
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		message.body = bodies[i];
		message.body_size = strlen(bodies[i]);
		expect_eq(module_print(&message, &out), -EBADMSG);
		expect_str(text_string(&out), "kept");
	}
	message = (struct module_message){ .module = "\xff", .body = "0", .body_size = 1 };
	expect_eq(module_print(&message, &out), -EBADMSG);
	memset(message.module, 'a', sizeof(message.module));
	expect_eq(module_print(&message, &out), -EBADMSG);
	expect_str(text_string(&out), "kept");
}

static const struct test tests[] = {
	TEST(numbers_are_those_of_the_protocols),
	TEST(every_row_is_complete),
	TEST(refuses_types_that_no_message_has),
	TEST(refuses_a_message_from_the_other_side),
	TEST(output_and_code_have_no_request_id),
	TEST(what_waits_has_a_request_id),
	TEST(a_payload_has_the_size_of_its_type),
	TEST(refuses_a_request_id_that_the_frame_cannot_carry),
	TEST(reads_a_module_message),
	TEST(prints_what_it_reads),
	TEST(the_least_module_message_has_the_least_size_of_the_table),
	TEST(refuses_what_is_not_exactly_the_three_members),
	TEST(refuses_members_of_another_type),
	TEST(refuses_what_is_not_json),
	TEST(refuses_a_name_that_would_deceive_a_terminal),
	TEST(a_name_has_at_most_255_bytes),
	TEST(prints_nothing_that_it_would_refuse),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
