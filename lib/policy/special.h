/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Special addresses: those that are no host of the public internet, and forms of IPv6 that contain
 * an IPv4 address
 *
 * A name that a policy allows may resolve to any of them. So where sbx-proxy connects for a command
 * (net.mode proxy and transparent), a permission reaches them only if it has 'cidr'.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The built-in rule of decisions. */
#define SPECIAL_RULE_NAME "builtin:special-addresses"

/* Bits as artefact_address_bits() returns them. The range as a reason ("10.0.0.0/8 is ..."); NULL
 * for an address that is not special. */
const char *special_find(bool is_ipv6, const uint64_t bits[2]);

#define SPECIAL_INNER_MAX 4

/* Bits as above. */
struct special_inner {
	bool is_ipv6;
	uint64_t bits[2];
};

/* Linux connects to 127.0.0.1 for 0.0.0.0 (but not for the rest of 0.0.0.0/8), and to ::1 for ::
 * from a socket that is not bound to an IPv4 address.
 * Returns 1 if the address is one of the two, else 0. */
size_t special_local(bool is_ipv6, const uint64_t bits[2], struct special_inner *ret);

/*
 * The other addresses to which a translator, a tunnel or the kernel sends what goes to this one:
 * the IPv4 addresses in an IPv6 one, and those of special_local(). Returns how many; each address
 * with others is special itself.
 *
 * Of 64:ff9b:1::/48 (RFC 8215) the last 32 bits are taken; a translator with a prefix of less than
 * 96 bits has the IPv4 address elsewhere.
 */
size_t special_inner(bool is_ipv6, const uint64_t bits[2],
		     struct special_inner ret[SPECIAL_INNER_MAX]);
