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

static const struct test tests[] = {
	TEST(matches_hosts_by_whole_labels_and_in_any_case),
	TEST(matches_addresses_by_prefix),
	TEST(ipv4_inside_ipv6_counts_as_both),
	TEST(an_address_is_accepted_as_a_host),
	TEST(matches_ports_ranges_and_protocols),
	TEST(all_keys_of_the_network_must_hold_together),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
