/* SPDX-License-Identifier: MIT */

/*
 * The bytes are read as a tree. A tree follows its own rules, and printed as JSON it reads back the
 * same; an error names the file and there is no tree. A failed check is an abort.
 */

#include "base/tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/text.h"

#define NAME "fuzz.yaml"

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* The number of characters in each line, without its end. */
struct lines {
	unsigned *lengths;
	size_t n_lines;
};

static void measure(const uint8_t *bytes, size_t n_bytes, struct lines *ret)
{
	ret->lengths = calloc(n_bytes + 1, sizeof(*ret->lengths));
	check(ret->lengths != NULL);
	ret->n_lines = 1;
	for (size_t i = 0; i < n_bytes; i++) {
		if (bytes[i] == '\n')
			ret->n_lines++;
		else if ((bytes[i] & 0xc0) != 0x80)
			ret->lengths[ret->n_lines - 1]++;
	}
}

static void check_place(struct tree_place place, const struct lines *lines)
{
	check(place.line >= 1 && place.line <= lines->n_lines);
	check(place.column >= 1 && place.column <= lines->lengths[place.line - 1] + 1);
}

static void check_string(const char *string, size_t len)
{
	check(strlen(string) == len);
	for (size_t at = 0, n; at < len; at += n) {
		n = utf8_sequence(string + at, len - at);
		check(n > 0);
	}
}

static void check_node(const struct tree *tree, const struct tree_node *node,
		       const struct lines *lines, unsigned depth)
{
	bool is_open = node->type == TREE_LIST || node->type == TREE_MAP;
	size_t n = 0;

	check(depth + is_open <= TREE_DEPTH_MAX);
	check_place(node->place, lines);
	check_string(node->text, node->text_len);
	check(is_open || !node->first);
	for (const struct tree_node *child = node->first; child; child = child->next, n++) {
		check(child->parent == node);
		check((child->key != NULL) == (node->type == TREE_MAP));
		if (child->key) {
			check_place(child->key_place, lines);
			check_string(child->key, strlen(child->key));
			check(child->key[0] && tree_get(tree, node, child->key) == child);
		}
		check_node(tree, child, lines, depth + 1);
	}
	check(n == node->n_children);
}

static void print_node(struct json_writer *writer, const struct tree_node *node)
{
	if (node->key)
		json_add_name(writer, node->key);
	if (node->type == TREE_NULL)
		json_add_null(writer);
	else if (node->type == TREE_STRING)
		json_add_string_bytes(writer, node->text, node->text_len);
	else if (node->type == TREE_LIST)
		json_add_array(writer);
	else if (node->type == TREE_MAP)
		json_add_object(writer);
	else
		json_add_raw(writer, node->text, node->text_len);
	for (const struct tree_node *child = node->first; child; child = child->next)
		print_node(writer, child);
	if (node->type == TREE_LIST)
		json_end_array(writer);
	else if (node->type == TREE_MAP)
		json_end_object(writer);
}

static void check_same(const struct tree_node *a, const struct tree_node *b)
{
	check(a->type == b->type && a->text_len == b->text_len && a->n_children == b->n_children);
	check(memcmp(a->text, b->text, a->text_len) == 0);
	check(!a->key == !b->key && (!a->key || strcmp(a->key, b->key) == 0));
	a = a->first;
	b = b->first;
	for (; a && b; a = a->next, b = b->next)
		check_same(a, b);
	check(!a && !b);
}

/* A JSON text begins with a brace, so only maps go through the JSON reader directly. */
static void check_round_trip(const struct tree *tree)
{
	_cleanup_text_ struct text printed = TEXT_INIT;
	_cleanup_tree_ struct tree *again = NULL;
	struct json_writer writer;

	json_write(&writer, &printed);
	print_node(&writer, tree_root(tree));
	check(text_status(&printed) == 0);
	if (tree_root(tree)->type != TREE_MAP || printed.len > TREE_BYTES_MAX)
		return;
	check(tree_read(NAME, printed.data, printed.len, &again, NULL) == 0);
	check_same(tree_root(tree), tree_root(again));
}

static void check_refusal(int r, const struct tree *tree, const struct sbx_error *err)
{
	check(r == -EINVAL || r == -EFBIG);
	check(!tree && err->code == r);
	check(strncmp(err->what, NAME ":", strlen(NAME ":")) == 0);
	check(err->why[0] && err->fix[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	_cleanup_tree_ struct tree *tree = NULL;
	struct sbx_error err = { .code = 0 };
	struct lines lines;
	int r = tree_read(NAME, bytes, n_bytes, &tree, &err);

	if (r < 0) {
		check_refusal(r, tree, &err);
		return 0;
	}
	check(err.code == 0 && tree);
	measure(bytes, n_bytes, &lines);
	check_node(tree, tree_root(tree), &lines, 0);
	free(lines.lengths);
	check_round_trip(tree);
	return 0;
}
