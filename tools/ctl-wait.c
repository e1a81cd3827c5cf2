/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl wait: the end of a supervisor, seen through its pidfd
 *
 * A sandbox started by sbx-ctl keeps its status in its directory. Any other sandbox removes its
 * directory, and its status is returned to the parent of sbx-spawn; but since Linux 6.15 any
 * process can read it from a pidfd.
 */

#include "ctl.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/moment.h"
#include "base/process.h"

#include "tool.h"

/* struct pidfd_info of linux/pidfd.h, which the headers of the build may lack. */
struct pidfd_info_64 {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define PIDFD_GET_INFO_64 _IOWR(0xff, 11, struct pidfd_info_64)
#define PIDFD_INFO_EXIT_BIT (UINT64_C(1) << 3)

int wait_for_pidfd(int pidfd, uint64_t timeout_usec)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };
	uint64_t begin = moment_now(CLOCK_MONOTONIC);

	for (;;) {
		uint64_t passed = moment_now(CLOCK_MONOTONIC) - begin;
		uint64_t left = passed < timeout_usec ? timeout_usec - passed : 0;
		struct timespec rest = moment_timespec(left);
		int n = ppoll(&poll_fd, 1, timeout_usec == UINT64_MAX ? NULL : &rest, NULL);

		if (n >= 0)
			return n;
		if (errno != EINTR)
			return -errno;
	}
}

static int ask_kernel(int pidfd)
{
	struct pidfd_info_64 info = { .mask = PIDFD_INFO_EXIT_BIT };

	if (ioctl(pidfd, PIDFD_GET_INFO_64, &info) < 0)
		return errno == ESRCH ? -EAGAIN : -errno;
	if (!(info.mask & PIDFD_INFO_EXIT_BIT))
		return -EAGAIN;
	return process_status(info.exit_code);
}

/* The exit status that the kernel keeps for owners of a pidfd; -ENOTTY before Linux 6.15. */
static int status_of_pidfd(int pidfd)
{
	struct pollfd reaped = { .fd = pidfd, .events = 0 };
	int r = ask_kernel(pidfd);

	/* The kernel keeps it after the parent has reaped the process. */
	if (r == -EAGAIN && poll(&reaped, 1, 10 * 1000) == 1)
		r = ask_kernel(pidfd);
	return r;
}

static int wait_alive(struct ctl *ctl, const char *id, struct target *target, struct sbx_error *err)
{
	_cleanup_close_ int pidfd =
		process_open(target->entry.supervisor, target->entry.supervisor_start);
	int r = pidfd >= 0 ? wait_for_pidfd(pidfd, UINT64_MAX) : 0;

	if (r < 0)
		return ctl_fail(err, r, "wait for", id, NULL, NULL);
	r = ctl_read(ctl, id, target, NULL);
	if (r == 0 && target->entry.has_status)
		return target->entry.status;
	r = pidfd >= 0 ? status_of_pidfd(pidfd) : -ESRCH;
	if (r >= 0)
		return r;
	return ctl_fail(
		err, -ENODATA, "determine how the sandbox ended:", id,
		"its status was returned to the process that started it",
		"start it with 'sbx-ctl create' and 'sbx-ctl start', which keep the status");
}

int ctl_verb_wait(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	struct target target;
	const char *id = operands[0];
	int r = ctl_init(&ctl, context, err);

	if (r >= 0)
		r = ctl_read(&ctl, id, &target, err);
	if (r < 0)
		return r;
	/* A supervisor writes the status before it exits; "list" shows it as alive until then. */
	if (target.is_alive)
		return wait_alive(&ctl, id, &target, err);
	if (target.entry.has_status)
		return target.entry.status;
	if (target.entry.waits)
		return ctl_fail(err, -ESRCH, "wait for", id, "it was not started",
				"start it: sbx-ctl start ID");
	return ctl_fail(err, -ESRCH, "wait for", id, "its supervisor was killed",
			"clean up with 'sbx-ctl gc'");
}
