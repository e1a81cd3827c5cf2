/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The network of a policy: strict parsing of host names, networks and ports; the network mode of a
 * command; special addresses
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostname.h"
#include "policy/model.h"

struct sbx_error;

/* ---- parsing; the caller adds the place to an error ---- */

struct network {
	uint8_t bytes[16]; /* in network byte order; IPv4 uses 4 */
	unsigned length;   /* prefix length in bits */
	bool is_ipv6;
};

struct port_range {
	uint16_t from;
	uint16_t to;
};

/* Accepts "example.com" and "*.example.com": letters, digits, '-' and '_' in labels; not an
 * address, and without a port. */
int network_check_host(const char *text, struct sbx_error *err);
/* Parses "10.0.0.0/8" or "::1"; bits after the prefix must be 0. */
int network_parse(const char *text, struct network *ret, struct sbx_error *err);
bool network_contains(const struct network *outer, const struct network *inner);
/* Parses "443" or "8000-9000", @len bytes. */
int network_parse_ports(const char *text, size_t len, struct port_range *ret,
			struct sbx_error *err);
/* Iterates over "80,443": sets the next item and its length (which may be 0). False at the end.
 * *@at must be the text at first. */
bool network_next_port(const char **at, const char **ret_item, size_t *ret_len);

/* The colon before the port in "HOST:PORT" and "[ADDRESS]:PORT"; NULL if there is none, as in
 * "::1".
 */
const char *network_find_port(const char *text);
/* "HOST", "HOST:PORT", "ADDRESS", "[ADDRESS]:PORT" */
struct host_port {
	char host[HOST_BYTES_MAX + 8]; /* without brackets */
	char port[6];		       /* "" if there is none */
	bool is_address;
};
int network_parse_host_port(const char *text, struct host_port *ret, struct sbx_error *err);

/* ---- the network mode ---- */

enum net_mode {
	NET_NONE,     /* a network namespace without a way out, and without IP sockets */
	NET_LOOPBACK, /* a network namespace in which only the loopback is up */
	NET_HOST,     /* the host's network namespace */
	NET_PROXY,    /* hosts that the rules allow, through sbx-proxy */
	NET_TRANSPARENT,
	NET_VETH,
	N_NET_MODES,
};

/* Maximum number of ports of the host's loopback that can be forwarded into one sandbox. */
#define LOOPBACK_PORTS_MAX 32
/* Of these the listeners of sbx-proxy inside, on 127.0.0.1 and ::1, and their port by default. */
#define PROXY_LISTENERS 2
#define PROXY_PORT 8080

/* NULL-terminated. */
extern const char *const net_mode_names[];
const char *net_mode_name(enum net_mode mode);
/* False if there is no such mode. */
bool net_mode_find(const char *name, enum net_mode *ret);

struct net_choice {
	enum net_mode mode;
	/* The reason: net.mode or isolation.template; or a rule. Both NULL: defaults.net if the
	 * mode is NET_PROXY. */
	const struct setting *setting;
	const struct rule *rule;
	bool is_of_policy; /* false: of a template that the caller named, or of none */
};

/*
 * The one determination of the mode: the planner sets up the network of this mode, check refuses a
 * mode that this version lacks, and the evaluator judges by the rules that the mode implies.
 *
 * In this order: net.mode; proxy, if a rule or the default of the class grants any network access;
 * the mode of the template @name, or of isolation.template if @name is NULL; none. @policy may be
 * NULL: then the template's mode, or loopback if @name is NULL, too.
 */
struct net_choice policy_net_choice(const struct policy *policy, const char *name);
enum net_mode policy_net_mode(const struct policy *policy);
/* Does sbx-proxy resolve names and connect, outside of the sandbox? */
bool net_mode_has_proxy(enum net_mode mode);

/* What the connections of one sandbox through sbx-proxy may use together. */
struct net_limits {
	unsigned connections; /* at once; UINT_MAX: the policy sets no limit */
	uint64_t bytes;	      /* in both directions; UINT64_MAX: no limit */
	uint64_t rate;	      /* bytes per second; UINT64_MAX: no limit */
};

/* The settings net.limits. @policy may be NULL; none is ever 0. */
struct net_limits policy_net_limits(const struct policy *policy);

#define NET_RULES_MAX 2

/*
 * The rules that net.mode implies, named "net.mode", at the place of the setting: none denies
 * net.*, host allows it, loopback allows it and denies hosts outside the loopback. Without the
 * setting there are none. Returns their number; they borrow from @policy.
 */
size_t policy_net_rules(const struct policy *policy, struct rule ret[NET_RULES_MAX]);
#define NET_RULE_NAME "net.mode"
/* The place for a rule that allows access opened by a setting at @place. */
struct policy_place policy_net_place(const struct policy *policy, struct policy_place place);

/*
 * Hosts of the loopback are 127.0.0.0/8 and ::1, the addresses 0.0.0.0 and :: (to listen on all
 * addresses; connecting to them reaches the loopback), and the name localhost.
 *
 * net_loopback_meets(): may @condition hold for some request about the loopback? _contains(): does
 * it hold for no other request?
 */
bool net_loopback_meets(const struct condition *condition);
bool net_loopback_contains(const struct condition *condition);

/* ---- special addresses ---- */

/*
 * Those that are no host of the public internet, and forms of IPv6 that contain
 * an IPv4 address
 *
 * A name that a policy allows may resolve to any of them. So where sbx-proxy connects for a command
 * (net.mode proxy and transparent), a permission reaches them only if it has 'cidr'.
 */

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
