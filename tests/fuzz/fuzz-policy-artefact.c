/* SPDX-License-Identifier: MIT */

/*
 * The first byte says what the rest is:
 *
 *   B  an untrusted block, in this host's byte order
 *   D  damage to a compiled policy: for each change four bytes of place and four of content
 *
 * Length and checksums are corrected, so that the whole check is reached. A block that passes it
 * must be safe for every request. A failed check is an abort.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "policy/artefact-internal.h"
#include "policy/model.h"
#include "../unit/policy-everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void ask(const struct artefact *artefact)
{
	_cleanup_engine_ struct policy_engine *engine = NULL;
	size_t n_rules = artefact_n_rows(artefact, SECTION_RULES);
	struct policy_explanation rows[8];
	struct policy_decision decision;

	check(policy_engine_new(artefact, &engine) == 0);
	for (size_t i = 0; i < N_ELEMENTS(every_request); i++) {
		policy_decide(engine, &every_request[i], &decision);
		check(decision.verdict >= POLICY_ALLOW && decision.verdict <= POLICY_DENY);
		for (size_t k = 0; k < decision.n_rules; k++)
			check(decision.rules[k] < n_rules);
		check(policy_explain(engine, &every_request[i], rows, N_ELEMENTS(rows)) <= n_rules);
	}
}

static void open_and_ask(uint8_t *block, size_t n_bytes)
{
	struct artefact_header *header = (void *)block;
	struct artefact artefact = { .block = NULL };
	struct sbx_error err = { 0 };

	if (n_bytes >= sizeof(*header)) {
		header->magic = ARTEFACT_MAGIC;
		header->version = ARTEFACT_VERSION;
		header->n_bytes = (uint32_t)n_bytes;
		digest_of(block + CHECKSUM_END, n_bytes - CHECKSUM_END, header->checksum);
	}
	if (artefact_open(block, n_bytes, &artefact, &err) == 0) {
		ask(&artefact);
		return;
	}
	check(err.code == -EBADMSG && err.why[0] != '\0');
	check(artefact.block == NULL);
}

static void damage_and_ask(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_built_ struct built built = build_new();
	uint32_t place, content;

	build_everything(&built);

	_cleanup_free_ uint8_t *block = malloc(built.n_bytes);

	check(block != NULL);
	memcpy(block, built.block, built.n_bytes);
	for (; n_bytes >= 8; bytes += 8, n_bytes -= 8) {
		memcpy(&place, bytes, 4);
		memcpy(&content, bytes + 4, 4);
		memcpy(block + place % (built.n_bytes / 4) * 4, &content, 4);
	}
	open_and_ask(block, built.n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	if (n_bytes > 0 && bytes[0] == 'B') {
		/* malloc() returns an aligned address. */
		_cleanup_free_ uint8_t *block = malloc(n_bytes);

		if (!block)
			abort();
		memcpy(block, bytes + 1, n_bytes - 1);
		open_and_ask(block, n_bytes - 1);
	}
	if (n_bytes > 0 && bytes[0] == 'D')
		damage_and_ask(bytes + 1, n_bytes - 1);
	return 0;
}
