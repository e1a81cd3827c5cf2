/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the parts of policy/compile share: growing rows, found again by hash, and the half-built
 * artefact
 *
 * While it is built, words and texts are numbers in the order of their first use; compile-write.c
 * turns them into slots and offsets.
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

/* Finds rows by their hash; the rows are elsewhere. */
struct finder {
	struct finder_slot *slots;
	size_t n_slots;
	size_t n;
};
typedef bool finder_equal(const void *rows, uint32_t row, const void *key);

/* Where the row of @key is noted; it holds ARTEFACT_NONE where there is none yet, and the caller
 * must then write one. NULL: no memory. */
uint32_t *finder_find(struct finder *finder, uint64_t hash, finder_equal *equal, const void *rows,
		      const void *key);
void finder_deinit(struct finder *finder);

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
void interner_deinit(struct interner *interner);

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

/* What is to become a posting of a node or an index entry, or a plain condition of an operation. */
struct build_pair {
	uint32_t owner;
	uint32_t posting;
};

struct builder {
	const struct policy *policy;
	struct artefact_header header;
	struct interner words; /* what requests are looked up in */
	struct interner texts; /* what is only read */
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
	struct glob glob; /* the one in hand: too big for a stack frame */
};

void builder_deinit(struct builder *builder);
#define _cleanup_builder_ _cleanup_(builder_deinit)

/* A pair for @rows. */
int builder_add_pair(struct rows *rows, uint32_t owner, uint32_t posting);
/* Puts "NAME:LINE:COLUMN: " before what @err says. Returns its code. */
int builder_place(const struct builder *builder, struct policy_place place, struct sbx_error *err);

/* The condition that a list belongs to, as far as its values must know. */
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
/* compile-bound.c: what the trie can cost; and, refusing one that could make a decision take too
 * long. */
struct compile_cost;
int trie_measure(const struct builder *builder, struct compile_cost *ret);
int trie_check_bounds(const struct builder *builder, struct sbx_error *err);

/* compile-index.c: one value of a host, cidr or port list, into the index or (@compared) into the
 * values that are compared. */
int index_add(struct builder *builder, const struct build_condition *condition, enum match_key key,
	      const struct match_value *value, bool compared, struct sbx_error *err);

/* The block's sections on their way. */
struct writer {
	struct builder *builder;
	struct rows made[N_SECTIONS]; /* those that are not the builder's */
	uint32_t *word_slots;
	uint32_t *entry_slots;
};

/* compile-write.c: adds @n zeroed rows to a section. */
void *writer_make(struct writer *writer, enum artefact_section section, size_t n);
/* Where a text is in SECTION_BYTES; NONE stays NONE. */
uint32_t writer_text_offset(const struct writer *writer, uint32_t text);
/*
 * Moves pairs into SECTION_POSTINGS (or SECTION_PLAIN), gathered by owner in the order in which
 * they came. Owner i's span stands at @spans + i * @stride, and holds zeros before.
 */
int writer_gather(struct writer *writer, enum artefact_section section, const struct rows *pairs,
		  struct artefact_span *spans, size_t n_spans, size_t stride);

/* compile-nodes.c: SECTION_NODES and SECTION_FORKS; rows of patterns learn where they lead. */
int nodes_write(struct writer *writer);

/* compile-write.c */
int artefact_write(struct builder *builder, void **ret_block, size_t *ret_n_bytes,
		   struct sbx_error *err);

/*
 * compile-table.c: places @n keys in a table of *@ret_size slots such that none is further from its
 * place than ARTEFACT_PROBES_MAX. *@ret_slots has the slot of each; the caller frees it.
 */
typedef uint64_t table_hash(const void *keys, size_t i, uint64_t seed);
int table_place(table_hash *hash, const void *keys, size_t n, uint64_t *ret_seed,
		uint32_t **ret_slots, size_t *ret_size);
