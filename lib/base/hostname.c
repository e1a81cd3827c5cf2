/* SPDX-License-Identifier: MIT */

/*
 * A host, read so strictly that no two programs can take it for different hosts
 *
 * inet_aton() reads "127.1", "0x7f.0.0.1", "2130706433" and "010.0.0.1" as addresses, other parsers
 * read them as names: so a host that ends in a number must be a complete IPv4 address.
 */

#include "base/hostname.h"

#include <arpa/inet.h>
#include <string.h>

#define LABEL_MAX 63

static const char *const problems[N_HOSTNAME_PROBLEMS] = {
	[HOSTNAME_OK] = "the host is valid",
	[HOSTNAME_EMPTY] = "the host is empty",
	[HOSTNAME_TOO_LONG] = "the host is longer than 253 bytes",
	[HOSTNAME_NOT_A_NAME] =
		("the host is neither an address nor a name: a name consists of labels "
		 "of letters, digits, '-' and '_' between dots"),
	[HOSTNAME_NOT_IPV4] = "the host ends in a number, but is not a complete IPv4 address",
	[HOSTNAME_NOT_IPV6] = "the host looks like an IPv6 address, but is not a valid one",
	[HOSTNAME_BRACKET_OPEN] = "the host's bracket is not closed",
};

const char *hostname_problem_text(enum hostname_problem problem)
{
	return problems[problem];
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Would some program take a name with this last label for an address? */
static bool ends_in_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x')
		return true;
	while (is_digit(*label))
		label++;
	return *label == '\0';
}

/* Copies a label in lower case. Returns its length, or 0 if a label has no such bytes. */
static size_t fold_label(const char *text, const char *end, char *folded)
{
	size_t len = 0;

	for (; text + len < end && text[len] != '.'; len++) {
		char c = text[len];

		folded[len] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
		if (len == LABEL_MAX ||
		    !(is_digit(c) || (folded[len] >= 'a' && folded[len] <= 'z') || c == '-' ||
		      c == '_'))
			return 0;
	}
	return len;
}

static enum hostname_problem read_name(const char *text, size_t n_bytes, struct hostname *ret)
{
	const char *end = text + n_bytes;
	size_t n_labels = 0, len = 0;

	/* At most 253 bytes and a dot, so at most 127 labels. */
	for (;;) {
		size_t n = fold_label(text + len, end, ret->name + len);

		if (n == 0)
			return HOSTNAME_NOT_A_NAME;
		ret->labels[n_labels++] = (uint16_t)len;
		len += n;
		if (len == n_bytes || len + 1 == n_bytes)
			break;
		ret->name[len++] = '.';
	}
	ret->name[len] = '\0';
	ret->len = len;
	ret->n_labels = n_labels;
	ret->kind = HOSTNAME_DNS;
	if (!ends_in_number(ret->name + ret->labels[n_labels - 1]))
		return HOSTNAME_OK;
	ret->kind = HOSTNAME_IPV4;
	return inet_pton(AF_INET, ret->name, ret->bytes) == 1 ? HOSTNAME_OK : HOSTNAME_NOT_IPV4;
}

static enum hostname_problem read_ipv6(const char *text, size_t len, struct hostname *ret)
{
	char address[INET6_ADDRSTRLEN];

	/* inet_pton() would end at a NUL, and accept the bytes before it. */
	if (len >= sizeof(address) || memchr(text, '\0', len))
		return HOSTNAME_NOT_IPV6;
	memcpy(address, text, len);
	address[len] = '\0';
	ret->kind = HOSTNAME_IPV6;
	ret->name[0] = '\0';
	ret->len = ret->n_labels = 0;
	return inet_pton(AF_INET6, address, ret->bytes) == 1 ? HOSTNAME_OK : HOSTNAME_NOT_IPV6;
}

enum hostname_problem hostname_read(const char *text, size_t len, struct hostname *ret)
{
	if (len == 0)
		return HOSTNAME_EMPTY;
	/* A name may have a dot after its 253 bytes. */
	if (len > HOST_BYTES_MAX + 1u || (len > HOST_BYTES_MAX && text[len - 1] != '.'))
		return HOSTNAME_TOO_LONG;
	if (!memchr(text, ':', len))
		return read_name(text, len, ret);
	if (text[0] != '[')
		return read_ipv6(text, len, ret);
	return text[len - 1] == ']' ? read_ipv6(text + 1, len - 2, ret) : HOSTNAME_BRACKET_OPEN;
}

bool hostname_equal(const struct hostname *a, const struct hostname *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == HOSTNAME_IPV6)
		return memcmp(a->bytes, b->bytes, 16) == 0;
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

size_t hostname_print(const struct hostname *host, char ret[HOSTNAME_TEXT_SIZE])
{
	if (host->kind == HOSTNAME_IPV6) {
		(void)inet_ntop(AF_INET6, host->bytes, ret, INET6_ADDRSTRLEN);
		return strlen(ret);
	}
	memcpy(ret, host->name, host->len + 1);
	return host->len;
}
