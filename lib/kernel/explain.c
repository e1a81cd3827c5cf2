/* SPDX-License-Identifier: MIT */

/*
 * A failed step in words: what it was for, what its errno means just there, what to change
 *
 * The same errno means one thing for a bind and another for /proc, so the table is by both; the
 * first row that fits is taken. What stands in braces is a field of the step.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <sbx/error.h>

#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/probe.h"

#define ANY_STEP N_STEP_KINDS

struct meaning {
	enum step_kind kind;
	int code;
	bool is_owned; /* only for a bind with an owner */
	const char *why;
	const char *fix;
};

#define CHECK "'sbx-spawn --check' says what this host allows and what to change"

/* Without user namespaces the first steps fail in one way or another. */
static const struct {
	enum step_kind kind;
	int code;
} userns_failures[] = {
	{ STEP_NAMESPACES, EPERM },  { STEP_NAMESPACES, EACCES }, { STEP_NAMESPACES, ENOSPC },
	{ STEP_NAMESPACES, EUSERS }, { STEP_NAMESPACES, EINVAL }, { STEP_ID_MAP, EPERM },
	{ STEP_ID_MAP, EACCES },     { STEP_ROOT, EPERM },	  { STEP_ROOT, EACCES },
};

static const struct meaning meanings[] = {
	{ STEP_CGROUP, EEXIST, false, "'{path}' exists already: another sandbox has this name",
	  "choose another one with --id, or remove what is left with 'sbx-ctl gc'" },
	{ STEP_CGROUP, EACCES, false, "the folder above '{path}' is not ours",
	  "have the service manager hand a cgroup to this user (Delegate=yes), or " CHECK },
	{ STEP_CGROUP, EROFS, false, "the cgroup file system is mounted read-only", CHECK },
	{ STEP_CGROUP, EAGAIN, false, "there may be no more cgroups here (cgroup.max.descendants)",
	  "stop sandboxes that are not needed: 'sbx-ctl list' shows them" },
	{ STEP_CGROUP_LIMIT, ENOENT, false,
	  "cgroups here have no '{file}': its controller is not "
	  "handed down to them",
	  "hand the controller down (Delegate=yes), or accept limits that are not held: "
	  "--best-effort-limits" },
	{ STEP_CGROUP_LIMIT, EINVAL, false, "the kernel does not take '{value}' for '{file}'",
	  "change the limit" },
	{ STEP_CGROUP_LIMIT, ERANGE, false, "the kernel does not take '{value}' for '{file}'",
	  "change the limit" },
	{ STEP_CGROUP_LIMIT, EBUSY, false,
	  "processes run in the cgroup above, so it hands no "
	  "controller down",
	  "start sbx-spawn from a cgroup of its own, as a scope is: "
	  "systemd-run --user --scope sbx-spawn ..." },

	{ STEP_PIVOT, EINVAL, false,
	  "this system's root is no mount that can be exchanged, as in an initramfs or a chroot",
	  "start sbx-spawn where '/' is a mount of its own" },

	{ STEP_BIND, ENOENT, false, "'{source}' is gone since the plan was made",
	  "start again; if it may be missing, say 'optional: true' beside the path, or use "
	  "--optional-read" },
	{ STEP_BIND, ELOOP, false,
	  "there is a symbolic link on the way to '{source}' or to '{target}' that was not there "
	  "when the plan was made, and whoever made it could lead us anywhere",
	  "find out who changes that folder, and start again" },
	{ STEP_BIND, EACCES, false, "'{source}' lies in a folder that we may not search",
	  "change the folder's permissions, or leave the path out" },
	{ STEP_BIND, ENOTDIR, false,
	  "'{source}' and '{target}' are not both folders, or not any more", "start again" },
	{ STEP_BIND, EINVAL, true,
	  "the file system of '{source}' cannot show files under another owner",
	  "say --uid with the uid that owns it, or make it readable only" },
	{ STEP_BIND, EINVAL, false,
	  "'{source}' is of another kind than when the plan was made, or cannot be mounted elsewhere",
	  "start again, or name a folder in it or above it" },
	{ STEP_OVERLAY, ENOENT, false,
	  "'{source}', '{upper}' or '{work}' is gone since the plan was "
	  "made",
	  "start again" },
	{ STEP_OVERLAY, ELOOP, false,
	  "there is a symbolic link on the way to '{source}', '{upper}' or '{work}'",
	  "name the folder that it leads to" },
	{ STEP_OVERLAY, EXDEV, false,
	  "'{upper}' and '{work}' must lie in one folder and be no mounts, and '{target}' must "
	  "exist where it is not made",
	  "choose another folder with --out" },
	{ STEP_OVERLAY, EINVAL, false,
	  "the file systems of '{source}' and '{upper}' cannot be layers of an overlay",
	  "choose a folder on ext4, xfs or btrfs with --out" },
	{ STEP_OVERLAY, EROFS, false,
	  "the kernel cannot write to '{upper}' or '{work}', and would make it read-only",
	  "choose a folder with --out that you may write to, on a file system with room" },
	{ STEP_OVERLAY, EACCES, false,
	  "the command's user may not search a folder on the way to '{source}', '{upper}' or "
	  "'{work}'",
	  "change the folder's permissions, or choose another one with --out" },
	{ STEP_OVERLAY, ENODEV, false, "this kernel has no overlay file system",
	  "load it, as root: modprobe overlay" },
	{ STEP_MASK, ELOOP, false,
	  "there is a symbolic link on the way to '{target}' that was not there when the plan was "
	  "made, so something would be hidden in another place",
	  "find out who changes that folder, and start again" },
	{ STEP_MASK, EXDEV, false,
	  "'{target}' is gone since the plan was made, and could come back unhidden",
	  "start again" },
	{ STEP_MASK, ENOTDIR, false, "'{target}' was replaced since the plan was made",
	  "start again" },
	{ STEP_MASK, EACCES, false,
	  "it lies in a folder that the command's user may not search, so it cannot be reached there "
	  "either way",
	  "show the folders beside it instead of what is around both, or name the folder that is "
	  "closed" },
	{ STEP_FILE, ENOENT, false, "'{source}' is gone since the plan was made",
	  "put it back, or leave it out" },
	{ STEP_FILE, ELOOP, false, "there is a symbolic link on the way to '{source}'",
	  "name the file that it leads to" },
	{ STEP_FILE, EACCES, false, "we may not read '{source}'",
	  "change its permissions, or leave it out" },
	{ STEP_FILE, EINVAL, false, "'{source}' is no regular file", "name a file" },
	{ STEP_FILE, ENOSPC, false, "'{source}' is larger than the room for such copies",
	  "bind it read-only instead: --read" },
	{ STEP_PROC, EPERM, false,
	  "parts of this /proc are covered, as in an unprivileged container, and the kernel gives "
	  "a new one only to who sees the whole",
	  "start the container with an uncovered /proc (docker: --security-opt "
	  "systempaths=unconfined)" },
	{ STEP_LISTEN, EADDRINUSE, false, "the port is asked for twice", "name it once" },

	{ STEP_LANDLOCK, EOPNOTSUPP, false, "Landlock is switched off on this host",
	  "start the kernel with 'landlock' in its parameter lsm=" },
	{ STEP_LANDLOCK_PATH, ENOENT, false, "'{target}' is not there in the sandbox",
	  "start again" },
	{ STEP_LANDLOCK_ENFORCE, E2BIG, false,
	  "there are sixteen sandboxes around this one already", "nest fewer of them" },
	{ STEP_FOLDER_OF_COMMAND, ENOENT, false, "'{target}' is not there in the sandbox",
	  "grant it, as with --read, or start the command elsewhere with --cwd" },
	{ STEP_FOLDER_OF_COMMAND, ENOTDIR, false, "'{target}' is no folder",
	  "start the command elsewhere with --cwd" },
	{ STEP_FOLDER_OF_COMMAND, EACCES, false, "the command's user may not enter '{target}'",
	  "start the command elsewhere with --cwd, or choose its user with --uid" },
	{ STEP_SECCOMP, EINVAL, false,
	  "this kernel has no system call filters, or not what this one "
	  "needs",
	  CHECK },

	/* Steps that put something into the tree. */
	{ ANY_STEP, EXDEV, false,
	  "'{target}' does not exist in a folder that is bound from outside, and nothing is made "
	  "there",
	  "make it outside first, or choose another place" },
	{ ANY_STEP, ENOSYS, false,
	  "the system call is missing: the kernel is too old, or a filter around us hides it",
	  "use Linux 6.1 or newer, outside of a container that filters system calls; " CHECK },
	{ ANY_STEP, EPERM, false, "the kernel refuses it, or a filter around us", CHECK },
	{ ANY_STEP, ENOMEM, false, "there is no memory left", "end something, or raise a limit" },
	{ ANY_STEP, EMFILE, false, "we have too many files open", "raise the limit: ulimit -n" },
	{ ANY_STEP, ENFILE, false, "this host has too many files open", "end something" },
	{ ANY_STEP, ENOSPC, false,
	  "there is no room left, or the kernel's limit for such things is "
	  "reached (/proc/sys/user, fs.mount-max)",
	  CHECK },
};

/* The fields of the step in place of their names in braces. */
static void add(struct text *out, const char *format, const struct step *step)
{
	while (*format) {
		size_t n = strcspn(format, "{");
		const char *name = format + n + 1, *value;

		text_add_bytes(out, format, n);
		if (format[n] == '\0')
			return;
		n = strcspn(name, "}");
		value = step_string(step, name, n);
		text_add(out, value ? value : "");
		format = name + n + 1;
	}
}

/* "p.yaml:14 'runtime': "; what is built in goes without saying. */
static void add_origin(struct text *out, const struct step_origin *origin)
{
	if (origin->kind == ORIGIN_BUILT_IN || !origin->text)
		return;
	text_addf(out, "%s%s%s: ", origin->kind == ORIGIN_TEMPLATE ? "template '" : "",
		  origin->text, origin->kind == ORIGIN_TEMPLATE ? "'" : "");
}

static const struct meaning *find_meaning(const struct step *step, int code)
{
	for (size_t i = 0; i < N_ELEMENTS(meanings); i++) {
		const struct meaning *meaning = &meanings[i];

		if ((meaning->kind == step->kind || meaning->kind == ANY_STEP) &&
		    meaning->code == code && (!meaning->is_owned || step->bind.owner.is_set))
			return meaning;
	}
	return NULL;
}

static bool is_of_userns(const struct step *step, int code)
{
	for (size_t i = 0; i < N_ELEMENTS(userns_failures); i++)
		if (userns_failures[i].kind == step->kind && userns_failures[i].code == code)
			return true;
	return false;
}

static const char *text_of(const struct text *text)
{
	return text->failed || !text->data ? "" : text->data;
}

static void explain_step(const struct step *step, int code, struct sbx_error *err)
{
	const struct meaning *meaning = find_meaning(step, -code);
	_cleanup_text_ struct text what = TEXT_INIT;
	_cleanup_text_ struct text why = TEXT_INIT;
	_cleanup_text_ struct text fix = TEXT_INIT;

	add(&what, step_row(step->kind)->failing, step);
	(void)sbx_error_what(err, code, "%s", text_of(&what));
	if (is_of_userns(step, -code)) {
		host_explain_userns(code, err);
		return;
	}
	add_origin(&why, &step->origin);
	add(&why, meaning ? meaning->why : strerror(-code), step);
	sbx_error_why(err, "%s", text_of(&why));
	if (!meaning)
		return;
	add(&fix, meaning->fix, step);
	sbx_error_fix(err, "%s", text_of(&fix));
}

void kernel_explain(const struct plan *plan, const struct kernel_failure *failure,
		    struct sbx_error *err)
{
	/* It may have come from inside, so both numbers are only said to be what they should. */
	int code = failure->code < 0 && failure->code > -4096 ? failure->code : -EIO;

	if (failure->step < plan->n_steps)
		explain_step(&plan->steps[failure->step], code, err);
	else
		(void)sbx_error_what(err, code, "cannot build the sandbox");
}
