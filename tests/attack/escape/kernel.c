/* SPDX-License-Identifier: MIT */

/*
 * Kernel interfaces that have had vulnerabilities or are not namespaced, other system call entries,
 * and ioctls that inject input into a terminal
 */

#include "escape.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>

static enum escape_verdict keyring(long number)
{
	if (number == 0)
		return escape_judge(
			syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
	if (number == 1)
		return escape_judge(syscall(SYS_add_key, "user", "sbx-escape", "x", 1,
					    KEY_SPEC_PROCESS_KEYRING));
	return escape_judge_reached(syscall(SYS_request_key, "user", "sbx-escape-none", NULL, 0),
				    ENOKEY);
}

/* /proc/keys and /proc/key-users list the user's keys outside of the sandbox. Outside there is one,
 * at least during this call. */
static enum escape_verdict names_of_keys(long number)
{
	static const struct {
		const char *path;
		const char *wanted; /* text of one of our keys; NULL: any content */
	} files[] = { { "/proc/keys", "sbx-escape" }, { "/proc/key-users", NULL } };
	long key = syscall(SYS_add_key, "user", "sbx-escape", "x", 1, KEY_SPEC_USER_KEYRING);
	static char text[65536];
	ssize_t n;
	int fd;

	if (key >= 0)
		(void)syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, 60);
	fd = open(files[number].path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? UNKNOWN : REFUSED;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return REFUSED;
	return !files[number].wanted || strstr(text, files[number].wanted) ? ESCAPED : REFUSED;
}

static enum escape_verdict bpf_map(long unused)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};

	return escape_judge(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static enum escape_verdict performance_events(long unused)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.exclude_kernel = 1 };

	return escape_judge(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static enum escape_verdict fault_handler(long flags)
{
	return escape_judge(syscall(SYS_userfaultfd, flags));
}

/* mkdir(NULL) through the 32-bit entry: EFAULT shows that the kernel accepted the call. */
static enum escape_verdict by_32_bit_entry(long unused)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "0"(39L), "b"(0L), "c"(0L) : "memory");
	return r == -EFAULT ? ESCAPED : r == -ENOSYS ? UNKNOWN : REFUSED;
#else
	return UNKNOWN;
#endif
}

static enum escape_verdict by_x32_number(long unused)
{
	return escape_judge(syscall(SYS_getppid | 0x40000000));
}

static int open_terminal(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		(void)unlockpt(fd);
	return fd;
}

/* Also with a bit in the upper half of the argument, which the kernel ignores. */
static enum escape_verdict terminal_ioctl(long request)
{
	char letter[8] = "x";
	int fd = open_terminal(), slave;
	long r;

	if (fd < 0)
		return UNKNOWN;
	slave = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (slave >= 0)
		(void)setsid(), (void)ioctl(slave, TIOCSCTTY, 0);
	r = syscall(SYS_ioctl, slave >= 0 ? slave : fd, request, letter);
	/* The filter returns EPERM; a kernel that lets the ioctl through returns EINVAL for a pty.
	 */
	return r >= 0 || errno == EINVAL || errno == ENOTTY || errno == EFAULT ? ESCAPED : REFUSED;
}

static enum escape_verdict change_personality(long persona)
{
	return escape_judge(personality((unsigned long)persona));
}

static enum escape_verdict local_descriptors(long unused)
{
#ifdef __x86_64__
	char table[16];

	return escape_judge(syscall(SYS_modify_ldt, 0, table, sizeof(table)));
#else
	return UNKNOWN;
#endif
}

static enum escape_verdict ports_of_machine(long unused)
{
#ifdef __x86_64__
	return escape_judge(syscall(SYS_iopl, 3));
#else
	return UNKNOWN;
#endif
}

/* With arguments that the kernel refuses only after the capability check. */
static enum escape_verdict load_module(long unused)
{
	return escape_judge_reached(syscall(SYS_init_module, NULL, 0, ""), ENOEXEC);
}

static enum escape_verdict unload_module(long unused)
{
	return escape_judge_reached(syscall(SYS_delete_module, "sbx_none", O_NONBLOCK), ENOENT);
}

static enum escape_verdict load_kernel(long unused)
{
	return escape_judge_reached(syscall(SYS_kexec_load, 0, 0, NULL, 1L << 40), EINVAL);
}

static enum escape_verdict swap_on(long unused)
{
	return escape_judge_reached(syscall(SYS_swapon, "/nothing-here", 0), ENOENT);
}

static enum escape_verdict account(long unused)
{
	return escape_judge_reached(syscall(SYS_acct, "/nothing-here"), ENOENT);
}

static enum escape_verdict set_clock(long unused)
{
	struct timespec wrong = { .tv_nsec = -1 };

	/* Raw system call: libc would check the argument first. */
	return escape_judge_reached(syscall(SYS_clock_settime, CLOCK_REALTIME, &wrong), EINVAL);
}

static enum escape_verdict read_kernel_log(long unused)
{
	char line[64];

	return escape_judge(syscall(SYS_syslog, 3, line, sizeof(line)));
}

static enum escape_verdict quota(long unused)
{
	return escape_judge_reached(syscall(SYS_quotactl, 0x800001 << 8, NULL, 0, NULL), ENOSYS);
}

static enum escape_verdict watch_file_system(long unused)
{
	return escape_judge(syscall(SYS_fanotify_init, 4 /* FAN_CLASS_CONTENT */, 0));
}

static enum escape_verdict secret_memory(long unused)
{
	return escape_judge(syscall(SYS_memfd_secret, 0));
}

static enum escape_verdict lookup_cookie(long unused)
{
	return escape_judge_reached(syscall(SYS_lookup_dcookie, 0, NULL, 0), EINVAL);
}

/* A listener of one's own could answer calls of other processes. */
static enum escape_verdict notify_oneself(long unused)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return escape_judge(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

static enum escape_verdict change_own_map(long unused)
{
	return escape_judge_reached(prctl(PR_SET_MM, PR_SET_MM_START_CODE, 1L, 0, 0), EINVAL);
}

static enum escape_verdict be_traceable(long unused)
{
	/* A kernel without Yama has no such option, which also counts. */
	return escape_judge(prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
}

/* clang-format off */
const struct escape escapes_kernel[] = {
	{ "read_keyring", NEEDS_USER, keyring, 0 },
	{ "add_key", NEEDS_USER, keyring, 1 },
	{ "request_key", NEEDS_USER, keyring, 2 },
	{ "read_names_of_keys", NEEDS_USER, names_of_keys, 0 },
	{ "count_keys", NEEDS_USER, names_of_keys, 1 },
	{ "bpf_map", NEEDS_ROOT, bpf_map, 0 },
	{ "performance_events", NEEDS_ROOT, performance_events, 0 },
	{ "userfaultfd", NEEDS_ROOT, fault_handler, 0 },
	{ "userfaultfd_of_users", NEEDS_USER, fault_handler, 1 },
	{ "enter_by_32_bits", NEEDS_USER, by_32_bit_entry, 0 },
	{ "enter_by_x32", NEEDS_NOTHING_OUTSIDE, by_x32_number, 0 }, /* few kernels have it */
	{ "type_into_terminal", NEEDS_USER, terminal_ioctl, TIOCSTI },
	{ "type_into_terminal_with_high_bit", NEEDS_USER, terminal_ioctl, TIOCSTI | (1L << 32) },
	{ "paste_into_terminal", NEEDS_USER, terminal_ioctl, TIOCLINUX },
	{ "paste_into_terminal_with_high_bit", NEEDS_USER, terminal_ioctl, TIOCLINUX | (1L << 33) },
	{ "change_line_discipline", NEEDS_USER, terminal_ioctl, TIOCSETD },
	{ "turn_off_randomization", NEEDS_USER, change_personality, ADDR_NO_RANDOMIZE },
	{ "make_read_imply_exec", NEEDS_USER, change_personality, READ_IMPLIES_EXEC },
	{ "local_descriptors", NEEDS_USER, local_descriptors, 0 },
	{ "ports_of_machine", NEEDS_NOTHING_OUTSIDE, ports_of_machine, 0 }, /* a kernel may lack it */
	{ "load_module", NEEDS_NOTHING_OUTSIDE, load_module, 0 },     /* a kernel may lack modules */
	{ "unload_module", NEEDS_NOTHING_OUTSIDE, unload_module, 0 }, /* as above */
	{ "load_kernel", NEEDS_NOTHING_OUTSIDE, load_kernel, 0 },     /* as above */
	{ "swap_on", NEEDS_NOTHING_OUTSIDE, swap_on, 0 },	      /* a kernel may lack swap */
	{ "account_processes", NEEDS_NOTHING_OUTSIDE, account, 0 },   /* as above */
	{ "set_clock", NEEDS_NOTHING_OUTSIDE, set_clock, 0 }, /* its arguments are looked at first */
	{ "read_kernel_log", NEEDS_ROOT, read_kernel_log, 0 },
	{ "quota", NEEDS_NOTHING_OUTSIDE, quota, 0 }, /* a kernel may lack it */
	{ "watch_file_system", NEEDS_NOTHING_OUTSIDE, watch_file_system, 0 }, /* as above */
	{ "secret_memory", NEEDS_NOTHING_OUTSIDE, secret_memory, 0 },	      /* as above */
	{ "lookup_cookie", NEEDS_NOTHING_OUTSIDE, lookup_cookie, 0 },	      /* as above */
	{ "notify_oneself", NEEDS_USER, notify_oneself, 0 },
	{ "change_own_map", NEEDS_NOTHING_OUTSIDE, change_own_map, 0 }, /* a kernel may lack it */
	{ "be_traceable", NEEDS_NOTHING_OUTSIDE, be_traceable, 0 }, /* only Yama has it */
	{ .name = NULL },
};
/* clang-format on */
