/* SPDX-License-Identifier: MIT */

/*
 * Computes days itself: timegm() takes the lock of the time zone for every record, and gmtime_r()
 * reads /etc/localtime first
 */

#include "base/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define NSEC_PER_USEC 1000
#define LEAP_DAYS_BEFORE_1970 477
#define SECONDS_PER_DAY 86400u
/* The calendar repeats itself. */
#define YEARS_PER_ERA 400
#define DAYS_PER_ERA 146097

uint64_t moment_usec(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * USEC_PER_SEC + (uint64_t)time->tv_nsec / NSEC_PER_USEC;
}

struct timespec moment_timespec(uint64_t usec)
{
	return (struct timespec){ .tv_sec = (time_t)(usec / USEC_PER_SEC),
				  .tv_nsec = (long)(usec % USEC_PER_SEC) * NSEC_PER_USEC };
}

uint64_t moment_now(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return moment_usec(&now);
}

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

static bool is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Since 1970. */
static int days_before_year(int year)
{
	int last = year - 1;

	return 365 * (year - 1970) + last / 4 - last / 100 + last / 400 - LEAP_DAYS_BEFORE_1970;
}

struct moment {
	int year, month, day, hour, minute, second;
};

static int month_length(int year, int month)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return lengths[month - 1] + (month == 2 && is_leap(year));
}

static bool is_in_calendar(const struct moment *moment)
{
	if (moment->year < 1970 || moment->month < 1 || moment->month > 12)
		return false;
	return moment->day >= 1 && moment->day <= month_length(moment->year, moment->month) &&
	       moment->hour < 24 && moment->minute < 60 && moment->second < 60;
}

static uint64_t seconds_of(const struct moment *moment)
{
	static const int days_before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	int days = days_before_year(moment->year) + days_before[moment->month - 1] +
		   (moment->month > 2 && is_leap(moment->year)) + moment->day - 1;

	return ((uint64_t)days * 24 + (uint64_t)moment->hour) * 3600 +
	       (uint64_t)moment->minute * 60 + (uint64_t)moment->second;
}

int moment_parse(const char *bytes, size_t n_bytes, uint64_t *ret_usec)
{
	struct moment moment;
	char text[40];
	const char *at = text;
	uint64_t usec = 0;

	/* A NUL is neither digit nor sign, so parsing stops there and never reads past it. */
	if (n_bytes >= sizeof(text) || memchr(bytes, '\0', n_bytes))
		return -EINVAL;
	memcpy(text, bytes, n_bytes);
	text[n_bytes] = '\0';
	if (!take_number(&at, 4, &moment.year) || !take_char(&at, '-') ||
	    !take_number(&at, 2, &moment.month) || !take_char(&at, '-') ||
	    !take_number(&at, 2, &moment.day) || !take_char(&at, 'T') ||
	    !take_number(&at, 2, &moment.hour) || !take_char(&at, ':') ||
	    !take_number(&at, 2, &moment.minute) || !take_char(&at, ':') ||
	    !take_number(&at, 2, &moment.second) || !take_fraction(&at, &usec) ||
	    strcmp(at, "Z") != 0 || !is_in_calendar(&moment))
		return -EINVAL;
	*ret_usec = seconds_of(&moment) * USEC_PER_SEC + usec;
	return 0;
}

static struct moment moment_of(uint64_t seconds)
{
	uint64_t days = seconds / SECONDS_PER_DAY, second = seconds % SECONDS_PER_DAY;
	struct moment moment = {
		.year = 1970 + (int)(days / DAYS_PER_ERA) * YEARS_PER_ERA,
		.month = 1,
		.hour = (int)(second / 3600),
		.minute = (int)(second / 60 % 60),
		.second = (int)(second % 60),
	};
	int left = (int)(days % DAYS_PER_ERA);

	for (; left >= 365 + is_leap(moment.year); moment.year++)
		left -= 365 + is_leap(moment.year);
	for (; left >= month_length(moment.year, moment.month); moment.month++)
		left -= month_length(moment.year, moment.month);
	moment.day = left + 1;
	return moment;
}

void moment_add(struct text *out, uint64_t usec)
{
	struct moment moment = moment_of(usec / USEC_PER_SEC);

	text_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", moment.year, moment.month, moment.day,
		  moment.hour, moment.minute, moment.second, (unsigned)(usec % USEC_PER_SEC));
}
