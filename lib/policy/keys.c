/* SPDX-License-Identifier: MIT */

/*
 * Every key of a policy file, in every dialect
 *
 * One row a key. The rows of a map follow it at once, so what is inside a map is the run of rows
 * behind it whose paths begin with its own. Conditions stand in a policy twice (match and except)
 * and a manifest's sandbox, too (alone and under security); those runs are written once, as macros.
 */

#include "policy/keys.h"

#include <stdbool.h>
#include <string.h>

/* clang-format off */
static const char *const actions[] = { "allow", "deny", "require_review", "warn", "pass", NULL };
static const char *const default_actions[] = { "deny", "allow", "require_review", "warn", NULL };
static const char *const protos[] = { "tcp", "udp", NULL };
static const char *const levels[] = { "L1", "L2", NULL };
static const char *const perms[] = {
	"read_file", "write_file", "execute", "read_dir", "write_dir", "remove_dir", "remove_file",
	"make_char", "make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym", NULL,
};
static const char *const templates[] = { "ai-provider", "code-executor", "policy-sandbox", NULL };
static const char *const profiles[] = { "strict", "standard", NULL };
static const char *const tiers[] = { "full", "no-userns", "landlock-only", "reduced", NULL };
static const char *const limit_modes[] = { "strict", "best-effort", NULL };
static const char *const mount_modes[] = { "ro", "rw", "tmpfs", "overlay", "mask", NULL };
static const char *const devices[] = {
	"null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "dri", "nvidia", "kvm",
	"fuse", "tun", "snd", "video", NULL,
};
static const char *const net_modes[] = { "none",  "loopback",	  "host",
					 "proxy", "transparent", "veth",
					 NULL };
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
	{ at ".operation", KEY_OPERATIONS, 0, NULL, "the same as syscall" },                       \
	{ at ".op", KEY_OPERATIONS, 0, NULL, "the same as syscall" },                              \
	{ at ".perms", KEY_CHOICES, 0, perms, "file permissions instead of operations" },          \
	{ at ".path_glob", KEY_GLOBS, 0, NULL, "globs as in .gitignore; one with '!' excludes" },  \
	{ at ".path", KEY_LITERALS, 0, NULL, "paths as they are, with all that is below them" },   \
	{ at ".host", KEY_HOSTS, 0, NULL, "host names: example.com, *.example.com" },              \
	{ at ".cidr", KEY_CIDRS, 0, NULL, "addresses and networks: 10.0.0.0/8, ::1" },             \
	{ at ".proto", KEY_CHOICES, 0, protos, "protocols" },                                      \
	{ at ".ports", KEY_PORTS, 0, NULL, "ports and ranges: 443, 8000-9000" },                   \
	{ at ".caller", KEY_TEXTS, 0, NULL, "names of callers" },                                  \
	{ at ".caller_tag", KEY_TEXTS, 0, NULL, "tags that the caller has, any of them" },         \
	{ at ".state", KEY_TEXTS, 0, NULL, "states of the workflow" },                             \
	{ at ".state_machine_state", KEY_TEXTS, 0, NULL, "the same as state" },                    \
	{ at ".mode", KEY_TEXTS, 0, NULL, "modes of the session: strict, explore, debug" }

#define SANDBOX(at)                                                                                \
	{ at, KEY_MAP, 0, NULL, "a module's manifest: how it is sandboxed" },                      \
	{ at ".enabled", KEY_BOOL, SET, NULL, "must be true" },                                    \
	{ at ".type", KEY_CHOICE, SET, sandbox_types, "kind of sandbox" },                         \
	{ at ".config", KEY_MAP, 0, NULL, "what the module may do and use" },                      \
	{ at ".config.allowNetworkAccess", KEY_BOOL, 0, NULL, "may it connect anywhere?" },        \
	{ at ".config.allowFileSystemAccess", KEY_BOOL, 0, NULL, "may it use allowedPaths?" },     \
	{ at ".config.allowedPaths", KEY_LITERALS, 0, NULL, "paths that it may read and write" },  \
	{ at ".config.maxMemoryMB", KEY_COUNT, POS, NULL, "memory in MiB" },                       \
	{ at ".config.maxCPUPercent", KEY_COUNT, POS, NULL, "percent of one processor" },          \
	{ at ".config.maxFileDescriptors", KEY_COUNT, POS, NULL, "open files" },                   \
	{ at ".config.maxThreads", KEY_COUNT, POS, NULL, "processes and threads" },                \
	{ at ".config.properties", KEY_MAP, 0, NULL, "how it is talked to; all values are strings" }, \
	{ at ".config.properties.ipc_transport", KEY_CHOICE, SET | QUO, transports, "transport" }, \
	{ at ".config.properties.ipc_buffer_size", KEY_COUNT, SET | QUO | POS, NULL,               \
	  "slots of the ring" },                                                                   \
	{ at ".config.properties.ipc_shm_size", KEY_COUNT, SET | QUO | POS, NULL,                  \
	  "bytes of shared memory" },                                                              \
	{ at ".config.properties.ipc_timeout_ms", KEY_COUNT, SET | QUO | POS, NULL,                \
	  "milliseconds to wait for an answer" },                                                  \
	{ at ".config.properties.ipc_endpoint", KEY_TEXT, SET | QUO, NULL, "where to connect" }

static const struct policy_key keys[] = {
	{ "version", KEY_COUNT, 0, NULL, "version of the format: 1" },

	{ "capabilities", KEY_LIST, 0, NULL, "rules" },
	{ "capabilities[]", KEY_MAP, 0, NULL, "a rule" },
	{ "capabilities[].name", KEY_LINE, REQ, NULL, "its name, which every decision carries" },
	{ "capabilities[].match", KEY_MAP, REQ, NULL, "what it is about: all keys must hold" },
	CONDITION("capabilities[].match"),
	{ "capabilities[].action", KEY_CHOICE, REQ, actions, "what it answers" },
	{ "capabilities[].except", KEY_LIST, 0, NULL, "conditions, any of which takes it back" },
	{ "capabilities[].except[]", KEY_MAP, 0, NULL, "an exception: all keys must hold" },
	CONDITION("capabilities[].except[]"),
	{ "capabilities[].constraints", KEY_MAP, 0, NULL, "what must hold besides" },
	{ "capabilities[].constraints.require_sandbox", KEY_CHOICE, 0, levels, "level of the sandbox" },
	{ "capabilities[].constraints.require_capability_token", KEY_BOOL, 0, NULL, "only with a token" },
	{ "capabilities[].constraints.max_file_size", KEY_SIZE, 0, NULL, "largest file to write" },
	{ "capabilities[].constraints.sha256", KEY_SHA256, 0, NULL, "the program's own digest" },
	{ "capabilities[].reason", KEY_TEXT, 0, NULL, "why, for whoever reads the decision" },
	{ "capabilities[].examples", KEY_MAP, 0, NULL, "requests that are tried at every load" },
	{ "capabilities[].examples.match", KEY_TEXTS, 0, NULL, "'fs.write src/a.c': it must apply" },
	{ "capabilities[].examples.not_match", KEY_TEXTS, 0, NULL, "requests to which it must not" },

	{ "network_whitelist", KEY_GROUPS, 0, NULL, "hosts that may be reached, or groups of them" },
	{ "network_whitelist[]", KEY_HOST_PORT, 0, NULL, "a host; port 443 unless it has ':PORT'" },
	{ "network_whitelist.*", KEY_LIST, 0, NULL, "a group" },
	{ "network_whitelist.*[]", KEY_HOST_PORT, 0, NULL, "a host; port 443 unless it has ':PORT'" },

	{ "defaults", KEY_MAP, 0, NULL, "the answer where no rule has one; deny unless it stands here" },
	{ "defaults.fs", KEY_CHOICE, 0, default_actions, "for files" },
	{ "defaults.net", KEY_CHOICE, 0, default_actions, "for the network" },
	{ "defaults.exec", KEY_CHOICE, 0, default_actions, "for programs" },
	{ "defaults.tool", KEY_CHOICE, 0, default_actions, "for everything else" },

	{ "fs", KEY_MAP, 0, NULL, "files" },
	{ "fs.rules", KEY_LIST, 0, NULL, "rules for files" },
	{ "fs.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "fs.rules[].action", KEY_CHOICE, REQ, actions, "what it answers" },
	{ "fs.rules[].path", KEY_LITERALS, REQ, NULL, "a path, with all that is below it" },
	{ "fs.rules[].perms", KEY_CHOICES, 0, perms, "what may be done; read, write and list without it" },

	{ "exec", KEY_MAP, 0, NULL, "programs" },
	{ "exec.rules", KEY_LIST, 0, NULL, "rules for programs" },
	{ "exec.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "exec.rules[].action", KEY_CHOICE, REQ, actions, "what it answers" },
	{ "exec.rules[].path", KEY_LITERALS, REQ, NULL, "the program" },
	{ "exec.rules[].sha256", KEY_SHA256, 0, NULL, "its digest" },

	{ "net", KEY_MAP, 0, NULL, "the network" },
	{ "net.rules", KEY_LIST, 0, NULL, "rules for connections" },
	{ "net.rules[]", KEY_MAP, 0, NULL, "a rule" },
	{ "net.rules[].action", KEY_CHOICE, REQ, actions, "what it answers" },
	{ "net.rules[].proto", KEY_CHOICES, 0, protos, "protocol" },
	{ "net.rules[].cidr", KEY_CIDRS, 0, NULL, "address or network" },
	{ "net.rules[].host", KEY_HOSTS, 0, NULL, "host name" },
	{ "net.rules[].ports", KEY_PORTS, 0, NULL, "ports and ranges: \"80,443,8000-9000\"" },
	{ "net.mode", KEY_CHOICE, SET, net_modes, "how the sandbox is connected" },
	{ "net.loopback", KEY_MAP, 0, NULL, "ports of the host's loopback" },
	{ "net.loopback.connect", KEY_LIST, SET, NULL, "that may be connected to" },
	{ "net.loopback.connect[]", KEY_PORT, SET, NULL, "a port" },
	{ "net.loopback.bind", KEY_LIST, SET, NULL, "that may be listened on" },
	{ "net.loopback.bind[]", KEY_PORT, SET, NULL, "a port" },
	{ "net.unix", KEY_LIST, SET, NULL, "sockets of the host that may be used" },
	{ "net.unix[]", KEY_PATH, SET, NULL, "a socket" },

	{ "plugins", KEY_MAP, 0, NULL, "what must be enforced, or the start is refused" },
	{ "plugins.namespaces", KEY_BOOL, SET, NULL, "namespaces" },
	{ "plugins.landlock", KEY_BOOL, SET, NULL, "Landlock" },
	{ "plugins.seccomp", KEY_BOOL, SET, NULL, "a system call filter" },
	{ "denySyscalls", KEY_LIST, SET, NULL, "system calls that fail" },
	{ "denySyscalls[]", KEY_WORD, SET, NULL, "a system call" },
	{ "antiEscape", KEY_MAP, 0, NULL, "the same under its other name" },
	{ "antiEscape.denySyscalls", KEY_LIST, SET, NULL, "system calls that fail" },
	{ "antiEscape.denySyscalls[]", KEY_WORD, SET, NULL, "a system call" },

	{ "audit", KEY_MAP, 0, NULL, "the log" },
	{ "audit.enabled", KEY_TRUE, SET, NULL, "must be true: it is always written" },
	{ "audit.events", KEY_LIST, SET, NULL, "must be empty: none is left out" },
	{ "audit.events[]", KEY_NEVER, SET, NULL, "all that is recorded is kept, and nothing of this version reports more" },
	{ "audit.retention_days", KEY_COUNT, SET | POS, NULL, "days that records are kept" },
	{ "audit.max_size", KEY_SIZE, SET | POS, NULL, "largest size of the log" },
	{ "audit.rotation", KEY_CHOICE, SET, rotations, "how often a new file begins" },
	{ "audit.export_format", KEY_CHOICE, SET, exports, "format of archives" },
	{ "audit.redact", KEY_LIST, SET, NULL, "further secrets to cut out of records" },
	{ "audit.redact[]", KEY_TEXT, SET, NULL, "a regular expression of PCRE2" },
	{ "audit.keep_originals", KEY_BOOL, SET, NULL, "keep texts from which secrets were removed" },

	{ "scheduler", KEY_MAP, 0, NULL, "how many sandboxes run at once" },
	{ "scheduler.global_max", KEY_COUNT, SET | POS, NULL, "all together" },
	{ "scheduler.per_template", KEY_MAP, 0, NULL, "of one template" },
	{ "scheduler.per_template.*", KEY_COUNT, SET | POS, NULL, "how many of it" },
	{ "scheduler.age_threshold", KEY_TIME, SET | POS, NULL, "waiting time that raises a task" },

	{ "extensions", KEY_LIST, 0, NULL, "programs that are asked, too" },
	{ "extensions[]", KEY_MAP, 0, NULL, "a program" },
	{ "extensions[].name", KEY_LINE, REQ, NULL, "its name" },
	{ "extensions[].command", KEY_LIST, REQ, NULL, "its absolute path and its arguments" },
	{ "extensions[].command[]", KEY_TEXT, 0, NULL, "a word" },

	{ "isolation", KEY_MAP, 0, NULL, "layers around the command" },
	{ "isolation.template", KEY_CHOICE, SET, templates, "what the rest is taken from" },
	{ "isolation.namespaces", KEY_BOOL, SET, NULL, "must namespaces hold?" },
	{ "isolation.landlock", KEY_BOOL, SET, NULL, "must Landlock hold?" },
	{ "isolation.seccomp", KEY_CHOICE, SET, profiles, "profile of the system call filter" },
	{ "isolation.tier", KEY_CHOICE, SET, tiers, "the weakest tier that is accepted" },
	{ "isolation.nested", KEY_BOOL, SET, NULL, "may it build sandboxes inside?" },

	{ "limits", KEY_MAP, 0, NULL, "what the command may use up" },
	{ "limits.memory", KEY_SIZE, SET | POS, NULL, "memory" },
	{ "limits.cpu", KEY_NUMBER, SET | POS, NULL, "processors: 0.5 or \"50%\"" },
	{ "limits.pids", KEY_COUNT, SET | POS, NULL, "processes and threads at once" },
	{ "limits.time", KEY_TIME, SET | POS, NULL, "time until it is stopped" },
	{ "limits.files", KEY_COUNT, SET | POS, NULL, "open files of a process" },
	{ "limits.processes", KEY_COUNT, SET | POS, NULL, "processes of its user" },
	{ "limits.file_size", KEY_SIZE, SET | POS, NULL, "largest file it may write" },
	{ "limits.output", KEY_SIZE, SET | POS, NULL, "bytes of stdout and stderr" },
	{ "limits.tmp_size", KEY_SIZE, SET | POS, NULL, "size of its /tmp" },
	{ "limits.mode", KEY_CHOICE, SET, limit_modes, "refuse what cannot be held, or do what can be" },

	{ "mounts", KEY_LIST, SET, NULL, "what stands in the sandbox's file tree" },
	{ "mounts[]", KEY_MAP, 0, NULL, "one place of the tree" },
	{ "mounts[].source", KEY_PATH, SET, NULL, "path outside" },
	{ "mounts[].target", KEY_PATH, SET | REQ, NULL, "path inside" },
	{ "mounts[].mode", KEY_CHOICE, SET, mount_modes, "how; ro without it" },
	{ "mounts[].optional", KEY_BOOL, SET, NULL, "skip it where the source is missing" },
	{ "mounts[].size", KEY_SIZE, SET | POS, NULL, "of a tmpfs" },
	{ "devices", KEY_LIST, SET, NULL, "devices in the sandbox" },
	{ "devices[]", KEY_CHOICE, SET, devices, "a device, or a bundle of them" },
	{ "env", KEY_MAP, 0, NULL, "environment of the command" },
	{ "env.allow", KEY_LIST, SET, NULL, "variables that pass" },
	{ "env.allow[]", KEY_WORD, SET, NULL, "a name; LC_* stands for all that begin with LC_" },
	{ "env.set", KEY_MAP, 0, NULL, "variables with a value" },
	{ "env.set.*", KEY_TEXT, SET, NULL, "a value" },
	{ "env.secrets", KEY_MAP, 0, NULL, "variables with the path of a file's private copy" },
	{ "env.secrets.*", KEY_PATH, SET, NULL, "the file" },
	{ "working_dir", KEY_PATH, SET, NULL, "folder that the command starts in" },
	{ "hostname", KEY_WORD, SET, NULL, "name of the machine inside" },

	SANDBOX("sandbox"),
	{ "module", KEY_ANYTHING, 0, NULL, "a module's manifest: the module, which is no policy" },
	{ "security", KEY_MAP, 0, NULL, "a module's manifest" },
	{ "security.permissions", KEY_LIST, 0, NULL, "must be empty: sbx grants none of them" },
	{ "security.permissions[]", KEY_NEVER, 0, NULL, "sbx knows no permission of a framework" },
	SANDBOX("security.sandbox"),
	{ .path = NULL },
};
/* clang-format on */

const struct policy_key *policy_keys(void)
{
	return keys;
}

/* What follows @parent in the path of a row; NULL where the row is not inside @parent. */
static const char *rest_below(const struct policy_key *row, const struct policy_key *parent)
{
	size_t len = parent ? strlen(parent->path) : 0;

	if (!row->path || (parent && strncmp(row->path, parent->path, len) != 0))
		return NULL;
	if (!parent)
		return row->path;
	if (row->path[len] == '.')
		return row->path + len + 1;
	return row->path[len] == '[' ? row->path + len : NULL;
}

/* Is what is left one step, "name" or "[]"? */
static bool is_direct(const char *rest)
{
	return strcmp(rest, "[]") == 0 || rest[strcspn(rest, ".[")] == '\0';
}

const struct policy_key *policy_key_next(const struct policy_key *parent,
					 const struct policy_key *last)
{
	const struct policy_key *row = last ? last + 1 : parent ? parent + 1 : keys;
	const char *rest;

	for (; (rest = rest_below(row, parent)); row++)
		if (is_direct(rest))
			return row;
	return NULL;
}

const struct policy_key *policy_key_child(const struct policy_key *parent, const char *name)
{
	const struct policy_key *row = parent ? parent + 1 : keys;
	const char *rest;

	for (; (rest = rest_below(row, parent)); row++)
		if (strcmp(rest, name) == 0 || (strcmp(rest, "*") == 0 && name[0] != '['))
			return is_direct(rest) ? row : NULL;
	return NULL;
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
