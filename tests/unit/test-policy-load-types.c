/* SPDX-License-Identifier: MIT */
#include "policy-refusals.h"

#include "base/cleanup.h"

#define CONSTRAINTS(line) MATCH("syscall: exec") "  constraints: {" line "}\n"

static void refuses_ambiguous_units_and_wrong_numbers(void)
{
	static const struct refusal cases[] = {
		{ "limits: {time: 30}\n", "1:16", "it has no unit" },
		{ "limits: {time: 30sec}\n", "1:16", "30s" },
		{ "limits: {memory: 10mb}\n", "1:18", "write '10MB'" },
		{ "limits: {memory: 10 MiB}\n", "1:18", "not a size" },
		{ "limits: {memory: 1.5GiB}\n", "1:18", "not a size" },
		{ "limits: {memory: 0}\n", "1:18", "cannot be 0" },
		{ "limits: {memory: 99999999999TiB}\n", "1:18", "more than" },
		{ "limits: {pids: -1}\n", "1:16", "digit" },
		{ "limits: {pids: 1.5}\n", "1:16", "not a number" },
		{ "limits: {cpu: 0}\n", "1:15", "cannot be 0" },
		{ "limits: {cpu: -1}\n", "1:15", "processors" },
		{ "limits: {cpu: 0.0001}\n", "1:15", "three" },
		{ "limits: {cpu: 1e3}\n", "1:15", "processors" },
		{ "limits: {cpu: 50 %}\n", "1:15", "processors" },
		{ "limits: {cpu: 5.55%}\n", "1:15", "processors" },
		{ "scheduler: {global_max: 0}\n", "1:25", "cannot be 0" },
		{ "net: {loopback: {connect: [0]}}\n", "1:28", "1 to 65535" },
		{ "net: {loopback: {bind: [65536]}}\n", "1:25", "1 to 65535" },
		{ "net: {limits: {connections: 0}}\n", "1:29", "cannot be 0" },
		{ "net: {limits: {bytes: 0}}\n", "1:23", "cannot be 0" },
		{ "net: {limits: {rate: 0KiB}}\n", "1:22", "cannot be 0" },
		{ "net: {limits: {rate: 1MiB/s}}\n", "1:22", "MiB" },
		{ "audit: {max_size: 1GIB}\n", "1:19", "GiB" },
		{ CONSTRAINTS("max_file_size: 100kib"), "5:32", "100KiB" },
		{ "version: 2\n", "1:10", "unknown version '2'" },
		{ "version: 1.0\n", "1:10", "not a number" },
		{ "sandbox: {config: {maxMemoryMB: 99999999999999999}}\n", "1:33", "too large" },
		{ "sandbox: {config: {properties: {ipc_shm_size: 4MiB}}}\n", "1:47", "no unit" },
		{ "sandbox: {config: {properties: {ipc_timeout_ms: '5s'}}}\n", "1:49",
		  "takes no unit" },
		{ "sandbox: {config: {properties: {ipc_buffer_size: ' 1'}}}\n", "1:50", "digit" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_words_that_are_no_choice(void)
{
	static const struct refusal cases[] = {
		{ "capabilities:\n- name: r\n  match: {syscall: exec}\n  action: Allow\n", "4:11",
		  "did you mean 'allow'?" },
		{ "capabilities:\n- name: r\n  match: {syscall: exec}\n  action: ask\n", "4:11",
		  "require_review" },
		{ "version: 1\ndefaults: {fs: pass}\n", "2:16", "deny, allow" },
		{ "isolation: {template: code-executer}\n", "1:23", "'code-executor'" },
		{ "isolation: {seccomp: true}\n", "1:22", "it is true or false" },
		{ "isolation: {tier: Full}\n", "1:19", "'full'" },
		{ "limits: {mode: best_effort}\n", "1:16", "'best-effort'" },
		{ "view: [none]\n", "1:7", "must be a word" },
		{ "view: sections\n", "1:7", "none, project, system" },
		{ "net: {mode: bridge}\n", "1:13", "none, loopback, host, proxy" },
		{ "network_whitelist: {models: [a.b]}\nnet: {allowed_hosts: model}\n", "2:22",
		  "did you mean 'models'" },
		{ "network_whitelist: {models: [a.b]}\nnet: {allowed_hosts: [models, web]}\n",
		  "2:31", "one of: models" },
		{ "net: {allowed_hosts: web}\n", "1:22", "network_whitelist: {web" },
		{ "devices: [gpu]\n", "1:11", "nvidia" },
		{ "mounts: [{target: /a, mode: readonly}]\n", "1:29", "ro, rw" },
		{ "audit: {enabled: false}\n", "1:18", "always recorded" },
		{ "audit: {events: [exec]}\n", "1:18", "no further events" },
		{ "audit: {rotation: dayly}\n", "1:19", "'daily'" },
		{ "version: 1\nfs: {rules: [{action: deny, path: /a, perms: [read]}]}\n", "2:47",
		  "read_file" },
		{ "version: 1\nnet: {rules: [{action: deny, proto: icmp}]}\n", "2:37", "tcp, udp" },
		{ CONSTRAINTS("require_sandbox: L9"), "5:34", "L1, L2" },
		{ CONSTRAINTS("tls: none"), "5:22", "sni, any" },
		{ "version: 1\nnet: {rules: [{action: allow, tls: true}]}\n", "2:36",
		  "must be a word" },
		{ "sandbox: {type: DOCKER}\n", "1:17", "PROCESS" },
		{ "sandbox: {config: {properties: {ipc_transport: shm}}}\n", "1:48",
		  "shared_memory" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_unknown_operations(void)
{
	static const struct refusal cases[] = {
		{ MATCH("syscall: fs.wirte"), "3:20", "did you mean 'fs.write'?" },
		{ MATCH("syscall: [exec, openat]"), "3:27", "unknown operation 'openat'" },
		{ MATCH("syscall: fs"), "3:20", "unknown operation 'fs'" },
		{ MATCH("syscall: 'f*'"), "3:20", "unknown operation" },
		{ MATCH("syscall: ''"), "3:20", "unknown operation" },
		{ MATCH("syscall: []"), "3:20", "empty list" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_paths_that_would_silently_not_match(void)
{
	static const struct refusal cases[] = {
		{ MATCH("syscall: exec, path_glob: '~/.ssh/**'"), "3:37", "'~'" },
		{ MATCH("syscall: exec, path_glob: '!~/x'"), "3:37", "'~'" },
		{ MATCH("syscall: exec, path_glob: $HOME/x"), "3:37", "variables" },
		{ MATCH("syscall: exec, path: '~'"), "3:32", "absolute path" },
		{ MATCH("syscall: exec, path_glob: 'a/['"), "3:37", "'['" },
		{ MATCH("syscall: exec, path_glob: a//b"), "3:37", "'//'" },
		{ MATCH("syscall: exec, path_glob: [a, a/../b]"), "3:41", "'..'" },
		{ MATCH("syscall: exec, path_glob: ''"), "3:37", "empty" },
		{ MATCH("syscall: exec, path: /a/./b"), "3:32", "'.'" },
		{ MATCH("syscall: exec, path_glob: 'a\\'"), "3:37", "backslash" },
		{ "version: 1\nfs: {rules: [{action: deny, path: ''}]}\n", "2:35", "empty" },
		{ "sandbox: {config: {allowedPaths: [/tmp/../etc]}}\n", "1:35", "'..'" },
		{ "mounts: [{target: a}]\n", "1:19", "absolute" },
		{ "mounts: [{target: /a/}]\n", "1:19", "absolute" },
		{ "mounts: [{target: /a, source: ../b}]\n", "1:31", "'..'" },
		{ "mounts: [{target: /a, source: ~/b}]\n", "1:31", "'~'" },
		{ "working_dir: $PWD\n", "1:14", "variables" },
		{ "net: {unix: [/]}\n", "1:14", "it is a directory" },
		{ "net: {unix: [/run/a, .]}\n", "1:22", "name the file itself" },
		{ "net: {unix: [./]}\n", "1:14", "it is a directory" },
		{ "net: {unix: [/proc/self/a]}\n", "1:14", "the process that reads it" },
		{ "net: {unix: [a]}\n", "1:14", "absolute" },
		{ "env: {secrets: {A: /}}\n", "1:20", "it is a directory" },
		{ "env: {secrets: {A: .}}\n", "1:20", "it is a directory" },
		{ "env: {secrets: {A: ./}}\n", "1:20", "it is a directory" },
		{ "env: {secrets: {A: /proc/self/environ}}\n", "1:20", "sbx-spawn" },
		{ "extensions: [{name: e, command: [rules]}]\n", "1:34", "absolute path" },
		{ "extensions: [{name: e, command: []}]\n", "1:33", "the list is empty" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_wrong_hosts_networks_and_ports(void)
{
	static const struct refusal cases[] = {
		{ MATCH("syscall: net.connect, host: https://a.b"), "3:39", "URL" },
		{ MATCH("syscall: net.connect, host: 'a.b:443'"), "3:39", "'ports'" },
		{ MATCH("syscall: net.connect, host: [a.b, a.*.b]"), "3:45", "'*'" },
		{ MATCH("syscall: net.connect, host: '*'"), "3:39", "leave 'host' out" },
		{ MATCH("syscall: net.connect, host: 10.0.0.1"), "3:39", "'cidr'" },
		{ MATCH("syscall: net.connect, cidr: a.b"), "3:39", "'host'" },
		{ MATCH("syscall: net.connect, cidr: 10.1.2.3/8"), "3:39", "'10.0.0.0/8'" },
		{ MATCH("syscall: net.connect, cidr: 10.0.0.0/33"), "3:39", "0 to 32" },
		{ MATCH("syscall: net.connect, cidr: 10.0.0/8"), "3:39", "four parts" },
		{ MATCH("syscall: net.connect, ports: 65536"), "3:40", "0 to 65535" },
		{ MATCH("syscall: net.connect, ports: 9000-8000"), "3:40", "write 8000-9000" },
		{ MATCH("syscall: net.connect, ports: '80, 443'"), "3:40", "without spaces" },
		{ MATCH("syscall: net.connect, ports: '80,'"), "3:40", "not a port" },
		{ MATCH("syscall: net.connect, ports: [80, https]"), "3:45", "'https'" },
		{ MATCH("syscall: net.connect, ports: -1"), "3:40", "not a port" },
		{ "network_whitelist: ['a.b:x']\n", "1:21", "not a port" },
		{ "network_whitelist: ['https://a.b']\n", "1:21", "it is a URL" },
		{ "network_whitelist: {g: [ok.example, 'a_b:80:90']}\n", "1:37", "not a network" },
		{ "version: 1\nnet: {rules: [{action: allow, cidr: 1.2.3.4/0}]}\n", "2:37",
		  "'0.0.0.0/0'" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_texts_that_say_nothing(void)
{
	static const struct refusal cases[] = {
		{ "capabilities:\n- name: ''\n  match: {syscall: exec}\n  action: deny\n", "2:9",
		  "is empty" },
		{ "capabilities:\n- name: \"a\\nb\"\n  match: {syscall: exec}\n  action: deny\n",
		  "2:9", "control character" },
		{ MATCH("syscall: exec, caller: ''"), "3:34", "is empty" },
		{ MATCH("syscall: exec, caller_tag: [a, '']"), "3:42", "is empty" },
		{ MATCH("syscall: exec") "  reason: ''\n", "5:11", "is empty" },
		{ MATCH("syscall: exec") "  except: [{}]\n", "5:12", "without conditions" },
		{ "env: {allow: ['A B']}\n", "1:15", "not a name" },
		{ "env: {allow: ['*_A']}\n", "1:15", "'*' at its end" },
		{ "version: 1\ndenySyscalls: [\"\"]\n", "2:16", "unknown system call" },
		{ "hostname: a b\n", "1:11", "not a name" },
		{ CONSTRAINTS("sha256: abc"), "5:25", "64 hex digits" },
		{ "version: 1\nexec: {rules: [{action: allow, path: /a, sha256: \"12\"}]}\n",
		  "2:50", "sha256sum" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_a_name_of_more_than_200_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	struct policy *policy = NULL;
	struct sbx_error err = { .code = 0 };

	expect(asprintf(&text,
			"capabilities:\n- name: \"%0201d\"\n  match: {syscall: exec}\n"
			"  action: deny\n",
			0) > 0);
	expect_eq(policy_load("p.yaml", text, strlen(text), &policy, &err), -EINVAL);
	expect(says(&err, "longer than 200 bytes"));
}

static void refuses_the_name_of_a_secret_that_no_file_can_have(void)
{
	for (int len = 255; len <= 256; len++) {
		_cleanup_policy_ struct policy *policy = NULL;
		_cleanup_free_ char *text = NULL;
		struct sbx_error err = { .code = 0 };

		expect(asprintf(&text, "env: {secrets: {A%0*d: /a}}\n", len - 1, 0) > 0);
		expect_eq(policy_load("p.yaml", text, strlen(text), &policy, &err),
			  len > 255 ? -EINVAL : 0);
		expect(len == 255 || (says(&err, "longer than 255 bytes") && err.fix[0]));
	}
}

static void refuses_a_manifest_that_contradicts_itself(void)
{
	static const struct refusal cases[] = {
		{ "sandbox:\n  config:\n    allowFileSystemAccess: false\n    allowedPaths: [/a]\n",
		  "3:28", "line 3 forbids all files, line 4 allows some" },
		{ "sandbox: {config: {allowFileSystemAccess: true}}\n", "1:43",
		  "without 'allowedPaths'" },
		{ "sandbox: {enabled: false}\n", "1:20", "asks for no sandbox" },
		{ "sandbox: {type: NONE}\n", "1:17", "asks for no sandbox" },
	};

	EXPECT_REFUSALS(cases);
}

static void refuses_manifest_entries_that_sbx_cannot_carry_out(void)
{
	static const struct refusal cases[] = {
		{ "sandbox: {type: APPARMOR}\n", "1:17", "no profile of a security module" },
		{ "security: {sandbox: {type: SELINUX}}\n", "1:28",
		  "no profile of a security module" },
		{ "security: {permissions: [net.admin]}\n", "1:26",
		  "no permissions of frameworks" },
		{ "security: {permissions: [{name: a}]}\n", "1:26", "must be left out" },
		{ "security: {permissions: all}\n", "1:25", "must be a list" },
		{ "sandbox: {config: {properties: {ipc_shm_size: \"many\"}}}\n", "1:47", "" },
	};

	EXPECT_REFUSALS(cases);
}

static const struct test tests[] = {
	TEST(refuses_ambiguous_units_and_wrong_numbers),
	TEST(refuses_words_that_are_no_choice),
	TEST(refuses_unknown_operations),
	TEST(refuses_paths_that_would_silently_not_match),
	TEST(refuses_wrong_hosts_networks_and_ports),
	TEST(refuses_texts_that_say_nothing),
	TEST(refuses_a_name_of_more_than_200_bytes),
	TEST(refuses_the_name_of_a_secret_that_no_file_can_have),
	TEST(refuses_a_manifest_that_contradicts_itself),
	TEST(refuses_manifest_entries_that_sbx_cannot_carry_out),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
