/* SPDX-License-Identifier: MIT */
#pragma once

/* Expected verdicts of both profiles for calls with given arguments */

#include <stdio.h>
#include <string.h>

#include "filter-rig.h"
#include "test.h"

#define INET FILTER_INET
#define NESTED FILTER_NESTED
#define NO_MEMFD_EXEC FILTER_NO_MEMFD_EXEC
#define PORTS FILTER_PORTS
#define SHARED FILTER_NO_NAMESPACES
#define NO_SHM FILTER_NO_SHM
#define LOOPBACK FILTER_LOOPBACK
#define PTRACE FILTER_PTRACE
#define HIGH 0x100000000u
#define MINUS_1 UINT32_MAX

/* The expected verdicts of both profiles in one variant. */
struct row {
	const char *call;
	uint64_t args[4];
	unsigned variant;
	uint32_t strict;
	uint32_t standard;
};

static inline uint32_t answer(const char *profile, const struct row *row, int number)
{
	struct seccomp_data data = { .nr = number, .arch = seccomp_arch_native() };

	memcpy(data.args, row->args, sizeof(row->args));
	return answer_to(profile, row->variant, &data);
}

static inline void check_row(const struct row *row, const char *profile, int number, uint32_t want)
{
	uint32_t got = answer(profile, row, number);

	if (got != want)
		printf("# %s(0x%llx, 0x%llx, 0x%llx, 0x%llx) in variant %u of %s\n", row->call,
		       (unsigned long long)row->args[0], (unsigned long long)row->args[1],
		       (unsigned long long)row->args[2], (unsigned long long)row->args[3],
		       row->variant, profile);
	expect_eq(got, want);
}

static inline void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int number = seccomp_syscall_resolve_name(rows[i].call);

		expect(number != __NR_SCMP_ERROR);
		if (number < 0)
			continue; /* not a call of this architecture */
		check_row(&rows[i], "strict", number, rows[i].strict);
		check_row(&rows[i], "standard", number, rows[i].standard);
	}
}

#define CHECK(rows) check_rows(rows, N_ELEMENTS(rows))

/* Calls, ended by NULL, that have one verdict for all arguments. */
static inline void check_names(const char *const *names, unsigned variant, uint32_t strict,
			       uint32_t standard)
{
	static const uint64_t tries[] = { 0, 1, UINT32_MAX, UINT64_MAX, HIGH };

	for (; *names; names++)
		for (size_t i = 0; i < N_ELEMENTS(tries); i++) {
			struct row row = { .call = *names,
					   .args = { tries[i], tries[i], tries[i], tries[i] },
					   .variant = variant,
					   .strict = strict,
					   .standard = standard };

			check_rows(&row, 1);
		}
}
