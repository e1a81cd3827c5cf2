/* SPDX-License-Identifier: MIT */

/*
 * A host and a port as one text
 *
 * The host is read by base/hostname, as in the evaluator. Parsers differ in the colon at which they
 * split "a:1:2" and in the ports that they wrap around or cut off: there is one colon outside
 * brackets, and a port is written as no other number is.
 */

#include <string.h>

#include "http/http.h"

#define PORT_DIGITS_MAX 5

static enum http_fault read_port(const char *text, size_t len, uint16_t *ret)
{
	uint32_t port = 0;

	if (len == 0 || len > PORT_DIGITS_MAX || text[0] == '0')
		return HTTP_PORT;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return HTTP_PORT;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	if (port > UINT16_MAX)
		return HTTP_PORT;
	*ret = (uint16_t)port;
	return HTTP_OK;
}

static enum http_fault fault_of(enum hostname_problem problem)
{
	static const enum http_fault faults[N_HOSTNAME_PROBLEMS] = {
		[HOSTNAME_OK] = HTTP_OK,
		[HOSTNAME_EMPTY] = HTTP_HOST_EMPTY,
		[HOSTNAME_TOO_LONG] = HTTP_HOST_TOO_LONG,
		[HOSTNAME_NOT_A_NAME] = HTTP_HOST_NAME,
		[HOSTNAME_NOT_IPV4] = HTTP_HOST_ADDRESS,
		[HOSTNAME_NOT_IPV6] = HTTP_HOST_ADDRESS,
		[HOSTNAME_BRACKET_OPEN] = HTTP_HOST_ADDRESS,
	};

	return faults[problem];
}

/* The length of the host, brackets included. */
static size_t host_len(const char *text, size_t len)
{
	const char *end = memchr(text, text[0] == '[' ? ']' : ':', len);

	if (!end)
		return len;
	return (size_t)(end - text) + (text[0] == '[');
}

enum http_fault http_authority_read(const char *text, size_t len, uint16_t default_port,
				    struct http_authority *ret)
{
	size_t n = len > 0 ? host_len(text, len) : 0;
	enum http_fault fault;

	if (len > 0 && memchr(text, '@', len))
		return HTTP_USERINFO;
	fault = fault_of(hostname_read(text, n, &ret->host));
	if (fault != HTTP_OK)
		return fault;
	if (n < len)
		return text[n] == ':' ? read_port(text + n + 1, len - n - 1, &ret->port)
				      : HTTP_PORT;
	ret->port = default_port;
	return default_port > 0 ? HTTP_OK : HTTP_PORT_MISSING;
}

size_t http_authority_print(const struct http_authority *authority, uint16_t default_port,
			    char ret[HTTP_AUTHORITY_SIZE])
{
	bool brackets = authority->host.kind == HOSTNAME_IPV6;
	size_t len = hostname_print(&authority->host, ret + brackets);
	char digits[PORT_DIGITS_MAX] = { 0 };
	size_t n_digits = 0;

	if (brackets) {
		ret[0] = '[';
		ret[++len] = ']';
		len++;
	}
	if (authority->port != default_port) {
		ret[len++] = ':';
		for (unsigned port = authority->port; port > 0; port /= 10)
			digits[n_digits++] = (char)('0' + port % 10);
		while (n_digits > 0)
			ret[len++] = digits[--n_digits];
	}
	ret[len] = '\0';
	return len;
}

bool http_authority_equal(const struct http_authority *a, const struct http_authority *b)
{
	return a->port == b->port && hostname_equal(&a->host, &b->host);
}
