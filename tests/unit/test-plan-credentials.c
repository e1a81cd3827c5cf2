/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/plan-internal.h"
#include "plan-host.h"

#define HOME "/home/user"
#define PROJECT "/home/user/p"

/* A home with a key, a token and a startup file, and a project with files of the same names. */
static void open_home(struct planning *planning)
{
	planning_open(planning);
	know(planning, HOME, HOST_DIRECTORY);
	know(planning, HOME "/.ssh", HOST_DIRECTORY);
	know(planning, HOME "/.ssh/id", HOST_FILE);
	know(planning, HOME "/.ssh/known_hosts", HOST_FILE);
	know(planning, HOME "/.netrc", HOST_FILE);
	know(planning, HOME "/.config/gh", HOST_DIRECTORY);
	know(planning, HOME "/.bashrc", HOST_FILE);
	know(planning, HOME "/.config/systemd", HOST_DIRECTORY);
	know(planning, PROJECT "/.netrc", HOST_FILE);
	know(planning, PROJECT "/.ssh", HOST_DIRECTORY);
}

/* A fresh tmpfs contains nothing of the host. */
static bool reads(const struct planning *planning, const char *path)
{
	const struct step *carrier = plan_find_carrier(planning->plan, path);

	return carrier && carrier->kind != STEP_TMPFS &&
	       plan_permits(planning->plan, path, HOST_FILE) & RIGHT_READ;
}

static bool writes(const struct planning *planning, const char *path)
{
	return plan_permits(planning->plan, path, HOST_FILE) & RIGHT_WRITE;
}

static const char *const hidden[] = { "/.ssh", "/.ssh/id", "/.netrc", "/.config/gh/hosts.yml" };

static void every_grant_that_contains_them_loses_them(void)
{
	static const struct {
		enum request_grant grant;
		const char *path;
		const char *target;
		const char *seen; /* path of the home inside */
	} cases[] = {
		{ GRANT_READ, HOME, NULL, HOME },
		{ GRANT_WRITE, HOME, NULL, HOME },
		{ GRANT_READ, "/home", NULL, HOME },
		{ GRANT_WRITE, "/home", NULL, HOME },
		{ GRANT_READ, "/", NULL, HOME },
		{ GRANT_READ, HOME, "/x", "/x" },
		{ GRANT_WRITE, HOME, "/x/y", "/x/y" },
		{ GRANT_READ, "/home", "/tmp/h", "/tmp/h/user" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		char path[64];

		open_home(&planning);
		grant(&planning, cases[i].grant, cases[i].path, "--it");
		planning.paths[0].target = cases[i].target;
		expect_plan(&planning);
		for (size_t k = 0; k < N_ELEMENTS(hidden); k++) {
			(void)snprintf(path, sizeof(path), "%s%s", cases[i].seen, hidden[k]);
			expect(!reads(&planning, path));
		}
		(void)snprintf(path, sizeof(path), "%s/p/.netrc", cases[i].seen);
		expect(reads(&planning, path));
		(void)snprintf(path, sizeof(path), "%s/.bashrc", cases[i].seen);
		expect(reads(&planning, path));
		expect(!writes(&planning, path));
		expect(has_notice(&planning, "not shown:"));
	}
}

static void the_working_directory_loses_them(void)
{
	static const char *const projects[] = { HOME, "/home" };

	for (size_t i = 0; i < N_ELEMENTS(projects); i++) {
		_cleanup_planning_ struct planning planning;

		open_home(&planning);
		planning.request.project = planning.host.cwd = projects[i];
		expect_plan(&planning);
		for (size_t k = 0; k < N_ELEMENTS(hidden); k++) {
			char path[64];

			(void)snprintf(path, sizeof(path), HOME "%s", hidden[k]);
			expect(!reads(&planning, path));
		}
		expect(reads(&planning, PROJECT "/.netrc"));
		expect(has_notice(&planning, "not shown: ~/.config/gh ~/.netrc ~/.ssh"));
	}
}

static void what_is_named_is_shown(void)
{
	static const struct {
		const char *named;
		bool shows_key;
		bool shows_hosts;
		bool shows_netrc;
	} cases[] = {
		{ HOME "/.ssh", true, true, false },
		{ HOME "/.ssh/known_hosts", false, true, false },
		{ HOME "/.netrc", false, false, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		for (int with_home = 0; with_home < 2; with_home++) {
			_cleanup_planning_ struct planning planning;

			open_home(&planning);
			grant(&planning, GRANT_READ, cases[i].named, "--read");
			if (with_home)
				grant(&planning, GRANT_WRITE, HOME, "--write");
			expect_plan(&planning);
			expect_eq(reads(&planning, HOME "/.ssh/id"), cases[i].shows_key);
			expect_eq(reads(&planning, HOME "/.ssh/known_hosts"), cases[i].shows_hosts);
			expect_eq(reads(&planning, HOME "/.netrc"), cases[i].shows_netrc);
			expect(!with_home || !writes(&planning, HOME "/.ssh/x"));
		}
}

static void a_working_directory_in_an_entry_names_it(void)
{
	static const char *const projects[] = { HOME "/.ssh", HOME "/.ssh/sub" };

	for (size_t i = 0; i < N_ELEMENTS(projects); i++) {
		_cleanup_planning_ struct planning planning;
		char path[64];

		open_home(&planning);
		know(&planning, HOME "/.ssh/sub", HOST_DIRECTORY);
		planning.request.project = planning.host.cwd = projects[i];
		expect_plan(&planning);
		(void)snprintf(path, sizeof(path), "%s/file", projects[i]);
		expect(reads(&planning, path));
	}
}

static void a_rule_of_a_policy_shows_what_it_allows(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	planning_load(&planning,
		      "version: 1\ncapabilities:\n"
		      "- {name: h, match: {op: 'fs.*', path: /home/user}, action: allow}\n"
		      "- {name: s, match: {op: [fs.read, exec], path: /usr}, action: allow}\n");
	expect_plan(&planning);
	expect(reads(&planning, HOME "/.ssh/id") && writes(&planning, HOME "/.bashrc"));
	expect(!has_notice(&planning, "not shown"));
	/* An option for another path changes nothing here. */
	grant(&planning, GRANT_WRITE, HOME, "--write");
	expect_plan(&planning);
	expect(reads(&planning, HOME "/.ssh/id") && writes(&planning, HOME "/.bashrc"));
}

/* The rule allows the host's /x; --bind shows the home at that path. */
static void a_rule_about_the_target_of_a_bind_does_not_show_what_the_bind_loses(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	know(&planning, "/x", HOST_DIRECTORY);
	planning_load(&planning,
		      "version: 1\ncapabilities:\n"
		      "- {name: x, match: {op: 'fs.*', path: /x}, action: allow}\n"
		      "- {name: s, match: {op: [fs.read, exec], path: /usr}, action: allow}\n");
	grant(&planning, GRANT_WRITE, HOME, "--bind");
	planning.paths[0].target = "/x";
	expect_plan(&planning);
	expect(reads(&planning, "/x/p/file"));
	expect(!reads(&planning, "/x/.ssh/id") && !reads(&planning, "/x/.netrc"));
	expect(reads(&planning, "/x/.bashrc") && !writes(&planning, "/x/.bashrc"));
}

/* Exceptions of the working directory apply to its own names, whatever is mounted over it. */
static void credentials_are_hidden_in_a_bind_over_the_home(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, PROJECT "/c", HOST_DIRECTORY);
	know(&planning, "/srv/t/c", HOST_DIRECTORY);
	planning.homes[0] = (struct credential_place){ .path = HOME, .prefix = "" };
	planning.homes[1] = (struct credential_place){ .path = PROJECT "/c",
						       .prefix = "",
						       .kinds = CREDENTIAL_SECRET };
	planning.credentials.n_places = 2;
	grant(&planning, GRANT_READ, "/srv/t", "--bind");
	planning.paths[0].target = PROJECT;
	expect_plan(&planning);
	expect(!reads(&planning, PROJECT "/c/file") && reads(&planning, PROJECT "/d"));
	expect(has_notice(&planning, "not shown: ~/p/c"));
}

static void directories_above_them_cannot_be_renamed_in_a_writable_home(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	grant(&planning, GRANT_WRITE, HOME, "--write");
	expect_plan(&planning);
	expect_eq(flags_of(&planning, STEP_BIND, HOME "/.config"), STEP_IS_DIRECTORY);
	expect_eq(flags_of(&planning, STEP_BIND, HOME "/.bashrc"), STEP_READ_ONLY);
	expect_str(the_step(&planning, STEP_MASK, HOME "/.ssh")->origin.text, "credentials");
	expect_str(the_step(&planning, STEP_BIND, HOME "/.bashrc")->origin.text, "startup files");
}

/* A directory entry in the table stands for its contents. */
static void startup_files_are_those_of_a_writable_home(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	grant(&planning, GRANT_WRITE, HOME "/.config", "--write");
	expect_plan(&planning);
	expect(writes(&planning, HOME "/.config/systemd/x"));
	expect(!reads(&planning, HOME "/.config/gh/x"));
	expect(!has_notice(&planning, "startup files"));
}

static void a_startup_file_that_is_named_is_written(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	grant(&planning, GRANT_WRITE, HOME, "--write");
	grant(&planning, GRANT_WRITE, HOME "/.bashrc", "--write");
	expect_plan(&planning);
	expect(writes(&planning, HOME "/.bashrc"));
	expect(!writes(&planning, HOME "/.config/systemd/x"));
}

static void startup_files_that_are_missing_are_noted(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	grant(&planning, GRANT_READ, HOME, "--read");
	expect_plan(&planning);
	expect(!has_notice(&planning, "startup files"));
	planning.paths[0].grant = GRANT_WRITE;
	expect_plan(&planning);
	expect(has_notice(&planning, "can create missing startup files: ~/.profile"));
	/* With changes in an overlay the host executes nothing. */
	planning.request.n_paths = 0;
	planning.request.project = planning.host.cwd = HOME;
	planning.request.out_directory = "/srv/out";
	planning.request.out_work = "/srv/work";
	expect_plan(&planning);
	expect(!has_notice(&planning, "startup files"));
	expect(!reads(&planning, HOME "/.ssh/id"));
}

/* A user's own links: dotfiles in a separate repository. */
static void a_credential_behind_a_link_is_excepted_in_the_grant(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, HOME "/dot/netrc", HOST_FILE);
	know(&planning, HOME "/dot/bashrc", HOST_FILE);
	know(&planning, "/srv/keys/ssh", HOST_DIRECTORY);
	know_link(&planning, HOME "/.netrc", "dot/netrc", 1000);
	know_link(&planning, HOME "/.bashrc", "dot/bashrc", 1000);
	know_link(&planning, HOME "/.ssh", "/srv/keys/ssh", 1000);
	know_link(&planning, HOME "/.aws", "nowhere", 1000);
	grant(&planning, GRANT_WRITE, HOME, "--write");
	expect_plan(&planning);
	expect(!reads(&planning, HOME "/dot/netrc"));
	expect(reads(&planning, HOME "/dot/bashrc") && !writes(&planning, HOME "/dot/bashrc"));
	expect(has_notice(&planning, "can create missing startup files"));
	planning.paths[0].target = "/x";
	expect_plan(&planning);
	expect(!reads(&planning, "/x/dot/netrc"));
}

static void a_grant_by_another_name_of_the_home_loses_them(void)
{
	_cleanup_planning_ struct planning planning;

	open_home(&planning);
	know_link(&planning, "/people", "/home", 0);
	grant(&planning, GRANT_READ, "/people/user", "--read");
	expect_plan(&planning);
	expect(!reads(&planning, HOME "/.ssh/id"));
	expect(reads(&planning, HOME "/.bashrc"));
	/* Later the link has another target, which the host was not asked about. */
	expect_eq(ask_host(&planning), 0);
	for (size_t i = 0; i < planning.host.n_paths; i++)
		if (strcmp(planning.facts[i].path, "/people/user") == 0)
			planning.facts[i].real = "/home";
	planning.homes[0].path = "/home/other";
	plan_free_ptr(&planning.plan);
	expect_eq(plan_build(NULL, &planning.request, &planning.host, &planning.plan,
			     &planning.err),
		  -EAGAIN);
	expect(says(&planning, "out of '/people/user'", "was not probed",
		    "without symbolic links"));
}

static void sockets_are_opened_by_unix_alone(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/run", HOST_DIRECTORY);
	know(&planning, "/run/docker.sock", HOST_SOCKET);
	grant(&planning, GRANT_READ, "/run", "--read");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/run/docker.sock"));
	expect(has_notice(&planning, "not shown: /run/docker.sock"));
	grant(&planning, GRANT_UNIX, "/run/docker.sock", "--unix");
	expect_plan(&planning);
	expect(plan_permits(planning.plan, "/run/docker.sock", HOST_SOCKET) & RIGHT_WRITE);
	expect(!has_notice(&planning, "not shown"));
}

static void what_is_missing_needs_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, HOME, HOST_DIRECTORY);
	grant(&planning, GRANT_READ, HOME, "--read");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, HOME "/.ssh"));
	expect(!has_notice(&planning, "not shown"));
}

static void too_many_homes_in_one_grant_are_refused(void)
{
	static struct credential_place places[65];
	static char names[N_ELEMENTS(places)][32];
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	know(&planning, "/srv/homes", HOST_DIRECTORY);
	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "/srv/homes/u%zu", i);
		places[i] = (struct credential_place){ names[i], CREDENTIALS_OF_HOME, "", 0 };
	}
	planning.credentials.places = places;
	planning.credentials.n_places = N_ELEMENTS(places);
	expect_plan(&planning);
	grant(&planning, GRANT_READ, "/srv/homes", "--read");
	expect_refusal(&planning, -E2BIG);
	expect(says(&planning, "credentials out of '/srv/homes'", "home directories of 65 accounts",
		    "one by one"));
	planning.paths[0].path = "/srv/homes/u1";
	know(&planning, "/srv/homes/u1", HOST_DIRECTORY);
	expect_plan(&planning);
}

static const struct test tests[] = {
	TEST(every_grant_that_contains_them_loses_them),
	TEST(the_working_directory_loses_them),
	TEST(what_is_named_is_shown),
	TEST(a_working_directory_in_an_entry_names_it),
	TEST(a_rule_of_a_policy_shows_what_it_allows),
	TEST(a_rule_about_the_target_of_a_bind_does_not_show_what_the_bind_loses),
	TEST(credentials_are_hidden_in_a_bind_over_the_home),
	TEST(directories_above_them_cannot_be_renamed_in_a_writable_home),
	TEST(startup_files_are_those_of_a_writable_home),
	TEST(a_startup_file_that_is_named_is_written),
	TEST(startup_files_that_are_missing_are_noted),
	TEST(a_credential_behind_a_link_is_excepted_in_the_grant),
	TEST(a_grant_by_another_name_of_the_home_loses_them),
	TEST(sockets_are_opened_by_unix_alone),
	TEST(what_is_missing_needs_nothing),
	TEST(too_many_homes_in_one_grant_are_refused),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
