/* SPDX-License-Identifier: MIT */

/*
 * Compares the hosts, networks and ports of the policy with those of the token
 *
 * A token for a host name matches no network rule: the address that the name resolves to is a
 * request of its own.
 */

#include "token/denial-internal.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "policy/network.h"

static const char *word(const struct denial *denial, uint64_t row)
{
	const struct artefact_word *words = artefact_rows(denial->artefact, SECTION_WORDS);

	return artefact_text(denial->artefact, words[row].text);
}

static bool is_below(const char *name, const char *domain)
{
	size_t len = strlen(name), n_domain = strlen(domain);

	return len > n_domain && name[len - n_domain - 1] == '.' &&
	       strcasecmp(name + len - n_domain, domain) == 0;
}

/* "example.org." is the same host as "example.org". */
static size_t trim(const char *host, char ret[HOST_BYTES_MAX + 8])
{
	size_t len = strlen(host);

	memcpy(ret, host, len + 1);
	if (len > 1 && ret[len - 1] == '.')
		ret[--len] = '\0';
	return len;
}

static bool host_meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	bool is_wild = strncmp(denial->scope->host.host, "*.", 2) == 0;
	const char *name = word(denial, value->bits[0]);
	char text[HOST_BYTES_MAX + 8];
	const char *host = text;

	(void)trim(denial->scope->host.host, text);
	if (value->kind == ENTRY_HOST_BELOW && name[0] == '\0')
		return true;
	if (denial->scope->host.is_address)
		return false;
	if (!is_wild)
		return value->kind == ENTRY_HOST ? strcasecmp(host, name) == 0
						 : is_below(host, name);
	host += 2;
	if (value->kind == ENTRY_HOST)
		return !all && is_below(name, host);
	return strcasecmp(host, name) == 0 || is_below(host, name) ||
	       (!all && is_below(name, host));
}

/* An IPv4-mapped IPv6 address (::ffff:a.b.c.d) matches IPv4 and IPv6 networks. */
static bool address_meets(const struct denial *denial, const struct artefact_value *value)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *host = denial->scope->host.host;
	uint8_t bytes[16];
	uint64_t bits[2];
	bool is_ipv4 = inet_pton(AF_INET, host, bytes) == 1;

	if (!is_ipv4 && inet_pton(AF_INET6, host, bytes) != 1)
		return false;
	if (value->kind == ENTRY_IPV6 && !is_ipv4) {
		artefact_address_bits(bytes, 16, bits);
		return artefact_prefix_holds(value, bits);
	}
	if (!is_ipv4 && memcmp(bytes, mapped, sizeof(mapped)) != 0)
		return false;
	artefact_address_bits(is_ipv4 ? bytes : bytes + 12, 4, bits);
	return value->kind == ENTRY_IPV4 && artefact_prefix_holds(value, bits);
}

static bool port_meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	const char *text = denial->scope->host.port;
	uint64_t port = 0;

	if (text[0] == '\0')
		return !all;
	for (; *text; text++)
		port = port * 10 + (uint64_t)(*text - '0');
	return port >= value->bits[0] && port <= value->bits[1];
}

static bool meets(const struct denial *denial, const struct artefact_value *value, bool all)
{
	const struct scope *scope = denial->scope;

	/* The token does not limit the host: the request may name any, or none. */
	if (scope->argument != ARGUMENT_HOST || scope->is_everything)
		return !all;
	switch ((enum artefact_entry_kind)value->kind) {
	case ENTRY_HOST:
	case ENTRY_HOST_BELOW:
		return host_meets(denial, value, all);
	case ENTRY_IPV4:
	case ENTRY_IPV6:
		return address_meets(denial, value);
	case ENTRY_PORT:
		return port_meets(denial, value, all);
	case ENTRY_EMPTY:
	case N_ENTRY_KINDS:
		break;
	}
	return false;
}

bool denial_value_meets(const struct denial *denial, const struct artefact_value *value)
{
	return meets(denial, value, false);
}

bool denial_value_covers(const struct denial *denial, const struct artefact_value *value)
{
	return meets(denial, value, true);
}
