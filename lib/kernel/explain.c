/* SPDX-License-Identifier: MIT */

/*
 * The message about a failed step: what it was for, what its errno means there, what to change
 *
 * An errno means one thing for a bind and another for /proc, so rows have both; the first matching
 * row is used. A name in braces is replaced by that field of the step.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

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

/* Failures of the first steps if user namespaces are not available. */
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
	{ STEP_CGROUP, EACCES, false, "sbx-spawn may not write to the directory above '{path}'",
	  "let the service manager delegate a cgroup (Delegate=yes); " CHECK },
	{ STEP_CGROUP, EROFS, false, "the cgroup file system is mounted read-only", CHECK },
	{ STEP_CGROUP, EAGAIN, false,
	  "the number of cgroups here is limited (cgroup.max.descendants)",
	  "stop sandboxes ('sbx-ctl list' shows them)" },
	{ STEP_CGROUP_LIMIT, ENOENT, false,
	  "cgroups here have no '{file}': its controller is not enabled in cgroup.subtree_control",
	  "delegate the controller (Delegate=yes), or accept limits that are not enforced with --best-effort-limits" },
	{ STEP_CGROUP_LIMIT, EINVAL, false, "the kernel does not accept '{value}' for '{file}'",
	  "change the limit" },
	{ STEP_CGROUP_LIMIT, ERANGE, false, "the kernel does not accept '{value}' for '{file}'",
	  "change the limit" },
	{ STEP_CGROUP_LIMIT, EBUSY, false,
	  "the parent cgroup contains processes, so its controllers cannot be enabled for children",
	  "start sbx-spawn in its own cgroup: 'systemd-run --scope sbx-spawn ...' as root, with --user as another user" },

	{ STEP_PIVOT, EINVAL, false,
	  "'/' is not a mount point that pivot_root can exchange, as in an initramfs or a chroot",
	  "start sbx-spawn where '/' is a mount point" },

	{ STEP_BIND, ENOENT, false,
	  "'{source}' does not exist: it was removed after the plan was made, or it is a device that /dev lacks",
	  "start again, or create it; if it may be missing, write 'optional: true' beside the path, or use --optional-read" },
	{ STEP_BIND, ELOOP, false,
	  "a symbolic link appeared on the way to '{source}' or '{target}' after the plan was made, and could lead anywhere",
	  "find out which program changes that directory, and start again" },
	{ STEP_BIND, EACCES, false, "sbx-spawn may not search a directory on the way to '{source}'",
	  "change its permissions, or leave the path out" },
	{ STEP_BIND, ENOTDIR, false,
	  "one of '{source}' and '{target}' is a directory, the other is not", "start again" },
	{ STEP_BIND, EINVAL, true, "the file system of '{source}' does not support idmapped mounts",
	  "use --uid with the uid that owns it, or only --read" },
	{ STEP_BIND, EINVAL, false,
	  "'{source}' was replaced after the plan was made, or cannot be bind-mounted",
	  "start again, or name a directory in it or above it" },
	{ STEP_OVERLAY, ENOENT, false,
	  "'{source}', '{upper}' or '{work}' was removed after the plan was made", "start again" },
	{ STEP_OVERLAY, ELOOP, false,
	  "there is a symbolic link on the way to '{source}', '{upper}' or '{work}'",
	  "name the directory that it leads to" },
	{ STEP_OVERLAY, EXDEV, false,
	  "'{upper}' and '{work}' must be in one directory and not be mount points, and '{target}' must exist",
	  "choose another directory with --out" },
	{ STEP_OVERLAY, EINVAL, false,
	  "the file systems of '{source}' and '{upper}' cannot be layers of an overlay",
	  "choose a directory on ext4, xfs or btrfs with --out" },
	{ STEP_OVERLAY, EROFS, false, "the kernel cannot write to '{upper}' or '{work}'",
	  "choose a writable directory with --out, on a file system with free space" },
	{ STEP_OVERLAY, EACCES, false,
	  "the command's user may not search a directory on the way to '{source}', '{upper}' or '{work}'",
	  "change its permissions, or choose another directory with --out" },
	{ STEP_OVERLAY, ENODEV, false, "this kernel has no overlay file system",
	  "load it, as root: modprobe overlay" },
	{ STEP_MASK, ELOOP, false,
	  "a symbolic link appeared on the way to '{target}' after the plan was made, so the mask would cover another path",
	  "find out which program changes that directory, and start again" },
	{ STEP_MASK, EXDEV, false,
	  "'{target}' was removed after the plan was made, and could be created again without a mask",
	  "start again" },
	{ STEP_MASK, ENOTDIR, false, "'{target}' was replaced after the plan was made",
	  "start again" },
	{ STEP_MASK, EACCES, false,
	  "the command's user may not search the directory that contains '{target}'",
	  "show narrower directories, or deny the directory that may not be searched" },
	{ STEP_FILE, ENOENT, false, "'{source}' was removed after the plan was made",
	  "put it back, or leave it out" },
	{ STEP_FILE, ELOOP, false, "there is a symbolic link on the way to '{source}'",
	  "name the file that it leads to" },
	{ STEP_FILE, EACCES, false, "sbx-spawn may not read '{source}'",
	  "change its permissions, or leave it out" },
	{ STEP_FILE, EINVAL, false, "'{source}' is not a regular file", "name a file" },
	{ STEP_FILE, ENOSPC, false, "'{source}' is larger than the tmpfs for such copies",
	  "show it with --read instead" },
	{ STEP_PROC, EPERM, false,
	  "parts of this /proc are covered, as in an unprivileged container, and then the kernel refuses to mount a new one",
	  "start the container with an uncovered /proc (docker: --security-opt "
	  "systempaths=unconfined)" },
	{ STEP_LISTEN, EADDRINUSE, false, "the port is already in use in the sandbox",
	  "name each port once" },

	{ STEP_LANDLOCK, EOPNOTSUPP, false, "Landlock is disabled on this host",
	  "start the kernel with 'landlock' in its parameter lsm=" },
	{ STEP_LANDLOCK_PATH, ENOENT, false, "'{target}' does not exist in the sandbox",
	  "start again" },
	{ STEP_LANDLOCK_ENFORCE, E2BIG, false, "sixteen Landlock domains are nested already",
	  "nest fewer of them" },
	{ STEP_WORKING_DIRECTORY, ENOENT, false, "'{target}' does not exist in the sandbox",
	  "create it in what is mounted there, or start the command elsewhere with --cwd" },
	{ STEP_WORKING_DIRECTORY, ENOTDIR, false, "'{target}' is not a directory",
	  "start the command elsewhere with --cwd" },
	{ STEP_WORKING_DIRECTORY, EACCES, false, "the command's user may not enter '{target}'",
	  "start the command elsewhere with --cwd, or choose its user with --uid" },
	{ STEP_SECCOMP, EINVAL, false,
	  "this kernel has no seccomp filters, or lacks a feature that this filter needs", CHECK },

	{ STEP_NAMESPACES, EAGAIN, false, "the calling user or a cgroup may have no more processes",
	  "end some, or raise the limit: ulimit -u, or pids.max of the cgroup" },

	/* Steps that add to the file tree. */
	{ ANY_STEP, EXDEV, false,
	  "'{target}' does not exist in a directory of the host, and sbx-spawn creates nothing there",
	  "create it outside first, or choose another path" },
	{ ANY_STEP, ENOSYS, false,
	  "the system call is missing: the kernel is too old, or a seccomp filter of the caller hides it",
	  "use Linux 6.1 or newer, outside of a container that filters system calls; " CHECK },
	{ ANY_STEP, EPERM, false, "the kernel or a seccomp filter of the caller refuses it",
	  CHECK },
	{ ANY_STEP, ENOMEM, false, "there is no memory left", "free memory, or raise a limit" },
	{ ANY_STEP, EMFILE, false, "sbx-spawn has too many open files",
	  "raise the limit: ulimit -n" },
	{ ANY_STEP, ENFILE, false, "the host has too many open files",
	  "stop other programs, or raise the sysctl fs.file-max" },
	{ ANY_STEP, ENOSPC, false,
	  "there is no space left, or a limit of the kernel is reached (/proc/sys/user, fs.mount-max)",
	  CHECK },
};

/* Replaces names in braces by the fields of the step. */
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

/* "p.yaml:14 'runtime': "; nothing for built-in steps. */
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

/* The limit of the command's open files counts from its step on, so PID 1 may reach it before the
 * command runs. */
static const struct step *find_files_limit(const struct plan *plan, const struct step *before)
{
	const struct step *found = NULL;

	for (const struct step *step = plan->steps; step < before; step++)
		if (step->kind == STEP_RLIMIT && step->rlimit.resource == RLIMIT_NOFILE)
			found = step;
	return found;
}

static void explain_files(const struct step *limit, struct sbx_error *err)
{
	const char *from = limit->origin.kind == ORIGIN_ARGUMENT ? "--files" : "limits.files";

	sbx_error_why(err,
		      "the limit of %" PRIu64 " open files (%s) is reached before the command runs",
		      limit->rlimit.limit, limit->origin.text ? limit->origin.text : from);
	sbx_error_fix(err, "raise it with %s: sbx itself needs about 10", from);
}

static void explain_step(const struct plan *plan, const struct step *step, int code,
			 struct sbx_error *err)
{
	const struct step *files = code == -EMFILE ? find_files_limit(plan, step) : NULL;
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
	if (files) {
		explain_files(files, err);
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
	/* The sandbox may have sent both numbers, so check their ranges. */
	int code = failure->code < 0 && failure->code > -4096 ? failure->code : -EIO;

	if (failure->step < plan->n_steps)
		explain_step(plan, &plan->steps[failure->step], code, err);
	else
		(void)sbx_error_what(err, code, "cannot build the sandbox");
}
