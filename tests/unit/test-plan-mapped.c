/* SPDX-License-Identifier: MIT */

#include "plan/plan-internal.h"
#include "plan-host.h"

#define PROJECT "/home/user/p"
#define OWN "/root/own"

/* Started by root, who has a directory with a file in a home that other users cannot enter. */
static void open_root(struct planning *planning)
{
	planning_open(planning);
	planning->host.uid = planning->host.gid = 0;
	planning->host.is_root = planning->request.is_root = true;
	planning->environment[1] = "HOME=/srv/home";
	for (size_t i = 0; i < planning->n_known; i++)
		planning->known[i].uid = 0;
	know(planning, "/root", HOST_DIRECTORY);
	planning->known[planning->n_known - 1].mode = 0700;
	know(planning, OWN, HOST_DIRECTORY);
	know(planning, OWN "/file", HOST_FILE);
}

static void set_last(struct planning *planning, uid_t uid, mode_t mode)
{
	planning->known[planning->n_known - 1].uid = uid;
	planning->known[planning->n_known - 1].mode = mode;
}

static bool is_mapped(const struct planning *planning, const char *path)
{
	const struct step *step = find_step(planning, STEP_BIND, path);

	return step && step->bind.owner.is_set && step->bind.owner.optional &&
	       step->bind.owner.uid == 0 && step->bind.owner.gid == STEP_NO_GID;
}

/* Root plans for @project, which root owns. */
static void plan_by_root(struct planning *planning, const char *project)
{
	planning->host.uid = planning->host.gid = 0;
	planning->host.is_root = planning->request.is_root = true;
	planning->host.cwd = planning->request.project = project;
	planning->environment[1] = "HOME=/nonexistent";
}

static void root_reads_its_own_closed_directory(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	plan_by_root(&planning, "/srv/own/x");
	know(&planning, "/srv/own", HOST_DIRECTORY);
	know(&planning, "/srv/own/x", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!is_mapped(&planning, "/srv/own/x"));
	planning.known[planning.n_known - 2].mode = 0700;
	expect_plan(&planning);
	expect(is_mapped(&planning, "/srv/own/x"));
	planning.known[planning.n_known - 2].mode = 0755;
	planning.known[planning.n_known - 1].mode = 0700;
	expect_plan(&planning);
	expect(is_mapped(&planning, "/srv/own/x"));
	/* Owned by another user. */
	planning.known[planning.n_known - 1].uid = 1000;
	expect_plan(&planning);
	expect(!is_mapped(&planning, "/srv/own/x"));
}

static void roots_closed_directory_is_mapped_where_it_is_named(void)
{
	_cleanup_planning_ struct planning planning;

	open_root(&planning);
	grant(&planning, GRANT_READ, OWN, "--read");
	expect_plan(&planning);
	expect(is_mapped(&planning, OWN));
	expect(flags_of(&planning, STEP_BIND, OWN) & STEP_READ_ONLY);
	expect(!is_mapped(&planning, "/usr") && !is_mapped(&planning, "/etc"));
}

static void only_root_is_mapped(void)
{
	_cleanup_planning_ struct planning planning;

	open_root(&planning);
	know(&planning, "/root/theirs", HOST_DIRECTORY);
	set_last(&planning, 1000, 0700);
	grant(&planning, GRANT_READ, "/root/theirs", "--read");
	expect_plan(&planning);
	expect(!is_mapped(&planning, "/root/theirs"));

	_cleanup_planning_ struct planning users;

	planning_open(&users);
	know(&users, "/srv/closed", HOST_DIRECTORY);
	set_last(&users, 0, 0700);
	grant(&users, GRANT_READ, "/srv/closed", "--read");
	expect_plan(&users);
	expect(!is_mapped(&users, "/srv/closed"));
}

static void what_the_command_may_read_or_write_needs_no_map(void)
{
	static const struct {
		enum request_grant grant;
		mode_t mode;
		bool mapped;
	} cases[] = {
		{ GRANT_READ, 0755, false }, { GRANT_READ, 0750, true },
		{ GRANT_READ, 0711, true },  { GRANT_READ, 0700, true },
		{ GRANT_EXEC, 0700, false }, { GRANT_WRITE, 0700, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_root(&planning);
		know(&planning, "/srv/own", HOST_DIRECTORY);
		set_last(&planning, 0, cases[i].mode);
		grant(&planning, cases[i].grant, "/srv/own", "--it");
		expect_plan(&planning);
		expect_eq(is_mapped(&planning, "/srv/own"), cases[i].mapped);
	}
}

static void the_system_is_never_mapped(void)
{
	static const char *const paths[] = { "/etc", "/usr", "/etc/keys", "/var", "/home" };

	for (size_t i = 0; i < 2 * N_ELEMENTS(paths); i++) {
		_cleanup_planning_ struct planning planning;
		const char *path = paths[i / 2];
		const struct step *step;

		planning_open(&planning);
		plan_by_root(&planning, i % 2 ? path : PROJECT);
		for (size_t k = 0; k < planning.n_known; k++)
			planning.known[k].mode = 0700;
		know(&planning, "/etc/keys", HOST_DIRECTORY);
		planning.known[planning.n_known - 1].mode = 0700;
		know(&planning, "/var", HOST_DIRECTORY);
		planning.known[planning.n_known - 1].mode = 0700;
		if (!(i % 2))
			grant(&planning, GRANT_READ, path, "--read");
		expect_plan(&planning);
		step = find_step(&planning, STEP_BIND, path);
		expect(!step || !step->bind.owner.is_set);
	}
}

static void a_directory_further_down_can_be_roots_own(void)
{
	_cleanup_planning_ struct planning planning;

	open_root(&planning);
	know(&planning, "/var/own", HOST_DIRECTORY);
	set_last(&planning, 0, 0700);
	grant(&planning, GRANT_READ, "/var/own", "--read");
	expect_plan(&planning);
	expect(is_mapped(&planning, "/var/own"));
}

static const struct test tests[] = {
	TEST(root_reads_its_own_closed_directory),
	TEST(roots_closed_directory_is_mapped_where_it_is_named),
	TEST(only_root_is_mapped),
	TEST(what_the_command_may_read_or_write_needs_no_map),
	TEST(the_system_is_never_mapped),
	TEST(a_directory_further_down_can_be_roots_own),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
