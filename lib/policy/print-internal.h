/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Printing of the same thing as YAML or as JSON
 *
 * Maps and lists of maps take lines of their own; lists of values stand in one line. Nothing that
 * is opened may stay empty, except a list of values.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"

struct printer {
	struct text *out;
	bool json;
	struct json_writer writer; /* json */
	unsigned depth;
	bool dash;	     /* the next key begins an item of a list */
	bool inside, behind; /* a list of values is open; it has one already */
};

/* @key is NULL at the top and for items of a list. */
void print_map(struct printer *printer, const char *key);
void print_map_end(struct printer *printer);
void print_list(struct printer *printer, const char *key);
void print_list_end(struct printer *printer);
void print_values(struct printer *printer, const char *key);
void print_values_end(struct printer *printer);
/* A value; @key is NULL in a list of values. */
void print_string(struct printer *printer, const char *key, const char *text);
void print_word(struct printer *printer, const char *key, const char *word);  /* needs no quotes */
void print_plain(struct printer *printer, const char *key, const char *text); /* number or bool */

struct policy;

/* print-settings.c */
void print_settings(struct printer *printer, const struct policy *policy);
