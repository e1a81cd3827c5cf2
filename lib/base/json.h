/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * JSON over exact bytes: a scanner that validates and a writer
 *
 * The scanner accepts every text of RFC 8259 up to JSON_DEPTH_MAX levels and refuses everything
 * else with its place. It allocates nothing and copies nothing: items point into the caller's
 * bytes. Duplicate names are valid JSON and accepted; base/tree, which interprets objects, refuses
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define JSON_DEPTH_MAX 1024

enum json_kind {
	JSON_OBJECT_BEGIN,
	JSON_OBJECT_END,
	JSON_ARRAY_BEGIN,
	JSON_ARRAY_END,
	JSON_NAME, /* a member's name; its value is the next item */
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json_item {
	enum json_kind kind;
	const char *bytes; /* names and strings: between the quotes, still escaped; others: as
			      written */
	size_t n_bytes;
	size_t offset; /* of the item's first byte, a quote for names and strings */
	bool escaped;  /* names and strings: contains a backslash */
};

struct json_scanner {
	const char *bytes;
	size_t n_bytes;
	size_t at;	     /* next byte; after a failure the offending one */
	const char *problem; /* after a failure: "expected ',' or '}'" */
	unsigned depth;
	int state; /* private */
	uint64_t in_object[JSON_DEPTH_MAX / 64];
};

void json_scan(struct json_scanner *scanner, const void *bytes, size_t n_bytes);
/*
 * 1 with the next item, 0 once after the complete text (white space may follow it), -EBADMSG if it
 * is not JSON (see problem and at), -E2BIG if it is nested too deep. After a failure every further
 * call fails.
 */
int json_next(struct json_scanner *scanner, struct json_item *ret);
/*
 * Returns 1 with the name of the next member of the innermost object and the first item of its
 * value, 0 after the closing brace, or json_next()'s error. If the value is an object or an array,
 * the caller enters it or skips it.
 */
int json_next_member(struct json_scanner *scanner, struct json_item *ret_name,
		     struct json_item *ret_value);
/* Skips the value whose first item was @item; 0 or json_next()'s error. Scalars: nothing to do. */
int json_skip(struct json_scanner *scanner, const struct json_item *item);
/* 0 or json_next()'s error; @ret_offset and @ret_problem may be NULL and are written on failure
 * only. */
int json_validate(const void *bytes, size_t n_bytes, size_t *ret_offset, const char **ret_problem);

/* Adds the decoded characters of a name or string. -EILSEQ for an unpaired surrogate escape. */
int json_decode(const struct json_item *item, struct text *out);
/* Is the decoded name or string equal to @string? Allocates nothing. */
bool json_equals_bytes(const struct json_item *item, const char *bytes, size_t n_bytes);
static inline bool json_equals(const struct json_item *item, const char *string)
{
	return json_equals_bytes(item, string, strlen(string));
}
/* The number as an integer: -EINVAL for a fraction or exponent, -ERANGE if it does not fit. */
int json_u64(const struct json_item *item, uint64_t *ret);
int json_i64(const struct json_item *item, int64_t *ret);

/*
 * The writer appends to @out and adds the commas itself. It always writes valid JSON: bytes that
 * are not UTF-8 become U+FFFD. Characters that text_is_hidden() are escaped, so that the text is
 * safe on a terminal. Inside an object every value is preceded by json_add_name() or uses a
 * json_member_* shorthand.
 */
struct json_writer {
	struct text *out;
	bool needs_comma;
};

void json_write(struct json_writer *writer, struct text *out);
void json_add_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
/* A text that is one object: json_write() with its beginning, and its end with a newline. */
void json_begin_object(struct json_writer *writer, struct text *out);
void json_end_line(struct json_writer *writer);
void json_add_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);
void json_add_name_bytes(struct json_writer *writer, const char *name, size_t n_bytes);
void json_add_string_bytes(struct json_writer *writer, const void *bytes, size_t n_bytes);
void json_add_u64(struct json_writer *writer, uint64_t value);
void json_add_i64(struct json_writer *writer, int64_t value);
void json_add_bool(struct json_writer *writer, bool value);
void json_add_null(struct json_writer *writer);
/* Bytes that are already one valid JSON value. */
void json_add_raw(struct json_writer *writer, const void *bytes, size_t n_bytes);

/* Inline, because nearly every name is a literal, whose length the compiler knows then. */
static inline void json_add_name(struct json_writer *writer, const char *name)
{
	json_add_name_bytes(writer, name, strlen(name));
}

/* @name is "\"name\":", which is copied unchecked. */
static inline void json_add_raw_name(struct json_writer *writer, const char *name, size_t n_bytes)
{
	size_t n_comma = writer->needs_comma;
	char *at = text_extend(writer->out, n_comma + n_bytes);

	writer->needs_comma = false;
	if (!at)
		return;
	*at = ',';
	memcpy(at + n_comma, name, n_bytes);
}
/* For frequent names: a literal without characters that need escapes, copied at once. */
#define json_add_plain_name(writer, name)                                                          \
	json_add_raw_name((writer), "\"" name "\":", sizeof("\"" name "\":") - 1)

/* NULL: null */
static inline void json_add_string(struct json_writer *writer, const char *string)
{
	if (string)
		json_add_string_bytes(writer, string, strlen(string));
	else
		json_add_null(writer);
}

static inline void json_member_string(struct json_writer *writer, const char *name,
				      const char *string)
{
	json_add_name(writer, name);
	json_add_string(writer, string);
}

/* NULL: no member. */
static inline void json_member_if_set(struct json_writer *writer, const char *name,
				      const char *string)
{
	if (string)
		json_member_string(writer, name, string);
}

/* Lower-case hexadecimal digits. */
void json_member_hex(struct json_writer *writer, const char *name, const void *bytes,
		     size_t n_bytes);

static inline void json_member_u64(struct json_writer *writer, const char *name, uint64_t value)
{
	json_add_name(writer, name);
	json_add_u64(writer, value);
}

static inline void json_member_i64(struct json_writer *writer, const char *name, int64_t value)
{
	json_add_name(writer, name);
	json_add_i64(writer, value);
}

/* Begin the object or the array that is the value of a member. */
static inline void json_member_object(struct json_writer *writer, const char *name)
{
	json_add_name(writer, name);
	json_add_object(writer);
}

static inline void json_member_array(struct json_writer *writer, const char *name)
{
	json_add_name(writer, name);
	json_add_array(writer);
}

static inline void json_member_bool(struct json_writer *writer, const char *name, bool value)
{
	json_add_name(writer, name);
	json_add_bool(writer, value);
}
