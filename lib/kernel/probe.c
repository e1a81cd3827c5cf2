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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <linux/seccomp.h>

#include <sbx/error.h>

#include "base/cleanup.h"
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

char *probe_join(struct arena *arena, const char *folder, const char *name)
{
	size_t n = strlen(folder), size = n + 1 + strlen(name) + 1;
	char *path = arena_alloc(arena, size);

	if (path)
		(void)snprintf(path, size, "%s/%s", n == 1 ? "" : folder, name);
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
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot find the working directory");
		sbx_error_fix(err, "change to a directory that exists");
	}
	return r;
}

/* @project may contain links, or not exist. */
static int probe_project(struct place_search *search, const char *project, struct host *ret)
{
	struct host_path place;
	int r;

	if (!project || strcmp(project, ret->cwd) == 0)
		return probe_git(search, ret->cwd, ret);
	r = path_is_normal(project) ? probe_place(search, project, &place, NULL) : -ENOENT;
	if (r == 0 && place.kind == HOST_FOLDER)
		return probe_git(search, place.real, ret);
	return r == -ENOMEM ? r : 0;
}

static int probe_texts(struct place_search *search, const char *project, struct host *ret,
		       struct sbx_error *err)
{
	int r = find_loader(search, &ret->loader);

	if (r == 0)
		r = probe_project(search, project, ret);
	if (r == 0)
		r = probe_repositories(search, ret);
	if (r == 0)
		r = probe_cgroup(search->arena, ret);
	return r < 0 ? sbx_error_what(err, r, "cannot probe the host") : 0;
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
	if (r == 0)
		r = probe_places(&search, paths, &host, err);
	/*
	 * Links that are found from here on are not part of @paths: they are stored in a new list.
	 */
	search.n_room = search.n_links;
	if (r == 0)
		r = probe_texts(&search, project, &host, err);
	if (r == 0 && is_proc_covered())
		r = probe_try(arena, &host, err);
	if (r == 0)
		*ret = host;
	return r;
}

int host_probe_deeply(struct arena *arena, struct host *ret, struct sbx_error *err)
{
	struct host host;
	int r = host_probe(NULL, NULL, arena, &host, err);

	if (r == 0)
		r = probe_try(arena, &host, err);
	if (r == 0)
		*ret = host;
	return r;
}

void host_explain_userns(int code, struct sbx_error *err)
{
	_cleanup_close_ int sysctl = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	probe_explain_userns(sysctl, prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0, code, err);
}
