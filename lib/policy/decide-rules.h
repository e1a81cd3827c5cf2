/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From rows that an index found to the rules that apply, and from those to one answer
 */

struct policy_decision;
struct policy_engine;
struct query;

/* Looks everything up that the rules are about: conditions are marked, candidates listed. */
void rules_look_up(struct policy_engine *engine, const struct query *query);
/* The answer of the artefact's rules alone; all of @ret. */
void rules_judge(struct policy_engine *engine, const struct query *query,
		 struct policy_decision *ret);
