/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a packet of the hand-over, from either side. Its meaning is
 * written and read again as the same text. A failed check is an abort.
 */

#include "registry/handover.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_same(const struct text *a, const struct text *b)
{
	check(text_status(a) == 0 && text_status(b) == 0);
	check(strcmp(text_string(a), text_string(b)) == 0);
}

static void check_packet(const uint8_t *bytes, size_t n_bytes, struct arena *arena)
{
	_cleanup_text_ struct text text = TEXT_INIT, again = TEXT_INIT;
	struct handover first = HANDOVER_INIT, second = HANDOVER_INIT;

	if (handover_parse(bytes, n_bytes, arena, &first, NULL) != HANDOVER_LISTENERS)
		return;
	check(first.n_listeners > 0 && first.n_listeners <= HANDOVER_LISTENERS_MAX);
	handover_add_text(&text, &first);
	/* Escapes may have made it longer than a packet. */
	if (text.len > HANDOVER_BYTES_MAX)
		return;
	check(handover_parse(text_string(&text), text.len, arena, &second, NULL) ==
	      HANDOVER_LISTENERS);
	handover_add_text(&again, &second);
	check_same(&text, &again);
}

static void check_answer(const uint8_t *bytes, size_t n_bytes, struct arena *arena)
{
	_cleanup_text_ struct text text = TEXT_INIT, again = TEXT_INIT;
	static struct handover_summary first, second;

	if (handover_parse_answer(bytes, n_bytes, arena, &first, NULL) < 0)
		return;
	check(first.n_denials <= HANDOVER_DENIALS_MAX);
	check(first.n_counters <= HANDOVER_COUNTERS_MAX);
	handover_add_summary(&text, &first);
	check(text.len <= HANDOVER_BYTES_MAX);
	check(handover_parse_answer(text_string(&text), text.len, arena, &second, NULL) == 0);
	handover_add_summary(&again, &second);
	check_same(&text, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;

	check_packet(bytes, n_bytes, &arena);
	check_answer(bytes, n_bytes, &arena);
	return 0;
}
