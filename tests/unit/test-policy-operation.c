/* SPDX-License-Identifier: MIT */

#include <stdint.h>

#include "policy/model.h"
#include "test.h"

static uint64_t bit(const char *name)
{
	int row = operation_find(name);

	return row == OPERATION_UNKNOWN ? 0 : UINT64_C(1) << row;
}

static void finds_every_row_by_its_name(void)
{
	int n = 0;

	for (const struct operation *row; (row = operation_at(n)); n++) {
		expect_eq(operation_find(row->name), n);
		expect(row->kind < N_CLASSES && row->help[0] != '\0');
	}
	expect(n > 0 && n <= OPERATIONS_MAX);
	expect(operation_at(-1) == NULL);
}

static void knows_no_other_operation(void)
{
	expect_eq(operation_find("fs.reads"), OPERATION_UNKNOWN);
	expect_eq(operation_find("FS.READ"), OPERATION_UNKNOWN);
	expect_eq(operation_find("fs"), OPERATION_UNKNOWN);
	expect_eq(operation_find(""), OPERATION_UNKNOWN);
	expect_eq(operation_find("*"), OPERATION_UNKNOWN);
}

/* Artefacts contain these numbers, so they must not change. */
static void rows_keep_their_numbers(void)
{
	static const char *const first[] = {
		"fs.read",	 "fs.write",	"fs.list",	   "fs.exists",
		"exec",		 "net.connect", "net.bind",	   "ai.generate",
		"container.run", "git.commit",	"git.diff",	   "policy.update",
		"search.glob",	 "search.grep", "session.message", "session.set_mode",
		"shell.run",	 "test.run",	"tool.call",	   "plugin.install",
		"token.issue"
	};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		expect_eq(operation_find(first[i]), i);
}

static void suggests_the_nearest_name(void)
{
	expect_str(operation_suggest("fs.raed"), "fs.read");
	expect_str(operation_suggest("net.conect"), "net.connect");
	expect(operation_suggest("entirely.different") == NULL);
}

static void reads_names_and_patterns_as_sets(void)
{
	expect_eq(operation_set("fs.read"), bit("fs.read"));
	expect_eq(operation_set("fs.*"),
		  bit("fs.read") | bit("fs.write") | bit("fs.list") | bit("fs.exists"));
	expect_eq(operation_set("net.*"), bit("net.connect") | bit("net.bind"));
	expect_eq(operation_set("git.*"), bit("git.commit") | bit("git.diff"));
	expect_eq(operation_set("exec.*"), bit("exec"));
	expect_eq(operation_set("tool.*") & bit("fs.read"), 0);
	expect(operation_set("tool.*") & bit("shell.run"));
	expect(operation_set("tool.*") & bit("tool.call"));
	expect_eq(operation_set("*"), operation_set("fs.*") | operation_set("net.*") |
					      operation_set("exec") | operation_set("tool.*"));
}

static void a_pattern_that_names_nothing_is_empty(void)
{
	static const char *const patterns[] = { "",    "fs",	"fs.", ".*",	 "**",
						"f.*", "fs.r*", "fs*", "*.read", "nothing.*" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		expect_eq(operation_set(patterns[i]), 0);
}

static const struct test tests[] = {
	TEST(finds_every_row_by_its_name),
	TEST(knows_no_other_operation),
	TEST(rows_keep_their_numbers),
	TEST(suggests_the_nearest_name),
	TEST(reads_names_and_patterns_as_sets),
	TEST(a_pattern_that_names_nothing_is_empty),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
