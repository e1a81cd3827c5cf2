/* SPDX-License-Identifier: MIT */

/*
 * Learns one differing value at a time: where a record does not equal the stored one, mark the
 * value at that place as differing and compare again. Everything between such values, including
 * names and brackets, must be equal.
 */

#include "audit/shape.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-plain.h"
#include "base/json.h"

/* ---- learn ---- */

static bool is_whole(const struct json_item *item)
{
	for (size_t i = 0; i < item->n_bytes; i++)
		if (item->bytes[i] < '0' || item->bytes[i] > '9')
			return false;
	return true;
}

static bool add_value(struct shape *shape, const struct json_item *item, bool is_fixed)
{
	struct shape_value *value = &shape->values[shape->n_values];

	if (shape->n_values == SHAPE_VALUES_MAX)
		return false;
	*value = (struct shape_value){ .at = (uint16_t)(item->bytes - shape->bytes),
				       .n_bytes = (uint16_t)item->n_bytes,
				       .is_text = item->kind == JSON_STRING,
				       .is_fixed = is_fixed };
	shape->n_values++;
	return true;
}

/* Do not learn a record with escaped text: the next one would rarely equal it. */
void shapes_learn(struct shapes *shapes, const char *bytes, size_t n_bytes, size_t event_at,
		  size_t time_at)
{
	struct shape *shape = &shapes->shapes[shapes->next];
	struct json_scanner scanner;
	struct json_item item;

	if (n_bytes > SHAPE_BYTES_MAX)
		return;
	memcpy(shape->bytes, bytes, n_bytes);
	shape->n_bytes = shape->n_values = 0;
	json_scan(&scanner, shape->bytes, n_bytes);
	while (json_next(&scanner, &item) > 0) {
		size_t at = (size_t)(item.bytes - shape->bytes);

		if (item.kind == JSON_STRING && json_plain(item.bytes, item.n_bytes) < item.n_bytes)
			return;
		if (item.kind != JSON_STRING && (item.kind != JSON_NUMBER || !is_whole(&item)))
			continue;
		if (at == time_at)
			shape->time = shape->n_values;
		if (!add_value(shape, &item, at == event_at))
			return;
	}
	shape->values[shape->time].differs = true;
	shape->n_bytes = (uint16_t)n_bytes;
	shapes->last = shapes->next;
	shapes->next = (shapes->next + 1) % SHAPES_MAX;
}

/* ---- match ---- */

/* Length of the value at the begin of @bytes. The comparison of what follows checks the closing
 * quote or the end of the number. */
static size_t pass_value(const struct shape_value *value, const char *bytes, size_t n_bytes)
{
	size_t n = 0;

	if (value->is_text)
		return json_plain(bytes, n_bytes);
	while (n < n_bytes && bytes[n] >= '0' && bytes[n] <= '9')
		n++;
	return n > 1 && bytes[0] == '0' ? 0 : n;
}

/* Marks the value in which (or directly after which) the two first differ as differing; false if
 * there is none. */
static bool note_difference(struct shape *shape, size_t from, const char *bytes, size_t n_bytes)
{
	size_t at = from;

	while (at - from < n_bytes && at < shape->n_bytes && shape->bytes[at] == bytes[at - from])
		at++;
	for (size_t i = 0; i < shape->n_values; i++) {
		struct shape_value *value = &shape->values[i];

		if (at < value->at || at > (size_t)value->at + value->n_bytes)
			continue;
		if (value->differs || value->is_fixed)
			return false;
		value->differs = true;
		return true;
	}
	return false;
}

enum answer {
	OTHER,
	SAME,
	AGAIN, /* one more value was marked as differing: compare again */
};

static enum answer compare(struct shape *shape, const char *bytes, size_t n_bytes,
			   struct shape_match *ret)
{
	size_t at = 0, in_shape = 0;

	for (size_t i = 0; i < shape->n_values; i++) {
		const struct shape_value *value = &shape->values[i];
		size_t n = value->at - in_shape, n_value;

		if (!value->differs)
			continue;
		if (n > n_bytes - at || memcmp(shape->bytes + in_shape, bytes + at, n) != 0)
			return note_difference(shape, in_shape, bytes + at, n_bytes - at) ? AGAIN
											  : OTHER;
		at += n;
		n_value = pass_value(value, bytes + at, n_bytes - at);
		if (n_value == 0 && !value->is_text)
			return OTHER;
		if (i == shape->time) {
			ret->time = bytes + at;
			ret->n_time = n_value;
		}
		at += n_value;
		in_shape = (size_t)value->at + value->n_bytes;
	}
	if (n_bytes - at == shape->n_bytes - in_shape &&
	    memcmp(shape->bytes + in_shape, bytes + at, n_bytes - at) == 0)
		return SAME;
	return note_difference(shape, in_shape, bytes + at, n_bytes - at) ? AGAIN : OTHER;
}

bool shapes_match(struct shapes *shapes, const char *bytes, size_t n_bytes, struct shape_match *ret)
{
	for (size_t i = 0; i < SHAPES_MAX; i++) {
		size_t at = (shapes->last + i) % SHAPES_MAX;
		struct shape *shape = &shapes->shapes[at];
		enum answer answer = OTHER;

		if (shape->n_bytes > 0)
			do
				answer = compare(shape, bytes, n_bytes, ret);
			while (answer == AGAIN);
		if (answer == OTHER)
			continue;
		shapes->last = at;
		return true;
	}
	return false;
}
