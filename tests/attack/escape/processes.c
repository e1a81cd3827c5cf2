/* SPDX-License-Identifier: MIT */

/* Other processes: visibility, signals, memory, ptrace, and shared memory that they have left */

#include "escape.h"

#include <elf.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kcmp.h>

static pid_t victim(void)
{
	return (pid_t)escape_number("ESCAPE_VICTIM");
}

static enum escape_verdict signal_victim(long number)
{
	return escape_judge(kill(victim(), (int)number));
}

static enum escape_verdict signal_by_pidfd(long unused)
{
	long fd = syscall(SYS_pidfd_open, victim(), 0);

	return fd < 0 ? REFUSED : escape_judge(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

static enum escape_verdict attach_to_victim(long request)
{
	if (syscall(SYS_ptrace, request, victim(), 0, 0) < 0)
		return REFUSED;
	(void)waitpid(victim(), NULL, __WALL | WNOHANG);
	(void)syscall(SYS_ptrace, PTRACE_DETACH, victim(), 0, 0);
	return ESCAPED;
}

static enum escape_verdict trace_a_child(long unused)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return REFUSED;
	if (pid == 0)
		_exit(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) == 0 ? 0 : 1);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ESCAPED : REFUSED;
}

#ifdef __x86_64__
static long call_of(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.orig_rax), 0);
}

static bool set_call(pid_t pid, long number)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.orig_rax), number) == 0;
}
#else
static long call_of(pid_t pid)
{
	int number = -1;
	struct iovec place = { &number, sizeof(number) };

	(void)ptrace(PTRACE_GETREGSET, pid, NT_ARM_SYSTEM_CALL, &place);
	return number;
}

static bool set_call(pid_t pid, long number)
{
	int set = (int)number;
	struct iovec place = { &set, sizeof(set) };

	return ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &place) == 0;
}
#endif

/* Its first call is harmless; the call that the tracer changes it to only succeeds outside. */
static noreturn void be_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(1);
	(void)raise(SIGSTOP);
	_exit(syscall(SYS_getppid, CLONE_NEWUTS) == 0 ? 0 : 1);
}

static enum escape_verdict change_call_of_traced(long number)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return REFUSED;
	if (pid == 0)
		be_traced();
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (call_of(pid) == SYS_getppid && !set_call(pid, number))
			return UNKNOWN;
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0)
			return UNKNOWN;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ESCAPED : REFUSED;
}

/* Outside, the kernel permits this only to root in the initial user namespace, without a filter. */
static enum escape_verdict suspend_filter_of_traced(long request)
{
	long r;
	pid_t pid = fork();

	if (pid < 0)
		return REFUSED;
	if (pid == 0) {
		if (request != PTRACE_SEIZE && ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(1);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	(void)waitpid(pid, NULL, WUNTRACED);
	r = syscall(SYS_ptrace, request, pid, 0, PTRACE_O_SUSPEND_SECCOMP);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return escape_judge(r);
}

static enum escape_verdict attach_to_init(long request)
{
	return escape_judge(syscall(SYS_ptrace, request, 1, 0, 0));
}

/* The address is that of this process; forked processes have the same. */
static enum escape_verdict memory_of(pid_t pid, bool write)
{
	static char there[8];
	char here[8] = "escape";
	struct iovec local = { here, sizeof(here) }, remote = { there, sizeof(there) };
	long r = write ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
		       : process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return escape_judge_reached(r, EFAULT);
}

static enum escape_verdict memory_of_victim(long write)
{
	return memory_of(victim(), write != 0);
}

static enum escape_verdict own_memory(long write)
{
	return memory_of(getpid(), write != 0);
}

static enum escape_verdict open_memory_of_victim(long unused)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", victim());
	fd = open(path, O_RDWR | O_CLOEXEC);
	return escape_judge(fd);
}

static enum escape_verdict open_memory_of_init(long unused)
{
	return escape_judge(open("/proc/1/mem", O_RDWR | O_CLOEXEC));
}

static enum escape_verdict see_victim(long unused)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", victim());
	/* Inside, one of our own processes may have that PID. */
	if (stat(path, &st) < 0 || victim() == getpid())
		return REFUSED;
	return kill(victim(), 0) == 0 || errno == EPERM ? ESCAPED : REFUSED;
}

static enum escape_verdict take_fd_of_victim(long unused)
{
	long fd = syscall(SYS_pidfd_open, victim(), 0);

	return fd < 0 ? REFUSED : escape_judge(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static enum escape_verdict compare_kernel_pointers(long unused)
{
	return escape_judge(
		syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, STDIN_FILENO, STDOUT_FILENO));
}

/* Sets the limit to its current value. */
static enum escape_verdict limit_victim(long unused)
{
	struct rlimit limit;

	if (prlimit(victim(), RLIMIT_NOFILE, NULL, &limit) < 0)
		return REFUSED;
	return escape_judge(prlimit(victim(), RLIMIT_NOFILE, &limit, NULL));
}

/* A call about all processes of the user fails as long as one of them has capabilities in a user
 * namespace of root, such as a sandbox of another test that is just being built. */
static bool is_refused_for_now(long result, int *n_attempts)
{
	if (result >= 0 || errno != EPERM || ++*n_attempts > 100)
		return false;
	(void)usleep(10000);
	return true;
}

/* EACCES (the priority is too high) comes after the permission check. */
static enum escape_verdict renice(int which, id_t who)
{
	int n_attempts = 0, result;

	errno = 0;

	int priority = getpriority(which, who);

	if (priority == -1 && errno != 0)
		return REFUSED;
	do
		result = setpriority(which, who, priority);
	while (which == PRIO_USER && is_refused_for_now(result, &n_attempts));
	return escape_judge_reached(result, EACCES);
}

static enum escape_verdict renice_victim(long unused)
{
	return renice(PRIO_PROCESS, (id_t)victim());
}

/* All visible processes of the user: is the victim one of them? */
static enum escape_verdict renice_everybody(long unused)
{
	errno = 0;
	if (getpriority(PRIO_PROCESS, (id_t)victim()) == -1 && errno != 0)
		return REFUSED;
	return renice(PRIO_USER, 0);
}

static enum escape_verdict schedule_victim(long unused)
{
	struct sched_param parameter = { .sched_priority = 0 };

	return escape_judge(sched_setscheduler(victim(), SCHED_OTHER, &parameter));
}

static enum escape_verdict pin_victim(long unused)
{
	cpu_set_t processors;

	if (sched_getaffinity(victim(), sizeof(processors), &processors) < 0)
		return REFUSED;
	return escape_judge(sched_setaffinity(victim(), sizeof(processors), &processors));
}

/* IOPRIO_WHO_PROCESS or IOPRIO_WHO_USER */
static enum escape_verdict io_priority(long which)
{
	long priority = syscall(SYS_ioprio_get, 1L, (long)victim());
	long who = which == 1 ? (long)victim() : (long)getuid(), result;
	int n_attempts = 0;

	if (priority < 0)
		return REFUSED;
	do
		result = syscall(SYS_ioprio_set, which, who, priority);
	while (which == 3 && is_refused_for_now(result, &n_attempts));
	return escape_judge(result);
}

/* Inside, PID 1 of the sandbox must not stop. Outside, PID 1 is the host's. */
static enum escape_verdict stop_init(long number)
{
	if (kill(1, (int)number) < 0)
		return REFUSED;
	/* kill() succeeds but must have no effect: this process still runs and is waited for. */
	return REFUSED;
}

static enum escape_verdict raise_priority(long unused)
{
	/* One below the current priority. */
	return escape_judge(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1));
}

static enum escape_verdict real_time(long policy)
{
	struct sched_param parameter = { .sched_priority = 10 };

	return escape_judge(sched_setscheduler(0, (int)policy, &parameter));
}

static enum escape_verdict raise_limit(long resource)
{
	struct rlimit low = { 1, 1 }, higher = { 1, 2 };

	if (setrlimit((unsigned)resource, &low) < 0)
		return errno == EPERM ? REFUSED : UNKNOWN;
	return escape_judge(setrlimit((unsigned)resource, &higher));
}

static enum escape_verdict lock_memory(long unused)
{
	size_t size = 256u << 20;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? REFUSED : escape_judge(mlock(memory, size));
}

static enum escape_verdict shared_memory(long unused)
{
	return escape_judge(shmget((key_t)escape_number("ESCAPE_SHM"), 0, 0));
}

static enum escape_verdict message_queue(long unused)
{
	return escape_judge((long)mq_open(escape_target("ESCAPE_QUEUE"), O_RDONLY));
}

static enum escape_verdict named_memory(long unused)
{
	return escape_judge(shm_open(escape_target("ESCAPE_QUEUE"), O_RDONLY, 0));
}

static enum escape_verdict advise_victim(long unused)
{
	long fd = syscall(SYS_pidfd_open, victim(), 0);
	struct iovec range = { NULL, 0 };

	return fd < 0 ? REFUSED : escape_judge(syscall(SYS_process_madvise, fd, &range, 1, 20, 0));
}

/* clang-format off */
const struct escape escapes_processes[] = {
	{ "probe_victim", NEEDS_USER, signal_victim, 0 },
	{ "signal_victim", NEEDS_USER, signal_victim, SIGCONT },
	{ "signal_victim_by_pidfd", NEEDS_USER, signal_by_pidfd, 0 },
	{ "see_victim", NEEDS_USER, see_victim, 0 },
	{ "trace_victim", NEEDS_USER, attach_to_victim, PTRACE_ATTACH },
	{ "seize_victim", NEEDS_USER, attach_to_victim, PTRACE_SEIZE },
	{ "trace_a_child", NEEDS_USER, trace_a_child, 0 },
	{ "change_call_of_traced", NEEDS_ROOT, change_call_of_traced, SYS_unshare },
	{ "suspend_filter_by_options", NEEDS_NOTHING_OUTSIDE, suspend_filter_of_traced, PTRACE_SETOPTIONS }, /* only root in the initial user namespace */
	{ "suspend_filter_by_old_options", NEEDS_NOTHING_OUTSIDE, suspend_filter_of_traced, 21 }, /* the same */
	{ "suspend_filter_by_seizing", NEEDS_NOTHING_OUTSIDE, suspend_filter_of_traced, PTRACE_SEIZE }, /* the same */
	{ "trace_init", NEEDS_NOTHING_OUTSIDE, attach_to_init, PTRACE_ATTACH }, /* outside: the host's */
	{ "seize_init", NEEDS_NOTHING_OUTSIDE, attach_to_init, PTRACE_SEIZE }, /* outside: the host's */
	{ "read_memory_of_victim", NEEDS_USER, memory_of_victim, 0 },
	{ "write_memory_of_victim", NEEDS_USER, memory_of_victim, 1 },
	{ "read_own_memory_by_number", NEEDS_USER, own_memory, 0 },
	{ "write_own_memory_by_number", NEEDS_USER, own_memory, 1 },
	{ "open_memory_of_victim", NEEDS_USER, open_memory_of_victim, 0 },
	{ "open_memory_of_init", NEEDS_NOTHING_OUTSIDE, open_memory_of_init, 0 }, /* PID 1 belongs to another user there */
	{ "take_fd_of_victim", NEEDS_USER, take_fd_of_victim, 0 },
	{ "advise_victim", NEEDS_ROOT, advise_victim, 0 },
	{ "compare_kernel_pointers", NEEDS_USER, compare_kernel_pointers, 0 },
	{ "kill_init", NEEDS_NOTHING_OUTSIDE, stop_init, SIGKILL }, /* outside: the host's */
	{ "stop_init", NEEDS_NOTHING_OUTSIDE, stop_init, SIGSTOP }, /* outside: the host's */
	{ "limit_victim", NEEDS_USER, limit_victim, 0 },
	{ "renice_victim", NEEDS_USER, renice_victim, 0 },
	{ "renice_everybody", NEEDS_USER, renice_everybody, 0 },
	{ "schedule_victim", NEEDS_USER, schedule_victim, 0 },
	{ "pin_victim", NEEDS_USER, pin_victim, 0 },
	{ "io_priority_of_victim", NEEDS_USER, io_priority, 1 },
	{ "io_priority_of_everybody", NEEDS_USER, io_priority, 3 },
	{ "raise_priority", NEEDS_ROOT, raise_priority, 0 },
	{ "real_time", NEEDS_ROOT, real_time, SCHED_FIFO },
	{ "real_time_round_robin", NEEDS_ROOT, real_time, SCHED_RR },
	{ "raise_limit_of_files", NEEDS_NOTHING_OUTSIDE, raise_limit, RLIMIT_NOFILE }, /* CAP_SYS_RESOURCE, which a container may lack */
	{ "raise_limit_of_processes", NEEDS_NOTHING_OUTSIDE, raise_limit, RLIMIT_NPROC }, /* CAP_SYS_RESOURCE, which a container may lack */
	{ "raise_limit_of_core_files", NEEDS_NOTHING_OUTSIDE, raise_limit, RLIMIT_CORE }, /* CAP_SYS_RESOURCE, which a container may lack */
	{ "lock_memory", NEEDS_ROOT, lock_memory, 0 },
	{ "attach_shared_memory", NEEDS_USER, shared_memory, 0 },
	{ "open_message_queue", NEEDS_USER, message_queue, 0 },
	{ "open_named_memory", NEEDS_USER, named_memory, 0 },
	{ .name = NULL },
};
/* clang-format on */
