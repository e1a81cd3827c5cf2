/* SPDX-License-Identifier: MIT */

/* The list of all benchmarks, in the order in which they run */

#include "bench.h"

#include <string.h>

static const struct bench *const subjects[] = {
	bench_self_test,
	bench_frame,
	bench_ring,
	bench_units,
	bench_json,
	bench_options,
	bench_tree,
	bench_policy,
	bench_spawn,
	bench_policy_load,
	bench_policy_tool,
	bench_policy_socket,
	bench_audit,
	bench_audit_insert,
	bench_audit_verify,
	bench_audit_tool,
	NULL,
};

const struct bench *bench_at(size_t i)
{
	for (const struct bench *const *subject = subjects; *subject; subject++)
		for (const struct bench *bench = *subject; bench->name; bench++)
			if (i-- == 0)
				return bench;
	return NULL;
}

bool bench_is_self_test(const struct bench *bench)
{
	return bench->self_test_allocations != 0;
}

bool bench_is_selected(const struct bench *bench, const char *filter)
{
	if (bench_is_self_test(bench))
		return filter && strcmp(bench->name, filter) == 0;
	return !filter || strstr(bench->name, filter);
}
