/* SPDX-License-Identifier: MIT */
#include "policy/request.h"

#include <errno.h>
#include <stdint.h>

#include <sbx/error.h>

#include "test.h"

static void read_ok(const char *line, struct request_buffer *ret)
{
	struct sbx_error err = { 0 };

	expect_eq(request_parse(line, strlen(line), ret, &err), 0);
	expect_str(err.what, "");
}

/* The error for the line; expects all three texts in it. */
static struct sbx_error refusal(const char *bytes, size_t n_bytes)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct sbx_error err = { 0 };

	expect_eq(request_parse(bytes, n_bytes, &buffer, &err), -EINVAL);
	expect_eq(request_parse(bytes, n_bytes, &buffer, NULL), -EINVAL);
	expect(buffer.request.operation == NULL);
	expect(*err.what && *err.why && *err.fix);
	return err;
}

static void expect_refused(const char *line, const char *part)
{
	struct sbx_error err = refusal(line, strlen(line));

	if (!strstr(err.what, part) && !strstr(err.why, part) && !strstr(err.fix, part)) {
		printf("# %s\n#   %s\n#   %s\n#   %s\n", line, err.what, err.why, err.fix);
		expect(!"the part stands in the refusal");
	}
}

static void reads_every_member(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	const struct policy_request *request = &buffer.request;

	read_ok("{\"op\":\"fs.write\",\"path\":\"/srv/p/a.c\",\"project\":\"/srv/p\","
		"\"caller\":\"editor\",\"tags\":[\"trusted\",\"core\"],\"state\":\"coding\","
		"\"mode\":\"strict\",\"sandbox\":\"L2\",\"sandbox_id\":\"s1\",\"size\":120,"
		"\"token\":\"0f\",\"id\":7,\"host\":\"h\",\"port\":65535,\"proto\":\"udp\","
		"\"sha256\":\"0a\",\"address\":\"192.0.2.1\"}",
		&buffer);
	expect_str(request->operation, "fs.write");
	expect_str(request->path, "/srv/p/a.c");
	expect_str(request->project_root, "/srv/p");
	expect_str(request->caller, "editor");
	expect(request->caller_tags && request->caller_tags[0] && request->caller_tags[1]);
	expect_str(request->caller_tags[0], "trusted");
	expect_str(request->caller_tags[1], "core");
	expect(request->caller_tags[2] == NULL);
	expect_str(request->state, "coding");
	expect_str(request->mode, "strict");
	expect_str(request->sandbox, "L2");
	expect_str(buffer.sandbox_id, "s1");
	expect(request->has_size && request->size_bytes == 120);
	expect_str(buffer.token, "0f");
	expect_str(buffer.id, "7");
	expect_str(request->host, "h");
	expect(request->has_port && request->port == 65535);
	expect_str(request->proto, "udp");
	expect_str(request->sha256, "0a");
	expect_str(request->address, "192.0.2.1");
}

static void a_missing_member_is_not_set(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	const struct policy_request *request = &buffer.request;

	read_ok("{\"op\":\"git.commit\"}", &buffer);
	expect(!request->path && !request->host && !request->project_root && !request->proto);
	expect(!request->caller && !request->caller_tags && !request->state && !request->mode);
	expect(!request->has_port && !request->has_size && !request->sandbox);
	expect(!request->sha256 && !request->address);
	expect(!buffer.token && !buffer.id && !buffer.sandbox_id);
}

static void a_line_cannot_claim_a_valid_token(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };

	read_ok("{\"op\":\"git.commit\",\"token\":\"00\"}", &buffer);
	expect(!buffer.request.has_token);
	expect_refused("{\"op\":\"git.commit\",\"has_token\":true}", "has_token");
}

static void nothing_is_left_of_the_line_before(void)
{
	static const char first[] = "{\"op\":\"fs.read\",\"path\":\"/a\",\"tags\":[\"x\"],\"id\":1,"
				    "\"size\":1,\"port\":1,\"token\":\"t\"}";
	static const char second[] = "{\"op\":\"exec\"}";
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	const struct policy_request *request = &buffer.request;

	expect_eq(request_parse(first, strlen(first), &buffer, NULL), 0);
	expect_eq(request_parse(second, strlen(second), &buffer, NULL), 0);
	expect_str(request->operation, "exec");
	expect(!request->path && !request->caller_tags && !buffer.id && !buffer.token);
	expect(!request->has_size && !request->has_port);
}

static void escapes_are_decoded(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };

	read_ok("{\"op\":\"fs.read\",\"path\":\"/\\u00fc \\\"x\\\"\"}", &buffer);
	expect_str(buffer.request.path, "/\xc3\xbc \"x\"");
}

static void names_are_decoded_too(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };

	read_ok("{\"\\u006fp\":\"fs.read\",\"p\\u0061th\":\"/a\",\"sandbox\\u005fid\":\"s\"}",
		&buffer);
	expect_str(buffer.request.operation, "fs.read");
	expect_str(buffer.request.path, "/a");
	expect_str(buffer.sandbox_id, "s");
}

static void refuses_a_line_that_is_not_one_object(void)
{
	static const char *const lines[] = {
		"",
		" ",
		"{",
		"[]",
		"null",
		"\"fs.read\"",
		"{\"op\":\"fs.read\"",
		"{\"op\":\"fs.read\"} {}",
		"{\"op\":\"fs.read\",}",
		"{op:\"fs.read\"}",
		"{\"op\":\"fs.read\"}x",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++)
		expect_refused(lines[i], "it is not one JSON object");
}

static void refuses_unknown_members_and_names_the_one_that_was_meant(void)
{
	expect_refused("{\"op\":\"fs.read\",\"pth\":\"/a\"}", "did you mean 'path'?");
	expect_refused("{\"op\":\"fs.read\",\"Path\":\"/a\"}", "did you mean 'path'?");
	expect_refused("{\"op\":\"fs.read\",\"\":\"/a\"}", "unknown member ''");
	expect_refused("{\"op\":\"fs.read\",\"constraints\":{}}", "unknown member 'constraints'");
	expect_refused("{\"op\\u0000\":\"fs.read\"}", "unknown member 'op\\u0000'");
	expect_refused("{\"op\":\"fs.read\",\"o\":1}", "unknown member 'o'");
	expect_refused("{\"op\":\"fs.read\",\"a-name-of-15-by\":1}", "'a-name-of-15-by'");
	expect_refused("{\"op\":\"fs.read\",\"a-name-of-16-byt\":1}", "'a-name-of-16-byt'");
	expect_refused("{\"op\":\"fs.read\",\"sandbox_id_and_more\":1}", "'sandbox_id_and_more'");
}

static void refuses_repeated_members(void)
{
	expect_refused("{\"op\":\"fs.read\",\"\\u006fp\":\"exec\"}", "'op' is given twice");
	expect_refused("{\"op\":\"fs.read\",\"path\":\"/a\",\"path\":\"/b\"}",
		       "'path' is given twice");
	expect_refused("{\"op\":\"fs.read\",\"op\":\"fs.read\"}", "'op' is given twice");
	/* Another spelling of the same name. */
	expect_refused("{\"op\":\"fs.read\",\"path\":\"/a\",\"p\\u0061th\":\"/b\"}",
		       "'path' is given twice");
}

static void refuses_wrong_types(void)
{
	expect_refused("{\"op\":1}", "'op' must be a string");
	expect_refused("{\"op\":\"exec\",\"path\":null}", "'path' must be a string");
	expect_refused("{\"op\":\"exec\",\"path\":[\"/a\"]}", "'path' must be a string");
	expect_refused("{\"op\":\"net.connect\",\"address\":1}", "'address' must be a string");
	expect_refused("{\"op\":\"exec\",\"port\":65536}", "from 0 to 65535");
	expect_refused("{\"op\":\"exec\",\"port\":-1}", "from 0 to 65535");
	expect_refused("{\"op\":\"exec\",\"port\":\"443\"}", "from 0 to 65535");
	expect_refused("{\"op\":\"exec\",\"size\":1.5}", "a number of bytes");
	expect_refused("{\"op\":\"exec\",\"size\":18446744073709551616}", "a number of bytes");
	expect_refused("{\"op\":\"exec\",\"tags\":\"x\"}", "a list of strings");
	expect_refused("{\"op\":\"exec\",\"tags\":[1]}", "'tags' must be a string");
	expect_refused("{\"op\":\"exec\",\"tags\":[[\"x\"]]}", "'tags' must be a string");
	expect_refused("{\"op\":\"exec\",\"id\":{}}", "a short string or a number");
}

static void refuses_a_request_without_an_operation(void)
{
	expect_refused("{}", "it has no 'op'");
	expect_refused("{\"path\":\"/a\"}", "it has no 'op'");
}

static void refuses_a_nul_and_half_characters_in_texts(void)
{
	expect_refused("{\"op\":\"fs.read\",\"path\":\"/etc\\u0000/x\"}", "without NUL");
	expect_refused("{\"op\":\"fs.read\",\"path\":\"/\\ud800\"}", "whole characters");
	expect_refused("{\"op\":\"fs.read\",\"path\":\"/\xff\"}", "not one JSON object");
}

static void refuses_too_many_tags_and_too_many_bytes(void)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	struct sbx_error err;

	text_add(&line, "{\"op\":\"exec\",\"tags\":[\"t\"");
	for (int i = 1; i < REQUEST_TAGS_MAX; i++)
		text_add(&line, ",\"t\"");
	size_t len = line.len;
	text_add(&line, "]}");
	expect_eq(request_parse(line.data, line.len, &buffer, NULL), 0);
	expect(buffer.request.caller_tags[REQUEST_TAGS_MAX - 1] != NULL);
	expect(buffer.request.caller_tags[REQUEST_TAGS_MAX] == NULL);
	text_truncate(&line, len);
	text_add(&line, ",\"t\"]}");
	expect_refused(text_string(&line), "at most 64");

	text_reset(&line);
	text_add(&line, "{\"op\":\"exec\"");
	while (line.len < REQUEST_BYTES_MAX)
		text_add_char(&line, ' ');
	text_add_char(&line, '}');
	err = refusal(line.data, line.len);
	expect(strstr(err.why, "65536") != NULL);
}

/* Reading the next line reuses the buffers and allocates nothing. */
static void the_memory_is_used_again(void)
{
	static const char line[] = "{\"op\":\"fs.read\",\"path\":\"/srv/p/src/a.c\"}";
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	const char *memory;
	size_t size;

	expect_eq(request_parse(line, strlen(line), &buffer, NULL), 0);
	memory = buffer.texts.data;
	size = buffer.texts.size;
	for (int i = 0; i < 1000; i++)
		expect_eq(request_parse(line, strlen(line), &buffer, NULL), 0);
	expect(buffer.texts.data == memory && buffer.texts.size == size);
	expect_eq(request_parse("{", 1, &buffer, NULL), -EINVAL);
	expect(buffer.texts.data == memory);
}

static void the_normal_form_is_read_back_as_the_same_request(void)
{
	static const char line[] =
		"{ \"size\":120, \"tags\":[\"a\",\"b\"],\"op\":\"fs.write\",\"path\":\"/p/\\u0061\","
		"\"project\":\"/p\",\"id\":\"x\",\"token\":\"00\",\"mode\":\"strict\"}";
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	_cleanup_request_ struct request_buffer again = { .texts = TEXT_INIT };
	_cleanup_text_ struct text one = TEXT_INIT, other = TEXT_INIT;

	read_ok(line, &buffer);
	request_add_json(&one, &buffer);
	expect_str(
		text_string(&one),
		"{\"op\":\"fs.write\",\"path\":\"/p/a\",\"project\":\"/p\",\"tags\":[\"a\",\"b\"],"
		"\"mode\":\"strict\",\"size\":120}");
	expect_eq(request_parse(one.data, one.len, &again, NULL), 0);
	request_add_json(&other, &again);
	expect_str(text_string(&other), text_string(&one));
}

static void a_record_of_a_request_holds_no_token(void)
{
	_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
	_cleanup_text_ struct text text = TEXT_INIT;

	read_ok("{\"op\":\"exec\",\"path\":\"/bin/true\",\"token\":\"secret\"}", &buffer);
	request_add_json(&text, &buffer);
	expect(strstr(text_string(&text), "secret") == NULL);
}

static int parse_words(const char *text, struct request_buffer *ret, struct sbx_error *err)
{
	static char copy[4096];
	char *words[80], *rest = NULL;
	size_t n = 0;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	return request_parse_words(words, n, ret, err);
}

static void words_give_the_same_request_as_json(void)
{
	static const char *const rows[][2] = {
		{ "fs.write /p/a project=/p tag=a tag=b state=s mode=m caller=c sandbox=L2 size=2KiB",
		  "{\"op\":\"fs.write\",\"path\":\"/p/a\",\"project\":\"/p\",\"caller\":\"c\","
		  "\"tags\":[\"a\",\"b\"],\"state\":\"s\",\"mode\":\"m\",\"sandbox\":\"L2\","
		  "\"size\":2048}" },
		{ "net.connect example.com:443 proto=tcp",
		  "{\"op\":\"net.connect\",\"host\":\"example.com\",\"port\":443,\"proto\":\"tcp\"}" },
		{ "net.connect example.com", "{\"op\":\"net.connect\",\"host\":\"example.com\"}" },
		{ "net.connect [2001:db8::1]:80",
		  "{\"op\":\"net.connect\",\"host\":\"2001:db8::1\",\"port\":80}" },
		{ "net.connect [::1]", "{\"op\":\"net.connect\",\"host\":\"::1\"}" },
		{ "net.connect 2001:db8::1", "{\"op\":\"net.connect\",\"host\":\"2001:db8::1\"}" },
		{ "net.bind 0.0.0.0:0", "{\"op\":\"net.bind\",\"host\":\"0.0.0.0\",\"port\":0}" },
		{ "net.connect example.com:443 address=192.0.2.1",
		  "{\"op\":\"net.connect\",\"host\":\"example.com\",\"address\":\"192.0.2.1\","
		  "\"port\":443}" },
		{ "exec /bin/cc sha256=0a",
		  "{\"op\":\"exec\",\"path\":\"/bin/cc\",\"sha256\":\"0a\"}" },
		{ "git.commit caller=git", "{\"op\":\"git.commit\",\"caller\":\"git\"}" },
		{ "fs.read /a=b", "{\"op\":\"fs.read\",\"path\":\"/a=b\"}" },
		{ "no.such /a", "{\"op\":\"no.such\",\"path\":\"/a\"}" },
		{ "fs.read", "{\"op\":\"fs.read\"}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
		_cleanup_text_ struct text text = TEXT_INIT;

		expect_eq(parse_words(rows[i][0], &buffer, NULL), 0);
		request_add_json(&text, &buffer);
		expect_str(text_string(&text), rows[i][1]);
	}
}

static void refuses_words_that_mean_nothing(void)
{
	static const char *const rows[][2] = {
		{ "", "it has no 'op'" },
		{ "fs.read /a /b", "'/b' is not one of its attributes" },
		{ "fs.read /a sate=x", "did you mean 'state='?" },
		{ "fs.read /a state=x state=y", "is given twice" },
		{ "fs.write /a size=10mb", "10mb" },
		{ "net.connect h adress=::1", "did you mean 'address='?" },
		{ "net.connect h address=::1 address=::2", "is given twice" },
		{ "net.connect :443", "names no host" },
		{ "net.connect https://h/", "write HOST or HOST:PORT" },
		{ "net.connect h:", "no valid port after its colon" },
		{ "net.connect h:99999", "no valid port after its colon" },
		{ "net.connect [::1]x", "no valid port after its colon" },
		{ "fs.read /\xff", "is not UTF-8" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_request_ struct request_buffer buffer = { .texts = TEXT_INIT };
		struct sbx_error err = { 0 };

		expect_eq(parse_words(rows[i][0], &buffer, &err), -EINVAL);
		if (!strstr(err.what, rows[i][1]) && !strstr(err.fix, rows[i][1])) {
			printf("# %s: %s / %s\n", rows[i][0], err.what, err.fix);
			expect(!"the part stands in the refusal");
		}
		expect(*err.why && *err.fix);
	}
}

static const struct test tests[] = {
	TEST(reads_every_member),
	TEST(a_missing_member_is_not_set),
	TEST(a_line_cannot_claim_a_valid_token),
	TEST(nothing_is_left_of_the_line_before),
	TEST(escapes_are_decoded),
	TEST(names_are_decoded_too),
	TEST(refuses_a_line_that_is_not_one_object),
	TEST(refuses_unknown_members_and_names_the_one_that_was_meant),
	TEST(refuses_repeated_members),
	TEST(refuses_wrong_types),
	TEST(refuses_a_request_without_an_operation),
	TEST(refuses_a_nul_and_half_characters_in_texts),
	TEST(refuses_too_many_tags_and_too_many_bytes),
	TEST(the_memory_is_used_again),
	TEST(the_normal_form_is_read_back_as_the_same_request),
	TEST(a_record_of_a_request_holds_no_token),
	TEST(words_give_the_same_request_as_json),
	TEST(refuses_words_that_mean_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
