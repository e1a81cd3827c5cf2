/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a policy says about the network, checked strictly: host names, networks, ports
 *
 * Errors have no place yet; it is the caller's to add.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_error;

struct network {
	uint8_t bytes[16]; /* in network order; IPv4 has 4 */
	unsigned length;   /* of the prefix, in bits */
	bool is_ipv6;
};

struct port_range {
	uint16_t from;
	uint16_t to;
};

#define HOST_BYTES_MAX 253

/* "example.com", "*.example.com": letters, digits, '-' and '_' in labels; not an address, no port.
 */
int network_check_host(const char *text, struct sbx_error *err);
/* "10.0.0.0/8", "::1"; bits behind the prefix must be 0. */
int network_parse(const char *text, struct network *ret, struct sbx_error *err);
bool network_contains(const struct network *outer, const struct network *inner);
/* "443" or "8000-9000", @len bytes. */
int network_parse_ports(const char *text, size_t len, struct port_range *ret,
			struct sbx_error *err);
/* Steps through "80,443": writes where the next item begins and its length (which may be 0). False
 * at the end. *@at is the text at first. */
bool network_next_port(const char **at, const char **ret_item, size_t *ret_len);

/* "HOST", "HOST:PORT", "ADDRESS", "[ADDRESS]:PORT" */
struct host_port {
	char host[HOST_BYTES_MAX + 8]; /* without brackets */
	char port[6];		       /* "" where there is none */
	bool is_address;
};
int network_parse_host_port(const char *text, struct host_port *ret, struct sbx_error *err);
