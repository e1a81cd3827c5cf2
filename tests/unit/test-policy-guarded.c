/* SPDX-License-Identifier: MIT */

#include <ftw.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "policy/guarded.h"
#include "test.h"

static const struct guarded_places everything = {
	.home = "/home/user",
	.config = "/cfg",
	.state = "/home/user/state",
	.runtime = "/run/user/7",
	.fallback = "/tmp/sbx-7",
	.policies = (const char *const[]){ "/p/policy.yaml" },
	.n_policies = 1,
};

static const struct guarded *find(const struct guarded_list *list, const char *path)
{
	for (size_t i = 0; i < list->n_rows; i++)
		if (strcmp(list->rows[i].path, path) == 0)
			return &list->rows[i];
	return NULL;
}

static bool has_rule(const char *name)
{
	const struct builtin_rule *rule = builtin_rules();

	while (rule->name && strcmp(rule->name, name) != 0)
		rule++;
	return rule->name && rule->is_guard;
}

static void every_row_is_a_literal_path_of_a_built_in_rule(void)
{
	struct arena arena = ARENA_INIT;
	struct guarded_list list;

	expect_eq(guarded_list(&everything, &arena, &list), 0);
	for (size_t i = 0; i < list.n_rows; i++) {
		const struct guarded *row = &list.rows[i];

		expect(path_is_normal(row->path) && strlen(row->path) == row->len);
		expect(!strpbrk(row->path, "*?["));
		expect(has_rule(row->rule));
		expect(i < list.n_unmarked || strstr(row->path, GUARDED_MARK));
	}
	arena_deinit(&arena);
}

static void the_callers_places_are_rows(void)
{
	static const struct {
		const char *path;
		const char *rule;
		enum guarded_what what;
		bool may_be_made;
	} cases[] = {
		{ "/p/policy.yaml", GUARDED_BY_POLICY_FILES, GUARDED_WRITE, false },
		{ "/home/user/.config/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE, true },
		{ "/cfg/sbx", GUARDED_BY_POLICY_FILES, GUARDED_WRITE, false },
		{ "/home/user/.local/state/sbx", GUARDED_BY_STATE, GUARDED_WRITE, true },
		{ "/home/user/state/sbx", GUARDED_BY_STATE, GUARDED_WRITE, true },
		{ "/home/user/state/sbx/audit", GUARDED_BY_AUDIT_LOG, GUARDED_WRITE, false },
		{ "/run/user/7/sbx", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN, false },
		{ "/tmp/sbx-7", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN, true },
		{ "/run/sbx", GUARDED_BY_DAEMON_FILES, GUARDED_HIDDEN, false },
	};
	struct arena arena = ARENA_INIT;
	struct guarded_list list;

	expect_eq(guarded_list(&everything, &arena, &list), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		const struct guarded *row = find(&list, cases[i].path);

		expect(row);
		if (!row)
			continue;
		expect_str(row->rule, cases[i].rule);
		expect_eq(row->what, cases[i].what);
		expect_eq(row->may_be_made, cases[i].may_be_made);
	}
	arena_deinit(&arena);
}

static void without_places_only_the_system_is_guarded(void)
{
	static const struct guarded_places none = { .home = NULL };
	struct arena arena = ARENA_INIT;
	struct guarded_list list;

	expect_eq(guarded_list(&none, &arena, &list), 0);
	expect(list.n_unmarked == 0 && list.n_own == 0);
	expect(find(&list, "/etc/sbx"));
	for (size_t i = 0; i < list.n_rows; i++)
		expect(!list.rows[i].may_be_made);
	arena_deinit(&arena);
}

/* A path without GUARDED_MARK is compared with fewer rows; the answer must be the same. */
static void a_match_is_the_first_row_that_contains_the_path(void)
{
	static const char *const rests[] = { "", "/a", "x", "/a/b" };
	struct arena arena = ARENA_INIT;
	struct guarded_list list;

	expect_eq(guarded_list(&everything, &arena, &list), 0);
	for (size_t i = 0; i < list.n_rows; i++)
		for (size_t k = 0; k < N_ELEMENTS(rests); k++)
			for (enum guarded_what what = GUARDED_WRITE; what <= GUARDED_HIDDEN;
			     what++) {
				const struct guarded *first = NULL;
				char path[PATH_MAX];

				(void)snprintf(path, sizeof(path), "%s%s", list.rows[i].path,
					       rests[k]);
				for (size_t j = list.n_rows; j-- > 0;)
					if (list.rows[j].what >= what &&
					    path_is_beneath(path, list.rows[j].path))
						first = &list.rows[j];
				expect(guarded_match(&list, path, what) == first);
			}
	arena_deinit(&arena);
}

/* A temporary directory, which is also the working directory. */
struct place {
	char path[PATH_MAX];
	struct arena arena;
	struct guarded_list list;
};

static void place_open(struct place *place)
{
	char made[] = "/tmp/sbx-test-guarded-XXXXXX";

	*place = (struct place){ .arena = ARENA_INIT };
	expect(mkdtemp(made) && chdir(made) == 0 && getcwd(place->path, sizeof(place->path)));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status, (void)kind, (void)walk;
	return remove(path);
}

static void place_close(struct place *place)
{
	arena_deinit(&place->arena);
	expect(chdir("/") == 0 && nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	expect(fd >= 0);
	close_fd(&fd);
}

static int look(struct place *place, char *const *environment, const char *policy)
{
	return guarded_find(environment, 7, &policy, 1, &place->arena, &place->list);
}

static bool is_guarded(const struct place *place, const char *name)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
	return find(&place->list, path) != NULL;
}

static char *const no_environment[] = { NULL };

static void a_policy_is_found_by_any_name_with_its_companions(void)
{
	static const char *const names[] = { "p.yaml", "./p.yaml", "sub/../p.yaml",
					     "sub//.././p.yaml" };
	struct place place;

	place_open(&place);
	expect_eq(mkdir("sub", 0700), 0);
	make("p.yaml");
	make("p.yaml.previous");
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		expect_eq(look(&place, no_environment, names[i]), 0);
		expect_eq(place.list.n_unmarked, 2);
		expect(is_guarded(&place, "p.yaml"));
		expect(is_guarded(&place, "p.yaml.previous"));
		expect(!is_guarded(&place, "p.yaml.meta.json"));
	}
	expect_eq(look(&place, no_environment, "-"), 0);
	expect_eq(place.list.n_unmarked, 0);
	place_close(&place);
}

static void each_link_on_the_way_to_a_policy_is_guarded(void)
{
	struct place place;

	place_open(&place);
	expect_eq(mkdir("real", 0700), 0);
	make("real/p.yaml");
	make("real/p.yaml.meta.json");
	expect_eq(symlink("real", "dir"), 0);
	expect_eq(symlink("dir/p.yaml", "second"), 0);
	expect_eq(symlink("second", "first"), 0);
	expect_eq(look(&place, no_environment, "first"), 0);
	expect(is_guarded(&place, "first") && is_guarded(&place, "second"));
	expect(is_guarded(&place, "dir") && is_guarded(&place, "real/p.yaml"));
	expect(is_guarded(&place, "real/p.yaml.meta.json"));
	expect_eq(place.list.n_unmarked, 5);
	place_close(&place);
}

static void refuses_a_policy_behind_a_circle_of_links(void)
{
	struct place place;

	place_open(&place);
	expect_eq(symlink("b", "a"), 0);
	expect_eq(symlink("a", "b"), 0);
	expect_eq(look(&place, no_environment, "a"), -ELOOP);
	place_close(&place);
}

static void a_home_behind_a_link_is_guarded_at_its_real_path(void)
{
	char home[PATH_MAX + 16];
	char *const environment[] = { home, NULL };
	const struct guarded *row;
	struct place place;
	char path[PATH_MAX + 64];

	place_open(&place);
	expect_eq(mkdir("real", 0700), 0);
	expect_eq(symlink("real", "home"), 0);
	(void)snprintf(home, sizeof(home), "HOME=%s/home", place.path);
	expect_eq(look(&place, environment, "-"), 0);
	expect(is_guarded(&place, "home/.config/sbx"));
	(void)snprintf(path, sizeof(path), "%s/real/.config/sbx", place.path);
	row = find(&place.list, path);
	expect(row && row->may_be_made);
	expect(row && guarded_match(&place.list, path, GUARDED_WRITE) == row);
	place_close(&place);
}

static const struct test tests[] = {
	TEST(every_row_is_a_literal_path_of_a_built_in_rule),
	TEST(the_callers_places_are_rows),
	TEST(without_places_only_the_system_is_guarded),
	TEST(a_match_is_the_first_row_that_contains_the_path),
	TEST(a_policy_is_found_by_any_name_with_its_companions),
	TEST(each_link_on_the_way_to_a_policy_is_guarded),
	TEST(refuses_a_policy_behind_a_circle_of_links),
	TEST(a_home_behind_a_link_is_guarded_at_its_real_path),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
