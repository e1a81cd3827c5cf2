/* SPDX-License-Identifier: MIT */

/*
 * Changing one value in a configuration file
 *
 * The user's comments, order and layout must stay, so the text is edited instead of being printed
 * from the tree. The edit is simple and may be wrong for an unusual layout. Therefore the result is
 * parsed again, and returned only if its tree is the old one with exactly this value changed.
 */

#include "base/config.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/text.h"
#include "base/tree-internal.h"

struct edit {
	const char *bytes;
	size_t n_bytes;
	const struct tree *tree;
	const struct config_key *key;
	const char *value;
};

/* Braces around everything: JSON, or YAML written like it. */
static bool is_braced(const struct edit *edit, size_t *ret_brace)
{
	const struct tree_node *root = tree_root(edit->tree);
	size_t at = tree_place_offset(edit->bytes, edit->n_bytes, root->place);

	if (root->type != TREE_MAP || at >= edit->n_bytes || edit->bytes[at] != '{')
		return false;
	*ret_brace = at;
	return true;
}

/* Plain words are YAML; in braces the text may be JSON. */
static void add_value(const struct edit *edit, struct text *out)
{
	struct json_writer writer;
	size_t brace;

	if (!is_braced(edit, &brace)) {
		text_add(out, edit->value);
		return;
	}
	json_write(&writer, out);
	json_add_string(&writer, edit->value);
}

/* Length of the quoted text at @bytes with its quotes; 0 where it does not end. */
static size_t quoted_length(const char *bytes, size_t n_bytes)
{
	for (size_t i = 1; i < n_bytes; i++) {
		bool escapes = bytes[0] == '"' && bytes[i] == '\\';
		bool doubles = bytes[0] == '\'' && bytes[i] == '\'' && i + 1 < n_bytes &&
			       bytes[i + 1] == '\'';

		if (escapes || doubles)
			i++;
		else if (bytes[i] == bytes[0])
			return i + 1;
	}
	return 0;
}

/* The length of the value of @node in the text, or -ENOTSUP unless it is a plain or quoted scalar
 * on one line. */
static ssize_t value_length(const struct tree_node *node, const char *bytes, size_t n_bytes)
{
	size_t quoted;

	if (node->type == TREE_NULL)
		return n_bytes >= 4 && memcmp(bytes, "null", 4) == 0 ? 4 : 0;
	if (node->type == TREE_LIST || node->type == TREE_MAP)
		return -ENOTSUP;
	if (n_bytes > 0 && (bytes[0] == '"' || bytes[0] == '\'')) {
		quoted = quoted_length(bytes, n_bytes);
		return quoted > 0 ? (ssize_t)quoted : -ENOTSUP;
	}
	if (n_bytes >= node->text_len && memcmp(bytes, node->text, node->text_len) == 0)
		return (ssize_t)node->text_len;
	return -ENOTSUP;
}

static int replace_value(const struct edit *edit, const struct tree_node *node, struct text *out)
{
	size_t at = tree_place_offset(edit->bytes, edit->n_bytes, node->place);
	ssize_t len = value_length(node, edit->bytes + at, edit->n_bytes - at);

	if (len < 0)
		return (int)len;
	text_add_bytes(out, edit->bytes, at);
	if (len == 0)
		text_add_char(out, ' ');
	add_value(edit, out);
	text_add_bytes(out, edit->bytes + at + len, edit->n_bytes - at - (size_t)len);
	return 0;
}

/* The number of bytes at the end of @bytes that are lines without a value: blank, or a comment. */
static size_t count_spare(const char *bytes, size_t n_bytes)
{
	size_t kept = n_bytes;

	while (kept > 0) {
		const char *before = memrchr(bytes, '\n', kept - 1);
		size_t at = before ? (size_t)(before + 1 - bytes) : 0, text = at;

		while (text < kept && strchr(" \t\r\n", bytes[text]))
			text++;
		if (text < kept && bytes[text] != '#')
			break;
		kept = at;
	}
	return n_bytes - kept;
}

/* For a value on several lines, a list or a map: replaces all lines from the key to the next one,
 * except the comments before that. -ENOTSUP if a comment would be lost. */
static int replace_lines(const struct edit *edit, const struct tree_node *node, struct text *out)
{
	size_t at = tree_place_offset(edit->bytes, edit->n_bytes, node->key_place);
	size_t end = edit->n_bytes;

	if (node->next)
		end = tree_place_offset(edit->bytes, end, node->next->key_place);
	while (end < edit->n_bytes && end > at && edit->bytes[end - 1] != '\n')
		end--;
	end -= count_spare(edit->bytes + at, end - at);
	if (end > at && edit->bytes[end - 1] == '\n')
		end--;
	if (end > at && edit->bytes[end - 1] == '\r')
		end--;
	if (end == at || memchr(edit->bytes + at, '#', end - at))
		return -ENOTSUP;
	text_add_bytes(out, edit->bytes, at);
	text_addf(out, "%s: %s", edit->key->name, edit->value);
	text_add_bytes(out, edit->bytes + end, edit->n_bytes - end);
	return 0;
}

/* Inserts before the first member, with the same layout. */
static void add_member(const struct edit *edit, size_t brace, struct text *out)
{
	const char *rest = edit->bytes + brace + 1;
	size_t n_rest = edit->n_bytes - brace - 1, n_space = 0;

	while (n_space < n_rest && strchr(" \t\r\n", rest[n_space]))
		n_space++;
	text_add_bytes(out, edit->bytes, brace + 1);
	if (tree_root(edit->tree)->first)
		text_add_bytes(out, rest, n_space);
	text_addf(out, "\"%s\": ", edit->key->name);
	add_value(edit, out);
	if (tree_root(edit->tree)->first)
		text_add_char(out, ',');
	if (n_space == 0 && tree_root(edit->tree)->first)
		text_add_char(out, ' ');
	text_add_bytes(out, rest, n_rest);
}

/* Appends, so that every comment stays at its line. */
static void add_line(const struct edit *edit, struct text *out)
{
	const struct tree_node *first = tree_root(edit->tree)->first;
	const char *newline = edit->n_bytes > 0 ? memchr(edit->bytes, '\n', edit->n_bytes) : NULL;
	bool is_crlf = newline && newline > edit->bytes && newline[-1] == '\r';
	const char *end = is_crlf ? "\r\n" : "\n";

	text_add_bytes(out, edit->bytes, edit->n_bytes);
	if (edit->n_bytes > 0 && edit->bytes[edit->n_bytes - 1] != '\n')
		text_add(out, end);
	for (unsigned i = 1; first && i < first->key_place.column; i++)
		text_add_char(out, ' ');
	text_addf(out, "%s: ", edit->key->name);
	add_value(edit, out);
	text_add(out, end);
}

static int apply(const struct edit *edit, struct text *out)
{
	const struct tree_node *root = tree_root(edit->tree);
	const struct tree_node *node = tree_get(edit->tree, root, edit->key->name);
	size_t brace;
	bool is_in_braces = is_braced(edit, &brace);

	if (node) {
		int r = replace_value(edit, node, out);

		return r == -ENOTSUP && !is_in_braces ? replace_lines(edit, node, out) : r;
	}
	if (is_in_braces)
		add_member(edit, brace, out);
	else
		add_line(edit, out);
	return 0;
}

static bool is_same(const struct tree_node *a, const struct tree_node *b)
{
	if (a->type != b->type || a->text_len != b->text_len ||
	    memcmp(a->text, b->text, a->text_len) != 0 || a->n_children != b->n_children)
		return false;
	a = a->first;
	b = b->first;
	for (; a && b; a = a->next, b = b->next)
		if ((a->key && strcmp(a->key, b->key) != 0) || !is_same(a, b))
			return false;
	return true;
}

/* Is @new the old tree with the key set once, and nothing else? */
static bool is_what_was_meant(const struct edit *edit, const struct tree *new)
{
	const struct tree_node *root = tree_root(new), *old_root = tree_root(edit->tree);
	bool is_new = !tree_get(edit->tree, old_root, edit->key->name);
	size_t n_set = 0;

	if (root->type != TREE_MAP || root->n_children != old_root->n_children + is_new)
		return false;
	for (const struct tree_node *node = root->first; node; node = node->next) {
		const struct tree_node *old = tree_get(edit->tree, old_root, node->key);

		if (strcmp(node->key, edit->key->name) == 0) {
			if (node->type == TREE_NULL || node->first ||
			    strcmp(node->text, edit->value) != 0 || n_set++ > 0)
				return false;
		} else if (!old || !is_same(old, node)) {
			return false;
		}
	}
	return true;
}

static int refuse(const struct edit *edit, const char *why, struct sbx_error *err)
{
	sbx_error_what(err, -ENOTSUP, "%s: cannot change '%s'", tree_name(edit->tree),
		       edit->key->name);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "write it by hand: %s: %s", edit->key->name, edit->value);
	return -ENOTSUP;
}

void config_add_template(struct text *out)
{
	text_add(out,
		 "# Configuration of the sbx tools: sbx.conf(5). These are the defaults; remove "
		 "the '#' of a key\n# to change it. What a sandbox may do is in its policy: "
		 "sbx-policy(5).\n");
	for (const struct config_key *key = config_keys(); key->name; key++) {
		text_addf(out, "\n# %s", key->help);
		for (const char *const *choice = key->choices; choice && *choice; choice++)
			text_addf(out, "%s%s", choice == key->choices ? ": " : ", ", *choice);
		text_addf(out, "\n#%s: %s\n", key->name, key->fallback);
	}
}

/* Mistakes after which the rest can still be parsed: the present value may be one. */
struct mistakes {
	struct sbx_error first;
	int n;
};

static void count_mistake(const struct sbx_error *mistake, void *userdata)
{
	struct mistakes *mistakes = userdata;

	if (mistakes->n++ == 0)
		mistakes->first = *mistake;
}

static int read_leniently(const char *name, const char *text, size_t text_len,
			  struct mistakes *ret_mistakes, struct tree **ret, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = tree_read_all(name, text, text_len, count_mistake, ret_mistakes, ret, &why);

	if (r < 0 && err)
		*err = ret_mistakes->n > 0 ? ret_mistakes->first : why;
	return r < 0 ? r : 0;
}

/* Is the result what was meant, and has it no more mistakes than the text before? */
static bool is_accepted(const struct edit *edit, const struct mistakes *before,
			const struct text *edited)
{
	_cleanup_tree_ struct tree *new = NULL;
	struct mistakes after = { .n = 0 };

	return read_leniently(tree_name(edit->tree), text_string(edited), edited->len, &after, &new,
			      NULL) == 0 &&
	       after.n <= before->n && is_what_was_meant(edit, new);
}

int config_edit(const char *file_name, const char *text, size_t text_len, const char *name,
		const char *value, struct text *out, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *old = NULL;
	_cleanup_text_ struct text edited = TEXT_INIT;
	struct edit edit = { text, text_len, NULL, config_find_key(name), value };
	struct mistakes before = { .n = 0 };
	int r = config_check(name, value, err);

	if (r < 0)
		return r;
	r = read_leniently(file_name, text, text_len, &before, &old, err);
	if (r < 0)
		return r;
	if (tree_root(old)->type != TREE_MAP && tree_root(old)->type != TREE_NULL)
		return tree_wrong_type(old, tree_root(old), TREE_MAP, err);
	edit.tree = old;

	if (apply(&edit, &edited) < 0)
		return refuse(&edit, "its value is not a plain scalar on one line", err);
	if (text_status(&edited) < 0)
		return sbx_error_what(err, -ENOMEM, "no memory to change '%s'", file_name);
	if (!is_accepted(&edit, &before, &edited)) {
		if (before.n == 0)
			return refuse(&edit,
				      "its layout does not allow one line to be changed alone",
				      err);
		if (err)
			*err = before.first;
		return -EINVAL;
	}
	text_add_bytes(out, edited.data, edited.len);
	if (text_status(out) < 0)
		return sbx_error_what(err, -ENOMEM, "no memory to change '%s'", file_name);
	return 0;
}
