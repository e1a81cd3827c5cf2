/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "http-rig.h"

/* The part of a body that was passed on. */
struct passed {
	size_t n;
	enum http_fault fault;
	bool is_done;
	struct text data;
};

static void begin(struct http_body *body, enum http_framing framing, uint64_t length)
{
	static struct http_head head;

	head.framing = framing;
	head.length = length;
	http_body_init(body, &head);
}

/* Gives the body in fragments of up to @step bytes, whose rest is given again. */
static void pass(const char *text, size_t n_bytes, struct http_body *body, size_t step,
		 struct passed *ret)
{
	const struct text empty = TEXT_INIT;
	uint64_t seed = step;
	size_t end = 0;
	long r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->data = empty;
	while (r >= 0 && (end < n_bytes || ret->n < end) && !body->is_done) {
		struct http_bytes data;

		if (end < n_bytes)
			end += 1 + next_random(&seed, step < n_bytes - end ? step : n_bytes - end);
		r = http_body_read(body, text + ret->n, end - ret->n, &data);
		expect(r != 0);
		if (r > 0) {
			ret->n += (size_t)r;
			text_add_bytes(&ret->data, data.at, data.len);
		}
	}
	ret->fault = body->fault;
	ret->is_done = body->is_done;
}

/* Passes the body in all kinds of fragments, which must give the same. The caller frees the data.
 */
static struct passed pass_chunked(const char *text, size_t n_bytes)
{
	static const size_t steps[] = { 1, 2, 5, 1000 };
	struct passed whole;
	struct http_body body;
	size_t n = 0;
	long r;

	begin(&body, HTTP_CHUNKED_BODY, 0);
	pass(text, n_bytes, &body, SIZE_MAX, &whole);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		struct passed parts;

		begin(&body, HTTP_CHUNKED_BODY, 0);
		pass(text, n_bytes, &body, steps[i], &parts);
		expect_eq(parts.n, whole.n);
		expect_eq(parts.fault, whole.fault);
		expect_eq(parts.is_done, whole.is_done);
		expect_str(text_string(&parts.data), text_string(&whole.data));
		text_deinit(&parts.data);
	}
	begin(&body, HTTP_CHUNKED_BODY, 0);
	while (n < n_bytes && (r = http_body_pass(&body, text + n, n_bytes - n)) > 0)
		n += (size_t)r;
	expect_eq(n, whole.n);
	return whole;
}

/* Each row is refused after so many bytes, and its neighbour is a whole body. */
static const struct {
	enum http_fault fault;
	size_t n;
	const char *refused;
	const char *accepted;
	const char *data;
} rows[] = {
	{ HTTP_CHUNK_SIZE, 0, "-1\r\n", "1\r\na\r\n0\r\n\r\n", "a" },
	{ HTTP_CHUNK_SIZE, 0, "+1\r\n", "0\r\n\r\n", "" },
	{ HTTP_CHUNK_SIZE, 0, " 1\r\n", "00\r\n\r\n", "" },
	{ HTTP_CHUNK_SIZE, 1, "1 \r\na\r\n", "01\r\na\r\n0\r\n\r\n", "a" },
	{ HTTP_CHUNK_SIZE, 1, "0x1\r\na\r\n", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789" },
	{ HTTP_CHUNK_SIZE, 0, "\r\n", "a\r\n0123456789\r\n0\r\n\r\n", "0123456789" },
	{ HTTP_CHUNK_SIZE, 0, "g\r\n", "f\r\n0123456789abcde\r\n0\r\n\r\n", "0123456789abcde" },
	{ HTTP_CHUNK_SIZE, 1, "1,\r\n", "1\r\n,\r\n0\r\n\r\n", "," },
	{ HTTP_CHUNK_EXTENSION, 1, "1;a=b\r\n", "1\r\n;\r\n0\r\n\r\n", ";" },
	{ HTTP_CHUNK_EXTENSION, 7, "1\r\na\r\n0;a\r\n", "1\r\na\r\n000\r\n\r\n", "a" },
	{ HTTP_CHUNK_TOO_BIG, 16, "10000000000000000\r\n", "0000000000000001\r\na\r\n0\r\n\r\n",
	  "a" },
	{ HTTP_CHUNK_TOO_BIG, 16, "00000000000000001\r\n", "0000000000000000\r\n\r\n", "" },
	{ HTTP_CHUNK_TOO_BIG, 15, "8000000000000000\r\n", "00001\r\na\r\n0\r\n\r\n", "a" },
	{ HTTP_CHUNK_TOO_BIG, 15, "ffffffffffffffff\r\n", "2\r\nff\r\n0\r\n\r\n", "ff" },
	{ HTTP_BARE_LF, 1, "1\na\r\n", "1\r\n\n\r\n0\r\n\r\n", "\n" },
	{ HTTP_BARE_LF, 4, "1\r\na\n0\r\n\r\n", "2\r\na\n\r\n0\r\n\r\n", "a\n" },
	{ HTTP_BARE_LF, 3, "0\r\n\n", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc" },
	{ HTTP_BARE_LF, 1, "0\n\r\n", "0\r\n\r\n", "" },
	{ HTTP_BARE_CR, 2, "1\ra\r\n", "1\r\n\r\r\n0\r\n\r\n", "\r" },
	{ HTTP_BARE_CR, 5, "1\r\na\rb", "3\r\na\rb\r\n0\r\n\r\n", "a\rb" },
	{ HTTP_BARE_CR, 4, "0\r\n\rX", "0\r\n\r\n", "" },
	{ HTTP_CHUNK_END, 4, "1\r\nab\r\n", "2\r\nab\r\n0\r\n\r\n", "ab" },
	{ HTTP_TRAILER, 3, "0\r\nX: a\r\n\r\n", "0\r\n\r\n", "" },
	{ HTTP_TRAILER, 3, "0\r\n0\r\n\r\n", "0\r\n\r\n", "" },
};

static void every_refused_chunk_has_an_accepted_neighbour(void)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct passed passed = pass_chunked(rows[i].refused, strlen(rows[i].refused));

		if (passed.fault != rows[i].fault || passed.n != rows[i].n)
			printf("# %zu: %s at %zu\n", i, http_fault_word(passed.fault), passed.n);
		expect_eq(passed.fault, rows[i].fault);
		expect_eq(passed.n, rows[i].n);
		text_deinit(&passed.data);
		passed = pass_chunked(rows[i].accepted, strlen(rows[i].accepted));
		expect_eq(passed.fault, HTTP_OK);
		expect_eq(passed.n, strlen(rows[i].accepted));
		expect(passed.is_done);
		expect_str(text_string(&passed.data), rows[i].data);
		text_deinit(&passed.data);
	}
}

static void the_bytes_after_a_body_are_left(void)
{
	static const char text[] = "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n";
	struct passed passed = pass_chunked(text, sizeof(text) - 1);
	struct http_body body;
	struct http_bytes data;

	expect_eq(passed.n, 11);
	expect(passed.is_done);
	text_deinit(&passed.data);
	begin(&body, HTTP_LENGTH_BODY, 3);
	expect_eq(http_body_pass(&body, "abcGET", 6), 3);
	expect(body.is_done);
	expect_eq(http_body_read(&body, "GET", 3, &data), 0);
	begin(&body, HTTP_NO_BODY, 0);
	expect(body.is_done);
	expect_eq(http_body_pass(&body, "GET", 3), 0);
	begin(&body, HTTP_LENGTH_BODY, 0);
	expect(body.is_done);
}

static void the_largest_chunk_is_accepted(void)
{
	struct http_body body;
	struct http_bytes data;

	begin(&body, HTTP_CHUNKED_BODY, 0);
	expect_eq(http_body_read(&body, "7fffffffffffffff\r\nab", 20, &data), 20);
	expect_eq(data.len, 2);
	expect_eq(body.left, INT64_MAX - 2);
}

static void a_peer_may_close_only_at_the_end(void)
{
	static const char text[] = "1\r\na\r\n0\r\n\r\n";
	struct http_body body;

	for (size_t n = 0; n < sizeof(text); n++) {
		bool is_whole = n == sizeof(text) - 1;

		begin(&body, HTTP_CHUNKED_BODY, 0);
		expect_eq(http_body_pass(&body, text, n), n);
		expect((http_body_finish(&body) == 0) == is_whole);
		expect_eq(body.fault, is_whole ? HTTP_OK : HTTP_TRUNCATED);
	}
	begin(&body, HTTP_LENGTH_BODY, 2);
	expect_eq(http_body_pass(&body, "a", 1), 1);
	expect(http_body_finish(&body) < 0);
	begin(&body, HTTP_BODY_UNTIL_CLOSE, 0);
	expect_eq(http_body_pass(&body, "a", 1), 1);
	expect(!body.is_done);
	expect_eq(http_body_finish(&body), 0);
	expect(body.is_done);
}

static void random_chunks_give_their_payload(void)
{
	uint64_t seed = 7;

	for (unsigned i = 0; i < 200; i++) {
		_cleanup_text_ struct text wire = TEXT_INIT, data = TEXT_INIT;
		struct passed passed;

		for (size_t n = next_random(&seed, 6); n > 0; n--) {
			size_t len = 1 + next_random(&seed, 40);

			text_addf(&wire, i % 2 ? "%zx\r\n" : "%03zX\r\n", len);
			for (size_t k = 0; k < len; k++) {
				char c = "\r\n0a;"[next_random(&seed, 5)];

				text_add_char(&wire, c);
				text_add_char(&data, c);
			}
			text_add(&wire, "\r\n");
		}
		text_add(&wire, "0\r\n\r\n");
		passed = pass_chunked(wire.data, wire.len);
		expect(passed.is_done);
		expect_str(text_string(&passed.data), text_string(&data));
		text_deinit(&passed.data);
	}
}

static const struct test tests[] = {
	TEST(every_refused_chunk_has_an_accepted_neighbour),
	TEST(the_bytes_after_a_body_are_left),
	TEST(the_largest_chunk_is_accepted),
	TEST(a_peer_may_close_only_at_the_end),
	TEST(random_chunks_give_their_payload),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
