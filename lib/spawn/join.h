/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Helper processes of the supervisor: each dies with it and has only the fds that it needs; some
 * enter a running sandbox
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#define NAMESPACE_SET_MAX 8

/* The namespaces of a sandbox, in the order in which they are entered, and its user. */
struct namespace_set {
	int fds[NAMESPACE_SET_MAX];
	int flags[NAMESPACE_SET_MAX]; /* CLONE_NEW* flag of each */
	size_t n;
	uid_t uid;
	gid_t gid;
};

struct plan;

/* The CLONE_NEW* flags of a plan. */
unsigned long namespace_set_of_plan(const struct plan *plan);
/* Lists @namespaces without opening them. Not CLONE_NEWCGROUP: PID 1 creates that namespace when it
 * is in its cgroup, and so does each process that joins later. */
void namespace_set_list(struct namespace_set *set, unsigned long namespaces);
/* Opens those of this process through /proc; @set is listed. 0 or negative errno. */
int namespace_set_open(struct namespace_set *set);
void namespace_set_close(struct namespace_set *set);
/* Enters the listed namespaces in @namespaces. */
int namespace_set_enter(const struct namespace_set *set, unsigned long namespaces);

struct joined {
	pid_t pid;
	int pidfd;
	int socket; /* to the process */
};

#define JOINED_INIT                                                                                \
	{                                                                                          \
		.pidfd = -EBADF, .socket = -EBADF                                                  \
	}
#define JOIN_KEPT_MAX 16

/*
 * Like fork(): 0 in the new process, where @ret->socket is its end, every signal is blocked and all
 * fds from 3 on are closed except that socket and those in @kept (fewer than JOIN_KEPT_MAX); 1 in
 * the supervisor; or negative errno.
 */
int join_fork(struct joined *ret, const int *kept, size_t n_kept);
/* In such a process, whose only work is to wait and to signal: closes its stdio, leaves the session
 * and loads the filter of kernel_confine_reaper(), or exits. */
void join_become_helper(void);
/* Call it again after each change of ids, capabilities or namespaces. 0 or negative errno. */
int join_die_with_supervisor(int socket);
/* Sends JOINED_END and waits for a limited time; true if the process has exited. */
bool joined_end(const struct joined *joined);
/* Ends it: by JOINED_END first, so that it can reap its children, then by SIGKILL; and waits. */
#define JOINED_END SIGTERM
void joined_deinit(struct joined *joined);

/* ---- first and last steps of each child ---- */

/*
 * Makes the kernel send @signal when the supervisor dies, and checks that it is still alive: only
 * the supervisor has the other end of @socket. The kernel clears this setting whenever ids or
 * capabilities change. 0 or negative errno, -ESRCH: the supervisor is dead.
 */
int child_die_with_supervisor(int socket, int signal);
/* Closes all fds from 3 on except those in @kept, which it sorts; negative ones are ignored. */
int child_close_others(int *kept, size_t n);
void child_sort(int *fds, size_t n);
void child_close_stdio(void);

/*
 * Exits at once, without the caller's atexit() functions. child_leave() does not return either, but
 * is not declared noreturn: a sanitizer calls a function of its own before a noreturn call, and PID
 * 1's filter kills for that.
 */
void child_leave(int status);
noreturn void child_fail(void);
