/* SPDX-License-Identifier: MIT */

/*
 * The options that are limits: each is text until here, so that "0", which would read as "none" or
 * as "no limit", is refused, and what was not typed is known
 */

#include "spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/units.h"

/* "0.5", "2" or "50%", in thousandths of a processor. */
static int parse_processors(const char *text, uint64_t *ret, struct sbx_error *err)
{
	uint64_t whole = 0, part = 0, unit = 1000;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && whole < 100000; at++)
		whole = whole * 10 + (uint64_t)(*at - '0');
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9' && unit > 1; at++) {
			unit /= 10;
			part += unit * (uint64_t)(*at - '0');
		}
	*ret = whole * 1000 + part;
	if (at > text && strcmp(at, "%") == 0) {
		*ret = (*ret + 50) / 100;
		return 0;
	}
	if (at > text && *at == '\0')
		return 0;
	sbx_error_why(err, "'%s' is not a number of processors", text);
	sbx_error_fix(err, "write 2, 0.5 or 50%%");
	return -EINVAL;
}

static const struct {
	const char *option;
	int (*parse)(const char *text, uint64_t *ret, struct sbx_error *err);
} rows[N_LIMITS] = {
	[LIMIT_MEMORY] = { "--memory", units_parse_size },
	[LIMIT_CPU] = { "--cpu", parse_processors },
	[LIMIT_PIDS] = { "--pids", units_parse_count },
	[LIMIT_TIME] = { "--time", units_parse_time },
	[LIMIT_FILES] = { "--files", units_parse_count },
	[LIMIT_PROCESSES] = { NULL, NULL },
	[LIMIT_FILE_SIZE] = { "--file-size", units_parse_size },
	[LIMIT_OUTPUT] = { "--output", units_parse_size },
	[LIMIT_TMP_SIZE] = { "--tmp-size", units_parse_size },
};

const char *spawn_limit_option(enum limit limit)
{
	return rows[limit].option;
}

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
	for (int i = 0; i < N_LIMITS; i++) {
		struct sbx_error reason = { .code = 0 };
		const char *text = values->limits[i];
		uint64_t value = 0;

		if (!text)
			continue;
		if (rows[i].parse(text, &value, &reason) < 0)
			return bad_limit(rows[i].option, text, &reason, err);
		if (value == 0) {
			sbx_error_why(&reason, "a limit of 0 would let nothing run");
			sbx_error_fix(&reason, "give a larger value, or leave out the option");
			return bad_limit(rows[i].option, text, &reason, err);
		}
		limits[i] = (struct request_limit){ .is_set = true,
						    .value = value,
						    .option = rows[i].option };
	}
	return 0;
}
