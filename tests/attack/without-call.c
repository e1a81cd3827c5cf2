/* SPDX-License-Identifier: MIT */

/*
 * without-call NAME ERRNO|KILL COMMAND...: runs the command with a filter that lets one system call
 * fail, or by which the kernel kills the process that makes it
 *
 * No special build is needed, but the call fails in all processes that the command starts. Status
 * 99: this architecture has no such call. Calls that are only used after the command has started,
 * to wait for it, cannot be tested: the wait would never end.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

static const struct {
	const char *name;
	int number;
} calls[] = {
	{ "clone", SYS_clone },
	{ "clone3", SYS_clone3 },
	{ "close_range", SYS_close_range },
	{ "dup3", SYS_dup3 },
#ifdef SYS_dup2
	{ "dup2", SYS_dup2 },
#endif
	{ "fchdir", SYS_fchdir },
	{ "fcntl", SYS_fcntl },
	{ "getresuid", SYS_getresuid },
	{ "ioctl", SYS_ioctl },
	{ "pidfd_send_signal", SYS_pidfd_send_signal },
	{ "pipe2", SYS_pipe2 },
#ifdef SYS_poll
	{ "poll", SYS_poll },
#endif
	{ "ppoll", SYS_ppoll },
	{ "prctl", SYS_prctl },
	{ "recvmsg", SYS_recvmsg },
	{ "rt_sigprocmask", SYS_rt_sigprocmask },
	{ "seccomp", SYS_seccomp },
	{ "sendmsg", SYS_sendmsg },
	{ "sendto", SYS_sendto },
	{ "setsid", SYS_setsid },
	{ "signalfd4", SYS_signalfd4 },
	{ "socketpair", SYS_socketpair },
	{ "umask", SYS_umask },
	{ "umount2", SYS_umount2 },
};

static unsigned action_of(const char *word)
{
	if (strcmp(word, "KILL") == 0)
		return SECCOMP_RET_KILL_PROCESS;
	return SECCOMP_RET_ERRNO | (unsigned)(strcmp(word, "EPERM") == 0 ? EPERM : ENOSYS);
}

static int refuse(int number, unsigned action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			(void)puts(calls[i].name);
		return 0;
	}
	if (argc < 4)
		return 99;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, argv[1]) != 0)
			continue;
		if (refuse(calls[i].number, action_of(argv[2])) < 0)
			return 99;
		(void)execv(argv[3], argv + 3);
		return 99;
	}
	return 99;
}
