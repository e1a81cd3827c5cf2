/* SPDX-License-Identifier: MIT */

#include "base/hostname.h"

#include "base/cleanup.h"
#include "test.h"

static enum hostname_problem read_text(const char *text, struct hostname *ret)
{
	return hostname_read(text, strlen(text), ret);
}

/* The canonical text, or the problem's number as text. */
static const char *canonical(const char *text)
{
	static char printed[HOSTNAME_TEXT_SIZE];
	struct hostname host;
	enum hostname_problem problem = read_text(text, &host);

	if (problem != HOSTNAME_OK)
		return hostname_problem_text(problem);
	expect_eq(hostname_print(&host, printed), strlen(printed));
	return printed;
}

static const struct printed {
	const char *text;
	const char *canonical;
} names[] = {
	{ "a.example", "a.example" },
	{ "A.eXample.", "a.example" },
	{ "localhost", "localhost" },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ "_service.a-b.example", "_service.a-b.example" },
	{ "1.a", "1.a" },
	{ "0x7f.a", "0x7f.a" },
	{ "10.0.0.1.example", "10.0.0.1.example" },
}, addresses[] = {
	{ "10.0.0.1", "10.0.0.1" },
	{ "10.0.0.1.", "10.0.0.1" },
	{ "::1", "::1" },
	{ "[0:0:0:0:0:0:0:1]", "::1" },
	{ "[2001:DB8::0:1]", "2001:db8::1" },
	{ "[::ffff:7f00:1]", "::ffff:127.0.0.1" },
};

static void expect_printed(const struct printed *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_str(canonical(rows[i].text), rows[i].canonical);
}

static void names_are_printed_in_lower_case_without_a_dot_at_the_end(void)
{
	expect_printed(names, N_ELEMENTS(names));
}

static void addresses_have_one_text(void)
{
	expect_printed(addresses, N_ELEMENTS(addresses));
}

static const struct {
	const char *text;
	enum hostname_problem problem;
} refused[] = {
	{ "", HOSTNAME_EMPTY },
	{ ".", HOSTNAME_NOT_A_NAME },
	{ "..", HOSTNAME_NOT_A_NAME },
	{ ".a", HOSTNAME_NOT_A_NAME },
	{ "a..", HOSTNAME_NOT_A_NAME },
	{ "a..b", HOSTNAME_NOT_A_NAME },
	{ "a b", HOSTNAME_NOT_A_NAME },
	{ "a\tb", HOSTNAME_NOT_A_NAME },
	{ "a@b", HOSTNAME_NOT_A_NAME },
	{ "a%00b", HOSTNAME_NOT_A_NAME },
	{ "a/b", HOSTNAME_NOT_A_NAME },
	{ "a\\b", HOSTNAME_NOT_A_NAME },
	{ "a#b", HOSTNAME_NOT_A_NAME },
	{ "*.a", HOSTNAME_NOT_A_NAME },
	{ "b\xc3\xbc"
	  "cher.example",
	  HOSTNAME_NOT_A_NAME },
	{ "[a.example]", HOSTNAME_NOT_A_NAME },
	{ "[10.0.0.1]", HOSTNAME_NOT_A_NAME },
	{ "[]", HOSTNAME_NOT_A_NAME },
	{ "2130706433", HOSTNAME_NOT_IPV4 },
	{ "127.1", HOSTNAME_NOT_IPV4 },
	{ "0x7f000001", HOSTNAME_NOT_IPV4 },
	{ "0X7f.1", HOSTNAME_NOT_IPV4 },
	{ "a.0x1", HOSTNAME_NOT_IPV4 },
	{ "a.0x", HOSTNAME_NOT_IPV4 },
	{ "127.0.0.0x1", HOSTNAME_NOT_IPV4 },
	{ "0177.0.0.1", HOSTNAME_NOT_IPV4 },
	{ "127.0.0.01", HOSTNAME_NOT_IPV4 },
	{ "1.2.3.256", HOSTNAME_NOT_IPV4 },
	{ "1.2.3.4.5", HOSTNAME_NOT_IPV4 },
	{ "a.example.1", HOSTNAME_NOT_IPV4 },
	{ ":", HOSTNAME_NOT_IPV6 },
	{ "a:1", HOSTNAME_NOT_IPV6 },
	{ ":::", HOSTNAME_NOT_IPV6 },
	{ "::1%lo", HOSTNAME_NOT_IPV6 },
	{ "[::1%25lo]", HOSTNAME_NOT_IPV6 },
	{ "::1.", HOSTNAME_NOT_IPV6 },
	{ "::1]", HOSTNAME_NOT_IPV6 },
	{ "[[::1]]", HOSTNAME_NOT_IPV6 },
	{ "1:2:3:4:5:6:7:8:9", HOSTNAME_NOT_IPV6 },
	{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", HOSTNAME_NOT_IPV6 },
	{ "[::1", HOSTNAME_BRACKET_OPEN },
	{ "[::1]:80", HOSTNAME_BRACKET_OPEN },
	{ "[:", HOSTNAME_BRACKET_OPEN },
};

static void refuses_texts_that_programs_read_differently(void)
{
	struct hostname host;

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		enum hostname_problem problem = read_text(refused[i].text, &host);

		if (problem != refused[i].problem)
			printf("# '%s': %s\n", refused[i].text, hostname_problem_text(problem));
		expect(problem == refused[i].problem);
	}
}

static void refuses_a_nul_inside(void)
{
	struct hostname host;

	expect_eq(hostname_read("a\0b", 3, &host), HOSTNAME_NOT_A_NAME);
	expect_eq(hostname_read("a\0", 2, &host), HOSTNAME_NOT_A_NAME);
	expect_eq(hostname_read("::1\0", 4, &host), HOSTNAME_NOT_IPV6);
	expect_eq(hostname_read("[::1\0.a]", 8, &host), HOSTNAME_NOT_IPV6);
	expect_eq(hostname_read("10.0.0.1\0", 9, &host), HOSTNAME_NOT_A_NAME);
}

static void reads_no_more_than_its_bytes(void)
{
	struct hostname host;

	expect_eq(hostname_read("a.exampleX", 9, &host), HOSTNAME_OK);
	expect_str(host.name, "a.example");
	expect_eq(host.n_labels, 2);
	expect_eq(host.labels[1], 2);
	expect_eq(hostname_read("a.X", 2, &host), HOSTNAME_OK);
	expect_str(host.name, "a");
	expect_eq(hostname_read("10.0.0.12", 8, &host), HOSTNAME_OK);
	expect_str(host.name, "10.0.0.1");
}

/* @len bytes of labels of @label bytes each. */
static size_t fill(char *text, size_t len, size_t label)
{
	for (size_t i = 0; i < len; i++)
		text[i] = i % (label + 1) == label ? '.' : 'a';
	text[len] = '\0';
	return len;
}

static void the_longest_name_is_253_bytes_and_a_dot(void)
{
	char text[300];
	struct hostname host;

	expect_eq(hostname_read(text, fill(text, 253, 63), &host), HOSTNAME_OK);
	expect_eq(host.len, 253);
	expect_eq(hostname_read(text, fill(text, 253, 1), &host), HOSTNAME_OK);
	expect_eq(host.n_labels, HOSTNAME_LABELS_MAX);
	fill(text, 254, 1);
	expect_eq(text[253], '.');
	expect_eq(hostname_read(text, 254, &host), HOSTNAME_OK);
	expect_eq(host.len, 253);
	expect_eq(hostname_read(text, fill(text, 254, 63), &host), HOSTNAME_TOO_LONG);
	expect_eq(hostname_read(text, fill(text, 256, 1), &host), HOSTNAME_TOO_LONG);
	expect_eq(hostname_read(text, fill(text, 63, 63), &host), HOSTNAME_OK);
	expect_eq(hostname_read(text, fill(text, 64, 64), &host), HOSTNAME_NOT_A_NAME);
}

static bool equal(const char *a, const char *b)
{
	struct hostname first, second;

	expect_eq(read_text(a, &first), HOSTNAME_OK);
	expect_eq(read_text(b, &second), HOSTNAME_OK);
	expect(hostname_equal(&first, &second) == hostname_equal(&second, &first));
	return hostname_equal(&first, &second);
}

static void hosts_are_equal_by_meaning(void)
{
	expect(equal("A.example.", "a.Example"));
	expect(!equal("a.example", "b.example"));
	expect(!equal("a.example", "a.exampl"));
	expect(equal("[::1]", "0::1"));
	expect(!equal("::1", "::2"));
	expect(equal("10.0.0.1.", "10.0.0.1"));
	expect(!equal("10.0.0.1", "::ffff:10.0.0.1"));
}

static void every_problem_has_a_text(void)
{
	for (enum hostname_problem i = 0; i < N_HOSTNAME_PROBLEMS; i++)
		expect(hostname_problem_text(i) != NULL);
}

static const struct test tests[] = {
	TEST(names_are_printed_in_lower_case_without_a_dot_at_the_end),
	TEST(addresses_have_one_text),
	TEST(refuses_texts_that_programs_read_differently),
	TEST(refuses_a_nul_inside),
	TEST(reads_no_more_than_its_bytes),
	TEST(the_longest_name_is_253_bytes_and_a_dot),
	TEST(hosts_are_equal_by_meaning),
	TEST(every_problem_has_a_text),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
