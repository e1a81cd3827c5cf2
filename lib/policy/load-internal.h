/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the loader share
 *
 * A text is read in one walk over its tree, beside the table of keys. The walk checks each value by
 * its type and hands some maps to handlers, which put them into the model. Nothing stops at a
 * mistake: it is noted, and the handlers make do with what is left. A policy is given out only if
 * there was none, so what a handler made of a wrong value is never seen.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/error.h>

#include "base/text.h"
#include "base/tree.h"
#include "policy/keys.h"
#include "policy/model.h"

/* Rows that grow, in the policy's arena. */
struct load_rows {
	void *rows;
	size_t n_rows;
	size_t size;
};

/* Each map or value of the text is handed to one, when what is inside has been checked. */
struct loader;
typedef void load_handler_fn(struct loader *loader, const struct tree_node *node);

/* What the walk has to know of a row, by the numbers of others. */
#define LOAD_KEY_TOP 0 /* the text itself, which has no row */
struct load_key {
	const struct policy_key *row;
	const char *name;
	load_handler_fn *handler; /* or NULL */
	uint16_t map;		  /* that it is in */
	uint16_t first;		  /* of the keys in it; 0: there is none */
	uint16_t next;
	bool makes_rule; /* each time that the handler runs */
	bool needs_keys; /* one of those in it is required */
};

struct loader {
	const struct tree *tree;
	struct policy *policy;
	struct load_key *keys;
	struct text path;	  /* of the value at which the walk is */
	struct sbx_error mistake; /* the newest; it is reported when the next one begins */
	bool has_mistake;
	size_t n_mistakes;
	bool only_first; /* nobody wants to hear of more than one */
	bool no_memory;
	void (*report)(const struct sbx_error *err, void *userdata);
	void *userdata;
	struct load_rows rules;	     /* struct rule */
	struct load_rows settings;   /* struct setting */
	struct load_rows extensions; /* struct extension_program */
};

/* load-mistake.c: begins a mistake; sbx_error_why() and sbx_error_fix() of &loader->mistake may
 * follow. */
void load_mistake(struct loader *loader, struct tree_place place, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
/* What another parser complained about, at its place. */
void load_mistake_of(struct loader *loader, struct tree_place place, const struct sbx_error *err);
void load_report_mistake(struct loader *loader);
/* A zeroed row behind the others, or NULL (and no_memory) without memory. */
void *load_add_row(struct loader *loader, struct load_rows *rows, size_t row_size);
/* Makes room for @n more rows. False (and no_memory) without memory. */
bool load_reserve_rows(struct loader *loader, struct load_rows *rows, size_t row_size, size_t n);
void *load_alloc(struct loader *loader, size_t n_bytes);
const char *load_copy(struct loader *loader, const char *text);

/* load-keys.c: fills loader->keys. False without memory. */
bool load_read_keys(struct loader *loader);
/* The key in @map for one name, or for "[]"; NULL where there is none. */
const struct load_key *load_find_key(const struct loader *loader, const struct load_key *map,
				     const char *name);
/* Steps through the keys in @map: @last is the one before, NULL at first. */
const struct load_key *load_next_key(const struct loader *loader, const struct load_key *map,
				     const struct load_key *last);

/* load-walk.c */
void load_walk(struct loader *loader, const struct tree_node *root);

/* load-types.c: checks a value that is neither a map nor a list of rows. *@ret_number as in struct
 * setting. */
void load_check_value(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number);
/* A map, a list or nothing where the row wants it; else a mistake and false. */
bool load_check_shape(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node);
/* The text of a scalar; "null" for the device of that name. */
const char *load_word(const struct tree_node *node);
/* load-scalars.c: what the types are made of. Each notes a mistake, or writes the number. */
typedef void load_check_fn(struct loader *loader, const struct policy_key *row,
			   const struct tree_node *node, uint64_t *ret_number);
load_check_fn load_check_count, load_check_processors, load_check_size, load_check_time,
	load_check_port, load_check_bool, load_check_text, load_check_line, load_check_word,
	load_check_path, load_check_sha256, load_check_choice, load_check_true, load_check_never;
/* False, and a mistake, where @text (what @node says) begins with '~' or a variable. */
bool load_check_expansion(struct loader *loader, const struct tree_node *node, const char *text);
/* load-patterns.c: likewise. */
load_check_fn load_check_host_port, load_check_operation, load_check_glob, load_check_literal,
	load_check_host, load_check_cidr, load_check_ports;

/* load-settings.c: keeps the value at loader->path. */
void load_add_setting(struct loader *loader, const struct tree_node *node, uint64_t number);
void load_add_setting_at(struct loader *loader, const char *path, enum tree_type type,
			 const char *text, uint64_t number, struct tree_place place);
void load_finish_settings(struct loader *loader);

/* load-match.c: a condition from the keys of @map that belong to one; the others are skipped. */
void load_condition(struct loader *loader, const struct tree_node *map, struct condition *ret);
/* One list of it, from a value or a list of values. */
void load_list(struct loader *loader, const struct tree_node *node, enum match_key key,
	       bool literal, struct condition *ret);
/* The operations that all files' permissions together stand for. */
uint64_t load_all_file_operations(void);
void load_set_value(struct loader *loader, struct condition *condition, enum match_key key,
		    const char *text, bool literal, struct tree_place place);

load_handler_fn load_version, load_defaults;		     /* load.c */
load_handler_fn load_capability, load_extension;	     /* load-rules.c */
load_handler_fn load_fs_rule, load_net_rule, load_exec_rule; /* load-buntime.c */
load_handler_fn load_whitelist;				     /* load-whitelist.c */
load_handler_fn load_manifest;				     /* load-manifest.c */
/* A rule that nothing has been said about: it denies. NULL without memory. */
struct rule *load_add_rule(struct loader *loader, const char *name, struct tree_place place);
/* The action that @map names, deny where it names none. */
enum policy_action load_action(const struct loader *loader, const struct tree_node *map);
/* The constraints among the keys of @map (which may be NULL). */
void load_constraints(struct loader *loader, const struct tree_node *map, struct rule *rule);
/* The child of @map if it is a string, or NULL. */
const struct tree_node *load_get_string(const struct loader *loader, const struct tree_node *map,
					const char *key);
const struct tree_node *load_get(const struct loader *loader, const struct tree_node *map,
				 const char *key, enum tree_type type);

/* load-examples.c: tries the examples of every rule. */
void load_try_examples(struct loader *loader);
