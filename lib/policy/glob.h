/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Path globs, with the meaning that git gives them (wildmatch with pathname)
 *
 *   *        any characters of one component, also a leading dot
 *   ?        one byte of a component
 *   [a-z]    a class; [!a-z] and [^a-z] the rest; [[:alpha:]] and its kind
 *   \c       the character c
 *   **       as a whole component: any number of components, also none; at the end: everything
 *            below. Glued to other characters, it means the same as * (and check warns)
 *
 * Anchors: "/..." is absolute; "a/b" and "./a" are below the project's root; a name without a slash
 * means that name anywhere below the project's root (and, where it is executed, anywhere at all);
 * "name/" means the directory and everything below it; "./" is the project's root. The top of
 * glob.c lists the differences from git.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_error;

#define GLOB_BYTES_MAX 4096
#define GLOB_COMPONENTS_MAX 256
/* "**" components in one glob, "*" in one component: they bound the work of a match. */
#define GLOB_FLOATS_MAX 8
#define GLOB_STARS_MAX 8

enum glob_kind {
	GLOB_LITERAL, /* matches only the component's unescaped text */
	GLOB_STAR,    /* "*" alone */
	GLOB_PATTERN, /* anything with *, ? or [ */
	GLOB_FLOAT,   /* "**" */
};

struct glob_component {
	enum glob_kind kind;
	const char *text; /* literals: unescaped; patterns: as written */
	size_t len;
};

struct glob {
	bool absolute; /* else below the project's root */
	bool subtree;  /* ends in a float or a slash, or is literal: matches the paths below, too */
	bool itself;   /* with subtree: matches the directory itself as well */
	bool excludes; /* written with a leading '!' */
	bool bare;     /* a name without a slash */
	size_t n_components;
	struct glob_component components[GLOB_COMPONENTS_MAX];
	char bytes[GLOB_BYTES_MAX + 1]; /* of the components' texts */
};

/*
 * Parses one glob. @literal: every character stands for itself, and the path means everything below
 * it, too. -EINVAL with a reason: empty, too long, over the bounds, an unclosed class, a trailing
 * backslash, "." or ".." components. The caller adds the place.
 */
int glob_parse(const char *text, bool literal, struct glob *ret, struct sbx_error *err);

/* Does one component match? Linear in the product of the lengths at worst, never exponential. */
bool glob_component_matches(const struct glob_component *component, const char *name, size_t len);
/* The same for the raw text of a GLOB_PATTERN. */
bool glob_pattern_matches(const char *pattern, size_t pattern_len, const char *name, size_t len);

/* Is every component literal? */
bool glob_is_literal(const struct glob *glob);

/* Is "**" glued to other characters somewhere? Then it is only a "*". */
bool glob_has_glued_float(const char *text);
