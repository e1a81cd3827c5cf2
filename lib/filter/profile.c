/* SPDX-License-Identifier: MIT */

/*
 * The profiles, as data
 *
 * Both profiles are allow-lists: a call without a rule fails with EPERM. Among the rules of one
 * call the first that holds decides, so the rule of a variant comes before the rule that it
 * changes. Refusals use the errno that programs already handle: ENOSYS where libc falls back to an
 * older call, EAFNOSUPPORT for a family that a kernel may lack.
 *
 * sbx-seccomp(7) has the same table in words; a check compares the two.
 */

#include "filter/profile.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "filter/filter.h"

/* Missing in older headers of the C library. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PTRACE_OLDSETOPTIONS
#define PTRACE_OLDSETOPTIONS 21
#endif
/* The last ptrace(2) requests that were reviewed: of the low numbers, some of which exist on one
 * architecture only, and of those from PTRACE_SETOPTIONS on. An unknown request fails with EIO. */
#define LAST_OLD_REQUEST 34
#define LAST_REQUEST 0x4212
/* The last prctl(2) option that was reviewed; later ones fail with EINVAL, as in an older kernel.
 */
#define PRCTL_LAST 78

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(code) (SECCOMP_RET_ERRNO | (code))
#define ASK SECCOMP_RET_USER_NOTIF

/* clang-format off */
#define WITHIN(argument, from, to) { argument, false, UINT32_MAX, from, to }
#define IS(argument, value) WITHIN(argument, value, value)
#define OF_KIND(argument, mask, value) { argument, false, mask, value, value }
#define HAS(argument, bits) OF_KIND(argument, bits, bits)
#define LACKS(argument, bits) OF_KIND(argument, bits, 0)
/* S_IFCHR and S_IFBLK differ in one bit. */
#define IS_DEVICE(argument) \
	OF_KIND(argument, S_IFMT & ~(uint32_t)(S_IFCHR ^ S_IFBLK), S_IFCHR & S_IFBLK)
/* A set-user-ID or set-group-ID mode. */
#define SETS_ID(argument) { argument, true, S_ISUID | S_ISGID, 0, 0 }
#define IS_NOT_ZERO(argument) { argument, true, UINT32_MAX, 0, 0 }
/* AF_INET (2) and AF_INET6 (10) differ in one bit. */
#define IS_NOT_INET(argument) \
	{ argument, true, ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET & AF_INET6, AF_INET & AF_INET6 }
/* The kernel takes the low four bits as the type; the others are SOCK_CLOEXEC and SOCK_NONBLOCK. */
#define IS_TYPE(argument, type) OF_KIND(argument, 0xf, type)
#define IS_NOT_STREAM_OR_DATAGRAM(argument) { argument, true, 0xf, SOCK_STREAM, SOCK_DGRAM }
/* The byte of an ioctl number that identifies the driver. */
#define IS_REQUEST_OF(argument, type) OF_KIND(argument, 0xff00, (type) << 8)
#define WHEN(...) { __VA_ARGS__ }
#define ALWAYS WHEN({ 0, false, 0, 0, 0 })
/* clang-format on */

#define NEW_NAMESPACE                                                                              \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define A_THREAD (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)

const struct filter_profile_row filter_profile_rows[] = {
	{ "strict", FILTER_STRICT },
	{ "standard", FILTER_STANDARD },
	{ NULL, 0 },
};

#define BOTH FILTER_BOTH
#define STRICT FILTER_STRICT
#define STANDARD FILTER_STANDARD

/* set, profiles, with, without, calls, when, answer */
const struct filter_rule filter_rules[] = {
	{ "memory", BOTH, 0, 0,
	  "brk mmap munmap mremap mprotect madvise msync mincore mlock mlock2 munlock membarrier"
	  " pkey_alloc pkey_free pkey_mprotect map_shadow_stack mseal",
	  ALWAYS, ALLOW },
	{ "memory", STANDARD, 0, 0, "mlockall munlockall remap_file_pages", ALWAYS, ALLOW },
	{ "memory", BOTH, FILTER_NO_MEMFD_EXEC, 0, "memfd_create", WHEN(LACKS(1, MFD_NOEXEC_SEAL)),
	  REFUSE(EACCES) },
	{ "memory", BOTH, 0, 0, "memfd_create", ALWAYS, ALLOW },

	{ "threads", BOTH, 0, 0,
	  "futex futex_waitv futex_wait futex_wake futex_requeue set_robust_list get_robust_list"
	  " set_tid_address rseq arch_prctl gettid getcpu sched_yield sched_getaffinity"
	  " exit exit_group restart_syscall",
	  ALWAYS, ALLOW },
	{ "threads", STRICT, 0, 0, "clone", WHEN(OF_KIND(0, A_THREAD | NEW_NAMESPACE, A_THREAD)),
	  ALLOW },

	{ "signals", BOTH, 0, 0,
	  "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigpending rt_sigtimedwait"
	  " rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack kill tkill tgkill pause signalfd"
	  " signalfd4",
	  ALWAYS, ALLOW },

	{ "time", BOTH, 0, 0,
	  "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times alarm"
	  " getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun"
	  " timer_delete timerfd_create timerfd_settime timerfd_gettime",
	  ALWAYS, ALLOW },

	{ "descriptors", BOTH, 0, 0,
	  "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close"
	  " close_range dup dup2 dup3 fcntl pipe pipe2 eventfd eventfd2 poll ppoll select pselect6"
	  " epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 fsync"
	  " fdatasync ftruncate fadvise64",
	  ALWAYS, ALLOW },
	{ "descriptors", STANDARD, 0, 0,
	  "sendfile splice tee vmsplice copy_file_range readahead sync_file_range syncfs flock"
	  " fallocate cachestat io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy",
	  ALWAYS, ALLOW },

	{ "looking", BOTH, 0, 0,
	  "stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat"
	  " getdents getdents64 getcwd chdir fchdir statfs fstatfs umask getrandom uname sysinfo",
	  ALWAYS, ALLOW },
	/* Read-only: flags that write, create or truncate are refused. The kernel takes the flags
	 * as an int, so the low 32 bits are all of them. */
	{ "looking", STRICT, 0, 0, "open", WHEN(LACKS(1, O_ACCMODE | O_CREAT | O_TRUNC)), ALLOW },
	{ "looking", STRICT, 0, 0, "openat", WHEN(LACKS(2, O_ACCMODE | O_CREAT | O_TRUNC)), ALLOW },
	{ "looking", STRICT, 0, 0, "open openat", ALWAYS, REFUSE(EACCES) },
	/* openat2() has its flags in memory, which a filter cannot read. */
	{ "looking", STRICT, 0, 0, "openat2", ALWAYS, REFUSE(ENOSYS) },

	/* A file that the command creates in a writable directory of the host belongs to the user
	 * who started sbx: set-user-ID would let other users run code as that user. */
	{ "files", STANDARD, 0, 0, "chmod fchmod creat", WHEN(SETS_ID(1)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "fchmodat fchmodat2", WHEN(SETS_ID(2)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "open", WHEN(HAS(1, O_CREAT), SETS_ID(2)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "open", WHEN(HAS(1, O_TMPFILE), SETS_ID(2)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "openat", WHEN(HAS(2, O_CREAT), SETS_ID(3)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "openat", WHEN(HAS(2, O_TMPFILE), SETS_ID(3)), REFUSE(EPERM) },
	/* openat2() has its mode in memory, which a filter cannot read; nested sandboxes need it.
	 */
	{ "files", STANDARD, FILTER_NESTED, 0, "openat2", ALWAYS, ALLOW },
	{ "files", STANDARD, 0, 0, "openat2", ALWAYS, REFUSE(ENOSYS) },
	/* Without a mount namespace every file of the user is reachable by path, and Landlock has
	 * no access right for owner, mode, times and extended attributes, by name or through a
	 * read-only fd. */
	{ "files", STANDARD, FILTER_NO_NAMESPACES, 0,
	  "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat"
	  " utimensat setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr"
	  " fremovexattr removexattrat",
	  ALWAYS, REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0,
	  "open openat creat truncate rename renameat renameat2 link linkat symlink symlinkat"
	  " unlink unlinkat mkdir mkdirat rmdir chmod fchmod fchmodat fchmodat2 chown fchown"
	  " lchown fchownat utime utimes futimesat utimensat inotify_init inotify_init1"
	  " inotify_add_watch inotify_rm_watch",
	  ALWAYS, ALLOW },
	{ "files", STANDARD, 0, 0,
	  "getxattr lgetxattr fgetxattr getxattrat setxattr lsetxattr fsetxattr setxattrat"
	  " listxattr llistxattr flistxattr listxattrat removexattr lremovexattr fremovexattr"
	  " removexattrat",
	  ALWAYS, ALLOW },
	{ "files", STANDARD, 0, 0, "mknod", WHEN(SETS_ID(1)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "mknodat", WHEN(SETS_ID(2)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "mknod", WHEN(IS_DEVICE(1)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "mknodat", WHEN(IS_DEVICE(2)), REFUSE(EPERM) },
	{ "files", STANDARD, 0, 0, "mknod mknodat", ALWAYS, ALLOW },

	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(WITHIN(1, TCGETS, TCSETSF)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(IS(1, TIOCGPGRP)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(IS(1, TIOCGWINSZ)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(IS(1, FIONREAD)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(IS(1, FIONBIO)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", WHEN(WITHIN(1, FIONCLEX, FIOCLEX)), ALLOW },
	{ "terminals", STRICT, 0, 0, "ioctl", ALWAYS, REFUSE(ENOTTY) },
	/* TIOCSTI and TIOCLINUX inject input into a terminal or the console, which the user's shell
	 * would run. */
	{ "terminals", STANDARD, 0, 0, "ioctl", WHEN(IS(1, TIOCSTI)), REFUSE(EPERM) },
	{ "terminals", STANDARD, 0, 0, "ioctl", WHEN(WITHIN(1, TIOCLINUX, TIOCCONS)),
	  REFUSE(EPERM) },
	{ "terminals", STANDARD, 0, 0, "ioctl", WHEN(IS(1, TIOCSETD)), REFUSE(EPERM) },
	/* Through a read-only fd, ioctls of file systems change flags and attributes, make
	 * snapshots and enable fs-verity: allow only those of terminals, of sockets, and FICLONE.
	 */
	{ "terminals", STANDARD, FILTER_NO_NAMESPACES, 0, "ioctl", WHEN(IS_REQUEST_OF(1, 'T')),
	  ALLOW },
	{ "terminals", STANDARD, FILTER_NO_NAMESPACES, 0, "ioctl", WHEN(IS_REQUEST_OF(1, 0x89)),
	  ALLOW },
	{ "terminals", STANDARD, FILTER_NO_NAMESPACES, 0, "ioctl", WHEN(IS(1, FICLONE)), ALLOW },
	{ "terminals", STANDARD, FILTER_NO_NAMESPACES, 0, "ioctl", WHEN(IS(1, FICLONERANGE)),
	  ALLOW },
	{ "terminals", STANDARD, FILTER_NO_NAMESPACES, 0, "ioctl", ALWAYS, REFUSE(EPERM) },
	{ "terminals", STANDARD, 0, 0, "ioctl", ALWAYS, ALLOW },

	/* Without a PID namespace: refuse changes to other processes of the same user. PID 0 is the
	 * calling process. */
	{ "oneself", BOTH, FILTER_NO_NAMESPACES, 0, "prlimit64", WHEN(IS_NOT_ZERO(0)),
	  REFUSE(EPERM) },
	{ "oneself", STANDARD, FILTER_NO_NAMESPACES, 0,
	  "sched_setparam sched_setscheduler sched_setattr sched_setaffinity", WHEN(IS_NOT_ZERO(0)),
	  REFUSE(EPERM) },
	{ "oneself", STANDARD, FILTER_NO_NAMESPACES, 0, "setpriority ioprio_set",
	  WHEN(IS_NOT_ZERO(1)), REFUSE(EPERM) },
	{ "oneself", STANDARD, FILTER_NO_NAMESPACES, 0, "setpriority", WHEN(IS(0, PRIO_USER)),
	  REFUSE(EPERM) },
	{ "oneself", BOTH, 0, 0,
	  "getpid getppid getpgid getpgrp getsid getuid geteuid getgid getegid getresuid getresgid"
	  " getgroups getrusage getrlimit setrlimit prlimit64 getpriority sched_getparam"
	  " sched_getscheduler sched_getattr sched_get_priority_max sched_get_priority_min"
	  " sched_rr_get_interval ioprio_get capget wait4 waitid",
	  ALWAYS, ALLOW },
	{ "oneself", STANDARD, 0, 0,
	  "setpgid setsid setpriority sched_setparam sched_setscheduler sched_setattr"
	  " sched_setaffinity ioprio_set capset",
	  ALWAYS, ALLOW },
	/* 0xffffffff only reads the personality. Other values disable ASLR or make readable memory
	 * executable. */
	{ "oneself", STANDARD, 0, 0, "personality", WHEN(IS(0, 0)), ALLOW },
	{ "oneself", STANDARD, 0, 0, "personality", WHEN(IS(0, UINT32_MAX)), ALLOW },
	/* seteuid() and setegid(), which make calls in every child: with real and saved id
	 * unchanged the effective id can only become one of them. */
	{ "oneself", STANDARD, 0, 0, "setresuid setresgid",
	  WHEN(IS(0, UINT32_MAX), IS(2, UINT32_MAX)), ALLOW },
	{ "oneself", STANDARD, 0, 0, "setreuid setregid", WHEN(IS(0, UINT32_MAX)), ALLOW },
	/* Programs that give up privileges set the ids that they have, and end if that fails. The
	 * user namespace maps one id and the command has no capability, so the kernel refuses every
	 * other id. */
	{ "oneself", STANDARD, 0, FILTER_NO_NAMESPACES,
	  "setuid setgid setreuid setregid setresuid setresgid", ALWAYS, ALLOW },
	{ "oneself", BOTH, 0, 0, "prctl", WHEN(IS(0, PR_SET_MM)), REFUSE(EPERM) },
	{ "oneself", BOTH, 0, 0, "prctl", WHEN(WITHIN(0, 1, PRCTL_LAST)), ALLOW },
	{ "oneself", BOTH, 0, 0, "prctl", WHEN(IS(0, PR_SET_VMA)), ALLOW },
	{ "oneself", BOTH, 0, 0, "prctl", WHEN(IS(0, PR_GET_AUXV)), ALLOW },
	{ "oneself", BOTH, 0, 0, "prctl", ALWAYS, REFUSE(EINVAL) },

	/* Landlock and seccomp only restrict the caller, but SECCOMP_FILTER_FLAG_NEW_LISTENER could
	 * answer calls of other processes. */
	{ "narrowing", BOTH, 0, 0,
	  "landlock_create_ruleset landlock_add_rule landlock_restrict_self", ALWAYS, ALLOW },
	{ "narrowing", STANDARD, FILTER_NESTED, 0, "seccomp", ALWAYS, ALLOW },
	{ "narrowing", BOTH, 0, 0, "seccomp", WHEN(HAS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER)),
	  REFUSE(EPERM) },
	{ "narrowing", BOTH, 0, 0, "seccomp", ALWAYS, ALLOW },

	{ "processes", STRICT, 0, 0, "execve execveat", ALWAYS, ASK },
	{ "processes", STANDARD, FILTER_NESTED, 0, "clone clone3 unshare", ALWAYS, ALLOW },
	/* clone3() has its flags in memory, which a filter cannot read; libc falls back to clone on
	 * ENOSYS. */
	{ "processes", BOTH, 0, 0, "clone3", ALWAYS, REFUSE(ENOSYS) },
	{ "processes", STANDARD, 0, 0, "clone", WHEN(LACKS(0, NEW_NAMESPACE)), ALLOW },
	{ "processes", STANDARD, 0, 0, "unshare", WHEN(LACKS(0, NEW_NAMESPACE | CLONE_NEWTIME)),
	  ALLOW },
	/* The kernel runs the filter again after a tracer has changed a call (since 4.8), unless
	 * the tracer has set PTRACE_O_SUSPEND_SECCOMP: refuse it in the three requests that take
	 * options. Reading filters is refused. Of the other requests only the reviewed ones are
	 * allowed. */
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(IS(0, PTRACE_SETOPTIONS), HAS(3, PTRACE_O_SUSPEND_SECCOMP)), REFUSE(EPERM) },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(IS(0, PTRACE_OLDSETOPTIONS), HAS(3, PTRACE_O_SUSPEND_SECCOMP)), REFUSE(EPERM) },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(IS(0, PTRACE_SEIZE), HAS(3, PTRACE_O_SUSPEND_SECCOMP)), REFUSE(EPERM) },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(WITHIN(0, PTRACE_SECCOMP_GET_FILTER, PTRACE_SECCOMP_GET_METADATA)), REFUSE(EPERM) },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(WITHIN(0, PTRACE_TRACEME, LAST_OLD_REQUEST)), ALLOW },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace",
	  WHEN(WITHIN(0, PTRACE_SETOPTIONS, LAST_REQUEST)), ALLOW },
	{ "processes", STANDARD, FILTER_PTRACE, FILTER_NO_NAMESPACES, "ptrace", ALWAYS,
	  REFUSE(EIO) },
	{ "processes", STANDARD, 0, 0, "fork vfork execve execveat pidfd_open pidfd_send_signal",
	  ALWAYS, ALLOW },

	/* Without an IPC namespace these would reach segments and queues of other processes of the
	 * host. */
	{ "ipc", STANDARD, FILTER_NO_NAMESPACES, 0,
	  "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"
	  " mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
	  ALWAYS, REFUSE(ENOSYS) },
	/* A System V segment is charged to no process's limits and outlives them all. */
	{ "ipc", STANDARD, FILTER_NO_SHM, 0, "shmget shmat shmctl shmdt", ALWAYS, REFUSE(ENOSYS) },
	{ "ipc", STANDARD, 0, 0,
	  "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"
	  " mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
	  ALWAYS, ALLOW },

	/* Landlock checks the port in connect() and bind(); MSG_FASTOPEN in sendto() would connect
	 * without that check. */
	{ "sockets", BOTH, FILTER_PORTS, 0, "sendto sendmmsg", WHEN(HAS(3, MSG_FASTOPEN)),
	  REFUSE(EOPNOTSUPP) },
	{ "sockets", BOTH, FILTER_PORTS, 0, "sendmsg", WHEN(HAS(2, MSG_FASTOPEN)),
	  REFUSE(EOPNOTSUPP) },
	{ "sockets", BOTH, FILTER_PORTS, 0, "setsockopt",
	  WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_FASTOPEN_CONNECT)), REFUSE(ENOPROTOOPT) },
	/* TCP_ULP turns a TCP socket into another protocol (smc), whose ports Landlock does not
	 * check, or reaches more kernel code (tls, espintcp). */
	{ "sockets", BOTH, FILTER_LOOPBACK, 0, "setsockopt",
	  WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_ULP)), REFUSE(ENOPROTOOPT) },
	{ "sockets", BOTH, 0, 0,
	  "connect bind listen accept accept4 shutdown getsockname getpeername getsockopt"
	  " setsockopt sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg",
	  ALWAYS, ALLOW },
	/* Landlock does not check connect() to a pathname socket, and a filter cannot read
	 * addresses. Sockets of a stream or seqpacket pair cannot be sent to another address; those
	 * of a datagram pair can. */
	{ "sockets", BOTH, FILTER_NO_NAMESPACES, 0, "socketpair",
	  WHEN(IS(0, AF_UNIX), IS_TYPE(1, SOCK_STREAM)), ALLOW },
	{ "sockets", BOTH, FILTER_NO_NAMESPACES, 0, "socketpair",
	  WHEN(IS(0, AF_UNIX), IS_TYPE(1, SOCK_SEQPACKET)), ALLOW },
	{ "sockets", BOTH, FILTER_NO_NAMESPACES, 0, "socketpair", WHEN(IS(0, AF_UNIX)),
	  REFUSE(ESOCKTNOSUPPORT) },
	{ "sockets", BOTH, FILTER_NO_NAMESPACES, 0, "socket", WHEN(IS(0, AF_UNIX)),
	  REFUSE(EAFNOSUPPORT) },
	{ "sockets", BOTH, 0, 0, "socket socketpair", WHEN(IS(0, AF_UNIX)), ALLOW },
	/* rtnetlink: programs use it to list interfaces and addresses. */
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE)),
	  ALLOW },
	{ "sockets", STANDARD, FILTER_NESTED, 0, "socket",
	  WHEN(IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE)), ALLOW },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS_NOT_INET(0)), REFUSE(EAFNOSUPPORT) },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS_NOT_STREAM_OR_DATAGRAM(1)),
	  REFUSE(EPERM) },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS(2, IPPROTO_IP)), ALLOW },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS(2, IPPROTO_TCP)), ALLOW },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", WHEN(IS(2, IPPROTO_UDP)), ALLOW },
	{ "sockets", BOTH, FILTER_INET, FILTER_LOOPBACK, "socket", WHEN(IS(2, IPPROTO_ICMP)),
	  ALLOW },
	{ "sockets", BOTH, FILTER_INET, FILTER_LOOPBACK, "socket", WHEN(IS(2, IPPROTO_ICMPV6)),
	  ALLOW },
	{ "sockets", BOTH, FILTER_INET, FILTER_LOOPBACK, "socket", WHEN(IS(2, IPPROTO_UDPLITE)),
	  ALLOW },
	{ "sockets", BOTH, FILTER_INET, FILTER_LOOPBACK, "socket", WHEN(IS(2, IPPROTO_MPTCP)),
	  ALLOW },
	{ "sockets", BOTH, FILTER_INET, 0, "socket", ALWAYS, REFUSE(EPROTONOSUPPORT) },
	{ "sockets", BOTH, 0, 0, "socket socketpair", ALWAYS, REFUSE(EAFNOSUPPORT) },

	{ "nesting", STANDARD, FILTER_NESTED, 0,
	  "setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen"
	  " fsconfig fsmount fspick mount_setattr statmount listmount sethostname setdomainname"
	  " setuid setgid setgroups setreuid setregid setresuid setresgid setfsuid setfsgid",
	  ALWAYS, ALLOW },

	/* io_uring opens files and sockets without running the filter; programs fall back on
	 * ENOSYS. */
	{ "rings", BOTH, 0, 0, "io_uring_setup io_uring_enter io_uring_register", ALWAYS,
	  REFUSE(ENOSYS) },

	{ NULL, 0, 0, 0, NULL, ALWAYS, 0 },
};
