/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A random case for the planner: a tree of files, a policy, options, mounts and credentials
 *
 * Unrelated random paths hardly ever meet, so that a plan made of them would show nothing: most
 * paths are ones that the case has already mentioned, or near one.
 */

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "plan-host.h"
#include "plan/plan-internal.h"
#include "policy/view.h"

#define PROJECT "/home/user/p"
#define N_NAMES 3

static uint64_t state; /* of the generator; any() advances it */

static inline unsigned any(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static inline bool chance(unsigned percent)
{
	return any(100) < percent;
}

/* A path of one to three components in one of the two trees. */
static inline const char *any_path(struct arena *arena)
{
	static const char *const roots[] = { "/srv/t", "/srv/t", "/srv/t", "/srv/u", PROJECT };
	static const char *const names[N_NAMES] = { "a", "b", "c" };
	unsigned depth = any(4);
	char path[64];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s", roots[any(5)]);

	while (depth-- > 0)
		len += (size_t)snprintf(path + len, sizeof(path) - len, "/%s", names[any(N_NAMES)]);
	return arena_copy(arena, path, len);
}

static inline bool is_known(const struct planning *planning, const char *path)
{
	for (size_t i = 0; i < planning->n_known; i++)
		if (strcmp(planning->known[i].path, path) == 0 ||
		    (planning->known[i].kind != HOST_DIRECTORY && !planning->known[i].target &&
		     path_is_at_or_below(path, planning->known[i].path)) ||
		    (planning->known[i].target &&
		     path_is_at_or_below(path, planning->known[i].path)) ||
		    path_is_at_or_below(planning->known[i].path, path))
			return true;
	return false;
}

/* A link below the target of a mount has no name inside, so a case has either links or mounts. */
static bool has_links;

/* Mostly directories; sometimes a link of root to another place in the trees. */
static inline void make_tree(struct planning *planning)
{
	static const enum host_path_kind kinds[] = {
		HOST_DIRECTORY, HOST_DIRECTORY, HOST_DIRECTORY, HOST_FILE,
		HOST_FILE,	HOST_OTHER,	HOST_SOCKET,	HOST_DEVICE,
	};

	know(planning, "/srv/t", HOST_DIRECTORY);
	know(planning, "/srv/u", HOST_DIRECTORY);
	for (unsigned n = any(14); n > 0; n--) {
		const char *path = any_path(&planning->arena);
		const char *target = any_path(&planning->arena);

		if (is_known(planning, path))
			continue;
		/* The target of a link is not below another link, so that there are no loops. */
		if (has_links && chance(15) && strncmp(path, "/srv/t", 6) == 0 &&
		    strncmp(target, "/srv/u", 6) == 0)
			know_link(planning, path, target, 0);
		else
			know(planning, path, kinds[any(N_ELEMENTS(kinds))]);
	}
}

/* Policies */

/* Paths that rules, mounts and options of this case mention. */
static const char *mentioned[64];
static size_t n_mentioned;

static inline const char *mention(const char *path)
{
	if (n_mentioned < N_ELEMENTS(mentioned))
		mentioned[n_mentioned++] = path;
	return path;
}

/* A path that exists in the trees. */
static inline const char *any_known_path(const struct planning *planning)
{
	const char *path;

	do {
		path = planning->known[any((unsigned)planning->n_known)].path;
	} while (!path_is_at_or_below(path, "/srv/t") && !path_is_at_or_below(path, "/srv/u") &&
		 !path_is_at_or_below(path, PROJECT));
	return path;
}

/* Unrelated rules show little: choose an existing path, a mentioned one, or one below it. */
static inline const char *any_near_path(struct planning *planning)
{
	const char *path = chance(40) ? any_known_path(planning) : any_path(&planning->arena);

	if (n_mentioned > 0 && chance(40))
		path = mentioned[any((unsigned)n_mentioned)];
	if (chance(30) && strlen(path) < 24)
		path = planner_join(&(struct planner){ .memory.arena = &planning->arena }, path,
				    chance(50) ? "a" : "b");
	return mention(path);
}

static inline void add_operations(struct text *out)
{
	static const char *const operations[] = {
		"fs.read", "fs.write", "fs.list", "exec",     "fs.exists",
		"fs.*",	   "fs.*",     "fs.read", "fs.write",
	};
	unsigned n = 1 + any(3);

	text_add(out, "[");
	for (unsigned i = 0; i < n; i++)
		text_addf(out, "%s%s", i ? ", " : "", operations[any(N_ELEMENTS(operations))]);
	text_add(out, "]");
}

static inline void add_paths(struct text *out, struct planning *planning)
{
	static const char *const endings[] = { "", "/", "/**" };
	bool is_glob = chance(30);
	unsigned n = 1 + any(2);

	text_add(out, is_glob ? "path_glob: [" : "path: [");
	for (unsigned i = 0; i < n; i++)
		text_addf(out, "%s'%s%s%s'", i ? ", " : "", is_glob && i && chance(30) ? "!" : "",
			  any_near_path(planning), is_glob ? endings[any(3)] : "");
	text_add(out, "]");
}

static inline void add_conditions(struct text *out)
{
	static const char *const conditions[] = { ", caller: me", ", mode: debug",
						  ", state: [a, b]" };

	if (chance(10))
		text_add(out, conditions[any(N_ELEMENTS(conditions))]);
}

static inline void add_exceptions(struct text *out, struct planning *planning)
{
	unsigned n = chance(40) ? 1 + any(2) : 0;

	if (n > 0)
		text_add(out, ", except: [");
	for (unsigned i = 0; i < n; i++) {
		text_add(out, i ? ", {" : "{");
		add_paths(out, planning);
		if (chance(40)) {
			text_add(out, ", op: ");
			add_operations(out);
		}
		add_conditions(out);
		text_add(out, "}");
	}
	if (n > 0)
		text_add(out, "]");
}

static inline void add_rule(struct text *out, struct planning *planning, unsigned number)
{
	static const char *const constraints[] = {
		"require_capability_token: true",
		"require_sandbox: L2",
		"require_sandbox: L1",
		"max_file_size: 1MiB",
	};

	text_addf(out, "- {name: r%u, action: %s, match: {op: ", number,
		  chance(65) ? "allow" : "deny");
	add_operations(out);
	text_add(out, ", ");
	add_paths(out, planning);
	add_conditions(out);
	text_add(out, "}");
	add_exceptions(out, planning);
	if (chance(6))
		text_addf(out, ", constraints: {%s}", constraints[any(N_ELEMENTS(constraints))]);
	text_add(out, "}\n");
}

/* Returns the source of one of the mounts, or NULL. */
static inline const char *add_mounts(struct text *out, struct planning *planning)
{
	static const char *const modes[] = { "ro", "rw", "mask", "tmpfs", "ro", "rw" };
	unsigned n = chance(35) ? 1 + any(2) : 0;
	const char *source = NULL;

	if (n > 0)
		text_add(out, "mounts:\n");
	for (unsigned i = 0; i < n; i++) {
		unsigned mode = any(N_ELEMENTS(modes));

		text_addf(out, "- {target: '%s', mode: %s, optional: true", any_near_path(planning),
			  modes[mode]);
		if (mode < 2 && !has_links) {
			source = mention(chance(70) ? any_known_path(planning)
						    : any_near_path(planning));
			text_addf(out, ", source: '%s'", source);
		}
		text_add(out, "}\n");
	}
	return source;
}

/* Adds a deny below the source of a mount, with an exception in it: independent random rules hardly
 * ever overlap like this.
 */
static inline void add_denial_below(struct text *out, const char *source)
{
	text_add(out, "- {name: m, action: deny, match: {op: ");
	add_operations(out);
	text_addf(out, ", path: '%s/%c'}, except: [{path: '%s/%c/%c'", source, 'a' + any(N_NAMES),
		  source, 'a' + any(N_NAMES), 'a' + any(N_NAMES));
	if (chance(40)) {
		text_add(out, ", op: ");
		add_operations(out);
	}
	text_add(out, "}]}\n");
}

/* ---- the network ---- */

static const struct place_of_network {
	const char *host;
	bool is_loopback;
} hosts[] = {
	{ "127.0.0.1", true },
	{ "127.9.9.9", true },
	{ "::1", true },
	{ "0.0.0.0", true },
	{ "::", true },
	{ "::ffff:127.0.0.1", true },
	{ "localhost", true },
	{ "10.1.2.3", false },
	{ "2001:db8::1", false },
	{ "126.0.0.1", false },
	{ "::ffff:10.1.2.3", false },
	{ "a.example", false },
};
static const uint16_t numbers[] = { 80, 8000 };

static inline void add_net_rule(struct text *out, unsigned number)
{
	static const char *const actions[] = { "allow", "allow", "allow", "deny", "warn" };
	static const char *const conditions[] = {
		"",
		", ports: 80",
		", proto: tcp",
		", host: localhost",
		", host: [a.example, '*.localhost']",
		", cidr: 127.0.0.0/8",
		", cidr: 127.0.0.1",
		", cidr: ['::1', 10.0.0.0/8]",
		", cidr: 10.0.0.0/8",
		", cidr: 126.0.0.0/7",
		", cidr: 128.0.0.0/1",
		", cidr: '::/0'",
		", cidr: '::fffe:0:0/95'",
		", cidr: '2001:db8::/32'",
	};

	text_addf(out, "- {name: n%u, action: %s, match: {op: %s%s", number,
		  actions[any(N_ELEMENTS(actions))],
		  chance(30)   ? "net.connect"
		  : chance(50) ? "net.bind"
			       : "net.*",
		  conditions[any(N_ELEMENTS(conditions))]);
	add_conditions(out);
	text_add(out, "}");
	if (chance(20))
		text_add(out, ", except: [{cidr: [127.0.0.0/8, '::1']}]");
	text_add(out, "}\n");
}

static inline void add_mode(struct text *out)
{
	static const char *const modes[] = { "none", "loopback", "loopback", "host" };

	text_addf(out, "net: {mode: %s}\n", modes[any(N_ELEMENTS(modes))]);
	if (chance(10))
		text_add(out, "defaults: {net: allow}\n");
}

static inline void make_policy(struct text *out, struct planning *planning)
{
	bool has_network = chance(25);
	unsigned n = 1 + any(6);
	const char *source;

	text_reset(out);
	text_add(out, "version: 1\n");
	if (chance(20))
		text_add(out, "isolation: {nested: true}\n");
	if (has_network)
		add_mode(out);
	else if (chance(5))
		text_add(out, "defaults: {fs: allow}\n");
	source = add_mounts(out, planning);
	text_add(out, "capabilities:\n"
		      "- {name: system, action: allow, match: {op: [fs.read, fs.list, exec], "
		      "path: /usr}}\n");
	if (source && chance(50))
		add_denial_below(out, source);
	for (unsigned i = 0; i < n; i++)
		add_rule(out, planning, i);
	for (unsigned i = has_network ? any(3) : 0; i > 0; i--)
		add_net_rule(out, i);
}

static inline void make_options(struct planning *planning, bool has_policy)
{
	static const struct {
		enum request_grant grant;
		const char *name;
	} options[] = {
		{ GRANT_READ, "--read" }, { GRANT_WRITE, "--write" },
		{ GRANT_DENY, "--deny" }, { GRANT_DENY_WRITE, "--deny-write" },
		{ GRANT_EXEC, "--exec" }, { GRANT_TMPFS, "--tmpfs" },
	};

	for (unsigned n = chance(has_policy ? 30 : 70) ? 1 + any(2) : 0; n > 0; n--) {
		unsigned i = any(N_ELEMENTS(options));

		grant(planning, options[i].grant, any_near_path(planning), options[i].name);
		planning->paths[planning->request.n_paths - 1].optional = true;
		if (i < 2 && !has_links && chance(40))
			planning->paths[planning->request.n_paths - 1].target =
				any_near_path(planning);
	}
}

static inline const char *follow(void *context, const char *path)
{
	struct host_path facts = look_at_host(context, path);

	return facts.kind == HOST_LINK_REFUSED ? path : facts.real;
}

/* A path that an option or a mount of the policy shows. */
struct grant {
	const char *inside; /* NULL: there is none */
	const char *outside;
};

static inline struct grant any_grant(const struct planning *planning)
{
	size_t n_options = planning->request.n_paths, n_mounts = 0;
	const struct request_path *option;
	struct policy_mount mount;
	const char *inside = NULL;
	unsigned i;

	while (planning->policy && policy_get_mount(planning->policy, n_mounts, &mount))
		n_mounts++;
	if (n_options + n_mounts == 0)
		return (struct grant){ .inside = NULL };
	i = any((unsigned)(n_options + n_mounts));
	if (i >= n_options) {
		(void)policy_get_mount(planning->policy, i - n_options, &mount);
		inside = mount.target->text;
		return (struct grant){ inside, mount.source ? mount.source : inside };
	}
	option = &planning->paths[i];
	return (struct grant){ option->target ? option->target : option->path, option->path };
}

/* A granted path or one below it, preferably an existing one; any path if there is no grant. */
static inline const char *any_granted_path(struct planning *planning, bool inside)
{
	static const char *const names[] = { "/a", "/b", "/c", "/a/b", "" };
	const struct grant grant = any_grant(planning);
	const char *rest = names[any(N_ELEMENTS(names))];
	const char *known = any_known_path(planning);
	char path[96];
	int len;

	if (!grant.inside)
		return any_path(&planning->arena);
	if (path_is_at_or_below(known, grant.outside))
		rest = known + strlen(grant.outside);
	len = snprintf(path, sizeof(path), "%s%s", inside ? grant.inside : grant.outside, rest);
	return arena_copy(&planning->arena, path, (size_t)len);
}

/* Homes and single credential entries in the trees, so that the table applies to random paths. */
static inline void make_credentials(struct planning *planning)
{
	static const unsigned kinds[] = { CREDENTIAL_SECRET, CREDENTIAL_SECRET, CREDENTIAL_SOCKET,
					  CREDENTIAL_STARTUP,
					  CREDENTIAL_SECRET | CREDENTIAL_STARTUP };
	size_t n = chance(40) ? 0 : 1 + any(N_ELEMENTS(planning->homes) - 1);

	for (size_t i = 0; i < n; i++) {
		const char *path =
			chance(70) ? any_granted_path(planning, false) : any_path(&planning->arena);

		if (chance(70) && !is_known(planning, path))
			know(planning, path, chance(50) ? HOST_DIRECTORY : HOST_FILE);
		planning->homes[i] = (struct credential_place){
			.path = i == 0 ? follow(planning, path) : path,
			.prefix = "",
			.kinds = i == 0 ? 0 : kinds[any(N_ELEMENTS(kinds))],
		};
	}
	planning->credentials.n_places = n;
}
