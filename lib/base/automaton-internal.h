/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The layout of an automaton, for building and checking
 */

#include <stdbool.h>

#include "base/automaton.h"

/* Flag of an entry of the next table: a word ends in that state. */
#define AUTOMATON_MARK 0x80000000u
#define AUTOMATON_CLASSES_MAX 256u

static inline uint32_t *table_at(struct automaton *automaton, uint32_t offset)
{
	return (uint32_t *)(void *)((char *)automaton + offset);
}

static inline const uint32_t *table_of(const struct automaton *automaton, uint32_t offset)
{
	return (const uint32_t *)(const void *)((const char *)automaton + offset);
}

/* Sets the offsets and the size from the counts, which the caller has checked. False if the size
 * exceeds 32 bits. */
static inline bool automaton_lay_out(struct automaton *head)
{
	uint64_t states_size = head->n_states * sizeof(uint32_t);
	uint64_t word = sizeof(*head) + states_size * head->n_classes;
	uint64_t n_bytes = word + 2 * states_size + head->n_words * sizeof(uint32_t);

	if (n_bytes > UINT32_MAX)
		return false;
	head->next_offset = sizeof(*head);
	head->word_offset = (uint32_t)word;
	head->shorter_offset = (uint32_t)(word + states_size);
	head->length_offset = (uint32_t)(word + 2 * states_size);
	head->n_bytes = (uint32_t)n_bytes;
	return true;
}

static inline uint8_t automaton_fold(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}
