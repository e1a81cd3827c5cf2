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
	MESSAGE_PLACED = 1, /* PID 1 is in its cgroup now */
	MESSAGE_GO,	    /* the command may be executed */
	/* From inside. */
	MESSAGE_FAILED,	    /* doing, step, code: nothing was run */
	MESSAGE_NAMESPACES, /* fds: of the namespaces, for those who join later */
	MESSAGE_LISTENERS,  /* fds: what STEP_LISTEN made */
	MESSAGE_TERMINAL,   /* fd: the outer end of the command's terminal */
	MESSAGE_NOTIFIER,   /* fds: of the filter; and a pipe that ends when the command begins */
	MESSAGE_EXECUTED,   /* the command's program runs */
	MESSAGE_STOPPED,    /* the command has stopped */
	MESSAGE_RESULT,	    /* status, usage: the command has ended */
	MESSAGE_READS,	    /* the command wants what is typed */
	MESSAGE_TREE,	    /* fds: its "/", and what tells when its mounts change */
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
	DOING_START,  /* making the command's process */
	DOING_FDS,    /* giving the command its fds */
	DOING_CLOSE,  /* closing what is not the sandbox's */
	DOING_SPEAK,  /* sending or awaiting a message */
	DOING_REAPER, /* the filter of PID 1 */
	DOING_JOIN,   /* entering the namespaces of a sandbox that runs */
	N_DOINGS,
};

struct message {
	uint32_t kind;
	uint32_t doing;
	uint32_t step;	/* number in the plan; the supervisor checks that there is one */
	int32_t code;	/* negative errno */
	int32_t status; /* as wait4() gives it; a signal or an exit */
	uint32_t reserved;
	union {
		struct rusage usage;	       /* of MESSAGE_RESULT */
		struct exec_failure execution; /* of MESSAGE_FAILED, DOING_EXEC */
	};
};

#define MESSAGE_FDS_MAX 32

/* 0 where the bytes and the number of fds are such a message from @side; else -EBADMSG. */
int message_parse(const void *bytes, size_t n_bytes, size_t n_fds, enum message_side side,
		  struct message *ret);
int message_send(int socket, const struct message *message, const int *fds, size_t n_fds);
/*
 * 1 with a message from @side, whose fds are the caller's; 0 at the end; -EAGAIN where none is
 * there and the socket does not block; -EBADMSG for anything else than a message. @fds has room for
 * MESSAGE_FDS_MAX.
 */
int message_receive(int socket, enum message_side side, struct message *ret, int *fds,
		    size_t *ret_n_fds);
