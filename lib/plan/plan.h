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

struct host;
struct policy;
struct sbx_error;
struct spawn_request;
struct text;

/*
 * In the order in which they are carried out: the steps of a plan are sorted by kind, but for those
 * that put something into the file tree (bind to pts), which are sorted by target, component by
 * component, so that what carries others comes first. All sources are opened before the first of
 * them. A target in a tmpfs of ours (the root, too) is made by its own step, folder or file; the
 * folders on the way to it have steps of their own. A target in what is shown from outside is
 * there.
 */
enum step_kind {
	/* In the supervisor, before anything is made. */
	STEP_CGROUP,	   /* target: its folder */
	STEP_CGROUP_LIMIT, /* text: a file of it; value: what is written, as text in source */
	STEP_SCOPE,	   /* text: name of the unit; limits as STEP_SCOPE_LIMIT */
	STEP_SCOPE_LIMIT,  /* text: the property; value */
	STEP_NAMESPACES,   /* value: CLONE_NEW* */

	/* In PID 1 of the sandbox, as its own root, while the old tree is still there. */
	STEP_ID_MAP,   /* value: uid, second: gid */
	STEP_ROOT,     /* value: size of the tmpfs that becomes "/" */
	STEP_PIVOT,    /* the old tree is gone, before anything is put into the new one: no link
			  in a target can lead out */
	STEP_BIND,     /* source, target, flags */
	STEP_TMPFS,    /* target, value: size, second: mode, flags */
	STEP_OVERLAY,  /* source: lower, target, text: upper, extra: work; without text what is
			  written goes to a fresh tmpfs of third bytes, and is thrown away */
	STEP_MASK,     /* target; STEP_IS_FOLDER */
	STEP_LINK,     /* target, text */
	STEP_FOLDER,   /* target, second: mode */
	STEP_FILE,     /* source: read outside; target: the copy inside, second: mode */
	STEP_PROC,     /* target, flags */
	STEP_PTS,      /* target */
	STEP_SEAL,     /* target: becomes read-only: the tmpfs that carries all others */
	STEP_HOSTNAME, /* text */
	STEP_LOOPBACK, /* up */
	STEP_LISTEN,   /* value: port on 127.0.0.1 inside; text: what for, "connect" (carried to the
			  same port of the host) or "proxy"; handed to the supervisor */

	/* In PID 1, for itself and all that it will start; every one takes something away for ever.
	 */
	STEP_RLIMIT,	   /* text: "nofile"; value: the RLIMIT_* number, second: the limit */
	STEP_IDENTITY,	   /* value: uid, second: gid; no other group; verified */
	STEP_CAPABILITIES, /* none, in no set, never again */
	STEP_NO_NEW_PRIVILEGES,
	STEP_LANDLOCK,	    /* value: file rights, second: port rights, third: scopes */
	STEP_LANDLOCK_PATH, /* target, value: rights */
	STEP_LANDLOCK_PORT, /* value: port, second: rights */
	STEP_LANDLOCK_ENFORCE,
	STEP_TERMINAL, /* a pty inside, as the controlling terminal of PID 1: the command can be
			  stopped by it only where its parent is in the same session */

	/* In the process that becomes the command. */
	STEP_FOLDER_OF_COMMAND, /* target */
	STEP_SECCOMP,		/* text: name of the profile; flags: enum filter_variant */
	STEP_EXEC,
	N_STEP_KINDS,
};

/* Names in the root with this beginning are what masks are made of, and no step's target. */
#define MASK_NAMES "/.masked-"

enum step_stage {
	STAGE_SUPERVISOR,
	STAGE_BUILD,   /* PID 1 while it is root of its namespaces */
	STAGE_CONFINE, /* PID 1 gives up */
	STAGE_COMMAND,
	N_STAGES,
};

enum step_flag {
	STEP_READ_ONLY = 1 << 0,
	STEP_NO_EXEC = 1 << 1,
	STEP_DEVICES = 1 << 2, /* device nodes work */
	STEP_IS_FOLDER = 1 << 3,
	STEP_OPTIONAL = 1 << 4, /* was there when the plan was made: gone is no mistake */
	STEP_OWNED = 1 << 5, /* what value/second own outside belongs to the command's user inside:
				an idmapped mount, made by root before it gives up being root */
};

/* Where a step comes from. */
enum origin_kind {
	ORIGIN_BUILT_IN,
	ORIGIN_RULE,	 /* text: "p.yaml:14 'runtime'" */
	ORIGIN_ARGUMENT, /* text: "--read" */
	ORIGIN_TEMPLATE, /* text: "code-executor" */
};

struct step_origin {
	enum origin_kind kind;
	const char *text;
};

struct step {
	enum step_kind kind;
	unsigned flags;
	const char *source;
	const char *target;
	const char *text;
	const char *extra;
	uint64_t value;
	uint64_t second;
	uint64_t third;
	struct step_origin origin;
};

/* One row a kind: its name, where it runs, the layer that it is part of, and how it is told. */
struct step_row {
	const char *name; /* "bind" */
	enum step_stage stage;
	enum layer layer;    /* 0: none */
	const char *failing; /* "cannot bind '%s' into the sandbox", for errors; %s is what it is
				about: target, else text, else nothing */
};
const struct step_row *step_row(enum step_kind kind);

struct plan_limit {
	bool is_set;
	uint64_t value;
	enum holder holder;
	struct step_origin origin;
};

/* A name that is not there and must not be made: in a folder that the command may write nothing
 * stands over it. Where it appears it is moved away. */
struct plan_absent {
	const char *target;
	const char *source; /* the same outside */
	struct step_origin origin;
};

/* A rule or limit that is not carried out as it stands, and why; told by --print-plan and, where it
 * weakens, on stderr. */
struct plan_notice {
	const char *what;
	const char *why;
	bool is_weaker; /* less is held than somebody may think */
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
	const char *template;
	const char *policy; /* as its file was named, or NULL */
	struct plan_limit limits[N_LIMITS];
	uint64_t grace_usec; /* between TERM and KILL */
	const int *fds;
	size_t n_fds;
	const uint16_t *inward; /* of the host's 127.0.0.1, carried to the same port inside */
	size_t n_inward;
	const struct plan_absent *absent;
	size_t n_absent;
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
 * The paths about which a plan for this policy and request asks the host, sorted and each once; in
 * @arena, ended by NULL. -EINVAL or -EOPNOTSUPP with @err: the policy asks for what no host could
 * do.
 */
int plan_list_paths(const struct policy *policy, const struct spawn_request *request,
		    const char *home, struct arena *arena, const char *const **ret,
		    struct sbx_error *err);

/*
 * @policy may be NULL: the built-in view and the limits of code-executor. The plan lives on its
 * own, but for the strings of the request's argv and environment, which it points to. -ENOEXEC: the
 * policy does not let the command be executed.
 */
int plan_build(const struct policy *policy, const struct spawn_request *request,
	       const struct host *host, struct plan **ret, struct sbx_error *err);
struct plan *plan_free(struct plan *plan);
void plan_free_ptr(struct plan **plan);
#define _cleanup_plan_ _cleanup_(plan_free_ptr)

/* The tier line; one line a step; then limits, then notices. */
void plan_add_text(struct text *out, const struct plan *plan);
/* One object, with a newline. */
void plan_add_json(struct text *out, const struct plan *plan);
/* "full: user mount pid ipc uts net landlock seccomp; memory 1GiB by rlimit, ..." */
void plan_add_tier_line(struct text *out, const struct plan *plan);
