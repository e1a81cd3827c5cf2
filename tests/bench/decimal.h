/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Decimal numbers in JSON, which only results of benchmarks have
 */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* A member with @decimals digits after the point; null if the value is not known or not finite. A
 * value that rounds to zero has no sign. The tools keep the locale "C", whose point is a '.'. */
static inline void decimal_add_member(struct json_writer *writer, const char *name, bool is_known,
				      double value, int decimals)
{
	_cleanup_text_ struct text printed = TEXT_INIT;
	const char *at;

	text_addf(&printed, "%.*f", decimals, value);
	at = text_string(&printed);
	at += at[0] == '-' && !strpbrk(at, "123456789");
	json_add_name(writer, name);
	if (is_known && isfinite(value))
		json_add_raw(writer, at, strlen(at));
	else
		json_add_null(writer);
}
