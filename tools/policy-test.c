/* SPDX-License-Identifier: MIT */

/*
 * sbx-policy test: the examples in a policy, and files of requests with their expected answers
 *
 *   policy: p.yaml              # in the directory of this file
 *   project: /srv/p             # for requests that name none
 *   tests:
 *     - name: writes_source     # optional: without it, the request
 *       request: fs.write src/a.c tag=editor
 *       expect: allow
 *       rules: [write-source]   # exactly these decide
 *
 * Each test is one line of TAP, or one object with --json.
 */

#include "policy.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/tree.h"

#include "tool.h"

/*
 * Validates a file of tests before any test runs: each test must have a request and an expectation
 */

static int wrong_value(const struct tree *tree, const struct tree_node *test, const char *key,
		       struct sbx_error *err)
{
	static const char *const hints[][2] = {
		{ "name", "name: writes_source" },
		{ "request", "request: fs.write src/a.c" },
		{ "expect", "expect: allow, warn, require_review or deny" },
		{ "rules", "rules: [NAME, ...]" },
		{ "policy", "policy: FILE, beside this file" },
		{ "project", "project: /srv/p" },
		{ "tests", "tests: followed by a list" },
	};
	int r = tree_error(tree, test->place, err, "'%s' is missing or of another kind", key);

	sbx_error_why(err, "without it the test means nothing");
	for (size_t i = 0; i < N_ELEMENTS(hints); i++)
		if (strcmp(hints[i][0], key) == 0)
			sbx_error_fix(err, "write %s", hints[i][1]);
	return r;
}

static bool is_string(const struct tree *tree, const struct tree_node *map, const char *key)
{
	const struct tree_node *node = tree_get(tree, map, key);

	return node && node->type == TREE_STRING;
}

static int check_test(const struct tree *tree, const struct tree_node *test, struct sbx_error *err)
{
	static const char *const known[] = { "name", "request", "expect", "rules", NULL };
	const struct tree_node *request, *rules;
	enum policy_action action = POLICY_PASS;
	int r;

	if (test->type != TREE_MAP)
		return tree_wrong_type(tree, test, TREE_MAP, err);
	r = tree_check_keys(tree, test, known, err);
	if (r < 0)
		return r;
	request = tree_get(tree, test, "request");
	rules = tree_get(tree, test, "rules");
	if (tree_get(tree, test, "name") && !is_string(tree, test, "name"))
		return wrong_value(tree, test, "name", err);
	if (!request || (request->type != TREE_STRING && request->type != TREE_MAP))
		return wrong_value(tree, test, "request", err);
	if (!is_string(tree, test, "expect") ||
	    !policy_action_find(tree_get(tree, test, "expect")->text, &action) ||
	    action == POLICY_PASS)
		return wrong_value(tree, test, "expect", err);
	for (const struct tree_node *item = rules ? rules->first : NULL; item; item = item->next)
		if (item->type != TREE_STRING)
			return wrong_value(tree, test, "rules", err);
	return rules && rules->type != TREE_LIST ? wrong_value(tree, test, "rules", err) : 0;
}

/* 0, or -EINVAL with the place of the mistake in a file of tests. */
static int test_file_check(const struct tree *tree, struct sbx_error *err)
{
	static const char *const known[] = { "policy", "project", "tests", NULL };
	const struct tree_node *root = tree_root(tree), *tests = tree_get(tree, root, "tests");
	int r = tree_check_keys(tree, root, known, err);

	if (r < 0)
		return r;
	if (!is_string(tree, root, "policy"))
		return wrong_value(tree, root, "policy", err);
	if (tree_get(tree, root, "project") && !is_string(tree, root, "project"))
		return wrong_value(tree, root, "project", err);
	if (tests->type != TREE_LIST)
		return wrong_value(tree, root, "tests", err);
	for (const struct tree_node *test = tests->first; test; test = test->next) {
		r = check_test(tree, test, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Which rules of the tested policies have determined an answer
 *
 * A rule that never did may have no effect, or no test covers it; both are reported.
 */

struct coverage {
	char *path;
	struct judge judge;
	bool *hits;
	struct coverage *next;
};

static void coverage_free(struct coverage **list)
{
	while (*list) {
		struct coverage *first = *list;

		*list = first->next;
		judge_close(&first->judge);
		free(first->path);
		free(first->hits);
		free(first);
	}
}

/* The entry of @path, opened at its first use. */
static int coverage_of(struct coverage **list, const char *path, const struct policy_values *values,
		       struct coverage **ret, struct sbx_error *err)
{
	struct coverage **at = list;
	_cleanup_(coverage_free) struct coverage *coverage = NULL;
	int r;

	for (; *at; at = &(*at)->next)
		if (strcmp((*at)->path, path) == 0) {
			*ret = *at;
			return 0;
		}
	coverage = calloc(1, sizeof(*coverage));
	if (!coverage) {
		(void)sbx_error_what(err, -ENOMEM, "cannot test '%s'", path);
		return -ENOMEM;
	}
	r = judge_open(path, values, &coverage->judge, err);
	if (r < 0)
		return r;
	coverage->path = strdup(path);
	coverage->hits = calloc(artefact_n_rows(&coverage->judge.artefact, SECTION_RULES) + 1,
				sizeof(*coverage->hits));
	if (!coverage->path || !coverage->hits) {
		(void)sbx_error_what(err, -ENOMEM, "cannot test '%s'", path);
		return -ENOMEM;
	}
	*ret = *at = take_ptr(coverage);
	return 0;
}

static void coverage_count(struct coverage *coverage, const struct policy_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		coverage->hits[decision->rules[i]] = true;
}

static void coverage_add_text(struct text *out, const struct coverage *coverage, size_t n_rules,
			      size_t n_hits)
{
	const struct artefact *artefact = &coverage->judge.artefact;

	for (uint32_t i = 0; i < n_rules; i++) {
		const struct artefact_rule *rule = artefact_rule_at(artefact, i);

		if (coverage->hits[i])
			continue;
		text_add(out, "# ");
		text_add_visible_string(out, artefact_file_of(artefact, rule));
		text_addf(out, ":%u: rule '", rule->line);
		text_add_visible_string(out, artefact_text(artefact, rule->name));
		text_add(out, "' never determined an answer\n");
	}
	text_add(out, "# ");
	text_add_visible_string(out, coverage->path);
	text_addf(out, ": %zu of %zu rules determined an answer\n", n_hits, n_rules);
}

static void coverage_add_json(struct text *out, const struct coverage *coverage, size_t n_rules,
			      size_t n_hits, bool is_enough)
{
	const struct artefact *artefact = &coverage->judge.artefact;
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "coverage", coverage->path);
	json_member_u64(&json, "rules", n_rules);
	json_member_u64(&json, "determined", n_hits);
	json_member_bool(&json, "enough", is_enough);
	json_member_array(&json, "missed");
	for (uint32_t i = 0; i < n_rules; i++) {
		const struct artefact_rule *rule = artefact_rule_at(artefact, i);

		if (coverage->hits[i])
			continue;
		json_add_object(&json);
		json_member_string(&json, "name", artefact_text(artefact, rule->name));
		json_member_string(&json, "file", artefact_file_of(artefact, rule));
		json_member_u64(&json, "line", rule->line);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_line(&json);
}

/* Prints TAP comments, or an object for each policy; true if at least @min_percent of the rules of
 * each policy are covered. */
static bool coverage_report(const struct coverage *list, uint64_t min_percent, bool as_json,
			    struct text *out)
{
	bool is_enough = true;

	for (const struct coverage *coverage = list; coverage; coverage = coverage->next) {
		const struct judge *judge = &coverage->judge;
		/* The rules of the files; those of the network mode come after them. */
		size_t n = judge->policy ? judge->policy->n_rules
					 : artefact_n_rows(&judge->artefact, SECTION_RULES);
		size_t n_hits = 0;
		bool is_one_enough;

		for (size_t i = 0; i < n; i++)
			n_hits += coverage->hits[i];
		is_one_enough = n_hits * 100 >= min_percent * n;

		if (as_json)
			coverage_add_json(out, coverage, n, n_hits, is_one_enough);
		else
			coverage_add_text(out, coverage, n, n_hits);
		is_enough = is_enough && is_one_enough;
	}
	if (!is_enough && !as_json)
		text_addf(out, "# too few: --coverage requires %" PRIu64 " percent\n", min_percent);
	return is_enough;
}

/* ---- the tests ---- */

#define EXAMPLE_PROJECT "/project"
#define WORDS_MAX 128

struct testing {
	struct tool_run *run;
	const struct policy_values *values;
	struct coverage *coverage;
	struct request_buffer buffer;
	size_t n, n_failed;
};

/* A '#' would begin a TAP directive, with which a failure does not count. */
static void add_name(struct text *out, const char *name)
{
	_cleanup_text_ struct text visible = TEXT_INIT;

	text_add_visible_string(&visible, name);
	out->failed = out->failed || text_status(&visible) < 0;
	for (const char *at = text_string(&visible); *at != '\0'; at++) {
		if (*at == '#' || *at == '\\')
			text_add_char(out, '\\');
		text_add_char(out, *at);
	}
}

/* One result; @notes is printed only for a failure. */
static void report(struct testing *testing, bool passed, const char *name, const char *file,
		   unsigned line, const char *notes)
{
	struct text *out = &testing->run->out;
	struct json_writer json;

	testing->n++;
	testing->n_failed += !passed;
	if (testing->run->json) {
		json_begin_object(&json, out);
		json_member_bool(&json, "ok", passed);
		json_member_string(&json, "name", name);
		json_member_string(&json, "file", file);
		json_member_u64(&json, "line", line);
		if (!passed)
			json_member_string(&json, "notes", notes);
		json_end_line(&json);
		return;
	}
	text_addf(out, "%s %zu - ", passed ? "ok" : "not ok", testing->n);
	add_name(out, name);
	text_add_char(out, '\n');
	if (passed)
		return;
	text_addf(out, "# %s:%u\n", file, line);
	for (const char *at = notes; *at != '\0';) {
		size_t len = strcspn(at, "\n");

		text_add(out, "# ");
		text_add_visible(out, at, len);
		text_add_char(out, '\n');
		at += len + (at[len] == '\n');
	}
}

static int read_words(struct testing *testing, const char *text, const char *project,
		      struct sbx_error *err)
{
	_cleanup_text_ struct text copy = TEXT_INIT, root = TEXT_INIT;
	char *words[WORDS_MAX], *rest = NULL;
	size_t n = 0;

	text_add(&copy, text);
	text_addf(&root, "project=%s", project ? project : "");
	if (text_status(&copy) < 0 || text_status(&root) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot read the request");
	for (char *word = strtok_r(copy.data, " ", &rest); word && n < WORDS_MAX - 1;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	if (project && !strstr(text, " project="))
		words[n++] = root.data;
	return words_read(words, n, &testing->buffer, err);
}

static void add_node(struct json_writer *json, const struct tree_node *node)
{
	if (node->type == TREE_LIST) {
		json_add_array(json);
		for (const struct tree_node *item = node->first; item; item = item->next)
			add_node(json, item);
		json_end_array(json);
	} else if (node->type == TREE_NUMBER) {
		json_add_raw(json, node->text, node->text_len);
	} else {
		json_add_string_bytes(json, node->text, node->text_len);
	}
}

/* A request as a map is converted to JSON and parsed by request_parse(), with the same strictness.
 */
static int read_map(struct testing *testing, const struct tree_node *map, const char *project,
		    struct sbx_error *err)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	struct json_writer json;
	bool has_project = false;

	json_begin_object(&json, &line);
	for (const struct tree_node *member = map->first; member; member = member->next) {
		has_project = has_project || strcmp(member->key, "project") == 0;
		json_add_name(&json, member->key);
		add_node(&json, member);
	}
	if (project && !has_project)
		json_member_string(&json, "project", project);
	json_end_object(&json);
	if (text_status(&line) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot read the request");
	return request_parse(text_string(&line), line.len, &testing->buffer, err);
}

static bool is_decided_by(const struct artefact *artefact, const struct policy_decision *decision,
			  const char *name)
{
	const struct artefact_rule *rules = artefact_rows(artefact, SECTION_RULES);

	for (size_t i = 0; i < decision->n_rules; i++)
		if (strcmp(artefact_text(artefact, rules[decision->rules[i]].name), name) == 0)
			return true;
	return decision->builtin && strcmp(decision->builtin, name) == 0;
}

/* Are these exactly the rules of @list, in any order? NULL: any. */
static bool has_rules(const struct artefact *artefact, const struct policy_decision *decision,
		      const struct tree_node *list)
{
	if (!list)
		return true;
	for (const struct tree_node *item = list->first; item; item = item->next)
		if (!is_decided_by(artefact, decision, item->text))
			return false;
	return list->n_children == decision->n_rules + (decision->builtin != NULL);
}

/* A test without a name is called after its request. */
static void add_test_name(struct text *out, const struct tree *tree, const struct tree_node *test,
			  const struct policy_request *request)
{
	const struct tree_node *name = tree_get(tree, test, "name");

	if (!name)
		name = tree_get(tree, test, "request");
	if (name->type == TREE_STRING) {
		text_add(out, name->text);
		return;
	}
	text_add(out, request->operation);
	if (request->path || request->host)
		text_addf(out, " %s", request->path ? request->path : request->host);
}

static void run_test(struct testing *testing, const struct tree *tree, const struct tree_node *test,
		     struct coverage *coverage)
{
	const struct tree_node *rules = tree_get(tree, test, "rules");
	const char *expect = tree_get(tree, test, "expect")->text;
	struct artefact *artefact = &coverage->judge.artefact;
	_cleanup_text_ struct text name = TEXT_INIT, notes = TEXT_INIT;
	struct policy_decision decision;
	bool same_verdict, same_rules;

	add_test_name(&name, tree, test, &testing->buffer.request);
	judge_decide(&coverage->judge, &testing->buffer, &decision);
	coverage_count(coverage, &decision);
	same_verdict = strcmp(policy_action_name(decision.verdict), expect) == 0;
	same_rules = has_rules(artefact, &decision, rules);
	if (!same_verdict)
		text_addf(&notes, "expected %s, got %s\n", expect,
			  policy_action_name(decision.verdict));
	if (!same_rules)
		text_add(&notes, "other rules decided than those under 'rules'\n");
	decision_add_text(&notes, artefact, &testing->buffer, &decision);
	report(testing, same_verdict && same_rules, text_string(&name), tree_name(tree),
	       test->place.line, text_string(&notes));
}

static int run_test_file(struct testing *testing, const struct tree *tree, struct sbx_error *err)
{
	const struct tree_node *root = tree_root(tree);
	const struct tree_node *project = tree_get(tree, root, "project");
	const char *project_root = project ? project->text : NULL;
	_cleanup_text_ struct text path = TEXT_INIT;
	struct coverage *coverage;
	const char *policy;
	int r = test_file_check(tree, err);

	if (r < 0)
		return r;
	policy = tree_get(tree, root, "policy")->text;
	/* Relative to the test file, if that is not in the working directory. */
	if (policy[0] != '/')
		text_add_bytes(&path, tree_name(tree),
			       (size_t)(path_last(tree_name(tree)) - tree_name(tree)));
	text_add(&path, policy);
	r = coverage_of(&testing->coverage, text_string(&path), testing->values, &coverage, err);
	if (r < 0)
		return r;
	for (const struct tree_node *test = tree_get(tree, root, "tests")->first; test;
	     test = test->next) {
		const struct tree_node *request = tree_get(tree, test, "request");
		struct sbx_error wrong = { .code = 0 };

		r = request->type == TREE_MAP
			    ? read_map(testing, request, project_root, &wrong)
			    : read_words(testing, request->text, project_root, &wrong);
		if (r >= 0)
			r = request_check_operation(&testing->buffer.request, &wrong);
		if (r < 0) {
			(void)tree_error(tree, request->place, err, "%s", wrong.what);
			sbx_error_why(err, "%s", wrong.why);
			sbx_error_fix(err, "%s", wrong.fix);
			return r;
		}
		run_test(testing, tree, test, coverage);
	}
	return 0;
}

/* The loader has tested the examples with each rule alone; here they are tested with the whole
 * policy. */
static void run_example(struct testing *testing, struct coverage *coverage, uint32_t row,
			const struct example *example)
{
	struct judge *judge = &coverage->judge;
	_cleanup_text_ struct text name = TEXT_INIT, notes = TEXT_INIT;
	struct sbx_error err = { .code = 0 };
	struct policy_decision decision;
	bool applies = false;
	size_t n = 0;
	int r = read_words(testing, example->text, EXAMPLE_PROJECT, &err);
	_cleanup_free_ struct policy_explanation *near =
		r < 0 ? NULL : why_explain(judge, &testing->buffer.request, &n);

	for (size_t i = 0; i < n; i++)
		applies = applies || (near[i].rule == row && near[i].near == NEAR_APPLIES);
	if (r >= 0) {
		judge_decide(judge, &testing->buffer, &decision);
		coverage_count(coverage, &decision);
	}
	text_addf(&name, "rule '%s' %s '%s'", judge->policy->rules[row].name,
		  example->matches ? "applies to" : "does not apply to", example->text);
	text_add(&notes, r < 0 ? err.what : applies ? "it does apply" : "it does not apply");
	report(testing, r >= 0 && applies == example->matches, text_string(&name), coverage->path,
	       example->place.at.line, text_string(&notes));
}

static int run_policy(struct testing *testing, const char *path, struct sbx_error *err)
{
	struct coverage *coverage;
	const struct policy *policy;
	int r = coverage_of(&testing->coverage, path, testing->values, &coverage, err);

	if (r < 0)
		return r;
	policy = coverage->judge.policy;
	for (uint32_t row = 0; policy && row < policy->n_rules; row++)
		for (size_t i = 0; i < policy->rules[row].n_examples; i++)
			run_example(testing, coverage, row, &policy->rules[row].examples[i]);
	return 0;
}

/* A file with 'tests' at its top level is a file of tests; any other file is a policy. */
static int run_file(struct testing *testing, const char *path, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	int r = tree_read_file(AT_FDCWD, path, &tree, NULL);

	if (r >= 0 && tree_root(tree)->type == TREE_MAP && tree_get(tree, tree_root(tree), "tests"))
		return run_test_file(testing, tree, err);
	if (strcmp(path, "-") != 0)
		return run_policy(testing, path, err);
	/* stdin has been read, and what is left would be an empty policy. */
	return error_fill(err, -EINVAL, "it is not a file of tests, and a policy must be a file",
			  "name the policy's file", "cannot test what is on standard input");
}

int policy_verb_test(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	struct testing testing = { .run = run, .values = run->values };
	uint64_t percent = testing.values->coverage;
	_cleanup_(coverage_free) struct coverage *coverage = NULL;
	bool is_covered;
	int r = policy_check_stdin(run->values, (size_t)n_operands, operands, false, err);

	if (r >= 0 && percent > 100)
		r = error_fill(err, -EINVAL, "the maximum is 100",
			       "write --coverage=100 for every rule",
			       "a coverage of %" PRIu64 " percent is impossible", percent);
	if (r < 0)
		return TOOL_USAGE;
	for (int i = 0; i < n_operands && r >= 0; i++)
		r = run_file(&testing, operands[i], err);
	coverage = testing.coverage;
	request_deinit(&testing.buffer);
	if (r < 0) {
		if (!run->json)
			text_add(&run->out, "Bail out! a file cannot be used\n");
		return policy_bad_input(r);
	}
	_cleanup_text_ struct text notes = TEXT_INIT;
	is_covered = coverage_report(coverage, percent, run->json, &notes);
	if (!run->json)
		text_addf(&run->out, "1..%zu\n", testing.n);
	text_add(&run->out, text_string(&notes));
	run->out.failed = run->out.failed || text_status(&notes) < 0;
	return testing.n_failed > 0 || !is_covered ? TOOL_NO : TOOL_YES;
}
