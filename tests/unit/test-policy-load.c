/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/text.h"
#include "policy-refusals.h"
#include "policy-rig.h"
#include "policy-seeds.h"
#include "policy/model.h"
#include "policy/view.h"

static struct policy *load(const char *text)
{
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	rig_must(policy_load("p.yaml", text, strlen(text), &policy, &err), &err);
	expect_eq(err.code, 0);
	return policy;
}

static void expect_setting(const struct policy *policy, const char *path, const char *text,
			   uint64_t number)
{
	const struct setting *setting = policy_get_setting(policy, path);

	expect(setting != NULL);
	if (!setting) {
		printf("# no setting %s\n", path);
		return;
	}
	expect_str(setting->text, text);
	expect_eq(setting->number, number);
}

static void expect_value(const struct rule *rule, enum match_key key, size_t i, const char *text)
{
	const struct match_list *list = &rule->match.lists[key];

	expect(list->present && i < list->n_values);
	if (i < list->n_values)
		expect_str(list->values[i].text, text);
}

static void the_first_seeds_policy_loads_as_it_stands(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_buntime);
	const struct rule *rules = policy->rules;

	expect_eq(policy->dialect, DIALECT_BUNTIME);
	expect_eq(policy->n_rules, 3);
	expect_str(rules[0].name, "fs.rules[0]");
	expect_eq(rules[0].action, POLICY_ALLOW);
	expect_eq(rules[0].match.operations, operation_set("fs.read") | operation_set("fs.write") |
						     operation_set("fs.list") |
						     operation_set("fs.exists"));
	expect_value(&rules[0], MATCH_PATH, 0, "/tmp");
	expect(rules[0].match.lists[MATCH_PATH].values[0].literal);
	expect_eq(rules[0].place.at.line, 15);
	expect_eq(rules[1].match.operations, operation_set("net.connect"));
	expect_value(&rules[1], MATCH_CIDR, 0, "0.0.0.0/0");
	expect_value(&rules[1], MATCH_PORT, 0, "443");
	expect_value(&rules[1], MATCH_PROTO, 0, "tcp");
	expect_eq(rules[2].match.operations, operation_set("exec"));
	expect_setting(policy, "plugins.namespaces", "true", 1);
	expect_setting(policy, "plugins.seccomp", "false", 0);
}

static void rules_say_what_they_demand_of_tls(void)
{
	_cleanup_policy_ struct policy *policy = load(
		"net: {rules: [{action: allow, host: a.example, tls: any},\n"
		"              {action: allow, host: b.example, tls: sni},\n"
		"              {action: allow, host: c.example}]}\n"
		"capabilities:\n"
		"- {name: r, match: {op: net.connect}, action: allow, constraints: {tls: any}}\n"
		"network_whitelist: [d.example]\n");

	expect_eq(policy->n_rules, 5);
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		bool is_any =
			strcmp(rule->name, "net.rules[0]") == 0 || strcmp(rule->name, "r") == 0;

		expect_eq(rule->constraints.tls, is_any ? TLS_ANY : TLS_SNI);
	}
}

static void the_second_seeds_policy_loads_as_it_stands(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_fluffy);
	const struct rule *rules = policy->rules;

	expect_eq(policy->dialect, DIALECT_FLUFFY);
	expect_eq(policy->n_rules, 3);
	expect_str(rules[0].constraints.require_sandbox, "L2");
	expect(rules[0].constraints.require_token);
	expect_eq(rules[0].constraints.max_file_size_bytes, 102400);
	expect_value(&rules[0], MATCH_PATH, 1, "tests/**");
	expect(!rules[0].match.lists[MATCH_PATH].values[0].literal);
	expect_eq(rules[1].action, POLICY_REVIEW);
	expect_str(rules[1].reason, "Sensitive file modification requires review");
	expect(!rules[1].constraints.require_token);
	expect(rules[1].constraints.max_file_size_bytes == UINT64_MAX);
	expect_eq(rules[2].n_exceptions, 2);
	expect_eq(rules[2].exceptions[0].operations, 0);
	expect_str(rules[2].exceptions[1].lists[MATCH_TAG].values[0].text, "trusted_write");
	expect_eq(rules[2].exceptions[1].place.at.line, 19);
	expect_setting(policy, "scheduler.per_template.policy-sandbox", "1", 1);
	expect_setting(policy, "audit.max_size", "1GiB", UINT64_C(1) << 30);
	expect_setting(policy, "audit.retention_days", "90", 90);
}

static void expect_manifest(const char *text)
{
	_cleanup_policy_ struct policy *policy = load(text);

	expect_eq(policy->dialect, DIALECT_MANIFEST);
	expect_eq(policy->n_rules, 1);
	expect_str(policy->rules[0].name, "sandbox.config.allowedPaths");
	expect_value(&policy->rules[0], MATCH_PATH, 0, "/tmp/hello_service_greetings.log");
	expect(policy->rules[0].match.lists[MATCH_PATH].values[0].literal);
	expect_setting(policy, "limits.memory", "128MiB", 128 << 20);
	expect_setting(policy, "limits.cpu", "25%", 250);
	expect_setting(policy, "limits.files", "64", 64);
	expect_setting(policy, "limits.pids", "5", 5);
	expect_setting(policy, "sandbox.type", "PROCESS", 0);
	expect_setting(policy, "sandbox.config.properties.ipc_transport", "shared_memory", 0);
	expect_setting(policy, "sandbox.config.properties.ipc_shm_size", "4194304", 4194304);
}

static void the_third_seeds_manifest_loads_as_it_stands(void)
{
	expect_manifest(seed_manifest_short);
	expect_manifest(seed_manifest);
}

static void a_manifest_that_allows_the_network_shares_the_hosts(void)
{
	_cleanup_policy_ struct policy *policy =
		load("{\"sandbox\": {\"config\": {\"allowNetworkAccess\": true}}}");

	expect_eq(policy->n_rules, 0);
	expect_setting(policy, "net.mode", "host", 0);
}

static void an_empty_property_of_a_manifest_is_its_default(void)
{
	static const char *const keys[] = { "ipc_transport", "ipc_buffer_size", "ipc_shm_size",
					    "ipc_timeout_ms", "ipc_endpoint" };
	char text[128], path[64];

	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		_cleanup_policy_ struct policy *policy = NULL;

		(void)snprintf(text, sizeof(text),
			       "{\"sandbox\": {\"config\": {\"properties\": {\"%s\": \"\"}}}}",
			       keys[i]);
		(void)snprintf(path, sizeof(path), "sandbox.config.properties.%s", keys[i]);
		policy = load(text);
		expect(!policy_get_setting(policy, path));
	}
}

static void an_empty_file_is_a_policy_that_denies(void)
{
	static const char *const texts[] = { "", "\n", "# nothing\n", "{}", "version: 1\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_policy_ struct policy *policy = load(texts[i]);

		expect_eq(policy->n_rules, 0);
		for (int k = 0; k < N_CLASSES; k++)
			expect_eq(policy->defaults[k], POLICY_DENY);
	}
}

static void json_and_yaml_give_the_same_model(void)
{
	_cleanup_policy_ struct policy *yaml = load(
		"capabilities:\n- name: a\n  match: {syscall: exec, path: /b}\n  action: deny\n");
	_cleanup_policy_ struct policy *json =
		load("{\"capabilities\": [{\"name\": \"a\", \"match\": {\"syscall\": \"exec\", "
		     "\"path\": [\"/b\"]}, \"action\": \"deny\"}]}");

	expect_str(yaml->rules[0].name, json->rules[0].name);
	expect_eq(yaml->rules[0].match.operations, json->rules[0].match.operations);
	expect_value(&json->rules[0], MATCH_PATH, 0, "/b");
	expect_value(&yaml->rules[0], MATCH_PATH, 0, "/b");
}

static void the_view_can_be_said(void)
{
	static const struct {
		const char *text;
		const char *view;
	} cases[] = {
		{ "version: 1\ndefaults: {fs: deny}\n", "project" },
		{ "version: 1\ndefaults: {fs: deny}\nview: none\n", "none" },
		{ "capabilities: []\n", "none" },
		{ "view: project\ncapabilities: []\n", "project" },
		{ "view: system\nlimits: {pids: 5}\n", "system" },
		{ "", "none" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_policy_ struct policy *policy = load(cases[i].text);

		expect_str(view_name(policy), cases[i].view);
	}
}

static void the_dialect_is_the_one_whose_keys_are_there(void)
{
	static const struct {
		const char *text;
		enum policy_dialect dialect;
	} cases[] = {
		{ "limits: {pids: 1}\n", DIALECT_SBX },
		{ "capabilities: []\n", DIALECT_FLUFFY },
		{ "network_whitelist: []\nlimits: {pids: 1}\n", DIALECT_FLUFFY },
		{ "version: 1\nantiEscape: {denySyscalls: []}\n", DIALECT_BUNTIME },
		{ "version: 1\nnet: {rules: []}\n", DIALECT_BUNTIME },
		{ "net: {mode: none}\n", DIALECT_SBX },
		{ "sandbox: {}\n", DIALECT_MANIFEST },
		{ "capabilities: []\ndefaults: {}\n", DIALECT_SBX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_policy_ struct policy *policy = load(cases[i].text);

		expect_eq(policy->dialect, cases[i].dialect);
	}
}

static void permissions_are_operations(void)
{
	static const struct {
		const char *perm, *operations[2];
	} cases[] = {
		{ "read_file", { "fs.read", "fs.exists" } },
		{ "read_dir", { "fs.list", NULL } },
		{ "execute", { "exec", NULL } },
		{ "write_file", { "fs.write", NULL } },
		{ "write_dir", { "fs.write", NULL } },
		{ "remove_dir", { "fs.write", NULL } },
		{ "remove_file", { "fs.write", NULL } },
		{ "make_char", { "fs.write", NULL } },
		{ "make_dir", { "fs.write", NULL } },
		{ "make_reg", { "fs.write", NULL } },
		{ "make_sock", { "fs.write", NULL } },
		{ "make_fifo", { "fs.write", NULL } },
		{ "make_block", { "fs.write", NULL } },
		{ "make_sym", { "fs.write", NULL } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t wanted = operation_set(cases[i].operations[0]);
		char text[128];

		if (cases[i].operations[1])
			wanted |= operation_set(cases[i].operations[1]);
		(void)snprintf(text, sizeof(text),
			       "version: 1\nfs: {rules: [{action: deny, path: /a, perms: [%s]}]}\n",
			       cases[i].perm);

		_cleanup_policy_ struct policy *policy = load(text);

		expect_eq(policy->rules[0].match.operations, wanted);
	}
}

static void a_rule_for_files_without_permissions_is_about_all_of_them(void)
{
	_cleanup_policy_ struct policy *policy =
		load("version: 1\nfs: {rules: [{action: deny, path: /a}]}\n");

	expect_eq(policy->rules[0].match.operations, operation_set("fs.*"));
}

static void ports_are_split_at_the_commas(void)
{
	_cleanup_policy_ struct policy *policy =
		load("version: 1\nnet: {rules: [{action: deny, ports: \"80,443,8000-9000\"}]}\n");
	const struct rule *rule = &policy->rules[0];

	expect_eq(rule->match.lists[MATCH_PORT].n_values, 3);
	expect_value(rule, MATCH_PORT, 0, "80");
	expect_value(rule, MATCH_PORT, 1, "443");
	expect_value(rule, MATCH_PORT, 2, "8000-9000");
}

static void every_host_of_the_whitelist_is_a_rule(void)
{
	static const char text[] = "network_whitelist:\n"
				   "  ai: [API.example.com]\n"
				   "  more:\n"
				   "  - \"*.example.org:8443\"\n"
				   "  - \"[2001:db8::1]:80\"\n"
				   "  unnamed: [other.example]\n"
				   "net: {allowed_hosts: [ai, more]}\n";
	_cleanup_policy_ struct policy *policy = load(text);
	const struct rule *rules = policy->rules;

	expect_eq(policy->n_rules, 3);
	expect_str(rules[0].name, "network_whitelist.ai[0]");
	expect_str(rules[2].name, "network_whitelist.more[1]");
	expect_value(&rules[0], MATCH_HOST, 0, "api.example.com");
	expect_value(&rules[0], MATCH_PORT, 0, "443");
	expect_value(&rules[1], MATCH_HOST, 0, "*.example.org");
	expect_value(&rules[1], MATCH_PORT, 0, "8443");
	expect_value(&rules[2], MATCH_CIDR, 0, "2001:db8::1");
	expect_value(&rules[2], MATCH_PORT, 0, "80");
	expect_eq(rules[1].place.at.line, 4);
}

static void an_empty_list_is_present_and_holds_for_nothing(void)
{
	_cleanup_policy_ struct policy *policy = load(MATCH("syscall: fs.write, path_glob: []"));

	expect(policy->rules[0].match.lists[MATCH_PATH].present);
	expect_eq(policy->rules[0].match.lists[MATCH_PATH].n_values, 0);
	expect(!policy->rules[0].match.lists[MATCH_HOST].present);
}

static void settings_have_their_numbers(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_rest);

	expect_setting(policy, "limits.cpu", "1.5", 1500);
	expect_setting(policy, "limits.time", "60s", 60000000);
	expect_setting(policy, "limits.file_size", "1000", 1000);
	expect_setting(policy, "limits.mode", "strict", 0);
	expect_setting(policy, "mounts", "", 3);
	expect_setting(policy, "mounts[1].size", "64MiB", 64 << 20);
	expect_setting(policy, "mounts[2].optional", "true", 1);
	expect_setting(policy, "devices[0]", "null", 0);
	expect_setting(policy, "net.loopback.bind[1]", "8001", 8001);
	expect_setting(policy, "env.set.A", "", 0);
	expect_setting(policy, "audit.events", "", 0);
	expect(!policy_get_setting(policy, "limits.output"));
	expect(!policy_get_setting(policy, "capabilities"));
	for (size_t i = 1; i < policy->n_settings; i++)
		expect(policy_compare_paths(policy->settings[i - 1].path,
					    policy->settings[i].path) < 0);
}

static void a_setting_with_two_names_is_kept_under_one(void)
{
	_cleanup_policy_ struct policy *policy =
		load("version: 1\nantiEscape: {denySyscalls: [bpf]}\n");

	expect_setting(policy, "denySyscalls", "", 1);
	expect_setting(policy, "denySyscalls[0]", "bpf", 0);
	expect(!policy_get_setting(policy, "antiEscape.denySyscalls"));
}

static void defaults_are_taken_by_class(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_rest);

	expect_eq(policy->defaults[CLASS_FS], POLICY_ALLOW);
	expect_eq(policy->defaults[CLASS_NET], POLICY_DENY);
	expect_eq(policy->defaults[CLASS_EXEC], POLICY_WARN);
	expect_eq(policy->defaults[CLASS_TOOL], POLICY_REVIEW);
}

static void extensions_keep_their_words(void)
{
	_cleanup_policy_ struct policy *policy = load(seed_rest);

	expect_eq(policy->n_extensions, 1);
	expect_str(policy->extensions[0].name, "e");
	expect_str(policy->extensions[0].argv[0], "/usr/bin/e");
	expect_str(policy->extensions[0].argv[2], "a b");
	expect(policy->extensions[0].argv[3] == NULL);
}

static void an_example_that_holds_passes(void)
{
	_cleanup_policy_ struct policy *policy = load(MATCH(
		"syscall: [fs.write, net.connect], path_glob: src/**, caller_tag: t") "  except: [{state: s}]\n"
										      "  examples:\n"
										      "    match: [fs.write src/a.c tag=t, fs.write /project/src/b tag=t]\n"
										      "    not_match: [fs.write src/a.c, fs.read src/a.c tag=t,\n"
										      "                fs.write src/a.c tag=t state=s, fs.write /src/a.c tag=t]\n");

	expect_eq(policy->rules[0].n_examples, 6);
	expect(policy->rules[0].examples[0].matches && !policy->rules[0].examples[2].matches);
}

static void examples_know_hosts_and_programs(void)
{
	_cleanup_policy_ struct policy *policy = load(
		"capabilities:\n"
		"- name: net\n"
		"  match: {syscall: net.connect, host: '*.example.com', ports: 443}\n"
		"  action: deny\n"
		"  examples: {match: 'net.connect a.example.com:443',\n"
		"             not_match: ['net.connect a.example.com:80', 'net.connect "
		"example.org:443']}\n"
		"- name: exec\n"
		"  match: {syscall: exec, path: [/bin/sh, ./tools]}\n"
		"  action: pass\n"
		"  examples: {match: [exec /bin/sh, exec tools/x=y], not_match: exec /bin/bash}\n");

	expect_eq(policy->rules[1].n_examples, 3);
}

static void refuses_a_rule_that_contradicts_its_examples(void)
{
	static const struct refusal cases[] = {
		{ MATCH("syscall: fs.write, path_glob: src/**") "  examples: {match: [fs.write src/a, fs.write lib/a]}\n",
		  "5:38", "'fs.write lib/a'" },
		{ MATCH("syscall: fs.write, path_glob: src/**") "  examples: {not_match: fs.write src/a}\n",
		  "5:25", "which it should not" },
		{ MATCH("syscall: fs.write, path_glob: [src/**, '!src/x']") "  examples: {match: fs.write src/x}\n",
		  "5:21", "excludes" },
		{ MATCH("syscall: fs.write, path_glob: src/**, state: a") "  examples: {match: fs.write src/x}\n",
		  "5:21", "'state' does not match" },
		{ MATCH("syscall: fs.write, path_glob: src/**") "  except: [{caller: me}]\n"
								"  examples: {match: fs.write src/x caller=me}\n",
		  "6:21", "exception 1 cancels it" },
		{ MATCH("syscall: exec") "  examples: {match: ' '}\n", "5:21", "not an example" },
		{ MATCH("syscall: exec") "  examples: {match: exec ../x}\n", "5:21", "" },
		{ MATCH("syscall: exec") "  examples: {match: exec /x tga=y}\n", "5:21", "tag=" },
	};

	EXPECT_REFUSALS(cases);
}

/* It is denied whatever the rule says, so it would never contradict one. */
static void refuses_an_example_that_is_no_request(void)
{
	static const struct refusal cases[] = {
		{ MATCH("syscall: fs.write, path: /a") "  examples: {not_match: fs.wirte /a}\n",
		  "5:25", "unknown operation 'fs.wirte'" },
		{ MATCH("syscall: fs.write, path: /a") "  examples: {match: fs.wirte /a}\n", "5:21",
		  "did you mean 'fs.write'?" },
		{ MATCH("syscall: fs.write, path: /a") "  examples: {not_match: fs.write tag=x}\n",
		  "5:25", "'fs.write' names no path" },
		{ MATCH("syscall: net.connect, host: a.org") "  examples: {not_match: net.connect}\n",
		  "5:25", "'net.connect' names no host" },
	};

	EXPECT_REFUSALS(cases);
}

static void the_digest_binds_a_policy_to_its_bytes(void)
{
	_cleanup_policy_ struct policy *policy = load("{}"), *other = load("{} ");
	uint8_t want[32];

	digest_of("\2\0\0\0\0\0\0\0{}", 10, want);
	expect(memcmp(policy->digest, want, 32) == 0);
	digest_of("{}", 2, want);
	expect(memcmp(policy->sources[0].digest, want, 32) == 0);
	expect(memcmp(policy->digest, other->digest, 32) != 0);
	expect_str(policy->sources[0].name, "p.yaml");
	expect_eq(policy->sources[0].n_bytes, 2);
	expect(!policy->sources[0].narrows);
}

static void a_loaded_policy_needs_nothing_of_its_text(void)
{
	char text[] = "capabilities:\n- name: r\n  match: {syscall: exec}\n  action: deny\n"
		      "limits: {memory: 1GiB}\n";
	struct policy *policy = NULL;

	expect_eq(policy_load("p.yaml", text, strlen(text), &policy, NULL), 0);
	memset(text, 'x', sizeof(text));
	expect_str(policy->rules[0].name, "r");
	expect_setting(policy, "limits.memory", "1GiB", 1 << 30);
	policy = policy_free(policy);
}

static void reads_a_file_and_names_it_in_mistakes(void)
{
	int fd = memfd_create("policy", MFD_CLOEXEC);
	char path[64];
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	expect_eq(write(fd, "limit: 1\n", 9), 9);
	expect_eq(policy_load_file(AT_FDCWD, path, &policy, &err), -EINVAL);
	expect(strncmp(err.what, path, strlen(path)) == 0 && strstr(err.fix, "'limits'"));
	expect_eq(ftruncate(fd, 0), 0);
	expect_eq(policy_load_file(AT_FDCWD, path, &policy, NULL), 0);
	expect_str(policy->sources[0].name, path);
	policy = policy_free(policy);
	expect_eq(close(fd), 0);
	expect_eq(policy_load_file(AT_FDCWD, "/nonexistent/p.yaml", &policy, &err), -ENOENT);
	expect(policy == NULL);
}

static void count(const struct sbx_error *err, void *userdata)
{
	(*(unsigned *)userdata)++;
}

static void a_good_text_has_no_mistakes(void)
{
	unsigned n = 0;

	expect_eq(policy_load_all_mistakes("p", seed_rest, strlen(seed_rest), count, &n), 0);
	expect_eq(n, 0);
}

static void refuses_without_being_asked_why(void)
{
	struct policy *policy = NULL;

	expect_eq(policy_load("p", "x: 1", 4, &policy, NULL), -EINVAL);
	expect_eq(policy_load("p", "[", 1, &policy, NULL), -EINVAL);
	expect(policy == NULL);
}

static const struct test tests[] = {
	TEST(the_first_seeds_policy_loads_as_it_stands),
	TEST(rules_say_what_they_demand_of_tls),
	TEST(the_second_seeds_policy_loads_as_it_stands),
	TEST(the_third_seeds_manifest_loads_as_it_stands),
	TEST(a_manifest_that_allows_the_network_shares_the_hosts),
	TEST(an_empty_property_of_a_manifest_is_its_default),
	TEST(an_empty_file_is_a_policy_that_denies),
	TEST(json_and_yaml_give_the_same_model),
	TEST(the_view_can_be_said),
	TEST(the_dialect_is_the_one_whose_keys_are_there),
	TEST(permissions_are_operations),
	TEST(a_rule_for_files_without_permissions_is_about_all_of_them),
	TEST(ports_are_split_at_the_commas),
	TEST(every_host_of_the_whitelist_is_a_rule),
	TEST(an_empty_list_is_present_and_holds_for_nothing),
	TEST(settings_have_their_numbers),
	TEST(a_setting_with_two_names_is_kept_under_one),
	TEST(defaults_are_taken_by_class),
	TEST(extensions_keep_their_words),
	TEST(an_example_that_holds_passes),
	TEST(examples_know_hosts_and_programs),
	TEST(refuses_a_rule_that_contradicts_its_examples),
	TEST(refuses_an_example_that_is_no_request),
	TEST(the_digest_binds_a_policy_to_its_bytes),
	TEST(a_loaded_policy_needs_nothing_of_its_text),
	TEST(reads_a_file_and_names_it_in_mistakes),
	TEST(a_good_text_has_no_mistakes),
	TEST(refuses_without_being_asked_why),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
