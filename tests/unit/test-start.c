/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/start.h"
#include "test.h"

/* Runs the shell script @text with "x" as its stdin; returns its output. */
static int said_by(const char *text, const char *directory, char *ret, size_t size)
{
	const char *const argv[] = { "/bin/sh", "-c", text, NULL };
	const char *const environment[] = { "A=1", NULL };
	int in[2], out[2], status = -1;
	pid_t pid = 0;
	ssize_t n;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	(void)!write(in[1], "x\n", 2);
	(void)close(in[1]);
	const struct start start = { .argv = argv,
				     .environment = environment,
				     .directory = directory,
				     .stdin_fd = in[0],
				     .stdout_fd = out[1] };

	expect_eq(start_program(&start, &pid), 0);
	(void)close(in[0]);
	(void)close(out[1]);
	n = fd_read_full(out[0], ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
	(void)close(out[0]);
	(void)waitpid(pid, &status, 0);
	return status;
}

static void a_program_starts_with_three_fds_and_its_own_environment(void)
{
	_cleanup_close_ int other = open("/dev/null", O_RDONLY);
	char said[64];

	expect(other > 2);
	expect_eq(said_by("read -r l; echo $l $A; [ -e /proc/$$/fd/3 ] && echo 3; exit 0", NULL,
			  said, sizeof(said)),
		  0);
	expect_str(said, "x 1\n");
}

static void a_program_starts_in_the_directory_that_was_named(void)
{
	char said[64];

	expect_eq(said_by("pwd", "/usr", said, sizeof(said)), 0);
	expect_str(said, "/usr\n");
}

static void a_program_starts_with_every_signal_as_it_was_at_first(void)
{
	sigset_t blocked, before;
	char said[64];

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &blocked, &before);
	(void)signal(SIGTERM, SIG_IGN);
	expect_eq(WTERMSIG(said_by("kill -TERM $$; echo alive", NULL, said, sizeof(said))),
		  SIGTERM);
	expect_str(said, "");
	(void)signal(SIGTERM, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_program_starts_in_a_process_group_of_its_own(void)
{
	char said[64], own[64];

	(void)snprintf(own, sizeof(own), "%d\n", (int)getpgrp());
	expect_eq(said_by("cut -d' ' -f5 /proc/self/stat", NULL, said, sizeof(said)), 0);
	expect(strcmp(said, own) != 0 && said[0] != '\0');
}

static void a_program_that_is_not_there_is_an_error(void)
{
	const char *const argv[] = { "/nowhere/program", NULL };
	const struct start start = {
		.argv = argv, .environment = argv + 1, .stdin_fd = 0, .stdout_fd = 1
	};
	pid_t pid = 0;

	expect_eq(start_program(&start, &pid), -ENOENT);
}

static const struct test tests[] = {
	TEST(a_program_starts_with_three_fds_and_its_own_environment),
	TEST(a_program_starts_in_the_directory_that_was_named),
	TEST(a_program_starts_with_every_signal_as_it_was_at_first),
	TEST(a_program_starts_in_a_process_group_of_its_own),
	TEST(a_program_that_is_not_there_is_an_error),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
