/* SPDX-License-Identifier: MIT */

/*
 * Aho and Corasick's automaton as one dense table
 *
 * A state is a prefix of some word: the longest one that the bytes read so far end with. Bytes that
 * no word contains share class 0, so a row is short and the table stays in the cache. The fallback
 * links of the textbook are resolved while the table is built (automaton-build.c): a scan loads one
 * entry per byte and checks its top bit, which is set if a word ends here.
 *
 * The block has exactly one layout for its three counts. automaton_open() computes that layout
 * itself and compares, so that no offset of an untrusted block is ever used.
 */

#include "base/automaton-internal.h"

#include <errno.h>
#include <string.h>

static bool head_is_sound(const struct automaton *automaton, size_t n_bytes)
{
	struct automaton head;

	if (n_bytes < sizeof(head) || (uintptr_t)automaton % sizeof(uint32_t) != 0)
		return false;
	memcpy(&head, automaton, sizeof(head));
	if (head.magic != AUTOMATON_MAGIC || head.version != AUTOMATON_VERSION ||
	    (head.flags & ~AUTOMATON_FOLD_CASE) || head.n_states == 0 ||
	    head.n_states > AUTOMATON_STATES_MAX || head.n_classes == 0 ||
	    head.n_classes > AUTOMATON_CLASSES_MAX)
		return false;
	for (int byte = 0; byte < 256; byte++)
		if (head.class_of[byte] >= head.n_classes)
			return false;
	for (int byte = 'A'; (head.flags & AUTOMATON_FOLD_CASE) && byte <= 'Z'; byte++)
		if (head.class_of[byte] != head.class_of[automaton_fold((uint8_t)byte)])
			return false;
	return automaton_lay_out(&head) && head.n_bytes == n_bytes &&
	       memcmp(&head, automaton, sizeof(head)) == 0;
}

/* Does @state report a word that exists, and after it only shorter ones? Then every chain ends. */
static bool state_is_sound(const struct automaton *automaton, uint32_t state)
{
	const uint32_t *word = table_of(automaton, automaton->word_offset);
	const uint32_t *shorter = table_of(automaton, automaton->shorter_offset);
	const uint32_t *length = table_of(automaton, automaton->length_offset);

	if (word[state] == AUTOMATON_NONE)
		return shorter[state] == AUTOMATON_NONE;
	/* The root must report no word: words are not empty, and in a scan 0 means "nothing
	 * pending". */
	if (state == 0 || word[state] >= automaton->n_words)
		return false;
	if (shorter[state] == AUTOMATON_NONE)
		return true;
	if (shorter[state] >= automaton->n_states)
		return false;

	uint32_t following = word[shorter[state]];

	return following < automaton->n_words && length[following] < length[word[state]];
}

static bool edges_are_sound(const struct automaton *automaton)
{
	const uint32_t *next = table_of(automaton, automaton->next_offset);
	const uint32_t *word = table_of(automaton, automaton->word_offset);
	size_t n = (size_t)automaton->n_states * automaton->n_classes;

	for (size_t i = 0; i < n; i++) {
		uint32_t state = next[i] & ~AUTOMATON_MARK;

		if (state >= automaton->n_states)
			return false;
		if (((next[i] & AUTOMATON_MARK) != 0) != (word[state] != AUTOMATON_NONE))
			return false;
	}
	return true;
}

int automaton_open(const void *block, size_t n_bytes, const struct automaton **ret)
{
	const struct automaton *automaton = block;

	if (!head_is_sound(automaton, n_bytes))
		return -EBADMSG;

	const uint32_t *length = table_of(automaton, automaton->length_offset);

	/* A word of n bytes needs n states besides the root. */
	for (uint32_t i = 0; i < automaton->n_words; i++)
		if (length[i] == 0 || length[i] >= automaton->n_states)
			return -EBADMSG;
	for (uint32_t state = 0; state < automaton->n_states; state++)
		if (!state_is_sound(automaton, state))
			return -EBADMSG;
	if (!edges_are_sound(automaton))
		return -EBADMSG;
	*ret = automaton;
	return 0;
}

static int report(const struct automaton *automaton, struct automaton_scan *scan, uint32_t state,
		  struct automaton_match *ret)
{
	uint32_t word = table_of(automaton, automaton->word_offset)[state];
	uint32_t shorter = table_of(automaton, automaton->shorter_offset)[state];
	size_t length = table_of(automaton, automaton->length_offset)[word];

	scan->pending = shorter == AUTOMATON_NONE ? 0 : shorter;
	*ret = (struct automaton_match){
		.word = word,
		/*
		 * An untrusted block may report a word that is longer than the bytes read so far.
		 */
		.start = length < scan->at ? scan->at - length : 0,
		.end = scan->at,
	};
	return 1;
}

int automaton_next(const struct automaton *automaton, struct automaton_scan *scan,
		   const void *bytes, size_t n_bytes, struct automaton_match *ret)
{
	const uint32_t *next = table_of(automaton, automaton->next_offset);
	const uint8_t *byte = bytes;
	uint32_t state = scan->state;
	size_t i = scan->offset;

	if (scan->pending)
		return report(automaton, scan, scan->pending, ret);
	while (i < n_bytes && !(state & AUTOMATON_MARK))
		state = next[(size_t)state * automaton->n_classes + automaton->class_of[byte[i++]]];
	scan->at += i - scan->offset;
	scan->offset = i;
	scan->state = state & ~AUTOMATON_MARK;
	if (state & AUTOMATON_MARK)
		return report(automaton, scan, scan->state, ret);
	scan->offset = 0;
	return 0;
}

bool automaton_any(const struct automaton *automaton, const void *bytes, size_t n_bytes)
{
	const uint32_t *next = table_of(automaton, automaton->next_offset);
	const uint8_t *byte = bytes;
	uint32_t state = 0;

	for (size_t i = 0; i < n_bytes && !(state & AUTOMATON_MARK); i++)
		state = next[(size_t)state * automaton->n_classes + automaton->class_of[byte[i]]];
	return state & AUTOMATON_MARK;
}
