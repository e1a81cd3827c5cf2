/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Policy + request + host → an ordered list of small steps
 *
 * plan_build() is pure: it opens nothing, forks nothing and reads no environment. A right or limit
 * that the policy asks for and the host cannot enforce is an error here, with what, why and fix; no
 * later part warns about it. lib/kernel carries out the steps, in this order, and never sees a
 * policy. A plan does not change after plan_build().
 *
 * The terms, in the order in which one is made from the other:
 *
 *   request   the command line (request.h); facts: the host's answers about paths (host.h)
 *   mark      names a path that matters: a rule, an option or the built-in view names it, and may
 *             say which content is put there
 *   decision  the evaluator's answer about the rights of a path, from rules and from the
 *             marks of options; marks alone only give rights to what sbx itself makes
 *   place     a path with all its marks, in a tree; it has one content, and its rights. A path
 *             without marks has the rights of the place above it
 *   shown     how a place appears in the tree: which mount carries it, and what this mount and the
 *             Landlock rules permit
 *   step      one call that lib/kernel makes (step.h)
 *
 * request.h and host.h are the input, steps the output; mark, place and shown are in
 * plan-internal.h and live only during plan_build(). At the end plan_permits() reads the steps
 * alone, and a plan that permits more than was decided is refused.
 *
 * The mount view is the first layer: a path that it lacks cannot be opened. Landlock repeats it as
 * the second, since it does not cover stat, chmod and sockets. Rules that depend on facts unknown
 * to the kernel (a caller, a tag, a state, a token) are narrowed: such an allow grants nothing,
 * such a deny always applies; --print-plan lists them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "plan/host.h"
#include "plan/layers.h"
#include "plan/step.h"

struct json_writer;
struct policy;
struct sbx_error;
struct spawn_request;
struct text;

struct plan_limit {
	bool is_set;
	uint64_t value;
	enum holder holder;
	struct step_origin origin;
	bool is_constraint; /* of a rule: no option raises it */
};

/* A directory that the command may write: if it becomes a repository, git outside takes programs
 * from it. */
struct plan_top {
	const char *path;   /* inside path */
	const char *source; /* outside path without symbolic links */
	unsigned signs;	    /* enum host_sign, before the start */
};

/* A rule or limit that is not enforced as written, and the reason; --print-plan -v shows it. A
 * notice with a fix is also printed on stderr, in one line. */
struct plan_notice {
	const char *what;
	const char *why;
	const char *fix;  /* or NULL */
	bool is_weaker;	  /* enforces less than was asked for */
	bool is_of_limit; /* the plan's limits report it, too */
	bool is_hint; /* the command gets less than the user may expect: print it on a terminal */
};

struct plan {
	struct arena arena;
	enum tier tier;
	unsigned layers;
	struct step *steps;
	size_t n_steps;
	char *const *argv;
	char *const *environment; /* the command's complete environment */
	const char *id;
	uid_t uid; /* the command's, outside */
	gid_t gid;
	const char *net_mode; /* its name */
	const char *template; /* "default" if neither an option nor a policy named one */
	const char *policy;   /* path of its file as given, or NULL */
	struct plan_limit limits[N_LIMITS];
	uint64_t grace_usec; /* between SIGTERM and SIGKILL */
	const int *fds;
	size_t n_fds;
	const uint16_t *inward; /* host loopback ports, forwarded to the same port inside */
	size_t n_inward;
	const struct plan_top *tops;
	size_t n_tops;
	const char *git;	  /* a read-only ".git" in a writable directory, or NULL */
	const char *git_argument; /* of --write, quoted, so that git can write there */
	const struct plan_notice *notices;
	size_t n_notices;
	bool has_digest;
	uint8_t digest[32]; /* of the policy */
	const char *const
		*deny_syscalls;	      /* the policy's; NULL-terminated, NULL if there are none */
	bool may_exec;		      /* sbx-ctl exec was asked for and is allowed */
	bool dies_with_parent;	      /* the sandbox ends with the process that starts it */
	uint64_t unenforced_landlock; /* Landlock file rights that this kernel's ABI lacks */
};

/*
 * Lists the paths about which a plan for this policy and request asks the host, and the guarded
 * ones that the caller must create first (a plan assumes that they exist); sorted, unique,
 * NULL-terminated, in @arena. -EINVAL or -EOPNOTSUPP with @err: the policy asks for something that
 * no host could enforce.
 */
int plan_list_paths(const struct policy *policy, const struct spawn_request *request,
		    struct arena *arena, const char *const **ret, const char *const **ret_made,
		    struct sbx_error *err);

/*
 * @policy may be NULL: then the built-in view applies and, without a template, the default limits.
 * The plan refers to the strings of the request's argv and environment, and to nothing else.
 * -ENOEXEC: the policy does not let the command be executed.
 */
int plan_build(const struct policy *policy, const struct spawn_request *request,
	       const struct host *host, struct plan **ret, struct sbx_error *err);
struct plan *plan_free(struct plan *plan);
CLEANUP_BY(struct plan, plan_free)
#define _cleanup_plan_ _cleanup_(plan_free_ptr)

/* Devices that are not in every sandbox, for options. NULL-terminated. */
extern const char *const plan_device_names[];

/* System directories, and directories that contain some of these or of all users: their owner is
 * never mapped to the command's user. NULL-terminated. */
extern const char *const plan_system_directories[];
extern const char *const plan_shared_directories[];

/* Adds at most eight lines: what the steps permit, by kind, and what is not enforced. */
void plan_add_summary(struct text *out, const struct plan *plan);
/* Adds one line per step, then limits, then notices. */
void plan_add_text(struct text *out, const struct plan *plan);
/* Adds one JSON object and a newline. */
void plan_add_json(struct text *out, const struct plan *plan);
/* The member "layers"; without a plan there are none. */
void plan_write_layers(struct json_writer *json, const struct plan *plan);
/* Adds "full: user mount pid ipc uts net landlock seccomp; memory 1GiB by rlimit, ..." */
void plan_add_tier_line(struct text *out, const struct plan *plan);
/* Adds "time limit of 5m reached (template code-executor)" */
void plan_add_reached(struct text *out, const struct plan *plan, enum limit limit);

/*
 * The rights that the kernel permits at a path once the steps of a plan are carried out
 *
 * These functions read only the steps: which mount carries the path and with which attributes,
 * which Landlock rules apply at and above it, which masks cover it. They know neither rules nor
 * marks nor places, so that they can contradict the planner.
 */

/* Bits of enum right: read, list, write, execute. */
unsigned plan_permits(const struct plan *plan, const char *path, enum host_path_kind kind);
/* For regular files. */
bool plan_permits_exec(const struct plan *plan, const char *path);
bool plan_permits_read(const struct plan *plan, const char *path);
/* The first step of @kind, or NULL. */
const struct step *plan_find_step(const struct plan *plan, enum step_kind kind);
/* The directory in which the command starts. */
const char *plan_working_directory(const struct plan *plan);
/* The step whose mount is visible at the path; NULL: the sandbox's own root. */
const struct step *plan_find_carrier(const struct plan *plan, const char *path);
/* The step whose mount lies under the mount or copy of @step; NULL also if @step has neither. */
const struct step *plan_find_carrier_of(const struct plan *plan, const struct step *step);
