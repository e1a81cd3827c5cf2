/* SPDX-License-Identifier: MIT */

/*
 * Facts that can only be determined by trying, in a child process
 *
 * The child takes the same steps as a sandbox (ids, namespaces, a file system, a new /proc,
 * Landlock, a filter), with the functions that build one, and writes each result into shared
 * memory. Steps that it did not reach count as failed.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "kernel/kernel-internal.h"
#include "kernel/mount.h"
#include "kernel/probe-internal.h"
#include "kernel/probe.h"

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)
#define UID_OF_NOBODY 65534

struct findings {
	int userns; /* 0 or negative errno */
	int scarce; /* negative errno: a step lacked resources, which says nothing about the host */
	bool has_proc;
	bool has_overlay;
	bool has_landlock;
	bool has_seccomp;
	bool has_notify;
};

/* Returns true if the step succeeded. */
static bool take_step(struct findings *findings, int r)
{
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EAGAIN)
		findings->scarce = r;
	return r >= 0;
}

/* Mounts in the child's own mount namespace, with /proc as the target. */
static int try_mounts(struct findings *findings)
{
	static const struct mount_option none[] = { { NULL, NULL } };
	static const struct mount_option layers[] = { { "lowerdir", "lower" },
						      { "upperdir", "upper" },
						      { "workdir", "work" },
						      { "userxattr", NULL },
						      { NULL, NULL } };
	_cleanup_close_ int proc = -EBADF, overlay = -EBADF, tmpfs = -EBADF;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	tmpfs = mount_make("tmpfs", none, 0);
	if (tmpfs < 0)
		return tmpfs;
	proc = mount_make("proc", none, 0);
	findings->has_proc = take_step(findings, proc);
	if (mount_attach(tmpfs, AT_FDCWD, "/proc") < 0 || fchdir(tmpfs) < 0)
		return -EPERM;
	if (mkdir("lower", 0700) < 0 || mkdir("upper", 0700) < 0 || mkdir("work", 0700) < 0)
		return -errno;
	overlay = mount_make("overlay", layers, 0);
	findings->has_overlay = take_step(findings, overlay);
	return 0;
}

/* Fds are not closed, because the child exits. */
static int try_landlock(void)
{
	const struct step ruleset = { .kind = STEP_LANDLOCK,
				      .landlock.file_rights = LANDLOCK_ACCESS_FS_MAKE_CHAR };
	struct kernel kernel = KERNEL_INIT;
	int r = landlock_create(&kernel, &ruleset, 0);

	return r < 0 ? r : landlock_enforce(&kernel, &ruleset, 0);
}

static int try_filter(bool notifies)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { .len = 1, .filter = &allow };
	const struct step load = { .kind = STEP_SECCOMP };
	struct kernel kernel = KERNEL_INIT;

	kernel.filter = &filter;
	kernel.filter_notifies = notifies;
	return seccomp_load(&kernel, &load, 0);
}

static int try_as_init(struct findings *findings)
{
	int r = try_mounts(findings);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	findings->has_landlock = take_step(findings, try_landlock());
	findings->has_notify = take_step(findings, try_filter(true));
	findings->has_seccomp = findings->has_notify || take_step(findings, try_filter(false));
	return r;
}

static int wait_for(pid_t child)
{
	pid_t r;

	do
		r = waitpid(child, NULL, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* Only a child of the process that calls unshare() is in the new PID namespace. */
static int try_in_child(struct findings *findings)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		findings->userns = try_as_init(findings);
		(void)syscall(SYS_exit_group, 0);
	}
	return wait_for(child);
}

/* With AppArmor's restriction the namespace can be created, but mounting in it fails. */
static int try_tmpfs(void)
{
	static const struct mount_option none[] = { { NULL, NULL } };
	_cleanup_close_ int fd = mount_make("tmpfs", none, 0);

	return fd < 0 ? fd : 0;
}

static int try_namespaces(const struct host *host, bool all, struct findings *findings)
{
	const struct step map = {
		.kind = STEP_ID_MAP,
		.id_map.uid = host->is_root ? UID_OF_NOBODY : host->uid,
		.id_map.gid = host->is_root ? UID_OF_NOBODY : host->gid,
	};
	struct kernel kernel = KERNEL_INIT;
	int r = host->is_root ? identity_borrow(map.id_map.uid, map.id_map.gid) : 0;

	if (r < 0)
		return r;
	if (unshare(all ? NAMESPACES : CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	r = identity_map(&kernel, &map, 0);
	if (r < 0)
		return r;
	findings->userns = r = try_tmpfs();
	return r < 0 || !all ? r : try_in_child(findings);
}

static int explain(struct arena *arena, int code, struct host *ret)
{
	struct sbx_error err = { .code = code };

	host_explain_userns(code, &err);
	ret->userns_why = arena_copy(arena, err.why, strlen(err.why));
	ret->userns_fix = arena_copy(arena, err.fix, strlen(err.fix));
	return ret->userns_why && ret->userns_fix ? 0 : -ENOMEM;
}

/* Creates a child cgroup to see which files those of sandboxes will have. */
static void try_cgroup(struct host *ret)
{
	_cleanup_close_ int parent = -EBADF;
	char name[32], path[64];

	if (!ret->cgroup)
		return;
	(void)snprintf(name, sizeof(name), "sbx-check-%d", (int)getpid());
	(void)snprintf(path, sizeof(path), "%s/cgroup.kill", name);
	parent = open(ret->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || mkdirat(parent, name, 0700) < 0) {
		ret->cgroup = NULL;
		ret->controllers = 0;
		ret->has_cgroup_kill = false;
		ret->cgroup_why = "sbx cannot create a child of its current cgroup";
		return;
	}
	ret->has_cgroup_kill = faccessat(parent, path, F_OK, 0) == 0;
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static int try_in_fork(const struct host *host, bool all, struct findings *findings)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		int r = try_namespaces(host, all, findings);

		if (r < 0)
			findings->userns = r;
		(void)syscall(SYS_exit_group, 0);
	}
	return wait_for(child);
}

static int take_userns(struct arena *arena, const struct findings *findings, struct host *ret)
{
	ret->has_userns = findings->userns == 0;
	return ret->has_userns ? 0 : explain(arena, findings->userns, ret);
}

static int take_all(struct arena *arena, const struct findings *findings, struct host *ret)
{
	int r = take_userns(arena, findings, ret);

	ret->has_proc = findings->has_proc;
	ret->has_overlay = findings->has_overlay;
	/* Without a user namespace the child does not reach these steps; keep the results of
	 * host_probe(). */
	if (ret->has_userns) {
		ret->landlock_abi = findings->has_landlock ? ret->landlock_abi : 0;
		ret->has_seccomp = findings->has_seccomp;
		ret->has_notify = findings->has_notify;
	}
	try_cgroup(ret);
	return r;
}

static int try_and_take(struct arena *arena, bool all, struct host *ret, struct sbx_error *err)
{
	static const char what[] = "cannot probe what this host supports";
	struct findings *findings = mmap(NULL, sizeof(*findings), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	if (findings == MAP_FAILED)
		return sbx_error_what(err, -errno, what);
	findings->userns = -ECHILD;
	r = try_in_fork(ret, all, findings);
	if (r == 0) {
		(void)take_step(findings, findings->userns);
		r = findings->scarce;
	}
	if (r == 0)
		r = (all ? take_all : take_userns)(arena, findings, ret);
	(void)munmap(findings, sizeof(*findings));
	return r < 0 ? sbx_error_what(err, r, what) : 0;
}

int probe_try(struct arena *arena, struct host *ret, struct sbx_error *err)
{
	return try_and_take(arena, true, ret, err);
}

int host_try_userns(struct arena *arena, struct host *host, struct sbx_error *err)
{
	return try_and_take(arena, false, host, err);
}
