/* SPDX-License-Identifier: MIT */

/* The members of a keeper's answer about its channel */

#include "ring.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#include "ring/members.h"

#define ANSWER_USEC UINT64_C(5000000)

static const struct {
	const char *name;
	bool is_text;
	size_t offset, size;
} members[] = {
#define TEXT_OR_NUMBER(member, name, is_text)                                                      \
	{                                                                                          \
		name, is_text, offsetof(struct ring_status, member),                               \
			sizeof(((struct ring_status *)NULL)->member)                               \
	}
	TEXT_OR_NUMBER(name, "name", true),
	TEXT_OR_NUMBER(state, "state", true),
	TEXT_OR_NUMBER(mode, "mode", true),
	TEXT_OR_NUMBER(capacity, "capacity", false),
	TEXT_OR_NUMBER(keeper_pid, "keeper_pid", false),
	TEXT_OR_NUMBER(pids[SBX_RING_SERVER], "server_pid", false),
	TEXT_OR_NUMBER(pids[SBX_RING_CLIENT], "client_pid", false),
	TEXT_OR_NUMBER(n_bytes[SBX_RING_SERVER], "server_bytes", false),
	TEXT_OR_NUMBER(n_bytes[SBX_RING_CLIENT], "client_bytes", false),
#undef TEXT_OR_NUMBER
};

static void take_text(const struct json_item *value, char *to, size_t size)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, shown = TEXT_INIT;

	if (value->kind != JSON_STRING)
		return;
	(void)json_decode(value, &decoded);
	text_add_visible(&shown, text_string(&decoded), decoded.len);
	(void)snprintf(to, size, "%s", text_string(&shown));
}

static void take_member(const struct json_item *name, const struct json_item *value, void *status)
{
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		char *to = (char *)status + members[i].offset;
		uint64_t number;

		if (!json_equals(name, members[i].name))
			continue;
		if (members[i].is_text)
			take_text(value, to, members[i].size);
		else if (value->kind == JSON_NUMBER && json_u64(value, &number) == 0)
			memcpy(to, &number, sizeof(number));
	}
}

int ring_status_parse(const char *bytes, size_t n_bytes, struct ring_status *ret)
{
	struct ring_status status = { .capacity = 0 };
	int r = members_each(bytes, n_bytes, take_member, &status);

	if (r == 0)
		*ret = status;
	return r;
}

int ring_status_ask(const char *name, struct ring_status *ret)
{
	_cleanup_close_ int keeper = named_connect(name, NULL);
	char bytes[NAMED_BYTES_MAX + 1];
	size_t n_bytes, n_fds;
	int r = keeper;

	if (r >= 0)
		r = named_ask(keeper, name, "{\"type\":\"STATUS\"}", ANSWER_USEC, bytes, &n_bytes,
			      NULL, 0, &n_fds, NULL);
	return r < 0 ? r : ring_status_parse(bytes, n_bytes, ret);
}
