/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Text → model, for every dialect
 *
 * Keys are one const table (policy/keys.h). A key that is unknown or at a wrong place, a value of a
 * wrong type or with an ambiguous unit is an error with file:line:column and a suggestion. Examples
 * inside rules are run at the end: a rule that contradicts one of its examples is an error.
 */

#include <stddef.h>

struct policy;
struct sbx_error;

/* @name comes before every line and column in errors. */
int policy_load(const char *name, const void *bytes, size_t n_bytes, struct policy **ret,
		struct sbx_error *err);
/* "-" is standard input. */
int policy_load_file(int dirfd, const char *path, struct policy **ret, struct sbx_error *err);

/*
 * All mistakes of the text that can be found in one pass, instead of the first: each is handed to
 * @report. A text that is not even YAML or JSON has one. The examples of rules are tried only where
 * nothing else is wrong. Returns how many there were, or -ENOMEM.
 */
int policy_load_all_mistakes(const char *name, const void *bytes, size_t n_bytes,
			     void (*report)(const struct sbx_error *err, void *userdata),
			     void *userdata);
