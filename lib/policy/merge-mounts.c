/* SPDX-License-Identifier: MIT */

/*
 * Mounts of layered files: a later file may leave mounts out, or make them less
 */

#include "policy/merge-internal.h"

#include <string.h>

#include <sbx/error.h>

#include "base/text.h"

struct mount {
	const struct setting *target;
	const char *source; /* "" where there is none */
	const char *mode;
	uint64_t size_bytes; /* 0: not said */
	bool optional;
};

static const struct setting *get(const struct policy *policy, size_t i, const char *key)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	text_addf(&path, "mounts[%zu].%s", i, key);
	return policy_get_setting(policy, text_string(&path));
}

static bool get_mount(const struct policy *policy, size_t i, struct mount *ret)
{
	const struct setting *source = get(policy, i, "source"), *mode = get(policy, i, "mode");
	const struct setting *size = get(policy, i, "size"), *optional = get(policy, i, "optional");

	*ret = (struct mount){
		.target = get(policy, i, "target"),
		.source = source ? source->text : "",
		.mode = mode ? mode->text : "ro",
		.size_bytes = size ? size->number : 0,
		.optional = optional && optional->number,
	};
	return ret->target != NULL;
}

static bool is_mode_narrower(const char *before, const char *after)
{
	return strcmp(before, after) == 0 || strcmp(after, "mask") == 0 ||
	       (strcmp(before, "rw") == 0 && strcmp(after, "ro") == 0);
}

static bool is_part(const struct mount *before, const struct mount *after)
{
	return strcmp(before->target->text, after->target->text) == 0 &&
	       strcmp(before->source, after->source) == 0 &&
	       is_mode_narrower(before->mode, after->mode) &&
	       (before->size_bytes == 0 ||
		(after->size_bytes > 0 && after->size_bytes <= before->size_bytes));
}

int merge_check_mounts(const struct policy *all, const struct policy *next, struct sbx_error *err)
{
	struct mount before, after;

	for (size_t i = 0; get_mount(next, i, &after); i++) {
		const struct setting *same = policy_get_setting(all, "mounts");
		bool found = false;

		for (size_t k = 0; get_mount(all, k, &before) && !found; k++) {
			found = is_part(&before, &after);
			if (strcmp(before.target->text, after.target->text) == 0)
				same = before.target;
		}
		if (!found)
			return merge_refuse(all, same, next, after.target, err);
	}
	return 0;
}
