/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The profiles, compiled: written by the generator when sbx is built
 */

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "filter/filter.h"

struct filter_profile {
	const char *name;
	bool needs_notify;
	struct sock_fprog programs[FILTER_VARIANTS];
};

/* Ended by a NULL name. */
extern const struct filter_profile filter_profiles[];
/* Changes with every change of a profile or of the layout. */
extern const uint64_t filter_generation;
