/* SPDX-License-Identifier: MIT */
#include "policy/net-mode.h"

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

static void the_mode_is_said_or_implied(void)
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
		/* These give a sandboxed command nothing. */
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
	expect_eq(policy_net_choice(NULL, NULL).mode, NET_NONE);
	expect_eq(policy_net_choice(NULL, "ai-provider").mode, NET_PROXY);
}

static void a_mode_that_is_said_implies_a_rule_at_its_place(void)
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

static const struct test tests[] = {
	TEST(a_mode_has_a_name),
	TEST(the_mode_is_said_or_implied),
	TEST(a_mode_that_is_said_implies_a_rule_at_its_place),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
