/* SPDX-License-Identifier: MIT */

#include "registry/registry.h"

#include "registry-rig.h"

#include "base/process.h"
#include "base/text.h"

static void knows_every_step_of_the_life_cycle_and_no_other(void)
{
	static const enum sandbox_state steps[][2] = {
		{ SANDBOX_CREATING, SANDBOX_RUNNING },	{ SANDBOX_CREATING, SANDBOX_FAILED },
		{ SANDBOX_RUNNING, SANDBOX_STOPPING },	{ SANDBOX_RUNNING, SANDBOX_FAILED },
		{ SANDBOX_STOPPING, SANDBOX_CLEANUP },	{ SANDBOX_FAILED, SANDBOX_CLEANUP },
		{ SANDBOX_CLEANUP, SANDBOX_DESTROYED },
	};
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(steps); i++)
		expect(sandbox_state_may_follow(steps[i][0], steps[i][1]));
	for (int from = 0; from < N_SANDBOX_STATES; from++)
		for (int to = 0; to < N_SANDBOX_STATES; to++)
			n += sandbox_state_may_follow((enum sandbox_state)from,
						      (enum sandbox_state)to);
	expect_eq(n, N_ELEMENTS(steps));
	expect_str(sandbox_state_name(SANDBOX_DESTROYED), "DESTROYED");
}

static void takes_names_that_are_one_plain_word(void)
{
	static const char *const good[] = { "a", "7", "build-1", "a.b_c-D", "x.." };
	char longest[SANDBOX_ID_MAX + 2];

	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		expect(sandbox_id_is_valid(good[i]));
	memset(longest, 'a', sizeof(longest));
	longest[SANDBOX_ID_MAX] = '\0';
	expect(sandbox_id_is_valid(longest));
	longest[SANDBOX_ID_MAX] = 'a';
	longest[SANDBOX_ID_MAX + 1] = '\0';
	expect(!sandbox_id_is_valid(longest));
}

static void refuses_names_that_lead_elsewhere(void)
{
	static const char *const bad[] = { "",	  ".",	 "..",	".a",	    "-a", "_a",	 "a/b", "/",
					   "a b", "a\n", "a\t", "\xc3\xa4", "a*", "a;b", "../a" };
	RIG;

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct registration made = REGISTRATION_INIT;
		struct sandbox_entry entry;
		bool is_alive;

		expect(!sandbox_id_is_valid(bad[i]));
		expect_eq(registration_create(rig.registry, bad[i], &made, &rig.err), -EINVAL);
		expect(registration_claim(rig.registry, bad[i], &made, &rig.err) < 0);
		expect(registry_read(rig.registry, bad[i], &rig.arena, &entry, &is_alive,
				     &rig.err) < 0);
	}
}

static void makes_names_that_are_valid_and_differ(void)
{
	char a[SANDBOX_ID_MAX + 1], b[SANDBOX_ID_MAX + 1];

	expect_eq(sandbox_id_make(a), 0);
	expect_eq(sandbox_id_make(b), 0);
	expect_eq(strlen(a), 16);
	expect(sandbox_id_is_valid(a));
	expect(strcmp(a, b) != 0);
}

static void the_registry_is_closed_to_others(void)
{
	struct stat st;
	RIG;

	expect_eq(fstat(rig.registry, &st), 0);
	expect_eq(st.st_mode & 07777, 0700);
	expect_eq(st.st_uid, geteuid());
}

static void opens_the_same_registry_twice(void)
{
	struct stat a, b;
	RIG;
	_cleanup_close_ int again = registry_open_in(rig.path, &rig.err);

	expect(again >= 0);
	expect(fstat(again, &a) == 0 && fstat(rig.registry, &b) == 0 && a.st_ino == b.st_ino);
}

static void refuses_a_registry_that_others_may_read(void)
{
	RIG;

	expect_eq(fchmod(rig.registry, 0750), 0);
	expect_eq(registry_open_in(rig.path, &rig.err), -EPERM);
	expect(strstr(rig.err.what, "/sbx/sandboxes'"));
	expect(strstr(rig.err.fix, "0700"));
}

static void refuses_a_registry_in_a_directory_that_others_may_write(void)
{
	RIG;

	expect_eq(fchmodat(rig.directory, "sbx", 0777, 0), 0);
	expect_eq(registry_open_in(rig.path, &rig.err), -EPERM);
}

static void refuses_a_registry_of_another_user(void)
{
	RIG;

	if (geteuid() != 0)
		skip("only root can give a folder away");
	expect_eq(fchownat(rig.directory, "sbx", 65534, 65534, 0), 0);
	expect_eq(registry_open_in(rig.path, &rig.err), -EPERM);
}

static void refuses_a_link_in_the_place_of_the_registry(void)
{
	RIG;

	expect_eq(renameat(rig.directory, "sbx", rig.directory, "elsewhere"), 0);
	expect_eq(symlinkat("elsewhere", rig.directory, "sbx"), 0);
	expect_eq(registry_open_in(rig.path, &rig.err), -EPERM);
}

static void says_where_a_runtime_directory_is_missing(void)
{
	RIG;

	expect_eq(registry_open_in("/nonexistent", &rig.err), -ENOENT);
	expect(strstr(rig.err.what, "/nonexistent/sbx"));
}

static void an_ordinary_user_finds_it_by_the_environment(void)
{
	char variable[128];
	char *const environment[] = { variable, NULL };
	struct stat a, b;
	RIG;

	if (geteuid() == 0)
		skip("root has its registry in /run, whatever the environment says");
	(void)snprintf(variable, sizeof(variable), "XDG_RUNTIME_DIR=%s", rig.path);

	_cleanup_close_ int found = registry_open(environment, &rig.err);

	expect(found >= 0 && fstat(found, &a) == 0 && fstat(rig.registry, &b) == 0 &&
	       a.st_ino == b.st_ino);
}

static void an_empty_registry_lists_nothing(void)
{
	const char *const *ids;
	RIG;

	expect_eq(registry_list(rig.registry, &rig.arena, &ids, &rig.err), 0);
	expect(!ids[0]);
}

static void lists_sandboxes_in_order_and_nothing_else(void)
{
	static const char *const names[] = { "b", "a", "c.1", ".hidden", "-x" };
	const char *const *ids;
	RIG;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		expect_eq(mkdirat(rig.registry, names[i], 0700), 0);
	expect_eq(registry_list(rig.registry, &rig.arena, &ids, &rig.err), 0);
	expect_str(ids[0], "a");
	expect_str(ids[1], "b");
	expect_str(ids[2], "c.1");
	expect(!ids[3]);
}

static void lists_more_than_a_few(void)
{
	const char *const *ids;
	size_t n = 0;
	RIG;

	for (int i = 0; i < 200; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		expect_eq(mkdirat(rig.registry, name, 0700), 0);
	}
	expect_eq(registry_list(rig.registry, &rig.arena, &ids, &rig.err), 0);
	while (ids[n])
		n++;
	expect_eq(n, 200);
}

static void names_what_is_not_there(void)
{
	struct sandbox_entry entry;
	bool is_alive;
	RIG;

	expect_eq(registry_read(rig.registry, "ghost", &rig.arena, &entry, &is_alive, &rig.err),
		  -ENOENT);
	expect(strstr(rig.err.what, "ghost"));
	expect(strstr(rig.err.fix, "sbx-ctl list"));
}

static void a_process_is_told_from_its_successor(void)
{
	int64_t start = process_start_ticks(getpid());
	_cleanup_close_ int self = process_open(getpid(), (uint64_t)start);

	expect(start > 0);
	expect(self >= 0);
	expect_eq(process_open(getpid(), (uint64_t)start + 1), -ESRCH);
	expect_eq(process_open(getpid(), 0), -ESRCH);
	expect_eq(process_open(0, 0), -ESRCH);
	expect_eq(process_open(-1, 0), -ESRCH);
}

static void a_process_that_is_gone_has_no_start(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	rig_end(child);
	expect_eq(process_start_ticks(child), -ESRCH);
}

static void a_process_with_a_misleading_name_has_its_own_start(void)
{
	int ready[2];
	char byte;

	expect_eq(pipe(ready), 0);

	pid_t child = fork();

	if (child == 0) {
		_cleanup_close_ int name = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);

		(void)fd_write_all(name, "a) S 1 1 1", 10);
		(void)fd_write_all(ready[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	expect_eq(read(ready[0], &byte, 1), 1);
	expect(process_start_ticks(child) >= process_start_ticks(getpid()));
	rig_end(child);
	close_fd(&ready[0]);
	close_fd(&ready[1]);
}

static const struct test tests[] = {
	TEST(knows_every_step_of_the_life_cycle_and_no_other),
	TEST(takes_names_that_are_one_plain_word),
	TEST(refuses_names_that_lead_elsewhere),
	TEST(makes_names_that_are_valid_and_differ),
	TEST(the_registry_is_closed_to_others),
	TEST(opens_the_same_registry_twice),
	TEST(refuses_a_registry_that_others_may_read),
	TEST(refuses_a_registry_in_a_directory_that_others_may_write),
	TEST(refuses_a_registry_of_another_user),
	TEST(refuses_a_link_in_the_place_of_the_registry),
	TEST(says_where_a_runtime_directory_is_missing),
	TEST(an_ordinary_user_finds_it_by_the_environment),
	TEST(an_empty_registry_lists_nothing),
	TEST(lists_sandboxes_in_order_and_nothing_else),
	TEST(lists_more_than_a_few),
	TEST(names_what_is_not_there),
	TEST(a_process_is_told_from_its_successor),
	TEST(a_process_that_is_gone_has_no_start),
	TEST(a_process_with_a_misleading_name_has_its_own_start),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
