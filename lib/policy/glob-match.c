/* SPDX-License-Identifier: MIT */

/*
 * Matching of one component, without recursion
 *
 * Patterns are matched as they are written, and safely whatever they hold: they may come out of an
 * artefact.
 */

#include "policy/glob.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/glob-internal.h"

/* Ranges of bytes, two a pair. White space is git's, which leaves out \v and \f. */
static const struct {
	const char *name;
	const char *ranges;
} class_kinds[] = {
	{ "alnum", "09AZaz" },	 { "alpha", "AZaz" },
	{ "blank", "\t\t  " },	 { "cntrl", "\x01\x1f\x7f\x7f" },
	{ "digit", "09" },	 { "graph", "!~" },
	{ "lower", "az" },	 { "print", " ~" },
	{ "punct", "!/:@[`{~" }, { "space", "\t\n\r\r  " },
	{ "upper", "AZ" },	 { "xdigit", "09AFaf" },
};

/* The ranges of [:name:], or NULL. */
static const char *find_class_kind(const char *name, size_t len)
{
	for (size_t i = 0; i < N_ELEMENTS(class_kinds); i++)
		if (strlen(class_kinds[i].name) == len &&
		    memcmp(class_kinds[i].name, name, len) == 0)
			return class_kinds[i].ranges;
	return NULL;
}

static bool is_in_ranges(const char *ranges, unsigned char c)
{
	for (; *ranges; ranges += 2)
		if (c >= (unsigned char)ranges[0] && c <= (unsigned char)ranges[1])
			return true;
	return false;
}

/* Behind the ']' of "[:name:]" at @at, or NULL where there is none; @at is behind "[:". */
static const char *find_kind_end(const char *at, const char *end)
{
	const char *close = memchr(at, ']', (size_t)(end - at));

	return close && close > at && close[-1] == ':' ? close + 1 : NULL;
}

/*
 * Judges @c by the class whose '[' stands before @at. Returns what is behind its ']', or NULL where
 * it is not closed or names an unknown kind: then nothing matches.
 */
static const char *match_class(const char *at, const char *end, unsigned char c, bool *ret)
{
	bool negated = at < end && (*at == '!' || *at == '^'), matched = false, can_range = false;
	unsigned char low = 0;
	const char *first = at + negated, *kind_end;

	for (at = first; at < end && (*at != ']' || at == first); at++) {
		if (*at == '-' && can_range && at + 1 < end && at[1] != ']') {
			at += at[1] == '\\' ? 2 : 1;
			if (at >= end)
				return NULL;
			matched |= c >= low && c <= (unsigned char)*at;
			can_range = false;
			continue;
		}
		if (*at == '[' && at + 1 < end && at[1] == ':' &&
		    (kind_end = find_kind_end(at + 2, end))) {
			const char *ranges = find_class_kind(at + 2, (size_t)(kind_end - at - 4));

			if (!ranges)
				return NULL;
			matched |= is_in_ranges(ranges, c);
			can_range = false;
			at = kind_end - 1;
			continue;
		}
		if (*at == '\\' && ++at == end)
			return NULL;
		low = (unsigned char)*at;
		matched |= c == low;
		can_range = true;
	}
	*ret = matched != negated;
	return at < end ? at + 1 : NULL;
}

const char *glob_skip_class(const char *at, const char *end)
{
	bool ignored;

	return match_class(at, end, 0, &ignored);
}

/* Matches one byte with what stands at @pattern. Returns what is behind that, or NULL. */
static const char *match_one(const char *pattern, const char *end, unsigned char c)
{
	bool matched;

	if (pattern == end)
		return NULL;
	if (*pattern == '?')
		return pattern + 1;
	if (*pattern == '[') {
		const char *behind = match_class(pattern + 1, end, c, &matched);

		return behind && matched ? behind : NULL;
	}
	if (*pattern == '\\' && ++pattern == end)
		return NULL;
	return (unsigned char)*pattern == c ? pattern + 1 : NULL;
}

/* Only the last star is ever tried again: what an earlier one could do differently, a later one can
 * do as well. */
bool glob_pattern_matches(const char *pattern, size_t pattern_len, const char *name, size_t len)
{
	const char *end = pattern + pattern_len, *name_end = name + len;
	const char *behind_star = NULL, *tried = NULL;

	for (;;) {
		if (pattern < end && *pattern == '*') {
			behind_star = ++pattern;
			tried = name;
			continue;
		}
		if (pattern == end && (name == name_end || behind_star == end))
			return true;
		if (name == name_end)
			return false;

		const char *behind = match_one(pattern, end, (unsigned char)*name);

		if (behind) {
			pattern = behind;
			name++;
			continue;
		}
		if (!behind_star)
			return false;
		pattern = behind_star;
		name = ++tried;
	}
}

bool glob_component_matches(const struct glob_component *component, const char *name, size_t len)
{
	switch (component->kind) {
	case GLOB_LITERAL:
		return component->len == len && memcmp(component->text, name, len) == 0;
	case GLOB_PATTERN:
		return glob_pattern_matches(component->text, component->len, name, len);
	case GLOB_STAR:
	case GLOB_FLOAT:
		return true;
	}
	return false;
}
