/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Facts about the host: which facilities it has, and the files at the paths that a plan asks about
 *
 * kernel/probe finds them by trying; a test writes them down. A plan is made from these facts
 * alone, so the same facts give the same plan.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum host_path_kind {
	HOST_MISSING,
	HOST_FILE,
	HOST_DIRECTORY,
	HOST_SOCKET,
	HOST_DEVICE,
	HOST_OTHER,
	HOST_LINK_REFUSED, /* a symbolic link on the way that root does not own: its owner could
			      make it lead anywhere */
	HOST_UNREACHABLE, /* a directory on the way that sbx-spawn may not search; uid: its owner */
};

/* One path that the plan has asked about. Links that root owns are followed, as /lib64 is. */
struct host_path {
	const char *path;
	enum host_path_kind kind;
	const char *real;     /* without links; where the path is missing: of what there is, and the
				 rest. The refused link for HOST_LINK_REFUSED */
	const char *leads_to; /* HOST_LINK_REFUSED: what the path is without links, which is among
				 the paths, too; NULL where nothing is there */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	uint64_t n_links;    /* names that a file has */
	uint64_t size_bytes; /* of a file */
};

/* A link that lies on the way to one of the paths: what has to be made again inside. */
struct host_link {
	const char *path;   /* "/lib64" */
	const char *target; /* "usr/lib64", as it is written */
};

/* Entries by which git takes a directory for a repository, or for a part of one. */
enum host_sign {
	HOST_HAS_GIT = 1,	/* ".git", whatever it is */
	HOST_IS_REPOSITORY = 2, /* HEAD, objects and refs */
	HOST_HAS_COMMONDIR = 4, /* HEAD and commondir */
};

struct host_top {
	const char *path; /* canonical */
	unsigned signs;	  /* enum host_sign */
};

enum host_controller {
	CONTROLLER_MEMORY = 1,
	CONTROLLER_CPU = 2,
	CONTROLLER_PIDS = 4,
};

struct host {
	uid_t uid;
	gid_t gid;
	bool is_root; /* with all capabilities of its user namespace */

	bool has_userns;	/* tried, not read from a sysctl */
	const char *userns_why; /* where it has not: why, and what to change */
	const char *userns_fix;
	bool has_proc;	  /* a /proc of its own can be mounted; not below a masked one */
	bool has_overlay; /* a user namespace may mount overlays */
	int landlock_abi; /* 0: no Landlock */
	bool has_seccomp;
	bool has_notify;     /* seccomp user notification with an fd to wait on */
	bool has_memfd_seal; /* MFD_NOEXEC_SEAL, from 6.3 on */

	const char *cgroup;   /* directory of a cgroup below which sbx may make others, or NULL */
	unsigned controllers; /* enum host_controller that its children can have */
	bool has_cgroup_kill;
	bool has_scope;		/* a service manager can make a scope for the sandbox */
	const char *cgroup_why; /* where cgroup is NULL or a controller is missing, for messages */
	uint64_t memory_bytes; /* of the machine; asked only where controllers has memory, else 0 */

	/* The uid and gid of the command, which /etc/passwd and /etc/group lack. */
	bool lacks_user;
	bool lacks_group;

	const char *cwd;    /* canonical */
	const char *loader; /* the program loader of the host's own programs, canonical; or NULL */
	const char *git_common; /* canonical common directory of the repository around the project,
				   where it is outside of the project (worktrees); or NULL */
	/* Paths from which git takes programs, in and around the directories whose ".git" a plan
	 * has asked about; each by its own name, also where it is missing. */
	const struct host_path *repository;
	size_t n_repository;
	struct host_top *tops; /* these directories */
	size_t n_tops;
	/* The directory for which this is unknown, why, and what to do; or NULL. */
	const char *git_unclear;
	const char *git_unclear_why;
	const char *git_unclear_fix;

	const struct host_path *paths; /* sorted by path */
	size_t n_paths;
	const struct host_link *links; /* sorted by path */
	size_t n_links;
};

/* Does its mode keep users out who are neither its owner nor in its group? */
bool host_path_is_closed(const struct host_path *facts);
/* NULL where the plan did not ask for it. */
const struct host_path *host_find_path(const struct host *host, const char *path);
