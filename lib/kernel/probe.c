/* SPDX-License-Identifier: MIT */

/*
 * Facts that every start needs, with few system calls
 *
 * Where possible a feature is tested by a call that must fail: its errno shows whether the feature
 * exists, and nothing is created. Features that could only be tested by creating something (a
 * namespace, an overlay) are assumed to exist: without them the start fails closed, and probe-try.c
 * tests them.
 */

#include "kernel/probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "kernel/probe-internal.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* Linux 6.3 */
#endif

int probe_read(int dirfd, const char *path, char *ret, size_t size)
{
	_cleanup_close_ int fd =
		openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* One read() is sufficient: these files are small. */
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size);

	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -EFBIG;
	while (n > 0 && strchr(" \t\r\n", ret[n - 1]))
		n--;
	ret[n] = '\0';
	/* A NUL inside would truncate the string for the caller. */
	return strlen(ret) == (size_t)n ? (int)n : -EBADMSG;
}

char *probe_join(struct arena *arena, const char *directory, const char *name)
{
	size_t n = strlen(directory), size = n + 1 + strlen(name) + 1;
	char *path = arena_alloc(arena, size);

	if (path)
		(void)snprintf(path, size, "%s/%s", n == 1 ? "" : directory, name);
	return path;
}

static void free_set(cap_t *set)
{
	if (*set)
		(void)cap_free(*set);
}

/* The capabilities to change the uid and to create mounts before that. */
static bool is_root(uid_t uid)
{
	static const cap_value_t needed[] = { CAP_SETUID, CAP_SETGID, CAP_SYS_ADMIN };
	_cleanup_(free_set) cap_t set = uid == 0 ? cap_get_proc() : NULL;
	cap_flag_value_t value = CAP_CLEAR;

	for (size_t i = 0; set && i < N_ELEMENTS(needed); i++)
		if (cap_get_flag(set, needed[i], CAP_EFFECTIVE, &value) < 0 || value == CAP_CLEAR)
			return false;
	return set;
}

static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static void probe_filters(struct host *ret)
{
	struct seccomp_notif_sizes sizes;
	unsigned action = SECCOMP_RET_KILL_PROCESS;

	ret->has_notify = syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0;
	ret->has_seccomp =
		ret->has_notify || syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
	/* The kernel checks the flags before it reads the name, whose address is invalid. */
	ret->has_memfd_seal =
		syscall(SYS_memfd_create, NULL, MFD_NOEXEC_SEAL) < 0 && errno == EFAULT;
}

static void probe_rlimits(struct host *ret)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)i, &limit) == 0 &&
		    limit.rlim_max != RLIM_INFINITY)
			ret->rlimits[i] =
				(struct host_rlimit){ .is_set = true, .most = limit.rlim_max };
	}
}

/* The kernel refuses a new /proc in a user namespace if a mount covers a part of every visible one,
 * as container engines do. Nearly all of them cover /proc/sys. */
static bool is_proc_covered(void)
{
	struct statx status;

	if (statx(AT_FDCWD, "/proc/sys", AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &status) < 0)
		return true;
	return status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* The loader of this process, from its own program headers. NULL if it is linked statically. */
static const char *own_loader(void)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	uintptr_t base = 0;

	for (size_t i = 0; headers && i < n; i++)
		if (headers[i].p_type == PT_PHDR)
			base = (uintptr_t)headers - headers[i].p_vaddr;
	for (size_t i = 0; headers && i < n; i++)
		if (headers[i].p_type == PT_INTERP)
			return (const char *)(base + headers[i].p_vaddr);
	return NULL;
}

/* The usual loader of the host's programs, for a statically linked sbx-spawn. */
static const char usual_loader[] =
#if defined(__x86_64__)
	"/lib64/ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
	"/lib/ld-linux-aarch64.so.1";
#else
	"/lib/ld.so.1";
#endif

static int find_loader(struct place_search *search, const char **ret)
{
	const char *path = own_loader();
	struct host_path place;
	int r = probe_place(search, path ? path : usual_loader, &place, NULL);

	*ret = r == 0 && place.kind == HOST_FILE ? place.real : NULL;
	return r == -ENOMEM ? r : 0;
}

static int find_cwd(struct arena *arena, const char **ret, struct sbx_error *err)
{
	char path[PATH_MAX];
	int r = getcwd(path, sizeof(path)) ? 0 : -errno;

	/* A path outside of the root directory is not absolute. */
	if (r == 0 && !path_is_normal(path))
		r = -ENOENT;
	*ret = r == 0 ? arena_copy(arena, path, strlen(path)) : NULL;
	if (r == 0 && !*ret)
		r = -ENOMEM;
	return r < 0 ? error_fill(err, r, NULL, "change to a directory that exists",
				  "cannot find the working directory")
		     : r;
}

/* @project may contain links, or not exist. */
static int probe_project(struct place_search *search, const char *project, struct host *ret)
{
	struct host_path place;
	int r;

	if (!project || strcmp(project, ret->cwd) == 0)
		return probe_git(search, ret->cwd, ret);
	r = path_is_normal(project) ? probe_place(search, project, &place, NULL) : -ENOENT;
	if (r == 0 && place.kind == HOST_DIRECTORY)
		return probe_git(search, place.real, ret);
	return r == -ENOMEM ? r : 0;
}

static int probe_texts(struct place_search *search, const char *project, struct host *ret)
{
	int r = find_loader(search, &ret->loader);

	if (r < 0)
		return r;
	r = probe_project(search, project, ret);
	if (r < 0)
		return r;
	r = probe_repositories(search, ret);
	return r < 0 ? r : probe_cgroup(search->arena, ret);
}

int host_probe(const char *const *paths, const char *project, struct arena *arena, struct host *ret,
	       struct sbx_error *err)
{
	struct place_search search = { .arena = arena, .has_root = -1 };
	struct host host = {
		.uid = geteuid(),
		.gid = getegid(),

		.has_userns = true,
		.has_proc = true,
		.has_overlay = true,
		.landlock_abi = landlock_abi(),
	};
	int r = find_cwd(arena, &host.cwd, err);

	host.is_root = is_root(host.uid);
	probe_filters(&host);
	probe_rlimits(&host);
	if (r < 0)
		return r;
	r = probe_places(&search, paths, &host, err);
	if (r < 0)
		return r;
	/*
	 * Links that are found from here on are not part of @paths: they are stored in a new list.
	 */
	search.links.n_room = search.links.n_rows;
	r = probe_texts(&search, project, &host);
	if (r < 0)
		return sbx_error_what(err, r, "cannot probe the host");
	if (is_proc_covered()) {
		r = probe_try(arena, &host, err);
		if (r < 0)
			return r;
	}
	*ret = host;
	return 0;
}

int host_probe_deeply(struct arena *arena, struct host *ret, struct sbx_error *err)
{
	struct host host;
	int r = host_probe(NULL, NULL, arena, &host, err);

	if (r < 0)
		return r;
	r = probe_try(arena, &host, err);
	if (r < 0)
		return r;
	*ret = host;
	return 0;
}

void host_explain_userns(int code, struct sbx_error *err)
{
	_cleanup_close_ int sysctl = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	/* IDs are mapped by files in it. */
	if (access("/proc/self", F_OK) < 0 && errno == ENOENT) {
		error_explain(err, "there is no /proc, by which a user namespace is set up",
			      "mount it: mount -t proc proc /proc");
		return;
	}
	probe_explain_userns(sysctl, prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0, code, err);
}

/*
 * Does the command's user have a line in /etc/passwd?
 *
 * getpwuid() would query all NSS services of the host; in a sandbox only the files are available.
 */

#define FILE_BYTES_MAX (64 * 1024)

/* The uid or gid is the third field. */
static bool is_of(const char *line, uint64_t number)
{
	const char *name_end = strchr(line, ':'),
		   *third = name_end ? strchr(name_end + 1, ':') : NULL;
	char *end;

	return third && third[1] >= '0' && third[1] <= '9' &&
	       strtoull(third + 1, &end, 10) == number && *end == ':';
}

/*
 * Does the file exist without a line for the number? A file that is too long counts as having one.
 */
static bool lacks(const char *path, uint64_t number)
{
	char text[FILE_BYTES_MAX], *next = text, *line;

	if (probe_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&next, "\n")))
		if (is_of(line, number))
			return false;
	return true;
}

void host_find_accounts(bool has_number, uid_t uid, gid_t gid, struct host *host)
{
	bool is_nobodys = !has_number && host->uid == 0;

	if (is_nobodys)
		/* (uid_t)-1 is not a valid uid. */
		uid = (uid_t)-1, gid = (gid_t)-1;
	else if (!has_number)
		uid = host->uid, gid = host->gid;
	host->lacks_user = lacks("/etc/passwd", uid);
	host->lacks_group = host->lacks_user && lacks("/etc/group", gid);
}

/* The copy is made by a step that follows no link, and is mounted over the file, which the kernel
 * refuses if that has no name: if it is itself such a copy, or a mounted file that was replaced.
 * Everyone can read the copy, but root's command is another user, who may not read every file of
 * root. */
void host_find_hosts(struct host *host)
{
	static const char path[] = "/etc/hosts";
	char text[FILE_BYTES_MAX];
	struct stat st;

	host->has_hosts = lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 0 &&
			  (host->uid != 0 || (st.st_mode & S_IROTH)) &&
			  probe_read(AT_FDCWD, path, text, sizeof(text)) >= 0;
}

/*
 * Why creating or using a user namespace was refused, and the fix
 *
 * The kernel returns EPERM for all causes, so the sysctls are read one by one, the most certain
 * cause first. The result is only used for the message after a refusal.
 */

struct reason {
	const char *sysctl; /* below /proc/sys */
	bool is_zero;	    /* forbidden if the value is 0; else if it is not */
	const char *why;
	const char *fix;
};

static const struct reason reasons[] = {
	{ "user/max_user_namespaces", true,
	  "the limit of user namespaces is 0 (user.max_user_namespaces)",
	  "sudo sysctl -w user.max_user_namespaces=10000" },
	{ "kernel/unprivileged_userns_clone", true,
	  "only root may create user namespaces (kernel.unprivileged_userns_clone is 0)",
	  "sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "kernel/apparmor_restrict_unprivileged_userns", false,
	  "AppArmor restricts user namespaces of programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1, as in Ubuntu)",
	  "sudo cp /usr/share/sbx/apparmor/sbx-spawn /etc/apparmor.d/ && sudo apparmor_parser -r "
	  "/etc/apparmor.d/sbx-spawn" },
};

static bool holds(int sysctl_fd, const struct reason *reason)
{
	char value[32];

	if (sysctl_fd < 0 || probe_read(sysctl_fd, reason->sysctl, value, sizeof(value)) <= 0)
		return false;
	return (strtol(value, NULL, 10) == 0) == reason->is_zero;
}

void probe_explain_userns(int sysctl_fd, bool is_filtered, int code, struct sbx_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
		if (holds(sysctl_fd, &reasons[i])) {
			error_explain(err, reasons[i].why, reasons[i].fix);
			return;
		}
	}
	if (code == -ENOSPC || code == -EUSERS)
		error_explain(
			err,
			"the limit of user namespaces is reached, or they are nested too deep (at most 32)",
			"sudo sysctl -w user.max_user_namespaces=100000");
	else if (code == -EINVAL || code == -ENOSYS)
		error_explain(
			err,
			"this kernel has no user namespaces, or lacks another kind of namespace",
			"use a kernel with CONFIG_USER_NS, as distributions have");
	else if (is_filtered)
		error_explain(
			err,
			"a seccomp filter of the caller refuses it, such as Docker's or a sandbox without 'nested'",
			"docker run --security-opt seccomp=unconfined; in sbx, write "
			"'isolation: {nested: true}' in the outer policy");
	else
		error_explain(
			err,
			"the kernel refuses user namespaces: in a chroot, or by a security module",
			"start it outside of the chroot; 'sudo dmesg' names a module that refused");
}
