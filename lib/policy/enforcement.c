/* SPDX-License-Identifier: MIT */

/*
 * The layer that can enforce a rule
 *
 * The kernel can check a path and the paths below it, and its answers are yes or no. A rule that
 * needs more is narrowed if that gives the command less: an allow that depends on a caller or a
 * token grants nothing, a deny that depends on one always applies. sbx-proxy decides about hosts.
 * Patterns, 'warn' and 'require_review' about files need the broker, which opens files in the
 * supervisor; a policy that needs it is refused until it exists.
 */

#include "policy/enforcement.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/glob.h"
#include "policy/view.h"

bool match_key_is_unseen(enum match_key key)
{
	return key == MATCH_CALLER || key == MATCH_TAG || key == MATCH_STATE || key == MATCH_MODE;
}

enum match_key condition_unseen_key(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (match_key_is_unseen((enum match_key)key) && condition->lists[key].present)
			return (enum match_key)key;
	return N_MATCH_KEYS;
}

static bool condition_has_empty_list(const struct condition *condition)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (condition->lists[key].present && condition->lists[key].n_values == 0)
			return true;
	return false;
}

bool condition_can_hold_for_files(const struct condition *condition)
{
	const struct match_list *lists = condition->lists;

	return !lists[MATCH_HOST].present && !lists[MATCH_CIDR].present &&
	       !lists[MATCH_PORT].present && !lists[MATCH_PROTO].present &&
	       !condition_has_empty_list(condition);
}

enum unmet_constraint constraints_unmet(const struct constraints *constraints, const char *level)
{
	const char *wanted = constraints->require_sandbox;

	if (constraints->require_token)
		return UNMET_TOKEN;
	if (wanted && level && strcmp(level, wanted) < 0)
		return UNMET_LEVEL;
	return constraints->sha256 ? UNMET_DIGEST : UNMET_NONE;
}

const char *unmet_constraint_name(enum unmet_constraint unmet)
{
	static const char *const names[] = {
		[UNMET_TOKEN] = "capability token",
		[UNMET_LEVEL] = "inner sandbox",
		[UNMET_DIGEST] = "program's digest",
	};

	return names[unmet];
}

bool policy_is_nested(const struct policy *policy)
{
	return policy_get_number(policy, "isolation.nested");
}

const char *policy_sandbox_level(const struct policy *policy)
{
	return policy_is_nested(policy) ? "L1" : "L2";
}

bool path_is_of_reader(const char *path)
{
	static const char *const links[] = { "/proc/self", "/proc/thread-self" };

	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		if (path_is_at_or_below(path, links[i]))
			return true;
	return false;
}

/* ---- values and conditions ---- */

static bool can_hold_for_network(const struct condition *condition)
{
	return !condition->lists[MATCH_PATH].present && !condition_has_empty_list(condition);
}

static enum unmet_constraint find_unmet(const struct policy *policy, const struct rule *rule)
{
	return constraints_unmet(&rule->constraints, policy_sandbox_level(policy));
}

bool value_is_path(const struct match_value *value, uint64_t operations)
{
	struct glob glob;

	if (glob_parse(value->text, value->literal, &glob, NULL) < 0)
		return false;
	/* A bare name matches in any directory: below the project as a glob, anywhere for exec. */
	if (glob.bare && (!value->literal || (operations & operation_set("exec"))))
		return false;
	return glob_is_literal(&glob);
}

/* The first value that is not a path. A '!' glob of an exception counts as a pattern: mounts and
 * Landlock cannot exclude a path from an exception. */
static const struct match_value *find_pattern(const struct condition *condition,
					      uint64_t operations, bool is_exception)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++) {
		const struct match_value *value = &list->values[i];

		if (!value_is_path(value, operations) ||
		    (is_exception && match_value_excludes(value)))
			return value;
	}
	return NULL;
}

/* ---- rules ---- */

static struct rule_enforcement begin(const struct rule *rule)
{
	return (struct rule_enforcement){ .subject = rule->name,
					  .is_rule = true,
					  .place = rule->place };
}

static void set_problem(struct rule_enforcement *ret, enum enforcement_state state,
			enum enforcement_problem problem, const char *detail,
			struct policy_place place)
{
	ret->state = state;
	ret->problem = problem;
	ret->detail = detail;
	ret->place = place;
}

static void narrow(struct rule_enforcement *ret, enum enforcement_problem problem,
		   const char *detail, struct policy_place place)
{
	if (problem == PROBLEM_UNSEEN)
		ret->layers |= ENFORCED_BY_SERVICE;
	if (ret->state == ENFORCEMENT_HELD)
		set_problem(ret, ENFORCEMENT_NARROWED, problem, detail, place);
}

static void refuse_pattern(struct rule_enforcement *ret, const struct match_value *pattern)
{
	ret->layers = (ret->layers & ~(unsigned)ENFORCED_BY_VIEW) | ENFORCED_BY_BROKER;
	set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_PATTERN, pattern->text, pattern->place);
}

/* Narrows a rule that depends on a fact unknown to the kernel. True if the rule is an allow and so
 * grants nothing. */
static bool narrow_unseen(const struct policy *policy, const struct rule *rule,
			  struct rule_enforcement *ret)
{
	enum match_key key = condition_unseen_key(&rule->match);
	enum unmet_constraint unmet = find_unmet(policy, rule);
	/* What needs a review is not allowed: it is a denial where none can be asked for. */
	bool allows = policy_permits(rule->action);
	/* The broker will compare the digest. */
	const char *constraint = unmet == UNMET_DIGEST ? NULL : unmet_constraint_name(unmet);

	if (key != N_MATCH_KEYS)
		narrow(ret, PROBLEM_UNSEEN, match_key_name(key), rule->match.lists[key].place);
	else if (allows && constraint)
		narrow(ret, PROBLEM_UNSEEN, constraint, rule->place);
	return allows && (key != N_MATCH_KEYS || constraint);
}

/*
 * Returns the subset of @operations that no exception removes for every path. An exception that
 * depends on a fact unknown to the kernel always applies to an allow, and never to a deny.
 */
static uint64_t judge_exceptions(const struct rule *rule, uint64_t operations,
				 struct rule_enforcement *ret)
{
	uint64_t left = operations;

	for (size_t i = 0; i < rule->n_exceptions && ret->state != ENFORCEMENT_REFUSED; i++) {
		const struct condition *exception = &rule->exceptions[i];
		uint64_t own =
			exception->operations ? operations & exception->operations : operations;
		enum match_key key = condition_unseen_key(exception);
		const struct match_value *pattern;

		if (own == 0 || !condition_can_hold_for_files(exception))
			continue;
		if (key != N_MATCH_KEYS)
			narrow(ret, PROBLEM_UNSEEN, match_key_name(key), exception->place);
		if (key != N_MATCH_KEYS && rule->action == POLICY_DENY)
			continue;
		if (!exception->lists[MATCH_PATH].present)
			left &= ~own;
		pattern = find_pattern(exception, own, true);
		if (pattern)
			refuse_pattern(ret, pattern);
	}
	return left;
}

/* If the default allows, an allow whose constraint no command meets acts as a denial of its
 * paths. */
static const struct match_value *find_denying_pattern(const struct policy *policy,
						      const struct rule *rule, uint64_t operations)
{
	bool is_out_of_reach = find_unmet(policy, rule) != UNMET_NONE;
	bool is_allowed_anyway = ((operations & operation_set("fs.*")) &&
				  policy->defaults[CLASS_FS] == POLICY_ALLOW) ||
				 ((operations & operation_set("exec")) &&
				  policy->defaults[CLASS_EXEC] == POLICY_ALLOW);

	if (rule->action != POLICY_ALLOW || !is_out_of_reach || !is_allowed_anyway)
		return NULL;
	return find_pattern(&rule->match, operations, false);
}

/* The first value (other than a '!' glob) at or below /proc/self. */
static const struct match_value *find_reader(const struct condition *condition)
{
	const struct match_list *list = &condition->lists[MATCH_PATH];

	for (size_t i = 0; i < list->n_values; i++)
		if (path_is_of_reader(list->values[i].text))
			return &list->values[i];
	return NULL;
}

/* Refuses a rule that neither a mount nor Landlock can enforce for these operations. */
static void refuse_unheld(const struct rule *rule, uint64_t operations,
			  struct rule_enforcement *ret)
{
	const struct match_value *pattern = find_pattern(&rule->match, operations, false);
	const struct match_value *reader = find_reader(&rule->match);

	if (pattern)
		refuse_pattern(ret, pattern);
	else if (rule->action == POLICY_DENY && reader)
		set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_READER, reader->text, reader->place);
	else if (rule->action == POLICY_DENY && operations == operation_set("fs.exists"))
		set_problem(ret, ENFORCEMENT_REFUSED, PROBLEM_NAME, NULL, rule->place);
}

struct rule_enforcement rule_file_enforcement(const struct policy *policy, const struct rule *rule)
{
	uint64_t operations = rule->match.operations & view_file_operations();
	struct rule_enforcement ret = begin(rule);
	const struct match_value *pattern;

	if (rule->action == POLICY_PASS || operations == 0 ||
	    !condition_can_hold_for_files(&rule->match))
		return ret;
	if (rule->action == POLICY_WARN || rule->action == POLICY_REVIEW) {
		ret.layers = ENFORCED_BY_BROKER;
		set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_ACTION,
			    policy_action_name(rule->action), rule->place);
		return ret;
	}
	/* An allow of a narrowing file grants nothing by itself. */
	if (rule->action == POLICY_ALLOW && policy->sources[rule->place.source].narrows)
		return ret;
	pattern = find_denying_pattern(policy, rule, operations);
	if (pattern) {
		refuse_pattern(&ret, pattern);
		return ret;
	}
	if (narrow_unseen(policy, rule, &ret))
		return ret;
	if (rule->action == POLICY_ALLOW && rule->constraints.sha256) {
		ret.layers = ENFORCED_BY_BROKER;
		narrow(&ret, PROBLEM_DIGEST, NULL, rule->place);
		return ret;
	}
	ret.layers |= ENFORCED_BY_VIEW;
	operations = judge_exceptions(rule, operations, &ret);
	if (operations && ret.state != ENFORCEMENT_REFUSED)
		refuse_unheld(rule, operations, &ret);
	ret.leaves_name = rule->action == POLICY_DENY && operations & operation_set("fs.exists");
	return ret;
}

static bool is_about_network(const struct rule *rule)
{
	return rule->action != POLICY_PASS && (rule->match.operations & operation_set("net.*")) &&
	       can_hold_for_network(&rule->match);
}

static bool allows_everything(const struct rule *rule)
{
	for (int key = 0; key < N_MATCH_KEYS; key++)
		if (rule->match.lists[key].present)
			return false;
	return rule->action == POLICY_ALLOW && rule->n_exceptions == 0;
}

bool rule_grants_network(const struct policy *policy, const struct rule *rule)
{
	return is_about_network(rule) && rule->action != POLICY_DENY &&
	       !policy->sources[rule->place.source].narrows &&
	       condition_unseen_key(&rule->match) == N_MATCH_KEYS &&
	       (find_unmet(policy, rule) == UNMET_NONE || find_unmet(policy, rule) == UNMET_DIGEST);
}

/* In the mode loopback the whole loopback is open, and no other host can be reached. */
static struct rule_enforcement loopback_enforcement(const struct policy *policy,
						    const struct rule *rule)
{
	struct rule_enforcement ret = begin(rule);

	ret.layers = ENFORCED_BY_NETNS;
	if (rule->action != POLICY_ALLOW && net_loopback_meets(&rule->match)) {
		ret.layers = ENFORCED_BY_PROXY;
		set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_LOOPBACK, NULL, rule->place);
		return ret;
	}
	if (rule->action != POLICY_DENY && !narrow_unseen(policy, rule, &ret) &&
	    !net_loopback_contains(&rule->match))
		narrow(&ret, PROBLEM_BEYOND_LOOPBACK, NULL, rule->place);
	return ret;
}

/* The first exception that depends on a fact unknown to the proxy: an allow then always has it, and
 * a deny never. */
static void narrow_exceptions(const struct rule *rule, struct rule_enforcement *ret)
{
	for (size_t i = 0; i < rule->n_exceptions; i++) {
		const struct condition *exception = &rule->exceptions[i];
		enum match_key key = condition_unseen_key(exception);

		if (key != N_MATCH_KEYS && can_hold_for_network(exception))
			narrow(ret, PROBLEM_UNSEEN, match_key_name(key), exception->place);
	}
}

static bool is_about_tcp(const struct condition *condition)
{
	const struct match_list *protocols = &condition->lists[MATCH_PROTO];

	for (size_t i = 0; i < protocols->n_values; i++)
		if (strcmp(protocols->values[i].text, "tcp") == 0)
			return true;
	return !protocols->present;
}

/*
 * sbx-proxy connects to other hosts by TCP, and a listener inside is reached only from inside. The
 * loopback inside is open; so a rule about listening alone is enforced as in the mode loopback.
 */
static struct rule_enforcement proxy_enforcement(const struct policy *policy,
						 const struct rule *rule)
{
	struct rule_enforcement ret = begin(rule);

	if (!(rule->match.operations & operation_set("net.connect"))) {
		ret = loopback_enforcement(policy, rule);
		if (ret.problem == PROBLEM_BEYOND_LOOPBACK)
			ret.problem = PROBLEM_BIND;
		return ret;
	}
	if (narrow_unseen(policy, rule, &ret))
		return ret;
	ret.layers |= ENFORCED_BY_PROXY;
	narrow_exceptions(rule, &ret);
	if (rule->action == POLICY_REVIEW)
		narrow(&ret, PROBLEM_REVIEW, NULL, rule->place);
	if (!policy_permits(rule->action))
		return ret;
	if (rule->constraints.sha256)
		narrow(&ret, PROBLEM_DIGEST, NULL, rule->place);
	if (!is_about_tcp(&rule->match))
		narrow(&ret, PROBLEM_UDP, NULL, rule->match.lists[MATCH_PROTO].place);
	if ((rule->match.operations & operation_set("net.bind")) &&
	    !net_loopback_contains(&rule->match))
		narrow(&ret, PROBLEM_BIND, NULL, rule->place);
	return ret;
}

struct rule_enforcement rule_net_enforcement(const struct policy *policy, const struct rule *rule,
					     enum net_mode mode)
{
	struct rule_enforcement ret = begin(rule);

	if (!is_about_network(rule))
		return ret;
	if (mode == NET_HOST) {
		ret.layers = ENFORCED_BY_NETNS;
		if (!allows_everything(rule)) {
			ret.layers = ENFORCED_BY_PROXY;
			set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_HOST_NETWORK, NULL,
				    rule->place);
		}
		return ret;
	}
	if (mode == NET_LOOPBACK)
		return loopback_enforcement(policy, rule);
	if (mode == NET_NONE) {
		ret.layers = ENFORCED_BY_NETNS;
		/* Without a network every denial holds, whatever its conditions. */
		if (rule->action != POLICY_DENY && !narrow_unseen(policy, rule, &ret))
			narrow(&ret, PROBLEM_NO_NETWORK, NULL, rule->place);
		return ret;
	}
	return proxy_enforcement(policy, rule);
}

struct rule_enforcement rule_enforcement(const struct policy *policy, const struct rule *rule)
{
	struct rule_enforcement files = rule_file_enforcement(policy, rule);
	struct rule_enforcement network =
		rule_net_enforcement(policy, rule, policy_net_mode(policy));
	unsigned layers = files.layers | network.layers;
	bool is_for_tools =
		rule->match.operations & ~(view_file_operations() | operation_set("net.*"));
	struct rule_enforcement ret = network.state > files.state ? network : files;

	if (is_for_tools && rule->action != POLICY_PASS)
		layers |= ENFORCED_BY_SERVICE;
	ret.layers = layers;
	return ret;
}

struct rule_enforcement operation_enforcement(const struct policy *policy, const struct rule *rule,
					      uint64_t operation)
{
	struct rule_enforcement ret = rule_enforcement(policy, rule);

	if (ret.state == ENFORCEMENT_REFUSED || !(rule->match.operations & operation))
		return ret;
	if (operation & operation_set("net.*"))
		return rule_net_enforcement(policy, rule, policy_net_mode(policy));
	if (operation & view_file_operations())
		return rule_file_enforcement(policy, rule);
	ret = begin(rule);
	ret.layers = rule->action == POLICY_PASS ? 0 : ENFORCED_BY_SERVICE;
	return ret;
}

/* ---- defaults, modes and settings ---- */

/* The model does not store the place of a default. */
static const struct policy_place whole_file = { .source = 0, .at = { 1, 1 } };

struct rule_enforcement default_enforcement(const struct policy *policy, enum operation_class kind)
{
	static const struct rule_enforcement kinds[] = {
		[CLASS_FS] = { .subject = "defaults.fs", .layers = ENFORCED_BY_VIEW },
		[CLASS_NET] = { .subject = "defaults.net", .layers = ENFORCED_BY_NETNS },
		[CLASS_EXEC] = { .subject = "defaults.exec", .layers = ENFORCED_BY_VIEW },
		[CLASS_TOOL] = { .subject = "defaults.tool", .layers = ENFORCED_BY_SERVICE },
	};
	struct rule_enforcement ret = kinds[kind];
	enum policy_action action = policy->defaults[kind];

	if (kind == CLASS_NET && net_mode_has_proxy(policy_net_mode(policy))) {
		ret.layers = ENFORCED_BY_PROXY;
		if (action == POLICY_REVIEW)
			narrow(&ret, PROBLEM_REVIEW, NULL, whole_file);
	}
	if (ret.layers != ENFORCED_BY_VIEW || (action != POLICY_WARN && action != POLICY_REVIEW))
		return ret;
	ret.layers = ENFORCED_BY_BROKER;
	set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_ACTION, policy_action_name(action),
		    whole_file);
	return ret;
}

struct rule_enforcement mode_enforcement(const struct policy *policy,
					 const struct net_choice *choice)
{
	const struct setting *setting = choice->setting;
	struct rule_enforcement ret = { .layers = ENFORCED_BY_NETNS };

	if (choice->mode == NET_NONE || choice->mode == NET_LOOPBACK || choice->mode == NET_HOST)
		return ret;
	ret.layers = ENFORCED_BY_PROXY;
	/* Only a setting chooses another mode. */
	if (choice->mode == NET_PROXY || !setting)
		return ret;
	ret.subject = setting->path;
	set_problem(&ret, ENFORCEMENT_REFUSED, PROBLEM_NET_MODE, setting->text, setting->place);
	return ret;
}

static struct rule_enforcement refuse_setting(const struct setting *setting,
					      enum enforcement_problem problem)
{
	struct rule_enforcement ret = { .subject = setting->path };

	set_problem(&ret, ENFORCEMENT_REFUSED, problem, setting->text, setting->place);
	return ret;
}

struct rule_enforcement hostname_enforcement(const struct policy *policy)
{
	const struct setting *setting = policy_get_setting(policy, "hostname");

	if (setting && strlen(setting->text) > HOST_NAME_MAX)
		return refuse_setting(setting, PROBLEM_HOSTNAME);
	return (struct rule_enforcement){ .state = ENFORCEMENT_HELD };
}

struct rule_enforcement ports_enforcement(const struct policy *policy, enum net_mode mode,
					  uint16_t proxy_port)
{
	size_t n = net_mode_has_proxy(mode) ? PROXY_LISTENERS : 0;
	bool is_connected[UINT16_MAX + 1] = { false };

	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];

		if (!setting_below(setting, "net.loopback.connect["))
			continue;
		n += !is_connected[setting->number & UINT16_MAX];
		is_connected[setting->number & UINT16_MAX] = true;
		if (n > LOOPBACK_PORTS_MAX)
			return refuse_setting(setting, PROBLEM_PORTS);
	}
	for (size_t i = 0; i < policy->n_settings; i++) {
		const struct setting *setting = &policy->settings[i];
		bool is_bound = setting_below(setting, "net.loopback.bind[");

		if (is_bound && is_connected[setting->number & UINT16_MAX])
			return refuse_setting(setting, PROBLEM_PORT_TWICE);
		if (net_mode_has_proxy(mode) && setting->number == proxy_port &&
		    (is_bound || setting_below(setting, "net.loopback.connect[")))
			return refuse_setting(setting, PROBLEM_PROXY_PORT);
	}
	return (struct rule_enforcement){ .state = ENFORCEMENT_HELD };
}

/* ---- the texts ---- */

#define THE_BROKER "the broker, which this release does not have"
#define NO_NETWORK_FIX                                                                             \
	"remove it (if it has other operations, only those of the network), or 'net.mode'"

static const struct {
	const char *before; /* text before the detail; all of the text if there is none */
	const char *behind;
	const char *why;
	const char *fix;
} problems[N_PROBLEMS] = {
	[PROBLEM_ACTION] = { " says '", "' about files",
			     "the kernel can only allow or deny; warnings and reviews need " THE_BROKER,
			     "write 'allow' or 'deny', or remove the rule" },
	[PROBLEM_PATTERN] = { " has the pattern '", "'",
			      "the kernel knows only paths and what is below them; patterns need " THE_BROKER,
			      "name files or directories ('./.env', './src/'; without a slash it "
			      "is that name in every directory), or remove the rule" },
	[PROBLEM_DIGEST] = { " asks for the digest of the program", NULL,
			     "the kernel does not compare digests of programs; that needs " THE_BROKER,
			     "name a directory that only root can write, without 'sha256'" },
	[PROBLEM_UNSEEN] = { " asks for the ", " of a request",
			     "only a tool that asks the policy service knows it",
			     "keep it for tools that ask 'sbx-policy serve'; in a sandbox an allow "
			     "grants nothing and a deny always applies" },
	[PROBLEM_NO_NETWORK] = { " grants no network", NULL,
				 "net.mode is none, and a command without a network reaches no host",
				 NO_NETWORK_FIX },
	[PROBLEM_BEYOND_LOOPBACK] = { " grants no network outside the loopback", NULL,
				      "net.mode is loopback, and the command reaches no other host",
				      NO_NETWORK_FIX },
	[PROBLEM_HOST_NETWORK] = { " cannot be enforced on the host's network", NULL,
				   "in the mode host the command can reach every address that the host can",
				   "use the mode none, or remove the rule" },
	[PROBLEM_LOOPBACK] = { " cannot be enforced on the loopback", NULL,
			       "in the modes loopback and proxy the command connects to and listens "
			       "on every address and port of its own loopback",
			       "use the mode none, or remove the rule" },
	[PROBLEM_UDP] = { " grants nothing", NULL, "sbx-proxy connects by TCP only",
			  "write 'proto: tcp', or remove the rule" },
	[PROBLEM_BIND] = { " grants no listening outside the loopback", NULL,
			   "with sbx-proxy the command has a loopback of its own, and no other address",
			   "leave out net.bind, or allow it for 127.0.0.0/8 and ::1 in a rule of its own" },
	[PROBLEM_REVIEW] = { " asks for a review", NULL,
			     "sbx-proxy cannot wait for one, and refuses the connection",
			     "write 'allow', 'warn' or 'deny'" },
	[PROBLEM_NET_MODE] = { " is '", "'", "this release has none, loopback, proxy and host",
			       "use the mode none" },
	[PROBLEM_READER] = { " denies '", "'",
			     "'/proc/self' means the process that reads it: here sbx-spawn, inside "
			     "the command",
			     "name '/proc', or a file that is the same for all, such as "
			     "'/proc/cpuinfo'" },
	[PROBLEM_NAME] = { " denies fs.exists alone", NULL,
			   "a mount hides a file's content, but its name stays visible in its directory",
			   "deny 'fs.*'; or remove the rule, and do not allow fs.list of its directory" },
	[PROBLEM_HOSTNAME] = { " has more than 64 bytes", NULL,
			       "the kernel limits host names to 64 bytes",
			       "shorten it, or type --hostname" },
	[PROBLEM_PORTS] = { " is one port too many", NULL,
			    "a sandbox connects to at most 32 ports of the host's loopback, or to 30 with sbx-proxy",
			    "name fewer" },
	[PROBLEM_PORT_TWICE] = { " is also in 'net.loopback.connect'", NULL,
				 "only one program can listen on a port inside: sbx, which forwards connections to the host, or the command",
				 "name it once" },
	[PROBLEM_PROXY_PORT] = { " is the port of sbx-proxy", NULL,
				 "sbx-proxy listens on this port inside, unless --proxy-port names another one",
				 "name another port, or pass --proxy-port to sbx-spawn" },
};

static const struct {
	unsigned layer;
	const char *name;
} layers[] = {
	{ ENFORCED_BY_VIEW, "mounts and Landlock" },
	{ ENFORCED_BY_BROKER, "the broker" },
	{ ENFORCED_BY_NETNS, "the network namespace" },
	{ ENFORCED_BY_PROXY, "sbx-proxy" },
	{ ENFORCED_BY_SERVICE, "tools that ask the policy service" },
};

void enforcement_add_what(struct text *out, const struct rule_enforcement *enforcement)
{
	const char *before = problems[enforcement->problem].before;
	const char *behind = problems[enforcement->problem].behind;

	text_addf(out, "%s'%s'", enforcement->is_rule ? "rule " : "", enforcement->subject);
	text_add(out, before ? before : "");
	if (behind)
		text_addf(out, "%.100s%s", enforcement->detail ? enforcement->detail : "", behind);
}

const char *enforcement_why(const struct rule_enforcement *enforcement)
{
	return problems[enforcement->problem].why;
}

const char *enforcement_fix(const struct rule_enforcement *enforcement)
{
	return problems[enforcement->problem].fix;
}

void enforcement_add_text(struct text *out, const struct rule_enforcement *enforcement)
{
	static const char *const states[] = {
		[ENFORCEMENT_HELD] = "enforced by ",
		[ENFORCEMENT_NARROWED] = "narrowed: ",
		[ENFORCEMENT_REFUSED] = "refused by sbx-spawn of this version: ",
	};
	const char *separator = "";

	if (enforcement->layers == 0) {
		text_add(out, "not enforced by any layer: it has no effect there");
		return;
	}
	text_add(out, states[enforcement->state]);
	if (enforcement->state != ENFORCEMENT_HELD) {
		text_addf(out, "%s", enforcement_why(enforcement));
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(layers); i++) {
		if (!(enforcement->layers & layers[i].layer))
			continue;
		text_addf(out, "%s%s", separator, layers[i].name);
		separator = ", ";
	}
	if (enforcement->leaves_name)
		text_add(out, "; the name stays visible where its directory is shown");
}

int enforcement_refuse(const struct policy *policy, const struct rule_enforcement *enforcement,
		       struct sbx_error *err)
{
	const char *file = policy->sources[enforcement->place.source].name;
	_cleanup_text_ struct text what = TEXT_INIT;

	if (enforcement->state != ENFORCEMENT_REFUSED)
		return 0;
	enforcement_add_what(&what, enforcement);
	return error_fill(err, -EOPNOTSUPP, enforcement_why(enforcement),
			  enforcement_fix(enforcement), "%s:%u: %s", file,
			  enforcement->place.at.line, text_string(&what));
}
