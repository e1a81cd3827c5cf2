/* SPDX-License-Identifier: MIT */

#include <ftw.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernel-rig.h"

#define PORT_BIND 1ull /* LANDLOCK_ACCESS_NET_BIND_TCP */
#define SCOPE_SIGNAL 2ull
#define DIRECTORY_RIGHTS                                                                           \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |                              \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_WRITE_FILE)

/* Accessible to all users: open/file, open/link -> ../closed, closed/file. */
static char place[] = "/tmp/sbx-test-landlock-XXXXXX";

static const struct step nothing;

static int abi(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static const char *in_place(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static void make_file(const char *name)
{
	_cleanup_close_ int fd = open(in_place(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || fchmod(fd, 0666) < 0)
		abort();
}

static void make_directory(const char *name)
{
	if (mkdir(in_place(name), 0777) < 0 || chmod(in_place(name), 0777) < 0)
		abort();
}

static int try_open(const char *name, int flags)
{
	_cleanup_close_ int fd = open(in_place(name), flags | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : 0;
}

static int create(struct kernel *kernel, uint64_t files, uint64_t ports, uint64_t scopes)
{
	const struct step step = { .kind = STEP_LANDLOCK, .landlock = { files, ports, scopes } };

	if (become_ordinary() < 0 || capabilities_lock(kernel, &nothing, 0) < 0)
		return -EPROTO;
	return landlock_create(kernel, &step, 0);
}

static int allow(struct kernel *kernel, const char *name, uint64_t rights)
{
	const struct step step = { .kind = STEP_LANDLOCK_PATH,
				   .landlock_path = { in_place(name), rights } };

	return landlock_allow_path(kernel, &step, 0);
}

static int enforce_files(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(create(&kernel, DIRECTORY_RIGHTS, 0, 0) == 0);
	check(fcntl(kernel.ruleset_fd, F_GETFD) == FD_CLOEXEC);
	check(allow(&kernel, "open", DIRECTORY_RIGHTS) == 0);
	check(try_open("closed/file", O_RDONLY) == 0);
	check(landlock_enforce(&kernel, &nothing, 0) == 0 && kernel.ruleset_fd == -EBADF);
	check(try_open("closed/file", O_RDONLY) == -EACCES);
	check(try_open("closed/new", O_WRONLY | O_CREAT) == -EACCES);
	check(try_open("open/file", O_RDWR) == 0);
	check(try_open("open/new", O_WRONLY | O_CREAT) == 0);
	check(try_open("open/link/file", O_RDONLY) == -EACCES);
	return 0;
}

static void allows_what_a_rule_names_and_nothing_else(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(enforce_files), 0);
}

static int follow_a_link(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(create(&kernel, DIRECTORY_RIGHTS, 0, 0) == 0);
	check(allow(&kernel, "open/link/file", DIRECTORY_RIGHTS) == -ELOOP);
	return allow(&kernel, "open/link", DIRECTORY_RIGHTS);
}

static void refuses_a_rule_whose_path_is_a_link(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(follow_a_link), -ELOOP);
}

static int name_what_is_not_there(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(create(&kernel, DIRECTORY_RIGHTS, 0, 0) == 0);
	return allow(&kernel, "nothing", DIRECTORY_RIGHTS);
}

static void a_missing_path_is_refused(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(name_what_is_not_there), -ENOENT);
}

static int give_a_file_the_rights_of_a_directory(void)
{
	struct kernel kernel = KERNEL_INIT;

	check(create(&kernel, DIRECTORY_RIGHTS, 0, 0) == 0);
	check(allow(&kernel, "open/file", DIRECTORY_RIGHTS) == 0);
	/* These rights do not apply to regular files. */
	check(allow(&kernel, "closed/file", LANDLOCK_ACCESS_FS_READ_DIR) == -EINVAL);
	/* A right that the ruleset does not handle cannot be allowed. */
	check(allow(&kernel, "closed", LANDLOCK_ACCESS_FS_EXECUTE) == -EINVAL);
	check(landlock_enforce(&kernel, &nothing, 0) == 0);
	check(try_open("open/file", O_RDWR) == 0);
	check(try_open("closed/file", O_RDONLY) == -EACCES);
	return 0;
}

static void a_file_gets_those_rights_that_files_have(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(give_a_file_the_rights_of_a_directory), 0);
}

static int open_again(int fd, int flags)
{
	char path[64];
	_cleanup_close_ int again = -EBADF;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : 0;
}

static int use_streams(void)
{
	const struct step step = { .kind = STEP_LANDLOCK_STREAMS,
				   .landlock_streams.rights = DIRECTORY_RIGHTS };
	_cleanup_close_ int read_only = open(in_place("closed/file"), O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int write_only = open(in_place("open/file"), O_WRONLY | O_CLOEXEC);
	_cleanup_close_ int pathless = open(in_place("closed"), O_PATH | O_CLOEXEC);
	struct kernel kernel = KERNEL_INIT;

	kernel.streams[STDIN_FILENO] = read_only;
	kernel.streams[STDOUT_FILENO] = write_only;
	kernel.streams[STDERR_FILENO] = pathless;
	check(create(&kernel, DIRECTORY_RIGHTS, 0, 0) == 0);
	check(landlock_allow_streams(&kernel, &step, 0) == 0);
	/* The links in /proc/self/fd themselves need no right. */
	check(landlock_enforce(&kernel, &nothing, 0) == 0);
	check(open_again(read_only, O_RDONLY) == 0);
	check(open_again(read_only, O_WRONLY) == -EACCES);
	check(open_again(write_only, O_WRONLY) == 0);
	check(open_again(write_only, O_RDONLY) == -EACCES);
	check(open_again(write_only, O_RDWR) == -EACCES);
	check(open_again(pathless, O_RDONLY | O_DIRECTORY) == -EACCES);
	return 0;
}

static void streams_can_be_opened_again_as_they_are_open(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(use_streams), 0);
}

static int bind_to(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int enforce_ports(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step port = { .kind = STEP_LANDLOCK_PORT,
				   .landlock_port = { 28765, PORT_BIND } };

	check(create(&kernel, 0, PORT_BIND, 0) == 0);
	check(landlock_allow_port(&kernel, &port, 0) == 0);
	check(bind_to(28766) != -EACCES);
	check(landlock_enforce(&kernel, &nothing, 0) == 0);
	check(bind_to(28766) == -EACCES);
	check(bind_to(28765) != -EACCES);
	return 0;
}

static void allows_the_ports_that_are_named(void)
{
	if (abi() < 4)
		skip("this kernel's Landlock knows no ports");
	expect_eq(in_child(enforce_ports), 0);
}

static int enforce_scope(void)
{
	struct kernel kernel = KERNEL_INIT;
	pid_t parent = getppid();
	bool was_root = geteuid() == 0;

	check(create(&kernel, 0, 0, SCOPE_SIGNAL) == 0);
	/* Root's child has another uid now, so it may not signal its parent in any case. */
	check(was_root || kill(parent, 0) == 0);
	check(landlock_enforce(&kernel, &nothing, 0) == 0);
	check(kill(getpid(), 0) == 0);
	return kill(parent, 0) < 0 ? -errno : 0;
}

static void signals_do_not_leave_the_scope(void)
{
	if (abi() < 6)
		skip("this kernel's Landlock has no scopes");
	expect_eq(in_child(enforce_scope), -EPERM);
}

static int enforce_without_lock(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step step = { .kind = STEP_LANDLOCK,
				   .landlock.file_rights = LANDLOCK_ACCESS_FS_READ_FILE };

	check(become_ordinary() == 0);
	check(landlock_create(&kernel, &step, 0) == 0);
	return landlock_enforce(&kernel, &nothing, 0);
}

static void fails_without_no_new_privs(void)
{
	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(in_child(enforce_without_lock), -EPERM);
}

static void fails_without_a_ruleset(void)
{
	struct kernel kernel = KERNEL_INIT;
	const struct step all = { .kind = STEP_LANDLOCK, .landlock.file_rights = UINT64_MAX };
	const struct step none = { .kind = STEP_LANDLOCK };

	if (abi() < 1)
		skip("this kernel has no Landlock");
	expect_eq(allow(&kernel, "open", DIRECTORY_RIGHTS), -EBADF);
	expect_eq(landlock_allow_port(&kernel, &nothing, 0), -EBADF);
	expect(landlock_enforce(&kernel, &nothing, 0) < 0);
	/* A right that the kernel does not know must not be dropped silently. */
	expect_eq(landlock_create(&kernel, &all, 0), -EINVAL);
	expect_eq(landlock_create(&kernel, &none, 0), -ENOMSG);
	expect_eq(kernel.ruleset_fd, -EBADF);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static const struct test tests[] = {
	TEST(allows_what_a_rule_names_and_nothing_else),
	TEST(refuses_a_rule_whose_path_is_a_link),
	TEST(a_missing_path_is_refused),
	TEST(a_file_gets_those_rights_that_files_have),
	TEST(streams_can_be_opened_again_as_they_are_open),
	TEST(allows_the_ports_that_are_named),
	TEST(signals_do_not_leave_the_scope),
	TEST(fails_without_no_new_privs),
	TEST(fails_without_a_ruleset),
	TEST_END,
};

int main(void)
{
	int r;

	if (!mkdtemp(place) || chmod(place, 0755) < 0)
		abort();
	make_directory("open");
	make_directory("closed");
	make_file("open/file");
	make_file("closed/file");
	if (symlink("../closed", in_place("open/link")) < 0)
		abort();
	r = test_run(tests);
	(void)nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return r;
}
