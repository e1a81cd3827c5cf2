/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The registry of sandboxes: a directory each, below the runtime directory
 *
 *   RUNTIME/sbx/sandboxes/ID/              flock()ed by the supervisor for as long as it lives
 *                            state.json    replaced by rename(), so always complete, except while
 *                                          its file system is full: then it is overwritten
 *                            policy.json   the policy that it runs under, where it has one
 *                            control.sock  of the supervisor
 *                            configuration the words given to sbx-ctl create; never changes
 *                            log           stdout and stderr of a sandbox that sbx-ctl started
 *                            paused        exists while sbx-ctl has paused it
 *
 * The directory itself is locked, so that a start creates no lock file. If the lock is free, the
 * supervisor has exited or was killed, and sbx-ctl gc may clean up after it; a directory with a
 * configuration may also wait to be started, or to be removed. The state of one that waits names no
 * supervisor. The registry is never visible inside a sandbox.
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
#define SANDBOX_NEW_CONFIGURATION_NAME (SANDBOX_CONFIGURATION_NAME ".new")
#define SANDBOX_LOG_NAME "log"
/* After the path of out_layer: the archive while it is written. */
#define SANDBOX_ARCHIVE_SUFFIX ".tar"
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
/* Is this transition part of the life cycle? */
bool sandbox_state_may_follow(enum sandbox_state from, enum sandbox_state to);

struct sandbox_network {
	const char *mode;  /* of the network: "none", "loopback", "host", "proxy" */
	const char *proxy; /* where it is: "service", "own" or "fd"; NULL: there is none */
	uint16_t port;	   /* on which it listens inside; 0: there is none */
};

/* The contents of state.json. Unknown texts are NULL, unknown numbers 0. */
struct sandbox_entry {
	const char *id;
	enum sandbox_state state;
	pid_t supervisor;
	uint64_t supervisor_start; /* in clock ticks since boot, because PIDs are reused */
	pid_t init;		   /* PID 1 of the sandbox, as seen outside */
	uint64_t init_start;
	const char *cgroup; /* path of its cgroup */
	const char *unit;   /* transient scope */
	const char *const *argv;
	const char *cwd;
	const char *policy; /* path as given */
	const char *policy_digest;
	uint64_t policy_rules; /* number of rules; policy.json contains them */
	const char *audit;     /* where its records go: "service", "spool" or "fd" */
	const char *template;
	const char *tier;
	struct sandbox_network network;
	const char *out_directory; /* as --out was typed */
	const char
		*out_work; /* absolute; work directory of --out during the run: ".N.sbx-work-X" */
	const char *out_layer; /* the same for an archive: ".N.sbx-layer-X" */
	uid_t uid;	       /* of the command, which is never root */
	uint64_t created_usec; /* since 1970 */
	bool may_exec;
	bool is_paused;	    /* from the file of that name; not written */
	bool waits;	    /* made by sbx-ctl create, and no supervisor took it; not written */
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
 * The directory of all sandboxes: /run/sbx/sandboxes for root, $XDG_RUNTIME_DIR/sbx/sandboxes for
 * other users, or /tmp/sbx-UID/sandboxes if that is not set. It must have mode 0700 and belong to
 * the calling user; it is created if it does not exist. Returns a directory fd.
 */
int registry_open(char *const *environment, struct sbx_error *err);
/* The same in a given runtime directory, which must exist: DIR/sbx/sandboxes. */
int registry_open_in(const char *runtime_directory, struct sbx_error *err);

/* A sandbox's own directory, locked. */
struct registration {
	int directory;
	char id[SANDBOX_ID_MAX + 1];
};
#define REGISTRATION_INIT                                                                          \
	{                                                                                          \
		.directory = -EBADF                                                                \
	}
#define _cleanup_registration_ _cleanup_(registration_deinit)
/* -EEXIST: a sandbox of that id exists. */
int registration_create(int registry, const char *id, struct registration *ret,
			struct sbx_error *err);
/*
 * Takes over the directory that sbx-ctl create has made. -ENOENT: no sandbox has that id; -EBUSY:
 * it has a supervisor; -EEXIST: it has run already, or was not made by sbx-ctl create.
 */
int registration_adopt(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err);
/* Takes any directory whose supervisor has exited, to clean up after it. -EINVAL, -ENOENT,
 * -EBUSY. */
int registration_claim(int registry, const char *id, struct registration *ret,
		       struct sbx_error *err);
int registration_write(const struct registration *registration, const struct sandbox_entry *entry,
		       struct sbx_error *err);
/* Writes policy.json, which @policy is: canonical JSON. */
int registration_write_policy(const struct registration *registration, const struct text *policy,
			      struct sbx_error *err);
/* Removes the directory with the files of sbx in it. 0 also if it does not exist. */
int registration_remove(int registry, struct registration *registration);
/* Releases the lock, if there is one. */
void registration_deinit(struct registration *registration);

/*
 * Reads one entry; texts live in @arena. *@ret_is_alive: a supervisor holds its lock. An entry
 * without a state yet is CREATING, and its other members are unknown. -ENOENT: it does not exist.
 */
int registry_read(int registry, const char *id, struct arena *arena, struct sandbox_entry *ret,
		  bool *ret_is_alive, struct sbx_error *err);
/* The ids, sorted, NULL-terminated, in @arena. */
int registry_list(int registry, struct arena *arena, const char *const **ret,
		  struct sbx_error *err);

/*
 * A pidfd of the process with this PID and start time, or -ESRCH if it has exited. A signal through
 * it cannot reach a later process with the same PID.
 */
int process_open(pid_t pid, uint64_t start);

/* One object with a newline: sbx-ctl inspect, list --json. */
void sandbox_entry_add_json(struct text *out, const struct sandbox_entry *entry, bool is_alive);
/* Only its members, into an object of the caller. */
void sandbox_entry_add_members(struct json_writer *json, const struct sandbox_entry *entry);

/*
 * Removes the directory @name in @parent with its contents, of any depth and with any modes:
 * untrusted code may have filled it. No link is followed. 0 also if it does not exist; negative
 * errno if something could not be removed, after everything else was.
 */
int directory_discard(int parent, const char *name);

/*
 * Clears the set-user-ID and set-group-ID bits and the capabilities of the files in the directory
 * @name in @parent, which untrusted code may have filled: whoever executed them would get the
 * rights of their owner. Other modes stay as they are. No link is followed. 0 also if it does not
 * exist; negative errno if it failed for a file, after all others.
 */
int directory_drop_privileges(int parent, const char *name);
