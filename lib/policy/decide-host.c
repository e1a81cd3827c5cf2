/* SPDX-License-Identifier: MIT */

/*
 * The request's host: a name or an address, read so strictly that no two programs can take it for
 * different hosts
 *
 * "127.1", "0x7f.0.0.1", "2130706433" and "010.0.0.1" are addresses for inet_aton() and names for
 * others, so whatever ends in a number must be an address in full. An IPv4 address inside an IPv6
 * one reaches the same host, so the rules about both apply.
 */

#include <arpa/inet.h>

#include "policy/decide-internal.h"
#include "policy/network.h"

#define LABEL_MAX 63

static uint64_t load_big(const uint8_t *bytes, size_t n_bytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < n_bytes; i++)
		number = number << 8 | bytes[i];
	return number;
}

static void set_ipv4(struct query *query, const uint8_t bytes[4])
{
	query->has_ipv4 = true;
	query->ipv4[0] = load_big(bytes, 4) << 32;
	query->ipv4[1] = 0;
}

static const char *read_ipv6(const char *text, struct query *query)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t bytes[16];

	if (inet_pton(AF_INET6, text, bytes) != 1)
		return "the host is no IPv6 address, though it is written like one";
	query->has_ipv6 = true;
	query->ipv6[0] = load_big(bytes, 8);
	query->ipv6[1] = load_big(bytes + 8, 8);
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		set_ipv4(query, bytes + 12);
	return NULL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Would some program take a name with this last label for an address? */
static bool ends_in_number(const char *label)
{
	if (label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
		return true;
	while (is_digit(*label))
		label++;
	return *label == '\0';
}

/* In lower case; the length, or 0 where it is no label. */
static size_t fold_label(const char *text, char *folded)
{
	size_t len = 0;

	for (; text[len] && text[len] != '.'; len++) {
		char c = text[len];

		folded[len] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
		if (len == LABEL_MAX ||
		    !(is_digit(c) || (folded[len] >= 'a' && folded[len] <= 'z') || c == '-' ||
		      c == '_'))
			return 0;
	}
	return len;
}

static const char *read_name(const struct policy_engine *engine, const char *text,
			     struct query *query)
{
	char name[HOST_BYTES_MAX + 1];
	uint16_t starts[HOST_SUFFIXES_MAX];
	size_t n_labels = 0, len = 0;

	/* At most 253 bytes and a dot, so at most 127 labels. */
	for (;;) {
		size_t n = fold_label(text + len, name + len);

		if (n == 0)
			return "the host is neither an address nor a name: a name consists of "
			       "labels of letters, digits, '-' and '_' between dots";
		starts[n_labels++] = (uint16_t)len;
		len += n;
		if (text[len] == '\0' || text[len + 1] == '\0')
			break;
		name[len++] = '.';
	}
	name[len] = '\0';
	if (ends_in_number(name + starts[n_labels - 1])) {
		uint8_t bytes[4];

		if (inet_pton(AF_INET, name, bytes) != 1)
			return "the host ends in a number, but is no IPv4 address in full";
		set_ipv4(query, bytes);
		return NULL;
	}
	query->host = find_word(engine, name, len);
	for (size_t i = 1; i < n_labels; i++) {
		uint32_t word = find_word(engine, name + starts[i], len - starts[i]);

		if (word != ARTEFACT_NONE)
			query->suffixes[query->n_suffixes++] = word;
	}
	return NULL;
}

const char *query_read_host(struct policy_engine *engine, const char *host, struct query *query)
{
	size_t len = strnlen(host, HOST_BYTES_MAX + 2);
	char address[INET6_ADDRSTRLEN];
	bool brackets = host[0] == '[';

	query->has_host = true;
	if (len == 0)
		return "the host is empty";
	/* The dot at the end of a name does not count. */
	if (len > HOST_BYTES_MAX + 1u || (len > HOST_BYTES_MAX && host[len - 1] != '.'))
		return "the host is longer than 253 bytes";
	if (!memchr(host, ':', len))
		return read_name(engine, host, query);
	if (brackets && host[len - 1] != ']')
		return "the host's bracket is not closed";
	len -= brackets ? 2 : 0;
	if (len >= sizeof(address))
		return "the host is longer than any address";
	memcpy(address, host + brackets, len);
	address[len] = '\0';
	return read_ipv6(address, query);
}
