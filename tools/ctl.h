/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the verbs of sbx-ctl share: the values of its options, a sandbox as it was found, its
 * processes and its cgroup
 *
 * One file a group of verbs: tools/ctl-NAME.c. The table of verbs is in sbx-ctl.c.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/options.h"
#include "base/table.h"
#include "base/text.h"
#include "registry/registry.h"

struct sbx_error;
struct tool_run;

#define CTL_TOOL "sbx-ctl"

struct ctl_values {
	const char *id;	    /* create */
	const char *time;   /* stop, remove */
	const char *signal; /* kill */
	bool follow;	    /* logs */
	bool force;	    /* remove */
	bool dry_run;	    /* gc */
	bool ended;	    /* gc */
};

verb_fn ctl_verb_create;
verb_fn ctl_verb_start;
verb_fn ctl_verb_list;
verb_fn ctl_verb_inspect;
verb_fn ctl_verb_stop;
verb_fn ctl_verb_kill;
verb_fn ctl_verb_pause;
verb_fn ctl_verb_resume;
verb_fn ctl_verb_exec;
verb_fn ctl_verb_logs;
verb_fn ctl_verb_wait;
verb_fn ctl_verb_remove;
verb_fn ctl_verb_gc;
verb_fn ctl_verb_volume;
verb_fn ctl_verb_ping;

/* One run of a verb. */
struct ctl {
	struct tool_run *run;
	const struct ctl_values *values;
	int registry;
	struct arena arena;
	mode_t umask; /* of our caller, for whom we start */
};

#define CTL_INIT                                                                                   \
	{                                                                                          \
		.registry = -EBADF                                                                 \
	}
#define _cleanup_ctl_ _cleanup_(ctl_deinit)
int ctl_init(struct ctl *ctl, struct tool_run *run, struct sbx_error *err);
void ctl_deinit(struct ctl *ctl);

/* A sandbox as it was found. */
struct target {
	struct sandbox_entry entry;
	bool is_alive; /* it has a supervisor */
};
int ctl_read(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err);
/* Only one that is running: whatever else it is doing is -EINVAL with how to get on. */
int ctl_read_running(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err);
/* Has it come to its end, as the state says? */
bool ctl_has_ended(const struct sandbox_entry *entry);
/* Fills @err with what, why and fix; returns @code. */
int ctl_fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *why,
	     const char *fix);

/* Does @one for each id; all are tried, the first failure is told. Returns an exit status, or
 * negative errno. */
typedef int ctl_each_fn(struct ctl *ctl, const char *id, struct sbx_error *err);
int ctl_each(void *context, int n_operands, char *operands[], ctl_each_fn *one,
	     struct sbx_error *err);
/* The exit status for a negative errno that says no more than "no": not there, not in this state,
 * not allowed. Others stay as they are. */
int ctl_status(int r);
/* What does not keep the verb from going on. */
void ctl_warn(struct ctl *ctl, struct sbx_error *warning);
/* The sandbox, where it is and what was done: a line of people's or of JSON. */
void ctl_say(struct ctl *ctl, const char *id, const char *done);

/* ctl-create.c: the words behind "create" that are not for us are put behind a "--". NULL without
 * memory; the caller frees it. */
char **create_arrange(int argc, char *argv[], int *ret_argc);
/* Puts the configuration's words, the first of which is the working folder, into the arena. */
int configuration_read(struct ctl *ctl, const char *id, const char *const **ret,
		       struct sbx_error *err);

/* ctl-spawn.c: the program sbx-spawn that came with us. */
int spawn_find(char ret[4096], struct sbx_error *err);
struct spawn_start {
	const char *const *argv;
	const char *cwd; /* or NULL: ours */
	int out, err;	 /* -EBADF: /dev/null for out, ours for err */
	bool is_own_session;
	mode_t umask;
};
pid_t spawn_start(const struct spawn_start *start, struct sbx_error *err);
/* How a child of ours ended, as a shell would say it. */
int spawn_wait(pid_t pid);

/* Runs sbx-spawn with these words (NULL-terminated) and reads the JSON that it answers.
 * -EINVAL with its own words in @err. */
struct tree;
int spawn_ask(struct ctl *ctl, const char *cwd, const char *const *words, struct tree **ret,
	      struct sbx_error *err);
/* Can sbx-spawn carry out these words? What it tells lies in the arena. */
struct plan_facts {
	const char *policy_digest; /* or NULL: there is no policy */
	const char *template;
	const char *tier;
	const char *policy; /* as its file was named, or NULL */
	uid_t uid;	    /* of the command; 0: each start of root's makes one up */
};
int plan_ask(struct ctl *ctl, const char *id, const char *cwd, const char *const *words,
	     struct plan_facts *ret, struct sbx_error *err);

/* ctl-wait.c: until the process behind @pidfd is gone: 1, or 0 after @timeout_usec (UINT64_MAX:
 * never). */
int wait_for_pidfd(int pidfd, uint64_t timeout_usec);
uint64_t ctl_now_usec(void);

/* ctl-processes.c: the processes inside, found through /proc. */
struct process {
	pid_t pid;
	pid_t parent;
	uint64_t start;
	char state; /* 'T': stopped, 'Z': ended */
	bool is_member;
	bool will_stop; /* SIGSTOP waits for it; of members */
};
struct processes {
	struct process *items;
	size_t n;
	size_t size;
};
#define _cleanup_processes_ _cleanup_(processes_deinit)
void processes_deinit(struct processes *processes);
/* Those of the sandbox's pid namespaces are marked as members; the others stay, unmarked. */
int processes_find(const struct sandbox_entry *entry, struct processes *ret);
/* Sends @signal until all have got it, also those that begin meanwhile. Returns how many. */
int processes_stop(const struct sandbox_entry *entry);
int processes_continue(const struct sandbox_entry *entry);

/* ctl-cgroup.c */
/* The folder of the entry's own cgroup. -ENOENT: it has none, or not any more; -EPERM: what stands
 * there is no cgroup of ours. */
int cgroup_open(const struct sandbox_entry *entry);
int cgroup_freeze(int cgroup, bool frozen);
/* Kills all that is in it and waits until it is empty; returns how many there were. */
int cgroup_kill_all(int cgroup);
/* With those below it. 0 also where it is gone. */
int cgroup_remove(const char *path);
bool cgroup_is_empty(int cgroup);
/* A unit's cgroup belongs to the service manager, which removes it itself. */
bool cgroup_is_units(const char *path);

/* ctl-cleanup.c: takes away what a sandbox whose folder we hold has left. */
struct cleanup {
	struct ctl *ctl;
	struct registration *registration;
	struct sandbox_entry entry;
	bool keeps_folder; /* its log and its status may still be wanted */
	bool dry_run;
	bool is_quiet; /* says nothing of what it does */
};
/* Claims the folder first; -EBUSY: it has a supervisor. -ENOENT: it is gone. */
int cleanup_claim(struct cleanup *cleanup, struct ctl *ctl, const char *id,
		  struct registration *registration, struct sbx_error *err);
int cleanup_run(struct cleanup *cleanup, struct sbx_error *err);
/* Is it named as sbx-spawn --out names what it needs beside its result? */
bool is_work_folder(const char *name);
/* Too long there to belong to a start that has not written down yet what is its own. */
#define YOUNG_USEC (UINT64_C(60) * 1000 * 1000)

/* ctl-stop.c: asks, waits, kills, and leaves nothing behind. */
int stop_sandbox(struct ctl *ctl, const char *id, uint64_t grace_usec, struct sbx_error *err);
int stop_read_time(const struct ctl_values *values, uint64_t *ret, struct sbx_error *err);
/* What is left of volumes whose removal was interrupted. */
int volumes_collect(struct ctl *ctl, struct sbx_error *err);

/* ctl-list.c: "3s", "5m", "2h", "4d" since then. */
void ctl_add_age(struct table *table, uint64_t since_usec);
