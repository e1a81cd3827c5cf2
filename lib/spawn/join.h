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

#define PLACE_NAMESPACES_MAX 8

/* The namespaces of a sandbox, in the order in which they are entered, and its user. */
struct place {
	int fds[PLACE_NAMESPACES_MAX];
	int flags[PLACE_NAMESPACES_MAX]; /* the CLONE_NEW* of each */
	size_t n;
	uid_t uid;
	gid_t gid;
};

struct plan;

/* CLONE_NEW* of a plan. */
unsigned long place_namespaces(const struct plan *plan);
/* Those in @namespaces, without fds. None of cgroups: PID 1 makes it when it is in its own, and so
 * does everybody who comes later. */
void place_list(struct place *place, unsigned long namespaces);
/* Of our own, through /proc; @place is listed. 0 or negative errno. */
int place_open(struct place *place);
void place_close(struct place *place);
/* Enters those in @namespaces. */
int place_enter(const struct place *place, unsigned long namespaces);

struct joined {
	pid_t pid;
	int pidfd;
	int socket; /* to it */
};

#define JOINED_INIT                                                                                \
	{                                                                                          \
		.pidfd = -EBADF, .socket = -EBADF                                                  \
	}
#define JOIN_KEPT_MAX 16

/*
 * Like fork(): 0 in the new process, where @ret->socket is its end, every signal is blocked and all
 * fds from 3 on are closed but that socket and those in @kept (fewer than JOIN_KEPT_MAX); 1 in the
 * supervisor; or negative errno.
 */
int join_fork(struct joined *ret, const int *kept, size_t n_kept);
/* Again, after each change of ids, capabilities or namespaces. 0 or negative errno. */
int join_die_with_supervisor(int socket);
/* Asks it to end, and waits a while: did it? */
bool joined_end(const struct joined *joined);
/* Ends it: by JOINED_END first, so that it can reap its children, then by SIGKILL; and waits. */
#define JOINED_END SIGTERM
void joined_deinit(struct joined *joined);

/* ---- what each of them does first and last ---- */

/*
 * Asks the kernel for @signal when the supervisor dies, and looks whether it is still there:
 * @socket is our end of a pair whose other end only it has. The kernel forgets this whenever ids or
 * capabilities change. 0 or negative errno, -ESRCH where it is gone.
 */
int child_die_with_supervisor(int socket, int signal);
/* Closes all fds from 3 on but those in @kept, which it sorts; negative ones are none. */
int child_close_others(int *kept, size_t n);
void child_sort(int *fds, size_t n);

/*
 * Exits at once, without the caller's atexit() functions. child_leave() does not return either, but
 * is not declared noreturn: a sanitizer calls a function of its own before a noreturn call, and PID
 * 1's filter kills for that.
 */
void child_leave(int status);
noreturn void child_fail(void);
