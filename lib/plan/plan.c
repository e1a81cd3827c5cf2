/* SPDX-License-Identifier: MIT */

/*
 * plan_build(): every part chooses or marks something, then the steps are written down
 *
 * Choosing comes first and may fail with a reason. Writing down follows the order of enum
 * step_kind, so nothing has to be sorted but the file tree, which the view brings in order.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "policy/enforcement.h"

struct plan *plan_free(struct plan *plan)
{
	struct arena arena;

	if (!plan)
		return NULL;
	/* It lives in its own arena. */
	arena = plan->arena;
	arena_deinit(&arena);
	return NULL;
}

void plan_free_ptr(struct plan **plan)
{
	*plan = plan_free(*plan);
}

static const char *hostname_of(const struct planner *planner)
{
	const struct setting *setting = planner_setting(planner, "hostname");

	if (planner->request->hostname)
		return planner->request->hostname;
	return setting ? setting->text : "sandbox";
}

static int check_hostname(struct planner *planner)
{
	struct rule_enforcement enforcement = { .state = ENFORCEMENT_HELD };

	if (planner->policy && !planner->request->hostname)
		enforcement = hostname_enforcement(planner->policy);
	if (enforcement.state == ENFORCEMENT_REFUSED)
		return enforcement_refuse(planner->policy, &enforcement, planner->err);
	if (strlen(hostname_of(planner)) > HOST_NAME_MAX)
		return planner_refuse(planner, -EINVAL, "not a valid host name",
				      "a host name has at most 64 bytes",
				      "shorten it: --hostname, or 'hostname' in the policy");
	return 0;
}

static int check_request(struct planner *planner)
{
	const struct spawn_request *request = planner->request;

	if (!request->argv || !request->argv[0] || !request->project || !request->id)
		return planner_refuse(planner, -EINVAL, "cannot plan without a command",
				      "a command, a project and an ID are needed",
				      "name the command");
	if (strchr(request->id, '/'))
		return planner_refuse(planner, -EINVAL, "not a valid name for a sandbox",
				      "it contains '/', and becomes the name of a directory",
				      "use letters, digits, '-', '_' and '.'");
	return check_hostname(planner);
}

static void copy_request(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct plan *plan = planner->plan;
	size_t n_words = 0;
	char **words;
	int *fds;

	while (request->argv[n_words])
		n_words++;
	words = planner_alloc(planner, (n_words + 1) * sizeof(*words));
	if (words)
		memcpy(words, request->argv, n_words * sizeof(*words));
	plan->argv = words;
	fds = planner_alloc(planner, request->n_fds * sizeof(*fds));
	if (fds && request->n_fds > 0)
		memcpy(fds, request->fds, request->n_fds * sizeof(*fds));
	plan->fds = fds;
	plan->n_fds = request->n_fds;
	plan->id = planner_keep(planner, request->id);
	if (request->policy)
		plan->policy = planner_keep(planner, request->policy);
	plan->may_exec = may_enter(planner);
	plan->has_digest = planner->policy != NULL;
	if (planner->policy)
		memcpy(plan->digest, planner->policy->digest, sizeof(plan->digest));
}

static int choose(struct planner *planner)
{
	int r = 0;
	static int (*const parts[])(struct planner * planner) = {
		check_request,	 choose_template, choose_tier,	  check_ptrace,
		choose_identity, choose_limits,	  choose_network, make_environment,
		mark_all,	 hold_limits,	  check_layers,
	};

	for (size_t i = 0; i < N_ELEMENTS(parts) && r >= 0; i++)
		r = parts[i](planner);
	if (r < 0)
		return r;
	mark_program(planner);
	if (planner->plan->tier == TIER_FULL)
		mark_links(planner);
	r = decide_all(planner);
	if (r == 0)
		r = decide_ports(planner);
	if (r == 0)
		r = view_build(planner);
	if (r < 0)
		return r;
	note_other_names(planner);
	note_credentials(planner);
	return 0;
}

static int add_tree(struct planner *planner)
{
	struct step *step;
	int r;

	if (planner->plan->tier == TIER_REDUCED)
		return landlock_alone(planner);
	step = planner_add_step(planner, STEP_ID_MAP, origin_built_in);
	step->id_map = (struct step_ids){ planner->plan->uid, planner->plan->gid };
	planner_add_step(planner, STEP_ROOT, origin_built_in)->root.size_bytes = ROOT_SIZE;
	planner_add_step(planner, STEP_PIVOT, origin_built_in);
	r = show_places(planner);
	if (r < 0)
		return r;
	add_accounts(planner);
	planner_add_step(planner, STEP_SEAL, origin_built_in)->seal.target = "/";
	planner_add_step(planner, STEP_HOSTNAME, origin_built_in)->hostname.name =
		planner_keep(planner, hostname_of(planner));
	add_network(planner);
	return 0;
}

static void add_confinement(struct planner *planner)
{
	struct step *step;

	add_rlimits(planner);
	step = planner_add_step(planner, STEP_IDENTITY, origin_built_in);
	step->identity = (struct step_ids){ planner->plan->uid, planner->plan->gid };
	planner_add_step(planner, STEP_CAPABILITIES, origin_built_in);
	planner_add_step(planner, STEP_NO_NEW_PRIVILEGES, origin_built_in);
	add_landlock(planner);
	if (planner->request->pty)
		planner_add_step(planner, STEP_TERMINAL, origin_of_option(planner, "--pty"));
}

static int add_command(struct planner *planner)
{
	int r = check_program(planner);

	if (r == 0)
		r = add_folder(planner);
	if (r < 0)
		return r;
	add_filter(planner);
	planner_add_step(planner, STEP_EXEC, origin_built_in);
	return 0;
}

static int write_down(struct planner *planner)
{
	int r;

	add_cgroup(planner);
	add_namespaces(planner);
	r = add_tree(planner);
	if (r < 0)
		return r;
	add_confinement(planner);
	return add_command(planner);
}

static int build(struct planner *planner)
{
	struct plan *plan = planner->plan;
	int r = choose(planner);

	if (r == 0)
		r = write_down(planner);
	if (r < 0)
		return r;
	copy_request(planner);
	plan->environment = planner->environment;
	plan->net_mode = planner->net_mode;
	plan->template = planner->template->name;
	plan->steps = planner->steps.rows;
	plan->n_steps = planner->steps.n_rows;
	r = compare_with_decisions(planner);
	if (r < 0)
		return r;
	plan->notices = planner->notices.rows;
	plan->n_notices = planner->notices.n_rows;
	return planner_status(planner);
}

int plan_build(const struct policy *policy, const struct spawn_request *request,
	       const struct host *host, struct plan **ret, struct sbx_error *err)
{
	struct arena first = ARENA_INIT, scratch = ARENA_INIT;
	_cleanup_plan_ struct plan *plan = arena_alloc(&first, sizeof(*plan));
	struct planner planner = {
		.policy = policy,
		.request = request,
		.host = host,
		.scratch = &scratch,
		.err = err,
		.plan = plan,
		.file_size_max = UINT64_MAX,
	};
	int r;

	if (!plan) {
		planner.no_memory = true;
		return planner_status(&planner);
	}
	plan->arena = first;
	planner.arena = &plan->arena;
	r = build(&planner);
	decided_free(planner.decided);
	text_deinit(&planner.text);
	arena_deinit(&scratch);
	if (r < 0)
		return r;
	*ret = take_ptr(plan);
	return 0;
}
