/* SPDX-License-Identifier: MIT */
#include "policy/network.h"

#include <errno.h>

#include <sbx/error.h>

#include "test.h"

#define X63 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void accepts_host_names(void)
{
	static const char *const hosts[] = {
		"example.com", "EXAMPLE.com",		"*.example.com", "localhost",  "a",
		"a_b.c-d.e1",  "xn--bcher-kva.example", "1.2.3.4.com",	 (X63 ".com"), "*.com",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		expect_eq(network_check_host(hosts[i], NULL), 0);
}

static void refuses_texts_that_are_no_host_name(void)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{ "", "empty" },
		{ "*", "every host" },
		{ "*.", "empty label" },
		{ "a..b", "empty label" },
		{ ".a", "empty label" },
		{ "a.", "dot" },
		{ "a.*.b", "'*'" },
		{ "*a.b", "'*'" },
		{ "**.b", "'*'" },
		{ "http://a/b", "'/'" },
		{ "a:80", "ports" },
		{ "me@a", "'@'" },
		{ "a b", "white space" },
		{ "-a.b", "'-'" },
		{ "a-.b", "'-'" },
		{ "a!b", "character" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--" },
		{ X63 "x.com", "63" },
		{ "10.0.0.1", "cidr" },
		{ "::1", "cidr" },
		{ "127.1", "number" },
		{ "0x7f.0.0.1", "number" },
		{ "a.0x7f", "number" },
		{ "2130706433", "number" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sbx_error err = { .code = 0 };

		expect_eq(network_check_host(cases[i].text, &err), -EINVAL);
		expect(strstr(err.why, cases[i].word) || strstr(err.fix, cases[i].word));
		expect(err.fix[0] && strstr(err.what, cases[i].text));
	}
}

static void refuses_a_name_of_more_than_253_bytes(void)
{
	char name[300];

	memset(name, 'a', sizeof(name));
	for (size_t i = 9; i < sizeof(name); i += 10)
		name[i] = '.';
	name[253] = '\0';
	expect_eq(network_check_host(name, NULL), 0);
	name[253] = 'a';
	name[254] = '\0';
	expect_eq(network_check_host(name, NULL), -EINVAL);
}

static void reads_networks(void)
{
	static const struct {
		const char *text;
		unsigned length;
		bool is_ipv6;
	} cases[] = {
		{ "10.0.0.0/8", 8, false },    { "0.0.0.0/0", 0, false },
		{ "10.1.2.3", 32, false },     { "10.1.2.3/32", 32, false },
		{ "::/0", 0, true },	       { "::1", 128, true },
		{ "2001:db8::/33", 33, true }, { "255.255.255.254/31", 31, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct network network;

		expect_eq(network_parse(cases[i].text, &network, NULL), 0);
		expect_eq(network.length, cases[i].length);
		expect_eq(network.is_ipv6, cases[i].is_ipv6);
	}
}

static void refuses_texts_that_are_no_network(void)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{ "", "neither" },
		{ "10.0.0", "four parts" },
		{ "10.0.0.0/", "0 to 32" },
		{ "10.0.0.0/33", "0 to 32" },
		{ "10.0.0.0/08", "0 to 32" },
		{ "10.0.0.0/8/8", "0 to 32" },
		{ "10.0.0.0/-1", "0 to 32" },
		{ "10.0.0.0/255.0.0.0", "0 to 32" },
		{ "010.0.0.0/8", "neither" },
		{ " 10.0.0.0/8", "neither" },
		{ "::/129", "0 to 128" },
		{ "::1%lo", "neither" },
		{ "[::1]", "neither" },
		{ "::ffff:10.0.0.1", "inside IPv6" },
		{ "example.com", "'host'" },
		{ "10.1.2.3/8", "'10.0.0.0/8'" },
		{ "10.0.0.1/31", "/31" },
		{ "2001:db8::1/64", "'2001:db8::/64'" },
		{ "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111", "long" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct network network = { .length = 77 };
		struct sbx_error err = { .code = 0 };

		expect_eq(network_parse(cases[i].text, &network, &err), -EINVAL);
		expect(strstr(err.why, cases[i].word) || strstr(err.fix, cases[i].word));
		expect_eq(network.length, 77);
	}
}

static bool contains(const char *outer, const char *inner)
{
	struct network a, b;

	expect_eq(network_parse(outer, &a, NULL), 0);
	expect_eq(network_parse(inner, &b, NULL), 0);
	return network_contains(&a, &b);
}

static void a_network_contains_its_parts_only(void)
{
	expect(contains("10.0.0.0/8", "10.255.0.0/16") && contains("10.0.0.0/8", "10.0.0.0/8"));
	expect(contains("0.0.0.0/0", "1.2.3.4") && contains("::/0", "2001:db8::/32"));
	expect(!contains("10.0.0.0/8", "11.0.0.0/8") && !contains("10.0.0.0/8", "10.0.0.0/7"));
	expect(!contains("::/0", "1.2.3.4") && !contains("0.0.0.0/0", "::1"));
	expect(!contains("10.0.0.0/9", "10.128.0.0/9"));
}

static void reads_ports_and_ranges(void)
{
	struct port_range range;

	expect_eq(network_parse_ports("443,80", 3, &range, NULL), 0);
	expect(range.from == 443 && range.to == 443);
	expect_eq(network_parse_ports("0-65535", 7, &range, NULL), 0);
	expect(range.from == 0 && range.to == 65535);
	expect_eq(network_parse_ports("8-8", 3, &range, NULL), 0);
}

static void refuses_texts_that_are_no_port(void)
{
	static const char *const ports[] = {
		"",    "x",   "65536", "-1",   "1-",	"-",   "1-65536",     "9-1",
		"080", " 80", "80 ",   "0x50", "1-2-3", "1.5", "99999999999",
	};

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		struct port_range range = { .from = 7 };
		struct sbx_error err = { .code = 0 };

		expect_eq(network_parse_ports(ports[i], strlen(ports[i]), &range, &err), -EINVAL);
		expect(range.from == 7 && err.why[0] && err.fix[0]);
	}
}

static void a_range_that_begins_behind_its_end_is_corrected_in_the_fix(void)
{
	struct port_range range;
	struct sbx_error err = { .code = 0 };

	expect_eq(network_parse_ports("9000-8000", 9, &range, &err), -EINVAL);
	expect_str(err.fix, "write 8000-9000");
}

static void splits_lists_of_ports_at_the_commas(void)
{
	const char *at = "80,,9", *item;
	size_t len;

	expect(network_next_port(&at, &item, &len) && len == 2 && strncmp(item, "80", 2) == 0);
	expect(network_next_port(&at, &item, &len) && len == 0);
	expect(network_next_port(&at, &item, &len) && len == 1 && *item == '9');
	expect(!network_next_port(&at, &item, &len));
}

static void reads_a_host_with_or_without_its_port(void)
{
	static const struct {
		const char *text, *host, *port;
		bool is_address;
	} cases[] = {
		{ "example.com", "example.com", "", false },
		{ "*.example.com:8443", "*.example.com", "8443", false },
		{ "10.0.0.1:80", "10.0.0.1", "80", true },
		{ "10.0.0.0/8", "10.0.0.0/8", "", true },
		{ "::1", "::1", "", true },
		{ "[::1]", "::1", "", true },
		{ "[2001:db8::1]:443", "2001:db8::1", "443", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_port got;

		expect_eq(network_parse_host_port(cases[i].text, &got, NULL), 0);
		expect_str(got.host, cases[i].host);
		expect_str(got.port, cases[i].port);
		expect_eq(got.is_address, cases[i].is_address);
	}
}

static void refuses_a_host_with_a_wrong_port_or_wrong_brackets(void)
{
	static const char *const texts[] = {
		"",
		"example.com:",
		"example.com:x",
		"example.com:80-90",
		"example.com:65536",
		"[::1",
		"[::1]x",
		"[::1]:",
		"[example.com]:80",
		"[]:80",
		":80",
		"https://example.com",
		"10.0.0.1/8:80",
		"example.com/x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct host_port got = { .is_address = true };
		struct sbx_error err = { .code = 0 };

		expect_eq(network_parse_host_port(texts[i], &got, &err), -EINVAL);
		expect(err.why[0] && err.fix[0] && got.is_address);
	}
}

static const struct test tests[] = {
	TEST(accepts_host_names),
	TEST(refuses_texts_that_are_no_host_name),
	TEST(refuses_a_name_of_more_than_253_bytes),
	TEST(reads_networks),
	TEST(refuses_texts_that_are_no_network),
	TEST(a_network_contains_its_parts_only),
	TEST(reads_ports_and_ranges),
	TEST(refuses_texts_that_are_no_port),
	TEST(a_range_that_begins_behind_its_end_is_corrected_in_the_fix),
	TEST(splits_lists_of_ports_at_the_commas),
	TEST(reads_a_host_with_or_without_its_port),
	TEST(refuses_a_host_with_a_wrong_port_or_wrong_brackets),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
