/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For benchmarks of the log: records like those of a working day, and a log in a folder of its own
 */

#include <stdint.h>

#include "audit/log.h"
#include "base/arena.h"
#include "base/text.h"

struct sbx_error;

#define BENCH_LINES 1000u

/* The @i-th line, without a line break: two decisions of a policy, then a tool's result. */
void bench_audit_add_line(struct text *out, uint64_t i);

struct bench_line {
	const char *bytes;
	size_t n_bytes;
};

/* The first BENCH_LINES of them: how long they are all together, or 0 without memory. */
size_t bench_audit_make_lines(struct arena *arena, struct bench_line ret[BENCH_LINES]);

struct bench_place {
	char path[40]; /* "": none yet */
	char log[48];  /* a folder in it */
	struct audit_log_options options;
};

/* A new folder in @parent; in memory where that is NULL and the system has such a place. */
int bench_place_make(struct bench_place *place, const char *parent, struct sbx_error *err);
void bench_place_remove(struct bench_place *place);
/* The files in @from, a folder, become all that is in @to, which is made. 0 or negative errno. */
int bench_copy_files(const char *from, const char *to);
