/* SPDX-License-Identifier: MIT */

/*
 * /dev: a folder of our own with the few devices that programs need, and those that are named
 *
 * Nothing of the host's /dev is there but what stands in the table under a name that was given.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"

enum device_flag {
	DEVICE_BASIC = 1 << 0, /* there by default */
	DEVICE_HARDWARE =
		1 << 1, /* the host is asked; at least one path of its name must be there */
};

static const struct device {
	const char *name;
	unsigned flags;
	enum content content;
	const char *paths[12];
} devices[] = {
	{ "null", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/null" } },
	{ "zero", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/zero" } },
	{ "full", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/full" } },
	{ "random", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/random" } },
	{ "urandom", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/urandom" } },
	{ "tty", DEVICE_BASIC, CONTENT_DEVICE, { "/dev/tty" } },
	{ "pts", DEVICE_BASIC, CONTENT_PTS, { "/dev/pts" } },
	{ "shm", DEVICE_BASIC, CONTENT_TMPFS, { "/dev/shm" } },
	{ "dri", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/dri" } },
	{ "nvidia",
	  DEVICE_HARDWARE,
	  CONTENT_DEVICE,
	  { "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
	    "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3", "/dev/nvidia4",
	    "/dev/nvidia5", "/dev/nvidia6", "/dev/nvidia7" } },
	{ "kvm", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/kvm" } },
	{ "fuse", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/fuse" } },
	{ "tun", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/net/tun" } },
	{ "snd", DEVICE_HARDWARE, CONTENT_DEVICE, { "/dev/snd" } },
	{ "video",
	  DEVICE_HARDWARE,
	  CONTENT_DEVICE,
	  { "/dev/video0", "/dev/video1", "/dev/video2", "/dev/video3", "/dev/media0",
	    "/dev/media1" } },
};

static const struct {
	const char *path;
	const char *target;
} links[] = {
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
};

static void mark_link(struct planner *planner, const char *path, const char *target)
{
	struct mark *mark =
		planner_add_mark(planner, MARK_ALLOW, path, RIGHT_READ, origin_built_in);

	mark->content = CONTENT_LINK;
	mark->flags = MARK_OURS;
	mark->text = target;
}

static void mark_path(struct planner *planner, const struct device *device, const char *path,
		      struct step_origin origin)
{
	unsigned rights = RIGHTS_FILES | RIGHT_DEVICE;
	struct mark *mark;

	if (device->content == CONTENT_TMPFS)
		rights &= ~(unsigned)RIGHT_DEVICE;
	mark = planner_add_mark(planner, MARK_ALLOW, path, rights, origin);
	mark->content = device->content;
	mark->flags = device->flags & DEVICE_HARDWARE ? MARK_OPTIONAL : MARK_OURS;
	mark->value = device->content == CONTENT_TMPFS ? SHM_SIZE : 0;
	mark->second = 01777;
	if (device->content == CONTENT_PTS)
		mark_link(planner, "/dev/ptmx", "pts/ptmx");
}

/* Its driver is reached by ioctl(), which the filter of this tier does not let through. */
static int refuse_driver(struct planner *planner, const struct device *device,
			 const struct step_origin *origin)
{
	(void)sbx_error_what(planner->err, -EOPNOTSUPP,
			     "cannot provide the device '%s' in the reduced tier", device->name);
	sbx_error_why(planner->err,
		      "%s names it, and the reduced tier refuses ioctl requests to drivers",
		      origin_text(origin));
	sbx_error_fix(planner->err, "leave it out, or use a host with user namespaces");
	return -EOPNOTSUPP;
}

static int mark_device(struct planner *planner, const struct device *device,
		       struct step_origin origin)
{
	bool is_there = !planner->host || (device->flags & DEVICE_BASIC);

	if (planner->host && planner->plan->tier == TIER_REDUCED &&
	    (device->flags & DEVICE_HARDWARE))
		return refuse_driver(planner, device, &origin);
	for (size_t i = 0; i < N_ELEMENTS(device->paths) && device->paths[i]; i++) {
		const struct host_path *facts =
			is_there ? NULL : host_find_path(planner->host, device->paths[i]);

		mark_path(planner, device, device->paths[i], origin);
		is_there |= facts && (facts->kind == HOST_DEVICE || facts->kind == HOST_FOLDER);
	}
	if (is_there)
		return 0;
	(void)sbx_error_what(planner->err, -ENODEV, "there is no device '%s' here", device->name);
	sbx_error_why(planner->err, "%s names it, and '%s' does not exist", origin_text(&origin),
		      device->paths[0]);
	sbx_error_fix(planner->err, "load its driver (modprobe), or leave it out");
	return -ENODEV;
}

static int mark_name(struct planner *planner, const char *name, struct step_origin origin)
{
	for (size_t i = 0; i < N_ELEMENTS(devices); i++)
		if (strcmp(devices[i].name, name) == 0)
			return mark_device(planner, &devices[i], origin);
	(void)sbx_error_what(planner->err, -EINVAL, "there is no device called '%.100s'", name);
	sbx_error_why(planner->err, "the names are null, zero, full, random, urandom, tty, pts, "
				    "shm, dri, nvidia, kvm, fuse, tun, snd, video");
	sbx_error_fix(planner->err, "write one of them");
	return -EINVAL;
}

static int mark_listed(struct planner *planner)
{
	const struct setting *item;
	int r = 0;

	for (size_t i = 0; (item = planner_item(planner, "devices", i, "")) && r == 0; i++)
		r = mark_name(planner, item->text, origin_of_setting(planner, item));
	return r;
}

static int mark_basic(struct planner *planner)
{
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(devices) && r == 0; i++)
		if (devices[i].flags & DEVICE_BASIC)
			r = mark_device(planner, &devices[i], origin_built_in);
	return r;
}

int mark_devices(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct mark *folder = planner_add_mark(planner, MARK_ALLOW, "/dev",
					       RIGHTS_FILES | RIGHT_DEVICE, origin_built_in);
	int r;

	folder->content = CONTENT_FOLDER;
	folder->flags = MARK_OURS;
	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		mark_link(planner, links[i].path, links[i].target);
	if (planner_setting(planner, "devices"))
		r = mark_listed(planner);
	else
		r = mark_basic(planner);
	for (size_t i = 0; i < request->n_devices && r == 0; i++)
		r = mark_name(planner, request->devices[i], origin_of_option(planner, "--device"));
	if (r == 0 && request->pty)
		r = mark_name(planner, "pts", origin_of_option(planner, "--pty"));
	return r;
}
