/* SPDX-License-Identifier: MIT */
#pragma once

/* The profiles' rules over system calls, as data for the compiler */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a set of profiles. */
enum filter_profiles {
	FILTER_STRICT = 1 << 0,
	FILTER_STANDARD = 1 << 1,
	FILTER_BOTH = FILTER_STRICT | FILTER_STANDARD,
};

#define FILTER_CONDITIONS_MAX 3

/*
 * The condition: the low 32 bits of the argument, masked, are in from..to, or with @is_not outside
 * of it. @mask 0: no condition.
 *
 * Only the low half is compared: from each argument that occurs in a rule the kernel takes an int,
 * or the low half of a long. If all 64 bits were compared, a value with another high half would
 * evade a refusal but mean the same to the kernel.
 */
struct filter_condition {
	uint8_t argument;
	bool is_not;
	uint32_t mask;
	uint32_t from;
	uint32_t to;
};

struct filter_rule {
	const char *set;   /* heading in sbx-seccomp(7); rules of one set are listed together */
	unsigned profiles; /* enum filter_profiles */
	unsigned with;	   /* enum filter_variant: the rule applies only if all of these are set */
	unsigned without;  /* and none of these */
	const char *calls; /* names, separated by blanks */
	struct filter_condition when[FILTER_CONDITIONS_MAX]; /* all must hold; ended by mask 0 */
	uint32_t answer;				     /* SECCOMP_RET_* */
};

struct filter_profile_row {
	const char *name;
	enum filter_profiles bit;
};

/* Ended by a NULL name, and by a NULL set. Among the rules of one call the first that holds
 * decides; if none does, EPERM. */
extern const struct filter_profile_row filter_profile_rows[];
extern const struct filter_rule filter_rules[];
