/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring ls: the channels with a name, from the sockets of their keepers
 *
 * A socket on which no process listens is one of a keeper that was killed; "create" replaces it.
 */

#include "ring.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"

#include "tool.h"

#define N_COLUMNS 8

/* Why a keeper is shown without numbers. */
static const char *ask(const char *name, struct ring_status *ret)
{
	int r = ring_status_ask(name, ret);

	if (r >= 0)
		return NULL;
	return r == -ENOENT ? "dead" : r == -EPERM ? "not_yours" : "no_answer";
}

static void add_pid(struct table *table, uint64_t pid)
{
	if (pid > 0)
		table_add_number(table, pid);
	else
		table_add(table, "-");
}

static void add_size(struct table *table, uint64_t bytes)
{
	_cleanup_text_ struct text size = TEXT_INIT;

	units_add_size(&size, bytes);
	table_add(table, text_string(&size));
}

static void add_row(struct table *table, const char *name, const char *problem,
		    const struct ring_status *status)
{
	table_add(table, name);
	table_add(table, problem ? problem : status->state);
	if (problem) {
		for (int i = 2; i < N_COLUMNS; i++)
			table_add(table, "-");
		return;
	}
	table_add(table, status->mode);
	add_size(table, 2 * status->capacity);
	add_size(table, status->n_bytes[SBX_RING_SERVER] + status->n_bytes[SBX_RING_CLIENT]);
	add_pid(table, status->keeper_pid);
	add_pid(table, status->pids[SBX_RING_SERVER]);
	add_pid(table, status->pids[SBX_RING_CLIENT]);
}

static void add_object(struct text *out, const char *name, const char *problem,
		       const struct ring_status *status)
{
	struct json_writer json;

	json_begin_object(&json, out);
	json_member_string(&json, "name", name);
	json_member_string(&json, "state", problem ? problem : status->state);
	if (!problem) {
		json_member_string(&json, "mode", status->mode);
		json_member_u64(&json, "capacity", status->capacity);
		json_member_u64(&json, "bytes", 2 * status->capacity);
		json_member_u64(&json, "keeper_pid", status->keeper_pid);
		json_member_u64(&json, "server_pid", status->pids[SBX_RING_SERVER]);
		json_member_u64(&json, "client_pid", status->pids[SBX_RING_CLIENT]);
		json_member_u64(&json, "server_bytes", status->n_bytes[SBX_RING_SERVER]);
		json_member_u64(&json, "client_bytes", status->n_bytes[SBX_RING_CLIENT]);
	}
	json_end_line(&json);
}

/* DT_UNKNOWN: the file system does not tell. */
static int is_socket_of_channel(const struct dirent *entry)
{
	if (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN)
		return 0;

	_cleanup_free_ char *name = strdup(entry->d_name);
	char *suffix = name ? strrchr(name, '.') : NULL;

	if (!suffix || strcmp(suffix, NAMED_SUFFIX) != 0)
		return 0;
	*suffix = '\0';
	return named_is_valid(name);
}

static void list(struct tool_run *run, struct dirent **entries, int n_entries)
{
	static const char *const titles[N_COLUMNS] = { "NAME",	 "STATE",  "MODE",   "SIZE",
						       "ON WAY", "KEEPER", "SERVER", "CLIENT" };
	_cleanup_table_ struct table table = { .n_columns = N_COLUMNS, .numbers = 0xf8 };

	for (int i = 0; i < N_COLUMNS; i++)
		table_add(&table, titles[i]);
	for (int i = 0; i < n_entries; i++) {
		char *name = entries[i]->d_name;
		struct ring_status status;
		const char *problem;

		name[strlen(name) - strlen(NAMED_SUFFIX)] = '\0';
		problem = ask(name, &status);
		if (run->json)
			add_object(&run->out, name, problem, &status);
		else if (run->verbosity < 0)
			text_addf(&run->out, "%s\n", name);
		else
			add_row(&table, name, problem, &status);
	}
	if (!run->json && run->verbosity >= 0 && n_entries > 0)
		table_print(&table, &run->out);
}

int ring_verb_ls(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	_cleanup_text_ struct text path = TEXT_INIT;
	struct dirent **entries = NULL;
	int n;

	if (named_add_directory(&path, environ) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot list the channels");
	n = scandir(text_string(&path), &entries, is_socket_of_channel, alphasort);
	if (n < 0 && errno == ENOENT)
		n = 0;
	if (n < 0)
		return error_fill(err, -errno, NULL, "check its owner and mode",
				  "cannot list the channels in '%s'", text_string(&path));
	list(run, entries, n);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return TOOL_YES;
}
