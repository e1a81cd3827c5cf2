/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "http-rig.h"

static enum http_fault read_text(const char *text, uint16_t port, struct http_authority *ret)
{
	return http_authority_read(text, strlen(text), port, ret);
}

/* Each row is refused, and beside it is a neighbour that is accepted, with its only text. */
static const struct {
	const char *refused;
	enum http_fault fault;
	const char *accepted;
	const char *canonical;
} rows[] = {
	{ "", HTTP_HOST_EMPTY, "a:1", "a:1" },
	{ ":1", HTTP_HOST_EMPTY, "A:1", "a:1" },
	{ "a.example", HTTP_PORT_MISSING, "a.example:443", "a.example:443" },
	{ "a.example:", HTTP_PORT, "a.example.:443", "a.example:443" },
	{ "a.example:0", HTTP_PORT, "a.example:1", "a.example:1" },
	{ "a.example:080", HTTP_PORT, "a.example:80", "a.example:80" },
	{ "a.example:+80", HTTP_PORT, "a-b.example:80", "a-b.example:80" },
	{ "a.example:-1", HTTP_PORT, "a_b.example:80", "a_b.example:80" },
	{ "a.example:65536", HTTP_PORT, "a.example:65535", "a.example:65535" },
	{ "a.example:83618", HTTP_PORT, "a.example:18082", "a.example:18082" },
	{ "a.example:4294967376", HTTP_PORT, "a.example:42949", "a.example:42949" },
	{ "a.example:80x", HTTP_PORT, "a.example:8", "a.example:8" },
	{ "a.example: 80", HTTP_PORT, "x.a.example:80", "x.a.example:80" },
	{ "a.example:0x50", HTTP_PORT, "0x50.example:80", "0x50.example:80" },
	{ "a.example:80:81", HTTP_PORT, "a.example:8081", "a.example:8081" },
	{ "a.example:80#b", HTTP_PORT, "b:80", "b:80" },
	{ "a.example:80\\b", HTTP_PORT, "c:80", "c:80" },
	{ "a..example:80", HTTP_HOST_NAME, "A.Example.:80", "a.example:80" },
	{ ".a.example:80", HTTP_HOST_NAME, "a.a.example:80", "a.a.example:80" },
	{ "a example:80", HTTP_HOST_NAME, "a-example:80", "a-example:80" },
	{ "b\xc3\xbc.example:80", HTTP_HOST_NAME, "xn--b-xga.example:80", "xn--b-xga.example:80" },
	{ "a%2eexample:80", HTTP_HOST_NAME, "a.example:80", "a.example:80" },
	{ "a%00.example:80", HTTP_HOST_NAME, "a00.example:80", "a00.example:80" },
	{ "*.example:80", HTTP_HOST_NAME, "w.example:80", "w.example:80" },
	{ "a@b.example:80", HTTP_USERINFO, "ab.example:80", "ab.example:80" },
	{ "a.example:1@b.example:80", HTTP_USERINFO, "b.example:81", "b.example:81" },
	{ "2130706433:80", HTTP_HOST_ADDRESS, "127.0.0.1:80", "127.0.0.1:80" },
	{ "0x7f.0.0.1:80", HTTP_HOST_ADDRESS, "0x7f.0.0.1.a:80", "0x7f.0.0.1.a:80" },
	{ "0x7f000001:80", HTTP_HOST_ADDRESS, "x7f000001:80", "x7f000001:80" },
	{ "0177.0.0.1:80", HTTP_HOST_ADDRESS, "177.0.0.1:80", "177.0.0.1:80" },
	{ "127.1:80", HTTP_HOST_ADDRESS, "127.1.a:80", "127.1.a:80" },
	{ "1.2.3.256:80", HTTP_HOST_ADDRESS, "1.2.3.255:80", "1.2.3.255:80" },
	{ "::1:80", HTTP_HOST_EMPTY, "[::1]:80", "[::1]:80" },
	{ "[::1]", HTTP_PORT_MISSING, "[0::0:1]:81", "[::1]:81" },
	{ "[::1]80", HTTP_PORT, "[2001:DB8::0:1]:80", "[2001:db8::1]:80" },
	{ "[::1]:80:81", HTTP_PORT, "[::1]:8081", "[::1]:8081" },
	{ "[::1:80", HTTP_HOST_ADDRESS, "[2001::1:80]:80", "[2001::1:80]:80" },
	{ "[::1%25lo]:80", HTTP_HOST_ADDRESS, "[::ffff:7f00:1]:80", "[::ffff:127.0.0.1]:80" },
	{ "[::1%lo]:80", HTTP_HOST_ADDRESS, "[fe80::1]:80", "[fe80::1]:80" },
	{ "[a.example]:80", HTTP_HOST_NAME, "[::a]:80", "[::a]:80" },
	{ "[127.0.0.1]:80", HTTP_HOST_NAME, "[::7f00:1]:80", "[::127.0.0.1]:80" },
	{ "[]:80", HTTP_HOST_NAME, "[::]:80", "[::]:80" },
	{ "[v1.a]:80", HTTP_HOST_NAME, "v1.a:80", "v1.a:80" },
};

static void every_refused_authority_has_an_accepted_neighbour(void)
{
	struct http_authority authority;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		enum http_fault fault = read_text(rows[i].refused, 0, &authority);

		if (fault != rows[i].fault)
			printf("# %s: %s\n", rows[i].refused, http_fault_word(fault));
		expect_eq(fault, rows[i].fault);
		expect_eq(read_text(rows[i].accepted, 0, &authority), HTTP_OK);
		expect_str(print_authority(&authority, 0), rows[i].canonical);
	}
}

static void a_default_port_is_read_and_left_out(void)
{
	struct http_authority authority, again;

	expect_eq(read_text("A.example", 80, &authority), HTTP_OK);
	expect_eq(authority.port, 80);
	expect_str(print_authority(&authority, 80), "a.example");
	expect_eq(read_text("a.example:80", 80, &again), HTTP_OK);
	expect(http_authority_equal(&authority, &again));
	expect_eq(read_text("a.example:81", 80, &again), HTTP_OK);
	expect(!http_authority_equal(&authority, &again));
	expect_str(print_authority(&again, 80), "a.example:81");
	expect_eq(read_text("[::1]", 80, &again), HTTP_OK);
	expect_str(print_authority(&again, 80), "[::1]");
}

static void refuses_a_nul_and_a_host_that_is_too_long(void)
{
	struct http_authority authority;
	char text[300];

	expect_eq(http_authority_read("a\0b:80", 6, 0, &authority), HTTP_HOST_NAME);
	expect_eq(http_authority_read("[::1\0]:80", 9, 0, &authority), HTTP_HOST_ADDRESS);
	expect_eq(http_authority_read("a:8\0", 4, 0, &authority), HTTP_PORT);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'a';
	memcpy(text + 253, ":80", 4);
	expect_eq(read_text(text, 0, &authority), HTTP_OK);
	memcpy(text + 253, ".a:80", 6);
	expect_eq(read_text(text, 0, &authority), HTTP_HOST_TOO_LONG);
}

static const struct test tests[] = {
	TEST(every_refused_authority_has_an_accepted_neighbour),
	TEST(a_default_port_is_read_and_left_out),
	TEST(refuses_a_nul_and_a_host_that_is_too_long),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
