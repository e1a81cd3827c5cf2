/* SPDX-License-Identifier: MIT */

#include <stdint.h>

#include "base/arena.h"
#include "policy/decide.h"
#include "policy/guarded.h"
#include "policy/model.h"
#include "test.h"

static const char *judge(const char *operation, const char *path, const char *mode)
{
	static const struct guarded_places places = { .home = "/home/u",
						      .runtime = "/run/user/1000" };
	struct policy_request request = { .operation = operation, .path = path, .mode = mode };
	struct arena arena = ARENA_INIT;
	struct guarded_list list = { .rows = NULL };
	const struct builtin_rule *rule;

	expect_eq(guarded_list(&places, &arena, &list), 0);
	rule = builtin_judge(builtin_rules(), &request, operation_set(operation), &list);
	arena_deinit(&arena);
	return rule ? rule->name : NULL;
}

static void there_are_at_most_ten_and_each_has_name_and_reason(void)
{
	const struct builtin_rule *rule = builtin_rules();

	for (; rule->name; rule++) {
		expect(strncmp(rule->name, "builtin:", 8) == 0);
		expect(rule->reason[0] != '\0' && rule->operations != 0);
		expect(rule->action == POLICY_DENY || rule->action == POLICY_REVIEW);
	}
	expect(rule - builtin_rules() <= BUILTIN_RULES_MAX);
}

static void protects_files_from_being_written(void)
{
	static const struct {
		const char *path;
		const char *rule;
	} cases[] = {
		{ "/etc/sbx", "builtin:policy-files" },
		{ "/etc/sbx/policy.yaml", "builtin:policy-files" },
		{ "/home/u/.config/sbx/policy.yaml", "builtin:policy-files" },
		{ "/usr/bin/sbx-spawn", "builtin:programs" },
		{ "/usr/" SBX_LIBDIR "/sbx/filter.so", "builtin:programs" },
		{ "/usr/" SBX_LIBDIR "/libsbx.so.0", "builtin:programs" },
		{ "/usr/lib/systemd/system/sbx-audit.service", "builtin:units" },
		{ "/etc/systemd/system/sbx-audit.service.d/override.conf", "builtin:units" },
		{ "/run/systemd/system/sbx-policy.socket", "builtin:units" },
		{ "/var/lib/sbx/audit/log.db", "builtin:audit-log" },
		{ "/home/u/.local/state/sbx/audit/log.db", "builtin:audit-log" },
		{ "/var/lib/sbx/tokens.db", "builtin:state-database" },
		{ "/home/u/.local/state/sbx/tokens.db", "builtin:state-database" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect_str(judge("fs.write", cases[i].path, NULL), cases[i].rule);
		expect(judge("fs.read", cases[i].path, NULL) == NULL);
		expect(judge("exec", cases[i].path, NULL) == NULL);
	}
}

static void denies_reading_and_writing_the_sockets_of_services(void)
{
	static const char *const paths[] = { "/run/sbx", "/run/sbx/policy.sock",
					     "/run/user/1000/sbx/sandboxes/a/control.sock" };
	static const char *const operations[] = { "fs.read", "fs.write", "fs.list", "fs.exists",
						  "exec" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (size_t k = 0; k < sizeof(operations) / sizeof(operations[0]); k++)
			expect_str(judge(operations[k], paths[i], NULL), "builtin:daemon-files");
}

static void leaves_other_files_alone(void)
{
	static const char *const paths[] = { "/",
					     "/etc/sbxfoo",
					     "/etc/passwd",
					     "/srv/sbx/src/a.c",
					     "/srv/p/x.sbx",
					     "/usr/bin/sbxx",
					     "/usr/bin/other",
					     "/srv/p/.sbx/policy.yaml",
					     "/home/other/.config/sbx/policy.yaml",
					     "/home/u/.config/systemd/user/a.service",
					     "/etc/systemd/system/other.service",
					     "/run/user/1000/other",
					     "/var/lib/sbx2",
					     "/home/u/.config/other/sbx.conf" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		expect(judge("fs.write", paths[i], NULL) == NULL);
}

static void a_new_policy_always_needs_a_review(void)
{
	expect_str(judge("policy.update", NULL, NULL), "builtin:policy-update");
	expect_str(judge("policy.update", NULL, "debug"), "builtin:policy-update");
}

static void containers_run_in_debug_mode_only_and_after_a_review(void)
{
	expect_str(judge("container.run", NULL, NULL), "builtin:container-run");
	expect_str(judge("container.run", NULL, "strict"), "builtin:container-run");
	expect_str(judge("container.run", NULL, "debug"), "builtin:container-run-debug");
}

static void leaving_the_modest_modes_needs_a_review(void)
{
	expect_str(judge("session.set_mode", NULL, "debug"), "builtin:set-mode");
	expect_str(judge("session.set_mode", NULL, NULL), "builtin:set-mode");
	expect_str(judge("session.set_mode", NULL, "Strict"), "builtin:set-mode");
	expect(judge("session.set_mode", NULL, "strict") == NULL);
	expect(judge("session.set_mode", NULL, "explore") == NULL);
}

static void an_empty_table_judges_nothing(void)
{
	static const struct builtin_rule none[] = { { .name = NULL } };
	static const struct guarded row = { .path = "/etc/sbx",
					    .len = 8,
					    .rule = GUARDED_BY_POLICY_FILES };
	static const struct guarded_list list = { .rows = &row, .n_rows = 1 };
	struct policy_request request = { .operation = "fs.write", .path = "/etc/sbx" };

	expect(builtin_judge(builtin_rules(), &request, operation_set("fs.write"), &list));
	expect(!builtin_judge(none, &request, operation_set("fs.write"), &list));
}

static void the_most_severe_rule_judges(void)
{
	static const struct builtin_rule rules[] = {
		{ .name = "a", .operations = 1, .action = POLICY_REVIEW },
		{ .name = "b", .operations = 1, .action = POLICY_DENY },
		{ .name = "c", .operations = 1, .action = POLICY_DENY },
		{ .name = NULL },
	};
	struct policy_request request = { .operation = "fs.read", .path = "/sbx" };

	expect_str(builtin_judge(rules, &request, 1, NULL)->name, "b");
}

static const struct test tests[] = {
	TEST(there_are_at_most_ten_and_each_has_name_and_reason),
	TEST(protects_files_from_being_written),
	TEST(denies_reading_and_writing_the_sockets_of_services),
	TEST(leaves_other_files_alone),
	TEST(a_new_policy_always_needs_a_review),
	TEST(containers_run_in_debug_mode_only_and_after_a_review),
	TEST(leaving_the_modest_modes_needs_a_review),
	TEST(an_empty_table_judges_nothing),
	TEST(the_most_severe_rule_judges),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
