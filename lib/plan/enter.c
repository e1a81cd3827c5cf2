/* SPDX-License-Identifier: MIT */

/*
 * May 'sbx-ctl exec' enter? --debug asks for it, and the policy decides about container.run in the
 * mode debug. A review is a refusal here: when the sandbox runs, nobody is asked.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "plan/plan-internal.h"
#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/decide.h"

/* What cannot be judged is denied. */
static enum policy_action judge(const struct policy *policy)
{
	static const struct policy_request request = { .operation = "container.run",
						       .mode = "debug" };
	_cleanup_free_ void *block = NULL;
	_cleanup_engine_ struct policy_engine *engine = NULL;
	struct policy_decision decision;
	struct artefact artefact;
	size_t n_bytes;

	if (policy_compile(policy, &block, &n_bytes, NULL) < 0 ||
	    artefact_open(block, n_bytes, &artefact, NULL) < 0 ||
	    policy_engine_new(&artefact, &engine) < 0)
		return POLICY_DENY;
	policy_decide(engine, &request, &decision);
	return decision.verdict;
}

bool may_enter(struct planner *planner)
{
	enum policy_action verdict;

	if (!planner->request->debug)
		return false;
	if (!planner->policy)
		return true;
	verdict = judge(planner->policy);
	if (verdict == POLICY_ALLOW || verdict == POLICY_WARN)
		return true;
	planner_note(
		planner, false, "'sbx-ctl exec' is refused in spite of --debug",
		verdict == POLICY_REVIEW
			? "the policy requires a review of container.run in the mode debug, which is a refusal while a sandbox runs; to allow it: {match: {op: container.run, mode: debug}, action: allow}"
			: "the policy denies container.run in the mode debug");
	return false;
}
