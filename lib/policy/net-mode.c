/* SPDX-License-Identifier: MIT */

/*
 * The network mode of a policy, and the rules that it implies
 */

#include "policy/net-mode.h"

#include <string.h>
#include <strings.h>

#include "policy/enforcement.h"
#include "policy/network.h"

static const char *const names[N_NET_MODES] = {
	[NET_NONE] = "none",   [NET_LOOPBACK] = "loopback",	  [NET_HOST] = "host",
	[NET_PROXY] = "proxy", [NET_TRANSPARENT] = "transparent", [NET_VETH] = "veth",
};

static const struct match_value loopback_addresses[] = {
	{ .text = "127.0.0.0/8" },
	{ .text = "::1" },
	{ .text = "0.0.0.0" },
	{ .text = "::" },
};
static const struct match_value loopback_names[] = { { .text = "localhost" } };

/* The IPv4 ones as IPv6 sockets name them, which no policy can write. */
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

/* The templates that are not here have none. */
static const struct {
	const char *template;
	enum net_mode mode;
} templates[] = {
	{ "ai-provider", NET_PROXY },
};

const char *net_mode_name(enum net_mode mode)
{
	return names[mode];
}

bool net_mode_find(const char *name, enum net_mode *ret)
{
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (strcmp(names[i], name) == 0) {
			*ret = (enum net_mode)i;
			return true;
		}
	return false;
}

static enum net_mode mode_of_template(const char *template)
{
	for (size_t i = 0; i < N_ELEMENTS(templates); i++)
		if (strcmp(templates[i].template, template) == 0)
			return templates[i].mode;
	return NET_NONE;
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

static struct net_choice choose_by_template(const struct policy *policy, const char *template)
{
	const struct setting *setting =
		policy ? policy_get_setting(policy, "isolation.template") : NULL;

	if (template)
		return (struct net_choice){ .mode = mode_of_template(template) };
	if (!policy)
		return (struct net_choice){ .mode = NET_LOOPBACK };
	if (setting)
		return (struct net_choice){ .mode = mode_of_template(setting->text),
					    .setting = setting,
					    .is_of_policy = true };
	return (struct net_choice){ .mode = NET_NONE };
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

/* An allow of a file that only narrows does not count alone; the wider mode that it narrows was
 * said by another file. */
static struct policy_place place_of_allow(const struct policy *policy, struct policy_place place)
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
			place = place_of_allow(policy, place);
		ret[n++] = (struct rule){
			.name = NET_RULE_NAME,
			.action = implied[i].action,
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

bool net_rule_is_denial(const char *name, const char *reason)
{
	return reason && strcmp(name, NET_RULE_NAME) == 0 &&
	       (strcmp(reason, NONE_DENIES) == 0 || strcmp(reason, LOOPBACK_DENIES) == 0);
}

/* ---- which conditions are about the loopback ---- */

static bool overlaps(const struct network *a, const struct network *b)
{
	return network_contains(a, b) || network_contains(b, a);
}

static bool address_meets(const struct network *network)
{
	struct network own;

	for (size_t i = 0; i < N_ELEMENTS(loopback_addresses); i++)
		if (network_parse(loopback_addresses[i].text, &own, NULL) == 0 &&
		    overlaps(&own, network))
			return true;
	for (size_t i = 0; i < N_ELEMENTS(mapped_addresses); i++)
		if (overlaps(&mapped_addresses[i], network))
			return true;
	return false;
}

static bool address_is_contained(const struct network *network)
{
	struct network own;

	for (size_t i = 0; i < N_ELEMENTS(loopback_addresses); i++)
		if (network_parse(loopback_addresses[i].text, &own, NULL) == 0 &&
		    network_contains(&own, network))
			return true;
	return false;
}

static bool name_is_contained(const char *name)
{
	const char *own = loopback_names[0].text;
	size_t len = strlen(own);

	return strncasecmp(name, own, len) == 0 && strcmp(name + len, name[len] ? "." : "") == 0;
}

/* What cannot be read may mean anything. */
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
			   address_is_contained(&network);
	for (size_t i = 0; i < hosts->n_values; i++)
		host &= name_is_contained(hosts->values[i].text);
	return address || host;
}
