/* SPDX-License-Identifier: MIT */

/*
 * What no layer holds as it stands: the answers of enforcement.c as warnings
 */

#include "policy/check-internal.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/enforcement.h"

static const enum check_kind kinds[N_PROBLEMS] = {
	[PROBLEM_ACTION] = CHECK_BROKER,
	[PROBLEM_PATTERN] = CHECK_BROKER,
	[PROBLEM_DIGEST] = CHECK_BROKER,
	[PROBLEM_UNSEEN] = CHECK_SERVICE,
	[PROBLEM_NO_NETWORK] = CHECK_DENIED,
	[PROBLEM_HOST_NETWORK] = CHECK_HOST_NETWORK,
	[PROBLEM_IMPLIED_PROXY] = CHECK_NETWORK,
	[PROBLEM_PROXY] = CHECK_NETWORK,
	[PROBLEM_LOOPBACK] = CHECK_HOST_NETWORK,
	[PROBLEM_BEYOND_LOOPBACK] = CHECK_DENIED,
	[PROBLEM_NET_MODE] = CHECK_NETWORK,
	[PROBLEM_READER] = CHECK_PATH,
	[PROBLEM_NAME] = CHECK_PATH,
	[PROBLEM_HOSTNAME] = CHECK_SETTING,
	[PROBLEM_PORTS] = CHECK_SETTING,
	[PROBLEM_PORT_TWICE] = CHECK_SETTING,
};

static void warn_of(struct checker *checker, enum check_kind kind,
		    const struct rule_enforcement *enforcement)
{
	_cleanup_text_ struct text what = TEXT_INIT;

	enforcement_add_what(&what, enforcement);
	check_warn(checker, kind, enforcement->place, "%s", text_string(&what));
	sbx_error_why(&checker->warning.error, "%s", enforcement_why(enforcement));
	sbx_error_fix(&checker->warning.error, "%s", enforcement_fix(enforcement));
	checker->warning.is_refused = enforcement->state == ENFORCEMENT_REFUSED;
}

void check_enforcement(struct checker *checker, const struct rule *rule)
{
	struct rule_enforcement enforcement = rule_file_enforcement(checker->policy, rule);
	struct rule_enforcement network =
		rule_net_enforcement(checker->policy, rule, checker->net_mode);

	/* A refusal for one of them is not hidden by what is narrowed for the other. */
	if (network.state > enforcement.state && network.problem != PROBLEM_IMPLIED_PROXY)
		enforcement = network;
	/* The mode proxy is missing once for all rules: check_network(). */
	if (enforcement.state != ENFORCEMENT_HELD && enforcement.problem != PROBLEM_IMPLIED_PROXY)
		warn_of(checker, kinds[enforcement.problem], &enforcement);
}

void check_defaults(struct checker *checker)
{
	for (int class = 0; class < N_CLASSES; class ++) {
		struct rule_enforcement enforcement =
			default_enforcement(checker->policy, (enum operation_class) class);

		if (enforcement.state != ENFORCEMENT_HELD)
			warn_of(checker, CHECK_DEFAULT, &enforcement);
	}
}

void check_network(struct checker *checker)
{
	struct net_choice choice = policy_net_choice(checker->policy, NULL);
	struct rule_enforcement enforcement = mode_enforcement(checker->policy, &choice);

	if (enforcement.state != ENFORCEMENT_HELD)
		warn_of(checker, kinds[enforcement.problem], &enforcement);
}

void check_settings(struct checker *checker)
{
	struct rule_enforcement enforcement = hostname_enforcement(checker->policy);

	if (enforcement.state != ENFORCEMENT_HELD)
		warn_of(checker, kinds[enforcement.problem], &enforcement);
	/* What shares the host's loopback has no listeners of its own. */
	enforcement = ports_enforcement(checker->policy);
	if (checker->net_mode != NET_HOST && enforcement.state != ENFORCEMENT_HELD)
		warn_of(checker, kinds[enforcement.problem], &enforcement);
}
