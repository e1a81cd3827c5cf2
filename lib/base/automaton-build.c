/* SPDX-License-Identifier: MIT */

/*
 * Words → automaton: the tree of all prefixes, then, breadth first, the edges that the textbook
 * algorithm finds through fallback links at run time
 */

#include "base/automaton-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

_Static_assert(sizeof(struct automaton) % sizeof(uint32_t) == 0, "tables must be aligned");
_Static_assert(AUTOMATON_STATES_MAX < AUTOMATON_MARK, "a state and its mark share 32 bits");

static int check_words(const char *const *words, size_t n_words, struct sbx_error *err)
{
	/* AUTOMATON_NONE is not a valid index of a word. */
	if (n_words >= AUTOMATON_NONE) {
		(void)sbx_error_what(err, -E2BIG, "cannot search for %zu words", n_words);
		sbx_error_fix(err, "use fewer words");
		return -E2BIG;
	}
	for (size_t i = 0; i < n_words; i++) {
		if (*words[i] != '\0')
			continue;
		(void)sbx_error_what(err, -EINVAL, "cannot search for an empty word");
		sbx_error_why(err, "word %zu of %zu is empty and would match everywhere", i + 1,
			      n_words);
		sbx_error_fix(err, "remove it");
		return -EINVAL;
	}
	return 0;
}

/* Every byte that a word contains gets a class of its own, from 1; 255 of them at most, because
 * words contain no NUL. */
static void make_classes(struct automaton *head, const char *const *words)
{
	bool folded = head->flags & AUTOMATON_FOLD_CASE;

	head->n_classes = 1;
	for (size_t i = 0; i < head->n_words; i++) {
		for (const uint8_t *at = (const uint8_t *)words[i]; *at; at++) {
			uint8_t *slot = &head->class_of[folded ? automaton_fold(*at) : *at];

			if (*slot == 0)
				*slot = (uint8_t)head->n_classes++;
		}
	}
	for (int byte = 'A'; folded && byte <= 'Z'; byte++)
		head->class_of[byte] = head->class_of[automaton_fold((uint8_t)byte)];
}

static size_t shared_prefix(const char *a, const char *b, const uint8_t *class_of)
{
	size_t n = 0;

	while (a[n] && class_of[(uint8_t)a[n]] == class_of[(uint8_t)b[n]])
		n++;
	return n;
}

static int compare_words(const void *a, const void *b, void *userdata)
{
	const char *left = *(const char *const *)a, *right = *(const char *const *)b;
	const uint8_t *class_of = userdata;
	size_t n = shared_prefix(left, right, class_of);

	return class_of[(uint8_t)left[n]] - class_of[(uint8_t)right[n]];
}

/* Counts the states before the tables are allocated: in sorted order each word adds the bytes after
 * its common prefix with the previous word. */
static int count_states(struct automaton *head, const char *const *words, uint64_t *ret)
{
	_cleanup_free_ const char **sorted = reallocarray(NULL, head->n_words + 1, sizeof(*sorted));
	uint64_t n_states = 1;

	if (!sorted)
		return -ENOMEM;
	sorted[0] = "";
	if (head->n_words > 0)
		memcpy(sorted + 1, words, head->n_words * sizeof(*sorted));
	qsort_r(sorted + 1, head->n_words, sizeof(*sorted), compare_words, head->class_of);
	for (size_t i = 1; i <= head->n_words; i++)
		n_states +=
			strlen(sorted[i]) - shared_prefix(sorted[i - 1], sorted[i], head->class_of);
	*ret = n_states;
	return 0;
}

static int count(struct automaton *head, const char *const *words, struct sbx_error *err)
{
	uint64_t n_states;

	make_classes(head, words);

	int r = count_states(head, words, &n_states);

	if (r < 0)
		return sbx_error_what(err, r, "cannot search for %u words", head->n_words);
	if (n_states <= AUTOMATON_STATES_MAX) {
		head->n_states = (uint32_t)n_states;
		if (automaton_lay_out(head))
			return 0;
	}
	(void)sbx_error_what(err, -E2BIG, "cannot search for %u words", head->n_words);
	sbx_error_why(err, "they need a table of %llu by %u, which is too large",
		      (unsigned long long)n_states, head->n_classes);
	sbx_error_fix(err, "use fewer or shorter words");
	return -E2BIG;
}

/* The tree of all prefixes. 0 means "no edge yet", because no edge of the tree ends in the root. */
static void add_words(struct automaton *automaton, const char *const *words)
{
	uint32_t *next = table_at(automaton, automaton->next_offset);
	uint32_t *word = table_at(automaton, automaton->word_offset);
	uint32_t *length = table_at(automaton, automaton->length_offset);
	uint32_t n_states = 1;

	for (uint32_t i = 0; i < automaton->n_words; i++) {
		const uint8_t *at = (const uint8_t *)words[i];
		uint32_t state = 0;

		for (; *at; at++) {
			uint32_t *edge = &next[(size_t)state * automaton->n_classes +
					       automaton->class_of[*at]];

			if (*edge == 0)
				*edge = n_states++;
			state = *edge;
		}
		length[i] = (uint32_t)(at - (const uint8_t *)words[i]);
		if (word[state] == AUTOMATON_NONE)
			word[state] = i;
	}
}

/*
 * Fills the rows breadth first. @fallback is the state of the longest proper suffix; it is nearer
 * to the root, so its row is complete, and its words are shorter than the word that ends in @state
 * itself.
 */
static int link_states(struct automaton *automaton)
{
	_cleanup_free_ uint32_t *fallback = calloc(automaton->n_states, sizeof(*fallback));
	_cleanup_free_ uint32_t *queue = calloc(automaton->n_states, sizeof(*queue));
	uint32_t *next = table_at(automaton, automaton->next_offset);
	uint32_t *word = table_at(automaton, automaton->word_offset);
	uint32_t *shorter = table_at(automaton, automaton->shorter_offset);
	uint32_t n_queued = 1;

	if (!fallback || !queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_queued; i++) {
		uint32_t state = queue[i], back = fallback[state];
		uint32_t *row = next + (size_t)state * automaton->n_classes;
		const uint32_t *back_row = next + (size_t)back * automaton->n_classes;

		if (word[state] == AUTOMATON_NONE) {
			word[state] = word[back];
			shorter[state] = shorter[back];
		} else if (word[back] != AUTOMATON_NONE) {
			shorter[state] = back;
		}
		for (uint32_t k = 0; k < automaton->n_classes; k++) {
			uint32_t target = state ? back_row[k] : 0;

			if (row[k] == 0) {
				row[k] = target;
				continue;
			}
			fallback[row[k]] = target;
			queue[n_queued++] = row[k];
		}
	}
	return 0;
}

static void mark_ends(struct automaton *automaton)
{
	uint32_t *next = table_at(automaton, automaton->next_offset);
	const uint32_t *word = table_at(automaton, automaton->word_offset);
	size_t n = (size_t)automaton->n_states * automaton->n_classes;

	for (size_t i = 0; i < n; i++)
		if (word[next[i]] != AUTOMATON_NONE)
			next[i] |= AUTOMATON_MARK;
}

int automaton_build(const char *const *words, size_t n_words, uint32_t flags,
		    struct automaton **ret, struct sbx_error *err)
{
	struct automaton head = {
		.magic = AUTOMATON_MAGIC,
		.version = AUTOMATON_VERSION,
		.flags = flags & AUTOMATON_FOLD_CASE,
		.n_words = (uint32_t)n_words,
	};
	int r = check_words(words, n_words, err);

	if (r < 0)
		return r;
	r = count(&head, words, err);
	if (r < 0)
		return r;

	_cleanup_free_ struct automaton *automaton = calloc(1, head.n_bytes);

	if (!automaton)
		return sbx_error_what(err, -ENOMEM, "cannot search for %zu words", n_words);
	memcpy(automaton, &head, sizeof(head));
	/* Sets both tables, which are adjacent, to AUTOMATON_NONE. */
	memset(table_at(automaton, head.word_offset), 0xff, head.length_offset - head.word_offset);
	add_words(automaton, words);
	r = link_states(automaton);
	if (r < 0)
		return sbx_error_what(err, r, "cannot search for %zu words", n_words);
	mark_ends(automaton);
	*ret = take_ptr(automaton);
	return 0;
}
