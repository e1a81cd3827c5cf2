/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the artefact's writer, its check and its evaluator share: the layout and the look-ups
 */

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "policy/artefact.h"
#include "policy/model.h"

#define CHECKSUM_END (offsetof(struct artefact_header, checksum) + 32)

/* The 128-bit product folded: each bit of the result depends on all bits of both. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to 8 bytes as one number, the first in its low bits. */
static inline uint64_t hash_load(const void *bytes, size_t n_bytes)
{
	uint64_t word = 0;

	memcpy(&word, bytes, n_bytes);
	return le64toh(word);
}

/* The same where 8 bytes can be read, whatever @n_bytes is: no loop, no branch. */
static inline uint64_t hash_load_padded(const void *bytes, size_t n_bytes)
{
	return hash_load(bytes, 8) & ~UINT64_C(0) >> (64 - 8 * (n_bytes < 8 ? n_bytes : 8));
}

/* The first bytes of a text. */
static inline uint64_t hash_head(const void *bytes, size_t n_bytes)
{
	return hash_load(bytes, n_bytes < 8 ? n_bytes : 8);
}

#define HASH_LENGTH 0x9e3779b97f4a7c15u
#define HASH_TEXT 0xd1b54a32d192ed03u

/* @tail: the last bytes, 8 at most, that hash_begin() has not taken. */
static inline uint64_t hash_end(uint64_t seed, uint64_t hash, uint64_t tail)
{
	return hash_fold(hash ^ tail, HASH_TEXT ^ (seed << 1));
}

static inline uint64_t hash_begin(uint64_t seed, const uint8_t **bytes, size_t *n_bytes)
{
	uint64_t hash = seed + HASH_TEXT + *n_bytes * HASH_LENGTH;

	for (; *n_bytes > 8; *bytes += 8, *n_bytes -= 8)
		hash = hash_fold(hash ^ hash_load(*bytes, 8), HASH_LENGTH ^ seed);
	return hash;
}

static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t n_bytes)
{
	const uint8_t *at = bytes;
	uint64_t hash = hash_begin(seed, &at, &n_bytes);

	return hash_end(seed, hash, hash_load(at, n_bytes));
}

/* A word's bit in the nodes' sets of words. */
static inline uint32_t word_bit(uint64_t hash)
{
	return 1u << (hash >> 59);
}

/* (node, word) → node. */
static inline uint64_t hash_edge(uint64_t seed, uint32_t node, uint32_t word)
{
	return hash_fold(((uint64_t)node << 32 | word) ^ 0xa0761d6478bd642fu,
			 0xe7037ed1a0b428dbu ^ seed);
}

static inline uint64_t hash_value(uint64_t seed, const struct artefact_value *key)
{
	uint64_t hash = hash_edge(seed, key->kind, key->length);

	return hash_fold(hash ^ key->bits[0],
			 hash_fold(key->bits[1] ^ seed, 0x8ebc6af09c88c6e3u) | 1);
}

/* Those keys of a condition that are judged by its row of SECTION_LISTS. */
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
