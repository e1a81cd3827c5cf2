/* SPDX-License-Identifier: MIT */

/*
 * A request is one object with one member. Any other member is refused, so that no client believes
 * that it was carried out
 */

#include "spawn/door-request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define ARGUMENTS_MAX 4096

struct words {
	size_t ends[ARGUMENTS_MAX];
	size_t n;
};

static bool is_next(struct json_scanner *scanner, enum json_kind kind, struct json_item *ret)
{
	return json_next(scanner, ret) == 1 && ret->kind == kind;
}

/* Adds the strings of the array to @out, each with its NUL. */
static const char *read_words(struct json_scanner *scanner, struct text *out, struct words *words)
{
	struct json_item item;

	for (words->n = 0; json_next(scanner, &item) == 1; words->n++) {
		size_t begin = out->len;

		if (item.kind == JSON_ARRAY_END)
			return words->n > 0 ? NULL : "'exec' names no command";
		if (item.kind != JSON_STRING || json_decode(&item, out) < 0)
			return "'exec' is not an array of strings";
		if (words->n == ARGUMENTS_MAX)
			return "'exec' has too many strings";
		if (memchr(text_string(out) + begin, '\0', out->len - begin))
			return "a string of 'exec' contains a NUL byte";
		text_add_char(out, '\0');
		words->ends[words->n] = out->len;
	}
	return "the request is not JSON";
}

static const char *read_request(struct json_scanner *scanner, struct text *out, struct words *words)
{
	struct json_item item;
	const char *problem;

	if (!is_next(scanner, JSON_OBJECT_BEGIN, &item))
		return "the request is not an object";
	if (!is_next(scanner, JSON_NAME, &item) || !json_equals(&item, "exec"))
		return "the request is not 'exec'";
	if (!is_next(scanner, JSON_ARRAY_BEGIN, &item))
		return "'exec' is not an array of strings";
	problem = read_words(scanner, out, words);
	if (problem)
		return problem;
	if (!is_next(scanner, JSON_OBJECT_END, &item) || json_next(scanner, &item) != 0)
		return "the request has members besides 'exec'";
	return NULL;
}

static char **to_argv(const struct text *bytes, const struct words *words)
{
	char **argv = malloc((words->n + 1) * sizeof(*argv) + bytes->len);
	char *copy;

	if (!argv)
		return NULL;
	copy = (char *)(argv + words->n + 1);
	memcpy(copy, text_string(bytes), bytes->len);
	for (size_t i = 0; i < words->n; i++)
		argv[i] = copy + (i == 0 ? 0 : words->ends[i - 1]);
	argv[words->n] = NULL;
	return argv;
}

int door_parse_request(const void *bytes, size_t n_bytes, char ***ret_argv,
		       const char **ret_problem)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	_cleanup_free_ struct words *words = malloc(sizeof(*words));
	struct json_scanner scanner;
	char **argv;

	if (!words)
		return -ENOMEM;
	json_scan(&scanner, bytes, n_bytes);
	*ret_problem = read_request(&scanner, &out, words);
	if (text_status(&out) < 0)
		return -ENOMEM;
	if (*ret_problem)
		return -EBADMSG;
	argv = to_argv(&out, words);
	if (!argv)
		return -ENOMEM;
	*ret_argv = argv;
	return 0;
}

void door_add_answer(struct text *out, int status, const char *error, const char *fix)
{
	struct json_writer writer;

	json_begin_object(&writer, out);
	if (status >= 0)
		json_member_u64(&writer, "status", (uint64_t)status);
	json_member_if_set(&writer, "error", error);
	json_member_if_set(&writer, "fix", fix);
	json_end_object(&writer);
}
