/* SPDX-License-Identifier: MIT */

/*
 * The command's environment: an allow-list of ours, then what is set for it
 *
 * Later words win: variables that pass, the policy's own, the proxy's, secrets, and what was typed.
 * The strings of the caller's environment are pointed to, not copied.
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/compose.h"

static const char *const default_names[] = {
	"PATH", "HOME", "LANG", "LC_*", "TZ", "TERM", "USER", "LOGNAME", "SHELL",
};

/* These hold the proxy's address. */
static const char *const proxy_names[] = {
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
};

/* In /run, which is the sandbox's own. */
#define NO_HOME "/run/home"

static const char *const proxy_variables[] = {
	"NO_PROXY=localhost,127.0.0.1,::1",
	"no_proxy=localhost,127.0.0.1,::1",
	"NODE_USE_ENV_PROXY=1",
};
#define N_PROXY_VARIABLES (N_ELEMENTS(proxy_names) + N_ELEMENTS(proxy_variables) + 1)

struct variables {
	struct planner *planner;
	char **rows;
	size_t n_rows;
	size_t n_max;
};

static size_t name_len(const char *variable)
{
	return strcspn(variable, "=");
}

/* Takes the place of an older one of the same name. */
static void set_variable(struct variables *variables, const char *variable)
{
	size_t len = name_len(variable), i = 0;

	while (i < variables->n_rows &&
	       (strncmp(variables->rows[i], variable, len) != 0 || variables->rows[i][len] != '='))
		i++;
	if (i == variables->n_max)
		return;
	/* execve() takes char *, and changes nothing. */
	variables->rows[i] = (char *)(uintptr_t)variable;
	variables->n_rows += i == variables->n_rows;
}

const char *environment_find(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (char *const *at = environment; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

static bool is_match(const char *pattern, const char *variable)
{
	size_t len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(pattern, variable, len - 1) == 0;
	return name_len(variable) == len && strncmp(pattern, variable, len) == 0;
}

/* NULL where there is no further name. */
static const char *allowed_name(struct planner *planner, size_t i)
{
	const struct setting *item;

	if (!planner_setting(planner, "env.allow"))
		return i < N_ELEMENTS(default_names) ? default_names[i] : NULL;
	item = planner_item(planner, "env.allow", i, "");
	return item ? item->text : NULL;
}

static void pass_allowed(struct variables *variables)
{
	char *const *from = variables->planner->request->environment;
	const char *name;

	for (size_t i = 0; (name = allowed_name(variables->planner, i)); i++)
		for (char *const *at = from; at && *at; at++)
			if (is_match(name, *at) && strchr(*at, '='))
				set_variable(variables, *at);
}

static void set_settings(struct variables *variables)
{
	static const char section[] = "env.set.";
	const struct policy *policy = variables->planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];

		if (strncmp(setting->path, section, strlen(section)) == 0)
			set_variable(variables, planner_format(variables->planner, "%s=%s",
							       setting->path + strlen(section),
							       setting->text));
	}
}

/* Java reads none of the others; it leaves out the loopback by itself. */
static void set_proxy(struct variables *variables)
{
	struct planner *planner = variables->planner;
	unsigned port = planner_proxy_port(planner);

	if (strcmp(planner->net_mode, "proxy") != 0)
		return;
	for (size_t i = 0; i < N_ELEMENTS(proxy_names); i++)
		set_variable(variables, planner_format(planner, "%s=http://127.0.0.1:%u",
						       proxy_names[i], port));
	for (size_t i = 0; i < N_ELEMENTS(proxy_variables); i++)
		set_variable(variables, proxy_variables[i]);
	set_variable(variables, planner_format(planner,
					       "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 "
					       "-Dhttp.proxyPort=%u -Dhttps.proxyHost=127.0.0.1 "
					       "-Dhttps.proxyPort=%u",
					       port, port));
}

/*
 * Where nothing can be kept (a service without a home has HOME=/), a directory of the sandbox's
 * own. Only the private home can be there, so with a policy HOME stays as it is.
 */
static void set_home(struct variables *variables)
{
	struct planner *planner = variables->planner;
	const char *home = planner->request->home;
	size_t len;

	if (!home) {
		if (planner->policy || (planner->plan && planner->plan->tier != TIER_FULL))
			return;
		variables->rows[variables->n_rows] = NULL;
		home = environment_find(variables->rows, "HOME");
		home = home ? planner_keep(planner, home) : "";
		len = strlen(home);
		while (len > 1 && home[len - 1] == '/')
			len--;
		home = planner_format(planner, "%.*s", (int)len, home);
		if (!home_is_usable(home))
			home = NO_HOME;
	}
	set_variable(variables, planner_format(planner, "HOME=%s", home));
}

/* A secret's variable holds the path of its private copy. */
static void set_secrets(struct variables *variables)
{
	static const char section[] = "env.secrets.";
	struct planner *planner = variables->planner;
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_settings; i++) {
		const char *name = policy->settings[i].path;

		if (strncmp(name, section, strlen(section)) != 0)
			continue;
		name += strlen(section);
		set_variable(variables,
			     planner_format(planner, "%s=" COMPOSE_SECRETS "/%s", name, name));
	}
	for (size_t i = 0; i < planner->request->n_secrets; i++) {
		const char *name = planner->request->secrets[i].name;

		set_variable(variables,
			     planner_format(planner, "%s=" COMPOSE_SECRETS "/%s", name, name));
	}
}

static void set_typed(struct variables *variables, const struct request_variable *typed)
{
	struct planner *planner = variables->planner;
	bool is_found = false;

	if (typed->value) {
		set_variable(variables,
			     planner_format(planner, "%s=%s", typed->name, typed->value));
		return;
	}
	for (char *const *at = planner->request->environment; at && *at && !is_found; at++) {
		is_found = is_match(typed->name, *at) && strchr(*at, '=');
		if (is_found)
			set_variable(variables, *at);
	}
	if (!is_found && planner->plan)
		planner_note(planner, false,
			     planner_format(planner, "%s %s passes nothing", typed->option,
					    typed->name),
			     "sbx-spawn's own environment has no such variable");
}

static size_t count_at_most(const struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	size_t n = N_PROXY_VARIABLES + request->n_variables + request->n_secrets + 3;

	for (char *const *at = request->environment; at && *at; at++)
		n++;
	return n + (planner->policy ? planner->policy->n_settings : 0);
}

int make_environment(struct planner *planner)
{
	struct variables variables = { .planner = planner, .n_max = count_at_most(planner) };

	variables.rows = planner_alloc(planner, (variables.n_max + 1) * sizeof(*variables.rows));
	if (!variables.rows)
		return planner_status(planner);
	set_variable(&variables, "PATH=/usr/local/bin:/usr/bin:/bin");
	pass_allowed(&variables);
	set_settings(&variables);
	set_home(&variables);
	set_proxy(&variables);
	set_secrets(&variables);
	for (size_t i = 0; i < planner->request->n_variables; i++)
		set_typed(&variables, &planner->request->variables[i]);
	planner->environment = variables.rows;
	return 0;
}
