/* SPDX-License-Identifier: MIT */

/* The verdict of each profile for each call that matters, from the compiled filters */

#include "filter/filter.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter-rows.h"
#include "test.h"

static void both_profiles_let_a_program_start_and_compute(void)
{
	static const char *const names[] = {
		"read",
		"write",
		"close",
		"mmap",
		"mprotect",
		"munmap",
		"brk",
		"pread64",
		"newfstatat",
		"fstat",
		"statx",
		"access",
		"readlink",
		"arch_prctl",
		"getrandom",
		"rseq",
		"set_tid_address",
		"getrlimit",
		"futex",
		"set_robust_list",
		"rt_sigaction",
		"rt_sigreturn",
		"sigaltstack",
		"exit",
		"exit_group",
		"recvmsg",
		"connect",
		"epoll_wait",
		"clock_nanosleep",
		"landlock_restrict_self",
		"pipe2",
		NULL,
	};

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		check_names(names, variant, ALLOW, ALLOW);
}

static void standard_adds_processes_and_files(void)
{
	static const char *const names[] = {
		"fork",	      "vfork",	   "unlink",	"mkdir",
		"renameat2",  "truncate",  "flock",	"inotify_init1",
		"rmdir",      "unlinkat",  "setsid",	"setpgid",
		"capset",     "link",	   "symlinkat", "copy_file_range",
		"pidfd_open", "fallocate", "sendfile",	NULL,
	};
	static const struct row rows[] = {
		{ "chmod", { 0, 0644 }, 0, NO(EPERM), ALLOW },
		{ "fchmod", { 0, 0644 }, 0, NO(EPERM), ALLOW },
		{ "execve", { 0 }, 0, ASK, ALLOW },
		{ "execveat", { UINT64_MAX }, 31, ASK, ALLOW },
	};

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		check_names(names, variant, NO(EPERM), ALLOW);
	CHECK(rows);
}

/* Numbers are of calls that older releases of libseccomp do not know. */
static void without_a_mount_view_no_metadata_is_changed(void)
{
	static const char *const names[] = {
		"chmod",     "fchmod",	  "fchmodat",	 "chown",	 "fchown",	 "lchown",
		"fchownat",  "utime",	  "utimes",	 "futimesat",	 "utimensat",	 "setxattr",
		"lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", NULL,
	};
	static const char *const others[] = { "chown", "fchown", "utimensat", "fsetxattr", NULL };
	static const int newer[] = { 452 /* fchmodat2 */, 463 /* setxattrat */,
				     466 /* removexattrat */, 469 /* file_setattr */ };
	static const struct row rows[] = {
		{ "ioctl", { 3, TCGETS }, SHARED, ALLOW, ALLOW },
		{ "ioctl", { 3, FIONREAD }, SHARED, ALLOW, ALLOW },
		{ "ioctl", { 3, TIOCSTI }, SHARED, NO(ENOTTY), NO(EPERM) },
		{ "ioctl", { 3, SIOCGIFCONF }, SHARED, NO(ENOTTY), ALLOW },
		{ "ioctl", { 3, FICLONE }, SHARED, NO(ENOTTY), ALLOW },
		{ "ioctl", { 3, FS_IOC_SETFLAGS }, 0, NO(ENOTTY), ALLOW },
		{ "ioctl", { 3, FS_IOC_SETFLAGS }, SHARED, NO(ENOTTY), NO(EPERM) },
		{ "ioctl", { 3, FS_IOC_SETFLAGS | HIGH }, SHARED, NO(ENOTTY), NO(EPERM) },
		{ "ioctl", { 3, FS_IOC_FSSETXATTR }, SHARED, NO(ENOTTY), NO(EPERM) },
		{ "ioctl", { 3, FS_IOC_ENABLE_VERITY }, SHARED, NO(ENOTTY), NO(EPERM) },
		{ "ioctl", { 3, BTRFS_IOC_SNAP_CREATE_V2 }, SHARED, NO(ENOTTY), NO(EPERM) },
	};

	check_names(others, 0, NO(EPERM), ALLOW);
	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
		if (!(variant & SHARED))
			continue;
		check_names(names, variant, NO(EPERM), NO(EPERM));
		for (size_t i = 0; i < N_ELEMENTS(newer); i++) {
			struct seccomp_data data = { .nr = newer[i],
						     .arch = seccomp_arch_native() };

			expect(answer_to("standard", variant, &data) != ALLOW);
			expect(answer_to("strict", variant, &data) != ALLOW);
		}
	}
	CHECK(rows);
}

static void without_a_mount_view_no_socket_reaches_a_name(void)
{
	static const struct row rows[] = {
		{ "socket", { AF_UNIX, SOCK_STREAM, 0 }, 0, ALLOW, ALLOW },
		{ "socket",
		  { AF_UNIX, SOCK_STREAM, 0 },
		  SHARED,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "socket",
		  { AF_UNIX | HIGH, SOCK_DGRAM | SOCK_CLOEXEC, 0 },
		  SHARED | INET,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "socket", { AF_INET, SOCK_STREAM, 0 }, SHARED | INET, ALLOW, ALLOW },
		{ "socketpair", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, SHARED, ALLOW, ALLOW },
		{ "socketpair", { AF_UNIX, SOCK_SEQPACKET, 0 }, SHARED, ALLOW, ALLOW },
		{ "socketpair",
		  { AF_UNIX, SOCK_DGRAM, 0 },
		  SHARED,
		  NO(ESOCKTNOSUPPORT),
		  NO(ESOCKTNOSUPPORT) },
		/* For AF_UNIX the kernel turns SOCK_RAW into SOCK_DGRAM. */
		{ "socketpair",
		  { AF_UNIX, SOCK_RAW | SOCK_NONBLOCK, 0 },
		  SHARED,
		  NO(ESOCKTNOSUPPORT),
		  NO(ESOCKTNOSUPPORT) },
		{ "socketpair", { AF_UNIX, SOCK_DGRAM, 0 }, 0, ALLOW, ALLOW },
	};

	CHECK(rows);
}

static void refuses_what_concerns_the_kernel_or_other_processes_in_every_variant(void)
{
	static const char *const names[] = {
		"process_vm_readv",
		"process_vm_writev",
		"process_madvise",
		"kcmp",
		"pidfd_getfd",
		"bpf",
		"perf_event_open",
		"userfaultfd",
		"keyctl",
		"add_key",
		"request_key",
		"name_to_handle_at",
		"open_by_handle_at",
		"fanotify_init",
		"fanotify_mark",
		"quotactl",
		"quotactl_fd",
		"swapon",
		"swapoff",
		"reboot",
		"kexec_load",
		"kexec_file_load",
		"init_module",
		"finit_module",
		"delete_module",
		"iopl",
		"ioperm",
		"modify_ldt",
		"acct",
		"syslog",
		"clock_settime",
		"settimeofday",
		"adjtimex",
		"clock_adjtime",
		"vhangup",
		"lookup_dcookie",
		"move_pages",
		"migrate_pages",
		"mbind",
		"set_mempolicy",
		"get_mempolicy",
		"memfd_secret",
		"sync",
		"uselib",
		NULL,
	};

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		check_names(names, variant, NO(EPERM), NO(EPERM));
}

static void only_a_debugger_has_ptrace_and_not_beside_the_hosts_processes(void)
{
	static const char *const names[] = { "ptrace", NULL };

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		if (!(variant & PTRACE) || (variant & SHARED))
			check_names(names, variant, NO(EPERM), NO(EPERM));
}

static void no_tracer_takes_a_filter_off_or_reads_it(void)
{
	static const uint64_t with_options[] = { PTRACE_SETOPTIONS, PTRACE_SEIZE, 21 };
	static const uint64_t refused[] = { 0x420c /* GET_FILTER */, 0x420d /* GET_METADATA */ };
	static const uint64_t unknown[] = { 35, 0x41ff, 0x4213, UINT64_MAX };
	static const uint64_t allowed[] = { PTRACE_TRACEME,  PTRACE_PEEKTEXT,  PTRACE_POKETEXT,
					    PTRACE_CONT,     PTRACE_ATTACH,    PTRACE_DETACH,
					    PTRACE_SYSCALL,  PTRACE_GETREGSET, PTRACE_SETREGSET,
					    PTRACE_INTERRUPT };
	const uint64_t suspend = PTRACE_O_SUSPEND_SECCOMP, good = PTRACE_O_TRACESYSGOOD;

	for (size_t i = 0; i < N_ELEMENTS(with_options); i++) {
		const uint64_t request = with_options[i];
		const struct row rows[] = {
			{ "ptrace", { request, 5, 0, good }, PTRACE, NO(EPERM), ALLOW },
			{ "ptrace", { request, 5, 0, suspend }, PTRACE, NO(EPERM), NO(EPERM) },
			{ "ptrace",
			  { request, 5, 0, suspend | good | HIGH },
			  PTRACE | INET | NESTED,
			  NO(EPERM),
			  NO(EPERM) },
			{ "ptrace",
			  { request | HIGH, 5, 0, suspend },
			  PTRACE,
			  NO(EPERM),
			  NO(EPERM) },
		};

		CHECK(rows);
	}
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		CHECK(((const struct row[]){
			{ "ptrace", { refused[i], 5 }, PTRACE, NO(EPERM), NO(EPERM) } }));
	for (size_t i = 0; i < N_ELEMENTS(unknown); i++)
		CHECK(((const struct row[]){
			{ "ptrace", { unknown[i], 5 }, PTRACE, NO(EPERM), NO(EIO) } }));
	for (size_t i = 0; i < N_ELEMENTS(allowed); i++)
		CHECK(((const struct row[]){
			{ "ptrace", { allowed[i], 5, 0, suspend }, PTRACE, NO(EPERM), ALLOW } }));
}

static void says_that_a_call_does_not_exist_where_libc_has_another_way(void)
{
	static const char *const rings[] = { "io_uring_setup", "io_uring_enter",
					     "io_uring_register", NULL };
	static const char *const clone3[] = { "clone3", NULL };

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
		check_names(rings, variant, NO(ENOSYS), NO(ENOSYS));
		check_names(clone3, variant, NO(ENOSYS), variant & NESTED ? ALLOW : NO(ENOSYS));
	}
}

static void only_a_nested_sandbox_may_be_built(void)
{
	static const char *const names[] = {
		"mount",     "umount2",	      "pivot_root",  "chroot",	      "setns",
		"open_tree", "move_mount",    "fsopen",	     "fsconfig",      "fsmount",
		"fspick",    "mount_setattr", "sethostname", "setdomainname", NULL,
	};
	static const struct row rows[] = {
		{ "clone", { CLONE_NEWUSER | SIGCHLD }, NESTED, NO(EPERM), ALLOW },
		{ "unshare", { CLONE_NEWUSER | CLONE_NEWNS }, NESTED, NO(EPERM), ALLOW },
		{ "seccomp", { 1, SECCOMP_FILTER_FLAG_NEW_LISTENER }, NESTED, NO(EPERM), ALLOW },
		{ "socket",
		  { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		  NESTED,
		  NO(EAFNOSUPPORT),
		  ALLOW },
		{ "socket",
		  { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
		  NESTED,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "ioctl", { 0, TIOCSTI }, NESTED, NO(ENOTTY), NO(EPERM) },
		{ "personality", { 0x0040000 }, NESTED, NO(EPERM), NO(EPERM) },
	};

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		check_names(names, variant, NO(EPERM), variant & NESTED ? ALLOW : NO(EPERM));
	CHECK(rows);
}

static void only_what_the_kernel_checks_sets_the_user(void)
{
	static const char *const others[] = { "setgroups", "setfsuid", "setfsgid", NULL };
	static const char *const own[] = { "setuid",	"setgid",    "setreuid", "setregid",
					   "setresuid", "setresgid", NULL };
	static const struct row rows[] = {
		{ "setresuid", { 0, 0, 0 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setresuid", { MINUS_1, 1000, MINUS_1 }, SHARED, NO(EPERM), ALLOW },
		{ "setresgid", { UINT64_MAX, 1000, UINT64_MAX }, SHARED, NO(EPERM), ALLOW },
		{ "setresgid", { MINUS_1, 1000, 0 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setresgid", { 0, 1000, MINUS_1 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setreuid", { MINUS_1, 0 }, SHARED, NO(EPERM), ALLOW },
		{ "setreuid", { 0, MINUS_1 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setregid", { 0, 0 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setuid", { 1000 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setgid", { 1000 }, SHARED, NO(EPERM), NO(EPERM) },
	};

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
		check_names(others, variant, NO(EPERM), variant & NESTED ? ALLOW : NO(EPERM));
		if (!(variant & SHARED))
			check_names(own, variant, NO(EPERM), ALLOW);
	}
	CHECK(rows);
}

static void no_clone_makes_a_namespace(void)
{
	static const uint64_t namespaces[] = { CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
					       CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
					       CLONE_NEWCGROUP };
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				CLONE_SYSVSEM | CLONE_SETTLS;
	const struct row rows[] = {
		{ "clone", { SIGCHLD }, 0, NO(EPERM), ALLOW },
		{ "clone", { CLONE_VM | CLONE_VFORK | SIGCHLD }, 0, NO(EPERM), ALLOW },
		{ "clone", { CLONE_VM | CLONE_SIGHAND }, 0, NO(EPERM), ALLOW },
		{ "clone", { thread }, 0, ALLOW, ALLOW },
		{ "clone", { thread | HIGH }, 0, ALLOW, ALLOW },
		{ "unshare", { CLONE_FILES | CLONE_FS }, 0, NO(EPERM), ALLOW },
		{ "unshare", { 0x80 /* time */ }, 0, NO(EPERM), NO(EPERM) },
	};

	CHECK(rows);
	for (size_t i = 0; i < N_ELEMENTS(namespaces); i++) {
		const struct row more[] = {
			{ "clone", { namespaces[i] | SIGCHLD }, 0, NO(EPERM), NO(EPERM) },
			{ "clone", { namespaces[i] | thread }, 0, NO(EPERM), NO(EPERM) },
			{ "clone", { namespaces[i] | HIGH }, 13, NO(EPERM), NO(EPERM) },
			{ "unshare", { namespaces[i] }, 0, NO(EPERM), NO(EPERM) },
			{ "unshare", { namespaces[i] | HIGH | CLONE_FS }, 0, NO(EPERM), NO(EPERM) },
		};

		CHECK(more);
	}
}

static void no_terminal_is_typed_into(void)
{
	static const uint64_t refused[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD };
	static const struct row rows[] = {
		{ "ioctl", { 0, TCGETS }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, TCSETSW }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, TCSETSF }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, TCGETA }, 0, NO(ENOTTY), ALLOW },
		{ "ioctl", { 0, TIOCGWINSZ }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, FIONREAD }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, FIOCLEX }, 0, ALLOW, ALLOW },
		{ "ioctl", { 0, TIOCSWINSZ }, 0, NO(ENOTTY), ALLOW },
		{ "ioctl", { 0, TIOCSCTTY }, 0, NO(ENOTTY), ALLOW },
		{ "ioctl", { TIOCSTI, TCGETS }, 0, ALLOW, ALLOW },
	};

	CHECK(rows);
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		const struct row more[] = {
			{ "ioctl", { 0, refused[i] }, 0, NO(ENOTTY), NO(EPERM) },
			{ "ioctl", { 0, refused[i] | HIGH }, 0, NO(ENOTTY), NO(EPERM) },
			{ "ioctl",
			  { 0, refused[i] | 0xffffffff00000000u },
			  15,
			  NO(ENOTTY),
			  NO(EPERM) },
		};

		CHECK(more);
	}
}

static void looks_at_the_low_half_of_what_is_an_int(void)
{
	static const struct row rows[] = {
		{ "personality", { 0 }, 0, NO(EPERM), ALLOW },
		{ "personality", { MINUS_1 }, 0, NO(EPERM), ALLOW },
		{ "personality", { UINT64_MAX }, 0, NO(EPERM), ALLOW },
		{ "personality", { 0x0040000 /* no randomisation */ }, 0, NO(EPERM), NO(EPERM) },
		{ "personality", { 0x0400000 /* READ_IMPLIES_EXEC */ }, 0, NO(EPERM), NO(EPERM) },
		{ "personality", { 8 | HIGH }, 0, NO(EPERM), NO(EPERM) },
		{ "prctl", { PR_SET_NAME }, 0, ALLOW, ALLOW },
		{ "prctl", { PR_SET_NO_NEW_PRIVS }, 0, ALLOW, ALLOW },
		{ "prctl", { PR_SET_MM }, 0, NO(EPERM), NO(EPERM) },
		{ "prctl", { PR_SET_MM | HIGH }, 0, NO(EPERM), NO(EPERM) },
		{ "prctl", { PR_SET_PTRACER }, 0, NO(EINVAL), NO(EINVAL) },
		{ "prctl", { 0x53564d41 /* names for memory */ }, 0, ALLOW, ALLOW },
		{ "prctl", { 0 }, 0, NO(EINVAL), NO(EINVAL) },
		{ "prctl", { 1000 }, 15, NO(EINVAL), NO(EINVAL) },
		{ "seccomp", { 1, 0 }, 0, ALLOW, ALLOW },
		{ "seccomp", { 1, SECCOMP_FILTER_FLAG_TSYNC }, 0, ALLOW, ALLOW },
		{ "seccomp", { 1, SECCOMP_FILTER_FLAG_NEW_LISTENER }, 0, NO(EPERM), NO(EPERM) },
		{ "seccomp",
		  { 1, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1 | HIGH },
		  13,
		  NO(EPERM),
		  NO(EPERM) },
	};

	CHECK(rows);
}

static void sockets_are_local_unless_the_network_was_asked_for(void)
{
	static const uint64_t never[] = { AF_PACKET, AF_VSOCK,	AF_ALG, AF_XDP,
					  AF_KEY,    AF_TIPC,	AF_RDS, AF_BLUETOOTH,
					  AF_CAN,    AF_UNSPEC, 1000 };
	static const struct row rows[] = {
		{ "socket", { AF_UNIX, SOCK_STREAM, 0 }, 0, ALLOW, ALLOW },
		{ "socket", { AF_UNIX | HIGH, SOCK_STREAM, 0 }, 0, ALLOW, ALLOW },
		{ "socketpair", { AF_UNIX, SOCK_STREAM, 0 }, 15, ALLOW, ALLOW },
		{ "socketpair",
		  { AF_INET, SOCK_STREAM, 0 },
		  INET,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "socket", { AF_INET, SOCK_STREAM, 0 }, 0, NO(EAFNOSUPPORT), NO(EAFNOSUPPORT) },
		{ "socket", { AF_INET6, SOCK_DGRAM, 0 }, 14, NO(EAFNOSUPPORT), NO(EAFNOSUPPORT) },
		{ "socket", { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0 }, INET, ALLOW, ALLOW },
		{ "socket",
		  { AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP },
		  INET,
		  ALLOW,
		  ALLOW },
		{ "socket", { AF_INET | HIGH, SOCK_STREAM | HIGH, HIGH }, INET, ALLOW, ALLOW },
		{ "socket", { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, INET, ALLOW, ALLOW },
		{ "socket", { AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 }, INET, ALLOW, ALLOW },
		{ "socket", { AF_INET, SOCK_RAW, IPPROTO_TCP }, INET, NO(EPERM), NO(EPERM) },
		{ "socket",
		  { AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW },
		  INET,
		  NO(EPERM),
		  NO(EPERM) },
		{ "socket", { AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP }, INET, NO(EPERM), NO(EPERM) },
		{ "socket",
		  { AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		  INET,
		  NO(EPROTONOSUPPORT),
		  NO(EPROTONOSUPPORT) },
		{ "socket",
		  { AF_INET, SOCK_STREAM, 256 /* SMC */ },
		  INET,
		  NO(EPROTONOSUPPORT),
		  NO(EPROTONOSUPPORT) },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, INET, ALLOW, ALLOW },
		{ "socket",
		  { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
		  INET,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "socket",
		  { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		  0,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
	};

	CHECK(rows);
	for (size_t i = 0; i < N_ELEMENTS(never); i++)
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
			const struct row row = { "socket",
						 { never[i], SOCK_DGRAM, 6 },
						 variant,
						 NO(EAFNOSUPPORT),
						 NO(EAFNOSUPPORT) };

			check_rows(&row, 1);
		}
}

static void no_stream_is_opened_past_connect_where_ports_are_limited(void)
{
	static const struct row rows[] = {
		{ "sendto", { 3, 0, 0, MSG_FASTOPEN }, INET, ALLOW, ALLOW },
		{ "sendto",
		  { 3, 0, 0, MSG_FASTOPEN },
		  INET | PORTS,
		  NO(EOPNOTSUPP),
		  NO(EOPNOTSUPP) },
		{ "sendto",
		  { 3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL | HIGH },
		  PORTS,
		  NO(EOPNOTSUPP),
		  NO(EOPNOTSUPP) },
		{ "sendto", { 3, 0, MSG_FASTOPEN, MSG_NOSIGNAL }, PORTS, ALLOW, ALLOW },
		{ "sendmsg", { 3, 0, MSG_FASTOPEN }, PORTS, NO(EOPNOTSUPP), NO(EOPNOTSUPP) },
		{ "sendmsg", { 3, 0, MSG_NOSIGNAL, MSG_FASTOPEN }, PORTS, ALLOW, ALLOW },
		{ "sendmmsg", { 3, 0, 1, MSG_FASTOPEN }, PORTS, NO(EOPNOTSUPP), NO(EOPNOTSUPP) },
		{ "setsockopt",
		  { 3, IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
		  PORTS,
		  NO(ENOPROTOOPT),
		  NO(ENOPROTOOPT) },
		{ "setsockopt", { 3, IPPROTO_TCP, TCP_NODELAY }, PORTS, ALLOW, ALLOW },
		{ "setsockopt", { 3, SOL_SOCKET, TCP_FASTOPEN_CONNECT }, PORTS, ALLOW, ALLOW },
		{ "setsockopt", { 3, IPPROTO_TCP, TCP_FASTOPEN_CONNECT }, INET, ALLOW, ALLOW },
	};

	CHECK(rows);
}

static void on_a_loopback_there_are_tcp_and_udp_alone(void)
{
	static const int others[] = { IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_UDPLITE,
				      IPPROTO_MPTCP };
	static const struct row rows[] = {
		{ "socket", { AF_INET, SOCK_STREAM, 0 }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "socket", { AF_INET6, SOCK_DGRAM, 0 }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "socket", { AF_INET, SOCK_STREAM, IPPROTO_TCP }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "socket", { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "socket", { AF_NETLINK, SOCK_RAW, 0 }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "socket",
		  { AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG },
		  INET | LOOPBACK,
		  NO(EAFNOSUPPORT),
		  NO(EAFNOSUPPORT) },
		{ "socket",
		  { AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		  INET | LOOPBACK,
		  NO(EPROTONOSUPPORT),
		  NO(EPROTONOSUPPORT) },
		{ "socket",
		  { AF_INET, SOCK_STREAM, 256 }, /* SMC */
		  INET | LOOPBACK,
		  NO(EPROTONOSUPPORT),
		  NO(EPROTONOSUPPORT) },
		{ "socket",
		  { AF_INET, SOCK_RAW, IPPROTO_TCP },
		  INET | LOOPBACK,
		  NO(EPERM),
		  NO(EPERM) },
		{ "sendto", { 3, 0, 0, MSG_FASTOPEN }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "setsockopt",
		  { 3, IPPROTO_TCP, TCP_ULP },
		  INET | LOOPBACK,
		  NO(ENOPROTOOPT),
		  NO(ENOPROTOOPT) },
		{ "setsockopt",
		  { 3, IPPROTO_TCP | HIGH, TCP_ULP | HIGH },
		  INET | LOOPBACK,
		  NO(ENOPROTOOPT),
		  NO(ENOPROTOOPT) },
		{ "setsockopt", { 3, IPPROTO_TCP, TCP_ULP }, INET, ALLOW, ALLOW },
		{ "setsockopt", { 3, SOL_SOCKET, TCP_ULP }, INET | LOOPBACK, ALLOW, ALLOW },
		{ "setsockopt", { 3, IPPROTO_TCP, TCP_NODELAY }, INET | LOOPBACK, ALLOW, ALLOW },
	};

	CHECK(rows);
	for (size_t i = 0; i < N_ELEMENTS(others); i++) {
		uint64_t protocol = (uint64_t)others[i];
		const struct row pair[] = {
			{ "socket", { AF_INET, SOCK_STREAM, protocol }, INET, ALLOW, ALLOW },
			{ "socket",
			  { AF_INET6, SOCK_STREAM, protocol | HIGH },
			  INET | LOOPBACK,
			  NO(EPROTONOSUPPORT),
			  NO(EPROTONOSUPPORT) },
		};

		CHECK(pair);
	}
}

static void without_namespaces_no_other_process_is_named(void)
{
	static const char *const ipc[] = { "shmat", "shmctl", "semop", "msgrcv", "mq_open", NULL };
	static const char *const shm[] = { "shmget", "shmat", "shmctl", "shmdt", NULL };
	static const char *const queues[] = { "semop", "msgrcv", "mq_open", NULL };
	static const struct row rows[] = {
		{ "prlimit64", { 0, 7, 1 }, SHARED, ALLOW, ALLOW },
		{ "prlimit64", { HIGH, 7, 1 }, SHARED, ALLOW, ALLOW },
		{ "prlimit64", { 1, 7, 1 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "prlimit64", { 1, 7, 1 }, 0, ALLOW, ALLOW },
		{ "sched_setparam", { 1 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "sched_setscheduler", { 0, 3 }, SHARED, NO(EPERM), ALLOW },
		{ "sched_setscheduler", { MINUS_1, 3 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "sched_setattr", { 4711 }, 31, NO(EPERM), NO(EPERM) },
		{ "sched_setaffinity", { 4711 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "sched_setaffinity", { 4711 }, 15, NO(EPERM), ALLOW },
		{ "setpriority", { 0, 0, 19 }, SHARED, NO(EPERM), ALLOW },
		{ "setpriority", { 0, 1, 19 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setpriority", { 2, 0, 19 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "setpriority", { 2, 0, 19 }, 0, NO(EPERM), ALLOW },
		{ "ioprio_set", { 1, 0 }, SHARED, NO(EPERM), ALLOW },
		{ "ioprio_set", { 1, 1 }, SHARED, NO(EPERM), NO(EPERM) },
		{ "ioprio_set", { 3, 1000 }, SHARED, NO(EPERM), NO(EPERM) },
	};

	check_names(ipc, 0, NO(EPERM), ALLOW);
	check_names(ipc, SHARED, NO(EPERM), NO(ENOSYS));
	check_names(shm, NO_SHM, NO(EPERM), NO(ENOSYS));
	check_names(queues, NO_SHM, NO(EPERM), ALLOW);
	CHECK(rows);
}

static void a_call_newer_than_sbx_does_not_exist(void)
{
	static const int numbers[] = { 335, 400, 423, 500, 1023, 1024, 0x3fffffff };

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
			const struct row row = { "a number", { 0 }, variant, 0, 0 };
			char *name =
				seccomp_syscall_resolve_num_arch(seccomp_arch_native(), numbers[i]);

			if (!name) {
				check_row(&row, "strict", numbers[i], NO(ENOSYS));
				check_row(&row, "standard", numbers[i], NO(ENOSYS));
			}
			free(name);
		}
}

static void another_architecture_kills(void)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, 0,
					   UINT32_MAX };

	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		for (size_t i = 0; i < N_ELEMENTS(others); i++)
			for (int number = 0; number < 500; number += 7) {
				struct seccomp_data data = { .nr = number, .arch = others[i] };

				expect_eq(answer_to("strict", variant, &data), KILL);
				expect_eq(answer_to("standard", variant, &data), KILL);
			}
}

static void numbers_of_x32_kill(void)
{
	static const uint32_t numbers[] = { 0x40000000, 0x40000001, 0x40000000 + 520,
					    0x7fffffff, 0x80000000, UINT32_MAX };

	if (seccomp_arch_native() != SCMP_ARCH_X86_64)
		skip("x32 is a part of x86-64");
	for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++)
		for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
			const struct row row = { "x32", { 0 }, variant, 0, 0 };

			check_row(&row, "strict", (int)numbers[i], KILL);
			check_row(&row, "standard", (int)numbers[i], KILL);
		}
}

/* A linear list of comparisons would need hundreds. */
static void no_verdict_is_further_than_12_jumps(void)
{
	static const char *const profiles[] = { "strict", "standard" };
	unsigned most = 0;

	for (size_t p = 0; p < N_ELEMENTS(profiles); p++)
		for (unsigned variant = 0; variant < FILTER_VARIANTS; variant++) {
			const struct sock_fprog *program = filter_find(profiles[p], variant);

			for (int number = 0; number < 1100; number++) {
				struct seccomp_data data = { .nr = number,
							     .arch = seccomp_arch_native() };
				struct walk w = { .code = program->filter,
						  .n = program->len,
						  .data = &data };

				expect(walk_run(&w) != BROKEN);
				if (!w.saw_argument && w.n_jumps > most)
					most = w.n_jumps;
			}
			expect(program->len < 288);
		}
	printf("# at most %u jumps\n", most);
	expect(most <= 12);
}

/* FILTER_NO_SHM and FILTER_PTRACE change nothing without namespaces. */
static unsigned what_counts(unsigned variant)
{
	return variant & SHARED ? variant & ~(unsigned)(NO_SHM | PTRACE) : variant;
}

static void variants_that_are_alike_share_their_bytes(void)
{
	expect(filter_find("strict", 0)->filter == filter_find("strict", NESTED)->filter);
	expect(filter_find("strict", 0)->filter != filter_find("standard", 0)->filter);
	for (unsigned a = 0; a < FILTER_VARIANTS; a++)
		for (unsigned b = 0; b < a; b++)
			expect_eq(filter_find("standard", a)->filter ==
					  filter_find("standard", b)->filter,
				  what_counts(a) == what_counts(b));
}

static void finds_no_profile_that_does_not_exist(void)
{
	expect(!filter_find("permissive", 0));
	expect(!filter_find("", 0));
	expect(!filter_find("STRICT", 0));
	expect(!filter_find("strict", FILTER_VARIANTS));
	expect(!filter_find("standard", UINT32_MAX));
	expect_eq(filter_needs_notify("permissive"), -ENOENT);
}

static void only_strict_needs_a_listener(void)
{
	expect_eq(filter_needs_notify("strict"), 1);
	expect_eq(filter_needs_notify("standard"), 0);
}

static const struct test tests[] = {
	TEST(both_profiles_let_a_program_start_and_compute),
	TEST(standard_adds_processes_and_files),
	TEST(without_a_mount_view_no_metadata_is_changed),
	TEST(without_a_mount_view_no_socket_reaches_a_name),
	TEST(refuses_what_concerns_the_kernel_or_other_processes_in_every_variant),
	TEST(only_a_debugger_has_ptrace_and_not_beside_the_hosts_processes),
	TEST(no_tracer_takes_a_filter_off_or_reads_it),
	TEST(says_that_a_call_does_not_exist_where_libc_has_another_way),
	TEST(only_a_nested_sandbox_may_be_built),
	TEST(only_what_the_kernel_checks_sets_the_user),
	TEST(no_clone_makes_a_namespace),
	TEST(no_terminal_is_typed_into),
	TEST(looks_at_the_low_half_of_what_is_an_int),
	TEST(sockets_are_local_unless_the_network_was_asked_for),
	TEST(no_stream_is_opened_past_connect_where_ports_are_limited),
	TEST(on_a_loopback_there_are_tcp_and_udp_alone),
	TEST(without_namespaces_no_other_process_is_named),
	TEST(a_call_newer_than_sbx_does_not_exist),
	TEST(another_architecture_kills),
	TEST(numbers_of_x32_kill),
	TEST(no_verdict_is_further_than_12_jumps),
	TEST(variants_that_are_alike_share_their_bytes),
	TEST(finds_no_profile_that_does_not_exist),
	TEST(only_strict_needs_a_listener),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
