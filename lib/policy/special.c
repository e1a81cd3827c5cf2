/* SPDX-License-Identifier: MIT */

/*
 * Special addresses
 *
 * The ranges are those of IANA's registries of special-purpose addresses, multicast, and metadata
 * services of clouds. Of IPv6, only 2000::/3 is allocated for hosts, so everything outside it is
 * special. A range inside another one comes first.
 */

#include "policy/special.h"

#include "base/cleanup.h"

#define NEEDS_CIDR "; only a rule with 'cidr' can allow it"

/* 127.0.0.1 */
#define LOOPBACK4 (UINT64_C(0x7f000001) << 32)

struct range {
	uint64_t prefix[2];
	unsigned length;
	const char *reason;
};

#define RANGE6(high, low, length, reason)                                                          \
	{                                                                                          \
		{ UINT64_C(high), UINT64_C(low) }, length, reason NEEDS_CIDR                       \
	}
#define RANGE4(prefix, length, reason)                                                             \
	{                                                                                          \
		{ UINT64_C(prefix) << 32, 0 }, length, reason NEEDS_CIDR                           \
	}

static const struct range ranges4[] = {
	RANGE4(0xa9fea9fe, 32, "169.254.169.254 is a metadata service"),
	RANGE4(0xa83f8110, 32, "168.63.129.16 is a metadata service"),
	RANGE4(0xffffffff, 32, "255.255.255.255 is the broadcast address"),
	RANGE4(0x00000000, 8, "0.0.0.0/8 is this host"),
	RANGE4(0x0a000000, 8, "10.0.0.0/8 is a private network"),
	RANGE4(0x64400000, 10, "100.64.0.0/10 is shared by a provider's customers"),
	RANGE4(0x7f000000, 8, "127.0.0.0/8 is the loopback"),
	RANGE4(0xa9fe0000, 16, "169.254.0.0/16 is link-local"),
	RANGE4(0xac100000, 12, "172.16.0.0/12 is a private network"),
	RANGE4(0xc0000000, 24, "192.0.0.0/24 is assigned to protocols"),
	RANGE4(0xc0000200, 24, "192.0.2.0/24 is for documentation"),
	RANGE4(0xc0586300, 24, "192.88.99.0/24 was for relays of 6to4"),
	RANGE4(0xc0a80000, 16, "192.168.0.0/16 is a private network"),
	RANGE4(0xc6120000, 15, "198.18.0.0/15 is for benchmarks"),
	RANGE4(0xc6336400, 24, "198.51.100.0/24 is for documentation"),
	RANGE4(0xcb007100, 24, "203.0.113.0/24 is for documentation"),
	RANGE4(0xe0000000, 4, "224.0.0.0/4 is multicast"),
	RANGE4(0xf0000000, 4, "240.0.0.0/4 is reserved"),
};

static const struct range ranges6[] = {
	RANGE6(0, 0, 128, ":: is this host"),
	RANGE6(0, 1, 128, "::1 is the loopback"),
	RANGE6(0, 0, 96, "::/96 contains IPv4 addresses"),
	RANGE6(0, 0x0000ffff00000000, 96, "::ffff:0:0/96 contains IPv4 addresses"),
	RANGE6(0, 0xffff000000000000, 96, "::ffff:0:0:0/96 contains IPv4 addresses"),
	RANGE6(0x0064ff9b00000000, 0, 96, "64:ff9b::/96 contains IPv4 addresses"),
	RANGE6(0x0064ff9b00010000, 0, 48, "64:ff9b:1::/48 contains IPv4 addresses"),
	RANGE6(0x0100000000000000, 0, 64, "100::/64 is discarded"),
	RANGE6(0x2001000000000000, 0, 32, "2001::/32 contains IPv4 addresses (Teredo)"),
	RANGE6(0x2001000000000000, 0, 23, "2001::/23 is assigned to protocols"),
	RANGE6(0x20010db800000000, 0, 32, "2001:db8::/32 is for documentation"),
	RANGE6(0x2002000000000000, 0, 16, "2002::/16 contains IPv4 addresses (6to4)"),
	RANGE6(0x3fff000000000000, 0, 20, "3fff::/20 is for documentation"),
	RANGE6(0xfd000ec200000000, 0x0254, 128, "fd00:ec2::254 is a metadata service"),
	RANGE6(0xfd2000ce00000000, 0x0254, 128, "fd20:ce::254 is a metadata service"),
	RANGE6(0xfc00000000000000, 0, 7, "fc00::/7 is a private network"),
	RANGE6(0xfe80000000000000, 0, 10, "fe80::/10 is link-local"),
	RANGE6(0xfec0000000000000, 0, 10, "fec0::/10 is site-local"),
	RANGE6(0xff00000000000000, 0, 8, "ff00::/8 is multicast"),
	RANGE6(0, 0, 3, "::/3 has no public hosts"),
	RANGE6(0x4000000000000000, 0, 2, "4000::/2 has no public hosts"),
	RANGE6(0x8000000000000000, 0, 1, "8000::/1 has no public hosts"),
};

/* Are the first @length of 64 bits equal? */
static bool begins(uint64_t a, uint64_t b, unsigned length)
{
	return length == 0 || (a ^ b) >> (64 - length) == 0;
}

static bool is_in(const uint64_t bits[2], const struct range *range)
{
	unsigned high = range->length < 64 ? range->length : 64;

	return begins(bits[0], range->prefix[0], high) &&
	       begins(bits[1], range->prefix[1], range->length - high);
}

const char *special_find(bool is_ipv6, const uint64_t bits[2])
{
	const struct range *ranges = is_ipv6 ? ranges6 : ranges4;
	size_t n = is_ipv6 ? N_ELEMENTS(ranges6) : N_ELEMENTS(ranges4);

	for (size_t i = 0; i < n; i++)
		if (is_in(bits, &ranges[i]))
			return ranges[i].reason;
	return NULL;
}

static size_t find_embedded4(const uint64_t bits[2], uint32_t ret[2])
{
	uint32_t third = (uint32_t)(bits[1] >> 32), last = (uint32_t)bits[1];

	if (bits[0] >> 48 == 0x2002) {
		ret[0] = (uint32_t)(bits[0] >> 16);
		return 1;
	}
	/* Teredo: the server, and the client with all bits inverted. */
	if (bits[0] >> 32 == 0x20010000) {
		ret[0] = (uint32_t)bits[0];
		ret[1] = ~last;
		return 2;
	}
	ret[0] = last;
	if (bits[0] >> 16 == UINT64_C(0x0064ff9b0001))
		return 1;
	if (bits[0] == UINT64_C(0x0064ff9b00000000))
		return third == 0;
	/* :: and ::1 are no IPv4 addresses. */
	return bits[0] == 0 &&
	       (third == 0x0000ffff || third == 0xffff0000 || (third == 0 && last > 1));
}

size_t special_local(bool is_ipv6, const uint64_t bits[2], struct special_inner *ret)
{
	if (bits[0] != 0 || bits[1] != 0)
		return 0;
	*ret = is_ipv6 ? (struct special_inner){ .is_ipv6 = true, .bits = { 0, 1 } }
		       : (struct special_inner){ .bits = { LOOPBACK4 } };
	return 1;
}

size_t special_inner(bool is_ipv6, const uint64_t bits[2],
		     struct special_inner ret[SPECIAL_INNER_MAX])
{
	uint32_t embedded[2];
	size_t n_embedded = is_ipv6 ? find_embedded4(bits, embedded) : 0;
	size_t n = special_local(is_ipv6, bits, ret);

	for (size_t i = 0; i < n_embedded; i++) {
		ret[n++] = (struct special_inner){ .bits = { (uint64_t)embedded[i] << 32 } };
		n += special_local(false, ret[n - 1].bits, &ret[n]);
	}
	return n;
}
