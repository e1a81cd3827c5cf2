/* SPDX-License-Identifier: MIT */

/*
 * The policy by which sbx-proxy decides, compared with what check says that it enforces and with
 * what eval answers
 */

#include "policy/compose.h"

#include "policy-rig.h"
#include "policy/enforcement.h"
#include "test.h"

static uint64_t random_state = 7;

static uint32_t random_below(uint32_t n)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

#define random_of(list) ((list)[random_below(N_ELEMENTS(list))])

/* One policy with two engines. */
struct pair {
	struct rig eval;
	struct rig proxy; /* its policy is NULL */
};
#define _cleanup_pair_ _cleanup_(pair_close)

static void pair_close(struct pair *pair)
{
	rig_close(&pair->eval);
	rig_close(&pair->proxy);
}

static void open_engine(struct rig *rig, size_t n_bytes)
{
	struct sbx_error err = { .code = 0 };

	rig_must(artefact_open(rig->block, n_bytes, &rig->artefact, &err), &err);
	rig_must(policy_engine_new(&rig->artefact, &rig->engine), &err);
}

static void open_proxied(const struct policy *policy, struct rig *ret)
{
	struct sbx_error err = { .code = 0 };
	size_t n_bytes = 0;

	rig_must(policy_compile_proxied(policy, &ret->block, &n_bytes, &err), &err);
	open_engine(ret, n_bytes);
}

static void pair_open(struct pair *pair, const char *yaml)
{
	struct sbx_error err = { .code = 0 };
	size_t n_bytes = 0;

	rig_load(&pair->eval, "p.yaml", yaml);
	rig_must(policy_compile_composed(pair->eval.policy, NULL, NULL, &pair->eval.block, &n_bytes,
					 &err),
		 &err);
	open_engine(&pair->eval, n_bytes);
	open_proxied(pair->eval.policy, &pair->proxy);
}

static bool is_permitted(const struct policy_decision *decision)
{
	return decision->verdict == POLICY_ALLOW || decision->verdict == POLICY_WARN;
}

static const char *const keys[] = { "host: a.example",
				    "host: ['*.a.example', b.example]",
				    "host: localhost",
				    "cidr: 10.0.0.0/8",
				    "cidr: [127.0.0.0/8, '::1', 8.8.8.8]",
				    "cidr: '64:ff9b::/96'",
				    "ports: 443",
				    "ports: '80,400-500'",
				    "proto: tcp",
				    "proto: [udp, tcp]",
				    "proto: udp" };
static const char *const unseen[] = { "caller: me", "caller_tag: [t]", "state: s", "mode: strict" };

static void add_keys(struct text *out)
{
	for (uint32_t n = random_below(3); n > 0; n--)
		text_addf(out, ", %s", random_of(keys));
	if (random_below(6) == 0)
		text_addf(out, ", %s", random_of(unseen));
}

/* The same key twice is a mistake of the file: such a policy is made anew. */
static void add_rule(struct text *out, int number)
{
	static const char *const operations[] = { "net.connect", "net.connect", "net.connect",
						  "net.*", "net.bind" };
	static const char *const actions[] = { "allow", "allow", "allow",	  "deny",
					       "warn",	"pass",	 "require_review" };
	static const char *const constraints[] = { "tls: any", "tls: any", "tls: sni",
						   "require_sandbox: L2",
						   "require_capability_token: true" };

	text_addf(out, "- {name: r%d, match: {op: [%s]", number, random_of(operations));
	add_keys(out);
	text_addf(out, "}, action: %s", random_of(actions));
	if (random_below(4) == 0) {
		text_add(out, ", except: [{op: net.connect");
		add_keys(out);
		text_add(out, "}]");
	}
	if (random_below(3) == 0)
		text_addf(out, ", constraints: {%s}", random_of(constraints));
	text_add(out, "}\n");
}

static bool open_random(struct pair *pair)
{
	static const char *const defaults[] = { "deny",	 "deny", "deny",
						"allow", "warn", "require_review" };
	static const char *const settings[] = { "net: {mode: proxy}\n", "net: {mode: proxy}\n", "",
						"isolation: {nested: true}\n" };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct policy *policy = NULL;

	text_addf(&text, "%sdefaults: {net: %s}\ncapabilities:\n", random_of(settings),
		  random_of(defaults));
	for (int i = 0, n = 1 + (int)random_below(4); i < n; i++)
		add_rule(&text, i);
	if (policy_load("p.yaml", text.data, text.len, &policy, NULL) < 0)
		return false;

	bool is_proxied = policy_net_mode(policy) == NET_PROXY;

	(void)policy_free(policy);
	if (is_proxied)
		pair_open(pair, text_string(&text));
	return is_proxied;
}

static bool holds_everything(const struct policy *policy)
{
	if (default_enforcement(policy, CLASS_NET).state != ENFORCEMENT_HELD)
		return false;
	for (size_t i = 0; i < policy->n_rules; i++)
		if (rule_enforcement(policy, &policy->rules[i]).state != ENFORCEMENT_HELD)
			return false;
	return true;
}

static struct policy_request random_request(void)
{
	static const char *const hosts[] = { "a.example", "b.a.example", "b.example", "c.example",
					     "localhost" };
	static const char *const addresses[] = {
		"10.1.2.3", "8.8.8.8", "9.9.9.9",	   "127.0.0.1",	     "::1",
		"2600::1",  "0.0.0.0", "64:ff9b::a01:203", "169.254.169.254"
	};
	static const uint16_t ports[] = { 443, 80, 22, 450 };
	struct policy_request request = {
		.operation = "net.connect",
		.host = random_below(2) ? random_of(hosts) : random_of(addresses),
		.port = random_of(ports),
		.has_port = true,
		.proto = "tcp",
	};

	if (strchr(request.host, 'e') && random_below(3) > 0)
		request.address = random_of(addresses);
	return request;
}

/* The facts that a client of the policy service states, and that sbx-proxy does not know. */
static void add_facts(struct policy_request *request, const struct policy *policy)
{
	static const char *const tags[] = { "t", NULL };

	request->sandbox = policy_sandbox_level(policy);
	request->caller = random_below(2) ? "me" : NULL;
	request->caller_tags = random_below(2) ? tags : NULL;
	request->state = random_below(2) ? "s" : NULL;
	request->mode = random_below(2) ? "strict" : "explore";
}

/* Returns whether check says that sbx-proxy enforces the policy as it stands. */
static bool compare(struct pair *pair)
{
	bool is_held = holds_everything(pair->eval.policy);

	for (int i = 0; i < 60; i++) {
		struct policy_request request = random_request();
		struct policy_decision wanted, got;

		policy_decide(pair->proxy.engine, &request, &got);
		add_facts(&request, pair->eval.policy);
		policy_decide(pair->eval.engine, &request, &wanted);
		expect(wanted.cause != CAUSE_BAD_REQUEST);
		expect(is_permitted(&wanted) || !is_permitted(&got));
		if (!is_held)
			continue;
		expect_eq(got.verdict, wanted.verdict);
		expect_eq(got.constraints.tls, wanted.constraints.tls);
	}
	return is_held;
}

static void sbx_proxy_decides_what_check_calls_enforced_like_eval(void)
{
	unsigned n_held = 0, n_others = 0;

	while (n_held + n_others < 4000) {
		_cleanup_pair_ struct pair pair = { .eval.policy = NULL };
		bool is_held;

		if (!open_random(&pair))
			continue;
		is_held = compare(&pair);
		n_held += is_held;
		n_others += !is_held;
	}
	expect(n_held > 400);
	expect(n_others > 400);
}

#define ALLOW                                                                                      \
	"capabilities:\n- {name: web, match: {op: net.connect, host: a.example}, action: allow}\n"

static enum policy_action proxy_says(const char *yaml, const char *host)
{
	_cleanup_pair_ struct pair pair = { .eval.policy = NULL };
	struct policy_request request = { .operation = "net.connect",
					  .host = host,
					  .port = 443,
					  .has_port = true,
					  .proto = "tcp" };
	struct policy_decision decision;

	if (yaml)
		pair_open(&pair, yaml);
	else
		open_proxied(NULL, &pair.proxy);
	policy_decide(pair.proxy.engine, &request, &decision);
	return decision.verdict;
}

/* The command named the mode proxy, and the policy another one. */
static void the_rules_of_another_mode_do_not_count(void)
{
	static const char *const modes[] = { "none", "loopback", "host", "proxy" };

	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		text_addf(&text, "net: {mode: %s}\n" ALLOW, modes[i]);
		expect_eq(proxy_says(text_string(&text), "a.example"), POLICY_ALLOW);
		expect_eq(proxy_says(text_string(&text), "b.example"), POLICY_DENY);
		expect_eq(proxy_says(text_string(&text), "8.8.8.8"), POLICY_DENY);
		expect_eq(proxy_says(text_string(&text), "127.0.0.1"), POLICY_DENY);
		expect_eq(proxy_says(text_string(&text), "localhost"), POLICY_DENY);
		expect_eq(proxy_says(text_string(&text), "::1"), POLICY_DENY);
	}
}

static void only_a_rule_with_cidr_reaches_the_hosts_loopback(void)
{
	static const char open[] = "net: {mode: loopback}\ndefaults: {net: allow}\ncapabilities:\n"
				   "- {name: all, match: {op: 'net.*'}, action: allow}\n";
	static const char named[] = "net: {mode: proxy}\ncapabilities:\n"
				    "- {name: own, match: {op: net.connect, cidr: 127.0.0.1},"
				    " action: allow}\n";

	expect_eq(proxy_says(open, "127.0.0.1"), POLICY_DENY);
	expect_eq(proxy_says(open, "0.0.0.0"), POLICY_DENY);
	expect_eq(proxy_says(open, "8.8.8.8"), POLICY_ALLOW);
	expect_eq(proxy_says(named, "127.0.0.1"), POLICY_ALLOW);
	expect_eq(proxy_says(named, "127.0.0.2"), POLICY_DENY);
}

static void nothing_is_allowed_without_a_policy(void)
{
	expect_eq(proxy_says(NULL, "a.example"), POLICY_DENY);
	expect_eq(proxy_says(NULL, "8.8.8.8"), POLICY_DENY);
}

static const struct test tests[] = {
	TEST(sbx_proxy_decides_what_check_calls_enforced_like_eval),
	TEST(the_rules_of_another_mode_do_not_count),
	TEST(only_a_rule_with_cidr_reaches_the_hosts_loopback),
	TEST(nothing_is_allowed_without_a_policy),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
