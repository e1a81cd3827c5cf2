/* SPDX-License-Identifier: MIT */

/*
 * Drops all capabilities from all sets for good
 *
 * Until here PID 1 has all capabilities in its user namespace, which it needs to mount. Afterwards
 * every set is empty, including the bounding set, so that no file capability can restore one; uid 0
 * has no privileges (SECBIT_NOROOT, locked); and execve() grants no privileges (no_new_privs).
 */

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include <linux/securebits.h>

#include "kernel/kernel-internal.h"

#include "kernel/fault.h"

/* SECBIT_KEEP_CAPS is not locked: it keeps only what there is, and setpriv(1) sets it first. */
#define SECURE_BITS                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                             \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static void free_set(cap_t *set)
{
	if (*set)
		(void)cap_free(*set);
}
#define _cleanup_set_ _cleanup_(free_set)

/*
 * Up to the first number that the kernel refuses, so that capabilities newer than libcap are
 * dropped, too. Successful prctl() calls are not verified again, which would double the number of
 * calls.
 */
static int empty_bounding_set(void)
{
	for (cap_value_t value = 0;; value++)
		if (cap_drop_bound(value) < 0)
			return errno == EINVAL && value > 0 ? 0 : -errno;
}

/* These three calls need CAP_SETPCAP, so they precede the call that drops it. */
static int close_ways_back(void)
{
	int r = empty_bounding_set();

	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    cap_set_secbits(SECURE_BITS) < 0)
		return -errno;
	return 0;
}

static int verify(void)
{
	_cleanup_set_ cap_t none = cap_init();
	_cleanup_set_ cap_t left = cap_get_proc();

	if (!none || !left)
		return -errno;
	/* The kernel keeps the ambient set within the inheritable one, so it is empty, too. */
	if (cap_compare(none, left) != 0)
		return -EPERM;
	return 0;
}

/* In the tier reduced an ordinary user has no capabilities to drop, and may not change the bounding
 * set. no_new_privs prevents file capabilities from granting what it contains. */
static bool has_nothing_to_drop(const struct kernel *kernel, int code)
{
	return code == -EPERM && kernel->plan && kernel->plan->tier == TIER_REDUCED &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int capabilities_drop(struct kernel *kernel, const struct step *step, size_t number)
{
	_cleanup_set_ cap_t none = cap_init();
	int r = close_ways_back();

	if (r < 0 && !has_nothing_to_drop(kernel, r))
		return r;
	if (!none || cap_set_proc(none) < 0)
		return -errno;
	return verify();
}

int capabilities_lock(struct kernel *kernel, const struct step *step, size_t number)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}
