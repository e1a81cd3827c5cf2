/* SPDX-License-Identifier: MIT */

/*
 * Parsing a text into a tree, looking up nodes, and errors with places
 *
 * A text is checked in two steps: first its encoding, because neither libyaml nor the JSON scanner
 * reports line and column of invalid UTF-8; then its syntax, by one of the two readers.
 */

#include "base/tree-internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "base/text.h"

void tree_cursor_init(struct tree_cursor *cursor, const char *bytes, size_t n_bytes)
{
	*cursor = (struct tree_cursor){ .bytes = bytes, .n_bytes = n_bytes, .place = { 1, 1 } };
}

static void step(struct tree_cursor *cursor)
{
	bool newline = cursor->bytes[cursor->at++] == '\n';

	while (cursor->at < cursor->n_bytes &&
	       ((unsigned char)cursor->bytes[cursor->at] & 0xc0) == 0x80)
		cursor->at++;
	cursor->n_chars++;
	cursor->place.column = newline ? 1 : cursor->place.column + 1;
	cursor->place.line += newline;
}

struct tree_place tree_cursor_to(struct tree_cursor *cursor, size_t offset)
{
	while (cursor->at < offset && cursor->at < cursor->n_bytes)
		step(cursor);
	return cursor->place;
}

struct tree_place tree_cursor_to_char(struct tree_cursor *cursor, size_t n_chars)
{
	while (cursor->n_chars < n_chars && cursor->at < cursor->n_bytes)
		step(cursor);
	return cursor->place;
}

size_t tree_place_offset(const char *bytes, size_t n_bytes, struct tree_place place)
{
	struct tree_cursor cursor;

	tree_cursor_init(&cursor, bytes, n_bytes);
	while (cursor.at < n_bytes &&
	       (cursor.place.line < place.line ||
		(cursor.place.line == place.line && cursor.place.column < place.column)))
		step(&cursor);
	return cursor.at;
}

static const struct {
	const char *bytes;
	size_t n_bytes;
	const char *what;
	const char *fix;
} wrong_starts[] = {
	{ "\xef\xbb\xbf", 3, "begins with a byte order mark",
	  "save it as 'UTF-8 without BOM', or: tail -c +4 FILE > NEW-FILE" },
	{ "\xff\xfe", 2, "is UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW-FILE" },
	{ "\xfe\xff", 2, "is UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW-FILE" },
};

static int refuse_byte(const struct tree *tree, struct tree_place place, unsigned char byte,
		       struct sbx_error *err)
{
	if (byte == '\0') {
		tree_error(tree, place, err, "a NUL byte");
		error_explain(err, "text has none: the file is binary, damaged, or UTF-16",
			      "save it as UTF-8 text; 'file NAME' says what it is now");
		return -EINVAL;
	}
	tree_error(tree, place, err, "not valid UTF-8");
	sbx_error_why(err,
		      "the byte 0x%02x does not begin a character here, or the character is cut "
		      "off",
		      byte);
	sbx_error_fix(err,
		      "save it as UTF-8; from Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW-FILE");
	return -EINVAL;
}

static int check_encoding(const struct tree *tree, const char *bytes, size_t n_bytes,
			  struct sbx_error *err)
{
	size_t at = 0, len;
	struct tree_cursor cursor;

	for (size_t i = 0; i < N_ELEMENTS(wrong_starts); i++) {
		size_t start = wrong_starts[i].n_bytes;

		if (n_bytes < start || memcmp(bytes, wrong_starts[i].bytes, start) != 0)
			continue;
		tree_error(tree, (struct tree_place){ 1, 1 }, err, "%s", wrong_starts[i].what);
		error_explain(err, "the text must be plain UTF-8", wrong_starts[i].fix);
		return -EINVAL;
	}
	for (; at < n_bytes; at += len) {
		unsigned char byte = (unsigned char)bytes[at];

		len = tree_plain_bytes(bytes + at, n_bytes - at);
		if (len > 0)
			continue;
		len = byte < 0x80 ? byte != '\0' : utf8_sequence(bytes + at, n_bytes - at);
		if (len == 0) {
			tree_cursor_init(&cursor, bytes, at);
			return refuse_byte(tree, tree_cursor_to(&cursor, at), byte, err);
		}
	}
	return 0;
}

static struct tree *tree_new(const char *name)
{
	_cleanup_tree_ struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->name = arena_copy(&tree->arena, name, strlen(name));
	return tree->name ? take_ptr(tree) : NULL;
}

static bool is_json(const char *bytes, size_t n_bytes)
{
	size_t i = 0;

	while (i < n_bytes && strchr(" \t\r\n", bytes[i]))
		i++;
	return i < n_bytes && bytes[i] == '{';
}

int tree_go_on(struct tree *tree, const struct sbx_error *err)
{
	if (!tree->report || tree->n_reported == TREE_MISTAKES_MAX)
		return -EINVAL;
	tree->report(err, tree->userdata);
	tree->n_reported++;
	return 0;
}

int tree_read(const char *name, const void *bytes, size_t n_bytes, struct tree **ret,
	      struct sbx_error *err)
{
	return tree_read_all(name, bytes, n_bytes, NULL, NULL, ret, err);
}

int tree_read_all(const char *name, const void *bytes, size_t n_bytes,
		  void (*report)(const struct sbx_error *err, void *userdata), void *userdata,
		  struct tree **ret, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = tree_new(name);
	struct tree_builder builder = { .tree = tree };
	int r;

	if (tree) {
		tree->report = report;
		tree->userdata = userdata;
	}
	if (n_bytes == 0)
		bytes = ""; /* libyaml asserts that the pointer is not NULL */
	if (n_bytes > TREE_BYTES_MAX) {
		sbx_error_what(err, -EFBIG, "%s: larger than 1 MiB", name);
		sbx_error_why(err, "it has %zu bytes", n_bytes);
		sbx_error_fix(err, "split it, or check that it is the right file");
		return -EFBIG;
	}
	r = tree ? tree_index_init(&tree->index) : -ENOMEM;
	if (r < 0) {
		(void)sbx_error_what(err, r, "%s: cannot prepare to read it", name);
		return r;
	}
	r = check_encoding(tree, bytes, n_bytes, err);
	if (r < 0)
		return r;
	r = is_json(bytes, n_bytes) ? tree_read_json(tree, bytes, n_bytes, err)
				    : tree_read_yaml(tree, bytes, n_bytes, err);
	if (r < 0)
		return r;
	if (!tree->root)
		r = tree_build_node(&builder, TREE_NULL, (struct tree_place){ 1, 1 }, NULL, 0, err);
	if (r < 0)
		return r;
	r = (int)tree->n_reported;
	*ret = take_ptr(tree);
	return r;
}

int tree_read_file(int dirfd, const char *path, struct tree **ret, struct sbx_error *err)
{
	_cleanup_free_ char *bytes = NULL;
	const char *name;
	size_t n_bytes;
	int r = file_read_operand(dirfd, path, TREE_BYTES_MAX, &name, &bytes, &n_bytes, err);

	if (r < 0)
		return r;
	return tree_read(name, bytes, n_bytes, ret, err);
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	free(tree->index.slots);
	arena_deinit(&tree->arena);
	free(tree);
	return NULL;
}

const struct tree_node *tree_root(const struct tree *tree)
{
	return tree->root;
}

const char *tree_name(const struct tree *tree)
{
	return tree->name;
}

const struct tree_node *tree_get(const struct tree *tree, const struct tree_node *map,
				 const char *key)
{
	return map ? tree_index_find(&tree->index, map, key) : NULL;
}

static const struct {
	const char *name;
	const char *fix; /* how to write one */
} types[] = {
	[TREE_NULL] = { "null", "leave the value empty" },
	[TREE_BOOL] = { "true or false", "write true or false, without quotes" },
	[TREE_NUMBER] = { "a number", "write only digits, without quotes and without a unit" },
	[TREE_STRING] = { "a string", "write one text; in quotes if it looks like a number" },
	[TREE_LIST] = { "a list", "write [one, two], or below it one '- item' a line" },
	[TREE_MAP] = { "a map", "write below it, indented, one 'key: value' a line" },
};

const char *tree_type_name(enum tree_type type)
{
	return types[type].name;
}

struct tree_shown tree_show(const char *text)
{
	struct tree_shown shown;
	size_t len = strlen(text), at = 0;
	static const char mark[] = "...";

	if (len < sizeof(shown.text)) {
		memcpy(shown.text, text, len + 1);
		return shown;
	}
	for (size_t n; (n = utf8_sequence(text + at, len - at)) != 0; at += n)
		if (at + n + sizeof(mark) > sizeof(shown.text))
			break;
	memcpy(shown.text, text, at);
	memcpy(shown.text + at, mark, sizeof(mark));
	return shown;
}

int tree_error(const struct tree *tree, struct tree_place place, struct sbx_error *err,
	       const char *format, ...)
{
	char what[SBX_ERROR_TEXT_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return sbx_error_what(err, -EINVAL, "%s:%u:%u: %s", tree->name, place.line, place.column,
			      what);
}

/* "'fs'", "item 3 of 'rules'", "the top level" */
static struct tree_shown describe(const struct tree_node *node)
{
	struct tree_shown shown = { "the top level" };
	const struct tree_node *list = node->parent;
	unsigned number = 1;
	char name[40] = "the list";

	if (node->key)
		(void)snprintf(shown.text, sizeof(shown.text), "'%.58s'",
			       tree_show(node->key).text);
	if (node->key || !list)
		return shown;
	for (const struct tree_node *n = list->first; n && n != node; n = n->next)
		number++;
	if (list->key && strlen(list->key) < sizeof(name) - 2)
		(void)snprintf(name, sizeof(name), "'%s'", list->key);
	(void)snprintf(shown.text, sizeof(shown.text), "item %u of %s", number, name);
	return shown;
}

int tree_wrong_type(const struct tree *tree, const struct tree_node *node, enum tree_type wanted,
		    struct sbx_error *err)
{
	tree_error(tree, node->place, err, "%s must be %s", describe(node).text,
		   types[wanted].name);
	sbx_error_why(err, "it is %s", types[node->type].name);
	if (wanted == TREE_MAP && !node->parent)
		sbx_error_fix(err, "write one 'key: value' a line");
	else
		sbx_error_fix(err, "%s", types[wanted].fix);
	return -EINVAL;
}

static int unknown_key(const struct tree *tree, const struct tree_node *node,
		       const char *const *known, struct sbx_error *err)
{
	const struct tree_node *map = node->parent;
	_cleanup_text_ struct text list = TEXT_INIT;

	suggest_add_all_from(&list, known);
	if (map->key)
		tree_error(tree, node->key_place, err, "unknown key '%s' in '%s'",
			   tree_show(node->key).text, tree_show(map->key).text);
	else
		tree_error(tree, node->key_place, err, "unknown key '%s'",
			   tree_show(node->key).text);
	sbx_error_why(err, "the keys here are: %s", text_string(&list));
	if (!suggest_fix_from(err, node->key, known))
		sbx_error_fix(err, "remove it, or write one of these keys");
	return -EINVAL;
}

int tree_check_keys(const struct tree *tree, const struct tree_node *map, const char *const *known,
		    struct sbx_error *err)
{
	if (map->type != TREE_MAP)
		return tree_wrong_type(tree, map, TREE_MAP, err);
	for (const struct tree_node *node = map->first; node; node = node->next) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], node->key) != 0)
			i++;
		if (!known[i])
			return unknown_key(tree, node, known, err);
	}
	return 0;
}
