/* SPDX-License-Identifier: MIT */

/*
 * A new namespace would give capabilities back: each of the three calls, with each flag
 *
 * Each flag is combined with CLONE_NEWUSER, which gives an ordinary user the permission.
 */

#include "escape.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

static enum escape_verdict by_unshare(long flags)
{
	return escape_judge(unshare((int)flags));
}

static enum escape_verdict wait_for(long pid)
{
	int status;

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return REFUSED;
	return waitpid((pid_t)pid, &status, __WALL) == pid ? ESCAPED : UNKNOWN;
}

static enum escape_verdict by_clone(long flags)
{
	return wait_for(syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0));
}

/* A filter cannot read the struct that clone3() takes. */
static enum escape_verdict by_clone3(long flags)
{
	struct clone_args args = { .flags = (uint64_t)flags, .exit_signal = SIGCHLD };

	return wait_for(syscall(SYS_clone3, &args, sizeof(args)));
}

static enum escape_verdict by_setns(long number)
{
	static const char *const own[] = { "/proc/self/ns/mnt", "/proc/self/ns/net",
					   "/proc/self/ns/uts" };
	int fd = open(own[number], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? REFUSED : escape_judge(setns(fd, 0));
}

/* A bit that the kernel ignores must not hide a flag from the filter. */
static enum escape_verdict clone_with_high_bits(long flags)
{
	return wait_for(syscall(SYS_clone, (1L << 32) | flags | SIGCHLD, NULL, NULL, NULL, 0));
}

#define WITH_USER(flag) ((long)CLONE_NEWUSER | (flag))

#define EACH_FLAG(call, function)                                                                  \
	{ call "_user_namespace", NEEDS_USER, function, CLONE_NEWUSER },                           \
		{ call "_mount_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWNS) },         \
		{ call "_pid_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWPID) },          \
		{ call "_network_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWNET) },      \
		{ call "_ipc_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWIPC) },          \
		{ call "_uts_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWUTS) },          \
	{                                                                                          \
		call "_cgroup_namespace", NEEDS_USER, function, WITH_USER(CLONE_NEWCGROUP)         \
	}

/* clang-format off */
const struct escape escapes_namespaces[] = {
	EACH_FLAG("unshare", by_unshare),
	EACH_FLAG("clone", by_clone),
	EACH_FLAG("clone3", by_clone3),
	{ "unshare_time_namespace", NEEDS_USER, by_unshare, WITH_USER(CLONE_NEWTIME) },
	{ "unshare_only_mounts", NEEDS_ROOT, by_unshare, CLONE_NEWNS },
	{ "unshare_only_network", NEEDS_ROOT, by_unshare, CLONE_NEWNET },
	{ "clone_user_namespace_with_high_bits", NEEDS_USER, clone_with_high_bits, CLONE_NEWUSER },
	{ "enter_mount_namespace", NEEDS_ROOT, by_setns, 0 },
	{ "enter_network_namespace", NEEDS_ROOT, by_setns, 1 },
	{ "enter_uts_namespace", NEEDS_ROOT, by_setns, 2 },
	{ .name = NULL },
};
/* clang-format on */
