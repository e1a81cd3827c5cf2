/* SPDX-License-Identifier: MIT */

/*
 * The sandbox's cgroup: a directory that is created before the sandbox, limits as files in it, and
 * cgroup.kill, which no process inside can escape
 *
 * PID 1 is created in it by clone3(), so no process of the sandbox ever runs outside. The directory
 * belongs to the supervisor's user and has mode 0700: processes of the sandbox cannot change it.
 *
 * The service manager removes a scope as soon as it is empty, together with the counters
 * (memory.events) that show why its processes were killed. So the scope is divided: one child
 * contains the sandbox, which an out-of-memory kill ends as a whole, and another child contains the
 * keeper, a process that stays until the counters were read.
 *
 * With 'isolation.nested' the processes inside can make a cgroup namespace and mount its root, the
 * cgroup in which they are. It belongs to their user, so they can write its limits, cgroup.freeze
 * and cgroup.kill. Therefore they are in a child, in which no controller is enabled: what the
 * sandbox's cgroup limits, counts, freezes and kills includes its descendants.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/moment.h"
#include "base/path.h"
#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* Killed processes exit at once, except in uninterruptible sleep (a device or a network file
 * system). */
#define EMPTY_WAIT_MSEC 10000
#define FREEZE_WAIT_MSEC 1000
#define DESCENDANTS_MAX "1000"
#define DEPTH_MAX "16"

int kernel_write_cgroup(int cgroup_fd, const char *name, const char *text)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup_fd, name, O_WRONLY, 0);

	return fd < 0 ? fd : fd_write_all(fd, text, strlen(text));
}

static int open_parent(const char *path)
{
	char parent[PATH_MAX];
	size_t n = (size_t)(path_last(path) - path);

	if (n < 2 || n >= sizeof(parent))
		return -EINVAL;
	memcpy(parent, path, n);
	parent[n - 1] = '\0';
	return fd_or_errno(open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Creates a child cgroup and returns its fd. */
static int make_directory(int parent_fd, const char *name)
{
	int directory;

	if (mkdirat(parent_fd, name, 0700) < 0)
		return -errno;
	directory = path_open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (directory < 0)
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
	return directory;
}

/* Makes the child in which processes of the sandbox can make descendants. These are bounded,
 * because the kernel needs memory for each, and the supervisor removes them. */
static int make_child(struct kernel *kernel, int cgroup_fd)
{
	int r = kernel_write_cgroup(cgroup_fd, "cgroup.max.descendants", DESCENDANTS_MAX);

	if (r == 0)
		r = kernel_write_cgroup(cgroup_fd, "cgroup.max.depth", DEPTH_MAX);
	if (r < 0)
		return r;
	r = make_directory(cgroup_fd, KERNEL_CGROUP_CHILD);
	if (r < 0)
		return r;
	kernel->cgroup_child_fd = r;
	return 0;
}

int cgroup_make(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_close_ int parent = open_parent(step->cgroup.path);
	int directory;

	if (parent < 0)
		return parent;
	directory = make_directory(parent, path_last(step->cgroup.path));
	if (directory < 0)
		return directory;
	kernel->cgroup_fd = directory;
	kernel->cgroup_parent_fd = take_fd(&parent);
	return step->cgroup.has_child ? make_child(kernel, directory) : 0;
}

int kernel_process_cgroup(const struct kernel *kernel)
{
	return kernel->cgroup_child_fd >= 0 ? kernel->cgroup_child_fd : kernel->cgroup_fd;
}

/* Writes "+memory" for "memory.max": a controller must be enabled in the parent's
 * cgroup.subtree_control. */
static int enable_controller(int parent_fd, const char *name)
{
	char word[32];

	(void)snprintf(word, sizeof(word), "+%.*s", (int)strcspn(name, "."), name);
	return kernel_write_cgroup(parent_fd, "cgroup.subtree_control", word);
}

int cgroup_limit(struct kernel *kernel, const struct step *step, size_t number)
{
	const struct step_cgroup_limit *limit = &step->cgroup_limit;
	int r = kernel_write_cgroup(kernel->cgroup_fd, limit->file, limit->value);

	if (r == -ENOENT && enable_controller(kernel->cgroup_parent_fd, limit->file) == 0)
		r = kernel_write_cgroup(kernel->cgroup_fd, limit->file, limit->value);
	/* memory.swap.max does not exist if the kernel does not account for swap. */
	return r == -ENOENT && limit->optional ? 0 : r;
}

static int move(int cgroup_fd, pid_t pid)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	return kernel_write_cgroup(cgroup_fd, "cgroup.procs", number);
}

/*
 * The memory limit applies to the sandbox's child only: in one cgroup with the sandbox, the kernel
 * might kill the keeper first. Controllers can be enabled for children only if the scope itself
 * contains no process.
 */
static int end_as_one(int scope_fd, int directory_fd, const struct plan_limit *memory)
{
	char number[24];
	int r;

	if (faccessat(scope_fd, "memory.max", F_OK, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	r = enable_controller(scope_fd, "memory");
	if (r == 0)
		r = kernel_write_cgroup(directory_fd, "memory.oom.group", "1");
	if (r < 0 || !memory->is_set || memory->holder != HELD_BY_SCOPE)
		return r;
	(void)snprintf(number, sizeof(number), "%" PRIu64, memory->value);
	return kernel_write_cgroup(directory_fd, "memory.max", number);
}

/* Moves PID 1 into @own, or into a new child of it. */
static int move_init(struct kernel *kernel, int own)
{
	const struct step *step = plan_find_step(kernel->plan, STEP_SCOPE);
	int r = step && step->scope.has_child ? make_child(kernel, own) : 0;

	if (r < 0)
		return r;
	return move(kernel->cgroup_child_fd < 0 ? own : kernel->cgroup_child_fd, kernel->pid);
}

int kernel_divide_scope(struct kernel *kernel, const char *directory, pid_t keeper)
{
	_cleanup_close_ int scope = open_parent(directory), other = -EBADF, own = -EBADF;
	int r;

	if (scope < 0)
		return scope;
	other = make_directory(scope, "keeper");
	if (other < 0)
		return other;
	r = move(other, keeper);
	if (r < 0)
		return r;
	own = make_directory(scope, path_last(directory));
	if (own < 0)
		return own;
	r = move_init(kernel, own);
	if (r < 0)
		return r;
	r = end_as_one(scope, own, &kernel->plan->limits[LIMIT_MEMORY]);
	if (r == 0)
		kernel->cgroup_fd = take_fd(&own);
	return r;
}

static int64_t now_msec(void)
{
	return (int64_t)(moment_now(CLOCK_MONOTONIC) / 1000);
}

/* Does cgroup.events contain @line? Reading it re-arms poll() for the next change. */
static int says(int events_fd, const char *line)
{
	char text[256];
	ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return strstr(text, line) != NULL;
}

bool cgroup_lets_exit(int cgroup_fd, int pidfd)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup_fd, "cgroup.events", O_RDONLY, 0);
	struct pollfd changes[] = { { .fd = pidfd, .events = POLLIN },
				    { .fd = fd, .events = POLLPRI } };

	while (fd >= 0 && !(changes[0].revents & POLLIN) && says(fd, "frozen 1") == 0)
		if (poll(changes, N_ELEMENTS(changes), -1) < 0 && errno != EINTR)
			return false;
	return changes[0].revents & POLLIN;
}

/* Waits for @line in cgroup.events. 0, also if the cgroup was removed meanwhile; -EBUSY after
 * @msec. */
static int wait_for(int cgroup_fd, const char *line, int msec)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup_fd, "cgroup.events", O_RDONLY, 0);
	int64_t deadline = now_msec() + msec;
	int r = fd;

	while (r >= 0) {
		struct pollfd change = { .fd = fd, .events = POLLPRI };
		int64_t left = deadline - now_msec();

		r = says(fd, line);
		if (r > 0)
			return 0;
		if (r == 0 && left <= 0)
			return -EBUSY;
		if (r == 0 && poll(&change, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
	}
	return r == -ENODEV || r == -ENOENT ? 0 : r;
}

static int kill_listed(int cgroup_fd)
{
	_cleanup_close_ int fd = path_open_beneath(cgroup_fd, "cgroup.procs", O_RDONLY, 0);
	_cleanup_fclose_ FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];

	if (!list)
		return fd < 0 ? fd : -errno;
	(void)take_fd(&fd);
	while (fgets(line, sizeof(line), list)) {
		long pid = strtol(line, NULL, 10);

		/* cgroup.procs shows 0 for a process outside of the PID namespace; kill(0) would
		 * signal the supervisor's own process group. */
		if (pid > 0 && kill((pid_t)pid, SIGKILL) < 0 && errno != ESRCH)
			return -errno;
	}
	return 0;
}

static int kill_listed_with_child(int cgroup_fd)
{
	_cleanup_close_ int child =
		path_open_beneath(cgroup_fd, KERNEL_CGROUP_CHILD, O_RDONLY | O_DIRECTORY, 0);
	int r = child < 0 ? 0 : kill_listed(child);

	return r < 0 ? r : kill_listed(cgroup_fd);
}

/* The directory of a removed cgroup has no files. */
static bool is_removed(int cgroup_fd)
{
	return faccessat(cgroup_fd, "cgroup.procs", F_OK, 0) < 0;
}

int cgroup_kill_each(int cgroup_fd)
{
	int r = kernel_write_cgroup(cgroup_fd, "cgroup.freeze", "1");

	/* Frozen processes cannot fork while the list is read, and SIGKILL ends them nevertheless.
	 * If freezing takes too long, kill the processes that are listed. */
	if (r == 0)
		r = wait_for(cgroup_fd, "frozen 1", FREEZE_WAIT_MSEC);
	if (r == 0 || r == -EBUSY)
		r = kill_listed_with_child(cgroup_fd);
	return r < 0 && is_removed(cgroup_fd) ? 0 : r;
}

int cgroup_kill(int cgroup_fd)
{
	int r = kernel_write_cgroup(cgroup_fd, "cgroup.kill", "1");

	/* cgroup.kill exists since Linux 5.14. */
	return r < 0 ? cgroup_kill_each(cgroup_fd) : 0;
}

static const char *find_child(int cgroup_fd, char ret[static NAME_MAX + 1])
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(cgroup_fd);
	const struct dirent *item;

	while (dir && (item = readdir(dir)))
		if (item->d_type == DT_DIR && strcmp(item->d_name, ".") != 0 &&
		    strcmp(item->d_name, "..") != 0) {
			memcpy(ret, item->d_name, strlen(item->d_name) + 1);
			return ret;
		}
	return NULL;
}

/* Removes one descendant that has no children: 1, or 0 if there is none. */
static int remove_leaf(int cgroup_fd)
{
	_cleanup_close_ int at = -EBADF;
	char name[NAME_MAX + 1], below[NAME_MAX + 1];

	if (!find_child(cgroup_fd, name))
		return 0;
	for (;;) {
		int from = at < 0 ? cgroup_fd : at;
		int next = path_open_beneath(from, name, O_RDONLY | O_DIRECTORY, 0);

		if (next < 0)
			return next;
		if (!find_child(next, below)) {
			(void)close(next);
			return unlinkat(from, name, AT_REMOVEDIR) < 0 ? -errno : 1;
		}
		close_fd(&at);
		at = next;
		memcpy(name, below, sizeof(name));
	}
}

int kernel_remove_cgroup(int parent_fd, const char *name, int cgroup_fd)
{
	int r = wait_for(cgroup_fd, "populated 0", EMPTY_WAIT_MSEC);

	if (r < 0)
		return r;
	/* With 'isolation.nested' the processes inside can mount the cgroup and make children. */
	do
		r = remove_leaf(cgroup_fd);
	while (r > 0);
	if (r < 0 && !is_removed(cgroup_fd))
		return r;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}
