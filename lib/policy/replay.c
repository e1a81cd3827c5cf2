/* SPDX-License-Identifier: MIT */

/*
 * What a changed policy would have answered to what was really asked
 */

#include "policy/compare.h"

#include "base/json.h"

/* Is the answer a yes, even with a warning? */
static bool is_allowed(enum policy_action verdict)
{
	return decision_status(verdict) == 0;
}

static enum change_kind kind_of(enum policy_action before, enum policy_action after)
{
	if (is_allowed(before) == is_allowed(after))
		return CHANGE_OTHER;
	return is_allowed(before) ? CHANGE_BREAKING : CHANGE_WIDENS;
}

/* Has a log cut something out of the member @name? The scanner is at the value of "commitment". */
static bool is_cut(struct json_scanner scanner, const char *name)
{
	struct json_item item;
	bool is_there = false;

	if (json_next(&scanner, &item) <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return false;
	while (json_next(&scanner, &item) > 0 && item.kind == JSON_NAME) {
		is_there |= json_equals(&item, name);
		if (json_next(&scanner, &item) <= 0 || json_skip(&scanner, &item) < 0)
			break;
	}
	return is_there;
}

/*
 * The value of "input" in a recorded decision, else the whole line. A line with two of them is no
 * record of ours: nobody can tell which one was judged. And what had a secret in it is another
 * request without.
 */
static int find_input(const char **bytes, size_t *n_bytes)
{
	struct json_scanner scanner;
	struct json_item item;
	const char *input = NULL;
	size_t n_input = 0;
	int r;

	json_scan(&scanner, *bytes, *n_bytes);
	r = json_next(&scanner, &item);
	if (r <= 0 || item.kind != JSON_OBJECT_BEGIN)
		return -1;
	while ((r = json_next(&scanner, &item)) > 0 && item.kind == JSON_NAME) {
		bool is_input = json_equals(&item, "input");

		if (json_equals(&item, "commitment") && is_cut(scanner, "input"))
			return -1;

		if (json_next(&scanner, &item) <= 0 || json_skip(&scanner, &item) < 0)
			return -1;
		if (!is_input)
			continue;
		if (input)
			return -1;
		input = *bytes + item.offset;
		n_input = scanner.at - item.offset;
	}
	if (r <= 0 || json_next(&scanner, &item) != 0)
		return -1;
	if (input) {
		*bytes = input;
		*n_bytes = n_input;
	}
	return 0;
}

static void count(struct replay *replay, enum change_kind kind)
{
	replay->n_changed++;
	replay->n_breaking += kind == CHANGE_BREAKING;
	replay->n_widening += kind == CHANGE_WIDENS;
}

void replay_line(struct replay *replay, const void *bytes, size_t n_bytes,
		 struct request_buffer *buffer, replay_fn *changed, void *userdata)
{
	struct policy_decision before, after;
	const char *input = bytes;
	enum change_kind kind;

	if (find_input(&input, &n_bytes) < 0 || request_parse(input, n_bytes, buffer, NULL) < 0) {
		replay->n_unreadable++;
		return;
	}
	policy_decide(replay->before, &buffer->request, &before);
	policy_decide(replay->after, &buffer->request, &after);
	replay->n_replayed++;
	if (before.verdict == after.verdict)
		return;
	kind = kind_of(before.verdict, after.verdict);
	count(replay, kind);
	changed(buffer, &before, &after, kind, userdata);
}
