/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan-host.h"

#define PROJECT "/home/user/p"

static void open_policy(struct planning *planning, const char *rules)
{
	char policy[4096];

	planning_open(planning);
	(void)snprintf(policy, sizeof(policy), "capabilities:\n%s", rules);
	planning_load(planning, policy);
}

static void refuses_what_needs_the_broker_by_name_and_place(void)
{
	static const struct {
		const char *rule;
		const char *what;
		const char *fix;
	} cases[] = {
		{ "- {name: src, match: {syscall: fs.read, path_glob: 'src/*.c'}, action: allow}\n",
		  "p.yaml:2: rule 'src' has the pattern 'src/*.c'", "name files or directories" },
		{ "- {name: src, match: {syscall: fs.*, path_glob: 'src/**/a'}, action: deny}\n",
		  "rule 'src' has the pattern 'src/**/a'", "name files or directories" },
		{ "- {name: make, match: {syscall: fs.read, path_glob: Makefile}, action: allow}\n",
		  "rule 'make' has the pattern 'Makefile'", "name files or directories" },
		{ "- {name: cc, match: {syscall: exec, path: cc}, action: deny}\n",
		  "rule 'cc' has the pattern 'cc'", "name files or directories" },
		{ "- {name: out, match: {syscall: fs.write, path_glob: ['./src/', '!src/*.o']},"
		  " action: allow}\n",
		  "rule 'out' has the pattern '!src/*.o'", "name files or directories" },
		{ "- name: except\n  match: {syscall: fs.read, path: ./}\n  action: allow\n"
		  "  except: [{path_glob: '**/*.key'}]\n",
		  "rule 'except' has the pattern '**/*.key'", "name files or directories" },
		{ "- {name: note, match: {syscall: fs.read, path: /srv}, action: warn}\n",
		  "p.yaml:2: rule 'note' says 'warn' about files", "write 'allow' or 'deny'" },
		{ "- {name: ask, match: {syscall: fs.write, path: /srv, caller: me},"
		  " action: require_review}\n",
		  "rule 'ask' says 'require_review' about files", "write 'allow' or 'deny'" },
		{ "- {name: ask, match: {syscall: exec, path: /srv/a}, action: require_review}\n",
		  "rule 'ask' says 'require_review'", "write 'allow' or 'deny'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;

		open_policy(&planning, cases[i].rule);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, cases[i].what, "this release does not have", cases[i].fix));
	}
}

static void globs_that_are_only_paths_are_paths(void)
{
	static const char *const globs[] = { "'src/**'", "'./src/'", "'/home/user/p/src/**'" };

	for (size_t i = 0; i < N_ELEMENTS(globs); i++) {
		_cleanup_planning_ struct planning planning;
		char rule[256];

		(void)snprintf(rule, sizeof(rule),
			       "- {name: src, match: {syscall: fs.read, path_glob: %s},"
			       " action: allow}\n",
			       globs[i]);
		open_policy(&planning, rule);
		know(&planning, PROJECT "/src/a.c", HOST_FILE);
		expect_plan(&planning);
		expect(find_step(&planning, STEP_BIND, PROJECT "/src"));
	}
}

static void a_glob_without_its_slash_is_a_file(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: two, match: {syscall: fs.read, path_glob: ['a/file',"
			       " 'a/folder']}, action: allow}\n");
	know(&planning, PROJECT "/a/file", HOST_FILE);
	know(&planning, PROJECT "/a/folder", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, PROJECT "/a/file"));
	/* A bind would also show what is below the directory, which the glob does not match. */
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a/folder"));
	expect(has_notice(&planning, "'" PROJECT "/a/folder' of p.yaml:2 'two' is left out"));
}

static void an_exclusion_applies_only_to_its_own_rule(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: src, match: {syscall: fs.*, path_glob: ['./src/', '!src/gen/',"
		    " '!src/both/', 'src/gen/deep/']}, action: allow}\n"
		    "- {name: both, match: {syscall: fs.read, path: ./src/both}, action: allow}\n");
	know(&planning, PROJECT "/src/gen/deep", HOST_DIRECTORY);
	know(&planning, PROJECT "/src/both", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!(flags_of(&planning, STEP_BIND, PROJECT "/src") & STEP_READ_ONLY));
	expect(find_step(&planning, STEP_MASK, PROJECT "/src/gen"));
	/* The exclusion wins over a glob that reaches deeper. */
	expect(!find_step(&planning, STEP_BIND, PROJECT "/src/gen/deep"));
	expect(find_step(&planning, STEP_MASK, PROJECT "/src/both") ||
	       (flags_of(&planning, STEP_BIND, PROJECT "/src/both") & STEP_READ_ONLY));
}

static void exceptions_take_back_what_they_name(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- name: project\n"
		    "  match: {syscall: fs.*, path: ./}\n"
		    "  action: allow\n"
		    "  except: [{path: ./fixed, syscall: fs.write}, {path: ./hidden}]\n");
	know(&planning, PROJECT "/fixed", HOST_DIRECTORY);
	know(&planning, PROJECT "/hidden", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT "/fixed") & STEP_READ_ONLY);
	expect(find_step(&planning, STEP_MASK, PROJECT "/hidden"));
}

static void exceptions_of_a_denial_let_through(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: project, match: {syscall: fs.*, path: ./}, action: allow}\n"
		    "- name: fixed\n"
		    "  match: {syscall: fs.write, path: ./a}\n"
		    "  action: deny\n"
		    "  except: [{path: ./a/open}]\n");
	know(&planning, PROJECT "/a/open", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT "/a") & STEP_READ_ONLY);
	expect(!(flags_of(&planning, STEP_BIND, PROJECT "/a/open") & STEP_READ_ONLY));
}

/* Only the directory itself is excepted; paths below it stay denied. */
static void an_exception_that_names_a_directory_alone_lets_nothing_through(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: project, match: {syscall: fs.*, path: ./}, action: allow}\n"
		    "- name: fixed\n"
		    "  match: {syscall: fs.write, path_glob: ['./a/', '!./a/two']}\n"
		    "  action: deny\n"
		    "  except: [{path_glob: ['./a/open', './a/file']}]\n");
	know(&planning, PROJECT "/a/open", HOST_DIRECTORY);
	know(&planning, PROJECT "/a/two", HOST_DIRECTORY);
	know(&planning, PROJECT "/a/file", HOST_FILE);
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT "/a") & STEP_READ_ONLY);
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a/open"));
	expect(!find_step(&planning, STEP_BIND, PROJECT "/a/two"));
	expect(!(flags_of(&planning, STEP_BIND, PROJECT "/a/file") & STEP_READ_ONLY));
}

static void an_exception_without_a_path_takes_back_its_operations(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- name: project\n"
			       "  match: {syscall: fs.*, path: ./}\n"
			       "  action: allow\n"
			       "  except: [{syscall: fs.write}]\n");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, PROJECT) & STEP_READ_ONLY);
}

static void what_the_kernel_cannot_see_is_not_allowed(void)
{
	static const char *const rules[] = {
		"- {name: some, match: {syscall: fs.read, path: /etc, caller: me}, action: allow}\n",
		"- {name: some, match: {syscall: fs.read, path: /etc, caller_tag: t}, action: allow}\n",
		"- {name: some, match: {syscall: fs.read, path: /etc, state: s}, action: allow}\n",
		"- {name: some, match: {syscall: fs.read, path: /etc, mode: debug}, action: allow}\n",
		"- {name: some, match: {syscall: fs.read, path: /etc}, action: allow,"
		" constraints: {require_capability_token: true}}\n",
		"- {name: some, match: {syscall: exec, path: /etc}, action: allow, constraints: {sha256: "
		"'0000000000000000000000000000000000000000000000000000000000000000'}}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
		_cleanup_planning_ struct planning planning;

		open_policy(&planning, rules[i]);
		expect_plan(&planning);
		expect(!find_step(&planning, STEP_BIND, "/etc"));
		expect(has_notice(&planning, "p.yaml:2 'some' grants nothing here"));
	}
}

static void what_the_kernel_cannot_see_is_always_denied(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: etc, match: {syscall: fs.*, path: /etc}, action: allow}\n"
			       "- name: keys\n"
			       "  match: {syscall: fs.*, path: /etc/shadow, caller: stranger}\n"
			       "  action: deny\n"
			       "  except: [{mode: debug}]\n");
	know(&planning, "/etc/sbx", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/etc/shadow"));
	expect(has_notice(&planning, "'keys' always applies here"));
}

static void an_exception_that_cannot_be_seen_is_there_for_an_allow(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- name: etc\n"
			       "  match: {syscall: [fs.read, fs.list], path: /etc}\n"
			       "  action: allow\n"
			       "  except: [{path: /etc/shadow, caller: stranger}]\n"
			       "- name: usr\n"
			       "  match: {syscall: fs.read, path: /usr}\n"
			       "  action: allow\n"
			       "  except: [{mode: strict}]\n");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/etc/shadow"));
	expect(!find_step(&planning, STEP_BIND, "/usr"));
}

static void a_file_has_no_host(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: both, match: {syscall: '*', host: example.com}, action: allow}\n"
		    "- {name: none, match: {syscall: fs.read, path: []}, action: allow}\n"
		    "- {name: etc, match: {syscall: fs.read, path: /etc}, action: allow}\n"
		    "net: {mode: none}\n");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/etc"));
	expect(!find_step(&planning, STEP_BIND, "/usr"));
}

static void a_rule_that_passes_says_nothing(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(
		&planning,
		"- {name: skip, match: {syscall: fs.read, path_glob: '**/*.c'}, action: pass}\n");
	expect_plan(&planning);
}

static void the_inner_level_is_not_what_builds_sandboxes(void)
{
	static const char rule[] =
		"isolation: {nested: true}\n"
		"defaults: {exec: allow}\n"
		"capabilities:\n"
		"- {name: inner, match: {syscall: [fs.read, fs.list], path: /etc}, action: allow,"
		" constraints: {require_sandbox: L2}}\n"
		"- {name: outer, match: {syscall: [fs.read, fs.list], path: /usr}, action: allow,"
		" constraints: {require_sandbox: L1}}\n";
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, rule);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/etc"));
	expect(find_step(&planning, STEP_BIND, "/usr"));
	planning.policy = policy_free(planning.policy);
	planning_load(&planning, strchr(rule, '\n') + 1);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/etc"));
}

static void the_smallest_file_size_of_a_rule_bounds_all_files(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "limits: {file_size: 32MiB}\n"
		      "capabilities:\n"
		      "- {name: out, match: {syscall: fs.write, path: /tmp}, action: allow,"
		      " constraints: {max_file_size: 64MiB}}\n"
		      "- {name: small, match: {syscall: fs.write, path: /tmp}, action: allow,"
		      " constraints: {max_file_size: 16MiB}}\n");
	expect_plan(&planning);
	expect(find_step(&planning, STEP_TMPFS, "/tmp"));
	expect_eq(planning.plan->limits[LIMIT_FILE_SIZE].value, 16 << 20);
	expect_str(planning.plan->limits[LIMIT_FILE_SIZE].origin.text, "p.yaml:4 'small'");
	expect(has_notice(&planning, "file size limit of p.yaml:4 'small' applies to all files"));
}

static void a_projects_own_file_only_narrows(void)
{
	static const char user[] = "capabilities:\n"
				   "- {name: p, match: {syscall: [fs.read, fs.list], path: ./},"
				   " action: allow}\n";
	static const char project[] = "capabilities:\n"
				      "- {name: more, match: {syscall: fs.read, path: /etc},"
				      " action: allow}\n"
				      "- {name: less, match: {syscall: fs.*, path: ./keys},"
				      " action: deny}\n";
	_cleanup_planning_ struct planning planning;
	struct policy *both[2] = { NULL, NULL };

	planning_open(&planning);
	expect_eq(policy_load("user.yaml", user, strlen(user), &both[0], NULL), 0);
	expect_eq(policy_load(".sbx/policy.yaml", project, strlen(project), &both[1], NULL), 0);
	expect_eq(policy_merge(both, 2, true, &planning.policy, NULL), 0);
	know(&planning, PROJECT "/keys", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_BIND, "/etc"));
	expect_str(the_step(&planning, STEP_MASK, PROJECT "/keys")->origin.text,
		   ".sbx/policy.yaml:3 'less'");
	policy_free_ptr(&both[0]);
	policy_free_ptr(&both[1]);
}

static void defaults_are_rules_about_everything(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "version: 1\ndefaults: {fs: allow}\n"
		      "capabilities:\n"
		      "- {name: keys, match: {syscall: fs.*, path: /root}, action: deny}\n"
		      "- {name: fixed, match: {syscall: fs.write, path: /}, action: deny}\n");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/usr") & STEP_READ_ONLY);
	expect(!find_step(&planning, STEP_BIND, "/root"));
}

static void refuses_defaults_that_ask(void)
{
	static const char *const defaults[] = { "{fs: warn}", "{exec: require_review}" };

	for (size_t i = 0; i < N_ELEMENTS(defaults); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[256];

		(void)snprintf(policy, sizeof(policy), "version: 1\ndefaults: %s\n", defaults[i]);
		planning_open(&planning);
		planning_load(&planning, policy);
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "p.yaml:1: 'defaults.", "need the broker",
			    "'allow' or 'deny'"));
	}
}

static void a_section_dialect_sees_the_system_and_writes_its_project(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\n"
				 "fs: {rules: [{action: deny, path: /etc/shadow}]}\n"
				 "exec: {rules: [{action: allow, path: /usr/bin/true}]}\n");
	expect_plan(&planning);
	expect(flags_of(&planning, STEP_BIND, "/usr") & STEP_NO_EXEC);
	expect(!(flags_of(&planning, STEP_BIND, "/usr/bin/true") & STEP_NO_EXEC));
	expect(!(flags_of(&planning, STEP_BIND, PROJECT) & STEP_READ_ONLY));
	expect(find_step(&planning, STEP_TMPFS, "/tmp"));
	expect(find_step(&planning, STEP_MASK, "/etc/shadow"));
}

static void a_manifest_sees_the_system_and_what_it_names(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "sandbox:\n"
				 "  enabled: true\n"
				 "  type: PROCESS\n"
				 "  config: {allowedPaths: [/srv/data], maxMemoryMB: 64}\n");
	know(&planning, "/srv/data", HOST_DIRECTORY);
	planning.request.best_effort = true;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/usr"));
	expect(!(flags_of(&planning, STEP_BIND, "/srv/data") & STEP_READ_ONLY));
	expect(!find_step(&planning, STEP_BIND, PROJECT));
	expect_eq(planning.plan->limits[LIMIT_MEMORY].value, 64 << 20);
}

/* Each policy of policies/ is planned, or refused with a reason. */
static void the_policies_that_come_with_sbx(void)
{
	static const struct {
		const char *name;
		const char *command;
		const char *why; /* NULL: there is a plan */
	} cases[] = {
		{ "ai-provider", "true", NULL },
		{ "anti-escape", "true", NULL },
		{ "build", "true", NULL },
		{ "code-executor", "true", NULL },
		{ "default", "true", NULL },
		{ "ebpf-audit", "true", NULL },
		{ "exec-policy", "cat", NULL },
		{ "exec-policy", "sudo", "'no-new-rights' denies it" },
		{ "fs-allowlist", "true", NULL },
		{ "mcp-server", "node", NULL },
		{ "mcp-server", "cat", "this is not one of them" },
		{ "net-egress", "true", NULL },
		{ "networked", "true", NULL },
		{ "no-network", "true", NULL },
		{ "node", "node", NULL },
		{ "policy-sandbox", "true", NULL },
		{ "python", "python3", NULL },
		{ "readonly", "true", NULL },
		{ "strict", "true", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		char path[512];
		int r;

		(void)snprintf(path, sizeof(path), "%s/policies/%s.yaml", getenv("SBX_SOURCE"),
			       cases[i].name);
		planning_open(&planning);
		planning.argv[0] = cases[i].command;
		expect_eq(policy_load_file(-1, path, &planning.policy, NULL), 0);
		r = planning_build(&planning);
		if ((r < 0) != (cases[i].why != NULL))
			printf("# %s: %s: %s\n", cases[i].name, planning.err.what,
			       planning.err.why);
		expect_eq(r < 0, cases[i].why != NULL);
		if (cases[i].why)
			expect(says(&planning, "", cases[i].why, ""));
	}
}

/* Counterpart: the same rule with a value has an effect, because the plan does not know the caller.
 */
static void a_rule_with_an_empty_list_never_holds(void)
{
	static const char *const keys[] = { "caller", "caller_tag", "state", "mode" };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		for (int n_values = 0; n_values < 2; n_values++) {
			_cleanup_planning_ struct planning planning;
			char rules[512];

			(void)snprintf(
				rules, sizeof(rules),
				"- {name: own, match: {syscall: fs.*, path: ./}, action: allow}\n"
				"- {name: keys, match: {syscall: fs.*, path: ./keys, %s: [%s]},"
				" action: deny}\n",
				keys[i], n_values > 0 ? "strict" : "");
			open_policy(&planning, rules);
			know(&planning, PROJECT "/keys", HOST_DIRECTORY);
			expect_plan(&planning);
			expect_eq(find_step(&planning, STEP_MASK, PROJECT "/keys") != NULL,
				  n_values > 0);
		}
}

static void an_exception_with_an_empty_list_takes_nothing_back(void)
{
	static const char *const lists[] = { "path: []", "path: ./keys, caller: []",
					     "path: ./keys, mode: []", "path: ./keys" };

	for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
		_cleanup_planning_ struct planning planning;
		bool is_empty = i + 1 < N_ELEMENTS(lists);
		char rules[512];

		(void)snprintf(rules, sizeof(rules),
			       "- {name: own, match: {syscall: fs.*, path: ./}, action: allow,"
			       " except: [{%s}]}\n",
			       lists[i]);
		open_policy(&planning, rules);
		know(&planning, PROJECT "/keys", HOST_DIRECTORY);
		expect_plan(&planning);
		expect_eq(find_step(&planning, STEP_MASK, PROJECT "/keys") == NULL, is_empty);
	}
}

/* The mark is at what the mount shows, the evaluator's denial also at what the host's link leads
 * to. */
static void refuses_a_denial_through_a_link_that_a_mount_hides(void)
{
	static const struct {
		const char *path;
		uid_t owner;
		bool is_refused;
	} cases[] = {
		{ PROJECT "/a/link", 0, true },
		{ PROJECT "/a/link", 1000, true },
		{ PROJECT "/a/other", 0, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		char rules[1000];

		(void)snprintf(rules, sizeof(rules),
			       "- {name: all, match: {op: fs.*, path: ./}, action: allow}\n"
			       "- {name: kept, match: {op: fs.write, path: %s}, action: deny}\n"
			       "mounts: [{target: " PROJECT "/a, mode: ro, source: /srv/t}]\n",
			       cases[i].path);
		open_policy(&planning, rules);
		know(&planning, PROJECT "/a", HOST_DIRECTORY);
		know(&planning, PROJECT "/file", HOST_FILE);
		know(&planning, "/srv/t", HOST_DIRECTORY);
		know_link(&planning, PROJECT "/a/link", PROJECT "/file", cases[i].owner);
		if (!cases[i].is_refused) {
			expect_plan(&planning);
			continue;
		}
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "'" PROJECT "/a/link'", "that a mount hides",
			    "'" PROJECT "/file'"));
	}
}

/* Nothing is at the target, and only a command that may write there can change that. */
static void denies_through_a_hidden_link_what_cannot_be_created(void)
{
	static const struct {
		const char *allowed;
		bool is_refused;
	} cases[] = { { "fs.read", false }, { "fs.*", true } };

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_planning_ struct planning planning;
		char rules[1000];

		(void)snprintf(rules, sizeof(rules),
			       "- {name: srv, match: {op: '%s', path: /srv/d}, action: allow}\n"
			       "- {name: kept, match: {op: fs.read, path: " PROJECT
			       "/a/link}, action: deny}\n"
			       "mounts: [{target: " PROJECT "/a, mode: ro, source: /srv/t}]\n",
			       cases[i].allowed);
		open_policy(&planning, rules);
		know(&planning, PROJECT "/a", HOST_DIRECTORY);
		know(&planning, "/srv/d", HOST_DIRECTORY);
		know(&planning, "/srv/t", HOST_DIRECTORY);
		know_link(&planning, PROJECT "/a/link", "/srv/d/missing", 0);
		if (!cases[i].is_refused) {
			expect_plan(&planning);
			continue;
		}
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "'" PROJECT "/a/link'", "that a mount hides",
			    "'/srv/d/missing'"));
	}
}

/* The mount is at its target's own name then, and so is what is denied below it. */
static void denies_below_a_mount_whose_target_leads_through_a_refused_link(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: kept, match: {op: fs.read, path: " PROJECT
			       "/l/d/secret}, action: deny}\n"
			       "mounts: [{target: " PROJECT "/l/d, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/secret", HOST_FILE);
	know(&planning, PROJECT "/r", HOST_DIRECTORY);
	know_link(&planning, PROJECT "/l", PROJECT "/r", 1000);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, PROJECT "/l/d"));
	expect(find_step(&planning, STEP_MASK, PROJECT "/l/d/secret"));
}

static void mounts_where_a_link_to_its_target_leads(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: etc, match: {op: fs.read, path: /etc}, action: allow}\n"
			       "mounts: [{target: /lib64/t, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/usr/lib64/t"));
}

/* The denial is at the host's path, which the mount hides. */
static void refuses_a_denial_below_what_a_mounts_target_leads_to(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(
		&planning,
		"- {name: kept, match: {op: fs.read, path: /usr/lib64/t/secret}, action: deny}\n"
		"mounts: [{target: /lib64/t, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/secret", HOST_FILE);
	expect_refusal(&planning, -ELOOP);
	expect(says(&planning, "'/usr/lib64/t/secret' in '/lib64/t'", "symbolic link",
		    "'/usr/lib64/t'"));
}

/* The rights of a mount are not those of what the host's link at its target leads to. */
static void grants_nothing_behind_a_refused_link_at_a_mounts_target(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: r, match: {op: fs.read, path: " PROJECT "/r}, action: allow}\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, PROJECT "/r", HOST_DIRECTORY);
	know_link(&planning, PROJECT "/l", PROJECT "/r", 1000);
	grant(&planning, GRANT_WRITE, "/srv/t", "--bind");
	planning.paths[planning.request.n_paths - 1].target = PROJECT "/l";
	expect_plan(&planning);
	expect(the_step(&planning, STEP_BIND, PROJECT "/r")->bind.attributes.is_read_only);
	expect(!the_step(&planning, STEP_BIND, PROJECT "/l")->bind.attributes.is_read_only);
}

/* The host's link at the denied name is hidden by the mount, which shows a file there. */
static void denies_below_an_options_mount_at_a_followed_link(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: kept, match: {op: fs.read, path: /lib64/t/secret}, "
			       "action: deny}\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/secret", HOST_FILE);
	know_link(&planning, "/usr/lib64/t/secret", "/etc/other", 0);
	grant(&planning, GRANT_READ, "/srv/t", "--bind");
	planning.paths[planning.request.n_paths - 1].target = "/lib64/t";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_BIND, "/usr/lib64/t"));
	expect(find_step(&planning, STEP_MASK, "/usr/lib64/t/secret"));
}

/* The host is asked about the link's target, which the mount hides, and not about what it shows. */
static void refuses_a_denial_whose_link_leads_into_a_mount(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: kept, match: {op: fs.read, path: /lib64/t/secret}, action: deny}\n"
		    "mounts: [{target: /usr/lib64/t, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/secret", HOST_FILE);
	expect_refusal(&planning, -ELOOP);
	expect(says(&planning, "'/lib64/t/secret' in '/usr/lib64/t'", "symbolic link",
		    "name '/usr/lib64/t/secret'"));
}

static void refuses_an_exception_whose_link_leads_into_a_mount(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: kept, match: {op: fs.read, path: /lib64}, action: deny, "
			       "except: [{path: /lib64/t/shown}]}\n"
			       "mounts: [{target: /usr/lib64/t, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/shown", HOST_FILE);
	expect_refusal(&planning, -ELOOP);
	expect(says(&planning, "make an exception of '/lib64/t/shown' in '/usr/lib64/t'",
		    "symbolic link", "name '/usr/lib64/t/shown'"));
}

/* What the fix of the refusal says. */
static void a_denial_by_the_name_in_the_mount_holds_for_links(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning, "- {name: kept, match: {op: fs.read, path: [/lib64/t/secret, "
			       "/usr/lib64/t/secret]}, action: deny}\n"
			       "mounts: [{target: /usr/lib64/t, mode: ro, source: /srv/t}]\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/secret", HOST_FILE);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/usr/lib64/t/secret"));
}

/* Landlock grants what a mount may do to the mounted directory, whatever its name is. */
static void a_denial_holds_beside_a_mount_of_the_directory_around_it(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: names, match: {op: fs.list, path: /srv/a}, action: allow}\n"
		    "- {name: key, match: {op: fs.read, path: /srv/a/b/key}, action: deny}\n"
		    "mounts: [{source: /srv/a, target: /mnt/a, mode: rw}]\n");
	know(&planning, "/srv/a", HOST_DIRECTORY);
	know(&planning, "/srv/a/b/key", HOST_FILE);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/mnt/a/b/key"));
	expect(find_step(&planning, STEP_MASK, "/srv/a/b/key"));
}

/* Landlock's rule for a file is one for all its hard links, and one for a directory also holds
 * below a bind mount of the host. */
static void a_denial_holds_for_one_name_of_a_file(void)
{
	static const char *const denied[] = { "fs.read", "fs.*" };

	for (size_t i = 0; i < N_ELEMENTS(denied); i++) {
		_cleanup_planning_ struct planning planning;
		char rules[512];

		(void)snprintf(
			rules, sizeof(rules),
			"- {name: names, match: {op: fs.list, path: /srv/a}, action: allow}\n"
			"- {name: other, match: {op: fs.read, path: /srv/b/key}, action: allow}\n"
			"- {name: key, match: {op: %s, path: /srv/a/key}, action: deny}\n",
			denied[i]);
		open_policy(&planning, rules);
		know(&planning, "/srv/a", HOST_DIRECTORY);
		know(&planning, "/srv/a/key", HOST_FILE);
		know(&planning, "/srv/b/key", HOST_FILE);
		expect_plan(&planning);
		expect(find_step(&planning, STEP_MASK, "/srv/a/key"));
		expect(find_step(&planning, STEP_BIND, "/srv/b/key"));
	}
}

/* A mask would take away what is allowed. */
static void a_file_that_may_be_written_and_not_read_has_no_mask(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(
		&planning,
		"- {name: names, match: {op: [fs.list, fs.write], path: /srv/a}, action: allow}\n"
		"- {name: key, match: {op: fs.read, path: /srv/a/key}, action: deny}\n");
	know(&planning, "/srv/a", HOST_DIRECTORY);
	know(&planning, "/srv/a/key", HOST_FILE);
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_MASK, "/srv/a/key"));
}

/* A mount of its own ends the way up. */
static void a_directory_with_its_own_mount_keeps_its_rights_beside_that(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: names, match: {op: fs.list, path: /srv/a/b}, action: allow}\n"
		    "- {name: b, match: {op: fs.read, path: /srv/a/b}, action: deny}\n"
		    "mounts: [{source: /srv/a, target: /mnt/a, mode: rw}]\n");
	know(&planning, "/srv/a", HOST_DIRECTORY);
	know(&planning, "/srv/a/b", HOST_DIRECTORY);
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/mnt/a/b"));
	expect(find_step(&planning, STEP_BIND, "/srv/a/b"));
}

/* The link is not made, and the denial is a mask. */
static void a_denial_holds_where_a_mount_hides_a_link_that_a_rule_names(void)
{
	_cleanup_planning_ struct planning planning;

	open_policy(&planning,
		    "- {name: run, match: {op: exec, path_glob: /srv/u/b}, action: allow}\n"
		    "- {name: key, match: {op: fs.*, path: /srv/t/b}, action: deny}\n");
	know(&planning, "/srv/t", HOST_DIRECTORY);
	know(&planning, "/srv/t/b", HOST_DIRECTORY);
	know(&planning, "/srv/u", HOST_DIRECTORY);
	know_link(&planning, "/srv/u/b", "/srv/u/a", 0);
	planning.paths[0] = (struct request_path){
		.path = "/srv/t", .target = "/srv/u", .grant = GRANT_WRITE, .option = "--bind"
	};
	planning.request.paths = planning.paths;
	planning.request.n_paths = 1;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_MASK, "/srv/u/b"));
	expect(!find_step(&planning, STEP_LINK, "/srv/u/b"));
}

static const struct test tests[] = {
	TEST(a_rule_with_an_empty_list_never_holds),
	TEST(an_exception_with_an_empty_list_takes_nothing_back),
	TEST(refuses_what_needs_the_broker_by_name_and_place),
	TEST(globs_that_are_only_paths_are_paths),
	TEST(a_glob_without_its_slash_is_a_file),
	TEST(an_exclusion_applies_only_to_its_own_rule),
	TEST(exceptions_take_back_what_they_name),
	TEST(exceptions_of_a_denial_let_through),
	TEST(an_exception_that_names_a_directory_alone_lets_nothing_through),
	TEST(an_exception_without_a_path_takes_back_its_operations),
	TEST(what_the_kernel_cannot_see_is_not_allowed),
	TEST(what_the_kernel_cannot_see_is_always_denied),
	TEST(an_exception_that_cannot_be_seen_is_there_for_an_allow),
	TEST(a_file_has_no_host),
	TEST(a_rule_that_passes_says_nothing),
	TEST(the_inner_level_is_not_what_builds_sandboxes),
	TEST(the_smallest_file_size_of_a_rule_bounds_all_files),
	TEST(a_projects_own_file_only_narrows),
	TEST(defaults_are_rules_about_everything),
	TEST(refuses_defaults_that_ask),
	TEST(a_section_dialect_sees_the_system_and_writes_its_project),
	TEST(a_manifest_sees_the_system_and_what_it_names),
	TEST(the_policies_that_come_with_sbx),
	TEST(refuses_a_denial_through_a_link_that_a_mount_hides),
	TEST(denies_through_a_hidden_link_what_cannot_be_created),
	TEST(denies_below_a_mount_whose_target_leads_through_a_refused_link),
	TEST(mounts_where_a_link_to_its_target_leads),
	TEST(refuses_a_denial_below_what_a_mounts_target_leads_to),
	TEST(grants_nothing_behind_a_refused_link_at_a_mounts_target),
	TEST(denies_below_an_options_mount_at_a_followed_link),
	TEST(refuses_a_denial_whose_link_leads_into_a_mount),
	TEST(refuses_an_exception_whose_link_leads_into_a_mount),
	TEST(a_denial_by_the_name_in_the_mount_holds_for_links),
	TEST(a_denial_holds_beside_a_mount_of_the_directory_around_it),
	TEST(a_denial_holds_for_one_name_of_a_file),
	TEST(a_file_that_may_be_written_and_not_read_has_no_mask),
	TEST(a_directory_with_its_own_mount_keeps_its_rights_beside_that),
	TEST(a_denial_holds_where_a_mount_hides_a_link_that_a_rule_names),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
