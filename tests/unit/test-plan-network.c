/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter/filter.h"
#include "kernel/kernel.h"
#include "plan-host.h"
#include "plan/plan-internal.h"

/* The plan has its own names for constants of lib/filter and lib/kernel. */
_Static_assert((int)VARIANT_INET == (int)FILTER_INET, "variant");
_Static_assert((int)VARIANT_NESTED == (int)FILTER_NESTED, "variant");
_Static_assert((int)VARIANT_NO_MEMFD_EXEC == (int)FILTER_NO_MEMFD_EXEC, "variant");
_Static_assert((int)VARIANT_PORTS == (int)FILTER_PORTS, "variant");
_Static_assert((int)VARIANT_NO_NAMESPACES == (int)FILTER_NO_NAMESPACES, "variant");
_Static_assert((int)VARIANT_NO_SHM == (int)FILTER_NO_SHM, "variant");
_Static_assert((int)VARIANT_LOOPBACK == (int)FILTER_LOOPBACK, "variant");
_Static_assert((int)VARIANT_PTRACE == (int)FILTER_PTRACE, "variant");
_Static_assert(LISTENERS_MAX == KERNEL_LISTENERS_MAX, "listeners");

/* Finds a step by the first field of its kind: a port. */
static const struct step *find_port(const struct planning *planning, enum step_kind kind,
				    uint64_t port)
{
	for (size_t i = 0; planning->plan && i < planning->plan->n_steps; i++) {
		const struct step *step = &planning->plan->steps[i];

		if (step->kind == kind &&
		    port == (kind == STEP_LISTEN ? step->listen.port : step->landlock_port.port))
			return step;
	}
	return NULL;
}

static void the_default_is_a_loopback_with_all_ports(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "loopback");
	expect(planning.plan->layers & LAYER_NET);
	expect(find_step(&planning, STEP_LOOPBACK, NULL));
	expect(!find_step(&planning, STEP_LISTEN, NULL));
	expect(!find_step(&planning, STEP_LANDLOCK_PORT, NULL));
	expect_eq(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants,
		  FILTER_INET | FILTER_LOOPBACK);
	expect_eq(the_step(&planning, STEP_LANDLOCK, NULL)->landlock.port_rights, 0);
}

static void a_template_and_a_policy_have_none(void)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		if (i == 0)
			planning.request.template = "code-executor";
		else
			planning_load(&planning, "version: 1\n");
		expect_plan(&planning);
		expect_str(planning.plan->net_mode, "none");
	}
}

static void ports_of_the_host_limit_no_others_on_a_loopback(void)
{
	static const struct request_port ports[] = { { .port = 8000, .bind = true },
						     { .port = 5432 } };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "version: 1\nnet: {mode: loopback, loopback: {connect: [80]}}\n");
	planning.request.ports = ports;
	planning.request.n_ports = 2;
	expect_plan(&planning);
	expect_str(find_port(&planning, STEP_LISTEN, 80)->listen.purpose, "connect");
	expect_str(find_port(&planning, STEP_LISTEN, 5432)->listen.purpose, "connect");
	expect_eq(planning.plan->n_inward, 1);
	expect(!find_step(&planning, STEP_LANDLOCK_PORT, NULL));
	expect_eq(the_step(&planning, STEP_LANDLOCK, NULL)->landlock.port_rights, 0);
	expect(!(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants & FILTER_PORTS));
}

static void refuses_what_a_loopback_cannot_keep(void)
{
	static const char *const rules[] = {
		"{name: r, match: {syscall: net.bind, ports: 80}, action: deny}",
		"{name: r, match: {syscall: net.*, cidr: 127.0.0.2}, action: deny}",
		"{name: r, match: {syscall: net.*, caller: me}, action: deny}",
		"{name: r, match: {syscall: net.connect}, action: warn}",
		"{name: r, match: {syscall: '*', host: localhost}, action: require_review}",
	};

	for (size_t i = 0; i < 2 * N_ELEMENTS(rules); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[512];

		(void)snprintf(policy, sizeof(policy), "capabilities:\n- %s\n%s\n", rules[i / 2],
			       i % 2 ? "net: {mode: loopback}" : "version: 1");
		planning_open(&planning);
		planning_load(&planning, policy);
		planning.request.net_mode = i % 2 ? NULL : "loopback";
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "p.yaml:2: rule 'r' cannot be enforced on the loopback",
			    "every address and port", "use the mode none"));
	}
}

static void rules_of_other_hosts_are_kept_by_a_loopback(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "net: {mode: loopback}\n"
		      "network_whitelist: [example.com]\n"
		      "capabilities:\n"
		      "- {name: d, match: {syscall: net.*, cidr: 10.0.0.0/8}, action: deny}\n"
		      "- {name: own, match: {syscall: net.*, cidr: '::1'}, action: allow}\n");
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "loopback");
	expect(has_notice(&planning,
			  "'network_whitelist[0]' grants no network outside the loopback"));
	expect(!has_notice(&planning, "'own'"));
}

static void without_a_namespace_there_is_no_loopback_of_its_own(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "none");
	expect(has_notice(&planning, "the network mode is none, not loopback"));
	expect(!(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants & FILTER_INET));
	planning.request.net_mode = "loopback";
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "no network namespace", "need one", "--net none"));
	planning.request.net_mode = NULL;
	planning_load(&planning, "version: 1\nnet: {mode: loopback}\n");
	expect_refusal(&planning, -EOPNOTSUPP);
}

static void none_has_no_sockets(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "none";
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "none");
	expect(!find_step(&planning, STEP_LOOPBACK, NULL));
	expect(!find_step(&planning, STEP_LISTEN, NULL));
	expect(!(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants & FILTER_INET));
	/* The second layer also refuses every port. */
	expect_eq(the_step(&planning, STEP_LANDLOCK, NULL)->landlock.port_rights, 3);
}

static bool has_variable(const struct planning *planning, const char *variable)
{
	for (char *const *at = planning->plan->environment; *at; at++)
		if (strcmp(*at, variable) == 0)
			return true;
	return false;
}

static void a_proxy_listens_on_the_port_that_is_asked_for(void)
{
	static const struct request_port taken = { .port = 3128, .bind = true };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "proxy";
	planning.request.proxy_port = 3128;
	expect_plan(&planning);
	expect_str(find_port(&planning, STEP_LISTEN, 3128)->listen.purpose, "proxy");
	expect(!find_port(&planning, STEP_LISTEN, 8080));
	expect(has_variable(&planning, "all_proxy=http://127.0.0.1:3128"));
	planning.request.ports = &taken;
	planning.request.n_ports = 1;
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "loopback ports", "the proxy listens on port 3128", "--proxy-port"));
}

static unsigned count_listeners(const struct planning *planning, const char *address)
{
	unsigned n = 0;

	for (size_t i = 0; i < planning->plan->n_steps; i++)
		n += planning->plan->steps[i].kind == STEP_LISTEN &&
		     strcmp(planning->plan->steps[i].listen.address, address) == 0;
	return n;
}

static void a_proxy_gets_two_listeners_and_the_command_its_address(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "proxy";
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LOOPBACK, NULL));
	expect_str(find_port(&planning, STEP_LISTEN, 8080)->listen.purpose, "proxy");
	expect_eq(count_listeners(&planning, LISTEN_IPV4), 1);
	expect_eq(count_listeners(&planning, LISTEN_IPV6), 1);
	/* The loopback inside is open, as in the mode loopback. */
	expect(!find_port(&planning, STEP_LANDLOCK_PORT, 8080));
	expect_eq(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants,
		  FILTER_INET | FILTER_LOOPBACK);
	expect(has_variable(&planning, "HTTPS_PROXY=http://127.0.0.1:8080"));
	expect(has_variable(&planning, "no_proxy=localhost,127.0.0.1,::1"));
	expect(has_variable(&planning,
			    "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=8080 "
			    "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=8080"));
	expect(planning.plan->layers & LAYER_NET);
}

/* Where the mode comes from makes no difference. */
static void the_mode_proxy_needs_neither_a_policy_nor_a_rule(void)
{
	static const char *const policies[] = { "net: {mode: proxy}\nversion: 1\n",
						"isolation: {template: ai-provider}\n",
						"version: 1\ndefaults: {net: allow}\n" };

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, policies[i]);
		expect_plan(&planning);
		expect_str(planning.plan->net_mode, "proxy");
	}
}

static void refuses_to_deny_the_loopback_inside_to_a_proxys_sandbox(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "net: {mode: proxy}\ncapabilities:\n"
				 "- {name: r, match: {syscall: net.bind}, action: deny}\n");
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "p.yaml:3: rule 'r' cannot be enforced on the loopback",
		    "in the modes loopback and proxy", "use the mode none"));
}

static void refuses_modes_of_a_later_release(void)
{
	static const char *const modes[] = { "veth", "transparent" };

	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning.request.net_mode = modes[i];
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning, "no network mode '",
			    "this release has none, loopback, proxy and host",
			    "use the mode none"));
		expect(strstr(planning.err.what, modes[i]));
	}
}

static void refuses_a_mode_that_is_none(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "bridge";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "no network mode 'bridge'", "the modes are", "name one of them"));
}

static void the_hosts_network_is_shared_with_a_warning(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.net_mode = "host";
	expect_plan(&planning);
	expect(!(planning.plan->layers & LAYER_NET));
	expect_eq(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants, FILTER_INET);
	expect_eq(the_step(&planning, STEP_LANDLOCK, NULL)->landlock.port_rights, 0);
	expect(has_notice(&planning, "network isolation"));
	expect(planning.plan->notices[0].is_weaker);
}

static void refuses_the_hosts_network_where_rules_speak_of_it(void)
{
	static const char *const rules[] = {
		"{name: r, match: {syscall: net.connect, cidr: 10.0.0.0/8}, action: deny}",
		"{name: r, match: {syscall: net.connect, host: example.com}, action: allow}",
		"{name: r, match: {syscall: net.*, ports: 443}, action: allow}",
		"{name: r, match: {syscall: net.*, caller: me}, action: deny}",
		"{name: r, match: {syscall: net.connect}, action: warn}",
		"{name: r, match: {syscall: net.*}, action: allow, except: [{ports: 25}]}",
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
		_cleanup_planning_ struct planning planning;
		char policy[512];

		(void)snprintf(policy, sizeof(policy), "capabilities:\n- %s\n", rules[i]);
		planning_open(&planning);
		planning_load(&planning, policy);
		planning.request.net_mode = "host";
		expect_refusal(&planning, -EOPNOTSUPP);
		expect(says(&planning,
			    "p.yaml:2: rule 'r' cannot be enforced on the host's network",
			    "every address that the host can", "use the mode none"));
	}
}

static void the_hosts_network_may_be_allowed_as_a_whole(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "net: {mode: host}\n"
		      "capabilities:\n"
		      "- {name: all, match: {syscall: net.*}, action: allow}\n"
		      "- {name: files, match: {syscall: '*', path: /etc/shadow}, action: deny}\n");
	expect_plan(&planning);
}

static void rules_of_the_network_without_a_mode_mean_the_proxy(void)
{
	static const char *const policies[] = {
		"version: 1\nnetwork_whitelist: [example.com]\n",
		"isolation: {template: code-executor}\nnetwork_whitelist: [example.com]\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(policies); i++) {
		_cleanup_planning_ struct planning planning;

		planning_open(&planning);
		planning_load(&planning, policies[i]);
		expect_plan(&planning);
		expect_str(planning.plan->net_mode, "proxy");
	}
}

static void rules_that_only_deny_need_no_proxy(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning,
		      "capabilities:\n"
		      "- {name: never, match: {syscall: net.*, cidr: 10.0.0.0/8}, action: deny}\n"
		      "- {name: tools, match: {syscall: '*', caller: me}, action: allow}\n");
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "none");
}

static void rules_of_the_network_grant_nothing_without_one(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "network_whitelist: [example.com]\nnet: {mode: none}\n");
	expect_plan(&planning);
	expect_str(planning.plan->net_mode, "none");
	expect(has_notice(&planning, "'network_whitelist[0]' grants no network here"));
}

static void ports_of_the_loopback_are_handed_through(void)
{
	static const struct request_port ports[] = { { .port = 8000, .bind = true },
						     { .port = 5432 } };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "net: {loopback: {connect: [5432, 6379], bind: [9000]}}\n"
				 "version: 1\n");
	planning.request.ports = ports;
	planning.request.n_ports = 2;
	expect_plan(&planning);
	expect(find_step(&planning, STEP_LOOPBACK, NULL));
	expect_str(find_port(&planning, STEP_LISTEN, 5432)->listen.purpose, "connect");
	expect_str(find_port(&planning, STEP_LISTEN, 6379)->listen.purpose, "connect");
	expect(!find_port(&planning, STEP_LISTEN, 9000));
	expect_eq(planning.plan->n_inward, 2);
	expect_eq(planning.plan->inward[0], 9000);
	expect_eq(planning.plan->inward[1], 8000);
	expect_eq(find_port(&planning, STEP_LANDLOCK_PORT, 6379)->landlock_port.rights, 2);
	expect_eq(find_port(&planning, STEP_LANDLOCK_PORT, 9000)->landlock_port.rights, 3);
	expect(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants & FILTER_INET);
}

static void refuses_ports_that_are_in_each_others_way(void)
{
	static const struct request_port both[] = { { .port = 8000, .bind = true },
						    { .port = 8000 } };
	static const struct request_port proxys[] = { { .port = 8080, .bind = true } };
	_cleanup_planning_ struct planning planning;
	struct request_port many[33];

	planning_open(&planning);
	planning.request.ports = both;
	planning.request.n_ports = 2;
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "loopback ports", "both --connect and --listen", "name it once"));
	planning.request.ports = proxys;
	planning.request.n_ports = 1;
	planning.request.net_mode = "proxy";
	expect_refusal(&planning, -EINVAL);
	expect(says(&planning, "loopback ports", "the proxy listens on port 8080", "another port"));
	planning.request.net_mode = NULL;
	for (size_t i = 0; i < N_ELEMENTS(many); i++)
		many[i] = (struct request_port){ .port = (uint16_t)(1000 + i) };
	planning.request.ports = many;
	planning.request.n_ports = 33;
	expect_refusal(&planning, -EINVAL);
	planning.request.n_ports = 32;
	expect_plan(&planning);
}

static void ports_mean_nothing_on_the_hosts_own_network(void)
{
	static const struct request_port port = { .port = 5432 };
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.request.ports = &port;
	planning.request.n_ports = 1;
	planning.request.net_mode = "host";
	expect_plan(&planning);
	expect(!find_step(&planning, STEP_LISTEN, NULL));
}

static void refuses_listeners_in_the_reduced_tier(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning.host.has_userns = false;
	planning.host.cgroup = "/sys/fs/cgroup/user";
	planning.host.has_cgroup_kill = true;
	planning.request.tier = "reduced";
	planning.request.net_mode = "proxy";
	expect_refusal(&planning, -EOPNOTSUPP);
	expect(says(&planning, "no network namespace", "need one", "--net none"));
	planning.request.net_mode = "none";
	expect_plan(&planning);
	planning.request.net_mode = "host";
	expect_plan(&planning);
}

static void system_calls_that_a_policy_denies_go_with_the_filter(void)
{
	_cleanup_planning_ struct planning planning;

	planning_open(&planning);
	planning_load(&planning, "antiEscape: {denySyscalls: [ptrace, bpf]}\nversion: 1\n");
	expect_plan(&planning);
	expect_str(planning.plan->deny_syscalls[0], "ptrace");
	expect_str(planning.plan->deny_syscalls[1], "bpf");
	expect(!planning.plan->deny_syscalls[2]);
	expect_eq(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants, FILTER_NO_MEMFD_EXEC);
	planning.policy = policy_free(planning.policy);
	planning_load(&planning, "denySyscalls: []\nisolation: {nested: true}\nversion: 1\n"
				 "defaults: {exec: allow}\n");
	expect_plan(&planning);
	expect(!planning.plan->deny_syscalls);
	expect_eq(the_step(&planning, STEP_SECCOMP, NULL)->seccomp.variants, FILTER_NESTED);
}

static const struct test tests[] = {
	TEST(the_default_is_a_loopback_with_all_ports),
	TEST(a_template_and_a_policy_have_none),
	TEST(ports_of_the_host_limit_no_others_on_a_loopback),
	TEST(refuses_what_a_loopback_cannot_keep),
	TEST(rules_of_other_hosts_are_kept_by_a_loopback),
	TEST(without_a_namespace_there_is_no_loopback_of_its_own),
	TEST(none_has_no_sockets),
	TEST(a_proxy_gets_two_listeners_and_the_command_its_address),
	TEST(a_proxy_listens_on_the_port_that_is_asked_for),
	TEST(the_mode_proxy_needs_neither_a_policy_nor_a_rule),
	TEST(refuses_to_deny_the_loopback_inside_to_a_proxys_sandbox),
	TEST(refuses_modes_of_a_later_release),
	TEST(refuses_a_mode_that_is_none),
	TEST(the_hosts_network_is_shared_with_a_warning),
	TEST(refuses_the_hosts_network_where_rules_speak_of_it),
	TEST(the_hosts_network_may_be_allowed_as_a_whole),
	TEST(rules_of_the_network_without_a_mode_mean_the_proxy),
	TEST(rules_that_only_deny_need_no_proxy),
	TEST(rules_of_the_network_grant_nothing_without_one),
	TEST(ports_of_the_loopback_are_handed_through),
	TEST(refuses_ports_that_are_in_each_others_way),
	TEST(ports_mean_nothing_on_the_hosts_own_network),
	TEST(refuses_listeners_in_the_reduced_tier),
	TEST(system_calls_that_a_policy_denies_go_with_the_filter),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
