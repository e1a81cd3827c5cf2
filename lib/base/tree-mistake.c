/* SPDX-License-Identifier: MIT */

/*
 * libyaml's messages, such as "mapping values are not allowed in this context", do not say which
 * character to change. This table translates them. libyaml reports two places, where the problem
 * was detected and where the construct began; for a quote that is never closed only the second one
 * is useful.
 */

#include "base/tree-internal.h"

#include <errno.h>
#include <yaml.h>

#include <sbx/error.h>

#include "base/text.h"

static const char quote_it[] = "if it belongs to the text, put the whole text in quotes";
static const char escapes_why[] =
	"between double quotes a backslash begins an escape: \\n \\t \\\" \\\\ \\xNN \\uNNNN";
static const char escapes_fix[] = "write \\\\ for a backslash, or put the text in single quotes";
static const char flow_fix[] =
	"separate what is inside with ',' and close it; a text with brackets, "
	"commas or ': ' in it goes in quotes";

enum {
	AT_START = 1,	  /* the place is where the construct began */
	AT_OPEN = 2,	  /* the place is the innermost list or map */
	TELL_START = 4,	  /* append to why where the construct began */
	ONLY_AT_END = 8,  /* applies at the end of the text */
	ONLY_BEHIND = 16, /* applies if there is text before it on its line */
};

/* The first row applies whose members that are not NULL or 0 all match. */
static const struct mistake {
	const char *context; /* prefix of libyaml's context */
	const char *problem; /* prefix of libyaml's problem */
	const char *letters; /* contains the character at the problem */
	unsigned flags;
	const char *what;
	const char *why;
	const char *fix;
} mistakes[] = {
	{ "while scanning an alias", NULL, NULL, AT_START, "a '*' that begins no text",
	  "a plain '*' is YAML's mark for an alias, which is not allowed here",
	  "put the text in quotes: \"*.txt\"" },
	{ "while scanning an anchor", NULL, NULL, AT_START, "a '&' that begins no text",
	  "a plain '&' is YAML's mark for an anchor, which is not allowed here", quote_it },
	{ "while scanning a tag", NULL, NULL, AT_START, "a '!' that begins no text",
	  "a plain '!' is YAML's mark for a tag, which is not allowed here", quote_it },
	{ "while parsing a tag", NULL, NULL, AT_START, "a '!' that begins no text",
	  "a plain '!' is YAML's mark for a tag, which is not allowed here", quote_it },
	{ NULL, "found undefined tag handle", NULL, AT_START, "tags are not allowed",
	  "the type of a value follows from how it is written", quote_it },
	{ "while scanning a directive", NULL, NULL, AT_START, "directives are not allowed",
	  "a '%' at the beginning of a line is YAML's mark for one", quote_it },
	{ "while scanning a %", NULL, NULL, AT_START, "directives are not allowed",
	  "a '%' at the beginning of a line is YAML's mark for one", quote_it },

	{ "while scanning a quoted scalar", "found unexpected end of stream", NULL, AT_START,
	  "a quote that is never closed", "the text that it begins runs to the end of the file",
	  "close it; inside '...' a quote is written '', inside \"...\" it is written \\\"" },
	{ "while scanning a quoted scalar", "found unexpected document indicator", NULL, AT_START,
	  "a quote that is not closed", "a line of '---' or '...' ends the document inside it",
	  "close it, or indent the lines that belong to the text" },
	{ NULL, "found unknown escape character", NULL, 0, "an unknown escape", escapes_why,
	  escapes_fix },
	{ NULL, "did not find expected hexdecimal number", NULL, 0, "an escape without its digits",
	  escapes_why, escapes_fix },
	{ NULL, "found invalid Unicode character escape code", NULL, 0,
	  "an escape that stands for no character",
	  "YAML has no surrogate pairs, and no characters above \\U0010FFFF",
	  "write the character itself, or \\U and its eight digits" },
	{ "while scanning a block scalar", "found a tab", NULL, 0, "a tab in the indentation",
	  "how wide a tab is depends on the editor", "indent with spaces" },
	{ "while scanning a block scalar", NULL, NULL, 0, "text after '|' or '>'",
	  "the text that '|' or '>' begins must be on the lines below it",
	  "put it there, indented; or in quotes on this line" },

	{ NULL, "found a tab", NULL, 0, "a tab in the indentation",
	  "how wide a tab is depends on the editor", "indent with spaces" },
	{ NULL, "found character that cannot start any token", "\t", 0, "a tab in the indentation",
	  "how wide a tab is depends on the editor", "indent with spaces" },
	{ NULL, "found character that cannot start any token", "@`", 0,
	  "a character that cannot begin a value", "YAML reserves '@' and '`'",
	  "put the whole text in quotes" },
	{ NULL, "found character that cannot start any token", "%", 0,
	  "a character that cannot begin a value", "YAML reserves '%'",
	  "put the whole text in quotes" },

	{ NULL, "mapping values are not allowed", NULL, 0, "a ':' that is not allowed here",
	  "this is inside the value of a key already, or the line is indented differently from its "
	  "neighbours",
	  "put a text with ': ' in it in quotes; begin all keys of one map in the same column" },
	{ NULL, "block sequence entries are not allowed", NULL, 0, "a '-' that is not allowed here",
	  "each item of a list begins on a line of its own",
	  "put '- ' on the next line, or write [one, two]; a text that begins with '- ' goes in "
	  "quotes" },
	{ NULL, "mapping keys are not allowed", NULL, 0, "a '?' that is not allowed here",
	  "a plain '? ' is YAML's mark for a complex key", quote_it },
	{ NULL, "could not find expected ':'", NULL, AT_START, "a key without ':'",
	  "the lines around it are 'key: value', and a key ends on its own line within 1,024 "
	  "characters",
	  "write 'key: value'; or indent the line if it goes on with the text above it" },
	{ "while parsing a block mapping", NULL, ":", 0, "a ':' without a key",
	  "every ':' follows the key of its line",
	  "write the key before it, or put the text in quotes" },
	{ "while parsing a block mapping", NULL, NULL, ONLY_BEHIND, "text after a complete value",
	  "the quote or bracket before it closed the value", "put the whole value in quotes" },
	{ "while parsing a block collection", NULL, NULL, ONLY_BEHIND,
	  "text after a complete value", "the quote or bracket before it closed the value",
	  "put the whole value in quotes" },
	{ "while parsing a block mapping", NULL, NULL, TELL_START, "expected a key here",
	  "it does not fit the map around it",
	  "begin all keys of one map in the same column; a text of several lines goes in quotes" },
	{ "while parsing a block collection", NULL, NULL, TELL_START, "expected '- ' here",
	  "it does not fit the list around it", "begin every item of one list in the same column" },

	{ "while parsing a flow sequence", NULL, NULL, AT_START | ONLY_AT_END,
	  "a '[' that is never closed", "the list that it begins runs to the end of the file",
	  "write the ']'" },
	{ "while parsing a flow mapping", NULL, NULL, AT_START | ONLY_AT_END,
	  "a '{' that is never closed", "the map that it begins runs to the end of the file",
	  "write the '}'" },
	{ "while parsing a flow sequence", NULL, NULL, TELL_START, "expected ',' or ']' here",
	  "this is inside a list in brackets", flow_fix },
	{ "while parsing a flow mapping", NULL, NULL, TELL_START, "expected ',' or '}' here",
	  "this is inside a map in braces", flow_fix },
	{ "while parsing a flow node", NULL, NULL, AT_OPEN | ONLY_AT_END,
	  "a '[' or '{' that is never closed",
	  "the list or map that it begins runs to the end of the file", "write the ']' or '}'" },
	{ NULL, "did not find expected node content", NULL, 0, "expected a value here",
	  "the value is missing, or there is a ',', ']' or '}' too many",
	  "write the value, or remove the sign" },
	{ NULL, "found unexpected ':'", NULL, 0, "a ':' that is not allowed here",
	  "inside brackets and braces a plain text has no ':' at its end",
	  "put the whole text in quotes" },
	{ NULL, NULL, NULL, 0, "not valid YAML", NULL,
	  "indent with spaces only, and put texts with special characters in quotes" },
};

static bool begins(const char *text, const char *with)
{
	return !with || (text && strncmp(text, with, strlen(with)) == 0);
}

static bool is_first_on_line(const struct tree_cursor *cursor)
{
	size_t at = cursor->at;

	while (at > 0 && (cursor->bytes[at - 1] == ' ' || cursor->bytes[at - 1] == '\t'))
		at--;
	return at == 0 || cursor->bytes[at - 1] == '\n';
}

static bool fits(const struct mistake *mistake, const yaml_parser_t *parser,
		 const struct tree_cursor *problem)
{
	bool at_end = problem->at == problem->n_bytes;

	if (!begins(parser->context, mistake->context) ||
	    !begins(parser->problem, mistake->problem))
		return false;
	if (mistake->letters && (at_end || !strchr(mistake->letters, problem->bytes[problem->at])))
		return false;
	if ((mistake->flags & ONLY_BEHIND) && is_first_on_line(problem))
		return false;
	return !(mistake->flags & ONLY_AT_END) || at_end;
}

static struct tree_place place_of(const struct mistake *mistake, const struct tree_builder *builder,
				  const struct tree_cursor *start,
				  const struct tree_cursor *problem)
{
	if ((mistake->flags & AT_OPEN) && builder->open)
		return builder->open->place;
	return mistake->flags & AT_START ? start->place : problem->place;
}

int tree_yaml_mistake(const struct tree_builder *builder, const yaml_parser_t *parser,
		      const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	const yaml_mark_t *context =
		parser->context ? &parser->context_mark : &parser->problem_mark;
	const struct mistake *mistake = mistakes;
	struct tree_cursor start, problem;

	if (parser->error == YAML_MEMORY_ERROR)
		return tree_no_memory(builder->tree, err);
	tree_cursor_init(&start, bytes, n_bytes);
	tree_cursor_init(&problem, bytes, n_bytes);
	tree_cursor_to_char(&start, context->index);
	tree_cursor_to_char(&problem, parser->problem_mark.index);
	while (!fits(mistake, parser, &problem))
		mistake++; /* the last row matches everything */

	tree_error(builder->tree, place_of(mistake, builder, &start, &problem), err, "%s",
		   mistake->what);
	if (!mistake->why)
		sbx_error_why(err, "%s", parser->problem ? parser->problem : "unknown");
	else if (mistake->flags & TELL_START)
		sbx_error_why(err, "%s, which begins at line %u, column %u", mistake->why,
			      start.place.line, start.place.column);
	else
		sbx_error_why(err, "%s", mistake->why);
	sbx_error_fix(err, "%s", mistake->fix);
	return -EINVAL;
}
