/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Every key of a policy file: one const table
 *
 * From it come loading, "did you mean", the JSON Schema and the check that sbx-policy(5) names
 * every key. A key's path uses "[]" for the items of a list and "*" for a name that the user
 * chooses: "capabilities[].match.path_glob", "scheduler.per_template.*".
 */

#include <stddef.h>

struct text;

/* The type of its value; load-values.c has a row for each. */
enum key_type {
	KEY_MAP,
	KEY_LIST,     /* its items have the row PATH[] */
	KEY_GROUPS,   /* a list, or a map of lists by name: PATH[] and PATH.*[] */
	KEY_ANYTHING, /* accepted and not kept */
	KEY_BOOL,
	KEY_TRUE,  /* a bool that cannot be false */
	KEY_NEVER, /* an item that sbx cannot carry out: only an empty list is accepted */
	KEY_COUNT,
	KEY_NUMBER, /* processors: 1, 0.5 or "50%" */
	KEY_SIZE,
	KEY_TIME,
	KEY_PORT,
	KEY_TEXT,
	KEY_LINE,   /* a text of one line: a name of a rule */
	KEY_WORD,   /* letters, digits, '_', '-', '.'; '*' at the end */
	KEY_PATH,   /* absolute and normal, or below the project: "./x" */
	KEY_SHA256, /* 64 hex digits */
	KEY_CHOICE,
	KEY_HOST_PORT, /* "example.com", "*.example.com:8443", "10.0.0.1", "[::1]:80" */
	/* From here on: one value or a list of them. */
	KEY_TEXTS,
	KEY_CHOICES,
	KEY_OPERATIONS,
	KEY_GLOBS,
	KEY_LITERALS, /* paths in which every character stands for itself */
	KEY_HOSTS,
	KEY_CIDRS,
	KEY_PORTS, /* 443, "8000-9000", "80,443" */
	N_KEY_TYPES,
};

enum key_flag {
	KEY_SETTING = 1,  /* kept as a struct setting */
	KEY_REQUIRED = 2, /* its map is wrong without it */
	KEY_POSITIVE = 4, /* zero is refused: it would read as "none" or as "no limit" */
	/* Written as a string, whatever its type; an empty one is the default: properties of a
	 * manifest. */
	KEY_QUOTED = 8,
};

struct policy_key {
	const char *path;
	enum key_type type;
	unsigned flags;
	const char *const *choices; /* KEY_CHOICE, KEY_CHOICES */
	const char *help;	    /* one line, no full stop */
};

/* Ended by a NULL path; the rows of a map follow it, with no other row between them. */
const struct policy_key *policy_keys(void);
/* The row under @parent (NULL: the top) for one name, or for "[]"; NULL where there is none. A row
 * for any name ("*") comes last. */
const struct policy_key *policy_key_child(const struct policy_key *parent, const char *name);
/* Steps through the rows directly under @parent: @last is the one before, NULL at first. */
const struct policy_key *policy_key_next(const struct policy_key *parent,
					 const struct policy_key *last);
/* The last part of a row's path: "path_glob", "[]", "*". */
const char *policy_key_name(const struct policy_key *key);

/* JSON Schema (2020-12) of a policy file, from the table of keys. */
void policy_add_schema(struct text *out);
