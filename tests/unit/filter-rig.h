/* SPDX-License-Identifier: MIT */
#pragma once

/* The verdict of a profile: by interpreting its BPF, and by reading its rules one by one */

#include <assert.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "filter-walk.h"
#include "filter/filter.h"
#include "filter/profile.h"

static inline uint32_t answer_to(const char *profile, unsigned variant,
				 const struct seccomp_data *data)
{
	const struct sock_fprog *program = filter_find(profile, variant);

	return program ? answer_of(program->filter, program->len, data) : BROKEN;
}

static inline bool condition_holds(const struct filter_condition *c,
				   const struct seccomp_data *data)
{
	uint32_t value = (uint32_t)data->args[c->argument] & c->mask;

	return c->mask == 0 || (value >= c->from && value <= c->to) != c->is_not;
}

static inline bool rule_holds(const struct filter_rule *rule, const struct seccomp_data *data)
{
	for (size_t i = 0; i < FILTER_CONDITIONS_MAX; i++)
		if (!condition_holds(&rule->when[i], data))
			return false;
	return true;
}

static inline bool rule_names(const struct filter_rule *rule, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = rule->calls; *at != '\0';) {
		size_t n = strcspn(at, " ");

		if (n == len && memcmp(at, name, n) == 0)
			return true;
		at += n + strspn(at + n, " ");
	}
	return false;
}

#define RULES_OF_CALL_MAX 64

/* The rules about one call in a variant of a profile, in the order of the table. */
struct rules_of_call {
	const struct filter_rule *rules[RULES_OF_CALL_MAX];
	size_t n;
};

/* @name: of the call, or NULL for a number that no call has. */
static inline void find_rules(enum filter_profiles profile, unsigned variant, const char *name,
			      struct rules_of_call *ret)
{
	ret->n = 0;
	for (const struct filter_rule *rule = filter_rules; name && rule->set; rule++)
		if ((rule->profiles & profile) && (variant & rule->with) == rule->with &&
		    !(variant & rule->without) && rule_names(rule, name)) {
			assert(ret->n < RULES_OF_CALL_MAX);
			ret->rules[ret->n++] = rule;
		}
}

/* Reads the rules about a call one by one. */
static inline uint32_t rules_say(const struct rules_of_call *rules, const char *name,
				 const struct seccomp_data *data)
{
	if (data->arch != seccomp_arch_native())
		return KILL;
	if (data->arch == SCMP_ARCH_X86_64 && (uint32_t)data->nr >= 0x40000000)
		return KILL;
	if (!name)
		return NO(ENOSYS);
	for (size_t i = 0; i < rules->n; i++)
		if (rule_holds(rules->rules[i], data))
			return rules->rules[i]->answer;
	return NO(EPERM);
}
