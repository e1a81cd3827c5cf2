/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Policy + request + host → an ordered list of small steps
 *
 * plan_build() is pure: it opens nothing, forks nothing and reads no environment. A right or limit
 * that the policy asks for and the host cannot enforce is an error here, with what, why and fix; no
 * later part warns about it. lib/kernel carries the steps out, in this order, and never sees a
 * policy. A plan does not change after plan_build().
 *
 * The nouns, in the order in which one is made from the other:
 *
 *   request   the command line (request.h); facts: the host's answers about paths (host.h)
 *   mark      a path matters: a rule, an option or the built-in view names it, and may say which
 *             content is put there
 *   decision  the evaluator's answer about a path: which rights it has. No mark decides that
 *   place     a path with all its marks, in a tree; it has one content, and its rights. A path
 *             without marks has the rights of the place above it
 *   shown     how a place ends up in the tree: which mount carries it, and what this mount and the
 *             Landlock rules permit
 *   step      one call that lib/kernel makes (step.h)
 *
 * request.h and host.h go in, steps come out; mark, place and shown are in plan-internal.h and last
 * as long as plan_build(). At the end plan_permits() reads the steps alone, and a plan that permits
 * more than was decided is refused.
 *
 * The mount view is the first layer: a missing path cannot be opened. Landlock repeats it as the
 * second, since it does not cover stat, chmod and sockets. Rules that the kernel cannot see (a
 * caller, a tag, a state, a token) are taken the narrow way: such an allow grants nothing here,
 * such a deny always holds; --print-plan lists them.
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

/* A directory that the command may write: git outside takes programs from it where it has become a
 * repository. */
struct plan_top {
	const char *path;   /* inside */
	const char *source; /* outside, without links */
	unsigned signs;	    /* enum host_sign, beforehand */
};

/* A rule or limit that is not carried out as written, and why; shown by --print-plan -v. One with a
 * fix is printed on stderr in one line, too. */
struct plan_notice {
	const char *what;
	const char *why;
	const char *fix;  /* or NULL */
	bool is_weaker;	  /* less is enforced than was asked for */
	bool is_of_limit; /* the plan's limits say it, too */
	bool is_hint; /* the command has less than the user may expect: worth a line on a terminal
		       */
};

struct plan {
	struct arena arena;
	enum tier tier;
	unsigned layers;
	struct step *steps;
	size_t n_steps;
	char *const *argv;
	char *const *environment; /* of the command, complete */
	const char *id;
	uid_t uid; /* of the command, outside */
	gid_t gid;
	const char *net_mode; /* its name */
	const char *template; /* "default" where neither it nor a policy was named */
	const char *policy;   /* as its file was named, or NULL */
	struct plan_limit limits[N_LIMITS];
	uint64_t grace_usec; /* between TERM and KILL */
	const int *fds;
	size_t n_fds;
	const uint16_t *inward; /* of the host's 127.0.0.1, carried to the same port inside */
	size_t n_inward;
	const struct plan_top *tops;
	size_t n_tops;
	const char *git; /* a ".git" that is read-only in what may be written, or NULL */
	const struct plan_notice *notices;
	size_t n_notices;
	bool has_digest;
	uint8_t digest[32]; /* of the policy */
	const char *const
		*deny_syscalls;	      /* of the policy; NULL-terminated, NULL where there are none
				       */
	bool may_exec;		      /* sbx-ctl exec: asked for and allowed */
	uint64_t unenforced_landlock; /* file rights that this ABI lacks */
};

/*
 * The paths about which a plan for this policy and request asks the host, and the guarded ones that
 * the caller makes before (a plan takes these to be there); sorted and each once, in @arena, ended
 * by NULL. -EINVAL or -EOPNOTSUPP with @err: the policy asks for what no host could
 * do.
 */
int plan_list_paths(const struct policy *policy, const struct spawn_request *request,
		    struct arena *arena, const char *const **ret, const char *const **ret_made,
		    struct sbx_error *err);

/*
 * @policy may be NULL: the built-in view and, without a template, the default limits. The plan
 * lives on its own, but for the strings of the request's argv and environment, which it points to.
 * -ENOEXEC: the policy does not let the command be executed.
 */
int plan_build(const struct policy *policy, const struct spawn_request *request,
	       const struct host *host, struct plan **ret, struct sbx_error *err);
struct plan *plan_free(struct plan *plan);
void plan_free_ptr(struct plan **plan);
#define _cleanup_plan_ _cleanup_(plan_free_ptr)

/* Directories that consist of the system, and those that hold some of it or of all users: never is
 * their owner mapped to the command's user. NULL-terminated. */
extern const char *const plan_system_directories[];
extern const char *const plan_shared_directories[];

/* At most eight lines: what the steps permit, per kind, and what is not enforced. */
void plan_add_summary(struct text *out, const struct plan *plan);
/* One line a step; then limits, then notices. */
void plan_add_text(struct text *out, const struct plan *plan);
/* One object, with a newline. */
void plan_add_json(struct text *out, const struct plan *plan);
/* "full: user mount pid ipc uts net landlock seccomp; memory 1GiB by rlimit, ..." */
void plan_add_tier_line(struct text *out, const struct plan *plan);
/* "time limit of 5m reached (template code-executor)" */
void plan_add_reached(struct text *out, const struct plan *plan, enum limit limit);

/*
 * The rights that the kernel will permit at a path when the steps of a plan have been carried out
 *
 * These read the steps only: which mount carries the path and how, which Landlock rules there are
 * at and above it, what is masked. They know neither rules nor marks nor places, so that they can
 * contradict the planner.
 */

/* Bits of enum right: read, list, write, exec. */
unsigned plan_permits(const struct plan *plan, const char *path, enum host_path_kind kind);
/* Of a file. */
bool plan_permits_exec(const struct plan *plan, const char *path);
/* Where the command starts. */
const char *plan_working_directory(const struct plan *plan);
/* The step whose mount is what can be seen at the path; NULL: the sandbox's own root. */
const struct step *plan_find_carrier(const struct plan *plan, const char *path);
/* The one that shows what the mount or copy of @step is put over; NULL also where @step puts none.
 */
const struct step *plan_find_carrier_of(const struct plan *plan, const struct step *step);
