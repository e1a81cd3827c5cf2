/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The meaning of the parts of a rule as text: two parts mean the same exactly when their texts are
 * equal
 */

#include <stddef.h>

struct rule;
struct text;

struct rule_part {
	const char *name; /* "match"; NULL ends the table */
	void (*add)(struct text *out, const struct rule *rule);
};

const struct rule_part *rule_parts(void);
