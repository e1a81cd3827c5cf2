/* SPDX-License-Identifier: MIT */

#include "base/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "file-place.h"
#include "test.h"

#define USER 4242
#define OTHER 54321

struct rig {
	struct place place;
	char accounts[96];
	char home[96];
};
#define _cleanup_rig_ _cleanup_(rig_deinit)

static void rig_deinit(struct rig *rig)
{
	place_deinit(&rig->place);
}

/* A user with the directory "home" as the account's home, or another one. */
static struct rig rig_make(const char *home)
{
	struct rig rig = { .place = place_make() };
	FILE *file;

	(void)snprintf(rig.accounts, sizeof(rig.accounts), "%s/accounts", rig.place.path);
	(void)snprintf(rig.home, sizeof(rig.home), "%s/home", rig.place.path);
	file = fopen(rig.accounts, "we");
	if (!file || mkdir(rig.home, 0700) < 0)
		abort();
	(void)fprintf(file, "root:x:0:0::/root:/bin/sh\nbroken:x:%d\nother:x:%d1:1::/other:\n",
		      USER, USER);
	(void)fprintf(file, "user:x:%d:%d::%s:/bin/sh\n", USER, USER, home ? home : rig.home);
	(void)fclose(file);
	return rig;
}

#define ENVIRONMENT(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void expect_state(const struct rig *rig, const char *const *environment, uid_t uid,
			 enum state_place want_place, const char *want)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(state_find_by(&out, (char *const *)environment, uid, rig->accounts),
		  (int)want_place);
	expect_str(text_string(&out), want);
}

static void a_home_that_can_be_written_has_it(void)
{
	_cleanup_rig_ struct rig rig = rig_make("/nowhere");
	char variable[128], want[128];

	(void)snprintf(variable, sizeof(variable), "HOME=%s", rig.home);
	(void)snprintf(want, sizeof(want), "%s/.local/state", rig.home);
	expect_state(&rig, ENVIRONMENT(variable), USER, STATE_OF_ENVIRONMENT, want);
	/* A directory that is relative or empty counts as not set. */
	expect_state(&rig, ENVIRONMENT("XDG_STATE_HOME=state", variable), USER,
		     STATE_OF_ENVIRONMENT, want);
	expect_state(&rig, ENVIRONMENT("XDG_STATE_HOME=", variable), USER, STATE_OF_ENVIRONMENT,
		     want);
}

static void a_variable_of_its_own_goes_before_whatever_is_there(void)
{
	_cleanup_rig_ struct rig rig = rig_make(NULL);

	expect_state(&rig, ENVIRONMENT("XDG_STATE_HOME=/nowhere"), USER, STATE_OF_ENVIRONMENT,
		     "/nowhere");
	expect_state(&rig, ENVIRONMENT("HOME=/x", "XDG_STATE_HOME=/y"), 0, STATE_OF_ENVIRONMENT,
		     "/var/lib");
	expect_state(&rig, ENVIRONMENT("A=b"), 0, STATE_OF_ENVIRONMENT, "/var/lib");
}

static void without_a_home_it_is_in_that_of_the_account(void)
{
	_cleanup_rig_ struct rig rig = rig_make(NULL);
	char want[128];

	(void)snprintf(want, sizeof(want), "%s/.local/state", rig.home);
	expect_state(&rig, ENVIRONMENT("A=b"), USER, STATE_OF_ACCOUNT, want);
	expect_state(&rig, NULL, USER, STATE_OF_ACCOUNT, want);
	expect_state(&rig, ENVIRONMENT("HOME=relative"), USER, STATE_OF_ACCOUNT, want);
	expect_state(&rig, ENVIRONMENT("HOME=/nonexistent/home"), USER, STATE_OF_ACCOUNT, want);
	expect_state(&rig, ENVIRONMENT("XDG_RUNTIME_DIR=/r"), USER, STATE_OF_ACCOUNT, want);
}

static void without_any_it_is_in_the_runtime_directory(void)
{
	static const char *const homes[] = { "/nowhere", "relative", "", "/a/../b" };

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
		_cleanup_rig_ struct rig rig = rig_make(homes[i]);

		expect_state(&rig, ENVIRONMENT("A=b"), USER, STATE_FALLBACK, "/tmp/sbx-4242/state");
		expect_state(&rig, ENVIRONMENT("HOME=/nonexistent", "XDG_RUNTIME_DIR=/r"), USER,
			     STATE_FALLBACK, "/r/sbx/state");
		expect_state(&rig, ENVIRONMENT("A=b"), OTHER, STATE_FALLBACK,
			     "/tmp/sbx-54321/state");
		(void)unlink(rig.accounts);
		expect_state(&rig, ENVIRONMENT("A=b"), USER, STATE_FALLBACK, "/tmp/sbx-4242/state");
	}
}

static void refuses_a_fallback_that_other_users_can_write(void)
{
	_cleanup_rig_ struct rig rig = rig_make(NULL);
	char parent[128], state[160], link[128];

	(void)snprintf(parent, sizeof(parent), "%s/sbx-4242", rig.place.path);
	(void)snprintf(state, sizeof(state), "%s/state", parent);
	(void)snprintf(link, sizeof(link), "%s/link", rig.place.path);
	expect_eq(state_make_fallback(state), 0);
	expect_eq(state_make_fallback(state), 0);
	expect_eq(chmod(parent, 0770), 0);
	expect_eq(state_make_fallback(state), -EPERM);
	expect_eq(chmod(parent, 0700), 0);
	expect_eq(rename(parent, link), 0);
	expect_eq(symlink(link, parent), 0);
	expect_eq(state_make_fallback(state), -EPERM);
	(void)unlink(parent);
	(void)fclose(fopen(parent, "we"));
	expect_eq(state_make_fallback(state), -EPERM);
	if (geteuid() != 0)
		return;
	(void)unlink(parent);
	expect_eq(mkdir(parent, 0700), 0);
	expect_eq(chown(parent, OTHER, OTHER), 0);
	expect_eq(state_make_fallback(state), -EPERM);
}

static const struct test tests[] = {
	TEST(a_home_that_can_be_written_has_it),
	TEST(a_variable_of_its_own_goes_before_whatever_is_there),
	TEST(without_a_home_it_is_in_that_of_the_account),
	TEST(without_any_it_is_in_the_runtime_directory),
	TEST(refuses_a_fallback_that_other_users_can_write),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
