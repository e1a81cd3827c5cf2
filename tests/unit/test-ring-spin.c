/* SPDX-License-Identifier: MIT */

/* How long a side looks for the other one before it sleeps (lib/ring/spin.h) */

#include "test.h"

#include "ring/spin.h"

static struct spin spin_of(uint64_t max_usec)
{
	return (struct spin){ .max_usec = max_usec, .usec = max_usec, .n_between = 1 };
}

/* Waits that find nothing in time. Returns how many of them spun for the full time. */
static unsigned count_full(struct spin *spin, unsigned n_waits)
{
	unsigned n_full = 0;

	for (unsigned i = 0; i < n_waits; i++) {
		uint64_t usec = spin_begin(spin);

		n_full += usec == spin->max_usec;
		if (usec > 0)
			spin_end(spin, false);
	}
	return n_full;
}

static void never_spins_without_a_time(void)
{
	struct spin spin = spin_of(0);

	for (int i = 0; i < 1000; i++)
		expect_eq(spin_begin(&spin), 0);
}

static void spins_in_full_after_a_success(void)
{
	struct spin spin = spin_of(100);

	expect_eq(spin_begin(&spin), 100);
	spin_end(&spin, false);
	expect_eq(spin_begin(&spin), 25);
	spin_end(&spin, true);
	expect_eq(spin_begin(&spin), 100);
}

static void spins_less_after_each_failure(void)
{
	struct spin spin = spin_of(100);
	const uint64_t wanted[] = { 100, 25, 6, 1 };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		expect_eq(spin_begin(&spin), wanted[i]);
		spin_end(&spin, false);
	}
	expect_eq(spin.usec, 0);
}

static void tries_again_ever_more_rarely(void)
{
	struct spin spin = spin_of(100);
	unsigned n_first = count_full(&spin, 1000), n_later = count_full(&spin, 100000);

	expect(n_first > 5 && n_first < 20);
	/* Each is followed by three shorter ones and by SPIN_WAITS_MAX waits without any. */
	expect(n_later >= 100000 / (SPIN_WAITS_MAX + 4) - 1);
	expect(n_later <= 100000 / SPIN_WAITS_MAX + 1);
}

static void a_success_ends_the_pause_between_tries(void)
{
	struct spin spin = spin_of(100);

	(void)count_full(&spin, 100000);
	while (spin_begin(&spin) == 0)
		;
	spin_end(&spin, true);
	expect_eq(spin.n_between, 1);
	expect(count_full(&spin, 1000) > 5);
}

static const struct test tests[] = {
	TEST(never_spins_without_a_time),
	TEST(spins_in_full_after_a_success),
	TEST(spins_less_after_each_failure),
	TEST(tries_again_ever_more_rarely),
	TEST(a_success_ends_the_pause_between_tries),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
