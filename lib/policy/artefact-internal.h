/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Hashes and keys of the artefact's tables, shared by its writer, its check and its evaluator
 */

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "policy/artefact.h"
#include "policy/model.h"

#define CHECKSUM_END (offsetof(struct artefact_header, checksum) + 32)

void artefact_add_checksum(void *block, size_t n_bytes);

/* Folds the 128-bit product: each bit of the result depends on all bits of both factors. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Loads up to 8 bytes as one little-endian number. */
static inline uint64_t hash_load(const void *bytes, size_t n_bytes)
{
	uint64_t word = 0;

	memcpy(&word, bytes, n_bytes);
	return le64toh(word);
}

/* The first 8 bytes of a text, or all of a shorter one. */
static inline uint64_t hash_head(const void *bytes, size_t n_bytes)
{
	return hash_load(bytes, n_bytes < 8 ? n_bytes : 8);
}

#define HASH_WORD 0x9e3779b97f4a7c15u
#define HASH_TEXT 0xd1b54a32d192ed03u
#define HASH_SEED 0xa0761d6478bd642fu

/*
 * The hash folds a text's bytes in words of 8, then its last 16 bytes or fewer, padded with 0. The
 * seed changes both factors, so that an attacker's words that collide with one seed do not collide
 * with another.
 */
static inline uint64_t hash_begin(uint64_t seed)
{
	return HASH_TEXT + seed * HASH_SEED;
}

static inline uint64_t hash_factor(uint64_t seed)
{
	return HASH_WORD ^ seed * HASH_SEED;
}

static inline uint64_t hash_end(uint64_t factor, uint64_t hash, size_t n_bytes, uint64_t first,
				uint64_t second)
{
	return hash_fold((hash + n_bytes) ^ first, factor ^ second);
}

static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t n_bytes)
{
	uint64_t hash = hash_begin(seed), factor = hash_factor(seed);
	const uint8_t *at = bytes, *end = at + n_bytes;
	size_t left = n_bytes;

	for (; left > 16; at += 8, left -= 8)
		hash = hash_fold(hash ^ hash_load(at, 8), factor);

	size_t n_second = left > 8 ? left - 8 : 0;

	return hash_end(factor, hash, n_bytes, hash_head(at, left),
			hash_load(end - n_second, n_second));
}

/*
 * The key of a component: its text; or if that is longer than 8 bytes, and so must be compared as
 * well, its hash after a low byte that no text begins with. Never 0.
 */
static inline uint64_t node_key(uint64_t hash, uint64_t head, size_t n_bytes)
{
	uint64_t is_long = -(uint64_t)(n_bytes > 8); /* all bits set or none: avoids a branch */

	return head ^ ((head ^ (hash << 1 | 1) << 8) & is_long);
}

static inline bool node_key_is_text(uint64_t key)
{
	return key & 0xff;
}

/* A component's bit in its parent's set of children. */
static inline uint64_t node_bit(uint64_t hash)
{
	return UINT64_C(1) << (hash >> 58);
}

/* The two candidate slots of a component in its parent's table. */
static inline uint32_t node_place(uint64_t hash, uint32_t table_bits)
{
	return (uint32_t)hash & ((1u << table_bits) - 1);
}

static inline uint32_t node_other_place(uint64_t hash, uint32_t table_bits)
{
	return (uint32_t)(hash >> 26) & ((1u << table_bits) - 1);
}

static inline uint64_t hash_pair(uint64_t seed, uint32_t a, uint32_t b)
{
	return hash_fold(((uint64_t)a << 32 | b) ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu ^ seed);
}

static inline uint64_t hash_value(uint64_t seed, const struct artefact_value *key)
{
	uint64_t hash = hash_pair(seed, key->kind, key->length);

	return hash_fold(hash ^ key->bits[0],
			 hash_fold(key->bits[1] ^ seed, 0x8ebc6af09c88c6e3u) | 1);
}

/* The CONDITION_ bits of the conditions of @rule. */
static inline uint8_t artefact_flags_of(const struct artefact_source *sources,
					const struct artefact_rule *rule)
{
	bool is_bound = rule->require_sandbox != ARTEFACT_NONE || rule->require_token != 0 ||
			rule->sha256 != ARTEFACT_NONE || rule->max_file_size_bytes != UINT64_MAX ||
			rule->tls != TLS_SNI;

	return (uint8_t)((sources[rule->source].narrows ? CONDITION_NARROWS : 0) |
			 (is_bound ? CONDITION_BOUND : 0) |
			 (rule->exceptions.count > 0 ? CONDITION_EXCEPTED : 0));
}

/* The keys of a condition whose values are in its row of SECTION_LISTS. */
static inline uint32_t keys_of_lists(const struct artefact_condition *condition)
{
	uint32_t network = 1u << MATCH_HOST | 1u << MATCH_CIDR | 1u << MATCH_PORT;
	uint32_t words =
		1u << MATCH_CALLER | 1u << MATCH_TAG | 1u << MATCH_STATE | 1u << MATCH_MODE;

	if (condition->primary != PRIMARY_NONE)
		network &= ~(1u << condition->primary);
	return condition->keys & (network | words);
}

static inline bool value_equals(const struct artefact_value *a, const struct artefact_value *b)
{
	return a->kind == b->kind && a->length == b->length && a->bits[0] == b->bits[0] &&
	       a->bits[1] == b->bits[1];
}
