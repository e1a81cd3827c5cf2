/* SPDX-License-Identifier: MIT */

/*
 * The mounts over names of the host, watched from outside
 *
 * A denial or protection in a directory that is bound from outside is a mount over a name there,
 * and only a process outside can make the kernel detach it. poll() of the sandbox's mountinfo
 * reports that some mount has changed; statx() of each name then returns the ID of the mount there;
 * a detached mount does not come back. Names in a file system of the sandbox cannot be
 * changed from outside; but the command can rename its directories, so names are looked up from the
 * outermost bind mount, not from "/".
 */

#include "spawn/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "plan/plan.h"

/* Only in a bind mount can a process outside rename; an overlay has its own names. */
static bool is_from_outside(const struct step *step)
{
	return step->kind == STEP_BIND && step->bind.is_directory;
}

/* True if @carrier, also a bind mount, shows the same at the place of @step. */
static bool is_the_same(const struct step *step, const struct step *carrier)
{
	const struct step_bind *bind = &step->bind, *above = &carrier->bind;
	size_t n = strlen(above->source);

	if (step->kind != STEP_BIND || strncmp(bind->source, above->source, n) != 0 ||
	    strcmp(bind->source + n, bind->target + strlen(above->target)) != 0)
		return false;
	return (!bind->attributes.is_read_only || above->attributes.is_read_only) &&
	       (!bind->attributes.no_exec || above->attributes.no_exec);
}

/* The base of what @carrier carries. */
static size_t find_base(struct watch *watch, const struct plan *plan, const struct step *carrier)
{
	const struct step *base = carrier;
	size_t i = 0;

	while ((carrier = plan_find_carrier_of(plan, carrier)) && is_from_outside(carrier))
		base = carrier;
	while (i < watch->n_bases && watch->bases[i].step != base)
		i++;
	if (i == watch->n_bases)
		watch->bases[watch->n_bases++] = (struct watch_base){ base, -EBADF };
	return i;
}

int watch_read_plan(struct watch *watch, const struct plan *plan)
{
	watch->mounts = calloc(plan->n_steps + 1, sizeof(*watch->mounts));
	watch->bases = calloc(plan->n_steps + 1, sizeof(*watch->bases));
	if (!watch->mounts || !watch->bases)
		return -ENOMEM;
	watch->uid = plan->uid;
	watch->gid = plan->gid;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *step = &plan->steps[i];
		const struct step *carrier = plan_find_carrier_of(plan, step);

		/* A copy takes nothing away: losing it shows the host's file. */
		if (carrier && step->kind != STEP_FILE && is_from_outside(carrier) &&
		    !is_the_same(step, carrier))
			watch->mounts[watch->n++] = (struct watched){
				.step = step,
				.base = find_base(watch, plan, carrier),
			};
	}
	return 0;
}

/*
 * In an id-mapped mount, directories of root belong to the command's user and to no mapped group,
 * so even CAP_DAC_OVERRIDE does not open a closed one: the supervisor looks as the command's user
 * then.
 */
static int open_inside(const struct watch *watch, int directory, const char *path)
{
	int fd = path_open_beneath(directory, path, O_PATH | O_NOFOLLOW, 0);

	if (fd == -EACCES) {
		int former = setfsuid(watch->uid);

		fd = path_open_beneath(directory, path, O_PATH | O_NOFOLLOW, 0);
		(void)setfsuid((uid_t)former);
	}
	return fd;
}

/* The ID of the mount at the target of @mount. */
static int look(const struct watch *watch, const struct watched *mount, struct statx *ret)
{
	const struct watch_base *base = &watch->bases[mount->base];
	const char *path = step_target(mount->step) + strlen(step_target(base->step)) + 1;
	/* AT_STATX_DONT_SYNC: the mount ID is known without asking a network file system. */
	const int flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	_cleanup_close_ int fd = base->fd < 0 ? base->fd : open_inside(watch, base->fd, path);

	if (fd < 0)
		return fd;
	return statx(fd, "", flags, STATX_TYPE | STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

struct watch_loss watch_check(const struct watch *watch)
{
	for (size_t i = 0; watch->is_begun && i < watch->n; i++) {
		const struct watched *mount = &watch->mounts[i];
		struct statx now;

		if (look(watch, mount, &now) < 0 || now.stx_mnt_id != mount->mount ||
		    !(now.stx_attributes & STATX_ATTR_MOUNT_ROOT))
			return (struct watch_loss){ step_target(mount->step),
						    &mount->step->origin };
	}
	return (struct watch_loss){ .path = NULL };
}

static bool may_be_closed(const struct step *step)
{
	return (step->kind == STEP_MASK && step->mask.may_be_closed) ||
	       (step->kind == STEP_BIND && step->bind.may_be_closed);
}

/* Such a step is left out if the command cannot reach its name: a directory on the way, as the
 * sandbox's mounts show it, is not searchable for the command's user. */
static bool is_closed(const struct watch *watch, const struct step *step)
{
	const char *path = step_target(step) + 1;
	char directory[PATH_MAX];

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		_cleanup_close_ int fd = -EBADF;
		struct stat st;
		mode_t bit;

		memcpy(directory, path, (size_t)(at - path));
		directory[at - path] = '\0';
		fd = open_inside(watch, watch->root, directory);
		if (fd < 0 || fstat(fd, &st) < 0)
			return fd == -EACCES;
		bit = st.st_uid == watch->uid	? S_IXUSR
		      : st.st_gid == watch->gid ? S_IXGRP
						: S_IXOTH;
		if (!(st.st_mode & bit))
			return true;
	}
	return false;
}

static int refuse(const struct step *step, int code, struct sbx_error *err)
{
	return error_fill(err, code, "a process outside changed it while the sandbox was built",
			  "start again", "cannot protect '%.300s'", step_target(step));
}

int watch_begin(struct watch *watch, int root, int mountinfo, struct sbx_error *err)
{
	struct pollfd seen = { .fd = mountinfo, .events = POLLPRI };
	size_t n = 0;

	watch->root = root;
	watch->changes.fd = mountinfo;
	watch->changes.events = POLLPRI;
	/* poll() reports changes since the last read, so this discards those of the building. */
	if (poll(&seen, 1, 0) < 0)
		return sbx_error_what(err, -errno, "cannot watch the sandbox's mounts");
	for (size_t i = 0; i < watch->n_bases; i++)
		watch->bases[i].fd =
			open_inside(watch, root, step_target(watch->bases[i].step) + 1);
	for (size_t i = 0; i < watch->n; i++) {
		struct watched mount = watch->mounts[i];
		struct statx status;
		int r = look(watch, &mount, &status);

		if (r == 0 && !(status.stx_attributes & STATX_ATTR_MOUNT_ROOT))
			r = -ESTALE;
		if (r < 0 && may_be_closed(mount.step) && is_closed(watch, mount.step))
			continue;
		if (r < 0)
			return refuse(mount.step, r, err);
		mount.mount = status.stx_mnt_id;
		/* Not watched: a server may replace its socket. */
		if (!S_ISSOCK(status.stx_mode))
			watch->mounts[n++] = mount;
	}
	watch->n = n;
	watch->is_begun = true;
	return 0;
}

void watch_deinit(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_bases; i++)
		close_fd(&watch->bases[i].fd);
	free_ptr(&watch->bases);
	free_ptr(&watch->mounts);
	close_fd(&watch->root);
	close_fd(&watch->changes.fd);
	*watch = (struct watch)WATCH_INIT;
}
