/* SPDX-License-Identifier: MIT */

/*
 * The model's functions: operations, names, settings, digests
 *
 * Settings are sorted by path: a look-up is a binary search, the order of the file does not affect
 * the model, and printing is one pass.
 */

/* libcrypto's low-level functions are deprecated in favour of an interface that looks up algorithms
 * by name at run time, which costs more than the digest itself. Linked statically, they use the
 * processor's SHA instructions and pull in nothing else. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "policy/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "base/suggest.h"
#include "base/text.h"

static const struct operation operations[] = {
	{ "fs.read", CLASS_FS, ARGUMENT_PATH, "read a file" },
	{ "fs.write", CLASS_FS, ARGUMENT_PATH, "write, create, rename or remove a file" },
	{ "fs.list", CLASS_FS, ARGUMENT_PATH, "list a directory" },
	{ "fs.exists", CLASS_FS, ARGUMENT_PATH, "check whether a file exists" },
	{ "exec", CLASS_EXEC, ARGUMENT_PATH, "execute a program" },
	{ "net.connect", CLASS_NET, ARGUMENT_HOST, "connect to a host and a port" },
	{ "net.bind", CLASS_NET, ARGUMENT_HOST, "listen on an address and a port" },
	{ "ai.generate", CLASS_TOOL, ARGUMENT_NONE, "send a prompt to a language model" },
	{ "container.run", CLASS_TOOL, ARGUMENT_NONE, "run a container" },
	{ "git.commit", CLASS_TOOL, ARGUMENT_NONE, "commit to a repository" },
	{ "git.diff", CLASS_TOOL, ARGUMENT_NONE, "compare versions in a repository" },
	{ "policy.update", CLASS_TOOL, ARGUMENT_NONE, "replace the policy" },
	{ "search.glob", CLASS_TOOL, ARGUMENT_NONE, "find files by name" },
	{ "search.grep", CLASS_TOOL, ARGUMENT_NONE, "find files by content" },
	{ "session.message", CLASS_TOOL, ARGUMENT_NONE, "send a message to the session" },
	{ "session.set_mode", CLASS_TOOL, ARGUMENT_NONE, "change to the given mode" },
	{ "shell.run", CLASS_TOOL, ARGUMENT_NONE, "run a shell command" },
	{ "test.run", CLASS_TOOL, ARGUMENT_NONE, "run the tests" },
	{ "tool.call", CLASS_TOOL, ARGUMENT_NONE, "call any other tool" },
	{ "plugin.install", CLASS_TOOL, ARGUMENT_NONE, "install a plugin" },
	{ "token.issue", CLASS_TOOL, ARGUMENT_NONE, "issue a capability token" },
};

static const char *const class_names[] = {
	[CLASS_FS] = "fs",
	[CLASS_NET] = "net",
	[CLASS_EXEC] = "exec",
	[CLASS_TOOL] = "tool",
};

_Static_assert(N_ELEMENTS(operations) <= OPERATIONS_MAX, "an operation is a bit of 64");
_Static_assert(N_ELEMENTS(class_names) == N_CLASSES, "every class has a name");

int operation_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (strcmp(operations[i].name, name) == 0)
			return (int)i;
	return OPERATION_UNKNOWN;
}

const struct operation *operation_at(int row)
{
	return row >= 0 && (size_t)row < N_ELEMENTS(operations) ? &operations[row] : NULL;
}

static const char *name_at(const void *list, size_t i)
{
	const struct operation *rows = list;

	return i < N_ELEMENTS(operations) ? rows[i].name : NULL;
}

const char *operation_suggest(const char *name)
{
	return suggest(name, (struct suggest_words){ .word = name_at, .list = operations });
}

const char *operation_class_name(enum operation_class kind)
{
	return (size_t)kind < N_ELEMENTS(class_names) ? class_names[kind] : "unknown";
}

void operation_add_names(struct text *out, uint64_t set)
{
	const char *separator = "";

	for (size_t i = 0; i < N_ELEMENTS(operations); i++) {
		if (!(set >> i & 1))
			continue;
		text_addf(out, "%s%s", separator, operations[i].name);
		separator = ", ";
	}
}

/* "GROUP.*" means the operations whose name starts with "GROUP." and those of the class GROUP. */
static bool is_in_group(const struct operation *operation, const char *group, size_t len)
{
	const char *kind = class_names[operation->kind];

	return (strncmp(operation->name, group, len) == 0 && operation->name[len] == '.') ||
	       (strlen(kind) == len && strncmp(kind, group, len) == 0);
}

uint64_t operation_set(const char *pattern)
{
	size_t len = strlen(pattern);
	int row = operation_find(pattern);
	uint64_t set = 0;

	if (row != OPERATION_UNKNOWN)
		return UINT64_C(1) << row;
	if (strcmp(pattern, "*") == 0)
		return (UINT64_C(1) << N_ELEMENTS(operations)) - 1;
	if (len < 3 || strcmp(pattern + len - 2, ".*") != 0)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (is_in_group(&operations[i], pattern, len - 2))
			set |= UINT64_C(1) << i;
	return set;
}

static const char *const action_names[] = {
	[POLICY_PASS] = "pass", [POLICY_ALLOW] = "allow",
	[POLICY_WARN] = "warn", [POLICY_REVIEW] = "require_review",
	[POLICY_DENY] = "deny",
};

static const char *const key_names[N_MATCH_KEYS] = {
	[MATCH_PATH] = "path",	    [MATCH_HOST] = "host",   [MATCH_CIDR] = "cidr",
	[MATCH_PORT] = "ports",	    [MATCH_PROTO] = "proto", [MATCH_CALLER] = "caller",
	[MATCH_TAG] = "caller_tag", [MATCH_STATE] = "state", [MATCH_MODE] = "mode",
};

struct policy *policy_free(struct policy *policy)
{
	while (policy) {
		struct policy *merged = policy->merged;

		arena_deinit(&policy->arena);
		free(policy);
		policy = merged;
	}
	return NULL;
}

const char *policy_action_name(enum policy_action action)
{
	return action_names[action];
}

bool policy_action_find(const char *name, enum policy_action *ret)
{
	for (size_t i = 0; i < N_ELEMENTS(action_names); i++)
		if (strcmp(action_names[i], name) == 0) {
			*ret = (enum policy_action)i;
			return true;
		}
	return false;
}

const char *match_key_name(enum match_key key)
{
	return key_names[key];
}

/* Characters that end a step of a path sort before letters, digits, '_' and '-'. */
static int rank(char c)
{
	return c == '\0' ? 0 : c == '[' ? 1 : c == '.' ? 2 : c == ']' ? 3 : (unsigned char)c + 4;
}

int policy_compare_paths(const char *a, const char *b)
{
	while (*a == *b && *a != '\0') {
		if (*a++ != *b++ || a[-1] != '[')
			continue;

		size_t n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");

		if (n_a != n_b)
			return n_a < n_b ? -1 : 1;
	}
	return rank(*a) - rank(*b);
}

static int compare_with_setting(const void *path, const void *setting)
{
	return policy_compare_paths(path, ((const struct setting *)setting)->path);
}

const struct setting *policy_get_setting(const struct policy *policy, const char *path)
{
	if (!policy || policy->n_settings == 0)
		return NULL;
	return bsearch(path, policy->settings, policy->n_settings, sizeof(*policy->settings),
		       compare_with_setting);
}

uint64_t policy_get_number(const struct policy *policy, const char *path)
{
	const struct setting *setting = policy_get_setting(policy, path);

	return setting ? setting->number : 0;
}

const char *policy_get_text(const struct policy *policy, const char *path)
{
	const struct setting *setting = policy_get_setting(policy, path);

	return setting ? setting->text : NULL;
}

const struct setting *policy_get_item(const struct policy *policy, const char *list, size_t i)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s[%zu]", list, i);
	return policy_get_setting(policy, path);
}

const char *setting_below(const struct setting *setting, const char *section)
{
	size_t len = strlen(section);

	return strncmp(setting->path, section, len) == 0 ? setting->path + len : NULL;
}

void digest_of(const void *bytes, size_t n_bytes, uint8_t ret[DIGEST_SIZE])
{
	SHA256_CTX context;

	(void)SHA256_Init(&context);
	(void)SHA256_Update(&context, bytes, n_bytes);
	(void)SHA256_Final(ret, &context);
}

static void add_u64(struct text *out, uint64_t value)
{
	for (unsigned shift = 0; shift < 64; shift += 8)
		text_add_char(out, (char)(value >> shift & 0xff));
}

int policy_make_digest(const struct policy *policy, uint8_t ret[DIGEST_SIZE])
{
	_cleanup_text_ struct text all = TEXT_INIT;

	for (size_t i = 0; i < policy->n_sources; i++) {
		const struct policy_source *source = &policy->sources[i];
		uint64_t narrows = source->narrows ? UINT64_C(1) << 63 : 0;

		add_u64(&all, source->n_bytes | narrows);
		text_add_bytes(&all, source->bytes, source->n_bytes);
	}
	if (text_status(&all) < 0)
		return text_status(&all);
	digest_of(text_string(&all), all.len, ret);
	return 0;
}
