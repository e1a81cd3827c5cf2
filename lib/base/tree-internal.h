/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of the tree: the tree itself, the builder that both readers call, and places
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

/* A slot of the table from (map, key) to node. */
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
	/* called for a mistake after which reading continues; or NULL */
	void (*report)(const struct sbx_error *err, void *userdata);
	void *userdata;
	unsigned n_reported;
	const char *name;
	struct tree_node *root;
	struct tree_index index;
};

struct tree_builder {
	struct tree *tree;
	struct tree_node *open;			/* the innermost list or map that has not ended */
	struct tree_node *last[TREE_DEPTH_MAX]; /* the newest child of each open list or map */
	unsigned depth;
	size_t n_nodes;
	const char *key; /* of the next value */
	struct tree_place key_place;
};

/* Both take the bytes after encoding_check() and leave tree->root NULL if there is no value. */
int tree_read_json(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err);
int tree_read_yaml(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err);

/* Generates the seed of the index. 0 or negative errno. */
int tree_index_init(struct tree_index *index);
struct tree_node *tree_index_find(const struct tree_index *index, const struct tree_node *map,
				  const char *key);

/* In a map: must the next call be tree_build_key()? */
bool tree_build_wants_key(const struct tree_builder *builder);
/* Refuses an empty key, a NUL and a key that the map has already. */
int tree_build_key(struct tree_builder *builder, struct tree_place place, const char *bytes,
		   size_t n_bytes, struct sbx_error *err);
/*
 * A list or map is open until tree_build_end(). Refuses a NUL, too many levels and too many nodes.
 */
int tree_build_node(struct tree_builder *builder, enum tree_type type, struct tree_place place,
		    const char *bytes, size_t n_bytes, struct sbx_error *err);
void tree_build_end(struct tree_builder *builder);

/*
 * The number of leading bytes that are printable ASCII, or a few less. They need no further check.
 */
static inline size_t tree_plain_bytes(const char *bytes, size_t n_bytes)
{
	const uint64_t each = 0x0101010101010101u, high = 0x80 * each;
	size_t at = 0;

	for (uint64_t word; n_bytes - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		/*
		 * The high bit of a byte is set if the byte is below ' ', above '~' or not ASCII.
		 */
		if (((word - ' ' * each) | (word + each) | word) & high)
			break;
	}
	return at;
}

/* Walks once through valid UTF-8 and counts lines and columns. */
struct tree_cursor {
	const char *bytes;
	size_t n_bytes;
	size_t at;	/* bytes so far */
	size_t n_chars; /* characters so far */
	struct tree_place place;
};

void tree_cursor_init(struct tree_cursor *cursor, const char *bytes, size_t n_bytes);
/* Moves forward to byte @offset, or to character @n_chars; never backward, never beyond the end. */
struct tree_place tree_cursor_to(struct tree_cursor *cursor, size_t offset);
struct tree_place tree_cursor_to_char(struct tree_cursor *cursor, size_t n_chars);

/* Byte offset of a place in the text, or its end. */
size_t tree_place_offset(const char *bytes, size_t n_bytes, struct tree_place place);

/* A text from the file, short enough to be quoted in an error. */
struct tree_shown {
	char text[64];
};
struct tree_shown tree_show(const char *text);

/* A mistake after which the rest can still be parsed: 0 after @err was reported, or -EINVAL if the
 * first mistake ends the reading or there were too many. */
int tree_go_on(struct tree *tree, const struct sbx_error *err);
int tree_no_memory(const struct tree *tree, struct sbx_error *err);

/*
 * The type of a plain YAML scalar. Returns NULL and the type; or, if YAML readers interpret it
 * differently, the reason, and in *ret_instead the replacement unless it is meant as text (NULL:
 * there is none).
 */
const char *tree_plain_type(const char *text, size_t n_bytes, enum tree_type *ret_type,
			    const char **ret_instead);

struct yaml_parser_s;
/* Translates libyaml's error into one that says what to change. */
int tree_yaml_mistake(const struct tree_builder *builder, const struct yaml_parser_s *parser,
		      const char *bytes, size_t n_bytes, struct sbx_error *err);
