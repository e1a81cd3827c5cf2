/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For benchmarks that start sbx-policy
 */

struct sbx_error;
struct text;

/* The tool @name beside the running program; -ENOENT with a fix where it is not. */
int bench_find_tool(const char *name, struct text *ret, struct sbx_error *err);
/* A policy of 24 rules in a file in memory, or negative errno. It allows to read below /srv/m7. */
int bench_policy_file(void);
