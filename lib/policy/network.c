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
