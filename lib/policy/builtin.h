/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Rules that no policy, token or extension can change: at most ten, compiled in, judged first. One
 * is a default, which a policy's own rule can allow
 */

#include <stdbool.h>

#include "policy/model.h"

struct guarded_list;
struct policy_request;

#define BUILTIN_RULES_MAX 10

struct builtin_rule {
	const char *name;
	uint64_t operations;
	bool is_guard; /* about the guarded paths of its name; else about any argument */
	const char *const *unless_modes; /* NULL-terminated; not in these modes */
	enum policy_action action;
	bool is_default; /* a rule of the file that allows it is stronger; a token is not */
	const char *reason;
};

/* Ended by a NULL name. */
const struct builtin_rule *builtin_rules(void);

/*
 * The most severe built-in rule that applies, or NULL. @guarded may be NULL. @rules is
 * builtin_rules(), or an empty table in the test that shows that the system works without any.
 */
const struct builtin_rule *builtin_judge(const struct builtin_rule *rules,
					 const struct policy_request *request,
					 uint64_t operation_bit,
					 const struct guarded_list *guarded);
