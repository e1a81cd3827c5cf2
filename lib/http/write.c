/* SPDX-License-Identifier: MIT */

/*
 * Heads, written anew from what was read
 *
 * The next hop gets our reading of a message: one Host, one framing field, no field of the other
 * connection. Everything else goes on byte for byte, except for white space around values.
 */

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "http/http.h"

static void add(struct text *out, struct http_bytes bytes)
{
	text_add_bytes(out, bytes.at, bytes.len);
}

static void add_fields(struct text *out, const struct http_head *head)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		if (head->fields[i].is_own)
			continue;
		add(out, head->fields[i].name);
		text_add(out, ": ");
		add(out, head->fields[i].value);
		text_add(out, "\r\n");
	}
}

static void add_length(struct text *out, uint64_t length)
{
	text_addf(out, "Content-Length: %llu\r\n", (unsigned long long)length);
}

static void add_connection(struct text *out, bool is_websocket, bool keep_alive)
{
	if (is_websocket)
		text_add(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (!keep_alive)
		text_add(out, "Connection: close\r\n");
}

#define PORT_OF_HTTP 80

void http_add_request(struct text *out, const struct http_request *request, bool keep_alive)
{
	const struct http_head *head = &request->head;
	char authority[HTTP_AUTHORITY_SIZE];

	(void)http_authority_print(&request->authority, request->is_connect ? 0 : PORT_OF_HTTP,
				   authority);
	add(out, request->method);
	text_add_char(out, ' ');
	if (request->is_connect)
		text_add(out, authority);
	add(out, request->path);
	text_add(out, " HTTP/1.1\r\nHost: ");
	text_add(out, authority);
	text_add(out, "\r\n");
	add_fields(out, head);
	if (head->framing == HTTP_CHUNKED_BODY)
		text_add(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_length)
		add_length(out, head->length);
	add_connection(out, head->is_websocket, keep_alive);
	text_add(out, "\r\n");
}

/* A response below 200, and a 204, have no Content-Length (RFC 9110, 8.6); neither has the answer
 * to a CONNECT that succeeded. */
static void add_response_framing(struct text *out, const struct http_response *response,
				 const struct http_asked *asked)
{
	const struct http_head *head = &response->head;

	if (response->status < 200 || response->status == 204 || head->framing == HTTP_TUNNEL)
		return;
	if (head->has_length)
		add_length(out, head->length);
	else if (head->framing == HTTP_CHUNKED_BODY && asked->minor == 1)
		text_add(out, "Transfer-Encoding: chunked\r\n");
}

void http_add_response(struct text *out, const struct http_response *response,
		       const struct http_asked *asked, bool keep_alive)
{
	const struct http_head *head = &response->head;

	text_addf(out, "HTTP/1.1 %u ", response->status);
	add(out, response->reason);
	text_add(out, "\r\n");
	add_fields(out, head);
	add_response_framing(out, response, asked);
	if (response->status >= 200 || head->is_websocket)
		add_connection(out, head->is_websocket,
			       head->framing == HTTP_TUNNEL ||
				       (keep_alive && asked->minor == 1 &&
					head->framing != HTTP_BODY_UNTIL_CLOSE));
	text_add(out, "\r\n");
}

/* ---- our own responses ---- */

static const struct {
	unsigned status;
	const char *phrase;
} phrases[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 414, "URI Too Long" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

/* RFC 9112 allows an empty one. */
static const char *phrase_of(unsigned status)
{
	for (size_t i = 0; i < N_ELEMENTS(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}

/* On one line, and short: some clients limit the size of a head to 8 KiB. */
#define REFUSAL_BYTES_MAX 512

static void add_member(struct json_writer *writer, const char *name, const char *value)
{
	if (!value)
		return;
	json_add_name(writer, name);
	json_add_string_bytes(writer, value, strnlen(value, REFUSAL_BYTES_MAX));
}

static void add_refusal(struct text *out, const struct http_refusal *refusal, const char *host)
{
	struct json_writer writer;

	text_add(out, "X-Proxy-Error: ");
	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "reason", refusal->reason);
	if (refusal->host)
		json_member_string(&writer, "host", host);
	if (refusal->port > 0)
		json_member_u64(&writer, "port", refusal->port);
	add_member(&writer, "address", refusal->address);
	add_member(&writer, "rule", refusal->rule);
	json_end_object(&writer);
	text_add(out, "\r\n");
}

/* "Forbidden: a.example:443 is refused, denied", "Bad Gateway: a.example:443 failed, timeout" */
static void add_what(struct text *out, unsigned status, const struct http_refusal *refusal,
		     const char *host)
{
	bool is_ipv6 = refusal->host && refusal->host->kind == HOSTNAME_IPV6;

	text_add(out, phrase_of(status));
	if (refusal->host)
		text_addf(out, is_ipv6 ? ": [%s]:%u" : ": %s:%u", host, refusal->port);
	if (refusal->host)
		text_add(out, status < 500 ? " is refused" : " failed");
	text_addf(out, ", %s", refusal->reason);
}

/* The texts may come from the policy's author: line ends stay, other control bytes must not reach
 * a terminal. */
static void add_lines(struct text *out, const char *label, const char *lines)
{
	if (!lines || *lines == '\0')
		return;
	text_add(out, label);
	for (const char *c = lines; *c; c++) {
		bool is_hidden = (unsigned char)*c < ' ' || *c == 0x7f;

		if (*c == '\n')
			text_add(out, "\n       ");
		else if (is_hidden)
			text_add_char(out, '?');
		else
			text_add_char(out, *c);
	}
	text_add_char(out, '\n');
}

static void add_body(struct text *out, unsigned status, const struct http_refusal *refusal,
		     const char *host)
{
	text_add(out, "sbx-proxy: ");
	add_what(out, status, refusal, host);
	text_add_char(out, '\n');
	add_lines(out, "  why: ", refusal->why);
	add_lines(out, "  fix: ", refusal->fix);
}

void http_add_error(struct text *out, unsigned status, const struct http_refusal *refusal,
		    const struct http_asked *asked, bool keep_alive)
{
	_cleanup_text_ struct text body = TEXT_INIT;
	char host[HOSTNAME_TEXT_SIZE] = "";

	if (refusal->host)
		(void)hostname_print(refusal->host, host);
	add_body(&body, status, refusal, host);
	text_addf(out, "HTTP/1.1 %u ", status);
	add_what(out, status, refusal, host);
	text_add(out, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
	add_refusal(out, refusal, host);
	add_length(out, body.len);
	add_connection(out, false, keep_alive && asked && asked->minor == 1);
	text_add(out, "\r\n");
	if (!asked || !asked->is_head)
		text_add_bytes(out, body.data, body.len);
	out->failed = out->failed || text_status(&body) < 0;
}
