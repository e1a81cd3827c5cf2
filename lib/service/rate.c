/* SPDX-License-Identifier: MIT */

/*
 * A log that a stranger can fill is a way to hide what he does in it, and to fill the disk.
 */

#include "service/rate.h"

#include <stdarg.h>
#include <time.h>

#include "base/log.h"
#include "base/text.h"

bool rate_allows(struct rate *rate, uint64_t now_usec, uint64_t *ret_left_out)
{
	if (rate->since_usec == 0 || now_usec - rate->since_usec >= RATE_USEC) {
		rate->since_usec = now_usec;
		rate->n = 0;
	}
	if (rate->n == RATE_MESSAGES) {
		rate->n_left_out++;
		return false;
	}
	rate->n++;
	*ret_left_out = rate->n_left_out;
	rate->n_left_out = 0;
	return true;
}

void rate_warn(struct rate *rate, const struct log *log, const char *format, ...)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct timespec now;
	uint64_t left_out;
	va_list args;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (!rate_allows(rate, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + 1,
			 &left_out))
		return;
	va_start(args, format);
	text_addv(&text, format, args);
	va_end(args);
	if (left_out > 0)
		text_addf(&text, " (%llu messages like this were left out)",
			  (unsigned long long)left_out);
	log_write(log, LOG_LEVEL_WARNING, NULL, "%s", text_string(&text));
}
