/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The request of the command line, beside the policy: filled from the options table, read by the
 * plan
 *
 * Everything here was typed by the user, so it may widen what the policy file says; a project's own
 * file may not (policy_merge()). Paths are absolute and normal: the tool has joined them with the
 * working directory.
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
	GRANT_WRITE, /* and write */
	GRANT_EXEC,  /* execute what may be read anyway */
	GRANT_DENY,  /* nothing, though it lies in what may be read */
	GRANT_DENY_WRITE,
	GRANT_TMPFS, /* a fresh directory */
	GRANT_UNIX,  /* connect to this socket */
};

struct request_path {
	enum request_grant grant;
	const char *path;   /* outside; inside too, unless there is a target */
	const char *target; /* of --bind; or NULL */
	const char *real;   /* what the path is without links, where that is another one; or NULL */
	bool optional;
	const char *option; /* "--read", for messages and --print-plan */
};

/* NAME=VALUE, or with a NULL value: as in sbx-spawn's environment. */
struct request_variable {
	const char *name;
	const char *value;
	const char *option;
};

/* --secret NAME=PATH: the value of variable NAME is the path of a private copy inside */
struct request_secret {
	const char *name;
	const char *path;
};

struct request_limit {
	bool is_set;
	uint64_t value; /* bytes, microseconds, thousandths of a processor, a count */
	const char *option;
};

struct request_port {
	uint16_t port;
	bool bind; /* else connect */
};

struct spawn_request {
	char *const *argv; /* the command */
	char *const *environment;
	const char *id;	     /* of the sandbox; the tool makes one where none was typed */
	bool is_registered;  /* it is to be found by sbx-ctl under its id: pause needs a cgroup */
	const char *project; /* directory that "./" in the policy means; the working directory */
	const char *cwd; /* directory that the command starts in, or NULL: the working directory */
	const char *template; /* or NULL: what the policy says, else code-executor; default */
	const char *tier;     /* weakest accepted, or NULL */
	bool is_tier_exact;   /* no other than @tier */
	unsigned required;    /* set of enum layer */
	const char *net_mode; /* or NULL */
	const char *hostname; /* or NULL */
	const char *policy;   /* as its file was named, or NULL */
	bool best_effort;     /* limits that cannot be enforced are skipped with a notice */
	bool has_uid;
	uid_t uid;
	gid_t gid;
	pid_t supervisor; /* pid of the supervisor: the uid of a sandbox that root starts is derived
			     from it */
	bool pty;
	bool debug;	  /* sbx-ctl exec may enter, where the policy allows it, too */
	bool ptrace;	  /* it may trace its own children */
	const char *home; /* of --home: HOME names it, and it may be written; or NULL */
	bool is_root;	  /* root starts it */
	const char
		*out_directory; /* changes of the working directory are written here; NULL: none */
	const char *out_work;	/* an empty directory beside it: workdir= of overlayfs */
	/* Paths that no policy opens; NULL: none, in tests of other parts. */
	const struct guarded_list *guarded;
	/* Paths that options and the working directory do not show unless they name them; NULL:
	 * none. */
	const struct credential_list *credentials;
	const char *project_real; /* the project without links, where that is another path */

	const struct request_path *paths;
	size_t n_paths;
	const struct request_variable *variables;
	size_t n_variables;
	const struct request_secret *secrets;
	size_t n_secrets;
	const struct request_port *ports; /* of the host's loopback */
	size_t n_ports;
	const char *const *devices;
	size_t n_devices;
	const int *fds; /* that the command inherits, beside 0 to 2 */
	size_t n_fds;
	uint16_t proxy_port;	  /* inside, for net mode proxy; 0: 8080 */
	bool has_listener_socket; /* a proxy takes the listeners of net mode proxy */
	struct request_limit limits[N_LIMITS];
};
