/* SPDX-License-Identifier: MIT */
#include "policy/network.h"

#include <limits.h>

#include "policy-rig.h"
#include "test.h"

#define ALLOW "- {name: web, match: {syscall: net.connect, host: a.example}, action: allow}\n"
#define DENY "- {name: never, match: {syscall: net.*}, action: deny}\n"

static void a_mode_has_a_name(void)
{
	enum net_mode mode;

	for (int i = 0; i < N_NET_MODES; i++) {
		expect(net_mode_find(net_mode_name((enum net_mode)i), &mode));
		expect_eq(mode, i);
	}
	expect(!net_mode_find("bridge", &mode));
}

static void the_mode_is_set_or_implied(void)
{
	static const struct {
		const char *policy;
		const char *template;
		enum net_mode mode;
		const char *setting;
		const char *rule;
		bool is_of_policy;
	} cases[] = {
		{ "version: 1\n", NULL, NET_NONE, NULL, NULL, false },
		{ "net: {mode: host}\n", NULL, NET_HOST, "net.mode", NULL, true },
		{ "net: {mode: loopback}\ncapabilities:\n" ALLOW, "ai-provider", NET_LOOPBACK,
		  "net.mode", NULL, true },
		{ "net: {mode: none}\ncapabilities:\n" ALLOW, NULL, NET_NONE, "net.mode", NULL,
		  true },
		{ "capabilities:\n" ALLOW, NULL, NET_PROXY, NULL, "web", true },
		{ "capabilities:\n" DENY ALLOW, "code-executor", NET_PROXY, NULL, "web", true },
		{ "capabilities:\n" DENY, NULL, NET_NONE, NULL, NULL, false },
		{ "capabilities:\n" DENY, "ai-provider", NET_PROXY, NULL, NULL, false },
		{ "isolation: {template: ai-provider}\n", NULL, NET_PROXY, "isolation.template",
		  NULL, true },
		{ "isolation: {template: ai-provider}\n", "policy-sandbox", NET_NONE, NULL, NULL,
		  false },
		{ "isolation: {template: code-executor}\ncapabilities:\n" ALLOW, NULL, NET_PROXY,
		  NULL, "web", true },
		{ "version: 1\ndefaults: {net: allow}\n", NULL, NET_PROXY, NULL, NULL, true },
		{ "version: 1\ndefaults: {net: warn}\n", NULL, NET_PROXY, NULL, NULL, true },
		/* These grant nothing to a sandboxed command. */
		{ "capabilities:\n"
		  "- {name: a, match: {syscall: '*', caller: me}, action: allow}\n"
		  "- {name: b, match: {syscall: '*', path: /a}, action: allow}\n"
		  "- {name: c, match: {syscall: net.*, ports: []}, action: allow}\n"
		  "- {name: d, match: {syscall: net.*}, action: pass}\n",
		  NULL, NET_NONE, NULL, NULL, false },
		{ "{\"sandbox\": {\"config\": {\"allowNetworkAccess\": true}}}", NULL, NET_HOST,
		  "net.mode", NULL, true },
		{ "{\"sandbox\": {\"config\": {\"allowNetworkAccess\": false}}}", NULL, NET_NONE,
		  NULL, NULL, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		struct net_choice choice;

		rig_load(&rig, "p.yaml", cases[i].policy);
		choice = policy_net_choice(rig.policy, cases[i].template);
		expect_eq(choice.mode, cases[i].mode);
		expect_eq(choice.is_of_policy, cases[i].is_of_policy);
		expect_str(choice.setting ? choice.setting->path : "",
			   cases[i].setting ? cases[i].setting : "");
		expect_str(choice.rule ? choice.rule->name : "",
			   cases[i].rule ? cases[i].rule : "");
	}
	expect_eq(policy_net_choice(NULL, NULL).mode, NET_LOOPBACK);
	expect_eq(policy_net_choice(NULL, "code-executor").mode, NET_NONE);
	expect_eq(policy_net_choice(NULL, "ai-provider").mode, NET_PROXY);
}

static void a_mode_that_is_set_implies_a_rule_at_its_place(void)
{
	static const struct {
		const char *policy;
		size_t n;
		enum policy_action action;
		const char *reason;
	} cases[] = {
		{ "version: 1\nnet: {mode: none}\n", 1, POLICY_DENY, "net.mode is none" },
		{ "version: 1\nnet: {mode: host}\n", 1, POLICY_ALLOW, "net.mode is host" },
		{ "version: 1\nnet: {mode: proxy}\n", 0, POLICY_PASS, NULL },
		{ "version: 1\nnet: {mode: veth}\n", 0, POLICY_PASS, NULL },
		{ "version: 1\nisolation: {template: policy-sandbox}\n", 0, POLICY_PASS, NULL },
		{ "version: 1\n", 0, POLICY_PASS, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		struct rule rules[NET_RULES_MAX];

		rig_load(&rig, "p.yaml", cases[i].policy);
		expect_eq(policy_net_rules(rig.policy, rules), cases[i].n);
		if (cases[i].n == 0)
			continue;
		expect_str(rules[0].name, NET_RULE_NAME);
		expect_str(rules[0].reason, cases[i].reason);
		expect_eq(rules[0].action, cases[i].action);
		expect_eq(rules[0].match.operations, operation_set("net.*"));
		expect_eq(rules[0].constraints.max_file_size_bytes, UINT64_MAX);
		expect_eq(rules[0].place.at.line, 2);
	}
}

static void limits_are_those_of_the_settings(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL }, other = { .policy = NULL };
	struct net_limits limits = policy_net_limits(NULL);

	expect_eq(limits.connections, UINT_MAX);
	expect_eq(limits.bytes, UINT64_MAX);
	expect_eq(limits.rate, UINT64_MAX);
	rig_load(&rig, "p.yaml", "net: {limits: {connections: 7, bytes: 2GiB, rate: 3KiB}}\n");
	limits = policy_net_limits(rig.policy);
	expect_eq(limits.connections, 7);
	expect_eq(limits.bytes, UINT64_C(2) << 30);
	expect_eq(limits.rate, 3072);
	rig_load(&other, "p.yaml", "net: {limits: {connections: 4294967296}}\n");
	limits = policy_net_limits(other.policy);
	expect_eq(limits.connections, UINT_MAX);
	expect_eq(limits.bytes, UINT64_MAX);
}

static void loopback_implies_an_allow_and_a_denial_of_all_else(void)
{
	_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
	struct rule rules[NET_RULES_MAX];

	rig_load(&rig, "p.yaml", "version: 1\nnet: {mode: loopback}\n");
	expect_eq(policy_net_rules(rig.policy, rules), 2);
	expect_eq(rules[0].action, POLICY_ALLOW);
	expect_eq(rules[0].n_exceptions, 0);
	expect_eq(rules[1].action, POLICY_DENY);
	expect_eq(rules[1].n_exceptions, 2);
	for (size_t i = 0; i < 2; i++) {
		expect_str(rules[i].name, NET_RULE_NAME);
		expect_eq(rules[i].kind, RULE_OF_NET_MODE);
		expect_str(rules[i].reason, "net.mode is loopback");
		expect_eq(rules[i].match.operations, operation_set("net.*"));
		expect_eq(rules[i].place.at.line, 2);
	}
}

/* In a file that only narrows it would have no effect unless another rule allows the same. */
static void the_allow_of_a_narrower_mode_has_the_place_of_the_narrowed_file(void)
{
	static const char *const modes[] = { "host", "loopback" };

	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		_cleanup_policy_ struct policy *merged = NULL;
		_cleanup_rig_ struct rig user = { .text = TEXT_INIT },
					 project = { .text = TEXT_INIT };
		struct rule rules[NET_RULES_MAX];
		struct policy *both[2];
		char text[64];

		(void)snprintf(text, sizeof(text), "version: 1\nnet: {mode: %s}\n", modes[i]);
		rig_load(&user, "user.yaml", "net: {mode: host}\n");
		rig_load(&project, "project.yaml", text);
		both[0] = take_ptr(user.policy);
		both[1] = take_ptr(project.policy);
		expect_eq(policy_merge(both, 2, 1, &merged, NULL), 0);
		expect(policy_net_rules(merged, rules) > 0);
		expect_eq(rules[0].action, POLICY_ALLOW);
		expect(!merged->sources[rules[0].place.source].narrows);
	}
}

static void conditions_are_of_the_loopback_or_of_elsewhere(void)
{
	static const struct {
		const char *match;
		bool meets;
		bool is_contained;
	} cases[] = {
		{ "syscall: net.*", true, false },
		{ "syscall: net.*, ports: 80", true, false },
		{ "syscall: net.*, cidr: 127.0.0.0/8", true, true },
		{ "syscall: net.*, cidr: [127.0.0.1, '::1', 0.0.0.0, '::']", true, true },
		{ "syscall: net.*, cidr: [127.0.0.1, 10.0.0.0/8]", true, false },
		{ "syscall: net.*, cidr: 126.0.0.0/7", true, false },
		{ "syscall: net.*, cidr: 0.0.0.0/0", true, false },
		{ "syscall: net.*, cidr: '::/0'", true, false },
		{ "syscall: net.*, cidr: '::/96'", true, false },
		{ "syscall: net.*, cidr: '::fffe:0:0/95'", true, false },
		{ "syscall: net.*, cidr: [10.0.0.0/8, 'fe80::/10']", false, false },
		{ "syscall: net.*, cidr: 128.0.0.0/1", false, false },
		{ "syscall: net.*, host: localhost", true, true },
		{ "syscall: net.*, host: LocalHost", true, true },
		{ "syscall: net.*, host: [localhost, a.example]", true, false },
		{ "syscall: net.*, host: '*.localhost'", false, false },
		{ "syscall: net.*, host: xlocalhost", false, false },
		{ "syscall: net.*, host: a.example", false, false },
		{ "syscall: net.*, host: localhost, cidr: 10.0.0.0/8", false, true },
		{ "syscall: net.*, host: a.example, cidr: 127.0.0.1", false, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		const struct condition *match;
		char policy[256];

		(void)snprintf(policy, sizeof(policy),
			       "capabilities:\n- {name: r, match: {%s}, action: deny}\n",
			       cases[i].match);
		rig_load(&rig, "p.yaml", policy);
		match = &rig.policy->rules[0].match;
		if (net_loopback_meets(match) != cases[i].meets ||
		    net_loopback_contains(match) != cases[i].is_contained)
			printf("# %s\n", cases[i].match);
		expect_eq(net_loopback_meets(match), cases[i].meets);
		expect_eq(net_loopback_contains(match), cases[i].is_contained);
	}
}

static const struct test tests[] = {
	TEST(a_mode_has_a_name),
	TEST(the_mode_is_set_or_implied),
	TEST(a_mode_that_is_set_implies_a_rule_at_its_place),
	TEST(limits_are_those_of_the_settings),
	TEST(loopback_implies_an_allow_and_a_denial_of_all_else),
	TEST(the_allow_of_a_narrower_mode_has_the_place_of_the_narrowed_file),
	TEST(conditions_are_of_the_loopback_or_of_elsewhere),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
