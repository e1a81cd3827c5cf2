/* SPDX-License-Identifier: MIT */

/*
 * The cgroup of a sandbox: freeze, kill all processes, remove
 *
 * A cgroup that an entry names is only touched if its name is one that sbx makes: a wrong entry can
 * at most prevent a sandbox from being paused.
 */

#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/kernel.h"

#define OUR_PREFIX "sbx-"
#define WAIT_MSEC 10000

static int open_directory(const char *path)
{
	_cleanup_close_ int fd = -EBADF;
	struct statfs fs;

	if (!path_is_normal(path) ||
	    strncmp(path_last(path), OUR_PREFIX, sizeof(OUR_PREFIX) - 1) != 0)
		return -EPERM;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC ? take_fd(&fd) : -EPERM;
}

int cgroup_open(const struct sandbox_entry *entry)
{
	return entry->cgroup ? open_directory(entry->cgroup) : -ENOENT;
}

static int write_file(int cgroup, const char *name, const char *text)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup, name, O_WRONLY, 0);

	return fd < 0 ? fd : fd_write_all(fd, text, strlen(text));
}

/* Does cgroup.events have this line? Reading it also rearms poll(). */
static int says(int events, const char *line)
{
	char bytes[256];
	ssize_t n = pread(events, bytes, sizeof(bytes) - 1, 0);

	if (n < 0)
		return -errno;
	bytes[n] = '\0';
	return strstr(bytes, line) != NULL;
}

static int wait_until(int cgroup, const char *line)
{
	_cleanup_close_ int events = path_open_beneath(cgroup, "cgroup.events", O_RDONLY, 0);
	struct pollfd changed = { .fd = events, .events = POLLPRI };

	if (events < 0)
		return events;
	for (;;) {
		int r = says(events, line);

		if (r != 0)
			return r < 0 ? r : 0;
		r = poll(&changed, 1, WAIT_MSEC);
		if (r == 0)
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

int cgroup_freeze(int cgroup, bool frozen)
{
	int r = write_file(cgroup, "cgroup.freeze", frozen ? "1" : "0");

	return r < 0 ? r : wait_until(cgroup, frozen ? "frozen 1\n" : "frozen 0\n");
}

bool cgroup_is_units(const char *path)
{
	static const char *const ends[] = { ".scope", ".service", ".slice", ".socket", ".mount" };
	size_t len = strlen(path);

	for (size_t i = 0; i < N_ELEMENTS(ends); i++)
		if (len > strlen(ends[i]) && strcmp(path + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

bool cgroup_is_empty(int cgroup)
{
	_cleanup_close_ int events = path_open_beneath(cgroup, "cgroup.events", O_RDONLY, 0);

	return events >= 0 && says(events, "populated 0\n") == 1;
}

static int count_listed(int cgroup, const char *file)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup, file, O_RDONLY, 0);
	char bytes[4096];
	ssize_t n;
	int count = 0;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += bytes[i] == '\n';
	return count;
}

static int count_processes(int cgroup)
{
	return count_listed(cgroup, "cgroup.procs") +
	       count_listed(cgroup, KERNEL_CGROUP_CHILD "/cgroup.procs");
}

int cgroup_kill_all(int cgroup)
{
	int n = count_processes(cgroup);
	int r = write_file(cgroup, "cgroup.kill", "1");

	/* Before Linux 5.14 there is no cgroup.kill: killing PID 1 of the sandbox must suffice. */
	if (r == 0 || r == -ENOENT)
		r = wait_until(cgroup, "populated 0\n");
	return r < 0 ? r : n;
}

int cgroup_remove(const char *path)
{
	_cleanup_close_ int cgroup = open_directory(path), parent = -EBADF;

	if (cgroup < 0)
		return cgroup == -ENOENT ? 0 : cgroup;
	parent = openat(cgroup, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return -errno;
	return kernel_remove_cgroup(parent, path_last(path), cgroup);
}
