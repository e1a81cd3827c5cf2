/* SPDX-License-Identifier: MIT */

/*
 * The bytes are loaded as a policy. A valid one is the same after printing in both syntaxes, can be
 * checked for warnings, and narrows itself; an invalid one gives mistakes with a place, a reason
 * and a fix, and no policy. A failed check is an abort.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/text.h"
#include "base/tree.h"
#include "policy/check.h"
#include "policy/model.h"

#define NAME "fuzz.yaml"

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_mistake(const struct sbx_error *err, void *userdata)
{
	check(err->code == -EINVAL || err->code == -EFBIG);
	check(strncmp(err->what, NAME ":", strlen(NAME ":")) == 0);
	check(err->why[0] && err->fix[0]);
	(*(int *)userdata)++;
}

static void check_refusal(const uint8_t *bytes, size_t n_bytes, const struct sbx_error *err)
{
	int n = 0;

	check_mistake(err, &n);
	n = 0;
	check(policy_load_all_mistakes(NAME, bytes, n_bytes, check_mistake, &n) == n && n > 0);
}

static void check_warning(const struct policy_warning *warning, void *userdata)
{
	check(warning->code[0] == 'W' && warning->error.level == SBX_LEVEL_WARN);
	check(strncmp(warning->error.what, NAME ":", strlen(NAME ":")) == 0);
	check(warning->error.why[0] && warning->error.fix[0]);
	(*(int *)userdata)++;
}

typedef int print_fn(const struct policy *policy, struct text *out);

static void check_round_trip(const struct policy *policy, print_fn *print)
{
	_cleanup_text_ struct text once = TEXT_INIT, twice = TEXT_INIT;
	_cleanup_policy_ struct policy *again = NULL;

	check(print(policy, &once) == 0);
	if (once.len > TREE_BYTES_MAX)
		return;
	check(policy_load(NAME, once.data, once.len, &again, NULL) == 0);
	check(again->n_rules == policy->n_rules && again->n_settings == policy->n_settings);
	check(print(again, &twice) == 0);
	check(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
}

static void check_narrows_itself(const uint8_t *bytes, size_t n_bytes)
{
	struct policy *parts[2] = { NULL, NULL };
	_cleanup_policy_ struct policy *policy = NULL;
	int r;

	check(policy_load(NAME, bytes, n_bytes, &parts[0], NULL) == 0);
	check(policy_load(NAME, bytes, n_bytes, &parts[1], NULL) == 0);

	bool has_extensions = parts[0]->n_extensions > 0;

	r = policy_merge(parts, 2, 1, &policy, NULL);
	check(has_extensions ? r == -EACCES : r == 0);
	check((policy != NULL) == (r == 0) && !parts[0] && !parts[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_policy_ struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };
	int r = policy_load(NAME, bytes, n_bytes, &policy, &err), n = 0;

	if (r < 0) {
		check(!policy && err.code == r);
		check_refusal(bytes, n_bytes, &err);
		return 0;
	}
	check(policy && err.code == 0);
	check(policy_load_all_mistakes(NAME, bytes, n_bytes, check_mistake, &n) == 0 && n == 0);
	check(policy_check(policy, check_warning, &n) == n);
	check_round_trip(policy, policy_print);
	check_round_trip(policy, policy_print_json);
	check_narrows_itself(bytes, n_bytes);
	return 0;
}
