/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The loader
 *
 * A mistake is reported and does not stop the walk; handlers may see wrong values. That is
 * harmless: policy_load() returns a policy only if there was no mistake.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "base/text.h"
#include "base/tree.h"
#include "policy/keys.h"
#include "policy/model.h"

/* Called for a map or value after everything in it has been checked. */
struct loader;
typedef void load_handler_fn(struct loader *loader, const struct tree_node *node);

struct loader {
	const struct tree *tree;
	struct policy *policy;
	struct policy_key_node *keys; /* the top level; of the others use is a handler's number */
	struct text path;	      /* path of the current value */
	struct sbx_error mistake;     /* the newest; reported when the next one begins */
	bool has_mistake;
	size_t n_mistakes;
	bool only_first; /* the walk may stop after the first mistake */
	bool no_memory;
	void (*report)(const struct sbx_error *err, void *userdata);
	void *userdata;
	struct arena_rows rules;      /* struct rule */
	struct arena_rows settings;   /* struct setting */
	struct arena_rows extensions; /* struct extension_program */
};

/* load.c: begins a mistake; where @why or @fix is NULL, sbx_error_why() or sbx_error_fix() on
 * &loader->mistake may follow. */
void load_mistake(struct loader *loader, struct tree_place place, const char *why, const char *fix,
		  const char *format, ...) __attribute__((__format__(__printf__, 5, 6)));
/* Reports the error of another parser at @place. */
void load_mistake_of(struct loader *loader, struct tree_place place, const struct sbx_error *err);
/* Appends a zeroed row; NULL (and sets no_memory) if out of memory. */
void *load_add_row(struct loader *loader, struct arena_rows *rows, size_t row_size);
void *load_alloc(struct loader *loader, size_t n_bytes);
const char *load_copy(struct loader *loader, const char *text);
void load_add_setting_at(struct loader *loader, const char *path, enum tree_type type,
			 const char *text, uint64_t number, struct tree_place place);

/* load-values.c: checks a value that is neither a map nor a list of rows. *@ret_number as in struct
 * setting. */
void load_check_value(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number);
/* Checks that the node has the shape that the row requires: a map, a list, or nothing. Otherwise
 * reports a mistake and returns false. */
bool load_check_shape(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node);
/* The text of a scalar; "null" for an unquoted null, which names a device. */
const char *load_word(const struct tree_node *node);

/* load-rules.c */
load_handler_fn load_capability, load_extension, load_rule, load_allowed_hosts, load_whitelist,
	load_manifest;
/* The child of @map (which may be NULL) if it has this type, or NULL. */
const struct tree_node *load_get(const struct loader *loader, const struct tree_node *map,
				 const char *key, enum tree_type type);
/* Checks the examples of every rule. */
void load_try_examples(struct loader *loader);
