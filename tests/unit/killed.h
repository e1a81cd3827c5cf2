/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A process that is killed before its system call number N, for every N: what it leaves behind has
 * to be right at each of them
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)

/* One step of it: false where it has ended. */
static inline bool killed_step(pid_t pid, int *status)
{
	return ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && waitpid(pid, status, 0) == pid &&
	       !WIFEXITED(*status) && !WIFSIGNALED(*status);
}

/*
 * Runs @work in a process of its own, which is killed at its stop number @n (two for each system
 * call). False where the work was done before; 1 in *@ret_is_supported where this host traces.
 */
static inline bool killed_at(unsigned n, void (*work)(void *userdata), void *userdata,
			     bool *ret_is_supported)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(99);
		(void)raise(SIGSTOP);
		work(userdata);
		_exit(0);
	}
	*ret_is_supported = waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
	if (!*ret_is_supported)
		return false;
	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (unsigned i = 0; i < n; i++)
		if (!killed_step(pid, &status)) {
			expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			return false;
		}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return true;
}

/* Tries @once at every stop, or at some of them, until the work is done before it; ends at the
 * first one at which something is not right. */
static inline void killed_everywhere(bool (*once)(unsigned n, bool *ret_is_supported))
{
	unsigned step = test_is_slow() ? 1 : 67;
	unsigned before = test_failures;
	bool is_supported = true;

	for (unsigned n = 1; once(n, &is_supported); n += step)
		if (test_failures > before) {
			printf("# at stop %u\n", n);
			return;
		}
	if (!is_supported)
		skip("this host does not let a process be traced");
}
