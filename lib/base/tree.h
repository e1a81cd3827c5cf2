/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A tree with positions, read from YAML or JSON
 *
 * Both syntaxes give the same tree. A text whose first character that is not white space is '{' is
 * JSON and goes through base/json; everything else is YAML, in a strict subset: one document, no
 * anchors, aliases, tags, merge keys, no complex keys. In both: no duplicate keys, no NUL in a
 * string, no empty key, at most TREE_DEPTH_MAX levels, TREE_NODES_MAX values and TREE_BYTES_MAX
 * bytes.
 *
 * A plain YAML scalar that is a JSON literal (true, false, null, a JSON number) has that type; an
 * empty one is null; every other one is a string. Plain scalars that other YAML readers interpret
 * differently (yes, no, on, off, ~, True, 0x1F, 012, .inf ...) are refused as values: quote them or
 * write the JSON form. Keys are always strings.
 */

#include <stddef.h>

#include "base/cleanup.h"

struct sbx_error;
struct tree;

#define TREE_DEPTH_MAX 32
#define TREE_NODES_MAX (128 * 1024)
#define TREE_BYTES_MAX (1024 * 1024)
#define TREE_MISTAKES_MAX 100

enum tree_type {
	TREE_NULL,
	TREE_BOOL,
	TREE_NUMBER,
	TREE_STRING,
	TREE_LIST,
	TREE_MAP,
};

/* Both from 1; columns count characters. */
struct tree_place {
	unsigned line;
	unsigned column;
};

struct tree_node {
	enum tree_type type;
	struct tree_place place;     /* of the value */
	struct tree_place key_place; /* in a map: of the key */
	const char *key;	     /* in a map, else NULL */
	const char *text;	     /* scalars: decoded; numbers and bools as written; null: "" */
	size_t text_len;
	struct tree_node *parent;
	struct tree_node *first; /* lists and maps: children in the order of the file */
	struct tree_node *next;
	size_t n_children;
};

/*
 * Reads @n_bytes; @name (a path or "<stdin>") precedes every place in messages. The tree copies all
 * strings. An empty text gives a null root.
 */
int tree_read(const char *name, const void *bytes, size_t n_bytes, struct tree **ret,
	      struct sbx_error *err);
/*
 * The same for a check: a mistake after which the rest can still be parsed (a duplicate key, an
 * ambiguous plain scalar) is passed to @report. Reading continues until the first other mistake,
 * which is in @err, or until TREE_MISTAKES_MAX. Returns the number of reported mistakes, or
 * negative errno; @err is not NULL. Use a tree with mistakes only to find more of them,
 * or to correct them.
 */
int tree_read_all(const char *name, const void *bytes, size_t n_bytes,
		  void (*report)(const struct sbx_error *err, void *userdata), void *userdata,
		  struct tree **ret, struct sbx_error *err);
/* The same from a file; "-" is standard input. */
int tree_read_file(int dirfd, const char *path, struct tree **ret, struct sbx_error *err);
struct tree *tree_free(struct tree *tree);
CLEANUP_BY(struct tree, tree_free)
#define _cleanup_tree_ _cleanup_(tree_free_ptr)

const struct tree_node *tree_root(const struct tree *tree);
const char *tree_name(const struct tree *tree);
/* The child of @map under @key, or NULL. Constant time. */
const struct tree_node *tree_get(const struct tree *tree, const struct tree_node *map,
				 const char *key);
/* "a map", "a list", "a string", "a number", "true or false", "null" */
const char *tree_type_name(enum tree_type type);

/*
 * Fill @err with "NAME:LINE:COLUMN: ..." as its what; return -EINVAL. why and fix may follow.
 */
int tree_error(const struct tree *tree, struct tree_place place, struct sbx_error *err,
	       const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));
/* "...: 'fs' must be a map", why: "it is a string" */
int tree_wrong_type(const struct tree *tree, const struct tree_node *node, enum tree_type wanted,
		    struct sbx_error *err);
/* Refuses the first key of @map that is not in @known (NULL-terminated), with "did you mean". 0 if
 * all are known. */
int tree_check_keys(const struct tree *tree, const struct tree_node *map, const char *const *known,
		    struct sbx_error *err);
