/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The request from the command line: filled by the options table, read by the planner
 *
 * The user typed all of this, so it may widen what the policy file says; a project's own file may
 * not (policy_merge()). Paths are absolute and normal: the tool has joined them with the working
 * directory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/layers.h"

struct credential_list;
struct guarded_list;

/* A path that an option names. */
enum request_grant {
	GRANT_READ,  /* read, list and execute */
	GRANT_WRITE, /* the same, and write */
	GRANT_EXEC,  /* execute files that may be read anyway */
	GRANT_DENY,  /* no access, although a directory around it may be read */
	GRANT_DENY_WRITE,
	GRANT_TMPFS, /* an empty tmpfs */
	GRANT_UNIX,  /* connect to this socket */
};

struct request_path {
	enum request_grant grant;
	const char *path;   /* outside; also inside, unless there is a target */
	const char *target; /* inside path, of --bind; or NULL */
	const char *real;   /* the path without symbolic links, if different; or NULL */
	bool optional;
	const char *option; /* "--read", for messages and --print-plan */
};

/* NAME=VALUE; a NULL value means the value in sbx-spawn's environment. */
struct request_variable {
	const char *name;
	const char *value;
	const char *option;
};

/* --secret NAME=PATH: variable NAME contains the path of a private copy inside. */
struct request_secret {
	const char *name;
	const char *path;
};

struct request_limit {
	bool is_set;
	uint64_t value; /* in bytes, microseconds, thousandths of a processor, or a count */
	const char *option;
};

struct request_port {
	uint16_t port;
	bool bind; /* true: bind, false: connect */
};

struct spawn_request {
	char *const *argv; /* the command */
	char *const *environment;
	const char *id;	     /* the sandbox's; the tool generates one if none is given */
	bool is_registered;  /* sbx-ctl can find it by its id; sbx-ctl pause needs a cgroup */
	const char *project; /* the directory that "./" in the policy stands for; the working
				directory */
	const char *cwd; /* directory in which the command starts, or NULL: the working directory */
	const char *template; /* NULL: the policy's; else code-executor with a policy, default
				 without */
	const char *tier;     /* weakest accepted tier, or NULL */
	bool is_tier_exact;   /* accept @tier only */
	unsigned required;    /* set of enum layer */
	const char *net_mode; /* may be NULL */
	const char *hostname; /* may be NULL */
	const char *policy;   /* path of its file as given, or NULL */
	bool best_effort;     /* skip limits that cannot be enforced, with a notice */
	bool has_uid;
	uid_t uid;
	gid_t gid;
	pid_t supervisor; /* the uid of a sandbox that root starts is derived from this pid */
	bool pty;
	bool debug;	       /* sbx-ctl exec may enter, if the policy allows it, too */
	bool ptrace;	       /* the command may trace its own children */
	bool dies_with_parent; /* the sandbox ends with the process that starts it */
	const char *home;      /* of --home: HOME names it, and it is writable; or NULL */
	bool is_root;	       /* root starts the sandbox */
	const char
		*out_directory; /* changes of the working directory are written here; NULL: none */
	const char *out_work;	/* an empty directory beside it, for overlayfs' workdir= */
	/* Paths that no policy can open; NULL only in tests of other parts. */
	const struct guarded_list *guarded;
	/* Paths that options and the working directory do not show unless they name them; may be
	 * NULL. */
	const struct credential_list *credentials;
	const char *project_real; /* the project without symbolic links, if different; or NULL */

	const struct request_path *paths;
	size_t n_paths;
	const struct request_variable *variables;
	size_t n_variables;
	const struct request_secret *secrets;
	size_t n_secrets;
	const struct request_port *ports; /* ports of the host's loopback */
	size_t n_ports;
	const char *const *devices;
	size_t n_devices;
	const int *fds; /* that the command inherits, besides 0 to 2 */
	size_t n_fds;
	bool has_ring; /* one of them is the socket of a channel, which SBX_RING_FD names */
	int ring_fd;
	uint16_t proxy_port; /* port inside, for net mode proxy; 0: 8080 */
	struct request_limit limits[N_LIMITS];
};
