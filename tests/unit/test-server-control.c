/* SPDX-License-Identifier: MIT */

#include "server-rig.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/json.h"

#define ALLOW_SRC                                                                                  \
	"capabilities:\n"                                                                          \
	"  - { name: src, match: { syscall: fs.write, path_glob: [\"/srv/p/src/**\"] }, "          \
	"action: allow }\n"
#define REVIEW_SRC                                                                                 \
	"capabilities:\n"                                                                          \
	"  - { name: src, match: { syscall: fs.write, path_glob: [\"/srv/p/src/**\"] }, "          \
	"action: require_review }\n"
#define DENY_SECRET                                                                                 \
	"  - { name: secret, match: { syscall: fs.write, path_glob: [\"/srv/p/src/secret/**\"] }, " \
	"action: deny }\n"

#define DENY_PORT "  - { name: ssh, match: { syscall: net.connect, ports: 22 }, action: deny }\n"
#define DENY_TAG                                                                                    \
	"  - { name: tagged, match: { syscall: fs.write, path: /srv/q, caller_tag: third_party }, " \
	"action: deny }\n"
#define DENY_HOST                                                                                  \
	"  - { name: evil, match: { syscall: net.connect, host: evil.example }, action: deny }\n"

#define CONNECT(host, port) "\"op\":\"net.connect\",\"host\":\"" host "\",\"port\":" port
#define WRITE(path) "\"op\":\"fs.write\",\"path\":\"" path "\""

static void a_reload_ends_tokens_that_the_new_policy_denies(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token;

	rig_init(&rig, REVIEW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/a\",\"uses\":9");
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "allow"));
	rig_write(&rig, REVIEW_SRC "# changed\n");
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "allow"));
	/* Without a rule only a token allows the request. */
	rig_write(&rig, "capabilities: []\n");
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "allow"));
	rig_write(&rig, "capabilities:\n  - { name: src, match: { syscall: fs.write, "
			"path: /srv/p }, action: deny }\n");
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(has(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "\"token\":\"unknown\""));
}

/* The new policy denies a part of the token's scope. */
static void a_token_ends_with_a_policy_that_denies_some_of_what_it_is_for(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, REVIEW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/**\",\"uses\":9");
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/secret/a")), "allow"));
	rig_write(&rig, REVIEW_SRC DENY_SECRET);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	answer = rig_ask_with(&rig, token, WRITE("/srv/p/src/secret/a"));
	expect(is_verdict(answer, "deny") && has(answer, "\"token\":\"unknown\""));
	expect(!strstr(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "\"allow\""));
}

static void a_token_is_for_no_other_project(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token;

	rig_init(&rig,
		 "capabilities:\n"
		 "  - { name: secret, match: { syscall: fs.write, path_glob: \"secret/**\" }, "
		 "action: deny }\n");
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"src/**\","
				"\"project\":\"/srv/p\",\"uses\":9");
	expect(is_verdict(rig_ask_with(&rig, token,
				       WRITE("/srv/p/src/a") ",\"project\":\"/srv/p\""),
			  "allow"));
	expect(has(rig_ask_with(&rig, token,
				WRITE("/srv/p/src/secret/a") ",\"project\":\"/srv/p/src\""),
		   "\"token\":\"wrong_argument\""));
}

static const char *try_issue_at(struct rig *rig, const char *terms, uint64_t now_usec)
{
	char packet[256];

	(void)snprintf(packet, sizeof(packet), "{\"do\":\"token.issue\",\"pid\":%d,%s}",
		       (int)getpid(), terms);
	return rig_ask_at(rig, packet, now_usec);
}

static const char *try_issue(struct rig *rig, const char *terms)
{
	return try_issue_at(rig, terms, rig_now());
}

static void no_token_is_issued_for_what_a_rule_denies(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, REVIEW_SRC DENY_SECRET);
	expect(has(try_issue(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/secret/x\""),
		   "the policy denies"));
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"tokens\":0,"));
}

/* Without its project the policy cannot decide whether a rule denies the scope. */
static void no_token_is_issued_for_what_cannot_be_judged(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, "capabilities:\n"
		       "  - { name: src, match: { syscall: fs.write, path_glob: \"src/**\" }, "
		       "action: allow }\n" DENY_SECRET DENY_PORT);
	expect(has(try_issue(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/secret/**\""),
		   "no project is named"));
	expect(has(try_issue(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/secret/**\""),
		   "--project=DIR"));
	expect(has(try_issue(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/secret/**\","
				   "\"project\":\"/srv/p\""),
		   "the policy denies"));
	expect(has(try_issue(&rig, "\"op\":\"net.connect\",\"glob\":\"a.example\""), "rule 'ssh'"));
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"tokens\":0,"));
}

static void no_token_is_issued_for_more_than_the_rules_leave(void)
{
	static const char *const terms[] = {
		"\"op\":\"fs.write\"",
		"\"op\":\"fs.write\",\"glob\":\"/srv/**\"",
		"\"op\":\"fs.write\",\"glob\":\"/srv/p/src/*/a\"",
		"\"op\":\"net.connect\"",
		"\"op\":\"net.connect\",\"glob\":\"*.example:443\"",
	};
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, REVIEW_SRC DENY_SECRET DENY_PORT DENY_HOST);
	for (size_t i = 0; i < N_ELEMENTS(terms); i++)
		expect(has(try_issue(&rig, terms[i]), "the policy denies"));
	expect(has(try_issue(&rig, "\"op\":\"net.connect\",\"glob\":\"a.example:443\""),
		   "\"ok\":true"));
}

/* A token that no request could use is not issued. */
static void no_token_is_issued_for_a_special_address_that_no_rule_opens(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig,
		 "net: {mode: proxy}\n"
		 "capabilities:\n"
		 "  - { name: all, match: { syscall: net.connect }, action: require_review }\n"
		 "  - { name: own, match: { syscall: net.connect, cidr: 10.0.0.0/8 }, "
		 "action: allow, constraints: { require_capability_token: true } }\n");
	expect(has(try_issue(&rig, "\"op\":\"net.connect\",\"glob\":\"169.254.169.254:80\""),
		   "a built-in rule denies"));
	expect(has(try_issue(&rig, "\"op\":\"net.connect\",\"glob\":\"10.0.0.1:80\""),
		   "\"ok\":true"));
	expect(has(try_issue(&rig, "\"op\":\"net.connect\",\"glob\":\"a.example:80\""),
		   "\"ok\":true"));
}

/* The tags of the later caller are not known when the token is issued. */
static void no_token_is_issued_where_a_rule_matches_the_caller(void)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, REVIEW_SRC DENY_TAG);
	expect(has(try_issue(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/q/**\""),
		   "the policy denies"));
}

static void a_narrower_token_is_by_default_for_what_its_parent_has_left(void)
{
	_cleanup_rig_ struct rig rig;
	char terms[128], token[TOKEN_TEXT_SIZE] = "";
	uint64_t now = rig_now();
	const char *at;

	rig_init(&rig, REVIEW_SRC);
	at = strstr(try_issue_at(&rig, "\"op\":\"fs.write\",\"uses\":5,\"ttl\":\"20s\"", now),
		    "\"token\":\"");
	expect(at != NULL);
	(void)snprintf(token, sizeof(token), "%.32s", at ? at + 9 : "");
	(void)snprintf(terms, sizeof(terms), "\"op\":\"fs.write\",\"from\":\"%s\"", token);
	expect(has(try_issue_at(&rig, terms, now + 500000), "\"max_uses\":1,\"expires_in\":\"19"));
	(void)snprintf(terms, sizeof(terms), "\"op\":\"fs.write\",\"from\":\"%s\",\"uses\":6",
		       token);
	expect(has(try_issue(&rig, terms), "more uses than its parent"));
	(void)snprintf(terms, sizeof(terms), "\"op\":\"fs.write\",\"from\":\"%s\",\"uses\":0",
		       token);
	expect(has(try_issue(&rig, terms), "never be used"));
}

static void the_holder_is_the_connected_process_whatever_the_packet_says(void)
{
	_cleanup_rig_ struct rig rig;
	char packet[256];
	pid_t child;

	rig_init(&rig, REVIEW_SRC);
	(void)fflush(stdout);
	child = fork();
	if (child == 0)
		for (;;)
			(void)pause();
	(void)snprintf(packet, sizeof(packet),
		       "{\"do\":\"token.issue\",\"pid\":%d,\"op\":\"fs.write\","
		       "\"glob\":\"/srv/p/src/**\"}",
		       (int)child);
	expect(has(rig_ask(&rig, packet), "\"ok\":true"));
	(void)snprintf(packet, sizeof(packet), "{\"token\":\"%.32s\"," WRITE("/srv/p/src/a") "}",
		       strstr(text_string(&rig.question.answer), "\"token\":\"") + 9);
	expect(has(rig_ask(&rig, packet), "\"token\":\"wrong_process\""));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

static void the_last_use_of_a_token_is_its_end_and_both_are_recorded(void)
{
	_cleanup_free_ char *records = NULL;
	_cleanup_rig_ struct rig rig;
	const char *token;

	rig_init(&rig, REVIEW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/a\"");
	expect(has(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")),
		   "\"token\":\"valid\",\"token_nonce\":1}"));
	while (ready_turn(rig.ready, 0) > 0)
		;
	records = rig_records(&rig);
	expect(strstr(records, "\"capability_issued\"") && !strstr(records, token));
	expect(has(records, "\"token\":\"valid\",\"token_nonce\":1"));
	expect(has(records, "\"capability_expired\",") && has(records, "\"end\":\"exhausted\""));
}

static void tokens_are_checked_revoked_and_listed(void)
{
	_cleanup_rig_ struct rig rig;
	char packet[512], token[TOKEN_TEXT_SIZE];

	rig_init(&rig, REVIEW_SRC);
	for (int i = 0; i < 150; i++)
		(void)snprintf(token, sizeof(token), "%s",
			       rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/**\""));
	expect(has(rig_ask(&rig, "{\"do\":\"token.list\"}"), "],\"after\":100}"));
	expect(!strstr(rig_ask(&rig, "{\"do\":\"token.list\",\"after\":100}"), "\"after\""));
	expect(has(text_string(&rig.question.answer), token));
	(void)snprintf(packet, sizeof(packet),
		       "{\"do\":\"token.check\",\"token\":\"%s\",\"pid\":%d," WRITE("/etc/x") "}",
		       token, (int)getpid());
	expect(has(rig_ask(&rig, packet), "\"valid\":false,\"token\":\"wrong_argument\""));
	(void)snprintf(packet, sizeof(packet), "{\"do\":\"token.revoke\",\"token\":\"%s\"}", token);
	expect(has(rig_ask(&rig, packet), "\"ok\":true"));
	expect(has(rig_ask(&rig, packet), "\"ok\":false"));
}

static void a_control_packet_that_is_wrong_says_what_is(void)
{
	static const struct {
		const char *packet, *wanted;
	} rows[] = {
		{ "{\"do\":\"dance\"}", "cannot carry out the action 'dance'" },
		{ "{\"do\":7}", "must be a string" },
		{ "{\"do\":\"status\",\"more\":1}", "more" },
		{ "{\"do\":\"token.issue\"}", "no process is named" },
		{ "{\"do\":\"token.issue\",\"pid\":2147483647}", "no such process" },
		{ "{\"do\":\"token.issue\",\"pid\":1,\"op\":\"fs.wirte\"}", "operation" },
		{ "{\"do\":\"token.issue\",\"pid\":1,\"op\":\"test.run\",\"ttl\":\"30\"}", "30" },
		{ "{\"do\":\"token.issue\",\"pid\":1,\"op\":\"test.run\",\"uses\":\"1\"}",
		  "number" },
		{ "{\"do\":\"token.check\",\"pid\":1}", "no token" },
		{ "{\"do\":\"token.revoke\"}", "not known" },
		{ "{\"do\":\"status\",\"do\":\"reload\"}", "do" },
		{ "{\"do\":\"status\"", "packet" },
	};
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, ALLOW_SRC);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *answer = rig_ask(&rig, rows[i].packet);

		expect(has(answer, "{\"ok\":false,") && has(answer, rows[i].wanted));
		expect_eq(json_validate(answer, strlen(answer), NULL, NULL), 0);
	}
}

/* "do" may be written with escapes. A packet that only begins like a control packet is an invalid
 * request. */
static void a_control_packet_is_known_by_its_first_name(void)
{
	static const struct {
		const char *packet, *wanted;
	} rows[] = {
		{ "{\"do\":\"status\"}", "{\"ok\":true," },
		{ " {\"do\":\"status\"}", "{\"ok\":true," },
		{ "{ \"do\" : \"status\"}", "{\"ok\":true," },
		{ "{\"\\u0064o\":\"status\"}", "{\"ok\":true," },
		{ "{\"d\\u006f\":\"status\"}", "{\"ok\":true," },
		{ "{\"d\":\"status\"}", "unknown member 'd'" },
		{ "{\"dog\":\"status\"}", "unknown member 'dog'" },
		{ "{\"\":\"status\"}", "unknown member ''" },
		{ "{\"op\":\"exec\",\"do\":\"status\"}", "unknown member 'do'" },
		{ "[\"do\"]", "not one JSON object" },
		{ "{\"", "not one JSON object" },
	};
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, ALLOW_SRC);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		expect(has(rig_ask(&rig, rows[i].packet), rows[i].wanted));
}

static const struct test tests[] = {
	TEST(a_reload_ends_tokens_that_the_new_policy_denies),
	TEST(a_token_ends_with_a_policy_that_denies_some_of_what_it_is_for),
	TEST(a_token_is_for_no_other_project),
	TEST(no_token_is_issued_for_what_a_rule_denies),
	TEST(no_token_is_issued_for_what_cannot_be_judged),
	TEST(no_token_is_issued_for_more_than_the_rules_leave),
	TEST(no_token_is_issued_for_a_special_address_that_no_rule_opens),
	TEST(no_token_is_issued_where_a_rule_matches_the_caller),
	TEST(a_narrower_token_is_by_default_for_what_its_parent_has_left),
	TEST(the_holder_is_the_connected_process_whatever_the_packet_says),
	TEST(the_last_use_of_a_token_is_its_end_and_both_are_recorded),
	TEST(tokens_are_checked_revoked_and_listed),
	TEST(a_control_packet_that_is_wrong_says_what_is),
	TEST(a_control_packet_is_known_by_its_first_name),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
