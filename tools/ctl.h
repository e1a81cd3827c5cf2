/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the verbs of sbx-ctl: the values of options, a sandbox, its processes and its cgroup
 *
 * One file for each group of verbs: tools/ctl-NAME.c. The table of verbs is in sbx-ctl.c.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/moment.h"
#include "base/options.h"
#include "base/table.h"
#include "base/text.h"
#include "registry/registry.h"

struct stat;
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

verb_fn ctl_verb_create, ctl_verb_start, ctl_verb_list, ctl_verb_inspect, ctl_verb_stop;
verb_fn ctl_verb_kill, ctl_verb_pause, ctl_verb_resume, ctl_verb_exec, ctl_verb_logs;
verb_fn ctl_verb_wait, ctl_verb_remove, ctl_verb_gc, ctl_verb_volume, ctl_verb_ping;

/* One run of a verb. */
struct ctl {
	struct tool_run *run;
	const struct ctl_values *values;
	int registry;
	struct arena arena;
	mode_t umask; /* of the caller, for the command */
};

#define CTL_INIT                                                                                   \
	{                                                                                          \
		.registry = -EBADF                                                                 \
	}
#define _cleanup_ctl_ _cleanup_(ctl_deinit)
int ctl_init(struct ctl *ctl, struct tool_run *run, struct sbx_error *err);
void ctl_deinit(struct ctl *ctl);

/* A sandbox and its state. */
struct target {
	struct sandbox_entry entry;
	bool is_alive; /* it has a supervisor */
};
int ctl_read(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err);
/* Reads a running sandbox; in another state -EINVAL with the next step as fix. */
int ctl_read_running(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err);
/* Has it ended, by its state? */
bool ctl_has_ended(const struct sandbox_entry *entry);
/* Fills @err with what, why and fix; returns @code. */
int ctl_fail(struct sbx_error *err, int code, const char *doing, const char *id, const char *why,
	     const char *fix);

/* Calls @one for each id; continues after a failure, and reports the first one. Returns an exit
 * status, or negative errno. */
typedef int ctl_each_fn(struct ctl *ctl, const char *id, struct sbx_error *err);
int ctl_each(void *context, int n_operands, char *operands[], ctl_each_fn *one,
	     struct sbx_error *err);
/* The exit status for an errno that means "no": not found, wrong state, not permitted. Other values
 * are returned unchanged. */
int ctl_status(int r);
/* Prints a warning; the verb continues. */
void ctl_warn(struct ctl *ctl, struct sbx_error *warning);
/* Prints the id and what was done, as text or JSON. */
void ctl_say(struct ctl *ctl, const char *id, const char *done);

/* ctl-create.c: inserts "--" before the arguments of "create" that are not sbx-ctl's. NULL: out of
 * memory; the caller frees it. */
char **create_arrange(int argc, char *argv[], int *ret_argc);
/* Copies the stored words, the first of which is the working directory, into the arena. */
int configuration_read(struct ctl *ctl, const char *id, const char *const **ret,
		       struct sbx_error *err);

/* ctl-spawn.c: the sbx-spawn in the directory of this program. */
int spawn_find(char ret[4096], struct sbx_error *err);
struct spawn_start {
	const char *const *argv;
	const char *cwd; /* NULL: the caller's */
	int out, err;	 /* -EBADF: /dev/null for out, stderr of the caller for err */
	bool is_own_session;
	mode_t umask;
};
pid_t spawn_start(const struct spawn_start *start, struct sbx_error *err);

/* Runs sbx-spawn with these words (NULL-terminated) and parses its JSON output. -EINVAL with its
 * error in @err. */
struct tree;
int spawn_ask(struct ctl *ctl, const char *cwd, const char *const *words, struct tree **ret,
	      struct sbx_error *err);
/* Can sbx-spawn run these words? The texts are in the arena. */
struct plan_facts {
	const char *policy_digest; /* NULL: no policy */
	const char *template;
	const char *tier;
	const char *policy; /* as its file was named, or NULL */
	uid_t uid;	    /* of the command; 0: each start of root chooses one */
};
int plan_ask(struct ctl *ctl, const char *id, const char *cwd, const char *const *words,
	     struct plan_facts *ret, struct sbx_error *err);

/* ctl-start.c: is the sandbox of this directory being started? */
bool start_is_going_on(int directory);

/* ctl-wait.c: waits until the process of @pidfd exits: 1, or 0 after @timeout_usec (UINT64_MAX:
 * never). */
int wait_for_pidfd(int pidfd, uint64_t timeout_usec);

/* ---- ctl-processes.c ---- */

/* For a sandbox without a cgroup: the processes inside, found through /proc. */
/* Stops all processes, including new ones, or continues them. Returns their number. */
int processes_hold(const struct sandbox_entry *entry, bool is_stopped);

/* The directory of the entry's cgroup. -ENOENT: it has none, or it was removed; -EPERM: it is not a
 * cgroup that sbx made. */
int cgroup_open(const struct sandbox_entry *entry);
int cgroup_freeze(int cgroup, bool frozen);
/* Kills all processes in it and waits until it is empty; returns how many there were. */
int cgroup_kill_all(int cgroup);
/* Removes it with its children. 0 also if it does not exist. */
int cgroup_remove(const char *path);
bool cgroup_is_empty(int cgroup);
/* A unit's cgroup belongs to systemd, which removes it. */
bool cgroup_is_units(const char *path);

/* ctl-cleanup.c: removes what a sandbox, whose directory is locked by this process, has left. */
struct cleanup {
	struct ctl *ctl;
	struct registration *registration;
	char id[SANDBOX_ID_MAX + 1]; /* registration_remove() forgets it */
	struct sandbox_entry entry;
	bool keeps_directory; /* keep its log and status */
	bool dry_run;
	bool is_quiet;	      /* print nothing */
	struct sbx_error why; /* of the step that failed, if it has filled it */
};
/* Locks the directory first; -EBUSY: it has a supervisor. -ENOENT: it was removed. */
int cleanup_claim(struct cleanup *cleanup, struct ctl *ctl, const char *id,
		  struct registration *registration, struct sbx_error *err);
int cleanup_run(struct cleanup *cleanup, struct sbx_error *err);
/* Is it a name that sbx-spawn --out gives its work directory? */
bool is_work_directory(const char *name);
/* May a start that has not written its state yet have made it? Not if it is from the future: then
 * the clock was set back since, and it would stay for as long. */
bool is_young(const struct stat *st);

/* ctl-stop.c: SIGTERM, wait, SIGKILL, and cleanup. */
int stop_sandbox(struct ctl *ctl, const char *id, uint64_t grace_usec, struct sbx_error *err);
int stop_read_time(const struct ctl_values *values, uint64_t *ret, struct sbx_error *err);
/* Removes what interrupted removals of volumes have left. */
int volumes_collect(struct ctl *ctl, struct sbx_error *err);

/* ctl-list.c: adds "3s", "5m", "2h" or "4d" since then. */
void ctl_add_age(struct table *table, uint64_t since_usec);
