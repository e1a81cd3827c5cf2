/* SPDX-License-Identifier: MIT */

/*
 * Every key of a policy file, in every dialect
 *
 * One row per key. A map's row is directly followed by the rows of its keys, whose paths begin with
 * its own. A condition occurs twice in a policy (match and except), as does a manifest's sandbox
 * (alone and under security); macros expand these rows.
 */

#include "policy/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/limit.h"
#include "policy/network.h"
#include "policy/view.h"

/* clang-format off */
static const char *const actions[] = { "allow", "deny", "require_review", "warn", "pass", NULL };
static const char *const default_actions[] = { "deny", "allow", "require_review", "warn", NULL };
static const char *const protos[] = { "tcp", "udp", NULL };
static const char *const tls_demands[] = { "sni", "any", NULL };
static const char *const levels[] = { "L1", "L2", NULL };
static const char *const perms[] = {
	"read_file", "write_file", "execute", "read_dir", "write_dir", "remove_dir", "remove_file",
	"make_char", "make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym", NULL,
};
static const char *const profiles[] = { "strict", "standard", NULL };
static const char *const tiers[] = { "full", "no-userns", "landlock-only", "reduced", NULL };
static const char *const limit_modes[] = { "strict", "best-effort", NULL };
static const char *const mount_modes[] = { "ro", "rw", "tmpfs", "overlay", "mask", NULL };
static const char *const devices[] = {
	"null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "dri", "nvidia", "kvm",
	"fuse", "tun", "snd", "video", NULL,
};
static const char *const rotations[] = { "hourly", "daily", "weekly", "monthly", NULL };
static const char *const exports[] = { "jsonl", NULL };
static const char *const sandbox_types[] = {
	"PROCESS", "NAMESPACE", "CONTAINER", "SECCOMP", "APPARMOR", "SELINUX", "NONE", NULL,
};
static const char *const transports[] = { "shared_memory", "unix_socket", "tcp", NULL };

enum {
	SET = KEY_SETTING,
	REQ = KEY_REQUIRED,
	POS = KEY_POSITIVE,
	QUO = KEY_QUOTED,
};

#define CONDITION(at)                                                                              \
	{ at ".syscall", KEY_OPERATIONS, 0, NULL, "the operations: fs.write, fs.* or *" },         \
	{ at ".operation", KEY_OPERATIONS, 0, NULL, "alias of syscall" },                       \
	{ at ".op", KEY_OPERATIONS, 0, NULL, "alias of syscall" },                              \
	{ at ".perms", KEY_CHOICES, 0, perms, "file permissions instead of operations" },          \
	{ at ".path_glob", KEY_GLOBS, 0, NULL, "globs as in .gitignore; one with '!' excludes" },  \
	{ at ".path", KEY_LITERALS, 0, NULL, "literal paths and everything below them" },   \
	{ at ".host", KEY_HOSTS, 0, NULL, "host names: example.com, *.example.com" },              \
	{ at ".cidr", KEY_CIDRS, 0, NULL, "addresses and networks: 10.0.0.0/8, ::1" },             \
	{ at ".proto", KEY_CHOICES, 0, protos, "protocols" },                                      \
	{ at ".ports", KEY_PORTS, 0, NULL, "ports and ranges: 443, 8000-9000" },                   \
	{ at ".caller", KEY_TEXTS, 0, NULL, "names of callers" },                                  \
	{ at ".caller_tag", KEY_TEXTS, 0, NULL, "tags of the caller; one of them is enough" },         \
	{ at ".state", KEY_TEXTS, 0, NULL, "states of the workflow" },                             \
	{ at ".state_machine_state", KEY_TEXTS, 0, NULL, "alias of state" },                    \
	{ at ".mode", KEY_TEXTS, 0, NULL, "modes of the session: strict, explore, debug" }

#define SANDBOX(at)                                                                                \
	{ at, KEY_MAP, 0, NULL, "a module's manifest: how it is sandboxed" },                      \
	{ at ".enabled", KEY_BOOL, SET, NULL, "must be true" },                                    \
	{ at ".type", KEY_CHOICE, SET, sandbox_types, "kind of sandbox" },                         \
	{ at ".config", KEY_MAP, 0, NULL, "permissions and limits of the module" },                      \
	{ at ".config.allowNetworkAccess", KEY_BOOL, 0, NULL, "whether it may open connections" },        \
	{ at ".config.allowFileSystemAccess", KEY_BOOL, 0, NULL, "whether it may use allowedPaths" },     \
	{ at ".config.allowedPaths", KEY_LITERALS, 0, NULL, "paths that it may read and write" },  \
	{ at ".config.maxMemoryMB", KEY_COUNT, POS, NULL, "memory in MiB" },                       \
	{ at ".config.maxCPUPercent", KEY_COUNT, POS, NULL, "percent of one processor" },          \
	{ at ".config.maxFileDescriptors", KEY_COUNT, POS, NULL, "open files" },                   \
	{ at ".config.maxThreads", KEY_COUNT, POS, NULL, "processes and threads" },                \
	{ at ".config.properties", KEY_MAP, 0, NULL, "how other programs reach it; all values are strings" }, \
	{ at ".config.properties.ipc_transport", KEY_CHOICE, SET | QUO, transports, "transport" }, \
	{ at ".config.properties.ipc_buffer_size", KEY_COUNT, SET | QUO | POS, NULL,               \
	  "slots of the ring" },                                                                   \
	{ at ".config.properties.ipc_shm_size", KEY_COUNT, SET | QUO | POS, NULL,                  \
	  "bytes of shared memory" },                                                              \
	{ at ".config.properties.ipc_timeout_ms", KEY_COUNT, SET | QUO | POS, NULL,                \
	  "milliseconds to wait for an answer" },                                                  \
	{ at ".config.properties.ipc_endpoint", KEY_TEXT, SET | QUO, NULL, "where to connect" }

#define LIMIT_KEY(id, key, option, type, meta, called, a, b, c, d, help)                           \
	{ "limits." key, KEY_##type, SET | POS, NULL, help },

static const struct policy_key keys[] = {
	{ "version", KEY_COUNT, 0, NULL, "version of the format: 1" },

	{ "capabilities", KEY_LIST, 0, NULL, "rules" },
	{ "capabilities[]", KEY_MAP, 0, NULL, "a rule" },
	{ "capabilities[].name", KEY_LINE, REQ, NULL, "its name, shown with every decision" },
	{ "capabilities[].match", KEY_MAP, REQ, NULL, "requests that it applies to: all keys must match" },
	CONDITION("capabilities[].match"),
	{ "capabilities[].action", KEY_CHOICE, REQ, actions, "its decision" },
	{ "capabilities[].except", KEY_LIST, 0, NULL, "conditions, any of which cancels the rule" },
	{ "capabilities[].except[]", KEY_MAP, 0, NULL, "an exception: all keys must match" },
	CONDITION("capabilities[].except[]"),
	{ "capabilities[].constraints", KEY_MAP, 0, NULL, "further requirements of an allow" },
	{ "capabilities[].constraints.require_sandbox", KEY_CHOICE, 0, levels, "required level of the sandbox" },
	{ "capabilities[].constraints.require_capability_token", KEY_BOOL, 0, NULL, "whether a token is required" },
	{ "capabilities[].constraints.max_file_size", KEY_SIZE, 0, NULL, "largest file to write" },
	{ "capabilities[].constraints.sha256", KEY_SHA256, 0, NULL, "the program's own digest" },
	{ "capabilities[].constraints.tls", KEY_CHOICE, 0, tls_demands, "sni: only TLS to the host that was asked for; any: no demand" },
	{ "capabilities[].reason", KEY_TEXT, 0, NULL, "explanation, shown with the decision" },
	{ "capabilities[].examples", KEY_MAP, 0, NULL, "requests that are tested at every load" },
	{ "capabilities[].examples.match", KEY_TEXTS, 0, NULL, "'fs.write src/a.c': the rule must apply" },
	{ "capabilities[].examples.not_match", KEY_TEXTS, 0, NULL, "requests to which the rule must not apply" },

	{ "network_whitelist", KEY_GROUPS, 0, NULL, "hosts that may be reached, or groups of them" },
	{ "network_whitelist[]", KEY_HOST_PORT, 0, NULL, "a host; port 443 unless it has ':PORT'" },
	{ "network_whitelist.*", KEY_LIST, 0, NULL, "a group" },
	{ "network_whitelist.*[]", KEY_HOST_PORT, 0, NULL, "a host; port 443 unless it has ':PORT'" },

	{ "defaults", KEY_MAP, 0, NULL, "decisions where no rule matches; deny if not given" },
	{ "defaults.fs", KEY_CHOICE, 0, default_actions, "for files" },
	{ "defaults.net", KEY_CHOICE, 0, default_actions, "for the network" },
	{ "defaults.exec", KEY_CHOICE, 0, default_actions, "for programs" },
	{ "defaults.tool", KEY_CHOICE, 0, default_actions, "for everything else" },

	{ "view", KEY_CHOICE, 0, view_names, "the implicit view: none, system directories, or also the project" },

	{ "fs", KEY_MAP, 0, NULL, "files" },
	{ "fs.rules", KEY_LIST, 0, NULL, "rules for files" },
	{ "fs.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "fs.rules[].action", KEY_CHOICE, REQ, actions, "its decision" },
	{ "fs.rules[].path", KEY_LITERALS, REQ, NULL, "a path and everything below it" },
	{ "fs.rules[].perms", KEY_CHOICES, 0, perms, "permissions; read, write and list if not given" },

	{ "exec", KEY_MAP, 0, NULL, "programs" },
	{ "exec.rules", KEY_LIST, 0, NULL, "rules for programs" },
	{ "exec.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "exec.rules[].action", KEY_CHOICE, REQ, actions, "its decision" },
	{ "exec.rules[].path", KEY_LITERALS, REQ, NULL, "the program" },
	{ "exec.rules[].sha256", KEY_SHA256, 0, NULL, "its digest" },

	{ "net", KEY_MAP, 0, NULL, "the network" },
	{ "net.rules", KEY_LIST, 0, NULL, "rules for connections" },
	{ "net.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "net.rules[].action", KEY_CHOICE, REQ, actions, "its decision" },
	{ "net.rules[].proto", KEY_CHOICES, 0, protos, "protocol" },
	{ "net.rules[].cidr", KEY_CIDRS, 0, NULL, "address or network" },
	{ "net.rules[].host", KEY_HOSTS, 0, NULL, "host name" },
	{ "net.rules[].ports", KEY_PORTS, 0, NULL, "ports and ranges: \"80,443,8000-9000\"" },
	{ "net.rules[].tls", KEY_CHOICE, 0, tls_demands, "sni: only TLS to the host that was asked for; any: no demand" },
	{ "net.mode", KEY_CHOICE, SET, net_mode_names, "how the sandbox is connected" },
	{ "net.allowed_hosts", KEY_TEXTS, 0, NULL, "groups of network_whitelist that the sandbox may reach" },
	{ "net.loopback", KEY_MAP, 0, NULL, "ports of the host's loopback" },
	{ "net.loopback.connect", KEY_LIST, SET, NULL, "ports that the command may connect to" },
	{ "net.loopback.connect[]", KEY_PORT, SET, NULL, "a port" },
	{ "net.loopback.bind", KEY_LIST, SET, NULL, "ports that the command may listen on" },
	{ "net.loopback.bind[]", KEY_PORT, SET, NULL, "a port" },
	{ "net.limits", KEY_MAP, 0, NULL, "limits of the connections through sbx-proxy" },
	{ "net.limits.connections", KEY_COUNT, SET | POS, NULL, "how many at once" },
	{ "net.limits.bytes", KEY_SIZE, SET | POS, NULL, "all of them together, in both directions" },
	{ "net.limits.rate", KEY_SIZE, SET | POS, NULL, "all of them together, per second" },
	{ "net.unix", KEY_LIST, SET, NULL, "Unix sockets of the host that the command may use" },
	{ "net.unix[]", KEY_FILE, SET, NULL, "a socket" },

	{ "plugins", KEY_MAP, 0, NULL, "layers that are required to start" },
	{ "plugins.namespaces", KEY_BOOL, SET, NULL, "namespaces" },
	{ "plugins.landlock", KEY_BOOL, SET, NULL, "Landlock" },
	{ "plugins.seccomp", KEY_BOOL, SET, NULL, "a system call filter" },
	{ "denySyscalls", KEY_LIST, SET, NULL, "system calls that fail" },
	{ "denySyscalls[]", KEY_SYSCALL, SET, NULL, "a system call" },
	{ "antiEscape", KEY_MAP, 0, NULL, "alias that contains denySyscalls" },
	{ "antiEscape.denySyscalls", KEY_LIST, SET, NULL, "system calls that fail" },
	{ "antiEscape.denySyscalls[]", KEY_SYSCALL, SET, NULL, "a system call" },

	{ "audit", KEY_MAP, 0, NULL, "the log" },
	{ "audit.enabled", KEY_TRUE, SET, NULL, "must be true: the log is always written" },
	{ "audit.events", KEY_LIST, SET, NULL, "must be empty: no event is left out" },
	{ "audit.events[]", KEY_NEVER, SET, NULL, "every recorded event is kept, and this version has no further events" },
	{ "audit.retention_days", KEY_COUNT, SET | POS, NULL, "days to keep records" },
	{ "audit.max_size", KEY_SIZE, SET | POS, NULL, "largest size of the log" },
	{ "audit.rotation", KEY_CHOICE, SET, rotations, "how often a new file begins" },
	{ "audit.export_format", KEY_CHOICE, SET, exports, "format of archives" },
	{ "audit.redact", KEY_LIST, SET, NULL, "further secrets to cut out of records" },
	{ "audit.redact[]", KEY_TEXT, SET, NULL, "a regular expression of PCRE2" },
	{ "audit.keep_originals", KEY_BOOL, SET, NULL, "keep texts from which secrets were removed" },

	{ "scheduler", KEY_MAP, 0, NULL, "how many sandboxes run at once" },
	{ "scheduler.global_max", KEY_COUNT, SET | POS, NULL, "for all templates together" },
	{ "scheduler.per_template", KEY_MAP, 0, NULL, "for single templates" },
	{ "scheduler.per_template.*", KEY_COUNT, SET | POS, NULL, "how many of this template" },
	{ "scheduler.age_threshold", KEY_TIME, SET | POS, NULL, "waiting time that raises a task" },

	{ "extensions", KEY_LIST, 0, NULL, "programs that vote on requests" },
	{ "extensions[]", KEY_MAP, 0, NULL, "a program" },
	{ "extensions[].name", KEY_LINE, REQ, NULL, "its name" },
	{ "extensions[].command", KEY_LIST, REQ, NULL, "its absolute path and its arguments" },
	{ "extensions[].command[]", KEY_TEXT, 0, NULL, "an argument" },

	{ "isolation", KEY_MAP, 0, NULL, "layers around the command" },
	{ "isolation.template", KEY_CHOICE, SET, policy_template_names, "template for all settings that are not given" },
	{ "isolation.namespaces", KEY_BOOL, SET, NULL, "whether namespaces are required" },
	{ "isolation.landlock", KEY_BOOL, SET, NULL, "whether Landlock is required" },
	{ "isolation.seccomp", KEY_CHOICE, SET, profiles, "profile of the system call filter" },
	{ "isolation.tier", KEY_CHOICE, SET, tiers, "the weakest tier that is accepted" },
	{ "isolation.nested", KEY_BOOL, SET, NULL, "whether the command may build sandboxes" },

	{ "limits", KEY_MAP, 0, NULL, "resource limits of the command" },
	POLICY_LIMITS(LIMIT_KEY)
	{ "limits.mode", KEY_CHOICE, SET, limit_modes, "refuse to start if a limit cannot be enforced, or enforce what is possible" },

	{ "mounts", KEY_LIST, SET, NULL, "mounts in the sandbox's file tree" },
	{ "mounts[]", KEY_MAP, 0, NULL, "a mount" },
	{ "mounts[].source", KEY_PATH, SET, NULL, "path on the host" },
	{ "mounts[].target", KEY_PATH, SET | REQ, NULL, "path in the sandbox" },
	{ "mounts[].mode", KEY_CHOICE, SET, mount_modes, "how to mount; ro if not given" },
	{ "mounts[].optional", KEY_BOOL, SET, NULL, "skip the mount if the source does not exist" },
	{ "mounts[].size", KEY_SIZE, SET | POS, NULL, "size of a tmpfs" },
	{ "devices", KEY_LIST, SET, NULL, "devices in the sandbox" },
	{ "devices[]", KEY_CHOICE, SET, devices, "a device, or a group of devices" },
	{ "env", KEY_MAP, 0, NULL, "environment of the command" },
	{ "env.allow", KEY_LIST, SET, NULL, "variables that are passed" },
	{ "env.allow[]", KEY_WORD, SET, NULL, "a name; LC_* matches all that begin with LC_" },
	{ "env.set", KEY_MAP, 0, NULL, "variables with a value" },
	{ "env.set.*", KEY_TEXT, SET, NULL, "a value" },
	{ "env.secrets", KEY_MAP, 0, NULL, "variables with the path of a file's private copy" },
	{ "env.secrets.*", KEY_FILE, SET, NULL, "the file" },
	{ "working_dir", KEY_PATH, SET, NULL, "working directory of the command" },
	{ "hostname", KEY_WORD, SET, NULL, "host name in the sandbox" },

	SANDBOX("sandbox"),
	{ "module", KEY_ANYTHING, 0, NULL, "a module's manifest: the module itself; sbx ignores it" },
	{ "security", KEY_MAP, 0, NULL, "a module's manifest" },
	{ "security.permissions", KEY_LIST, 0, NULL, "must be empty: sbx grants none of them" },
	{ "security.permissions[]", KEY_NEVER, 0, NULL, "sbx supports no permissions of frameworks" },
	SANDBOX("security.sandbox"),
	{ .path = NULL },
};
/* clang-format on */

const struct policy_key *policy_keys(void)
{
	return keys;
}

const char *policy_key_name(const struct policy_key *key)
{
	const char *name = key->path;

	for (const char *at = key->path; *at; at++)
		if (*at == '.')
			name = at + 1;
		else if (*at == '[')
			name = at;
	return name;
}

/* ---- the tree, made in one pass over the paths: loading looks every value up ---- */

static bool is_in(const char *path, const char *map)
{
	size_t len = strlen(map);

	return strncmp(path, map, len) == 0 && (path[len] == '.' || path[len] == '[');
}

/* A map's row is directly followed by its keys' rows: so the map is the row before @at, or one of
 * the maps that contain that row. */
static uint16_t find_map(const struct policy_key_node *tree, uint16_t at)
{
	uint16_t map = (uint16_t)(at - 1);

	while (map != 0 && !is_in(tree[at].row->path, tree[map].row->path))
		map = tree[map].map;
	return map;
}

struct policy_key_node *policy_key_tree(void)
{
	struct policy_key_node *tree = calloc(N_ELEMENTS(keys) + 1, sizeof(*tree));

	for (uint16_t at = 1; tree && at < N_ELEMENTS(keys); at++) {
		struct policy_key_node *node = &tree[at];

		node->row = &keys[at - 1];
		node->name = policy_key_name(node->row);
		node->map = find_map(tree, at);
		tree[node->map].needs_keys |= (node->row->flags & KEY_REQUIRED) != 0;
	}
	for (uint16_t at = N_ELEMENTS(keys) - 1; tree && at > 0; at--) {
		tree[at].next = tree[tree[at].map].first;
		tree[tree[at].map].first = at;
	}
	return tree;
}

const struct policy_key_node *policy_key_next(const struct policy_key_node *tree,
					      const struct policy_key_node *map,
					      const struct policy_key_node *last)
{
	uint16_t at = last ? last->next : map->first;

	return at ? &tree[at] : NULL;
}

const struct policy_key_node *policy_key_child(const struct policy_key_node *tree,
					       const struct policy_key_node *map, const char *name)
{
	const struct policy_key_node *node = policy_key_next(tree, map, NULL);

	while (node && strcmp(node->name, name) != 0 &&
	       (strcmp(node->name, "*") != 0 || *name == '['))
		node = policy_key_next(tree, map, node);
	return node;
}

/*
 * The JSON Schema of a policy file, for editors. Loading finds the mistakes that a schema cannot
 * describe: an unclosed glob, a network with bits set after its prefix, two rules of one name.
 */

#define SIZE_PATTERN "^[0-9]+(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?$"
#define TIME_PATTERN "^[0-9]+(us|ms|s|m|h|d)$"
#define WORD_PATTERN "^[A-Za-z0-9_.-]*[*]?$"
#define PORTS_PATTERN "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"
#define STRING(pattern) "{\"type\":\"string\",\"pattern\":\"" pattern "\"}"

/* The schema of one value; NULL: generated from the row. */
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
	[KEY_SYSCALL] = STRING("^[a-z0-9_]+$"),
	[KEY_PATH] = STRING("^(/|[.]$|[.]/)"),
	[KEY_FILE] = STRING("^[.]?/[^/]"),
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

struct schema {
	struct json_writer writer;
	const struct policy_key_node *tree;
};

static void add_key(struct schema *schema, const struct policy_key_node *node);

static void add_choices(struct json_writer *writer, const struct policy_key *key)
{
	json_add_object(writer);
	json_add_name(writer, "enum");
	json_add_array(writer);
	for (const char *const *choice = key->choices; *choice; choice++)
		json_add_string(writer, *choice);
	if (key->flags & KEY_QUOTED)
		json_add_string(writer, "");
	/* The device null is YAML's null unless it is quoted. */
	if (strcmp(policy_key_name(key), "[]") == 0 && key->choices[0] &&
	    strcmp(key->choices[0], "null") == 0)
		json_add_null(writer);
	json_end_array(writer);
	json_end_object(writer);
}

static const char *value_of(const struct policy_key *key)
{
	if (key->type != KEY_COUNT)
		return values[key->type];
	if (key->flags & KEY_QUOTED)
		return STRING("^[0-9]*$");
	return key->flags & KEY_POSITIVE ? "{\"type\":\"integer\",\"minimum\":1}"
					 : values[KEY_COUNT];
}

static void add_value(struct json_writer *writer, const struct policy_key *key)
{
	const char *value = value_of(key);

	if (value)
		json_add_raw(writer, value, strlen(value));
	else
		add_choices(writer, key);
}

static void add_required(struct schema *schema, const struct policy_key_node *map)
{
	const struct policy_key_node *node = NULL;

	if (!map->needs_keys)
		return;
	json_member_array(&schema->writer, "required");
	while ((node = policy_key_next(schema->tree, map, node)))
		if (node->row->flags & KEY_REQUIRED)
			json_add_string(&schema->writer, node->name);
	json_end_array(&schema->writer);
}

/* Adds the members of a map's schema. */
static void add_map(struct schema *schema, const struct policy_key_node *map)
{
	const struct policy_key_node *any = policy_key_child(schema->tree, map, "*"), *node = NULL;
	struct json_writer *writer = &schema->writer;

	json_member_string(writer, "type", "object");
	json_add_name(writer, "additionalProperties");
	if (any) {
		add_key(schema, any);
		return;
	}
	json_add_bool(writer, false);
	json_member_object(writer, "properties");
	while ((node = policy_key_next(schema->tree, map, node))) {
		json_add_name(writer, node->name);
		add_key(schema, node);
	}
	json_end_object(writer);
	add_required(schema, map);
}

static void add_list(struct schema *schema, const struct policy_key_node *list)
{
	json_member_string(&schema->writer, "type", "array");
	json_add_name(&schema->writer, "items");
	add_key(schema, policy_key_child(schema->tree, list, "[]"));
}

static void add_key(struct schema *schema, const struct policy_key_node *node)
{
	struct json_writer *writer = &schema->writer;
	const struct policy_key *key = node->row;

	json_add_object(writer);
	json_member_string(writer, "description", key->help);
	if (key->type == KEY_MAP) {
		add_map(schema, node);
	} else if (key->type == KEY_LIST) {
		add_list(schema, node);
	} else if (key->type == KEY_GROUPS) {
		json_member_array(writer, "anyOf");
		json_add_object(writer);
		add_list(schema, node);
		json_end_object(writer);
		json_add_object(writer);
		add_map(schema, node);
		json_end_object(writer);
		json_end_array(writer);
	} else {
		json_member_array(writer, "anyOf");
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
	_cleanup_free_ struct policy_key_node *tree = policy_key_tree();
	struct schema schema = { .tree = tree };

	if (!tree) {
		out->failed = true;
		return;
	}
	json_begin_object(&schema.writer, out);
	json_member_string(&schema.writer, "$schema",
			   "https://json-schema.org/draft/2020-12/schema");
	json_member_string(&schema.writer, "title", "sbx policy");
	add_map(&schema, tree);
	json_end_line(&schema.writer);
}
