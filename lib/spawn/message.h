/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The messages between the supervisor and the inside of a sandbox, over a SOCK_SEQPACKET pair
 *
 * A packet is one struct message, always whole, with its fds. Both ends are the same program, but
 * the inside may have been taken over: a message that is not exactly of this form is refused, with
 * its fds.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "kernel/kernel.h"

enum message_kind {
	/* From the supervisor. */
	MESSAGE_PLACED = 1, /* PID 1 was moved into its cgroup */
	MESSAGE_GO,	    /* the command may be executed */
	/* From inside. */
	MESSAGE_FAILED,	    /* doing, step, code: nothing was run */
	MESSAGE_NAMESPACES, /* fds: the namespaces, for processes that join later */
	MESSAGE_LISTENERS,  /* fds: the sockets of STEP_LISTEN */
	MESSAGE_TERMINAL,   /* fd: the master of the command's terminal */
	MESSAGE_NOTIFIER,   /* fds: the seccomp listener; a pipe that closes at execve() */
	MESSAGE_EXECUTED,   /* execve() has succeeded */
	MESSAGE_STOPPED,    /* the command has stopped */
	MESSAGE_RESULT,	    /* status, usage: the command has ended */
	MESSAGE_READS,	    /* the command reads from the terminal in the background */
	MESSAGE_TREE,	    /* fds: its "/"; a mountinfo that reports changes of mounts */
	N_MESSAGE_KINDS,
};

enum message_side {
	FROM_SUPERVISOR,
	FROM_INSIDE,
};

/* What failed. */
enum doing {
	DOING_STEP, /* a step of the plan */
	DOING_EXEC,
	DOING_START,	   /* clone() of the command's process */
	DOING_FDS,	   /* setting up the command's fds */
	DOING_CLOSE,	   /* closing all other fds */
	DOING_SPEAK,	   /* sending or awaiting a message */
	DOING_INIT_FILTER, /* installing the filter of PID 1 */
	DOING_JOIN,	   /* entering the namespaces of a running sandbox */
	N_DOINGS,
};

struct message {
	uint32_t kind;
	uint32_t doing;
	uint32_t step;	/* index in the plan; the supervisor checks it */
	int32_t code;	/* negative errno */
	int32_t status; /* of wait4(); a signal or an exit */
	uint32_t reserved;
	union {
		struct rusage usage;	       /* of MESSAGE_RESULT */
		struct exec_failure execution; /* of MESSAGE_FAILED, DOING_EXEC */
	};
};

#define MESSAGE_FDS_MAX 32

/* 0 if bytes and number of fds are such a message from @side; else -EBADMSG. */
int message_parse(const void *bytes, size_t n_bytes, size_t n_fds, enum message_side side,
		  struct message *ret);
int message_send(int socket, const struct message *message, const int *fds, size_t n_fds);
/* A message that is only its kind and fds. */
int message_send_kind(int socket, enum message_kind kind, const int *fds, size_t n_fds);
/*
 * 1 with a message from @side, whose fds belong to the caller; 0: end of file; -EAGAIN: none, and
 * the socket does not block; -EBADMSG: not a message. @fds has MESSAGE_FDS_MAX elements.
 */
int message_receive(int socket, enum message_side side, struct message *ret, int *fds,
		    size_t *ret_n_fds);
