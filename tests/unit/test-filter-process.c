/* SPDX-License-Identifier: MIT */

/* Processes that load the filters: which of their calls fail, and which kill them */

#include "filter/filter.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "filter-place.h"
#include "filter-rig.h"
#include "test.h"

#define CANNOT_LOAD 99
#define NUMBERS 470

struct job {
	const char *profile;
	unsigned variant;
	int (*body)(const struct job *job); /* returns the exit status */
	const char *const *argv;	    /* or a program to execute */
};

/* The listener, 0 if the filter has none, or negative errno. */
static int load(const char *profile, unsigned variant)
{
	unsigned flags = filter_needs_notify(profile) ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter_find(profile, variant));
	return r < 0 ? -errno : (int)r;
}

/* Some processes are killed on purpose: no core dumps. */
static void become(const struct job *job, int socket)
{
	int listener;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	listener = load(job->profile, job->variant);
	if (listener < 0)
		_exit(CANNOT_LOAD);
	if (job->body)
		_exit(job->body(job));
	if (filter_needs_notify(job->profile)) {
		if (fd_send(socket, "l", 1, &listener, 1) < 0)
			_exit(CANNOT_LOAD);
		(void)close(listener);
	}
	(void)execv(job->argv[0], (char *const *)job->argv);
	_exit(127);
}

/* As a supervisor: allows the first execve, which starts the command, and closes the listener. */
static void answer_once(int socket)
{
	_cleanup_close_ int listener = -EBADF;
	struct seccomp_notif question = { .id = 0 };
	struct seccomp_notif_resp answer = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	size_t n_fds = 0;
	char letter;

	expect_eq(fd_receive(socket, &letter, 1, &listener, 1, &n_fds), 1);
	expect_eq(n_fds, 1);
	expect_eq(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question), 0);
	expect_eq(question.data.nr, SYS_execve);
	answer.id = question.id;
	expect_eq(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
}

/* Returns the wait status. */
static int run(const struct job *job)
{
	_cleanup_close_ int ours = -EBADF, theirs = -EBADF;
	int pair[2], status = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	ours = pair[0];
	theirs = pair[1];
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(job, theirs);
	close_fd(&theirs);
	theirs = -EBADF;
	if (!job->body && filter_needs_notify(job->profile))
		answer_once(ours);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static bool has_filters(void)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
#define NO_FILTERS "this kernel has no filters that notify"

static void expect_clean_exit(const struct job *job)
{
	int status = run(job);

	expect(WIFEXITED(status));
	expect_eq(WEXITSTATUS(status), 0);
}

/* uretprobe and uprobe: newer kernels allow them past every filter, and kill other callers. */
static bool is_probe(int number)
{
	return seccomp_arch_native() == SCMP_ARCH_X86_64 && (number == 335 || number == 336);
}

/* Refused calls have no effect, so all of them can be tried. */
static int try_all_refusals(const struct job *job)
{
	for (int number = 0; number < NUMBERS; number++) {
		struct seccomp_data data = { .nr = number, .arch = seccomp_arch_native() };
		uint32_t want = answer_to(job->profile, job->variant, &data);

		if ((want & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO || is_probe(number))
			continue;
		if (syscall(number, 0, 0, 0, 0, 0, 0) != -1 ||
		    errno != (int)(want & SECCOMP_RET_DATA))
			return 1 + number % 90;
	}
	return 0;
}

static void the_kernel_takes_every_filter_and_refuses_what_it_refuses(void)
{
	static const char *const profiles[] = { "strict", "standard" };

	if (!has_filters())
		skip(NO_FILTERS);
	for (size_t i = 0; i < N_ELEMENTS(profiles); i++)
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
			const struct job job = { .profile = profiles[i],
						 .variant = variant,
						 .body = try_all_refusals };

			expect_clean_exit(&job);
		}
}

static const char shell_script[] =
	"cd \"$1\"; seq 100 | sort -rn | head -n 1 >last; test \"$(cat last)\" = 100;"
	" mkdir -p a/b; ln -s last a/link; mv a c; chmod 700 c; mkfifo pipe;"
	" echo through >pipe & read -r word <pipe; test \"$word\" = through; rm -r c;"
	" (trap 'exit 0' TERM; kill -TERM $(sh -c 'echo $PPID'); exit 1)";

static void programs_work_in_standard(void)
{
	_cleanup_place_ struct place place = place_make();
	const char *const argv[] = { "/bin/sh", "-euc", shell_script, "sh", place.path, NULL };
	const struct job job = { .profile = "standard", .argv = argv };

	if (!has_filters())
		skip(NO_FILTERS);
	expect_clean_exit(&job);
}

static const char standard_script[] =
	"import subprocess, threading, socket, select, os, sys\n"
	"assert subprocess.run([sys.executable, '-c', 'pass']).returncode == 0\n"
	"a, b = socket.socketpair()\n"
	"t = threading.Thread(target=lambda: a.send(b'x')); t.start(); t.join()\n"
	"assert select.select([b], [], [], 10)[0] and b.recv(1) == b'x'\n"
	"pid = os.fork()\n"
	"if not pid: os._exit(3)\n"
	"assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3\n"
	"for family in socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK:\n"
	"    try: socket.socket(family); sys.exit(1)\n"
	"    except OSError as e: assert e.errno == 97, e\n";

static void a_program_with_threads_and_children_works_in_standard(void)
{
	const char *const argv[] = { "/usr/bin/env", "python3", "-c", standard_script, NULL };
	const struct job job = { .profile = "standard", .argv = argv };

	if (!has_filters())
		skip(NO_FILTERS);
	expect_clean_exit(&job);
}

static const char strict_script[] =
	"import errno, os, socket, sys, threading, time\n"
	"a, b = socket.socketpair()\n"
	"t = threading.Thread(target=lambda: a.send(b'x')); t.start(); t.join()\n"
	"assert b.recv(1) == b'x'\n"
	"assert open('/proc/self/stat').read(); time.sleep(0)\n"
	"def refused(code, call, *arguments):\n"
	"    try: call(*arguments)\n"
	"    except OSError as e: assert e.errno == code, (call, e)\n"
	"    else: sys.exit(repr(call))\n"
	"refused(errno.ENOSYS, os.execv, '/bin/true', ['true'])\n"
	"refused(errno.EPERM, os.fork)\n"
	"refused(errno.EAFNOSUPPORT, socket.socket, socket.AF_INET)\n"
	"refused(errno.EACCES, open, '/dev/null', 'w')\n"
	"refused(errno.EPERM, os.mkdir, '/tmp/sbx-strict-made-a-folder')\n"
	"refused(errno.EPERM, os.unlink, '/nonexistent')\n";

static void strict_starts_one_program_and_never_another(void)
{
	const char *const argv[] = { "/usr/bin/python3", "-c", strict_script, NULL };
	const struct job job = { .profile = "strict", .argv = argv };

	if (!has_filters())
		skip(NO_FILTERS);
	if (access(argv[0], X_OK) < 0)
		skip("no python3 in /usr/bin");
	expect_clean_exit(&job);
}

static int try_the_known_ways_around(const struct job *job)
{
	const uint64_t high = (uint64_t)1 << 32;
	struct clone_args {
		uint64_t flags, rest[10];
	} arguments = { .flags = CLONE_NEWUSER };

	if (syscall(SYS_clone3, &arguments, sizeof(arguments)) != -1 || errno != ENOSYS)
		return 1;
	if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 2;
	if (syscall(SYS_unshare, CLONE_NEWNS | high) != -1 || errno != EPERM)
		return 3;
	if (syscall(SYS_ioctl, 0, TIOCSTI | high, "x") != -1 || errno != EPERM)
		return 4;
	if (syscall(SYS_socket, AF_INET | high, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT)
		return 5;
	if (syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT)
		return 6;
	if (syscall(SYS_personality, 0x0040000 | high) != -1 || errno != EPERM)
		return 7;
	return 0;
}

static void the_known_ways_around_a_filter_are_closed(void)
{
	const struct job job = { .profile = "standard", .body = try_the_known_ways_around };

	if (!has_filters())
		skip(NO_FILTERS);
	expect_clean_exit(&job);
}

#if defined(__x86_64__)
static int enter_by_the_old_gate(const struct job *job)
{
	long result = 20; /* getpid of i386 */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
	return result == getpid() ? 0 : 1;
}

static int enter_as_x32(const struct job *job)
{
	(void)syscall(0x40000000 | SYS_getpid);
	return 0;
}
#else
static int enter_by_the_old_gate(const struct job *job)
{
	return 1;
}

static int enter_as_x32(const struct job *job)
{
	return 1;
}
#endif

static int status_without_filter(int (*body)(const struct job *job))
{
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(body(NULL));
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static void the_gate_of_32_bit_programs_kills(void)
{
	static const char *const profiles[] = { "strict", "standard" };
	int status = status_without_filter(enter_by_the_old_gate);

	if (!has_filters())
		skip(NO_FILTERS);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		skip("this kernel runs no 32-bit programs");
	for (size_t i = 0; i < N_ELEMENTS(profiles); i++) {
		const struct job job = { .profile = profiles[i], .body = enter_by_the_old_gate };

		status = run(&job);
		expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}

static void a_number_of_x32_kills_the_process(void)
{
	const struct job job = { .profile = "standard", .body = enter_as_x32 };
	int status = status_without_filter(enter_as_x32);

	if (!has_filters())
		skip(NO_FILTERS);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		skip("x32 is a part of x86-64");
	status = run(&job);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static int add_a_filter_of_ones_own(const struct job *job)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { .len = 1, .filter = &allow };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    &program) != -1 ||
	    errno != EPERM)
		return 1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return 2;
	return syscall(SYS_unshare, CLONE_NEWUSER) == -1 && errno == EPERM ? 0 : 3;
}

static void a_filter_may_be_added_but_no_listener(void)
{
	const struct job job = { .profile = "standard", .body = add_a_filter_of_ones_own };

	if (!has_filters())
		skip(NO_FILTERS);
	expect_clean_exit(&job);
}

static int make_memory_files(const struct job *job)
{
	if (syscall(SYS_memfd_create, "a", MFD_CLOEXEC) != -1 || errno != EACCES)
		return 1;
	/* Kernels before 6.3 do not know MFD_NOEXEC_SEAL (8). */
	return syscall(SYS_memfd_create, "b", 8) >= 0 || errno == EINVAL ? 0 : 2;
}

static void memory_files_cannot_be_executed_where_that_is_limited(void)
{
	const struct job job = { .profile = "standard",
				 .variant = FILTER_NO_MEMFD_EXEC,
				 .body = make_memory_files };

	if (!has_filters())
		skip(NO_FILTERS);
	expect_clean_exit(&job);
}

static const struct test tests[] = {
	TEST(the_kernel_takes_every_filter_and_refuses_what_it_refuses),
	TEST(programs_work_in_standard),
	TEST(a_program_with_threads_and_children_works_in_standard),
	TEST(strict_starts_one_program_and_never_another),
	TEST(the_known_ways_around_a_filter_are_closed),
	TEST(the_gate_of_32_bit_programs_kills),
	TEST(a_number_of_x32_kills_the_process),
	TEST(a_filter_may_be_added_but_no_listener),
	TEST(memory_files_cannot_be_executed_where_that_is_limited),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
