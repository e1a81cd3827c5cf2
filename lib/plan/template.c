/* SPDX-License-Identifier: MIT */

/*
 * The templates, and what of them this plan uses
 *
 * A template gives the numbers and the profile that a policy and options leave out, and a network
 * mode, which lib/policy knows. A policy without a template has the numbers of code-executor; where
 * there is no policy either, only what keeps one command from taking the whole machine is limited.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/net-mode.h"

#define MIB (UINT64_C(1) << 20)
#define SEC UINT64_C(1000000)

static const struct template templates[] = {
	{ "code-executor",
	  "standard",
	  { [LIMIT_MEMORY] = 1024 * MIB,
	    [LIMIT_CPU] = 1000,
	    [LIMIT_PIDS] = 100,
	    [LIMIT_TIME] = 300 * SEC } },
	{ "ai-provider",
	  "strict",
	  { [LIMIT_MEMORY] = 256 * MIB,
	    [LIMIT_CPU] = 500,
	    [LIMIT_PIDS] = 10,
	    [LIMIT_TIME] = 120 * SEC } },
	/* Without a time: its program lives on, and 100 ms is what one evaluation has, which the
	 * one who asks holds (lib/extension). */
	{ "policy-sandbox",
	  "strict",
	  { [LIMIT_MEMORY] = 128 * MIB, [LIMIT_CPU] = 250, [LIMIT_PIDS] = 5 } },
};

/* A build with a hundred jobs and a browser stay far below it. Memory: limits.c. */
const struct template template_default = { "default", "standard", { [LIMIT_PIDS] = 4096 } };

const struct template *template_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(templates); i++)
		if (strcmp(templates[i].name, name) == 0)
			return &templates[i];
	return NULL;
}

static int refuse_name(struct planner *planner, const char *name)
{
	int r = sbx_error_what(planner->err, -EINVAL, "there is no template '%s'", name);

	sbx_error_why(planner->err, "the templates are code-executor, ai-provider, policy-sandbox");
	sbx_error_fix(planner->err, "name one of them");
	return r;
}

/* What is typed goes before what the file says, but never makes a strict profile a wider one. */
static void choose_profile(struct planner *planner)
{
	const struct setting *seccomp = planner_setting(planner, "isolation.seccomp");
	bool is_typed = planner->request->template != NULL;

	planner->profile = planner->template->profile;
	if (seccomp && !(is_typed && strcmp(planner->profile, "strict") == 0))
		planner->profile = strcmp(seccomp->text, "strict") == 0 ? "strict" : "standard";
}

/* Its own words, so that the plan points to nobody else's. */
static int choose_net_mode(struct planner *planner)
{
	struct net_choice choice = policy_net_choice(planner->policy, planner->request->template);
	const char *name = planner->request->net_mode;

	if (!name || net_mode_find(name, &choice.mode)) {
		planner->net_mode = net_mode_name(choice.mode);
		return 0;
	}
	(void)sbx_error_what(planner->err, -EINVAL, "there is no network mode '%s'", name);
	sbx_error_why(planner->err, "the modes are none, loopback, proxy, host");
	sbx_error_fix(planner->err, "name one of them");
	return -EINVAL;
}

int choose_template(struct planner *planner)
{
	const struct setting *setting = planner_setting(planner, "isolation.template");
	const struct setting *nested = planner_setting(planner, "isolation.nested");
	const char *name = planner->request->template;

	if (!name && setting)
		name = setting->text;
	planner->template = name	      ? template_find(name)
			    : planner->policy ? &templates[0]
					      : &template_default;
	if (!planner->template)
		return refuse_name(planner, name);
	planner->is_nested = nested && nested->number;
	choose_profile(planner);
	return choose_net_mode(planner);
}
