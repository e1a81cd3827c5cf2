/* SPDX-License-Identifier: MIT */

/*
 * The mounts of a policy: its settings "mounts[N].KEY", read as one, and what no sandbox can have
 */

#include "policy/compose.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/unseen.h"
#include "policy/model.h"

static const struct {
	const char *name;
	bool has_source;
} mount_modes[] = {
	[MOUNT_READ_ONLY] = { "ro", true }, [MOUNT_READ_WRITE] = { "rw", true },
	[MOUNT_TMPFS] = { "tmpfs", false }, [MOUNT_OVERLAY] = { "overlay", true },
	[MOUNT_MASK] = { "mask", false },
};

static const struct setting *item(const struct policy *policy, size_t i, const char *key)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "mounts[%zu].%s", i, key);
	return policy_get_setting(policy, path);
}

bool policy_get_mount(const struct policy *policy, size_t i, struct policy_mount *ret)
{
	const struct setting *source = item(policy, i, "source"), *mode = item(policy, i, "mode");
	const struct setting *size = item(policy, i, "size"),
			     *optional = item(policy, i, "optional");

	*ret = (struct policy_mount){
		.target = item(policy, i, "target"),
		.source = source ? source->text : NULL,
		.size_bytes = size ? size->number : 0,
		.is_optional = optional && optional->number,
	};
	for (unsigned k = 0; mode && k < N_ELEMENTS(mount_modes); k++)
		if (strcmp(mount_modes[k].name, mode->text) == 0)
			ret->mode = (enum mount_mode)k;
	return ret->target != NULL;
}

/* Which of two mounts at one target would be seen depends on an order that a policy does not have.
 */
static bool is_repeated(const struct policy *policy, size_t i, const char *target)
{
	struct policy_mount other;

	for (size_t k = 0; k < i && policy_get_mount(policy, k, &other); k++)
		if (strcmp(other.target->text, target) == 0)
			return true;
	return false;
}

const char *mount_refusal(const struct policy *policy, size_t i, const char **ret_fix)
{
	struct policy_mount mount;

	if (!policy_get_mount(policy, i, &mount))
		return NULL;
	*ret_fix = "name a directory below it";
	if (strcmp(mount.target->text, "/") == 0)
		return "its target is the root of the sandbox";
	*ret_fix = "remove 'source'";
	if (mount.source && !mount_modes[mount.mode].has_source)
		return "its mode has no source";
	*ret_fix = "name the directories that are needed, one by one";
	if (mount.source && strcmp(mount.source, "/") == 0)
		return "the processes and devices of the host would come with its source";
	*ret_fix = "mount at '/proc', or elsewhere";
	if (path_is_of_reader(mount.target->text))
		return "'/proc/self' means the process that reads it: here sbx-spawn, inside the "
		       "command";
	*ret_fix = "leave one of them out";
	return is_repeated(policy, i, mount.target->text)
		       ? "an earlier entry of 'mounts' has the same target"
		       : NULL;
}
