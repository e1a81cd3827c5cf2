/* SPDX-License-Identifier: MIT */

/*
 * The JSON reader of the tree: items of base/json become nodes. The scanner has validated the text
 * up to the current item, so this file only decodes, determines places, and explains common
 * mistakes in hand-written JSON.
 */

#include "base/tree-internal.h"

#include <errno.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

/* The bytes at which the scanner stopped, and the fix. */
static const struct {
	const char *bytes;
	const char *fix;
} habits[] = {
	{ "#", "remove the comment, JSON has none; or write the file as YAML" },
	{ "//", "remove the comment, JSON has none; or write the file as YAML" },
	{ "/*", "remove the comment, JSON has none; or write the file as YAML" },
	{ "'", "use double quotes: \"text\"" },
	{ "\t", "inside a string write a tab as \\t; elsewhere remove it" },
	{ "\n", "close the string on its own line; a line break in it is written \\n" },
	{ "\r", "close the string on its own line; a line break in it is written \\n" },
	{ "}", "remove the ',' before it, or write what is missing" },
	{ "]", "remove the ',' before it, or write what is missing" },
	{ "True", "write true" },
	{ "False", "write false" },
	{ "None", "write null" },
	{ "+", "write the number without '+'" },
	{ ".", "write a digit before the point: 0.5" },
};

static const char *fix_for(const char *bytes, size_t n_bytes)
{
	if (n_bytes == 0)
		return "close every '{', '[' and '\"' that was opened";
	for (size_t i = 0; i < N_ELEMENTS(habits); i++) {
		size_t len = strlen(habits[i].bytes);

		if (len <= n_bytes && memcmp(bytes, habits[i].bytes, len) == 0)
			return habits[i].fix;
	}
	return "write it as JSON, every name and text in double quotes; or as YAML lines of "
	       "'key: value'";
}

static int not_json(const struct tree *tree, const struct json_scanner *scanner,
		    struct sbx_error *err)
{
	struct tree_cursor cursor;
	struct tree_place place;

	tree_cursor_init(&cursor, scanner->bytes, scanner->n_bytes);
	place = tree_cursor_to(&cursor, scanner->at);
	tree_error(tree, place, err, "%s", scanner->problem);
	error_explain(err, "a text that begins with '{' is read as JSON, and strictly",
		      fix_for(scanner->bytes + scanner->at, scanner->n_bytes - scanner->at));
	return -EINVAL;
}

static int half_surrogate(const struct tree *tree, struct tree_place place, struct sbx_error *err)
{
	tree_error(tree, place, err, "half of a surrogate pair in a text");
	error_explain(err, "an escape from \\ud800 to \\udfff alone stands for no character",
		      "write both halves, or the character itself");
	return -EINVAL;
}

struct json_reader {
	struct tree_builder builder;
	struct tree_cursor cursor;
	struct text decoded; /* of the current item */
};

static void reader_deinit(struct json_reader *reader)
{
	text_deinit(&reader->decoded);
}

static int add_string(struct json_reader *reader, const struct json_item *item,
		      struct tree_place place, struct sbx_error *err)
{
	const char *bytes = item->bytes;
	size_t n_bytes = item->n_bytes;

	if (item->escaped) {
		text_reset(&reader->decoded);
		if (json_decode(item, &reader->decoded) == -EILSEQ)
			return half_surrogate(reader->builder.tree, place, err);
		if (text_status(&reader->decoded) < 0)
			return tree_no_memory(reader->builder.tree, err);
		bytes = text_string(&reader->decoded);
		n_bytes = reader->decoded.len;
	}
	if (item->kind == JSON_NAME)
		return tree_build_key(&reader->builder, place, bytes, n_bytes, err);
	return tree_build_node(&reader->builder, TREE_STRING, place, bytes, n_bytes, err);
}

static const enum tree_type type_of[] = {
	[JSON_OBJECT_BEGIN] = TREE_MAP, [JSON_ARRAY_BEGIN] = TREE_LIST, [JSON_NUMBER] = TREE_NUMBER,
	[JSON_TRUE] = TREE_BOOL,	[JSON_FALSE] = TREE_BOOL,	[JSON_NULL] = TREE_NULL,
};

static int add_item(struct json_reader *reader, const struct json_item *item, struct sbx_error *err)
{
	struct tree_place place = tree_cursor_to(&reader->cursor, item->offset);
	enum tree_type type;

	if (item->kind == JSON_OBJECT_END || item->kind == JSON_ARRAY_END) {
		tree_build_end(&reader->builder);
		return 0;
	}
	if (item->kind == JSON_NAME || item->kind == JSON_STRING)
		return add_string(reader, item, place, err);
	type = type_of[item->kind];
	if (type == TREE_NUMBER || type == TREE_BOOL)
		return tree_build_node(&reader->builder, type, place, item->bytes, item->n_bytes,
				       err);
	return tree_build_node(&reader->builder, type, place, NULL, 0, err);
}

int tree_read_json(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_(reader_deinit) struct json_reader reader = { .builder.tree = tree,
							       .decoded = TEXT_INIT };
	struct json_scanner scanner;
	struct json_item item;
	int r;

	tree_cursor_init(&reader.cursor, bytes, n_bytes);
	json_scan(&scanner, bytes, n_bytes);
	while ((r = json_next(&scanner, &item)) > 0) {
		r = add_item(&reader, &item, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? not_json(tree, &scanner, err) : 0;
}
