/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "plan-host.h"
#include "plan/plan-internal.h"

static unsigned variants_of(const struct planning *planning)
{
	return the_step(planning, STEP_SECCOMP, NULL)->seccomp.variants;
}

static void nothing_is_traced_unless_it_was_asked_for(void)
{
	_cleanup_text_ struct text summary = TEXT_INIT;
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_eq(variants_of(&planning) & VARIANT_PTRACE, 0);
	planning.request.ptrace = true;
	expect_plan(&planning);
	expect(variants_of(&planning) & VARIANT_PTRACE);
	expect(has_notice(&planning, "ptrace of its own children: allowed"));
	expect(strstr(plan_text(&planning), "seccomp standard inet loopback ptrace\n"));
	plan_add_summary(&summary, planning.plan);
	expect(strstr(text_string(&summary), "; ptrace of its own children: allowed\n"));
}

static void refuses_tracing_where_a_tracer_would_reach_others(void)
{
	static const struct {
		const char *policy, *template, *why, *fix;
	} cases[] = {
		{ NULL, "policy-sandbox", "'strict' has no processes", "standard" },
		{ "isolation: {seccomp: strict}\nversion: 1\n", NULL, "'strict'", "standard" },
		{ "isolation: {nested: true}\ndefaults: {exec: allow}\nversion: 1\n", NULL,
		  "excludes Landlock", "isolation.nested" },
		{ "denySyscalls: [mount, ptrace]\nversion: 1\n", NULL, "'denySyscalls'",
		  "in the policy" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		if (cases[i].policy)
			planning_load(&planning, cases[i].policy);
		planning.request.template = cases[i].template;
		expect_plan(&planning);
		planning.request.ptrace = true;
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "cannot let the command trace its children", cases[i].why,
			    cases[i].fix));
	}
}

static void refuses_tracing_in_the_reduced_tier(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	expect_plan(&planning);
	planning.request.ptrace = true;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot let the command trace", "the host's PID namespace",
		    "--ptrace"));
}

static const struct test tests[] = {
	TEST(nothing_is_traced_unless_it_was_asked_for),
	TEST(refuses_tracing_where_a_tracer_would_reach_others),
	TEST(refuses_tracing_in_the_reduced_tier),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
