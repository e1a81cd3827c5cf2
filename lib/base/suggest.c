/* SPDX-License-Identifier: MIT */

/*
 * The nearest word, by optimal string alignment distance: the fewest insertions, deletions,
 * replacements and swaps of neighbours. Costs are doubled so that a letter in the wrong case can
 * cost half an edit.
 */

#include "base/suggest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include <sbx/error.h>

#include "base/text.h"

#define WORD_MAX 64
#define EDIT 2
#define CASE_EDIT 1

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned replace_cost(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? CASE_EDIT : EDIT;
}

/* Both words are at most WORD_MAX long. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j * EDIT;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *oldest = before;

		row[0] = (unsigned)i * EDIT;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = last[j - 1] + replace_cost(a[i - 1], b[j - 1]);
			row[j] = min_of(row[j], min_of(last[j], row[j - 1]) + EDIT);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_of(row[j], before[j - 2] + EDIT);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_len];
}

/* A third of the word's length, but at least one and at most three edits. */
static unsigned tolerance(size_t len)
{
	size_t edits = len / 3;

	edits = edits < 1 ? 1 : edits > 3 ? 3 : edits;
	return (unsigned)edits * EDIT;
}

const char *suggest(const char *word, struct suggest_words candidates)
{
	size_t word_len = strlen(word);
	unsigned best_distance = tolerance(word_len) + 1;
	const char *best = NULL, *candidate;

	if (word_len == 0 || word_len > WORD_MAX)
		return NULL;
	for (size_t i = 0; (candidate = candidates.word(candidates.list, i)); i++) {
		size_t len = strlen(candidate);
		unsigned d;

		if (len > WORD_MAX)
			continue;
		d = strcasecmp(word, candidate) == 0 ? CASE_EDIT
						     : distance(word, word_len, candidate, len);
		/* Not if every letter would be replaced: 'q' is not suggested for 'x'. */
		if (d >= best_distance || d >= EDIT * min_of((unsigned)word_len, (unsigned)len))
			continue;
		best_distance = d;
		best = candidate;
	}
	return best;
}

static const char *word_of_array(const void *list, size_t i)
{
	return ((const char *const *)list)[i];
}

static struct suggest_words words_of(const char *const *array)
{
	return (struct suggest_words){ .word = word_of_array, .list = array };
}

const char *suggest_from(const char *word, const char *const *candidates)
{
	return suggest(word, words_of(candidates));
}

bool suggest_fix(struct sbx_error *err, const char *word, struct suggest_words candidates)
{
	const char *near = suggest(word, candidates);

	if (near)
		sbx_error_fix(err, "did you mean '%s'?", near);
	return near;
}

bool suggest_fix_from(struct sbx_error *err, const char *word, const char *const *candidates)
{
	return suggest_fix(err, word, words_of(candidates));
}

void suggest_add_all(struct text *out, struct suggest_words words)
{
	const char *word;

	for (size_t i = 0; (word = words.word(words.list, i)); i++)
		text_addf(out, "%s%s", i > 0 ? ", " : "", word);
}

void suggest_add_all_from(struct text *out, const char *const *words)
{
	suggest_add_all(out, words_of(words));
}
