/* SPDX-License-Identifier: MIT */

/*
 * The types of values: for each a row with its name in messages, the nodes of the tree that may
 * have it, and the function that checks its text
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/suggest.h"
#include "base/units.h"
#include "policy/glob.h"
#include "policy/network.h"
#include "policy/model.h"

#define LINE_BYTES_MAX 200
#define PORT_MAX 65535

const char *load_word(const struct tree_node *node)
{
	return node->type == TREE_NULL ? "null" : node->text;
}

static void check_bool(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	*ret_number = strcmp(node->text, "true") == 0;
}

/* These events are always recorded: accepting false would promise something else. */
static void check_true(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	*ret_number = 1;
	if (strcmp(node->text, "true") == 0)
		return;
	load_mistake(loader, node->place, "'%s' cannot be false", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "starts, ends and decisions are always recorded");
	sbx_error_fix(&loader->mistake, "remove it, or write true");
}

static void check_never(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node, uint64_t *ret_number)
{
	load_mistake(loader, node->place, "'%s' cannot be carried out: '%s'",
		     text_string(&loader->path), load_word(node));
	sbx_error_why(&loader->mistake, "%s", row->help);
	sbx_error_fix(&loader->mistake, "remove the list, or write []");
}

static void check_port(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	uint64_t port;

	if (units_parse_count(node->text, &port, NULL) >= 0 && port > 0 && port <= PORT_MAX) {
		*ret_number = port;
		return;
	}
	load_mistake(loader, node->place, "not a port: '%s'", node->text);
	sbx_error_why(&loader->mistake, "a port is a number from 1 to 65535");
	sbx_error_fix(&loader->mistake, "write a number, such as 8080");
}

static void refuse_empty(struct loader *loader, const struct tree_node *node)
{
	load_mistake(loader, node->place, "'%s' is empty", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "an empty text is not allowed here");
	sbx_error_fix(&loader->mistake, "write something, or leave it out");
}

/* Only the value of an environment variable may be empty. */
static void check_text(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 0 && strcmp(row->path, "env.set.*") != 0)
		refuse_empty(loader, node);
}

static void check_line(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 0) {
		refuse_empty(loader, node);
		return;
	}
	for (const char *at = node->text; *at; at++)
		if (iscntrl((unsigned char)*at)) {
			load_mistake(loader, node->place, "'%s' contains a control character",
				     text_string(&loader->path));
			sbx_error_why(&loader->mistake, "it is shown on one line");
			sbx_error_fix(&loader->mistake, "write it on one line, without tabs");
			return;
		}
	if (node->text_len <= LINE_BYTES_MAX)
		return;
	load_mistake(loader, node->place, "'%s' is longer than %d bytes",
		     text_string(&loader->path), LINE_BYTES_MAX);
	sbx_error_why(&loader->mistake, "it has %zu", node->text_len);
	sbx_error_fix(&loader->mistake, "shorten it; 'reason' takes longer texts");
}

static void check_word(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	const char *at = node->text;

	while (isalnum((unsigned char)*at) || strchr("_-.", *at) || (*at == '*' && at[1] == '\0')) {
		if (*at == '\0')
			break;
		at++;
	}
	if (*at == '\0' && at > node->text)
		return;
	load_mistake(loader, node->place, "not a name: '%s'", node->text);
	sbx_error_why(&loader->mistake,
		      "it may have letters, digits, '_', '-' and '.', and a '*' at its end");
	sbx_error_fix(&loader->mistake, "write the name alone");
}

/* Nothing expands "~/.ssh", so a denial of it would silently protect another path: report it.
 * False, and a mistake, if @text (of @node) begins with '~' or a variable. */
static bool check_expansion(struct loader *loader, const struct tree_node *node, const char *text)
{
	if (strcmp(text, "~") != 0 && strncmp(text, "~/", 2) != 0 && text[0] != '$')
		return true;
	load_mistake(loader, node->place, "not a path: '%s'", node->text);
	sbx_error_why(&loader->mistake, "'~' and variables are not replaced in a policy");
	sbx_error_fix(&loader->mistake,
		      "write the absolute path; if the file really has this name, begin with './'");
	return false;
}

static void check_path(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	const char *text = node->text;
	_cleanup_text_ struct text absolute = TEXT_INIT;

	if (!check_expansion(loader, node, text) || strcmp(text, ".") == 0)
		return;
	if (strncmp(text, "./", 2) == 0)
		text_add(&absolute, text + 1);
	else
		text_add(&absolute, text);
	if (path_is_normal(text_string(&absolute)))
		return;
	load_mistake(loader, node->place, "not a path: '%s'", text);
	sbx_error_why(&loader->mistake,
		      "it must be absolute, or begin with './' for the project, and have no '..', "
		      "no '//' and no '/' at its end");
	sbx_error_fix(&loader->mistake, "write it like /srv/data or ./data");
}

static void check_sha256(struct loader *loader, const struct policy_key *row,
			 const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 64 && strspn(node->text, "0123456789abcdefABCDEF") == 64)
		return;
	load_mistake(loader, node->place, "not a SHA-256: '%s'", node->text);
	sbx_error_why(&loader->mistake, "it must be 64 hex digits");
	sbx_error_fix(&loader->mistake, "write the output of 'sha256sum PROGRAM'");
}

static void check_choice(struct loader *loader, const struct policy_key *row,
			 const struct tree_node *node, uint64_t *ret_number)
{
	const char *word = load_word(node), *meant;
	_cleanup_text_ struct text list = TEXT_INIT;

	for (size_t i = 0; row->choices[i]; i++)
		if (strcmp(row->choices[i], word) == 0)
			return;
	for (size_t i = 0; row->choices[i]; i++)
		text_addf(&list, "%s%s", i > 0 ? ", " : "", row->choices[i]);
	meant = suggest_from(word, row->choices);
	load_mistake(loader, node->place, "'%s' cannot be '%s'", text_string(&loader->path), word);
	sbx_error_why(&loader->mistake, "it must be one of: %s", text_string(&list));
	if (meant)
		sbx_error_fix(&loader->mistake, "did you mean '%s'?", meant);
	else
		sbx_error_fix(&loader->mistake, "write one of them");
}

/* ---- texts that are matched against requests ---- */

static void check_operation(struct loader *loader, const struct policy_key *row,
			    const struct tree_node *node, uint64_t *ret_number)
{
	const char *meant;

	if (operation_set(node->text) != 0)
		return;
	meant = operation_suggest(node->text);
	load_mistake(loader, node->place, "unknown operation '%s'", node->text);
	sbx_error_why(&loader->mistake, "no tool requests it, so the rule would never apply");
	if (meant)
		sbx_error_fix(&loader->mistake, "did you mean '%s'?", meant);
	else
		sbx_error_fix(&loader->mistake, "write an operation such as fs.read, exec, "
						"net.connect, a group such as fs.*, or *");
}

static void check_path_text(struct loader *loader, const struct tree_node *node, bool literal)
{
	const char *text = node->text + (!literal && node->text[0] == '!');
	struct sbx_error err;
	struct glob glob;

	if (!check_expansion(loader, node, text) ||
	    glob_parse(node->text, literal, &glob, NULL) == 0)
		return;
	err = (struct sbx_error){ .code = 0 };
	(void)glob_parse(node->text, literal, &glob, &err);
	load_mistake_of(loader, node->place, &err);
}

static void check_glob(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	check_path_text(loader, node, false);
}

static void check_literal(struct loader *loader, const struct policy_key *row,
			  const struct tree_node *node, uint64_t *ret_number)
{
	check_path_text(loader, node, true);
}

static void check_host(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };

	if (network_check_host(node->text, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

static void check_host_port(struct loader *loader, const struct policy_key *row,
			    const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	struct host_port ignored;

	if (network_parse_host_port(node->text, &ignored, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

static void check_cidr(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	struct network ignored;

	if (network_parse(node->text, &ignored, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

static void check_ports(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };
	const char *at = node->text, *item;
	struct port_range ignored;
	size_t len;

	while (network_next_port(&at, &item, &len))
		if (network_parse_ports(item, len, &ignored, &err) < 0) {
			load_mistake_of(loader, node->place, &err);
			return;
		}
}

/* ---- the table ---- */

#define BIT(type) (1u << (type))

/* Reports a mistake, or sets the number. */
typedef void check_fn(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number);

static const struct type_row {
	const char *noun;
	unsigned accepts; /* bits of enum tree_type */
	check_fn *check;  /* NULL: use parse */
	const char *fix;
	int (*parse)(const char *string, uint64_t *ret, struct sbx_error *err);
} types[N_KEY_TYPES] = {
	[KEY_MAP] = { "a map", BIT(TREE_MAP), NULL, "write its keys on the lines below, indented",
		      NULL },
	[KEY_LIST] = { "a list", BIT(TREE_LIST), NULL,
		       "write [a, b], or '- a' on lines of their own", NULL },
	[KEY_GROUPS] = { "a list, or a map of lists", BIT(TREE_LIST) | BIT(TREE_MAP), NULL,
			 "write [a, b], or names with such lists as values", NULL },
	[KEY_BOOL] = { "true or false", BIT(TREE_BOOL), check_bool,
		       "write true or false, without quotes", NULL },
	[KEY_COUNT] = { "a whole number", BIT(TREE_NUMBER), NULL,
			"write digits without quotes, such as 4", units_parse_count },
	[KEY_TRUE] = { "true", BIT(TREE_BOOL), check_true, "write true, without quotes", NULL },
	[KEY_NEVER] = { "left out", BIT(TREE_STRING), check_never, "write []", NULL },
	[KEY_NUMBER] = { "a number or a percentage", BIT(TREE_NUMBER) | BIT(TREE_STRING), NULL,
			 "write 1, 0.5 or \"50%\"", units_parse_processors },
	[KEY_SIZE] = { "a size", BIT(TREE_NUMBER) | BIT(TREE_STRING), NULL,
		       "write a number of bytes, or one with a unit: 512MiB", units_parse_size },
	[KEY_TIME] = { "a time", BIT(TREE_NUMBER) | BIT(TREE_STRING), NULL,
		       "write a number with a unit: 30s", units_parse_time },
	[KEY_PORT] = { "a port", BIT(TREE_NUMBER), check_port, "write a number, such as 8080",
		       NULL },
	[KEY_TEXT] = { "a text", BIT(TREE_STRING), check_text, "put it in quotes", NULL },
	[KEY_LINE] = { "a text", BIT(TREE_STRING), check_line, "put it in quotes", NULL },
	[KEY_WORD] = { "a word", BIT(TREE_STRING), check_word, "put it in quotes", NULL },
	[KEY_PATH] = { "a path", BIT(TREE_STRING), check_path, "put it in quotes", NULL },
	[KEY_SHA256] = { "a SHA-256", BIT(TREE_STRING), check_sha256,
			 "write its 64 hex digits, in quotes", NULL },
	[KEY_CHOICE] = { "a word", BIT(TREE_STRING) | BIT(TREE_NULL), check_choice,
			 "write one of its values", NULL },
	[KEY_HOST_PORT] = { "a host", BIT(TREE_STRING), check_host_port,
			    "write example.com or \"example.com:8443\"", NULL },
	[KEY_TEXTS] = { "a text or a list of texts", BIT(TREE_STRING), check_text,
			"put texts in quotes", NULL },
	[KEY_CHOICES] = { "a value or a list of values", BIT(TREE_STRING), check_choice,
			  "write one of its values, or [a, b]", NULL },
	[KEY_OPERATIONS] = { "an operation or a list of them", BIT(TREE_STRING), check_operation,
			     "write fs.read, or [fs.read, fs.list]", NULL },
	[KEY_GLOBS] = { "a glob or a list of globs", BIT(TREE_STRING), check_glob,
			"write \"src/**\", or [\"src/**\", \"tests/**\"]", NULL },
	[KEY_LITERALS] = { "a path or a list of paths", BIT(TREE_STRING), check_literal,
			   "write /tmp, or [/tmp, /var/tmp]", NULL },
	[KEY_HOSTS] = { "a host name or a list of them", BIT(TREE_STRING), check_host,
			"write example.com, or [example.com, \"*.example.org\"]", NULL },
	[KEY_CIDRS] = { "a network or a list of networks", BIT(TREE_STRING), check_cidr,
			"write 10.0.0.0/8, or [10.0.0.0/8, \"::1\"]", NULL },
	[KEY_PORTS] = { "a port, a range or a list of them", BIT(TREE_NUMBER) | BIT(TREE_STRING),
			check_ports, "write 443, \"80,443\" or [443, 8000-9000]", NULL },
};

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

static void parse_number(struct loader *loader,
			 int (*parse)(const char *string, uint64_t *ret, struct sbx_error *err),
			 const struct tree_node *node, uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };

	if (parse(node->text, ret_number, &err) < 0)
		load_mistake_of(loader, node->place, &err);
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
	if (types[row->type].check)
		types[row->type].check(loader, row, node, ret_number);
	else
		parse_number(loader, types[row->type].parse, node, ret_number);
	if (!(row->flags & KEY_POSITIVE) || *ret_number > 0 || loader->n_mistakes > n_mistakes)
		return;
	load_mistake(loader, node->place, "'%s' cannot be 0", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "0 could mean 'none' or 'no limit'");
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
