/* SPDX-License-Identifier: MIT */
#include "policy-refusals.h"

static void refuses_a_text_that_is_no_map(void)
{
	static const struct refusal cases[] = {
		{ "- a\n", "1:1", "must be a map" },
		{ "text\n", "1:1", "it is a string" },
		{ "12\n", "1:1", "a number" },
	};

	for (size_t i = 0; i < 3; i++) {
		struct policy *policy = NULL;
		struct sbx_error err = { .code = 0 };

		expect_eq(policy_load("p.yaml", cases[i].text, strlen(cases[i].text), &policy,
				      &err),
			  -EINVAL);
		expect(strncmp(err.what, "p.yaml:1:1: ", 12) == 0);
	}
}

static void refuses_a_text_that_is_neither_yaml_nor_json(void)
{
	static const struct refusal cases[] = {
		{ "capabilities: [\n", "1:15", "never closed" },
		{ "limits:\n  pids: 1\n  pids: 2\n", "3:3", "pids" },
		{ "limits: &a {pids: 1}\n", "1:9", "anchor" },
		{ "limits: {pids: !!int 1}\n", "1:16", "tag" },
		{ "version: 1\n---\nversion: 1\n", "2:1", "document" },
		{ "limits:\n\tpids: 1\n", "2:1", "tab" },
		{ "limits: {mode: no}\n", "1:16", "some YAML readers" },
		{ "{\"limits\": {\"pids\": 1,}}", "1:23", "expected" },
		{ "// a comment\n{\"version\": 1}\n", "2:11", "':'" },
		{ "{\n  // a comment\n  \"version\": 1\n}\n", "2:3", "JSON" },
		{ "{\"properties\": {\n  \"ipc_shm_size\": \"8388608\"  // 8 MB\n}}\n", "2:30",
		  "JSON has none" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_unknown_keys_and_suggests_the_nearest(void)
{
	static const struct refusal cases[] = {
		{ "capabilites: []\n", "1:1", "did you mean 'capabilities'?" },
		{ "limits: {memroy: 1MiB}\n", "1:10", "did you mean 'memory'?" },
		{ "version: 1\nfs: {rule: []}\n", "2:6", "did you mean 'rules'?" },
		{ "version: 1\nfs: {default: deny}\n", "2:6", "remove it" },
		{ "version: 1\nfs:\n  rules:\n  - action: deny\n    path: /a\n    perm: [read_file]\n",
		  "6:5", "did you mean 'perms'?" },
		{ "memory: 1MiB\n", "1:1", "limits.memory" },
		{ "capabilities:\n- name: r\n  path_glob: a\n  action: deny\n", "3:3",
		  "capabilities[].match.path_glob" },
		{ MATCH("syscall: exec, pathglob: a"), "3:26", "did you mean 'path_glob'?" },
		{ MATCH("syscall: exec, port: 3"), "3:26", "did you mean 'ports'?" },
		{ "xyz: 1\n", "1:1", "the keys at the top are: version, capabilities" },
		{ "Version: 1\n", "1:1", "did you mean 'version'?" },
		{ "network_whitelist: {'[]': [a.b]}\n", "1:21", "unknown key" },
		{ "explore_mode: {}\n", "1:1", "unknown key" },
		{ "sandbox: {config: {properties: {ipc_buffer: \"1\"}}}\n", "1:33",
		  "the keys of sandbox.config.properties are" },
		{ "sandbox: {config: {properties: {ipc_transprt: tcp}}}\n", "1:33",
		  "did you mean 'ipc_transport'?" },
		{ "sandbox: {config: {maxMemory: 1}}\n", "1:20", "did you mean 'maxMemoryMB'?" },
		{ "{\"limits\": {\"cpus\": 1}}", "1:13", "did you mean 'cpu'?" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_missing_keys(void)
{
	static const struct refusal cases[] = {
		{ "capabilities:\n- match: {syscall: exec}\n  action: deny\n", "2:3",
		  "'name' is missing" },
		{ "capabilities:\n- name: r\n  action: deny\n", "2:3", "'match' is missing" },
		{ "capabilities:\n- name: r\n  match: {syscall: exec}\n", "2:3",
		  "'action' is missing" },
		{ MATCH("path_glob: a"), "3:10", "names no operation" },
		{ MATCH(""), "3:10", "names no operation" },
		{ "version: 1\nfs: {rules: [{action: deny}]}\n", "2:14", "'path' is missing" },
		{ "version: 1\nexec: {rules: [{path: /a}]}\n", "2:16", "'action' is missing" },
		{ "extensions:\n- name: x\n", "2:3", "'command' is missing" },
		{ "mounts:\n- source: /a\n", "2:3", "'target' is missing" },
		{ "defaults: {fs: deny}\n", "1:1", "'version' is missing" },
		{ "net: {rules: []}\n", "1:1", "version: 1" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_values_of_a_wrong_type(void)
{
	static const struct refusal cases[] = {
		{ "capabilities: {}\n", "1:15", "'capabilities' must be a list" },
		{ "capabilities:\n", "1:14", "it is null" },
		{ "capabilities: [a]\n", "1:16", "'capabilities[0]' must be a map" },
		{ "limits: 5\n", "1:9", "it is a number" },
		{ "limits: {pids: '5'}\n", "1:16", "must be a whole number" },
		{ "limits: {time: true}\n", "1:16", "must be a time" },
		{ "limits: {memory: [1]}\n", "1:18", "it is a list" },
		{ "capabilities:\n- name: 12\n  match: {syscall: exec}\n  action: deny\n", "2:9",
		  "put it in quotes" },
		{ MATCH("syscall: 3"), "3:20", "must be an operation" },
		{ MATCH("syscall: exec, path_glob: [a, {}]"), "3:41", "it is a map" },
		{ MATCH("syscall: exec, path_glob: {a: b}"), "3:37", "a glob or a list" },
		{ MATCH("syscall: exec, caller: [[a]]"), "3:35", "it is a list" },
		{ "version: one\n", "1:10", "whole number" },
		{ "plugins: {landlock: 1}\nversion: 1\n", "1:21", "true or false" },
		{ "network_whitelist: a.b\n", "1:20", "a list, or a map of lists" },
		{ "network_whitelist: [1]\n", "1:21", "must be a host" },
		{ "network_whitelist: {g: a.b}\n", "1:24", "'network_whitelist.g' must be a list" },
		{ "env: {set: {A: 1}}\n", "1:16", "'env.set.A' must be a text" },
		{ "net: {loopback: {connect: ['80']}}\n", "1:28", "must be a port" },
		{ "sandbox: {config: {properties: {ipc_buffer_size: 4096}}}\n", "1:50",
		  "write \"4096\"" },
		{ "sandbox: {config: {maxMemoryMB: '128'}}\n", "1:33", "whole number" },
		{ "sandbox: {config: {allowNetworkAccess: 1}}\n", "1:40", "true or false" },
		{ "extensions: [{name: e, command: /bin/e}]\n", "1:33", "must be a list" },
		{ "mounts: [{target: /a, optional: 1}]\n", "1:33", "true or false" },
		{ "devices: null\n", "1:10", "it is null" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_settings_that_are_there_twice(void)
{
	static const struct refusal cases[] = {
		{ "capabilities:\n- {name: r, match: {syscall: exec}, action: deny}\n"
		  "- {name: r, match: {syscall: exec}, action: allow}\n",
		  "3:3", "line 2 has the first" },
		{ MATCH("syscall: exec, op: exec"), "3:26", "second key for operations" },
		{ MATCH("syscall: exec, path: /a, path_glob: /b"), "3:36", "second key" },
		{ MATCH("syscall: exec, state: a, state_machine_state: b"), "3:36", "second key" },
		{ "version: 1\ndenySyscalls: [bpf]\nantiEscape: {denySyscalls: [bpf]}\n", "3:28",
		  "'denySyscalls' is given twice" },
		{ "limits: {memory: 1MiB}\nsandbox: {config: {maxMemoryMB: 1}}\n", "2:33",
		  "'limits.memory' is given twice" },
		{ "sandbox: {enabled: true}\nsecurity: {sandbox: {enabled: true}}\n", "2:31",
		  "'sandbox.enabled' is given twice" },
		{ "env: {secrets: {B: /g, A: /f}, set: {A_B: x, A: x}}\n", "1:27",
		  "'env.secrets.A' sets a variable that 'env.set' sets, too" },
		{ "extensions: [{name: e, command: [/a]}, {name: e, command: [/b]}]\n", "1:40",
		  "second extension" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_names_with_characters_of_paths(void)
{
	static const struct refusal cases[] = {
		{ "env: {set: {A.B: x}}\n", "1:13", "not a name: 'A.B'" },
		{ "env: {secrets: {'A B': /x}}\n", "1:17", "letters, digits" },
		{ "network_whitelist: {'a[0]': []}\n", "1:21", "not a name" },
		{ "scheduler: {per_template: {a/b: 1}}\n", "1:28", "not a name" },
	};

	EXPECT_REFUSALS(cases);
}

static void tells_all_mistakes_of_a_text_at_once(void)
{
	static const char text[] = "capabilites: 3\n"
				   "capabilities:\n"
				   "- nme: x\n"
				   "  match: {syscall: fs.wirte, path_glob: 'a/['}\n"
				   "  action: alow\n"
				   "limits: {time: 30, memory: 0}\n";
	static const struct refusal wanted[] = {
		{ text, "1:1", "capabilites" }, { text, "3:3", "'nme'" },
		{ text, "4:20", "fs.wirte" },	{ text, "4:41", "'a/['" },
		{ text, "5:11", "alow" },	{ text, "3:3", "'name' is missing" },
		{ text, "6:16", "30" },		{ text, "6:28", "memory" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct refusal_count count = { .wanted = &wanted[i] };

		expect_eq(policy_load_all_mistakes("p.yaml", text, strlen(text), look_for, &count),
			  8);
		expect(count.found);
	}
}

static const struct test tests[] = {
	TEST(refuses_a_text_that_is_no_map),
	TEST(refuses_a_text_that_is_neither_yaml_nor_json),
	TEST(refuses_unknown_keys_and_suggests_the_nearest),
	TEST(refuses_missing_keys),
	TEST(refuses_values_of_a_wrong_type),
	TEST(refuses_settings_that_are_there_twice),
	TEST(refuses_names_with_characters_of_paths),
	TEST(tells_all_mistakes_of_a_text_at_once),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
