/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/error.h>

#include "base/text.h"
#include "policy-rig.h"
#include "policy-same.h"
#include "policy-seeds.h"
#include "policy/model.h"
#include "test.h"

static struct policy *load(const char *text)
{
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	rig_must(policy_load("p.yaml", text, strlen(text), &policy, &err), &err);
	return policy;
}

typedef int print_fn(const struct policy *policy, struct text *out);

static void expect_round_trip(const char *text, print_fn *print)
{
	_cleanup_policy_ struct policy *policy = load(text), *again = NULL;
	_cleanup_text_ struct text once = TEXT_INIT, twice = TEXT_INIT;

	expect_eq(print(policy, &once), 0);
	again = load(text_string(&once));
	expect_same(policy, again);
	expect_eq(print(again, &twice), 0);
	expect_str(text_string(&twice), text_string(&once));
}

static const char *const dialects[] = { seed_buntime,	     seed_fluffy, seed_manifest,
					seed_manifest_short, seed_rest,	  "" };

static void printed_yaml_loads_as_the_same_policy(void)
{
	for (size_t i = 0; i < N_ELEMENTS(dialects); i++)
		expect_round_trip(dialects[i], policy_print);
}

static void printed_json_loads_as_the_same_policy(void)
{
	for (size_t i = 0; i < N_ELEMENTS(dialects); i++)
		expect_round_trip(dialects[i], policy_print_json);
}

static void json_is_one_line_that_begins_with_a_brace(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_rest);
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(policy_print_json(policy, &out), 0);
	expect_eq(out.data[0], '{');
	expect(strchr(out.data, '\n') == out.data + out.len - 1);
}

static void printing_is_canonical(void)
{
	_cleanup_policy_ struct policy *policy =
		load("limits: {pids: 5, memory: 1MiB}\n"
		     "mounts: [{target: /t, mode: tmpfs}, {source: /s, target: /d}]\n"
		     "network_whitelist: [a.b]\n"
		     "capabilities:\n"
		     "- action: require_review\n"
		     "  match: {path_glob: 'src/**', op: fs.write}\n"
		     "  except: [{caller_tag: t}, {state: [a, b], syscall: fs.*}]\n"
		     "  name: r\n"
		     "  reason: why\n"
		     "  constraints: {tls: any, max_file_size: 2048, require_sandbox: L2}\n"
		     "  examples: {not_match: fs.read src/a}\n");
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(policy_print(policy, &out), 0);
	expect_str(text_string(&out), "version: 1\n"
				      "defaults:\n"
				      "  fs: deny\n"
				      "  net: deny\n"
				      "  exec: deny\n"
				      "  tool: deny\n"
				      "capabilities:\n"
				      "  - name: \"network_whitelist[0]\"\n"
				      "    match:\n"
				      "      syscall: [net.connect]\n"
				      "      host: [\"a.b\"]\n"
				      "      ports: [\"443\"]\n"
				      "    action: allow\n"
				      "  - name: \"r\"\n"
				      "    match:\n"
				      "      syscall: [fs.write]\n"
				      "      path_glob: [\"src/**\"]\n"
				      "    action: require_review\n"
				      "    except:\n"
				      "      - caller_tag: [\"t\"]\n"
				      "      - syscall: [fs.read, fs.write, fs.list, fs.exists]\n"
				      "        state: [\"a\", \"b\"]\n"
				      "    constraints:\n"
				      "      require_sandbox: L2\n"
				      "      max_file_size: \"2KiB\"\n"
				      "      tls: any\n"
				      "    reason: \"why\"\n"
				      "    examples:\n"
				      "      not_match: [\"fs.read src/a\"]\n"
				      "limits:\n"
				      "  memory: \"1MiB\"\n"
				      "  pids: 5\n"
				      "mounts:\n"
				      "  - mode: \"tmpfs\"\n"
				      "    target: \"/t\"\n"
				      "  - source: \"/s\"\n"
				      "    target: \"/d\"\n");
}

static void texts_cannot_become_anything_else(void)
{
	static const char *const texts[] = {
		"\\u0001 \\u007f \\u0085 \\u2028 \\ufeff",
		"\\\" \\\\ ' # : {a: b} [c] - ? | > & * ! %",
		"true",
		"null",
		"012",
		" leading and trailing ",
		"line\\nline\\r\\tend\\n",
		"\\u00e9\\u4e2d\\ud83d\\ude00",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		char text[256];

		(void)snprintf(
			text, sizeof(text),
			"{\"capabilities\": [{\"name\": \"n\", \"match\": {\"op\": \"exec\", "
			"\"caller\": \"%s\"}, \"action\": \"deny\", \"reason\": \"%s\"}]}",
			texts[i], texts[i]);
		expect_round_trip(text, policy_print);
		expect_round_trip(text, policy_print_json);
	}
}

/* A random character of any plane, often from ranges with hidden characters. */
static uint32_t some_character(uint32_t *seed)
{
	static const uint32_t near[] = { 0x00,	  0x60,	   0xa0,    0x340,   0x610,
					 0x1150,  0x1680,  0x17b0,  0x1800,  0x2000,
					 0x2020,  0x2060,  0x2800,  0x3000,  0x3160,
					 0xfe00,  0xfef0,  0xffa0,  0xfff0,  0x1bca0,
					 0x1d170, 0xe0000, 0xe0060, 0xe0100, 0x10fff0 };
	uint32_t c;

	do {
		*seed = *seed * 1664525 + 1013904223;
		c = *seed >> 8;
		c = c & 1 ? near[c / 64 % N_ELEMENTS(near)] + (c >> 1) % 32 : (c >> 1) % 0x110000;
		/* NUL would end the C string. */
	} while (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000));
	return c;
}

/* In JSON every character can be written as \u. */
static void add_random_string(struct text *out, uint32_t *seed)
{
	unsigned n = 1 + (*seed >> 16) % 12;

	for (unsigned i = 0; i < n; i++) {
		uint32_t c = some_character(seed);

		if (c < 0x10000)
			text_addf(out, "\\u%04x", c);
		else
			text_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
	}
}

static void expect_nothing_hidden(const struct text *out)
{
	size_t n;

	for (size_t at = 0; at < out->len; at += n) {
		uint32_t c = 0;

		n = utf8_decode(out->data + at, out->len - at, &c);
		expect(n > 0 && (c == '\n' || !text_is_hidden(c)));
		n += n == 0;
	}
}

static void no_text_hides_or_reorders_the_output(void)
{
	unsigned n = test_is_slow() ? 20000 : 1000;
	uint32_t seed = 2024;

	for (unsigned i = 0; i < n; i++) {
		_cleanup_text_ struct text reason = TEXT_INIT, caller = TEXT_INIT;
		_cleanup_text_ struct text text = TEXT_INIT, yaml = TEXT_INIT, json = TEXT_INIT;
		_cleanup_policy_ struct policy *policy = NULL;

		add_random_string(&reason, &seed);
		add_random_string(&caller, &seed);
		text_addf(&text,
			  "{\"capabilities\": [{\"name\": \"n\", \"match\": {\"op\": \"exec\", "
			  "\"caller\": \"%s\"}, \"action\": \"deny\", \"reason\": \"%s\"}]}",
			  text_string(&caller), text_string(&reason));
		policy = load(text_string(&text));
		expect_eq(policy_print(policy, &yaml), 0);
		expect_nothing_hidden(&yaml);
		expect_eq(policy_print_json(policy, &json), 0);
		expect_nothing_hidden(&json);
		expect_round_trip(text_string(&text), policy_print);
		expect_round_trip(text_string(&text), policy_print_json);
	}
}

static void names_of_variables_are_never_taken_for_values(void)
{
	expect_round_trip("env: {set: {'12': a, 'true': b, '-': c, '-x': d, y: e, '1e3': f}}\n",
			  policy_print);
}

static void names_that_two_files_share_are_told_apart(void)
{
	struct policy *parts[2] = { load("version: 1\nfs: {rules: [{action: deny, path: /a}]}\n"),
				    load("version: 1\nfs: {rules: [{action: deny, path: /b}]}\n") };
	_cleanup_policy_ struct policy *policy = NULL, *again = NULL;
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(policy_merge(parts, 2, 0, &policy, NULL), 0);
	expect_eq(policy_print(policy, &out), 0);
	again = load(text_string(&out));
	expect_str(again->rules[0].name, "fs.rules[0]");
	expect_str(again->rules[1].name, "fs.rules[0] (2)");
}

static void refuses_to_print_rules_that_one_file_cannot_express(void)
{
	struct policy *parts[2] = { load(""), load("network_whitelist: [a.b]\n") };
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_text_ struct text out = TEXT_INIT;

	expect_eq(policy_merge(parts, 2, 1, &policy, NULL), 0);
	expect(policy_find_unprintable(policy) == &policy->rules[0]);
	expect_eq(policy_print(policy, &out), -EOPNOTSUPP);
	expect_eq(policy_print_json(policy, &out), -EOPNOTSUPP);
	expect_eq(out.len, 0);
}

static const struct test tests[] = {
	TEST(printed_yaml_loads_as_the_same_policy),
	TEST(printed_json_loads_as_the_same_policy),
	TEST(json_is_one_line_that_begins_with_a_brace),
	TEST(printing_is_canonical),
	TEST(texts_cannot_become_anything_else),
	TEST(no_text_hides_or_reorders_the_output),
	TEST(names_of_variables_are_never_taken_for_values),
	TEST(names_that_two_files_share_are_told_apart),
	TEST(refuses_to_print_rules_that_one_file_cannot_express),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
