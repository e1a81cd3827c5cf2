/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Runs work in a process that is killed before its Nth system call, for each N, so that a test can
 * check what remains
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

/* Continues to the next system call stop; false if the process has ended. */
static inline bool killed_step(pid_t pid, int *status)
{
	return ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && waitpid(pid, status, 0) == pid &&
	       !WIFEXITED(*status) && !WIFSIGNALED(*status);
}

/*
 * Runs @work in a child and kills it at its Nth stop (two stops for each system call). False if the
 * work was finished before. *@ret_is_supported: this host allows ptrace.
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

/* Calls @once for every stop (or some, unless slow) until the work finishes; ends at the first stop
 * with a failure. */
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
