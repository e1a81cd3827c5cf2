/* SPDX-License-Identifier: MIT */

/*
 * Values that mean what they say: numbers, sizes, times, words, paths
 */

#include "policy/load-internal.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "base/suggest.h"
#include "base/units.h"

#define LINE_BYTES_MAX 200
#define PORT_MAX 65535

typedef int units_parse_fn(const char *string, uint64_t *ret, struct sbx_error *err);

static void check_units(struct loader *loader, const struct tree_node *node, units_parse_fn *parse,
			uint64_t *ret_number)
{
	struct sbx_error err = { .code = 0 };

	if (parse(node->text, ret_number, &err) < 0)
		load_mistake_of(loader, node->place, &err);
}

void load_check_count(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	check_units(loader, node, units_parse_count, ret_number);
}

void load_check_size(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	check_units(loader, node, units_parse_size, ret_number);
}

void load_check_time(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	check_units(loader, node, units_parse_time, ret_number);
}

void load_check_bool(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	*ret_number = strcmp(node->text, "true") == 0;
}

/* A policy that nothing carries out would be believed. */
void load_check_true(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	*ret_number = 1;
	if (strcmp(node->text, "true") == 0)
		return;
	load_mistake(loader, node->place, "'%s' cannot be false", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "what starts, ends and is decided is always recorded");
	sbx_error_fix(&loader->mistake, "remove it, or write true");
}

void load_check_never(struct loader *loader, const struct policy_key *row,
		      const struct tree_node *node, uint64_t *ret_number)
{
	load_mistake(loader, node->place, "'%s' cannot be carried out: '%s'",
		     text_string(&loader->path), load_word(node));
	sbx_error_why(&loader->mistake, "%s", row->help);
	sbx_error_fix(&loader->mistake, "remove the list, or write []");
}

void load_check_port(struct loader *loader, const struct policy_key *row,
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

/* At most six digits before the point and three behind it: thousandths that always fit. */
static bool parse_thousandths(const char *text, uint64_t *ret)
{
	size_t whole = strspn(text, "0123456789"), behind = 0;
	uint64_t value = 0;

	if (whole == 0 || whole > 6)
		return false;
	for (size_t i = 0; i < whole; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	if (text[whole] == '.') {
		behind = strspn(text + whole + 1, "0123456789");
		if (behind == 0 || behind > 3)
			return false;
		for (size_t i = 0; i < behind; i++)
			value = value * 10 + (uint64_t)(text[whole + 1 + i] - '0');
		whole += behind + 1;
	}
	for (size_t i = behind; i < 3; i++)
		value *= 10;
	*ret = value;
	return text[whole] == '\0' || strcmp(text + whole, "%") == 0;
}

void load_check_processors(struct loader *loader, const struct policy_key *row,
			   const struct tree_node *node, uint64_t *ret_number)
{
	bool percent = node->text_len > 0 && node->text[node->text_len - 1] == '%';
	uint64_t value;

	if (parse_thousandths(node->text, &value) && (!percent || value % 100 == 0)) {
		*ret_number = percent ? value / 100 : value;
		return;
	}
	load_mistake(loader, node->place, "not a number of processors: '%s'", node->text);
	sbx_error_why(&loader->mistake,
		      "it is digits, with at most three behind a '.', or a percentage of one "
		      "processor with at most one");
	sbx_error_fix(&loader->mistake, "write 1, 0.5 or \"50%%\"");
}

static void refuse_empty(struct loader *loader, const struct tree_node *node)
{
	load_mistake(loader, node->place, "'%s' is empty", text_string(&loader->path));
	sbx_error_why(&loader->mistake, "an empty text says nothing");
	sbx_error_fix(&loader->mistake, "write something, or leave it out");
}

/* Variables may be empty; whatever else is a text may not. */
void load_check_text(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 0 && strcmp(row->path, "env.set.*") != 0)
		refuse_empty(loader, node);
}

void load_check_line(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 0) {
		refuse_empty(loader, node);
		return;
	}
	for (const char *at = node->text; *at; at++)
		if (iscntrl((unsigned char)*at)) {
			load_mistake(loader, node->place, "'%s' has a control character in it",
				     text_string(&loader->path));
			sbx_error_why(&loader->mistake, "it is shown in one line");
			sbx_error_fix(&loader->mistake, "write it in one line, without tabs");
			return;
		}
	if (node->text_len <= LINE_BYTES_MAX)
		return;
	load_mistake(loader, node->place, "'%s' is longer than %d bytes",
		     text_string(&loader->path), LINE_BYTES_MAX);
	sbx_error_why(&loader->mistake, "it has %zu", node->text_len);
	sbx_error_fix(&loader->mistake, "shorten it; 'reason' takes longer texts");
}

void load_check_word(struct loader *loader, const struct policy_key *row,
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

/* Nothing here expands them, and a path that is silently another one is worse than an error. */
bool load_check_expansion(struct loader *loader, const struct tree_node *node, const char *text)
{
	if (strcmp(text, "~") != 0 && strncmp(text, "~/", 2) != 0 && text[0] != '$')
		return true;
	load_mistake(loader, node->place, "not a path: '%s'", node->text);
	sbx_error_why(&loader->mistake, "'~' and variables are not replaced in a policy");
	sbx_error_fix(&loader->mistake,
		      "write the absolute path; a file that is really called so begins with './'");
	return false;
}

void load_check_path(struct loader *loader, const struct policy_key *row,
		     const struct tree_node *node, uint64_t *ret_number)
{
	const char *text = node->text;
	_cleanup_text_ struct text absolute = TEXT_INIT;

	if (!load_check_expansion(loader, node, text) || strcmp(text, ".") == 0)
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

void load_check_sha256(struct loader *loader, const struct policy_key *row,
		       const struct tree_node *node, uint64_t *ret_number)
{
	if (node->text_len == 64 && strspn(node->text, "0123456789abcdefABCDEF") == 64)
		return;
	load_mistake(loader, node->place, "not a SHA-256: '%s'", node->text);
	sbx_error_why(&loader->mistake, "it is 64 hex digits");
	sbx_error_fix(&loader->mistake, "write what 'sha256sum PROGRAM' says");
}

void load_check_choice(struct loader *loader, const struct policy_key *row,
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
	sbx_error_why(&loader->mistake, "it is one of: %s", text_string(&list));
	if (meant)
		sbx_error_fix(&loader->mistake, "did you mean '%s'?", meant);
	else
		sbx_error_fix(&loader->mistake, "write one of them");
}
