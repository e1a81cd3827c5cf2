/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Path globs, with the meaning that git gives them (wildmatch with pathname)
 *
 *   *        any characters of one component, including a leading dot
 *   ?        one byte of a component
 *   [a-z]    a class; [!a-z] and [^a-z] its complement; [[:alpha:]] and the like
 *   \c       the character c
 *   **       as a whole component: any number of components, or none; at the end: everything
 *            below. Next to other characters, it means the same as * (and check warns)
 *
 * Anchors: "/..." is absolute; "a/b" and "./a" are below the project's root; a name without a slash
 * means that name anywhere below the project's root (and, for execution, anywhere at all); "name/"
 * means the directory and everything below it; "./" is the project's root. The top of glob.c lists
 * the differences from git.
 */

#include <stdbool.h>
#include <stddef.h>

struct sbx_error;

#define GLOB_BYTES_MAX 4096
#define GLOB_COMPONENTS_MAX 256
/* "**" components in one glob, "*" in one component: bounds for the work of a match. */
#define GLOB_FLOATS_MAX 8
#define GLOB_STARS_MAX 8

enum glob_kind {
	GLOB_LITERAL, /* matches only the component's unescaped text */
	GLOB_STAR,    /* "*" alone */
	GLOB_PATTERN, /* anything else with *, ? or [ */
	GLOB_FLOAT,   /* "**" */
};

struct glob_component {
	enum glob_kind kind;
	const char *text; /* unescaped for literals; as written for patterns */
	size_t len;
};

struct glob {
	bool absolute; /* false: below the project's root */
	bool subtree;  /* ends in a float or a slash, or is literal: also matches the paths below */
	bool itself;   /* with subtree: also matches the directory itself */
	bool excludes; /* written with a leading '!' */
	bool bare;     /* a name without a slash */
	size_t n_components;
	struct glob_component components[GLOB_COMPONENTS_MAX];
	char bytes[GLOB_BYTES_MAX + 1]; /* texts of the components */
};

/*
 * Parses one glob. @literal: every character stands for itself, and the path also means everything
 * below it. -EINVAL with a reason: empty, too long, over the bounds, an unclosed class, a trailing
 * backslash, "." or ".." components. The caller adds the place.
 */
int glob_parse(const char *text, bool literal, struct glob *ret, struct sbx_error *err);

/* Does the component match the name? At worst linear in the product of the lengths, never
 * exponential. */
bool glob_component_matches(const struct glob_component *component, const char *name, size_t len);
/* The same for the raw text of a GLOB_PATTERN. */
bool glob_pattern_matches(const char *pattern, size_t pattern_len, const char *name, size_t len);

/* Is every component literal? */
bool glob_is_literal(const struct glob *glob);

/* Is "**" next to other characters somewhere? There it means "*". */
bool glob_has_glued_float(const char *text);
