/* SPDX-License-Identifier: MIT */

/*
 * Writes and parses an entry as JSON, both by one table of members
 *
 * The file may have been written by an older or newer version of sbx: a member that is missing or
 * null is not known, an unknown one is ignored, one of the wrong type is an error.
 */

#include "registry/registry-internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <sbx/error.h>

#include "base/json.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/units.h"

/* A command may have megabytes of arguments; the entry keeps only their beginning. */
#define ARGV_BYTES_MAX 16384
#define ARGV_CUT "..."
#define STATUS_MAX 255

/* Functions of a member's type: to write it, and to parse it into @at. */
struct member_kind {
	void (*add)(struct json_writer *json, const struct sandbox_entry *entry, const void *at);
	int (*read)(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		    void *at);
};

static int read_number(const struct tree_node *node, uint64_t most, uint64_t *ret)
{
	uint64_t number;

	if (node->type != TREE_NUMBER || units_parse_count(node->text, &number, NULL) < 0 ||
	    number > most)
		return -EBADMSG;
	*ret = number;
	return 0;
}

static void add_number(struct json_writer *json, uint64_t number)
{
	if (number > 0)
		json_add_u64(json, number);
	else
		json_add_null(json);
}

static int read_string(const struct tree_node *node, struct arena *arena, const char **ret)
{
	if (node->type != TREE_STRING)
		return -EBADMSG;
	*ret = arena_copy(arena, node->text, node->text_len);
	return *ret ? 0 : -ENOMEM;
}

static void add_text(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	json_add_string(json, *(const char *const *)at);
}

static int read_text(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		     void *at)
{
	return read_string(node, arena, at);
}

static void add_state(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	json_add_string(json, sandbox_state_name(*(const enum sandbox_state *)at));
}

static int read_state(const struct tree_node *node, struct arena *arena,
		      struct sandbox_entry *entry, void *at)
{
	enum sandbox_state state = sandbox_state_find(node->text);

	if (node->type != TREE_STRING || state == N_SANDBOX_STATES)
		return -EBADMSG;
	*(enum sandbox_state *)at = state;
	return 0;
}

static void add_pid(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	add_number(json, (uint64_t)(*(const pid_t *)at));
}

static int read_pid(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		    void *at)
{
	uint64_t number = 0;
	int r = read_number(node, INT_MAX, &number);

	*(pid_t *)at = (pid_t)number;
	return r;
}

static void add_uid(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	add_number(json, *(const uid_t *)at);
}

static int read_uid(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		    void *at)
{
	uint64_t number = 0;
	int r = read_number(node, UINT_MAX - 1, &number);

	*(uid_t *)at = (uid_t)number;
	return r;
}

static void add_u64(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	add_number(json, *(const uint64_t *)at);
}

static int read_u64(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		    void *at)
{
	return read_number(node, UINT64_MAX, at);
}

static void add_bool(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	json_add_bool(json, *(const bool *)at);
}

static int read_bool(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		     void *at)
{
	*(bool *)at = strcmp(node->text, "true") == 0;
	return node->type == TREE_BOOL ? 0 : -EBADMSG;
}

static void add_status(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	if (entry->has_status)
		json_add_i64(json, *(const int *)at);
	else
		json_add_null(json);
}

static int read_status(const struct tree_node *node, struct arena *arena,
		       struct sandbox_entry *entry, void *at)
{
	uint64_t number = 0;
	int r = read_number(node, STATUS_MAX, &number);

	*(int *)at = (int)number;
	entry->has_status = r == 0;
	return r;
}

static void add_argv(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	const char *const *argv = *(const char *const *const *)at;
	size_t n_bytes = 0;

	if (!argv) {
		json_add_null(json);
		return;
	}
	json_add_array(json);
	for (; *argv && n_bytes < ARGV_BYTES_MAX; argv++) {
		size_t len = strnlen(*argv, ARGV_BYTES_MAX - n_bytes);

		json_add_string_bytes(json, *argv, len);
		n_bytes += len + 1;
	}
	if (*argv)
		json_add_string(json, ARGV_CUT);
	json_end_array(json);
}

static int read_argv(const struct tree_node *node, struct arena *arena, struct sandbox_entry *entry,
		     void *at)
{
	const char **argv = arena_alloc(arena, (node->n_children + 1) * sizeof(*argv));
	size_t n = 0;
	int r = node->type == TREE_LIST ? 0 : -EBADMSG;

	if (!argv)
		return -ENOMEM;
	for (const struct tree_node *word = node->first; word && r == 0; word = word->next)
		r = read_string(word, arena, &argv[n++]);
	*(const char *const **)at = argv;
	return r;
}

static void add_network(struct json_writer *json, const struct sandbox_entry *entry, const void *at)
{
	const struct sandbox_network *network = at;

	if (!network->mode) {
		json_add_null(json);
		return;
	}
	json_add_object(json);
	json_member_string(json, "mode", network->mode);
	if (network->proxy) {
		json_member_string(json, "proxy", network->proxy);
		json_member_u64(json, "port", network->port);
	}
	json_end_object(json);
}

static int read_network(const struct tree_node *node, struct arena *arena,
			struct sandbox_entry *entry, void *at)
{
	struct sandbox_network *network = at;
	uint64_t port = 0;
	int r = node->type == TREE_MAP ? 0 : -EBADMSG;

	for (const struct tree_node *member = node->first; member && r == 0;
	     member = member->next) {
		if (strcmp(member->key, "mode") == 0)
			r = read_string(member, arena, &network->mode);
		else if (strcmp(member->key, "proxy") == 0)
			r = read_string(member, arena, &network->proxy);
		else if (strcmp(member->key, "port") == 0)
			r = read_number(member, UINT16_MAX, &port);
	}
	network->port = (uint16_t)port;
	return r;
}

static const struct member_kind text_kind = { add_text, read_text },
				state_kind = { add_state, read_state },
				pid_kind = { add_pid, read_pid }, uid_kind = { add_uid, read_uid },
				u64_kind = { add_u64, read_u64 },
				bool_kind = { add_bool, read_bool },
				status_kind = { add_status, read_status },
				argv_kind = { add_argv, read_argv },
				network_kind = { add_network, read_network };

#define MEMBER(name, kind)                                                                         \
	{                                                                                          \
#name, &(kind), offsetof(struct sandbox_entry, name)                               \
	}

static const struct member {
	const char *name;
	const struct member_kind *kind;
	size_t offset;
} members[] = {
	MEMBER(id, text_kind),		MEMBER(state, state_kind),
	MEMBER(supervisor, pid_kind),	MEMBER(supervisor_start, u64_kind),
	MEMBER(init, pid_kind),		MEMBER(init_start, u64_kind),
	MEMBER(cgroup, text_kind),	MEMBER(unit, text_kind),
	MEMBER(argv, argv_kind),	MEMBER(cwd, text_kind),
	MEMBER(policy, text_kind),	MEMBER(policy_digest, text_kind),
	MEMBER(policy_rules, u64_kind), MEMBER(audit, text_kind),
	MEMBER(template, text_kind),	MEMBER(tier, text_kind),
	MEMBER(network, network_kind),	MEMBER(out_directory, text_kind),
	MEMBER(out_work, text_kind),	MEMBER(out_layer, text_kind),
	MEMBER(uid, uid_kind),		MEMBER(created_usec, u64_kind),
	MEMBER(may_exec, bool_kind),	MEMBER(status, status_kind),
	MEMBER(reason, text_kind),
};

/* Names that versions before this one wrote: a sandbox of theirs may run still. */
static const struct {
	const char *name, *old;
} renamed[] = {
	{ "out_directory", "out_folder" },
};

static const struct tree_node *find_member(const struct tree *tree, const char *name)
{
	const struct tree_node *node = tree_get(tree, tree_root(tree), name);

	for (size_t i = 0; !node && i < N_ELEMENTS(renamed); i++)
		if (strcmp(renamed[i].name, name) == 0)
			node = tree_get(tree, tree_root(tree), renamed[i].old);
	return node;
}

void sandbox_entry_add_members(struct json_writer *json, const struct sandbox_entry *entry)
{
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		json_add_name(json, members[i].name);
		members[i].kind->add(json, entry, (const char *)entry + members[i].offset);
	}
}

void entry_add_state(struct text *out, const struct sandbox_entry *entry)
{
	struct json_writer json;

	json_begin_object(&json, out);
	sandbox_entry_add_members(&json, entry);
	json_end_line(&json);
}

void sandbox_entry_add_json(struct text *out, const struct sandbox_entry *entry, bool is_alive)
{
	struct json_writer json;

	json_begin_object(&json, out);
	sandbox_entry_add_members(&json, entry);
	json_member_bool(&json, "paused", entry->is_paused);
	json_member_bool(&json, "alive", is_alive);
	json_end_line(&json);
}

static int fail_to_read(const char *id, int code, const char *member, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot read the state of the sandbox '%s'", id);
	if (member)
		sbx_error_why(err, "'%s' in its " STATE_NAME " is not valid", member);
	sbx_error_fix(err, "if it is not running, 'sbx-ctl remove --force %s'", id);
	return code;
}

int entry_read_state(const char *id, const void *bytes, size_t n_bytes, struct arena *arena,
		     struct sandbox_entry *ret, struct sbx_error *err)
{
	_cleanup_tree_ struct tree *tree = NULL;
	struct sandbox_entry entry = { .state = N_SANDBOX_STATES };
	int r = tree_read(STATE_NAME, bytes, n_bytes, &tree, NULL);

	if (r < 0 || tree_root(tree)->type != TREE_MAP)
		return fail_to_read(id, r == -ENOMEM ? r : -EBADMSG, "{", err);
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		const struct tree_node *node = find_member(tree, members[i].name);

		if (!node || node->type == TREE_NULL)
			continue;
		r = members[i].kind->read(node, arena, &entry, (char *)&entry + members[i].offset);
		if (r < 0)
			return fail_to_read(id, r, members[i].name, err);
	}
	if (entry.state == N_SANDBOX_STATES)
		return fail_to_read(id, -EBADMSG, "state", err);
	if (!entry.id || strcmp(entry.id, id) != 0)
		return fail_to_read(id, -EBADMSG, "id", err);
	*ret = entry;
	return 0;
}
