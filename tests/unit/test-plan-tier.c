/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "plan-host.h"

static void open_reduced(struct planning *planning)
{
	planning_open(planning);
	planning->host.has_userns = false;
	planning->host.userns_why = "the sysctl forbids it";
	planning->host.userns_fix = "load the profile of sbx";
	planning->host.cgroup = "/sys/fs/cgroup/user";
	planning->host.has_cgroup_kill = true;
	planning->request.tier = "reduced";
}

static void the_full_tier_has_all_namespaces(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_eq(the_step(&planning, STEP_NAMESPACES, NULL)->namespaces.clone_flags,
		  CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			  CLONE_NEWNET | CLONE_NEWCGROUP);
}

static void refuses_a_host_without_user_namespaces(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	planning.request.tier = NULL;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot build a sandbox of the full tier", "the sysctl forbids it",
		    "load the profile of sbx"));
	planning.host.userns_why = planning.host.userns_fix = NULL;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "full tier", "user namespaces cannot be made",
		    "--min-tier reduced"));
}

static void the_reduced_tier_is_taken_only_where_it_is_accepted(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	expect_plan(&planning);
	expect_eq(planning.plan->tier, TIER_REDUCED);
	expect_eq(planning.plan->layers,
		  LAYER_LANDLOCK | LAYER_SECCOMP | LAYER_CAPABILITIES | LAYER_CGROUP);
	expect(find_step(&planning, STEP_CGROUP, NULL));
	expect(!find_step(&planning, STEP_NAMESPACES, NULL));
	expect(!find_step(&planning, STEP_BIND, NULL));
	expect(!find_step(&planning, STEP_ROOT, NULL));
	expect(has_notice(&planning, "without namespaces (tier reduced)"));
	/* If the host has more, the higher tier is chosen. */
	planning.host.has_userns = true;
	expect_plan(&planning);
	expect_eq(planning.plan->tier, TIER_FULL);
}

static void the_reduced_tier_is_taken_where_it_was_asked_for_exactly(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	planning.host.has_userns = true;
	planning.request.is_tier_exact = true;
	expect_plan(&planning);
	expect_eq(planning.plan->tier, TIER_REDUCED);
	expect(!find_step(&planning, STEP_NAMESPACES, NULL));
	planning.request.pty = true;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot make a pseudoterminal here", "without namespaces", "--pty"));
	planning.request.pty = false;
	planning.host.has_cgroup_kill = false;
	expect_refusal(&planning, -EOPNOTSUPP);
	planning.request.tier = "full";
	expect_plan(&planning);
	expect_eq(planning.plan->tier, TIER_FULL);
	planning.host.has_userns = false;
	expect_refusal(&planning, -EOPNOTSUPP);
}

static void a_policy_accepts_the_reduced_tier_under_its_older_names(void)
{
	static const char *const names[] = { "reduced", "no-userns", "landlock-only" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[128];

		(void)snprintf(policy, sizeof(policy), "isolation: {tier: %s}\nversion: 1\n",
			       names[i]);
		open_reduced(&planning);
		planning.request.tier = NULL;
		planning_load(&planning, policy);
		expect_plan(&planning);
		expect_eq(planning.plan->tier, TIER_REDUCED);
		planning.request.tier = "full";
		expect_refusal(&planning, -EOPNOTSUPP);
	}
}

static void the_reduced_tier_gives_no_device_that_is_driven_by_requests(void)
{
	static const char *const names[] = { "kvm" };
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	know(&planning, "/dev/kvm", HOST_DEVICE);
	planning.request.devices = names;
	planning.request.n_devices = 1;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot provide the device 'kvm'", "--device", "leave it out"));
}

/* There is no mount that shows the link's target. */
static void the_reduced_tier_refuses_a_denial_through_a_link(void)
{
	static const char read_only[] =
		"capabilities:\n"
		"- {name: r, match: {syscall: [fs.read, fs.list], path: ./}, action: allow}\n"
		"- {name: d, match: {syscall: fs.*, path: /srv/link/keys}, action: deny}\n";
	static const char writable[] =
		"capabilities:\n"
		"- {name: r, match: {syscall: fs.*, path: ./}, action: allow}\n"
		"- {name: d, match: {syscall: fs.*, path: ./own/keys}, action: deny}\n";
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	planning_load(&planning, read_only);
	know(&planning, "/home/user/p/keys", HOST_FILE);
	know(&planning, "/srv/other/keys", HOST_FILE);
	expect_plan(&planning);
	know_link(&planning, "/srv/link", "/home/user/p", 1000);
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "p.yaml:3 'd'", "its target is shown",
		    "name its target, '/home/user/p/keys'"));
	planning.known[planning.n_known - 1].target = "/srv/other";
	expect_plan(&planning);
	/* A link of root that the command could replace. */
	planning_load(&planning, writable);
	know_link(&planning, "/home/user/p/own", "/srv/other", 0);
	expect_plan(&planning);
	planning.known[planning.n_known - 1].n_movable = strlen("/home/user/p/own");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "p.yaml:3 'd'", "could replace the link", "/srv/other/keys"));
}

static void refuses_the_reduced_tier_where_the_tree_could_not_be_killed(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	planning.host.has_cgroup_kill = false;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(strstr(planning.err.context, "cgroup.kill"));
	planning.host.has_cgroup_kill = true;
	planning.host.cgroup = NULL;
	expect_refusal(&planning, -EOPNOTSUPP);
}

static void refuses_a_kernel_without_landlock_or_filters(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.landlock_abi = 0;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot build a sandbox here", "no Landlock", "lsm=landlock"));
	planning.request.tier = "reduced";
	expect_refusal(&planning, -EOPNOTSUPP);
	planning.host.landlock_abi = 1;
	planning.host.has_seccomp = false;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot build a sandbox here", "no system call filters", "CONFIG_"));
}

static void the_strict_profile_needs_notifications(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_notify = false;
	expect_plan(&planning);
	planning.request.template = "policy-sandbox";
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "the profile 'strict'", "user notification", "seccomp: standard"));
}

static void refuses_layers_that_are_required_and_not_there(void)
{
	static const struct {
		unsigned required;
		const char *policy;
		const char *net_mode;
		const char *what;
		const char *why;
	} cases[] = {
		{ LAYER_CGROUP, "version: 1\n", NULL, "'cgroup'", "--require requires it" },
		{ LAYER_NET, "version: 1\n", "host", "'net'", "network host" },
		{ LAYER_LANDLOCK, "isolation: {nested: true}\nversion: 1\n", NULL, "'landlock'",
		  "nested" },
		{ 0, "isolation: {nested: true}\nplugins: {landlock: true}\nversion: 1\n", NULL,
		  "'landlock'", "p.yaml:2 'plugins.landlock' requires it" },
		{ 0, "isolation: {nested: true, landlock: true}\nversion: 1\n", NULL, "'landlock'",
		  "'isolation.landlock' requires it" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, cases[i].policy);
		planning.request.required = cases[i].required;
		planning.request.net_mode = cases[i].net_mode;
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, cases[i].what, cases[i].why, ""));
	}
}

static void namespaces_that_a_policy_requires_rule_the_reduced_tier_out(void)
{
	static const char *const policies[] = {
		"plugins: {namespaces: true}\nversion: 1\n",
		"isolation: {namespaces: true}\nversion: 1\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		_cleanup_planning_ struct planning planning;

		open_reduced(&planning);
		planning_load(&planning, policies[i]);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "the layer 'user' is not available", "tier reduced", ""));
	}
}

static void layers_that_are_there_may_be_required(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "plugins: {namespaces: true, landlock: true, seccomp: true}\n"
				 "version: 1\n");
	planning.request.required = LAYERS_FULL;
	expect_plan(&planning);
	planning.request.required = LAYER_CGROUP;
	planning.host.has_scope = true;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_SCOPE, NULL));
	planning.host.cgroup = "/sys/fs/cgroup/user";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_CGROUP, NULL));
}

static void false_for_a_layer_does_not_disable_it(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "plugins: {namespaces: false, landlock: false, seccomp: false}\n"
				 "version: 1\n");
	expect_plan(&planning);
	expect_eq(planning.plan->layers & LAYERS_FULL, LAYERS_FULL);
}

static void nested_is_without_landlock_and_says_so(void)
{
	_cleanup_planning_ struct planning planning;
	_cleanup_text_ struct text line = TEXT_INIT;

	planning_open(&planning);
	planning_load(&planning,
		      "isolation: {nested: true}\ndefaults: {exec: allow}\nversion: 1\n");
	expect_plan(&planning);
	expect(!(planning.plan->layers & LAYER_LANDLOCK));
	expect(!find_step(&planning, STEP_LANDLOCK, NULL));
	expect(!(flags_of(&planning, STEP_PROC, "/proc") & STEP_READ_ONLY));
	expect(has_notice(&planning, "Landlock is left out"));
	plan_add_tier_line(&line, planning.plan);
	expect(strstr(text_string(&line), "(nested: no landlock)"));
	planning.host.landlock_abi = 0;
	expect_plan(&planning);
}

/* The command could execute a copy of any program in a tmpfs of its own. */
#define NESTED "isolation: {nested: true}\ndefaults: {exec: allow}\nversion: 1\n"

/* The command can mount the cgroup in which it is. */
static void nested_has_a_cgroup_wherever_one_can_be_made(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.owns_cgroup = true;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_CGROUP, NULL));
	planning.request.is_registered = true;
	expect_plan(&planning);
	expect(!the_step(&planning, STEP_CGROUP, NULL)->cgroup.has_child);
	planning.request.is_registered = false;
	planning_load(&planning, NESTED);
	expect_plan(&planning);
	expect(the_step(&planning, STEP_CGROUP, NULL)->cgroup.has_child);
	planning.host.has_scope = true;
	planning_load(&planning, "isolation: {nested: true}\nlimits: {memory: 1GiB}\n"
				 "defaults: {exec: allow}\nversion: 1\n");
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_CGROUP, NULL));
	expect(the_step(&planning, STEP_SCOPE, NULL)->scope.has_child);
}

static void nested_without_one_is_refused_in_a_cgroup_of_the_user(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, NESTED);
	expect_plan(&planning);
	planning.host.owns_cgroup = true;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot make a cgroup", "p.yaml:1 'isolation.nested'",
		    "a cgroup of its own"));
	/* The command of root is a user of its own. */
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	expect_plan(&planning);
	planning.request.has_uid = true;
	planning.request.uid = planning.request.gid = 1000;
	expect_refusal(&planning, -EOPNOTSUPP);
}

static void nested_refuses_limits_of_what_is_executed(void)
{
	static const char *const policies[] = {
		"isolation: {nested: true}\nversion: 1\n",
		"isolation: {nested: true}\n"
		"capabilities:\n"
		"- {name: r, match: {syscall: exec, path: /usr}, action: allow}\n",
		"isolation: {nested: true}\n"
		"capabilities:\n"
		"- {name: all, match: {syscall: exec}, action: allow}\n"
		"- {name: none, match: {syscall: exec}, action: deny}\n",
	};
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		planning_load(&planning, policies[i]);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "p.yaml:1 'isolation.nested'", "excludes Landlock",
			    "allow exec without a path"));
	}
	/* A denial by name holds: that file is mounted 'noexec'. */
	planning_load(
		&planning,
		"isolation: {nested: true}\n"
		"capabilities:\n"
		"- {name: all, match: {syscall: exec}, action: allow}\n"
		"- {name: u, match: {syscall: [fs.read, fs.list], path: /usr}, action: allow}\n"
		"- {name: d, match: {syscall: exec, path: /usr/bin/sudo}, action: "
		"deny}\n");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/usr/bin/sudo") & STEP_NO_EXEC);
}

/* The command could rename it in a mount namespace with another root. */
static void nested_refuses_names_in_writable_directories_that_differ(void)
{
	static const char *const refused[] = {
		"- {name: d, match: {syscall: fs.*, path: ./a/keys}, action: deny}\n",
		"- {name: d, match: {syscall: fs.write, path: ./a/keys}, action: deny}\n",
		"- {name: d, match: {syscall: fs.write, path: ./a}, action: deny}\n",
		"mounts: [{target: ./a/keys, mode: tmpfs}]\n",
	};
	static const char start[] =
		NESTED "capabilities:\n"
		       "- {name: w, match: {syscall: fs.*, path: ./}, action: allow}\n";

	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[1024];

		planning_open(&planning);
		know(&planning, "/home/user/p/a/keys", HOST_DIRECTORY);
		(void)snprintf(policy, sizeof(policy), "%s%s", start, refused[i]);
		planning_load(&planning, policy);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "/home/user/p/a", "may write to '/home/user/p'",
			    "remove 'nested'"));
		/* Where only reading is allowed, the name cannot be changed. */
		(void)snprintf(policy, sizeof(policy),
			       NESTED "capabilities:\n"
				      "- {name: w, match: {syscall: [fs.read, fs.list], path: ./},"
				      " action: allow}\n"
				      "%s",
			       refused[i]);
		planning_load(&planning, policy);
		expect_plan(&planning);
	}
}

static void an_ordinary_user_keeps_the_uid(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.gid = 100;
	expect_plan(&planning);
	expect_eq(planning.plan->uid, 1000);
	expect_eq(planning.plan->gid, 100);
	expect_eq(the_step(&planning, STEP_ID_MAP, NULL)->id_map.uid, 1000);
	expect_eq(the_step(&planning, STEP_ID_MAP, NULL)->id_map.gid, 100);
	expect_eq(the_step(&planning, STEP_IDENTITY, NULL)->identity.uid, 1000);
	planning.request.has_uid = true;
	planning.request.uid = planning.request.gid = 1000;
	expect_plan(&planning);
	planning.request.uid = 1001;
	expect_refusal(&planning, -EPERM);
	expect(says(&planning, "as uid 1001", "started by uid 1000, and only root can choose",
		    "leave out --uid"));
}

static void a_command_of_root_gets_a_user_of_its_own(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	expect_plan(&planning);
	expect_eq(planning.plan->uid, 2000004711u);
	expect_eq(planning.plan->gid, 2000004711u);
	planning.request.has_uid = true;
	planning.request.uid = 1234;
	planning.request.gid = 1235;
	expect_plan(&planning);
	expect_eq(planning.plan->uid, 1234);
	expect_eq(the_step(&planning, STEP_IDENTITY, NULL)->identity.gid, 1235);
	expect_str(the_step(&planning, STEP_IDENTITY, NULL)->origin.text, "--uid");
	expect_str(the_step(&planning, STEP_ID_MAP, NULL)->origin.text, "--uid");
}

static void refuses_to_run_the_command_as_root(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	planning.host.is_root = true;
	planning.request.has_uid = true;
	expect_refusal(&planning, -EPERM);
	expect(says(&planning, "cannot run as root", "uid 0 may read", "name another uid"));
	planning.request.uid = 5;
	expect_refusal(&planning, -EPERM);
	planning.request.has_uid = false;
	planning.request.supervisor = 0;
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "a user of its own", "which process supervises it", "--uid"));
}

static void refuses_uid_0_without_its_capabilities(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.uid = planning.host.gid = 0;
	expect_refusal(&planning, -EPERM);
	expect(says(&planning, "a user of its own", "without root's capabilities",
		    "ordinary user"));
}

static void without_a_new_proc_there_is_none(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_proc = false;
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_PROC, NULL));
	expect(!find_step(&planning, STEP_BIND, "/proc"));
	expect(has_notice(&planning, "there is no /proc"));
}

static void refuses_a_terminal_without_namespaces(void)
{
	_cleanup_planning_ struct planning planning;

	open_reduced(&planning);
	planning.request.pty = true;
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "cannot make a pseudoterminal", "", "leave out --pty"));
}

static const struct test tests[] = {
	TEST(the_full_tier_has_all_namespaces),
	TEST(refuses_a_host_without_user_namespaces),
	TEST(the_reduced_tier_is_taken_only_where_it_is_accepted),
	TEST(the_reduced_tier_is_taken_where_it_was_asked_for_exactly),
	TEST(a_policy_accepts_the_reduced_tier_under_its_older_names),
	TEST(the_reduced_tier_gives_no_device_that_is_driven_by_requests),
	TEST(the_reduced_tier_refuses_a_denial_through_a_link),
	TEST(refuses_the_reduced_tier_where_the_tree_could_not_be_killed),
	TEST(refuses_a_kernel_without_landlock_or_filters),
	TEST(the_strict_profile_needs_notifications),
	TEST(refuses_layers_that_are_required_and_not_there),
	TEST(namespaces_that_a_policy_requires_rule_the_reduced_tier_out),
	TEST(layers_that_are_there_may_be_required),
	TEST(false_for_a_layer_does_not_disable_it),
	TEST(nested_is_without_landlock_and_says_so),
	TEST(nested_has_a_cgroup_wherever_one_can_be_made),
	TEST(nested_without_one_is_refused_in_a_cgroup_of_the_user),
	TEST(nested_refuses_limits_of_what_is_executed),
	TEST(nested_refuses_names_in_writable_directories_that_differ),
	TEST(an_ordinary_user_keeps_the_uid),
	TEST(a_command_of_root_gets_a_user_of_its_own),
	TEST(refuses_to_run_the_command_as_root),
	TEST(refuses_uid_0_without_its_capabilities),
	TEST(without_a_new_proc_there_is_none),
	TEST(refuses_a_terminal_without_namespaces),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
