/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The artefact under construction: growing rows, found again by hash
 *
 * Words and texts are numbered in the order of their first use; compile-write.c turns the numbers
 * into slots and offsets.
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

/* Adds @n zeroed rows and returns the first, or NULL; invalidates earlier pointers into the
 * rows. */
void *rows_add(struct rows *rows, size_t row_size, size_t n);
void rows_deinit(struct rows *rows);

/* A hash table of row numbers; the rows are stored elsewhere. */
struct finder {
	struct finder_slot *slots;
	size_t n_slots;
	size_t n;
};
typedef bool finder_equal(const void *rows, uint32_t row, const void *key);

/* The slot with the number of @key's row. If it contains ARTEFACT_NONE, there is no such row yet,
 * and the caller must store its number there. NULL: out of memory. */
uint32_t *finder_find(struct finder *finder, uint64_t hash, finder_equal *equal, const void *rows,
		      const void *key);

struct interned {
	uint64_t hash;
	uint32_t text; /* offset in the interner's bytes */
	uint32_t len;
};

/* Numbers texts from 0; equal texts get the same number. */
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
	uint32_t parent; /* always a row before this one */
	enum build_via via;
	uint32_t star;
	uint32_t floating;
	uint32_t first_pattern;
	uint32_t last_pattern;
	uint32_t pattern_cost;		 /* steps to match one component against all its patterns */
	const struct match_value *value; /* the glob that created it */
};

/* The child of a node for a text's number; LINK_PATTERN is set in the label of a pattern. */
#define LINK_PATTERN 0x80000000u
struct build_link {
	uint32_t node;
	uint32_t label;
	uint32_t to;
};

/* A posting of a node or an index entry, or a plain condition of an operation. */
struct build_pair {
	uint32_t owner;
	uint32_t posting;
};

struct builder {
	const struct policy *policy;
	struct artefact_header header;
	struct interner words; /* texts that are looked up for each request */
	struct interner texts; /* texts that are only read */
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
	struct glob glob;      /* the glob that trie_add() inserts: too large for the stack */
};

/* Adds a pair to @rows. */
int builder_add_pair(struct rows *rows, uint32_t owner, uint32_t posting);
/* Prepends "NAME:LINE:COLUMN: " to the error, if there is one. Returns @code. */
int builder_place(const struct builder *builder, struct policy_place place, int code,
		  struct sbx_error *err);

/* The condition to which a value belongs. */
struct build_condition {
	uint32_t row;
	uint64_t operations;
	enum policy_action action; /* its rule's action */
	bool is_exception;
};

/* compile-trie.c */
int trie_init(struct builder *builder);
int trie_add(struct builder *builder, const struct build_condition *condition,
	     const struct match_value *value, struct sbx_error *err);
/* The maximum cost of the trie for any path. trie_check_bounds() refuses a cost above
 * COMPILE_LIVE_*. */
struct compile_cost;
int trie_measure(const struct builder *builder, struct compile_cost *ret);
int trie_check_bounds(const struct builder *builder, struct sbx_error *err);

/* compile-write.c: lays out the block. The caller frees *@ret_block. */
int artefact_write(struct builder *builder, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err);
