/* SPDX-License-Identifier: MIT */

#include "kernel/probe.h"
#include "plan/host.h"
#include "test.h"

#define STRANGER 4294967290u /* in neither file */

/* The reason to skip: /etc/passwd and /etc/group of the host are not usable. NULL: they are. */
static const char *why_not(void)
{
	struct host host = { .uid = 0 };

	host_find_accounts(true, STRANGER, STRANGER, &host);
	if (!host.lacks_user || !host.lacks_group)
		return "/etc/passwd or /etc/group is missing or too long";
	host_find_accounts(true, 0, 0, &host);
	return host.lacks_user ? "/etc/passwd has no line for root" : NULL;
}

static void a_user_is_found_by_number(void)
{
	struct host host = { .uid = STRANGER, .lacks_group = true };

	if (why_not())
		skip(why_not());
	host_find_accounts(true, 0, STRANGER, &host);
	expect(!host.lacks_user);
	/* lacks_group is only set together with lacks_user. */
	expect(!host.lacks_group);
}

static void a_number_without_a_line_is_lacking(void)
{
	struct host host = { .uid = 0 };

	if (why_not())
		skip(why_not());
	host_find_accounts(true, STRANGER, 0, &host);
	expect(host.lacks_user && !host.lacks_group);
	/* A line with the number 10 or 100 must not match 0. */
	host_find_accounts(true, STRANGER, STRANGER, &host);
	expect(host.lacks_user && host.lacks_group);
}

static void without_a_number_it_is_the_callers_and_roots_is_new(void)
{
	struct host user = { .uid = STRANGER, .gid = 0 }, root = { .uid = 0, .gid = 0 };

	if (why_not())
		skip(why_not());
	host_find_accounts(false, 0, 0, &user);
	expect(user.lacks_user && !user.lacks_group);
	host_find_accounts(false, 0, 0, &root);
	expect(root.lacks_user && root.lacks_group);
}

static const struct test tests[] = {
	TEST(a_user_is_found_by_number),
	TEST(a_number_without_a_line_is_lacking),
	TEST(without_a_number_it_is_the_callers_and_roots_is_new),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
