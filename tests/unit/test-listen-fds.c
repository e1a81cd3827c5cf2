/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/listen-fds.h"
#include "test.h"

#define SELF 4321

/* Runs in a child with @n_open open fds from 3 on and then a closed one. */
static void in_child(void (*run)(void), int n_open)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		unsigned before = test_failures;

		for (int fd = LISTEN_FDS_START; fd < LISTEN_FDS_START + n_open; fd++)
			expect(dup2(STDERR_FILENO, fd) == fd);
		(void)close(LISTEN_FDS_START + n_open);
		run();
		(void)fflush(stdout);
		_exit(test_failures != before);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_two_named(void)
{
	struct listen_fds fds;

	expect_eq(listen_fds_check("4321", "2", "policy:audit log", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 2);
	expect_str(fds.names[0], "policy");
	expect_str(fds.names[1], "audit log");
	expect(fcntl(3, F_GETFD) & FD_CLOEXEC);
	expect(fcntl(4, F_GETFD) & FD_CLOEXEC);
}

static void takes_fds_by_their_names(void)
{
	in_child(check_two_named, 2);
}

static void check_unnamed(void)
{
	struct listen_fds fds;

	expect_eq(listen_fds_check("4321", "1", NULL, SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 1);
	expect_str(fds.names[0], "");
	expect_eq(listen_fds_check("4321", "2", ":", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 2);
	expect_str(fds.names[1], "");
}

static void takes_fds_without_names(void)
{
	in_child(check_unnamed, 2);
}

static void check_most(void)
{
	static struct listen_fds fds;
	struct sbx_error err = { .code = 0 };

	expect_eq(listen_fds_check("4321", "64", NULL, SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, LISTEN_FDS_MAX);
	expect_eq(listen_fds_check("4321", "65", NULL, SELF, &fds, &err), -EINVAL);
	expect_str(err.why, "LISTEN_FDS is '65', not a number from 0 to 64");
}

static void takes_at_most_so_many_fds(void)
{
	in_child(check_most, LISTEN_FDS_MAX + 1);
}

static void check_closed(void)
{
	struct sbx_error err = { .code = 0 };
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check("4321", "2", NULL, SELF, &fds, &err), -EBADF);
	expect_str(err.why, "LISTEN_FDS says 2, but fd 4 is not open");
	expect(err.fix[0]);
	expect_eq(fds.n_fds, 99);
	/* The open fd was not changed either. */
	expect_eq(fcntl(3, F_GETFD), 0);
}

static void refuses_an_fd_that_is_not_open(void)
{
	in_child(check_closed, 1);
}

static void leaves_fds_of_another_process_alone(void)
{
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check("4320", "1", "x", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 0);
	/* Values for another process are not checked. */
	fds.n_fds = 99;
	expect_eq(listen_fds_check("1", "many", "\n", SELF, &fds, NULL), 0);
	expect_eq(fds.n_fds, 0);
}

static void takes_nothing_where_nothing_was_handed_over(void)
{
	static const char *const variables[][3] = {
		{ NULL, NULL, NULL },  { "4321", NULL, NULL }, { NULL, "1", NULL },
		{ "4321", "0", NULL }, { "4321", "0", "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(variables); i++) {
		struct listen_fds fds = { .n_fds = 99 };

		expect_eq(listen_fds_check(variables[i][0], variables[i][1], variables[i][2], SELF,
					   &fds, NULL),
			  0);
		expect_eq(fds.n_fds, 0);
	}
}

static void expect_refusal(const char *pid, const char *n_fds, const char *names)
{
	struct sbx_error err = { .code = 0 };
	struct listen_fds fds = { .n_fds = 99 };

	expect_eq(listen_fds_check(pid, n_fds, names, SELF, &fds, &err), -EINVAL);
	expect_eq(err.code, -EINVAL);
	expect(err.what[0] && err.why[0] && err.fix[0]);
	expect_eq(fds.n_fds, 99);
}

static void refuses_numbers_that_are_not_plain_decimals(void)
{
	static const char *const numbers[] = { "",    " 1", "1 ",  "+1",  "-1",
					       "0x1", "1a", "1.0", "1\n", "18446744073709551617" };

	for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
		expect_refusal(numbers[i], "1", NULL);
		expect_refusal("4321", numbers[i], NULL);
	}
	expect_refusal("0", "1", NULL);
	expect_refusal("4294971617", "1", NULL);
}

static void refuses_names_that_do_not_match_the_fds(void)
{
	expect_refusal("4321", "1", "a:b");
	expect_refusal("4321", "2", "a");
	expect_refusal("4321", "1", ":");
	expect_refusal("4321", "0", "a");
	expect_refusal("4321", "2", "");
}

static void refuses_names_with_other_characters(void)
{
	char longest[LISTEN_NAME_SIZE + 1];

	expect_refusal("4321", "1", "a\nb");
	expect_refusal("4321", "1", "\x1b[2J");
	expect_refusal("4321", "1", "\x7f");
	expect_refusal("4321", "1", "\xc3\xa4");
	memset(longest, 'n', sizeof(longest));
	longest[LISTEN_NAME_SIZE] = '\0';
	expect_refusal("4321", "1", longest);
}

static const struct test tests[] = {
	TEST(takes_fds_by_their_names),
	TEST(takes_fds_without_names),
	TEST(takes_at_most_so_many_fds),
	TEST(refuses_an_fd_that_is_not_open),
	TEST(leaves_fds_of_another_process_alone),
	TEST(takes_nothing_where_nothing_was_handed_over),
	TEST(refuses_numbers_that_are_not_plain_decimals),
	TEST(refuses_names_that_do_not_match_the_fds),
	TEST(refuses_names_with_other_characters),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
