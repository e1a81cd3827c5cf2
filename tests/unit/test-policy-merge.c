/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include <sbx/error.h>

#include "policy-rig.h"
#include "policy-same.h"
#include "policy-seeds.h"
#include "policy/compose.h"
#include "policy/model.h"
#include "test.h"

static struct policy *load(const char *name, const char *text)
{
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	rig_must(policy_load(name, text, strlen(text), &policy, &err), &err);
	return policy;
}

/* Merges "user.yaml" over "system.yaml"; the second one only narrows if @narrows. */
static int merge(const char *system, const char *user, int narrows, struct policy **ret,
		 struct sbx_error *err)
{
	struct policy *parts[2] = { load("system.yaml", system), load("user.yaml", user) };
	int r = policy_merge(parts, 2, narrows, ret, err);

	expect(!parts[0] && !parts[1]);
	return r;
}

#define RULE(name, action)                                                                         \
	"capabilities:\n- name: " name                                                             \
	"\n  match: {syscall: fs.read, path: /a}\n  action: " action "\n"

static void one_policy_merged_is_itself(void)
{
	struct policy *parts[1] = { load("p.yaml", seed_rest) };
	_cleanup_policy_ struct policy *policy = NULL, *wanted = load("p.yaml", seed_rest);

	expect_eq(policy_merge(parts, 1, 0, &policy, NULL), 0);
	expect_same(policy, wanted);
	expect(memcmp(policy->digest, wanted->digest, sizeof(policy->digest)) == 0);
	expect_eq(policy->dialect, wanted->dialect);
}

static void all_rules_are_kept_with_their_places(void)
{
	_cleanup_policy_ struct policy *policy = NULL;

	expect_eq(merge(RULE("r", "deny"), "limits: {pids: 5}\n" RULE("r", "allow"), 0, &policy,
			NULL),
		  0);
	expect_eq(policy->n_rules, 2);
	expect_eq(policy->rules[0].place.source, 0);
	expect_eq(policy->rules[0].place.at.line, 2);
	expect_eq(policy->rules[1].place.source, 1);
	expect_eq(policy->rules[1].place.at.line, 3);
	expect_eq(policy->rules[1].match.place.source, 1);
	expect_eq(policy->rules[1].match.lists[MATCH_PATH].values[0].place.source, 1);
	expect_eq(policy_get_setting(policy, "limits.pids")->place.source, 1);
	expect_str(policy->sources[1].name, "user.yaml");
	expect(!policy->sources[0].narrows && !policy->sources[1].narrows);
}

static void a_later_allow_does_not_take_a_denial_back(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	expect_eq(merge(RULE("d", "deny"), RULE("a", "allow"), 0, &rig.policy, NULL), 0);
	rig_compile(&rig);
	expect_eq(rig_ask(&rig, "fs.read /a"), POLICY_DENY);
}

static void a_projects_allow_counts_only_where_the_others_allow(void)
{
	_cleanup_rig_ struct rig rig = { .policy = NULL };

	expect_eq(merge(RULE("a", "allow"),
			"capabilities:\n- name: b\n  match: {syscall: fs.read, path: [/a, /b]}\n"
			"  action: allow\n",
			1, &rig.policy, NULL),
		  0);
	expect(!rig.policy->sources[0].narrows && rig.policy->sources[1].narrows);
	rig_compile(&rig);
	expect_eq(rig_ask(&rig, "fs.read /a/x"), POLICY_ALLOW);
	expect_eq(rig_ask(&rig, "fs.read /b/x"), POLICY_DENY);
}

static void a_projects_allow_does_not_replace_a_built_in_review(void)
{
	static const char base[] = "version: 1\ndefaults: {tool: allow}\n";
	static const char rule[] = "capabilities:\n- name: c\n  match: {syscall: container.run}\n"
				   "  action: allow\n";

	for (int narrows = 0; narrows < 2; narrows++) {
		_cleanup_rig_ struct rig rig = { .policy = NULL };

		expect_eq(merge(base, rule, narrows, &rig.policy, NULL), 0);
		rig_compile(&rig);
		expect_eq(rig_ask(&rig, "container.run mode=debug"),
			  narrows ? POLICY_REVIEW : POLICY_ALLOW);
	}
}

static void of_two_defaults_the_more_severe_one_counts(void)
{
	_cleanup_policy_ struct policy *policy = NULL;

	expect_eq(merge("version: 1\ndefaults: {fs: allow, net: allow, exec: warn, tool: allow}\n",
			"version: 1\ndefaults: {fs: allow, net: deny, exec: allow}\n", 0, &policy,
			NULL),
		  0);
	expect_eq(policy->defaults[CLASS_FS], POLICY_ALLOW);
	expect_eq(policy->defaults[CLASS_NET], POLICY_DENY);
	expect_eq(policy->defaults[CLASS_EXEC], POLICY_WARN);
}

static void a_file_that_is_silent_about_a_default_leaves_it_as_it_is(void)
{
	for (int narrows = 0; narrows < 2; narrows++) {
		_cleanup_policy_ struct policy *policy = NULL;

		expect_eq(merge("version: 1\ndefaults: {net: allow, tool: warn}\n",
				"version: 1\ndefaults: {exec: allow, tool: require_review}\n",
				narrows, &policy, NULL),
			  0);
		expect_eq(policy->defaults[CLASS_NET], POLICY_ALLOW);
		expect_eq(policy->defaults[CLASS_TOOL], POLICY_REVIEW);
		/* The first file does not mention exec, which denies it. */
		expect_eq(policy->defaults[CLASS_EXEC], POLICY_DENY);
		expect_eq(policy->defaults[CLASS_FS], POLICY_DENY);
	}
}

static void the_digest_covers_both_files_and_which_one_narrows(void)
{
	_cleanup_policy_ struct policy *policy = NULL, *narrowed = NULL;
	uint8_t want[32];

	expect_eq(merge("{}", "{ }", 0, &policy, NULL), 0);
	expect_eq(merge("{}", "{ }", 1, &narrowed, NULL), 0);
	digest_of("\2\0\0\0\0\0\0\0{}\3\0\0\0\0\0\0\0{ }", 21, want);
	expect(memcmp(policy->digest, want, sizeof(want)) == 0);
	expect(memcmp(narrowed->digest, want, sizeof(want)) != 0);
}

static const struct {
	const char *system, *user;
	const char *path, *text; /* of the merged policy */
} narrowing[] = {
	{ "limits: {memory: 1GiB}\n", "limits: {memory: 512MiB}\n", "limits.memory", "512MiB" },
	{ "net: {limits: {rate: 1MiB}}\n", "net: {limits: {rate: 512KiB}}\n", "net.limits.rate",
	  "512KiB" },
	{ "net: {mode: proxy}\n", "net: {limits: {connections: 4}}\n", "net.limits.connections",
	  "4" },
	{ "limits: {memory: 1GiB}\n", "limits: {memory: 1024MiB}\n", "limits.memory", "1024MiB" },
	{ "limits: {cpu: 1}\n", "limits: {cpu: 50%}\n", "limits.cpu", "50%" },
	{ "limits: {time: 2m}\n", "{}", "limits.time", "2m" },
	{ "limits: {mode: best-effort}\n", "limits: {mode: strict}\n", "limits.mode", "strict" },
	{ "isolation: {tier: reduced}\n", "isolation: {tier: full}\n", "isolation.tier", "full" },
	{ "isolation: {seccomp: standard}\n", "isolation: {seccomp: strict}\n", "isolation.seccomp",
	  "strict" },
	{ "isolation: {nested: true}\n", "isolation: {nested: false}\n", "isolation.nested",
	  "false" },
	{ "plugins: {landlock: false}\nversion: 1\n", "plugins: {landlock: true}\nversion: 1\n",
	  "plugins.landlock", "true" },
	{ "net: {mode: host}\n", "net: {mode: proxy}\n", "net.mode", "proxy" },
	{ "net: {mode: host}\n", "net: {mode: loopback}\n", "net.mode", "loopback" },
	{ "net: {mode: loopback}\n", "net: {mode: loopback}\n", "net.mode", "loopback" },
	{ "net: {mode: loopback}\n", "net: {mode: none}\n", "net.mode", "none" },
	{ "{}", "audit: {enabled: true}\n", "audit.enabled", "true" },
	{ "audit: {retention_days: 10}\n", "audit: {retention_days: 90}\n", "audit.retention_days",
	  "90" },
	{ "devices: [null, tty]\n", "devices: [tty]\n", "devices[0]", "tty" },
	{ "env: {allow: [A, B]}\n", "env: {allow: []}\n", "env.allow", "" },
	{ "mounts: [{source: /a, target: /b, mode: rw}, {target: /c}]\n",
	  "mounts: [{target: /c}, {source: /a, target: /b}]\n", "mounts[1].source", "/a" },
	{ "mounts: [{source: /a, target: /b, mode: rw}]\n", "mounts: [{target: /b, mode: mask}]\n",
	  "mounts[0].mode", "mask" },
	{ "mounts: [{target: /t, mode: tmpfs, size: 2MiB}]\n",
	  "mounts: [{target: /t, mode: tmpfs, size: 1MiB}]\n", "mounts[0].size", "1MiB" },
	{ "net: {mode: none}\n", "net: {loopback: {connect: []}, unix: []}\n", "net.mode", "none" },
	{ "net: {mode: none, loopback: {connect: [1, 2]}}\n", "net: {loopback: {connect: [2]}}\n",
	  "net.loopback.connect[0]", "2" },
	{ "hostname: a\n", "hostname: b\n", "hostname", "b" },
	{ "env: {set: {A: x}}\n", "env: {set: {A: x}}\n", "env.set.A", "x" },
};

static void a_later_file_may_narrow(void)
{
	for (size_t i = 0; i < N_ELEMENTS(narrowing); i++)
		for (int narrows = 0; narrows < 2; narrows++) {
			_cleanup_policy_ struct policy *policy = NULL;
			struct sbx_error err = { .code = 0 };
			const struct setting *setting;

			expect_eq(merge(narrowing[i].system, narrowing[i].user, narrows, &policy,
					&err),
				  0);
			if (!policy) {
				printf("# %s %s\n", narrowing[i].user, err.what);
				continue;
			}
			setting = policy_get_setting(policy, narrowing[i].path);
			expect(setting != NULL);
			if (setting)
				expect_str(setting->text, narrowing[i].text);
		}
}

static const struct {
	const char *system, *user;
	const char *place, *why;
} widening[] = {
	{ "limits: {memory: 1GiB}\n", "limits: {memory: 2GiB}\n", "1:18", "system.yaml:1:18" },
	{ "limits: {mode: strict}\n", "limits: {mode: best-effort}\n", "1:16", "'strict'" },
	{ "isolation: {tier: full}\n", "isolation: {tier: reduced}\n", "1:19", "'full'" },
	{ "isolation: {nested: false}\n", "isolation: {nested: true}\n", "1:21", "'false'" },
	{ "isolation: {template: policy-sandbox}\n", "isolation: {template: code-executor}\n",
	  "1:23", "'policy-sandbox'" },
	{ "plugins: {seccomp: true}\nversion: 1\n", "version: 1\nplugins: {seccomp: false}\n",
	  "2:20", "'true'" },
	{ "net: {mode: none}\n", "net: {mode: host}\n", "1:13", "'none'" },
	{ "net: {mode: none}\n", "net: {mode: loopback}\n", "1:13", "'none'" },
	{ "net: {limits: {bytes: 1KiB}}\n", "net: {limits: {bytes: 1025}}\n", "1:23", "'1KiB'" },
	/* Each mode permits something that the other does not. */
	{ "net: {mode: proxy}\n", "net: {mode: loopback}\n", "1:13", "'proxy'" },
	{ "net: {mode: loopback}\n", "net: {mode: proxy}\n", "1:13", "'loopback'" },
	{ "devices: [null]\n", "devices: [null, kvm]\n", "1:17", "not in the list" },
	{ "env: {allow: []}\n", "env: {allow: [A]}\n", "1:15", "system.yaml:1:14" },
	{ "env: {set: {A: x}}\n", "env: {set: {A: z}}\n", "1:16", "'x'" },
	{ "mounts: [{source: /a, target: /b}]\n", "mounts: [{source: /a, target: /b, mode: rw}]\n",
	  "1:31", "system.yaml:1:31" },
	{ "mounts: []\n", "mounts: [{target: /b}]\n", "1:19", "system.yaml:1:9" },
	/* A mount covers the host's files at its target. */
	{ "mounts: [{target: /b, mode: mask}]\n", "mounts: []\n", "1:9", "system.yaml:1" },
	{ "mounts: [{target: /b}, {source: /a, target: /c}]\n", "mounts: [{target: /b}]\n", "1:9",
	  "'/c'" },
	{ "mounts: [{target: /t, mode: tmpfs, size: 1MiB}]\n",
	  "mounts: [{target: /t, mode: tmpfs}]\n", "1:19", "/t" },
	{ "net: {unix: [/a]}\n", "net: {unix: [/b]}\n", "1:14", "not in the list" },
	{ "net: {loopback: {connect: [1]}}\n", "net: {loopback: {connect: [1, 2]}}\n", "1:31",
	  "not in the list" },
	/* A mode closes these, though no file before has them. */
	{ "net: {mode: none}\n", "net: {loopback: {connect: [5432]}}\n", "1:27", "'none'" },
	{ "net: {mode: none}\n", "net: {loopback: {bind: [5432]}}\n", "1:24", "'none'" },
	{ "net: {mode: none}\n", "net: {unix: [/a]}\n", "1:13", "'none'" },
	{ "net: {mode: loopback}\n", "net: {mode: none, loopback: {connect: [1]}}\n", "1:39",
	  "'loopback'" },
	{ "net: {mode: proxy}\n", "net: {mode: proxy, loopback: {bind: [1]}}\n", "1:37",
	  "'proxy'" },
	{ "net: {mode: host}\n", "net: {unix: [/a]}\n", "1:13", "'host'" },
	{ "net: {mode: none, loopback: {bind: [1]}}\n", "net: {loopback: {connect: [1]}}\n", "1:27",
	  "'none'" },
};

static void refuses_a_later_file_that_widens_with_both_places(void)
{
	for (size_t i = 0; i < N_ELEMENTS(widening); i++)
		for (int narrows = 0; narrows < 2; narrows++) {
			struct policy *policy = NULL;
			struct sbx_error err = { .code = 0 };
			char place[64];

			(void)snprintf(place, sizeof(place), "user.yaml:%s: ", widening[i].place);
			expect_eq(merge(widening[i].system, widening[i].user, narrows, &policy,
					&err),
				  -EACCES);
			expect(policy == NULL && err.fix[0]);
			if (strncmp(err.what, place, strlen(place)) != 0 ||
			    !strstr(err.why, widening[i].why))
				printf("# %s | %s | %s\n", widening[i].user, err.what, err.why);
			expect(strncmp(err.what, place, strlen(place)) == 0);
			expect(strstr(err.why, widening[i].why) != NULL);
			expect(strstr(err.why, "system.yaml:") != NULL);
		}
}

/* The whole loopback of the host is open in the mode host: one port is less. */
static void a_port_of_the_loopback_is_less_than_the_hosts_network(void)
{
	static const char *const texts[] = {
		"net: {loopback: {connect: [5432], bind: [80]}}\n",
		"net: {mode: none, loopback: {connect: [5432], bind: [80]}}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_policy_ struct policy *policy = NULL;

		expect_eq(merge("net: {mode: host}\n", texts[i], 0, &policy, NULL), 0);
	}
}

/* As eval does it, with rules for the ports. */
static void compile_composed(struct rig *rig)
{
	struct sbx_error err = { .code = 0 };
	size_t n_bytes = 0;

	rig_must(policy_compile_composed(rig->policy, NULL, NULL, &rig->block, &n_bytes, &err),
		 &err);
	rig_must(artefact_open(rig->block, n_bytes, &rig->artefact, &err), &err);
	rig_must(policy_engine_new(&rig->artefact, &rig->engine), &err);
}

/* What the merged policy allows, the first file allows, too. */
static void a_merged_policy_connects_to_no_port_that_a_mode_denies(void)
{
	static const char *const modes[] = { "mode: none", "mode: loopback", "mode: host",
					     "mode: proxy" };
	static const char *const more[] = { "", ", loopback: {connect: [5432]}",
					    ", loopback: {bind: [5432]}",
					    ", loopback: {connect: [5432], bind: [80]}" };
	static const char *const asked[] = { "net.connect 127.0.0.1:5432",
					     "net.bind 127.0.0.1:5432", "net.bind 127.0.0.1:80" };
	size_t n_merged = 0, n = N_ELEMENTS(modes) * N_ELEMENTS(more);

	for (size_t i = 0; i < n * (n + N_ELEMENTS(more)); i++) {
		_cleanup_rig_ struct rig first = { .policy = NULL }, both = { .policy = NULL };
		size_t a = i % n, b = i / n;
		const char *second =
			b < n ? modes[b / N_ELEMENTS(more)] : "limits: {connections: 4}";
		char texts[2][128];

		(void)snprintf(texts[0], sizeof(texts[0]), "net: {%s%s}\n",
			       modes[a / N_ELEMENTS(more)], more[a % N_ELEMENTS(more)]);
		(void)snprintf(texts[1], sizeof(texts[1]), "net: {%s%s}\n", second,
			       more[b % N_ELEMENTS(more)]);
		if (merge(texts[0], texts[1], 0, &both.policy, NULL) < 0)
			continue;
		n_merged++;
		first.policy = load("system.yaml", texts[0]);
		compile_composed(&first);
		compile_composed(&both);
		for (size_t k = 0; k < N_ELEMENTS(asked); k++)
			expect(rig_ask(&both, asked[k]) >= rig_ask(&first, asked[k]));
	}
	printf("# %zu of %zu pairs can be merged\n", n_merged, n * (n + N_ELEMENTS(more)));
	expect(n_merged > n);
}

static void a_user_may_add_a_setting_and_a_project_may_not(void)
{
	static const char *const texts[] = {
		"mounts: [{source: /a, target: /b}]\n",
		"devices: [kvm]\n",
		"env: {allow: [SECRET]}\n",
		"env: {set: {LD_PRELOAD: x}}\n",
		"env: {secrets: {K: /k}}\n",
		"net: {mode: host}\n",
		"net: {mode: loopback}\n",
		"net: {unix: [/run/docker.sock]}\n",
		"isolation: {tier: reduced}\n",
		"isolation: {nested: true}\n",
		"isolation: {template: code-executor}\n",
		"limits: {mode: best-effort}\n",
		/* Above the limits that hold without any file. */
		"limits: {pids: 101}\n",
		"limits: {memory: 1025MiB}\n",
		"limits: {cpu: 101%}\n",
		"limits: {time: 6m}\n",
		"limits: {tmp_size: 513MiB}\n",
		"audit: {redact: ['.*']}\n",
		"working_dir: /srv\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_policy_ struct policy *policy = NULL, *narrowed = NULL;
		struct sbx_error err = { .code = 0 };

		expect_eq(merge("{}", texts[i], 0, &policy, NULL), 0);
		expect_eq(merge("{}", texts[i], 1, &narrowed, &err), -EACCES);
		expect(strstr(err.why, "no file before it") && narrowed == NULL);
	}
}

static void a_project_may_add_a_setting_that_only_narrows(void)
{
	static const char *const texts[] = {
		"limits: {memory: 1GiB, mode: strict}\n",
		"limits: {pids: 100, cpu: 1, time: 5m, tmp_size: 512MiB}\n",
		"limits: {files: 1000000, output: 1TiB}\n",
		"isolation: {tier: full, seccomp: strict, nested: false, landlock: true}\n",
		"denySyscalls: [bpf]\nversion: 1\n",
		"net: {mode: none, unix: []}\n",
		"devices: []\nmounts: []\nenv: {allow: []}\n",
		"audit: {enabled: true, keep_originals: false}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		_cleanup_policy_ struct policy *policy = NULL;
		struct sbx_error err = { .code = 0 };

		if (merge("{}", texts[i], 1, &policy, &err) < 0)
			printf("# %s %s\n", texts[i], err.what);
		expect(policy != NULL);
	}
}

static void a_project_cannot_begin_a_limit_above_the_template_of_the_others(void)
{
	static const char ours[] = "isolation: {template: ai-provider}\n";
	_cleanup_policy_ struct policy *policy = NULL, *widened = NULL;

	expect_eq(merge(ours, "limits: {pids: 11}\n", 1, &widened, NULL), -EACCES);
	expect(!widened);
	expect_eq(merge(ours, "limits: {pids: 10}\n", 1, &policy, NULL), 0);
}

/* A pattern such as '.*' would redact everything that the project's commands do. */
static void a_project_cannot_change_audit_redact(void)
{
	_cleanup_policy_ struct policy *policy = NULL, *same = NULL, *widened = NULL;
	static const char ours[] = "audit: {redact: [a, b]}\n";
	struct sbx_error err = { .code = 0 };

	expect_eq(merge(ours, "audit: {redact: [a, '.*']}\n", 1, &widened, &err), -EACCES);
	expect(strstr(err.what, "'audit.redact[1]'") && !widened);
	expect_eq(merge(ours, "audit: {redact: [b]}\n", 1, &same, NULL), 0);
	expect_eq(policy_get_setting(same, "audit.redact")->number, 2);
	/* The user's own file may set it. */
	expect_eq(merge(ours, "audit: {redact: [c]}\n", 0, &policy, NULL), 0);
	expect_eq(policy_get_setting(policy, "audit.redact")->number, 3);
}

static void a_project_cannot_set_the_working_directory(void)
{
	_cleanup_policy_ struct policy *policy = NULL, *same = NULL, *other = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(merge("working_dir: /a\n", "working_dir: /b\n", 1, &other, &err), -EACCES);
	expect(strstr(err.what, "'working_dir'") && !other);
	expect_eq(merge("working_dir: /a\n", "working_dir: /a\n", 1, &same, NULL), 0);
	expect_eq(merge("working_dir: /a\n", "working_dir: /b\n", 0, &policy, NULL), 0);
	expect_str(policy_get_setting(policy, "working_dir")->text, "/b");
}

static void denied_system_calls_are_joined(void)
{
	_cleanup_policy_ struct policy *policy = NULL;

	expect_eq(merge("denySyscalls: [bpf, mount]\nversion: 1\n",
			"version: 1\nantiEscape: {denySyscalls: [mount, ptrace]}\n", 1, &policy,
			NULL),
		  0);
	expect_eq(policy_get_setting(policy, "denySyscalls")->number, 3);
	expect_str(policy_get_setting(policy, "denySyscalls[1]")->text, "mount");
	expect_str(policy_get_setting(policy, "denySyscalls[2]")->text, "ptrace");
	expect(!policy_get_setting(policy, "denySyscalls[3]"));
	for (size_t i = 1; i < policy->n_settings; i++)
		expect(policy_compare_paths(policy->settings[i - 1].path,
					    policy->settings[i].path) < 0);
}

static void a_list_that_gets_shorter_leaves_nothing_behind(void)
{
	_cleanup_policy_ struct policy *policy = NULL;

	expect_eq(merge("devices: [null, tty]\n", "devices: [tty]\n", 0, &policy, NULL), 0);
	expect_eq(policy->n_settings, 2);
	expect_str(policy_get_setting(policy, "devices[0]")->text, "tty");
}

static void refuses_an_extension_of_a_project_and_a_second_of_one_name(void)
{
	static const char text[] = "extensions: [{name: e, command: [/bin/e]}]\n";
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	expect_eq(merge("{}", text, 1, &policy, &err), -EACCES);
	expect(strncmp(err.what, "user.yaml:1:14: ", 16) == 0);
	expect_eq(merge(text, text, 0, &policy, &err), -EEXIST);
	expect(strstr(err.why, "system.yaml:1") && policy == NULL);
	expect_eq(merge("{}", text, 0, &policy, NULL), 0);
	expect_str(policy->extensions[0].argv[0], "/bin/e");
	expect_eq(policy->extensions[0].place.source, 1);
	policy = policy_free(policy);
}

static void three_files_are_three_sources(void)
{
	struct policy *parts[3] = { load("a", RULE("r", "deny")), load("b", RULE("r", "allow")),
				    load("c", RULE("r", "warn")) };
	_cleanup_policy_ struct policy *policy = NULL;

	expect_eq(policy_merge(parts, 3, 1, &policy, NULL), 0);
	expect_eq(policy->n_sources, 3);
	expect(!policy->sources[1].narrows && policy->sources[2].narrows);
	expect_eq(policy->rules[2].place.source, 2);
}

static const struct test tests[] = {
	TEST(one_policy_merged_is_itself),
	TEST(all_rules_are_kept_with_their_places),
	TEST(a_later_allow_does_not_take_a_denial_back),
	TEST(a_projects_allow_counts_only_where_the_others_allow),
	TEST(a_projects_allow_does_not_replace_a_built_in_review),
	TEST(of_two_defaults_the_more_severe_one_counts),
	TEST(a_file_that_is_silent_about_a_default_leaves_it_as_it_is),
	TEST(the_digest_covers_both_files_and_which_one_narrows),
	TEST(a_later_file_may_narrow),
	TEST(refuses_a_later_file_that_widens_with_both_places),
	TEST(a_port_of_the_loopback_is_less_than_the_hosts_network),
	TEST(a_merged_policy_connects_to_no_port_that_a_mode_denies),
	TEST(a_user_may_add_a_setting_and_a_project_may_not),
	TEST(a_project_may_add_a_setting_that_only_narrows),
	TEST(a_project_cannot_begin_a_limit_above_the_template_of_the_others),
	TEST(a_project_cannot_change_audit_redact),
	TEST(a_project_cannot_set_the_working_directory),
	TEST(denied_system_calls_are_joined),
	TEST(a_list_that_gets_shorter_leaves_nothing_behind),
	TEST(refuses_an_extension_of_a_project_and_a_second_of_one_name),
	TEST(three_files_are_three_sources),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
