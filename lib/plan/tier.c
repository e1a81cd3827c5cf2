/* SPDX-License-Identifier: MIT */

/*
 * Tiers: which layers the sandbox has, or why not; and the template
 *
 * The tier "full" is tried first. The reduced one is chosen only if the caller accepted it by name,
 * and only if a cgroup lets the kernel kill the whole process tree: nothing else there can.
 *
 * A template supplies the limits, the profile and the network mode that the policy and the options
 * leave out.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "plan/layers.h"
#include "policy/enforcement.h"

/* ---- names ---- */

static const struct {
	enum layer layer;
	const char *name;
	uint64_t clone_flag; /* of a namespace, else 0 */
} layers[] = {
	{ LAYER_USER, "user", CLONE_NEWUSER },
	{ LAYER_MOUNT, "mount", CLONE_NEWNS },
	{ LAYER_PID, "pid", CLONE_NEWPID },
	{ LAYER_IPC, "ipc", CLONE_NEWIPC },
	{ LAYER_UTS, "uts", CLONE_NEWUTS },
	{ LAYER_NET, "net", CLONE_NEWNET },
	{ LAYER_CGROUP_NAMESPACE, "cgroup-namespace", CLONE_NEWCGROUP },
	{ LAYER_LANDLOCK, "landlock", 0 },
	{ LAYER_SECCOMP, "seccomp", 0 },
	{ LAYER_CAPABILITIES, "capabilities", 0 },
	{ LAYER_CGROUP, "cgroup", 0 },
};

static const struct {
	const char *name;
	enum tier tier;
} tiers[] = {
	{ "full", TIER_FULL },
	{ "reduced", TIER_REDUCED },
	{ "no-userns", TIER_REDUCED },
	{ "landlock-only", TIER_REDUCED },
};

static const char *const holders[] = {
	[HELD_BY_NOBODY] = "none", [HELD_BY_CGROUP] = "cgroup",
	[HELD_BY_SCOPE] = "scope", [HELD_BY_RLIMIT] = "rlimit",
	[HELD_BY_SIZE] = "size",   [HELD_BY_SUPERVISOR] = "supervisor",
};

const char *layer_name(enum layer layer)
{
	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		if (layers[i].layer == layer)
			return layers[i].name;
	return "unknown";
}

enum layer layer_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		if (strcmp(layers[i].name, name) == 0)
			return layers[i].layer;
	return 0;
}

const char *tier_name(enum tier tier)
{
	return tier == TIER_FULL ? "full" : "reduced";
}

int tier_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(tiers); i++)
		if (strcmp(tiers[i].name, name) == 0)
			return (int)tiers[i].tier;
	return -ENOENT;
}

const char *holder_name(enum holder holder)
{
	return holders[holder];
}

/* RLIMIT_DATA counts a process's private writable pages: not memfds, System V segments, or shared
 * mappings. */
const char *limit_part_held(enum limit limit, enum holder holder)
{
	return limit == LIMIT_MEMORY && holder == HELD_BY_RLIMIT ? "private memory of each process"
								 : NULL;
}

/* ---- the template ---- */

/* An option overrides the policy file, but never widens a strict profile. */
static void choose_profile(struct planner *planner)
{
	const struct setting *seccomp = policy_get_setting(planner->policy, "isolation.seccomp"),
			     *template = policy_get_setting(planner->policy, "isolation.template");
	struct choices *chosen = &planner->chosen;
	bool is_typed = planner->request->template != NULL;

	chosen->profile = chosen->template->profile;
	chosen->profile_origin = is_typed   ? origin_of_option(planner, "--template")
				 : template ? origin_of_setting(planner, template)
					    : origin_built_in;
	if (!seccomp || (is_typed && strcmp(chosen->profile, "strict") == 0))
		return;
	chosen->profile = strcmp(seccomp->text, "strict") == 0 ? "strict" : "standard";
	chosen->profile_origin = origin_of_setting(planner, seccomp);
}

/* Returns constant strings, so that the plan does not point into the policy. */
static int choose_net_mode(struct planner *planner)
{
	struct net_choice choice = policy_net_choice(planner->policy, planner->request->template);
	const char *name = planner->request->net_mode;

	if (!name || net_mode_find(name, &choice.mode)) {
		planner->chosen.net_mode = choice.mode;
		return 0;
	}
	return error_fill(planner->err, -EINVAL, "the modes are none, loopback, proxy, host",
			  "name one of them", "there is no network mode '%s'", name);
}

int choose_template(struct planner *planner)
{
	const char *name = planner->request->template;

	planner->chosen.template = policy_template_find(planner->policy, name);
	if (!planner->chosen.template) {
		(void)error_fill(planner->err, -EINVAL,
				 "the templates are code-executor, ai-provider, policy-sandbox",
				 "name one of them", "there is no template '%s'", name);
		(void)suggest_fix_from(planner->err, name, policy_template_names);
		return -EINVAL;
	}
	planner->chosen.is_nested = policy_is_nested(planner->policy);
	choose_profile(planner);
	return choose_net_mode(planner);
}

/* ---- the tier ---- */

#define NAMESPACE_LAYERS (LAYER_USER | LAYER_MOUNT | LAYER_PID | LAYER_IPC | LAYER_UTS)

/* Layers that a policy can demand by name. */
static const struct demand {
	const char *setting;
	unsigned layers;
} demands[] = {
	{ "plugins.namespaces", NAMESPACE_LAYERS }, { "isolation.namespaces", NAMESPACE_LAYERS },
	{ "plugins.landlock", LAYER_LANDLOCK },	    { "isolation.landlock", LAYER_LANDLOCK },
	{ "plugins.seccomp", LAYER_SECCOMP },
};

/* Refuses a host that lacks what both tiers need. */
static int check_common(struct planner *planner)
{
	const struct host *host = planner->host;

	if (!host->has_seccomp)
		return planner_refuse(planner, -EOPNOTSUPP, "cannot build a sandbox here",
				      "this kernel has no system call filters",
				      "use a kernel with CONFIG_SECCOMP_FILTER");
	if (host->landlock_abi <= 0 && !planner->chosen.is_nested)
		return planner_refuse(
			planner, -EOPNOTSUPP, "cannot build a sandbox here",
			"this kernel has no Landlock, or it is switched off",
			"boot with Landlock in the list of LSMs (lsm=landlock,...), on Linux 5.13 or newer");
	if (strcmp(planner->chosen.profile, "strict") == 0 && !host->has_notify)
		return planner_refuse(
			planner, -EOPNOTSUPP, "cannot use the profile 'strict' here",
			"it needs seccomp user notification to allow the exec of the command, "
			"and this kernel lacks it",
			"use Linux 5.0 or newer, or 'isolation: {seccomp: standard}'");
	return 0;
}

static int find_accepted(struct planner *planner, enum tier *ret)
{
	const char *name = planner->request->tier;
	int tier;

	if (!name)
		name = policy_get_text(planner->policy, "isolation.tier");
	tier = name ? tier_find(name) : (int)TIER_FULL;
	if (tier < 0)
		return planner_refuse(planner, -EINVAL, "there is no such tier",
				      "the tiers are full and reduced", "name one of them");
	*ret = (enum tier)tier;
	return 0;
}

static int refuse_full(struct planner *planner, bool is_accepted)
{
	const struct host *host = planner->host;
	const char *why = host->userns_why ? host->userns_why : "user namespaces cannot be made";
	int r = sbx_error_what(planner->err, -EOPNOTSUPP,
			       "cannot build a sandbox of the full tier");

	sbx_error_why(planner->err, "%s", why);
	if (is_accepted)
		sbx_error_context(
			planner->err,
			"the reduced tier is accepted, but needs Landlock and a delegated cgroup with cgroup.kill");
	if (host->userns_fix)
		sbx_error_fix(planner->err, "%s", host->userns_fix);
	else
		sbx_error_fix(planner->err,
			      "allow user namespaces ('sbx-spawn --check' says how)%s",
			      is_accepted ? "" : ", or accept less by --min-tier reduced");
	return r;
}

static bool can_reduce(const struct host *host)
{
	return host->landlock_abi > 0 && host->cgroup && host->has_cgroup_kill;
}

static void note_reduced(struct planner *planner)
{
	const char *why = planner->host->userns_why;

	planner_advise(planner,
		       "without namespaces (tier reduced) the command sees the "
		       "host's processes and has no private /tmp",
		       why			   ? why
		       : planner->host->has_userns ? "--tier-exactly"
						   : "user namespaces cannot be made",
		       "'sbx-spawn --check' shows what to change")
		->is_weaker = true;
}

/* The reduced tier is chosen although the full one is possible only if it was asked for exactly,
 * for tests of that tier. */
static bool wants_reduced(const struct planner *planner, enum tier accepted)
{
	return planner->request->is_tier_exact && accepted == TIER_REDUCED;
}

int choose_tier(struct planner *planner)
{
	const struct host *host = planner->host;
	struct plan *plan = planner->plan;
	enum tier accepted = TIER_FULL;
	int r = find_accepted(planner, &accepted);

	if (r == 0)
		r = check_common(planner);
	if (r < 0)
		return r;
	plan->layers = LAYER_SECCOMP | LAYER_CAPABILITIES;
	if (!planner->chosen.is_nested)
		plan->layers |= LAYER_LANDLOCK;
	plan->tier =
		host->has_userns && !wants_reduced(planner, accepted) ? TIER_FULL : TIER_REDUCED;
	if (plan->tier == TIER_FULL) {
		plan->layers |= NAMESPACE_LAYERS | LAYER_CGROUP_NAMESPACE;
		if (planner->chosen.net_mode != NET_HOST)
			plan->layers |= LAYER_NET;
	} else if (wants_reduced(planner, accepted) && !can_reduce(host)) {
		return planner_refuse(planner, -EOPNOTSUPP,
				      "cannot build a sandbox of the reduced tier",
				      "it needs Landlock and a delegated cgroup with cgroup.kill",
				      "run it in a unit with Delegate=yes, or leave out "
				      "--tier-exactly");
	} else if (accepted == TIER_FULL || planner->chosen.is_nested || !can_reduce(host)) {
		return refuse_full(planner, accepted == TIER_REDUCED);
	}
	if (plan->tier == TIER_REDUCED && planner->request->pty)
		return planner_refuse(planner, -EOPNOTSUPP, "cannot make a pseudoterminal here",
				      "without namespaces there is no private /dev/pts",
				      "leave out --pty, or use a host with user namespaces");
	if (plan->tier == TIER_REDUCED)
		note_reduced(planner);
	if (planner->chosen.is_nested)
		planner_note(planner, "Landlock is left out",
			     "a process under Landlock cannot mount, and 'isolation.nested' lets "
			     "the command build sandboxes; it can therefore reopen the files that "
			     "are its stdin, stdout and stderr for reading and writing, and write "
			     "to every FIFO that is shown")
			->is_weaker = true;
	return 0;
}

int check_nested(struct planner *planner)
{
	struct step_origin origin;

	if (!planner->chosen.is_nested || decided_exec_everywhere(planner))
		return 0;
	origin =
		origin_of_setting(planner, policy_get_setting(planner->policy, "isolation.nested"));
	return error_fill(planner->err, -EOPNOTSUPP,
			  "it excludes Landlock, and the command can execute a copy of any program "
			  "in a file system that it mounts",
			  "allow exec without a path, or remove 'nested'",
			  "cannot limit what is executed under %s", origin_text(&origin));
}

static int refuse_layers(struct planner *planner, unsigned missing, const char *who)
{
	const char *name = layer_name(missing & -missing);
	int r = sbx_error_what(planner->err, -EOPNOTSUPP, "the layer '%s' is not available", name);

	sbx_error_why(planner->err, "%s requires it, and this run has: tier %s, network %s%s", who,
		      tier_name(planner->plan->tier), net_mode_name(planner->chosen.net_mode),
		      planner->chosen.is_nested ? ", nested" : "");
	if ((missing & -missing) == LAYER_CGROUP && planner->host->cgroup_why)
		sbx_error_why(planner->err, "%s requires it, and %s", who,
			      planner->host->cgroup_why);
	sbx_error_fix(planner->err,
		      "'sbx-spawn --check' shows what to change; or do not require it");
	return r;
}

/* After all choices: are all required layers there? */
int check_layers(struct planner *planner)
{
	unsigned missing = planner->request->required & ~planner->plan->layers;

	if (missing)
		return refuse_layers(planner, missing, "--require");
	for (size_t i = 0; i < N_ELEMENTS(demands); i++) {
		const struct setting *setting =
			policy_get_setting(planner->policy, demands[i].setting);

		missing = demands[i].layers & ~planner->plan->layers;
		if (setting && setting->number && missing) {
			struct step_origin origin = origin_of_setting(planner, setting);

			return refuse_layers(planner, missing, origin_text(&origin));
		}
	}
	return 0;
}

void add_namespaces(struct planner *planner)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		if (planner->plan->layers & layers[i].layer)
			flags |= layers[i].clone_flag;
	if (flags)
		planner_add_step(planner, STEP_NAMESPACES, origin_built_in)
			->namespaces.clone_flags = flags;
}
