/* SPDX-License-Identifier: MIT */
#pragma once

/* The compiled profiles, which generate.c writes when sbx is built */

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
/* A checksum of all compiled profiles: changes with every change of a rule or of the layout. */
extern const uint64_t filter_generation;
