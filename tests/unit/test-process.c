/* SPDX-License-Identifier: MIT */

#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

static pid_t start_child(void)
{
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	return pid;
}

static void end_child(pid_t pid)
{
	expect(kill(pid, SIGKILL) == 0);
	expect(waitpid(pid, NULL, 0) == pid);
}

static void is_the_same_however_it_is_asked(void)
{
	_cleanup_close_ int pidfd = pidfd_of(getpid());
	uint64_t by_pid = 0, by_pidfd = 0, again = 0;

	expect_eq(process_identify(getpid(), -EBADF, &by_pid), 0);
	expect_eq(process_identify(getpid(), pidfd, &by_pidfd), 0);
	expect_eq(process_identify(getpid(), -EBADF, &again), 0);
	expect(by_pid != 0);
	expect(by_pid == by_pidfd && by_pid == again);
}

static void differs_for_every_process(void)
{
	uint64_t ids[20];

	for (size_t i = 0; i < N_ELEMENTS(ids); i++) {
		pid_t pid = start_child();

		expect_eq(process_identify(pid, -EBADF, &ids[i]), 0);
		end_child(pid);
		for (size_t k = 0; k < i; k++)
			expect(ids[k] != ids[i]);
	}
}

/* Without pidfs the start time is read from /proc/PID/stat, after the name, which may contain any
 * bytes. */
static void a_name_cannot_change_it(void)
{
	uint64_t before = 0, after = 0;
	char name[16] = { 0 };

	expect(prctl(PR_GET_NAME, name) == 0);
	expect_eq(process_identify(getpid(), -EBADF, &before), 0);
	expect(prctl(PR_SET_NAME, ") S 1 (1 2 3") == 0);
	expect_eq(process_identify(getpid(), -EBADF, &after), 0);
	expect(prctl(PR_SET_NAME, name) == 0);
	expect(before == after);
}

static void there_is_none_for_a_process_that_has_gone(void)
{
	pid_t pid = start_child();
	uint64_t id = 7;

	end_child(pid);
	expect_eq(process_identify(pid, -EBADF, &id), -ESRCH);
	expect_eq(id, 7);
}

static void an_end_is_told_as_a_shell_tells_it(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	expect_eq(process_wait(pid, &status), 0);
	expect_eq(process_status(status), 3);
	pid = start_child();
	expect_eq(kill(pid, SIGTERM), 0);
	expect_eq(process_wait(pid, &status), 0);
	expect_eq(process_status(status), 128 + SIGTERM);
	expect_eq(process_wait(pid, NULL), -ECHILD);
}

static const struct test tests[] = {
	TEST(is_the_same_however_it_is_asked),
	TEST(differs_for_every_process),
	TEST(a_name_cannot_change_it),
	TEST(there_is_none_for_a_process_that_has_gone),
	TEST(an_end_is_told_as_a_shell_tells_it),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
