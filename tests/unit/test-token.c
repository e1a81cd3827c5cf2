/* SPDX-License-Identifier: MIT */

#include "token/token.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/decide.h"
#include "test.h"

#define SECOND UINT64_C(1000000)
#define NOW (100 * SECOND)
#define PROCESS 4711

static const uint8_t digest[32] = { 1 };
static const uint8_t other_digest[32] = { 2 };

static struct token_table *table_new(void)
{
	struct token_table *table = NULL;

	expect_eq(token_table_new(&table), 0);
	return table;
}

static struct token_terms write_terms(void)
{
	return (struct token_terms){ .sandbox_id = "box1",
				     .pid = 12,
				     .process_id = PROCESS,
				     .operation = "fs.write",
				     .glob = "/srv/p/src/**",
				     .max_uses = 2,
				     .ttl_usec = 30 * SECOND };
}

static struct token_info issue(struct token_table *table, const struct token_terms *terms)
{
	struct token_info info = { .nonce = 0 };

	expect_eq(token_issue(table, terms, digest, NOW, &info, NULL), 0);
	return info;
}

static struct policy_request write_request(const char *path)
{
	return (struct policy_request){ .operation = "fs.write", .path = path };
}

static enum token_refusal use_at(struct token_table *table, const char *text, const char *path,
				 uint64_t now_usec)
{
	struct policy_request request = write_request(path);

	return token_use(table, text, "box1", PROCESS, &request, digest, now_usec);
}

static enum token_refusal use(struct token_table *table, const char *text)
{
	return use_at(table, text, "/srv/p/src/a.c", NOW);
}

static void lets_its_holder_do_what_it_is_for(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	expect_eq(strlen(info.text), 32);
	expect_eq(use(table, info.text), TOKEN_VALID);
}

static void keeps_copies_of_its_terms(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	char sandbox[] = "box1", operation[] = "fs.write", glob[] = "/srv/p/src/**";
	struct token_info info;

	terms.sandbox_id = sandbox;
	terms.operation = operation;
	terms.glob = glob;
	info = issue(table, &terms);
	memset(sandbox, 'x', 4);
	memset(operation, 'x', 8);
	memset(glob, 'x', sizeof(glob) - 1);
	expect_eq(use(table, info.text), TOKEN_VALID);
}

static void refuses_a_text_that_is_no_token(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);
	char text[64];

	expect_eq(use(table, ""), TOKEN_UNKNOWN);
	expect_eq(use(table, NULL), TOKEN_UNKNOWN);
	expect_eq(use(table, "00000000000000000000000000000000"), TOKEN_UNKNOWN);
	(void)snprintf(text, sizeof(text), "%sx", info.text);
	expect_eq(use(table, text), TOKEN_UNKNOWN);
	(void)snprintf(text, sizeof(text), "%.31s", info.text);
	expect_eq(use(table, text), TOKEN_UNKNOWN);
	(void)snprintf(text, sizeof(text), "%.31sg", info.text);
	expect_eq(use(table, text), TOKEN_UNKNOWN);
	(void)snprintf(text, sizeof(text), "%.31s%c", info.text, info.text[31] == '0' ? '1' : '0');
	expect_eq(use(table, text), TOKEN_UNKNOWN);
}

static void no_capital_is_as_good_as_its_letter(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	char text[TOKEN_TEXT_SIZE];
	struct token_info info;

	do
		info = issue(table, &terms);
	while (!strpbrk(info.text, "abcdef"));
	memcpy(text, info.text, sizeof(text));
	*strpbrk(text, "abcdef") -= 'a' - 'A';
	expect_eq(use(table, text), TOKEN_UNKNOWN);
	expect_eq(use(table, info.text), TOKEN_VALID);
}

static void refuses_another_sandbox_and_another_process(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);
	struct policy_request request = write_request("/srv/p/src/a.c");

	expect_eq(token_use(table, info.text, "box2", PROCESS, &request, digest, NOW),
		  TOKEN_WRONG_SANDBOX);
	expect_eq(token_use(table, info.text, "", PROCESS, &request, digest, NOW),
		  TOKEN_WRONG_SANDBOX);
	expect_eq(token_use(table, info.text, "box1", PROCESS + 1, &request, digest, NOW),
		  TOKEN_WRONG_PROCESS);
	expect_eq(token_use(table, info.text, "box1", 0, &request, digest, NOW),
		  TOKEN_WRONG_PROCESS);
}

/* Another process must not find out whether a token has ended. */
static void another_process_learns_only_that_it_does_not_own_the_token(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);
	struct policy_request request = write_request("/etc/passwd");

	expect_eq(token_use(table, info.text, "box2", PROCESS, &request, other_digest,
			    NOW + 60 * SECOND),
		  TOKEN_WRONG_SANDBOX);
}

static void refuses_another_operation_and_another_path(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);
	struct policy_request request = write_request("/srv/p/src/a.c");

	request.operation = "fs.read";
	expect_eq(token_use(table, info.text, "box1", PROCESS, &request, digest, NOW),
		  TOKEN_WRONG_OPERATION);
	expect_eq(use_at(table, info.text, "/srv/p/src", NOW), TOKEN_WRONG_ARGUMENT);
	expect_eq(use_at(table, info.text, "/srv/p/src2/a.c", NOW), TOKEN_WRONG_ARGUMENT);
	expect_eq(use_at(table, info.text, "/srv/p/src/../etc/a", NOW), TOKEN_WRONG_ARGUMENT);
	expect_eq(use_at(table, info.text, "srv/p/src/a.c", NOW), TOKEN_WRONG_ARGUMENT);
	expect_eq(use_at(table, info.text, NULL, NOW), TOKEN_WRONG_ARGUMENT);
}

static void refuses_under_another_policy(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);
	struct policy_request request = write_request("/srv/p/src/a.c");

	expect_eq(token_use(table, info.text, "box1", PROCESS, &request, other_digest, NOW),
		  TOKEN_WRONG_POLICY);
}

static void ends_after_its_uses(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	expect_eq(use(table, info.text), TOKEN_VALID);
	expect_eq(use(table, info.text), TOKEN_VALID);
	expect_eq(use(table, info.text), TOKEN_EXHAUSTED);
}

static void a_look_and_a_refusal_do_not_use_it_up(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct policy_request request = write_request("/srv/p/src/a.c");
	struct token_info info;

	terms.max_uses = 1;
	info = issue(table, &terms);
	for (int i = 0; i < 3; i++) {
		expect_eq(token_check(table, info.text, "box1", PROCESS, &request, digest, NOW),
			  TOKEN_VALID);
		expect_eq(use_at(table, info.text, "/etc/passwd", NOW), TOKEN_WRONG_ARGUMENT);
	}
	expect_eq(use(table, info.text), TOKEN_VALID);
	expect_eq(use(table, info.text), TOKEN_EXHAUSTED);
}

static void ends_exactly_when_its_time_is_over(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	expect_eq(info.expires_usec, NOW + 30 * SECOND);
	expect_eq(use_at(table, info.text, "/srv/p/src/a.c", NOW + 30 * SECOND - 1), TOKEN_VALID);
	expect_eq(use_at(table, info.text, "/srv/p/src/a.c", NOW + 30 * SECOND), TOKEN_EXPIRED);
}

/* token_use() agrees with token_check() for the same snapshot of the time. */
static void check_and_use_agree_for_one_snapshot(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct policy_request request = write_request("/srv/p/src/a.c");
	struct token_info info;

	terms.max_uses = 100;
	info = issue(table, &terms);
	for (uint64_t now = NOW + 30 * SECOND - 5; now < NOW + 30 * SECOND + 5; now++)
		expect_eq(token_use(table, info.text, "box1", PROCESS, &request, digest, now),
			  token_check(table, info.text, "box1", PROCESS, &request, digest, now));
}

static void numbers_grow_and_texts_differ(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info first = issue(table, &terms), second = issue(table, &terms);

	expect_eq(token_revoke(table, second.text), 0);
	expect(second.nonce > first.nonce);
	expect(issue(table, &terms).nonce > second.nonce);
	expect(strcmp(first.text, second.text) != 0);
}

static void is_forgotten_when_it_is_revoked(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	expect_eq(token_revoke(table, info.text), 0);
	expect_eq(use(table, info.text), TOKEN_UNKNOWN);
	expect_eq(token_revoke(table, info.text), -ENOENT);
	expect_eq(token_count(table), 0);
}

/* ---- issue ---- */

static void expect_not_issued(const struct token_terms *terms, const char *why)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_info info = { .nonce = 77 };
	struct sbx_error err = { .code = 0 };

	expect(token_issue(table, terms, digest, NOW, &info, &err) < 0);
	expect(err.why[0] != '\0' && err.fix[0] != '\0');
	expect(!why || strstr(err.why, why) != NULL);
	expect_eq(info.nonce, 77);
	expect_eq(token_count(table), 0);
}

static void nothing_means_no_limit(void)
{
	struct token_terms terms = write_terms();

	terms.max_uses = 0;
	expect_not_issued(&terms, "never be used");
	terms = write_terms();
	terms.ttl_usec = 0;
	expect_not_issued(&terms, "lifetime");
	terms.ttl_usec = UINT64_MAX;
	expect_not_issued(&terms, "lifetime");
	terms = write_terms();
	terms.process_id = 0;
	expect_not_issued(&terms, "no process");
	terms = write_terms();
	terms.sandbox_id = NULL;
	expect_not_issued(&terms, "no process");
}

static void is_not_issued_for_what_no_policy_knows(void)
{
	struct token_terms terms = write_terms();

	terms.operation = "fs.wirte";
	expect_not_issued(&terms, "operation");
	terms.operation = NULL;
	expect_not_issued(&terms, "operation");
	terms = write_terms();
	terms.glob = "src/**";
	expect_not_issued(&terms, "project");
	terms.glob = "!/srv/p/src/**";
	expect_not_issued(&terms, "only excludes paths");
	terms.glob = "/srv/../etc";
	expect_not_issued(&terms, NULL);
	terms = write_terms();
	terms.operation = "test.run";
	expect_not_issued(&terms, "no path and no host");
}

static void refuse_all(const struct token_info *info, void *userdata)
{
	(*(size_t *)userdata)++;
}

static void makes_room_of_ended_ones_only(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct sbx_error err = { .code = 0 };
	struct token_info first, info;
	size_t n_listed = 0;

	terms.ttl_usec = 10 * SECOND;
	first = issue(table, &terms);
	terms.ttl_usec = 30 * SECOND;
	for (size_t i = 1; i < TOKENS_MAX; i++)
		info = issue(table, &terms);
	expect_eq(token_issue(table, &terms, digest, NOW, &info, &err), -ENOSPC);
	expect(strstr(err.fix, "revoke") != NULL);

	expect_eq(token_issue(table, &terms, digest, NOW + 10 * SECOND, &info, &err), 0);
	expect_eq(token_count(table), TOKENS_MAX);
	expect_eq(use(table, first.text), TOKEN_UNKNOWN);
	token_list(table, NOW + 10 * SECOND, refuse_all, &n_listed);
	expect_eq(n_listed, TOKENS_MAX);
}

/* Counts comparisons instead of time: the longest hash chain. */
static void finding_one_of_sixty_thousand_is_one_look(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	static char texts[60000][TOKEN_TEXT_SIZE];
	unsigned n_same = 0, longest = 0;
	static unsigned char lengths[131072];

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		uint8_t bytes[8];
		uint64_t bits = 0;

		memcpy(texts[i], issue(table, &terms).text, TOKEN_TEXT_SIZE);
		for (size_t k = 0; k < 8; k++) {
			unsigned value = 0;

			expect(sscanf(texts[i] + 2 * k, "%2x", &value) == 1);
			bytes[k] = (uint8_t)value;
		}
		memcpy(&bits, bytes, sizeof(bits));
		n_same = ++lengths[bits % N_ELEMENTS(lengths)];
		longest = n_same > longest ? n_same : longest;
	}
	expect(longest < 12);
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		expect_eq(use(table, texts[i]), TOKEN_VALID);
}

/* ---- narrower tokens ---- */

static void a_child_can_do_less(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child;

	terms.glob = "/srv/p/src/lib/*.c";
	terms.max_uses = 1;
	terms.ttl_usec = 10 * SECOND;
	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, NULL), 0);
	expect_eq(child.parent_nonce, parent.nonce);
	expect_eq(use(table, child.text), TOKEN_WRONG_ARGUMENT);
	expect_eq(use_at(table, child.text, "/srv/p/src/lib/a.c", NOW), TOKEN_VALID);
	expect_eq(use_at(table, child.text, "/srv/p/src/lib/a.c", NOW), TOKEN_EXHAUSTED);
}

static void a_childs_use_is_its_parents_use(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child;

	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, NULL), 0);
	expect_eq(use(table, child.text), TOKEN_VALID);
	expect_eq(use(table, parent.text), TOKEN_VALID);
	expect_eq(use(table, parent.text), TOKEN_EXHAUSTED);
	expect_eq(use(table, child.text), TOKEN_EXHAUSTED);
}

static void a_child_is_for_the_process_of_its_parent(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child;
	struct sbx_error err = { .code = 0 };

	terms.process_id = PROCESS + 1;
	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, &err), -EACCES);
	expect(strstr(err.why, "process") != NULL);
}

static void a_child_cannot_do_more(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child;
	static const struct {
		const char *sandbox_id, *operation, *glob;
		uint64_t max_uses, ttl_usec;
		const char *why;
	} rows[] = {
		{ "box2", "fs.write", "/srv/p/src/a", 1, SECOND, "sandbox" },
		{ "box1", "fs.read", "/srv/p/src/a", 1, SECOND, "operation" },
		{ "box1", "fs.write", "/srv/p/**", 1, SECOND, "glob" },
		{ "box1", "fs.write", NULL, 1, SECOND, "glob" },
		{ "box1", "fs.write", "/srv/p/src", 1, SECOND, "glob" },
		{ "box1", "fs.write", "/srv/p/src/a", 3, SECOND, "uses" },
		{ "box1", "fs.write", "/srv/p/src/a", 1, 31 * SECOND, "longer" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct sbx_error err = { .code = 0 };

		terms.sandbox_id = rows[i].sandbox_id;
		terms.operation = rows[i].operation;
		terms.glob = rows[i].glob;
		terms.max_uses = rows[i].max_uses;
		terms.ttl_usec = rows[i].ttl_usec;
		expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, &err), -EACCES);
		expect(strstr(err.why, rows[i].why) != NULL);
	}
	expect_eq(token_count(table), 1);
}

static void a_used_parent_has_less_to_give(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child;

	expect_eq(use(table, parent.text), TOKEN_VALID);
	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, NULL), -EACCES);
	expect_eq(use(table, parent.text), TOKEN_VALID);
	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, NULL), -EKEYEXPIRED);
	expect_eq(token_narrow(table, "00000000000000000000000000000000", &terms, NOW, &child,
			       NULL),
		  -ENOENT);
}

static void children_end_with_their_parent(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info parent = issue(table, &terms), child, grandchild;

	expect_eq(token_narrow(table, parent.text, &terms, NOW, &child, NULL), 0);
	expect_eq(token_narrow(table, child.text, &terms, NOW, &grandchild, NULL), 0);
	expect_eq(token_revoke(table, parent.text), 0);
	expect_eq(use(table, child.text), TOKEN_UNKNOWN);
	expect_eq(use(table, grandchild.text), TOKEN_UNKNOWN);
	expect_eq(token_count(table), 0);
}

static void the_way_up_to_the_first_is_short(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	for (int i = 0; i < TOKEN_PARENTS_MAX; i++)
		expect_eq(token_narrow(table, info.text, &terms, NOW, &info, NULL), 0);
	expect_eq(token_narrow(table, info.text, &terms, NOW, &info, NULL), -EACCES);
}

/* ---- reloads ---- */

static bool allows_sources(const struct token_info *info, void *userdata)
{
	return strncmp(info->terms.glob, "/srv/p/src", 10) == 0;
}

static void a_reload_ends_what_the_new_policy_denies(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct policy_request request = write_request("/srv/p/src/a.c");
	struct token_info kept = issue(table, &terms), ended, child, info;

	terms.glob = "/srv/p/**";
	ended = issue(table, &terms);
	terms.glob = "/srv/p/src/**";
	expect_eq(token_narrow(table, ended.text, &terms, NOW, &child, NULL), 0);
	expect_eq(token_rejudge(table, other_digest, NOW, allows_sources, NULL), 2);
	expect_eq(use(table, ended.text), TOKEN_UNKNOWN);
	expect_eq(use(table, child.text), TOKEN_UNKNOWN);
	expect_eq(use(table, kept.text), TOKEN_WRONG_POLICY);
	expect_eq(token_use(table, kept.text, "box1", PROCESS, &request, other_digest, NOW),
		  TOKEN_VALID);
	expect_eq(token_get(table, kept.text, &info), 0);
}

static void a_reload_of_the_same_policy_changes_nothing(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	struct token_info info = issue(table, &terms);

	expect_eq(token_rejudge(table, digest, NOW, allows_sources, NULL), 0);
	expect_eq(token_get(table, info.text, &info), 0);
}

static void a_reload_counts_only_those_that_it_ended(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();

	(void)issue(table, &terms);
	expect_eq(token_rejudge(table, other_digest, NOW + 60 * SECOND, allows_sources, NULL), 0);
	expect_eq(token_count(table), 0);
}

static void remember_nonce(const struct token_info *info, void *userdata)
{
	uint64_t *last = userdata;

	expect(info->nonce > *last);
	*last = info->nonce;
}

static void lists_those_that_count_in_the_order_of_issue(void)
{
	_cleanup_token_table_ struct token_table *table = table_new();
	struct token_terms terms = write_terms();
	uint64_t last = 0;
	struct token_info used;

	terms.max_uses = 1;
	(void)issue(table, &terms);
	(void)issue(table, &terms);
	used = issue(table, &terms);
	expect_eq(use(table, used.text), TOKEN_VALID);
	token_list(table, NOW, remember_nonce, &last);
	expect_eq(last, used.nonce - 1);
}

static void every_refusal_has_a_name(void)
{
	for (int refusal = TOKEN_VALID; refusal <= TOKEN_WRONG_POLICY; refusal++)
		expect(token_refusal_name((enum token_refusal)refusal) != NULL);
}

static const struct test tests[] = {
	TEST(lets_its_holder_do_what_it_is_for),
	TEST(keeps_copies_of_its_terms),
	TEST(refuses_a_text_that_is_no_token),
	TEST(no_capital_is_as_good_as_its_letter),
	TEST(refuses_another_sandbox_and_another_process),
	TEST(another_process_learns_only_that_it_does_not_own_the_token),
	TEST(refuses_another_operation_and_another_path),
	TEST(refuses_under_another_policy),
	TEST(ends_after_its_uses),
	TEST(a_look_and_a_refusal_do_not_use_it_up),
	TEST(ends_exactly_when_its_time_is_over),
	TEST(check_and_use_agree_for_one_snapshot),
	TEST(numbers_grow_and_texts_differ),
	TEST(is_forgotten_when_it_is_revoked),
	TEST(nothing_means_no_limit),
	TEST(is_not_issued_for_what_no_policy_knows),
	TEST(makes_room_of_ended_ones_only),
	TEST(finding_one_of_sixty_thousand_is_one_look),
	TEST(a_child_can_do_less),
	TEST(a_childs_use_is_its_parents_use),
	TEST(a_child_is_for_the_process_of_its_parent),
	TEST(a_child_cannot_do_more),
	TEST(a_used_parent_has_less_to_give),
	TEST(children_end_with_their_parent),
	TEST(the_way_up_to_the_first_is_short),
	TEST(a_reload_ends_what_the_new_policy_denies),
	TEST(a_reload_of_the_same_policy_changes_nothing),
	TEST(a_reload_counts_only_those_that_it_ended),
	TEST(lists_those_that_count_in_the_order_of_issue),
	TEST(every_refusal_has_a_name),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
