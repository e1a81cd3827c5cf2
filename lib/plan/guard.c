/* SPDX-License-Identifier: MIT */

/*
 * The built-in denials, where somebody may write
 *
 * What is not writable needs no guard, so only the folders that are granted for writing are looked
 * at; but the registry, where sandboxes are talked to, is not even seen. The built-in rules speak
 * of patterns in places; the folders that hold those are guarded as a whole, which is narrower.
 */

#include "plan/plan-internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

static const struct step_origin guards_policies = { ORIGIN_BUILT_IN, "builtin:policy-files" };
static const struct step_origin guards_programs = { ORIGIN_BUILT_IN, "builtin:programs" };
static const struct step_origin guards_units = { ORIGIN_BUILT_IN, "builtin:units" };
static const struct step_origin guards_daemons = { ORIGIN_BUILT_IN, "builtin:daemon-files" };
static const struct step_origin guards_state = { ORIGIN_BUILT_IN, "builtin:state-database" };

/* May be absent: the host then has no such thing, and a new one is nothing that anybody reads. */
#define MAY_LACK MARK_GUARD

static const struct guard {
	const char *path;
	bool is_of_home;
	unsigned flags;
	const struct step_origin *origin;
} guards[] = {
	{ "/etc/sbx", false, 0, &guards_policies },
	{ "/usr/share/sbx", false, MAY_LACK, &guards_policies },
	{ ".config/sbx", true, 0, &guards_policies },
	{ "/usr/bin", false, 0, &guards_programs },
	{ "/usr/sbin", false, 0, &guards_programs },
	{ "/usr/local/bin", false, 0, &guards_programs },
	{ "/usr/lib", false, 0, &guards_programs },
	{ "/usr/libexec", false, MAY_LACK, &guards_programs },
	{ "/bin", false, MAY_LACK, &guards_programs },
	{ "/etc/systemd", false, MAY_LACK, &guards_units },
	{ "/etc/tmpfiles.d", false, MAY_LACK, &guards_units },
	{ "/etc/sysusers.d", false, MAY_LACK, &guards_units },
	{ "/run/systemd", false, MAY_LACK, &guards_units },
	{ "/lib/systemd", false, MAY_LACK, &guards_units },
	{ "/usr/local/lib/systemd", false, MAY_LACK, &guards_units },
	{ ".config/systemd", true, 0, &guards_units },
	{ ".local/share/systemd", true, 0, &guards_units },
	{ "/run/sbx", false, MAY_LACK, &guards_daemons },
	{ "/run/user", false, MAY_LACK, &guards_daemons },
	{ "/var/lib/sbx", false, MAY_LACK, &guards_state },
	{ ".local/state/sbx", true, 0, &guards_state },
};

/* The same where our caller keeps them elsewhere. */
static const struct {
	const char *variable;
	const char *name;
	const struct step_origin *origin;
} places[] = {
	{ "XDG_CONFIG_HOME=", "sbx", &guards_policies },
	{ "XDG_CONFIG_HOME=", "systemd", &guards_units },
	{ "XDG_DATA_HOME=", "systemd", &guards_units },
	{ "XDG_RUNTIME_DIR=", "sbx", &guards_daemons },
	{ "XDG_STATE_HOME=", "sbx", &guards_state },
};

bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || len == 1);
}

static bool is_grant(const struct mark *mark)
{
	return mark->kind == MARK_ALLOW && (mark->rights & RIGHTS_SEEN) &&
	       mark->content == CONTENT_HOST;
}

/* Inside, @path of the outside is where the grant shows it. */
static const char *seen_at(struct planner *planner, const struct mark *grant, const char *path)
{
	const char *rest;

	if (!grant->source || !is_below(path, grant->source))
		return path;
	rest = path + strlen(grant->source);
	return planner_join(planner, grant->path, rest + (*rest == '/'));
}

static void guard(struct planner *planner, const struct mark *grant, const char *path,
		  unsigned flags, const struct step_origin *origin)
{
	const char *outside = grant->source ? grant->source : grant->path;

	if (!is_below(path, outside) && !is_below(outside, path))
		return;
	if (is_below(outside, path))
		path = outside;
	planner_add_mark(planner, MARK_DENY, seen_at(planner, grant, path), RIGHT_WRITE, *origin)
		->flags = flags;
}

static void guard_places(struct planner *planner, const struct mark *grant)
{
	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		for (char *const *at = planner->request->environment; at && *at; at++) {
			size_t n = strlen(places[i].variable);

			if (strncmp(*at, places[i].variable, n) == 0 && path_is_normal(*at + n))
				guard(planner, grant,
				      planner_join(planner, *at + n, places[i].name), 0,
				      places[i].origin);
		}
}

static void guard_grant(struct planner *planner, const struct mark *grant)
{
	planner_add_mark(planner, MARK_DENY, planner_join(planner, grant->path, ".sbx"),
			 RIGHT_WRITE, guards_policies)
		->flags = MARK_GUARD;
	for (size_t i = 0; i < N_ELEMENTS(guards); i++) {
		const char *path = guards[i].path;

		if (guards[i].is_of_home && !planner->home)
			continue;
		if (guards[i].is_of_home)
			path = planner_join(planner, planner->home, path);
		guard(planner, grant, path, guards[i].flags, guards[i].origin);
	}
	guard_places(planner, grant);
	if (planner->request->registry)
		guard(planner, grant, planner->request->registry, 0, &guards_daemons);
}

/* Where it is not there, nobody has a sandbox. */
static void hide(struct planner *planner, const struct mark *grant, const char *path)
{
	const char *outside = grant->source ? grant->source : grant->path;

	if (!is_below(path, outside) && !is_below(outside, path))
		return;
	if (is_below(outside, path))
		path = outside;
	planner_add_mark(planner, MARK_DENY, seen_at(planner, grant, path), RIGHTS_SEEN,
			 guards_daemons)
		->flags = MARK_GUARD;
}

/* The sockets of other sandboxes: what may read a folder may connect to what is in it. */
static void hide_registry(struct planner *planner, const struct mark *grant)
{
	static const char variable[] = "XDG_RUNTIME_DIR=";
	const char *registry = planner->request->registry;

	hide(planner, grant, "/run/sbx/sandboxes");
	if (registry)
		hide(planner, grant, planner_join(planner, registry, "sandboxes"));
	/* Root's is never elsewhere, and its sandboxes' users could not search such a folder. */
	if (planner->host && is_real_root(planner->host))
		return;
	for (char *const *at = planner->request->environment; at && *at; at++) {
		const char *folder = *at + strlen(variable);

		if (strncmp(*at, variable, strlen(variable)) == 0 && path_is_normal(folder))
			hide(planner, grant, planner_join(planner, folder, "sbx/sandboxes"));
	}
}

void mark_guarded(struct planner *planner)
{
	size_t n = planner->marks.n_rows;

	for (size_t i = 0; i < n; i++) {
		const struct mark *mark = ((struct mark **)planner->marks.rows)[i];

		if (!is_grant(mark))
			continue;
		hide_registry(planner, mark);
		if (mark->rights & RIGHT_WRITE)
			guard_grant(planner, mark);
	}
}
