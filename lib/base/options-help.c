/* SPDX-License-Identifier: MIT */

/*
 * The text of --help, from the table that parses. At most 80 columns: a terminal of that width
 * shows every line completely. tests/check/documents.py checks it.
 */

#include "base/options.h"

#include <stdbool.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"

#define COLUMNS 80
#define HELP_COLUMN 30

/* Adds @words, broken at spaces so that no line passes COLUMNS; further lines start at @indent. */
static void add_wrapped(struct text *out, const char *words, size_t column, size_t indent)
{
	for (size_t len; *words != '\0'; words += len) {
		bool follows = *words == ' ';

		words += follows;
		len = strcspn(words, " ");
		if (column + follows + len > COLUMNS && column > indent) {
			text_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (follows) {
			text_add_char(out, ' ');
			column++;
		}
		text_add_bytes(out, words, len);
		column += len;
	}
	text_add_char(out, '\n');
}

/* A term at the left and its help at HELP_COLUMN, on the next line if the term is too long. */
static void add_row(struct text *out, const char *term, const char *help)
{
	size_t len = strlen(term);

	text_add(out, term);
	if (len + 1 >= HELP_COLUMN) {
		text_add_char(out, '\n');
		len = 0;
	}
	text_addf(out, "%*s", (int)(HELP_COLUMN - len), "");
	add_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

static void add_choices(struct text *out, const struct option_spec *spec)
{
	text_add(out, spec->help);
	if (!spec->choices)
		return;
	text_add(out, ": ");
	suggest_add_all_from(out, spec->choices);
}

static void add_option(struct text *out, const struct option_spec *spec)
{
	_cleanup_text_ struct text term = TEXT_INIT, help = TEXT_INIT;

	if (spec->letter)
		text_addf(&term, "  -%c, --%s", spec->letter, spec->name);
	else
		text_addf(&term, "      --%s", spec->name);
	if (spec->metavar)
		text_addf(&term, "=%s", spec->metavar);
	add_choices(&help, spec);
	add_row(out, text_string(&term), text_string(&help));
}

static void add_options(struct text *out, const char *title, const struct option_spec *options)
{
	if (!options || !options->name)
		return;
	text_addf(out, "\n%s:\n", title);
	for (const struct option_spec *spec = options; spec->name; spec++)
		add_option(out, spec);
}

static void add_verbs(struct text *out, const struct verb_spec *verbs)
{
	text_add(out, "\nVerbs:\n");
	for (const struct verb_spec *verb = verbs; verb->name; verb++) {
		_cleanup_text_ struct text term = TEXT_INIT;

		text_addf(&term, "  %s%s%s", verb->name, verb->operands ? " " : "",
			  verb->operands ? verb->operands : "");
		add_row(out, text_string(&term), verb->help);
	}
}

static void add_usage(struct text *out, const struct command *command, const struct verb_spec *verb)
{
	const char *operands = verb ? verb->operands : command->operands;

	/* A tool that has verbs and also works without one. */
	if (!verb && command->verbs && command->run)
		text_addf(out, "%s [OPTION...]\n", command->name);
	text_addf(out, "%s [OPTION...]", command->name);
	if (verb)
		text_addf(out, " %s", verb->name);
	else if (command->verbs)
		text_add(out, " VERB [WORD...]");
	if (operands)
		text_addf(out, " %s", operands);
	text_add_char(out, '\n');
}

void options_add_help(struct text *out, const struct command *command, const struct verb_spec *verb,
		      const struct option_spec *common)
{
	add_usage(out, command, verb);
	text_add_char(out, '\n');
	add_wrapped(out, verb ? verb->help : command->summary, 0, 0);
	if (!verb && command->verbs)
		add_verbs(out, command->verbs);
	if (verb)
		add_options(out, "Options of this verb", verb->options);
	add_options(out, "Options", command->options);
	if (!verb && command->verbs)
		for (const struct verb_spec *v = command->verbs; v->name; v++) {
			_cleanup_text_ struct text title = TEXT_INIT;

			text_addf(&title, "Options of '%s'", v->name);
			add_options(out, text_string(&title), v->options);
		}
	add_options(out, "Options of every tool", common);
	text_addf(out, "\nSee man:%s(1) for examples and exit statuses.\n", command->name);
}
