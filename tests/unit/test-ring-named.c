/* SPDX-License-Identifier: MIT */

/* lib/ring/named.c against a keeper of the test, which sends one prepared answer */

#include "ring/named.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sbx/error.h>
#include <sbx/ring.h>

#include "base/fd.h"
#include "base/text.h"
#include "test.h"

#define SOME_USEC UINT64_C(60000000)
#define SHORT_USEC UINT64_C(20000)

/* ---- names ---- */

static void accepts_names_of_letters_digits_and_marks(void)
{
	static const char *const names[] = { "a", "work-1", "A_b.c", "0", "-", "_.", "a..b" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		expect(named_is_valid(names[i]));
}

static void refuses_names_that_lead_elsewhere(void)
{
	static const char *const names[] = { "",    ".",   "..",       ".a",  "a/b", "/a", "a b",
					     "a\n", "a\t", "\xc3\xa4", "a\\", "*",   "a:" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct sbx_error err = { .code = 0 };

		expect(!named_is_valid(names[i]));
		expect_eq(named_check(names[i], &err), -EINVAL);
		expect(err.fix[0] != '\0');
	}
}

static void refuses_a_name_of_65_characters(void)
{
	char name[NAMED_NAME_MAX + 2];

	memset(name, 'x', sizeof(name));
	name[NAMED_NAME_MAX + 1] = '\0';
	expect(!named_is_valid(name));
	name[NAMED_NAME_MAX] = '\0';
	expect(named_is_valid(name));
}

static void finds_the_directory_of_the_user(void)
{
	static char *const with[] = { "XDG_RUNTIME_DIR=/run/user/7", NULL };
	static char *const relative[] = { "XDG_RUNTIME_DIR=run", NULL };
	_cleanup_text_ struct text text = TEXT_INIT, other = TEXT_INIT;
	bool is_root = geteuid() == 0;
	char fallback[64];

	expect_eq(named_add_directory(&text, with), 0);
	expect_str(text.data, is_root ? "/run/sbx/rings" : "/run/user/7/sbx/rings");
	(void)snprintf(fallback, sizeof(fallback), "/tmp/sbx-%u/rings", (unsigned)geteuid());
	expect_eq(named_add_directory(&other, relative), 0);
	expect_str(other.data, is_root ? "/run/sbx/rings" : fallback);
}

/* ---- a keeper of the test ---- */

struct keeper {
	int sockets[2]; /* of the client, of the keeper */
	const char *answer;
	const int *fds;
	size_t n_fds;
	char heard[NAMED_BYTES_MAX];
};

static int ask(struct keeper *keeper, int *fds, size_t n_fds, size_t *ret_n_fds,
	       struct sbx_error *err)
{
	char bytes[NAMED_BYTES_MAX + 1];
	size_t n_bytes;
	ssize_t n;
	int r;

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper->sockets), 0);
	if (keeper->answer)
		expect_eq(fd_send(keeper->sockets[1], keeper->answer, strlen(keeper->answer),
				  keeper->fds, keeper->n_fds),
			  0);
	r = named_ask(keeper->sockets[0], "x", "{\"type\":\"STATUS\"}",
		      keeper->answer ? SOME_USEC : SHORT_USEC, bytes, &n_bytes, fds, n_fds,
		      ret_n_fds, err);
	n = recv(keeper->sockets[1], keeper->heard, sizeof(keeper->heard) - 1, MSG_DONTWAIT);
	keeper->heard[n > 0 ? n : 0] = '\0';
	fd_close_many(keeper->sockets, 2);
	return r;
}

static void gives_the_answer_with_its_fds(void)
{
	const int given[2] = { STDIN_FILENO, STDERR_FILENO };
	struct keeper keeper = { .answer = "{\"ok\":true,\"new\":[1]}", .fds = given, .n_fds = 2 };
	struct sbx_error err = { .code = 0 };
	int fds[2] = { -EBADF, -EBADF };
	size_t n_fds = 0;

	expect_eq(ask(&keeper, fds, 2, &n_fds, &err), 0);
	expect_str(keeper.heard, "{\"type\":\"STATUS\"}");
	expect_eq((int)n_fds, 2);
	expect(fcntl(fds[0], F_GETFD) == FD_CLOEXEC);
	fd_close_many(fds, n_fds);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void closes_fds_that_come_with_a_refusal(void)
{
	const int given[2] = { STDIN_FILENO, STDERR_FILENO };
	struct keeper keeper = { .answer = "{\"ok\":false,\"error\":\"busy\",\"what\":\"no\"}",
				 .fds = given,
				 .n_fds = 2 };
	struct sbx_error err = { .code = 0 };
	int fds[4], before = count_fds();
	size_t n_fds = 0;

	expect_eq(ask(&keeper, fds, 4, &n_fds, &err), -EBUSY);
	expect_eq(count_fds(), before);
	expect_str(err.what, "no");
}

static void refuses_more_fds_than_it_asked_for(void)
{
	const int given[3] = { STDIN_FILENO, STDIN_FILENO, STDIN_FILENO };
	struct keeper keeper = { .answer = "{\"ok\":true}", .fds = given, .n_fds = 3 };
	struct sbx_error err = { .code = 0 };
	int fds[2], before = count_fds();
	size_t n_fds = 0;

	expect_eq(ask(&keeper, fds, 2, &n_fds, &err), -EMSGSIZE);
	expect_eq(count_fds(), before);
}

static void tells_the_reason_of_a_refusal(void)
{
	static const struct {
		const char *word;
		int code;
	} rows[] = {
		{ "busy", -EBUSY },	   { "denied", -EPERM },       { "failed", -EIO },
		{ "not_sealed", -EPROTO }, { "bad_request", -EPROTO }, { "strange", -EPROTO },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct keeper keeper = { .answer = NULL };
		struct sbx_error err = { .code = 0 };
		char answer[200];
		size_t n_fds;

		(void)snprintf(
			answer, sizeof(answer),
			"{\"ok\":false,\"error\":\"%s\",\"what\":\"W\",\"why\":\"Y\",\"fix\":\"F\"}",
			rows[i].word);
		keeper.answer = answer;
		expect_eq(ask(&keeper, NULL, 0, &n_fds, &err), rows[i].code);
		expect_str(err.what, "W");
		expect_str(err.why, "Y");
		expect_str(err.fix, "F");
	}
}

static void refuses_answers_that_are_not_an_object(void)
{
	static const char *const answers[] = { "x",	  "null",	  "[]",
					       "{\"ok\"", "{\"ok\":true", "\"ok\"" };

	for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
		struct keeper keeper = { .answer = answers[i] };
		struct sbx_error err = { .code = 0 };
		size_t n_fds;

		expect_eq(ask(&keeper, NULL, 0, &n_fds, &err), -EPROTO);
		expect(err.what[0] != '\0');
	}
}

static void takes_only_true_for_consent(void)
{
	static const char *const answers[] = { "{}", "{\"ok\":1}", "{\"ok\":\"true\"}",
					       "{\"ok\":null}", "{\"ok\":true,\"ok\":false}" };

	for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
		struct keeper keeper = { .answer = answers[i] };
		struct sbx_error err = { .code = 0 };
		size_t n_fds;

		expect(ask(&keeper, NULL, 0, &n_fds, &err) < 0);
	}
}

static void ends_after_the_time_out(void)
{
	struct keeper keeper = { .answer = NULL };
	struct sbx_error err = { .code = 0 };
	size_t n_fds;

	expect_eq(ask(&keeper, NULL, 0, &n_fds, &err), -ETIMEDOUT);
	expect(err.fix[0] != '\0');
}

static void notices_a_keeper_that_has_ended(void)
{
	char bytes[NAMED_BYTES_MAX + 1];
	struct sbx_error err = { .code = 0 };
	size_t n_bytes, n_fds;
	int sockets[2], r;

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	(void)close(sockets[1]);
	r = named_ask(sockets[0], "x", "{}", SBX_RING_FOREVER, bytes, &n_bytes, NULL, 0, &n_fds,
		      &err);
	expect(r == -EPIPE || r == -ECONNRESET);
	expect(err.fix[0] != '\0');
	(void)close(sockets[0]);
}

static void says_how_to_start_a_keeper(void)
{
	struct named_channel channel = NAMED_CHANNEL_INIT;
	struct sbx_error err = { .code = 0 };

	expect_eq(named_take("no-such-channel", SBX_RING_CLIENT, SHORT_USEC, &channel, &err),
		  -ENOENT);
	expect_str(err.fix, "start one: sbx-ring create no-such-channel");
	expect_eq(channel.keeper, -EBADF);
}

static const struct test tests[] = {
	TEST(accepts_names_of_letters_digits_and_marks),
	TEST(refuses_names_that_lead_elsewhere),
	TEST(refuses_a_name_of_65_characters),
	TEST(finds_the_directory_of_the_user),
	TEST(gives_the_answer_with_its_fds),
	TEST(closes_fds_that_come_with_a_refusal),
	TEST(refuses_more_fds_than_it_asked_for),
	TEST(tells_the_reason_of_a_refusal),
	TEST(refuses_answers_that_are_not_an_object),
	TEST(takes_only_true_for_consent),
	TEST(ends_after_the_time_out),
	TEST(notices_a_keeper_that_has_ended),
	TEST(says_how_to_start_a_keeper),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
