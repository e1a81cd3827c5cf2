/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of sbx-spawn: the values of options, and one run from the command line to the
 * status
 *
 *   sbx-spawn.c        options, and the order of the steps
 *   spawn-request.c    options that exclude each other; values → struct spawn_request
 *   spawn-paths.c      options that name paths
 *   spawn-guarded.c    paths that no sandbox may write or see, or see only by name
 *   spawn-prepare.c    policy, host, plan, filter
 *   spawn-record.c     audit records and the registry: what other programs see of the run
 *   spawn-bare.c       --no-sandbox
 *   spawn-report.c     --report
 *   spawn-end.c        messages at the end
 *   spawn-changes.c    --out
 *   spawn-hand-over.c  starts that need a module
 *   spawn-parent.c     --die-with-parent
 *   spawn-proxy.c      the proxy of the network mode proxy
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/filter.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "output/output.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/credentials.h"
#include "policy/guarded.h"
#include "record/record.h"
#include "registry/registry.h"
#include "spawn/spawn.h"

struct handover_summary;
struct policy;
struct tool_run;

struct spawn_values {
	const char *policy, *template, *project, *cwd, *id, *home;
	int policy_fd; /* -EBADF: none, as for all fds here */
	struct option_list read, write, exec, deny, deny_write, bind, tmpfs, unix_socket,
		optional_read;
	const char *net;
	bool deny_net;
	struct option_list connect, listen;
	int proxy_fd;
	const char *proxy_port;
	struct option_list env, secret, device;
	const char *hostname;
	const char *limits[N_LIMITS]; /* as given */
	const char *grace;
	bool best_effort;
	const char *tier, *exact_tier;
	struct option_list require;
	const char *uid;
	bool pty, debug, ptrace, die_with_parent;
	struct option_list pass_fd;
	int ring_fd;
	const char *out, *report;
	int report_fd, audit_fd;
	bool print_plan, dry_run, check, no_sandbox;
};

/* The meaning of the value of --out. */
enum changes_kind {
	CHANGES_NONE,
	CHANGES_DIRECTORY,
	CHANGES_TAR,
};

/* The destination of changes to the working directory. */
struct changes {
	enum changes_kind kind;
	char *directory; /* upper layer of the overlay */
	bool is_made;	 /* it was created for this run, so it may be removed while it is empty */
	char *work;	 /* work directory of overlayfs, beside it; made by changes_make() */
	const char *tar;
	int parent; /* the directory that contains them */
	struct output_result archived;
};

/* Where the proxy of the sandbox is. */
enum spawn_proxy_place {
	SPAWN_PROXY_NONE,
	SPAWN_PROXY_FD,
	SPAWN_PROXY_SERVICE,
	SPAWN_PROXY_OWN,
};

struct spawn_proxy {
	enum spawn_proxy_place place;
	int socket;   /* with the protocol of registry/handover.h, or -EBADF */
	pid_t pid;    /* SPAWN_PROXY_OWN: a child; 0: it was reaped */
	int artefact; /* the policy, until it is handed over */
	const char *digest;
	bool is_asked;				/* it has got the listeners */
	bool is_accepted;			/* and has taken them */
	bool is_lost;				/* it gave no summary at the end */
	const struct handover_summary *summary; /* or NULL */
};
#define SPAWN_PROXY_INIT                                                                           \
	{                                                                                          \
		.socket = -EBADF, .artefact = -EBADF                                               \
	}

/* One run. Its pointers refer to its arena or to the command line. */
struct spawn_run {
	struct tool_run *tool;
	const struct spawn_values *values;
	struct arena arena;
	struct spawn_request request;
	struct policy *policy; /* may be NULL */
	struct guarded_list guarded;
	struct credential_list credentials;
	struct host host;
	struct plan *plan;
	struct sock_fprog made_filter; /* compiled if the policy denies system calls of its own */
	const struct sock_fprog *filter;
	bool filter_notifies;
	struct changes changes;
	struct spawn_proxy proxy;
	int report_directory; /* directory of the report */
	int report;	      /* a FIFO or a device, or -EBADF: a file in the directory */
	struct recorder recorder;
	int registry;
	struct registration registration;
	struct sandbox_entry entry;
	int control_socket;
	int parent;   /* pidfd, with --die-with-parent */
	mode_t umask; /* of the caller, for the command */
	struct spawn_result result;
	const struct plan_top *
		*repositories; /* writable directories that have become a repository */
	size_t n_repositories;
	bool is_adopted; /* sbx-ctl has created its directory, and removes it */
};

/* spawn-request.c: before anything is read, and after the decision not to hand over */
int spawn_check_options(const struct spawn_values *values, const struct option_spec *options,
			struct sbx_error *err);
/* Takes fds 0 to 2 that were passed to sbx-spawn itself; the command gets an empty stdin if that
 * was one of them. */
int spawn_take_fds(struct spawn_values *values, struct sbx_error *err);

/* spawn-request.c: all options, with absolute paths, checked. */
int spawn_read_request(struct spawn_run *run, int n_operands, char *operands[],
		       struct sbx_error *err);
/* The i-th layer for --require, or NULL; @list is not used. */
const char *spawn_nth_layer(const void *list, size_t i);
/* spawn-paths.c */
int spawn_read_paths(struct spawn_run *run, struct sbx_error *err);
/* Joined with the working directory and normalised; in the run's arena. */
int spawn_read_path(struct spawn_run *run, const char *option, const char *value, const char **ret,
		    struct sbx_error *err);
/* NULL: there is no link in it. */
const char *spawn_real_path(struct spawn_run *run, const char *path);
int spawn_bad_value(const char *option, const char *value, const char *why, const char *fix,
		    struct sbx_error *err);
int spawn_no_memory(struct sbx_error *err);

/* spawn-guarded.c: guarded paths, before the plan; and creating those that the plan needs. */
int spawn_find_guarded(struct spawn_run *run, struct sbx_error *err);
int spawn_find_credentials(struct spawn_run *run, struct sbx_error *err);
int spawn_make_guarded(const struct spawn_run *run, const char *const *paths,
		       struct sbx_error *err);

/* spawn-prepare.c: 0, or negative errno; then nothing was created. */
int spawn_prepare(struct spawn_run *run, struct sbx_error *err);

/* spawn-hand-over.c: executes the program with a loader, which starts again; returns only on
 * failure */
bool spawn_begins_with_modules(const struct spawn_values *values);
bool spawn_needs_modules(const struct spawn_run *run, int prepared);
int spawn_hand_over(const struct spawn_run *run, struct sbx_error *err);

/* spawn-parent.c: opens the pidfd of the parent; and names the parent to the program that a start
 * is handed over to. */
int spawn_watch_parent(struct spawn_run *run, struct sbx_error *err);
int spawn_hand_over_parent(const struct spawn_run *run, struct sbx_error *err);

/* spawn-bare.c: --no-sandbox */
int spawn_run_bare(struct spawn_run *run, struct sbx_error *err);

/* Closes our copy of the channel's socket once the command's process has one: its end is to be seen
 * when the last process inside has closed it. */
static inline void spawn_let_ring_go(const struct spawn_run *run)
{
	if (run->request.has_ring)
		(void)close(run->request.ring_fd);
}

/* spawn-changes.c: names the hidden directories, and makes them. */
int changes_prepare(struct spawn_run *run, struct sbx_error *err);
int changes_make(struct spawn_run *run, struct sbx_error *err);
/* Prepares the changes for the caller, and removes the kernel's work directory; for a tar: writes
 * it, until @deadline_usec (-ETIME). */
int changes_finish(struct spawn_run *run, uint64_t deadline_usec, struct sbx_error *err);
void changes_deinit(struct changes *changes);

/* spawn-record.c */
int spawn_register(struct spawn_run *run, struct sbx_error *err);
/* Opens the spool or connects to the service, without a word about a place that the next boot may
 * remove. */
int spawn_open_spool(struct spawn_run *run, struct sbx_error *err);
int spawn_open_records(struct spawn_run *run, struct sbx_error *err);
/* The digest in hexadecimal, in the run's arena; NULL: no memory. */
const char *spawn_hex(struct spawn_run *run, const uint8_t digest[32]);
int spawn_record_created(struct spawn_run *run, struct sbx_error *err);
/* @failure: why nothing was run, or NULL. */
int spawn_record_end(struct spawn_run *run, const struct sbx_error *failure, struct sbx_error *err);
/* Records a start that was refused before anything was created. A failure to write the record is
 * ignored. */
void spawn_record_refused(struct spawn_run *run, const struct sbx_error *failure);
/* Hooks: the start of sbx-ctl exec, which fails if it cannot be recorded, and its end. */
int spawn_record_entering(void *userdata, char *const *argv);
void spawn_record_left(void *userdata, char *const *argv, int status);
/* Writes the state in the registry; 0 or negative errno. */
int spawn_set_state(struct spawn_run *run, enum sandbox_state state, struct sbx_error *err);
/* A hook: sets the state RUNNING when the command's program runs, since 'sbx-ctl start' waits for
 * that. */
void spawn_note_execution(void *userdata);
/* A hook: does the file of 'sbx-ctl pause' exist in the sandbox's directory? */
bool spawn_is_paused(void *userdata);
void spawn_unregister(struct spawn_run *run);

/* spawn-end.c: finds writable directories that have become a repository. */
void spawn_find_repositories(struct spawn_run *run);
void spawn_say_repositories(const struct spawn_run *run);
/* Prints why a program that is known to fail inside may have failed. */
void spawn_say_hint(const struct spawn_run *run);
/* If the policy denies a system call that every start needs, says so in an -EPERM of it. */
void spawn_explain_denied_call(const struct spawn_run *run, struct sbx_error *err);
/* Warns of files that an archive leaves out. */
void spawn_say_left_out(const struct spawn_run *run);
/* Prints why the command was ended, if the status does not say so. */
void spawn_explain_end(const struct spawn_run *run, struct sbx_error *err);
/* Prints a line as an error with only a "what", so that --json contains it. */
/* Writes a line to stderr: @kind ("note: ", "warning: " or "") and @body, which is escaped; with
 * --json an object. */
int spawn_say_note(const struct spawn_run *run, const char *kind, const struct text *body);
void spawn_say_line(const struct spawn_run *run, enum sbx_level level, const struct text *line);

/* spawn-report.c: opens the directory of --report before the command could replace it. A report
 * that cannot be written at the end is a warning. */
int spawn_open_report(struct spawn_run *run, struct sbx_error *err);
/* Before spawn_take_fds(), which changes the fd number. */
int spawn_check_report(const struct spawn_values *values, struct sbx_error *err);
void spawn_write_report(const struct spawn_run *run);
/* The members that records and reports share; without a plan there is no digest. */
struct json_writer;
void spawn_add_result(struct json_writer *json, const struct spawn_run *run);
void spawn_add_digest(struct json_writer *json, const struct plan *plan);

/* spawn-proxy.c */
/* Connects to the proxy or starts it, in the network mode proxy. */
int spawn_open_proxy(struct spawn_run *run, struct sbx_error *err);
/* Hooks: hands it the listeners; waits until it has taken them. */
int spawn_hand_listeners(void *userdata, const int *fds, size_t n_fds, struct sbx_error *err);
int spawn_await_proxy(void *userdata, struct sbx_error *err);
/* Tells it the end of the sandbox and takes the summary. */
void spawn_end_proxy(struct spawn_run *run);
void spawn_close_proxy(struct spawn_run *run);
void spawn_say_denials(const struct spawn_run *run);
/* "fd", "service", "own", or NULL */
const char *spawn_proxy_place(const struct spawn_run *run);
uint16_t spawn_proxy_port(const struct spawn_run *run);
/* The members of a report about the network and what was denied. */
void spawn_add_denials(struct json_writer *json, const struct spawn_run *run);

#define SPAWN_TOOL "sbx-spawn"
/* The path of NAME with @suffix: in a build it is in lib/DIRECTORY, else where modules are
 * installed.
 */
int spawn_module_path(const char *directory, const char *name, const char *suffix, char *ret,
		      size_t size);
/* The directory of NAME.so, in a build lib/NAME. */
int spawn_module_directory(const char *name, char *ret, size_t size);
