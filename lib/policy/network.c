/* SPDX-License-Identifier: MIT */

/*
 * The network of a policy
 *
 * A host parsed more leniently here than by the program that connects is a hole: some resolvers
 * parse "127.1" or "0x7f.0.0.1" as an address and others as a name. So a name whose last label is a
 * number is refused, as is every address that inet_pton() does not accept.
 */

#include "policy/network.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "policy/enforcement.h"
#include "policy/limit.h"

#define PORT_MAX 65535

static int refuse(struct sbx_error *err, const char *noun, const char *text, const char *why,
		  const char *fix)
{
	(void)error_fill(err, -EINVAL, why, fix, "not a %s: '%s'", noun, text);
	return -EINVAL; /* written out: an analyser of this file sees that the callers stop */
}

static int refuse_host(struct sbx_error *err, const char *text, const char *why, const char *fix)
{
	return refuse(err, "host name", text, why, fix);
}

/* Common mistakes get their own explanation; others fail the check of the labels. */
static const struct {
	const char *letters;
	const char *why;
	const char *fix;
} host_traps[] = {
	{ "/", "it has a '/'; neither a URL nor a network is a name",
	  "write the name alone (example.com), or a network under 'cidr'" },
	{ ":", "it has a ':'; ports have a separate key",
	  "write the name alone, and the port under 'ports'" },
	{ " \t\r\n", "it has white space in it", "write one name; several names go in a list" },
	{ "@", "it has a '@'; only the name of the host is allowed", "write the name alone" },
};

static int check_label(const char *text, const char *label, size_t len, struct sbx_error *err)
{
	if (len == 0)
		return refuse_host(err, text, "it has an empty label: two dots, or one at an end",
				   "write it like example.com, without a dot at the end");
	if (len > 63)
		return refuse_host(err, text, "one of its labels is longer than 63 bytes",
				   "write the name as in the DNS");
	if (label[0] == '-' || label[len - 1] == '-')
		return refuse_host(err, text, "a label begins or ends with '-'",
				   "write the name as in the DNS");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)label[i];

		if (isalnum(c) || c == '-' || c == '_')
			continue;
		if (c >= 0x80)
			return refuse_host(err, text, "it has letters that the DNS does not allow",
					   "write it in its ASCII form: xn--...");
		if (c == '*')
			return refuse_host(err, text,
					   "'*' can only replace whole labels at the front",
					   "write '*.example.com', or the names themselves");
		return refuse_host(err, text, "it has a character that is not allowed in names",
				   "use letters, digits, '-' and '.'");
	}
	return 0;
}

int network_check_host(const char *text, struct sbx_error *err)
{
	const char *label = text, *last = text;
	struct network network;
	size_t len;
	int r;

	if (text[0] == '\0')
		return refuse_host(err, text, "it is empty", "write a name, or leave the key out");
	if (strcmp(text, "*") == 0)
		return refuse_host(err, text, "'*' alone would match every host",
				   "leave 'host' out: a rule without it is about every host");
	if (network_parse(text, &network, NULL) >= 0)
		return refuse_host(err, text, "it is an address, and 'host' matches names only",
				   "write it under 'cidr'");
	for (size_t i = 0; i < N_ELEMENTS(host_traps); i++)
		if (strpbrk(text, host_traps[i].letters))
			return refuse_host(err, text, host_traps[i].why, host_traps[i].fix);
	if (strlen(text) > HOST_BYTES_MAX)
		return refuse_host(err, text, "it is longer than 253 bytes",
				   "write the name as in the DNS");

	if (strncmp(label, "*.", 2) == 0)
		label += 2;
	for (;; label += len + 1) {
		len = strcspn(label, ".");
		r = check_label(text, label, len, err);
		if (r < 0)
			return r;
		last = label;
		if (label[len] == '\0')
			break;
	}
	if (strspn(last, "0123456789") == len || (last[0] == '0' && tolower(last[1]) == 'x'))
		return refuse_host(err, text,
				   "its last label is a number, so some programs take "
				   "it for an address",
				   "write an address under 'cidr', with all its four parts");
	return 0;
}

static int read_prefix(const char *text, const char *slash, unsigned width, unsigned *ret,
		       struct sbx_error *err)
{
	uint64_t length = width;

	if (!slash) {
		*ret = width;
		return 0;
	}
	if ((slash[1] == '0' && slash[2] != '\0') ||
	    units_parse_count(slash + 1, &length, NULL) < 0 || length > width)
		return refuse(err, "network", text,
			      width == 32 ? "the '/' must be followed by a number from 0 to 32"
					  : "the '/' must be followed by a number from 0 to 128",
			      "write it like 10.0.0.0/8, or an address alone");
	*ret = (unsigned)length;
	return 0;
}

/* Clears the bits after the prefix; true if one was set. */
static bool clear_host_bits(struct network *network)
{
	unsigned width = network->is_ipv6 ? 128 : 32;
	bool found = false;

	for (unsigned bit = network->length; bit < width; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		found |= network->bytes[bit / 8] & mask;
		network->bytes[bit / 8] &= (uint8_t)~mask;
	}
	return found;
}

static int refuse_host_bits(const char *text, const struct network *corrected,
			    struct sbx_error *err)
{
	char address[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(corrected->is_ipv6 ? AF_INET6 : AF_INET, corrected->bytes, address,
			sizeof(address));
	(void)sbx_error_what(err, -EINVAL, "not a network: '%s'", text);
	sbx_error_why(err, "the address has bits set beyond its /%u", corrected->length);
	sbx_error_fix(err, "write '%s/%u' for the whole network, or the address without '/%u'",
		      address, corrected->length, corrected->length);
	return -EINVAL;
}

int network_parse(const char *text, struct network *ret, struct sbx_error *err)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct network network = { .is_ipv6 = strchr(text, ':') != NULL };
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	int r;

	if (len >= sizeof(address))
		return refuse(err, "network", text, "no address is that long",
			      "write it like 10.0.0.0/8 or 2001:db8::/32");
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(network.is_ipv6 ? AF_INET6 : AF_INET, address, network.bytes) != 1)
		return refuse(err, "network", text, "its address is neither IPv4 nor IPv6",
			      "write all four parts of IPv4 (10.0.0.0/8), or IPv6 (2001:db8::/32); "
			      "names go under 'host'");
	if (network.is_ipv6 && memcmp(network.bytes, mapped, sizeof(mapped)) == 0)
		return refuse(err, "network", text, "it is IPv4 inside IPv6",
			      "write the IPv4 form: 10.0.0.0/8");
	r = read_prefix(text, slash, network.is_ipv6 ? 128 : 32, &network.length, err);
	if (r < 0)
		return r;
	if (clear_host_bits(&network))
		return refuse_host_bits(text, &network, err);
	*ret = network;
	return 0;
}

bool network_contains(const struct network *outer, const struct network *inner)
{
	if (outer->is_ipv6 != inner->is_ipv6 || outer->length > inner->length)
		return false;
	for (unsigned bit = 0; bit < outer->length; bit++)
		if ((outer->bytes[bit / 8] ^ inner->bytes[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

static bool read_port(const char *text, size_t len, uint16_t *ret)
{
	uint32_t port = 0;

	if (len == 0 || len > 5 || (text[0] == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	*ret = (uint16_t)port;
	return port <= PORT_MAX;
}

int network_parse_ports(const char *text, size_t len, struct port_range *ret, struct sbx_error *err)
{
	const char *dash = memchr(text, '-', len);
	size_t first = dash ? (size_t)(dash - text) : len;
	struct port_range range;
	char shown[32];

	(void)snprintf(shown, sizeof(shown), "%.*s", (int)(len < sizeof(shown) ? len : 31), text);
	if (!read_port(text, first, &range.from))
		return refuse(err, "port", shown, "a port is a number from 0 to 65535",
			      "write 443, 8000-9000 or \"80,443\", without spaces");
	range.to = range.from;
	if (dash && !read_port(dash + 1, len - first - 1, &range.to))
		return refuse(err, "range of ports", shown, "a port is a number from 0 to 65535",
			      "write 443, 8000-9000 or \"80,443\", without spaces");
	if (range.from > range.to) {
		(void)sbx_error_what(err, -EINVAL, "not a range of ports: '%s'", shown);
		sbx_error_why(err, "it begins after its end");
		sbx_error_fix(err, "write %u-%u", range.to, range.from);
		return -EINVAL;
	}
	*ret = range;
	return 0;
}

bool network_next_port(const char **at, const char **ret_item, size_t *ret_len)
{
	if (!*at)
		return false;
	*ret_item = *at;
	*ret_len = strcspn(*at, ",");
	*at = (*at)[*ret_len] == ',' ? *at + *ret_len + 1 : NULL;
	return true;
}

const char *network_find_port(const char *text)
{
	/* An address in brackets ends at its ']'. */
	const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *colon = strrchr(bracket ? bracket : text, ':');

	if (bracket || !colon)
		return colon;
	return strchr(text, ':') == colon ? colon : NULL; /* several colons, as in ::1 */
}

int network_parse_host_port(const char *text, struct host_port *ret, struct sbx_error *err)
{
	const char *colon = network_find_port(text);
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	struct host_port made = { .is_address = false };
	struct port_range range;
	struct network network;
	int r = 0;

	if (strstr(text, "://"))
		return refuse_host(err, text, "it is a URL",
				   "write the host, and the port if it is not 443: "
				   "example.com:8443");
	if (colon) {
		r = network_parse_ports(colon + 1, strlen(colon + 1), &range, err);
		if (r < 0)
			return r;
		if (range.from != range.to)
			return refuse(err, "port", text, "a range is not allowed here",
				      "write one port, or a separate rule with 'ports'");
		(void)snprintf(made.port, sizeof(made.port), "%u", range.from);
	}

	bool brackets = text[0] == '[' && len > 1 && text[len - 1] == ']';

	if (brackets) {
		text++;
		len -= 2;
	}
	if (len >= sizeof(made.host))
		return refuse_host(err, text, "it is longer than 253 bytes",
				   "write the name as in the DNS");
	memcpy(made.host, text, len);
	made.is_address = network_parse(made.host, &network, NULL) >= 0;
	if (!made.is_address && (brackets || strpbrk(made.host, "/:")))
		r = network_parse(made.host, &network, err);
	else if (!made.is_address)
		r = network_check_host(made.host, err);
	if (r < 0)
		return r;
	*ret = made;
	return 0;
}

/* ---- the mode, and the rules implied by it ---- */

const char *const net_mode_names[] = {
	[NET_NONE] = "none",   [NET_LOOPBACK] = "loopback",	  [NET_HOST] = "host",
	[NET_PROXY] = "proxy", [NET_TRANSPARENT] = "transparent", [NET_VETH] = "veth",
	[N_NET_MODES] = NULL,
};

static const struct match_value loopback_addresses[] = {
	{ .text = "127.0.0.0/8" },
	{ .text = "::1" },
	{ .text = "0.0.0.0" },
	{ .text = "::" },
};
static const struct match_value loopback_names[] = { { .text = "localhost" } };

/* IPv4-mapped addresses, which IPv6 sockets see; a policy cannot write them. */
static const struct network mapped_addresses[] = {
	{ .bytes = { [10] = 0xff, [11] = 0xff, [12] = 127 }, .length = 104, .is_ipv6 = true },
	{ .bytes = { [10] = 0xff, [11] = 0xff }, .length = 128, .is_ipv6 = true },
};

static const struct condition of_the_loopback[] = {
	{ .lists[MATCH_CIDR] = { .present = true,
				 .values = loopback_addresses,
				 .n_values = N_ELEMENTS(loopback_addresses) } },
	{ .lists[MATCH_HOST] = { .present = true,
				 .values = loopback_names,
				 .n_values = N_ELEMENTS(loopback_names) } },
};

#define NONE_DENIES "net.mode is none"
#define LOOPBACK_DENIES "net.mode is loopback"

static const struct {
	enum net_mode mode;
	enum policy_action action;
	const char *reason;
	const struct condition *exceptions;
	size_t n_exceptions;
} implied[] = {
	{ NET_NONE, POLICY_DENY, NONE_DENIES, NULL, 0 },
	{ NET_HOST, POLICY_ALLOW, "net.mode is host", NULL, 0 },
	{ NET_LOOPBACK, POLICY_ALLOW, "net.mode is loopback", NULL, 0 },
	{ NET_LOOPBACK, POLICY_DENY, LOOPBACK_DENIES, of_the_loopback,
	  N_ELEMENTS(of_the_loopback) },
};

const char *net_mode_name(enum net_mode mode)
{
	return net_mode_names[mode];
}

bool net_mode_find(const char *name, enum net_mode *ret)
{
	for (size_t i = 0; net_mode_names[i]; i++)
		if (strcmp(net_mode_names[i], name) == 0) {
			*ret = (enum net_mode)i;
			return true;
		}
	return false;
}

static const struct rule *find_grant(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++)
		if (rule_grants_network(policy, &policy->rules[i]))
			return &policy->rules[i];
	return NULL;
}

static bool default_grants(const struct policy *policy)
{
	enum policy_action action = policy->defaults[CLASS_NET];

	return action != POLICY_DENY && action != POLICY_PASS;
}

static struct net_choice choose_by_template(const struct policy *policy, const char *name)
{
	const struct setting *setting =
		name ? NULL : policy_get_setting(policy, "isolation.template");
	const struct policy_template *template = policy_template_find(policy, name);

	return (struct net_choice){ .mode = template ? template->net_mode : NET_NONE,
				    .setting = setting,
				    .is_of_policy = setting != NULL };
}

struct net_choice policy_net_choice(const struct policy *policy, const char *template)
{
	struct net_choice choice = { .mode = NET_PROXY, .is_of_policy = true };

	if (!policy)
		return choose_by_template(NULL, template);
	choice.setting = policy_get_setting(policy, "net.mode");
	if (choice.setting) {
		/* The loader has checked the word. */
		if (!net_mode_find(choice.setting->text, &choice.mode))
			choice.mode = NET_NONE;
		return choice;
	}
	choice.rule = find_grant(policy);
	if (choice.rule || default_grants(policy))
		return choice;
	return choose_by_template(policy, template);
}

enum net_mode policy_net_mode(const struct policy *policy)
{
	return policy_net_choice(policy, NULL).mode;
}

bool net_mode_has_proxy(enum net_mode mode)
{
	return mode == NET_PROXY || mode == NET_TRANSPARENT;
}

static uint64_t limit_of(const struct policy *policy, const char *path)
{
	uint64_t number = policy_get_number(policy, path);

	return number > 0 ? number : UINT64_MAX;
}

struct net_limits policy_net_limits(const struct policy *policy)
{
	uint64_t connections = limit_of(policy, "net.limits.connections");

	return (struct net_limits){
		.connections = connections < UINT_MAX ? (unsigned)connections : UINT_MAX,
		.bytes = limit_of(policy, "net.limits.bytes"),
		.rate = limit_of(policy, "net.limits.rate"),
	};
}

/* A narrowing file's allow does not count alone. Its net.mode narrows another file's, so the
 * implied allow gets the place of a file that may widen. */
struct policy_place policy_net_place(const struct policy *policy, struct policy_place place)
{
	for (unsigned i = 0; policy->sources[place.source].narrows && i < policy->n_sources; i++)
		if (!policy->sources[i].narrows)
			return (struct policy_place){ .source = i, .at = { 1, 1 } };
	return place;
}

size_t policy_net_rules(const struct policy *policy, struct rule ret[NET_RULES_MAX])
{
	struct net_choice choice = policy_net_choice(policy, NULL);
	size_t n = 0;

	if (!choice.setting || strcmp(choice.setting->path, "net.mode") != 0)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(implied); i++) {
		struct policy_place place = choice.setting->place;

		if (implied[i].mode != choice.mode)
			continue;
		if (implied[i].action == POLICY_ALLOW)
			place = policy_net_place(policy, place);
		ret[n++] = (struct rule){
			.name = NET_RULE_NAME,
			.action = implied[i].action,
			.kind = RULE_OF_NET_MODE,
			.match = { .operations = operation_set("net.*"), .place = place },
			.exceptions = implied[i].exceptions,
			.n_exceptions = implied[i].n_exceptions,
			.constraints = { .max_file_size_bytes = UINT64_MAX },
			.reason = implied[i].reason,
			.place = place,
		};
	}
	return n;
}

/* ---- conditions about the loopback ---- */

static bool overlaps(const struct network *a, const struct network *b)
{
	return network_contains(a, b) || network_contains(b, a);
}

/* Is the relation to an address of the loopback true for the network? */
static bool any_address(bool (*relation)(const struct network *own, const struct network *network),
			const struct network *network)
{
	struct network own;

	for (size_t i = 0; i < N_ELEMENTS(loopback_addresses); i++)
		if (network_parse(loopback_addresses[i].text, &own, NULL) == 0 &&
		    relation(&own, network))
			return true;
	return false;
}

static bool address_meets(const struct network *network)
{
	return any_address(overlaps, network) || overlaps(&mapped_addresses[0], network) ||
	       overlaps(&mapped_addresses[1], network);
}

static bool name_is_contained(const char *name)
{
	const char *own = loopback_names[0].text;
	size_t len = strlen(own);

	return strncasecmp(name, own, len) == 0 && strcmp(name + len, name[len] ? "." : "") == 0;
}

/* A name that cannot be parsed might be any host. */
static bool name_meets(const char *name)
{
	struct network network;

	if (network_parse(name, &network, NULL) == 0)
		return address_meets(&network);
	return name_is_contained(name) || network_check_host(name, NULL) < 0;
}

bool net_loopback_meets(const struct condition *condition)
{
	const struct match_list *addresses = &condition->lists[MATCH_CIDR];
	const struct match_list *hosts = &condition->lists[MATCH_HOST];
	bool address = !addresses->present, host = !hosts->present;
	struct network network;

	for (size_t i = 0; i < addresses->n_values; i++)
		address |= network_parse(addresses->values[i].text, &network, NULL) < 0 ||
			   address_meets(&network);
	for (size_t i = 0; i < hosts->n_values; i++)
		host |= name_meets(hosts->values[i].text);
	return address && host;
}

bool net_loopback_contains(const struct condition *condition)
{
	const struct match_list *addresses = &condition->lists[MATCH_CIDR];
	const struct match_list *hosts = &condition->lists[MATCH_HOST];
	bool address = addresses->present, host = hosts->present;
	struct network network;

	for (size_t i = 0; i < addresses->n_values; i++)
		address &= network_parse(addresses->values[i].text, &network, NULL) == 0 &&
			   any_address(network_contains, &network);
	for (size_t i = 0; i < hosts->n_values; i++)
		host &= name_is_contained(hosts->values[i].text);
	return address || host;
}

/* ---- special addresses ---- */

/*
 * The ranges are those of IANA's registries of special-purpose addresses, multicast, and metadata
 * services of clouds. Of IPv6, only 2000::/3 is allocated for hosts, so everything outside it is
 * special. A range inside another one comes first.
 */

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
