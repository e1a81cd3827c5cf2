/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * "did you mean": the nearest of a list of words, or all of them
 */

#include <stdbool.h>
#include <stddef.h>

struct sbx_error;
struct text;

/* A list of names, in any representation: @word returns the i-th, or NULL after the last. */
struct suggest_words {
	const char *(*word)(const void *list, size_t i);
	const void *list;
};

/*
 * The candidate nearest to @word by edits (insert, delete, replace, swap of neighbours; case counts
 * less), or NULL if none is near enough (a third of the length, at least one edit, at most three).
 * NULL for words over 64 bytes.
 */
const char *suggest(const char *word, struct suggest_words candidates);
/* The same over a NULL-terminated array. */
const char *suggest_from(const char *word, const char *const *candidates);

/* Makes "did you mean 'X'?" the fix of @err if a candidate is near enough; else false. */
bool suggest_fix(struct sbx_error *err, const char *word, struct suggest_words candidates);
bool suggest_fix_from(struct sbx_error *err, const char *word, const char *const *candidates);
/* Adds "a, b, c". */
void suggest_add_all(struct text *out, struct suggest_words words);
void suggest_add_all_from(struct text *out, const char *const *words);
