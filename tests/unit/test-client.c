/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/record.h>
#include <sbx/spawn.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

static const char *const command[] = { "cat", "-u", NULL };

/* A shell in place of sbx-spawn: it gets "-c" SCRIPT as options and everything else as $@. */
#define WITH_SHELL(script)                                                                         \
	const char *const options[] = { "-c", script, NULL };                                      \
	struct sbx_spawn_config config = { .size = sizeof(config),                                 \
					   .program = "/bin/sh",                                   \
					   .options = options,                                     \
					   .command = command }

static int run(const struct sbx_spawn_config *config)
{
	struct sbx_error err = { .code = 0 };
	int status = -1;
	pid_t pid = -1;

	expect_eq(sbx_spawn(config, &pid, &err), 0);
	expect_str(err.what, "");
	expect_eq(sbx_spawn_wait(pid, &status, &err), 0);
	return status;
}

static void expect_refused(const struct sbx_spawn_config *config, int code, const char *word)
{
	struct sbx_error err = { .code = 0 };
	pid_t pid = -7;

	expect_eq(sbx_spawn(config, &pid, &err), code);
	expect_eq(err.code, code);
	expect_eq(pid, -7);
	expect(strstr(err.what, word) || strstr(err.why, word));
}

static void options_come_before_the_command(void)
{
	/* $0 is the word after the script. */
	WITH_SHELL("[ \"$0 $*\" = '-- cat -u' ]");

	expect_eq(run(&config), 0);
}

static void a_policy_is_the_first_option(void)
{
	_cleanup_close_ int fd = memfd_create("words", MFD_CLOEXEC);
	const struct sbx_spawn_fd fds[] = { { fd, 1 } };
	static const char *const none[] = { NULL };
	const struct sbx_spawn_config config = { .size = sizeof(config),
						 .program = "/bin/echo",
						 .policy = "p.yaml",
						 .options = none,
						 .command = command,
						 .fds = fds,
						 .n_fds = 1 };
	char said[64] = { 0 };

	expect_eq(run(&config), 0);
	expect(pread(fd, said, sizeof(said) - 1, 0) > 0);
	expect_str(said, "--policy p.yaml -- cat -u\n");
}

static void gives_the_status_and_the_signal(void)
{
	{
		WITH_SHELL("exit 7");
		expect_eq(run(&config), 7);
	}
	{
		WITH_SHELL("kill -9 $$");
		expect_eq(run(&config), 128 + 9);
	}
}

static void the_environment_is_the_one_that_is_named(void)
{
	static char one[] = "ONE=1";
	char *const environment[] = { one, NULL };
	WITH_SHELL("[ \"$ONE$HOME\" = 1 ]");

	config.environment = environment;
	expect_eq(run(&config), 0);
}

/* Each of two fds is to get the number of the other: dup2() one after the other would lose one. */
static void files_can_change_their_numbers(void)
{
	_cleanup_close_ int a = memfd_create("a", MFD_CLOEXEC), b = memfd_create("b", MFD_CLOEXEC);
	const struct sbx_spawn_fd fds[] = { { a, b }, { b, a } };
	char script[64], said[8] = { 0 };
	WITH_SHELL(script);

	(void)snprintf(script, sizeof(script), "echo A >&%d; echo B >&%d", b, a);
	config.fds = fds;
	config.n_fds = N_ELEMENTS(fds);
	expect_eq(run(&config), 0);
	expect_eq(pread(a, said, sizeof(said) - 1, 0), 2);
	expect_str(said, "A\n");
	expect_eq(pread(b, said, sizeof(said) - 1, 0), 2);
	expect_str(said, "B\n");
}

static void files_that_are_not_named_stay_out(void)
{
	_cleanup_close_ int fd = memfd_create("a", MFD_CLOEXEC);
	const struct sbx_spawn_fd fds[] = { { fd, 9 } };
	char script[96];
	WITH_SHELL(script);

	(void)snprintf(script, sizeof(script),
		       "[ -e /proc/self/fd/9 ] && [ ! -e /proc/self/fd/%d ]", fd);
	config.fds = fds;
	config.n_fds = 1;
	expect_eq(run(&config), 0);
	expect(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	expect(fcntl(9, F_GETFD) < 0);
}

static void refuses_a_wrong_configuration(void)
{
	static const char *const nothing[] = { NULL }, *const end[] = { "-q", "--", NULL };
	const struct sbx_spawn_fd twice[] = { { 0, 1 }, { 0, 1 } }, negative[] = { { 0, -1 } };
	WITH_SHELL("exit 0");
	struct sbx_spawn_config wrong = config;

	wrong.size = sizeof(wrong) + 8;
	expect_refused(&wrong, -EINVAL, "'size'");
	wrong.size = 0;
	expect_refused(&wrong, -EINVAL, "'size'");
	wrong = config;
	wrong.command = nothing;
	expect_refused(&wrong, -EINVAL, "'command' is empty");
	wrong.command = NULL;
	expect_refused(&wrong, -EINVAL, "'command' is empty");
	wrong = config;
	wrong.options = end;
	expect_refused(&wrong, -EINVAL, "'--'");
	wrong = config;
	wrong.fds = twice;
	wrong.n_fds = 2;
	expect_refused(&wrong, -EINVAL, "twice");
	wrong.fds = negative;
	wrong.n_fds = 1;
	expect_refused(&wrong, -EINVAL, "negative");
}

static void a_program_that_is_missing_starts_nothing(void)
{
	WITH_SHELL("exit 0");

	config.program = "/nonexistent/sbx-spawn";
	expect_refused(&config, -ENOENT, "/nonexistent/sbx-spawn");
}

static void a_file_that_is_closed_starts_nothing(void)
{
	const struct sbx_spawn_fd fds[] = { { 1000000, 1 } };
	WITH_SHELL("exit 0");

	config.fds = fds;
	config.n_fds = 1;
	expect_refused(&config, -EBADF, "1000000");
}

/* It is refused before any file is opened. */
static void refuses_members_that_are_none(void)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"1",
		"{",
		"{} {}",
		"{\"a\":1},",
		"{\"event\":\"x\"}",
		"{\"a\":{},\"time\":1}",
		"{\"\\u0070id\":1}",
	};

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		struct sbx_error err = { .code = 0 };

		expect_eq(sbx_record(NULL, "tool_execute", "test", wrong[i], &err), -EINVAL);
		expect(err.why[0] && err.fix[0]);
	}
}

static const struct test tests[] = {
	TEST(options_come_before_the_command),
	TEST(a_policy_is_the_first_option),
	TEST(gives_the_status_and_the_signal),
	TEST(the_environment_is_the_one_that_is_named),
	TEST(files_can_change_their_numbers),
	TEST(files_that_are_not_named_stay_out),
	TEST(refuses_a_wrong_configuration),
	TEST(a_program_that_is_missing_starts_nothing),
	TEST(a_file_that_is_closed_starts_nothing),
	TEST(refuses_members_that_are_none),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
