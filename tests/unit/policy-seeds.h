/* SPDX-License-Identifier: MIT */
#pragma once

/* Policies from the design documents, one for each dialect */

static const char seed_buntime[] =
	"{\n"
	"  \"version\": 1,\n"
	"  \"plugins\": {\n"
	"    \"namespaces\": true,\n"
	"    \"landlock\": false,\n"
	"    \"seccomp\": false\n"
	"  },\n"
	"  \"defaults\": {\n"
	"    \"fs\": \"deny\",\n"
	"    \"net\": \"deny\",\n"
	"    \"exec\": \"deny\"\n"
	"  },\n"
	"  \"fs\": {\n"
	"    \"rules\": [\n"
	"      {\n"
	"        \"action\": \"allow\",\n"
	"        \"path\": \"/tmp\",\n"
	"        \"perms\": [\"read_file\", \"write_file\", \"read_dir\"]\n"
	"      }\n"
	"    ]\n"
	"  },\n"
	"  \"net\": {\n"
	"    \"rules\": [\n"
	"      {\n"
	"        \"action\": \"allow\",\n"
	"        \"proto\": \"tcp\",\n"
	"        \"cidr\": \"0.0.0.0/0\",\n"
	"        \"ports\": \"443\"\n"
	"      }\n"
	"    ]\n"
	"  },\n"
	"  \"exec\": {\n"
	"    \"rules\": [\n"
	"      {\n"
	"        \"action\": \"allow\",\n"
	"        \"path\": \"/usr/bin/python3\"\n"
	"      }\n"
	"    ]\n"
	"  }\n"
	"}\n";

static const char seed_fluffy[] =
	"capabilities:\n"
	"  - name: \"fs-write-source\"\n"
	"    match: { syscall: \"fs.write\", path_glob: [\"src/**\", \"tests/**\"] }\n"
	"    action: allow\n"
	"    constraints:\n"
	"      require_sandbox: L2\n"
	"      require_capability_token: true\n"
	"      max_file_size: \"100KiB\"\n"
	"\n"
	"  - name: \"fs-write-sensitive\"\n"
	"    match: { syscall: \"fs.write\", path_glob: [\"package.json\", \"Dockerfile\", "
	"\".github/**\"] }\n"
	"    action: require_review\n"
	"    reason: \"Sensitive file modification requires review\"\n"
	"  - name: \"new-employee-review\"\n"
	"    match: { syscall: \"fs.write\", caller_tag: [\"new_employee\"] }\n"
	"    action: require_review\n"
	"    except:\n"
	"      - { path_glob: [\"src/tests/**\"] }\n"
	"      - { caller_tag: [\"trusted_write\"] }\n"
	"\n"
	"scheduler:\n"
	"  global_max: 4\n"
	"  per_template:\n"
	"    ai-provider: 2\n"
	"    code-executor: 2\n"
	"    policy-sandbox: 1\n"
	"\n"
	"audit:\n"
	"  retention_days: 90\n"
	"  max_size: \"1GiB\"\n"
	"  rotation: \"daily\"\n"
	"  export_format: \"jsonl\"\n";

/* "sandbox" in both forms of a manifest. */
#define SEED_SANDBOX                                                                               \
	"{\n"                                                                                      \
	"    \"enabled\": true,\n"                                                                 \
	"    \"type\": \"PROCESS\",\n"                                                             \
	"    \"config\": {\n"                                                                      \
	"      \"allowNetworkAccess\": false,\n"                                                   \
	"      \"allowFileSystemAccess\": true,\n"                                                 \
	"      \"allowedPaths\": [\"/tmp/hello_service_greetings.log\"],\n"                        \
	"      \"maxMemoryMB\": 128,\n"                                                            \
	"      \"maxCPUPercent\": 25,\n"                                                           \
	"      \"maxFileDescriptors\": 64,\n"                                                      \
	"      \"maxThreads\": 5,\n"                                                               \
	"      \"properties\": {\n"                                                                \
	"        \"ipc_transport\": \"shared_memory\",\n"                                          \
	"        \"ipc_buffer_size\": \"4096\",\n"                                                 \
	"        \"ipc_shm_size\": \"4194304\"\n"                                                  \
	"      }\n"                                                                                \
	"    }\n"                                                                                  \
	"  }"

static const char seed_manifest_short[] = "{\n  \"sandbox\": " SEED_SANDBOX "\n}\n";

static const char seed_manifest[] = "{\n"
				    "  \"module\": {\n"
				    "    \"symbolic-name\": \"cdmf.hello_service\",\n"
				    "    \"name\": \"Hello Service Module\",\n"
				    "    \"version\": \"1.0.0\"\n"
				    "  },\n"
				    "  \"security\": {\n"
				    "  \"permissions\": [],\n"
				    "  \"sandbox\": " SEED_SANDBOX "\n"
				    "  }\n"
				    "}\n";

/* Keys that have no example above. */
static const char seed_rest[] =
	"version: 1\n"
	"defaults: {fs: allow, net: deny, exec: warn, tool: require_review}\n"
	"capabilities:\n"
	"- name: \"quoted \\\"name\\\" \\u00e9\"\n"
	"  match: {op: [fs.read, exec], path: [/usr, ./bin], caller: me, state: s, mode: strict}\n"
	"  action: warn\n"
	"  constraints: {sha256: "
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}\n"
	"- name: everything\n"
	"  match: {syscall: '*'}\n"
	"  action: pass\n"
	"  reason: |\n"
	"    two\n"
	"    lines\t\n"
	"- name: nothing\n"
	"  match: {operation: net.*, host: [], proto: [tcp, udp]}\n"
	"  action: deny\n"
	"  except: [{syscall: net.bind, cidr: [127.0.0.0/8, '::1'], ports: [80, '443,8000-9000']}]\n"
	"- name: examples\n"
	"  match: {syscall: fs.write, path_glob: [src/**, '!src/x']}\n"
	"  action: allow\n"
	"  examples: {match: fs.write src/a.c, not_match: [fs.write src/x, fs.read src/a.c]}\n"
	"network_whitelist:\n"
	"  ai: [API.Example.com, '*.example.org:8443', 10.0.0.1, '[2001:db8::1]:80']\n"
	"fs: {rules: [{action: deny, path: /etc/shadow}]}\n"
	"exec: {rules: [{action: allow, path: /bin/true}]}\n"
	"net:\n"
	"  rules: [{action: allow, host: example.net, ports: '80,443'}]\n"
	"  mode: proxy\n"
	"  loopback: {connect: [5432], bind: [8000, 8001]}\n"
	"  unix: [/run/x.sock]\n"
	"plugins: {seccomp: true}\n"
	"denySyscalls: [ptrace, bpf]\n"
	"extensions: [{name: e, command: [/usr/bin/e, --x, 'a b']}]\n"
	"isolation: {template: code-executor, seccomp: standard, tier: full, nested: false}\n"
	"limits: {memory: 512MiB, cpu: 1.5, pids: 64, time: 60s, file_size: 1000, mode: strict}\n"
	"mounts:\n"
	"- {source: /srv/data, target: /data}\n"
	"- {target: /tmp, mode: tmpfs, size: 64MiB}\n"
	"- {source: ., target: /p, mode: overlay, optional: true}\n"
	"devices: [null, tty]\n"
	"env: {allow: [PATH, LC_*], set: {A: '', B: \"x\\ny\", '9': \"12\"}, secrets: {K: ./k}}\n"
	"audit: {enabled: true, events: []}\n"
	"working_dir: /p\n"
	"hostname: box\n";
