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
	rig_write(&rig, "capabilities: []\n");
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(has(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "\"token\":\"unknown\""));
}

/* The folder as a whole is still in order, but not everything in it. */
static void a_token_that_outlived_its_policy_opens_nothing_that_the_new_one_denies(void)
{
	_cleanup_rig_ struct rig rig;
	const char *token, *answer;

	rig_init(&rig, REVIEW_SRC);
	token = rig_token(&rig, "\"op\":\"fs.write\",\"glob\":\"/srv/p/src/**\",\"uses\":9");
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/secret/a")), "allow"));
	rig_write(&rig, REVIEW_SRC DENY_SECRET);
	expect_eq(server_reload(rig.server, "test", NULL), 1);
	expect(is_verdict(rig_ask_with(&rig, token, WRITE("/srv/p/src/a")), "allow"));
	answer = rig_ask_with(&rig, token, WRITE("/srv/p/src/secret/a"));
	expect(is_verdict(answer, "deny") && has(answer, "\"token\":\"wrong_policy\""));
}

static void no_token_is_issued_for_what_a_rule_denies(void)
{
	_cleanup_rig_ struct rig rig;
	char packet[256];

	rig_init(&rig, REVIEW_SRC DENY_SECRET);
	(void)snprintf(packet, sizeof(packet),
		       "{\"do\":\"token.issue\",\"pid\":%d,\"op\":\"fs.write\","
		       "\"glob\":\"/srv/p/src/secret/x\"}",
		       (int)getpid());
	expect(has(rig_ask(&rig, packet), "the policy denies"));
	expect(has(rig_ask(&rig, "{\"do\":\"status\"}"), "\"tokens\":0,"));
}

static void the_holder_is_who_is_connected_whatever_the_packet_says(void)
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
		{ "{\"do\":\"dance\"}", "cannot do 'dance'" },
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

/* However it is written; and what only begins like one is a request, and none that is known. */
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
	TEST(a_token_that_outlived_its_policy_opens_nothing_that_the_new_one_denies),
	TEST(no_token_is_issued_for_what_a_rule_denies),
	TEST(the_holder_is_who_is_connected_whatever_the_packet_says),
	TEST(tokens_are_checked_revoked_and_listed),
	TEST(a_control_packet_that_is_wrong_says_what_is),
	TEST(a_control_packet_is_known_by_its_first_name),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
