/* SPDX-License-Identifier: MIT */

/*
 * Loads the filter of the command as the last step before execve(), because it refuses most calls
 * of the other steps. All descendants inherit it; filters can be added but not removed.
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* Linux 5.19. After the supervisor has received a notification, only fatal signals interrupt the
 * call, so it is not restarted: one execve() is one notification. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

static long load(const struct sock_fprog *filter, unsigned long flags)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);
}

static int load_and_listen(struct kernel *kernel)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = load(kernel->filter, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd < 0 && errno == EINVAL)
		fd = load(kernel->filter, flags);
	if (fd < 0)
		return -errno;
	kernel->notify_fd = (int)fd; /* close-on-exec, as every one is */
	return 0;
}

int seccomp_load(struct kernel *kernel, const struct step *step, size_t number)
{
	if (!kernel->filter)
		return -EINVAL;
	if (kernel->filter_notifies)
		return load_and_listen(kernel);
	return load(kernel->filter, 0) < 0 ? -errno : 0;
}

/*
 * The filter of PID 1, for the time when it only reaps, forwards signals and reports
 *
 * It has no capabilities and needs to open no files. If the command takes over PID 1, it can only
 * use the calls of this table; any other call kills PID 1, and the sandbox with it.
 */

/* On an unknown architecture PID 1 would be killed at its first call. */
#ifdef __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE AUDIT_ARCH_X86_64
#endif

/* The calls of the loop, the most frequent first; then those of its end. */
static const int allowed[] = {
	SYS_rt_sigtimedwait, SYS_wait4,		  SYS_waitid,	    SYS_kill,		SYS_write,
	SYS_sendto,	     SYS_sendmsg,	  SYS_close,	    SYS_rt_sigprocmask, SYS_getpid,
	SYS_pread64,	     SYS_restart_syscall, SYS_rt_sigreturn, SYS_exit_group,	SYS_exit,
};

/* The only allowed ioctl() request: tcsetpgrp(). */
#define IOCTL_CHECK 4
#define HEAD (4 + IOCTL_CHECK)
#define N_INSTRUCTIONS (HEAD + N_ELEMENTS(allowed) + 2)

#define LOAD(field)                                                                                \
	(struct sock_filter)                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (action))
#define JUMP_EQUAL(value, then, otherwise)                                                         \
	(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))

/* Calls of another architecture have other numbers: killed. x32 numbers have an extra bit and match
 * none of these. */
static void lay_out(struct sock_filter *ret)
{
	size_t n = 0;

	ret[n++] = LOAD(arch);
	ret[n++] = JUMP_EQUAL(ARCHITECTURE, 1, 0);
	ret[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	ret[n++] = LOAD(nr);
	ret[n++] = JUMP_EQUAL(SYS_ioctl, 0, IOCTL_CHECK - 1);
	ret[n++] = LOAD(args[1]);
	ret[n++] = JUMP_EQUAL(TIOCSPGRP, N_ELEMENTS(allowed) + 2, 0);
	ret[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < N_ELEMENTS(allowed); i++, n++)
		ret[n] = JUMP_EQUAL((unsigned)allowed[i], N_ELEMENTS(allowed) - i, 0);
	ret[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	ret[n] = RETURN(SECCOMP_RET_ALLOW);
}

int kernel_confine_reaper(void)
{
	struct sock_filter filter[N_INSTRUCTIONS];
	const struct sock_fprog program = { .len = N_INSTRUCTIONS, .filter = filter };

	lay_out(filter);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
