/* SPDX-License-Identifier: MIT */

/*
 * The map of an idmapped mount is that of a user namespace, which the kernel only makes for a
 * process. So one is made that waits until its map is written and its namespace is opened. It waits
 * at a pipe: it ends when we close our side, or when we die.
 */

#include "kernel/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

static pid_t start_waiting(const int ends[2])
{
	/* No signal at its end: SIGCHLD is about the sandbox. */
	const struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_CLEAR_SIGHAND };
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	char end;

	if (pid != 0)
		return pid < 0 ? -errno : (pid_t)pid;
	(void)close(ends[1]);
	while (read(ends[0], &end, 1) < 0 && errno == EINTR)
		;
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

/* The numbers that clone3() gives are those of /proc only where it shows our own pid namespace. */
static int check_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid() ? 0 : -EXDEV;
}

static int write_map(pid_t pid, const char *name, uint64_t owner, uint64_t user)
{
	char path[64], line[64];
	_cleanup_close_ int fd = -EBADF;
	int n = snprintf(line, sizeof(line), "%llu %llu 1\n", (unsigned long long)owner,
			 (unsigned long long)user);

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, line, (size_t)n) < 0 ? -errno : 0;
}

static int map_and_open(const struct kernel *kernel, pid_t pid)
{
	char path[64];
	int r = check_proc();

	if (r == 0)
		r = write_map(pid, "uid_map", kernel->owner_uid, kernel->plan->uid);
	if (r == 0)
		r = write_map(pid, "gid_map", kernel->owner_gid, kernel->plan->gid);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);

	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int make_namespace(const struct kernel *kernel)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;

	pid_t pid = start_waiting(ends);
	int fd = pid < 0 ? pid : map_and_open(kernel, pid);

	fd_close_many(ends, 2);
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	return fd;
}

int idmap_open(struct kernel *kernel, uid_t uid, gid_t gid)
{
	/* Only a step that was made for root asks for it. */
	if (!kernel_borrows(kernel))
		return -EPERM;
	if (kernel->owner_fd >= 0 && kernel->owner_uid == uid && kernel->owner_gid == gid)
		return kernel->owner_fd;
	close_fd(&kernel->owner_fd);
	kernel->owner_uid = uid;
	kernel->owner_gid = gid;
	kernel->owner_fd = make_namespace(kernel);
	return kernel->owner_fd;
}
