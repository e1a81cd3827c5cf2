/* SPDX-License-Identifier: MIT */
#include "base/config.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/text.h"

#include "test.h"

/* Each edit sets the key to the value; NULL: refused. */
static const struct {
	const char *before, *key, *value, *after;
} edits[] = {
	{ "", "color", "never", "color: never\n" },
	{ "# mine\n", "color", "never", "# mine\ncolor: never\n" },
	{ "# mine\n\ncolor: auto # quiet\n# end\n", "color", "never",
	  "# mine\n\ncolor: never # quiet\n# end\n" },
	{ "color:   auto\nlog_level: info\n", "color", "always",
	  "color:   always\nlog_level: info\n" },
	{ "color: auto", "log_level", "debug", "color: auto\nlog_level: debug\n" },
	{ "\"color\": 'auto' # c\n", "color", "never", "\"color\": never # c\n" },
	{ "color: \"\\u0061uto\"\n", "color", "never", "color: never\n" },
	{ "color: au''to\n", "color", "never", "color: never\n" },
	{ "color:\nprogress: auto\n", "color", "never", "color: never\nprogress: auto\n" },
	{ "color: # c\n", "color", "never", "color: never # c\n" },
	{ "color: null\n", "color", "never", "color: never\n" },
	{ "color: purple\n", "color", "never", "color: never\n" },
	{ "color: never\n", "color", "never", "color: never\n" },
	{ "color: auto\r\n# c\r\n", "color", "never", "color: never\r\n# c\r\n" },
	{ "color: auto\r\n", "progress", "never", "color: auto\r\nprogress: never\r\n" },
	{ "  color: auto\n", "progress", "never", "  color: auto\n  progress: never\n" },
	{ "---\ncolor: auto\n", "progress", "never", "---\ncolor: auto\nprogress: never\n" },
	{ "---\n", "progress", "never", "---\nprogress: never\n" },
	{ "x: {color: auto}\n", "color", "never", "x: {color: auto}\ncolor: never\n" },
	{ "# color: auto\nx: color\n", "color", "never",
	  "# color: auto\nx: color\ncolor: never\n" },
	{ "x: |\n  color: auto\n", "color", "never", "x: |\n  color: auto\ncolor: never\n" },
	{ "{}", "color", "never", "{\"color\": \"never\"}" },
	{ "{\"color\": \"auto\"}", "color", "never", "{\"color\": \"never\"}" },
	{ "{\"color\": \"auto\"}", "progress", "never",
	  "{\"progress\": \"never\", \"color\": \"auto\"}" },
	{ "{\n  \"color\": null\n}\n", "color", "never", "{\n  \"color\": \"never\"\n}\n" },
	{ "{\n  \"color\": \"auto\"\n}\n", "progress", "never",
	  "{\n  \"progress\": \"never\",\n  \"color\": \"auto\"\n}\n" },
	{ "--- {color: auto} # c\n", "color", "never", "--- {color: \"never\"} # c\n" },
	{ "--- {color: auto} # c\n", "progress", "never",
	  "--- {\"progress\": \"never\", color: auto} # c\n" },
	/* What a value must not be. */
	{ "color: no # c\nprogress: auto\n", "color", "never",
	  "color: never # c\nprogress: auto\n" },
	{ "color: off\nprogress: yes\n", "color", "never", "color: never\nprogress: yes\n" },
	{ "color: never\nprogress: yes\n", "color", "auto", "color: auto\nprogress: yes\n" },
	{ "color: ~\n", "color", "never", "color: never\n" },
	{ "color: 0x1F\n", "color", "never", "color: never\n" },
	{ "--- {color: on}\n", "color", "never", "--- {color: \"never\"}\n" },
	{ "color: [auto]\n", "color", "never", "color: never\n" },
	{ "color: {a: b}\nprogress: auto\n", "color", "never", "color: never\nprogress: auto\n" },
	{ "color:\n- a\n- b\n\n# c\nprogress: auto\n", "color", "never",
	  "color: never\n\n# c\nprogress: auto\n" },
	{ "# c\r\n\"color\":\r\n  a: b\r\n# d", "color", "never", "# c\r\ncolor: never\r\n# d" },
	{ "color: |\n  auto\n", "color", "never", "color: never\n" },
	{ "  color: au\n    to\n  progress: auto", "color", "never",
	  "  color: never\n  progress: auto" },
	{ "color: [auto] # c\n", "color", "never", NULL },
	{ "color:\n# c\n- a\n", "color", "never", NULL },
	{ "--- {color: [auto]}\n", "color", "never", NULL },
	{ "{\"color\": {}}", "color", "never", NULL },
	{ "color: yes\ncolor: never\n", "color", "never", NULL },
	{ "color: auto\n...\n", "progress", "never", NULL },
	{ "null\n", "color", "never", NULL },
	{ "- color\n", "color", "never", NULL },
	{ "color\n", "color", "never", NULL },
	{ "color: auto\ncolor: auto\n", "color", "never", NULL },
	{ "color: \"auto\n", "color", "never", NULL },
	{ "", "color", "purple", NULL },
	{ "", "colour", "never", NULL },
	{ "", "policy", "p.yaml", NULL },
};

static void edits_one_value_and_leaves_the_rest(void)
{
	for (size_t i = 0; i < N_ELEMENTS(edits); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;
		struct sbx_error err = { .code = 0 };
		int r = config_edit("c.yaml", edits[i].before, strlen(edits[i].before),
				    edits[i].key, edits[i].value, &out, &err);

		if ((r < 0) != !edits[i].after)
			printf("# '%s': %s\n", edits[i].before, err.what);
		expect_eq(r < 0, !edits[i].after);
		expect_str(text_string(&out), edits[i].after ? edits[i].after : "");
		expect(edits[i].after || (err.what[0] && err.why[0] && err.fix[0]));
	}
}

static void says_what_to_write_by_hand_where_it_cannot_edit(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(config_edit("c.yaml", "color: [x] # c\n", 15, "color", "never", &out, &err),
		  -ENOTSUP);
	expect_str(err.what, "c.yaml: cannot change 'color'");
	expect_str(err.fix, "write it by hand: color: never");
	expect_eq(config_edit("c.yaml", "a: [\n", 5, "color", "never", &out, &err), -EINVAL);
	expect(strncmp(err.what, "c.yaml:1:4: ", 12) == 0);
	/* A mistake that keeps it from the edit is told as everywhere else. */
	expect_eq(config_edit("c.yaml", "color: no\ncolor: no\n", 20, "color", "never", &out, &err),
		  -EINVAL);
	expect_str(err.what, "c.yaml:1:8: a plain 'no' as a value");
}

static const struct test tests[] = {
	TEST(edits_one_value_and_leaves_the_rest),
	TEST(says_what_to_write_by_hand_where_it_cannot_edit),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
