/* SPDX-License-Identifier: MIT */

/*
 * Loads the filter of the command as the last step before execve(), because it refuses most calls
 * of the other steps. All descendants inherit it; filters can be added but not removed.
 */

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* Linux 5.19. After the supervisor has received a notification, only fatal signals interrupt the
 * call, so it is not restarted: one execve() is one notification. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

static long load(const struct sock_fprog *filter, unsigned long flags)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);
}

static int load_and_listen(struct kernel *kernel)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = load(kernel->filter, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd < 0 && errno == EINVAL)
		fd = load(kernel->filter, flags);
	if (fd < 0)
		return -errno;
	kernel->notify_fd = (int)fd; /* close-on-exec, as every one is */
	return 0;
}

int seccomp_load(struct kernel *kernel, const struct step *step, size_t number)
{
	if (!kernel->filter)
		return -EINVAL;
	if (kernel->filter_notifies)
		return load_and_listen(kernel);
	return load(kernel->filter, 0) < 0 ? -errno : 0;
}
