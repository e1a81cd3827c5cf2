/* SPDX-License-Identifier: MIT */

/*
 * Parses an answer: an object with "n", "action" and optionally "reason", each at most once, and
 * nothing else. Anything that does not parse counts as no answer, which denies the request.
 */

#include "extension/answer.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

static int read_number(struct answer *answer, const struct json_item *value, struct text *reason)
{
	return value->kind == JSON_NUMBER && json_u64(value, &answer->number) == 0 ? 0 : -EBADMSG;
}

static int read_action(struct answer *answer, const struct json_item *value, struct text *reason)
{
	for (int action = POLICY_PASS; value->kind == JSON_STRING && action <= POLICY_DENY;
	     action++) {
		if (!json_equals(value, policy_action_name((enum policy_action)action)))
			continue;
		answer->action = (enum policy_action)action;
		return 0;
	}
	return -EBADMSG;
}

/* A NUL would truncate the reason for readers that treat it as a C string. */
static int read_reason(struct answer *answer, const struct json_item *value, struct text *reason)
{
	answer->has_reason = true;
	if (value->kind != JSON_STRING || json_decode(value, reason) < 0)
		return -EBADMSG;
	return strlen(text_string(reason)) == reason->len ? 0 : -EBADMSG;
}

static const struct {
	const char *name;
	int (*read)(struct answer *answer, const struct json_item *value, struct text *reason);
	bool is_required;
} members[] = {
	{ "n", read_number, true },
	{ "action", read_action, true },
	{ "reason", read_reason, false },
};

static int read_member(struct json_scanner *scanner, const struct json_item *name,
		       struct answer *answer, unsigned *seen, struct text *reason)
{
	struct json_item value;

	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		if (!json_equals(name, members[i].name))
			continue;
		if ((*seen & 1u << i) != 0 || json_next(scanner, &value) != 1)
			return -EBADMSG;
		*seen |= 1u << i;
		return members[i].read(answer, &value, reason);
	}
	return -EBADMSG;
}

int answer_parse(const char *line, size_t n_bytes, struct answer *ret, struct text *reason)
{
	struct answer answer = { .number = 0 };
	struct json_scanner scanner;
	struct json_item item;
	unsigned seen = 0;
	int r;

	text_reset(reason);
	json_scan(&scanner, line, n_bytes);
	if (json_next(&scanner, &item) != 1 || item.kind != JSON_OBJECT_BEGIN)
		return -EBADMSG;
	while ((r = json_next(&scanner, &item)) == 1 && item.kind == JSON_NAME) {
		r = read_member(&scanner, &item, &answer, &seen, reason);
		if (r < 0)
			return r;
	}
	if (r != 1 || item.kind != JSON_OBJECT_END || json_next(&scanner, &item) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		if (members[i].is_required && (seen & 1u << i) == 0)
			return -EBADMSG;
	*ret = answer;
	return 0;
}
