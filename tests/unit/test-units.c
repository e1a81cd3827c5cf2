/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "test.h"

#define UNTOUCHED UINT64_C(0x5b5b5b5b5b5b5b5b)

typedef int parser(const char *string, uint64_t *ret, struct sbx_error *err);

/* Parses a valid text. */
static uint64_t value_of(parser *parse, const char *string)
{
	struct sbx_error err = { 0 };
	uint64_t value = UNTOUCHED;

	expect_eq(parse(string, &value, &err), 0);
	expect_str(err.what, "");
	return value;
}

/* Parses an invalid text, also without @err. */
static struct sbx_error refusal_of(parser *parse, const char *string, int code)
{
	struct sbx_error err = { 0 };
	uint64_t value = UNTOUCHED;

	if (parse(string, &value, &err) != code)
		printf("# '%s'\n", string);
	expect_eq(err.code, code);
	expect_eq(parse(string, &value, NULL), code);
	expect(value == UNTOUCHED);
	expect(*err.what && *err.why && *err.fix);
	return err;
}

static void reads_every_size_unit(void)
{
	expect_eq(value_of(units_parse_size, "0"), 0);
	expect_eq(value_of(units_parse_size, "1536"), 1536);
	expect_eq(value_of(units_parse_size, "7B"), 7);
	expect_eq(value_of(units_parse_size, "3KiB"), 3072);
	expect_eq(value_of(units_parse_size, "3MiB"), 3145728);
	expect_eq(value_of(units_parse_size, "3GiB"), 3221225472);
	expect_eq(value_of(units_parse_size, "3TiB"), 3298534883328);
	expect_eq(value_of(units_parse_size, "3KB"), 3000);
	expect_eq(value_of(units_parse_size, "3MB"), 3000000);
	expect_eq(value_of(units_parse_size, "3GB"), 3000000000);
	expect_eq(value_of(units_parse_size, "3TB"), 3000000000000);
}

static void reads_every_time_unit(void)
{
	expect_eq(value_of(units_parse_time, "0s"), 0);
	expect_eq(value_of(units_parse_time, "3us"), 3);
	expect_eq(value_of(units_parse_time, "3ms"), 3000);
	expect_eq(value_of(units_parse_time, "3s"), 3000000);
	expect_eq(value_of(units_parse_time, "3m"), 180000000);
	expect_eq(value_of(units_parse_time, "3h"), 10800000000);
	expect_eq(value_of(units_parse_time, "3d"), 259200000000);
}

static void reads_leading_zeros_as_decimal(void)
{
	expect_eq(value_of(units_parse_count, "010"), 10);
	expect_eq(value_of(units_parse_size, "0010KiB"), 10240);
}

static void reads_the_largest_values_exactly(void)
{
	expect(value_of(units_parse_count, "18446744073709551615") == UINT64_MAX);
	expect(value_of(units_parse_size, "18446744073709551615B") == UINT64_MAX);
	expect(value_of(units_parse_size, "16777215TiB") == UINT64_C(16777215) << 40);
	expect(value_of(units_parse_time, "213503982d") ==
	       UINT64_C(213503982) * 86400 * 1000 * 1000);
}

static void refuses_what_does_not_fit(void)
{
	struct sbx_error err;

	err = refusal_of(units_parse_count, "18446744073709551616", -ERANGE);
	expect_str(err.why, "it is more than 18446744073709551615");
	err = refusal_of(units_parse_size, "16777216TiB", -ERANGE);
	expect_str(err.why, "it is more than 18446744073709551615 bytes");
	refusal_of(units_parse_size, "18446744073709552KB", -ERANGE);
	refusal_of(units_parse_time, "213503983d", -ERANGE);
	/* Would be 4 modulo 2^64. */
	refusal_of(units_parse_count, "18446744073709551620", -ERANGE);
	/* Overflows long before its end, and the remaining digits are 0. */
	refusal_of(units_parse_size, "1844674407370955161600000000000000000000", -ERANGE);
}

static void refuses_a_time_without_a_unit(void)
{
	struct sbx_error err = refusal_of(units_parse_time, "10", -EINVAL);

	expect_str(err.what, "not a time: '10'");
	expect_str(err.why, "it has no unit, and several are possible");
	expect_str(err.fix, "write 10s, 10ms or another of the units: us ms s m h d");
	refusal_of(units_parse_time, "0", -EINVAL);
}

static void names_the_unit_that_differs_only_in_case(void)
{
	struct sbx_error err = refusal_of(units_parse_size, "10mb", -EINVAL);

	expect_str(err.what, "not a size: '10mb'");
	expect_str(err.why, "'mb' is not a unit; case matters");
	expect_str(err.fix, "write '10MB' (the units: B KiB MiB GiB TiB KB MB GB TB)");
	err = refusal_of(units_parse_time, "5M", -EINVAL);
	expect_str(err.fix, "write '5m' (the units: us ms s m h d)");
}

static void guesses_the_unit_behind_a_habit(void)
{
	static const struct {
		parser *parse;
		const char *written;
		const char *fix;
	} cases[] = {
		{ units_parse_size, "2G", "write '2GiB'" },
		{ units_parse_size, "2k", "write '2KiB'" },
		{ units_parse_size, "2 MB", "write '2MB'" },
		{ units_parse_size, "2bytes", "write '2B'" },
		{ units_parse_size, "2KiiB", "write '2KiB'" },
		{ units_parse_time, "2min", "write '2m'" },
		{ units_parse_time, "2 Seconds", "write '2s'" },
		{ units_parse_time, "2µs", "write '2us'" },
		{ units_parse_time, "2milliseconds", "write '2ms'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct sbx_error err = refusal_of(cases[i].parse, cases[i].written, -EINVAL);

		err.fix[strlen(cases[i].fix)] = '\0';
		expect_str(err.fix, cases[i].fix);
	}
}

static void lists_the_units_where_it_cannot_guess(void)
{
	struct sbx_error err = refusal_of(units_parse_size, "10parsecs", -EINVAL);

	expect_str(err.why, "'parsecs' is not a unit");
	expect_str(err.fix, "write a whole number and a unit, such as '512MiB' (the units: B KiB "
			    "MiB GiB TiB KB MB GB TB)");
}

static void suggests_no_other_magnitude(void)
{
	static const struct {
		parser *parse;
		const char *written;
	} cases[] = {
		{ units_parse_size, "1PiB" },
		{ units_parse_size, "1EB" },
		{ units_parse_time, "3ns" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct sbx_error err = refusal_of(cases[i].parse, cases[i].written, -EINVAL);

		expect(strncmp(err.fix, "write a whole number and a unit", 31) == 0);
	}
}

/* The fix of a message is typed as it stands. */
static void suggests_only_what_it_accepts(void)
{
	static const struct {
		parser *parse;
		const char *written;
		int code;
	} cases[] = {
		{ units_parse_time, "99999999999999999999s", -ERANGE },
		{ units_parse_time, "99999999999999s", -ERANGE },
		{ units_parse_time, "99999999999999", -EINVAL },
		{ units_parse_time, "99999999999999sec", -EINVAL },
		{ units_parse_time, "99999999999999parsecs", -EINVAL },
		{ units_parse_time, "x", -EINVAL },
		{ units_parse_time, "15min", -EINVAL },
		{ units_parse_size, "99999999999999T", -EINVAL },
		{ units_parse_size, "99999999999999TiB", -ERANGE },
		{ units_parse_size, "2G", -EINVAL },
		{ units_parse_size, "x", -EINVAL },
		{ units_parse_count, "99999999999999999999", -ERANGE },
		{ units_parse_count, "99999999999999999999s", -EINVAL },
		{ units_parse_count, "10s", -EINVAL },
		{ units_parse_count, "0k", -EINVAL },
		{ units_parse_count, "x", -EINVAL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct sbx_error err = refusal_of(cases[i].parse, cases[i].written, cases[i].code);
		char *begin = strchr(err.fix, '\''), *end = begin ? strchr(begin + 1, '\'') : NULL;
		uint64_t value;

		expect(end);
		if (!end)
			continue;
		*end = '\0';
		expect_eq(cases[i].parse(begin + 1, &value, NULL), 0);
		expect(value > 0);
	}
}

static void refuses_everything_but_digits_and_a_unit(void)
{
	static const char *const wrong[] = {
		"",    "-1",	"+1",	  " 1",	   "1 ",    "\t1",   "KiB",
		"s",   "0x10",	"1e3",	  "1.5s",  "1_000", "1,000", "1KiBs",
		"1ss", "1KiB ", "1KiB\n", "1 KiB", "1Kib",  "1kiB",  "1S",
		"1MS", "1Ms",	"1us ",	  "1µ",	   "١",	    "1\xff", "infinity",
	};

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		refusal_of(units_parse_count, wrong[i], -EINVAL);
		refusal_of(units_parse_size, wrong[i], -EINVAL);
		refusal_of(units_parse_time, wrong[i], -EINVAL);
	}
}

static void a_count_takes_no_unit(void)
{
	struct sbx_error err = refusal_of(units_parse_count, "10KiB", -EINVAL);

	expect_str(err.what, "not a number: '10KiB'");
	expect_str(err.why, "'KiB' follows the digits, and it takes no unit");
	expect_str(err.fix, "write '10'");
}

static void units_of_one_family_are_strange_to_the_other(void)
{
	refusal_of(units_parse_size, "10s", -EINVAL);
	refusal_of(units_parse_size, "10m", -EINVAL);
	refusal_of(units_parse_time, "10MB", -EINVAL);
	refusal_of(units_parse_time, "10B", -EINVAL);
}

static void survives_an_argument_longer_than_the_message(void)
{
	char digits[4096];

	memset(digits, '1', sizeof(digits));
	digits[sizeof(digits) - 1] = '\0';
	refusal_of(units_parse_size, digits, -ERANGE);
	digits[sizeof(digits) - 2] = 'x';
	refusal_of(units_parse_size, digits, -EINVAL);
	memset(digits, 'x', sizeof(digits) - 1);
	digits[0] = '1';
	refusal_of(units_parse_size, digits, -EINVAL);
	refusal_of(units_parse_time, digits, -EINVAL);
}

static void expect_printed(void (*add)(struct text *, uint64_t), uint64_t value, const char *want)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	add(&text, value);
	expect_eq(text_status(&text), 0);
	expect_str(text_string(&text), want);
}

static void prints_sizes_in_the_shortest_exact_form(void)
{
	expect_printed(units_add_size, 0, "0");
	expect_printed(units_add_size, 1, "1");
	expect_printed(units_add_size, 1000000, "1000000");
	expect_printed(units_add_size, 1536, "1536");
	expect_printed(units_add_size, 2048, "2KiB");
	expect_printed(units_add_size, 1536 * 1024, "1536KiB");
	expect_printed(units_add_size, UINT64_C(5) << 40, "5TiB");
	expect_printed(units_add_size, UINT64_MAX, "18446744073709551615");
}

static void prints_times_in_the_shortest_exact_form(void)
{
	expect_printed(units_add_time, 0, "0s");
	expect_printed(units_add_time, 1, "1us");
	expect_printed(units_add_time, 1500000, "1500ms");
	expect_printed(units_add_time, 90000000, "90s");
	expect_printed(units_add_time, 7200000000, "2h");
	expect_printed(units_add_time, UINT64_C(86400000000), "1d");
	expect_printed(units_add_time, UINT64_MAX, "18446744073709551615us");
}

static void expect_round_trip(void (*add)(struct text *, uint64_t), parser *parse, uint64_t value)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	uint64_t again = ~value;

	add(&text, value);
	expect_eq(parse(text_string(&text), &again, NULL), 0);
	if (again != value)
		printf("# %" PRIu64 " came back as %" PRIu64 "\n", value, again);
	expect(again == value);
}

static void what_is_printed_parses_back(void)
{
	uint64_t value = 1;

	for (int i = 0; i < 20000; i++) {
		value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		expect_round_trip(units_add_size, units_parse_size, value >> (i % 64));
		expect_round_trip(units_add_time, units_parse_time, value >> (i % 64));
		expect_round_trip(units_add_size, units_parse_size, value >> 50 << (i % 50));
		expect_round_trip(units_add_time, units_parse_time, (value >> 40) * 1000000);
	}
}

static void reads_processors_in_thousandths(void)
{
	expect_eq(value_of(units_parse_processors, "0"), 0);
	expect_eq(value_of(units_parse_processors, "2"), 2000);
	expect_eq(value_of(units_parse_processors, "0.5"), 500);
	expect_eq(value_of(units_parse_processors, "0.125"), 125);
	expect_eq(value_of(units_parse_processors, "50%"), 500);
	expect_eq(value_of(units_parse_processors, "12.5%"), 125);
	expect_eq(value_of(units_parse_processors, "999999.999"), 999999999);
}

/* Refused, because 0.5555 would be rounded. */
static void refuses_processors_that_it_would_round(void)
{
	static const char *const bad[] = { "",	      ".5",  "2.",   "0.5555",	"0.15%",
					   "1000000", "-1",  "1e3",  "1 ",	"50%%",
					   "%",	      "0x1", "1.5.", "0.5 cpu", "0.5cpus",
					   "1,5",     "\xff" };

	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		(void)refusal_of(units_parse_processors, bad[i], -EINVAL);
}

static void prints_processors_that_parse_back(void)
{
	for (uint64_t value = 0; value < 3000; value++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		units_add_processors(&text, value);
		expect_eq(value_of(units_parse_processors, text_string(&text)), value);
	}
}

static const struct test tests[] = {
	TEST(reads_every_size_unit),
	TEST(reads_every_time_unit),
	TEST(reads_leading_zeros_as_decimal),
	TEST(reads_the_largest_values_exactly),
	TEST(refuses_what_does_not_fit),
	TEST(refuses_a_time_without_a_unit),
	TEST(names_the_unit_that_differs_only_in_case),
	TEST(guesses_the_unit_behind_a_habit),
	TEST(lists_the_units_where_it_cannot_guess),
	TEST(suggests_no_other_magnitude),
	TEST(suggests_only_what_it_accepts),
	TEST(refuses_everything_but_digits_and_a_unit),
	TEST(a_count_takes_no_unit),
	TEST(units_of_one_family_are_strange_to_the_other),
	TEST(survives_an_argument_longer_than_the_message),
	TEST(prints_sizes_in_the_shortest_exact_form),
	TEST(prints_times_in_the_shortest_exact_form),
	TEST(what_is_printed_parses_back),
	TEST(reads_processors_in_thousandths),
	TEST(refuses_processors_that_it_would_round),
	TEST(prints_processors_that_parse_back),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
