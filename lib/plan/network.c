/* SPDX-License-Identifier: MIT */

/*
 * The network and the system call filter
 *
 * A new network namespace denies everything; single ports can be let through, each by a listener
 * that is created inside and passed to the supervisor, or to a proxy, which decides by the policy's
 * rules. On the loopback inside everything is open, and the host's network denies nothing, so a
 * policy that denies any of that is refused.
 *
 * The filter consists of a profile, its variant, and the policy's own denials.
 */

#include "plan/plan-internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "policy/enforcement.h"

/* ---- network modes: none, loopback, host, or a proxy's listeners inside ---- */

static const char *const proxy_addresses[] = { LISTEN_IPV4, LISTEN_IPV6 };
#define N_PROXY_LISTENERS N_ELEMENTS(proxy_addresses)
_Static_assert(N_PROXY_LISTENERS == PROXY_LISTENERS, "sbx-policy check counts them, too");

static bool is_using_inet(const struct planner *planner)
{
	return planner->chosen.net_mode != NET_NONE || planner->ports.n_rows > 0;
}

bool is_limiting_ports(const struct planner *planner)
{
	return planner->chosen.net_mode == NET_NONE && (planner->plan->layers & LAYER_LANDLOCK) &&
	       planner->host->landlock_abi >= 4;
}

uint16_t planner_proxy_port(const struct planner *planner)
{
	return planner->request->proxy_port ? planner->request->proxy_port : PROXY_PORT;
}

static bool is_known(const struct planner *planner, uint16_t port, bool bind)
{
	const struct request_port *ports = planner->ports.rows;

	for (size_t i = 0; i < planner->ports.n_rows; i++)
		if (ports[i].port == port && ports[i].bind == bind)
			return true;
	return false;
}

static void add_port(struct planner *planner, uint16_t port, bool bind)
{
	struct request_port *row;

	if (is_known(planner, port, bind))
		return;
	row = list_add(planner, &planner->ports, sizeof(*row));
	*row = (struct request_port){ .port = port, .bind = bind };
}

static void read_ports(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(planner->policy, "net.loopback.connect", i));
	     i++)
		add_port(planner, (uint16_t)item->number, false);
	for (size_t i = 0; (item = policy_get_item(planner->policy, "net.loopback.bind", i)); i++)
		add_port(planner, (uint16_t)item->number, true);
	for (size_t i = 0; i < request->n_ports; i++)
		add_port(planner, request->ports[i].port, request->ports[i].bind);
}

static int refuse_ports(struct planner *planner, const char *why, const char *fix)
{
	return planner_refuse(planner, -EINVAL, "cannot forward these loopback ports", why, fix);
}

/* A port inside can have one listener: the supervisor's for outgoing connections, or the command's
 * for incoming ones. */
static int check_ports(struct planner *planner)
{
	const struct request_port *ports = planner->ports.rows;
	uint16_t proxy_port = planner_proxy_port(planner);
	size_t n_listeners = planner->chosen.net_mode == NET_PROXY ? N_PROXY_LISTENERS : 0;

	for (size_t i = 0; i < planner->ports.n_rows; i++) {
		n_listeners += !ports[i].bind;
		if (ports[i].bind && is_known(planner, ports[i].port, false))
			return refuse_ports(planner,
					    "one port is named by both --connect and --listen",
					    "name it once");
		if (planner->chosen.net_mode == NET_PROXY && ports[i].port == proxy_port)
			return refuse_ports(planner,
					    planner_format(planner,
							   "the proxy listens on port %u inside",
							   proxy_port),
					    "use another port, or --proxy-port for the proxy");
	}
	if (n_listeners > LISTENERS_MAX)
		return refuse_ports(
			planner, "there are more than 32, with the two of sbx-proxy if it is used",
			"name fewer");
	return 0;
}

/* Refuses a setting that no option can override, with its line in the policy. */
static int check_policys_ports(struct planner *planner)
{
	struct rule_enforcement enforcement;

	if (!planner->policy)
		return 0;
	enforcement = ports_enforcement(planner->policy, planner->chosen.net_mode,
					planner_proxy_port(planner));
	return enforcement_refuse(planner->policy, &enforcement, planner->err);
}

static int check_rules(struct planner *planner, enum net_mode mode)
{
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		struct rule_enforcement enforcement =
			rule_net_enforcement(policy, &policy->rules[i], mode);
		int r = enforcement_refuse(policy, &enforcement, planner->err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int check_host_mode(struct planner *planner)
{
	int r = check_rules(planner, NET_HOST);

	if (r < 0)
		return r;
	planner_note(planner, "network isolation",
		     "the network mode is host: nothing is filtered, and the loopback is shared")
		->is_weaker = true;
	/* The manifest's author asked for network access, not for the host's network. */
	if (planner->policy && planner->policy->dialect == DIALECT_MANIFEST)
		planner_advise(planner, "the command can reach whatever the host can reach",
			       "the manifest allows network access, and no filter applies to it",
			       "--net loopback closes it")
			->is_hint = true;
	return 0;
}

/* Names the line of the policy if that chose the mode. */
static int refuse_mode(struct planner *planner)
{
	const struct spawn_request *request = planner->request;
	struct net_choice choice = policy_net_choice(planner->policy, request->template);
	struct rule_enforcement enforcement;
	int r = 0;

	if (!request->net_mode && choice.is_of_policy) {
		enforcement = mode_enforcement(planner->policy, &choice);
		r = enforcement_refuse(planner->policy, &enforcement, planner->err);
	}
	return r < 0 ? r
		     : error_fill(planner->err, -EOPNOTSUPP,
				  "this release has none, loopback, proxy and host",
				  "use the mode none", "there is no network mode '%s' yet",
				  net_mode_name(planner->chosen.net_mode));
}

/* Notes allow rules that have no effect in this mode. */
static void note_unused_rules(struct planner *planner, enum net_mode mode)
{
	bool is_loopback = mode == NET_LOOPBACK;
	const struct policy *policy = planner->policy;

	for (size_t i = 0; policy && i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		struct step_origin origin;

		if (rule_net_enforcement(policy, rule, mode).state == ENFORCEMENT_HELD)
			continue;
		origin = origin_of_rule(planner, rule);
		planner_note(planner,
			     planner_format(planner, "%s grants no network %s",
					    origin_text(&origin),
					    is_loopback ? "outside the loopback" : "here"),
			     is_loopback ? "the network mode is loopback"
					 : "the network mode is none");
	}
}

/* Without namespaces every loopback address is the host's. A default of loopback becomes none,
 * which grants less; check_reduced() refuses a mode that was asked for. */
static void narrow_default(struct planner *planner)
{
	if (planner->plan->tier == TIER_FULL || planner->chosen.net_mode != NET_LOOPBACK ||
	    planner->policy || planner->request->net_mode || planner->request->template)
		return;
	planner->chosen.net_mode = NET_NONE;
	planner_note(planner, "the network mode is none, not loopback",
		     "in the reduced tier the only loopback is the host's");
}

static int check_reduced(struct planner *planner)
{
	if (planner->plan->tier == TIER_FULL ||
	    (planner->chosen.net_mode != NET_PROXY && planner->chosen.net_mode != NET_LOOPBACK &&
	     planner->ports.n_rows == 0))
		return 0;
	return planner_refuse(planner, -EOPNOTSUPP, "the reduced tier has no network namespace",
			      "a private loopback, a proxy and forwarded ports need one",
			      "use --net none or --net host, or a host with user namespaces");
}

static int check_mode(struct planner *planner, enum net_mode mode)
{
	if (mode == NET_VETH || mode == NET_TRANSPARENT)
		return refuse_mode(planner);
	if (mode == NET_HOST)
		return check_host_mode(planner);
	read_ports(planner);
	return check_policys_ports(planner);
}

int choose_network(struct planner *planner)
{
	enum net_mode mode;
	int r;

	narrow_default(planner);
	mode = planner->chosen.net_mode;
	r = check_mode(planner, mode);
	if (r < 0)
		return r;
	if (mode == NET_LOOPBACK || mode == NET_PROXY) {
		r = check_rules(planner, mode);
		if (r < 0)
			return r;
	}
	if (mode == NET_NONE || mode == NET_LOOPBACK)
		note_unused_rules(planner, mode);
	r = check_ports(planner);
	if (r < 0)
		return r;
	r = check_reduced(planner);
	if (r < 0)
		return r;
	if (planner->policy && mode == NET_NONE && planner->ports.n_rows > 0)
		planner_note(planner,
			     "UDP sockets can be used on the private loopback, whatever the policy "
			     "says",
			     "forwarded ports need a loopback; it reaches nothing outside");
	return 0;
}

int mark_sockets(struct planner *planner)
{
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(planner->policy, "net.unix", i)); i++) {
		struct mark *mark =
			planner_add_mark(planner, MARK_ALLOW,
					 planner_project_path(planner, item->text), RIGHTS_FILES,
					 origin_of_setting(planner, item));

		mark->content = CONTENT_SOCKET;
		mark->flags = MARK_ASKED | MARK_RULED;
	}
	return 0;
}

static void add_inward(struct planner *planner, uint16_t port)
{
	struct plan *plan = planner->plan;
	uint16_t *ports = (uint16_t *)(uintptr_t)plan->inward;

	if (!ports)
		ports = planner_alloc(planner, planner->ports.n_rows * sizeof(*ports));
	if (!ports)
		return;
	ports[plan->n_inward++] = port;
	plan->inward = ports;
}

struct step_origin origin_of_port(struct planner *planner, uint16_t port, bool bind)
{
	const char *list = bind ? "net.loopback.bind" : "net.loopback.connect";
	const struct setting *item;

	for (size_t i = 0; (item = policy_get_item(planner->policy, list, i)); i++)
		if (item->number == port)
			return origin_of_setting(planner, item);
	return origin_of_option(planner, bind ? "--listen" : "--connect");
}

static void add_listener(struct planner *planner, const char *address, uint16_t port,
			 const char *what, struct step_origin origin)
{
	struct step *step = planner_add_step(planner, STEP_LISTEN, origin);

	step->listen = (struct step_listen){ .address = address, .port = port, .purpose = what };
}

void add_network(struct planner *planner)
{
	const struct request_port *ports = planner->ports.rows;
	struct step_origin of_proxy = planner->request->proxy_port != 0
					      ? origin_of_option(planner, "--proxy-port")
					      : origin_built_in;

	if (!is_using_inet(planner) || planner->chosen.net_mode == NET_HOST)
		return;
	planner_add_step(planner, STEP_LOOPBACK, origin_built_in);
	for (size_t i = 0; planner->chosen.net_mode == NET_PROXY && i < N_PROXY_LISTENERS; i++)
		add_listener(planner, proxy_addresses[i], planner_proxy_port(planner), "proxy",
			     of_proxy);
	for (size_t i = 0; i < planner->ports.n_rows; i++) {
		if (ports[i].bind)
			add_inward(planner, ports[i].port);
		else
			add_listener(planner, LISTEN_IPV4, ports[i].port, "connect",
				     origin_of_port(planner, ports[i].port, false));
	}
}

/* ---- the filter ---- */

/* Copies the NULL-terminated list: the policy is freed before the plan. */
static void copy_denied(struct planner *planner)
{
	uint64_t n = policy_get_number(planner->policy, "denySyscalls");
	const struct setting *item;
	const char **names;

	if (n == 0)
		return;
	names = planner_alloc(planner, (n + 1) * sizeof(*names));
	for (size_t i = 0; names && (item = policy_get_item(planner->policy, "denySyscalls", i));
	     i++)
		names[i] = planner_keep(planner, item->text);
	planner->plan->deny_syscalls = names;
}

/* Is RLIMIT_DATA, which does not count shared memory, all that bounds the memory of a strict
 * template? */
static bool is_memory_private(const struct planner *planner)
{
	const struct plan_limit *memory = &planner->plan->limits[LIMIT_MEMORY];

	return strcmp(planner->chosen.template->profile, "strict") == 0 && memory->is_set &&
	       memory->holder == HELD_BY_RLIMIT;
}

static int refuse_ptrace(struct planner *planner, const char *why, const char *fix)
{
	return planner_refuse(planner, -EOPNOTSUPP, "cannot let the command trace its children",
			      why, fix);
}

/*
 * Landlock restricts ptrace to the tracer's own domain: it protects the host's processes and those
 * of sbx-ctl exec; PID 1, which is in that domain, is not dumpable. Without Landlock the command
 * could trace a process of sbx-ctl exec, and without a pid namespace it could address all processes
 * of the host.
 */
int check_ptrace(struct planner *planner)
{
	const struct setting *item;

	if (!planner->request->ptrace)
		return 0;
	if (strcmp(planner->chosen.profile, "strict") == 0)
		return refuse_ptrace(planner, "the profile 'strict' has no processes to trace",
				     "use the profile 'standard', or leave --ptrace out");
	if (planner->plan->tier == TIER_REDUCED)
		return refuse_ptrace(
			planner, "in the reduced tier the command shares the host's PID namespace",
			"use a host with user namespaces, or leave --ptrace out");
	if (planner->chosen.is_nested)
		return refuse_ptrace(
			planner,
			"'isolation.nested' excludes Landlock, which prevents the command from tracing what 'sbx-ctl exec' runs",
			"leave --ptrace or 'isolation.nested' out");
	for (size_t i = 0; (item = policy_get_item(planner->policy, "denySyscalls", i)); i++)
		if (strcmp(item->text, "ptrace") == 0)
			return refuse_ptrace(planner, "the policy denies it: 'denySyscalls'",
					     "leave --ptrace out, or 'ptrace' in the policy");
	planner_note(planner, "ptrace of its own children: allowed",
		     "--ptrace; strace and gdb work inside");
	return 0;
}

/* The first grant of write access by a policy or an option, or NULL. */
static const struct mark *find_writing(const struct planner *planner)
{
	struct mark *const *marks = planner->view.marks.rows;

	for (size_t i = 0; i < planner->view.marks.n_rows; i++)
		if (marks[i]->kind == MARK_ALLOW && (marks[i]->rights & RIGHT_WRITE) &&
		    !(marks[i]->flags & (MARK_OURS | MARK_DROPPED)) &&
		    marks[i]->origin.kind != ORIGIN_BUILT_IN)
			return marks[i];
	return NULL;
}

/* A notice: Landlock and mounts would permit writing, but the strict profile does not, and
 * sbx-policy eval does not know the profile. */
static void note_strict(struct planner *planner)
{
	const struct mark *mark =
		strcmp(planner->chosen.profile, "strict") == 0 ? find_writing(planner) : NULL;

	if (mark)
		planner_note(planner,
			     planner_format(planner,
					    "%s grants writing, but no file can be written",
					    origin_text(&mark->origin)),
			     "the system call profile 'strict' has no calls that open a file for "
			     "writing, create, rename or remove one");
}

void add_filter(struct planner *planner)
{
	struct step *step = planner_add_step(planner, STEP_SECCOMP, planner->chosen.profile_origin);
	const struct plan *plan = planner->plan;
	bool inet = is_using_inet(planner);
	bool limits_exec = is_limiting_exec(planner) && !decided_exec_everywhere(planner);

	step->seccomp.profile = planner->chosen.profile;
	step->seccomp.variants = (inet ? VARIANT_INET : 0) |
				 (inet && (plan->layers & LAYER_NET) ? VARIANT_LOOPBACK : 0) |
				 (inet && is_limiting_ports(planner) ? VARIANT_PORTS : 0) |
				 (planner->chosen.is_nested ? VARIANT_NESTED : 0) |
				 (limits_exec ? VARIANT_NO_MEMFD_EXEC : 0) |
				 (plan->tier == TIER_REDUCED ? VARIANT_NO_NAMESPACES : 0) |
				 (is_memory_private(planner) ? VARIANT_NO_SHM : 0) |
				 (planner->request->ptrace ? VARIANT_PTRACE : 0);
	note_strict(planner);
	copy_denied(planner);
}
