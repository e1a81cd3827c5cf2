/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * System call filters: named profiles, and variants of them, as BPF
 *
 * Profiles are allow-lists over a deny base. Every profile in every variant is compiled when sbx is
 * built (by filter_compile() in a generator) and lies in the program as a table, laid out as a
 * balanced tree. Only a policy with system calls of its own needs a compiler at run time: the
 * private module filter.so, and then once, because the result is cached by the digest of what it
 * was made from. What is cached can only refuse: the profile behind it is the one in the program.
 *
 * An unknown architecture, the 32-bit entry and x32 kill; a system call that did not exist when
 * this was built answers ENOSYS, one that the profile does not have EPERM. sbx-seccomp(7) has them
 * all.
 */

#include <stddef.h>
#include <stdint.h>

struct sbx_error;
struct sock_filter;
struct sock_fprog;

/* Bits; each combination with each profile is a filter. */
enum filter_variant {
	FILTER_INET =
		1 << 0, /* AF_INET and AF_INET6 stream and datagram sockets; else AF_UNIX only */
	FILTER_NESTED = 1 << 1, /* user namespaces and mounts: sandboxes inside this one */
	FILTER_NO_MEMFD_EXEC =
		1 << 2,	       /* memfds must be sealed against execution: exec is limited */
	FILTER_PORTS = 1 << 3, /* Landlock limits TCP ports, for connect() and bind() alone */
	FILTER_NO_NAMESPACES = 1 << 4, /* no mount view, and the host's processes have
					  numbers here: no other one's */
	FILTER_NO_SHM = 1 << 5,	       /* System V segments would pass the limit of memory */
	FILTER_LOOPBACK = 1 << 6,      /* a network namespace with a loopback: only TCP and UDP */
	FILTER_PTRACE = 1 << 7,	       /* a debugger inside: tracing of other processes there */
	FILTER_VARIANTS = 1 << 8,
};

/* The compiled-in filter, for seccomp(2), or NULL where there is no such profile. */
const struct sock_fprog *filter_find(const char *profile, unsigned variant);

/* "strict" lets execve through once: it is notified, and the supervisor answers the first one. 1 or
 * 0; -ENOENT where there is no such profile. */
int filter_needs_notify(const char *profile);

/*
 * The same filter with more system calls refused (EPERM; clone3: ENOSYS). Looks in the cache folder
 * @cache_dirfd (-EBADF: no cache) and else compiles with filter.so, found in @module_folder, which
 * must be absolute; the instructions are the caller's to free. A cache file is used only if it is
 * ours, not writable by others, and says exactly what was asked for; anything else is compiled
 * anew. -EINVAL for a name that is no system call, with a suggestion; -ELIBACC where the module
 * cannot be used.
 */
int filter_make(const char *profile, unsigned variant, const char *const *deny_syscalls,
		int cache_dirfd, const char *module_folder, struct sock_filter **ret, size_t *ret_n,
		struct sbx_error *err);
