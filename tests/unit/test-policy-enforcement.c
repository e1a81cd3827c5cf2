/* SPDX-License-Identifier: MIT */
#include "policy/enforcement.h"

#include <errno.h>

#include "policy-rig.h"
#include "test.h"

#define HELD ENFORCEMENT_HELD
#define NARROWED ENFORCEMENT_NARROWED
#define REFUSED ENFORCEMENT_REFUSED
#define DIGEST "a123456789012345678901234567890123456789012345678901234567890123"

struct wanted {
	const char *rule; /* follows "- name: r\n "; its own lines are indented by two */
	unsigned layers;
	enum enforcement_state state;
	enum enforcement_problem problem;
	unsigned line;
	const char *detail;
};

static void expect_enforcement(const char *before, const struct wanted *wanted)
{
	_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct rule_enforcement got;

	text_addf(&text, "%scapabilities:\n- name: r\n  %s\n", before, wanted->rule);
	rig_load(&rig, "p.yaml", text_string(&text));
	got = rule_enforcement(rig.policy, &rig.policy->rules[0]);
	if (got.layers != wanted->layers || got.state != wanted->state ||
	    got.problem != wanted->problem)
		printf("# %s\n", wanted->rule);
	expect_eq(got.layers, wanted->layers);
	expect_eq(got.state, wanted->state);
	expect_eq(got.problem, wanted->problem);
	if (wanted->problem == PROBLEM_NONE)
		return;
	expect_str(got.detail ? got.detail : "", wanted->detail ? wanted->detail : "");
	expect_eq(got.place.at.line, wanted->line);
}

static void paths_are_enforced_by_mounts_and_landlock(void)
{
	static const char *const rules[] = {
		"match: {syscall: fs.*, path: [/usr, ./src]}\n  action: allow",
		"match: {syscall: fs.read, path_glob: [src/**, './src/', '!src/gen/']}\n  action: allow",
		"match: {syscall: [fs.write, exec], path: /usr}\n  action: deny",
		"match: {syscall: fs.*, path: ./}\n  action: allow\n  except: [{path: ./.env}]",
		"match: {syscall: exec}\n  action: allow",
		"match: {syscall: fs.write, path: /a}\n  action: allow\n"
		"  constraints: {max_file_size: 1MiB, require_sandbox: L2}",
		/* The pattern cannot match any remaining path. */
		"match: {syscall: fs.read, path_glob: '*.c'}\n  action: allow\n"
		"  except: [{syscall: fs.*}]",
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		expect_enforcement("", &(struct wanted){ rules[i], ENFORCED_BY_VIEW, HELD,
							 PROBLEM_NONE, 0, NULL });
}

static void a_rule_without_effect_has_no_layer(void)
{
	static const char *const rules[] = {
		"match: {syscall: fs.read, path_glob: '*.c'}\n  action: pass",
		"match: {syscall: fs.read, path: []}\n  action: warn",
		"match: {syscall: fs.read, host: a.example}\n  action: warn",
		"match: {syscall: net.connect, path: /a}\n  action: allow",
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		expect_enforcement("",
				   &(struct wanted){ rules[i], 0, HELD, PROBLEM_NONE, 0, NULL });
}

static void patterns_and_questions_need_the_broker(void)
{
	static const struct wanted cases[] = {
		{ "match: {syscall: fs.read, path_glob: 'src/*.c'}\n  action: allow",
		  ENFORCED_BY_BROKER, REFUSED, PROBLEM_PATTERN, 3, "src/*.c" },
		{ "match: {syscall: fs.read, path_glob: Makefile}\n  action: deny",
		  ENFORCED_BY_BROKER, REFUSED, PROBLEM_PATTERN, 3, "Makefile" },
		{ "match: {syscall: exec, path: cc}\n  action: deny", ENFORCED_BY_BROKER, REFUSED,
		  PROBLEM_PATTERN, 3, "cc" },
		{ "match: {syscall: fs.read, path: ./}\n  action: allow\n"
		  "  except:\n  - {path_glob: '**/*.key'}",
		  ENFORCED_BY_BROKER, REFUSED, PROBLEM_PATTERN, 6, "**/*.key" },
		{ "match: {syscall: fs.read, path: ./}\n  action: allow\n"
		  "  except:\n  - {path_glob: [./a/, '!a/b/']}",
		  ENFORCED_BY_BROKER, REFUSED, PROBLEM_PATTERN, 6, "!a/b/" },
		{ "match: {syscall: fs.read, path: /a}\n  action: warn", ENFORCED_BY_BROKER,
		  REFUSED, PROBLEM_ACTION, 2, "warn" },
		{ "match: {syscall: exec, caller: me}\n  action: require_review",
		  ENFORCED_BY_BROKER, REFUSED, PROBLEM_ACTION, 2, "require_review" },
		{ "match: {syscall: fs.read, path_glob: 'src/*.c', caller: me}\n  action: deny",
		  ENFORCED_BY_BROKER | ENFORCED_BY_SERVICE, REFUSED, PROBLEM_PATTERN, 3,
		  "src/*.c" },
		{ "match: {syscall: exec, path: /a}\n  action: allow\n"
		  "  constraints: {sha256: " DIGEST "}",
		  ENFORCED_BY_BROKER, NARROWED, PROBLEM_DIGEST, 2, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_enforcement("", &cases[i]);
}

static void a_fact_that_only_a_tool_knows_narrows(void)
{
	static const struct wanted cases[] = {
		{ "match: {syscall: fs.read, path_glob: '*.c', caller: me}\n  action: allow",
		  ENFORCED_BY_SERVICE, NARROWED, PROBLEM_UNSEEN, 3, "caller" },
		{ "match: {syscall: fs.read, path: /a, state: x}\n  action: deny",
		  ENFORCED_BY_SERVICE | ENFORCED_BY_VIEW, NARROWED, PROBLEM_UNSEEN, 3, "state" },
		{ "match: {syscall: fs.read, path: /a}\n  action: allow\n"
		  "  constraints: {require_capability_token: true}",
		  ENFORCED_BY_SERVICE, NARROWED, PROBLEM_UNSEEN, 2, "capability token" },
		{ "match: {syscall: fs.read, path: /a}\n  action: allow\n"
		  "  except:\n  - {mode: strict}",
		  ENFORCED_BY_SERVICE | ENFORCED_BY_VIEW, NARROWED, PROBLEM_UNSEEN, 6, "mode" },
		/* An exception of a deny about a fact that the sandbox cannot see never applies,
		 * whatever its paths. */
		{ "match: {syscall: fs.read, path: /a}\n  action: deny\n"
		  "  except:\n  - {path_glob: '*.c', mode: strict}",
		  ENFORCED_BY_SERVICE | ENFORCED_BY_VIEW, NARROWED, PROBLEM_UNSEEN, 6, "mode" },
		{ "match: {syscall: git.commit, caller: me}\n  action: require_review",
		  ENFORCED_BY_SERVICE, HELD, PROBLEM_NONE, 0, NULL },
	};
	static const struct wanted nested = {
		"match: {syscall: fs.read, path: /a}\n  action: allow\n"
		"  constraints: {require_sandbox: L2}",
		ENFORCED_BY_SERVICE,
		NARROWED,
		PROBLEM_UNSEEN,
		3,
		"inner sandbox"
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_enforcement("", &cases[i]);
	expect_enforcement("isolation: {nested: true}\n", &nested);
}

static void the_network_is_enforced_by_its_mode(void)
{
	static const char allow[] =
		"match: {syscall: net.connect, host: a.example}\n  action: allow";
	static const char deny[] = "match: {syscall: net.*, caller: me}\n  action: deny";
	static const char all[] = "match: {syscall: net.*}\n  action: allow";
	static const struct {
		const char *before;
		struct wanted wanted;
	} cases[] = {
		{ "net: {mode: none}\n",
		  { allow, ENFORCED_BY_NETNS, NARROWED, PROBLEM_NO_NETWORK, 3, NULL } },
		{ "net: {mode: none}\n", { deny, ENFORCED_BY_NETNS, HELD, PROBLEM_NONE, 0, NULL } },
		{ "", { deny, ENFORCED_BY_NETNS, HELD, PROBLEM_NONE, 0, NULL } },
		{ "", { allow, ENFORCED_BY_PROXY, HELD, PROBLEM_NONE, 0, NULL } },
		{ "net: {mode: proxy}\n",
		  { allow, ENFORCED_BY_PROXY, HELD, PROBLEM_NONE, 0, NULL } },
		{ "net: {mode: host}\n",
		  { allow, ENFORCED_BY_PROXY, REFUSED, PROBLEM_HOST_NETWORK, 3, NULL } },
		{ "net: {mode: host}\n",
		  { deny, ENFORCED_BY_PROXY, REFUSED, PROBLEM_HOST_NETWORK, 3, NULL } },
		{ "net: {mode: host}\n", { all, ENFORCED_BY_NETNS, HELD, PROBLEM_NONE, 0, NULL } },
		{ "net: {mode: loopback}\n",
		  { allow, ENFORCED_BY_NETNS, NARROWED, PROBLEM_BEYOND_LOOPBACK, 3, NULL } },
		{ "net: {mode: loopback}\n",
		  { all, ENFORCED_BY_NETNS, NARROWED, PROBLEM_BEYOND_LOOPBACK, 3, NULL } },
		{ "net: {mode: loopback}\n",
		  { "match: {syscall: net.*, cidr: 127.0.0.1}\n  action: allow", ENFORCED_BY_NETNS,
		    HELD, PROBLEM_NONE, 0, NULL } },
		{ "net: {mode: loopback}\n",
		  { "match: {syscall: net.*, cidr: 10.0.0.0/8}\n  action: deny", ENFORCED_BY_NETNS,
		    HELD, PROBLEM_NONE, 0, NULL } },
		{ "net: {mode: loopback}\n",
		  { "match: {syscall: net.*, host: a.example}\n  action: require_review",
		    ENFORCED_BY_NETNS, NARROWED, PROBLEM_BEYOND_LOOPBACK, 3, NULL } },
		{ "net: {mode: loopback}\n",
		  { deny, ENFORCED_BY_PROXY, REFUSED, PROBLEM_LOOPBACK, 3, NULL } },
		{ "net: {mode: loopback}\n",
		  { "match: {syscall: net.bind, ports: 80}\n  action: deny", ENFORCED_BY_PROXY,
		    REFUSED, PROBLEM_LOOPBACK, 3, NULL } },
		{ "net: {mode: loopback}\n",
		  { "match: {syscall: net.connect}\n  action: warn", ENFORCED_BY_PROXY, REFUSED,
		    PROBLEM_LOOPBACK, 3, NULL } },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_enforcement(cases[i].before, &cases[i].wanted);
}

static void sbx_proxy_enforces_rules_about_connections(void)
{
	static const unsigned proxy = ENFORCED_BY_PROXY,
			      service = ENFORCED_BY_PROXY | ENFORCED_BY_SERVICE;
	static const char digest[] = "match: {syscall: net.connect}\n  action: allow\n"
				     "  constraints: {sha256: " DIGEST "}";
	const struct wanted cases[] = {
		{ "match: {syscall: net.connect, cidr: 10.0.0.0/8, ports: 443}\n  action: allow",
		  proxy, HELD, PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.connect, proto: [tcp, udp]}\n  action: warn", proxy, HELD,
		  PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.*, cidr: 127.0.0.0/8}\n  action: deny", proxy, HELD,
		  PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.*, proto: udp}\n  action: deny", proxy, HELD, PROBLEM_NONE,
		  0, NULL },
		{ "match: {syscall: net.connect, proto: udp}\n  action: allow", proxy, NARROWED,
		  PROBLEM_UDP, 4, NULL },
		{ "match: {syscall: net.*, host: a.example}\n  action: allow", proxy, NARROWED,
		  PROBLEM_BIND, 3, NULL },
		{ "match: {syscall: net.*, cidr: 127.0.0.1}\n  action: allow", proxy, HELD,
		  PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.connect}\n  action: require_review", proxy, NARROWED,
		  PROBLEM_REVIEW, 3, NULL },
		{ "match: {syscall: net.connect, caller: me}\n  action: require_review", service,
		  NARROWED, PROBLEM_UNSEEN, 4, "caller" },
		{ "match: {syscall: net.connect, state: s}\n  action: allow", ENFORCED_BY_SERVICE,
		  NARROWED, PROBLEM_UNSEEN, 4, "state" },
		{ "match: {syscall: net.connect, caller_tag: t}\n  action: deny", service, NARROWED,
		  PROBLEM_UNSEEN, 4, "caller_tag" },
		{ "match: {syscall: net.connect}\n  action: deny\n  except: [{mode: strict}]",
		  service, NARROWED, PROBLEM_UNSEEN, 6, "mode" },
		{ "match: {syscall: net.connect}\n  action: deny\n  except: [{host: a.example}]",
		  proxy, HELD, PROBLEM_NONE, 0, NULL },
		{ digest, proxy, NARROWED, PROBLEM_DIGEST, 3, NULL },
		{ "match: {syscall: net.bind, cidr: '::1'}\n  action: allow", ENFORCED_BY_NETNS,
		  HELD, PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.bind, cidr: 10.0.0.1}\n  action: allow", ENFORCED_BY_NETNS,
		  NARROWED, PROBLEM_BIND, 3, NULL },
		{ "match: {syscall: net.bind, cidr: 10.0.0.1}\n  action: deny", ENFORCED_BY_NETNS,
		  HELD, PROBLEM_NONE, 0, NULL },
		{ "match: {syscall: net.bind}\n  action: deny", proxy, REFUSED, PROBLEM_LOOPBACK, 3,
		  NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		expect_enforcement("net: {mode: proxy}\n", &cases[i]);
}

/* The rule can be about files, too, so what is said is about its network. */
static void a_network_mode_is_said_to_take_only_the_network(void)
{
	static const char *const cases[][2] = {
		{ "none", "rule 'r' grants no network" },
		{ "loopback", "rule 'r' grants no network outside the loopback" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		_cleanup_text_ struct text policy = TEXT_INIT, what = TEXT_INIT;
		struct rule_enforcement got;

		text_addf(&policy,
			  "net: {mode: %s}\ncapabilities:\n"
			  "- {name: r, match: {syscall: [fs.*, net.*]}, action: allow}\n",
			  cases[i][0]);
		rig_load(&rig, "p.yaml", text_string(&policy));
		got = rule_enforcement(rig.policy, &rig.policy->rules[0]);
		enforcement_add_what(&what, &got);
		expect_str(text_string(&what), cases[i][1]);
		expect(strstr(enforcement_fix(&got), "if it has other operations"));
	}
}

static void sbx_proxy_enforces_the_default_of_the_network(void)
{
	static const struct {
		const char *policy;
		unsigned layers;
		enum enforcement_problem problem;
	} cases[] = {
		{ "version: 1\ndefaults: {net: allow}\n", ENFORCED_BY_PROXY, PROBLEM_NONE },
		{ "version: 1\ndefaults: {net: warn}\n", ENFORCED_BY_PROXY, PROBLEM_NONE },
		{ "version: 1\ndefaults: {net: require_review}\n", ENFORCED_BY_PROXY,
		  PROBLEM_REVIEW },
		{ "version: 1\ndefaults: {net: deny}\nnet: {mode: proxy}\n", ENFORCED_BY_PROXY,
		  PROBLEM_NONE },
		{ "version: 1\nnet: {mode: none}\n", ENFORCED_BY_NETNS, PROBLEM_NONE },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		struct rule_enforcement got;
		struct net_choice choice;

		rig_load(&rig, "p.yaml", cases[i].policy);
		choice = policy_net_choice(rig.policy, NULL);
		got = default_enforcement(rig.policy, CLASS_NET);
		expect_eq(got.layers, cases[i].layers);
		expect_eq(got.problem, cases[i].problem);
		expect_eq(mode_enforcement(rig.policy, &choice).state, HELD);
	}
}

static void a_denied_name_stays_visible_and_the_text_tells_it(void)
{
	static const struct {
		const char *rule;
		const char *text;
	} cases[] = {
		{ "{name: r, match: {op: fs.*, path: /a}, action: deny}",
		  "enforced by mounts and Landlock; the name stays visible where its directory is "
		  "shown" },
		{ "{name: r, match: {op: fs.read, path: /a}, action: deny}",
		  "enforced by mounts and Landlock" },
		{ "{name: r, match: {op: fs.*, path: /a}, action: allow}",
		  "enforced by mounts and Landlock" },
		{ "{name: r, match: {op: fs.*, path: /a}, action: deny, except: [{op: fs.exists}]}",
		  "enforced by mounts and Landlock" },
		{ "{name: r, match: {op: fs.exists, path: /a}, action: deny}",
		  "refused by sbx-spawn of this version: a mount hides a file's content, but its "
		  "name stays visible in its directory" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		_cleanup_text_ struct text policy = TEXT_INIT, text = TEXT_INIT;
		struct rule_enforcement got;

		text_addf(&policy, "capabilities:\n- %s\n", cases[i].rule);
		rig_load(&rig, "p.yaml", text_string(&policy));
		got = rule_enforcement(rig.policy, &rig.policy->rules[0]);
		enforcement_add_text(&text, &got);
		expect_str(text_string(&text), cases[i].text);
	}
}

/* The network mode takes nothing from what a rule says of files, unless it refuses the rule. */
static void tells_what_enforces_a_rule_for_one_operation(void)
{
	static const struct {
		const char *mode, *operation;
		unsigned layers;
		enum enforcement_state state;
	} cases[] = {
		{ "none", "fs.read", ENFORCED_BY_VIEW, HELD },
		{ "none", "net.connect", ENFORCED_BY_NETNS, NARROWED },
		{ "none", "tool.call", ENFORCED_BY_SERVICE, HELD },
		{ "loopback", "exec", ENFORCED_BY_VIEW, HELD },
		{ "loopback", "net.bind", ENFORCED_BY_NETNS, NARROWED },
		{ "host", "fs.read", ENFORCED_BY_VIEW, HELD },
		{ "veth", "tool.call", ENFORCED_BY_SERVICE, HELD },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		_cleanup_text_ struct text policy = TEXT_INIT;
		struct rule_enforcement got;

		text_addf(&policy,
			  "net: {mode: %s}\ncapabilities:\n"
			  "- {name: r, match: {syscall: '*'}, action: allow}\n",
			  cases[i].mode);
		rig_load(&rig, "p.yaml", text_string(&policy));
		got = operation_enforcement(rig.policy, &rig.policy->rules[0],
					    operation_set(cases[i].operation));
		expect_eq(got.layers, cases[i].layers);
		expect_eq(got.state, cases[i].state);
	}
}

static void a_refusal_names_line_reason_and_what_to_type(void)
{
	static const struct {
		const char *policy;
		const char *what;
		const char *why;
		const char *fix;
	} cases[] = {
		{ "capabilities:\n- {name: src, match: {syscall: fs.read, path_glob: '*.c'},"
		  " action: allow}\n",
		  "p.yaml:2: rule 'src' has the pattern '*.c'", "need the broker", "name files" },
		{ "version: 1\nnet: {mode: veth}\n", "p.yaml:2: 'net.mode' is 'veth'",
		  "this release has none", "use the mode none" },
		{ "version: 1\ndefaults: {fs: warn}\n", "p.yaml:1: 'defaults.fs' says 'warn'",
		  "need the broker", "write 'allow' or 'deny'" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_rig_ struct rig rig = { .text = TEXT_INIT };
		struct sbx_error err = { .code = 0 };
		struct rule_enforcement got;
		struct net_choice choice;

		rig_load(&rig, "p.yaml", cases[i].policy);
		choice = policy_net_choice(rig.policy, NULL);
		got = rig.policy->n_rules > 0 ? rule_enforcement(rig.policy, &rig.policy->rules[0])
					      : default_enforcement(rig.policy, CLASS_FS);
		if (got.state == ENFORCEMENT_HELD)
			got = mode_enforcement(rig.policy, &choice);
		expect_eq(got.state, ENFORCEMENT_REFUSED);
		if (got.state != ENFORCEMENT_REFUSED)
			continue;
		expect_eq(enforcement_refuse(rig.policy, &got, &err), -EOPNOTSUPP);
		expect_eq(err.code, -EOPNOTSUPP);
		expect(strncmp(err.what, cases[i].what, strlen(cases[i].what)) == 0);
		expect(strstr(err.why, cases[i].why));
		expect(strstr(err.fix, cases[i].fix));
	}
}

static const struct test tests[] = {
	TEST(paths_are_enforced_by_mounts_and_landlock),
	TEST(a_rule_without_effect_has_no_layer),
	TEST(patterns_and_questions_need_the_broker),
	TEST(a_fact_that_only_a_tool_knows_narrows),
	TEST(the_network_is_enforced_by_its_mode),
	TEST(sbx_proxy_enforces_rules_about_connections),
	TEST(a_network_mode_is_said_to_take_only_the_network),
	TEST(sbx_proxy_enforces_the_default_of_the_network),
	TEST(a_denied_name_stays_visible_and_the_text_tells_it),
	TEST(tells_what_enforces_a_rule_for_one_operation),
	TEST(a_refusal_names_line_reason_and_what_to_type),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
