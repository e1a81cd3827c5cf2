/* SPDX-License-Identifier: MIT */

/*
 * Which limits there are: what was typed, else what the policy says, else the template's or a
 * default
 */

#include "plan/plan-internal.h"

#include <stdio.h>
#include <string.h>

uint64_t tmp_size(const struct planner *planner)
{
	const struct plan_limit *limit = &planner->plan->limits[LIMIT_TMP_SIZE];

	return limit->is_set ? limit->value : DEFAULT_TMP_SIZE;
}

static const struct setting *find_setting(const struct planner *planner, enum limit limit)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "limits.%s", limit_name(limit));
	return planner_setting(planner, path);
}

/*
 * Most of the machine's memory, where that costs nothing: a cgroup that is there counts what all
 * processes use together. An rlimit would count address space that a process only reserves.
 */
static uint64_t default_memory(const struct planner *planner)
{
	const struct host *host = planner->host;
	const uint64_t mib = UINT64_C(1) << 20;

	if (!host || !host->cgroup || !(host->controllers & CONTROLLER_MEMORY))
		return 0;
	return host->memory_bytes / 5 * 4 / mib * mib;
}

static void choose_default(struct planner *planner, enum limit limit, struct plan_limit *ret)
{
	const struct template *template = planner->template;
	bool is_default = template == &template_default;

	ret->value = is_default && limit == LIMIT_MEMORY ? default_memory(planner)
							 : template->limits[limit];
	ret->origin = is_default ? origin_default
				 : (struct step_origin){ .kind = ORIGIN_TEMPLATE,
							 .text = template->name };
}

static void choose_limit(struct planner *planner, enum limit limit)
{
	const struct request_limit *typed = &planner->request->limits[limit];
	const struct setting *setting = find_setting(planner, limit);
	struct plan_limit *ret = &planner->plan->limits[limit];

	if (typed->is_set) {
		ret->value = typed->value;
		ret->origin =
			origin_of_option(planner, typed->option ? typed->option : "an option");
	} else if (setting) {
		ret->value = setting->number;
		ret->origin = origin_of_setting(planner, setting);
	} else {
		choose_default(planner, limit, ret);
	}
	/* Neither options nor policies can say 0. */
	ret->is_set = ret->value > 0;
}

int choose_limits(struct planner *planner)
{
	for (int limit = 0; limit < N_LIMITS; limit++)
		choose_limit(planner, (enum limit)limit);
	planner->plan->grace_usec = DEFAULT_GRACE_USEC;
	return 0;
}
