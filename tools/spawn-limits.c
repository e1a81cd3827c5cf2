/* SPDX-License-Identifier: MIT */

/*
 * The options that are limits: each is text until here, so that "0", which would read as "none" or
 * as "no limit", is refused, and what was not typed is known
 */

#include "spawn.h"

#include <errno.h>

#include <sbx/error.h>

#include "policy/limit.h"

/* The parsers have said why and what to write; what it was about is told here. */
static int bad_limit(const char *option, const char *text, const struct sbx_error *reason,
		     struct sbx_error *err)
{
	int r = sbx_error_what(err, -EINVAL, "option '%s' cannot take '%s'", option, text);

	sbx_error_why(err, "%s", reason->why);
	sbx_error_fix(err, "%s", reason->fix);
	return r;
}

int spawn_read_limits(const struct spawn_values *values, struct request_limit limits[N_LIMITS],
		      struct sbx_error *err)
{
	for (enum limit limit = 0; limit < N_LIMITS; limit++) {
		struct sbx_error reason = { .code = 0 };
		const char *text = values->limits[limit];
		uint64_t value = 0;

		if (!text)
			continue;
		if (limit_parse(limit, text, &value, &reason) < 0)
			return bad_limit(limit_option(limit), text, &reason, err);
		if (value == 0) {
			sbx_error_why(&reason, "a limit of 0 would let nothing run");
			sbx_error_fix(&reason, "give a larger value, or leave out the option");
			return bad_limit(limit_option(limit), text, &reason, err);
		}
		limits[limit] = (struct request_limit){ .is_set = true,
							.value = value,
							.option = limit_option(limit) };
	}
	return 0;
}
