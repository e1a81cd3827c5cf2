/* SPDX-License-Identifier: MIT */

/*
 * How long the log is kept: an option, else what the policy says, else what is usual
 */

#include "audit.h"

#include <string.h>

#include <sbx/error.h>

#define DAYS_MAX UINT64_C(36500)

static enum rotation rotation_of(const char *name)
{
	for (size_t i = 0; name && rotation_names[i]; i++)
		if (strcmp(rotation_names[i], name) == 0)
			return (enum rotation)i;
	return ROTATION_DAILY;
}

static uint64_t first_not_zero(uint64_t a, uint64_t b, uint64_t c)
{
	return a ? a : b ? b : c;
}

int keeping_read(const struct audit_values *values, struct keeping *ret, struct sbx_error *err)
{
	_cleanup_settings_ struct audit_settings settings = { .policy = NULL };
	int r = settings_read(values, &settings, err);
	uint64_t days =
		first_not_zero(values->retention_days, settings.retention_days, RETAIN_DAYS);

	if (r < 0)
		return r;
	*ret = (struct keeping){
		.rotation = rotation_of(settings.rotation),
		.segment_bytes = first_not_zero(values->segment_size, 0, RETAIN_SEGMENT_BYTES),
		.policy = {
			.archive_usec = (days < DAYS_MAX ? days : DAYS_MAX) * RETAIN_USEC_PER_DAY,
			.store_usec = RETAIN_STORE_DAYS * RETAIN_USEC_PER_DAY,
			.max_bytes = first_not_zero(values->max_size, settings.max_size,
						    RETAIN_MAX_BYTES),
		},
	};
	return 0;
}
