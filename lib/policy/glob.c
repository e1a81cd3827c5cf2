/* SPDX-License-Identifier: MIT */

/*
 * One glob: split at the slashes into components, each of which is text, "*", "**" or a pattern
 *
 * The reference is git's wildmatch with WM_PATHNAME, byte by byte, case-sensitive. The differences:
 *
 *   - Globs that git accepts, but that match nothing or hardly anything, are refused: an unclosed
 *     class, an unknown [[:name:]], a backslash at the end, a slash inside a class or after a
 *     backslash, empty, "." and ".." components (a leading "./" is removed).
 *   - A leading slash means the root of the file system, not of the project.
 *   - "name/" is the directory (or file) itself and everything below it; for git, only a directory.
 *   - A glob that names a directory does not match the paths below it, as a line of .gitignore
 *     does: that takes "name/", or "name/" followed by two stars. (A literal path matches them.)
 *   - "/" followed by two stars also matches "/" itself.
 *   - The order of globs has no meaning: one that begins with '!' always overrides the others.
 *   - GLOB_BYTES_MAX, GLOB_COMPONENTS_MAX, GLOB_FLOATS_MAX and GLOB_STARS_MAX bound the work.
 *
 * Matching a component is not recursive and trusts nothing: its pattern may come from an artefact.
 */

#include "policy/glob.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Ranges of bytes, as pairs. White space is git's, which excludes \v and \f. */
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

/* Returns the position after the ']' of "[:name:]", whose name begins at @at; NULL if there is
 * none. */
static const char *find_kind_end(const char *at, const char *end)
{
	const char *close = memchr(at, ']', (size_t)(end - at));

	return close && close > at && close[-1] == ':' ? close + 1 : NULL;
}

/*
 * Is @c in the class whose '[' precedes @at? Returns the position after its ']'; NULL: the class is
 * unclosed or has an unknown name, and matches nothing.
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

/* Matches one byte with the first element of @pattern. Returns the rest of the pattern, or NULL. */
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

/* Only the last star needs backtracking: if an earlier star could take more bytes and still match,
 * the later one could take them instead. */
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

struct shape {
	size_t n_stars; /* runs of stars count once */
	bool only_stars;
	bool has_float; /* a run of two or more stars */
	bool is_pattern;
	const char *problem;
};

static struct shape look_at(const char *text, size_t len)
{
	struct shape shape = { .only_stars = len > 0 };
	const char *at = text, *end = text + len;
	bool ignored;

	while (at && at < end) {
		const char *run = at;

		while (at < end && *at == '*')
			at++;
		if (at > run) {
			shape.n_stars++;
			shape.has_float |= at - run > 1;
			shape.is_pattern = true;
			continue;
		}
		shape.only_stars = false;
		shape.is_pattern |= *at == '?' || *at == '[';
		if (*at == '\\' && at + 1 == end) {
			shape.problem =
				"a backslash must be followed by a character other than '/'";
			break;
		}
		if (*at == '[')
			at = match_class(at + 1, end, 0, &ignored);
		else
			at += *at == '\\' ? 2 : 1;
	}
	if (!at)
		shape.problem = "a '[' has no ']' in its component, or names an unknown [:kind:]";
	if (!shape.problem && shape.n_stars > GLOB_STARS_MAX)
		shape.problem = "one component has too many stars to be matched in bounded time";
	return shape;
}

static int refuse(const char *text, const char *why, const char *fix, struct sbx_error *err)
{
	return error_fill(err, -EINVAL, why, fix, "'%.100s' is not a valid glob", text);
}

static const char fix_component[] = "write the path without it: every component has a name";
static const char fix_pattern[] = "correct it; a backslash makes the next character literal";

/* Adds the component's text, without backslashes if it is literal. */
static void add_text(struct glob *glob, struct glob_component *component, char **free_bytes,
		     bool unescape)
{
	const char *text = component->text, *end = text + component->len;
	char *to = *free_bytes;

	component->text = to;
	while (text < end) {
		if (unescape && *text == '\\')
			text++;
		*to++ = *text++;
	}
	component->len = (size_t)(to - component->text);
	*to++ = '\0';
	*free_bytes = to;
	glob->components[glob->n_components++] = *component;
}

static bool is_dots(const struct glob_component *component)
{
	return component->kind == GLOB_LITERAL &&
	       (strcmp(component->text, ".") == 0 || strcmp(component->text, "..") == 0);
}

/* Consecutive "**" components mean the same as one. */
static bool repeats_float(const struct glob *glob, enum glob_kind kind)
{
	return kind == GLOB_FLOAT && glob->n_components > 0 &&
	       glob->components[glob->n_components - 1].kind == GLOB_FLOAT;
}

static enum glob_kind kind_of(const struct shape *pattern)
{
	if (!pattern->only_stars)
		return GLOB_PATTERN;
	return pattern->has_float ? GLOB_FLOAT : GLOB_STAR;
}

static int add_component(struct glob *glob, const char *text, size_t len, bool literal,
			 char **free_bytes, const char *whole, struct sbx_error *err)
{
	struct shape shape = { .n_stars = 0 };
	struct glob_component component = { .kind = GLOB_LITERAL, .text = text, .len = len };

	if (len == 0)
		return refuse(whole, "it contains '//'", fix_component, err);
	if (!literal)
		shape = look_at(text, len);
	if (shape.problem)
		return refuse(whole, shape.problem, fix_pattern, err);
	if (shape.is_pattern)
		component.kind = kind_of(&shape);
	if (repeats_float(glob, component.kind))
		return 0;
	if (glob->n_components == GLOB_COMPONENTS_MAX)
		return refuse(whole, "it has more than 256 components", "write a shorter one", err);
	add_text(glob, &component, free_bytes, !literal && component.kind == GLOB_LITERAL);
	if (is_dots(&glob->components[glob->n_components - 1]))
		return refuse(whole,
			      "it has a component '.' or '..', which normalised paths do not have",
			      "write the path without it; './' at the start is allowed", err);
	return 0;
}

/* Parses the anchor of @text ("/", "./", or a bare name) into @glob. Returns the rest. */
static const char *take_anchor(struct glob *glob, const char *text)
{
	size_t len = strlen(text);

	if (text[0] == '/') {
		glob->absolute = true;
		return text + 1;
	}
	if (strcmp(text, ".") == 0)
		return text + 1;
	if (strncmp(text, "./", 2) == 0)
		return text + 2;
	len -= text[len - 1] == '/';
	/* "**" is not a bare name: it means everything. */
	glob->bare = !memchr(text, '/', len) && (len < 2 || strspn(text, "*") < len);
	return text;
}

static int split(struct glob *glob, const char *at, bool literal, const char *whole,
		 struct sbx_error *err)
{
	static const struct glob_component any_directory = { .kind = GLOB_FLOAT,
							     .text = "**",
							     .len = 2 };
	char *free_bytes = glob->bytes;

	if (glob->bare && !literal)
		glob->components[glob->n_components++] = any_directory;
	while (*at) {
		size_t len = strcspn(at, "/");
		int r = add_component(glob, at, len, literal, &free_bytes, whole, err);

		if (r < 0)
			return r;
		at += len;
		if (*at == '/')
			at++;
	}
	return 0;
}

int glob_parse(const char *text, bool literal, struct glob *ret, struct sbx_error *err)
{
	const char *at = text;
	size_t len = strlen(text), n_floats = 0;

	ret->absolute = ret->bare = false;
	ret->n_components = 0;
	ret->excludes = !literal && *at == '!';
	at += ret->excludes;
	if (*at == '\0')
		return refuse(text, "it is empty", "write a path, or remove it", err);
	if (len > GLOB_BYTES_MAX)
		return refuse(text, "it has more than 4096 bytes", "write a shorter one", err);

	bool is_directory = literal || text[len - 1] == '/' || strcmp(at, ".") == 0;
	int r = split(ret, take_anchor(ret, at), literal, text, err);

	if (r < 0)
		return r;
	/* A trailing "**" matches everything below its parent, not the parent itself. */
	bool ends_in_float =
		ret->n_components > 0 && ret->components[ret->n_components - 1].kind == GLOB_FLOAT;

	ret->n_components -= ends_in_float;
	ret->subtree = is_directory || ends_in_float;
	ret->itself = (is_directory && !ends_in_float) || (ret->absolute && ret->n_components == 0);
	for (size_t i = 0; i < ret->n_components; i++)
		n_floats += ret->components[i].kind == GLOB_FLOAT;
	if (n_floats > GLOB_FLOATS_MAX)
		return refuse(text, "it has more than 8 components that are '**'",
			      "use fewer of them", err);
	return 0;
}

bool glob_is_literal(const struct glob *glob)
{
	for (size_t i = 0; i < glob->n_components; i++)
		if (glob->components[i].kind != GLOB_LITERAL)
			return false;
	return true;
}

bool glob_has_glued_float(const char *text)
{
	const char *at = text + (*text == '!');

	while (*at) {
		size_t len = strcspn(at, "/");
		struct shape shape = look_at(at, len);

		if (shape.has_float && !shape.only_stars)
			return true;
		at += len;
		if (*at == '/')
			at++;
	}
	return false;
}
