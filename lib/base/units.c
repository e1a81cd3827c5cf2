/* SPDX-License-Identifier: MIT */

/*
 * Numbers with units
 *
 * A family is a table of units, a table of common mistakes, and the factor of a number without a
 * unit. The digits are not parsed by strtoull(), which accepts signs, white space and
 * locale-specific forms. Parsing allocates nothing; suggestions are searched for only after a
 * failure.
 */

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <sbx/error.h>

#include "base/suggest.h"
#include "base/text.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Another spelling of a unit, in any case, for suggestions. */
struct habit {
	const char *written;
	const char *meant;
};

struct family {
	const char *noun;
	const char *smallest; /* unit of factor 1; NULL: a number without units */
	const char *list;     /* the units, as a message names them */
	uint64_t bare;	      /* the factor of a number without a unit; 0: it needs one */
	const struct unit *units;
	const struct habit *habits;
};

#define KIB (UINT64_C(1) << 10)
#define MSEC UINT64_C(1000)
#define SEC (1000 * MSEC)

/* Largest first; printing uses the first one that divides, so it never reaches the SI units. */
static const struct unit size_units[] = {
	{ "TiB", KIB *KIB *KIB *KIB },
	{ "GiB", KIB *KIB *KIB },
	{ "MiB", KIB *KIB },
	{ "KiB", KIB },
	{ "B", 1 },
	{ "TB", UINT64_C(1000000000000) },
	{ "GB", 1000000000 },
	{ "MB", 1000000 },
	{ "KB", 1000 },
	{ NULL, 0 },
};

static const struct habit size_habits[] = {
	{ "K", "KiB" },	 { "M", "MiB" },   { "G", "GiB" },  { "T", "TiB" },
	{ "Ki", "KiB" }, { "Mi", "MiB" },  { "Gi", "GiB" }, { "Ti", "TiB" },
	{ "byte", "B" }, { "bytes", "B" }, { NULL, NULL },
};

static const struct unit time_units[] = {
	{ "d", 24 * 3600 * SEC }, { "h", 3600 * SEC }, { "m", 60 * SEC }, { "s", SEC },
	{ "ms", MSEC },		  { "us", 1 },	       { NULL, 0 },
};

static const struct habit time_habits[] = {
	{ "sec", "s" },	  { "secs", "s" },  { "second", "s" }, { "seconds", "s" },
	{ "min", "m" },	  { "mins", "m" },  { "minute", "m" }, { "minutes", "m" },
	{ "hr", "h" },	  { "hour", "h" },  { "hours", "h" },  { "day", "d" },
	{ "days", "d" },  { "msec", "ms" }, { "msecs", "ms" }, { "milliseconds", "ms" },
	{ "usec", "us" }, { "µs", "us" },   { "usecs", "us" }, { "microseconds", "us" },
	{ NULL, NULL },
};

static const struct unit no_units[] = { { NULL, 0 } };
static const struct habit no_habits[] = { { NULL, NULL } };

static const struct family counts = {
	.noun = "number",
	.bare = 1,
	.units = no_units,
	.habits = no_habits,
};

static const struct family sizes = {
	.noun = "size",
	.smallest = "bytes",
	.list = "B KiB MiB GiB TiB KB MB GB TB",
	.bare = 1,
	.units = size_units,
	.habits = size_habits,
};

static const struct family times = {
	.noun = "time",
	.smallest = "microseconds",
	.list = "us ms s m h d",
	.units = time_units,
	.habits = time_habits,
};

static const char *unit_name(const void *list, size_t i)
{
	return ((const struct unit *)list)[i].name;
}

/* The unit that was probably meant, or NULL. */
static const char *guess_unit(const struct family *family, const char *written)
{
	written += strspn(written, " \t");
	for (const struct unit *unit = family->units; unit->name; unit++)
		if (strcasecmp(unit->name, written) == 0)
			return unit->name;
	for (const struct habit *habit = family->habits; habit->written; habit++)
		if (strcasecmp(habit->written, written) == 0)
			return habit->meant;
	return suggest(written, (struct suggest_words){ .word = unit_name, .list = family->units });
}

static int refuse_unit(const struct family *family, const char *string, size_t n_digits,
		       struct sbx_error *err)
{
	const char *written = string + n_digits;
	const char *guess = guess_unit(family, written);
	int n = (int)(n_digits < SBX_ERROR_TEXT_SIZE ? n_digits : SBX_ERROR_TEXT_SIZE);

	(void)sbx_error_what(err, -EINVAL, "not a %s: '%s'", family->noun, string);
	if (!family->smallest) {
		sbx_error_why(err, "'%s' follows the digits, and it takes no unit", written);
		sbx_error_fix(err, "write '%.*s'", n, string);
	} else if (*written == '\0') {
		sbx_error_why(err, "it has no unit, and several are possible");
		sbx_error_fix(err, "write %.*ss, %.*sms or another of the units: %s", n, string, n,
			      string, family->list);
	} else if (guess) {
		sbx_error_why(err, "'%s' is not a unit%s", written,
			      strcasecmp(written, guess) == 0 ? "; case matters" : "");
		sbx_error_fix(err, "write '%.*s%s' (the units: %s)", n, string, guess,
			      family->list);
	} else {
		sbx_error_why(err, "'%s' is not a unit", written);
		sbx_error_fix(err, "write a whole number and one of the units: %s", family->list);
	}
	return -EINVAL;
}

static int refuse_start(const struct family *family, const char *string, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "not a %s: '%s'", family->noun, string);
	sbx_error_why(err, *string ? "it does not begin with a digit" : "it is empty");
	if (family->smallest)
		sbx_error_fix(err, "write a whole number and one of the units: %s", family->list);
	else
		sbx_error_fix(err, "write a whole number, such as 10");
	return -EINVAL;
}

static int refuse_overflow(const struct family *family, const char *string, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ERANGE, "not a %s: '%s'", family->noun, string);
	sbx_error_why(err, "it is more than %" PRIu64 "%s%s", UINT64_MAX,
		      family->smallest ? " " : "", family->smallest ? family->smallest : "");
	sbx_error_fix(err, "write a smaller number");
	return -ERANGE;
}

/* 0: not a unit of the family. */
static uint64_t unit_factor(const struct family *family, const char *name)
{
	if (*name == '\0')
		return family->bare;
	for (const struct unit *unit = family->units; unit->name; unit++)
		if (strcmp(unit->name, name) == 0)
			return unit->factor;
	return 0;
}

static int parse(const struct family *family, const char *string, uint64_t *ret,
		 struct sbx_error *err)
{
	uint64_t value = 0;
	bool overflow = false;
	size_t n = 0;

	for (; string[n] >= '0' && string[n] <= '9'; n++) {
		overflow |= __builtin_mul_overflow(value, UINT64_C(10), &value);
		overflow |= __builtin_add_overflow(value, (uint64_t)(string[n] - '0'), &value);
	}
	if (n == 0)
		return refuse_start(family, string, err);

	uint64_t factor = unit_factor(family, string + n);

	if (factor == 0)
		return refuse_unit(family, string, n, err);
	if (overflow || __builtin_mul_overflow(value, factor, &value))
		return refuse_overflow(family, string, err);
	*ret = value;
	return 0;
}

int units_parse_count(const char *string, uint64_t *ret, struct sbx_error *err)
{
	return parse(&counts, string, ret, err);
}

int units_parse_size(const char *string, uint64_t *ret_bytes, struct sbx_error *err)
{
	return parse(&sizes, string, ret_bytes, err);
}

int units_parse_time(const char *string, uint64_t *ret_usec, struct sbx_error *err)
{
	return parse(&times, string, ret_usec, err);
}

/* A larger unit never needs more characters than a smaller one, so the first that divides is
 * shortest. */
static const struct unit *largest_unit(const struct family *family, uint64_t value)
{
	const struct unit *unit = family->units;

	while (value % unit->factor != 0)
		unit++;
	return unit;
}

void units_add_size(struct text *out, uint64_t bytes)
{
	const struct unit *unit = largest_unit(&sizes, bytes);

	if (bytes == 0 || unit->factor == 1)
		text_addf(out, "%" PRIu64, bytes);
	else
		text_addf(out, "%" PRIu64 "%s", bytes / unit->factor, unit->name);
}

void units_add_time(struct text *out, uint64_t usec)
{
	const struct unit *unit = largest_unit(&times, usec);

	if (usec == 0)
		text_add(out, "0s");
	else
		text_addf(out, "%" PRIu64 "%s", usec / unit->factor, unit->name);
}

/* ---- processors ---- */

/* At most six digits before the point and three after it: thousandths that always fit. The
 * characters after them, or NULL. */
static const char *parse_thousandths(const char *string, uint64_t *ret)
{
	size_t whole = strspn(string, "0123456789"), places = 0;
	const char *at = string + whole;
	uint64_t value = 0;

	if (whole == 0 || whole > 6)
		return NULL;
	for (const char *digit = string; digit < at; digit++)
		value = value * 10 + (uint64_t)(*digit - '0');
	if (*at == '.') {
		places = strspn(++at, "0123456789");
		if (places == 0 || places > 3)
			return NULL;
	}
	for (size_t i = 0; i < 3; i++)
		value = value * 10 + (i < places ? (uint64_t)(at[i] - '0') : 0);
	*ret = value;
	return at + places;
}

int units_parse_processors(const char *string, uint64_t *ret_thousandths, struct sbx_error *err)
{
	uint64_t value = 0;
	const char *rest = parse_thousandths(string, &value);
	bool is_percent = rest && strcmp(rest, "%") == 0;

	if (rest && (*rest == '\0' || (is_percent && value % 100 == 0))) {
		*ret_thousandths = is_percent ? value / 100 : value;
		return 0;
	}
	(void)sbx_error_what(err, -EINVAL, "not a number of processors: '%s'", string);
	sbx_error_why(err,
		      "it must be digits, with at most three after a '.', or a percentage of one "
		      "processor with at most one");
	sbx_error_fix(err, "write 2, 0.5 or 50%%");
	return -EINVAL;
}

void units_add_processors(struct text *out, uint64_t thousandths)
{
	unsigned part = (unsigned)(thousandths % 1000);
	int places = 3;

	text_addf(out, "%" PRIu64, thousandths / 1000);
	if (part == 0)
		return;
	for (; part % 10 == 0; part /= 10)
		places--;
	text_addf(out, ".%0*u", places, part);
}
