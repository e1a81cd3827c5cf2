/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Policy + request + host → an ordered list of small steps
 *
 * plan_build() is pure: it opens nothing, forks nothing and reads no environment. What the policy
 * asks for and the host cannot enforce is an error here, with what, why and what to type; nothing
 * is left for later to warn about. lib/kernel carries the steps out, in this order, and never sees
 * a policy.
 *
 * The mount view is the first layer: what is absent cannot be named. Landlock repeats it as the
 * second, since it leaves stat, chmod and sockets open. Rules that the kernel cannot see (a caller,
 * a tag, a state, a token) are taken the narrow way: such an allow grants nothing here, such a deny
 * always holds; --print-plan lists them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "plan/layers.h"
#include "plan/step.h"

struct host;
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

/* A rule or limit that is not carried out as it stands, and why; shown by --print-plan -v. Where
 * something can be done about it, what to type: that is said on stderr in one line, too. */
struct plan_notice {
	const char *what;
	const char *why;
	const char *fix;  /* or NULL */
	bool is_weaker;	  /* less is enforced than was asked for */
	bool is_of_limit; /* the plan's limits say it, too */
	bool is_hint;	  /* less is there than somebody may expect: worth a line on a terminal */
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
	const char *net_mode;
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
