/* SPDX-License-Identifier: MIT */

/*
 * The processes of a sandbox: in its cgroup, or, if it has none of its own, through /proc
 *
 * Without a cgroup they are found from outside: the descendants of its PID 1, and children of its
 * supervisor in a deeper PID namespace (sbx-ctl exec). A process can fork during the search; so
 * after each signal the search is repeated until it finds no new process. Signals are sent through
 * a pidfd that was opened before the start time was compared, so that a reused PID is never hit.
 */

#include "ctl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/kernel.h"

#define N_ROUNDS_MAX 1000

struct process {
	pid_t pid;
	pid_t parent;
	uint64_t start;
	char state; /* 'T': stopped, 'Z': zombie */
	bool is_member;
	bool will_stop; /* SIGSTOP is pending; only of members */
};

struct processes {
	struct process *items;
	size_t n;
};

static void processes_deinit(struct processes *processes)
{
	free(processes->items);
	*processes = (struct processes){ .items = NULL };
}

static ssize_t read_small(int proc, const char *name, pid_t pid, char *ret, size_t size)
{
	char path[64];
	_cleanup_close_ int fd = -EBADF;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : fd_read_full(fd, ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n;
}

/* Is the signal still pending? The process is in the kernel, maybe for long. */
static bool has_pending(int proc, pid_t pid, int signal)
{
	char bytes[4096];
	const char *line;

	if (read_small(proc, "status", pid, bytes, sizeof(bytes)) <= 0)
		return false;
	line = strstr(bytes, "\nShdPnd:");
	return line && strtoull(line + strlen("\nShdPnd:"), NULL, 16) >> (signal - 1) & 1;
}

/* "NSpid:\t4711\t17\t1" is a process two PID namespaces below this one. */
static unsigned read_depth(int proc, pid_t pid)
{
	char bytes[4096];
	const char *line;
	unsigned depth = 0;

	if (read_small(proc, "status", pid, bytes, sizeof(bytes)) <= 0)
		return 0;
	line = strstr(bytes, "\nNSpid:");
	for (line = line ? line + 1 : NULL; line && *line != '\n' && *line != '\0'; line++)
		depth += *line == '\t';
	return depth;
}

static int read_process(int proc, pid_t pid, struct process *ret)
{
	char bytes[1024];
	struct process process = { .pid = pid };
	const char *name_end;
	int parent;

	if (read_small(proc, "stat", pid, bytes, sizeof(bytes)) <= 0)
		return -ESRCH;
	/* The name may contain anything, such as ") S 1". */
	name_end = strrchr(bytes, ')');
	if (!name_end ||
	    sscanf(name_end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &process.state, &parent, &process.start) != 3)
		return -EBADMSG;
	process.parent = parent;
	*ret = process;
	return 0;
}

static int read_all(int proc, struct processes *ret)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(proc);
	const struct dirent *item;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (item = readdir(dir))) {
		struct process process;

		if (!isdigit((unsigned char)item->d_name[0]))
			continue;
		if (read_process(proc, (pid_t)strtol(item->d_name, NULL, 10), &process) == 0)
			r = ARRAY_ADD(ret->items, ret->n, &process);
	}
	return r;
}

static int compare_pids(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Is it the process @pid that started at @start, or a descendant of it? */
static bool is_below(const struct processes *all, const struct process *process, pid_t pid,
		     uint64_t start)
{
	struct process key = { .pid = 0 };

	/* Bounded: lines read at different times could form a cycle. */
	for (size_t i = 0; pid > 0 && process && i < all->n; i++) {
		if (process->pid == pid)
			return process->start == start;
		key.pid = process->parent;
		process = bsearch(&key, all->items, all->n, sizeof(key), compare_pids);
	}
	return false;
}

/* Of the supervisor's children those in a deeper PID namespace belong to the sandbox. */
static bool is_member(int proc, const struct processes *all, const struct process *process,
		      const struct sandbox_entry *entry)
{
	if (is_below(all, process, entry->init, entry->init_start))
		return true;
	return is_below(all, process, entry->supervisor, entry->supervisor_start) &&
	       read_depth(proc, process->pid) > read_depth(proc, entry->supervisor);
}

/* Marks the processes in the sandbox's PID namespaces as members; the others stay unmarked. */
static int processes_find(const struct sandbox_entry *entry, struct processes *ret)
{
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = proc < 0 ? -errno : read_all(proc, ret);

	if (r < 0 || ret->n == 0)
		return r;
	qsort(ret->items, ret->n, sizeof(*ret->items), compare_pids);
	for (size_t i = 0; i < ret->n; i++) {
		struct process *process = &ret->items[i];

		process->is_member = is_member(proc, ret, process, entry);
		process->will_stop = process->is_member && has_pending(proc, process->pid, SIGSTOP);
	}
	return 0;
}

/* Would a signal still change this process? */
typedef bool wanted_fn(const struct process *process);

/* A process in uninterruptible sleep, such as a parent in vfork(), stops when it returns. */
static bool runs(const struct process *process)
{
	return !strchr("TtZX", process->state) && !(process->state == 'D' && process->will_stop);
}

static bool is_held(const struct process *process)
{
	return process->state == 'T' || process->will_stop;
}

struct round {
	int n_sent;
	int n_waiting; /* signalled, but the state has not changed yet */
};

static int send_round(const struct processes *all, pid_t init, int signal, wanted_fn *wanted,
		      struct round *ret)
{
	int r = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < all->n && r == 0; i++) {
			const struct process *process = &all->items[i];
			_cleanup_close_ int pidfd = -EBADF;

			/* PID 1 is stopped first and continued last: otherwise it would report
			 * stops of the others. */
			if (!process->is_member || !wanted(process) ||
			    (process->pid == init) != (pass == (signal == SIGSTOP ? 0 : 1)))
				continue;
			if (signal == SIGSTOP && process->will_stop) {
				ret->n_waiting++;
				continue;
			}
			pidfd = process_open(process->pid, process->start);
			r = pidfd < 0 ? pidfd : pidfd_kill(pidfd, signal);
			r = r == -ESRCH ? 0 : r;
			ret->n_sent++;
		}
	return r;
}

int processes_hold(const struct sandbox_entry *entry, bool is_stopped)
{
	int signal = is_stopped ? SIGSTOP : SIGCONT;
	wanted_fn *wanted = is_stopped ? runs : is_held;
	int n_sent = 0;

	for (int i = 0; i < N_ROUNDS_MAX; i++) {
		_cleanup_(processes_deinit) struct processes all = { .items = NULL };
		struct round round = { .n_sent = 0 };
		int r = processes_find(entry, &all);

		if (r == 0)
			r = send_round(&all, entry->init, signal, wanted, &round);
		if (r < 0)
			return r;
		n_sent += round.n_sent;
		if (round.n_sent + round.n_waiting == 0)
			return n_sent;
		(void)sched_yield();
	}
	return -EBUSY;
}

/* ---- the cgroup of a sandbox: freeze, kill all processes, remove ---- */

/* A cgroup that an entry names is only touched if its name is one that sbx makes: a wrong entry can
 * at most prevent a sandbox from being paused. */

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
