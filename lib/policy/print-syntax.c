/* SPDX-License-Identifier: MIT */

/*
 * The two syntaxes of printed policies
 *
 * In YAML every text from outside stands in double quotes, with escapes for what cannot be seen or
 * reorders text, so that no text can be taken for anything else, by a parser or by a person.
 */

#include "policy/print-internal.h"

#include <ctype.h>
#include <string.h>

#define INDENT 2

/* Names that people chose may look like anything. */
static void add_key(struct text *out, const char *key)
{
	const char *at = key;

	while (isalnum((unsigned char)*at) || *at == '_' || (*at == '-' && at > key))
		at++;
	if (*at == '\0' && !isdigit((unsigned char)key[0]))
		text_add(out, key);
	else
		text_add_quoted(out, key);
	text_add_char(out, ':');
}

static void add_indent(struct printer *printer)
{
	unsigned depth = printer->depth - 1;

	for (unsigned i = 0; i < depth * INDENT; i++)
		text_add_char(printer->out, ' ');
	if (printer->dash) {
		text_truncate(printer->out, printer->out->len - INDENT);
		text_add(printer->out, "- ");
	}
	printer->dash = false;
}

static void begin_line(struct printer *printer, const char *key)
{
	if (printer->json && key)
		json_add_name(&printer->writer, key);
	if (printer->json || !key)
		return;
	add_indent(printer);
	add_key(printer->out, key);
}

void print_map(struct printer *printer, const char *key)
{
	begin_line(printer, key);
	if (printer->json)
		json_add_object(&printer->writer);
	else if (key)
		text_add_char(printer->out, '\n');
	printer->dash = printer->depth > 0 && !key;
	printer->depth++;
}

void print_map_end(struct printer *printer)
{
	printer->depth--;
	if (printer->json)
		json_end_object(&printer->writer);
}

void print_list(struct printer *printer, const char *key)
{
	begin_line(printer, key);
	if (printer->json)
		json_add_array(&printer->writer);
	else
		text_add_char(printer->out, '\n');
	printer->depth++;
}

void print_list_end(struct printer *printer)
{
	printer->depth--;
	if (printer->json)
		json_end_array(&printer->writer);
}

void print_values(struct printer *printer, const char *key)
{
	begin_line(printer, key);
	if (printer->json)
		json_add_array(&printer->writer);
	else
		text_add(printer->out, " [");
	printer->inside = true;
	printer->behind = false;
}

void print_values_end(struct printer *printer)
{
	if (printer->json)
		json_end_array(&printer->writer);
	else
		text_add(printer->out, "]\n");
	printer->inside = false;
}

static void begin_value(struct printer *printer, const char *key)
{
	begin_line(printer, key);
	if (printer->json)
		return;
	if (!printer->inside)
		text_add_char(printer->out, ' ');
	else if (printer->behind)
		text_add(printer->out, ", ");
	printer->behind = true;
}

static void end_value(struct printer *printer)
{
	if (!printer->json && !printer->inside)
		text_add_char(printer->out, '\n');
}

void print_string(struct printer *printer, const char *key, const char *text)
{
	begin_value(printer, key);
	if (printer->json)
		json_add_string(&printer->writer, text);
	else
		text_add_quoted(printer->out, text);
	end_value(printer);
}

void print_word(struct printer *printer, const char *key, const char *word)
{
	begin_value(printer, key);
	if (printer->json)
		json_add_string(&printer->writer, word);
	else
		text_add(printer->out, word);
	end_value(printer);
}

void print_plain(struct printer *printer, const char *key, const char *text)
{
	begin_value(printer, key);
	if (printer->json)
		json_add_raw(&printer->writer, text, strlen(text));
	else
		text_add(printer->out, text);
	end_value(printer);
}
