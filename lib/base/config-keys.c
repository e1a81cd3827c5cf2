/* SPDX-License-Identifier: MIT */

/*
 * The table of keys with their values, and the names that can never be keys
 */

#include "base/config-internal.h"

#include <errno.h>
#include <string.h>

#include <sbx/error.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"

static const char *const when_choices[] = { "auto", "always", "never", NULL };
static const char *const level_choices[] = { "error", "warning", "notice", "info", "debug", NULL };

static const struct config_key keys[] = {
	{ "color", when_choices, "auto", "colour output on a terminal" },
	{ "progress", when_choices, "auto", "show progress of long work on stderr" },
	{ "log_level", level_choices, "notice", "least severe messages to log" },
	{ .name = NULL },
};

/*
 * Settings that decide what a sandbox may do cannot be configured: a project's own file could widen
 * the sandbox that confines it. The message about such a key names the policy instead of "unknown".
 */
/* clang-format off */
static const char *const security_names[] = {
	"allow", "audit", "capabilities", "default", "defaults", "deny", "devices", "env",
	"exec", "fs", "isolation", "landlock", "limits", "mode", "mount", "mounts",
	"namespaces", "nested", "net", "network", "network_whitelist", "no_sandbox",
	"permissions", "plugins", "policy", "privileged", "rules", "sandbox", "seccomp",
	"session_mode", "syscalls", "template", "tier", "token", "tokens", "unsandboxed",
};
/* clang-format on */

/* Those that are refused as variables. Others (SBX_TOKEN, SBX_MODE) may belong to other programs
 * with the same prefix, which must not make every tool fail. */
/* clang-format off */
static const char *const security_variables[] = {
	"isolation", "landlock", "limits", "no_sandbox", "policy", "seccomp", "session_mode",
	"tier", "unsandboxed",
};
/* clang-format on */

/* Settings of tools that this version does not have: the message names the tool instead of
 * suggesting another key. */
static const struct {
	const char *name, *tool;
} other_tools_names[] = {
	{ "ai_provider", "sbx-tool" },
	{ "container_runtime", "sbx-tool" },
	{ "model", "sbx-tool" },
	{ "theme", "sbx-view" },
};

const struct config_key *config_keys(void)
{
	return keys;
}

const struct config_key *config_find_key(const char *name)
{
	for (const struct config_key *key = keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static char folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if (c == '-')
		return '_';
	return c;
}

bool config_is_security_variable(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(security_variables); i++)
		if (strcmp(security_variables[i], name) == 0)
			return true;
	return false;
}

/* "limits" is also in "limits.memory", "session_mode" also in "Session-Mode". */
bool config_is_security(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(security_names); i++) {
		const char *word = security_names[i];
		size_t n = 0;

		while (word[n] && folded(name[n]) == word[n])
			n++;
		if (!word[n] && (name[n] == '\0' || name[n] == '.'))
			return true;
	}
	return false;
}

static const char *key_word(const void *list, size_t i)
{
	return ((const struct config_key *)list)[i].name;
}

static const char *find_other_tool(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(other_tools_names); i++)
		if (strcmp(other_tools_names[i].name, name) == 0)
			return other_tools_names[i].tool;
	return NULL;
}

static int refuse_name(const char *name, struct sbx_error *err)
{
	struct suggest_words words = { key_word, keys };
	_cleanup_text_ struct text list = TEXT_INIT;
	const char *tool = find_other_tool(name);

	if (tool) {
		sbx_error_what(err, -EINVAL, "'%s' cannot be configured", name);
		sbx_error_why(err, "it belongs to %s, which this version does not have", tool);
		sbx_error_fix(err, "leave it out");
		return -EINVAL;
	}
	if (config_is_security(name)) {
		sbx_error_what(err, -EINVAL, "'%s' cannot be configured", name);
		error_explain(err,
			      "it decides what a sandbox may do, which neither a project's "
			      "file nor an inherited variable may change",
			      "leave it out; it belongs in the policy file");
		return -EINVAL;
	}
	suggest_add_all(&list, words);
	sbx_error_what(err, -EINVAL, "unknown key '%s'", name);
	sbx_error_why(err, "the keys are: %s", text_string(&list));
	if (!suggest_fix(err, name, words))
		sbx_error_fix(err, "leave it out, or write one of the keys");
	return -EINVAL;
}

static int check_choice(const struct config_key *key, const char *value, struct sbx_error *err)
{
	_cleanup_text_ struct text list = TEXT_INIT;

	for (const char *const *choice = key->choices; *choice; choice++)
		if (strcmp(*choice, value) == 0)
			return 0;
	suggest_add_all_from(&list, key->choices);
	sbx_error_what(err, -EINVAL, "'%s' cannot be '%s'", key->name, value);
	sbx_error_why(err, "it must be one of: %s", text_string(&list));
	if (!suggest_fix_from(err, value, key->choices))
		sbx_error_fix(err, "write one of them");
	return -EINVAL;
}

int config_check(const char *name, const char *value, struct sbx_error *err)
{
	const struct config_key *key = config_find_key(name);

	return key ? check_choice(key, value, err) : refuse_name(name, err);
}
