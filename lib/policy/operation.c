/* SPDX-License-Identifier: MIT */

/*
 * The table of operations. Rows are bits of sets that are stored in artefacts, so a new row goes to
 * the end, whatever its class.
 */

#include "policy/operation.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"

static const struct operation operations[] = {
	{ "fs.read", CLASS_FS, ARGUMENT_PATH, "read a file" },
	{ "fs.write", CLASS_FS, ARGUMENT_PATH, "write, make, rename or remove a file" },
	{ "fs.list", CLASS_FS, ARGUMENT_PATH, "list a folder" },
	{ "fs.exists", CLASS_FS, ARGUMENT_PATH, "learn whether a file exists" },
	{ "exec", CLASS_EXEC, ARGUMENT_PATH, "execute a program" },
	{ "net.connect", CLASS_NET, ARGUMENT_HOST, "connect to a host and a port" },
	{ "net.bind", CLASS_NET, ARGUMENT_HOST, "listen on an address and a port" },
	{ "ai.generate", CLASS_TOOL, ARGUMENT_NONE, "ask a language model" },
	{ "container.run", CLASS_TOOL, ARGUMENT_NONE, "run a container" },
	{ "git.commit", CLASS_TOOL, ARGUMENT_NONE, "commit to a repository" },
	{ "git.diff", CLASS_TOOL, ARGUMENT_NONE, "compare versions in a repository" },
	{ "policy.update", CLASS_TOOL, ARGUMENT_NONE, "replace the policy" },
	{ "search.glob", CLASS_TOOL, ARGUMENT_NONE, "find files by name" },
	{ "search.grep", CLASS_TOOL, ARGUMENT_NONE, "find files by content" },
	{ "session.message", CLASS_TOOL, ARGUMENT_NONE, "send a message to the session" },
	{ "session.set_mode", CLASS_TOOL, ARGUMENT_NONE, "change to the mode that is named" },
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

const char *operation_class_name(enum operation_class class)
{
	return (size_t) class < N_ELEMENTS(class_names) ? class_names[class] : "unknown";
}

/* "GROUP.*" means the operations whose name starts with "GROUP." and those of the class GROUP. */
static bool is_in_group(const struct operation *operation, const char *group, size_t len)
{
	const char *class = class_names[operation->class];

	return (strncmp(operation->name, group, len) == 0 && operation->name[len] == '.') ||
	       (strlen(class) == len && strncmp(class, group, len) == 0);
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
