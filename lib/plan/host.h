/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Facts about the host: its facilities, and the files at the paths that a plan asks about
 *
 * kernel/probe finds them by trying; tests write them down. A plan depends on these facts alone, so
 * the same facts give the same plan.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum host_path_kind {
	HOST_MISSING,
	HOST_FILE,
	HOST_DIRECTORY,
	HOST_SOCKET,
	HOST_DEVICE,
	HOST_OTHER,
	HOST_LINK_REFUSED, /* the path contains a symbolic link that root does not own: its owner
			      could retarget it at any time */
	HOST_UNREACHABLE,  /* the path contains a directory that sbx-spawn may not search; uid: its
			      owner */
};

/* One path that the plan has asked about. Links owned by root, such as /lib64, are followed. */
struct host_path {
	const char *path;
	enum host_path_kind kind;
	const char *real;     /* without links; for a missing path: the existing part, and the rest.
				 HOST_LINK_REFUSED: the refused link */
	const char *leads_to; /* HOST_LINK_REFUSED: the path without links, which is also in
				 host.paths; NULL if it does not exist */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	uint64_t n_links;    /* number of hard links */
	uint64_t size_bytes; /* of a file */
};

/* A symbolic link on the way to one of the paths, which must also exist inside. */
struct host_link {
	const char *path;   /* "/lib64" */
	const char *target; /* "usr/lib64", as stored in the link */
	size_t n_movable;   /* length of the longest part of the path that the command's user may
			       rename, the link or a directory around it; 0: none */
};

/* Entries by which git recognises a repository, or a part of one. */
enum host_sign {
	HOST_HAS_GIT = 1,	/* ".git" of any kind */
	HOST_IS_REPOSITORY = 2, /* HEAD, objects and refs */
	HOST_HAS_COMMONDIR = 4, /* HEAD and commondir */
};

struct host_top {
	const char *path; /* canonical */
	unsigned signs;	  /* enum host_sign */
};

/* A hard limit of the process that starts the sandbox, which no process inside can raise. */
struct host_rlimit {
	bool is_set;
	uint64_t most;
};

enum host_controller {
	CONTROLLER_MEMORY = 1,
	CONTROLLER_CPU = 2,
	CONTROLLER_PIDS = 4,
};

struct host {
	uid_t uid;
	gid_t gid;
	bool is_root; /* real or in its user namespace, with all capabilities */

	bool has_userns;	/* tested by clone(), not read from a sysctl */
	const char *userns_why; /* if has_userns is false: the reason, and the remedy */
	const char *userns_fix;
	bool has_proc; /* a new procfs can be mounted; the kernel refuses it if parts of the present
			  /proc are masked */
	bool has_overlay; /* overlayfs can be mounted in a user namespace */
	int landlock_abi; /* 0: no Landlock */
	bool has_seccomp;
	bool has_notify;     /* seccomp user notification with a pollable fd */
	bool has_memfd_seal; /* MFD_NOEXEC_SEAL (Linux 6.3) */

	const char *cgroup;   /* a cgroup directory in which sbx may create children, or NULL */
	unsigned controllers; /* enum host_controller that the children can have */
	bool has_cgroup_kill;
	bool owns_cgroup; /* the command could write to its current cgroup through a mount of its
			     own, or where that is cannot be seen */
	bool has_scope;	  /* a service manager can create a scope for the sandbox */
	const char *cgroup_why; /* why cgroup is NULL or a controller is missing */
	uint64_t memory_bytes;	/* RAM of the machine; 0 unless controllers has memory */
	struct host_rlimit rlimits[RLIM_NLIMITS];

	/* /etc/passwd or /etc/group lacks the command's uid or gid. */
	bool lacks_user;
	bool lacks_group;
	bool has_hosts; /* /etc/hosts is a readable file of a size that is copied */

	const char *cwd;	/* canonical */
	const char *loader;	/* the host programs' dynamic loader, canonical; or NULL */
	const char *git_common; /* canonical common directory of the repository around the project,
				   if it is outside of the project (worktrees); or NULL */
	/* Paths from which git takes programs, in and around the directories whose ".git" a plan
	 * has asked about; each by its own name, even if it is missing. */
	const struct host_path *repository;
	size_t n_repository;
	struct host_top *tops; /* the directories whose ".git" was asked about */
	size_t n_tops;
	/* The directory for which this could not be determined, the reason and the remedy; or
	 * NULL. */
	const char *git_unclear;
	const char *git_unclear_why;
	const char *git_unclear_fix;

	const struct host_path *paths; /* sorted by path */
	size_t n_paths;
	const struct host_link *links; /* sorted by path */
	size_t n_links;
};

/* Does the mode deny access to users that are neither the owner nor in the group? */
bool host_path_is_closed(const struct host_path *facts);
/* NULL if the plan has not asked about it. */
const struct host_path *host_find_path(const struct host *host, const char *path);
