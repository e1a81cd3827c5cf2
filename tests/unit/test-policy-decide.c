/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdint.h>

#include "policy/guarded.h"
#include "policy/decide-internal.h"
#include "policy-build.h"
#include "test.h"

static const char *const builder_tags[] = { "builder", NULL };

static const struct policy_request write_source = {
	.operation = "fs.write",
	.path = "/p/src/a.c",
	.project_root = "/p",
	.caller = "editor",
	.caller_tags = builder_tags,
	.mode = "strict",
};

static struct policy_decision decide(struct built *built, const struct policy_request *request)
{
	struct policy_decision decision;

	if (!built->engine)
		build_engine(built);
	policy_decide(built->engine, request, &decision);
	return decision;
}

static void expect_decision(struct built *built, const struct policy_request *request,
			    enum policy_action verdict, enum policy_cause cause)
{
	struct policy_decision decision = decide(built, request);

	expect_eq(decision.verdict, verdict);
	expect_eq(decision.cause, cause);
	expect((decision.reason == NULL) == (cause == CAUSE_RULES));
}

static void denies_what_no_rule_allows(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_decision decision = decide(&built, &write_source);

	expect_eq(decision.verdict, POLICY_DENY);
	expect_eq(decision.cause, CAUSE_DEFAULT);
	expect_str(decision.reason, "no rule explicitly allowed this operation");
	expect_eq(decision.n_rules, 0);
}

static void the_default_of_each_class_is_its_own(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request test_run = { .operation = "test.run" };
	struct policy_request exec = { .operation = "exec", .path = "/bin/true" };

	built.policy->defaults[CLASS_FS] = POLICY_ALLOW;
	built.policy->defaults[CLASS_TOOL] = POLICY_REVIEW;
	built.policy->defaults[CLASS_EXEC] = POLICY_PASS;
	expect_decision(&built, &write_source, POLICY_ALLOW, CAUSE_DEFAULT);
	expect_decision(&built, &test_run, POLICY_REVIEW, CAUSE_DEFAULT);
	expect_decision(&built, &exec, POLICY_DENY, CAUSE_DEFAULT);
}

/* Adds rules one by one, each more severe than those before. */
static void the_most_severe_action_wins(void)
{
	static const enum policy_action ladder[] = { POLICY_PASS, POLICY_ALLOW, POLICY_WARN,
						     POLICY_REVIEW, POLICY_DENY };
	_cleanup_built_ struct built built = build_new();

	for (size_t i = 0; i < N_ELEMENTS(ladder); i++) {
		build_rule(&built, ladder[i], "fs.write", "path=src/**");
		build_engine(&built);

		struct policy_decision decision = decide(&built, &write_source);

		expect_eq(decision.verdict, i == 0 ? POLICY_DENY : ladder[i]);
		expect_eq(decision.cause, i == 0 ? CAUSE_DEFAULT : CAUSE_RULES);
		expect_eq(decision.n_rules, i > 0);
		expect(i == 0 || decision.rules[0] == i);
	}
}

static void names_every_rule_that_has_the_verdict(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_decision decision;

	for (int i = 0; i < 40; i++)
		build_rule(&built, i % 3 ? POLICY_REVIEW : POLICY_ALLOW, "fs.write",
			   i % 2 ? "path=src/**" : "caller=editor");
	decision = decide(&built, &write_source);
	expect_eq(decision.verdict, POLICY_REVIEW);
	expect_eq(decision.n_rules, 26);
	for (size_t i = 0; i < decision.n_rules; i++)
		expect(decision.rules[i] % 3 != 0 &&
		       (i == 0 || decision.rules[i] > decision.rules[i - 1]));
}

static void all_keys_must_hold_and_any_value_of_each(void)
{
	static const struct {
		const char *words;
		bool applies;
	} cases[] = {
		{ "path=src/** caller=editor tag=builder mode=strict", true },
		{ "path=lib/** path=src/** caller=other caller=editor", true },
		{ "path=lib/** caller=editor", false },
		{ "path=src/** caller=other", false },
		{ "path=src/** tag=other", false },
		{ "tag=other tag=builder", true },
		{ "caller=edit", false },
		{ "caller=Editor", false },
		{ "mode=strict mode=debug", true },
		{ "state=writing", false },
		{ "path=src/** state=writing", false },
		{ "path=", false },
		{ "caller=", false },
		{ "path=src/** tag=", false },
		{ "host=a.example", false },
		{ "port=443", false },
		{ "proto=tcp", false },
		{ "", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_built_ struct built built = build_new();

		build_rule(&built, POLICY_ALLOW, "fs.write", cases[i].words);
		expect_eq(decide(&built, &write_source).verdict == POLICY_ALLOW, cases[i].applies);
	}
}

/* An empty list never matches. If it matched everything, an allow would apply to all callers, and
 * an exception would cancel a deny for all. */
static void expect_never(const char *words, const struct policy_request *request)
{
	_cleanup_built_ struct built allow = build_new(), deny = build_new(), except = build_new();
	struct rule *denial;

	build_rule(&allow, POLICY_ALLOW, request->operation, words);
	expect_decision(&allow, request, POLICY_DENY, CAUSE_DEFAULT);
	build_rule(&deny, POLICY_ALLOW, request->operation, "");
	build_rule(&deny, POLICY_DENY, request->operation, words);
	expect_decision(&deny, request, POLICY_ALLOW, CAUSE_RULES);
	denial = build_rule(&except, POLICY_DENY, request->operation, "");
	build_except(&except, denial, NULL, words);
	except.policy->defaults[CLASS_FS] = except.policy->defaults[CLASS_NET] = POLICY_ALLOW;
	expect_decision(&except, request, POLICY_DENY, CAUSE_RULES);
}

static void a_rule_with_an_empty_list_never_holds(void)
{
	static const char *const empty[] = { "path=",	"host=", "cidr=",  "port=", "proto=",
					     "caller=", "tag=",	 "state=", "mode=" };
	static const char *const others[] = { "", "caller=editor", "tag=builder mode=strict",
					      "path=src/** state=writing",
					      "host=192.0.2.7 port=443 proto=tcp" };
	struct policy_request file = write_source, net = {
		.operation = "net.connect",
		.host = "192.0.2.7",
		.port = 443,
		.has_port = true,
		.caller = "editor",
		.caller_tags = builder_tags,
		.state = "writing",
		.mode = "strict",
	};

	file.state = "writing";
	for (size_t i = 0; i < N_ELEMENTS(empty); i++)
		for (size_t k = 0; k < N_ELEMENTS(others); k++) {
			char words[128];

			/* A key that is given twice is a list. */
			if (strstr(others[k], empty[i]))
				continue;
			(void)snprintf(words, sizeof(words), "%s %s", empty[i], others[k]);
			expect_never(words, &file);
			expect_never(words, &net);
		}
}

static void exclusion_wins_at_any_position(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request key = write_source;

	key.path = "/p/src/a.key";
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=!*.key path=src/** path=src/a.key");
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=!*.key");
	expect_decision(&built, &write_source, POLICY_ALLOW, CAUSE_RULES);
	expect_decision(&built, &key, POLICY_DENY, CAUSE_DEFAULT);
	expect_eq(decide(&built, &write_source).n_rules, 1);
}

static void rules_are_about_their_operations_only(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request read = write_source, exec = write_source;

	read.operation = "fs.read";
	exec.operation = "exec";
	build_rule(&built, POLICY_ALLOW, "fs.read fs.list", "path=src/**");
	build_rule(&built, POLICY_DENY, "exec", "caller=editor");
	expect_decision(&built, &read, POLICY_ALLOW, CAUSE_RULES);
	expect_decision(&built, &write_source, POLICY_DENY, CAUSE_DEFAULT);
	expect_decision(&built, &exec, POLICY_DENY, CAUSE_RULES);
}

static void an_exception_that_holds_makes_a_rule_pass(void)
{
	static const struct {
		const char *operations;
		const char *words;
		bool excepts;
	} cases[] = {
		{ NULL, "path=src/*.c", true },
		{ NULL, "path=src/*.h", false },
		{ NULL, "tag=builder", true },
		{ NULL, "tag=other", false },
		{ "fs.write", "path=src/*.c", true },
		{ "fs.read", "path=src/*.c", false },
		{ "fs.write", "", true },
		{ "fs.read", "", false },
		{ NULL, "", true },
		{ NULL, "path=src/*.c caller=other", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_built_ struct built built = build_new();
		struct rule *rule = build_rule(&built, POLICY_REVIEW, "fs.*", "path=src/**");

		build_except(&built, rule, NULL, "path=docs/**");
		build_except(&built, rule, cases[i].operations, cases[i].words);
		build_except(&built, rule, NULL, "caller=nobody");
		expect_eq(decide(&built, &write_source).verdict,
			  cases[i].excepts ? POLICY_DENY : POLICY_REVIEW);
		expect_eq(decide(&built, &write_source).cause,
			  cases[i].excepts ? CAUSE_DEFAULT : CAUSE_RULES);
	}
}

static void a_broken_constraint_takes_the_permission_back(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**");
	struct policy_request request = write_source;
	struct policy_decision decision;

	rule->constraints.require_sandbox = "L2";
	rule->constraints.max_file_size_bytes = 100;
	decision = decide(&built, &request);
	expect_eq(decision.verdict, POLICY_DENY);
	expect_eq(decision.cause, CAUSE_CONSTRAINT);
	expect(strstr(decision.reason, "require_sandbox") != NULL);
	expect(decision.n_rules == 1 && decision.rules[0] == 0);
	expect_str(decision.constraints.require_sandbox, "L2");

	request.sandbox = "L1";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	request.sandbox = "L2";
	decision = decide(&built, &request);
	/* The request does not state the size of the write. */
	expect_eq(decision.cause, CAUSE_CONSTRAINT);
	expect(strstr(decision.reason, "max_file_size") != NULL);
	request.has_size = true;
	request.size_bytes = 101;
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	request.size_bytes = 100;
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.sandbox = "L3";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.sandbox = "container";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
}

static void a_required_token_must_be_given(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, POLICY_WARN, "fs.write", "path=src/**");
	struct policy_request request = write_source;

	rule->constraints.require_token = true;
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	expect(strstr(decide(&built, &request).reason, "require_capability_token") != NULL);
	request.has_token = true;
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_TOKEN);
}

#define DIGEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

static void a_program_must_have_the_digest_of_its_rule(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, POLICY_ALLOW, "exec", "path=/usr/bin/cc");
	struct policy_request request = { .operation = "exec", .path = "/usr/bin/cc" };
	char other[] = DIGEST;
	struct policy_decision decision;

	rule->constraints.sha256 = DIGEST;
	decision = decide(&built, &request);
	expect_eq(decision.verdict, POLICY_DENY);
	expect_eq(decision.cause, CAUSE_CONSTRAINT);
	expect(strstr(decision.reason, "sha256") != NULL);
	expect(decision.n_rules == 1 && decision.rules[0] == 0);
	expect_str(decision.constraints.sha256, DIGEST);

	other[63] = '9';
	request.sha256 = other;
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	other[63] = '\0';
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	request.sha256 = "";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	request.sha256 = DIGEST "0";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_CONSTRAINT);
	request.sha256 = DIGEST;
	decision = decide(&built, &request);
	expect_eq(decision.verdict, POLICY_ALLOW);
	expect_eq(decision.cause, CAUSE_RULES);
	expect_str(decision.constraints.sha256, DIGEST);
	request.sha256 = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
}

/* A digest restricts what a rule permits; a program must not evade a deny by having another digest.
 */
static void a_digest_does_not_weaken_a_denial(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "exec", .path = "/usr/bin/cc" };

	build_rule(&built, POLICY_ALLOW, "exec", "");
	build_rule(&built, POLICY_DENY, "exec", "path=/usr/bin/cc")->constraints.sha256 = DIGEST;
	expect_decision(&built, &request, POLICY_DENY, CAUSE_RULES);
}

static void a_constraint_of_one_rule_leaves_another_rule_alone(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_decision decision;

	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**")->constraints.require_sandbox =
		"L2";
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**");
	decision = decide(&built, &write_source);
	expect_eq(decision.cause, CAUSE_RULES);
	expect(decision.n_rules == 1 && decision.rules[0] == 1);
	expect(decision.constraints.require_sandbox == NULL);
	expect_eq(decision.constraints.max_file_size_bytes, UINT64_MAX);
}

static void a_broken_constraint_is_not_healed_by_the_default(void)
{
	_cleanup_built_ struct built built = build_new();

	built.policy->defaults[CLASS_FS] = POLICY_ALLOW;
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/**")->constraints.require_token =
		true;
	expect_decision(&built, &write_source, POLICY_DENY, CAUSE_CONSTRAINT);
}

static void answers_with_the_strictest_constraints(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = write_source;
	struct policy_decision decision;

	build_rule(&built, POLICY_ALLOW, "fs.write", "")->constraints.require_sandbox = "L1";
	build_rule(&built, POLICY_WARN, "fs.write", "")->constraints.require_sandbox = "L2";
	build_rule(&built, POLICY_ALLOW, "fs.write", "")->constraints.max_file_size_bytes = 500;
	build_rule(&built, POLICY_ALLOW, "fs.write", "")->constraints.max_file_size_bytes = 300;
	request.sandbox = "L2";
	request.has_size = true;
	decision = decide(&built, &request);
	expect_eq(decision.verdict, POLICY_WARN);
	expect_str(decision.constraints.require_sandbox, "L2");
	expect_eq(decision.constraints.max_file_size_bytes, 300);
}

static const struct policy_request connect_git = { .operation = "net.connect",
						   .host = "git.example",
						   .port = 9418,
						   .has_port = true };

/* The demand of TLS for connect_git by a policy with this rule beside one with tls: any. */
static enum tls_demand tls_beside(enum policy_action action, enum tls_demand tls, unsigned source)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, action, "net.connect", "host=*.example");

	rule->constraints.tls = tls;
	rule->place.source = source;
	build_rule(&built, POLICY_ALLOW, "net.connect", "port=9418")->constraints.tls = TLS_ANY;
	return decide(&built, &connect_git).constraints.tls;
}

static void the_strictest_permission_says_what_is_demanded_of_tls(void)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_ALLOW, "net.connect", "port=9418")->constraints.tls = TLS_ANY;
	expect_eq(decide(&built, &connect_git).constraints.tls, TLS_ANY);
	expect_eq(tls_beside(POLICY_ALLOW, TLS_ANY, 0), TLS_ANY);
	expect_eq(tls_beside(POLICY_WARN, TLS_ANY, 0), TLS_ANY);
	expect_eq(tls_beside(POLICY_ALLOW, TLS_SNI, 0), TLS_SNI);
	expect_eq(tls_beside(POLICY_WARN, TLS_SNI, 0), TLS_SNI);
	expect_eq(tls_beside(POLICY_PASS, TLS_SNI, 0), TLS_ANY);
	expect_eq(tls_beside(POLICY_ALLOW, TLS_SNI, 1), TLS_SNI);
	expect_eq(tls_beside(POLICY_ALLOW, TLS_ANY, 1), TLS_ANY);
}

static void a_refusal_and_a_default_lift_no_demand_of_tls(void)
{
	_cleanup_built_ struct built open = build_new();

	expect_eq(tls_beside(POLICY_DENY, TLS_ANY, 0), TLS_SNI);
	expect_eq(tls_beside(POLICY_REVIEW, TLS_ANY, 0), TLS_SNI);
	open.policy->defaults[CLASS_NET] = POLICY_ALLOW;
	build_engine(&open);
	expect_eq(decide(&open, &connect_git).constraints.tls, TLS_SNI);
}

/* The default allows, and so would the project's own file: but it may not widen. */
static void a_file_that_narrows_lifts_no_demand_of_tls(void)
{
	_cleanup_built_ struct built built = build_new();
	struct rule *rule = build_rule(&built, POLICY_ALLOW, "net.connect", "port=9418");

	rule->place.source = 1;
	rule->constraints.tls = TLS_ANY;
	built.policy->defaults[CLASS_NET] = POLICY_ALLOW;
	build_engine(&built);
	expect_decision(&built, &connect_git, POLICY_ALLOW, CAUSE_RULES);
	expect_eq(decide(&built, &connect_git).constraints.tls, TLS_SNI);
}

static void a_file_that_narrows_cannot_widen(void)
{
	static const enum policy_action permits[] = { POLICY_ALLOW, POLICY_WARN };

	for (size_t i = 0; i < N_ELEMENTS(permits); i++) {
		_cleanup_built_ struct built built = build_new();

		build_rule(&built, permits[i], "fs.write", "path=src/**")->place.source = 1;
		build_engine(&built);
		expect_decision(&built, &write_source, POLICY_DENY, CAUSE_DEFAULT);
		expect(strstr(decide(&built, &write_source).reason, "widen") != NULL);
		build_rule(&built, POLICY_ALLOW, "fs.*", "");
		build_engine(&built);
		expect_decision(&built, &write_source, permits[i], CAUSE_RULES);
	}
}

static void a_file_that_narrows_can_deny_and_ask_for_a_review(void)
{
	static const enum policy_action refuses[] = { POLICY_REVIEW, POLICY_DENY };

	for (size_t i = 0; i < N_ELEMENTS(refuses); i++) {
		_cleanup_built_ struct built built = build_new();

		build_rule(&built, POLICY_ALLOW, "fs.*", "");
		build_rule(&built, refuses[i], "fs.write", "path=src/**")->place.source = 1;
		expect_decision(&built, &write_source, refuses[i], CAUSE_RULES);
	}
}

/* The permission in the broader file must be valid itself. */
static void a_file_that_narrows_does_not_lean_on_a_broken_permission(void)
{
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_ALLOW, "fs.*", "")->constraints.require_sandbox = "L2";
	build_rule(&built, POLICY_ALLOW, "fs.write", "")->place.source = 1;
	expect_decision(&built, &write_source, POLICY_DENY, CAUSE_CONSTRAINT);
}

static void a_token_skips_the_rules_but_no_built_in_rule(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = write_source;

	build_rule(&built, POLICY_DENY, "*", "");
	request.has_token = true;
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_TOKEN);
	request.path = "/etc/sbx/policy.yaml";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_BUILTIN);
	expect_str(decide(&built, &request).builtin, "builtin:policy-files");
	request = (struct policy_request){ .operation = "policy.update", .has_token = true };
	expect_decision(&built, &request, POLICY_REVIEW, CAUSE_BUILTIN);
}

static void no_rule_outweighs_a_built_in_denial(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = write_source;

	build_rule(&built, POLICY_ALLOW, "*", "");
	request.path = "/etc/sbx/policy.yaml";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_BUILTIN);
	request.operation = "fs.read";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
}

static void protects_the_paths_that_the_engine_was_given(void)
{
	static const struct guarded row = { .path = "/p", .len = 2, .rule = GUARDED_BY_UNITS };
	static const struct guarded_list list = { .rows = &row, .n_rows = 1, .n_unmarked = 1 };
	_cleanup_built_ struct built built = build_new();

	build_rule(&built, POLICY_ALLOW, "fs.*", "");
	build_engine(&built);
	policy_engine_guard(built.engine, &list);
	expect_decision(&built, &write_source, POLICY_DENY, CAUSE_BUILTIN);
	policy_engine_guard(built.engine, NULL);
	expect_decision(&built, &write_source, POLICY_ALLOW, CAUSE_RULES);
}

static void a_built_in_review_outweighs_permissions_and_no_denials(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "policy.update" };
	struct policy_decision decision;

	expect_decision(&built, &request, POLICY_REVIEW, CAUSE_BUILTIN);
	build_rule(&built, POLICY_ALLOW, "policy.update", "");
	build_rule(&built, POLICY_REVIEW, "policy.update", "");
	build_engine(&built);
	decision = decide(&built, &request);
	expect_eq(decision.cause, CAUSE_BUILTIN);
	expect(decision.n_rules == 1 && decision.rules[0] == 1);
	build_rule(&built, POLICY_DENY, "policy.update", "");
	build_engine(&built);
	expect_decision(&built, &request, POLICY_DENY, CAUSE_RULES);
}

static void works_without_any_built_in_rule(void)
{
	static const struct builtin_rule none[] = { { .name = NULL } };
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = write_source;

	build_rule(&built, POLICY_ALLOW, "fs.write", "path=/etc/**");
	build_engine(&built);
	built.engine->builtins = none;
	request.path = "/etc/sbx/policy.yaml";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.path = "/srv/x";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
}

static char long_path[4098];

static const struct {
	struct policy_request request;
	const char *reason;
} bad_requests[] = {
	{ { .operation = NULL }, "unknown" },
	{ { .operation = "fs.frobnicate" }, "unknown" },
	{ { .operation = "fs.read" }, "no path" },
	{ { .operation = "exec" }, "no path" },
	{ { .operation = "fs.read", .path = "" }, "not absolute" },
	{ { .operation = "fs.read", .path = "a/b" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/a/" }, "not absolute" },
	{ { .operation = "fs.read", .path = "//a" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/a//b" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/a/./b" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/a/../b" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/.." }, "not absolute" },
	{ { .operation = "fs.read", .path = "/." }, "not absolute" },
	{ { .operation = "fs.read", .path = long_path }, "not absolute" },
	{ { .operation = "test.run", .path = "a" }, "not absolute" },
	{ { .operation = "fs.read", .path = "/a", .project_root = "" }, "root" },
	{ { .operation = "fs.read", .path = "/a", .project_root = "a" }, "root" },
	{ { .operation = "fs.read", .path = "/a", .project_root = "/a/" }, "root" },
	{ { .operation = "fs.read", .path = "/a", .project_root = "//" }, "root" },
	{ { .operation = "fs.read", .path = "/a", .project_root = "/a/.." }, "root" },
	{ { .operation = "fs.read", .path = "/a/b", .project_root = "/a/./b" }, "root" },
	{ { .operation = "net.connect" }, "no host" },
	{ { .operation = "net.connect", .host = "" }, "empty" },
	{ { .operation = "net.connect", .host = "." }, "neither" },
	{ { .operation = "net.connect", .host = "a..b" }, "neither" },
	{ { .operation = "net.connect", .host = ".a" }, "neither" },
	{ { .operation = "net.connect", .host = "a.." }, "neither" },
	{ { .operation = "net.connect", .host = "a b" }, "neither" },
	{ { .operation = "net.connect", .host = "a/b" }, "neither" },
	{ { .operation = "net.connect", .host = "\xc3\xa9.example" }, "neither" },
	{ { .operation = "net.connect", .host = "*.example" }, "neither" },
	{ { .operation = "net.connect", .host = "a:80" }, "IPv6" },
	{ { .operation = "net.connect", .host = "127.1" }, "number" },
	{ { .operation = "net.connect", .host = "0x7f.0.0.1" }, "number" },
	{ { .operation = "net.connect", .host = "0x7f000001" }, "number" },
	{ { .operation = "net.connect", .host = "2130706433" }, "number" },
	{ { .operation = "net.connect", .host = "010.0.0.1" }, "number" },
	{ { .operation = "net.connect", .host = "1.2.3.256" }, "number" },
	{ { .operation = "net.connect", .host = "1.2.3.4.5" }, "number" },
	{ { .operation = "net.connect", .host = "[::1" }, "bracket" },
	{ { .operation = "net.connect", .host = "[10.0.0.1]" }, "neither" },
	{ { .operation = "net.connect", .host = "::1%eth0" }, "IPv6" },
	{ { .operation = "net.connect", .host = "::1." }, "IPv6" },
	{ { .operation = "net.connect", .host = "a", .proto = "sctp" }, "protocol" },
	{ { .operation = "fs.read", .path = "/a", .host = "a..b" }, "neither" },
};

static void denies_requests_that_cannot_be_judged(void)
{
	_cleanup_built_ struct built built = build_new();

	for (int i = 0; i < N_CLASSES; i++)
		built.policy->defaults[i] = POLICY_ALLOW;
	build_rule(&built, POLICY_ALLOW, "*", "");
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[0] = '/';
	for (size_t i = 0; i < N_ELEMENTS(bad_requests); i++) {
		struct policy_decision decision = decide(&built, &bad_requests[i].request);

		expect_eq(decision.verdict, POLICY_DENY);
		expect_eq(decision.cause, CAUSE_BAD_REQUEST);
		expect(decision.reason && strstr(decision.reason, bad_requests[i].reason));
	}
}

static void judges_the_longest_path(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "fs.read" };
	char path[4096];

	for (size_t i = 0; i < 4094; i += 2)
		memcpy(path + i, "/a", 2);
	memcpy(path + 4094, "a", 2);
	request.path = path;
	build_rule(&built, POLICY_ALLOW, "fs.read", "path=/a/**/aa path=/**/a/**/a/**");
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
}

/* Components of up to 8, up to 16 and more bytes are stored differently. */
static void tells_components_of_any_length_apart(void)
{
	char glob[80], path[80];

	for (int len = 1; len <= 40; len++) {
		_cleanup_built_ struct built built = build_new();
		struct policy_request request = { .operation = "fs.read", .path = path };

		(void)snprintf(glob, sizeof(glob), "path=/d/%.*s/e", len,
			       "abcdefghijklmnopqrstuvwxyz0123456789ABCD");
		build_rule(&built, POLICY_ALLOW, "fs.read", glob);
		(void)snprintf(path, sizeof(path), "%s", glob + 5);
		expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
		for (int i = 0; i < len; i++) {
			path[3 + i] ^= 1;
			expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
			path[3 + i] ^= 1;
		}
		(void)snprintf(path, sizeof(path), "%.*s/e", len > 1 ? 2 + len : 2, glob + 5);
		expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
		(void)snprintf(path, sizeof(path), "%.*sx/e", 3 + len, glob + 5);
		expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
	}
}

/* Slashes are searched in blocks of 64 bytes. */
static void finds_a_slash_at_any_offset(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "fs.read" };
	char path[300];

	build_rule(&built, POLICY_ALLOW, "fs.read", "path=/*/*");
	request.path = path;
	for (size_t len = 3; len < 200; len++) {
		memset(path, 'a', sizeof(path));
		path[0] = '/';
		path[len] = '\0';
		expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
		for (size_t i = 2; i < len - 1; i++) {
			path[i] = '/';
			expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
			path[i - 1] = i > 2 ? '.' : '/';
			path[i - 2] = '/';
			expect_decision(&built, &request, POLICY_DENY, CAUSE_BAD_REQUEST);
			path[i] = path[i - 1] = 'a';
			path[i - 2] = i > 2 ? 'a' : '/';
		}
	}
}

/* Without the root, project-relative rules would not apply, including denials. */
static void wants_the_projects_root_for_rules_below_it(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "fs.read", .path = "/p/.env" };

	build_rule(&built, POLICY_ALLOW, "fs.* exec", "path=/**");
	build_rule(&built, POLICY_DENY, "fs.read", "path=.env");
	build_rule(&built, POLICY_DENY, "exec", "path=git");
	expect_decision(&built, &request, POLICY_DENY, CAUSE_BAD_REQUEST);
	expect(strstr(decide(&built, &request).reason, "project") != NULL);
	request.project_root = "/q";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.project_root = "/p";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_RULES);
	request.project_root = NULL;
	request.operation = "fs.write";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.operation = "exec";
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
}

static void wants_the_port_for_rules_about_ports(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "net.connect", .host = "a.example" };

	build_rule(&built, POLICY_ALLOW, "net.*", "");
	build_rule(&built, POLICY_DENY, "net.connect", "port=25");
	expect_decision(&built, &request, POLICY_DENY, CAUSE_BAD_REQUEST);
	expect(strstr(decide(&built, &request).reason, "port") != NULL);
	request.has_port = true;
	request.port = 24;
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.operation = "net.bind";
	request.has_port = false;
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
}

/* The argument of a tool may be a path or a host, and is matched like one. */
static void tools_can_have_arguments(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request request = { .operation = "search.grep", .path = "/p/src/a" };

	build_rule(&built, POLICY_ALLOW, "search.*", "path=/p/src/**");
	build_rule(&built, POLICY_ALLOW, "tool.call", "host=*.example");
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.path = "/p/lib/a";
	expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
	request = (struct policy_request){ .operation = "tool.call", .host = "a.example" };
	expect_decision(&built, &request, POLICY_ALLOW, CAUSE_RULES);
	request.host = NULL;
	expect_decision(&built, &request, POLICY_DENY, CAUSE_DEFAULT);
}

/* Marks of one decision must not count in the next, even when the generation counter wraps. */
static void decisions_leave_no_trace(void)
{
	_cleanup_built_ struct built built = build_new();
	struct policy_request other = write_source;

	other.path = "/p/lib/a.c";
	other.caller_tags = NULL;
	build_rule(&built, POLICY_ALLOW, "fs.write", "path=src/** tag=builder");
	build_except(&built, build_rule(&built, POLICY_REVIEW, "fs.write", "path=lib/**"), NULL,
		     "path=lib/*.c tag=builder");
	build_engine(&built);
	for (uint32_t start = 0; start < 2; start++) {
		built.engine->scratch.generation = start ? 0u - 5 * GENERATION_STEP : 0;
		for (int i = 0; i < 10; i++) {
			expect_decision(&built, &write_source, POLICY_ALLOW, CAUSE_RULES);
			expect_decision(&built, &other, POLICY_REVIEW, CAUSE_RULES);
		}
	}
}

static const struct test tests[] = {
	TEST(denies_what_no_rule_allows),
	TEST(the_default_of_each_class_is_its_own),
	TEST(the_most_severe_action_wins),
	TEST(names_every_rule_that_has_the_verdict),
	TEST(all_keys_must_hold_and_any_value_of_each),
	TEST(a_rule_with_an_empty_list_never_holds),
	TEST(exclusion_wins_at_any_position),
	TEST(rules_are_about_their_operations_only),
	TEST(an_exception_that_holds_makes_a_rule_pass),
	TEST(a_broken_constraint_takes_the_permission_back),
	TEST(a_program_must_have_the_digest_of_its_rule),
	TEST(a_digest_does_not_weaken_a_denial),
	TEST(a_required_token_must_be_given),
	TEST(a_constraint_of_one_rule_leaves_another_rule_alone),
	TEST(a_broken_constraint_is_not_healed_by_the_default),
	TEST(answers_with_the_strictest_constraints),
	TEST(the_strictest_permission_says_what_is_demanded_of_tls),
	TEST(a_refusal_and_a_default_lift_no_demand_of_tls),
	TEST(a_file_that_narrows_lifts_no_demand_of_tls),
	TEST(a_file_that_narrows_cannot_widen),
	TEST(a_file_that_narrows_can_deny_and_ask_for_a_review),
	TEST(a_file_that_narrows_does_not_lean_on_a_broken_permission),
	TEST(a_token_skips_the_rules_but_no_built_in_rule),
	TEST(no_rule_outweighs_a_built_in_denial),
	TEST(protects_the_paths_that_the_engine_was_given),
	TEST(a_built_in_review_outweighs_permissions_and_no_denials),
	TEST(works_without_any_built_in_rule),
	TEST(denies_requests_that_cannot_be_judged),
	TEST(judges_the_longest_path),
	TEST(tells_components_of_any_length_apart),
	TEST(finds_a_slash_at_any_offset),
	TEST(wants_the_projects_root_for_rules_below_it),
	TEST(wants_the_port_for_rules_about_ports),
	TEST(tools_can_have_arguments),
	TEST(decisions_leave_no_trace),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
