/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "service/place.h"
#include "test.h"

static int stay(void)
{
	return 0;
}

static int enter_namespace(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? -errno : 0;
}

/* A child that is where @go puts it, until it is killed; negative errno where it cannot go. */
static pid_t start(int (*go)(void))
{
	int pipe_fds[2], result = -ECHILD;
	pid_t pid;

	expect(pipe(pipe_fds) == 0);
	pid = fork();
	if (pid == 0) {
		result = go();
		(void)!write(pipe_fds[1], &result, sizeof(result));
		for (;;)
			(void)pause();
	}
	expect(read(pipe_fds[0], &result, sizeof(result)) == sizeof(result));
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	if (result == 0)
		return pid;
	expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	return result;
}

static void end(pid_t pid)
{
	expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

/* As a user who may trace neither us nor our children. */
static enum place place_for_nobody(pid_t pid)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0
			      ? 99
			      : (int)place_of(pid));
	expect(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return (enum place)WEXITSTATUS(status);
}

static bool has_all_ids(void)
{
	_cleanup_fclose_ FILE *map = fopen("/proc/self/uid_map", "re");
	char line[128] = "";

	return map && fgets(line, sizeof(line), map) && strstr(line, " 4294967295");
}

static void a_process_beside_us_is_told_from_one_in_a_user_namespace(void)
{
	pid_t beside = start(stay), inside = start(enter_namespace);

	expect_eq(place_of(getpid()), PLACE_BESIDE);
	expect_eq(place_of(beside), PLACE_BESIDE);
	if (inside > 0) {
		expect_eq(place_of(inside), PLACE_IN_NAMESPACE);
		end(inside);
	}
	end(beside);
	if (inside < 0)
		skip("this host lets us make no user namespace");
}

static void who_may_not_trace_them_tells_them_apart_too(void)
{
	pid_t beside, inside;

	if (getuid() != 0 || !has_all_ids())
		skip("not root of the host");
	beside = start(stay);
	inside = start(enter_namespace);
	expect_eq(place_for_nobody(beside), PLACE_BESIDE);
	if (inside > 0) {
		expect_eq(place_for_nobody(inside), PLACE_IN_NAMESPACE);
		end(inside);
	}
	end(beside);
}

static void a_process_that_is_gone_is_nowhere(void)
{
	pid_t pid = start(stay);

	end(pid);
	expect_eq(place_of(pid), PLACE_UNKNOWN);
}

static void a_sandbox_has_a_cgroup_of_its_own(void)
{
	static const char none[] = "0::/user.slice/session-1.scope\n";
	static const char policy[] = "0::/sbx.slice/sbx-policy.service\n";
	static const char box[] = "0::/user.slice/session-1.scope/sbx-a\n";
	static const char other[] = "0::/user.slice/session-1.scope/sbx-b\n";
	static const char within[] = "0::/user.slice/session-1.scope/sbx-a/sbx-c\n";
	static const char scope[] = "1:name=systemd:/\n0::/user.slice/sbx-a.scope/sbx-a\n";

	expect(place_is_same_sandbox(none, none));
	expect(place_is_same_sandbox(policy, none));
	expect(place_is_same_sandbox(none, policy));
	expect(!place_is_same_sandbox(policy, box));
	expect(!place_is_same_sandbox(none, scope));
	expect(place_is_same_sandbox(box, box));
	expect(!place_is_same_sandbox(box, other));
	expect(!place_is_same_sandbox(box, within));
	expect(!place_is_same_sandbox(box, none));
}

static void a_place_that_is_not_beside_has_a_name(void)
{
	expect(place_name(PLACE_BESIDE) == NULL);
	expect_str(place_name(PLACE_UNKNOWN), "unknown");
	expect_str(place_name(PLACE_IN_NAMESPACE), "user_namespace");
	expect_str(place_name(PLACE_IN_SANDBOX), "sandbox_cgroup");
}

static const struct test tests[] = {
	TEST(a_process_beside_us_is_told_from_one_in_a_user_namespace),
	TEST(who_may_not_trace_them_tells_them_apart_too),
	TEST(a_process_that_is_gone_is_nowhere),
	TEST(a_sandbox_has_a_cgroup_of_its_own),
	TEST(a_place_that_is_not_beside_has_a_name),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
