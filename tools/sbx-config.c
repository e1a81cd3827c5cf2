/* SPDX-License-Identifier: MIT */

/*
 * sbx-config: shows and changes the configuration of the tools, and which file, variable or default
 * a value comes from
 *
 * Only conveniences are configured. What a sandbox may do is never configuration: it is in a
 * policy.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#include "tool.h"

struct config_values {
	const char *where;
};

static const char *const layers[] = { "user", "project", "system", NULL };

static const struct option_spec where_options[] = {
	OPTION_ROW(struct config_values, "where", 'w', OPTION_CHOICE, where, "LAYER",
		   "which file to write", .choices = layers),
	OPTION_END,
};

static void print_value(struct tool_run *run, const struct config_key *key)
{
	struct config_value value = config_get(run->config, key->name);
	struct json_writer json;

	if (!run->json) {
		text_addf(&run->out, "%-12s %-10s %-11s %s\n", key->name, value.text,
			  config_origin_name(value.origin), value.place);
		return;
	}
	json_begin_object(&json, &run->out);
	json_member_string(&json, "key", key->name);
	json_member_string(&json, "value", value.text);
	json_member_string(&json, "origin", config_origin_name(value.origin));
	json_member_string(&json, "place", value.place);
	json_member_string(&json, "help", key->help);
	json_end_line(&json);
}

static int config_verb_list(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;

	for (const struct config_key *key = config_keys(); key->name; key++)
		print_value(run, key);
	return TOOL_YES;
}

static int config_verb_get(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct config_key *key = config_find_key(operands[0]);

	if (!key) {
		(void)config_check(operands[0], "", err);
		return TOOL_USAGE;
	}
	if (run->json)
		print_value(run, key);
	else
		text_addf(&run->out, "%s\n", config_get(run->config, key->name).text);
	return TOOL_YES;
}

/* The layer of that name, one of layers[]; without a name the user's. */
static enum config_origin origin_of(const char *layer)
{
	static const enum config_origin others[] = { CONFIG_FROM_PROJECT, CONFIG_FROM_SYSTEM };

	for (size_t i = 0; layer && i < N_ELEMENTS(others); i++)
		if (strcmp(config_origin_name(others[i]), layer) == 0)
			return others[i];
	return CONFIG_FROM_USER;
}

/* The file of the layer that --where names; *@places owns it. */
static int find_path(const struct config_values *values, struct config_places *places,
		     const char **ret, struct sbx_error *err)
{
	int r = config_places_find(environ, ".", places);

	if (r < 0)
		return sbx_error_what(err, r, "cannot find the configuration");
	*ret = config_places_path(places, origin_of(values->where));
	if (*ret)
		return 0;
	return error_fill(err, -ENOENT,
			  "neither XDG_CONFIG_HOME nor HOME is set to an absolute path",
			  "set HOME, or write --where=project",
			  "cannot determine where the configuration is");
}

static int config_verb_init(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct config_values *values = run->values;
	_cleanup_(config_places_deinit) struct config_places places = { .system_path = NULL };
	const char *path = NULL;
	int r = find_path(values, &places, &path, err);

	if (r == 0)
		r = config_create(path, origin_of(values->where), err);
	if (r == -EEXIST)
		return TOOL_NO;
	if (r < 0)
		return r;
	if (run->verbosity >= 0)
		text_addf(&run->out, "%s\n", path);
	return TOOL_YES;
}

static int config_verb_set(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct config_values *values = run->values;
	_cleanup_(config_places_deinit) struct config_places places = { .system_path = NULL };
	const char *path = NULL;
	int r;

	if (config_check(operands[0], operands[1], err) < 0)
		return TOOL_USAGE;
	r = find_path(values, &places, &path, err);
	if (r < 0)
		return r;
	r = config_save(path, origin_of(values->where), operands[0], operands[1], err);
	if (r == -EINVAL || r == -ENOTSUP)
		return TOOL_USAGE;
	if (r < 0)
		return r;
	if (run->verbosity > 0)
		text_addf(&run->out, "%s: %s: %s\n", path, operands[0], operands[1]);
	return TOOL_YES;
}

static int config_verb_places(void *context, int n_operands, char *operands[],
			      struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_(config_places_deinit) struct config_places found = { .system_path = NULL };
	int r = config_places_find(environ, ".", &found);

	if (r < 0)
		return sbx_error_what(err, r, "cannot find the configuration");
	for (size_t i = 0; layers[i]; i++) {
		const char *path = config_places_path(&found, origin_of(layers[i]));
		struct json_writer json;

		if (!run->json) {
			text_addf(&run->out, "%-8s %s\n", layers[i], path ? path : "-");
			continue;
		}
		json_begin_object(&json, &run->out);
		json_member_string(&json, "layer", layers[i]);
		json_member_string(&json, "path", path);
		json_end_line(&json);
	}
	return TOOL_YES;
}

/* For shells, which show the keys also where the configuration is invalid. */
#define LISTER "echo color; echo progress; echo log_level"

static const struct verb_spec verbs[] = {
	TOOL_VERB(config, list, NULL, OPERAND_NONE, 0, 0, NULL,
		  "print all keys, their values and sources"),
	TOOL_VERB(config, get, "KEY", OPERAND_WORD, 1, 1, NULL,
		  "print the effective value of a key", .lister = LISTER),
	TOOL_VERB(config, set, "KEY VALUE", OPERAND_WORD, 2, 2, where_options,
		  "write a value into a file", .ignores_config = true, .lister = LISTER),
	TOOL_VERB(config, init, NULL, OPERAND_NONE, 0, 0, where_options,
		  "write a file with all defaults as comments", .ignores_config = true),
	TOOL_VERB(config, places, NULL, OPERAND_NONE, 0, 0, NULL,
		  "print the paths of the configuration files", .ignores_config = true),
	{ .name = NULL },
};

static const struct tool tool = {
	.command = {
		.name = "sbx-config",
		.summary = "Shows and changes the configuration of the tools (not the policy).",
		.verbs = verbs,
	},
	.values_size = sizeof(struct config_values),
	.usage_status = TOOL_USAGE,
};

int main(int argc, char *argv[])
{
	return tool_main(&tool, argc, argv);
}
