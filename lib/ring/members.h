/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A JSON object with members that are all known: for objects that the other side writes
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

struct member {
	const char *name;
	const char *missing; /* NULL: may be missing */
	const char *twice;
	/* Stores the value in @ret, and leaves the scanner after it. Returns the problem or NULL.
	 */
	const char *(*take)(struct json_scanner *scanner, const struct json_item *value, void *ret);
};
#define MEMBER(name, take)                                                                         \
	{                                                                                          \
		name, "'" name "' is missing", "'" name "' is there twice", take                   \
	}
#define MEMBER_OPTIONAL(name, take)                                                                \
	{                                                                                          \
		name, NULL, "'" name "' is there twice", take                                      \
	}
#define MEMBERS_MAX 8

/*
 * Reads one object in which each of @members is at most once and no other member is. NULL, or the
 * problem; *@ret may then have been written in part.
 */
const char *members_read(const void *bytes, size_t n_bytes, const struct member *members,
			 size_t n_members, void *ret);
/* Calls @visit for each member of one object, known or not. 0, or -EBADMSG. What follows the object
 * is not read. */
typedef void members_visit(const struct json_item *name, const struct json_item *value,
			   void *userdata);
int members_each(const void *bytes, size_t n_bytes, members_visit *visit, void *userdata);
/* The text of a value, for take(): it points into the scanned bytes. */
const char *members_take_value(struct json_scanner *scanner, const struct json_item *value,
			       const char **ret, size_t *ret_n_bytes);
