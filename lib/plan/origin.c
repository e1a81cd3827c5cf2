/* SPDX-License-Identifier: MIT */

/*
 * Where a step comes from, in words: "p.yaml:14 'runtime'"
 */

#include "plan/plan-internal.h"

const struct step_origin origin_built_in = { .kind = ORIGIN_BUILT_IN, .text = NULL };

const struct step_origin origin_default = { .kind = ORIGIN_BUILT_IN, .text = "default" };

static const char *place_of(struct planner *planner, struct policy_place place, const char *name)
{
	const struct policy_source *source = &planner->policy->sources[place.source];

	return planner_format(planner, "%s:%u '%s'", source->name, place.at.line, name);
}

struct step_origin origin_of_rule(struct planner *planner, const struct rule *rule)
{
	if (rule->place.at.line == 0)
		return (struct step_origin){ .kind = ORIGIN_BUILT_IN, .text = rule->name };
	return (struct step_origin){ .kind = ORIGIN_RULE,
				     .text = place_of(planner, rule->place, rule->name) };
}

struct step_origin origin_of_setting(struct planner *planner, const struct setting *setting)
{
	return (struct step_origin){ .kind = ORIGIN_RULE,
				     .text = place_of(planner, setting->place, setting->path) };
}

struct step_origin origin_of_option(struct planner *planner, const char *option)
{
	return (struct step_origin){ .kind = ORIGIN_ARGUMENT,
				     .text = planner_keep(planner, option) };
}

const char *origin_text(const struct step_origin *origin)
{
	return origin->text ? origin->text : "the built-in rules";
}
