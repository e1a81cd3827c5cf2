/* SPDX-License-Identifier: MIT */

#include "base/environment.h"

#include "base/cleanup.h"
#include "test.h"

#define ENVIRONMENT(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void a_variable_is_found_by_its_whole_name(void)
{
	const char *const *environment = ENVIRONMENT("HOMER=/a", "XHOME=/b", "HOME=/c");

	expect_str(environment_find_directory((char *const *)environment, "HOME"), "/c");
}

static void a_directory_that_is_not_absolute_is_none(void)
{
	static const char *const values[] = { "HOME=home", "HOME=", "HOME" };

	for (size_t i = 0; i < N_ELEMENTS(values); i++)
		expect(!environment_find_directory((char *const *)ENVIRONMENT(values[i]), "HOME"));
	expect(!environment_find_directory(NULL, "HOME"));
}

static void of_two_variables_of_a_name_the_first_one_counts(void)
{
	const char *const *environment = ENVIRONMENT("A=/1", "A=/2", "B=3", "B=/4");

	expect_str(environment_find_directory((char *const *)environment, "A"), "/1");
	expect(!environment_find_directory((char *const *)environment, "B"));
}

static const struct test tests[] = {
	TEST(a_variable_is_found_by_its_whole_name),
	TEST(a_directory_that_is_not_absolute_is_none),
	TEST(of_two_variables_of_a_name_the_first_one_counts),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
