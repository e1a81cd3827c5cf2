/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Steps of the set-up cannot be taken back, so each test takes them in a child and looks at what
 * comes of it
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

#define ORDINARY 1000 /* uid and gid of a user that need not be in any database */

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip("only root can be two users");                                        \
	} while (0)

/* What the child returned, 0 or negative errno; or -1000 - N where signal N killed it. */
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

/* Inside a child: its way out of a test is its result. */
#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s: expected %s (%s)\n", __FILE__, __LINE__, __func__,    \
			       #condition, strerrorname_np(errno));                                \
			return -EPROTO;                                                            \
		}                                                                                  \
	} while (0)

/* From here on an ordinary user, whoever we were; dumpable, as who has just logged in. */
static inline int become_ordinary(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
	    setresuid(ORDINARY, ORDINARY, ORDINARY) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	/* It went with the ids. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

/* A user namespace with us in it, mapped as a sandbox's, and @flags. */
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

/* Does this host let a user make one? If not, what needs it is skipped. */
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

/* The whole of a small file, with a NUL; or "". */
static inline const char *read_text(const char *path, char *ret, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, ret, size - 1);

	ret[n < 0 ? 0 : n] = '\0';
	return ret;
}
