/* SPDX-License-Identifier: MIT */

/*
 * The body of a message, byte by byte
 *
 * Payload is skipped in whole pieces; only the lines between chunks are looked at one by one. A
 * size is hexadecimal digits and CRLF: no sign, no space, no extension, and no more digits than 64
 * bits have.
 */

#include <errno.h>

#include "http/http.h"

#define SIZE_DIGITS_MAX 16

enum state {
	STATE_SIZE,
	STATE_SIZE_LF,
	STATE_DATA,
	STATE_DATA_CR,
	STATE_DATA_LF,
	STATE_LAST_CR,
	STATE_LAST_LF,
};

void http_body_init(struct http_body *body, const struct http_head *head)
{
	*body = (struct http_body){
		.framing = head->framing,
		.state = STATE_SIZE,
		.left = head->framing == HTTP_LENGTH_BODY ? head->length : 0,
	};
	body->is_done = head->framing == HTTP_NO_BODY ||
			(head->framing == HTTP_LENGTH_BODY && head->length == 0);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum http_fault read_size(struct http_body *body, char c)
{
	int digit = digit_of(c);

	if (digit >= 0) {
		if (body->n_digits == SIZE_DIGITS_MAX || body->left > INT64_MAX >> 4)
			return HTTP_CHUNK_TOO_BIG;
		body->left = body->left << 4 | (unsigned)digit;
		body->n_digits++;
		return HTTP_OK;
	}
	if (c == '\n')
		return HTTP_BARE_LF;
	if (body->n_digits == 0)
		return HTTP_CHUNK_SIZE;
	if (c == ';')
		return HTTP_CHUNK_EXTENSION;
	if (c != '\r')
		return HTTP_CHUNK_SIZE;
	body->state = STATE_SIZE_LF;
	return HTTP_OK;
}

/* @c is expected to be @wanted, in front of @next. */
static enum http_fault step(struct http_body *body, char c, char wanted, enum state next,
			    enum http_fault otherwise)
{
	if (c != wanted)
		return wanted == '\r' && c == '\n' ? HTTP_BARE_LF : otherwise;
	body->state = next;
	return HTTP_OK;
}

/* One byte of the lines between chunks. */
static enum http_fault read_line_byte(struct http_body *body, char c)
{
	enum http_fault fault;

	switch ((enum state)body->state) {
	case STATE_SIZE_LF:
		body->n_digits = 0;
		return step(body, c, '\n', body->left > 0 ? STATE_DATA : STATE_LAST_CR,
			    HTTP_BARE_CR);
	case STATE_DATA_CR:
		return step(body, c, '\r', STATE_DATA_LF, HTTP_CHUNK_END);
	case STATE_DATA_LF:
		return step(body, c, '\n', STATE_SIZE, HTTP_BARE_CR);
	case STATE_LAST_CR:
		return step(body, c, '\r', STATE_LAST_LF, HTTP_TRAILER);
	case STATE_LAST_LF:
		fault = step(body, c, '\n', STATE_LAST_LF, HTTP_BARE_CR);
		body->is_done = fault == HTTP_OK;
		return fault;
	case STATE_SIZE:
	case STATE_DATA:
		break;
	}
	return read_size(body, c);
}

/* Takes at most body->left bytes of payload. */
static size_t take_data(struct http_body *body, const char *bytes, size_t n_bytes,
			struct http_bytes *ret_data)
{
	size_t n = n_bytes < body->left ? n_bytes : (size_t)body->left;

	body->left -= n;
	*ret_data = (struct http_bytes){ bytes, n };
	return n;
}

static long read_chunked(struct http_body *body, const char *bytes, size_t n_bytes,
			 struct http_bytes *ret_data)
{
	size_t n = 0;

	while (n < n_bytes && !body->is_done) {
		enum http_fault fault;

		if (body->state == STATE_DATA) {
			n += take_data(body, bytes + n, n_bytes - n, ret_data);
			if (body->left == 0)
				body->state = STATE_DATA_CR;
			break;
		}
		fault = read_line_byte(body, bytes[n]);
		if (fault != HTTP_OK) {
			/* The bytes before it are valid: the next call fails. */
			if (n > 0)
				break;
			body->fault = fault;
			return -EBADMSG;
		}
		n++;
	}
	return (long)n;
}

long http_body_read(struct http_body *body, const char *bytes, size_t n_bytes,
		    struct http_bytes *ret_data)
{
	size_t n;

	*ret_data = (struct http_bytes){ bytes, 0 };
	if (body->fault != HTTP_OK)
		return -EBADMSG;
	if (body->is_done)
		return 0;
	if (body->framing == HTTP_CHUNKED_BODY)
		return read_chunked(body, bytes, n_bytes, ret_data);
	if (body->framing != HTTP_LENGTH_BODY) {
		*ret_data = (struct http_bytes){ bytes, n_bytes };
		return (long)n_bytes;
	}
	n = take_data(body, bytes, n_bytes, ret_data);
	body->is_done = body->left == 0;
	return (long)n;
}

long http_body_pass(struct http_body *body, const char *bytes, size_t n_bytes)
{
	struct http_bytes data;
	size_t n = 0;

	while (n < n_bytes) {
		long taken = http_body_read(body, bytes + n, n_bytes - n, &data);

		if (taken < 0 && n == 0)
			return taken;
		if (taken <= 0)
			break;
		n += (size_t)taken;
	}
	return (long)n;
}

int http_body_finish(struct http_body *body)
{
	if (body->fault != HTTP_OK)
		return -EBADMSG;
	if (body->framing == HTTP_BODY_UNTIL_CLOSE || body->framing == HTTP_TUNNEL)
		body->is_done = true;
	if (body->is_done)
		return 0;
	body->fault = HTTP_TRUNCATED;
	return -EBADMSG;
}
