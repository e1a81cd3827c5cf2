/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * System call filters: named profiles and their variants, as BPF
 *
 * Profiles are allow-lists. A generator compiles each profile in each variant when sbx is built
 * (filter_compile()); the tools contain the result as a table. Only a policy with denied system
 * calls of its own needs a compiler at run time: the private module filter.so. Its result is cached
 * under the digest of its input. A cached program can only refuse calls: it runs before the
 * built-in profile.
 *
 * An unknown architecture, the 32-bit entry and x32 calls kill the process. A system call that did
 * not exist when sbx was built fails with ENOSYS, one that the profile does not contain with EPERM.
 * sbx-seccomp(7) lists them all.
 */

#include <stddef.h>
#include <stdint.h>

struct sbx_error;
struct sock_filter;
struct sock_fprog;

/* Bits; each profile is compiled with each combination. */
enum filter_variant {
	/* AF_INET and AF_INET6 stream and datagram sockets; without it only AF_UNIX */
	FILTER_INET = 1 << 0,
	/* user namespaces and mounts, for nested sandboxes */
	FILTER_NESTED = 1 << 1,
	/* memfd_create() needs MFD_NOEXEC_SEAL: exec is restricted */
	FILTER_NO_MEMFD_EXEC = 1 << 2,
	/* Landlock restricts TCP ports, only in connect() and bind() */
	FILTER_PORTS = 1 << 3,
	/* no mount and PID namespaces: files and processes of the host can be named */
	FILTER_NO_NAMESPACES = 1 << 4,
	/* no System V shared memory: it would evade the memory limit */
	FILTER_NO_SHM = 1 << 5,
	/* own network namespace with only a loopback: only TCP and UDP */
	FILTER_LOOPBACK = 1 << 6,
	/* a debugger inside: ptrace of other processes of the sandbox */
	FILTER_PTRACE = 1 << 7,
	FILTER_VARIANTS = 1 << 8,
};

/* The built-in filter, for seccomp(2). NULL: no such profile. */
const struct sock_fprog *filter_find(const char *profile, unsigned variant);

/* 1: execve returns SECCOMP_RET_USER_NOTIF ("strict"), so a supervisor must answer the first one.
 * 0: it does not. -ENOENT: no such profile. */
int filter_needs_notify(const char *profile);

/*
 * The filter of the profile with more system calls refused (EPERM; clone3: ENOSYS). Reads it from
 * the cache directory @cache_dirfd (-EBADF: no cache), or else compiles it with filter.so in the
 * absolute directory @module_directory. The caller frees the instructions. A cache file is used
 * only if this user owns it, others cannot write it, and it contains exactly this key. -EINVAL: a
 * name is not a system call, with a suggestion; -ELIBACC: the module cannot be loaded.
 */
int filter_make(const char *profile, unsigned variant, const char *const *deny_syscalls,
		int cache_dirfd, const char *module_directory, struct sock_filter **ret,
		size_t *ret_n, struct sbx_error *err);
