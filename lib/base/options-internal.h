/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the parser of command lines and the kinds of values
 */

#include "base/options.h"

/* An option as the user wrote it, for messages: "--policy" or "-p". */
struct written {
	const char *word;
	int len;
};

/* A kind of option: does it take a value, and how is that checked and stored? */
struct option_value {
	bool takes_value;
	int (*store)(const struct option_spec *spec, void *slot, const char *value,
		     struct written as, struct sbx_error *err);
	bool (*is_given)(const void *slot);
};

/* By enum option_kind. */
extern const struct option_value option_values[];
