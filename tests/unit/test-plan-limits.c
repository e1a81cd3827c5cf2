/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "plan-host.h"
#include "plan/plan-internal.h"

#define ALL_CONTROLLERS (CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS)

static void limit(struct planning *planning, enum limit which, uint64_t value)
{
	planning->request.limits[which] =
		(struct request_limit){ .is_set = true, .value = value, .option = "--it" };
}

/* Finds a step by the first field of its kind: a name. */
static const struct step *find_text(const struct planning *planning, enum step_kind kind,
				    const char *text)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_steps; i++) {
		const struct step *step = &planning->plan->steps[i];

		if (step->kind == kind &&
		    strcmp(step_field_string(step, step_row(kind)->fields), text) == 0)
			return step;
	}
	return NULL;
}

static uint64_t rlimit_of(const struct planning *planning, const char *name)
{
	const struct step *step = find_text(planning, STEP_RLIMIT, name);

	return step ? step->rlimit.limit : 0;
}

static const char *written(const struct planning *planning, const char *file)
{
	const struct step *step = find_text(planning, STEP_CGROUP_LIMIT, file);

	return step ? step->cgroup_limit.value : "";
}

static void the_templates_have_their_numbers(void)
{
	static const struct {
		const char *name;
		const char *profile;
		const char *net_mode;
		uint64_t limits[4];
	} cases[] = {
		{ "ai-provider", "strict", "proxy", { 256 << 20, 500, 10, 120000000 } },
		{ "code-executor", "standard", "none", { 1024 << 20, 1000, 100, 300000000 } },
		{ "policy-sandbox", "strict", "none", { 128 << 20, 250, 5, 0 } },
	};
	static const enum limit limits[] = { LIMIT_MEMORY, LIMIT_CPU, LIMIT_PIDS, LIMIT_TIME };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.request.template = cases[i].name;
		expect_plan(&planning);
		expect_str(planning.plan->template, cases[i].name);
		expect_str(planning.plan->net_mode, cases[i].net_mode);
		expect_str(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.profile,
			   cases[i].profile);
		for (size_t k = 0; k < N_ELEMENTS(limits); k++) {
			expect_eq(planning.plan->limits[limits[k]].value, cases[i].limits[k]);
			expect_eq(planning.plan->limits[limits[k]].origin.kind, ORIGIN_TEMPLATE);
		}
	}
}

/* A limit without a row in lib/plan/limits.c would be refused because of a cgroup that it never
 * had. */
static void every_limit_has_a_mechanism(void)
{
	for (int i = 0; i < N_LIMITS; i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.host.cgroup = "/sys/fs/cgroup/x";
		planning.host.controllers = ALL_CONTROLLERS;
		limit(&planning, (enum limit)i, 1000000);
		expect_plan(&planning);
		expect(planning.plan && planning.plan->limits[i].holder != HELD_BY_NOBODY);
	}
}

static void refuses_a_template_that_is_not_there(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "code-executer";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "no template 'code-executer'", "code-executor",
		    "did you mean 'code-executor'?"));
	planning.request.template = "tiny";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "no template 'tiny'", "code-executor", "name one"));
}

static void options_override_the_policy_and_that_the_template(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "isolation: {template: policy-sandbox, seccomp: standard}\n"
				 "limits: {pids: 20, files: 30, time: 5m}\n");
	limit(&planning, LIMIT_PIDS, 40);
	expect_plan(&planning);
	expect_eq(planning.plan->limits[LIMIT_PIDS].value, 40);
	expect_eq(planning.plan->limits[LIMIT_PIDS].origin.kind, ORIGIN_ARGUMENT);
	expect_eq(planning.plan->limits[LIMIT_FILES].value, 30);
	expect_str(planning.plan->limits[LIMIT_FILES].origin.text, "p.yaml:2 'limits.files'");
	expect_eq(planning.plan->limits[LIMIT_TIME].value, 300000000);
	expect_eq(planning.plan->limits[LIMIT_CPU].value, 250);
	expect_str(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.profile, "standard");
}

static void a_typed_template_does_not_widen_a_strict_profile(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "isolation: {seccomp: strict}\nversion: 1\n");
	planning.request.template = "code-executor";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.profile, "strict");
	planning.policy = policy_free(planning.policy);
	planning_load(&planning, "isolation: {seccomp: standard}\nversion: 1\n");
	planning.request.template = "policy-sandbox";
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.profile, "strict");
}

static void a_cgroup_holds_what_it_can(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "code-executor";
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	limit(&planning, LIMIT_CPU, 1500);
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_CGROUP, NULL)->cgroup.path,
		   "/sys/fs/cgroup/user/sbx-test");
	expect_str(written(&planning, "memory.max"), "1073741824");
	expect_str(written(&planning, "memory.swap.max"), "0");
	expect(find_text(&planning, STEP_CGROUP_LIMIT, "memory.swap.max")->cgroup_limit.optional);
	expect_str(written(&planning, "memory.oom.group"), "1");
	expect_str(written(&planning, "cpu.max"), "150000 100000");
	/* PID 1 counts as well. */
	expect_str(written(&planning, "pids.max"), "101");
	expect_eq(planning.plan->limits[LIMIT_MEMORY].holder, HELD_BY_CGROUP);
	expect(planning.plan->layers & LAYER_CGROUP);
	expect_eq(rlimit_of(&planning, "data"), 0);
	expect_eq(rlimit_of(&planning, "nproc"), 0);
	expect_eq(planning.plan->n_notices, 0);
}

static void a_small_share_of_a_processor_has_a_longer_period(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	limit(&planning, LIMIT_CPU, 1);
	expect_plan(&planning);
	expect_str(written(&planning, "cpu.max"), "1000 1000000");
	limit(&planning, LIMIT_CPU, 10);
	expect_plan(&planning);
	expect_str(written(&planning, "cpu.max"), "1000 100000");
}

static void more_processes_than_the_kernel_counts_are_its_most(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	limit(&planning, LIMIT_PIDS, UINT64_MAX);
	expect_plan(&planning);
	expect_str(written(&planning, "pids.max"), "4194304");
}

static void a_template_that_cannot_be_held_is_held_as_far_as_it_can(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "code-executor";
	expect_plan(&planning);
	expect_eq(planning.plan->limits[LIMIT_MEMORY].holder, HELD_BY_RLIMIT);
	expect_eq(planning.plan->limits[LIMIT_CPU].holder, HELD_BY_NOBODY);
	expect_eq(planning.plan->limits[LIMIT_PIDS].holder, HELD_BY_RLIMIT);
	expect_eq(planning.plan->limits[LIMIT_TIME].holder, HELD_BY_SUPERVISOR);
	expect_eq(rlimit_of(&planning, "data"), 1 << 30);
	expect_eq(rlimit_of(&planning, "nproc"), 101);
	expect(has_notice(&planning, "cpu 1 (code-executor) is not enforced"));
	expect(!find_step(&planning, STEP_CGROUP, NULL));
	/* The limit is the template's, not the user's: a notice, but not a weaker sandbox. */
	for (size_t i = 0; i < planning.plan->n_notices; i++)
		expect(!planning.plan->notices[i].is_weaker);
}

static bool is_any_weaker(const struct planning *planning)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_notices; i++)
		if (planning->plan->notices[i].is_weaker)
			return true;
	return false;
}

static void refuses_an_explicit_limit_that_cannot_be_enforced(void)
{
	static const struct {
		enum limit typed;
		const char *policy;
		const char *what;
	} cases[] = {
		{ LIMIT_MEMORY, "version: 1\n", "cannot enforce --it here" },
		{ LIMIT_CPU, "version: 1\n", "cannot enforce --it here" },
		{ N_LIMITS, "limits: {memory: 1GiB}\n",
		  "cannot enforce p.yaml:1 'limits.memory' here" },
		{ N_LIMITS, "limits: {cpu: 2, mode: strict}\n",
		  "cannot enforce p.yaml:1 'limits.cpu' here" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, cases[i].policy);
		if (cases[i].typed < N_LIMITS)
			limit(&planning, cases[i].typed, 1 << 30);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, cases[i].what, "no cgroup is delegated here",
			    "--best-effort-limits"));
		planning.request.best_effort = true;
		expect_plan(&planning);
		expect(is_any_weaker(&planning));
	}
}

/* Which service manager could hold the limit depends on the host and the user. */
static void a_limit_that_nothing_holds_names_the_check_of_the_host(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	limit(&planning, LIMIT_MEMORY, 1 << 30);
	for (int i = 0; i < 2; i++) {
		planning.request.is_root = i;
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(strstr(planning.err.fix, "sbx-spawn --check"));
	}
}

static void a_policy_can_accept_less(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "limits: {cpu: 2, mode: best-effort}\n");
	limit(&planning, LIMIT_MEMORY, 1 << 30);
	expect_plan(&planning);
	expect_eq(planning.plan->limits[LIMIT_CPU].holder, HELD_BY_NOBODY);
	expect_eq(planning.plan->limits[LIMIT_MEMORY].holder, HELD_BY_RLIMIT);
}

static void the_service_manager_enforces_explicit_limits(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning.request.template = "code-executor";
	planning.host.has_scope = true;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_SCOPE, NULL));
	limit(&planning, LIMIT_CPU, 500);
	expect_plan(&planning);
	expect_str(the_step(&planning, STEP_SCOPE, NULL)->scope.unit, "sbx-test.scope");
	step = find_text(&planning, STEP_SCOPE_LIMIT, "CPUQuotaPerSecUSec");
	expect_eq(step->scope_limit.value, 500000);
	/* An existing scope also gets the template's limits. */
	expect_eq(find_text(&planning, STEP_SCOPE_LIMIT, "MemoryMax")->scope_limit.value,
		  (1 << 30) + (4 << 20));
	expect_eq(find_text(&planning, STEP_SCOPE_LIMIT, "TasksMax")->scope_limit.value, 102);
	expect_eq(planning.plan->limits[LIMIT_CPU].holder, HELD_BY_SCOPE);
	expect_eq(planning.plan->n_notices, 0);
	expect(planning.plan->layers & LAYER_CGROUP);
	expect(!find_step(&planning, STEP_CGROUP, NULL));
}

static void a_cgroup_with_every_controller_needs_no_service_manager(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "code-executor";
	planning.host.has_scope = true;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	limit(&planning, LIMIT_CPU, 500);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_SCOPE, NULL));
	planning.host.controllers = CONTROLLER_MEMORY;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_SCOPE, NULL));
	expect(!find_step(&planning, STEP_CGROUP, NULL));
}

static void a_registered_sandbox_gets_a_cgroup_to_pause_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_CGROUP, NULL));
	planning.request.is_registered = true;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_CGROUP, NULL));
	expect(!find_step(&planning, STEP_CGROUP_LIMIT, NULL));
}

static void each_limit_has_its_rlimit(void)
{
	static const struct {
		enum limit limit;
		const char *name;
		int resource;
	} cases[] = {
		{ LIMIT_FILES, "nofile", RLIMIT_NOFILE },
		{ LIMIT_FILE_SIZE, "fsize", RLIMIT_FSIZE },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		const struct step *step;

		planning_open(&planning);
		limit(&planning, cases[i].limit, 77);
		expect_plan(&planning);
		step = find_text(&planning, STEP_RLIMIT, cases[i].name);
		expect(step && step->rlimit.resource == cases[i].resource &&
		       step->rlimit.limit == 77);
		expect_str(step->origin.text, "--it");
	}
}

static void of_two_limits_on_processes_the_smaller_one_is_set(void)
{
	_cleanup_planning_ struct planning planning;
	size_t n = 0;

	planning_open(&planning);
	limit(&planning, LIMIT_PIDS, 30);
	limit(&planning, LIMIT_PROCESSES, 20);
	expect_plan(&planning);
	expect_eq(rlimit_of(&planning, "nproc"), 21);
	for (size_t i = 0; i < planning.plan->n_steps; i++)
		n += planning.plan->steps[i].kind == STEP_RLIMIT &&
		     planning.plan->steps[i].rlimit.resource == RLIMIT_NPROC;
	expect_eq(n, 1);
	limit(&planning, LIMIT_PROCESSES, 30);
	expect_plan(&planning);
	expect_eq(rlimit_of(&planning, "nproc"), 31);
}

/* A notice has a fix only if somebody has asked for the higher limit. */
static const struct plan_notice *notice_of(const struct planning *planning, const char *what)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_notices; i++)
		if (strcmp(planning->plan->notices[i].what, what) == 0)
			return &planning->plan->notices[i];
	return NULL;
}

static void a_lower_hard_limit_of_the_caller_is_the_limit(void)
{
	static const struct {
		enum limit limit;
		int resource;
		const char *name, *what, *fix;
	} cases[] = {
		{ LIMIT_FILES, RLIMIT_NOFILE, "nofile",
		  "files 5000 (--it) is lowered to 900 by the hard limit of the caller",
		  "raise that before the start (ulimit -Hn)" },
		{ LIMIT_FILE_SIZE, RLIMIT_FSIZE, "fsize",
		  "file_size 5000B (--it) is lowered to 900B by the hard limit of the caller",
		  "raise that before the start (ulimit -Hf)" },
		{ LIMIT_MEMORY, RLIMIT_DATA, "data",
		  "memory 5000B (--it) is lowered to 900B by the hard limit of the caller",
		  "raise that before the start (ulimit -Hd)" },
		/* PID 1 counts as well. */
		{ LIMIT_PIDS, RLIMIT_NPROC, "nproc",
		  "pids 5000 (--it) is lowered to 899 by the hard limit of the caller",
		  "raise that before the start (ulimit -Hu)" },
		{ LIMIT_PROCESSES, RLIMIT_NPROC, "nproc",
		  "processes 5000 (--it) is lowered to 899 by the hard limit of the caller",
		  "raise that before the start (ulimit -Hu)" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		const struct plan_notice *notice;

		planning_open(&planning);
		planning.request.best_effort = true;
		planning.host.rlimits[cases[i].resource] =
			(struct host_rlimit){ .is_set = true, .most = 900 };
		limit(&planning, cases[i].limit, 5000);
		expect_plan(&planning);
		expect_eq(rlimit_of(&planning, cases[i].name), 900);
		expect_eq(planning.plan->limits[cases[i].limit].origin.kind, ORIGIN_CALLER);
		notice = notice_of(&planning, cases[i].what);
		expect(notice && !notice->is_weaker);
		if (notice)
			expect_str(notice->fix, cases[i].fix);
		limit(&planning, cases[i].limit, 800);
		expect_plan(&planning);
		expect_eq(planning.plan->limits[cases[i].limit].value, 800);
		expect_eq(planning.plan->limits[cases[i].limit].origin.kind, ORIGIN_ARGUMENT);
	}
}

static void a_default_above_the_limit_of_the_caller_needs_no_fix(void)
{
	_cleanup_planning_ struct planning planning;
	const struct plan_notice *notice;

	planning_open(&planning);
	planning.host.rlimits[RLIMIT_NPROC] = (struct host_rlimit){ .is_set = true, .most = 101 };
	expect_plan(&planning);
	expect_eq(planning.plan->limits[LIMIT_PIDS].value, 100);
	notice = notice_of(&planning,
			   "pids 4096 (default) is lowered to 100 by the hard limit of the caller");
	expect(notice && !notice->fix);
}

/* A cgroup limits without the rlimit, which then stays that of the caller. */
static void a_limit_of_a_cgroup_is_not_that_of_the_caller(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	planning.host.rlimits[RLIMIT_NPROC] = (struct host_rlimit){ .is_set = true, .most = 5 };
	limit(&planning, LIMIT_PIDS, 20);
	expect_plan(&planning);
	expect_str(written(&planning, "pids.max"), "21");
	expect_eq(planning.plan->n_notices, 0);
}

/* RLIMIT_CORE 0 would still run a handler that core_pattern pipes to; 1 does not. */
static void no_core_goes_to_a_file_or_a_handler(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	expect_plan(&planning);
	step = find_text(&planning, STEP_RLIMIT, "core");
	expect(step && step->rlimit.resource == RLIMIT_CORE && step->rlimit.limit == 1);
	expect(!is_any_weaker(&planning));
}

static void a_caller_without_cores_cannot_stop_the_handler(void)
{
	_cleanup_planning_ struct planning planning;
	const struct step *step;

	planning_open(&planning);
	planning.host.rlimits[RLIMIT_CORE] = (struct host_rlimit){ .is_set = true, .most = 0 };
	expect_plan(&planning);
	step = find_text(&planning, STEP_RLIMIT, "core");
	expect(step && step->rlimit.limit == 0 && step->origin.kind == ORIGIN_CALLER);
	expect(has_notice(&planning, "a crash can start the program of core_pattern outside"));
	expect(is_any_weaker(&planning));
}

static void the_size_of_tmp_is_the_size_of_its_tmpfs(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	limit(&planning, LIMIT_TMP_SIZE, 1 << 20);
	expect_plan(&planning);
	expect_eq(the_step(&planning, STEP_TMPFS, "/tmp")->tmpfs.size_bytes, 1 << 20);
	expect_eq(planning.plan->limits[LIMIT_TMP_SIZE].holder, HELD_BY_SIZE);
}

static void time_and_output_are_the_supervisors(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	limit(&planning, LIMIT_TIME, 5000000);
	limit(&planning, LIMIT_OUTPUT, 4096);
	expect_plan(&planning);
	expect_eq(planning.plan->limits[LIMIT_TIME].holder, HELD_BY_SUPERVISOR);
	expect_eq(planning.plan->limits[LIMIT_OUTPUT].holder, HELD_BY_SUPERVISOR);
	expect_eq(planning.plan->grace_usec, 2000000);
}

static void a_memory_limit_by_rlimit_is_a_notice(void)
{
	static const char part[] = "private memory of each process";
	_cleanup_text_ struct text line = TEXT_INIT, whole = TEXT_INIT, json = TEXT_INIT;
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.template = "code-executor";
	expect_plan(&planning);
	plan_add_tier_line(&line, planning.plan);
	plan_add_text(&whole, planning.plan);
	plan_add_json(&json, planning.plan);
	expect(strstr(text_string(&line),
		      "memory 1GiB by rlimit (private memory of each process)"));
	expect(strstr(text_string(&whole), "limit memory 1GiB by rlimit (private"));
	expect(strstr(text_string(&whole), "System V segments) is not counted"));
	expect(strstr(text_string(&json), part));
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	expect_plan(&planning);
	text_truncate(&line, 0);
	text_truncate(&json, 0);
	plan_add_tier_line(&line, planning.plan);
	plan_add_json(&json, planning.plan);
	expect(strstr(text_string(&line), "memory 1GiB by cgroup,"));
	expect(!strstr(text_string(&json), part));
}

static void a_strict_template_has_no_segments_where_no_cgroup_counts_them(void)
{
	static const struct {
		const char *template;
		bool has_cgroup;
		bool refuses;
	} cases[] = {
		{ "policy-sandbox", false, true },
		{ "policy-sandbox", true, false },
		{ "code-executor", false, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		_cleanup_text_ struct text policy = TEXT_INIT;

		text_addf(&policy, "isolation: {template: %s, seccomp: standard}\nversion: 1\n",
			  cases[i].template);
		planning_open(&planning);
		planning_load(&planning, text_string(&policy));
		if (cases[i].has_cgroup) {
			planning.host.cgroup = "/sys/fs/cgroup/user";
			planning.host.controllers = ALL_CONTROLLERS;
		}
		expect_plan(&planning);
		expect_str(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.profile, "standard");
		expect_eq((the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants &
			   VARIANT_NO_SHM) != 0,
			  cases[i].refuses);
	}
}

static void a_manifest_means_the_same_limits(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "sandbox:\n"
				 "  config: {maxMemoryMB: 128, maxCPUPercent: 25,"
				 " maxFileDescriptors: 64, maxThreads: 5}\n");
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.controllers = ALL_CONTROLLERS;
	expect_plan(&planning);
	expect_str(written(&planning, "memory.max"), "134217728");
	expect_str(written(&planning, "cpu.max"), "25000 100000");
	expect_str(written(&planning, "pids.max"), "6");
	expect_eq(rlimit_of(&planning, "nofile"), 64);
}

static void without_a_policy_and_a_template_only_processes_are_limited(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_scope = true;
	planning.host.memory_bytes = UINT64_C(16) << 30;
	expect_plan(&planning);
	expect_str(planning.plan->template, "default");
	for (int i = 0; i < N_LIMITS; i++)
		expect_eq(planning.plan->limits[i].is_set, i == LIMIT_PIDS);
	expect_eq(planning.plan->limits[LIMIT_PIDS].value, 4096);
	expect_str(planning.plan->limits[LIMIT_PIDS].origin.text, "default");
	expect_eq(rlimit_of(&planning, "nproc"), 4097);
	expect(!find_step(&planning, STEP_SCOPE, NULL));
	expect_eq(planning.plan->n_notices, 0);
}

static void a_policy_without_a_template_has_the_numbers_of_code_executor(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\n");
	expect_plan(&planning);
	expect_str(planning.plan->template, "code-executor");
	expect_eq(planning.plan->limits[LIMIT_PIDS].value, 100);
	expect_eq(planning.plan->limits[LIMIT_TIME].value, 300000000);
}

static void a_default_of_memory_takes_a_cgroup_that_is_there(void)
{
	static const struct {
		const char *cgroup;
		unsigned controllers;
		uint64_t memory_bytes;
		const char *want;
	} cases[] = {
		{ "/sys/fs/cgroup/user", ALL_CONTROLLERS, UINT64_C(16) << 30, "13743685632" },
		{ "/sys/fs/cgroup/user", ALL_CONTROLLERS, 0, "" },
		{ "/sys/fs/cgroup/user", CONTROLLER_PIDS, UINT64_C(16) << 30, "" },
		{ NULL, ALL_CONTROLLERS, UINT64_C(16) << 30, "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.host.has_scope = true;
		planning.host.cgroup = cases[i].cgroup;
		planning.host.controllers = cases[i].controllers;
		planning.host.memory_bytes = cases[i].memory_bytes;
		expect_plan(&planning);
		if (cases[i].want[0])
			expect_str(written(&planning, "memory.max"), cases[i].want);
		else
			expect(!planning.plan->limits[LIMIT_MEMORY].is_set);
		expect(!planning.plan->limits[LIMIT_CPU].is_set);
		expect(!find_step(&planning, STEP_SCOPE, NULL));
		expect_eq(rlimit_of(&planning, "data"), 0);
	}
}

static const char *reached(struct planning *planning, enum limit which)
{
	text_reset(&planning->text);
	plan_add_reached(&planning->text, planning->plan, which);
	return text_string(&planning->text);
}

static void a_limit_that_is_reached_is_told_with_its_value_and_origin(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_str(reached(&planning, LIMIT_PIDS), "process limit of 4096 reached (default)");
	planning.request.template = "code-executor";
	limit(&planning, LIMIT_OUTPUT, 1536 << 10);
	expect_plan(&planning);
	expect_str(reached(&planning, LIMIT_TIME),
		   "time limit of 5m reached (template code-executor)");
	expect_str(reached(&planning, LIMIT_OUTPUT), "output limit of 1536KiB reached (--it)");
	planning.request.template = NULL;
	planning_load(&planning, "version: 1\nlimits: {file_size: 10MiB}\n");
	expect_plan(&planning);
	expect_str(reached(&planning, LIMIT_FILE_SIZE),
		   "file size limit of 10MiB reached (p.yaml:2 'limits.file_size')");
	expect(!planning.plan->limits[LIMIT_FILE_SIZE].is_constraint);
}

static const struct test tests[] = {
	TEST(the_templates_have_their_numbers),
	TEST(every_limit_has_a_mechanism),
	TEST(refuses_a_template_that_is_not_there),
	TEST(options_override_the_policy_and_that_the_template),
	TEST(a_typed_template_does_not_widen_a_strict_profile),
	TEST(a_cgroup_holds_what_it_can),
	TEST(a_small_share_of_a_processor_has_a_longer_period),
	TEST(more_processes_than_the_kernel_counts_are_its_most),
	TEST(a_template_that_cannot_be_held_is_held_as_far_as_it_can),
	TEST(refuses_an_explicit_limit_that_cannot_be_enforced),
	TEST(a_limit_that_nothing_holds_names_the_check_of_the_host),
	TEST(a_policy_can_accept_less),
	TEST(the_service_manager_enforces_explicit_limits),
	TEST(a_cgroup_with_every_controller_needs_no_service_manager),
	TEST(a_registered_sandbox_gets_a_cgroup_to_pause_it),
	TEST(each_limit_has_its_rlimit),
	TEST(of_two_limits_on_processes_the_smaller_one_is_set),
	TEST(a_lower_hard_limit_of_the_caller_is_the_limit),
	TEST(a_default_above_the_limit_of_the_caller_needs_no_fix),
	TEST(a_limit_of_a_cgroup_is_not_that_of_the_caller),
	TEST(no_core_goes_to_a_file_or_a_handler),
	TEST(a_caller_without_cores_cannot_stop_the_handler),
	TEST(the_size_of_tmp_is_the_size_of_its_tmpfs),
	TEST(time_and_output_are_the_supervisors),
	TEST(a_memory_limit_by_rlimit_is_a_notice),
	TEST(a_strict_template_has_no_segments_where_no_cgroup_counts_them),
	TEST(a_manifest_means_the_same_limits),
	TEST(without_a_policy_and_a_template_only_processes_are_limited),
	TEST(a_policy_without_a_template_has_the_numbers_of_code_executor),
	TEST(a_default_of_memory_takes_a_cgroup_that_is_there),
	TEST(a_limit_that_is_reached_is_told_with_its_value_and_origin),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
