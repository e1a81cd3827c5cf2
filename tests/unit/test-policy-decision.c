/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "policy/request.h"

#include "policy-rig.h"
#include "test.h"

static const char yaml[] = "version: 1\n"
			   "capabilities:\n"
			   "  - name: source\n"
			   "    match: { syscall: fs.write, path_glob: src/** }\n"
			   "    action: allow\n"
			   "    constraints: { require_sandbox: L2, max_file_size: 100KiB }\n"
			   "  - name: ci\n"
			   "    match: { syscall: fs.write, path_glob: .github/** }\n"
			   "    action: deny\n"
			   "    reason: people change these\n"
			   "  - name: manifest\n"
			   "    match: { syscall: fs.write, path_glob: package.json }\n"
			   "    action: require_review\n"
			   "    reason: dependencies\n"
			   "  - name: json\n"
			   "    match: { syscall: fs.write, path_glob: \"*.json\" }\n"
			   "    action: require_review\n"
			   "    reason: configuration\n"
			   "  - name: read\n"
			   "    match: { syscall: fs.read }\n"
			   "    action: allow\n"
			   "  - name: commit\n"
			   "    match: { syscall: git.commit }\n"
			   "    action: deny\n"
			   "  - { name: web, match: { syscall: net.connect, ports: 443 }, action: "
			   "allow }\n"
			   "fs:\n"
			   "  rules:\n"
			   "    - { action: deny, path: /etc/shadow, perms: [read_file] }\n";

static void expect_part(const char *text, const char *part)
{
	if (strstr(text, part))
		return;
	printf("# '%s' is not in:\n# %s\n", part, text);
	expect(!"the part stands in the text");
}

static void a_default_denial_shows_the_rule_to_add(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_str(rig_text(&rig, "fs.write /srv/p/doc/a.md project=/srv/p"),
		   "denied: fs.write '/srv/p/doc/a.md'\n"
		   "  why: no rule explicitly allowed this operation\n"
		   "  fix: add to p.yaml under 'capabilities:'\n"
		   "      - name: allow-fs-write-a.md\n"
		   "        match: { syscall: fs.write, path: \"./doc/a.md\" }\n"
		   "        action: allow\n");
}

/* The kernel reads a program that it executes. */
static void a_denied_program_gets_a_rule_that_also_lets_it_be_read(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_part(rig_text(&rig, "exec /srv/p/tool project=/srv/p"),
		    "        match: { syscall: [exec, fs.read], path: \"./tool\" }\n");
}

static void a_denial_names_the_rule_its_place_and_its_reason(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	const char *text;

	rig_open(&rig, yaml);
	text = rig_text(&rig, "fs.write /srv/p/.github/x.yml project=/srv/p");
	expect_part(text, "denied: fs.write '/srv/p/.github/x.yml'\n");
	expect_part(text, "  why: rule 'ci' (p.yaml:7) denies it: people change these\n");
	expect_part(text, "  fix: add to rule 'ci' (p.yaml:7)\n"
			  "      except:\n"
			  "        - { path: \"./.github/x.yml\" }\n");
}

static void all_reasons_of_a_review_are_there(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	const char *text;

	rig_open(&rig, yaml);
	text = rig_text(&rig, "fs.write /srv/p/package.json project=/srv/p");
	expect_part(text, "needs review: fs.write '/srv/p/package.json'\n");
	expect_part(text, "rule 'manifest' (p.yaml:11) wants it reviewed: dependencies\n");
	expect_part(text, "rule 'json' (p.yaml:15) wants it reviewed: configuration\n");
	expect_part(text, "fix: let a person review it, or add to rule 'manifest' (p.yaml:11), and "
			  "to rule 'json' (p.yaml:15)\n");
	text = rig_json(&rig, "fs.write /srv/p/package.json project=/srv/p");
	expect_part(text, "\"reasons\":[\"dependencies\",\"configuration\"]");
}

static void a_rule_that_has_no_exceptions_is_not_given_one(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_part(rig_text(&rig, "fs.read /etc/shadow project=/srv/p"),
		    "fix: write under 'capabilities:', where rules can have exceptions, rule "
		    "'fs.rules[0]'");
}

static void a_denial_that_nothing_tells_apart_shows_the_action(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_part(rig_text(&rig, "git.commit"),
		    "  fix: change the action of rule 'commit' (p.yaml:22)\n");
	expect_part(rig_text(&rig, "git.commit caller=bot"), "      except:\n"
							     "        - { caller: \"bot\" }\n");
}

static void an_allowed_request_shows_rule_and_constraints(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_str(rig_text(&rig, "fs.write /srv/p/src/a.c project=/srv/p sandbox=L2 size=1"),
		   "allowed: fs.write '/srv/p/src/a.c'\n"
		   "  why: rule 'source' (p.yaml:3) allows it\n"
		   "  but: only in a sandbox of level L2\n"
		   "  but: at most 100KiB of a file\n");
}

static void an_answer_says_that_nothing_is_demanded_of_tls(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	_cleanup_text_ struct text json = TEXT_INIT;

	rig_open(&rig, "version: 1\n"
		       "net: {rules: [{action: allow, host: a.example, tls: any},\n"
		       "              {action: allow, host: b.example}]}\n");
	expect_part(rig_text(&rig, "net.connect a.example:22"), "  tls: any: ");
	expect_eq(rig_ask(&rig, "net.connect a.example:22"), POLICY_ALLOW);
	decision_add_json(&json, &rig.artefact, &rig.buffer, &rig.decision);
	expect_part(text_string(&json), "\"constraints\":{\"tls\":\"any\"}");
	expect_eq(rig_ask(&rig, "net.connect b.example:22"), POLICY_ALLOW);
	text_reset(&json);
	decision_add_json(&json, &rig.artefact, &rig.buffer, &rig.decision);
	expect_part(text_string(&json), "\"constraints\":{}");
}

static void an_unmet_constraint_says_how_to_meet_it(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_eq(rig_ask(&rig, "fs.write /srv/p/src/a.c project=/srv/p size=1"), POLICY_DENY);
	expect_eq(rig.decision.cause, CAUSE_CONSTRAINT);
	expect_part(rig_text(&rig, "fs.write /srv/p/src/a.c project=/srv/p size=1"),
		    "  fix: run it in a sandbox of level L2");
	expect_part(rig_text(&rig, "fs.write /srv/p/src/a.c project=/srv/p sandbox=L2 size=200KiB"),
		    "  fix: write at most 100KiB");
}

static void an_unknown_operation_names_the_one_that_was_meant(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	expect_eq(rig_ask(&rig, "fs.wirte /a"), POLICY_DENY);
	expect_part(rig_text(&rig, "fs.wirte /a"), "  fix: did you mean 'fs.write'?\n");
	expect_part(rig_text(&rig, "fs.read /a/../b"), "  fix: give the argument as an absolute");
	expect_part(rig_text(&rig, "fs.read"), "  fix: name the path after the operation\n");
	expect_part(rig_text(&rig, "net.connect"), "  fix: name the host after the operation\n");
	expect_part(rig_text(&rig, "net.connect a.org:80 proto=http"),
		    "  fix: write proto=tcp or proto=udp\n");
}

static void a_built_in_denial_offers_no_yaml(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	_cleanup_text_ struct text fix = TEXT_INIT;

	rig_open(&rig, "version: 1\ncapabilities:\n  - { name: all, match: { syscall: \"*\" }, "
		       "action: allow }\n");
	expect_part(rig_text(&rig, "fs.write /etc/sbx/policy.yaml"), "built-in rule '");
	expect_part(text_string(&rig.text), "  fix: there is none");
	decision_add_fix(&fix, &rig.artefact, &rig.buffer, &rig.decision);
	expect(!strchr(text_string(&fix), '{'));
}

static void every_refusal_has_a_fix_in_json_too(void)
{
	static const struct {
		const char *request, *fix;
	} rows[] = {
		{ "fs.write /etc/sbx/policy.yaml project=/srv/p", "there is none: no policy" },
		{ "policy.update", "let a person review it" },
		{ "fs.write /srv/p/src/a.c",
		  "name the project's root: project=/DIRECTORY, in JSON the member 'project'" },
		{ "net.connect ex_ample..com:443", "write the host as a name" },
		{ "net.connect [::1", "name the host with its port" },
		{ "net.bind [::1", "write the host as a name" },
		{ "net.connect example.com", "name the host with its port" },
	};
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	rig_open(&rig, yaml);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *text = rig_json(&rig, rows[i].request);

		expect_part(text, "\"fix\":\"");
		expect_part(text, rows[i].fix);
	}
}

static void a_denial_of_an_extension_says_which_to_ask(void)
{
	static const struct policy_vote vote = { "checker", POLICY_DENY, "no" };
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	_cleanup_text_ struct text fix = TEXT_INIT;

	rig_open(&rig, yaml);
	rig_text(&rig, "fs.read /srv/a project=/srv/p");
	policy_add_votes(&rig.decision, &vote, 1);
	expect_eq(rig.decision.cause, CAUSE_EXTENSION);
	decision_add_fix(&fix, &rig.artefact, &rig.buffer, &rig.decision);
	expect_str(text_string(&fix), "do what the extension 'checker' asks for, or change its "
				      "program under 'extensions:' in p.yaml\n");
}

#define TEXT_50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_NAME TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50

/* The proposed rule, added to the policy, must allow the same request. */
static void the_rule_that_is_proposed_allows_the_request(void)
{
	static const char *const requests[] = {
		"fs.write /srv/p/doc/a.md",
		"fs.read /srv/[a]*!?.c",
		"exec /bin/x",
		"net.connect example.com:443",
		"net.connect 10.0.0.1:80",
		"net.connect [2001:db8::1]:80",
		"fs.read /srv/\"\\\xc3\xbc\xe2\x80\xae\x1b\x7f#:{}'",
		"git.commit caller=bot",
		"fs.write /srv/p/doc/*[!a] project=/srv/p",
		"fs.write /srv/p/..a/.b project=/srv/p",
		"fs.list /srv/p project=/srv/p",
		"fs.list /srv/p2/a project=/srv/p",
		"fs.list / project=/",
		"fs.list /a project=/",
		/* Longer than the name of a rule may be. */
		"fs.read /srv/" LONG_NAME,
	};

	for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
		_cleanup_rig_ struct rig before = { .policy = NULL }, after = { .policy = NULL };
		_cleanup_text_ struct text fix = TEXT_INIT, fixed = TEXT_INIT;

		rig_open(&before, "version: 1\ncapabilities: []\n");
		expect_eq(rig_ask(&before, requests[i]), POLICY_DENY);
		decision_add_fix(&fix, &before.artefact, &before.buffer, &before.decision);
		expect(strchr(text_string(&fix), '\n') != NULL);
		text_add(&fixed, "version: 1\ncapabilities:\n");
		text_add(&fixed, strchr(text_string(&fix), '\n') + 1);
		rig_open(&after, text_string(&fixed));
		if (rig_ask(&after, requests[i]) != POLICY_ALLOW)
			printf("# %s\n%s", requests[i], text_string(&fixed));
		expect_eq(after.decision.verdict, POLICY_ALLOW);
	}
}

static void nothing_of_a_request_reaches_the_terminal_raw(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	const char *text;

	rig_open(&rig, yaml);
	text = rig_text(&rig, "fs.write /srv/\x1b[31m\xe2\x80\xae\n/x project=/srv");
	expect(strchr(text, '\x1b') == NULL);
	expect(strstr(text, "\xe2\x80\xae") == NULL);
	expect(strstr(text, "\n/x") == NULL);
}

static void a_decision_is_one_line_with_everything_in_it(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };
	const char *text;

	rig_open(&rig, yaml);
	rig_read(&rig, "fs.write /srv/p/.github/x project=/srv/p tag=a");
	text = rig_json(&rig, "fs.write /srv/p/.github/x project=/srv/p tag=a");
	expect_part(text, "{\"verdict\":\"deny\",\"cause\":\"rules\",\"rules\":[{\"name\":\"ci\","
			  "\"action\":\"deny\",\"file\":\"p.yaml\",\"line\":7,\"column\":5}],"
			  "\"reasons\":[\"people change these\"],\"constraints\":{}");
	expect_part(text, "\"input\":{\"op\":\"fs.write\",\"path\":\"/srv/p/.github/x\","
			  "\"project\":\"/srv/p\",\"tags\":[\"a\"]}}\n");
	expect_part(text, "\"policy\":\"");
	expect_part(text, "\"fix\":\"add to rule");
	expect_eq(json_validate(text, strlen(text), NULL, NULL), 0);
	expect(strchr(text, '\n') == text + strlen(text) - 1);
}

static void a_decision_repeats_the_id_as_it_was(void)
{
	static const char *const ids[] = { "7", "\"a\\\"b\\u0041\"", "-1.5e3" };

	for (size_t i = 0; i < N_ELEMENTS(ids); i++) {
		_cleanup_rig_ struct rig rig = { .policy = NULL };
		_cleanup_text_ struct text line = TEXT_INIT, begin = TEXT_INIT;

		rig_open(&rig, yaml);
		text_addf(&line,
			  "{\"op\":\"fs.read\",\"path\":\"/a\",\"project\":\"/p\",\"id\":%s}",
			  ids[i]);
		text_addf(&begin, "{\"id\":%s,\"verdict\":\"allow\"", ids[i]);
		expect_eq(request_parse(line.data, line.len, &rig.buffer, NULL), 0);
		policy_decide(rig.engine, &rig.buffer.request, &rig.decision);
		decision_add_json(&rig.text, &rig.artefact, &rig.buffer, &rig.decision);
		expect(strncmp(text_string(&rig.text), begin.data, begin.len) == 0);
		expect_eq(json_validate(rig.text.data, rig.text.len, NULL, NULL), 0);
	}
}

static void the_status_of_a_verdict_is_the_contract(void)
{
	expect_eq(decision_status(POLICY_ALLOW), 0);
	expect_eq(decision_status(POLICY_WARN), 0);
	expect_eq(decision_status(POLICY_DENY), 1);
	expect_eq(decision_status(POLICY_REVIEW), 3);
	/* "pass" is never a verdict; if it were, it must not count as yes. */
	expect_eq(decision_status(POLICY_PASS), 1);
}

static const struct test tests[] = {
	TEST(a_default_denial_shows_the_rule_to_add),
	TEST(a_denied_program_gets_a_rule_that_also_lets_it_be_read),
	TEST(a_denial_names_the_rule_its_place_and_its_reason),
	TEST(all_reasons_of_a_review_are_there),
	TEST(a_rule_that_has_no_exceptions_is_not_given_one),
	TEST(a_denial_that_nothing_tells_apart_shows_the_action),
	TEST(an_allowed_request_shows_rule_and_constraints),
	TEST(an_answer_says_that_nothing_is_demanded_of_tls),
	TEST(an_unmet_constraint_says_how_to_meet_it),
	TEST(an_unknown_operation_names_the_one_that_was_meant),
	TEST(a_built_in_denial_offers_no_yaml),
	TEST(every_refusal_has_a_fix_in_json_too),
	TEST(a_denial_of_an_extension_says_which_to_ask),
	TEST(the_rule_that_is_proposed_allows_the_request),
	TEST(nothing_of_a_request_reaches_the_terminal_raw),
	TEST(a_decision_is_one_line_with_everything_in_it),
	TEST(a_decision_repeats_the_id_as_it_was),
	TEST(the_status_of_a_verdict_is_the_contract),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
