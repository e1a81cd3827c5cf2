/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The artefact while it is built: growing rows, found again by hash
 *
 * Words and texts are numbers in the order of their first use; compile-write.c turns them into
 * slots and offsets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/artefact.h"
#include "policy/glob.h"
#include "policy/model.h"

struct rows {
	void *data;
	size_t n;
	size_t size;
};

/* Adds @n zeroed rows and returns the first, or NULL; earlier pointers into the rows are stale. */
void *rows_add(struct rows *rows, size_t row_size, size_t n);
void rows_deinit(struct rows *rows);

/* A hash table of row numbers; the rows are elsewhere. */
struct finder {
	struct finder_slot *slots;
	size_t n_slots;
	size_t n;
};
typedef bool finder_equal(const void *rows, uint32_t row, const void *key);

/* The place of the number of @key's row. Where it has ARTEFACT_NONE, there is no such row yet, and
 * the caller must write a number there. NULL: no memory. */
uint32_t *finder_find(struct finder *finder, uint64_t hash, finder_equal *equal, const void *rows,
		      const void *key);

struct interned {
	uint64_t hash;
	uint32_t text; /* offset in the interner's bytes */
	uint32_t len;
};

/* Equal texts get the same number, from 0. */
struct interner {
	struct rows words; /* struct interned */
	struct rows bytes;
	struct finder finder;
};

int interner_add(struct interner *interner, const char *text, size_t len, uint32_t *ret);

enum build_via {
	VIA_ROOT,
	VIA_LITERAL,
	VIA_STAR,
	VIA_PATTERN,
	VIA_FLOAT,
};

struct build_node {
	uint32_t parent; /* always an earlier row */
	enum build_via via;
	uint32_t star;
	uint32_t floating;
	uint32_t first_pattern;
	uint32_t last_pattern;
	uint32_t pattern_cost;		 /* steps that its patterns take for one component */
	const struct match_value *value; /* the glob that made it */
};

/* A child behind a text's number, which has LINK_PATTERN where it is a pattern. */
#define LINK_PATTERN 0x80000000u
struct build_link {
	uint32_t node;
	uint32_t label;
	uint32_t to;
};

/* A posting of a node or an index entry, or a plain condition of an operation, to be written. */
struct build_pair {
	uint32_t owner;
	uint32_t posting;
};

struct builder {
	const struct policy *policy;
	struct artefact_header header;
	struct interner words; /* looked up for each request */
	struct interner texts; /* only read */
	struct rows sources;
	struct rows rules;
	struct rows conditions;
	struct rows lists;	/* struct artefact_lists */
	struct rows list_words; /* u32 words */
	struct rows values;	/* struct artefact_value */
	struct rows nodes;	/* struct build_node */
	struct rows links;
	struct finder link_finder;
	struct rows patterns;
	struct rows entries; /* struct artefact_value */
	struct finder entry_finder;
	struct rows here;
	struct rows below;
	struct rows found;
	struct rows plain;
	struct rows addressed; /* u32 conditions */
	struct glob glob;      /* the one that trie_add() adds: too big for a stack frame */
};

/* A pair for @rows. */
int builder_add_pair(struct rows *rows, uint32_t owner, uint32_t posting);
/* Puts "NAME:LINE:COLUMN: " before what @err says. Returns its code. */
int builder_place(const struct builder *builder, struct policy_place place, struct sbx_error *err);

/* The condition that a value belongs to. */
struct build_condition {
	uint32_t row;
	uint64_t operations;
	enum policy_action action; /* of its rule */
	bool is_exception;
};

/* compile-trie.c */
int trie_init(struct builder *builder);
int trie_add(struct builder *builder, const struct build_condition *condition,
	     const struct match_value *value, struct sbx_error *err);
/* The greatest cost of the trie for any path. trie_check_bounds() refuses one over COMPILE_LIVE_*.
 */
struct compile_cost;
int trie_measure(const struct builder *builder, struct compile_cost *ret);
int trie_check_bounds(const struct builder *builder, struct sbx_error *err);

/* compile-write.c: lays the block out. *@ret_block is freed by the caller. */
int artefact_write(struct builder *builder, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err);
