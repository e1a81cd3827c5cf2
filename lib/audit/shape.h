/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A fast check for records that differ from an earlier one in a few values only. A shape is a
 * record that was parsed, with a note of which values have differed so far; a record of the same
 * shape is compared with it instead of being parsed. It may differ only inside texts, by bytes that
 * need no escape, and in the digits of whole numbers. So it is JSON if the first one is, with the
 * same members, whose values have the same kinds, and has the same event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPES_MAX 8
#define SHAPE_BYTES_MAX 2048
#define SHAPE_VALUES_MAX 96

/* A text without its quotes, or a whole number. */
struct shape_value {
	uint16_t at;
	uint16_t n_bytes;
	bool is_text;
	bool differs;
	bool is_fixed; /* must be equal */
};

struct shape {
	uint16_t n_bytes; /* 0: unused */
	uint16_t n_values;
	uint16_t time; /* index of the value that is the time */
	struct shape_value values[SHAPE_VALUES_MAX];
	char bytes[SHAPE_BYTES_MAX];
};

/* Initialise to { 0 }. */
struct shapes {
	struct shape shapes[SHAPES_MAX];
	size_t last; /* the shape that matched last */
	size_t next; /* the shape to be replaced next */
};

struct shape_match {
	const char *time; /* without its quotes */
	size_t n_time;
};

/* Does the record have a known shape? False says nothing about the record. */
bool shapes_match(struct shapes *shapes, const char *bytes, size_t n_bytes,
		  struct shape_match *ret);
/* Stores the shape of a parsed record whose event's name is the text at offset @event_at, and whose
 * time is the value at @time_at. */
void shapes_learn(struct shapes *shapes, const char *bytes, size_t n_bytes, size_t event_at,
		  size_t time_at);
