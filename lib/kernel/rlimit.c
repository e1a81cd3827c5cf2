/* SPDX-License-Identifier: MIT */

/*
 * Hard and soft rlimits, which all descendants inherit. No process inside can raise them: that
 * needs CAP_SYS_RESOURCE in the initial user namespace.
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
	/* A lower hard limit of the caller cannot be raised and stays. */
	if (getrlimit(resource, &old) < 0)
		return -errno;
	if (old.rlim_max >= limit.rlim_max)
		return -EPERM;
	limit = (struct rlimit){ .rlim_cur = old.rlim_max, .rlim_max = old.rlim_max };
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}
