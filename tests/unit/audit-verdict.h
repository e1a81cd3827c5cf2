/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs the verifier on a log and compares the verdict */

#include <time.h>

#include "audit-log-place.h"
#include "audit/verify.h"

static inline uint64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline struct verify_report verified(const struct log_place *place,
					    struct verify_options options,
					    struct verified_state *ret_state)
{
	struct verify_report report = { .verdict = VERIFY_UNREADABLE };
	struct sbx_error err = { .code = 0 };

	options.directory = open(place->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.now_usec == 0)
		options.now_usec = now_usec();
	expect_eq(verify_directory(&options, &report, ret_state, &err), 0);
	if (err.code)
		printf("# %s: %s\n", err.what, err.why);
	(void)close(options.directory);
	if (report.verdict != VERIFY_INTACT) {
		expect(report.finding.what[0] != '\0' && report.finding.fix[0] != '\0');
		expect(report.finding.code < 0);
	}
	return report;
}

/* Expects a verdict; prints the finding if it differs. */
#define expect_verdict(report, want)                                                               \
	do {                                                                                       \
		const struct verify_report _value = (report), *_report = &_value;                  \
		expect_str(verify_verdict_name(_report->verdict), verify_verdict_name(want));      \
		if (_report->verdict != (want))                                                    \
			printf("# found: %s: %s\n", _report->finding.what, _report->finding.why);  \
	} while (0)
