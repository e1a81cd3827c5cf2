/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

#include <errno.h>
#include <stdio.h>

#include <sbx/error.h>

#include "base/text.h"
#include "test.h"

/* A tree as one line: null, true, 12, "text", [a, b], {key=value}. Every node checks its links. */
static void dump(struct text *out, const struct tree *tree, const struct tree_node *node)
{
	static const char *const brackets[] = { [TREE_LIST] = "[]", [TREE_MAP] = "{}" };
	size_t n = 0;

	if (node->type == TREE_NULL)
		text_add(out, "null");
	else if (node->type == TREE_STRING)
		text_addf(out, "\"%s\"", node->text);
	else if (node->type != TREE_LIST && node->type != TREE_MAP)
		text_add(out, node->text);
	expect_eq(strlen(node->text), node->text_len);
	if (node->type != TREE_LIST && node->type != TREE_MAP)
		return;
	text_add_char(out, brackets[node->type][0]);
	for (const struct tree_node *child = node->first; child; child = child->next, n++) {
		text_add(out, n > 0 ? ", " : "");
		expect(child->parent == node);
		expect((node->type == TREE_MAP) == (child->key != NULL));
		if (child->key) {
			text_addf(out, "%s=", child->key);
			expect(tree_get(tree, node, child->key) == child);
		}
		dump(out, tree, child);
	}
	text_add_char(out, brackets[node->type][1]);
	expect_eq(n, node->n_children);
}

static struct tree *read_text(const char *text)
{
	struct sbx_error err = { .code = 0 };
	struct tree *tree = NULL;

	if (tree_read("p.yaml", text, strlen(text), &tree, &err) < 0)
		printf("# '%s' is refused: %s\n", text, err.what);
	return tree;
}

static void expect_tree(const char *text, const char *want)
{
	_cleanup_tree_ struct tree *tree = read_text(text);
	_cleanup_text_ struct text out = TEXT_INIT;

	expect(tree != NULL);
	if (!tree)
		return;
	dump(&out, tree, tree_root(tree));
	expect_str(text_string(&out), want);
}

/* NULL: that syntax cannot express it. */
static const struct {
	const char *yaml, *json, *tree;
} same[] = {
	{ "a: 1\n", "{\"a\": 1}", "{a=1}" },
	{ "a: 1\nb: 2", "{\"a\":1,\"b\":2}", "{a=1, b=2}" },
	{ "---\na: x\n...\n", "{\"a\": \"x\"}", "{a=\"x\"}" },
	{ "# c\n\na: x # c\n# c\n...\n# c\n", " \n{\"a\":\"x\"} ", "{a=\"x\"}" },
	{ "a: 1\r\nb:\r\n  - x\r\n  - y z\r\n", "{\"a\":1,\r\n\"b\":[\"x\",\"y z\"]}",
	  "{a=1, b=[\"x\", \"y z\"]}" },
	{ "a: true\nb: false\nc: null\nd:", "{\"a\":true,\"b\":false,\"c\":null,\"d\":null}",
	  "{a=true, b=false, c=null, d=null}" },
	{ "a: [-0, 1.5, 1e9, -2E-3, 0]", "{\"a\":[-0, 1.5, 1e9, -2E-3, 0]}",
	  "{a=[-0, 1.5, 1e9, -2E-3, 0]}" },
	{ "a: \"true\"\nb: 'null'\nc: \"12\"", "{\"a\":\"true\",\"b\":\"null\",\"c\":\"12\"}",
	  "{a=\"true\", b=\"null\", c=\"12\"}" },
	{ "a: \"\"\nb: ''", "{\"a\":\"\",\"b\":\"\"}", "{a=\"\", b=\"\"}" },
	{ "a: {}\nb: []", "{\"a\":{},\"b\":[]}", "{a={}, b=[]}" },
	{ "a:\n- b\n-\n- - c\n  - d\n- e: f\n  g: h",
	  "{\"a\":[\"b\",null,[\"c\",\"d\"],{\"e\":\"f\",\"g\":\"h\"}]}",
	  "{a=[\"b\", null, [\"c\", \"d\"], {e=\"f\", g=\"h\"}]}" },
	{ "a: [b, {c: d}, [e]]", "{\"a\":[\"b\",{\"c\":\"d\"},[\"e\"]]}",
	  "{a=[\"b\", {c=\"d\"}, [\"e\"]]}" },
	{ "yes: 1\nno: 2\non: 3\n12: 4\ntrue: 5\n~: 6\n012: 7\nnull: 8",
	  "{\"yes\":1,\"no\":2,\"on\":3,\"12\":4,\"true\":5,\"~\":6,\"012\":7,\"null\":8}",
	  "{yes=1, no=2, on=3, 12=4, true=5, ~=6, 012=7, null=8}" },
	{ "a: 10MiB\nb: 5m\nc: 1.2.3.4\nd: 10.0.0.0/8\ne: 2024-01-01\nf: v1\ng: 1.2.3\nh: ::1",
	  "{\"a\":\"10MiB\",\"b\":\"5m\",\"c\":\"1.2.3.4\",\"d\":\"10.0.0.0/8\","
	  "\"e\":\"2024-01-01\",\"f\":\"v1\",\"g\":\"1.2.3\",\"h\":\"::1\"}",
	  "{a=\"10MiB\", b=\"5m\", c=\"1.2.3.4\", d=\"10.0.0.0/8\", e=\"2024-01-01\", f=\"v1\", "
	  "g=\"1.2.3\", h=\"::1\"}" },
	{ "a: 10.0.0.1:80\nb: 0x\nc: 1e\nd: -\xc2\xb5\ne: nope\nf: .\ng: 2001:db8::1\nh: 1,000\ni: 0xg",
	  "{\"a\":\"10.0.0.1:80\",\"b\":\"0x\",\"c\":\"1e\",\"d\":\"-\xc2\xb5\",\"e\":\"nope\","
	  "\"f\":\".\",\"g\":\"2001:db8::1\",\"h\":\"1,000\",\"i\":\"0xg\"}",
	  "{a=\"10.0.0.1:80\", b=\"0x\", c=\"1e\", d=\"-\xc2\xb5\", e=\"nope\", f=\".\", "
	  "g=\"2001:db8::1\", h=\"1,000\", i=\"0xg\"}" },
	{ "a: |\n  one\n  two\nb: >-\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\"}",
	  "{a=\"one\ntwo\n\", b=\"one two\"}" },
	{ "a: one\n  two\n", "{\"a\":\"one two\"}", "{a=\"one two\"}" },
	{ "a: \"\\u00e9\\x41\\n\\U0001F600\"", "{\"a\":\"\\u00e9\\u0041\\n\\ud83d\\ude00\"}",
	  "{a=\"\xc3\xa9"
	  "A\n\xf0\x9f\x98\x80\"}" },
	{ "a: it's\nb: 'it''s'\nc: a#b\nd: http://x/y",
	  "{\"a\":\"it's\",\"b\":\"it's\",\"c\":\"a#b\","
	  "\"d\":\"http://x/y\"}",
	  "{a=\"it's\", b=\"it's\", c=\"a#b\", d=\"http://x/y\"}" },
	{ "\"a b\": 1\n'<<': 2\na.b/*: 3", "{\"a b\":1,\"<<\":2,\"a.b/*\":3}",
	  "{a b=1, <<=2, a.b/*=3}" },
	{ "a: {b: 1}\nc: {b: 1}\nb: {b: {b: 1}}",
	  "{\"a\":{\"b\":1},\"c\":{\"b\":1},\"b\":{\"b\":{\"b\":1}}}",
	  "{a={b=1}, c={b=1}, b={b={b=1}}}" },
	{ "? a\n: b", "{\"a\":\"b\"}", "{a=\"b\"}" },
	{ "x: {\"a\":1}", "{\"x\":{\"a\":1}}", "{x={a=1}}" },
	{ "- a\n- b", NULL, "[\"a\", \"b\"]" },
	{ "[a, b]", NULL, "[\"a\", \"b\"]" },
	{ "# c\n{\"a\": 1}", NULL, "{a=1}" },
	{ "plain text", NULL, "\"plain text\"" },
	{ "12", NULL, "12" },
	{ "", NULL, "null" },
	{ " \n\n", NULL, "null" },
	{ "# only a comment", NULL, "null" },
	{ "---\n", NULL, "null" },
	{ "--- |\n text\n", NULL, "\"text\n\"" },
	{ "a: x\n...\n...\n# end", NULL, "{a=\"x\"}" },
};

static void reads_the_same_tree_from_yaml_and_json(void)
{
	for (size_t i = 0; i < N_ELEMENTS(same); i++) {
		expect_tree(same[i].yaml, same[i].tree);
		if (same[i].json)
			expect_tree(same[i].json, same[i].tree);
	}
}

/* Expected place of each error, and a word of its what, why or fix. */
static const struct {
	const char *text;
	unsigned line, column;
	const char *word;
} refused[] = {
	/* syntax */
	{ "a: 1\nfoo\nb: 2\n", 2, 1, "a key without ':'" },
	{ "a: b: c\n", 1, 5, "a ':' that is not allowed here" },
	{ "a: 1\n b: 2\n", 2, 3, "same column" },
	{ "a:\n  b: 1\n c: 2\n", 3, 2, "begins at line 1, column 1" },
	{ "a: \"x\" y\n", 1, 8, "after a complete value" },
	{ "- a\nb: 1\n", 2, 1, "expected '- '" },
	{ "- 'a' b\n", 1, 7, "after a complete value" },
	{ "a: 1\n- b\n", 2, 1, "expected a key" },
	{ ": x", 1, 1, "without a key" },
	{ "a: [1, 2\n", 1, 4, "'[' that is never closed" },
	{ "a: {b: 1\n", 1, 4, "'{' that is never closed" },
	{ "a: [1, 2}\n", 1, 9, "begins at line 1, column 4" },
	{ "a: {b: 1 c: 2}", 1, 11, "expected ',' or '}'" },
	{ "a: [", 1, 4, "never closed" },
	{ "a: {b: [1,\n", 1, 8, "never closed" },
	{ "a: 'x\nb: 1\n", 1, 4, "quote that is never closed" },
	{ "a:\n  - \"x\n", 2, 5, "quote that is never closed" },
	{ "a: 'x\n---\ny'", 1, 4, "quote that is not closed" },
	{ "a: \"\\q\"", 1, 5, "unknown escape" },
	{ "a: \"\\xZZ\"", 1, 7, "without its digits" },
	{ "a: \"\\ud800\"", 1, 7, "stands for no character" },
	{ "a: - b", 1, 4, "'-' that is not allowed" },
	{ "a: |x\n  y", 1, 5, "after '|'" },
	{ "a: @x", 1, 4, "quotes" },
	{ "a: `x`", 1, 4, "quotes" },
	{ "a: %x", 1, 4, "'%'" },
	{ "a: [b, , c]", 1, 8, "expected a value" },
	{ "a: ]", 1, 4, "expected a value" },
	{ "a: ? b", 1, 4, "'?'" },
	{ "\ta: 1", 1, 1, "a tab" },
	{ "a:\n\tb: 1", 2, 1, "spaces" },
	{ "a: |\n\tb", 2, 1, "a tab" },
	{ "'a' 'b'", 1, 5, "after the end" },
	{ "a: 1\n...\nb: 2\n", 3, 1, "after the end" },
	/* YAML that the strict subset leaves out */
	{ "a: &x 1", 1, 4, "anchors" },
	{ "&x\na: 1", 1, 1, "anchors" },
	{ "a: &x [1]", 1, 4, "anchors" },
	{ "a: *x", 1, 4, "aliases" },
	{ "*x : 1", 1, 1, "aliases" },
	{ "a: *.txt", 1, 4, "\"*.txt\"" },
	{ "a: **/*.key", 1, 4, "\"*.txt\"" },
	{ "a: & b", 1, 4, "anchor" },
	{ "a: !x 1", 1, 4, "tags" },
	{ "a: !!str 1", 1, 4, "tags" },
	{ "a: ! 1", 1, 4, "tags" },
	{ "a: ! 'x'", 1, 4, "tags" },
	{ "a: !e!x 1", 1, 4, "tags" },
	{ "!m {a: 1}", 1, 1, "tags" },
	{ "a: ! [1]", 1, 4, "tags" },
	{ "<<: {a: 1}", 1, 1, "merge" },
	{ "a: <<", 1, 4, "meaning of its own" },
	{ "[a]: b", 1, 1, "as a key" },
	{ "? [a]\n: b", 1, 3, "as a key" },
	{ "a: {{ v }}", 1, 5, "as a key" },
	{ "%YAML 1.2\n---\na: 1", 1, 1, "directives" },
	{ "# c\n%TAG ! x\n---\na: 1", 2, 1, "directives" },
	{ "a: 1\n%TAG ! x\n", 2, 1, "directives" },
	{ "a: [\n%x\n]", 2, 1, "directives" },
	{ "a: 1\n---\nb: 2", 2, 1, "second document" },
	{ "a: 1\n...\n# c\n---\n", 4, 1, "second document" },
	{ "---\n---\n", 2, 1, "second document" },
	{ "a: 1\nb: 2\na: 3", 3, 1, "line 1, column 1" },
	{ "x:\n  - a: 1\n    'a': 2", 3, 5, "occurs twice" },
	{ "'': 1", 1, 1, "empty key" },
	{ "?\n: 1", 1, 2, "empty key" },
	{ "a: \"\\0\"", 1, 4, "NUL" },
	{ "\"a\\0\": 1", 1, 1, "NUL" },
	/* encoding */
	{ "\xef\xbb\xbf"
	  "a: 1",
	  1, 1, "byte order mark" },
	{ "\xff\xfe"
	  "a",
	  1, 1, "UTF-16" },
	{ "\xfe\xff"
	  "a",
	  1, 1, "iconv" },
	{ "a: 1\nb: \xc3\xa9\xe9", 2, 5, "0xe9" },
	{ "a: \xc0\x80", 1, 4, "UTF-8" },
	{ "# \xed\xa0\x80", 1, 3, "UTF-8" },
	{ "a: \xf0\x9f\x98", 1, 4, "cut off" },
	{ "a: \x1b[0m", 1, 4, "control character" },
	{ "a: \x7f", 1, 4, "control character" },
	{ "\xc3\xa9: \xc2\x80", 1, 4, "control character" },
	{ "a: b\xef\xbb\xbf", 1, 5, "control character" },
	{ "a: b\rc: d", 1, 5, "carriage return" },
	{ "# c\xe2\x80\xa8"
	  "a: 1",
	  1, 4, "line separator" },
	{ "# c\xc2\x85"
	  "a: 1",
	  1, 4, "line separator" },
	/* JSON */
	{ "{a: 1}", 1, 2, "read as JSON" },
	{ "{\"a\": 1,}", 1, 9, "remove the ','" },
	{ "{\"a\": 'x'}", 1, 7, "double quotes" },
	{ "{\"a\": 1 // c\n}", 1, 9, "comment" },
	{ "{\n\"a\": 1", 2, 7, "close every" },
	{ "{\"a\": \"x\n\"}", 1, 9, "\\n" },
	{ "{\"a\": \"\\ud800\"}", 1, 7, "surrogate" },
	{ "{\"a\": True}", 1, 7, "write true" },
	{ "{\"a\": 012}", 1, 8, "JSON" },
	{ "{\"a\": 1} x", 1, 10, "JSON" },
	{ "{\"a\": {\"b\": 1,\n\"\\u0062\": 2}}", 2, 1, "'b' occurs twice" },
	{ "{\"\": 1}", 1, 2, "empty key" },
	{ "{\"a\": \"\xc3\xa9\\u0000\"}", 1, 7, "NUL" },
	{ "{\"\xc3\xa9\": \"\\u0000\"}", 1, 7, "NUL" },
};

static bool says(const struct sbx_error *err, const char *word)
{
	return strstr(err->what, word) || strstr(err->why, word) || strstr(err->fix, word);
}

static void expect_refused(const char *text, size_t len, unsigned line, unsigned column,
			   const char *word)
{
	struct tree *untouched = (struct tree *)&untouched, *tree = untouched;
	struct sbx_error err = { .code = 0 };
	char place[64];

	(void)snprintf(place, sizeof(place), "p.yaml:%u:%u: ", line, column);
	expect_eq(tree_read("p.yaml", text, len, &tree, &err), -EINVAL);
	expect_eq(err.code, -EINVAL);
	expect(tree == untouched);
	expect(err.why[0] && err.fix[0]);
	if (strncmp(err.what, place, strlen(place)) != 0 || !says(&err, word)) {
		printf("# '%.60s': %s / %s / %s; expected %s%s\n", text, err.what, err.why, err.fix,
		       place, word);
		test_failures++;
	}
	expect_eq(tree_read("p.yaml", text, len, &tree, NULL), -EINVAL);
}

static void refuses_with_the_place_and_what_to_do(void)
{
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		expect_refused(refused[i].text, strlen(refused[i].text), refused[i].line,
			       refused[i].column, refused[i].word);
}

static void refuses_nul_bytes_and_utf_16_without_a_mark(void)
{
	expect_refused("a: 1\nb\0: 2", 10, 2, 2, "NUL byte");
	expect_refused("{\0\"\0a\0", 6, 1, 2, "UTF-16");
	expect_refused("\0", 1, 1, 1, "NUL byte");
}

static void refuses_plain_scalars_that_readers_understand_differently(void)
{
	static const char *const traps[] = {
		"yes",	 "No",	     "ON",	"off",	   "y",	    "N",     "True",  "FALSE",
		"tRuE",	 "Null",     "NULL",	"~",	   "0x1F",  "0XfF",  "-0x1",  "0o17",
		"0b101", "012",	     "00",	"-01",	   "08",    "+1",    "1_000", "+1.5",
		"1_0.5", ".5",	     "-.5",	"5.",	   "5.e3",  ".5e-3", "01.5",  "0_1",
		"12:30", "12:30:45", "1:2:3.5", "8080:80", "-1:30", ".inf",  "-.INF", ".NaN",
		"+.Inf", "=",	     "+12e3",	"1_0e5",
	};

	for (size_t i = 0; i < N_ELEMENTS(traps); i++) {
		char text[64], quoted[64];

		(void)snprintf(text, sizeof(text), "a: 1\nb: [x, %s]", traps[i]);
		(void)snprintf(quoted, sizeof(quoted), "\"%s\" in quotes", traps[i]);
		expect_refused(text, strlen(text), 2, 8, quoted);
		(void)snprintf(text, sizeof(text), "'%s'", traps[i]);
		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", traps[i]);
		expect_tree(text, quoted);
	}
}

static void says_what_to_write_instead(void)
{
	expect_refused("a: no", 5, 1, 4, "write false; or, for the text, \"no\" in quotes");
	expect_refused("a: ON", 5, 1, 4, "write true;");
	expect_refused("a: ~", 4, 1, 4, "write null;");
	expect_refused("a: 0755", 7, 1, 4, "octal");
	expect_refused("a: 22:22", 8, 1, 4, "base 60");
}

static void expect_place(const struct tree_node *node, unsigned line, unsigned column)
{
	expect_eq(node->place.line, line);
	expect_eq(node->place.column, column);
}

static void counts_lines_and_characters_from_one(void)
{
	static const char *const texts[] = {
		"\"\xc3\xa9\xc3\xa9\": 1\n\"b\": [\n  \"\xf0\x9f\x98\x80\", {\"c\": null}]\n",
		"{\"\xc3\xa9\xc3\xa9\": 1,\n\"b\": [\n  \"\xf0\x9f\x98\x80\", {\"c\": null}]}",
	};

	for (unsigned i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_tree_ struct tree *tree = read_text(texts[i]);
		const struct tree_node *root = tree_root(tree), *list = tree_get(tree, root, "b");

		expect_place(root, 1, 1);
		expect_place(tree_get(tree, root, "\xc3\xa9\xc3\xa9"), 1, 7 + i);
		expect_eq(root->first->key_place.column, 1 + i);
		expect_place(list, 2, 6);
		expect_eq(list->key_place.line, 2);
		expect_place(list->first, 3, 3);
		expect_place(list->first->next, 3, 8);
		expect_place(list->first->next->first, 3, 14);
		expect_eq(list->first->next->first->key_place.column, 9);
		expect_eq(list->first->key_place.line, 0);
	}
}

static void counts_lines_of_crlf_files_once(void)
{
	_cleanup_tree_ struct tree *tree = read_text("a: 1\r\n\r\nb: 2\r\n");

	expect_place(tree_get(tree, tree_root(tree), "b"), 3, 4);
}

static void what_is_left_out_at_the_end_is_on_the_last_line(void)
{
	static const struct {
		const char *text;
		unsigned line, column;
	} cases[] = { { "? a", 1, 4 }, { "a:", 1, 3 }, { "b: 1\n? a", 2, 4 }, { "? a\n", 2, 1 } };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_tree_ struct tree *tree = read_text(cases[i].text);

		expect_place(tree_get(tree, tree_root(tree), "a"), cases[i].line, cases[i].column);
	}
}

static void finds_by_key_only_in_that_map(void)
{
	_cleanup_tree_ struct tree *tree = read_text("a: {x: 1}\nb: {y: 2}\nc: [x]\nd: text");
	const struct tree_node *root = tree_root(tree);

	expect_str(tree_get(tree, tree_get(tree, root, "a"), "x")->text, "1");
	expect(!tree_get(tree, tree_get(tree, root, "b"), "x"));
	expect(!tree_get(tree, root, "x"));
	expect(!tree_get(tree, tree_get(tree, root, "c"), "x"));
	expect(!tree_get(tree, tree_get(tree, root, "d"), "text"));
	expect(!tree_get(tree, NULL, "a"));
	expect(!tree_get(tree, root, ""));
	expect_str(tree_name(tree), "p.yaml");
}

static void add_times(struct text *out, const char *what, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		text_add(out, what);
}

static void reads_the_deepest_tree_and_refuses_one_level_more(void)
{
	static const struct {
		const char *start, *open, *close;
		unsigned taken; /* levels that @start opens */
	} forms[] = { { "", "[", "]", 0 }, { "{\"a\":", "[", "]", 1 }, { "", "- ", "", 0 } };

	for (size_t i = 0; i < N_ELEMENTS(forms); i++)
		for (unsigned more = 0; more < 2; more++) {
			_cleanup_text_ struct text text = TEXT_INIT;
			unsigned n = TREE_DEPTH_MAX - forms[i].taken + more;
			struct sbx_error err = { .code = 0 };
			_cleanup_tree_ struct tree *tree = NULL;

			text_add(&text, forms[i].start);
			add_times(&text, forms[i].open, n);
			add_times(&text, forms[i].close, n);
			add_times(&text, "}", forms[i].taken);
			expect_eq(tree_read("d", text.data, text.len, &tree, &err),
				  more ? -EINVAL : 0);
			expect(!more || strstr(err.what, "32 levels"));
		}
}

static void refuses_100000_nested_brackets_at_the_33rd(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	add_times(&text, "[", 100000);
	expect_refused(text.data, text.len, 1, 33, "32 levels");
}

static void refuses_more_values_than_the_limit(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;

	text_add(&text, "{\"a\":[1");
	add_times(&text, ",1", TREE_NODES_MAX - 3);
	text_add(&text, "]}");
	expect_eq(tree_read("n", text.data, text.len, &tree, NULL), 0);
	text_truncate(&text, text.len - 2);
	text_add(&text, ",1]}");
	expect_refused(text.data, text.len, 1, 6 + 2 * (TREE_NODES_MAX - 2) + 1, "131072 values");
}

static void refuses_more_bytes_than_the_limit(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };

	add_times(&text, "#bc\n", TREE_BYTES_MAX / 4);
	expect_eq(tree_read("big", text.data, text.len, &tree, NULL), 0);
	tree = tree_free(tree);
	text_add(&text, "#");
	expect_eq(tree_read("big", text.data, text.len, &tree, &err), -EFBIG);
	expect_str(err.what, "big: larger than 1 MiB");
	expect(!tree);
}

static void keeps_many_keys_of_many_maps_apart(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	char key[32];

	for (unsigned i = 0; i < 5000; i++)
		text_addf(&text, "k%u: {k%u: %u, same: %u}\n", i, i, i, i);
	tree = read_text(text_string(&text));
	for (unsigned i = 0; i < 5000; i++) {
		const struct tree_node *map;

		(void)snprintf(key, sizeof(key), "k%u", i);
		map = tree_get(tree, tree_root(tree), key);
		expect_str(tree_get(tree, map, "same")->text, key + 1);
		expect_str(tree_get(tree, map, key)->text, key + 1);
		expect_eq(map->key_place.line, i + 1);
	}
	text_add(&text, "k2500: 1\n");
	expect_refused(text.data, text.len, 5001, 1, "line 2501, column 1");
}

/* Keys of small maps are compared one by one, those of larger maps are in a hash table. */
static void keeps_keys_apart_however_many_a_map_has(void)
{
	for (unsigned n = 1; n <= 20; n++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		_cleanup_tree_ struct tree *tree = NULL;
		struct tree *second = NULL;
		char key[8];

		for (unsigned i = 0; i < n; i++)
			text_addf(&text, "k%u: [x]\n", i);
		tree = read_text(text_string(&text));
		expect(tree != NULL);
		for (unsigned i = 0; i < n; i++) {
			const struct tree_node *node;
			size_t len = text.len;

			(void)snprintf(key, sizeof(key), "k%u", i);
			node = tree_get(tree, tree_root(tree), key);
			expect(node && node->key_place.line == i + 1);
			text_addf(&text, "k%u: [x]\n", i);
			expect_eq(tree_read("p.yaml", text.data, text.len, &second, NULL), -EINVAL);
			text_truncate(&text, len);
		}
		expect(!tree_get(tree, tree_root(tree), "k") &&
		       !tree_get(tree, tree_root(tree), "k20"));
	}
}

static void finds_no_key_in_a_list_however_long_it_is(void)
{
	static const char *const texts[] = { "[a]", "[a, b, c, d, e, f, g, h, i, j]",
					     "[a, b, c, d, e, f, g, h, i, {a: b}]" };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_tree_ struct tree *tree = read_text(texts[i]);

		expect(tree && !tree_get(tree, tree_root(tree), "a"));
	}
}

static void sees_a_tag_behind_characters_of_several_bytes(void)
{
	static const char text[] = "a: \"\xc3\xbc\xe2\x82\xac and so on\"\n\xc3\xbc\xc3\xbc: ! x\n";
	struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(tree_read("p.yaml", text, strlen(text), &tree, &err), -EINVAL);
	expect(strncmp(err.what, "p.yaml:2:5: tags", 16) == 0);
}

static void owns_copies_of_what_it_read(void)
{
	char name[] = "name", text[] = "key: value";
	_cleanup_tree_ struct tree *tree = NULL;

	expect_eq(tree_read(name, text, strlen(text), &tree, NULL), 0);
	memset(name, 'x', sizeof(name));
	memset(text, 'x', sizeof(text));
	expect_str(tree_name(tree), "name");
	expect_str(tree_get(tree, tree_root(tree), "key")->text, "value");
}

static void reads_an_empty_text_without_an_address(void)
{
	_cleanup_tree_ struct tree *tree = NULL;

	expect_eq(tree_read("empty", NULL, 0, &tree, NULL), 0);
	expect_eq(tree_root(tree)->type, TREE_NULL);
	expect_place(tree_root(tree), 1, 1);
	expect(!tree_free(NULL));
}

static void says_which_type_is_wrong_and_where(void)
{
	_cleanup_tree_ struct tree *tree = read_text("fs: text\nrules:\n  - {}\n  - 5");
	const struct tree_node *root = tree_root(tree), *rules = tree_get(tree, root, "rules");
	struct sbx_error err = { .code = 0 };

	expect_eq(tree_wrong_type(tree, root->first, TREE_MAP, &err), -EINVAL);
	expect_str(err.what, "p.yaml:1:5: 'fs' must be a map");
	expect_str(err.why, "it is a string");
	expect(err.fix[0]);
	tree_wrong_type(tree, rules->first->next, TREE_STRING, &err);
	expect_str(err.what, "p.yaml:4:5: item 2 of 'rules' must be a string");
	expect_str(err.why, "it is a number");
	tree_wrong_type(tree, root, TREE_LIST, &err);
	expect_str(err.what, "p.yaml:1:1: the top level must be a list");
	expect_eq(tree_wrong_type(tree, root, TREE_LIST, NULL), -EINVAL);
}

static void names_every_type(void)
{
	expect_str(tree_type_name(TREE_NULL), "null");
	expect_str(tree_type_name(TREE_BOOL), "true or false");
	expect_str(tree_type_name(TREE_NUMBER), "a number");
	expect_str(tree_type_name(TREE_STRING), "a string");
	expect_str(tree_type_name(TREE_LIST), "a list");
	expect_str(tree_type_name(TREE_MAP), "a map");
}

static void refuses_unknown_keys_with_a_suggestion(void)
{
	static const char *const known[] = { "policy", "limits", NULL };
	_cleanup_tree_ struct tree *tree =
		read_text("limits: 1\npolcy: 2\nin: {policy: 1, zzzzzzz: 2}\nno: [1]");
	const struct tree_node *root = tree_root(tree);
	struct sbx_error err = { .code = 0 };

	expect_eq(tree_check_keys(tree, root, known, &err), -EINVAL);
	expect_str(err.what, "p.yaml:2:1: unknown key 'polcy'");
	expect_str(err.why, "the keys here are: policy, limits");
	expect_str(err.fix, "did you mean 'policy'?");
	expect_eq(tree_check_keys(tree, tree_get(tree, root, "in"), known, &err), -EINVAL);
	expect_str(err.what, "p.yaml:3:17: unknown key 'zzzzzzz' in 'in'");
	expect(!strstr(err.fix, "did you mean"));
	expect_eq(tree_check_keys(tree, tree_get(tree, root, "no"), known, &err), -EINVAL);
	expect_str(err.what, "p.yaml:4:5: 'no' must be a map");
}

static void accepts_known_keys_and_an_empty_map(void)
{
	static const char *const known[] = { "a", "b", NULL };
	_cleanup_tree_ struct tree *tree = read_text("b: {}\na: 1");

	expect_eq(tree_check_keys(tree, tree_root(tree), known, NULL), 0);
	expect_eq(tree_check_keys(tree, tree_root(tree)->first, known, NULL), 0);
}

static void puts_the_place_before_an_error(void)
{
	_cleanup_tree_ struct tree *tree = read_text("a: 1");
	struct sbx_error err = { .code = 0 };

	expect_eq(tree_error(tree, (struct tree_place){ 3, 4 }, &err, "no %s", "way"), -EINVAL);
	expect_str(err.what, "p.yaml:3:4: no way");
	expect_str(err.why, "");
	expect_eq(tree_error(tree, (struct tree_place){ 3, 4 }, NULL, "x"), -EINVAL);
}

static void add_mistake(const struct sbx_error *err, void *userdata)
{
	const char *end = strstr(err->what, ": ");

	text_add_bytes(userdata, err->what, (size_t)(end ? end - err->what : 0));
	text_add_char(userdata, ' ');
}

/* Expects the places of all mistakes; "then" precedes the one that ends the reading. */
static void expect_mistakes(const char *yaml, int want, const char *want_places)
{
	_cleanup_text_ struct text places = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(tree_read_all("p", yaml, strlen(yaml), add_mistake, &places, &tree, &err), want);
	if (want < 0) {
		text_add(&places, "then ");
		add_mistake(&err, &places);
	}
	expect_str(text_string(&places), want_places);
	expect((tree != NULL) == (want >= 0));
	tree = tree_free(tree);
	expect_eq(tree_read("p", yaml, strlen(yaml), &tree, NULL), want == 0 ? 0 : -EINVAL);
}

static void goes_on_after_a_mistake_that_leaves_the_rest_readable(void)
{
	expect_mistakes("a: 1\nb: 2\n", 0, "");
	expect_mistakes("a: yes\nb: [012, on]\nc: 1\n", 3, "p:1:4 p:2:5 p:2:10 ");
	expect_mistakes("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n", 3, "p:2:1 p:3:11 p:4:1 ");
	expect_mistakes("a: yes\nb: &x 1\nc: no\n", -EINVAL, "p:1:4 then p:2:4 ");
	expect_mistakes("a: yes\nb: [\n", -EINVAL, "p:1:4 then p:2:4 ");
	expect_mistakes("{\"a\": 1, \"a\": 2, \"b\": }", -EINVAL, "p:1:10 then p:1:23 ");
}

static void ends_after_a_number_of_mistakes(void)
{
	_cleanup_text_ struct text yaml = TEXT_INIT, places = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };

	add_times(&yaml, "- yes\n", TREE_MISTAKES_MAX);
	expect_eq(tree_read_all("p", yaml.data, yaml.len, add_mistake, &places, &tree, &err),
		  TREE_MISTAKES_MAX);
	tree = tree_free(tree);
	text_add(&yaml, "- yes\n- no\n");
	expect_eq(tree_read_all("p", yaml.data, yaml.len, add_mistake, &places, &tree, &err),
		  -EINVAL);
	expect(strncmp(err.what, "p:101:3: ", 9) == 0);
}

static void quotes_long_keys_shortly_and_at_a_character(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	_cleanup_tree_ struct tree *tree = NULL;
	static const char *const known[] = { "a", NULL };
	struct sbx_error err = { .code = 0 };

	add_times(&text, "\xe2\x82\xac", 200);
	text_add(&text, ": 1");
	tree = read_text(text_string(&text));
	tree_check_keys(tree, tree_root(tree), known, &err);
	expect(strstr(err.what, "\xe2\x82\xac...'") != NULL);
	expect(strlen(err.what) < 120);
	for (size_t at = 0, n; err.what[at]; at += n) {
		n = utf8_sequence(err.what + at, strlen(err.what) - at);
		expect(n > 0);
		if (n == 0)
			break;
	}
}

static const struct test tests[] = {
	TEST(reads_the_same_tree_from_yaml_and_json),
	TEST(refuses_with_the_place_and_what_to_do),
	TEST(refuses_nul_bytes_and_utf_16_without_a_mark),
	TEST(refuses_plain_scalars_that_readers_understand_differently),
	TEST(says_what_to_write_instead),
	TEST(counts_lines_and_characters_from_one),
	TEST(counts_lines_of_crlf_files_once),
	TEST(what_is_left_out_at_the_end_is_on_the_last_line),
	TEST(finds_by_key_only_in_that_map),
	TEST(reads_the_deepest_tree_and_refuses_one_level_more),
	TEST(refuses_100000_nested_brackets_at_the_33rd),
	TEST(refuses_more_values_than_the_limit),
	TEST(refuses_more_bytes_than_the_limit),
	TEST(keeps_many_keys_of_many_maps_apart),
	TEST(keeps_keys_apart_however_many_a_map_has),
	TEST(finds_no_key_in_a_list_however_long_it_is),
	TEST(sees_a_tag_behind_characters_of_several_bytes),
	TEST(owns_copies_of_what_it_read),
	TEST(reads_an_empty_text_without_an_address),
	TEST(says_which_type_is_wrong_and_where),
	TEST(names_every_type),
	TEST(refuses_unknown_keys_with_a_suggestion),
	TEST(accepts_known_keys_and_an_empty_map),
	TEST(puts_the_place_before_an_error),
	TEST(goes_on_after_a_mistake_that_leaves_the_rest_readable),
	TEST(ends_after_a_number_of_mistakes),
	TEST(quotes_long_keys_shortly_and_at_a_character),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
