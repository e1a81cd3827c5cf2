/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/error.h>

#include "base/text.h"
#include "policy-rig.h"
#include "policy-same.h"
#include "policy-seeds.h"
#include "policy/artefact.h"
#include "policy/compose.h"
#include "policy/decide.h"
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

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

#define random_of(list) ((list)[random_below(N_ELEMENTS(list))])

/* Random parts of the dialects, also together: what they show without a rule depends on that. */
static struct policy *random_policy(void)
{
	static const struct {
		const char *text, *behind_action, *behind_path; /* NULL: without it */
	} parts[] = {
		{ "defaults: {fs: ", "}\n", NULL },
		{ "plugins: {namespaces: true}\n", NULL, NULL },
		{ "fs: {rules: [{action: ", ", path: ", "}]}\n" },
		{ "exec: {rules: [{action: ", ", path: ", "}]}\n" },
		{ "capabilities: [{name: c, action: ", ", match: {op: 'fs.*', path: ", "}}]\n" },
		{ "capabilities: [{name: c, action: ", ", match: {op: exec, path: ", "}}]\n" },
		{ "scheduler: {global_max: 4}\n", NULL, NULL },
		{ "limits: {pids: 9}\n", NULL, NULL },
		{ "mounts: [{target: /m, mode: tmpfs}]\n", NULL, NULL },
		{ "sandbox: {config: {allowFileSystemAccess: true, allowedPaths: [/src]}}\n", NULL,
		  NULL },
		{ "view: none\n", NULL, NULL },
		{ "view: project\n", NULL, NULL },
		{ "view: system\n", NULL, NULL },
	};
	static const char *const actions[] = { "allow", "allow", "deny", "require_review" };
	static const char *const paths[] = { "./", "/p", "./a", "/usr", "/etc/a", "/tmp", "/src" };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct policy *policy = NULL;

	text_add(&text, "version: 1\n");
	for (uint32_t n = random_below(4); n > 0; n--) {
		size_t i = random_below(N_ELEMENTS(parts));

		text_add(&text, parts[i].text);
		if (parts[i].behind_action)
			text_addf(&text, "%s%s", random_of(actions), parts[i].behind_action);
		if (parts[i].behind_path)
			text_addf(&text, "%s%s", random_of(paths), parts[i].behind_path);
	}
	/* A key may be there twice. */
	(void)policy_load("p.yaml", text_string(&text), text.len, &policy, NULL);
	return policy;
}

static void open_composed(struct rig *rig)
{
	size_t n_bytes = 0;

	expect_eq(policy_compile_composed(rig->policy, NULL, NULL, &rig->block, &n_bytes, NULL), 0);
	expect_eq(artefact_open(rig->block, n_bytes, &rig->artefact, NULL), 0);
	expect_eq(policy_engine_new(&rig->artefact, &rig->engine), 0);
}

static void expect_same_answers(const struct text *printed, struct rig *before, struct rig *after)
{
	static const char *const operations[] = { "fs.read", "fs.write", "fs.list", "exec" };
	static const char *const paths[] = { "/usr/x", "/etc/a", "/p",	 "/p/a/x", "/p/b",
					     "/tmp/x", "/src/a", "/m/x", "/x" };

	open_composed(before);
	open_composed(after);
	for (size_t i = 0; i < N_ELEMENTS(operations) * N_ELEMENTS(paths); i++) {
		char words[64];

		(void)snprintf(words, sizeof(words), "%s %s project=/p",
			       operations[i % N_ELEMENTS(operations)],
			       paths[i / N_ELEMENTS(operations)]);
		if (rig_ask(before, words) == rig_ask(after, words))
			continue;
		printf("# %s is answered differently by:\n# %s\n", words, text_string(printed));
		test_failures++;
	}
}

/* One policy, or two that are merged. */
static struct policy *random_policies(void)
{
	struct policy *parts[2] = { random_policy(), random_below(2) ? random_policy() : NULL };
	struct policy *policy = NULL;

	if (!parts[0] || !parts[1])
		return parts[0] ? parts[0] : parts[1];
	(void)policy_merge(parts, 2, 0, &policy, NULL);
	return policy;
}

static void a_printed_policy_answers_like_its_text(void)
{
	unsigned n = test_is_slow() ? 20000 : 1000, before = test_failures, n_views = 0;

	for (unsigned i = 0; i < n && test_failures - before < 20;) {
		_cleanup_rig_ struct rig text = { .policy = random_policies() };
		_cleanup_rig_ struct rig again = { .policy = NULL };
		_cleanup_text_ struct text out = TEXT_INIT;

		if (!text.policy)
			continue;
		expect_eq((i % 2 ? policy_print : policy_print_json)(text.policy, &out), 0);
		rig_load(&again, "printed.yaml", text_string(&out));
		expect_str(view_name(again.policy), view_name(text.policy));
		expect_same_answers(&out, &text, &again);
		n_views += strcmp(view_name(text.policy), "none") != 0;
		i++;
	}
	printf("# %u of %u policies have a view\n", n_views, n);
	expect(n_views > n / 5 && n_views < n - n / 5);
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
	TEST(a_printed_policy_answers_like_its_text),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
