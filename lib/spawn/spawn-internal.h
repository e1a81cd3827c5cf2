/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A sandbox as its supervisor sees it; the parts of spawn_run()
 *
 *   spawn.c    begin, watch, end        inside.c   what PID 1 says, and when the command may go
 *   limits.c   ending it                outside.c  signals that come to us
 *   unit.c     its systemd scope        result.c   what became of it
 *   stop.c     stopping with its job
 */

#include "kernel/kernel.h"
#include "spawn/door.h"
#include "spawn/join.h"
#include "spawn/loop.h"
#include "spawn/message.h"
#include "spawn/notify.h"
#include "spawn/output.h"
#include "spawn/services.h"
#include "spawn/signals.h"
#include "spawn/spawn.h"
#include "spawn/terminal.h"
#include "spawn/visit.h"
#include "spawn/watch.h"

struct spawn {
	const struct plan *plan;
	const struct spawn_options *options;
	struct sbx_error *err;
	struct kernel kernel;
	unsigned long namespaces; /* CLONE_NEW* */
	struct signals signals;
	struct loop loop;
	int was_dumpable;

	struct source inside;  /* our end of the socket pair */
	struct source outside; /* signals */
	struct source end;     /* PID 1 is gone */

	uint32_t awaited;  /* 1 << message_kind: what must have come before the command may go */
	bool is_started;   /* our caller knows of it and agrees */
	bool has_gone;	   /* the command may be running */
	bool has_executed; /* it runs: only where somebody asks */
	bool is_ending;	   /* our caller knows that, too */
	bool is_over;
	bool gives_up; /* nobody takes the rest of the output in time */

	uint64_t begun_usec;
	uint64_t limit_usec;	 /* when its time is over */
	uint64_t kill_usec;	 /* when it is killed */
	uint64_t paused_usec;	 /* since when sbx-ctl holds it, and its time stands still; or 0 */
	enum spawn_reason cause; /* why we have ended it; SPAWN_REASON_NONE while we have not */

	bool has_failed;
	struct message failure;
	bool has_result;
	struct message result;
	struct rusage init_usage; /* of PID 1, with all that it has waited for */
	int init_status;
	struct scope_cgroup scope;
	struct joined keeper; /* of its scope */
	uint64_t n_oom_kills; /* as its cgroup has counted them */
	uint64_t n_oom;	      /* how often its own limit of memory was reached */
	uint64_t n_pids_max;  /* forks that its limit of processes has refused */
	uint64_t peak_memory_bytes;
	bool has_peak;

	struct place place;
	struct notifier notifier;
	struct output output;
	struct terminal terminal;
	int stdio[3]; /* what becomes the command's; -EBADF: ours */
	struct services services;
	struct door door;
	struct watch watch;
	struct watch_loss lost; /* what it was to find */
};

#define SPAWN_INIT                                                                                 \
	{                                                                                          \
		.kernel = KERNEL_INIT, .signals = SIGNALS_INIT, .loop = LOOP_INIT,                 \
		.inside = { .fd = -EBADF }, .outside = { .fd = -EBADF }, .end = { .fd = -EBADF },  \
		.keeper = JOINED_INIT, .limit_usec = LOOP_NO_DEADLINE,                             \
		.kill_usec = LOOP_NO_DEADLINE, .notifier = NOTIFIER_INIT, .output = OUTPUT_INIT,   \
		.terminal = TERMINAL_INIT, .services = SERVICES_INIT, .door = DOOR_INIT,           \
		.watch = WATCH_INIT                                                                \
	}

/* spawn.c */
uint64_t *spawn_output_left(struct spawn *spawn); /* NULL where output is not limited */

/* inside.c: source functions, and what begins when all is there. */
int inside_ready(struct source *source, short events);
int inside_end_ready(struct source *source, short events);
int inside_maybe_go(struct spawn *spawn);
/* Does anybody want to know when the command's program runs? */
bool inside_tells_execution(const struct spawn *spawn);

/* outside.c */
int outside_ready(struct source *source, short events);
/* Has our terminal gone? */
void outside_check(struct spawn *spawn);

/* limits.c */
void limits_begin(struct spawn *spawn);
/* The next moment at which something is to be done. */
uint64_t limits_next(const struct spawn *spawn);
void limits_check(struct spawn *spawn);
/* TERM has been passed on to the command: it has the grace time to go. */
void limits_await_end(struct spawn *spawn);
/* TERM to everything inside, then KILL. */
void limits_end(struct spawn *spawn, enum spawn_reason cause);
/* KILL to everything inside, now. */
void limits_kill(struct spawn *spawn);
/* The same where something is not protected any more. */
void limits_check_watch(struct spawn *spawn);
/* Our caller hears of it once. */
void limits_tell(struct spawn *spawn);

/* Looks whether sbx-ctl has paused or resumed it. */
void limits_check_pause(struct spawn *spawn);

/* stop.c */
/* Stops everything inside, then us, or with @whole_job our process group; returns when we and the
 * inside have been continued. The clock of the time limit goes on. */
void stop_with_job(struct spawn *spawn, bool whole_job);
/* Does sbx-ctl hold it? */
bool stop_is_paused(const struct spawn *spawn);

/* unit.c: 0 also where the plan has no scope. */
int unit_begin(struct spawn *spawn);

/* result.c: what the cgroup has counted, once its PID 1 is gone; then it may go. */
void result_look(struct spawn *spawn);
int result_make(struct spawn *spawn, int r, struct spawn_result *ret);
