/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records of a program differ in a few values. A shape is a record that was read, and which of its
 * values have differed so far: another record of the same shape is compared with it instead of
 * being read. It differs only inside of texts, by bytes that need no escape, and in the
 * digits of whole numbers. So it is JSON if the first one is, with the same members, whose values
 * are of the same kinds, and of the same event.
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
	bool is_fixed; /* it must not */
};

struct shape {
	uint16_t n_bytes; /* 0: there is none */
	uint16_t n_values;
	uint16_t time; /* which value that is */
	struct shape_value values[SHAPE_VALUES_MAX];
	char bytes[SHAPE_BYTES_MAX];
};

/* Start it as { 0 }. */
struct shapes {
	struct shape shapes[SHAPES_MAX];
	size_t last; /* that a record had */
	size_t next; /* that is replaced */
};

struct shape_match {
	const char *time; /* without its quotes */
	size_t n_time;
};

/* Has the record a known shape? False says nothing about it. */
bool shapes_match(struct shapes *shapes, const char *bytes, size_t n_bytes,
		  struct shape_match *ret);
/* The record was read: its event's name is the text at @event_at, its time the one at @time_at. */
void shapes_learn(struct shapes *shapes, const char *bytes, size_t n_bytes, size_t event_at,
		  size_t time_at);
