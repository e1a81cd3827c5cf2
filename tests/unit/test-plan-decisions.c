/* SPDX-License-Identifier: MIT */

/*
 * Property: a plan permits nothing that policy_decide() does not allow
 *
 * Random policies, options and mounts over random trees. plan_permits() says what the steps of the
 * plan permit. An engine of the test's own decides what is allowed, for several callers and modes:
 * the sandbox cannot distinguish them, so it must not permit what is denied for any of them. If the
 * plan permits less than what is allowed for all of them, a notice must say so. Without options,
 * eval must give the same answers; it knows a path only by its name inside. Connections and
 * listeners are compared in the same way in the network modes.
 *
 * The seed is printed; PLAN_SEED=N repeats a run, PLAN_CASES=N changes its length. If CI is set the
 * seed is 1, so that a change does not fail because of an older bug.
 */

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "plan/plan.h"
#include "plan/plan-internal.h"
#include "plan-host.h"
#include "policy/artefact.h"
#include "policy/compile.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/view.h"

#define PROJECT "/home/user/p"
#define CASES 100000 /* number of paths and operations to compare */
#define CASES_SLOW 3000000
#define N_NAMES 3

static uint64_t state;
static uint64_t begun; /* seed of the current case: PLAN_SEED=N repeats it */

static unsigned any(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static bool chance(unsigned percent)
{
	return any(100) < percent;
}

/* A path of one to three components in one of the two trees. */
static const char *any_path(struct arena *arena)
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

static bool is_known(const struct planning *planning, const char *path)
{
	for (size_t i = 0; i < planning->n_known; i++)
		if (strcmp(planning->known[i].path, path) == 0 ||
		    (planning->known[i].kind != HOST_DIRECTORY && !planning->known[i].target &&
		     is_below(path, planning->known[i].path)) ||
		    (planning->known[i].target && is_below(path, planning->known[i].path)) ||
		    is_below(planning->known[i].path, path))
			return true;
	return false;
}

/* A link below the target of a mount has no name inside, so a case has either links or mounts. */
static bool has_links;

/* Mostly directories; sometimes a link of root to another place in the trees. */
static void make_tree(struct planning *planning)
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

static const char *mention(const char *path)
{
	if (n_mentioned < N_ELEMENTS(mentioned))
		mentioned[n_mentioned++] = path;
	return path;
}

/* A path that exists in the trees. */
static const char *any_known_path(const struct planning *planning)
{
	const char *path;

	do {
		path = planning->known[any((unsigned)planning->n_known)].path;
	} while (!is_below(path, "/srv/t") && !is_below(path, "/srv/u") &&
		 !is_below(path, PROJECT));
	return path;
}

/* Unrelated rules show little: choose an existing path, a mentioned one, or one below it. */
static const char *any_near_path(struct planning *planning)
{
	const char *path = chance(40) ? any_known_path(planning) : any_path(&planning->arena);

	if (n_mentioned > 0 && chance(40))
		path = mentioned[any((unsigned)n_mentioned)];
	if (chance(30) && strlen(path) < 24)
		path = planner_join(&(struct planner){ .memory.arena = &planning->arena }, path,
				    chance(50) ? "a" : "b");
	return mention(path);
}

static void add_operations(struct text *out)
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

static void add_paths(struct text *out, struct planning *planning)
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

static void add_conditions(struct text *out)
{
	static const char *const conditions[] = { ", caller: me", ", mode: debug",
						  ", state: [a, b]" };

	if (chance(10))
		text_add(out, conditions[any(N_ELEMENTS(conditions))]);
}

static void add_exceptions(struct text *out, struct planning *planning)
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

static void add_rule(struct text *out, struct planning *planning, unsigned number)
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
static const char *add_mounts(struct text *out, struct planning *planning)
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
static void add_denial_below(struct text *out, const char *source)
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

static void add_net_rule(struct text *out, unsigned number)
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

static void add_mode(struct text *out)
{
	static const char *const modes[] = { "none", "loopback", "loopback", "host" };

	text_addf(out, "net: {mode: %s}\n", modes[any(N_ELEMENTS(modes))]);
	if (chance(10))
		text_add(out, "defaults: {net: allow}\n");
}

static void make_policy(struct text *out, struct planning *planning)
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

static void make_options(struct planning *planning, bool has_policy)
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

static const char *follow(void *context, const char *path)
{
	struct host_path facts = look_at_host(context, path);

	return facts.kind == HOST_LINK_REFUSED ? path : facts.real;
}

/* A path that an option or a mount of the policy shows. */
struct grant {
	const char *inside; /* NULL: there is none */
	const char *outside;
};

static struct grant any_grant(const struct planning *planning)
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
static const char *any_granted_path(struct planning *planning, bool inside)
{
	static const char *const names[] = { "/a", "/b", "/c", "/a/b", "" };
	const struct grant grant = any_grant(planning);
	const char *rest = names[any(N_ELEMENTS(names))];
	const char *known = any_known_path(planning);
	char path[96];
	int len;

	if (!grant.inside)
		return any_path(&planning->arena);
	if (is_below(known, grant.outside))
		rest = known + strlen(grant.outside);
	len = snprintf(path, sizeof(path), "%s%s", inside ? grant.inside : grant.outside, rest);
	return arena_copy(&planning->arena, path, (size_t)len);
}

/* Homes and single credential entries in the trees, so that the table applies to random paths. */
static void make_credentials(struct planning *planning)
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

/* The judge: the verdict of eval with the options added. */

struct judge {
	struct arena arena;
	void *block;
	struct artefact artefact;
	struct policy_engine *engine;
	size_t n_named; /* the rules after these are denials around mounts */
};

static void judge_by(struct judge *judge, struct composer *composer)
{
	const struct policy *composed;
	size_t n_bytes;

	expect_eq(compose_finish(composer, &composed), 0);
	expect_eq(policy_compile(composed, &judge->block, &n_bytes, NULL), 0);
	expect_eq(artefact_open(judge->block, n_bytes, &judge->artefact, NULL), 0);
	expect_eq(policy_engine_new(&judge->artefact, &judge->engine), 0);
}

/* The credentials in @outside that exist, with links resolved; the manual calls them CREDENTIALS.
 */
static void add_excepts(struct planning *planning, const struct request_path *option,
			struct composed_path *path)
{
	const char *outside = follow(planning, option->path);
	const struct credential *entries = NULL;
	struct composed_except *excepts;
	bool writes_home = false;
	size_t n = 0;

	expect_eq(credentials_below(&planning->credentials, outside, &planning->arena, &entries,
				    &n),
		  0);
	for (size_t i = 0; i < planning->credentials.n_places; i++)
		writes_home |= option->grant == GRANT_WRITE && !planning->homes[i].kinds &&
			       is_below(planning->homes[i].path, outside);
	excepts = arena_alloc(&planning->arena, (n + 1) * sizeof(*excepts));
	path->excepts = excepts;
	for (size_t i = 0; i < n; i++) {
		const char *real = follow(planning, entries[i].path), *rest;
		bool is_startup = entries[i].kinds == CREDENTIAL_STARTUP;

		if (look_at_host(planning, real).kind == HOST_MISSING || !is_below(real, outside) ||
		    strcmp(real, outside) == 0 || (is_startup && !writes_home))
			continue;
		rest = real + strlen(outside) + 1;
		excepts[path->n_excepts++] = (struct composed_except){
			.path = option->target ? planner_join(
							 &(struct planner){
								 .memory.arena = &planning->arena },
							 option->target, rest)
					       : real,
			.operations = is_startup ? operation_set("fs.write") : 0,
		};
	}
}

/* Follows the manual's description of the options, not the planner's code. */
static void add_option(struct composer *composer, struct planning *planning,
		       const struct request_path *option)
{
	static const char *const operations[] = {
		[GRANT_READ] = "fs.read fs.list fs.exists exec",
		[GRANT_WRITE] = "fs.* exec",
		[GRANT_EXEC] = "fs.read fs.list fs.exists exec",
		[GRANT_DENY] = "fs.* exec",
		[GRANT_DENY_WRITE] = "fs.write",
		[GRANT_TMPFS] = "fs.* exec",
	};
	struct composed_path path = { .name = option->option,
				      .path = option->target ? option->target : option->path };
	char words[64], *next = words, *word;

	(void)snprintf(words, sizeof(words), "%s", operations[option->grant]);
	while ((word = strsep(&next, " ")))
		path.operations |= operation_set(word);
	if (option->grant <= GRANT_EXEC)
		add_excepts(planning, option, &path);
	if (option->grant == GRANT_DENY || option->grant == GRANT_DENY_WRITE)
		(void)compose_deny(composer, &path);
	else if (option->target && strcmp(option->target, option->path) != 0)
		(void)compose_cover(composer, &path);
	else if (option->grant == GRANT_TMPFS)
		(void)compose_tmpfs(composer, &path);
	else
		(void)compose_show(composer, &path);
}

/* Without a policy the home is private, unless an option shows it or a parent, or it contains the
 * working directory. */
static const char *private_home(struct planning *planning)
{
	const char *home = planning->environment[1] + strlen("HOME=");

	if (is_below(home, PROJECT))
		return NULL;
	for (size_t i = 0; i < planning->request.n_paths; i++) {
		const struct request_path *option = &planning->paths[i];
		const char *path = option->target ? option->target : option->path;

		if (option->grant != GRANT_DENY && option->grant != GRANT_DENY_WRITE &&
		    is_below(home, path))
			return NULL;
	}
	return planning->policy ? NULL : home;
}

static bool has_exec_option(const struct planning *planning)
{
	for (size_t i = 0; i < planning->request.n_paths; i++)
		if (planning->paths[i].grant == GRANT_EXEC)
			return true;
	return false;
}

static void judge_open(struct judge *judge, struct planning *planning)
{
	const struct request_path view = { .grant = GRANT_READ, .path = PROJECT };
	struct composition with = { .project = PROJECT,
				    .home = private_home(planning),
				    .is_limiting_exec = has_exec_option(planning),
				    .resolve = follow,
				    .context = planning };
	struct composed_path project = { .path = PROJECT };
	struct composer composer;

	*judge = (struct judge){ .arena = ARENA_INIT };
	add_excepts(planning, &view, &project);
	with.excepts = project.excepts;
	with.n_excepts = project.n_excepts;
	compose_begin(&composer, planning->policy, &with, &judge->arena);
	for (size_t i = 0; i < planning->request.n_paths; i++)
		add_option(&composer, planning, &planning->paths[i]);
	judge->n_named = composer.policy.n_rules;
	judge_by(judge, &composer);
}

/* As policy_compile_composed(): eval and the service do not know the options. */
static void eval_open(struct judge *eval, struct planning *planning)
{
	const struct composition with = { .resolve = follow, .context = planning };
	struct composer composer;

	*eval = (struct judge){ .arena = ARENA_INIT };
	compose_begin(&composer, planning->policy, &with, &eval->arena);
	judge_by(eval, &composer);
}

static void judge_close(struct judge *judge)
{
	judge->engine = policy_engine_free(judge->engine);
	free(judge->block);
	arena_deinit(&judge->arena);
}

struct facts {
	const char *caller;
	const char *mode;
	const char *state;
};

/* All kinds of callers: what the sandbox permits must be allowed for each. */
static const struct facts askers[] = {
	{ NULL, NULL, NULL },	 { "me", NULL, NULL },	     { "me", "debug", "a" },
	{ NULL, "debug", NULL }, { "other", "strict", "b" },
};

/* Denials around a mount are about names inside. */
static bool is_denied_outside(const struct judge *judge, const struct policy_decision *decision)
{
	return decision->verdict == POLICY_DENY && decision->cause != CAUSE_DEFAULT &&
	       decision->cause != CAUSE_CONSTRAINT &&
	       (decision->cause != CAUSE_RULES || decision->rules[0] < judge->n_named);
}

/* Is it allowed under the name @path, and not denied under the name @source, if there is one? */
static bool is_allowed(const struct judge *judge, const struct planning *planning,
		       const char *operation, const char *path, const char *source)
{
	const struct setting *nested =
		planning->policy ? policy_get_setting(planning->policy, "isolation.nested") : NULL;
	bool is_nested = nested && nested->number;

	for (size_t i = 0; i < N_ELEMENTS(askers); i++) {
		struct policy_request request = {
			.operation = operation,
			.path = path,
			.project_root = PROJECT,
			.caller = askers[i].caller,
			.mode = askers[i].mode,
			.state = askers[i].state,
			.sandbox = is_nested ? "L1" : "L2",
			.has_size = true,
		};
		struct policy_decision decision;

		policy_decide(judge->engine, &request, &decision);
		if (decision.verdict != POLICY_ALLOW)
			return false;
		request.path = source;
		if (source)
			policy_decide(judge->engine, &request, &decision);
		if (source && is_denied_outside(judge, &decision))
			return false;
	}
	return true;
}

/* The comparison. */

struct tally {
	unsigned long long compared, permitted, less, plans, refused, mistakes;
	unsigned long long connections, connected;
};

static const struct {
	const char *operation;
	const char *verb; /* word for it in notices */
	unsigned right;
} operations[] = {
	{ "fs.read", "read", RIGHT_READ },
	{ "fs.list", "list", RIGHT_LIST },
	{ "fs.write", "write", RIGHT_WRITE },
	{ "exec", "execute", RIGHT_EXEC },
};

/* Some notices are about certain operations only, which they name after the path. */
static bool is_about(const char *notice, const char *quoted, const char *verb)
{
	const char *cannot = strstr(notice, "cannot be permitted here: ");

	return strstr(notice, quoted) && (!cannot || strstr(cannot, verb));
}

static bool is_noticed(const struct planning *planning, const char *path, const char *verb)
{
	const struct plan *plan = planning->plan;
	char quoted[80];

	/* A rule that depends on the caller is reported by its own name. */
	if (has_notice(planning, "grants nothing here") ||
	    has_notice(planning, "always applies here"))
		return true;
	/* A notice names a path that a rule reaches through a link by the link. */
	if (has_links && has_notice(planning, "is left out"))
		return true;
	for (size_t len = strlen(path); len > 0; len--) {
		if (path[len] != '/' && path[len] != '\0')
			continue;
		(void)snprintf(quoted, sizeof(quoted), "'%.*s'", (int)len, path);
		for (size_t i = 0; i < plan->n_notices; i++)
			if (is_about(plan->notices[i].what, quoted, verb))
				return true;
	}
	return false;
}

static void tell(struct planning *planning, const struct text *policy, const char *what,
		 const char *path, const char *operation)
{
	printf("# %s: %s %s\n# PLAN_SEED=%llu\n%s", what, operation, path,
	       (unsigned long long)begun, text_string(policy));
	for (size_t i = 0; i < planning->request.n_paths; i++)
		printf("# option %s %s %s\n", planning->paths[i].option, planning->paths[i].path,
		       planning->paths[i].target ? planning->paths[i].target : "");
	for (size_t i = 0; i < planning->n_known; i++)
		if (strncmp(planning->known[i].path, "/srv", 4) == 0 ||
		    strncmp(planning->known[i].path, "/home/user", 10) == 0)
			printf("# tree %s %d %s\n", planning->known[i].path,
			       planning->known[i].kind,
			       planning->known[i].target ? planning->known[i].target : "");
	for (size_t i = 0; i < planning->credentials.n_places; i++)
		printf("# %s %s %u\n", planning->homes[i].kinds ? "entry" : "home",
		       planning->homes[i].path, planning->homes[i].kinds);
	if (planning->plan)
		printf("%s", plan_text(planning));
}

/* A socket (and without Landlock a FIFO) can be used if its directory is visible; the plan knows of
 * it only if the policy names it. */
static bool is_named(const struct planning *planning, const struct text *policy, const char *path)
{
	size_t len = strlen(path);

	for (const char *line = text_string(policy); line; line = strchr(line, '\n')) {
		const char *end, *except, *at;

		line += *line == '\n';
		end = line + strcspn(line, "\n");
		if (strncmp(line, "- {name", 7) != 0)
			continue;
		except = strstr(line, "except: ");
		end = except && except < end ? except : end;
		for (at = line; (at = strstr(at, path)) && at < end; at += len)
			if (at[len] == '\'' || strncmp(at + len, "/'", 2) == 0)
				return true;
	}
	for (size_t i = 0; i < planning->request.n_paths; i++)
		if (!planning->paths[i].target && strcmp(planning->paths[i].path, path) == 0)
			return true;
	return false;
}

/* The step that shows the path; masks over it are skipped. */
static const struct step *find_carrier(const struct plan *plan, const char *path)
{
	const struct step *carrier = plan_find_carrier(plan, path);
	struct plan before = *plan;

	while (carrier && carrier->kind == STEP_MASK) {
		before.n_steps = (size_t)(carrier - plan->steps);
		carrier = plan_find_carrier(&before, path);
	}
	return carrier;
}

struct grant_at {
	const char *target; /* NULL: no grant covers the path */
	const char *source; /* NULL: a tmpfs, or a missing source */
};

/* The innermost grant counts, but one around another whose source is missing may be left out. */
static void take_grant(struct planning *planning, const char *path, struct grant_at grant,
		       struct grant_at *found)
{
	bool is_known = !found->target || found->source;

	if (!grant.target || !is_below(path, grant.target))
		return;
	if (grant.source && look_at_host(planning, grant.source).kind == HOST_MISSING)
		grant.source = NULL;
	if (!found->target || is_below(grant.target, found->target))
		*found = grant;
	if (!is_known || !grant.source)
		found->source = NULL;
}

static struct grant_at find_mount(struct planning *planning, const char *path)
{
	struct grant_at found = { .target = NULL };
	struct policy_mount mount;

	for (size_t i = 0; planning->policy && policy_get_mount(planning->policy, i, &mount); i++)
		if (mount.source || mount.mode == MOUNT_TMPFS)
			take_grant(planning, path,
				   (struct grant_at){ mount.target->text, mount.source }, &found);
	for (size_t i = 0; i < planning->request.n_paths; i++) {
		const struct request_path *option = &planning->paths[i];
		struct grant_at grant = { option->target, option->path };

		if (option->grant == GRANT_TMPFS)
			grant = (struct grant_at){ option->path, NULL };
		take_grant(planning, path, grant, &found);
	}
	return found;
}

/* The path's content on the host; NULL: sbx created it, or it does not exist. */
static const char *source_of(struct planning *planning, const char *path)
{
	const struct step *carrier = find_carrier(planning->plan, path);
	const char *at = carrier ? step_target(carrier) : "/";
	struct grant_at mount = find_mount(planning, path);
	char source[256];

	if (mount.target && !is_below(at, mount.target)) {
		const struct step *mask = plan_find_carrier(planning->plan, path);

		/* Is the mount hidden completely? */
		if (!mount.source || !mask || mask->kind != STEP_MASK)
			return NULL;
	} else if (!carrier) {
		return path;
	} else if (carrier->kind == STEP_BIND) {
		mount = (struct grant_at){ at, carrier->bind.source };
	} else {
		return NULL;
	}
	(void)snprintf(source, sizeof(source), "%s%s", mount.source, path + strlen(mount.target));
	return arena_copy(&planning->arena, source, strlen(source));
}

static void compare(struct planning *planning, const struct judge *judge, const struct judge *eval,
		    const struct text *policy, struct tally *tally)
{
	const char *named =
		chance(30) ? any_granted_path(planning, true) : any_path(&planning->arena);
	const char *path = follow(planning, named);
	const char *source = source_of(planning, path);
	bool is_fresh = chance(60);
	const char *parent;
	struct host_path facts;
	unsigned permitted;

	if (!source)
		return;
	facts = look_at_host(planning, source);
	/* A visible link is compared at its target. */
	if (strcmp(facts.real, source) != 0)
		return;
	if (is_fresh && facts.kind == HOST_DIRECTORY) {
		path = planner_join(&(struct planner){ .memory.arena = &planning->arena }, path,
				    "fresh");
		source = planner_join(&(struct planner){ .memory.arena = &planning->arena }, source,
				      "fresh");
		facts = look_at_host(planning, source);
	}
	/* Only a directory can contain other paths. */
	parent = arena_copy(&planning->arena, source, (size_t)(strrchr(source, '/') - source));
	if (look_at_host(planning, parent).kind != HOST_DIRECTORY)
		return;
	if ((facts.kind == HOST_SOCKET || facts.kind == HOST_OTHER || facts.kind == HOST_DEVICE) &&
	    !is_named(planning, policy, path))
		return;
	permitted = plan_permits(planning->plan, path, facts.kind);
	for (size_t i = 0; i < N_ELEMENTS(operations); i++) {
		bool is_permitted = permitted & operations[i].right;
		bool allowed = is_allowed(judge, planning, operations[i].operation, path,
					  strcmp(source, path) == 0 ? NULL : source);
		/* eval does not know where a path is outside. */
		bool evaluated = eval->engine ? is_allowed(eval, planning, operations[i].operation,
							   path, NULL)
					      : allowed;

		if (facts.kind == HOST_MISSING && !(permitted & RIGHT_WRITE))
			continue;
		/* Directories are listed; files are read and written. */
		if (facts.kind == HOST_DIRECTORY && operations[i].right != RIGHT_LIST)
			continue;
		if (facts.kind == HOST_SOCKET && operations[i].right != RIGHT_WRITE)
			continue;
		tally->compared++;
		tally->permitted += is_permitted;
		if (evaluated != allowed) {
			tell(planning, policy,
			     evaluated ? "denied outside, and eval allows it"
				       : "allowed, and eval denies it",
			     path, operations[i].operation);
			expect(!"eval says something else");
		}
		if (is_permitted && !allowed) {
			tell(planning, policy, "permitted, but not allowed", path,
			     operations[i].operation);
			expect(!"permitted, but not allowed");
		}
		if (allowed && !is_permitted && facts.kind != HOST_MISSING &&
		    (facts.kind == HOST_DIRECTORY || operations[i].right != RIGHT_LIST)) {
			tally->less++;
			if (!is_noticed(planning, path, operations[i].verb)) {
				tell(planning, policy, "allowed, not permitted, and not noticed",
				     path, operations[i].operation);
				expect(!"less without a notice");
			}
		}
	}
}

static const struct step *find(const struct plan *plan, enum step_kind kind)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind)
			return &plan->steps[i];
	return NULL;
}

/* Carries out the steps like the kernel. The command resolves names; an address outside of the
 * loopback belongs to another host. */
static bool permits_network(const struct plan *plan, const struct place_of_network *place)
{
	const struct step *landlock = find(plan, STEP_LANDLOCK);

	if (!(find(plan, STEP_SECCOMP)->seccomp.variants & VARIANT_INET))
		return false;
	if (!(plan->layers & LAYER_NET))
		return true;
	/* No policy of this test names a port of the host's loopback. */
	expect(!find(plan, STEP_LISTEN) && (!landlock || landlock->landlock.port_rights == 0));
	return find(plan, STEP_LOOPBACK) && place->is_loopback;
}

static void compare_network(struct planning *planning, struct judge *judge,
			    const struct text *policy, struct tally *tally)
{
	const struct place_of_network *place = &hosts[any(N_ELEMENTS(hosts))];
	struct policy_request request = {
		.operation = chance(50) ? "net.connect" : "net.bind",
		.host = place->host,
		.port = numbers[any(N_ELEMENTS(numbers))],
		.has_port = true,
		.proto = chance(50) ? "tcp" : "udp",
		.sandbox = "L2",
	};
	bool is_permitted = permits_network(planning->plan, place), is_allowed = true;
	struct policy_decision decision;

	for (size_t i = 0; i < N_ELEMENTS(askers); i++) {
		request.caller = askers[i].caller;
		request.mode = askers[i].mode;
		request.state = askers[i].state;
		policy_decide(judge->engine, &request, &decision);
		is_allowed &= decision.verdict == POLICY_ALLOW;
	}
	tally->connections++;
	tally->connected += is_permitted;
	if (is_permitted == is_allowed)
		return;
	tell(planning, policy,
	     is_permitted ? "permitted, but not allowed" : "allowed, not permitted", place->host,
	     request.operation);
	expect(!"the network is not as decided");
}

static void try_policy(struct tally *tally)
{
	_cleanup_text_ struct text policy = TEXT_INIT;
	_cleanup_planning_ struct planning planning;
	struct judge judge, eval = { .arena = ARENA_INIT };
	bool has_policy;
	char home[128];
	int r;

	begun = state;
	n_mentioned = 0;
	has_links = chance(40);
	has_policy = chance(75);
	planning_open(&planning);
	make_tree(&planning);
	(void)snprintf(home, sizeof(home), "HOME=%s",
		       chance(50) ? "/home/user" : any_path(&planning.arena));
	planning.environment[1] = home;
	make_options(&planning, has_policy);
	make_credentials(&planning);
	if (has_policy) {
		make_policy(&policy, &planning);
		planning_load(&planning, text_string(&policy));
	}
	r = planning_build(&planning);
	tally->plans++;
	tally->refused += r < 0;
	if (r == -ENOTRECOVERABLE) {
		tally->mistakes++;
		tell(&planning, &policy, planning.err.what, planning.err.why, "");
	}
	expect(r != -ENOTRECOVERABLE);
	if (r < 0)
		return;
	judge_open(&judge, &planning);
	if (has_policy && planning.request.n_paths == 0)
		eval_open(&eval, &planning);
	for (int i = 0; i < 24; i++)
		compare(&planning, &judge, &eval, &policy, tally);
	for (int i = 0; has_policy && policy_get_setting(planning.policy, "net.mode") && i < 8; i++)
		compare_network(&planning, &judge, &policy, tally);
	judge_close(&judge);
	judge_close(&eval);
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void nothing_is_permitted_that_is_not_decided(void)
{
	uint64_t cases = number_of("PLAN_CASES", test_is_slow() ? CASES_SLOW : CASES);
	struct tally tally = { 0 };

	state = number_of("PLAN_SEED", getenv("CI") ? 1 : (uint64_t)time(NULL) * 2654435761u | 1);
	printf("# seed: PLAN_SEED=%llu\n", (unsigned long long)state);
	/* Bounded, in case the planner refuses every case. */
	while (tally.compared < cases && tally.plans < cases && test_failures < 3)
		try_policy(&tally);
	printf("# %llu compared, %llu permitted, %llu less; %llu plans, %llu refused, %llu "
	       "mistakes; of the network %llu compared, %llu permitted\n",
	       tally.compared, tally.permitted, tally.less, tally.plans, tally.refused,
	       tally.mistakes, tally.connections, tally.connected);
	/* If the generator were always refused, the comparison would show nothing. */
	expect(tally.permitted > cases / 20);
	expect(tally.refused < tally.plans / 2);
	expect(tally.connected > cases / 1000 && tally.connected < tally.connections);
}

static const struct test tests[] = {
	TEST(nothing_is_permitted_that_is_not_decided),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
