/* SPDX-License-Identifier: MIT */

/*
 * One glob: split into components at the slashes, each of which is text, "*", "**" or a pattern
 *
 * The reference is git's wildmatch with WM_PATHNAME, byte by byte, in any case exactly as written.
 * What is different here:
 *
 *   - What git accepts and then never or hardly ever matches is refused: an unclosed class, an
 *     unknown [[:name:]], a backslash at the end, a slash inside a class or behind a backslash,
 *     empty, "." and ".." components (a leading "./" is taken off).
 *   - A leading slash means the root of the file system, not of the project.
 *   - "name/" is the folder itself and everything below it; git asks whether it is a folder.
 *   - A glob that names a folder does not take in what is below it, as a line of .gitignore does:
 *     "name/" or "name/" followed by two stars says so. (A literal path does take it in.)
 *   - "/" followed by two stars also matches "/" itself.
 *   - The order of globs has no meaning: one that begins with '!' always wins.
 *   - Bounds: GLOB_BYTES_MAX and its kind.
 */

#include "policy/glob.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "policy/glob-internal.h"

/* What a component is made of. */
struct shape {
	size_t n_stars; /* runs of them */
	bool only_stars;
	bool has_float; /* a run of two or more */
	bool is_pattern;
	const char *problem;
};

static struct shape look_at(const char *text, size_t len)
{
	struct shape shape = { .only_stars = len > 0 };
	const char *at = text, *end = text + len;

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
			shape.problem = "a backslash needs a character behind it that is not '/'";
			break;
		}
		if (*at == '[')
			at = glob_skip_class(at + 1, end);
		else
			at += *at == '\\' ? 2 : 1;
	}
	if (!at)
		shape.problem = "a '[' has no ']' in its component, or names an unknown [:kind:]";
	if (!shape.problem && shape.n_stars > GLOB_STARS_MAX)
		shape.problem = "one component has more stars than are matched in bounded time";
	return shape;
}

static int refuse(const char *text, const char *why, const char *fix, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EINVAL, "'%.100s' is no usable glob", text);
	sbx_error_why(err, "%s", why);
	sbx_error_fix(err, "%s", fix);
	return -EINVAL;
}

static const char fix_component[] = "write the path without it: every component has a name";
static const char fix_pattern[] = "correct it; a backslash makes the next character stand for "
				  "itself";

/* Adds the component's text, without its backslashes where it is literal. */
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

/* "a", two stars, two stars, "b" means the same with two stars once. */
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
		return refuse(whole, "two slashes stand side by side", fix_component, err);
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
			      "paths are normal when they are matched: no component is '.' "
			      "or '..'",
			      "write the path without it; './' at the start is allowed", err);
	return 0;
}

/* Takes the anchor off @text and says in @glob what it meant. Returns the components' text. */
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
	/* "**" is no name: it is everything. */
	glob->bare = !memchr(text, '/', len) && (len < 2 || strspn(text, "*") < len);
	return text;
}

static size_t count_floats(const struct glob *glob)
{
	size_t n = 0;

	for (size_t i = 0; i < glob->n_components; i++)
		n += glob->components[i].kind == GLOB_FLOAT;
	return n;
}

static int split(struct glob *glob, const char *at, bool literal, const char *whole,
		 struct sbx_error *err)
{
	static const struct glob_component any_folder = { .kind = GLOB_FLOAT,
							  .text = "**",
							  .len = 2 };
	char *free_bytes = glob->bytes;

	if (glob->bare && !literal)
		glob->components[glob->n_components++] = any_folder;
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
	size_t len = strlen(text);

	ret->absolute = ret->bare = false;
	ret->n_components = 0;
	ret->excludes = !literal && *at == '!';
	at += ret->excludes;
	if (*at == '\0')
		return refuse(text, "it is empty", "write a path, or remove it", err);
	if (len > GLOB_BYTES_MAX)
		return refuse(text, "it has more than 4096 bytes", "write a shorter one", err);

	bool is_folder = literal || text[len - 1] == '/' || strcmp(at, ".") == 0;
	int r = split(ret, take_anchor(ret, at), literal, text, err);

	if (r < 0)
		return r;
	/* A trailing "**" matches everything below its parent, not the parent itself. */
	bool ends_in_float =
		ret->n_components > 0 && ret->components[ret->n_components - 1].kind == GLOB_FLOAT;

	ret->n_components -= ends_in_float;
	ret->subtree = is_folder || ends_in_float;
	ret->itself = (is_folder && !ends_in_float) || (ret->absolute && ret->n_components == 0);
	if (count_floats(ret) > GLOB_FLOATS_MAX)
		return refuse(text, "it has more than 8 components of two stars",
			      "use fewer of them", err);
	return 0;
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
