/* SPDX-License-Identifier: MIT */

/*
 * Reading an object whose members are a table
 */

#include "ring/members.h"

#include <errno.h>

static const char *take_member(struct json_scanner *scanner, const struct json_item *name,
			       const struct json_item *value, const struct member *members,
			       size_t n_members, bool *seen, void *ret)
{
	for (size_t i = 0; i < n_members; i++) {
		if (!json_equals(name, members[i].name))
			continue;
		if (seen[i])
			return members[i].twice;
		seen[i] = true;
		return members[i].take(scanner, value, ret);
	}
	return "it has a member that is not known";
}

const char *members_read(const void *bytes, size_t n_bytes, const struct member *members,
			 size_t n_members, void *ret)
{
	bool seen[MEMBERS_MAX] = { false };
	struct json_scanner scanner;
	struct json_item name, value;
	int r;

	json_scan(&scanner, bytes, n_bytes);
	r = json_next(&scanner, &value);
	if (r > 0 && value.kind != JSON_OBJECT_BEGIN)
		return "it is not an object";
	while (r > 0 && (r = json_next_member(&scanner, &name, &value)) > 0) {
		const char *problem =
			take_member(&scanner, &name, &value, members, n_members, seen, ret);

		if (problem)
			return problem;
	}
	if (r < 0 || json_next(&scanner, &value) != 0)
		return scanner.problem ? scanner.problem : "it is not JSON";
	for (size_t i = 0; i < n_members; i++)
		if (!seen[i] && members[i].missing)
			return members[i].missing;
	return NULL;
}

int members_each(const void *bytes, size_t n_bytes, members_visit *visit, void *userdata)
{
	struct json_scanner scanner;
	struct json_item name, value;
	int r;

	json_scan(&scanner, bytes, n_bytes);
	if (json_next(&scanner, &name) != 1 || name.kind != JSON_OBJECT_BEGIN)
		return -EBADMSG;
	while ((r = json_next_member(&scanner, &name, &value)) == 1) {
		visit(&name, &value, userdata);
		if (json_skip(&scanner, &value) < 0)
			return -EBADMSG;
	}
	return r < 0 ? -EBADMSG : 0;
}

const char *members_take_value(struct json_scanner *scanner, const struct json_item *value,
			       const char **ret, size_t *ret_n_bytes)
{
	size_t begin = value->offset;

	if (json_skip(scanner, value) < 0)
		return scanner->problem ? scanner->problem : "it is not JSON";
	*ret = scanner->bytes + begin;
	*ret_n_bytes = scanner->at - begin;
	return NULL;
}
