/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "plan-host.h"
#include "plan/layers.h"

static void every_layer_is_found_by_its_name(void)
{
	for (unsigned bit = 1; bit <= LAYERS_ALL; bit <<= 1) {
		expect(strcmp(layer_name(bit), "unknown") != 0);
		expect_eq(layer_find(layer_name(bit)), bit);
	}
	expect_eq(layer_find("apparmor"), 0);
	expect_str(layer_name(1 << 20), "unknown");
}

static void tiers_have_older_names(void)
{
	expect_eq(tier_find("full"), TIER_FULL);
	expect_eq(tier_find("reduced"), TIER_REDUCED);
	expect_eq(tier_find("no-userns"), TIER_REDUCED);
	expect_eq(tier_find("landlock-only"), TIER_REDUCED);
	expect_eq(tier_find("none"), -ENOENT);
	expect_str(tier_name(TIER_FULL), "full");
	expect_str(tier_name(TIER_REDUCED), "reduced");
}

static void every_holder_has_a_name(void)
{
	for (int i = HELD_BY_NOBODY; i <= HELD_BY_SUPERVISOR; i++)
		expect(holder_name((enum holder)i));
}

static void every_kind_of_step_has_its_row(void)
{
	for (int kind = 0; kind < N_STEP_KINDS; kind++) {
		const struct step_row *row = step_row((enum step_kind)kind);

		expect(row->name && row->name[0]);
		if (!row->name)
			continue;
		expect(row->failing && strncmp(row->failing, "cannot ", 7) == 0);
		expect(row->stage < N_STAGES);
		for (int other = 0; other < kind; other++) {
			const struct step_row *before = step_row((enum step_kind)other);

			expect(before->name && strcmp(before->name, row->name) != 0);
			expect(before->stage <= row->stage);
		}
	}
}

static const struct test tests[] = {
	TEST(every_layer_is_found_by_its_name),
	TEST(tiers_have_older_names),
	TEST(every_holder_has_a_name),
	TEST(every_kind_of_step_has_its_row),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
