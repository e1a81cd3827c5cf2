/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Runs a plan and supervises the sandbox until its end
 *
 * The supervisor (the process of the caller) is the only trusted one. It clones PID 1 of the
 * sandbox, which builds it, confines itself, starts the command and then only reaps and forwards
 * signals. They communicate over a socket pair with fixed messages (spawn/message.h), which are
 * checked like any input. If the supervisor dies for any reason, PID 1 is killed and with it all
 * processes inside.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct plan;
struct sbx_error;
struct sock_fprog;
struct step_origin;

/* Exit statuses of sbx-spawn itself; otherwise the command's, or 128+N for signal N. */
enum spawn_status {
	SPAWN_TIME_LIMIT = 124,
	SPAWN_FAILED = 125,
	SPAWN_CANNOT_EXECUTE = 126,
	SPAWN_NOT_FOUND = 127,
};

enum spawn_reason {
	SPAWN_REASON_NONE,
	SPAWN_REASON_EXIT,
	SPAWN_REASON_SIGNAL,
	SPAWN_REASON_TIME,	 /* the time limit */
	SPAWN_REASON_MEMORY,	 /* killed because memory.max was reached */
	SPAWN_REASON_OUTPUT,	 /* wrote more than limits.output */
	SPAWN_REASON_SETUP,	 /* nothing was run */
	SPAWN_REASON_EXEC,	 /* the command could not be executed */
	SPAWN_REASON_KILLED,	 /* by the supervisor: the command did not end within the grace */
	SPAWN_REASON_PROTECTION, /* by the supervisor: a process outside detached a mount that
				    protects a file */
	SPAWN_REASON_PARENT,	 /* the process with which it ends has ended */
};
const char *spawn_reason_name(enum spawn_reason reason); /* "exit" */

struct spawn_result {
	int status; /* exit status of sbx-spawn */
	enum spawn_reason reason;
	int exit_code;		    /* -1: it did not exit */
	int signal;		    /* 0: no signal killed it */
	uint64_t usec;		    /* from the start of building to the end */
	struct rusage usage;	    /* of the command and its reaped children */
	uint64_t peak_memory_bytes; /* of the cgroup, else of the largest process */
	bool is_peak_of_cgroup;
	unsigned reached; /* set of 1 << enum limit, as counted by the kernel or the supervisor */
	/* SPAWN_REASON_PROTECTION: the path inside, and the origin of its protection; else NULL.
	 * Both belong to the plan. */
	const char *lost;
	const struct step_origin *lost_origin;
};

/* Hooks of the caller; each may be NULL. A negative errno from started() stops the sandbox before
 * the command runs. */
struct spawn_hooks {
	/* PID 1 exists (@init, and the path of its cgroup or NULL), and no untrusted code has
	 * run. */
	int (*started)(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err);
	/* @path is not id-mapped: the command cannot read files there that only root may read; or
	 * with @is_of_system, which root has granted for writing and which may contain files of the
	 * system, change only what other users may change. */
	void (*unmapped)(void *userdata, const char *path, bool is_of_system);
	/* execve() of the command has succeeded. NULL saves one message at each start. */
	void (*executed)(void *userdata);
	/* The sandbox is ending: it was asked to stop, or its output is not read yet. Nothing is
	 * removed yet. */
	void (*stopping)(void *userdata);
	/* Is it paused by 'sbx-ctl pause'? Called at SIGURG, and before the time limit ends it. */
	bool (*is_paused)(void *userdata);
	/* sbx-ctl exec wants to run @argv inside: a negative errno refuses it. left() gets the
	 * status, or -1 if there is none. */
	int (*entering)(void *userdata, char *const *argv);
	void (*left)(void *userdata, char *const *argv, int status);
	/* The caller's listeners of net mode proxy: takes none of the fds. */
	int (*listening)(void *userdata, const int *fds, size_t n_fds, struct sbx_error *err);
	/* The sandbox is complete and waits; a negative errno ends it before the command runs. */
	int (*going)(void *userdata, struct sbx_error *err);
	void *userdata;
};

struct spawn_options {
	const struct sock_fprog *filter;
	bool filter_notifies;
	const struct spawn_hooks *hooks;
	int control_socket; /* listening SOCK_SEQPACKET socket for sbx-ctl; -EBADF: none */
	bool is_terminal;   /* --pty: stdin is a terminal; window size and modes come from it */
	const char *module_directory; /* directory of scope.so */
	const mode_t *umask;	      /* of the command; NULL: unchanged */
	const int *parent; /* pidfd of a process with which the sandbox ends; NULL: none */
};

/*
 * Runs @plan to its end. 0 with @ret set, whatever the status of the command; negative errno with
 * @err if nothing was run: @ret->reason is then SPAWN_REASON_SETUP and status 125, or
 * SPAWN_REASON_EXEC and 126 or 127. The fds of the plan still belong to the caller; started() is a
 * good place to close them, so that only the command has them open.
 *
 * stdin, stdout and stderr must be open. It waits for children, forks, and changes the signal mask
 * and dumpable (and restores both): for a single-threaded process that does not ignore SIGCHLD.
 */
int spawn_run(const struct plan *plan, const struct spawn_options *options,
	      struct spawn_result *ret, struct sbx_error *err);
