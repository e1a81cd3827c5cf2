/* SPDX-License-Identifier: MIT */

/*
 * What holds a rule, and why it does not, in words
 */

#include "policy/enforcement.h"

#include <assert.h>
#include <errno.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"

#define NEEDS_BROKER "needs the broker, which this release does not have"
#define NEEDS_PROXY "the mode proxy needs sbx-proxy, which this release does not have"
#define NO_NETWORK_FIX "write 'net: {mode: none}', or type --net none, to run without a network"

static const struct {
	const char *before; /* of the detail; what is complete without one ends here */
	const char *behind;
	const char *why;
	const char *fix;
} problems[N_PROBLEMS] = {
	[PROBLEM_ACTION] = { " says '", "' about files",
			     "the kernel allows or denies; to note or to ask " NEEDS_BROKER,
			     "write 'allow' or 'deny', or leave the rule out" },
	[PROBLEM_PATTERN] = { " has the pattern '", "'",
			      "the kernel knows paths and what is below them; a pattern " NEEDS_BROKER,
			      "name files or folders ('./src/'), or leave the rule out" },
	[PROBLEM_DIGEST] = { " asks for the digest of the program", NULL,
			     "the kernel does not compare digests of programs; that " NEEDS_BROKER,
			     "name a folder that only root can write, without 'sha256'" },
	[PROBLEM_UNSEEN] = { " asks for the ", " of a request",
			     "only a tool that asks the policy service knows it",
			     "keep it for tools that ask 'sbx-policy serve'; in a sandbox an allow "
			     "grants nothing and a deny always applies" },
	[PROBLEM_NO_NETWORK] = { " grants nothing", NULL,
				 "net.mode is none, and a command without a network reaches no host",
				 "remove it, or 'net.mode'" },
	[PROBLEM_BEYOND_LOOPBACK] = { " grants nothing outside the loopback", NULL,
				      "net.mode is loopback, and the command reaches no other host",
				      "remove it, or 'net.mode'" },
	[PROBLEM_HOST_NETWORK] = { " is not kept by the host's network", NULL,
				   "what shares the host's network can reach all that the host can",
				   "use the mode none, or take the rule out" },
	[PROBLEM_LOOPBACK] = { " cannot be enforced on the loopback", NULL,
			       "in the mode loopback the command connects to and listens on every "
			       "address and port of its own loopback",
			       "use the mode none, or take the rule out" },
	[PROBLEM_IMPLIED_PROXY] = { " needs sbx-proxy", NULL,
				    "without 'net.mode' what is allowed of the network means the "
				    "mode proxy, and this release has no sbx-proxy",
				    NO_NETWORK_FIX },
	[PROBLEM_PROXY] = { " is '", "'", NEEDS_PROXY,
			    NO_NETWORK_FIX "; a proxy of your own is handed over by --proxy-fd" },
	[PROBLEM_NET_MODE] = { " is '", "'", "this release has none, loopback, proxy and host",
			       "use the mode none" },
	[PROBLEM_READER] = { " denies '", "'",
			     "'/proc/self' means the process that reads it: here sbx-spawn, inside "
			     "the command",
			     "name '/proc', or a file that is the same for all, such as "
			     "'/proc/cpuinfo'" },
	[PROBLEM_NAME] = { " denies fs.exists alone", NULL,
			   "a mount hides what a name stands for, and the name stays in its directory",
			   "deny 'fs.*', or list nothing of the directory around it" },
	[PROBLEM_HOSTNAME] = { " has more than 64 bytes", NULL,
			       "the kernel keeps 64 bytes of a machine's name",
			       "shorten it, or type --hostname" },
	[PROBLEM_PORTS] = { " is one port too many", NULL,
			    "a sandbox connects to at most 32 ports of the host's loopback",
			    "name fewer" },
	[PROBLEM_PORT_TWICE] = { " is also in 'net.loopback.connect'", NULL,
				 "a port has one listener inside: that of sbx, for connections to "
				 "the host, or the command's",
				 "name it once" },
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
	if (before)
		text_addf(out, "%s%.100s%s", before, enforcement->detail ? enforcement->detail : "",
			  behind ? behind : "");
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
		[ENFORCEMENT_HELD] = "held by ",
		[ENFORCEMENT_NARROWED] = "narrowed: ",
		[ENFORCEMENT_REFUSED] = "refused by sbx-spawn of this version: ",
	};
	const char *separator = "";

	if (enforcement->layers == 0) {
		text_add(out, "no layer holds it: it says nothing there");
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

	assert(enforcement->problem != PROBLEM_NONE);
	enforcement_add_what(&what, enforcement);
	(void)sbx_error_what(err, -EOPNOTSUPP, "%s:%u: %s", file, enforcement->place.at.line,
			     text_string(&what));
	sbx_error_why(err, "%s", enforcement_why(enforcement));
	sbx_error_fix(err, "%s", enforcement_fix(enforcement));
	return -EOPNOTSUPP;
}
