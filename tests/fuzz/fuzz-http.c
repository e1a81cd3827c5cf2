/* SPDX-License-Identifier: MIT */

/*
 * The first byte says how the others are read: as a request to a proxy or a server, as a response,
 * or as a chunked body. Fragments give the same result as the whole, and what the writer makes of
 * an accepted head is accepted, means the same, and is written again as it is.
 */

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static bool same(struct http_bytes a, struct http_bytes b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static size_t next_own(const struct http_head *head, size_t i, bool is_own)
{
	while (i < head->n_fields && head->fields[i].is_own != is_own)
		i++;
	return i;
}

/* The fields that go on are the same. */
static void check_fields(const struct http_head *head, const struct http_head *again)
{
	size_t i = next_own(head, 0, false), k = next_own(again, 0, false);

	for (; i < head->n_fields;
	     i = next_own(head, i + 1, false), k = next_own(again, k + 1, false)) {
		check(k < again->n_fields);
		check(same(head->fields[i].name, again->fields[k].name));
		check(same(head->fields[i].value, again->fields[k].value));
	}
	check(k == again->n_fields);
	check(head->is_websocket == again->is_websocket);
}

/* Our own fields may push a head over the limits; nothing else is refused. */
static bool fits(long size, const struct http_reader *reader)
{
	if (size > 0)
		return true;
	check(reader->fault == HTTP_HEAD_TOO_BIG || reader->fault == HTTP_TOO_MANY_FIELDS);
	return false;
}

static void check_request(const struct http_request *request)
{
	static struct http_request again;
	_cleanup_text_ struct text out = TEXT_INIT, twice = TEXT_INIT;
	struct http_reader reader = HTTP_READER_INIT;
	long size;

	http_add_request(&out, request, true);
	check(text_status(&out) == 0);
	size = http_request_read(&reader, out.data, out.len,
				 request->is_connect ? HTTP_PROXY : HTTP_SERVER, &again);
	if (!fits(size, &reader))
		return;
	check((size_t)size == out.len);
	check(same(request->method, again.method) && same(request->path, again.path));
	check(http_authority_equal(&request->authority, &again.authority));
	check(request->head.framing == again.head.framing);
	check(request->head.length == again.head.length);
	check_fields(&request->head, &again.head);
	http_add_request(&twice, &again, true);
	check(twice.len == out.len && memcmp(twice.data, out.data, out.len) == 0);
}

static void check_response(const struct http_response *response, const struct http_asked *asked)
{
	static struct http_response again;
	_cleanup_text_ struct text out = TEXT_INIT, twice = TEXT_INIT;
	struct http_reader reader = HTTP_READER_INIT;
	long size;

	http_add_response(&out, response, asked, true);
	check(text_status(&out) == 0);
	size = http_response_read(&reader, out.data, out.len, asked, &again);
	if (!fits(size, &reader))
		return;
	check((size_t)size == out.len);
	check(response->status == again.status && same(response->reason, again.reason));
	check(asked->minor == 0 || response->head.framing == again.head.framing);
	check(response->head.framing != HTTP_LENGTH_BODY ||
	      response->head.length == again.head.length);
	check_fields(&response->head, &again.head);
	http_add_response(&twice, &again, asked, true);
	check(twice.len == out.len && memcmp(twice.data, out.data, out.len) == 0);
}

static void read_requests(const char *bytes, size_t n_bytes, enum http_role role)
{
	static struct http_request request, part;
	struct http_reader reader = HTTP_READER_INIT, parts = HTTP_READER_INIT;
	long r = http_request_read(&reader, bytes, n_bytes, role, &request), again = 0;

	for (size_t n = 0; again == 0 && n <= n_bytes; n++)
		again = http_request_read(&parts, bytes, n, role, &part);
	check(again == r && parts.fault == reader.fault);
	check((r < 0) == (reader.fault != HTTP_OK) && r <= HTTP_HEAD_MAX);
	if (r > 0)
		check_request(&request);
}

static void read_responses(const char *bytes, size_t n_bytes, const struct http_asked *asked)
{
	static struct http_response response, part;
	struct http_reader reader = HTTP_READER_INIT, parts = HTTP_READER_INIT;
	long r = http_response_read(&reader, bytes, n_bytes, asked, &response), again = 0;

	for (size_t n = 0; again == 0 && n <= n_bytes; n++)
		again = http_response_read(&parts, bytes, n, asked, &part);
	check(again == r && parts.fault == reader.fault);
	if (r > 0)
		check_response(&response, asked);
}

static void read_body(const char *bytes, size_t n_bytes)
{
	static const struct http_head head = { .framing = HTTP_CHUNKED_BODY };
	struct http_body whole, parts;
	size_t n = 0, m = 0;
	long r;

	http_body_init(&whole, &head);
	while ((r = http_body_pass(&whole, bytes + n, n_bytes - n)) > 0)
		n += (size_t)r;
	http_body_init(&parts, &head);
	while (m < n_bytes && (r = http_body_pass(&parts, bytes + m, 1)) > 0)
		m += (size_t)r;
	check(n == m && n <= n_bytes && whole.fault == parts.fault);
	check(whole.is_done == parts.is_done && whole.left == parts.left);
	check(n == n_bytes || whole.is_done || whole.fault != HTTP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	const char *text = (const char *)bytes + 1;
	uint8_t kind = n_bytes > 0 ? bytes[0] : 'p';
	struct http_asked asked = {
		.minor = kind != 'o',
		.is_head = kind == 'h',
		.is_connect = kind == 'c',
		.is_websocket = kind == 'w',
	};

	if (n_bytes == 0)
		return 0;
	if (kind == 'p')
		read_requests(text, n_bytes - 1, HTTP_PROXY);
	else if (kind == 's')
		read_requests(text, n_bytes - 1, HTTP_SERVER);
	else if (kind == 'b')
		read_body(text, n_bytes - 1);
	else
		read_responses(text, n_bytes - 1, &asked);
	return 0;
}
