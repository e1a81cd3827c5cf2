/* SPDX-License-Identifier: MIT */

/*
 * The filter of PID 1, for the time when it only reaps, forwards signals and reports
 *
 * It has no capabilities and needs to open no files. If the command takes over PID 1, it can only
 * use the calls of this table; any other call kills PID 1, and the sandbox with it.
 */

#include <errno.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

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
