/* SPDX-License-Identifier: MIT */

/*
 * The bytes are the text of a checkpoint, and the first record of a log: an accepted text is
 * printed back byte for byte, a refused one gives no output. A failed check is an abort.
 */

#include "audit/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void parse_checkpoint(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct audit_checkpoint checkpoint = { .size = 0 };
	int r = checkpoint_parse(bytes, n_bytes, &checkpoint, NULL);

	if (r < 0) {
		check(r == -EBADMSG && checkpoint.size == 0);
		return;
	}
	check(checkpoint.size > 0 && checkpoint.first_usec <= checkpoint.last_usec);
	check(checkpoint_add_text(&again, &checkpoint) == 0);
	check(again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0);
}

static void parse_genesis(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_text_ struct text again = TEXT_INIT;
	struct chain_genesis genesis = { .time_usec = UINT64_MAX };
	int r = chain_parse_genesis(bytes, n_bytes, &genesis);

	if (r < 0) {
		check(r == -EBADMSG && genesis.time_usec == UINT64_MAX);
		return;
	}
	check(strlen(genesis.log_id) == AUDIT_LOG_ID_SIZE - 1);
	check(chain_add_genesis(&again, &genesis) == 0);
	check(again.len == n_bytes && memcmp(again.data, bytes, n_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	parse_checkpoint(bytes, n_bytes);
	parse_genesis(bytes, n_bytes);
	return 0;
}
