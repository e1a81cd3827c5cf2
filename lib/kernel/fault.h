/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests: makes a system call of the set-up fail. Not in other builds.
 *
 * SBX_FAULT=NAME:ERRNO[:N] in the environment, as in move_mount:EPERM:3: the Nth call in a process,
 * or without N every call, fails without effect. Then the first byte of the file that
 * SBX_FAULT_SEEN names, if it does, becomes '!'. A file of this directory includes this header
 * last; from there on macros replace the calls below.
 */

#ifdef SBX_FAULT_INJECTION

#include <stdbool.h>

/* Sets errno if it returns true. */
bool fault_hits(const char *name);

#define FAULT(name, ...) (fault_hits(#name) ? -1 : name(__VA_ARGS__))

/* By the number's name: SYS_clone3. */
#define syscall(number, ...) (fault_hits(#number) ? -1L : syscall(number, __VA_ARGS__))

/* Fails as if openat2() had, and returns negative errno. */
#define path_open_no_links(...) (fault_hits("openat2") ? -errno : path_open_no_links(__VA_ARGS__))

#define bind(...) FAULT(bind, __VA_ARGS__)
#define cap_set_proc(...) FAULT(cap_set_proc, __VA_ARGS__)
#define chdir(...) FAULT(chdir, __VA_ARGS__)
#define fchdir(...) FAULT(fchdir, __VA_ARGS__)
#define fsconfig(...) FAULT(fsconfig, __VA_ARGS__)
#define fsmount(...) FAULT(fsmount, __VA_ARGS__)
#define fsopen(...) FAULT(fsopen, __VA_ARGS__)
#define fstat(...) FAULT(fstat, __VA_ARGS__)
#define ioctl(...) FAULT(ioctl, __VA_ARGS__)
#define listen(...) FAULT(listen, __VA_ARGS__)
#define mkdirat(...) FAULT(mkdirat, __VA_ARGS__)
#define mknodat(...) FAULT(mknodat, __VA_ARGS__)
#define mount_setattr(...) FAULT(mount_setattr, __VA_ARGS__)
#define move_mount(...) FAULT(move_mount, __VA_ARGS__)
#define open(...) FAULT(open, __VA_ARGS__)
#define openat(...) FAULT(openat, __VA_ARGS__)
#define open_tree(...) FAULT(open_tree, __VA_ARGS__)
#define pipe2(...) FAULT(pipe2, __VA_ARGS__)
#define prctl(...) FAULT(prctl, __VA_ARGS__)
#define sendfile(...) FAULT(sendfile, __VA_ARGS__)
#define setgroups(...) FAULT(setgroups, __VA_ARGS__)
#define sethostname(...) FAULT(sethostname, __VA_ARGS__)
#define setresgid(...) FAULT(setresgid, __VA_ARGS__)
#define setresuid(...) FAULT(setresuid, __VA_ARGS__)
#define setrlimit(...) FAULT(setrlimit, __VA_ARGS__)
#define setsid(...) FAULT(setsid, __VA_ARGS__)
#define socket(...) FAULT(socket, __VA_ARGS__)
#define statx(...) FAULT(statx, __VA_ARGS__)
#define symlinkat(...) FAULT(symlinkat, __VA_ARGS__)
#define umount2(...) FAULT(umount2, __VA_ARGS__)
#define unshare(...) FAULT(unshare, __VA_ARGS__)
#define write(...) FAULT(write, __VA_ARGS__)

#endif
