/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>

#include <linux/magic.h>

#include "world-rig.h"

/* ---- invalid plans ---- */

static void refuse_steps(const struct step *steps, size_t n, uint32_t at)
{
	_cleanup_kernel_ struct kernel kernel = KERNEL_INIT;
	struct kernel_failure failure = { .step = 77 };
	const struct plan plan = { .steps = (struct step *)steps, .n_steps = n };

	expect_eq(kernel_prepare(&kernel, &plan, NULL, false, &failure), -EINVAL);
	expect_eq(failure.step, at);
	expect_eq(failure.code, -EINVAL);
}
#define expect_refused_steps(at, ...)                                                              \
	refuse_steps((const struct step[]){ __VA_ARGS__ },                                         \
		     sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step), at)

static void refuses_steps_out_of_their_order(void)
{
	expect_refused_steps(1, { .kind = STEP_PIVOT }, { .kind = STEP_ROOT });
	expect_refused_steps(1, { .kind = STEP_SECCOMP }, { .kind = STEP_CAPABILITIES });
	expect_refused_steps(2, { .kind = STEP_PIVOT }, { .kind = STEP_SEAL, .seal.target = "/" },
			     { .kind = STEP_DIRECTORY, .directory.target = "/x" });
}

static void refuses_a_target_while_the_old_root_is_there(void)
{
	expect_refused_steps(0, { .kind = STEP_DIRECTORY, .directory.target = "/tmp/sbx-nowhere" });
	expect_refused_steps(1, { .kind = STEP_ROOT, .root.size_bytes = MIB },
			     { .kind = STEP_SEAL, .seal.target = "/" });
	expect_eq(access("/tmp/sbx-nowhere", F_OK), -1);
}

static void refuses_a_target_that_masks_are_made_of(void)
{
	expect_refused_steps(1, { .kind = STEP_PIVOT },
			     { .kind = STEP_DIRECTORY, .directory.target = "/.masked-folder" });
	expect_refused_steps(1, { .kind = STEP_PIVOT },
			     { .kind = STEP_BIND, .bind.target = "/.masked-folder/below" });
}

static void refuses_a_step_that_it_does_not_know(void)
{
	expect_refused_steps(0, { .kind = N_STEP_KINDS });
}

static void finds_the_first_step_of_a_kind(void)
{
	struct step steps[] = { { .kind = STEP_ROOT },
				{ .kind = STEP_DIRECTORY },
				{ .kind = STEP_DIRECTORY } };
	const struct plan plan = { .steps = steps, .n_steps = N_ELEMENTS(steps) };

	expect_eq(kernel_find_step(&plan, STEP_DIRECTORY), 1);
	expect_eq(kernel_find_step(&plan, STEP_EXEC), KERNEL_NO_STEP);
}

/* ---- PID 1 ---- */

static void expect_no_fd_of_ours(struct world *world)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	/* The fds that the test was started with, and that of the open directory. */
	expect_eq(n, world->plan.n_fds + 1);
}

static size_t count_fds(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	return n - 1;
}

EVERYBODY(no_fd_of_the_set_up_is_left)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	size_t before = count_fds();

	world_init(&world);
	world.plan.n_fds = before;
	make_directory(&world, "bound", 0755);
	make_file(&world, "file", "", 0644);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_MASK, .mask.target = "/bound", .mask.is_directory = true);
	add(&world, .kind = STEP_FILE, .file.source = outside(&world, "file"),
	    .file.target = "/file", .file.mode = 0400);
	add_proc(&world);
	add(&world, .kind = STEP_PTS, .pts.target = "/pts");
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add_end(&world);
	expect_eq(world_run(&world, expect_no_fd_of_ours), 0);
	expect_eq(count_fds(), before);
}

static ino_t network_namespace(void)
{
	struct stat st = { .st_ino = 0 };

	expect_eq(stat("/proc/self/ns/net", &st), 0);
	return st.st_ino;
}

static ino_t network_of_host;

static pid_t pid_of_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	expect_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool is_loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	expect_eq(ioctl(fd, SIOCGIFFLAGS, &request), 0);
	return request.ifr_flags & IFF_UP;
}

static void expect_a_network_of_its_own(struct world *world)
{
	expect(network_namespace() != network_of_host);
	expect_eq(is_loopback_up(),
		  kernel_find_step(&world->plan, STEP_LOOPBACK) != KERNEL_NO_STEP);
	expect_no_fd_of_ours(world);
	expect_eq(pid_of_a_child(), 2);
}

static void make_network(bool has_loopback)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	network_of_host = network_namespace();
	world_init(&world);
	world.plan.n_fds = count_fds();
	add_proc(&world);
	add(&world, .kind = STEP_SEAL, .seal.target = "/");
	if (has_loopback)
		add(&world, .kind = STEP_LOOPBACK);
	add(&world, .kind = STEP_IDENTITY, .identity.uid = world.plan.uid,
	    .identity.gid = world.plan.gid);
	add(&world, .kind = STEP_CAPABILITIES);
	add(&world, .kind = STEP_NO_NEW_PRIVILEGES);
	expect_eq(world_run(&world, expect_a_network_of_its_own), 0);
	expect_eq(network_namespace(), network_of_host);
}

EVERYBODY(the_network_namespace_has_a_loopback_of_its_own)
{
	make_network(true);
	make_network(false);
}

EVERYBODY(the_supervisor_keeps_no_mount)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	_cleanup_kernel_ struct kernel kernel = KERNEL_INIT;
	struct kernel_failure failure;
	size_t before;
	pid_t pid;

	world_init(&world);
	add_bind(&world, world.directory, "/bound", STEP_IS_DIRECTORY);
	add_end(&world);
	before = count_fds();
	expect_eq(kernel_prepare(&kernel, &world.plan, NULL, false, &failure), 0);
	expect_eq(count_fds(), before + is_root());
	(void)fflush(stdout);
	pid = kernel_clone(&kernel);
	if (pid == 0)
		_exit(0);
	expect_eq(waitpid(pid, NULL, 0), pid);
	/* Only the pidfd was added. */
	expect_eq(count_fds(), before + 1);
	expect_eq(pid, kernel.pid);
}

static void expect_nobody_else(struct world *world)
{
	expect_eq(getpid(), 1);
	expect_eq(getppid(), 0);
	expect_eq(kill(2, 0), -1);
	expect_eq(errno, ESRCH);
	expect_eq(getuid(), world->plan.uid);
	expect_eq(geteuid(), world->plan.uid);
	expect_eq(getgid(), world->plan.gid);
	expect_eq(setuid(0), -1);
	expect_eq(sethostname("x", 1), -1);
}

EVERYBODY(the_sandbox_runs_without_capabilities)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_nobody_else), 0);
}

static void root_stays_root(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	struct stat st;

	if (!is_root())
		skip("only root borrows an identity");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	world_init(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_nobody_else), 0);
	expect_eq(geteuid(), 0);
	expect_eq(getegid(), 0);
	make_file(&world, "file", "", 0600);
	expect_eq(stat(outside(&world, "file"), &st), 0);
	expect_eq(st.st_uid, 0);
	expect_eq(st.st_gid, 0);
}

static void handler(int signal) {}

static void expect_default_signals(struct world *world)
{
	struct sigaction action;

	expect_eq(sigaction(SIGUSR1, NULL, &action), 0);
	expect(action.sa_handler == SIG_DFL);
}

EVERYBODY(no_signal_handler_of_the_supervisor_runs_inside)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	struct sigaction old;
	const struct sigaction ours = { .sa_handler = handler };

	expect_eq(sigaction(SIGUSR1, &ours, &old), 0);
	world_init(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_default_signals), 0);
	expect_eq(sigaction(SIGUSR1, &old, NULL), 0);
}

EVERYBODY(a_failure_names_its_step)
{
	_cleanup_world_ struct world world = WORLD_INIT;

	world_init(&world);
	make_directory(&world, "bound", 0755);
	add_bind(&world, outside(&world, "bound"), "/bound", STEP_IS_DIRECTORY);
	add(&world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add(&world, .kind = STEP_DIRECTORY, .directory.target = "/bound/new",
	    .directory.mode = 0755);
	add_end(&world);
	expect_eq(world_run(&world, never), -EXDEV);
	expect_eq(world.failure.step, 6);
	expect_eq(world.failure.code, -EXDEV);
}

/* ---- cgroups ---- */

static const char *cgroup_root(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs st;

	for (size_t i = 0; i < N_ELEMENTS(roots); i++)
		if (statfs(roots[i], &st) == 0 && st.f_type == CGROUP2_SUPER_MAGIC)
			return roots[i];
	return NULL;
}

static void expect_root_of_cgroups(struct world *world)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	expect_eq(file_read(AT_FDCWD, "/proc/self/cgroup", MIB, &text, &n, NULL), 0);
	expect(text && strstr(text, "0::/\n") != NULL);
}

static void pid_1_is_born_in_its_cgroup(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	const char *root = cgroup_root();
	char path[64];

	if (!is_root())
		skip("only root makes cgroups wherever it likes");
	if (!root)
		skip("there are no cgroups of version 2");
	if (!has_namespaces())
		skip("nobody may make user namespaces here");
	(void)snprintf(path, sizeof(path), "%s/sbx-kernel-apply-%d", root, getpid());
	world_init(&world);
	memmove(&world.steps[1], &world.steps[0], 4 * sizeof(*world.steps));
	world.plan.n_steps++;
	world.steps[0] = (struct step){ .kind = STEP_CGROUP, .cgroup.path = path };
	world.steps[1].namespaces.clone_flags |= CLONE_NEWCGROUP;
	add_proc(&world);
	add_end(&world);
	expect_eq(world_run(&world, expect_root_of_cgroups), 0);
	expect_eq(access(path, F_OK), -1);
}

/* ---- the command ---- */

/* Runs the command; returns its exit status, or 200 plus the errno of execve. */
static int run_command(char *const argv[], char *const environment[])
{
	const struct plan plan = { .argv = argv, .environment = environment };
	struct exec_failure execution;
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(200 - kernel_exec(&plan, &execution));
	expect_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void finds_a_command_through_its_own_path(void)
{
	char *ours[] = { "PATH=/usr/bin:/bin", NULL };
	char *elsewhere[] = { "X=PATH=/bin", "PATH=/proc/self:/nowhere", NULL };
	char *none[] = { NULL };

	expect_eq(run_command((char *[]){ "true", NULL }, ours), 0);
	expect_eq(run_command((char *[]){ "true", NULL }, none), 0);
	expect_eq(run_command((char *[]){ "true", NULL }, elsewhere), 200 + ENOENT);
	expect_eq(run_command((char *[]){ "/bin/true", NULL }, elsewhere), 0);
	expect_eq(run_command((char *[]){ "/bin/false", NULL }, elsewhere), 1);
	expect_eq(run_command((char *[]){ "", NULL }, ours), 200 + ENOENT);
	expect_eq(run_command((char *[]){ "sbx-no-such-command", NULL }, ours), 200 + ENOENT);
}

static void goes_on_behind_what_may_not_be_executed(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	char path[128];

	world_init(&world);
	make_file(&world, "true", "not executable", 0644);
	make_file(&world, "alone", "not executable", 0644);
	(void)snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", world.directory);

	char *environment[] = { path, NULL };

	expect_eq(run_command((char *[]){ "true", NULL }, environment), 0);
	expect_eq(run_command((char *[]){ "alone", NULL }, environment), 200 + EACCES);
}

static void an_empty_directory_of_the_path_is_the_working_directory(void)
{
	_cleanup_world_ struct world world = WORLD_INIT;
	_cleanup_close_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *environment[] = { "PATH=/nowhere:", NULL };

	world_init(&world);
	make_file(&world, "here", "#!/bin/sh\nexit 9\n", 0755);
	expect_eq(chdir(world.directory), 0);
	expect_eq(run_command((char *[]){ "here", NULL }, environment), 9);
	expect_eq(fchdir(here), 0);
}

static void may_be_deinitialised_twice(void)
{
	struct kernel kernel = KERNEL_INIT;
	struct step step = { .kind = STEP_EXEC };
	const struct plan plan = { .steps = &step, .n_steps = 1 };
	struct kernel_failure failure;

	kernel_deinit(&kernel);
	expect_eq(kernel_finish(&kernel), 0);
	expect_eq(kernel_prepare(&kernel, &plan, NULL, false, &failure), 0);
	kernel_deinit(&kernel);
	kernel_deinit(&kernel);
}

static const struct test tests[] = {
	TEST(refuses_steps_out_of_their_order),
	TEST(refuses_a_target_while_the_old_root_is_there),
	TEST(refuses_a_target_that_masks_are_made_of),
	TEST(refuses_a_step_that_it_does_not_know),
	TEST(finds_the_first_step_of_a_kind),
	TEST(no_fd_of_the_set_up_is_left),
	TEST(the_network_namespace_has_a_loopback_of_its_own),
	TEST(the_supervisor_keeps_no_mount),
	TEST(the_sandbox_runs_without_capabilities),
	TEST(root_stays_root),
	TEST(no_signal_handler_of_the_supervisor_runs_inside),
	TEST(a_failure_names_its_step),
	TEST(pid_1_is_born_in_its_cgroup),
	TEST(finds_a_command_through_its_own_path),
	TEST(goes_on_behind_what_may_not_be_executed),
	TEST(an_empty_directory_of_the_path_is_the_working_directory),
	TEST(may_be_deinitialised_twice),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
