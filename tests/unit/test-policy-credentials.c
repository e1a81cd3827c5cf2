/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "policy/credentials.h"
#include "test.h"

static const struct credential_place places[] = {
	{ "/home/user", CREDENTIALS_OF_HOME, "", 0 },
	{ "/cfg", CREDENTIALS_OF_HOME, ".config/", 0 },
	{ "/run/user/7", CREDENTIALS_OF_RUNTIME, "", 0 },
	{ "/tmp/ssh-x/agent.1", CREDENTIALS_OF_ROOT, "", CREDENTIAL_SOCKET },
	{ "/", CREDENTIALS_OF_ROOT, "", 0 },
};
static const struct credential_list list = { places, N_ELEMENTS(places), "/home/user" };

static bool lies_in(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && path[len] == '/';
}

/* The kinds of @entry if it is an entry below @path; else 0. */
static unsigned kinds_below(const char *path, const char *entry)
{
	struct arena arena = ARENA_INIT;
	const struct credential *rows = NULL;
	unsigned kinds = 0;
	size_t n = 0;

	expect_eq(credentials_below(&list, path, &arena, &rows, &n), 0);
	for (size_t i = 0; i < n; i++) {
		expect(lies_in(rows[i].path, strcmp(path, "/") == 0 ? "" : path));
		if (strcmp(rows[i].path, entry) == 0)
			kinds = rows[i].kinds;
	}
	arena_deinit(&arena);
	return kinds;
}

static void entries_are_those_that_lie_in_the_path(void)
{
	static const struct {
		const char *path;
		const char *entry;
		unsigned kinds;
	} cases[] = {
		{ "/home/user", "/home/user/.netrc", CREDENTIAL_SECRET },
		{ "/home", "/home/user/.netrc", CREDENTIAL_SECRET },
		{ "/", "/home/user/.bashrc", CREDENTIAL_STARTUP },
		{ "/home/user", "/home/user/.ssh", CREDENTIAL_SECRET | CREDENTIAL_STARTUP },
		{ "/home/user/.config", "/home/user/.config/gcloud", CREDENTIAL_SECRET },
		{ "/home/user/.config/git", "/home/user/.config/git/credentials",
		  CREDENTIAL_SECRET },
		{ "/cfg", "/cfg/gcloud", CREDENTIAL_SECRET },
		{ "/run", "/run/user/7/bus", CREDENTIAL_SOCKET },
		{ "/run/user/7", "/run/user/7/gnupg", CREDENTIAL_SOCKET },
		{ "/run", "/run/docker.sock", CREDENTIAL_SOCKET },
		{ "/tmp", "/tmp/ssh-x/agent.1", CREDENTIAL_SOCKET },
		/* The entry itself, a path below it, or another path. */
		{ "/home/user/.netrc", "/home/user/.netrc", 0 },
		{ "/home/user/.ssh/id", "/home/user/.ssh", 0 },
		{ "/home/user/project", "/home/user/project/.npmrc", 0 },
		{ "/home/user/project", "/home/user/.npmrc", 0 },
		{ "/home/user2", "/home/user2/.npmrc", 0 },
		{ "/cfg", "/cfg/.netrc", 0 },
		{ "/srv", "/home/user/.netrc", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_eq(kinds_below(cases[i].path, cases[i].entry), cases[i].kinds);
}

static void a_directory_without_a_home_has_no_entry(void)
{
	static const char *const paths[] = { "/srv", "/home/user/project", "/home/user/.ssh",
					     "/usr", "/etc" };

	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		struct arena arena = ARENA_INIT;
		const struct credential *rows = NULL;
		size_t n = 1;

		expect_eq(credentials_below(&list, paths[i], &arena, &rows, &n), 0);
		expect_eq(n, 0);
		arena_deinit(&arena);
	}
}

static void a_path_is_matched_by_the_narrowest_entry_around_it(void)
{
	static const struct {
		const char *path;
		const char *entry;
	} cases[] = {
		{ "/home/user/.ssh", "/home/user/.ssh" },
		{ "/home/user/.ssh/a/b", "/home/user/.ssh" },
		{ "/home/user/.config/git/credentials", "/home/user/.config/git/credentials" },
		{ "/home/user/.config/git/config", "/home/user/.config/git" },
		{ "/cfg/gh/hosts.yml", "/cfg/gh" },
		{ "/tmp/ssh-x/agent.1", "/tmp/ssh-x/agent.1" },
		{ "/home/user", NULL },
		{ "/home/user/.sshx", NULL },
		{ "/home/user/project/.netrc", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct arena arena = ARENA_INIT;
		struct credential entry = { .path = "" };

		expect_eq(credentials_match(&list, cases[i].path, &arena, &entry),
			  cases[i].entry != NULL);
		if (cases[i].entry)
			expect_str(entry.path, cases[i].entry);
		arena_deinit(&arena);
	}
}

static const char accounts[] = "root:x:0:0:root:/absent/root:/bin/bash\n"
			       "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
			       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
			       "db:x:70:70::/absent/db:/bin/sh\n"
			       "me:x:7:7:Me,,,:/absent/me:/bin/sh\n"
			       "me2:x:7:7:Me,,,:/absent/me:/bin/sh\n"
			       "+@nis\n"
			       "broken:x:seven:7:a:/absent/broken:/bin/sh\n"
			       "short:x:7:7\n"
			       "slash:x:9:9::/:/bin/sh";

static bool has_place(const struct credential_list *found, const char *path)
{
	for (size_t i = 0; i < found->n_places; i++)
		if (strcmp(found->places[i].path, path) == 0)
			return true;
	return false;
}

/* The strings are modified while they are parsed. */
static char *copy_accounts(struct arena *arena)
{
	return arena_copy(arena, accounts, sizeof(accounts) - 1);
}

static void root_has_the_homes_of_all_accounts_and_others_have_their_own(void)
{
	static char *const environment[] = { "HOME=/absent/elsewhere",
					     "XDG_RUNTIME_DIR=/absent/run",
					     "SSH_AUTH_SOCK=/absent/agent", NULL };
	static const struct {
		const char *path;
		bool of_root;
		bool of_user;
	} cases[] = {
		{ "/absent/elsewhere", true, true }, { "/absent/run", true, true },
		{ "/absent/agent", true, true },     { "/absent/me", true, true },
		{ "/run/user/7", true, true },	     { "/tmp/tmux-7", true, true },
		{ "/absent/root", true, false },     { "/absent/db", true, false },
		{ "/run/user/70", true, false },     { "/absent/broken", false, false },
		{ "/usr/sbin", false, false },	     { "/nonexistent", false, false },
	};
	struct arena arena = ARENA_INIT;
	struct credential_list of_root, of_user;

	expect_eq(credentials_find_in(copy_accounts(&arena), environment, 0, &arena, &of_root), 0);
	expect_eq(credentials_find_in(copy_accounts(&arena), environment, 7, &arena, &of_user), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		expect_eq(has_place(&of_root, cases[i].path), cases[i].of_root);
		expect_eq(has_place(&of_user, cases[i].path), cases[i].of_user);
	}
	/* Root's home is in the table; "/" is not a home. */
	expect_eq(credentials_count_homes(&of_root, "/"), 4);
	expect_eq(credentials_count_homes(&of_user, "/"), 2);
	expect_eq(credentials_count_homes(&of_user, "/absent/me"), 1);
	expect_eq(credentials_count_homes(&of_user, "/absent/me/project"), 0);
	expect_str(of_user.home, "/absent/elsewhere");
	arena_deinit(&arena);
}

static void without_home_the_account_has_one(void)
{
	static char *const environment[] = { "HOME=relative", NULL };
	struct arena arena = ARENA_INIT;
	struct credential_list found;

	expect_eq(credentials_find_in(copy_accounts(&arena), environment, 7, &arena, &found), 0);
	expect(has_place(&found, "/absent/me"));
	expect(!found.home);
	arena_deinit(&arena);
}

static void a_home_is_what_its_links_lead_to(void)
{
	char directory[] = "/tmp/credentials-XXXXXX", link[64], real[64], variable[80];
	char *environment[] = { variable, NULL };
	struct arena arena = ARENA_INIT;
	struct credential_list found;

	expect(mkdtemp(directory) != NULL);
	(void)snprintf(real, sizeof(real), "%s/real", directory);
	(void)snprintf(link, sizeof(link), "%s/link", directory);
	(void)snprintf(variable, sizeof(variable), "HOME=%s", link);
	expect_eq(mkdir(real, 0700), 0);
	expect_eq(symlink("real", link), 0);
	expect_eq(credentials_find_in(NULL, environment, 7, &arena, &found), 0);
	expect(has_place(&found, real) && !has_place(&found, link));
	expect_eq(unlink(link) + rmdir(real) + rmdir(directory), 0);
	arena_deinit(&arena);
}

static const struct test tests[] = {
	TEST(entries_are_those_that_lie_in_the_path),
	TEST(a_directory_without_a_home_has_no_entry),
	TEST(a_path_is_matched_by_the_narrowest_entry_around_it),
	TEST(root_has_the_homes_of_all_accounts_and_others_have_their_own),
	TEST(without_home_the_account_has_one),
	TEST(a_home_is_what_its_links_lead_to),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
