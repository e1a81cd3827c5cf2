/* SPDX-License-Identifier: MIT */

/*
 * The types of values: for each a row with its name in messages, the nodes of the tree that may
 * have it, and the function that checks its text
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/suggest.h"
#include "base/syscall.h"
#include "base/units.h"
#include "policy/enforcement.h"
#include "policy/glob.h"
#include "policy/network.h"

#define LINE_BYTES_MAX 200
#define PORT_MAX 65535

const char *load_word(const struct tree_node *node)
{
	return node->type == TREE_NULL ? "null" : node->text;
}

/* ---- texts that say what is wrong with them themselves ---- */

static int parse_bool(const char *text, uint64_t *ret, struct sbx_error *err)
{
	*ret = strcmp(text, "true") == 0;
	return 0;
}

static int parse_port(const char *text, uint64_t *ret, struct sbx_error *err)
{
	uint64_t port;

	if (units_parse_count(text, &port, NULL) < 0 || port == 0 || port > PORT_MAX)
		return error_fill(err, -EINVAL, "a port is a number from 1 to 65535",
				  "write a number, such as 8080", "not a port: '%s'", text);
	*ret = port;
	return 0;
}

static int parse_word(const char *text, uint64_t *ret, struct sbx_error *err)
{
	const char *at = text;

	while (*at && (isalnum((unsigned char)*at) || strchr("_-.", *at) || strcmp(at, "*") == 0))
		at++;
	if (*at == '\0' && at > text)
		return 0;
	return error_fill(err, -EINVAL,
			  "it may have letters, digits, '_', '-' and '.', and a '*' at its end",
			  "write the name alone", "not a name: '%s'", text);
}

static int parse_syscall(const char *text, uint64_t *ret, struct sbx_error *err)
{
	const char *meant;

	if (syscall_find(text) != -ENOENT)
		return 0;
	meant = syscall_suggest(text);
	(void)error_fill(err, -EINVAL, "no system call has this name",
			 "leave it out: a call that is newer than sbx answers ENOSYS",
			 "unknown system call '%s'", text);
	if (meant)
		sbx_error_fix(err, "did you mean '%s'?", meant);
	return -EINVAL;
}

/* Nothing expands "~/.ssh", so a denial of it would silently protect another path: refuse @text if
 * it begins with '~' or a variable after @n_before bytes. */
static int refuse_expansion(const char *text, size_t n_before, struct sbx_error *err)
{
	const char *path = text + n_before;

	if (strcmp(path, "~") != 0 && strncmp(path, "~/", 2) != 0 && path[0] != '$')
		return 0;
	return error_fill(
		err, -EINVAL, "'~' and variables are not replaced in a policy",
		"write the absolute path; if the file really has this name, begin with './'",
		"not a path: '%s'", text);
}

static int parse_path(const char *text, uint64_t *ret, struct sbx_error *err)
{
	int r = refuse_expansion(text, 0, err);

	/* "./x" is normal if "/x" is. */
	if (r < 0 || strcmp(text, ".") == 0 || path_is_normal(text + (strncmp(text, "./", 2) == 0)))
		return r;
	return error_fill(
		err, -EINVAL,
		"it must be absolute, or begin with './' for the project, and have no '..', "
		"no '//' and no '/' at its end",
		"write it like /srv/data or ./data", "not a path: '%s'", text);
}

/* A directory as the path of a socket would grant everything below it. */
static int parse_file(const char *text, uint64_t *ret, struct sbx_error *err)
{
	int r = parse_path(text, ret, err);

	if (r < 0)
		return r;
	/* "./" is the project, as "." is. */
	if (strcmp(text, "/") == 0 || strcmp(text, ".") == 0 || strcmp(text, "./") == 0)
		return error_fill(err, -EINVAL, "it is a directory", "name the file itself",
				  "not a file: '%s'", text);
	if (path_is_of_reader(text))
		return error_fill(err, -EINVAL,
				  "it means the process that reads it: here sbx-spawn, inside the "
				  "command",
				  "name a file that no process owns", "not a file: '%s'", text);
	return 0;
}

static int parse_sha256(const char *text, uint64_t *ret, struct sbx_error *err)
{
	if (strlen(text) == 64 && strspn(text, "0123456789abcdefABCDEF") == 64)
		return 0;
	return error_fill(err, -EINVAL, "it must be 64 hex digits",
			  "write the output of 'sha256sum PROGRAM'", "not a SHA-256: '%s'", text);
}

static int parse_operation(const char *text, uint64_t *ret, struct sbx_error *err)
{
	const char *meant;

	if (operation_set(text) != 0)
		return 0;
	meant = operation_suggest(text);
	(void)error_fill(
		err, -EINVAL, "no tool requests it, so the rule would never apply",
		"write an operation such as fs.read, exec, net.connect, a group such as fs.*, or *",
		"unknown operation '%s'", text);
	if (meant)
		sbx_error_fix(err, "did you mean '%s'?", meant);
	return -EINVAL;
}

static int parse_glob(const char *text, uint64_t *ret, struct sbx_error *err)
{
	struct glob ignored;
	int r = refuse_expansion(text, text[0] == '!', err);

	return r < 0 ? r : glob_parse(text, false, &ignored, err);
}

static int parse_literal(const char *text, uint64_t *ret, struct sbx_error *err)
{
	struct glob ignored;
	int r = refuse_expansion(text, 0, err);

	return r < 0 ? r : glob_parse(text, true, &ignored, err);
}

static int parse_host(const char *text, uint64_t *ret, struct sbx_error *err)
{
	return network_check_host(text, err);
}

static int parse_host_port(const char *text, uint64_t *ret, struct sbx_error *err)
{
	struct host_port ignored;

	return network_parse_host_port(text, &ignored, err);
}

static int parse_cidr(const char *text, uint64_t *ret, struct sbx_error *err)
{
	struct network ignored;

	return network_parse(text, &ignored, err);
}

static int parse_ports(const char *text, uint64_t *ret, struct sbx_error *err)
{
	const char *at = text, *item;
	struct port_range ignored;
	size_t len;
	int r = 0;

	while (r == 0 && network_next_port(&at, &item, &len))
		r = network_parse_ports(item, len, &ignored, err);
	return r;
}

/* ---- values whose mistakes name their key ---- */

/* These events are always recorded: accepting false would promise something else. */
static void check_true(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	*ret_number = 1;
	if (strcmp(node->text, "true") == 0)
		return;
	load_mistake(loader, node->place, "starts, ends and decisions are always recorded",
		     "remove it, or write true", "'%s' cannot be false",
		     text_string(&loader->path));
}

static void check_never(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node, uint64_t *ret_number)
{
	load_mistake(loader, node->place, row->help, "remove the list, or write []",
		     "'%s' cannot be carried out: '%s'", text_string(&loader->path),
		     load_word(node));
}

static void refuse_empty(struct loader *loader, const struct tree_node *node)
{
	load_mistake(loader, node->place, "an empty text is not allowed here",
		     "write something, or leave it out", "'%s' is empty",
		     text_string(&loader->path));
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
			load_mistake(loader, node->place, "it is shown on one line",
				     "write it on one line, without tabs",
				     "'%s' contains a control character",
				     text_string(&loader->path));
			return;
		}
	if (node->text_len <= LINE_BYTES_MAX)
		return;
	load_mistake(loader, node->place, NULL, "shorten it; 'reason' takes longer texts",
		     "'%s' is longer than %d bytes", text_string(&loader->path), LINE_BYTES_MAX);
	sbx_error_why(&loader->mistake, "it has %zu", node->text_len);
}

static void check_choice(struct loader *loader, const struct policy_key *row,
			 const struct tree_node *node, uint64_t *ret_number)
{
	const char *word = load_word(node);
	_cleanup_text_ struct text list = TEXT_INIT;

	for (size_t i = 0; row->choices[i]; i++)
		if (strcmp(row->choices[i], word) == 0)
			return;
	suggest_add_all_from(&list, row->choices);
	load_mistake(loader, node->place, NULL, "write one of them", "'%s' cannot be '%s'",
		     text_string(&loader->path), word);
	sbx_error_why(&loader->mistake, "it must be one of: %s", text_string(&list));
	suggest_fix_from(&loader->mistake, word, row->choices);
}

/* ---- the table ---- */

#define BIT(type) (1u << (type))

#define SCALAR (BIT(TREE_NUMBER) | BIT(TREE_STRING))

static const struct type_row {
	const char *noun;
	unsigned accepts; /* bits of enum tree_type */
	const char *fix;
	/* One of the two: refuses a text by an error; or reports a mistake itself. */
	int (*parse)(const char *text, uint64_t *ret, struct sbx_error *err);
	void (*check)(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number);
} types[N_KEY_TYPES] = {
	[KEY_MAP] = { "a map", BIT(TREE_MAP), "write its keys on the lines below, indented",
		      .parse = NULL },
	[KEY_LIST] = { "a list", BIT(TREE_LIST), "write [a, b], or '- a' on lines of their own",
		       .parse = NULL },
	[KEY_GROUPS] = { "a list, or a map of lists", BIT(TREE_LIST) | BIT(TREE_MAP),
			 "write [a, b], or names with such lists as values", .parse = NULL },
	[KEY_BOOL] = { "true or false", BIT(TREE_BOOL), "write true or false, without quotes",
		       .parse = parse_bool },
	[KEY_COUNT] = { "a whole number", BIT(TREE_NUMBER),
			"write digits without quotes, such as 4", .parse = units_parse_count },
	[KEY_TRUE] = { "true", BIT(TREE_BOOL), "write true, without quotes", .check = check_true },
	[KEY_NEVER] = { "left out", BIT(TREE_STRING), "write []", .check = check_never },
	[KEY_NUMBER] = { "a number or a percentage", SCALAR, "write 1, 0.5 or \"50%\"",
			 .parse = units_parse_processors },
	[KEY_SIZE] = { "a size", SCALAR, "write a number of bytes, or one with a unit: 512MiB",
		       .parse = units_parse_size },
	[KEY_TIME] = { "a time", SCALAR, "write a number with a unit: 30s",
		       .parse = units_parse_time },
	[KEY_PORT] = { "a port", BIT(TREE_NUMBER), "write a number, such as 8080",
		       .parse = parse_port },
	[KEY_TEXT] = { "a text", BIT(TREE_STRING), "put it in quotes", .check = check_text },
	[KEY_LINE] = { "a text", BIT(TREE_STRING), "put it in quotes", .check = check_line },
	[KEY_WORD] = { "a word", BIT(TREE_STRING), "put it in quotes", .parse = parse_word },
	[KEY_SYSCALL] = { "a system call", BIT(TREE_STRING), "put its name in quotes",
			  .parse = parse_syscall },
	[KEY_PATH] = { "a path", BIT(TREE_STRING), "put it in quotes", .parse = parse_path },
	[KEY_FILE] = { "a path", BIT(TREE_STRING), "put it in quotes", .parse = parse_file },
	[KEY_SHA256] = { "a SHA-256", BIT(TREE_STRING), "write its 64 hex digits, in quotes",
			 .parse = parse_sha256 },
	[KEY_CHOICE] = { "a word", BIT(TREE_STRING) | BIT(TREE_NULL), "write one of its values",
			 .check = check_choice },
	[KEY_HOST_PORT] = { "a host", BIT(TREE_STRING), "write example.com or \"example.com:8443\"",
			    .parse = parse_host_port },
	[KEY_TEXTS] = { "a text or a list of texts", BIT(TREE_STRING), "put texts in quotes",
			.check = check_text },
	[KEY_CHOICES] = { "a value or a list of values", BIT(TREE_STRING),
			  "write one of its values, or [a, b]", .check = check_choice },
	[KEY_OPERATIONS] = { "an operation or a list of them", BIT(TREE_STRING),
			     "write fs.read, or [fs.read, fs.list]", .parse = parse_operation },
	[KEY_GLOBS] = { "a glob or a list of globs", BIT(TREE_STRING),
			"write \"src/**\", or [\"src/**\", \"tests/**\"]", .parse = parse_glob },
	[KEY_LITERALS] = { "a path or a list of paths", BIT(TREE_STRING),
			   "write /tmp, or [/tmp, /var/tmp]", .parse = parse_literal },
	[KEY_HOSTS] = { "a host name or a list of them", BIT(TREE_STRING),
			"write example.com, or [example.com, \"*.example.org\"]",
			.parse = parse_host },
	[KEY_CIDRS] = { "a network or a list of networks", BIT(TREE_STRING),
			"write 10.0.0.0/8, or [10.0.0.0/8, \"::1\"]", .parse = parse_cidr },
	[KEY_PORTS] = { "a port, a range or a list of them", SCALAR,
			"write 443, \"80,443\" or [443, 8000-9000]", .parse = parse_ports },
};

static void refuse_type(struct loader *loader, const struct policy_key *row,
			const struct tree_node *node)
{
	bool quoted = row->flags & KEY_QUOTED;

	load_mistake(loader, node->place, NULL, NULL, "'%s' must be %s", text_string(&loader->path),
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

static void check_one(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	unsigned accepts = row->flags & KEY_QUOTED ? BIT(TREE_STRING) : types[row->type].accepts;
	const struct type_row *type = &types[row->type];
	size_t n_mistakes = loader->n_mistakes;
	struct sbx_error err = { .code = 0 };

	if (!(accepts & BIT(node->type))) {
		refuse_type(loader, row, node);
		return;
	}
	if (type->check)
		type->check(loader, row, node, ret_number);
	else if (type->parse(node->text, ret_number, &err) < 0)
		load_mistake_of(loader, node->place, &err);
	if (!(row->flags & KEY_POSITIVE) || *ret_number > 0 || loader->n_mistakes > n_mistakes)
		return;
	load_mistake(loader, node->place, "0 could mean 'none' or 'no limit'",
		     "write a number above 0, or leave the key out", "'%s' cannot be 0",
		     text_string(&loader->path));
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
