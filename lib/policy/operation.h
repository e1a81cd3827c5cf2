/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The operations that a policy can speak of: one const table
 *
 * An operation that is not in the table is denied when it is asked for and an error where a policy
 * names it. The number of a row is its bit in a set of operations and its name in artefacts, so
 * rows are only ever added at the end.
 */

#include <stdint.h>

/* What the argument of an operation is, which says how it is checked and matched. */
enum operation_argument {
	ARGUMENT_NONE, /* or anything: tool.* operations are matched by caller, tags, state, mode */
	ARGUMENT_PATH, /* an absolute normal path */
	ARGUMENT_HOST, /* a host name or an address, and a port */
};

/* Classes have defaults of their own (defaults.fs and so on). */
enum operation_class {
	CLASS_FS,
	CLASS_NET,
	CLASS_EXEC,
	CLASS_TOOL,
	N_CLASSES,
};

struct operation {
	const char *name; /* "fs.read" */
	enum operation_class class;
	enum operation_argument argument;
	const char *help; /* one line */
};

#define OPERATION_UNKNOWN (-1)
#define OPERATIONS_MAX 64

/* The row of that name, or OPERATION_UNKNOWN. */
int operation_find(const char *name);
/* NULL behind the last row. */
const struct operation *operation_at(int row);
/* The nearest known name, or NULL. */
const char *operation_suggest(const char *name);
const char *operation_class_name(enum operation_class class);
/*
 * The operations of a pattern: a name, "fs.*" (a class, or what the names begin with), or "*". 0
 * where it names none.
 */
uint64_t operation_set(const char *pattern);
