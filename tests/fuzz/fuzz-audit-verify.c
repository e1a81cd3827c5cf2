/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a witness, and a stored state of the verifier: an accepted text is what would be
 * printed. A failed check is an abort.
 */

#include "audit/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void read_state(const char *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct verified_state state;
	int r = verified_state_parse(bytes, n_bytes, &state, NULL);

	if (r < 0) {
		check(r == -EBADMSG);
		return;
	}
	check(verified_state_add_text(&again, &state) == 0);
	check(again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0);
}

static void read_witness(const char *bytes, size_t n_bytes)
{
	_cleanup_witness_ struct witness witness = WITNESS_INIT;
	int r = witness_parse(&witness, bytes, n_bytes, NULL);

	check(r == 0 || r == -EBADMSG);
	check(r == 0 || !witness.heads);
	for (size_t i = 0; r == 0 && i < witness.n_heads; i++) {
		check(witness.heads[i].size > 0);
		check(i == 0 || witness.heads[i - 1].size <= witness.heads[i].size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	read_state((const char *)bytes, n_bytes);
	read_witness((const char *)bytes, n_bytes);
	return 0;
}
