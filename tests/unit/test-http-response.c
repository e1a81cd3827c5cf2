/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "http-rig.h"

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static struct rig rig;

static const struct http_asked get = { .minor = 1 };
static const struct http_asked head = { .minor = 1, .is_head = true };
static const struct http_asked connects = { .minor = 1, .is_connect = true };
static const struct http_asked websocket = { .minor = 1, .is_websocket = true };

static enum http_fault fault_of(const char *text, const struct http_asked *asked)
{
	long r;

	rig.is_response = true;
	rig.asked = *asked;
	r = rig_check(&rig, text, strlen(text));
	if (r > 0)
		expect_eq(r, strlen(text));
	expect(r != 0 && (r < 0) == (rig.reader.fault != HTTP_OK));
	return rig.reader.fault;
}

/* Each row is refused, and its neighbour is accepted. */
static const struct {
	enum http_fault fault;
	const struct http_asked *asked;
	const char *refused;
	const char *accepted;
} rows[] = {
	{ HTTP_STATUS_LINE, &get, "HTTP/1.1\r\n\r\n", "HTTP/1.1 200\r\n\r\n" },
	{ HTTP_VERSION_UNKNOWN, &get, "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n" },
	{ HTTP_VERSION, &get, "HTTP/1.10 200 OK\r\n\r\n", OK_LINE "\r\n" },
	{ HTTP_VERSION, &get, "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 ICY\r\n\r\n" },
	{ HTTP_VERSION, &get, " HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 \r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 200  OK\r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 206 OK\r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 200 0 OK\r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1 +20 OK\r\n\r\n", "HTTP/1.1 200 \xc3\xbc\r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 100 OK\r\n\r\n" },
	{ HTTP_STATUS, &get, "HTTP/1.1 600 OK\r\n\r\n", "HTTP/1.1 599 OK\r\n\r\n" },
	{ HTTP_BARE_LF, &get, "HTTP/1.1 200 OK\n\n", OK_LINE "\r\n" },
	{ HTTP_FOLD, &get, OK_LINE "X: a\r\n b\r\n\r\n", OK_LINE "X: a b\r\n\r\n" },
	{ HTTP_FIELD_SPACE, &get, OK_LINE "X : a\r\n\r\n", OK_LINE "X: a\r\n\r\n" },
	{ HTTP_LENGTH_AND_ENCODING, &get, OK_LINE CHUNKED "Content-Length: 1\r\n\r\n",
	  OK_LINE CHUNKED "\r\n" },
	{ HTTP_LENGTH_AND_ENCODING, &head, OK_LINE CHUNKED "Content-Length: 1\r\n\r\n",
	  OK_LINE "Content-Length: 1\r\n\r\n" },
	{ HTTP_LENGTH_REPEATED, &get, OK_LINE "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
	  OK_LINE "Content-Length: 1\r\n\r\n" },
	{ HTTP_LENGTH, &get, OK_LINE "Content-Length: 1, 1\r\n\r\n",
	  OK_LINE "Content-Length: 11\r\n\r\n" },
	{ HTTP_ENCODING, &get, OK_LINE "Transfer-Encoding: gzip, chunked\r\n\r\n",
	  OK_LINE "Content-Encoding: gzip\r\n" CHUNKED "\r\n" },
	{ HTTP_ENCODING_IN_1_0, &get, "HTTP/1.0 200 OK\r\n" CHUNKED "\r\n",
	  OK_LINE CHUNKED "\r\n" },
	{ HTTP_CONNECTION_NAMES, &get, OK_LINE "Connection: Content-Length\r\n\r\n",
	  OK_LINE "Connection: Content-Type\r\n\r\n" },
	{ HTTP_BODY_FORBIDDEN, &get, "HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n",
	  "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n" },
	{ HTTP_BODY_FORBIDDEN, &get, "HTTP/1.1 100 C\r\n" CHUNKED "\r\n",
	  "HTTP/1.1 103 E\r\nLink: a\r\n\r\n" },
	{ HTTP_BODY_FORBIDDEN, &connects, OK_LINE "Content-Length: 1\r\n\r\n",
	  OK_LINE "Content-Length: 0\r\n\r\n" },
	{ HTTP_SWITCH, &get, "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	  OK_LINE "Connection: upgrade\r\nUpgrade: h2, h2c\r\n\r\n" },
	{ HTTP_UPGRADE_MALFORMED, &websocket,
	  "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
	  "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n" },
	{ HTTP_UPGRADE_MALFORMED, &websocket, "HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n",
	  "HTTP/1.1 426 S\r\nUpgrade: websocket\r\n\r\n" },
};

static void every_refused_response_has_an_accepted_neighbour(void)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		enum http_fault fault = fault_of(rows[i].refused, rows[i].asked);

		if (fault != rows[i].fault)
			printf("# %zu: %s: %s\n", i, rows[i].refused, http_fault_word(fault));
		expect_eq(fault, rows[i].fault);
		fault = fault_of(rows[i].accepted, rows[i].asked);
		if (fault != HTTP_OK)
			printf("# %zu: %s: %s\n", i, rows[i].accepted, http_fault_word(fault));
		expect_eq(fault, HTTP_OK);
	}
}

static void the_status_and_the_request_decide_about_the_body(void)
{
	static const struct {
		const struct http_asked *asked;
		const char *text;
		enum http_framing framing;
		bool keep_alive;
	} cases[] = {
		{ &get, OK_LINE "Content-Length: 3\r\n\r\n", HTTP_LENGTH_BODY, true },
		{ &get, OK_LINE CHUNKED "\r\n", HTTP_CHUNKED_BODY, true },
		{ &get, OK_LINE "\r\n", HTTP_BODY_UNTIL_CLOSE, false },
		{ &get, OK_LINE "Connection: close\r\nContent-Length: 3\r\n\r\n", HTTP_LENGTH_BODY,
		  false },
		{ &get, "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", HTTP_LENGTH_BODY, false },
		{ &get, "HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\n", HTTP_NO_BODY, true },
		{ &get, "HTTP/1.1 204 N\r\n\r\n", HTTP_NO_BODY, true },
		{ &get, "HTTP/1.1 100 C\r\n\r\n", HTTP_NO_BODY, true },
		{ &head, OK_LINE "Content-Length: 3\r\n\r\n", HTTP_NO_BODY, true },
		{ &head, OK_LINE CHUNKED "\r\n", HTTP_NO_BODY, true },
		{ &head, OK_LINE "\r\n", HTTP_NO_BODY, true },
		{ &connects, OK_LINE "\r\n", HTTP_TUNNEL, false },
		{ &connects, "HTTP/1.1 407 P\r\nContent-Length: 3\r\n\r\n", HTTP_LENGTH_BODY,
		  true },
		{ &connects, "HTTP/1.1 100 C\r\n\r\n", HTTP_NO_BODY, true },
		{ &websocket, "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
		  HTTP_TUNNEL, false },
		{ &websocket, OK_LINE "Content-Length: 3\r\n\r\n", HTTP_LENGTH_BODY, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		expect_eq(fault_of(cases[i].text, cases[i].asked), HTTP_OK);
		if (rig.response.head.framing != cases[i].framing)
			printf("# %s\n", cases[i].text);
		expect_eq(rig.response.head.framing, cases[i].framing);
		expect_eq(rig.response.head.keep_alive, cases[i].keep_alive);
	}
}

static void reads_status_and_reason(void)
{
	expect_eq(fault_of("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", &get), HTTP_OK);
	expect_eq(rig.response.status, 404);
	expect(same_bytes(rig.response.reason, "Not Found"));
	expect_eq(fault_of("HTTP/1.1 200\r\n\r\n", &get), HTTP_OK);
	expect(same_bytes(rig.response.reason, ""));
}

static const struct test tests[] = {
	TEST(every_refused_response_has_an_accepted_neighbour),
	TEST(the_status_and_the_request_decide_about_the_body),
	TEST(reads_status_and_reason),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
