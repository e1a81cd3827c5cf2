/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Set-up steps of lib/kernel cannot be undone, so each test runs them in a child and checks the
 * result there
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "kernel/kernel-internal.h"
#include "test.h"

#define ORDINARY 1000 /* uid and gid of a user that need not exist in /etc/passwd */

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip("only root can be two users");                                        \
	} while (0)

/* The child's result, 0 or negative errno; -1000 - N if signal N killed it. */
static inline int in_child(int (*function)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(-function() & 0xff);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000 - WTERMSIG(status);
}
#define KILLED_BY(signal) (-1000 - (signal))

/* For tests in a child, which return their result: prints the failed condition and returns. */
#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s: expected %s (%s)\n", __FILE__, __LINE__, __func__,    \
			       #condition, strerrorname_np(errno));                                \
			return -EPROTO;                                                            \
		}                                                                                  \
	} while (0)

/* As root: becomes an ordinary user, dumpable like a process after login. */
static inline int become_ordinary(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
	    setresuid(ORDINARY, ORDINARY, ORDINARY) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	/* setresuid() has cleared the parent-death signal. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

/* Creates a user namespace with @flags, mapped like that of a sandbox. */
static inline int enter_namespaces(struct kernel *kernel, int flags)
{
	const struct step map = { .kind = STEP_ID_MAP,
				  .id_map.uid = geteuid(),
				  .id_map.gid = getegid() };

	kernel->uid = geteuid();
	kernel->gid = getegid();
	if (unshare(CLONE_NEWUSER | flags) < 0)
		return -errno;
	return identity_map(kernel, &map, 0);
}

/* Creates a user namespace, for NEEDS_USERNS(). */
static inline int try_userns(void)
{
	struct kernel kernel = KERNEL_INIT;
	int r = become_ordinary();

	return r < 0 ? r : enter_namespaces(&kernel, 0);
}
#define NEEDS_USERNS()                                                                             \
	do {                                                                                       \
		if (in_child(try_userns) != 0)                                                     \
			skip("user namespaces are forbidden here");                                \
	} while (0)

/* Reads a small file, NUL-terminated; "" on failure. */
static inline const char *read_text(const char *path, char *ret, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, ret, size - 1);

	ret[n < 0 ? 0 : n] = '\0';
	return ret;
}
