/* SPDX-License-Identifier: MIT */

/*
 * Limits of a process, hard and soft, which all that it starts inherits. Nobody inside can raise
 * them: that takes a capability of the first user namespace.
 */

#include <errno.h>
#include <sys/resource.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

int rlimit_set(struct kernel *kernel, const struct step *step, size_t number)
{
	struct rlimit limit = { .rlim_cur = step->rlimit.limit, .rlim_max = step->rlimit.limit };
	struct rlimit old;
	__rlimit_resource_t resource = (__rlimit_resource_t)step->rlimit.resource;

	if (step->rlimit.resource < 0 || step->rlimit.resource >= RLIM_NLIMITS)
		return -EINVAL;
	if (setrlimit(resource, &limit) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	/* The one that we are under is lower already, and cannot be raised: it stays. */
	if (getrlimit(resource, &old) < 0)
		return -errno;
	if (old.rlim_max >= limit.rlim_max)
		return -EPERM;
	limit = (struct rlimit){ .rlim_cur = old.rlim_max, .rlim_max = old.rlim_max };
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}
