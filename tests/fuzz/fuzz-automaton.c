/* SPDX-License-Identifier: MIT */

/*
 * The first byte says what the rest is:
 *
 *   B  an untrusted block, in this host's byte order
 *   W  a line of flags ("i" folds case), a line for each word, an empty line, and the text: the
 *      matches must be those of a plain search
 *   D  four bytes of damage (place and mask, two each), then as W: the damaged block must be
 *      refused or scanned without harm
 *
 * A failed check is an abort.
 */

#include "base/automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 16
#define TEXT_MAX 128

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct input {
	char *lines;
	const char *words[WORDS_MAX];
	size_t n_words;
	uint32_t flags;
	const char *text;
	size_t text_len;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* Each match must be within the text, and the scan must end. */
static void scan(const struct automaton *automaton, const char *text, size_t text_len)
{
	struct automaton_scan position = { 0 };
	struct automaton_match match;
	size_t n = 0;

	while (n <= text_len * automaton->n_words &&
	       automaton_next(automaton, &position, text, text_len, &match) == 1) {
		check(match.start <= match.end && match.end <= text_len);
		check(match.word < automaton->n_words);
		n++;
	}
	check(n <= text_len * automaton->n_words);
	check(position.at == text_len);
	check(automaton_any(automaton, text, text_len) == (n > 0));
}

static void open_and_scan(const uint8_t *block, size_t n_bytes)
{
	static const char text[] = "ushers his she hers\0abcabcaaaa\xff";
	const struct automaton *automaton = NULL;
	_cleanup_free_ char *aligned = malloc(n_bytes + 1);

	if (!aligned)
		abort();
	memcpy(aligned, block, n_bytes);
	if (automaton_open(aligned, n_bytes, &automaton) == 0)
		scan(automaton, text, sizeof(text));
	else
		check(automaton == NULL);
}

/* Splits off the next line; NULL if there is none. */
static char *take_line(char **rest)
{
	char *line = *rest, *newline = line ? strchr(line, '\n') : NULL;

	if (newline)
		*newline = '\0';
	*rest = newline ? newline + 1 : NULL;
	return line;
}

static void read_input(const uint8_t *bytes, size_t n_bytes, struct input *ret)
{
	char *rest = strndup((const char *)bytes, n_bytes);

	check(rest != NULL);
	*ret = (struct input){ .lines = rest, .text = "" };

	const char *flags = take_line(&rest), *word;

	ret->flags = flags && strchr(flags, 'i') ? AUTOMATON_FOLD_CASE : 0;
	while (ret->n_words < WORDS_MAX && (word = take_line(&rest)) && *word)
		ret->words[ret->n_words++] = word;
	if (rest)
		ret->text = rest;
	ret->text_len = strnlen(ret->text, TEXT_MAX);
}

static bool word_is_at(const struct input *input, size_t word, size_t end, size_t length)
{
	const char *at = input->text + end - length;

	if (strlen(input->words[word]) != length)
		return false;
	return (input->flags ? strncasecmp(at, input->words[word], length)
			     : memcmp(at, input->words[word], length)) == 0;
}

/* The first word of this length that ends here, or n_words. */
static size_t find_plainly(const struct input *input, size_t end, size_t length)
{
	size_t word = 0;

	while (word < input->n_words && !word_is_at(input, word, end, length))
		word++;
	return word;
}

static void compare(const struct input *input, const struct automaton *automaton)
{
	struct automaton_scan position = { 0 };
	struct automaton_match match;

	for (size_t end = 1; end <= input->text_len; end++) {
		for (size_t length = end; length > 0; length--) {
			size_t word = find_plainly(input, end, length);

			if (word == input->n_words)
				continue;
			check(automaton_next(automaton, &position, input->text, input->text_len,
					     &match) == 1);
			check(match.word == word && match.end == end);
			check(match.start == end - length);
		}
	}
	check(automaton_next(automaton, &position, input->text, input->text_len, &match) == 0);
	scan(automaton, input->text, input->text_len);
}

static void build_and_compare(const uint8_t *bytes, size_t n_bytes, const uint16_t *damage)
{
	struct input input;
	_cleanup_free_ struct automaton *automaton = NULL;
	const struct automaton *opened = NULL;

	read_input(bytes, n_bytes, &input);
	_cleanup_free_ char *lines = input.lines;

	check(lines != NULL);
	check(automaton_build(input.words, input.n_words, input.flags, &automaton, NULL) == 0);
	check(automaton_open(automaton, automaton->n_bytes, &opened) == 0);
	compare(&input, automaton);
	if (damage) {
		size_t size = automaton->n_bytes;

		((uint8_t *)automaton)[damage[0] % size] ^= (uint8_t)damage[1];
		((uint8_t *)automaton)[(damage[0] + 1u) % size] ^= (uint8_t)(damage[1] >> 8);
		open_and_scan((const uint8_t *)automaton, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	uint16_t damage[2];

	if (n_bytes > 0 && bytes[0] == 'B')
		open_and_scan(bytes + 1, n_bytes - 1);
	if (n_bytes > 0 && bytes[0] == 'W')
		build_and_compare(bytes + 1, n_bytes - 1, NULL);
	if (n_bytes > sizeof(damage) && bytes[0] == 'D') {
		memcpy(damage, bytes + 1, sizeof(damage));
		build_and_compare(bytes + 1 + sizeof(damage), n_bytes - 1 - sizeof(damage), damage);
	}
	return 0;
}
