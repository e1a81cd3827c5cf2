/* SPDX-License-Identifier: MIT */

/*
 * The table of step kinds
 */

#include "plan/plan.h"

static const struct step_row rows[N_STEP_KINDS] = {
	[STEP_CGROUP] = { "cgroup", STAGE_SUPERVISOR, LAYER_CGROUP, "cannot make the cgroup '%s'" },
	[STEP_CGROUP_LIMIT] = { "cgroup-limit", STAGE_SUPERVISOR, LAYER_CGROUP,
				"cannot set the cgroup's '%s'" },
	[STEP_SCOPE] = { "scope", STAGE_SUPERVISOR, LAYER_CGROUP, "cannot make the scope '%s'" },
	[STEP_SCOPE_LIMIT] = { "scope-limit", STAGE_SUPERVISOR, LAYER_CGROUP,
			       "cannot set the scope's '%s'" },
	[STEP_NAMESPACES] = { "namespaces", STAGE_SUPERVISOR, LAYER_USER,
			      "cannot make namespaces" },
	[STEP_ID_MAP] = { "id-map", STAGE_BUILD, LAYER_USER, "cannot map the command's user" },
	[STEP_ROOT] = { "root", STAGE_BUILD, LAYER_MOUNT, "cannot make the sandbox's file tree" },
	[STEP_BIND] = { "bind", STAGE_BUILD, LAYER_MOUNT, "cannot bind '%s' into the sandbox" },
	[STEP_TMPFS] = { "tmpfs", STAGE_BUILD, LAYER_MOUNT, "cannot make a fresh '%s'" },
	[STEP_OVERLAY] = { "overlay", STAGE_BUILD, LAYER_MOUNT, "cannot put an overlay on '%s'" },
	[STEP_MASK] = { "mask", STAGE_BUILD, LAYER_MOUNT, "cannot hide '%s'" },
	[STEP_LINK] = { "link", STAGE_BUILD, LAYER_MOUNT, "cannot make the link '%s'" },
	[STEP_FOLDER] = { "folder", STAGE_BUILD, LAYER_MOUNT, "cannot make the folder '%s'" },
	[STEP_FILE] = { "file", STAGE_BUILD, LAYER_MOUNT, "cannot copy a file to '%s'" },
	[STEP_PROC] = { "proc", STAGE_BUILD, LAYER_MOUNT, "cannot mount '%s'" },
	[STEP_PTS] = { "pts", STAGE_BUILD, LAYER_MOUNT, "cannot make terminals in '%s'" },
	[STEP_PIVOT] = { "pivot", STAGE_BUILD, LAYER_MOUNT, "cannot leave the host's file tree" },
	[STEP_SEAL] = { "seal", STAGE_BUILD, LAYER_MOUNT, "cannot make '%s' read-only" },
	[STEP_HOSTNAME] = { "hostname", STAGE_BUILD, LAYER_UTS, "cannot call the machine '%s'" },
	[STEP_LOOPBACK] = { "loopback", STAGE_BUILD, LAYER_NET, "cannot set the loopback up" },
	[STEP_LISTEN] = { "listen", STAGE_BUILD, LAYER_NET, "cannot listen inside for '%s'" },
	[STEP_RLIMIT] = { "rlimit", STAGE_CONFINE, 0, "cannot set the limit '%s'" },
	[STEP_IDENTITY] = { "identity", STAGE_CONFINE, 0, "cannot become the command's user" },
	[STEP_CAPABILITIES] = { "capabilities", STAGE_CONFINE, LAYER_CAPABILITIES,
				"cannot give up all capabilities" },
	[STEP_NO_NEW_PRIVILEGES] = { "no-new-privileges", STAGE_CONFINE, LAYER_CAPABILITIES,
				     "cannot give up new privileges" },
	[STEP_LANDLOCK] = { "landlock", STAGE_CONFINE, LAYER_LANDLOCK,
			    "cannot make Landlock's rules" },
	[STEP_LANDLOCK_PATH] = { "landlock-path", STAGE_CONFINE, LAYER_LANDLOCK,
				 "cannot make a Landlock rule for '%s'" },
	[STEP_LANDLOCK_PORT] = { "landlock-port", STAGE_CONFINE, LAYER_LANDLOCK,
				 "cannot make a Landlock rule for a port" },
	[STEP_LANDLOCK_ENFORCE] = { "landlock-enforce", STAGE_CONFINE, LAYER_LANDLOCK,
				    "cannot confine itself by Landlock" },
	[STEP_FOLDER_OF_COMMAND] = { "working-folder", STAGE_COMMAND, 0,
				     "cannot start the command in '%s'" },
	[STEP_TERMINAL] = { "terminal", STAGE_CONFINE, 0, "cannot make a terminal" },
	[STEP_SECCOMP] = { "seccomp", STAGE_COMMAND, LAYER_SECCOMP,
			   "cannot load the system call filter '%s'" },
	[STEP_EXEC] = { "exec", STAGE_COMMAND, 0, "cannot execute the command" },
};

const struct step_row *step_row(enum step_kind kind)
{
	return &rows[kind];
}
