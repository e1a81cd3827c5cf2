/* SPDX-License-Identifier: MIT */

/*
 * Times of records: RFC 3339, in UTC only, because two records are compared by their letters, too
 */

#include "audit/entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define USEC_PER_SEC 1000000u

static bool take_number(const char **at, size_t n_digits, int *ret)
{
	int value = 0;

	for (size_t i = 0; i < n_digits; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		value = value * 10 + (**at - '0');
	}
	*ret = value;
	return true;
}

static bool take_char(const char **at, char c)
{
	return *(*at)++ == c;
}

static bool take_fraction(const char **at, uint64_t *ret_usec)
{
	uint64_t unit = USEC_PER_SEC / 10, usec = 0;
	size_t n = 0;

	if (**at != '.')
		return true;
	for ((*at)++; **at >= '0' && **at <= '9'; (*at)++, n++, unit /= 10)
		usec += unit * (uint64_t)(**at - '0');
	*ret_usec = usec;
	return n >= 1 && n <= 9;
}

int entry_parse_time(const char *bytes, size_t n_bytes, uint64_t *ret_usec)
{
	struct tm parts = { .tm_isdst = 0 }, again;
	char text[40];
	const char *at = text;
	uint64_t usec = 0;
	time_t seconds;

	/* The NUL is no digit and no sign, so nothing reads behind it. */
	if (n_bytes >= sizeof(text) || memchr(bytes, '\0', n_bytes))
		return -EINVAL;
	memcpy(text, bytes, n_bytes);
	text[n_bytes] = '\0';
	if (!take_number(&at, 4, &parts.tm_year) || !take_char(&at, '-') ||
	    !take_number(&at, 2, &parts.tm_mon) || !take_char(&at, '-') ||
	    !take_number(&at, 2, &parts.tm_mday) || !take_char(&at, 'T') ||
	    !take_number(&at, 2, &parts.tm_hour) || !take_char(&at, ':') ||
	    !take_number(&at, 2, &parts.tm_min) || !take_char(&at, ':') ||
	    !take_number(&at, 2, &parts.tm_sec) || !take_fraction(&at, &usec) ||
	    strcmp(at, "Z") != 0 || parts.tm_year < 1970)
		return -EINVAL;
	parts.tm_year -= 1900;
	parts.tm_mon--;
	again = parts;
	seconds = timegm(&again);
	/* The 31st of April would have become the 1st of May. */
	if (again.tm_mon != parts.tm_mon || again.tm_mday != parts.tm_mday ||
	    again.tm_hour != parts.tm_hour || again.tm_min != parts.tm_min ||
	    again.tm_sec != parts.tm_sec)
		return -EINVAL;
	*ret_usec = (uint64_t)seconds * USEC_PER_SEC + usec;
	return 0;
}

void entry_add_time(struct text *out, uint64_t usec)
{
	time_t seconds = (time_t)(usec / USEC_PER_SEC);
	struct tm parts;
	char day[32];

	(void)gmtime_r(&seconds, &parts);
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	text_addf(out, "%s.%06uZ", day, (unsigned)(usec % USEC_PER_SEC));
}
