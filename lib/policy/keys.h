/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Every key of a policy file: one const table
 *
 * Used for loading, suggestions for misspelt keys, the JSON Schema and the check that sbx-policy(5)
 * names every key. A key's path has "[]" for the items of a list and "*" for a name that the user
 * chooses: "capabilities[].match.path_glob", "scheduler.per_template.*".
 */

#include <stdbool.h>
#include <stdint.h>

struct text;

/* The type of a key's value; load-values.c has a row for each. */
enum key_type {
	KEY_MAP,
	KEY_LIST,     /* its items are in the row PATH[] */
	KEY_GROUPS,   /* a list, or a map of named lists: PATH[] and PATH.*[] */
	KEY_ANYTHING, /* accepted and ignored */
	KEY_BOOL,
	KEY_TRUE,  /* a bool that must be true */
	KEY_NEVER, /* an item that sbx cannot provide: only an empty list is accepted */
	KEY_COUNT,
	KEY_NUMBER, /* of processors: 1, 0.5 or "50%" */
	KEY_SIZE,
	KEY_TIME,
	KEY_PORT,
	KEY_TEXT,
	KEY_LINE,    /* one line of text: a rule's name */
	KEY_WORD,    /* letters, digits, '_', '-', '.'; with an optional '*' at the end */
	KEY_SYSCALL, /* the name of a system call */
	KEY_PATH,    /* absolute and normal, or relative to the project: "./x" */
	KEY_FILE,    /* the same, but of a file, so neither the root nor the project */
	KEY_SHA256,  /* 64 hex digits */
	KEY_CHOICE,
	KEY_HOST_PORT, /* "example.com", "*.example.com:8443", "10.0.0.1", "[::1]:80" */
	/* From here on, one value or a list of values: */
	KEY_TEXTS,
	KEY_CHOICES,
	KEY_OPERATIONS,
	KEY_GLOBS,
	KEY_LITERALS, /* paths without wildcards: every character stands for itself */
	KEY_HOSTS,
	KEY_CIDRS,
	KEY_PORTS, /* 443, "8000-9000", "80,443" */
	N_KEY_TYPES,
};

enum key_flag {
	KEY_SETTING = 1,  /* stored as a struct setting */
	KEY_REQUIRED = 2, /* its map must have it */
	KEY_POSITIVE = 4, /* zero is refused: it could be read as "none" or as "no limit" */
	/* For properties of a manifest: a string, whatever the type; an empty one means the
	 * default. */
	KEY_QUOTED = 8,
};

struct policy_key {
	const char *path;
	enum key_type type;
	unsigned flags;
	const char *const *choices; /* for KEY_CHOICE and KEY_CHOICES */
	const char *help;	    /* one line, no full stop */
};

/* Terminated by a NULL path; a map's row is directly followed by all its keys' rows. */
const struct policy_key *policy_keys(void);
/* The last part of a row's path: "path_glob", "[]", "*". */
const char *policy_key_name(const struct policy_key *key);

/* The table as a tree, an array of nodes: the top level, then a node for each row, then a zeroed
 * one. */
struct policy_key_node {
	const struct policy_key *row; /* NULL: the top level */
	const char *name;
	uint16_t map;	 /* index of the map, or list, that contains it */
	uint16_t first;	 /* index of the first node in it; 0: none */
	uint16_t next;	 /* index of the next one in the same map; 0: none */
	bool needs_keys; /* one of the keys in it is required */
	uint8_t use;	 /* 0; for the caller */
};

/* The caller frees it; NULL if out of memory. */
struct policy_key_node *policy_key_tree(void);
/* Iterates over the nodes in @map: @last is the previous one, NULL at first. */
const struct policy_key_node *policy_key_next(const struct policy_key_node *tree,
					      const struct policy_key_node *map,
					      const struct policy_key_node *last);
/* The node in @map for a name, or for "[]"; NULL if there is none. One for any name ("*") comes
 * last. */
const struct policy_key_node *policy_key_child(const struct policy_key_node *tree,
					       const struct policy_key_node *map, const char *name);

/* Adds the JSON Schema (2020-12) of a policy file, generated from the table. */
void policy_add_schema(struct text *out);
