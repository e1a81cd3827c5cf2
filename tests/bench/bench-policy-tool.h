/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For benchmarks that start sbx-policy
 */

struct sbx_error;
struct text;

/* The path of the tool @name in the directory of this program; -ENOENT with a fix if it is missing.
 */
int bench_find_tool(const char *name, struct text *ret, struct sbx_error *err);
/* A policy with 24 rules in a memfd, or negative errno. It allows to read below /srv/m7. */
int bench_policy_file(void);
