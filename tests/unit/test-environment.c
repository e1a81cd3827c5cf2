/* SPDX-License-Identifier: MIT */

#include "base/environment.h"

#include <errno.h>

#include "base/text.h"
#include "test.h"

#define USER 1000

/* Expects the state directory of this user; "" if it is not known. */
static void expect_state(const char *const *environment, uid_t uid, const char *want)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	int r = environment_add_state_directory(&out, (char *const *)environment, uid);

	expect_eq(r, *want ? 0 : -ENOENT);
	expect_str(text_string(&out), want);
}

#define ENVIRONMENT(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void the_state_directory_is_where_the_user_has_it(void)
{
	expect_state(ENVIRONMENT("HOME=/home/u", "XDG_STATE_HOME=/state"), USER, "/state");
	expect_state(ENVIRONMENT("XDG_STATE_HOME=/state"), USER, "/state");
	expect_state(ENVIRONMENT("HOME=/home/u"), USER, "/home/u/.local/state");
	expect_state(ENVIRONMENT("HOMER=/a", "XHOME=/b", "HOME=/c"), USER, "/c/.local/state");
}

static void that_of_root_is_the_systems_whatever_the_environment_says(void)
{
	expect_state(ENVIRONMENT("HOME=/root", "XDG_STATE_HOME=/state"), 0, "/var/lib");
	expect_state(NULL, 0, "/var/lib");
}

static void a_directory_that_is_not_absolute_is_none(void)
{
	expect_state(ENVIRONMENT("HOME=/home/u", "XDG_STATE_HOME=state"), USER,
		     "/home/u/.local/state");
	expect_state(ENVIRONMENT("HOME=/home/u", "XDG_STATE_HOME="), USER, "/home/u/.local/state");
	expect_state(ENVIRONMENT("HOME=home"), USER, "");
	expect_state(ENVIRONMENT("HOME"), USER, "");
	expect_state(NULL, USER, "");
}

static void of_two_variables_of_a_name_the_first_one_counts(void)
{
	const char *const *environment = ENVIRONMENT("A=/1", "A=/2", "B=3", "B=/4");

	expect_str(environment_find_directory((char *const *)environment, "A"), "/1");
	expect(!environment_find_directory((char *const *)environment, "B"));
}

static const struct test tests[] = {
	TEST(the_state_directory_is_where_the_user_has_it),
	TEST(that_of_root_is_the_systems_whatever_the_environment_says),
	TEST(a_directory_that_is_not_absolute_is_none),
	TEST(of_two_variables_of_a_name_the_first_one_counts),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
