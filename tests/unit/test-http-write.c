/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "base/json.h"
#include "http-rig.h"

static struct rig rig, again;

static const char *request_for(const char *text, bool keep_alive, struct text *out)
{
	rig.is_response = false;
	rig.role = HTTP_PROXY;
	expect_eq(rig_check(&rig, text, strlen(text)), strlen(text));
	http_add_request(out, &rig.request, keep_alive);
	expect_eq(text_status(out), 0);
	return text_string(out);
}

/* The written request is accepted, as a server or the next proxy reads it. */
static void check_request(const char *text, bool keep_alive, const char *want)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_str(request_for(text, keep_alive, &out), want);
	again.is_response = false;
	again.role = rig.request.is_connect ? HTTP_PROXY : HTTP_SERVER;
	expect_eq(rig_check(&again, out.data, out.len), out.len);
	expect(again.request.authority.port == rig.request.authority.port ||
	       rig.request.is_connect);
	expect(hostname_equal(&again.request.authority.host, &rig.request.authority.host));
	expect_eq(again.request.head.framing, rig.request.head.framing);
	expect_eq(again.request.head.length, rig.request.head.length);
}

static void a_request_is_written_for_its_server(void)
{
	check_request(
		"GET http://A.Example.:80/a?b HTTP/1.1\r\nHost: a.example\r\nAccept:  */* \r\n\r\n",
		true, "GET /a?b HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n");
	check_request("GET http://[0::1]:8080/ HTTP/1.0\r\n\r\n", false,
		      "GET / HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n");
	check_request("POST http://a/ HTTP/1.1\r\nContent-Length:  7\r\nHost: a:80\r\nX: y\r\n\r\n",
		      true, "POST / HTTP/1.1\r\nHost: a\r\nX: y\r\nContent-Length: 7\r\n\r\n");
	check_request("PUT http://a/ HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n",
		      true, "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
	check_request("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", true,
		      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
	check_request("GET http://a//b//c HTTP/1.1\r\nHost: a\r\n\r\n", true,
		      "GET //b//c HTTP/1.1\r\nHost: a\r\n\r\n");
	check_request("CONNECT A.example:443 HTTP/1.0\r\n\r\n", true,
		      "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
}

static void fields_of_one_connection_are_left_out(void)
{
	check_request("GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: X, keep-alive\r\n"
		      "x: 1\r\nX-Y: 2\r\nX: 3\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: Z\r\n"
		      "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic YQ==\r\n"
		      "proxy-anything: 1\r\nClose: a\r\nHTTP2-Settings: AA\r\nCookie: b\r\n\r\n",
		      true, "GET / HTTP/1.1\r\nHost: a\r\nX-Y: 2\r\nCookie: b\r\n\r\n");
}

static void an_upgrade_to_websocket_is_asked_for_again(void)
{
	check_request("GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n"
		      "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
		      false,
		      "GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Version: 13\r\nConnection: "
		      "Upgrade\r\nUpgrade: websocket\r\n\r\n");
	check_request("GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n", true,
		      "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void check_response(const struct http_asked *asked, const char *text, const char *want)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	rig.is_response = again.is_response = true;
	rig.asked = again.asked = *asked;
	expect_eq(rig_check(&rig, text, strlen(text)), strlen(text));
	http_add_response(&out, &rig.response, asked, rig.response.head.keep_alive);
	expect_str(text_string(&out), want);
	expect_eq(rig_check(&again, out.data, out.len), out.len);
	expect_eq(again.response.status, rig.response.status);
	expect(asked->minor == 0 || again.response.head.framing == rig.response.head.framing);
}

static void a_response_is_written_for_its_client(void)
{
	static const struct http_asked get = { .minor = 1 }, old = { .minor = 0 };
	static const struct http_asked head = { .minor = 1, .is_head = true };
	static const struct http_asked websocket = { .minor = 1, .is_websocket = true };
	static const struct http_asked connects = { .minor = 1, .is_connect = true };

	check_response(&get,
		       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: X\r\nX: y\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
	check_response(&get, "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
	check_response(&get, "HTTP/1.1 200\r\nProxy-Authenticate: Basic\r\nA: b\r\n\r\n",
		       "HTTP/1.1 200 \r\nA: b\r\nConnection: close\r\n\r\n");
	check_response(&get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	check_response(&old, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	check_response(&get,
		       "HTTP/1.1 200 OK\r\nUpgrade: h2\r\nConnection: Upgrade\r\nContent-Length: "
		       "0\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	check_response(&head, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
		       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
	check_response(&get, "HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\n",
		       "HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\n");
	check_response(&get, "HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n",
		       "HTTP/1.1 204 N\r\n\r\n");
	check_response(&get, "HTTP/1.1 103 E\r\nLink: a\r\nConnection: close\r\n\r\n",
		       "HTTP/1.1 103 E\r\nLink: a\r\n\r\n");
	check_response(
		&websocket,
		"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nA: b\r\n\r\n",
		"HTTP/1.1 101 S\r\nA: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	check_response(&connects, "HTTP/1.1 200 Connected\r\nContent-Length: 0\r\n\r\n",
		       "HTTP/1.1 200 Connected\r\n\r\n");
}

#define REFUSED "Forbidden: a.example:443 is refused, denied"

static void an_error_speaks_to_programs_and_to_people(void)
{
	static const struct http_asked get = { .minor = 1 }, head = { .minor = 1, .is_head = true };
	static const char fields[] =
		"HTTP/1.1 403 " REFUSED "\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"X-Proxy-Error: {\"reason\":\"denied\",\"host\":\"a.example\",\"port\":443,"
		"\"address\":\"192.0.2.1\",\"rule\":\"no \\\"exit\\\"\"}\r\n";
	static const char body[] = "sbx-proxy: " REFUSED "\n  why: a rule?[1m\n"
				   "  fix: add\n         - x\n";
	_cleanup_text_ struct text out = TEXT_INIT, wanted = TEXT_INIT;
	struct hostname host;
	struct http_refusal refusal = {
		.reason = "denied",
		.host = &host,
		.port = 443,
		.address = "192.0.2.1",
		.rule = "no \"exit\"",
		.why = "a rule\033[1m",
		.fix = "add\n  - x",
	};

	expect_eq(hostname_read("A.example", 9, &host), HOSTNAME_OK);
	http_add_error(&out, 403, &refusal, &get, true);
	text_addf(&wanted, "%sContent-Length: %zu\r\n\r\n%s", fields, strlen(body), body);
	expect_str(text_string(&out), text_string(&wanted));
	text_reset(&out);
	text_reset(&wanted);
	http_add_error(&out, 403, &refusal, &head, false);
	text_addf(&wanted, "%sContent-Length: %zu\r\nConnection: close\r\n\r\n", fields,
		  strlen(body));
	expect_str(text_string(&out), text_string(&wanted));
}

static void every_fault_can_be_answered(void)
{
	static const struct http_asked get = { .minor = 1 };

	for (enum http_fault fault = HTTP_OK + 1; fault < N_HTTP_FAULTS; fault++) {
		struct http_refusal refusal = { .reason = http_fault_word(fault) };
		_cleanup_text_ struct text out = TEXT_INIT;
		struct http_body body;
		long n;

		http_add_error(&out, http_fault_status(fault), &refusal, NULL, true);
		rig.is_response = true;
		rig.asked = get;
		n = rig_check(&rig, out.data, out.len);
		expect(n > 0 && !rig.response.head.keep_alive);
		expect(rig.response.reason.len > 0);
		http_body_init(&body, &rig.response.head);
		expect_eq(http_body_pass(&body, out.data + n, out.len - (size_t)n),
			  (long)out.len - n);
		expect(body.is_done);
	}
}

static const struct test tests[] = {
	TEST(a_request_is_written_for_its_server),
	TEST(fields_of_one_connection_are_left_out),
	TEST(an_upgrade_to_websocket_is_asked_for_again),
	TEST(a_response_is_written_for_its_client),
	TEST(an_error_speaks_to_programs_and_to_people),
	TEST(every_fault_can_be_answered),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
