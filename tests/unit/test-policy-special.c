/* SPDX-License-Identifier: MIT */
#include "policy/network.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/artefact.h"
#include "test.h"

struct address {
	uint8_t bytes[16];
	bool is_ipv6;
};

static struct address read_address(const char *text)
{
	struct address address = { .is_ipv6 = strchr(text, ':') != NULL };

	if (inet_pton(address.is_ipv6 ? AF_INET6 : AF_INET, text, address.bytes) != 1)
		abort();
	return address;
}

static const char *find(const struct address *address)
{
	uint64_t bits[2];

	artefact_address_bits(address->bytes, address->is_ipv6 ? 16 : 4, bits);
	return special_find(address->is_ipv6, bits);
}

/* Adds 1 or -1. False: there is no such address. */
static bool step(struct address *address, int by)
{
	for (int i = address->is_ipv6 ? 16 : 4; i-- > 0;) {
		address->bytes[i] = (uint8_t)(address->bytes[i] + by);
		if (address->bytes[i] != (by > 0 ? 0 : 0xff))
			return true;
	}
	return false;
}

static struct address last_of(struct address address, int length)
{
	for (int bit = length; bit < (address.is_ipv6 ? 128 : 32); bit++)
		address.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return address;
}

/* @range: the text that the reason begins with; NULL: the address is not special. */
static void expect_range(const struct address *address, const char *range)
{
	const char *reason = find(address);
	char text[INET6_ADDRSTRLEN];

	if (!reason && !range)
		return;
	if (reason && range && strncmp(reason, range, strlen(range)) == 0 &&
	    reason[strlen(range)] == ' ')
		return;
	printf("# %s: expected '%s', got '%s'\n",
	       inet_ntop(address->is_ipv6 ? AF_INET6 : AF_INET, address->bytes, text, sizeof(text)),
	       range ? range : "nothing", reason ? reason : "nothing");
	test_failures++;
}

/* Each range, and the ranges of the address before its first and after its last one. */
static const struct {
	const char *range;
	const char *before;
	const char *after;
} ranges[] = {
	{ "0.0.0.0/8", NULL, NULL },
	{ "10.0.0.0/8", NULL, NULL },
	{ "100.64.0.0/10", NULL, NULL },
	{ "127.0.0.0/8", NULL, NULL },
	{ "168.63.129.16", NULL, NULL },
	{ "169.254.0.0/16", NULL, NULL },
	{ "169.254.169.254", "169.254.0.0/16", "169.254.0.0/16" },
	{ "172.16.0.0/12", NULL, NULL },
	{ "192.0.0.0/24", NULL, NULL },
	{ "192.0.2.0/24", NULL, NULL },
	{ "192.88.99.0/24", NULL, NULL },
	{ "192.168.0.0/16", NULL, NULL },
	{ "198.18.0.0/15", NULL, NULL },
	{ "198.51.100.0/24", NULL, NULL },
	{ "203.0.113.0/24", NULL, NULL },
	{ "224.0.0.0/4", NULL, "240.0.0.0/4" },
	{ "240.0.0.0/4", "224.0.0.0/4", NULL },
	{ "255.255.255.255", "240.0.0.0/4", NULL },
	{ "::", NULL, "::1" },
	{ "::1", "::", "::/96" },
	{ "::/96", NULL, "::/3" },
	{ "::ffff:0:0/96", "::/3", "::/3" },
	{ "::ffff:0:0:0/96", "::/3", "::/3" },
	{ "64:ff9b::/96", "::/3", "::/3" },
	{ "64:ff9b:1::/48", "::/3", "::/3" },
	{ "100::/64", "::/3", "::/3" },
	{ "::/3", NULL, NULL },
	{ "2001::/32", NULL, "2001::/23" },
	{ "2001::/23", NULL, NULL },
	{ "2001:db8::/32", NULL, NULL },
	{ "2002::/16", NULL, NULL },
	{ "3fff::/20", NULL, NULL },
	{ "4000::/2", NULL, "8000::/1" },
	{ "8000::/1", "4000::/2", NULL },
	{ "fc00::/7", "8000::/1", "8000::/1" },
	{ "fd00:ec2::254", "fc00::/7", "fc00::/7" },
	{ "fd20:ce::254", "fc00::/7", "fc00::/7" },
	{ "fe80::/10", "8000::/1", "fec0::/10" },
	{ "fec0::/10", "fe80::/10", "ff00::/8" },
	{ "ff00::/8", "fec0::/10", NULL },
};

/* An address at an end of a range may belong to a narrower one. */
static const struct {
	const char *address;
	const char *range;
} narrower[] = {
	{ "255.255.255.255", "255.255.255.255" },
	{ "::", "::" },
	{ "2001::", "2001::/32" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::/8" },
};

static const char *own_range(const struct address *address, const char *range)
{
	for (size_t i = 0; i < N_ELEMENTS(narrower); i++) {
		struct address other = read_address(narrower[i].address);

		if (other.is_ipv6 == address->is_ipv6 &&
		    memcmp(other.bytes, address->bytes, sizeof(other.bytes)) == 0)
			return narrower[i].range;
	}
	return range;
}

static void every_range_begins_and_ends_where_it_should(void)
{
	for (size_t i = 0; i < N_ELEMENTS(ranges); i++) {
		char text[INET6_ADDRSTRLEN + 4];
		int length;

		(void)snprintf(text, sizeof(text), "%s", ranges[i].range);

		char *slash = strchr(text, '/');

		length = slash ? atoi(slash + 1) : strchr(text, ':') ? 128 : 32;
		if (slash)
			*slash = '\0';

		struct address first = read_address(text), last = last_of(first, length);
		struct address before = first, after = last;

		expect_range(&first, own_range(&first, ranges[i].range));
		expect_range(&last, own_range(&last, ranges[i].range));
		if (step(&before, -1))
			expect_range(&before, ranges[i].before);
		if (step(&after, 1))
			expect_range(&after, ranges[i].after);
	}
}

static void public_addresses_are_not_special(void)
{
	static const char *const texts[] = { "1.1.1.1",		"8.8.8.8",
					     "93.184.216.34",	"172.15.0.1",
					     "223.255.255.255", "100.128.0.1",
					     "169.253.255.255", "192.0.1.1",
					     "2000::1",		"2001:4860:4860::8888",
					     "2606:2800::1",	"2a00:1450::1",
					     "3ffe:ffff::1",	"2001:200::1" };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct address address = read_address(texts[i]);

		expect_range(&address, NULL);
	}
}

static void an_address_leads_to_those_in_it_and_to_the_loopback(void)
{
	static const struct {
		const char *address;
		const char *inner[SPECIAL_INNER_MAX];
	} cases[] = {
		{ "::ffff:10.1.2.3", { "10.1.2.3" } },
		{ "::10.1.2.3", { "10.1.2.3" } },
		{ "::ffff:0:10.1.2.3", { "10.1.2.3" } },
		{ "64:ff9b::169.254.169.254", { "169.254.169.254" } },
		{ "64:ff9b::8.8.8.8", { "8.8.8.8" } },
		{ "64:ff9b:1::10.1.2.3", { "10.1.2.3" } },
		{ "64:ff9b:1:2:3:4:10.1.2.3", { "10.1.2.3" } },
		{ "2002:a01:203::1", { "10.1.2.3" } },
		{ "2002:808:808:1:2:3:4:5", { "8.8.8.8" } },
		/* The example of RFC 4380: server 65.54.227.120, client 192.0.2.45. */
		{ "2001:0:4136:e378:8000:63bf:3fff:fdd2", { "65.54.227.120", "192.0.2.45" } },
		{ "::2", { "0.0.0.2" } },
		/* Linux connects to the loopback, but not for the rest of 0.0.0.0/8. */
		{ "0.0.0.0", { "127.0.0.1" } },
		{ "::", { "::1" } },
		{ "::ffff:0.0.0.0", { "0.0.0.0", "127.0.0.1" } },
		{ "::ffff:0:0.0.0.0", { "0.0.0.0", "127.0.0.1" } },
		{ "64:ff9b::", { "0.0.0.0", "127.0.0.1" } },
		{ "2002::", { "0.0.0.0", "127.0.0.1" } },
		{ "2001::ffff:ffff", { "0.0.0.0", "127.0.0.1", "0.0.0.0", "127.0.0.1" } },
		{ "0.0.0.1", { NULL } },
		{ "::ffff:0.0.0.1", { "0.0.0.1" } },
		{ "127.0.0.1", { NULL } },
		{ "10.1.2.3", { NULL } },
		{ "::1", { NULL } },
		{ "64:ff9b::1:10.1.2.3", { NULL } },
		{ "64:ff9b:2::10.1.2.3", { NULL } },
		{ "::1:ffff:10.1.2.3", { NULL } },
		{ "::fffe:10.1.2.3", { NULL } },
		{ "2001:1::10.1.2.3", { NULL } },
		{ "2003:a01:203::1", { NULL } },
		{ "2001:db8::10.1.2.3", { NULL } },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct address address = read_address(cases[i].address);
		struct special_inner inner[SPECIAL_INNER_MAX];
		uint64_t bits[2];
		size_t n, n_wanted = 0;

		artefact_address_bits(address.bytes, address.is_ipv6 ? 16 : 4, bits);
		n = special_inner(address.is_ipv6, bits, inner);
		while (n_wanted < SPECIAL_INNER_MAX && cases[i].inner[n_wanted])
			n_wanted++;
		expect_eq(n, n_wanted);
		for (size_t k = 0; k < n && k < n_wanted; k++) {
			struct address wanted = read_address(cases[i].inner[k]);
			uint64_t wanted_bits[2];

			artefact_address_bits(wanted.bytes, wanted.is_ipv6 ? 16 : 4, wanted_bits);
			expect_eq(inner[k].is_ipv6, wanted.is_ipv6);
			expect_eq(inner[k].bits[0], wanted_bits[0]);
			expect_eq(inner[k].bits[1], wanted_bits[1]);
		}
		expect(n == 0 || find(&address) != NULL);
	}
}

static const struct test tests[] = {
	TEST(every_range_begins_and_ends_where_it_should),
	TEST(public_addresses_are_not_special),
	TEST(an_address_leads_to_those_in_it_and_to_the_loopback),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
