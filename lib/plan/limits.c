/* SPDX-License-Identifier: MIT */

/*
 * Limits: their values, and the mechanism that enforces each
 *
 * A value comes from an option, else from the policy, else from the template or a default.
 *
 * The sandbox's cgroup enforces memory, processors and the number of processes of all processes
 * together. If no cgroup is delegated to sbx, the service manager can create one, which takes
 * longer: that is done for limits of an option or a policy, not for a template's or a default.
 * Without either, rlimits enforce what they can. A limit of an option or a policy that nothing
 * enforces is an error, unless the caller accepted less; any other is a notice.
 *
 * No process inside can raise a hard rlimit of the caller (ulimit -H): where that is lower, it is
 * the limit of the plan, with a notice.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <sbx/error.h>

#include "base/cleanup.h"

/* ---- values ---- */

uint64_t tmp_size(const struct planner *planner)
{
	const struct plan_limit *limit = &planner->plan->limits[LIMIT_TMP_SIZE];

	return limit->is_set ? limit->value : LIMIT_TMP_SIZE_DEFAULT;
}

static const struct setting *find_setting(const struct planner *planner, enum limit limit)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "limits.%s", limit_name(limit));
	return policy_get_setting(planner->policy, path);
}

/*
 * Most of the machine's memory, but only if a cgroup exists: it counts the memory that all
 * processes use. An rlimit would count address space that a process only reserves.
 */
static uint64_t default_memory(const struct planner *planner)
{
	const struct host *host = planner->host;
	const uint64_t mib = UINT64_C(1) << 20;

	if (!host || !host->cgroup || !(host->controllers & CONTROLLER_MEMORY))
		return 0;
	return host->memory_bytes / 5 * 4 / mib * mib;
}

static void choose_default(struct planner *planner, enum limit limit, struct plan_limit *ret)
{
	const struct policy_template *template = planner->chosen.template;
	bool is_default = template == policy_template_find(NULL, NULL);

	ret->value = is_default && limit == LIMIT_MEMORY ? default_memory(planner)
							 : template->limits[limit];
	ret->origin = is_default ? origin_default
				 : (struct step_origin){ .kind = ORIGIN_TEMPLATE,
							 .text = template->name };
}

static void choose_limit(struct planner *planner, enum limit limit)
{
	const struct request_limit *typed = &planner->request->limits[limit];
	const struct setting *setting = find_setting(planner, limit);
	struct plan_limit *ret = &planner->plan->limits[limit];

	if (typed->is_set) {
		ret->value = typed->value;
		ret->origin =
			origin_of_option(planner, typed->option ? typed->option : "an option");
	} else if (setting) {
		ret->value = setting->number;
		ret->origin = origin_of_setting(planner, setting);
	} else {
		choose_default(planner, limit, ret);
	}
	/* Neither options nor policies can set 0. */
	ret->is_set = ret->value > 0;
}

int choose_limits(struct planner *planner)
{
	for (int limit = 0; limit < N_LIMITS; limit++)
		choose_limit(planner, (enum limit)limit);
	planner->plan->grace_usec = DEFAULT_GRACE_USEC;
	return 0;
}

/* ---- holders ---- */

/* PID 1 of the sandbox counts as a process of the same user. */
#define INIT_PROCESSES 1
#define KEEPER_PROCESSES 1 /* the process that keeps a scope alive */
#define KEEPER_BYTES (UINT64_C(4) << 20)
/* The kernel's largest pids.max and pid_max. */
#define PIDS_MAX UINT64_C(4194304)

static const struct row {
	enum holder holder;   /* without a cgroup */
	unsigned controller;  /* 0: no cgroup controller enforces it */
	bool needs_namespace; /* without a user namespace the rlimit would count all processes of
				 the user; without a mount namespace there is no private /tmp */
	const char *rlimit;   /* name of the rlimit, for HELD_BY_RLIMIT */
	int resource;
	char letter;	     /* of ulimit */
	const char *instead; /* the weaker limit that the holder enforces; NULL: it enforces the
				limit */
	const char *instead_why;
} rows[N_LIMITS] = {
	[LIMIT_MEMORY] = { HELD_BY_RLIMIT, CONTROLLER_MEMORY, false, "data", RLIMIT_DATA, 'd',
			   "applies to the private memory of each process, not to the total",
			   "; shared memory (memfds, shared mappings, System V segments) is not "
			   "counted" },
	[LIMIT_CPU] = { HELD_BY_NOBODY, CONTROLLER_CPU, false, NULL, 0, 0, "is not enforced", "" },
	[LIMIT_PIDS] = { HELD_BY_RLIMIT, CONTROLLER_PIDS, true, "nproc", RLIMIT_NPROC, 'u', NULL,
			 NULL },
	[LIMIT_TIME] = { HELD_BY_SUPERVISOR, 0, false, NULL, 0, 0, NULL, NULL },
	[LIMIT_FILES] = { HELD_BY_RLIMIT, 0, false, "nofile", RLIMIT_NOFILE, 'n', NULL, NULL },
	[LIMIT_PROCESSES] = { HELD_BY_RLIMIT, 0, true, "nproc", RLIMIT_NPROC, 'u', NULL, NULL },
	[LIMIT_FILE_SIZE] = { HELD_BY_RLIMIT, 0, false, "fsize", RLIMIT_FSIZE, 'f', NULL, NULL },
	[LIMIT_OUTPUT] = { HELD_BY_SUPERVISOR, 0, false, NULL, 0, 0, NULL, NULL },
	[LIMIT_TMP_SIZE] = { HELD_BY_SIZE, 0, true, NULL, 0, 0, NULL, NULL },
};

static bool is_written(const struct plan_limit *limit)
{
	return limit->is_set && limit->origin.kind != ORIGIN_TEMPLATE &&
	       limit->origin.kind != ORIGIN_BUILT_IN;
}

static bool accepts_less(const struct planner *planner)
{
	const char *mode = policy_get_text(planner->policy, "limits.mode");

	return planner->request->best_effort || (mode && strcmp(mode, "best-effort") == 0);
}

static bool has_controller(const struct host *host, unsigned controller)
{
	return host->cgroup && (host->controllers & controller) == controller;
}

/* Is there a limit of an option or policy that only a cgroup of the service manager can enforce? */
static bool wants_scope(const struct planner *planner)
{
	if (!planner->host->has_scope)
		return false;
	if ((planner->request->required & LAYER_CGROUP) && !planner->host->cgroup)
		return true;
	for (int i = 0; i < N_LIMITS; i++)
		if (rows[i].controller && (rows[i].instead || planner->plan->tier != TIER_FULL) &&
		    is_written(&planner->plan->limits[i]) &&
		    !has_controller(planner->host, rows[i].controller))
			return true;
	return false;
}

static enum holder find_holder(const struct planner *planner, enum limit limit, bool in_scope)
{
	const struct row *row = &rows[limit];

	if (row->controller && in_scope)
		return HELD_BY_SCOPE;
	if (row->controller && has_controller(planner->host, row->controller))
		return HELD_BY_CGROUP;
	if (row->needs_namespace && planner->plan->tier != TIER_FULL)
		return HELD_BY_NOBODY;
	return row->holder;
}

static const char *why_no_cgroup(const struct host *host)
{
	return host->cgroup_why ? host->cgroup_why
				: "no cgroup with this controller is delegated to sbx";
}

static int refuse_limit(struct planner *planner, enum limit limit)
{
	const struct plan_limit *held = &planner->plan->limits[limit];

	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot enforce %s here",
			     origin_text(&held->origin));
	if (rows[limit].controller)
		sbx_error_why(planner->err, "it needs the cgroup controller '%s', and %s",
			      limit_name(limit), why_no_cgroup(planner->host));
	else
		sbx_error_why(planner->err, "%s", why_no_cgroup(planner->host));
	sbx_error_fix(
		planner->err,
		"see with 'sbx-spawn --check' what to change on this host, or accept a weaker limit: --best-effort-limits or 'limits: {mode: best-effort}'");
	return -EOPNOTSUPP;
}

/* Must the limit be enforced? Users do not rely on a template's limits; but sbx-spawn(1) promises
 * the number of processes without a template, because it stops a fork bomb. */
static bool is_promised(const struct planner *planner, enum limit limit)
{
	return is_written(&planner->plan->limits[limit]) ||
	       (limit == LIMIT_PIDS && !planner->policy && !planner->request->template);
}

static void add_value(struct planner *planner, struct text *out, enum limit limit, uint64_t value)
{
	limit_add_value(out, limit, value);
	planner->memory.is_exhausted |= text_status(out) < 0;
}

static void note_limit(struct planner *planner, enum limit limit, const struct row *row)
{
	const struct plan_limit *held = &planner->plan->limits[limit];
	bool is_enforced = held->holder != HELD_BY_NOBODY;
	bool is_said = is_promised(planner, limit);
	_cleanup_text_ struct text value = TEXT_INIT;
	struct plan_notice *notice;

	add_value(planner, &value, limit, held->value);
	notice = planner_advise(planner,
				planner_format(planner, "%s %s (%s) %s", limit_name(limit),
					       text_string(&value), origin_text(&held->origin),
					       is_enforced ? row->instead : "is not enforced"),
				planner_format(planner, "%s%s", why_no_cgroup(planner->host),
					       is_enforced ? row->instead_why : ""),
				is_said ? "'sbx-spawn --check' shows what to change" : NULL);
	notice->is_weaker = is_said;
	notice->is_of_limit = true;
}

static struct step_origin origin_of_caller(struct planner *planner, char letter)
{
	return (struct step_origin){ .kind = ORIGIN_CALLER,
				     .text = planner_format(planner, "ulimit -H%c of the caller",
							    letter) };
}

/* The notice about a number of a template or a default needs no fix: the user has not asked for it.
 */
static void lower_to_callers(struct planner *planner, enum limit limit)
{
	const struct row *row = &rows[limit];
	const struct host_rlimit *callers = &planner->host->rlimits[row->resource];
	struct plan_limit *held = &planner->plan->limits[limit];
	uint64_t ours = row->resource == RLIMIT_NPROC ? INIT_PROCESSES : 0;
	_cleanup_text_ struct text value = TEXT_INIT, most = TEXT_INIT;

	if (held->holder != HELD_BY_RLIMIT || !callers->is_set || callers->most < ours ||
	    held->value <= callers->most - ours)
		return;
	add_value(planner, &value, limit, held->value);
	add_value(planner, &most, limit, callers->most - ours);
	planner_advise(planner,
		       planner_format(planner,
				      "%s %s (%s) is lowered to %s by the hard limit of the caller",
				      limit_name(limit), text_string(&value),
				      origin_text(&held->origin), text_string(&most)),
		       "no process inside can raise a hard limit of the caller",
		       is_written(held)
			       ? planner_format(planner,
						"raise that before the start (ulimit -H%c)",
						row->letter)
			       : NULL)
		->is_of_limit = true;
	held->value = callers->most - ours;
	held->origin = origin_of_caller(planner, row->letter);
	held->is_constraint = false;
}

static int hold_limit(struct planner *planner, enum limit limit, bool in_scope)
{
	struct plan_limit *held = &planner->plan->limits[limit];
	const struct row *row = &rows[limit];
	bool is_less;

	if (!held->is_set)
		return 0;
	held->holder = find_holder(planner, limit, in_scope);
	is_less = held->holder == HELD_BY_NOBODY || (held->holder == row->holder && row->instead);
	if (is_less && is_written(held) && !accepts_less(planner))
		return refuse_limit(planner, limit);
	if (is_less)
		note_limit(planner, limit, row);
	lower_to_callers(planner, limit);
	return 0;
}

/* RLIMIT_FSIZE applies to all files, so the smallest bound of any rule counts. */
static void hold_file_size(struct planner *planner)
{
	struct plan_limit *limit = &planner->plan->limits[LIMIT_FILE_SIZE];

	if ((limit->is_set && limit->value <= planner->ruled.file_size_max) ||
	    planner->ruled.file_size_max == UINT64_MAX)
		return;
	*limit = (struct plan_limit){ .is_set = true,
				      .value = planner->ruled.file_size_max,
				      .origin = planner->ruled.file_size_origin,
				      .is_constraint = true };
}

/* Could the command mount the current cgroup and write to it? A uid that root chose for this
 * sandbox alone owns no cgroup. */
static bool may_write_cgroup(const struct planner *planner)
{
	return planner->chosen.is_nested && planner->host->owns_cgroup &&
	       (!planner->host->is_root || planner->request->has_uid);
}

/* The command could mount the cgroup of the supervisor, and kill or freeze what is in it. */
static int refuse_shared(struct planner *planner)
{
	const struct host *host = planner->host;
	struct step_origin origin =
		origin_of_setting(planner, policy_get_setting(planner->policy, "isolation.nested"));

	(void)sbx_error_what(planner->err, -EOPNOTSUPP, "cannot make a cgroup for the sandbox");
	sbx_error_why(planner->err,
		      "%s lets the command mount the current cgroup, which it could write to: %s",
		      origin_text(&origin), why_no_cgroup(host));
	sbx_error_fix(planner->err,
		      "start sbx-spawn in a cgroup of its own ('systemd-run --user --scope "
		      "sbx-spawn ...'), or remove 'nested'");
	return -EOPNOTSUPP;
}

int hold_limits(struct planner *planner)
{
	const struct host *host = planner->host;
	struct plan *plan = planner->plan;
	bool in_scope = wants_scope(planner);
	bool in_cgroup = host->cgroup && (planner->request->is_registered ||
					  (planner->request->required & LAYER_CGROUP) ||
					  plan->tier == TIER_REDUCED || planner->chosen.is_nested);

	hold_file_size(planner);
	for (int i = 0; i < N_LIMITS; i++) {
		int r = hold_limit(planner, (enum limit)i, in_scope);

		if (r < 0)
			return r;
		in_cgroup |= plan->limits[i].is_set && plan->limits[i].holder == HELD_BY_CGROUP;
	}
	if (in_scope || in_cgroup)
		plan->layers |= LAYER_CGROUP;
	else if (may_write_cgroup(planner))
		return refuse_shared(planner);
	planner->chosen.in_scope = in_scope;
	return 0;
}

static struct step *add_cgroup_limit(struct planner *planner, const char *file, const char *value,
				     struct step_origin origin)
{
	struct step *step = planner_add_step(planner, STEP_CGROUP_LIMIT, origin);

	step->cgroup_limit = (struct step_cgroup_limit){ .file = file, .value = value };
	return step;
}

static void add_cgroup_memory(struct planner *planner, const struct plan_limit *limit)
{
	add_cgroup_limit(planner, "memory.max", planner_format(planner, "%" PRIu64, limit->value),
			 limit->origin);
	/* A kernel without swap lacks this file, and needs no limit. */
	add_cgroup_limit(planner, "memory.swap.max", "0", limit->origin)->cgroup_limit.optional =
		true;
	add_cgroup_limit(planner, "memory.oom.group", "1", limit->origin);
}

/* The kernel rejects a quota below 1 ms; a longer period gives the same share. */
static void add_cgroup_cpu(struct planner *planner, const struct plan_limit *limit)
{
	uint64_t period_usec = limit->value < 10 ? 1000000 : 100000;
	uint64_t quota_usec = limit->value * (period_usec / 1000);

	add_cgroup_limit(planner, "cpu.max",
			 planner_format(planner, "%" PRIu64 " %" PRIu64, quota_usec, period_usec),
			 limit->origin);
}

static uint64_t with_ours(uint64_t n_processes, unsigned ours)
{
	return n_processes < PIDS_MAX - ours ? n_processes + ours : PIDS_MAX;
}

static void add_cgroup_pids(struct planner *planner, const struct plan_limit *limit)
{
	uint64_t n = with_ours(limit->value, INIT_PROCESSES);

	add_cgroup_limit(planner, "pids.max", planner_format(planner, "%" PRIu64, n),
			 limit->origin);
}

static const struct {
	enum limit limit;
	void (*add)(struct planner *planner, const struct plan_limit *limit);
	const char *property; /* of a scope */
} cgroup_limits[] = {
	{ LIMIT_MEMORY, add_cgroup_memory, "MemoryMax" },
	{ LIMIT_CPU, add_cgroup_cpu, "CPUQuotaPerSecUSec" },
	{ LIMIT_PIDS, add_cgroup_pids, "TasksMax" },
};

static uint64_t scope_value(enum limit limit, uint64_t value)
{
	if (limit == LIMIT_CPU)
		return value * 1000; /* 1/1000 of a processor is 1000 µs of each second */
	if (limit == LIMIT_PIDS)
		return with_ours(value, INIT_PROCESSES + KEEPER_PROCESSES);
	return value <= UINT64_MAX - KEEPER_BYTES ? value + KEEPER_BYTES : value;
}

void add_cgroup(struct planner *planner)
{
	const char *id = planner->request->id;

	if ((planner->plan->layers & LAYER_CGROUP) && !planner->chosen.in_scope)
		planner_add_step(planner, STEP_CGROUP, origin_built_in)->cgroup =
			(struct step_cgroup){
				.path = planner_format(planner, "%s/sbx-%s", planner->host->cgroup,
						       id),
				.has_child = planner->chosen.is_nested,
			};
	if (planner->chosen.in_scope)
		planner_add_step(planner, STEP_SCOPE, origin_built_in)->scope = (struct step_scope){
			.unit = planner_format(planner, "sbx-%s.scope", id),
			.has_child = planner->chosen.is_nested,
		};
	for (size_t i = 0; i < N_ELEMENTS(cgroup_limits); i++) {
		const struct plan_limit *limit = &planner->plan->limits[cgroup_limits[i].limit];
		struct step *step;

		if (limit->is_set && limit->holder == HELD_BY_CGROUP)
			cgroup_limits[i].add(planner, limit);
		if (!limit->is_set || limit->holder != HELD_BY_SCOPE)
			continue;
		step = planner_add_step(planner, STEP_SCOPE_LIMIT, limit->origin);
		step->scope_limit = (struct step_scope_limit){
			.property = cgroup_limits[i].property,
			.value = scope_value(cgroup_limits[i].limit, limit->value),
		};
	}
}

static void add_rlimit(struct planner *planner, const char *name, int resource, uint64_t value,
		       struct step_origin origin)
{
	struct step *step = planner_add_step(planner, STEP_RLIMIT, origin);

	step->rlimit = (struct step_rlimit){ .name = name, .resource = resource, .limit = value };
}

/* Two limits may map to one rlimit: set only the smaller one. */
static bool is_superseded(const struct planner *planner, enum limit limit)
{
	enum limit other = limit == LIMIT_PIDS ? LIMIT_PROCESSES : LIMIT_PIDS;
	const struct plan_limit *mine = &planner->plan->limits[limit];
	const struct plan_limit *its = &planner->plan->limits[other];

	if (limit != LIMIT_PIDS && limit != LIMIT_PROCESSES)
		return false;
	if (!its->is_set || its->holder != HELD_BY_RLIMIT)
		return false;
	return its->value < mine->value || (its->value == mine->value && limit == LIMIT_PROCESSES);
}

/* A core dump is a copy of memory. If core_pattern is a pipe, RLIMIT_CORE 0 does not stop the
 * host's handler: it applies to files only. At 1 the kernel starts no handler, and any core file
 * would be larger than that. */
static void add_core(struct planner *planner)
{
	const struct host_rlimit *callers = &planner->host->rlimits[RLIMIT_CORE];

	if (!callers->is_set || callers->most > 0) {
		add_rlimit(planner, "core", RLIMIT_CORE, 1, origin_built_in);
		return;
	}
	add_rlimit(planner, "core", RLIMIT_CORE, 0, origin_of_caller(planner, 'c'));
	planner_note(planner, "a crash can start the program of core_pattern outside",
		     "only a limit of 1 byte stops it, and the hard limit of the caller is 0 "
		     "(ulimit -Hc)")
		->is_weaker = true;
}

void add_rlimits(struct planner *planner)
{
	add_core(planner);
	for (int i = 0; i < N_LIMITS; i++) {
		const struct plan_limit *limit = &planner->plan->limits[i];
		bool is_nproc = i == LIMIT_PIDS || i == LIMIT_PROCESSES;

		if (!limit->is_set || limit->holder != HELD_BY_RLIMIT ||
		    is_superseded(planner, (enum limit)i))
			continue;
		add_rlimit(planner, rows[i].rlimit, rows[i].resource,
			   is_nproc ? with_ours(limit->value, INIT_PROCESSES) : limit->value,
			   limit->origin);
	}
}
