/* SPDX-License-Identifier: MIT */

/*
 * Landlock decides about files, the filter about everything else. One table lists the calls of both
 * roles; a row may bind a call to the value of one argument. Rows of one call are tried in their
 * order, and the last one may be an error for the values that no row allows: for calls that
 * libraries try, and can do without.
 */

#include "proxy/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* ---- Landlock ---- */

/* struct landlock_ruleset_attr since ABI 6; the headers may be older than the kernel, and older
 * kernels accept it if the members that they do not know are zero. */
struct ruleset {
	uint64_t file_rights;
	uint64_t port_rights; /* ABI 4 */
	uint64_t scopes;      /* ABI 6 */
};

#define PORT_BIND 1u	  /* LANDLOCK_ACCESS_NET_BIND_TCP */
#define SCOPE_ABSTRACT 1u /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET */
#define SCOPE_SIGNAL 2u	  /* LANDLOCK_SCOPE_SIGNAL */

#define TO_WRITE                                                                                   \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG)

/*
 * Read by the C library and the resolver. Links lead to the file that is there at the start. The
 * worker may read them, too: its resolver has a domain below its own, so that the worker can end
 * it.
 */
static const char *const resolver_files[] = {
	"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
	"/etc/host.conf",   "/etc/services", "/dev/urandom",
};

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool confine_has_landlock(void)
{
	return landlock_abi() > 0;
}

/* All rights that the kernel knows: 13 in ABI 1, then renames (2), truncation (3), ioctl (5). */
static uint64_t file_rights(long abi)
{
	return (1u << 13) - 1 + (abi >= 2 ? 1u << 13 : 0) + (abi >= 3 ? 1u << 14 : 0) +
	       (abi >= 5 ? 1u << 15 : 0);
}

/* A file that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

/* Services that manage resolv.conf rename a new one into a directory of their own, to which the
 * link in /etc leads. */
static int allow_managed(int ruleset)
{
	_cleanup_free_ char *real = realpath(resolver_files[0], NULL);
	char *slash = real ? strrchr(real, '/') : NULL;

	if (!slash || slash == real)
		return 0;
	*slash = '\0';
	return strcmp(real, "/etc") == 0 ? 0 : allow(ruleset, real, LANDLOCK_ACCESS_FS_READ_FILE);
}

static int allow_all(int ruleset, const struct confinement *confinement)
{
	int r = allow(ruleset, "/dev/null",
		      LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);

	if (r < 0)
		return r;
	r = confinement->readable
		    ? allow(ruleset, confinement->readable, LANDLOCK_ACCESS_FS_READ_FILE)
		    : 0;
	if (r < 0)
		return r;
	r = confinement->writable ? allow(ruleset, confinement->writable, TO_WRITE) : 0;
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(resolver_files); i++)
		r = allow(ruleset, resolver_files[i], LANDLOCK_ACCESS_FS_READ_FILE);
	return r < 0 ? r : allow_managed(ruleset);
}

/* 0 without Landlock, too: then the filter refuses to open files. */
static int restrict_files(const struct confinement *confinement)
{
	long abi = landlock_abi();
	const struct ruleset ruleset = {
		.file_rights = file_rights(abi),
		.port_rights = abi >= 4 ? PORT_BIND : 0,
		.scopes = abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0,
	};
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (abi <= 0)
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return -errno;
	r = allow_all(fd, confinement);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* ---- the filter ---- */

#ifdef __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE AUDIT_ARCH_X86_64
#endif

#define WORKER 1u
#define RESOLVER 2u
#define BOTH (WORKER | RESOLVER)
#define FILES 4u /* only with Landlock: it decides which files */

struct call {
	int number;
	unsigned roles;
	int error;	  /* 0: allowed, else it fails with this errno */
	uint8_t argument; /* from 1; 0: whatever the arguments are */
	uint32_t mask;
	uint32_t value; /* the low half of the argument, masked */
};

#define WITHOUT_BITS(number, roles, argument, bits)                                                \
	{                                                                                          \
		number, roles, 0, argument, bits, 0                                                \
	}
#define WITH_VALUE(number, roles, argument, value)                                                 \
	{                                                                                          \
		number, roles, 0, argument, UINT32_MAX, value                                      \
	}
#define FAILS(number, error)                                                                       \
	{                                                                                          \
		number, BOTH, error, 0, 0, 0                                                       \
	}

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

/* The calls of the loop first: each call is compared with the rows before its own. (The kernel
 * keeps a bitmap of those without arguments.) */
static const struct call calls[] = {
	/* the loop and the sockets */
	{ .number = SYS_read, .roles = BOTH },
	{ .number = SYS_write, .roles = BOTH },
	{ .number = SYS_epoll_pwait, .roles = BOTH },
	{ .number = SYS_epoll_ctl, .roles = BOTH },
	{ .number = SYS_recvfrom, .roles = BOTH },
	{ .number = SYS_sendto, .roles = BOTH },
	{ .number = SYS_recvmsg, .roles = BOTH },
	{ .number = SYS_sendmsg, .roles = BOTH },
	{ .number = SYS_splice, .roles = WORKER },
	{ .number = SYS_accept4, .roles = WORKER },
	{ .number = SYS_connect, .roles = BOTH },
	{ .number = SYS_close, .roles = BOTH },
	{ .number = SYS_setsockopt, .roles = BOTH },
	{ .number = SYS_getsockopt, .roles = BOTH },
	{ .number = SYS_getsockname, .roles = BOTH },
	{ .number = SYS_getpeername, .roles = BOTH },
	{ .number = SYS_shutdown, .roles = BOTH },
	{ .number = SYS_readv, .roles = BOTH },
	{ .number = SYS_writev, .roles = BOTH },
	{ .number = SYS_pread64, .roles = BOTH },
	{ .number = SYS_pipe2, .roles = WORKER },
	{ .number = SYS_fcntl, .roles = BOTH },
	{ .number = SYS_dup, .roles = BOTH },
	{ .number = SYS_dup3, .roles = BOTH },
	{ .number = SYS_lseek, .roles = BOTH },
	{ .number = SYS_epoll_create1, .roles = BOTH },
	{ .number = SYS_epoll_pwait2, .roles = BOTH },
	{ .number = SYS_ppoll, .roles = BOTH },
	{ .number = SYS_pselect6, .roles = BOTH },
	{ .number = SYS_timerfd_create, .roles = WORKER },
	{ .number = SYS_timerfd_settime, .roles = WORKER },
	{ .number = SYS_eventfd2, .roles = BOTH },
	{ .number = SYS_signalfd4, .roles = WORKER },
#ifdef SYS_epoll_wait
	{ .number = SYS_epoll_wait, .roles = BOTH },
#endif
#ifdef SYS_poll
	{ .number = SYS_poll, .roles = BOTH },
#endif
#ifdef SYS_select
	{ .number = SYS_select, .roles = BOTH },
#endif
#ifdef SYS_dup2
	{ .number = SYS_dup2, .roles = BOTH },
#endif
	/* no raw, packet or netlink sockets; unix sockets are for records */
	WITH_VALUE(SYS_socket, BOTH, 1, AF_INET),
	WITH_VALUE(SYS_socket, BOTH, 1, AF_INET6),
	WITH_VALUE(SYS_socket, WORKER, 1, AF_UNIX),
	FAILS(SYS_socket, EAFNOSUPPORT),
	/* memory: nothing becomes executable */
	WITHOUT_BITS(SYS_mmap, BOTH, 3, PROT_EXEC),
	FAILS(SYS_mmap, EACCES),
	WITHOUT_BITS(SYS_mprotect, BOTH, 3, PROT_EXEC),
	FAILS(SYS_mprotect, EACCES),
	{ .number = SYS_munmap, .roles = BOTH },
	{ .number = SYS_mremap, .roles = BOTH },
	{ .number = SYS_madvise, .roles = BOTH },
	{ .number = SYS_brk, .roles = BOTH },
	{ .number = SYS_futex, .roles = BOTH },
	{ .number = SYS_getrandom, .roles = BOTH },
	/* time, signals of its own, its end */
	{ .number = SYS_clock_gettime, .roles = BOTH },
	{ .number = SYS_clock_nanosleep, .roles = BOTH },
	{ .number = SYS_gettimeofday, .roles = BOTH },
	{ .number = SYS_rt_sigprocmask, .roles = BOTH },
	{ .number = SYS_rt_sigaction, .roles = BOTH },
	{ .number = SYS_rt_sigreturn, .roles = BOTH },
	/* for a record to a pipe that has no reader any more */
	{ .number = SYS_rt_sigtimedwait, .roles = WORKER },
	{ .number = SYS_restart_syscall, .roles = BOTH },
	{ .number = SYS_exit_group, .roles = BOTH },
	{ .number = SYS_exit, .roles = BOTH },
	/* itself and its resolver */
	{ .number = SYS_getpid, .roles = BOTH },
	{ .number = SYS_gettid, .roles = BOTH },
	{ .number = SYS_getuid, .roles = BOTH },
	{ .number = SYS_geteuid, .roles = BOTH },
	{ .number = SYS_getgid, .roles = BOTH },
	{ .number = SYS_getegid, .roles = BOTH },
	{ .number = SYS_uname, .roles = BOTH },
	{ .number = SYS_sysinfo, .roles = BOTH },
	{ .number = SYS_wait4, .roles = WORKER },
	{ .number = SYS_waitid, .roles = WORKER },
	WITH_VALUE(SYS_prlimit64, BOTH, 1, 0),
	FAILS(SYS_prlimit64, EPERM),
	/* the spool, or a policy that is loaded again */
	{ .number = SYS_openat, .roles = WORKER | FILES },
	{ .number = SYS_openat2, .roles = WORKER | FILES },
	{ .number = SYS_mkdirat, .roles = WORKER | FILES },
	{ .number = SYS_newfstatat, .roles = WORKER | FILES },
	{ .number = SYS_statx, .roles = WORKER | FILES },
	{ .number = SYS_readlinkat, .roles = WORKER | FILES },
	{ .number = SYS_flock, .roles = WORKER },
#ifdef SYS_readlink
	{ .number = SYS_readlink, .roles = WORKER | FILES },
#endif
#ifdef SYS_open
	FAILS(SYS_open, EACCES),
#endif
	{ .number = SYS_fstat, .roles = BOTH },
	WITHOUT_BITS(SYS_openat, RESOLVER, 3, WRITES),
	/* fstat() of glibc */
	{ SYS_newfstatat, BOTH, 0, 4, AT_EMPTY_PATH, AT_EMPTY_PATH },
	{ SYS_newfstatat, RESOLVER, 0, 0, 0, 0 },
	FAILS(SYS_openat, EACCES),
	FAILS(SYS_openat2, EACCES),
	FAILS(SYS_newfstatat, EACCES),
	FAILS(SYS_statx, EACCES),
	FAILS(SYS_readlinkat, EACCES),
#ifdef SYS_readlink
	FAILS(SYS_readlink, EACCES),
#endif
#ifdef SYS_access
	FAILS(SYS_access, EACCES),
#endif
	FAILS(SYS_faccessat, EACCES),
	FAILS(SYS_faccessat2, EACCES),
	FAILS(SYS_mkdirat, EACCES),
	/* isatty() gets "no" */
	WITH_VALUE(SYS_ioctl, BOTH, 2, FIONREAD),
	WITH_VALUE(SYS_ioctl, BOTH, 2, FIONBIO),
	FAILS(SYS_ioctl, ENOTTY),
	/* other processes of the user */
	FAILS(SYS_kill, EPERM),
	FAILS(SYS_tgkill, EPERM),
	/* The pidfd is that of the resolver: no call opens another one. */
	{ .number = SYS_pidfd_send_signal, .roles = WORKER },
	FAILS(SYS_prctl, EPERM),
};

#define HEAD 4
#define PER_CALL 6
#define N_INSTRUCTIONS_MAX (HEAD + PER_CALL * N_ELEMENTS(calls) + 1)

struct program {
	struct sock_filter code[N_INSTRUCTIONS_MAX];
	unsigned short n;
};

static void add(struct program *program, struct sock_filter instruction)
{
	program->code[program->n++] = instruction;
}

static void load(struct program *program, uint32_t offset)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void end(struct program *program, uint32_t verdict)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static uint32_t verdict_of(const struct call *call)
{
	return call->error ? SECCOMP_RET_ERRNO | (uint32_t)call->error : SECCOMP_RET_ALLOW;
}

#define NUMBER offsetof(struct seccomp_data, nr)
/* Both architectures are little-endian: the low half comes first. */
#define ARGUMENT(i) ((uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (i)))

/* With the call's number in the accumulator, before and after. */
static void add_call(struct program *program, const struct call *call)
{
	uint8_t n_rest = call->argument ? PER_CALL - 1 : 1;

	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number,
						  0, n_rest));
	if (!call->argument) {
		end(program, verdict_of(call));
		return;
	}
	load(program, ARGUMENT(call->argument - 1u));
	add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1));
	end(program, verdict_of(call));
	load(program, NUMBER);
}

static bool is_for(const struct call *call, unsigned role, bool has_files)
{
	return (call->roles & role) != 0 && (has_files || (call->roles & FILES) == 0);
}

/* A call of another architecture, or of x32, has other numbers: the first is killed by the check,
 * the second because none of its numbers is in the table. */
static void build(struct program *program, enum confine_role role, bool has_files)
{
	unsigned bit = role == CONFINE_RESOLVER ? RESOLVER : WORKER;

	program->n = 0;
	load(program, offsetof(struct seccomp_data, arch));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
	end(program, SECCOMP_RET_KILL_PROCESS);
	load(program, NUMBER);
	for (size_t i = 0; i < N_ELEMENTS(calls); i++)
		if (is_for(&calls[i], bit, has_files))
			add_call(program, &calls[i]);
	end(program, SECCOMP_RET_KILL_PROCESS);
}

static int filter_calls(enum confine_role role, bool has_files)
{
	struct program program;
	struct sock_fprog filter;

	build(&program, role, has_files);
	filter = (struct sock_fprog){ .len = program.n, .filter = program.code };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0 ? -errno : 0;
}

/* ---- privileges ---- */

/* A unit may refuse capset() to a process that has none. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { .effective = 0 } };
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { { .effective = 0 } };

	if (syscall(SYS_capget, &header, now) == 0 && memcmp(now, none, sizeof(now)) == 0)
		return 0;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

/* Other processes of the user must not trace this one either, so it is not dumpable. */
static int drop_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return drop_capabilities();
}

bool confine_is_built(void)
{
#ifdef PROXY_UNCONFINED
	return false;
#else
	return true;
#endif
}

static int fail(struct sbx_error *err, int code)
{
	return error_fill(err, code, "the kernel refused Landlock or the filter of system calls",
			  "use a kernel with CONFIG_SECCOMP_FILTER", "cannot confine the proxy");
}

int confine_files(const struct confinement *confinement, struct sbx_error *err)
{
	int r = confine_is_built() ? drop_privileges() : 0;

	if (r == 0 && confine_is_built())
		r = restrict_files(confinement);
	return r < 0 ? fail(err, r) : 0;
}

int confine_calls(const struct confinement *confinement, struct sbx_error *err)
{
	bool has_files = confine_has_landlock() && (confinement->readable || confinement->writable);
	int r = confine_is_built() ? filter_calls(confinement->role, has_files) : 0;

	return r < 0 ? fail(err, r) : 0;
}
