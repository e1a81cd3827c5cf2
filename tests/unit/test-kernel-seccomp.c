/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "kernel-rig.h"

static const struct step step;

/* Two verdicts: one for chroot(), which the test does not need, and one for all other calls. */
static struct sock_filter instructions[4];
static const struct sock_fprog filter = { .len = 4, .filter = instructions };

static void answer_chroot_with(unsigned action)
{
	instructions[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						       offsetof(struct seccomp_data, nr));
	instructions[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chroot, 0, 1);
	instructions[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	instructions[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

static int load(struct kernel *kernel, const struct sock_fprog *program, bool notifies)
{
	if (become_ordinary() < 0 || capabilities_lock(kernel, &step, 0) < 0)
		return -EPROTO;
	kernel->filter = program;
	kernel->filter_notifies = notifies;
	return seccomp_load(kernel, &step, 0);
}

static int load_filter(void)
{
	struct kernel kernel = KERNEL_INIT;

	answer_chroot_with(SECCOMP_RET_ERRNO | EDOM);
	check(chroot("/nothing") < 0 && errno != EDOM);
	check(load(&kernel, &filter, false) == 0);
	check(kernel.notify_fd == -EBADF);
	check(chroot("/nothing") < 0 && errno == EDOM);
	check(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
	return 0;
}

static void loads_the_filter_of_the_command(void)
{
	expect_eq(in_child(load_filter), 0);
}

static int load_nothing(void)
{
	struct kernel kernel = KERNEL_INIT;

	return load(&kernel, NULL, false);
}

static int load_nonsense(void)
{
	const struct sock_fprog empty = { .len = 0, .filter = instructions };
	struct kernel kernel = KERNEL_INIT;

	return load(&kernel, &empty, true);
}

static int load_without_lock(void)
{
	struct kernel kernel = KERNEL_INIT;

	answer_chroot_with(SECCOMP_RET_ALLOW);
	check(become_ordinary() == 0);
	kernel.filter = &filter;
	return seccomp_load(&kernel, &step, 0);
}

static void no_filter_is_a_failure(void)
{
	expect_eq(in_child(load_nothing), -EINVAL);
	expect_eq(in_child(load_nonsense), -EINVAL);
	expect_eq(in_child(load_without_lock), -EACCES);
}

static int notify(void)
{
	struct kernel kernel = KERNEL_INIT;
	struct seccomp_notif request = { .id = 0 };
	pid_t child;

	answer_chroot_with(SECCOMP_RET_USER_NOTIF);
	check(load(&kernel, &filter, true) == 0);
	check(kernel.notify_fd >= 0 && fcntl(kernel.notify_fd, F_GETFD) == FD_CLOEXEC);
	child = fork();
	if (child == 0) {
		/* With its own copy of the listener the child would wait for itself. */
		close_fd(&kernel.notify_fd);
		_exit(chroot("/nothing") < 0 ? errno : 0);
	}
	/* When the last listener fd is closed, the pending call fails with ENOSYS. */
	check(ioctl(kernel.notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0);
	check(request.data.nr == SYS_chroot);
	close_fd(&kernel.notify_fd);

	int status;

	check(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void hands_out_the_listener_of_a_filter_that_notifies(void)
{
	expect_eq(in_child(notify), -ENOSYS);
}

static int confine(void)
{
	struct kernel kernel = KERNEL_INIT;

	if (become_ordinary() < 0 || capabilities_lock(&kernel, &step, 0) < 0)
		return -EPROTO;
	return kernel_confine_reaper();
}

static int reap_and_forward(void)
{
	const struct timespec now = { .tv_sec = 0 };
	sigset_t signals;
	int pair[2], status = 0;
	pid_t child;

	check(sigfillset(&signals) == 0 && sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	check(become_ordinary() == 0);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
		for (;;)
			(void)pause();
	}
	check(confine() == 0);
	/* Raw system calls: with a sanitizer the wrappers of libc make others, too. */
	if (kill(child, SIGTERM) < 0 || sigtimedwait(&signals, NULL, NULL) != SIGCHLD ||
	    syscall(SYS_wait4, child, &status, 0, NULL) != child || status != SIGTERM ||
	    sigtimedwait(&signals, NULL, &now) >= 0 || send(pair[0], "x", 1, MSG_NOSIGNAL) != 1 ||
	    write(pair[0], "x", 1) != 1 || close(pair[0]) < 0)
		(void)syscall(SYS_exit_group, EPROTO);
	(void)syscall(SYS_exit_group, 0);
	return 0;
}

static void pid_1_can_still_reap_and_forward_and_report(void)
{
	expect_eq(in_child(reap_and_forward), 0);
}

static int open_something(void)
{
	check(confine() == 0);
	(void)syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY);
	return 0;
}

static int fork_something(void)
{
	check(confine() == 0);
	(void)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	return 0;
}

static int execute_something(void)
{
	check(confine() == 0);
	(void)syscall(SYS_execve, "/bin/true", NULL, NULL);
	return 0;
}

#ifdef __x86_64__
static int enter_by_32_bits(void)
{
	long r = 1; /* i386 number of exit(); the same number is write() on x86-64, which is allowed
		     */

	check(confine() == 0);
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	return 0;
}

static int enter_by_x32(void)
{
	check(confine() == 0);
	(void)syscall(0x40000000 | SYS_getpid);
	return 0;
}
#endif

static void pid_1_is_killed_for_anything_else(void)
{
	expect_eq(in_child(open_something), KILLED_BY(SIGSYS));
	expect_eq(in_child(fork_something), KILLED_BY(SIGSYS));
	expect_eq(in_child(execute_something), KILLED_BY(SIGSYS));
}

static void pid_1_is_killed_at_every_other_entry(void)
{
#ifdef __x86_64__
	int r = in_child(enter_by_32_bits);

	if (r == KILLED_BY(SIGSEGV))
		skip("this kernel has no 32-bit entry");
	expect_eq(r, KILLED_BY(SIGSYS));
	expect_eq(in_child(enter_by_x32), KILLED_BY(SIGSYS));
#else
	skip("the other entries are those of x86");
#endif
}

/* Writes a byte when it is confined, and waits for ever. */
static pid_t start_confined(int *ret_report)
{
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	child = fork();
	if (child == 0) {
		const sigset_t none = { { 0 } };

		if (confine() == 0 && write(pair[1], "x", 1) != 1)
			(void)syscall(SYS_exit_group, 1);
		(void)syscall(SYS_rt_sigtimedwait, &none, NULL, NULL, _NSIG / 8);
		(void)syscall(SYS_exit_group, 1);
	}
	(void)close(pair[1]);
	*ret_report = pair[0];
	return child;
}

static void the_memory_of_pid_1_is_not_readable(void)
{
	_cleanup_close_ int report = -EBADF;
	pid_t child = start_confined(&report);
	struct stat status;
	char path[64], byte;

	expect_eq(read(report, &byte, 1), 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
	/* The process runs as an ordinary user but is not dumpable, so its /proc files belong to
	 * root. */
	expect_eq(stat(path, &status), 0);
	expect_eq(status.st_uid, 0);
	expect_eq(kill(child, SIGKILL), 0);
	expect_eq(waitpid(child, NULL, 0), child);
}

static const struct test tests[] = {
	TEST(loads_the_filter_of_the_command),
	TEST(no_filter_is_a_failure),
	TEST(hands_out_the_listener_of_a_filter_that_notifies),
	TEST(pid_1_can_still_reap_and_forward_and_report),
	TEST(pid_1_is_killed_for_anything_else),
	TEST(pid_1_is_killed_at_every_other_entry),
	TEST(the_memory_of_pid_1_is_not_readable),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
