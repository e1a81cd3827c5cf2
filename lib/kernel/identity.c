/* SPDX-License-Identifier: MIT */

/*
 * The uid and gid of the sandbox, inside and outside
 *
 * The user namespace maps one uid and one gid to themselves and nothing else, so no process inside
 * can use another id. It is owned by the effective uid of the process that creates it: the ordinary
 * user, or the command's user, whose ids root's supervisor takes during clone3(). In both cases PID
 * 1 writes the map as the owner, which needs no privilege outside.
 *
 * After identity_set() none of the real, effective and saved ids is root's; they cannot be restored
 * because they are not mapped in the namespace.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

static int write_own(const struct kernel *kernel, const char *name, const char *text)
{
	char path[64];
	_cleanup_close_ int fd = -EBADF;

	(void)snprintf(path, sizeof(path), "%sself/%s", kernel->proc_fd < 0 ? "/proc/" : "", name);
	fd = openat(kernel->proc_fd < 0 ? AT_FDCWD : kernel->proc_fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The kernel accepts a map only in one write(). */
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_map(const struct kernel *kernel, const char *name, uint64_t id)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "%llu %llu 1\n", (unsigned long long)id,
		       (unsigned long long)id);
	return write_own(kernel, name, line);
}

static int write_maps(struct kernel *kernel, const struct step *step)
{
	/* Before gid_map, which an unprivileged process may write only then. It also denies
	 * setgroups() inside, which could drop a group that is used to deny access. */
	int r = write_own(kernel, "setgroups", "deny");

	if (r < 0)
		return r;
	r = write_map(kernel, "uid_map", step->id_map.uid);
	return r < 0 ? r : write_map(kernel, "gid_map", step->id_map.gid);
}

int identity_map(struct kernel *kernel, const struct step *step, size_t number)
{
	int r;

	/* After a change of ids the process is not dumpable, and files in /proc/self belong to
	 * root. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	r = write_maps(kernel, step);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 && r == 0)
		r = -errno;
	return r;
}

static int verify(const struct kernel *kernel, uid_t uid, gid_t gid)
{
	uid_t uids[3];
	gid_t gids[3];

	if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 ||
	    getresgid(&gids[0], &gids[1], &gids[2]) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (uids[i] != uid || gids[i] != gid)
			return -EPERM;
	/* An unprivileged user keeps supplementary groups: setgroups() is denied, and they are
	 * unmapped inside. After switching ids as root none may remain. */
	if ((uid != kernel->uid || gid != kernel->gid) && getgroups(0, NULL) != 0)
		return -EPERM;
	return 0;
}

int identity_set(struct kernel *kernel, const struct step *step, size_t number)
{
	uid_t uid = step->identity.uid;
	gid_t gid = step->identity.gid;

	/* -1 means "do not change" for setresuid(). */
	if (uid == (uid_t)-1 || gid == (gid_t)-1)
		return -EINVAL;
	/* EPERM: setgroups() is denied in the namespace. The remaining groups are checked below. */
	if (setgroups(0, NULL) < 0 && errno != EPERM)
		return -errno;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return verify(kernel, uid, gid);
}

static void free_set(cap_t *set)
{
	if (*set)
		(void)cap_free(*set);
}

/* Restores the effective set, which setresuid() cleared, from the permitted one. */
static int keep_capabilities(void)
{
	_cleanup_(free_set) cap_t set = cap_get_proc();

	if (!set || cap_fill(set, CAP_EFFECTIVE, CAP_PERMITTED) < 0 || cap_set_proc(set) < 0)
		return -errno;
	return 0;
}

int identity_borrow(uid_t uid, gid_t gid)
{
	uid_t own_uid = geteuid();
	gid_t own_gid = getegid();
	int r = 0;

	if (uid == 0 || gid == 0 || uid == (uid_t)-1 || gid == (gid_t)-1)
		return -EINVAL;
	/* The uid last: without effective uid 0 the process lacks CAP_SETGID until
	 * keep_capabilities(). */
	if (setgroups(0, NULL) < 0)
		return -errno;
	if (setresgid((gid_t)-1, gid, (gid_t)-1) < 0 || setresuid((uid_t)-1, uid, (uid_t)-1) < 0)
		r = -errno;
	else if (geteuid() != uid || getegid() != gid || getgroups(0, NULL) != 0)
		r = -EPERM;
	else
		r = keep_capabilities();
	if (r < 0)
		(void)identity_return(own_uid, own_gid);
	return r;
}

int identity_return(uid_t uid, gid_t gid)
{
	/* The uid first: with effective uid 0 the process has CAP_SETGID again. */
	if (setresuid((uid_t)-1, uid, (uid_t)-1) < 0 || setresgid((gid_t)-1, gid, (gid_t)-1) < 0)
		return -errno;
	return geteuid() == uid && getegid() == gid ? 0 : -EPERM;
}
