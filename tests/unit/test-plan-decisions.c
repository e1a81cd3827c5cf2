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
 * seed is fixed, so that a change does not fail because of an older bug. With sanitizers, which
 * make a case four times as slow, there are fewer cases, and others than without.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "plan/plan.h"
#include "plan-judge.h"

/* Number of paths and operations to compare. */
#ifdef __SANITIZE_ADDRESS__
#define CASES 30000
#define SEED_OF_CI 2
#else
#define CASES 100000
#define SEED_OF_CI 1
#endif
#define CASES_SLOW 3000000

static uint64_t begun; /* seed of the current case: PLAN_SEED=N repeats it */

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

	if (!grant.target || !path_is_at_or_below(path, grant.target))
		return;
	if (grant.source && look_at_host(planning, grant.source).kind == HOST_MISSING)
		grant.source = NULL;
	if (!found->target || path_is_at_or_below(grant.target, found->target))
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

	if (mount.target && !path_is_at_or_below(at, mount.target)) {
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

	state = number_of("PLAN_SEED",
			  getenv("CI") ? SEED_OF_CI : (uint64_t)time(NULL) * 2654435761u | 1);
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
