/* SPDX-License-Identifier: MIT */
#pragma once

/* For benchmarks of the log: typical records, and a log in a temporary directory */

#include <stdint.h>

#include "audit/log.h"
#include "base/arena.h"
#include "base/text.h"

struct sbx_error;

#define BENCH_LINES 1000u

/* Adds the @i-th line, without a newline: two policy decisions, then a result of a tool. */
void bench_audit_add_line(struct text *out, uint64_t i);

struct bench_line {
	const char *bytes;
	size_t n_bytes;
};

/* Makes the first BENCH_LINES of them; returns their total length, or 0: out of memory. */
size_t bench_audit_make_lines(struct arena *arena, struct bench_line ret[BENCH_LINES]);

struct bench_place {
	char path[40]; /* "": not created yet */
	char log[48];  /* a directory in it */
	struct audit_log_options options;
};

/* Creates a directory in @parent; NULL: in memory, if the host has such a file system. */
int bench_place_make(struct bench_place *place, const char *parent, struct sbx_error *err);
void bench_place_remove(struct bench_place *place);
/* Creates the directory @to with a copy of the files in @from. 0 or negative errno. */
int bench_copy_files(const char *from, const char *to);
