/* SPDX-License-Identifier: MIT */

/*
 * Hosts, addresses and ports in the index: one look-up for each name behind a dot and for each
 * length of prefix that occurs in the policy
 */

#include "policy/decide-internal.h"

#define PORT_BITS 16

static void lookup(struct policy_engine *engine, const struct query *query,
		   const struct artefact_value *key)
{
	uint64_t hash = hash_value(engine->header->seeds[TABLE_INDEX], key);

	for (size_t i = 0, at = hash; i < ARTEFACT_PROBES_MAX; i++, at++) {
		const struct artefact_entry *entry = &engine->entries[at & engine->entries_mask];

		if (entry->key.kind == ENTRY_EMPTY)
			return;
		if (value_equals(&entry->key, key)) {
			mark_postings(engine, query, entry->postings);
			return;
		}
	}
}

static void lookup_word(struct policy_engine *engine, const struct query *query, uint32_t kind,
			uint32_t word)
{
	const struct artefact_value key = { .kind = kind, .bits[0] = word };

	if (word != ARTEFACT_NONE)
		lookup(engine, query, &key);
}

/* The first @length of 64 bits. */
static uint64_t first_bits(uint64_t bits, uint32_t length)
{
	return length == 0 ? 0 : bits >> (64 - length) << (64 - length);
}

static void lookup_address(struct policy_engine *engine, const struct query *query, uint32_t kind,
			   const uint64_t bits[2], const uint64_t *lengths, uint32_t n_lengths)
{
	for (uint32_t length = 0; length < n_lengths; length++) {
		const struct artefact_value key = {
			.kind = kind,
			.length = length,
			.bits = { first_bits(bits[0], length < 64 ? length : 64),
				  first_bits(bits[1], length > 64 ? length - 64 : 0) },
		};

		if (lengths[length / 64] >> length % 64 & 1)
			lookup(engine, query, &key);
	}
}

static void lookup_port(struct policy_engine *engine, const struct query *query)
{
	for (uint32_t length = 0; length <= PORT_BITS; length++) {
		const struct artefact_value key = {
			.kind = ENTRY_PORT,
			.length = length,
			.bits[0] = (uint64_t)query->request->port >> (PORT_BITS - length),
		};

		if (engine->header->prefix_lengths[LENGTHS_PORT] >> length & 1)
			lookup(engine, query, &key);
	}
}

void lookup_network(struct policy_engine *engine, const struct query *query)
{
	const uint64_t *lengths = engine->header->prefix_lengths;

	if (query->has_host) {
		lookup_word(engine, query, ENTRY_HOST, query->host);
		lookup_word(engine, query, ENTRY_HOST_BELOW, engine->empty_word);
	}
	for (size_t i = 0; i < query->n_suffixes; i++)
		lookup_word(engine, query, ENTRY_HOST_BELOW, query->suffixes[i]);
	if (query->has_ipv4)
		lookup_address(engine, query, ENTRY_IPV4, query->ipv4, &lengths[LENGTHS_IPV4], 33);
	if (query->has_ipv6)
		lookup_address(engine, query, ENTRY_IPV6, query->ipv6, &lengths[LENGTHS_IPV6], 129);
	if (query->request->has_port)
		lookup_port(engine, query);
}
