/* SPDX-License-Identifier: MIT */

/* Hosts, addresses, ports and protocols in decisions */

#include <stdint.h>

#include "policy/decide.h"
#include "policy-build.h"
#include "test.h"

/* Does a rule of these words apply to a connection to @host and @port? */
static bool connects(const char *words, const char *host, uint16_t port, const char *proto)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = {
		.operation = "net.connect",
		.host = host,
		.port = port,
		.has_port = true,
		.proto = proto,
	};
	struct policy_decision decision;

	build_rule(&built, POLICY_ALLOW, "net.connect", words);
	build_engine(&built);
	policy_decide(built.engine, &request, &decision);
	expect(decision.cause == CAUSE_RULES || decision.cause == CAUSE_DEFAULT);
	return decision.verdict == POLICY_ALLOW;
}

static void matches_hosts_by_whole_labels_and_in_any_case(void)
{
	expect(connects("host=a.example", "a.example", 1, NULL));
	expect(connects("host=A.Example", "a.eXAMPLE.", 1, NULL));
	expect(connects("host=a.example.", "a.example", 1, NULL));
	expect(!connects("host=a.example", "b.a.example", 1, NULL));
	expect(!connects("host=a.example", "xa.example", 1, NULL));
	expect(connects("host=*.a.example", "b.a.example", 1, NULL));
	expect(connects("host=*.a.example", "C.b.a.example.", 1, NULL));
	expect(!connects("host=*.a.example", "a.example", 1, NULL));
	expect(!connects("host=*.a.example", "xa.example", 1, NULL));
	expect(connects("host=*", "any.example", 1, NULL));
	expect(connects("host=*", "10.0.0.1", 1, NULL));
	expect(!connects("host=a.example", "example", 1, NULL));
}

static void matches_addresses_by_prefix(void)
{
	expect(connects("cidr=10.0.0.0/8", "10.255.1.2", 1, NULL));
	expect(!connects("cidr=10.0.0.0/8", "11.0.0.1", 1, NULL));
	expect(connects("cidr=0.0.0.0/0", "1.2.3.4", 1, NULL));
	expect(!connects("cidr=0.0.0.0/0", "2001:db8::1", 1, NULL));
	expect(connects("cidr=1.2.3.4", "1.2.3.4", 1, NULL));
	expect(connects("cidr=1.2.3.4", "1.2.3.4.", 1, NULL));
	expect(!connects("cidr=1.2.3.4", "1.2.3.5", 1, NULL));
	expect(connects("cidr=2001:db8::/32", "2001:DB8:7::1", 1, NULL));
	expect(connects("cidr=2001:db8::/65", "[2001:db8::7fff:0:0:1]", 1, NULL));
	expect(!connects("cidr=2001:db8::/65", "2001:db8::8000:0:0:1", 1, NULL));
	expect(connects("cidr=::1/128", "::1", 1, NULL));
	expect(connects("cidr=::/0", "::1", 1, NULL));
	expect(!connects("cidr=::/0", "1.2.3.4", 1, NULL));
	expect(!connects("cidr=10.0.0.0/8", "ten.example", 1, NULL));
}

static void ipv4_inside_ipv6_counts_as_both(void)
{
	expect(connects("cidr=10.0.0.0/8", "::ffff:10.0.0.1", 1, NULL));
	expect(connects("cidr=10.0.0.0/8", "[::ffff:a00:1]", 1, NULL));
	expect(connects("cidr=::/0", "::ffff:10.0.0.1", 1, NULL));
	expect(connects("host=10.0.0.1", "::ffff:10.0.0.1", 1, NULL));
	expect(!connects("cidr=10.0.0.0/8", "::10.0.0.1", 1, NULL));
}

static void an_address_is_accepted_as_a_host(void)
{
	expect(connects("host=10.0.0.1", "10.0.0.1", 1, NULL));
	expect(connects("host=::1", "[0:0::1]", 1, NULL));
	expect(connects("host=[::1]", "::1", 1, NULL));
	expect(!connects("host=10.0.0.1", "10.0.0.2", 1, NULL));
}

static void matches_ports_ranges_and_protocols(void)
{
	expect(connects("port=443", "a", 443, NULL));
	expect(!connects("port=443", "a", 444, NULL));
	expect(connects("port=80,443", "a", 443, NULL));
	expect(connects("port=8000-9000", "a", 8000, NULL));
	expect(connects("port=8000-9000", "a", 9000, NULL));
	expect(!connects("port=8000-9000", "a", 7999, NULL));
	expect(!connects("port=8000-9000", "a", 9001, NULL));
	expect(connects("port=0-65535", "a", 65535, NULL));
	expect(connects("port=0", "a", 0, NULL));
	expect(connects("proto=tcp", "a", 1, NULL));
	expect(connects("proto=tcp", "a", 1, "tcp"));
	expect(!connects("proto=tcp", "a", 1, "udp"));
	expect(connects("proto=tcp proto=udp", "a", 1, "udp"));
	expect(!connects("port=443 proto=udp", "a", 443, NULL));
}

/* One of the keys is found by the index, the others are compared; each combination must agree. */
static void all_keys_of_the_network_must_hold_together(void)
{
	expect(connects("host=*.a.example port=443", "b.a.example", 443, NULL));
	expect(!connects("host=*.a.example port=443", "b.a.example", 80, NULL));
	expect(!connects("host=*.a.example port=443", "a.example", 443, NULL));
	expect(connects("cidr=10.0.0.0/8 port=1-9 port=443", "10.1.1.1", 443, NULL));
	expect(!connects("cidr=10.0.0.0/8 port=1-9 port=443", "10.1.1.1", 10, NULL));
	expect(connects("host=10.1.1.1 cidr=10.0.0.0/8", "10.1.1.1", 1, NULL));
	expect(!connects("host=10.1.1.1 cidr=11.0.0.0/8", "10.1.1.1", 1, NULL));
	expect(!connects("host=a.example cidr=10.0.0.0/8", "a.example", 1, NULL));
	expect(!connects("path=/a host=a.example", "a.example", 1, NULL));
	expect(connects("host=* cidr=2001:db8::/65 port=7", "2001:db8::1", 7, NULL));
	expect(!connects("host=* cidr=2001:db8::/65 port=7", "2001:db8::8000:0:0:1", 7, NULL));
}

/* The answer of a policy in whose sandboxes sbx-proxy connects; @address may be NULL. */
static struct policy_decision judge(struct built *built, const char *host, const char *address)
{
	const struct policy_request request = {
		.operation = "net.connect",
		.host = host,
		.address = address,
		.port = 443,
		.has_port = true,
	};
	struct policy_decision decision;

	if (!built->engine)
		build_engine(built);
	policy_decide(built->engine, &request, &decision);
	return decision;
}

static bool is_allowed(struct built *built, const char *host, const char *address)
{
	return judge(built, host, address).verdict == POLICY_ALLOW;
}

static bool is_protected(struct built *built, const char *host, const char *address)
{
	struct policy_decision decision = judge(built, host, address);

	return decision.verdict == POLICY_DENY && decision.cause == CAUSE_BUILTIN &&
	       strcmp(decision.builtin, "builtin:special-addresses") == 0 && decision.reason &&
	       !policy_wants_votes(&decision);
}

static void a_host_is_matched_by_the_name_and_a_network_by_the_address(void)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_ALLOW, "net.connect", "host=a.example");
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=b.example cidr=8.0.0.0/8");
	build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=9.0.0.0/8");
	build_rule(&built, POLICY_DENY, "net.connect", "cidr=8.8.0.0/16");
	expect(is_allowed(&built, "a.example", "8.1.1.1"));
	expect(is_allowed(&built, "A.Example.", "2a00::1"));
	expect(!is_allowed(&built, "a.example", "8.8.8.8"));
	expect(!is_allowed(&built, "a.example", "::ffff:8.8.8.8"));
	expect(is_allowed(&built, "b.example", "8.1.1.1"));
	expect(!is_allowed(&built, "b.example", "7.1.1.1"));
	expect(!is_allowed(&built, "b.example", "8.8.8.8"));
	expect(!is_allowed(&built, "c.example", "8.1.1.1"));
	expect(is_allowed(&built, "c.example", "9.1.1.1"));
	expect(is_allowed(&built, "9.1.1.1", NULL));
	expect(is_allowed(&built, "9.1.1.1", "9.1.1.1"));
	/* Without the proxy a host that is allowed by its name has any address. */
	expect(is_allowed(&built, "a.example", "127.0.0.1"));
	expect(is_allowed(&built, "a.example", "169.254.169.254"));
}

/* A "host" is compared with the name, also where it is an address; found by the index, or compared
 * because the path finds the rule. */
static void the_address_of_a_name_is_no_host(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = {
		.operation = "tool.call", .path = "/a", .host = "a.example", .address = "9.1.1.1"
	};
	struct policy_decision decision;

	build_rule(&built, POLICY_ALLOW, "net.connect", "host=9.1.1.1");
	build_rule(&built, POLICY_ALLOW, "tool.call", "path=/a host=9.1.1.1");
	expect(is_allowed(&built, "9.1.1.1", NULL));
	expect(!is_allowed(&built, "a.example", "9.1.1.1"));
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_DENY);
	request.host = "9.1.1.1";
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_ALLOW);
}

static void an_address_that_is_not_one_is_a_bad_request(void)
{
	static const char *const rows[][2] = {
		{ "a.example", "" },
		{ "a.example", "b.example" },
		{ "a.example", "10.0.0" },
		{ "a.example", "010.0.0.1" },
		{ "a.example", "0x7f.0.0.1" },
		{ "a.example", "2130706433" },
		{ "a.example", "10.0.0.1." },
		{ "a.example", " 10.0.0.1" },
		{ "a.example", "10.0.0.0/8" },
		{ "a.example", "[::1]" },
		{ "a.example", "fe80::1%eth0" },
		{ "a.example", "::1/128" },
		{ "a.example", "1:2:3" },
		{ "a.example", "2001:db8:0000:0000:0000:0000:0000:0000:0001:1111:2222:3333" },
		{ "10.0.0.1", "10.0.0.2" },
		{ "10.0.0.1", "::ffff:10.0.0.1" },
		{ "::ffff:10.0.0.1", "10.0.0.1" },
		{ "::1", "::2" },
	};
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "tool.call", .address = "8.8.8.8" };
	struct policy_decision decision;

	build_rule(&built, POLICY_ALLOW, "*", "");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		decision = judge(&built, rows[i][0], rows[i][1]);
		if (decision.cause != CAUSE_BAD_REQUEST)
			printf("# %s at %s\n", rows[i][0], rows[i][1]);
		expect_eq(decision.cause, CAUSE_BAD_REQUEST);
		expect_eq(decision.verdict, POLICY_DENY);
	}
	expect(is_allowed(&built, "10.0.0.1", "10.0.0.1"));
	expect(is_allowed(&built, "[0:0::1]", "::1"));
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.cause, CAUSE_BAD_REQUEST);
}

static void a_name_that_is_allowed_does_not_reach_special_addresses(void)
{
	static const char *const special[] = {
		"127.0.0.1",	   "10.0.0.1",	    "169.254.169.254",
		"100.64.0.1",	   "0.0.0.0",	    "224.0.0.1",
		"255.255.255.255", "::1",	    "::",
		"fe80::1",	   "fd00:ec2::254", "ff02::1",
		"::ffff:8.8.8.8",  "::8.8.8.8",	    "64:ff9b::8.8.8.8",
		"2002:808:808::1", "2001:db8::1",   "::ffff:127.0.0.1",
	};
	static const char *const words[] = { "host=a.example", "host=*", "port=443", "" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		_cleanup_built_ struct built built = build_new();

		built.policy->special_needs_cidr = true;
		build_rule(&built, POLICY_ALLOW, "net.*", words[i]);
		expect(is_allowed(&built, "a.example", "8.8.8.8"));
		expect(is_allowed(&built, "a.example", "2a00::1"));
		for (size_t k = 0; k < N_ELEMENTS(special); k++)
			expect(is_protected(&built, "a.example", special[k]));
		expect(i == 0 || is_protected(&built, "127.0.0.1", NULL));
	}
}

static void a_default_that_allows_does_not_reach_special_addresses(void)
{
	static const enum policy_action defaults[] = { POLICY_ALLOW, POLICY_WARN, POLICY_REVIEW,
						       POLICY_DENY };

	for (size_t i = 0; i < N_ELEMENTS(defaults); i++) {
		_cleanup_built_ struct built built = build_new();

		built.policy->special_needs_cidr = true;
		built.policy->defaults[CLASS_NET] = defaults[i];
		expect(is_protected(&built, "a.example", "10.0.0.1"));
		expect_eq(judge(&built, "a.example", "8.8.8.8").verdict, defaults[i]);
	}
}

static void a_permission_with_a_network_reaches_special_addresses(void)
{
	_cleanup_built_ struct built built = build_new();

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=*");
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=a.example cidr=10.0.0.0/8");
	build_rule(&built, POLICY_WARN, "net.connect", "cidr=fd00::/8");
	build_rule(&built, POLICY_REVIEW, "net.connect", "cidr=192.168.0.0/16");
	build_rule(&built, POLICY_DENY, "net.connect", "cidr=10.1.0.0/16");
	expect(is_allowed(&built, "a.example", "10.0.0.1"));
	expect(is_protected(&built, "b.example", "10.0.0.1"));
	expect(is_protected(&built, "10.0.0.1", NULL));
	expect(is_allowed(&built, "a.example", "::ffff:10.0.0.1"));
	expect_eq(judge(&built, "b.example", "fd00::1").verdict, POLICY_WARN);
	/* A review alone opens nothing, and a rule that denies is named first. */
	expect(is_protected(&built, "a.example", "192.168.0.1"));
	expect_eq(judge(&built, "a.example", "10.1.0.1").cause, CAUSE_RULES);
	expect_eq(judge(&built, "b.example", "10.1.0.1").verdict, POLICY_DENY);
}

static void only_connections_of_the_proxy_are_protected(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "net.bind", .host = "127.0.0.1" };
	struct policy_decision decision;

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_ALLOW, "*", "");
	build_engine(&built);
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_ALLOW);
	request.operation = "tool.call";
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_ALLOW);
	expect(is_protected(&built, "127.0.0.1", NULL));
}

static void an_address_inside_another_one_is_judged_as_well(void)
{
	_cleanup_built_ struct built built = build_new();

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=a.example");
	build_rule(&built, POLICY_ALLOW, "net.connect",
		   "host=a.example cidr=::/0 cidr=172.16.0.0/12");
	build_rule(&built, POLICY_DENY, "net.connect", "cidr=8.8.0.0/16");
	expect(is_allowed(&built, "a.example", "64:ff9b::9.9.9.9"));
	expect(is_allowed(&built, "a.example", "64:ff9b::172.16.0.1"));
	expect(is_protected(&built, "a.example", "64:ff9b::169.254.169.254"));
	expect(is_protected(&built, "a.example", "64:ff9b:1::169.254.169.254"));
	expect(is_protected(&built, "a.example", "::ffff:169.254.169.254"));
	expect(is_protected(&built, "a.example", "::ffff:0:169.254.169.254"));
	expect(is_protected(&built, "a.example", "::169.254.169.254"));
	expect(is_protected(&built, "a.example", "2002:a9fe:a9fe::1"));
	/* Teredo: the server, and the client. */
	expect(is_protected(&built, "a.example", "2001:0:a9fe:a9fe:0:0:f6f6:f6f6"));
	expect(is_protected(&built, "a.example", "2001:0:909:909:0:0:5601:5601"));
	expect(is_allowed(&built, "a.example", "2001:0:909:909:0:0:f6f6:f6f6"));
	expect(is_allowed(&built, "a.example", "::1"));
	/* A rule denies the inner address, whatever the outer one is. */
	expect_eq(judge(&built, "a.example", "64:ff9b::8.8.8.8").cause, CAUSE_RULES);
	expect_eq(judge(&built, "a.example", "2002:808:808::1").verdict, POLICY_DENY);
}

/* Linux connects to the loopback for 0.0.0.0 and ::, whoever asks. */
static void the_unspecified_address_is_judged_as_the_loopback_as_well(void)
{
	static const struct {
		const char *host, *address;
		bool is_denied;
	} cases[] = {
		{ "127.0.0.1", NULL, true },
		{ "0.0.0.0", NULL, true },
		{ "::", NULL, true },
		{ "[::ffff:0.0.0.0]", NULL, true },
		{ "[::0.0.0.0]", NULL, true },
		{ "a.example", "0.0.0.0", true },
		{ "a.example", "::", true },
		{ "a.example", "::ffff:0.0.0.0", true },
		{ "0.0.0.1", NULL, false },
		{ "::2", NULL, false },
		{ "a.example", "10.0.0.1", false },
	};

	for (int proxied = 0; proxied < 2; proxied++) {
		_cleanup_built_ struct built built = build_new();

		built.policy->special_needs_cidr = proxied;
		build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=0.0.0.0/0 cidr=::/0");
		build_rule(&built, POLICY_DENY, "net.connect", "cidr=127.0.0.0/8 cidr=::1");
		for (size_t i = 0; i < N_ELEMENTS(cases); i++)
			expect_eq(judge(&built, cases[i].host, cases[i].address).verdict,
				  cases[i].is_denied ? POLICY_DENY : POLICY_ALLOW);
	}
}

static void a_token_for_the_unspecified_address_does_not_open_the_loopback(void)
{
	struct policy_request request = {
		.operation = "net.connect",
		.host = "0.0.0.0",
		.port = 443,
		.has_port = true,
		.has_token = true,
	};
	_cleanup_built_ struct built built = build_new();
	struct policy_decision decision;

	build_rule(&built, POLICY_DENY, "net.connect", "cidr=127.0.0.1");
	build_engine(&built);
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_DENY);
	request.host = "0.0.0.1";
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.cause, CAUSE_TOKEN);
}

static void a_permission_that_does_not_count_opens_no_special_address(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule;

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_ALLOW, "net.connect", "host=a.example");
	rule = build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.0.0.0/16");
	rule->constraints.require_sandbox = "L2";
	/* A file that only narrows, and no other one that allows the address. */
	rule = build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.1.0.0/16");
	rule->place.source = 1;
	rule = build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.2.0.0/16");
	build_except(&built, rule, NULL, "cidr=10.2.3.0/24");
	build_rule(&built, POLICY_PASS, "net.connect", "cidr=10.3.0.0/16");
	expect(is_protected(&built, "a.example", "10.0.0.1"));
	expect(is_protected(&built, "a.example", "10.1.0.1"));
	expect(is_allowed(&built, "a.example", "10.2.0.1"));
	expect(is_protected(&built, "a.example", "10.2.3.1"));
	expect(is_protected(&built, "a.example", "10.3.0.1"));
	expect(is_allowed(&built, "a.example", "8.8.8.8"));
}

static enum policy_action with_token(struct built *built, const char *host, const char *address)
{
	const struct policy_request request = {
		.operation = "net.connect",
		.host = host,
		.address = address,
		.has_token = true,
	};
	struct policy_decision decision;

	if (!built->engine)
		build_engine(built);
	policy_decide(built->engine, &request, &decision);
	return decision.verdict;
}

/* When a token for a name is issued, its addresses are not known. */
static void a_token_opens_neither_what_a_rule_denies_nor_special_addresses(void)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_DENY, "net.connect", "cidr=9.0.0.0/8");
	build_rule(&built, POLICY_REVIEW, "net.connect", "");
	build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.0.0.0/8")
		->constraints.require_token = true;
	expect_eq(with_token(&built, "a.example", NULL), POLICY_ALLOW);
	expect_eq(with_token(&built, "a.example", "8.8.8.8"), POLICY_ALLOW);
	expect_eq(with_token(&built, "a.example", "9.1.1.1"), POLICY_DENY);
	expect_eq(with_token(&built, "a.example", "127.0.0.1"), POLICY_ALLOW);
	build_forget(&built);
	built.policy->special_needs_cidr = true;
	expect_eq(with_token(&built, "a.example", NULL), POLICY_ALLOW);
	expect_eq(with_token(&built, "a.example", "8.8.8.8"), POLICY_ALLOW);
	expect_eq(with_token(&built, "a.example", "127.0.0.1"), POLICY_DENY);
	expect_eq(with_token(&built, "127.0.0.1", NULL), POLICY_DENY);
	expect_eq(with_token(&built, "a.example", "10.0.0.1"), POLICY_ALLOW);
	expect_eq(with_token(&built, "10.0.0.1", NULL), POLICY_ALLOW);
}

static unsigned facts_of(struct built *built, const char *host, const char *address)
{
	return judge(built, host, address).facts;
}

static void an_answer_without_an_address_depends_on_it_where_a_rule_asks(void)
{
	static const struct {
		enum policy_action action;
		const char *words;
		const char *except;
		bool depends;
	} cases[] = {
		{ POLICY_ALLOW, "cidr=10.0.0.0/8", NULL, true },
		{ POLICY_ALLOW, "host=b.example cidr=10.0.0.0/8", NULL, true },
		{ POLICY_ALLOW, "host=a.example cidr=10.0.0.0/8", NULL, false },
		{ POLICY_ALLOW, "cidr=10.0.0.0/8 port=80", NULL, false },
		{ POLICY_ALLOW, "cidr=10.0.0.0/8 port=443", NULL, true },
		{ POLICY_ALLOW, "cidr=", NULL, false },
		{ POLICY_ALLOW, "host=b.example cidr=", NULL, false },
		{ POLICY_DENY, "cidr=10.0.0.0/8", NULL, true },
		{ POLICY_ALLOW, "host=b.example", "cidr=10.0.0.0/8", true },
		{ POLICY_ALLOW, "host=b.example", "host=b.example cidr=10.0.0.0/8", true },
		{ POLICY_ALLOW, "host=b.example", "host=c.example cidr=10.0.0.0/8", false },
		{ POLICY_ALLOW, "host=b.example", NULL, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_built_ struct built built = build_new();
		struct rule *rule = build_rule(&built, cases[i].action, "net.*", cases[i].words);

		if (cases[i].except)
			build_except(&built, rule, NULL, cases[i].except);
		if ((facts_of(&built, "b.example", NULL) == 1u << UNSAID_ADDRESS) !=
		    cases[i].depends)
			printf("# %s\n", cases[i].words);
		expect_eq(facts_of(&built, "b.example", NULL),
			  cases[i].depends ? 1u << UNSAID_ADDRESS : 0);
		expect_eq(judge(&built, "b.example", NULL).n_dependences, cases[i].depends);
		expect_eq(facts_of(&built, "b.example", "8.8.8.8"), 0);
		expect_eq(facts_of(&built, "8.8.8.8", NULL), 0);
	}
}

/* A permission that a caller would have opens the address, but for the review of another rule. */
static void a_protected_address_depends_on_what_a_permission_asks_for(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "net.connect",
					  .host = "a.example",
					  .address = "10.0.0.1",
					  .sandbox = "L1" };
	struct policy_decision decision;

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_REVIEW, "net.connect", "host=a.example");
	build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.0.0.0/8")
		->constraints.require_sandbox = "L3";
	build_rule(&built, POLICY_ALLOW, "net.connect", "cidr=10.0.0.0/8 caller=me");
	build_engine(&built);
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.cause, CAUSE_BUILTIN);
	expect_eq(decision.facts, 1u << UNSAID_CALLER);
	request.caller = "me";
	policy_decide(built.engine, &request, &decision);
	expect_eq(decision.verdict, POLICY_REVIEW);
}

static void a_name_that_is_allowed_depends_on_its_address_being_ordinary(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_decision decision;

	built.policy->special_needs_cidr = true;
	build_rule(&built, POLICY_ALLOW, "net.*", "host=a.example");
	decision = judge(&built, "a.example", NULL);
	expect_eq(decision.verdict, POLICY_ALLOW);
	expect_eq(decision.facts, 1u << UNSAID_ADDRESS);
	expect(decision.is_of_ordinary_address && decision.n_dependences == 0);
	decision = judge(&built, "b.example", NULL);
	expect_eq(decision.verdict, POLICY_DENY);
	expect_eq(decision.facts, 0);
	expect(!decision.is_of_ordinary_address);
	expect_eq(facts_of(&built, "a.example", "8.8.8.8"), 0);
	expect_eq(facts_of(&built, "a.example", "127.0.0.1"), 0);
}

static const struct test tests[] = {
	TEST(matches_hosts_by_whole_labels_and_in_any_case),
	TEST(matches_addresses_by_prefix),
	TEST(ipv4_inside_ipv6_counts_as_both),
	TEST(an_address_is_accepted_as_a_host),
	TEST(matches_ports_ranges_and_protocols),
	TEST(all_keys_of_the_network_must_hold_together),
	TEST(a_host_is_matched_by_the_name_and_a_network_by_the_address),
	TEST(the_address_of_a_name_is_no_host),
	TEST(an_address_that_is_not_one_is_a_bad_request),
	TEST(a_name_that_is_allowed_does_not_reach_special_addresses),
	TEST(a_default_that_allows_does_not_reach_special_addresses),
	TEST(a_permission_with_a_network_reaches_special_addresses),
	TEST(only_connections_of_the_proxy_are_protected),
	TEST(an_address_inside_another_one_is_judged_as_well),
	TEST(the_unspecified_address_is_judged_as_the_loopback_as_well),
	TEST(a_token_for_the_unspecified_address_does_not_open_the_loopback),
	TEST(a_permission_that_does_not_count_opens_no_special_address),
	TEST(a_token_opens_neither_what_a_rule_denies_nor_special_addresses),
	TEST(an_answer_without_an_address_depends_on_it_where_a_rule_asks),
	TEST(a_protected_address_depends_on_what_a_permission_asks_for),
	TEST(a_name_that_is_allowed_depends_on_its_address_being_ordinary),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
