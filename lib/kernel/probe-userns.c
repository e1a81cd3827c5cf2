/* SPDX-License-Identifier: MIT */

/*
 * Why creating or using a user namespace was refused, and the fix
 *
 * The kernel returns EPERM for all causes, so the sysctls are read one by one, the most certain
 * cause first. The result is only used for the message after a refusal.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "kernel/probe-internal.h"

struct reason {
	const char *sysctl; /* below /proc/sys */
	bool is_zero;	    /* forbidden if the value is 0; else if it is not */
	const char *why;
	const char *fix;
};

static const struct reason reasons[] = {
	{ "user/max_user_namespaces", true,
	  "the limit of user namespaces is 0 (user.max_user_namespaces)",
	  "sudo sysctl -w user.max_user_namespaces=10000" },
	{ "kernel/unprivileged_userns_clone", true,
	  "only root may create user namespaces (kernel.unprivileged_userns_clone is 0)",
	  "sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "kernel/apparmor_restrict_unprivileged_userns", false,
	  "AppArmor restricts user namespaces of programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1, as in Ubuntu)",
	  "sudo cp /usr/share/sbx/apparmor/sbx-spawn /etc/apparmor.d/ && sudo apparmor_parser -r "
	  "/etc/apparmor.d/sbx-spawn" },
};

static bool holds(int sysctl_fd, const struct reason *reason)
{
	char value[32];

	if (sysctl_fd < 0 || probe_read(sysctl_fd, reason->sysctl, value, sizeof(value)) <= 0)
		return false;
	return (strtol(value, NULL, 10) == 0) == reason->is_zero;
}

void probe_explain_userns(int sysctl_fd, bool is_filtered, int code, struct sbx_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
		if (holds(sysctl_fd, &reasons[i])) {
			sbx_error_why(err, "%s", reasons[i].why);
			sbx_error_fix(err, "%s", reasons[i].fix);
			return;
		}
	}
	if (code == -ENOSPC || code == -EUSERS) {
		sbx_error_why(
			err,
			"the limit of user namespaces is reached, or they are nested too deep (at most 32)");
		sbx_error_fix(err, "sudo sysctl -w user.max_user_namespaces=100000");
	} else if (code == -EINVAL || code == -ENOSYS) {
		sbx_error_why(
			err,
			"this kernel has no user namespaces, or lacks another kind of namespace");
		sbx_error_fix(err, "use a kernel with CONFIG_USER_NS, as distributions have");
	} else if (is_filtered) {
		sbx_error_why(
			err,
			"a seccomp filter of the caller refuses it, such as Docker's or a sandbox without 'nested'");
		sbx_error_fix(err, "docker run --security-opt seccomp=unconfined; in sbx, write "
				   "'isolation: {nested: true}' in the outer policy");
	} else {
		sbx_error_why(
			err,
			"the kernel refuses user namespaces: in a chroot, or by a security module");
		sbx_error_fix(err, "start it outside of the chroot; 'sudo dmesg' names a module "
				   "that refused");
	}
}
