/* SPDX-License-Identifier: MIT */

/*
 * What shows in one path: characters that mean less than they seem to, and folders whose content
 * was forgotten
 *
 * A glob matches what it names, and a folder's name is not what is in the folder. Where a rule
 * gives rights, too little is given and somebody notices; where it takes them away, nobody does. So
 * that is looked for in what denies, in '!' globs and in exceptions of what allows.
 */

#include "policy/check-internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/glob.h"

/* A value's text and what makes it mean what is below. */
#define VALUE_SIZE (GLOB_BYTES_MAX + 8)

static bool excludes(const struct match_value *value)
{
	return !value->literal && value->text[0] == '!';
}

static void check_characters(struct checker *checker, const struct match_value *value)
{
	if (value->literal && strpbrk(value->text, "*?[")) {
		check_warn(checker, CHECK_LITERAL, value->place,
			   "the wildcards of '%s' are not wildcards here", value->text);
		sbx_error_why(&checker->warning.error, "under 'path' every character is literal");
		sbx_error_fix(&checker->warning.error,
			      "write it under 'path_glob' of a rule in 'capabilities'");
	}
	if (value->literal || !glob_has_glued_float(value->text))
		return;
	check_warn(checker, CHECK_GLUED_FLOAT, value->place, "'**' in '%s' is only '*'",
		   value->text);
	sbx_error_why(&checker->warning.error,
		      "it matches several directories only as a whole component");
	sbx_error_fix(&checker->warning.error, "write '/**/' for directories in between, or '*'");
}

/* "~/" is refused when the policy is loaded; "~name/" is a path like any other. */
static void check_home(struct checker *checker, const struct match_value *value)
{
	const char *text = value->text + excludes(value);
	size_t len = strcspn(text, "/");

	if (text[0] != '~' || (!isalpha((unsigned char)text[1]) && text[1] != '_') ||
	    text[len] == '\0')
		return;
	check_warn(checker, CHECK_HOME, value->place, "'%s' is not in a home directory",
		   value->text);
	sbx_error_why(
		&checker->warning.error,
		"'~' is not replaced in a policy; this is the directory '%.*s' of the project",
		(int)len, text);
	sbx_error_fix(&checker->warning.error,
		      "write the absolute path; a directory of that name begins with "
		      "'./'");
}

/* Names that are files wherever they occur, besides those with an ending. */
static const char *const file_names[] = {
	".env",	       ".gitattributes", ".gitconfig", ".git-credentials", ".gitignore",
	".gitmodules", ".pgpass",	 ".profile",   "authorized_keys",  "gshadow",
	"hosts",       "id_ecdsa",	 "id_ed25519", "id_rsa",	   "known_hosts",
	"LICENSE",     "passwd",	 "README",     "shadow",	   "sudoers",
};

static bool ends_in(const struct glob_component *name, const char *end)
{
	size_t len = strlen(end);

	return name->len > len && strcmp(name->text + name->len - len, end) == 0;
}

/* Would most people take it for a file? ".npmrc", "Dockerfile", "package.json"; not "conf.d". */
static bool looks_like_file(const struct glob_component *name)
{
	const char *ending = strrchr(name->text, '.');

	for (size_t i = 0; i < N_ELEMENTS(file_names); i++)
		if (strcmp(name->text, file_names[i]) == 0)
			return true;
	if (ending > name->text)
		return strcmp(ending, ".d") != 0;
	return (ending && ends_in(name, "rc")) || ends_in(name, "file");
}

/* Is it a name that may be a folder's, and nothing below it? */
static bool is_folder_alone(const struct match_value *value, struct glob *glob)
{
	const struct glob_component *last;

	if (value->literal || glob_parse(value->text, false, glob, NULL) < 0 || glob->subtree ||
	    glob->n_components == 0)
		return false;
	last = &glob->components[glob->n_components - 1];
	return last->kind == GLOB_LITERAL && !looks_like_file(last);
}

/* Can one of the list's globs match something in the folder @inner, which is longer than it? */
static bool may_reach_below(const struct match_list *list, const struct glob *inner)
{
	struct glob glob;

	if (!list->present)
		return true;
	for (size_t i = 0; i < list->n_values; i++) {
		bool floats = false;

		if (excludes(&list->values[i]) ||
		    glob_parse(list->values[i].text, list->values[i].literal, &glob, NULL) < 0)
			continue;
		for (size_t k = 0; k < glob.n_components; k++)
			floats |= glob.components[k].kind == GLOB_FLOAT;
		if (glob.subtree || floats || glob.n_components > inner->n_components)
			return true;
	}
	return false;
}

/*
 * The globs that mean everything below a path, as people write it: "a/b/" and "a/b" with two stars.
 * A bare name is one in any folder, and "name" with two stars behind it would not be.
 */
static const struct below {
	bool bare;
	const char *before;
	const char *behind;
} belows[] = {
	{ false, "", "/" },	{ false, "", "/**" }, { true, "", "/" },
	{ true, "**/", "/**" }, { true, "**/", "/" },
};

/* @text has room for VALUE_SIZE. */
static void write_below(const struct below *below, const struct match_value *value, char *text)
{
	(void)snprintf(text, VALUE_SIZE, "%s%s%s", below->before, value->text + excludes(value),
		       below->behind);
}

/* Does another value of the list mean @text, too? */
static bool has_value(const struct match_list *list, bool excluding, const char *text)
{
	const struct match_value wanted = { .text = text };

	for (size_t i = 0; i < list->n_values; i++) {
		struct match_value other = list->values[i];

		if (excludes(&other) != excluding)
			continue;
		other.text += excluding;
		if (check_path_covers(&other, &wanted))
			return true;
	}
	return false;
}

/* Does another rule deny what @text means? */
static bool is_denied(const struct checker *checker, const struct rule *rule, const char *text)
{
	struct match_value below = { .text = text };
	struct rule inner = *rule;

	inner.match.lists[MATCH_PATH].values = &below;
	inner.match.lists[MATCH_PATH].n_values = 1;
	return check_index_find(&checker->index, &inner, check_is_denied) != NULL;
}

/* Is what is below @value taken away by something else? */
static bool is_completed(const struct checker *checker, const struct rule *rule,
			 const struct match_list *list, const struct match_value *value, bool bare)
{
	char text[VALUE_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(belows); i++) {
		if (belows[i].bare != bare)
			continue;
		write_below(&belows[i], value, text);
		if (has_value(list, excludes(value), text) || is_denied(checker, rule, text))
			return true;
	}
	return false;
}

/* The values of a list that take rights away: all of a deny or an exception, or those with a '!'.
 * @given: what they are taken from. */
static void check_taken(struct checker *checker, const struct rule *rule,
			const struct match_list *list, bool excluding,
			const struct match_list *given)
{
	struct glob glob;

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (excludes(value) != excluding || !is_folder_alone(value, &glob) ||
		    !may_reach_below(given, &glob) ||
		    is_completed(checker, rule, list, value, glob.bare))
			continue;
		check_warn(checker, CHECK_NOT_BELOW, value->place,
			   "'%s' leaves what is below it as it is", value->text);
		sbx_error_why(
			&checker->warning.error,
			"a glob denies the path that it names: if '%s' is a directory, its contents "
			"can still be allowed",
			value->text + excludes(value));
		sbx_error_fix(&checker->warning.error,
			      "write '%s/': the directory or file, and everything below it",
			      value->text);
	}
}

static bool is_about_files(uint64_t operations)
{
	return operations & operation_set("fs.*");
}

static void check_folders(struct checker *checker, const struct rule *rule)
{
	static const struct match_list everything;
	const struct match_list *paths = &rule->match.lists[MATCH_PATH];
	bool allows = rule->action == POLICY_ALLOW || rule->action == POLICY_WARN;

	if (!is_about_files(rule->match.operations))
		return;
	if (rule->action == POLICY_DENY)
		check_taken(checker, rule, paths, false, &everything);
	if (allows)
		check_taken(checker, rule, paths, true, paths);
	for (size_t i = 0; allows && i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];

		if (exception->operations == 0 || is_about_files(exception->operations))
			check_taken(checker, rule, &exception->lists[MATCH_PATH], false, paths);
	}
}

static void check_list(struct checker *checker, const struct match_list *list)
{
	for (size_t i = 0; i < list->n_values; i++) {
		check_characters(checker, &list->values[i]);
		check_home(checker, &list->values[i]);
	}
}

void check_paths(struct checker *checker, const struct rule *rule)
{
	check_list(checker, &rule->match.lists[MATCH_PATH]);
	for (size_t i = 0; i < rule->n_exceptions; i++)
		check_list(checker, &rule->exceptions[i].lists[MATCH_PATH]);
	check_folders(checker, rule);
}
