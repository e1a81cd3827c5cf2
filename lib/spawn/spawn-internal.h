/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A sandbox as the supervisor sees it; the parts of spawn_run()
 *
 *   spawn.c    begin, watch, stop, end   inside.c   messages of PID 1, and when the command may run
 *   unit.c     its systemd scope         result.c   how it ended
 */

#include "kernel/kernel.h"
#include "spawn/door.h"
#include "spawn/forward.h"
#include "spawn/join.h"
#include "spawn/loop.h"
#include "spawn/message.h"
#include "spawn/notify.h"
#include "spawn/output.h"
#include "spawn/signals.h"
#include "spawn/spawn.h"
#include "spawn/terminal.h"
#include "spawn/visit.h"
#include "spawn/watch.h"

/* Messages of PID 1 and of the command's process. */
struct inside {
	struct source source; /* supervisor's end of the socket pair */
	uint32_t awaited;     /* 1 << message_kind: must come before the command may run */
	bool has_gone;	      /* MESSAGE_GO was sent: the command may be running */
	bool has_executed;    /* its execve() has succeeded; only known if a caller asks */
	bool has_failed;
	struct message failure;
	bool has_result;
	struct message result;
};

/* When and why the sandbox is ended. */
struct ending {
	uint64_t limit_usec;	 /* time limit */
	uint64_t kill_usec;	 /* when it gets SIGKILL */
	uint64_t drain_usec;	 /* when the wait for readers of the output ends */
	uint64_t paused_usec;	 /* when sbx-ctl paused it and the time limit stopped; or 0 */
	enum spawn_reason cause; /* SPAWN_REASON_NONE: the supervisor has not ended it */
	struct watch_loss lost;	 /* the path that is not protected any more */
	bool is_told;		 /* stopping() was called */
	bool gives_up;		 /* a signal has ended the wait for readers of the output */
	bool is_left;		 /* the process with which it ends has ended */
};

/* Its systemd scope, and the process that keeps the scope until its counters were read. */
struct unit {
	struct scope_cgroup scope;
	struct joined keeper;
};

struct spawn {
	const struct plan *plan;
	const struct spawn_options *options;
	struct sbx_error *err;
	struct kernel kernel;
	unsigned long namespaces; /* CLONE_NEW* */
	struct signals signals;
	struct loop loop;
	int was_dumpable;
	uint64_t begun_usec;
	bool is_started; /* started() has returned 0 */
	bool is_over;

	struct source outside; /* signals */
	struct source end;     /* PID 1 has ended */
	struct source parent;  /* the process with which it ends has ended */
	struct inside inside;
	struct ending ending;
	struct unit unit;

	struct namespace_set namespace_set;
	struct notifier notifier;
	struct output output;
	struct terminal terminal;
	int stdio[3]; /* fds that become the command's; -EBADF: unchanged */
	struct forwarding forwarding;
	struct door door;
	struct watch watch;
};

#define SPAWN_INIT                                                                                 \
	{                                                                                          \
		.kernel = KERNEL_INIT, .signals = SIGNALS_INIT, .loop = LOOP_INIT,                 \
		.outside = { .fd = -EBADF }, .end = { .fd = -EBADF },                              \
		.inside = { .source = { .fd = -EBADF } }, .parent = { .fd = -EBADF },              \
		.ending = { .limit_usec = LOOP_NO_DEADLINE,                                        \
			    .kill_usec = LOOP_NO_DEADLINE,                                         \
			    .drain_usec = LOOP_NO_DEADLINE },                                      \
		.unit = { .keeper = JOINED_INIT }, .notifier = NOTIFIER_INIT,                      \
		.output = OUTPUT_INIT, .terminal = TERMINAL_INIT, .forwarding = FORWARDING_INIT,   \
		.door = DOOR_INIT, .watch = WATCH_INIT                                             \
	}

/* Counters of the kernel, read after PID 1 was reaped. */
struct counted {
	struct rusage init_usage; /* of PID 1 and its reaped children */
	int init_status;
	uint64_t n_oom_kills;
	uint64_t n_oom;	     /* how often its own memory.max was reached with an OOM kill */
	uint64_t n_pids_max; /* forks that its pids.max has refused */
	uint64_t peak_memory_bytes;
	bool has_peak;
};

/* spawn.c */
int spawn_fail(struct spawn *spawn, int code, const char *what);
uint64_t *spawn_output_left(struct spawn *spawn); /* NULL if output is not limited */
/* Sends SIGKILL to all processes inside, now. */
void limits_kill(struct spawn *spawn);
/* The same if a path is not protected any more. */
void limits_check_watch(struct spawn *spawn);
/* Stops all processes inside, then the supervisor, or with @whole_job its process group; returns
 * when the supervisor and the inside were continued. The time limit keeps running. */
void stop_with_job(struct spawn *spawn, bool whole_job);

/* inside.c: ready() functions; the command may run when all awaited messages have come. */
int inside_ready(struct source *source, short events);
int inside_end_ready(struct source *source, short events);
int inside_maybe_go(struct spawn *spawn);
/* Does the caller have a hook for a successful execve()? */
bool inside_tells_execution(const struct spawn *spawn);

/* unit.c: 0 also if the plan has no scope. */
int unit_begin(struct spawn *spawn);

/* result.c: reads the counters of the cgroup, which may be removed afterwards. */
void result_look(const struct spawn *spawn, struct counted *counted);
int result_make(struct spawn *spawn, const struct counted *counted, int r,
		struct spawn_result *ret);
