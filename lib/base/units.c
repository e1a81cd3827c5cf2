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
	const char *example;
	const char *assumed; /* the unit to suggest for a number that needs one; or NULL */
	uint64_t bare;	     /* the factor of a number without a unit; 0: it needs one */
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
	.example = "10",
	.bare = 1,
	.units = no_units,
	.habits = no_habits,
};

static const struct family sizes = {
	.noun = "size",
	.smallest = "bytes",
	.list = "B KiB MiB GiB TiB KB MB GB TB",
	.example = "512MiB",
	.bare = 1,
	.units = size_units,
	.habits = size_habits,
};

static const struct family times = {
	.noun = "time",
	.smallest = "microseconds",
	.list = "us ms s m h d",
	.example = "90s",
	.assumed = "s",
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
	const char *near;

	written += strspn(written, " \t");
	for (const struct unit *unit = family->units; unit->name; unit++)
		if (strcasecmp(unit->name, written) == 0)
			return unit->name;
	for (const struct habit *habit = family->habits; habit->written; habit++)
		if (strcasecmp(habit->written, written) == 0)
			return habit->meant;
	near = suggest(written, (struct suggest_words){ .word = unit_name, .list = family->units });
	/* The first letter is the magnitude: 1PiB is not a mistyped 1TiB. */
	return near && strncasecmp(near, written, 1) == 0 ? near : NULL;
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

/* The digits of a number. */
struct digits {
	size_t n;
	uint64_t value;
	bool overflow;
};

static struct digits read_digits(const char *string)
{
	struct digits digits = { .n = 0 };

	for (; string[digits.n] >= '0' && string[digits.n] <= '9'; digits.n++) {
		uint64_t digit = (uint64_t)(string[digits.n] - '0');

		digits.overflow |=
			__builtin_mul_overflow(digits.value, UINT64_C(10), &digits.value);
		digits.overflow |= __builtin_add_overflow(digits.value, digit, &digits.value);
	}
	return digits;
}

static bool multiply(const struct digits *digits, uint64_t factor, uint64_t *ret)
{
	return !__builtin_mul_overflow(digits->value, factor, ret) && !digits->overflow;
}

static int refuse_overflow(const struct family *family, const char *string, struct sbx_error *err)
{
	(void)sbx_error_what(err, -ERANGE, "not a %s: '%s'", family->noun, string);
	sbx_error_why(err, "it is more than %" PRIu64 "%s%s", UINT64_MAX,
		      family->smallest ? " " : "", family->smallest ? family->smallest : "");
	sbx_error_fix(err, "write a smaller number, such as '%s'", family->example);
	return -ERANGE;
}

static void fix_form(const struct family *family, struct sbx_error *err)
{
	if (family->smallest)
		sbx_error_fix(err, "write a whole number and a unit, such as '%s' (the units: %s)",
			      family->example, family->list);
	else
		sbx_error_fix(err, "write a whole number, such as '%s'", family->example);
}

/* The number may be too large for the unit that was probably meant. */
static int refuse_unit(const struct family *family, const char *string, const struct digits *digits,
		       struct sbx_error *err)
{
	const char *written = string + digits->n;
	const char *guess = *written ? guess_unit(family, written) : family->assumed;
	int n = (int)(digits->n < SBX_ERROR_TEXT_SIZE ? digits->n : SBX_ERROR_TEXT_SIZE);
	uint64_t value;
	bool fits = multiply(digits, guess ? unit_factor(family, guess) : 1, &value);

	/* Most callers refuse 0. */
	fits = fits && strspn(string, "0") < digits->n;
	(void)sbx_error_what(err, -EINVAL, "not a %s: '%s'", family->noun, string);
	if (!family->smallest) {
		sbx_error_why(err, "'%s' follows the digits, and it takes no unit", written);
		if (fits)
			sbx_error_fix(err, "write '%.*s'", n, string);
	} else if (*written == '\0') {
		sbx_error_why(err, "it has no unit, and several are possible");
		if (fits)
			sbx_error_fix(err, "write %.*ss, %.*sms or another of the units: %s", n,
				      string, n, string, family->list);
	} else {
		sbx_error_why(err, "'%s' is not a unit%s", written,
			      guess && strcasecmp(written, guess) == 0 ? "; case matters" : "");
		if (fits && guess)
			sbx_error_fix(err, "write '%.*s%s' (the units: %s)", n, string, guess,
				      family->list);
	}
	if (!fits || (family->smallest && !guess))
		fix_form(family, err);
	return -EINVAL;
}

static int refuse_start(const struct family *family, const char *string, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "not a %s: '%s'", family->noun, string);
	sbx_error_why(err, *string ? "it does not begin with a digit" : "it is empty");
	fix_form(family, err);
	return -EINVAL;
}

static int parse(const struct family *family, const char *string, uint64_t *ret,
		 struct sbx_error *err)
{
	struct digits digits = read_digits(string);
	uint64_t value, factor;

	if (digits.n == 0)
		return refuse_start(family, string, err);
	factor = unit_factor(family, string + digits.n);
	if (factor == 0)
		return refuse_unit(family, string, &digits, err);
	if (!multiply(&digits, factor, &value))
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
