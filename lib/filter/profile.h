/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the profiles are made of: rules over system calls, for the compiler
 */

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
 * The low 32 bits of an argument, masked, lie in from..to, or with @is_not outside of it. A @mask
 * of 0: no condition.
 *
 * Only the low half is ever compared, because the kernel takes an int (or looks at the low half of
 * a long) from each argument that stands in a rule: comparing all 64 bits would let a value with
 * another high half pass a refusal, and then mean the same.
 */
struct filter_condition {
	uint8_t argument;
	bool is_not;
	uint32_t mask;
	uint32_t from;
	uint32_t to;
};

struct filter_rule {
	const char *set;   /* for people; rules of one set stand together in sbx-seccomp(7) */
	unsigned profiles; /* enum filter_profiles */
	unsigned with;	   /* enum filter_variant: all of them must be asked for, */
	unsigned without;  /* and none of these */
	const char *calls; /* names, each behind a blank or at the beginning */
	struct filter_condition when[FILTER_CONDITIONS_MAX]; /* all must hold */
	uint32_t answer;				     /* SECCOMP_RET_* */
};

struct filter_profile_row {
	const char *name;
	enum filter_profiles bit;
};

/* Ended by a NULL name, and by a NULL set. Of the rules of one call the first that holds answers;
 * where none holds: EPERM. */
extern const struct filter_profile_row filter_profile_rows[];
extern const struct filter_rule filter_rules[];
