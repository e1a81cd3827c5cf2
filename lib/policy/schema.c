/* SPDX-License-Identifier: MIT */

/*
 * The JSON Schema of a policy file, from the table of keys
 *
 * It tells an editor what may stand where. What it cannot say (that a glob is closed, that a
 * network has no bits behind its prefix, that two names differ) is found by loading.
 */

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "policy/keys.h"
#include "policy/layers.h"

#define SIZE_PATTERN "^[0-9]+(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?$"
#define TIME_PATTERN "^[0-9]+(us|ms|s|m|h|d)$"
#define WORD_PATTERN "^[A-Za-z0-9_.-]*[*]?$"
#define PORTS_PATTERN "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"
#define STRING(pattern) "{\"type\":\"string\",\"pattern\":\"" pattern "\"}"

/* The schema of one value; NULL: it is made from the row. */
static const char *const values[N_KEY_TYPES] = {
	[KEY_ANYTHING] = "true",
	[KEY_BOOL] = "{\"type\":\"boolean\"}",
	[KEY_TRUE] = "{\"const\":true}",
	[KEY_NEVER] = "false",
	[KEY_COUNT] = "{\"type\":\"integer\",\"minimum\":0}",
	[KEY_NUMBER] = "{\"anyOf\":[{\"type\":\"number\",\"minimum\":0}," STRING(
		"^[0-9]+([.][0-9]+)?%?$") "]}",
	[KEY_SIZE] = "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0}," STRING(SIZE_PATTERN) "]}",
	[KEY_TIME] = STRING(TIME_PATTERN),
	[KEY_PORT] = "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}",
	[KEY_TEXT] = "{\"type\":\"string\"}",
	[KEY_LINE] = "{\"type\":\"string\",\"minLength\":1,\"maxLength\":200}",
	[KEY_WORD] = STRING(WORD_PATTERN),
	[KEY_PATH] = STRING("^(/|[.]$|[.]/)"),
	[KEY_SHA256] = STRING("^[0-9A-Fa-f]{64}$"),
	[KEY_HOST_PORT] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_TEXTS] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_OPERATIONS] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_GLOBS] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_LITERALS] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_HOSTS] = "{\"type\":\"string\",\"minLength\":1}",
	[KEY_CIDRS] = "{\"type\":\"string\",\"minLength\":2}",
	[KEY_PORTS] = "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":65535}," STRING(
		PORTS_PATTERN) "]}",
};

static void add_key(struct json_writer *writer, const struct policy_key *key);

static void add_choices(struct json_writer *writer, const struct policy_key *key)
{
	json_add_object(writer);
	json_add_name(writer, "enum");
	json_add_array(writer);
	for (const char *const *choice = key->choices; *choice; choice++)
		json_add_string(writer, *choice);
	if (key->flags & KEY_QUOTED)
		json_add_string(writer, "");
	/* A plain null in YAML is the device, not nothing. */
	if (strcmp(policy_key_name(key), "[]") == 0 && key->choices[0] &&
	    strcmp(key->choices[0], "null") == 0)
		json_add_null(writer);
	json_end_array(writer);
	json_end_object(writer);
}

static void add_value(struct json_writer *writer, const struct policy_key *key)
{
	const char *value = key->flags & KEY_QUOTED && key->type == KEY_COUNT ? STRING("^[0-9]*$")
									      : values[key->type];

	if (value)
		json_add_raw(writer, value, strlen(value));
	else
		add_choices(writer, key);
}

static void add_required(struct json_writer *writer, const struct policy_key *map)
{
	const struct policy_key *key = NULL;
	bool found = false;

	while ((key = policy_key_next(map, key))) {
		if (!(key->flags & KEY_REQUIRED))
			continue;
		if (!found) {
			json_add_name(writer, "required");
			json_add_array(writer);
		}
		found = true;
		json_add_string(writer, policy_key_name(key));
	}
	if (found)
		json_end_array(writer);
}

/* The members of a map's schema. */
static void add_map(struct json_writer *writer, const struct policy_key *map)
{
	const struct policy_key *any = policy_key_child(map, "*"), *key = NULL;

	json_member_string(writer, "type", "object");
	json_add_name(writer, "additionalProperties");
	if (map && any) {
		add_key(writer, any);
		return;
	}
	json_add_bool(writer, false);
	json_add_name(writer, "properties");
	json_add_object(writer);
	while ((key = policy_key_next(map, key))) {
		json_add_name(writer, policy_key_name(key));
		add_key(writer, key);
	}
	json_end_object(writer);
	add_required(writer, map);
}

static void add_list(struct json_writer *writer, const struct policy_key *list)
{
	json_member_string(writer, "type", "array");
	json_add_name(writer, "items");
	add_key(writer, policy_key_child(list, "[]"));
}

static void begin_alternative(struct json_writer *writer)
{
	json_add_name(writer, "anyOf");
	json_add_array(writer);
	json_add_object(writer);
}

static void next_alternative(struct json_writer *writer)
{
	json_end_object(writer);
	json_add_object(writer);
}

static void end_alternative(struct json_writer *writer)
{
	json_end_object(writer);
	json_end_array(writer);
}

static void add_key(struct json_writer *writer, const struct policy_key *key)
{
	json_add_object(writer);
	json_member_string(writer, "description", key->help);
	if (key->type == KEY_MAP) {
		add_map(writer, key);
	} else if (key->type == KEY_LIST) {
		add_list(writer, key);
	} else if (key->type == KEY_GROUPS) {
		begin_alternative(writer);
		add_list(writer, key);
		next_alternative(writer);
		add_map(writer, key);
		end_alternative(writer);
	} else {
		json_add_name(writer, "anyOf");
		json_add_array(writer);
		add_value(writer, key);
		if (key->type >= KEY_TEXTS) {
			json_add_object(writer);
			json_member_string(writer, "type", "array");
			json_add_name(writer, "items");
			add_value(writer, key);
			json_end_object(writer);
		}
		json_end_array(writer);
	}
	json_end_object(writer);
}

void policy_add_schema(struct text *out)
{
	struct json_writer writer;

	json_write(&writer, out);
	json_add_object(&writer);
	json_member_string(&writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_member_string(&writer, "title", "sbx policy");
	add_map(&writer, NULL);
	json_end_object(&writer);
	text_add_char(out, '\n');
}
