/* SPDX-License-Identifier: MIT */

/* sbx-ctl list, inspect, ping: show sandboxes, and the host, without changing anything */

#include "ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/moment.h"
#include "base/tree.h"

#include "tool.h"

#define COMMAND_BYTES_MAX 60
#define SIGNAL_BASE 128

/* ---- the column STATUS ---- */

/* Texts for limits and failures; an exit of the command itself is shown with its number. */
static const struct {
	const char *reason;
	const char *shown;
} ends[] = {
	{ "time", "time limit" },     { "memory", "memory limit" }, { "oom", "memory limit" },
	{ "output", "output limit" }, { "setup", "not started" },   { "exec", "not executable" },
};

static void add_end(struct text *out, const struct sandbox_entry *entry)
{
	const char *reason = entry->reason ? entry->reason : "exit";
	bool is_signal = strcmp(reason, "signal") == 0 || strcmp(reason, "killed") == 0;

	for (size_t i = 0; i < N_ELEMENTS(ends); i++)
		if (strcmp(reason, ends[i].reason) == 0) {
			text_add(out, ends[i].shown);
			return;
		}
	if (is_signal && entry->status > SIGNAL_BASE)
		text_addf(out, "killed %d", entry->status - SIGNAL_BASE);
	else if (strcmp(reason, "exit") == 0)
		text_addf(out, "exit %d", entry->status);
	else
		text_add_visible_string(out, reason);
}

/* While the supervisor is alive its state counts, even if it has already written a status. */
static void add_status(struct text *out, const struct target *target)
{
	static const char *const alive[N_SANDBOX_STATES] = {
		[SANDBOX_CREATING] = "starting",     [SANDBOX_RUNNING] = "running",
		[SANDBOX_STOPPING] = "stopping",     [SANDBOX_CLEANUP] = "cleaning up",
		[SANDBOX_DESTROYED] = "cleaning up", [SANDBOX_FAILED] = "cleaning up",
	};
	const struct sandbox_entry *entry = &target->entry;

	if (target->is_alive)
		text_add(out, entry->is_paused ? "paused" : alive[entry->state]);
	else if (ctl_has_ended(entry) && entry->has_status)
		add_end(out, entry);
	else if (ctl_has_ended(entry))
		text_add(out, "ended");
	else
		text_add(out, entry->waits ? "created" : "orphaned");
}

/* ---- the other columns ---- */

void ctl_add_age(struct table *table, uint64_t since_usec)
{
	static const struct {
		uint64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	uint64_t now = moment_now(CLOCK_REALTIME), seconds = 0;
	_cleanup_text_ struct text age = TEXT_INIT;
	size_t i = 0;

	if (now > since_usec)
		seconds = (now - since_usec) / USEC_PER_SEC;
	while (i + 1 < N_ELEMENTS(units) && seconds < 2 * units[i].seconds)
		i++;
	text_addf(&age, "%" PRIu64 "%c", seconds / units[i].seconds, units[i].unit);
	table_add(table, since_usec > 0 ? text_string(&age) : "-");
}

static void add_command(struct table *table, const char *const *argv)
{
	_cleanup_text_ struct text whole = TEXT_INIT, cell = TEXT_INIT;
	size_t len;

	for (size_t i = 0; argv && argv[i]; i++)
		text_addf(&whole, i > 0 ? " %s" : "%s", argv[i]);
	len = whole.len > COMMAND_BYTES_MAX ? COMMAND_BYTES_MAX : whole.len;
	/* Do not cut inside a UTF-8 character. */
	while (len < whole.len && len > 0 && ((unsigned char)whole.data[len] & 0xc0) == 0x80)
		len--;
	text_add_visible(&cell, text_string(&whole), len);
	if (len < whole.len)
		text_add(&cell, "...");
	table_add(table, cell.len > 0 ? text_string(&cell) : "-");
}

static void add_row(struct table *table, const struct target *target)
{
	const struct sandbox_entry *entry = &target->entry;
	_cleanup_text_ struct text status = TEXT_INIT;
	char pid[16] = "-";

	if (target->is_alive && entry->supervisor > 0)
		(void)snprintf(pid, sizeof(pid), "%d", (int)entry->supervisor);
	table_add(table, entry->id);
	add_status(&status, target);
	table_add(table, text_string(&status));
	ctl_add_age(table, entry->created_usec);
	table_add(table, pid);
	table_add(table, entry->tier ? entry->tier : "-");
	add_command(table, entry->argv);
}

/* 1: it was removed meanwhile, which is fine, or it is not accessible, which is a warning. The
 * first other error ends the list. */
static int list_read(struct ctl *ctl, const char *id, struct target *ret, struct sbx_error *err)
{
	struct sbx_error why = { .code = 0 };
	int r = ctl_read(ctl, id, ret, &why);

	if (r == -EACCES)
		ctl_warn(ctl, &why);
	else if (r < 0 && r != -ENOENT && err)
		*err = why;
	return r == -EACCES || r == -ENOENT ? 1 : r;
}

int ctl_verb_list(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	static const char *const names[] = { "ID", "STATUS", "AGE", "PID", "TIER", "COMMAND" };
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	_cleanup_table_ struct table table = { .n_columns = N_ELEMENTS(names) };
	const char *const *ids = NULL;
	int r = ctl_init(&ctl, context, err), first = 0;

	if (r == 0)
		r = registry_list(ctl.registry, &ctl.arena, &ids, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		table_add(&table, names[i]);
	for (; ids && *ids; ids++) {
		struct target target;

		r = list_read(&ctl, *ids, &target, first < 0 ? NULL : err);
		if (first == 0)
			first = r < 0 ? r : 0;
		if (r != 0)
			continue;
		if (ctl.run->json)
			sandbox_entry_add_json(&ctl.run->out, &target.entry, target.is_alive);
		else if (ctl.run->verbosity < 0)
			text_addf(&ctl.run->out, "%s\n", *ids);
		else
			add_row(&table, &target);
	}
	if (!ctl.run->json && ctl.run->verbosity >= 0)
		table_print(&table, &ctl.run->out);
	return first;
}

static int inspect_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	const char *const *words = NULL;
	struct json_writer json;
	struct target target;
	int r = ctl_read(ctl, id, &target, err);

	if (r < 0)
		return r;
	if (configuration_read(ctl, id, &words, NULL) < 0)
		words = NULL;
	json_begin_object(&json, &ctl->run->out);
	sandbox_entry_add_members(&json, &target.entry);
	json_member_bool(&json, "paused", target.entry.is_paused);
	json_member_bool(&json, "alive", target.is_alive);
	json_add_name(&json, "configuration");
	if (words) {
		json_add_array(&json);
		for (words++; *words; words++)
			json_add_string(&json, *words);
		json_end_array(&json);
	} else {
		json_add_null(&json);
	}
	json_end_line(&json);
	return 0;
}

int ctl_verb_inspect(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, inspect_one, err);
}

/* ---- ping: does the host have everything that a sandbox needs? Is this sandbox running? ---- */

static int ping_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	struct target target;
	int r = ctl_read_running(ctl, id, &target, err);

	if (r == 0)
		ctl_say(ctl, id, target.entry.is_paused ? "is paused" : "is running");
	return r;
}

static const char *text_of(const struct tree *tree, const struct tree_node *map, const char *key)
{
	const struct tree_node *node =
		map && map->type == TREE_MAP ? tree_get(tree, map, key) : NULL;

	return node ? node->text : NULL;
}

static int ping_host(struct ctl *ctl, struct sbx_error *err)
{
	static const char *const words[] = { "--check", "--json", NULL };
	_cleanup_tree_ struct tree *tree = NULL;
	const struct tree_node *full;
	const char *holds, *why, *fix;
	int r = spawn_ask(ctl, NULL, words, &tree, err);

	if (r < 0)
		return r;
	full = tree_get(tree, tree_root(tree), "full");
	holds = text_of(tree, full, "holds");
	why = text_of(tree, full, "why");
	fix = text_of(tree, full, "fix");
	if (!holds || strcmp(holds, "true") != 0)
		return error_fill(err, -ENOTSUP, why ? why : "something that they need is missing",
				  fix ? fix : "see 'sbx-spawn --check' for what to change",
				  "this host cannot build sandboxes with every layer");
	ctl_say(ctl, "sbx", "ready");
	return 0;
}

int ctl_verb_ping(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	_cleanup_ctl_ struct ctl ctl = CTL_INIT;
	int r;

	if (n_operands > 0)
		return ctl_each(context, n_operands, operands, ping_one, err);
	r = ctl_init(&ctl, context, err);
	if (r < 0)
		return r;
	r = ping_host(&ctl, err);
	return r == -ENOTSUP ? TOOL_NO : r;
}
