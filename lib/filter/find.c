/* SPDX-License-Identifier: MIT */

/* Finds a built-in filter in the table that generate.c wrote */

#include "filter/filter.h"

#include <errno.h>
#include <string.h>

#include "filter/table.h"

static const struct filter_profile *find_profile(const char *name)
{
	for (const struct filter_profile *profile = filter_profiles; profile->name; profile++)
		if (strcmp(profile->name, name) == 0)
			return profile;
	return NULL;
}

const struct sock_fprog *filter_find(const char *profile, unsigned variant)
{
	const struct filter_profile *found = find_profile(profile);

	return found && variant < FILTER_VARIANTS ? &found->programs[variant] : NULL;
}

int filter_needs_notify(const char *profile)
{
	const struct filter_profile *found = find_profile(profile);

	return found ? found->needs_notify : -ENOENT;
}
