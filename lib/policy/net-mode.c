/* SPDX-License-Identifier: MIT */

/*
 * The network mode of a policy, and the rules that it implies
 */

#include "policy/net-mode.h"

#include <string.h>

#include "policy/enforcement.h"

static const char *const names[N_NET_MODES] = {
	[NET_NONE] = "none",   [NET_HOST] = "host",
	[NET_PROXY] = "proxy", [NET_TRANSPARENT] = "transparent",
	[NET_VETH] = "veth",
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

size_t policy_net_rules(const struct policy *policy, struct rule ret[NET_RULES_MAX])
{
	struct net_choice choice = policy_net_choice(policy, NULL);

	if (!choice.setting || strcmp(choice.setting->path, "net.mode") != 0 ||
	    (choice.mode != NET_NONE && choice.mode != NET_HOST))
		return 0;
	ret[0] = (struct rule){
		.name = NET_RULE_NAME,
		.action = choice.mode == NET_NONE ? POLICY_DENY : POLICY_ALLOW,
		.match = { .operations = operation_set("net.*"), .place = choice.setting->place },
		.constraints = { .max_file_size_bytes = UINT64_MAX },
		.reason = choice.mode == NET_NONE ? NET_RULE_DENIAL : "net.mode is host",
		.place = choice.setting->place,
	};
	return 1;
}
