/* SPDX-License-Identifier: MIT */

/*
 * The names that mounts of the sandbox stand over, looked at from outside
 *
 * A name is lost in one of two ways, and each is told by somebody else. Removed, or another file
 * renamed over it: the kernel detaches the mount, and a poll() of the sandbox's mountinfo returns.
 * Renamed itself, or a folder on the way: the mount goes along, and dnotify sends SIGIO for the
 * folder that it was in. Both only say that something has changed; a statx() of each name then says
 * what stands there: a mount that was detached never comes back. dnotify also tells when a name
 * appears that must not: that is no reason to kill, since it can be put aside.
 *
 * inotify would tell the same by one fd, but closing it waits for a grace period of the kernel,
 * which is several times as long as a sandbox takes to start.
 */

#include "spawn/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/plan.h"
#include "spawn/watch-internal.h"

static int look(int folder, const char *name, struct statx *ret)
{
	/* A file system over a network is not asked: what we want to know is known here. */
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;

	return statx(folder, name, flags | (*name ? 0 : AT_EMPTY_PATH),
		     STATX_TYPE | STATX_INO | STATX_MNT_ID, ret) < 0
		       ? -errno
		       : 0;
}

static int look_first(int folder, const char *path, struct watched *name)
{
	struct statx status;
	int r = look(folder, path, &status);

	if (r < 0)
		return r;
	name->is_socket = S_ISSOCK(status.stx_mode);
	name->identity = (struct identity){
		.mount = status.stx_mnt_id,
		.inode = status.stx_ino,
		.major = status.stx_dev_major,
		.minor = status.stx_dev_minor,
	};
	return 0;
}

static bool is_in_place(const struct watch *watch, const struct watched *name)
{
	const struct identity *then = &name->identity;
	struct statx now;

	return look(watch->names[name->above].fd, name->name, &now) == 0 &&
	       now.stx_mnt_id == then->mount && now.stx_ino == then->inode &&
	       now.stx_dev_major == then->major && now.stx_dev_minor == then->minor &&
	       (!name->is_mount || (now.stx_attributes & STATX_ATTR_MOUNT_ROOT));
}

struct watch_loss watch_check(const struct watch *watch)
{
	for (size_t i = 0; watch->is_begun && i < watch->n; i++) {
		const struct watched *name = &watch->names[i];

		if (name->above != WATCH_NONE && !name->is_socket && !name->absent &&
		    !is_in_place(watch, name))
			return name->loss;
	}
	return (struct watch_loss){ .path = NULL };
}

const struct plan_absent *watch_find_appeared(const struct watch *watch, size_t *at)
{
	while (watch->is_begun && *at < watch->n) {
		const struct watched *name = &watch->names[(*at)++];
		struct statx status;

		if (name->absent &&
		    look(watch->names[name->above].fd, name->name, &status) != -ENOENT)
			return name->absent;
	}
	return NULL;
}

/* First it is watched, then looked at: what happens between the two is seen. */
static int open_folder(const struct watch *watch, struct watched *name, int root)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

	if (name->above == WATCH_NONE) {
		name->fd = path_open_beneath(root, name->path + 1, flags, 0);
		if (name->fd < 0)
			return name->fd;
	} else {
		name->fd = openat(watch->names[name->above].fd, name->name, flags);
		if (name->fd < 0)
			return -errno;
	}
	/* Renaming within a folder counts as both, too. */
	if (fcntl(name->fd, F_NOTIFY, DN_DELETE | DN_MULTISHOT | (name->is_bare ? DN_CREATE : 0)) <
	    0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	return look_first(name->fd, "", name);
}

static int begin_name(const struct watch *watch, struct watched *name, int root)
{
	if (name->absent)
		return 0;
	return name->is_above ? open_folder(watch, name, root)
			      : look_first(watch->names[name->above].fd, name->name, name);
}

static const struct {
	int code;
	const char *why;
	const char *fix;
} failures[] = {
	{ -EACCES, "its folder cannot be watched, because we may not read it",
	  "give yourself the right to read that folder (chmod u+r)" },
	{ -EOPNOTSUPP, "this kernel does not tell who renames it from outside (dnotify)",
	  "switch it on, as root: sysctl -w fs.dir-notify-enable=1" },
	{ -EMFILE, "we have too many files open", "raise the limit: ulimit -n" },
	{ -ENOMEM, "there is no memory left", "end something" },
};

static int refuse(const struct watch_loss *loss, int code, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot protect '%.300s'", loss->path);
	sbx_error_why(err, "somebody outside has changed it while the sandbox was built");
	sbx_error_fix(err, "start again");
	for (size_t i = 0; i < N_ELEMENTS(failures); i++) {
		if (failures[i].code != code)
			continue;
		sbx_error_why(err, "%s", failures[i].why);
		sbx_error_fix(err, "%s", failures[i].fix);
	}
	return code;
}

int watch_begin(struct watch *watch, int root, int mounts, struct sbx_error *err)
{
	struct pollfd seen = { .fd = mounts, .events = POLLPRI };
	struct watch_loss lost;

	watch->mounts.fd = mounts;
	watch->mounts.events = POLLPRI;
	/* It tells of what has happened since it was asked last, so of the building. */
	if (poll(&seen, 1, 0) < 0)
		return sbx_error_what(err, -errno, "cannot watch the sandbox's mounts");
	for (size_t i = 0; i < watch->n; i++) {
		int r = begin_name(watch, &watch->names[i], root);

		if (r < 0)
			return refuse(&watch->names[i].loss, r, err);
	}
	watch->is_begun = true;
	/* What was opened is what stands there, and what should be a mount is one. */
	lost = watch_check(watch);
	return lost.path ? refuse(&lost, -ESTALE, err) : 0;
}

/* The folder of @absent as our own mounts have it: in those inside, root may not make names. */
static int open_outside(const struct watch *watch, const struct watched *name)
{
	const struct identity *seen = &watch->names[name->above].identity;
	const char *source = name->absent->source;
	_cleanup_free_ char *folder = strndup(source, (size_t)(path_last(source) - source) - 1);
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -EBADF;
	struct statx status;
	int r;

	if (!folder || root < 0)
		return folder ? -errno : -ENOMEM;
	fd = path_open_beneath(root, folder + 1, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	r = look(fd, "", &status);
	if (r < 0)
		return r;
	if (status.stx_ino != seen->inode || status.stx_dev_major != seen->major ||
	    status.stx_dev_minor != seen->minor)
		return -ESTALE;
	return take_fd(&fd);
}

/* Nobody can know the new name before, and put something there. */
int watch_put_aside(const struct watch *watch, const struct plan_absent *absent, char *ret,
		    size_t size)
{
	const struct watched *name = watch->names;
	_cleanup_close_ int folder = -EBADF;
	char aside[NAME_MAX + 1];
	uint64_t number;
	int len;

	while (name->absent != absent)
		name++;
	folder = open_outside(watch, name);
	if (folder < 0)
		return folder;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	len = snprintf(aside, sizeof(aside), "%s.sbx-removed-%016" PRIx64, name->name, number);
	if (len < 0 || (size_t)len >= sizeof(aside))
		return -ENAMETOOLONG;
	if (renameat(folder, name->name, folder, aside) < 0)
		return -errno;
	(void)snprintf(ret, size, "%s", aside);
	return 0;
}

void watch_deinit(struct watch *watch)
{
	for (size_t i = 0; i < watch->n; i++) {
		close_fd(&watch->names[i].fd);
		free_ptr(&watch->names[i].path);
	}
	free_ptr(&watch->names);
	close_fd(&watch->mounts.fd);
	*watch = (struct watch)WATCH_INIT;
}
