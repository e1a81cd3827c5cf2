/* SPDX-License-Identifier: MIT */

/*
 * The model's own few functions: its names, its settings, its digest and its end
 *
 * Settings are sorted by path, so that one is found by halving, that the same settings in another
 * order are the same model, and that printing is a walk.
 */

#include "policy/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/digest.h"

_Static_assert(DIGEST_SIZE == sizeof(((struct policy *)NULL)->digest), "the digest's size");

static const char *const action_names[] = {
	[POLICY_PASS] = "pass", [POLICY_ALLOW] = "allow",
	[POLICY_WARN] = "warn", [POLICY_REVIEW] = "require_review",
	[POLICY_DENY] = "deny",
};

static const char *const key_names[N_MATCH_KEYS] = {
	[MATCH_PATH] = "path",	    [MATCH_HOST] = "host",   [MATCH_CIDR] = "cidr",
	[MATCH_PORT] = "ports",	    [MATCH_PROTO] = "proto", [MATCH_CALLER] = "caller",
	[MATCH_TAG] = "caller_tag", [MATCH_STATE] = "state", [MATCH_MODE] = "mode",
};

struct policy *policy_free(struct policy *policy)
{
	if (!policy)
		return NULL;
	arena_deinit(&policy->arena);
	free(policy);
	return NULL;
}

void policy_free_ptr(struct policy **policy)
{
	*policy = policy_free(*policy);
}

const char *policy_action_name(enum policy_action action)
{
	return action_names[action];
}

bool policy_action_find(const char *name, enum policy_action *ret)
{
	for (size_t i = 0; i < N_ELEMENTS(action_names); i++)
		if (strcmp(action_names[i], name) == 0) {
			*ret = (enum policy_action)i;
			return true;
		}
	return false;
}

const char *match_key_name(enum match_key key)
{
	return key_names[key];
}

/* The steps of a path end at these; they come before every letter, digit and '_' or '-'. */
static int rank(char c)
{
	return c == '\0' ? 0 : c == '[' ? 1 : c == '.' ? 2 : c == ']' ? 3 : (unsigned char)c + 4;
}

int policy_compare_paths(const char *a, const char *b)
{
	while (*a == *b && *a != '\0') {
		if (*a++ != *b++ || a[-1] != '[')
			continue;

		size_t n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");

		if (n_a != n_b)
			return n_a < n_b ? -1 : 1;
	}
	return rank(*a) - rank(*b);
}

const struct setting *policy_get_setting(const struct policy *policy, const char *path)
{
	size_t low = 0, high = policy->n_settings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = policy_compare_paths(path, policy->settings[middle].path);

		if (order == 0)
			return &policy->settings[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void add_u64(struct text *out, uint64_t value)
{
	for (unsigned shift = 0; shift < 64; shift += 8)
		text_add_char(out, (char)(value >> shift & 0xff));
}

int policy_make_digest(const struct policy *policy, uint8_t ret[32])
{
	_cleanup_text_ struct text all = TEXT_INIT;

	for (size_t i = 0; i < policy->n_sources; i++) {
		const struct policy_source *source = &policy->sources[i];
		uint64_t narrows = source->narrows ? UINT64_C(1) << 63 : 0;

		add_u64(&all, source->n_bytes | narrows);
		text_add_bytes(&all, source->bytes, source->n_bytes);
	}
	if (text_status(&all) < 0)
		return text_status(&all);
	digest_of(text_string(&all), all.len, ret);
	return 0;
}
