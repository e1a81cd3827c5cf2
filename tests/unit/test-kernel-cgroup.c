/* SPDX-License-Identifier: MIT */

#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "kernel-rig.h"

/* A cgroup in which the test can create others; "" if there is none. */
static char directory[128];

#define NEEDS_CGROUP()                                                                             \
	do {                                                                                       \
		if (!directory[0])                                                                 \
			skip("no cgroup v2 here in which we can make another");                    \
	} while (0)

static struct kernel make_step(bool has_child)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_CGROUP, .cgroup = { directory, has_child } };

	expect_eq(cgroup_make(&kernel, &step, 0), 0);
	expect_eq(kernel.cgroup_child_fd >= 0, has_child);
	expect_eq(kernel_process_cgroup(&kernel),
		  has_child ? kernel.cgroup_child_fd : kernel.cgroup_fd);
	return kernel;
}

static struct kernel make(void)
{
	return make_step(false);
}

static int give_back(struct kernel *kernel)
{
	int r = kernel_remove_cgroup(kernel->cgroup_parent_fd, strrchr(directory, '/') + 1,
				     kernel->cgroup_fd);

	close_fd(&kernel->cgroup_fd);
	close_fd(&kernel->cgroup_child_fd);
	close_fd(&kernel->cgroup_parent_fd);
	return r;
}

static int limit(struct kernel *kernel, const char *name, const char *text, bool optional)
{
	const struct step step = { .kind = STEP_CGROUP_LIMIT,
				   .cgroup_limit = { name, text, optional } };

	return cgroup_limit(kernel, &step, 0);
}

/* fork() into the cgroup. */
static pid_t clone_into(int cgroup_fd)
{
	struct clone_args arguments = { .flags = CLONE_INTO_CGROUP,
					.exit_signal = SIGCHLD,
					.cgroup = (unsigned)cgroup_fd };

	return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

/* A child in the cgroup that waits for ever; the test must reap it. */
static pid_t start_in(int cgroup_fd)
{
	pid_t child = clone_into(cgroup_fd);

	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return child;
}

static int signal_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void makes_a_cgroup_with_mode_0700(void)
{
	struct stat status;

	NEEDS_CGROUP();

	struct kernel kernel = make();

	expect_eq(fstat(kernel.cgroup_fd, &status), 0);
	expect_eq(status.st_mode & 07777, 0700);
	expect_eq(fcntl(kernel.cgroup_fd, F_GETFD), FD_CLOEXEC);
	expect_eq(fcntl(kernel.cgroup_parent_fd, F_GETFD), FD_CLOEXEC);
	expect_eq(give_back(&kernel), 0);
	expect_eq(stat(directory, &status), -1);
}

static void refuses_a_directory_that_is_there_already(void)
{
	NEEDS_CGROUP();

	struct kernel kernel = make(), second = KERNEL_INIT;
	const struct step step = { .kind = STEP_CGROUP, .cgroup.path = directory };

	expect_eq(cgroup_make(&second, &step, 0), -EEXIST);
	expect_eq(second.cgroup_fd, -EBADF);
	expect_eq(second.cgroup_parent_fd, -EBADF);
	expect_eq(give_back(&kernel), 0);
}

static void refuses_a_directory_without_a_parent(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step missing = { .kind = STEP_CGROUP, .cgroup.path = "/nothing/is/here" };
	const struct step none = { .kind = STEP_CGROUP, .cgroup.path = "name" };
	const struct step root = { .kind = STEP_CGROUP, .cgroup.path = "/name" };

	expect_eq(cgroup_make(&kernel, &missing, 0), -ENOENT);
	expect_eq(cgroup_make(&kernel, &none, 0), -EINVAL);
	/* "/" cannot be delegated. */
	expect_eq(cgroup_make(&kernel, &root, 0), -EINVAL);
	expect_eq(kernel.cgroup_fd, -EBADF);
}

static void writes_limits_as_files(void)
{
	char path[192], text[64];

	NEEDS_CGROUP();

	struct kernel kernel = make();

	(void)snprintf(path, sizeof(path), "%s/cgroup.max.descendants", directory);
	expect_str(read_text(path, text, sizeof(text)), "max\n");
	expect_eq(limit(&kernel, "cgroup.max.descendants", "7", false), 0);
	expect_str(read_text(path, text, sizeof(text)), "7\n");
	expect_eq(limit(&kernel, "cgroup.max.descendants", "some", false), -EINVAL);
	expect_eq(give_back(&kernel), 0);
}

static void a_limit_that_cannot_be_held_is_a_failure(void)
{
	NEEDS_CGROUP();

	struct kernel kernel = make();

	expect_eq(limit(&kernel, "nothing.max", "1", false), -ENOENT);
	expect_eq(limit(&kernel, "nothing.max", "1", true), 0);
	expect_eq(limit(&kernel, "../cgroup.max.depth", "1", false), -EXDEV);
	expect_eq(give_back(&kernel), 0);
}

static void kills_everything_in_it(int (*kill_all)(int cgroup_fd))
{
	struct kernel kernel = make();
	pid_t waiting = start_in(kernel.cgroup_fd), stopped = start_in(kernel.cgroup_fd);

	expect(waiting > 0 && stopped > 0);
	expect_eq(kill(stopped, SIGSTOP), 0);
	expect_eq(waitpid(stopped, NULL, WUNTRACED), stopped);
	/* A cgroup with processes cannot be removed. */
	expect_eq(unlinkat(kernel.cgroup_parent_fd, strrchr(directory, '/') + 1, AT_REMOVEDIR), -1);
	expect_eq(errno, EBUSY);
	expect_eq(kill_all(kernel.cgroup_fd), 0);
	expect_eq(give_back(&kernel), 0);
	expect_eq(signal_of(waiting), SIGKILL);
	expect_eq(signal_of(stopped), SIGKILL);
}

static void kills_what_is_in_it_and_waits_until_it_is_gone(void)
{
	NEEDS_CGROUP();
	kills_everything_in_it(cgroup_kill);
}

static void kills_one_by_one_where_the_kernel_has_no_call_for_it(void)
{
	NEEDS_CGROUP();
	kills_everything_in_it(cgroup_kill_each);
}

/* A process that forks and exits, as does each child, so that any list of PIDs is outdated when it
 * is read. Bounded, so that it does not outlive a failed test. */
static pid_t start_runaway_in(int cgroup_fd)
{
	pid_t child;

	(void)fflush(stdout);
	child = clone_into(cgroup_fd);
	for (int i = 0; child == 0 && i < 1000000; i++)
		if (fork() != 0)
			_exit(0);
	if (child == 0)
		_exit(1);
	return child;
}

static void nothing_forks_its_way_out(void)
{
	int (*const ways[])(int) = { cgroup_kill, cgroup_kill_each };

	NEEDS_CGROUP();
	/* Orphans are reparented to this process; SIGCHLD is ignored, so they leave no zombies. */
	expect_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	expect(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	for (size_t i = 0; i < N_ELEMENTS(ways); i++) {
		for (int has_child = 0; has_child < 2; has_child++) {
			struct kernel kernel = make_step(has_child);

			expect(start_runaway_in(kernel_process_cgroup(&kernel)) > 0);
			expect_eq(ways[i](kernel.cgroup_fd), 0);
			expect_eq(give_back(&kernel), 0);
			expect_eq(waitpid(-1, NULL, 0), -1);
			expect_eq(errno, ECHILD);
		}
	}
	expect(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
	expect_eq(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void may_be_killed_and_removed_again(void)
{
	NEEDS_CGROUP();

	struct kernel kernel = make();
	const char *name = strrchr(directory, '/') + 1;

	expect_eq(cgroup_kill(kernel.cgroup_fd), 0);
	expect_eq(kernel_remove_cgroup(kernel.cgroup_parent_fd, name, kernel.cgroup_fd), 0);
	expect_eq(cgroup_kill(kernel.cgroup_fd), 0);
	expect_eq(cgroup_kill_each(kernel.cgroup_fd), 0);
	expect_eq(kernel_remove_cgroup(kernel.cgroup_parent_fd, name, kernel.cgroup_fd), 0);
	close_fd(&kernel.cgroup_fd);
	close_fd(&kernel.cgroup_parent_fd);
}

static void removes_what_the_processes_inside_have_made(void)
{
	NEEDS_CGROUP();

	static const char *const made[] = { "a", "a/b", "a/b/c", "a/d", ".e" };
	struct kernel kernel = make();

	for (size_t i = 0; i < N_ELEMENTS(made); i++)
		expect_eq(mkdirat(kernel.cgroup_fd, made[i], 0700), 0);
	expect_eq(give_back(&kernel), 0);
	expect_eq(access(directory, F_OK), -1);
}

static void what_is_made_in_the_child_is_bounded(void)
{
	NEEDS_CGROUP();

	struct kernel kernel = make_step(true);
	char name[16];
	int n = 0;

	do
		(void)snprintf(name, sizeof(name), "%d", n);
	while (mkdirat(kernel.cgroup_child_fd, name, 0700) == 0 && ++n < 2000);
	expect_eq(errno, EAGAIN);
	expect_eq(n, 999);
	expect_eq(give_back(&kernel), 0);
}

static const struct test tests[] = {
	TEST(makes_a_cgroup_with_mode_0700),
	TEST(refuses_a_directory_that_is_there_already),
	TEST(refuses_a_directory_without_a_parent),
	TEST(writes_limits_as_files),
	TEST(a_limit_that_cannot_be_held_is_a_failure),
	TEST(kills_what_is_in_it_and_waits_until_it_is_gone),
	TEST(kills_one_by_one_where_the_kernel_has_no_call_for_it),
	TEST(nothing_forks_its_way_out),
	TEST(may_be_killed_and_removed_again),
	TEST(removes_what_the_processes_inside_have_made),
	TEST(what_is_made_in_the_child_is_bounded),
	TEST_END,
};

static void find_directory(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs status;

	for (size_t i = 0; i < N_ELEMENTS(mounts); i++) {
		if (statfs(mounts[i], &status) < 0 || status.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		(void)snprintf(directory, sizeof(directory), "%s/sbx-test-%d", mounts[i],
			       (int)getpid());
		if (mkdir(directory, 0700) == 0 && rmdir(directory) == 0)
			return;
		directory[0] = '\0';
	}
}

int main(void)
{
	find_directory();
	return test_run(tests);
}
