/* SPDX-License-Identifier: MIT */

#include <stdint.h>

#include "base/cleanup.h"
#include "proxy/hello.h"
#include "test.h"

/* ---- building a ClientHello ---- */

struct bytes {
	uint8_t at[2 * HELLO_BYTES_MAX];
	size_t n;
};

static void put(struct bytes *to, const void *bytes, size_t n)
{
	memcpy(to->at + to->n, bytes, n);
	to->n += n;
}

static void put_number(struct bytes *to, size_t number, size_t n_bytes)
{
	for (size_t i = n_bytes; i-- > 0;)
		to->at[to->n++] = (uint8_t)(number >> i * 8);
}

static void put_vector(struct bytes *to, size_t n_bytes, const struct bytes *content)
{
	put_number(to, content->n, n_bytes);
	put(to, content->at, content->n);
}

static void put_extension(struct bytes *to, size_t type, const struct bytes *content)
{
	put_number(to, type, 2);
	put_vector(to, 2, content);
}

static void put_name(struct bytes *list, size_t type, const char *name)
{
	struct bytes bytes = { .n = 0 };

	put(&bytes, name, strlen(name));
	put_number(list, type, 1);
	put_vector(list, 2, &bytes);
}

static void put_server_name(struct bytes *extensions, const char *name)
{
	struct bytes list = { .n = 0 }, extension = { .n = 0 };

	put_name(&list, 0, name);
	put_vector(&extension, 2, &list);
	put_extension(extensions, 0, &extension);
}

static void put_padding(struct bytes *extensions, size_t n)
{
	struct bytes zeros = { .n = n };

	put_extension(extensions, 21, &zeros);
}

/* Up to the extensions. */
static struct bytes begin(void)
{
	struct bytes body = { .n = 34 };

	body.at[0] = body.at[1] = 3;
	put(&body, "\0\0\2\x13\1\1\0", 7);
	return body;
}

static struct bytes message_of(const struct bytes *body)
{
	struct bytes message = { .n = 0 };

	put_number(&message, 1, 1);
	put_vector(&message, 3, body);
	return message;
}

static struct bytes with(const struct bytes *extensions)
{
	struct bytes body = begin();

	put_vector(&body, 2, extensions);
	return message_of(&body);
}

/* In records of @n_record bytes. */
static struct bytes stream_of(const struct bytes *message, size_t n_record)
{
	struct bytes stream = { .n = 0 };

	for (size_t at = 0; at < message->n; at += n_record) {
		size_t left = message->n - at, n = left < n_record ? left : n_record;

		put(&stream, "\x16\3\1", 3);
		put_number(&stream, n, 2);
		put(&stream, message->at + at, n);
	}
	return stream;
}

static struct bytes stream_with(const struct bytes *extensions)
{
	struct bytes message = with(extensions);

	return stream_of(&message, HELLO_BYTES_MAX);
}

static struct bytes stream_for(const char *name)
{
	struct bytes extensions = { .n = 0 };

	put_padding(&extensions, 3);
	put_server_name(&extensions, name);
	put_padding(&extensions, 0);
	return stream_with(&extensions);
}

/* Reads every prefix in memory of exactly its size: only the whole stream has the result, and more
 * bytes do not change it. */
static enum hello_kind read_all(const struct bytes *stream, struct hello *ret)
{
	enum hello_kind kind = hello_read(stream->at, stream->n, ret);
	struct hello again;

	for (size_t n = 0; n < stream->n; n++) {
		_cleanup_free_ uint8_t *prefix = malloc(n + 1);
		enum hello_kind early;

		memcpy(prefix + 1, stream->at, n);
		early = hello_read(prefix + 1, n, &again);
		expect(early == HELLO_INCOMPLETE || (early == kind && kind != HELLO_NAMED));
		expect(again.name[0] == '\0');
	}
	for (size_t more = 1; more < 9; more++) {
		expect_eq(hello_read(stream->at, stream->n + more, &again), kind);
		expect_str(again.name, ret->name);
	}
	return kind;
}

static enum hello_kind kind_of(const struct bytes *stream)
{
	struct hello hello;
	enum hello_kind kind = read_all(stream, &hello);

	expect((kind == HELLO_NAMED) == (hello.name[0] != '\0'));
	return kind;
}

/* ---- tests ---- */

static void reads_the_name_in_lower_case(void)
{
	struct bytes stream = stream_for("WWW.Example-1.test");
	struct hello hello;

	expect_eq(read_all(&stream, &hello), HELLO_NAMED);
	expect_str(hello.name, "www.example-1.test");
}

static void a_message_may_come_in_several_records(void)
{
	struct bytes extensions = { .n = 0 }, message, stream;
	struct hello hello;

	put_server_name(&extensions, "a.test");
	put_padding(&extensions, 900);
	message = with(&extensions);
	for (size_t n = message.n / HELLO_RECORDS_MAX + 1; n <= message.n; n += 61) {
		stream = stream_of(&message, n);
		expect_eq(read_all(&stream, &hello), HELLO_NAMED);
		expect_str(hello.name, "a.test");
	}
}

static void too_many_records_are_invalid(void)
{
	struct bytes extensions = { .n = 0 }, message, stream;

	put_server_name(&extensions, "a.test");
	message = with(&extensions);
	stream = stream_of(&message, message.n / HELLO_RECORDS_MAX);
	expect_eq(hello_read(stream.at, stream.n, &(struct hello){ "" }), HELLO_INVALID);
}

static void a_client_may_name_no_server(void)
{
	struct bytes extensions = { .n = 0 }, body = begin(), message = message_of(&body), stream;

	stream = stream_of(&message, HELLO_BYTES_MAX);
	expect_eq(kind_of(&stream), HELLO_NAMELESS);
	stream = stream_with(&extensions);
	expect_eq(kind_of(&stream), HELLO_NAMELESS);
	put_padding(&extensions, 5);
	stream = stream_with(&extensions);
	expect_eq(kind_of(&stream), HELLO_NAMELESS);
}

static void two_names_are_invalid(void)
{
	struct bytes twice = { .n = 0 }, list = { .n = 0 }, both = { .n = 0 },
		     extension = { .n = 0 };
	struct bytes stream;

	put_server_name(&twice, "a.test");
	put_server_name(&twice, "a.test");
	stream = stream_with(&twice);
	expect_eq(kind_of(&stream), HELLO_INVALID);
	put_name(&list, 0, "a.test");
	put_name(&list, 0, "b.test");
	put_vector(&extension, 2, &list);
	put_extension(&both, 0, &extension);
	stream = stream_with(&both);
	expect_eq(kind_of(&stream), HELLO_INVALID);
}

static void an_empty_list_of_names_is_invalid(void)
{
	struct bytes extensions = { .n = 0 }, extension = { .n = 0 }, list = { .n = 0 }, stream;

	put_extension(&extensions, 0, &extension);
	stream = stream_with(&extensions);
	expect_eq(kind_of(&stream), HELLO_INVALID);
	extensions.n = 0;
	put_vector(&extension, 2, &list);
	put_extension(&extensions, 0, &extension);
	stream = stream_with(&extensions);
	expect_eq(kind_of(&stream), HELLO_INVALID);
}

static void a_name_of_another_type_is_invalid(void)
{
	struct bytes extensions = { .n = 0 }, extension = { .n = 0 }, list = { .n = 0 }, stream;

	put_name(&list, 1, "a.test");
	put_vector(&extension, 2, &list);
	put_extension(&extensions, 0, &extension);
	stream = stream_with(&extensions);
	expect_eq(kind_of(&stream), HELLO_INVALID);
}

static void names_that_are_no_hosts_are_invalid(void)
{
	static const char *const names[] = {
		"",	      ".",	"a.",	 ".a",	  "a..b", "a b",  "a\tb",
		"a/b",	      "a:443",	"[::1]", "a%2eb", "a@b",  "a\\b", "\xc3\xa4.test",
		"a\x7f.test", "a\r\nb", "a,b",	 NULL,
	};
	char name[HELLO_NAME_MAX + 2];
	struct bytes stream;

	for (size_t i = 0; names[i]; i++) {
		stream = stream_for(names[i]);
		expect_eq(kind_of(&stream), HELLO_INVALID);
	}
	memset(name, 'a', sizeof(name));
	name[64] = '\0';
	stream = stream_for(name);
	expect_eq(kind_of(&stream), HELLO_INVALID);
	stream = stream_for(name + 1);
	expect_eq(kind_of(&stream), HELLO_NAMED);
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? '.' : 'a';
	name[HELLO_NAME_MAX + 1] = '\0';
	stream = stream_for(name);
	expect_eq(kind_of(&stream), HELLO_INVALID);
	name[HELLO_NAME_MAX] = '\0';
	stream = stream_for(name);
	expect_eq(kind_of(&stream), HELLO_NAMED);
}

static void a_zero_byte_in_a_name_is_invalid(void)
{
	struct bytes stream = stream_for("allowed.test!.evil.test");
	uint8_t *mark = memchr(stream.at, '!', stream.n);

	*mark = '\0';
	expect_eq(kind_of(&stream), HELLO_INVALID);
}

static void other_protocols_are_no_tls(void)
{
	static const struct {
		const char *bytes;
		size_t n;
	} streams[] = {
		{ "SSH-2.0-x\r\n", 11 },     { "GET / HTTP/1.1\r\n", 16 }, { "\x80\x2e\1\3\1", 5 },
		{ "\x15\3\1\0\2\2\x28", 7 }, { "\x17\3\3\0\1x", 6 },	   { "\x16\2\0\0\1\1", 6 },
	};
	struct hello hello;

	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		expect_eq(hello_read(streams[i].bytes, streams[i].n, &hello), HELLO_NO_TLS);
}

static void another_record_inside_the_message_is_invalid(void)
{
	struct bytes first = stream_for("a.test"), stream = { .n = 0 };

	put(&stream, "\x16\3\1\0\4", 5);
	put(&stream, first.at + 5, 4);
	put(&stream, "\x14\3\1\0\1\1", 6);
	expect_eq(hello_read(stream.at, stream.n, &(struct hello){ "" }), HELLO_INVALID);
}

static void another_handshake_message_is_invalid(void)
{
	struct bytes stream = stream_for("a.test");

	stream.at[5] = 2;
	expect_eq(hello_read(stream.at, stream.n, &(struct hello){ "" }), HELLO_INVALID);
}

/* A length that promises more or less than there is never gives another name. */
static void changed_bytes_give_no_other_name(void)
{
	struct bytes stream = stream_for("a.test");
	struct hello hello;

	for (size_t i = 0; i < stream.n; i++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t before = stream.at[i];
			enum hello_kind kind;

			stream.at[i] = (uint8_t)value;
			kind = hello_read(stream.at, stream.n, &hello);
			stream.at[i] = before;
			expect((kind == HELLO_NAMED) == (hello.name[0] != '\0'));
			expect(kind != HELLO_NAMED || strlen(hello.name) == 6);
		}
}

static void a_message_longer_than_the_bound_is_invalid(void)
{
	struct bytes extensions = { .n = 0 }, message, stream;

	put_padding(&extensions, HELLO_BYTES_MAX - 1000);
	put_server_name(&extensions, "a.test");
	put_padding(&extensions, 1000);
	message = with(&extensions);
	stream = stream_of(&message, HELLO_BYTES_MAX / 2);
	expect_eq(hello_read(stream.at, stream.n, &(struct hello){ "" }), HELLO_INVALID);
	expect_eq(hello_read("\x16\3\1\0\4\1\0\x40\0", 9, &(struct hello){ "" }), HELLO_INVALID);
}

static const struct test tests[] = {
	TEST(reads_the_name_in_lower_case),
	TEST(a_message_may_come_in_several_records),
	TEST(too_many_records_are_invalid),
	TEST(a_client_may_name_no_server),
	TEST(two_names_are_invalid),
	TEST(an_empty_list_of_names_is_invalid),
	TEST(a_name_of_another_type_is_invalid),
	TEST(names_that_are_no_hosts_are_invalid),
	TEST(a_zero_byte_in_a_name_is_invalid),
	TEST(other_protocols_are_no_tls),
	TEST(another_record_inside_the_message_is_invalid),
	TEST(another_handshake_message_is_invalid),
	TEST(changed_bytes_give_no_other_name),
	TEST(a_message_longer_than_the_bound_is_invalid),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
