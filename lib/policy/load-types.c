/* SPDX-License-Identifier: MIT */

/*
 * The types of values: one row each, with the words for it, what it looks like in the tree and the
 * function that looks closer
 */

#include "policy/load-internal.h"

#include <string.h>

#define BIT(type) (1u << (type))

static const struct type_row {
	const char *noun;
	unsigned accepts; /* bits of enum tree_type */
	load_check_fn *check;
	const char *fix;
} types[N_KEY_TYPES] = {
	[KEY_MAP] = { "a map", BIT(TREE_MAP), NULL, "write its keys on the lines below, indented" },
	[KEY_LIST] = { "a list", BIT(TREE_LIST), NULL,
		       "write [a, b], or '- a' on lines of their own" },
	[KEY_GROUPS] = { "a list, or a map of lists", BIT(TREE_LIST) | BIT(TREE_MAP), NULL,
			 "write [a, b], or names with such lists behind them" },
	[KEY_BOOL] = { "true or false", BIT(TREE_BOOL), load_check_bool,
		       "write true or false, without quotes" },
	[KEY_COUNT] = { "a whole number", BIT(TREE_NUMBER), load_check_count,
			"write digits without quotes, such as 4" },
	[KEY_TRUE] = { "true", BIT(TREE_BOOL), load_check_true, "write true, without quotes" },
	[KEY_NEVER] = { "left out", BIT(TREE_STRING), load_check_never, "write []" },
	[KEY_NUMBER] = { "a number or a percentage", BIT(TREE_NUMBER) | BIT(TREE_STRING),
			 load_check_processors, "write 1, 0.5 or \"50%\"" },
	[KEY_SIZE] = { "a size", BIT(TREE_NUMBER) | BIT(TREE_STRING), load_check_size,
		       "write a number of bytes, or one with a unit: 512MiB" },
	[KEY_TIME] = { "a time", BIT(TREE_NUMBER) | BIT(TREE_STRING), load_check_time,
		       "write a number with a unit: 30s" },
	[KEY_PORT] = { "a port", BIT(TREE_NUMBER), load_check_port,
		       "write a number, such as 8080" },
	[KEY_TEXT] = { "a text", BIT(TREE_STRING), load_check_text, "put it in quotes" },
	[KEY_LINE] = { "a text", BIT(TREE_STRING), load_check_line, "put it in quotes" },
	[KEY_WORD] = { "a word", BIT(TREE_STRING), load_check_word, "put it in quotes" },
	[KEY_PATH] = { "a path", BIT(TREE_STRING), load_check_path, "put it in quotes" },
	[KEY_SHA256] = { "a SHA-256", BIT(TREE_STRING), load_check_sha256,
			 "write its 64 hex digits, in quotes" },
	[KEY_CHOICE] = { "a word", BIT(TREE_STRING) | BIT(TREE_NULL), load_check_choice,
			 "write one of its words" },
	[KEY_HOST_PORT] = { "a host", BIT(TREE_STRING), load_check_host_port,
			    "write example.com or \"example.com:8443\"" },
	[KEY_TEXTS] = { "a text or a list of texts", BIT(TREE_STRING), load_check_text,
			"put texts in quotes" },
	[KEY_CHOICES] = { "a word or a list of words", BIT(TREE_STRING), load_check_choice,
			  "write one of its words, or [a, b]" },
	[KEY_OPERATIONS] = { "an operation or a list of them", BIT(TREE_STRING),
			     load_check_operation, "write fs.read, or [fs.read, fs.list]" },
	[KEY_GLOBS] = { "a glob or a list of globs", BIT(TREE_STRING), load_check_glob,
			"write \"src/**\", or [\"src/**\", \"tests/**\"]" },
	[KEY_LITERALS] = { "a path or a list of paths", BIT(TREE_STRING), load_check_literal,
			   "write /tmp, or [/tmp, /var/tmp]" },
	[KEY_HOSTS] = { "a host name or a list of them", BIT(TREE_STRING), load_check_host,
			"write example.com, or [example.com, \"*.example.org\"]" },
	[KEY_CIDRS] = { "a network or a list of networks", BIT(TREE_STRING), load_check_cidr,
			"write 10.0.0.0/8, or [10.0.0.0/8, \"::1\"]" },
	[KEY_PORTS] = { "a port, a range or a list of them", BIT(TREE_NUMBER) | BIT(TREE_STRING),
			load_check_ports, "write 443, \"80,443\" or [443, 8000-9000]" },
};

/* "limits.memory" for a value, "capabilities[2]" for an item. */
static void refuse_type(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node)
{
	bool quoted = row->flags & KEY_QUOTED;

	load_mistake(loader, node->place, "'%s' must be %s", text_string(&loader->path),
		     quoted ? "a string" : types[row->type].noun);
	sbx_error_why(&loader->mistake, "it is %s", tree_type_name(node->type));
	if (quoted && (node->type == TREE_NUMBER || node->type == TREE_BOOL))
		sbx_error_fix(&loader->mistake, "write \"%s\", with the quotes", node->text);
	else
		sbx_error_fix(&loader->mistake, "%s",
			      quoted ? "put it in quotes" : types[row->type].fix);
}

bool load_check_shape(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node)
{
	if (types[row->type].accepts & BIT(node->type))
		return true;
	refuse_type(loader, row, node);
	return false;
}

const char *load_word(const struct tree_node *node)
{
	return node->type == TREE_NULL ? "null" : node->text;
}

static void check_one(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	unsigned accepts = row->flags & KEY_QUOTED ? BIT(TREE_STRING) : types[row->type].accepts;
	size_t n_mistakes = loader->n_mistakes;

	if (!(accepts & BIT(node->type))) {
		refuse_type(loader, row, node);
		return;
	}
	types[row->type].check(loader, row, node, ret_number);
	if (!(row->flags & KEY_POSITIVE) || *ret_number > 0 || loader->n_mistakes > n_mistakes)
		return;
	load_mistake(loader, node->place, "'%s' cannot be 0", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "0 would mean 'none' to some and 'no limit' to others");
	sbx_error_fix(&loader->mistake, "write a number above 0, or leave the key out");
}

void load_check_value(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	if (row->type < KEY_TEXTS || node->type != TREE_LIST) {
		check_one(loader, row, node, ret_number);
		return;
	}
	for (const struct tree_node *item = node->first; item; item = item->next)
		check_one(loader, row, item, ret_number);
}
