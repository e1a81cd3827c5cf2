/* SPDX-License-Identifier: MIT */

/*
 * The normative cases of policy evaluation, each as a test named after it. Each takes the whole
 * path of a request: a policy file, the server's evaluation, and the answer to the client. The
 * comment of a test has the number of its case.
 */

#include "server-rig.h"

#include "policy/guarded.h"
#include "policy/check.h"
#include "policy/model.h"

#define RULE(name, action, match)                                                                  \
	"  - { name: " name ", match: { " match " }, action: " action " }\n"
#define WRITE_SRC "syscall: fs.write, path_glob: [\"/srv/p/src/**\"]"
#define ALLOW_SRC RULE("allow-src", "allow", WRITE_SRC)
#define DENY_SRC RULE("deny-src", "deny", WRITE_SRC)
#define REVIEW_SRC RULE("review-src", "require_review", WRITE_SRC)
#define POLICY "capabilities:\n"
#define NO_RULES "capabilities: []\n"
#define EXTENSION(script) "extensions:\n  - { name: probe, command: [/bin/sh, -c, '" script "'] }\n"
/* Answers every question with ACTION. */
#define VOTES(action)                                                                              \
	EXTENSION(                                                                                 \
		"while read -r l; do n=${l#*:}; printf \"{\\\"n\\\":%s,\\\"action\\\":\\\"" action \
		"\\\"}\\n\" \"${n%%,*}\"; done")

#define ASK_SRC "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/a.c\"}"
#define SRC "\"op\":\"fs.write\",\"path\":\"/srv/p/src/a.c\""
#define TOKEN_SRC "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/**\""

static void expect_answer(const char *policy, const char *request, const char *verdict,
			  const char *also)
{
	_cleanup_rig_ struct rig rig;
	const char *answer;

	rig_init(&rig, policy);
	answer = rig_ask_patiently(&rig, request);
	expect(is_verdict(answer, verdict));
	expect(!also || has(answer, also));
}

/* 1 */
static void no_rules_match_so_default_deny(void)
{
	expect_answer(POLICY ALLOW_SRC, "{\"op\":\"fs.write\",\"path\":\"/etc/passwd\"}", "deny",
		      "no rule explicitly allowed this operation");
}

/* 2 */
static void only_pass_rules_so_default_deny(void)
{
	expect_answer(POLICY RULE("nothing", "pass", WRITE_SRC), ASK_SRC, "deny",
		      "no rule explicitly allowed this operation");
}

/* 3 */
static void one_allow_and_one_deny_so_deny_wins(void)
{
	expect_answer(POLICY ALLOW_SRC DENY_SRC, ASK_SRC, "deny", "\"deny-src\"");
	expect_answer(POLICY DENY_SRC ALLOW_SRC, ASK_SRC, "deny", "\"deny-src\"");
}

/* 4 */
static void one_allow_and_one_require_review_so_require_review_wins(void)
{
	expect_answer(POLICY ALLOW_SRC REVIEW_SRC, ASK_SRC, "require_review", "\"review-src\"");
	expect_answer(POLICY REVIEW_SRC ALLOW_SRC, ASK_SRC, "require_review", "\"review-src\"");
}

/* 5: the built-in rules do not object, and a rule allows it. */
static void deny_in_the_extension_layer_wins_because_allow_does_not_short_circuit(void)
{
	expect_answer(POLICY ALLOW_SRC VOTES("deny"), ASK_SRC, "deny", "\"extension\":\"probe\"");
}

#define REVIEW_EXCEPT                                                                              \
	"  - name: review-src\n    match: { " WRITE_SRC " }\n    action: require_review\n"         \
	"    except:\n      - { path_glob: [\"/srv/p/src/tests/**\"] }\n"                          \
	"      - { caller_tag: [trusted_write] }\n"

/* 6: the request passes this rule, and is denied by default, or allowed by another rule. */
static void require_review_with_an_except_that_matches_passes(void)
{
	const char *request = "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/tests/a.c\"}";

	expect_answer(POLICY REVIEW_EXCEPT, request, "deny",
		      "no rule explicitly allowed this operation");
	expect_answer(POLICY REVIEW_EXCEPT ALLOW_SRC, request, "allow", "\"allow-src\"");
}

/* 7 */
static void valid_token_and_built_in_deny_so_deny(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, POLICY ALLOW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/etc/**\"");
	answer = rig_ask_with(&rig, token, "\"op\":\"fs.write\",\"path\":\"/etc/sbx/p.yaml\"");
	expect(is_verdict(answer, "deny"));
	expect(has(answer, "\"cause\":\"builtin\""));
	expect(has(answer, "\"token\":\"valid\""));
}

/* 8 */
static void valid_token_and_no_built_in_objection_so_allow(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, POLICY REVIEW_SRC VOTES("deny"));
	expect(is_verdict(rig_ask(&rig, ASK_SRC), "deny"));
	token = rig_token(&rig, TOKEN_SRC);
	answer = rig_ask_with(&rig, token, SRC);
	expect(is_verdict(answer, "allow"));
	expect(has(answer, "\"cause\":\"token\""));
}

/* 9 */
static void expired_token_so_full_evaluation(void)
{
	_cleanup_rig_ struct rig rig;
	char packet[256];
	const char *answer;

	rig_init(&rig, POLICY REVIEW_SRC);
	(void)snprintf(packet, sizeof(packet), "{\"token\":\"%s\"," SRC "}",
		       rig_token(&rig, TOKEN_SRC));
	answer = rig_ask_at(&rig, packet, rig_now() + 31000000);
	expect(is_verdict(answer, "require_review"));
	expect(has(answer, "\"token\":\"expired\""));
}

/* 10 */
static void several_require_review_rules_so_all_reasons_are_aggregated(void)
{
	_cleanup_rig_ struct rig rig;
	const char *answer;

	rig_init(&rig,
		 POLICY "  - { name: a, match: { " WRITE_SRC
			" }, action: require_review, reason: 'one' }\n"
			"  - { name: b, match: { " WRITE_SRC " }, action: allow, reason: 'none' }\n"
			"  - { name: c, match: { " WRITE_SRC
			" }, action: require_review, reason: 'two' }\n");
	answer = rig_ask(&rig, ASK_SRC);
	expect(is_verdict(answer, "require_review"));
	expect(has(answer, "\"reasons\":[\"one\",\"two\"]"));
}

/* 11: the extension would create a file if it were asked. */
static void yaml_deny_and_extension_allow_so_deny_and_the_extension_never_executes(void)
{
	_cleanup_rig_ struct rig rig;
	char policy[1024], asked[64];

	rig_init(&rig, NO_RULES);
	(void)snprintf(asked, sizeof(asked), "%s/asked", rig.directory);
	(void)snprintf(
		policy, sizeof(policy),
		POLICY DENY_SRC REVIEW_SRC
		"extensions:\n  - { name: probe, command: [/bin/sh, -c, 'read -r l; "
		": >%s; echo \"{\\\"n\\\":1,\\\"action\\\":\\\"allow\\\"}\"; read -r l'] }\n",
		asked);
	rig_write(&rig, policy);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask(&rig, ASK_SRC), "deny"));
	expect(access(asked, F_OK) < 0);
	/* If no rule denies, the extension is asked. */
	expect(is_verdict(rig_ask(&rig, "{\"op\":\"fs.write\",\"path\":\"/srv/p/b\"}"), "allow"));
	expect(unlink(asked) == 0);
}

/* 12 */
static void the_syscall_matches_but_the_path_does_not_so_the_rule_does_not_apply(void)
{
	expect_answer(POLICY DENY_SRC RULE("rest", "allow", "syscall: fs.write"),
		      "{\"op\":\"fs.write\",\"path\":\"/srv/p/doc/a\"}", "allow", "\"rest\"");
}

/* 13 */
static void require_review_and_the_except_does_not_match_so_require_review(void)
{
	expect_answer(POLICY "  - name: r\n    match: { " WRITE_SRC
			     " }\n    action: require_review\n"
			     "    except:\n      - { path_glob: [\"/srv/p/src/tests/**\"] }\n",
		      ASK_SRC, "require_review", NULL);
}

/* 14 */
static void several_excepts_and_one_matches_so_pass(void)
{
	expect_answer(POLICY REVIEW_EXCEPT ALLOW_SRC,
		      "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/a.c\","
		      "\"tags\":[\"other\",\"trusted_write\"]}",
		      "allow", "\"allow-src\"");
}

/* 15 */
static void several_excepts_and_none_match_so_require_review(void)
{
	expect_answer(POLICY REVIEW_EXCEPT ALLOW_SRC,
		      "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/a.c\",\"tags\":[\"other\"]}",
		      "require_review", "\"review-src\"");
}

/* 16 */
static void several_allow_rules_and_no_deny_or_review_so_allow(void)
{
	expect_answer(POLICY ALLOW_SRC RULE("allow-all", "allow", "syscall: fs.write"), ASK_SRC,
		      "allow", "\"allow-all\"");
}

/* 17 */
static void allow_across_layers_so_allow(void)
{
	expect_answer(POLICY ALLOW_SRC VOTES("allow"), ASK_SRC, "allow", NULL);
	expect_answer(NO_RULES VOTES("allow"), ASK_SRC, "allow", "\"extension\":\"probe\"");
}

/* 18 */
static void without_built_in_rules_the_system_still_works(void)
{
	static const struct builtin_rule nothing[] = { { .name = NULL } };
	struct policy_request request = { .operation = "policy.update" };
	uint64_t bit = operation_set("policy.update");

	expect(builtin_judge(builtin_rules(), &request, bit, NULL) != NULL);
	expect(builtin_judge(nothing, &request, bit, NULL) == NULL);
}

/* 19 */
static void an_empty_file_so_default_deny_and_only_built_in_rules(void)
{
	expect_answer("", ASK_SRC, "deny", "\"cause\":\"default\"");
	expect_answer(NO_RULES, ASK_SRC, "deny", "\"cause\":\"default\"");
	expect_answer("", "{\"op\":\"fs.write\",\"path\":\"/etc/sbx/p.yaml\"}", "deny",
		      "\"cause\":\"builtin\"");
	expect_answer("", "{\"op\":\"policy.update\"}", "require_review", "\"cause\":\"builtin\"");
}

/* The only built-in rule that is a default: a rule of the file can allow the same request. */
static void a_container_in_debug_mode_is_reviewed_unless_a_rule_allows_it(void)
{
	static const char ask[] = "{\"op\":\"container.run\",\"mode\":\"debug\"}";
	static const char allows[] =
		"version: 1\ncapabilities:\n"
		"  - { name: enter, match: { op: container.run, mode: debug }, action: allow }\n";

	expect_answer("", ask, "require_review", "\"cause\":\"builtin\"");
	expect_answer(allows, ask, "allow", "\"cause\":\"rules\"");
	expect_answer(allows, "{\"op\":\"container.run\",\"mode\":\"strict\"}", "deny",
		      "\"cause\":\"builtin\"");
}

/* 20: the extension exits at its first question, and is restarted for the next. */
static void the_extension_crashes_so_deny_and_a_restart_attempt(void)
{
	_cleanup_rig_ struct rig rig;
	char policy[1024], crashed[64];
	uint64_t end;

	rig_init(&rig, NO_RULES);
	(void)snprintf(crashed, sizeof(crashed), "%s/crashed", rig.directory);
	(void)snprintf(
		policy, sizeof(policy),
		POLICY ALLOW_SRC
		"extensions:\n  - { name: probe, command: [/bin/sh, -c, 'while read -r l; do "
		"test -e %s || { : >%s; exit 1; }; n=${l#*:}; "
		"printf \"{\\\"n\\\":%%s,\\\"action\\\":\\\"pass\\\"}\\n\" \"${n%%%%,*}\"; "
		"done'] }\n",
		crashed, crashed);
	rig_write(&rig, policy);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask(&rig, ASK_SRC), "deny"));
	expect(has(text_string(&rig.question.answer), "\"extension\":\"probe\""));
	end = rig_now() + DEADLINE_USEC;
	while (!strstr(rig_ask(&rig, ASK_SRC), "\"verdict\":\"allow\"") && rig_now() < end)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(is_verdict(text_string(&rig.question.answer), "allow"));
	expect(unlink(crashed) == 0);
}

/* 21 */
static void token_uses_exhausted_so_it_is_invalid_and_evaluation_falls_through(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, POLICY REVIEW_SRC);
	token = rig_token(&rig, TOKEN_SRC ",\"uses\":2");
	expect(is_verdict(rig_ask_with(&rig, token, SRC), "allow"));
	expect(is_verdict(rig_ask_with(&rig, token, SRC), "allow"));
	answer = rig_ask_with(&rig, token, SRC);
	expect(is_verdict(answer, "require_review"));
	expect(has(answer, "\"token\":\"exhausted\""));
}

/* 22: a token that is valid at the start of the decision stays valid until its end; one microsecond
 * later it is expired. */
static void at_the_end_of_its_life_one_snapshot_of_time_decides(void)
{
	_cleanup_rig_ struct rig rig;
	char packet[256];
	uint64_t issued;

	rig_init(&rig, POLICY REVIEW_SRC);
	(void)snprintf(packet, sizeof(packet),
		       "{\"do\":\"token.issue\",\"pid\":%d," TOKEN_SRC
		       ",\"uses\":9,\"ttl\":\"10s\"}",
		       (int)getpid());
	issued = rig_now();
	expect(has(rig_ask_at(&rig, packet, issued), "\"expires_in\":\"10s\""));
	(void)snprintf(packet, sizeof(packet), "{\"token\":\"%.32s\"," SRC "}",
		       strstr(text_string(&rig.question.answer), "\"token\":\"") + 9);
	expect(is_verdict(rig_ask_at(&rig, packet, issued + 9999999), "allow"));
	expect(is_verdict(rig_ask_at(&rig, packet, issued + 10000000), "require_review"));
}

/* 23 */
static void token_of_another_sandbox_is_invalid(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, POLICY REVIEW_SRC);
	token = rig_token(&rig, TOKEN_SRC ",\"sandbox_id\":\"box1\"");
	answer = rig_ask_with(&rig, token, SRC ",\"sandbox_id\":\"box2\"");
	expect(is_verdict(answer, "require_review"));
	expect(has(answer, "\"token\":\"wrong_sandbox\""));
	expect(is_verdict(rig_ask_with(&rig, token, SRC ",\"sandbox_id\":\"box1\""), "allow"));
}

/* 24 */
static void an_unknown_operation_so_default_deny(void)
{
	expect_answer(POLICY RULE("all", "allow", "syscall: \"*\""), "{\"op\":\"fs.format\"}",
		      "deny", NULL);
}

static void count_warning(const struct policy_warning *warning, void *userdata)
{
	(*(size_t *)userdata)++;
}

static size_t count_warnings(const char *text)
{
	_cleanup_policy_ struct policy *policy = NULL;
	size_t n = 0;

	expect_eq(policy_load("p.yaml", text, strlen(text), &policy, NULL), 0);
	expect(policy_check(policy, count_warning, &n) >= 0);
	return n;
}

/* 25 */
static void an_empty_path_glob_matches_no_path_and_gives_a_warning(void)
{
	static const char policy[] =
		POLICY RULE("none", "allow", "syscall: fs.write, path_glob: []");

	expect_answer(policy, ASK_SRC, "deny", NULL);
	expect(count_warnings(policy) > 0);
}

/* 26 */
static void match_and_except_alike_so_the_rule_never_triggers_and_gives_a_warning(void)
{
	static const char policy[] = POLICY ALLOW_SRC
		"  - name: never\n    match: { " WRITE_SRC " }\n    action: require_review\n"
		"    except:\n      - { path_glob: [\"/srv/p/src/**\"] }\n";

	expect_answer(policy, ASK_SRC, "allow", NULL);
	expect(count_warnings(policy) > 0);
}

static const struct test tests[] = {
	TEST(no_rules_match_so_default_deny),
	TEST(only_pass_rules_so_default_deny),
	TEST(one_allow_and_one_deny_so_deny_wins),
	TEST(one_allow_and_one_require_review_so_require_review_wins),
	TEST(deny_in_the_extension_layer_wins_because_allow_does_not_short_circuit),
	TEST(require_review_with_an_except_that_matches_passes),
	TEST(valid_token_and_built_in_deny_so_deny),
	TEST(valid_token_and_no_built_in_objection_so_allow),
	TEST(expired_token_so_full_evaluation),
	TEST(several_require_review_rules_so_all_reasons_are_aggregated),
	TEST(yaml_deny_and_extension_allow_so_deny_and_the_extension_never_executes),
	TEST(the_syscall_matches_but_the_path_does_not_so_the_rule_does_not_apply),
	TEST(require_review_and_the_except_does_not_match_so_require_review),
	TEST(several_excepts_and_one_matches_so_pass),
	TEST(several_excepts_and_none_match_so_require_review),
	TEST(several_allow_rules_and_no_deny_or_review_so_allow),
	TEST(allow_across_layers_so_allow),
	TEST(without_built_in_rules_the_system_still_works),
	TEST(an_empty_file_so_default_deny_and_only_built_in_rules),
	TEST(a_container_in_debug_mode_is_reviewed_unless_a_rule_allows_it),
	TEST(the_extension_crashes_so_deny_and_a_restart_attempt),
	TEST(token_uses_exhausted_so_it_is_invalid_and_evaluation_falls_through),
	TEST(at_the_end_of_its_life_one_snapshot_of_time_decides),
	TEST(token_of_another_sandbox_is_invalid),
	TEST(an_unknown_operation_so_default_deny),
	TEST(an_empty_path_glob_matches_no_path_and_gives_a_warning),
	TEST(match_and_except_alike_so_the_rule_never_triggers_and_gives_a_warning),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
