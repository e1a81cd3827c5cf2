/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the tree share: the tree itself, the builder that both readers feed, and places
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

/* Finds a node by its map and its key. */
struct tree_slot {
	uint64_t hash;
	struct tree_node *node; /* NULL: free */
};

struct tree_index {
	struct tree_slot *slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n_used;
	uint64_t seed[2];
};

struct tree {
	struct arena arena; /* nodes and all their strings */
	const char *name;
	struct tree_node *root;
	struct tree_index index;
};

struct tree_builder {
	struct tree *tree;
	struct tree_node *open;			/* the innermost list or map that has not ended */
	struct tree_node *last[TREE_DEPTH_MAX]; /* its newest child, and that of all around it */
	unsigned depth;
	size_t n_nodes;
	const char *key; /* of the value that comes next */
	struct tree_place key_place;
};

/* Both take the bytes after encoding_check() and leave tree->root NULL where there is no value. */
int tree_read_json(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err);
int tree_read_yaml(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err);

/* Draws the seed of the index. 0 or negative errno. */
int tree_index_init(struct tree_index *index);
struct tree_node *tree_index_find(const struct tree_index *index, const struct tree_node *map,
				  const char *key);

/* In a map: must the next call be tree_build_key()? */
bool tree_build_wants_key(const struct tree_builder *builder);
/* Refuses an empty key, a NUL and a key that the map has already. */
int tree_build_key(struct tree_builder *builder, struct tree_place place, const char *bytes,
		   size_t n_bytes, struct sbx_error *err);
/* A list or map stays open until tree_build_end(). Refuses a NUL, too many levels and too many
 * nodes. */
int tree_build_node(struct tree_builder *builder, enum tree_type type, struct tree_place place,
		    const char *bytes, size_t n_bytes, struct sbx_error *err);
void tree_build_end(struct tree_builder *builder);

/* How many bytes there begin with printable ASCII, or a few less: what no check has to look at. */
static inline size_t tree_plain_bytes(const char *bytes, size_t n_bytes)
{
	const uint64_t each = 0x0101010101010101u, high = 0x80 * each;
	size_t at = 0;

	for (uint64_t word; n_bytes - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		/* A byte's high bit comes out set if it is below ' ', above '~' or not ASCII. */
		if (((word - ' ' * each) | (word + each) | word) & high)
			break;
	}
	return at;
}

/* Goes once through valid UTF-8 and knows line and column on the way. */
struct tree_cursor {
	const char *bytes;
	size_t n_bytes;
	size_t at;	/* bytes so far */
	size_t n_chars; /* characters so far */
	struct tree_place place;
};

void tree_cursor_init(struct tree_cursor *cursor, const char *bytes, size_t n_bytes);
/* Forward to byte @offset, or to character @n_chars; never backward, never behind the end. */
struct tree_place tree_cursor_to(struct tree_cursor *cursor, size_t offset);
struct tree_place tree_cursor_to_char(struct tree_cursor *cursor, size_t n_chars);

/* Byte offset of a place in the text, or its end. */
size_t tree_place_offset(const char *bytes, size_t n_bytes, struct tree_place place);

/* A text from the file, short enough to be quoted in an error. */
struct tree_shown {
	char text[64];
};
struct tree_shown tree_show(const char *text);

int tree_no_memory(const struct tree *tree, struct sbx_error *err);

/*
 * What a plain YAML scalar is. NULL and the type; or, for one that readers of YAML understand
 * differently, why, and in *ret_instead what to write when it was not meant as text (NULL:
 * nothing).
 */
const char *tree_plain_type(const char *text, size_t n_bytes, enum tree_type *ret_type,
			    const char **ret_instead);

struct yaml_parser_s;
/* Turns what libyaml complains about into an error that says what to change. */
int tree_yaml_mistake(const struct tree_builder *builder, const struct yaml_parser_s *parser,
		      const char *bytes, size_t n_bytes, struct sbx_error *err);
