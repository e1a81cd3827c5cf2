/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which sandboxes there are: a folder each, below the runtime directory
 *
 *   RUNTIME/sbx/sandboxes/ID/              flock()ed by the supervisor for as long as it lives
 *                            state.json    replaced by rename: always one whole state
 *                            policy.json   the policy that it runs under, where it has one
 *                            control.sock  of the supervisor
 *                            configuration what sbx-ctl create was told; never changes
 *                            log           stdout and stderr of a sandbox that sbx-ctl started
 *                            paused        is there while sbx-ctl holds it
 *
 * The lock is the folder's own, so that a start makes no file for it. A folder whose lock is free
 * belongs to nobody: its supervisor is gone, however it went, and sbx-ctl gc may clean up after it;
 * but where there is a configuration it may also wait to be started, or to be removed. Nothing here
 * is trusted from inside a sandbox: the folder is never visible there.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cleanup.h"

struct json_writer;
struct sbx_error;
struct text;

#define SANDBOX_CONTROL_NAME "control.sock"
#define SANDBOX_CONFIGURATION_NAME "configuration"
#define SANDBOX_LOG_NAME "log"
#define SANDBOX_PAUSED_NAME "paused"
#define SANDBOX_POLICY_NAME "policy.json"

enum sandbox_state {
	SANDBOX_CREATING,
	SANDBOX_RUNNING,
	SANDBOX_STOPPING,
	SANDBOX_CLEANUP,
	SANDBOX_DESTROYED,
	SANDBOX_FAILED,
	N_SANDBOX_STATES,
};
const char *sandbox_state_name(enum sandbox_state state); /* "RUNNING" */
/* Is the step from one to the other one of the life cycle? */
bool sandbox_state_may_follow(enum sandbox_state from, enum sandbox_state to);

/* What stands in state.json. Texts are NULL and numbers 0 where they are not known. */
struct sandbox_entry {
	const char *id;
	enum sandbox_state state;
	pid_t supervisor;
	uint64_t supervisor_start; /* in clock ticks since boot: a pid is used again, this is not */
	pid_t init;		   /* PID 1 of the sandbox, as seen outside */
	uint64_t init_start;
	const char *cgroup; /* its own folder */
	const char *unit;   /* transient scope */
	const char *const *argv;
	const char *cwd;
	const char *policy; /* as it was named */
	const char *policy_digest;
	uint64_t policy_rules; /* how many; what they say is in policy.json */
	const char *audit;     /* where its records go: "service", "spool" or "fd" */
	const char *template;
	const char *tier;
	const char *out_folder; /* as --out was typed */
	const char *out_work;	/* absolute; what --out needs as long as it runs: ".N.sbx-work-X" */
	const char *out_layer;	/* the same for an archive: ".N.sbx-layer-X" */
	uid_t uid;		/* of the command, which is never root */
	uint64_t created_usec;	/* since 1970 */
	bool may_exec;
	bool is_paused;	    /* from the file of that name; not written */
	bool has_status;    /* the command has ended */
	int status;	    /* as sbx-spawn returned it */
	const char *reason; /* "exit", "signal", "time", "oom", "setup", "killed" */
};

#define SANDBOX_ID_MAX 64

/* Letters, digits, '-', '_' and '.', beginning with a letter or digit. */
bool sandbox_id_is_valid(const char *id);
/* Sixteen random characters. */
int sandbox_id_make(char ret[SANDBOX_ID_MAX + 1]);

/*
 * The folder of all: /run/sbx/sandboxes for root, $XDG_RUNTIME_DIR/sbx/sandboxes else, or
 * /tmp/sbx-UID/sandboxes where that is not set: 0700 and ours, or refused. Made if it is not there.
 * Returns a folder fd.
 */
int registry_open(char *const *environment, struct sbx_error *err);
/* The same in a runtime folder of the caller's choice, which must exist: FOLDER/sbx/sandboxes. */
int registry_open_in(const char *runtime_folder, struct sbx_error *err);

/* A sandbox's own folder, with its lock held. */
struct registration {
	int folder;
	char id[SANDBOX_ID_MAX + 1];
};
#define REGISTRATION_INIT                                                                          \
	{                                                                                          \
		.folder = -EBADF                                                                   \
	}
#define _cleanup_registration_ _cleanup_(registration_deinit)
/* -EEXIST: a sandbox of that id is there. */
int registration_create(int registry, const char *id, struct registration *ret,
			struct sbx_error *err);
/*
 * Takes over the folder that sbx-ctl create has made. -ENOENT: there is none of that id; -EBUSY: it
 * has a supervisor; -EEXIST: it has run already, or was not made by sbx-ctl create.
 */
int registration_adopt(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err);
/* Takes any folder whose supervisor is gone, to clean up after it. -ENOENT, -EBUSY. */
int registration_claim(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err);
int registration_write(const struct registration *registration, const struct sandbox_entry *entry,
		       struct sbx_error *err);
/* Writes policy.json, which @policy is: canonical JSON. */
int registration_write_policy(const struct registration *registration, const struct text *policy,
			      struct sbx_error *err);
/* Removes the folder with what we put into it. 0 also where it is gone already. */
int registration_remove(int registry, struct registration *registration);
/* Gives the lock back; whoever holds nothing gives back nothing. */
void registration_deinit(struct registration *registration);

/*
 * Reads one; texts live in @arena. *@ret_is_alive: a supervisor holds its lock. One that has not
 * written its state yet is CREATING, and nothing else is known of it. -ENOENT: there is none.
 */
int registry_read(int registry, const char *id, struct arena *arena, struct sandbox_entry *ret,
		  bool *ret_is_alive, struct sbx_error *err);
/* The ids, sorted, NULL-terminated, in @arena. */
int registry_list(int registry, struct arena *arena, const char *const **ret,
		  struct sbx_error *err);

/*
 * A pidfd of the process @pid that began at @start and no other, or -ESRCH where that one is gone.
 * What is signalled through it can be no successor of the same number.
 */
int process_open(pid_t pid, uint64_t start);

/* One object with a newline: sbx-ctl inspect, list --json. */
void sandbox_entry_add_json(struct text *out, const struct sandbox_entry *entry, bool is_alive);
/* Its members alone, into an object of the caller's. */
void sandbox_entry_add_members(struct json_writer *json, const struct sandbox_entry *entry);

/*
 * Removes the folder @name in @parent with all that is in it, however deep, and whatever modes it
 * has: it may have been filled by untrusted code. No link is followed. 0 also where it is gone
 * already; negative errno where something is left, which does not keep the rest from being removed.
 */
int folder_discard(int parent, const char *name);
