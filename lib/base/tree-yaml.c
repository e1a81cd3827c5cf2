/* SPDX-License-Identifier: MIT */

/*
 * The YAML reader of the tree, over libyaml's events
 *
 * Events instead of libyaml's documents, because an event can be refused before the next one is
 * parsed: 100,000 nested '[' take libyaml 15 seconds, the first 33 no measurable time. Directives,
 * on which libyaml spends quadratic time, U+2028, which ends a line only for some parsers, and
 * control characters, for which libyaml reports no useful place, are refused before libyaml gets
 * the text.
 */

#include "base/tree-internal.h"

#include <errno.h>
#include <yaml.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/text.h"

struct refusal {
	const char *what;
	const char *why;
	const char *fix;
};

static const struct refusal anchor = {
	"anchors are not allowed",
	"a value must be written where it is used, so that it can be reviewed there",
	"remove the '&' and its name; if it belongs to the text, put the text in quotes"
};
static const struct refusal alias = {
	"aliases are not allowed",
	"a value must be written where it is used, so that it can be reviewed there",
	"write the value out; if the '*' belongs to the text, put it in quotes: \"*.txt\""
};
static const struct refusal tag = {
	"tags are not allowed", "the type of a value follows from how it is written",
	"remove the '!' and its name; if it belongs to the text, put the text in quotes"
};
static const struct refusal merge_key = {
	"merge keys are not allowed", "YAML readers disagree about what '<<' does",
	"write the keys out; a key that has this name goes in quotes: \"<<\""
};
static const struct refusal complex_key = {
	"a list or map as a key", "every key is a text",
	"write 'key: value'; if the '[' or '{' belongs to a text, put the text in quotes"
};
static const struct refusal directive = {
	"directives are not allowed",
	"a '%' at the beginning of a line is YAML's mark for one, and a "
	"text must mean the same without it",
	"remove the line; if the '%' belongs to a text, put the text in quotes"
};
static const struct refusal second_document = {
	"a second document", "a '---' begins it, and one file holds one document",
	"remove it, or put it into a file of its own"
};
static const struct refusal after_the_end = {
	"text after the end of the document", "the value before it is complete",
	"remove it, or put the whole value in quotes if both belong together"
};
static const struct refusal lone_return = { "a carriage return without a line feed",
					    "some readers end the line here, others do not",
					    "end lines with LF or with CR LF" };
static const struct refusal line_break = {
	"a line separator that is not a line feed", "some readers end the line here, others do not",
	"remove it, or write it between double quotes: \\u0085, \\u2028 or \\u2029"
};
static const struct refusal control = {
	"a control character", "YAML does not allow it, and it can hide text on a terminal",
	"remove it, or write it between double quotes as \\xNN or \\uNNNN"
};

static int refuse(const struct tree *tree, struct tree_place place, const struct refusal *refusal,
		  struct sbx_error *err)
{
	tree_error(tree, place, err, "%s", refusal->what);
	error_explain(err, refusal->why, refusal->fix);
	return -EINVAL;
}

/* Sorted ranges that YAML does not allow. */
static const struct {
	unsigned first, last;
	const struct refusal *refusal;
} forbidden[] = {
	{ 0x00, 0x08, &control },     { 0x0b, 0x0c, &control },	       { 0x0d, 0x0d, &lone_return },
	{ 0x0e, 0x1f, &control },     { 0x7f, 0x84, &control },	       { 0x85, 0x85, &line_break },
	{ 0x86, 0x9f, &control },     { 0x2028, 0x2029, &line_break }, { 0xfeff, 0xfeff, &control },
	{ 0xfffe, 0xffff, &control },
};

static int check_characters(const struct tree *tree, const char *bytes, size_t n_bytes,
			    struct sbx_error *err)
{
	struct tree_cursor cursor;
	size_t len;

	for (size_t at = 0; at < n_bytes; at += len) {
		unsigned char byte = (unsigned char)bytes[at];
		bool is_crlf = byte == '\r' && at + 1 < n_bytes && bytes[at + 1] == '\n';
		uint32_t character = 0;

		len = tree_plain_bytes(bytes + at, n_bytes - at);
		if (len > 0)
			continue;
		len = 1;
		if ((byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\t' || is_crlf)
			continue;
		len = utf8_decode(bytes + at, n_bytes - at, &character);
		for (size_t i = 0; i < N_ELEMENTS(forbidden); i++) {
			if (character < forbidden[i].first || character > forbidden[i].last)
				continue;
			tree_cursor_init(&cursor, bytes, n_bytes);
			return refuse(tree, tree_cursor_to(&cursor, at), forbidden[i].refusal, err);
		}
	}
	return 0;
}

/* The offset after spaces, empty lines and comments. */
static size_t skip_blank(const char *bytes, size_t n_bytes, size_t at)
{
	while (at < n_bytes) {
		if (bytes[at] == '#') {
			const char *end = memchr(bytes + at, '\n', n_bytes - at);

			at = end ? (size_t)(end - bytes) : n_bytes;
		} else if (strchr(" \t\r\n", bytes[at])) {
			at++;
		} else {
			break;
		}
	}
	return at;
}

static bool starts_line(const char *bytes, size_t at)
{
	return at == 0 || bytes[at - 1] == '\n';
}

/* Is there a line at @at that begins with @mark ("---" or "..."), followed by white space or its
 * end? */
static bool is_mark(const char *bytes, size_t n_bytes, size_t at, const char *mark)
{
	if (!starts_line(bytes, at) || n_bytes - at < 3 || memcmp(bytes + at, mark, 3) != 0)
		return false;
	return n_bytes - at == 3 || strchr(" \t\r\n", bytes[at + 3]);
}

struct yaml_reader {
	yaml_parser_t parser;
	struct tree_builder builder;
	const char *bytes;
	size_t n_bytes;
	size_t at; /* bytes so far, and the number of their characters */
	size_t n_chars;
};

static void reader_deinit(struct yaml_reader *reader)
{
	yaml_parser_delete(&reader->parser);
}

/* Moves forward to a mark, for which libyaml gives the number of characters before it. */
static void go_to(struct yaml_reader *reader, const yaml_mark_t *mark)
{
	const char *bytes = reader->bytes;

	while (reader->n_chars < mark->index && reader->at < reader->n_bytes) {
		size_t left = mark->index - reader->n_chars, rest = reader->n_bytes - reader->at;
		size_t n = tree_plain_bytes(bytes + reader->at, left < rest ? left : rest);

		n += n == 0;
		reader->n_chars += n;
		reader->at += n;
		while (reader->at < reader->n_bytes && (bytes[reader->at] & 0xc0) == 0x80)
			reader->at++;
	}
}

/* Counts from the beginning of the text. */
static struct tree_place place_at(const struct yaml_reader *reader, size_t at)
{
	struct tree_cursor cursor;

	tree_cursor_init(&cursor, reader->bytes, reader->n_bytes);
	return tree_cursor_to(&cursor, at);
}

/*
 * The place of the mark to which the reader has moved. libyaml counts from 0; characters that only
 * libyaml takes for line breaks were refused before. libyaml adds a line break to the last line if
 * it has none: an empty value at the end would otherwise be on a line that does not exist.
 */
static struct tree_place place_of(const struct yaml_reader *reader, const yaml_mark_t *mark)
{
	if (mark->column == 0 && mark->line > 0 && reader->at == reader->n_bytes &&
	    reader->bytes[reader->at - 1] != '\n')
		return place_at(reader, reader->at);
	return (struct tree_place){ (unsigned)mark->line + 1, (unsigned)mark->column + 1 };
}

/*
 * Checks the text after the document without libyaml, which would collect every directive of a next
 * document and compare each with all previous ones.
 */
static int check_rest(struct yaml_reader *reader, const yaml_event_t *end, struct sbx_error *err)
{
	const char *bytes = reader->bytes;
	size_t n_bytes = reader->n_bytes, at;
	const struct refusal *refusal = &after_the_end;

	go_to(reader, &end->end_mark);
	at = skip_blank(bytes, n_bytes, reader->at);
	while (at < n_bytes && is_mark(bytes, n_bytes, at, "..."))
		at = skip_blank(bytes, n_bytes, at + 3);
	if (at == n_bytes)
		return 0;
	if (bytes[at] == '%' && starts_line(bytes, at))
		refusal = &directive;
	else if (is_mark(bytes, n_bytes, at, "---"))
		refusal = &second_document;
	return refuse(reader->builder.tree, place_at(reader, at), refusal, err);
}

static int refuse_plain(struct tree *tree, struct tree_place place, const char *text,
			const char *why, const char *instead, struct sbx_error *err)
{
	struct tree_shown shown = tree_show(text);

	tree_error(tree, place, err, "a plain '%s' as a value", shown.text);
	sbx_error_why(err, "%s", why);
	if (instead)
		sbx_error_fix(err, "write %s; or, for the text, \"%s\" in quotes", instead,
			      shown.text);
	else
		sbx_error_fix(err,
			      "for the text write \"%s\" in quotes, for a number its decimal "
			      "form",
			      shown.text);
	return tree_go_on(tree, err);
}

static int on_value(struct yaml_reader *reader, const yaml_event_t *event, struct tree_place place,
		    struct sbx_error *err)
{
	const char *text = (const char *)event->data.scalar.value, *why, *instead;
	size_t len = event->data.scalar.length;
	enum tree_type type = TREE_STRING;
	int r;

	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return tree_build_node(&reader->builder, type, place, text, len, err);
	why = tree_plain_type(text, len, &type, &instead);
	r = why ? refuse_plain(reader->builder.tree, place, text, why, instead, err) : 0;
	if (r < 0)
		return r;
	return tree_build_node(&reader->builder, type, place, text, type == TREE_NULL ? 0 : len,
			       err);
}

static int on_scalar(struct yaml_reader *reader, const yaml_event_t *event, struct tree_place place,
		     struct sbx_error *err)
{
	const char *text = (const char *)event->data.scalar.value;
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (event->data.scalar.anchor)
		return refuse(reader->builder.tree, place, &anchor, err);
	if (event->data.scalar.tag)
		return refuse(reader->builder.tree, place, &tag, err);
	if (!tree_build_wants_key(&reader->builder))
		return on_value(reader, event, place, err);
	if (is_plain && strcmp(text, "<<") == 0)
		return refuse(reader->builder.tree, place, &merge_key, err);
	return tree_build_key(&reader->builder, place, text, event->data.scalar.length, err);
}

static int on_collection(struct yaml_reader *reader, const yaml_event_t *event,
			 struct tree_place place, struct sbx_error *err)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;
	bool has_anchor = is_map ? event->data.mapping_start.anchor != NULL
				 : event->data.sequence_start.anchor != NULL;
	bool has_tag = is_map ? event->data.mapping_start.tag != NULL
			      : event->data.sequence_start.tag != NULL;

	if (has_anchor)
		return refuse(reader->builder.tree, place, &anchor, err);
	if (has_tag)
		return refuse(reader->builder.tree, place, &tag, err);
	if (tree_build_wants_key(&reader->builder))
		return refuse(reader->builder.tree, place, &complex_key, err);
	return tree_build_node(&reader->builder, is_map ? TREE_MAP : TREE_LIST, place, NULL, 0,
			       err);
}

static int on_end(struct yaml_reader *reader, const yaml_event_t *event, struct tree_place place,
		  struct sbx_error *err)
{
	tree_build_end(&reader->builder);
	return 0;
}

static int on_alias(struct yaml_reader *reader, const yaml_event_t *event, struct tree_place place,
		    struct sbx_error *err)
{
	return refuse(reader->builder.tree, place, &alias, err);
}

static int (*const handlers[])(struct yaml_reader *reader, const yaml_event_t *event,
			       struct tree_place place, struct sbx_error *err) = {
	[YAML_ALIAS_EVENT] = on_alias,
	[YAML_SCALAR_EVENT] = on_scalar,
	[YAML_SEQUENCE_START_EVENT] = on_collection,
	[YAML_SEQUENCE_END_EVENT] = on_end,
	[YAML_MAPPING_START_EVENT] = on_collection,
	[YAML_MAPPING_END_EVENT] = on_end,
};

static int on_event(struct yaml_reader *reader, const yaml_event_t *event, struct sbx_error *err)
{
	struct tree_place place;

	if ((size_t)event->type >= N_ELEMENTS(handlers) || !handlers[event->type])
		return 0; /* start of the stream or of the document */
	go_to(reader, &event->start_mark);
	place = place_of(reader, &event->start_mark);
	/* libyaml drops the tag "!" of a scalar, but the event still begins at it. */
	if (event->type == YAML_SCALAR_EVENT && reader->at < reader->n_bytes &&
	    reader->bytes[reader->at] == '!')
		return refuse(reader->builder.tree, place, &tag, err);
	return handlers[event->type](reader, event, place, err);
}

int tree_read_yaml(struct tree *tree, const char *bytes, size_t n_bytes, struct sbx_error *err)
{
	_cleanup_(reader_deinit) struct yaml_reader reader = { .builder.tree = tree,
							       .bytes = bytes,
							       .n_bytes = n_bytes };
	size_t start = skip_blank(bytes, n_bytes, 0);
	int r = check_characters(tree, bytes, n_bytes, err);

	if (r < 0)
		return r;
	if (start < n_bytes && bytes[start] == '%' && starts_line(bytes, start))
		return refuse(tree, place_at(&reader, start), &directive, err);
	if (!yaml_parser_initialize(&reader.parser))
		return tree_no_memory(tree, err);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, n_bytes);

	for (;;) {
		_cleanup_(yaml_event_delete) yaml_event_t event = { .type = YAML_NO_EVENT };

		if (!yaml_parser_parse(&reader.parser, &event))
			return tree_yaml_mistake(&reader.builder, &reader.parser, bytes, n_bytes,
						 err);
		if (event.type == YAML_STREAM_END_EVENT)
			return 0;
		if (event.type == YAML_DOCUMENT_END_EVENT)
			return check_rest(&reader, &event, err);
		r = on_event(&reader, &event, err);
		if (r < 0)
			return r;
	}
}
