/* SPDX-License-Identifier: MIT */

/*
 * The block seen from outside: its rows, its texts, and artefact_open()
 *
 * What the header says about itself is checked here, first; what the rows say about each other is
 * in artefact-check.c and relies on it.
 */

#include "policy/artefact.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/artefact-check.h"
#include "policy/artefact-internal.h"
#include "policy/digest.h"

_Static_assert(sizeof(struct artefact_header) % 8 == 0, "sections are aligned to 8");
_Static_assert(64 % sizeof(struct artefact_node) == 0, "no node lies across two cache lines");
_Static_assert(64 % sizeof(struct artefact_condition) == 0, "and no condition");

static const size_t row_sizes[N_SECTIONS] = {
	[SECTION_BYTES] = 1,
	[SECTION_SOURCES] = sizeof(struct artefact_source),
	[SECTION_RULES] = sizeof(struct artefact_rule),
	[SECTION_CONDITIONS] = sizeof(struct artefact_condition),
	[SECTION_LISTS] = sizeof(struct artefact_lists),
	[SECTION_TEXTS] = sizeof(uint32_t),
	[SECTION_VALUES] = sizeof(struct artefact_value),
	[SECTION_POSTINGS] = sizeof(uint32_t),
	[SECTION_NODES] = sizeof(struct artefact_node),
	[SECTION_FORKS] = sizeof(struct artefact_fork),
	[SECTION_PATTERNS] = sizeof(struct artefact_pattern),
	[SECTION_WORDS] = sizeof(struct artefact_word),
	[SECTION_INDEX] = sizeof(struct artefact_entry),
	[SECTION_PLAIN] = sizeof(uint32_t),
};

const void *artefact_rows(const struct artefact *artefact, enum artefact_section section)
{
	return artefact->block + artefact->header->sections[section].first;
}

size_t artefact_n_rows(const struct artefact *artefact, enum artefact_section section)
{
	return artefact->header->sections[section].count;
}

size_t artefact_row_size(enum artefact_section section)
{
	return row_sizes[section];
}

const char *artefact_text(const struct artefact *artefact, uint32_t text)
{
	return (const char *)artefact_rows(artefact, SECTION_BYTES) + text;
}

uint64_t artefact_hash(uint64_t seed, const void *bytes, size_t n_bytes)
{
	return hash_bytes(seed, bytes, n_bytes);
}

/* NULL, or what is wrong with the block's own description. */
static const char *judge_header(const struct artefact_header *header, size_t n_bytes)
{
	uint8_t checksum[DIGEST_SIZE];

	if (header->magic != ARTEFACT_MAGIC)
		return "it does not begin as a compiled policy does (on this kind of machine)";
	if (header->version != ARTEFACT_VERSION)
		return "it has another version than this program writes";
	if (header->n_bytes != n_bytes)
		return "it is not as long as it says";
	digest_of((const uint8_t *)header + CHECKSUM_END, n_bytes - CHECKSUM_END, checksum);
	if (memcmp(checksum, header->checksum, sizeof(checksum)) != 0)
		return "its checksum is not that of its content";
	for (int i = 0; i < N_SECTIONS; i++) {
		uint64_t first = header->sections[i].first, count = header->sections[i].count;

		if (first % 8 != 0 || first < sizeof(*header) ||
		    first + count * row_sizes[i] > n_bytes)
			return "a section lies outside of it";
	}
	return NULL;
}

int artefact_open(const void *block, size_t n_bytes, struct artefact *ret, struct sbx_error *err)
{
	const struct artefact artefact = { .block = block, .header = block };
	const char *problem = NULL;
	int r = 0;

	if (n_bytes < sizeof(struct artefact_header) || n_bytes > UINT32_MAX)
		problem = "it is too short, or too long, for a compiled policy";
	else if ((uintptr_t)block % 8 != 0)
		problem = "it lies at an address that is not aligned to 8";
	else
		problem = judge_header(block, n_bytes);
	if (!problem)
		r = artefact_check(&artefact, &problem);
	if (r < 0)
		return sbx_error_what(err, r, "cannot check the compiled policy");
	if (!problem) {
		*ret = artefact;
		return 0;
	}
	(void)sbx_error_what(err, -EBADMSG, "this is no compiled policy that can be trusted");
	sbx_error_why(err, "%s", problem);
	sbx_error_fix(err, "make it anew: sbx-policy compile");
	return -EBADMSG;
}
