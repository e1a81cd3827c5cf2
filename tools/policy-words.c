/* SPDX-License-Identifier: MIT */

/*
 * Requests that users type
 *
 * Users name files relative to the project; the evaluator only accepts absolute normal paths. So
 * "src/a.c" and "../x" are joined with the project's root lexically: the file system is not read,
 * because the request may be about a file that does not exist, or on another host. A path that
 * begins with a slash is taken unchanged.
 */

#include "policy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

#define PROJECT "project="

/* Removes the last component; "/" stays. */
static void drop_last(struct text *path)
{
	const char *last = path_last(text_string(path));

	text_truncate(path, (size_t)(last - text_string(path)));
	if (path->len > 0)
		text_truncate(path, path->len - 1);
}

/* Adds @path below @directory (absolute and normal) lexically; the result is normal. */
static void words_join(struct text *out, const char *directory, const char *path)
{
	text_add(out, strcmp(directory, "/") == 0 ? "" : directory);
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.') {
			drop_last(out);
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			text_add_char(out, '/');
			text_add_bytes(out, path, len);
		}
		path += len + (path[len] == '/');
	}
	if (out->len == 0)
		text_add_char(out, '/');
}

static const char *find_project(char *const words[], size_t n_words)
{
	for (size_t i = 1; i < n_words; i++)
		if (strncmp(words[i], PROJECT, strlen(PROJECT)) == 0)
			return words[i] + strlen(PROJECT);
	return NULL;
}

/* Is the word after the operation a relative path? */
static bool is_relative(char *const words[], size_t n_words)
{
	int row = n_words > 1 ? operation_find(words[0]) : OPERATION_UNKNOWN;

	return row != OPERATION_UNKNOWN && operation_at(row)->argument == ARGUMENT_PATH &&
	       words[1][0] != '/' && words[1][0] != '\0' && !request_is_named(words[1]);
}

/* Adds "project=" and the absolute form of it. */
static int resolve_project(const char *project, struct text *ret, struct sbx_error *err)
{
	_cleanup_free_ char *here = getcwd(NULL, 0);

	text_add(ret, PROJECT);
	if (project && project[0] == '/') {
		text_add(ret, project);
		/* Remove trailing slashes, which completion in a shell adds. */
		while (ret->len > strlen(PROJECT "/") && text_string(ret)[ret->len - 1] == '/')
			text_truncate(ret, ret->len - 1);
		return 0;
	}
	if (!here || here[0] != '/')
		return error_fill(err, -ENOENT, "the current directory has no path",
				  "write " PROJECT "/absolute/path",
				  "cannot determine the project's root");
	_cleanup_text_ struct text path = TEXT_INIT;
	words_join(&path, here, project ? project : "");
	text_add(ret, text_string(&path));
	return text_status(&path);
}

int words_read(char *const words[], size_t n_words, struct request_buffer *ret,
	       struct sbx_error *err)
{
	_cleanup_text_ struct text project = TEXT_INIT, path = TEXT_INIT;
	_cleanup_free_ char **resolved = calloc(n_words + 1, sizeof(*resolved));
	const char *given = find_project(words, n_words);
	size_t n = n_words;
	int r;

	if (!resolved)
		return sbx_error_what(err, -ENOMEM, "cannot read the request");
	r = resolve_project(given, &project, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_words; i++) {
		bool is_project = i > 0 && strncmp(words[i], PROJECT, strlen(PROJECT)) == 0;

		resolved[i] =
			is_project && words[i] + strlen(PROJECT) == given ? project.data : words[i];
	}
	if (is_relative(words, n_words)) {
		words_join(&path, project.data + strlen(PROJECT), words[1]);
		resolved[1] = path.data;
	}
	if (!given && n_words > 0)
		resolved[n++] = project.data;
	if (text_status(&project) < 0 || text_status(&path) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot read the request");
	return request_parse_words(resolved, n, ret, err);
}
