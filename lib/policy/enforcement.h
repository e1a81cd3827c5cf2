/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The layer that enforces a rule: the one answer for check, plan and explain
 *
 * Pure: the same for every host. The planner checks whether the host has the layer.
 */

#include <stdbool.h>

#include "policy/model.h"
#include "policy/network.h"

struct sbx_error;
struct text;

/* A rule about several classes of operations has several layers. */
enum enforcement_layer {
	ENFORCED_BY_VIEW = 1 << 0,    /* mounts and Landlock: paths and the paths below them */
	ENFORCED_BY_BROKER = 1 << 1,  /* patterns, 'warn', 'require_review', digests */
	ENFORCED_BY_NETNS = 1 << 2,   /* a network namespace, or the host's if all is allowed */
	ENFORCED_BY_PROXY = 1 << 3,   /* hosts, networks, ports */
	ENFORCED_BY_SERVICE = 1 << 4, /* a tool that asks: operations of tools, callers, tokens */
};

enum enforcement_state {
	ENFORCEMENT_HELD,
	ENFORCEMENT_NARROWED, /* the sandbox allows less: an allow grants nothing, a denial or an
				 exception of an allow always applies */
	ENFORCEMENT_REFUSED,  /* sbx-spawn of this version refuses to start under the policy */
};

enum enforcement_problem {
	PROBLEM_NONE,
	PROBLEM_ACTION,	 /* 'warn' or 'require_review' about files */
	PROBLEM_PATTERN, /* a glob that does not name a single path */
	PROBLEM_DIGEST,
	PROBLEM_UNSEEN, /* depends on a fact unknown to the kernel: a caller, a token */
	PROBLEM_NO_NETWORK,
	PROBLEM_BEYOND_LOOPBACK, /* an allow of hosts outside the loopback */
	PROBLEM_HOST_NETWORK,	 /* a rule that the host's network cannot enforce */
	PROBLEM_LOOPBACK,	 /* a rule that the sandbox's own loopback cannot enforce */
	PROBLEM_UDP,		 /* an allow of UDP alone, through sbx-proxy */
	PROBLEM_BIND,		 /* an allow to listen on other addresses than the sandbox has */
	PROBLEM_REVIEW,		 /* of a connection through sbx-proxy */
	PROBLEM_NET_MODE,	 /* a mode that this version lacks */
	PROBLEM_READER,		 /* a denial of /proc/self, which means another process to sbx */
	PROBLEM_NAME,		 /* a denial of fs.exists alone */
	PROBLEM_HOSTNAME,
	PROBLEM_PORTS,
	PROBLEM_PORT_TWICE,
	PROBLEM_PROXY_PORT,
	N_PROBLEMS,
};

struct rule_enforcement {
	unsigned layers; /* set of enum enforcement_layer; 0: the rule never applies, or grants and
			    denies nothing */
	enum enforcement_state state;
	enum enforcement_problem problem;
	const char *subject; /* name of the rule, or the setting's path */
	bool is_rule;
	const char *detail; /* the pattern, action or key, depending on the problem; or NULL */
	struct policy_place place; /* of the problem */
	/* The rule denies fs.exists, but a mask hides only the file, not its name. */
	bool leaves_name;
};

/* For the whole rule, under the policy's own network mode. The first refusal counts. */
struct rule_enforcement rule_enforcement(const struct policy *policy, const struct rule *rule);
/* Only for @operation, a set of one; a refusal of the rule is one of all its operations. */
struct rule_enforcement operation_enforcement(const struct policy *policy, const struct rule *rule,
					      uint64_t operation);
/* Only for its files and programs; only for its network, under @mode. */
struct rule_enforcement rule_file_enforcement(const struct policy *policy, const struct rule *rule);
struct rule_enforcement rule_net_enforcement(const struct policy *policy, const struct rule *rule,
					     enum net_mode mode);
/* For the default of a class. */
struct rule_enforcement default_enforcement(const struct policy *policy, enum operation_class kind);
/* For a network mode, whatever chose it. */
struct rule_enforcement mode_enforcement(const struct policy *policy,
					 const struct net_choice *choice);

/* For settings that no sandbox can provide unless an option overrides them: the hostname; ports of
 * the loopback. */
struct rule_enforcement hostname_enforcement(const struct policy *policy);
/* @proxy_port: where sbx-proxy listens inside, if @mode has it. */
struct rule_enforcement ports_enforcement(const struct policy *policy, enum net_mode mode,
					  uint16_t proxy_port);

/* Does the rule give a sandboxed command any access to the network? */
bool rule_grants_network(const struct policy *policy, const struct rule *rule);
/* Can the mount view and Landlock enforce the value, because it names a path? @operations: of the
 * rule. */
bool value_is_path(const struct match_value *value, uint64_t operations);

/* Adds text such as "rule 'src' has the pattern 'src/[star].c'", without a place. */
void enforcement_add_what(struct text *out, const struct rule_enforcement *enforcement);
/* NULL for PROBLEM_NONE. */
const char *enforcement_why(const struct rule_enforcement *enforcement);
const char *enforcement_fix(const struct rule_enforcement *enforcement);
/* Adds "held by mounts and Landlock" or "refused by sbx-spawn of this version: ...". */
void enforcement_add_text(struct text *out, const struct rule_enforcement *enforcement);
/* Fills @err with "FILE:LINE: rule 'NAME' ...", why and fix. Returns -EOPNOTSUPP; or 0 if it is not
 * refused. */
int enforcement_refuse(const struct policy *policy, const struct rule_enforcement *enforcement,
		       struct sbx_error *err);

/*
 * The parts of a rule that the kernel cannot check: it knows paths and operations, but not the
 * caller, the state or the token of a request. The one interpretation for composition, check and
 * planner.
 */

/* Callers, tags, states and modes: only a tool that asks the policy service states them. */
bool match_key_is_unseen(enum match_key key);
/* The first such key of the condition, or N_MATCH_KEYS. */
enum match_key condition_unseen_key(const struct condition *condition);
/* False if no request about a file meets the condition, because of a network key or an empty
 * list. */
bool condition_can_hold_for_files(const struct condition *condition);

enum unmet_constraint {
	UNMET_NONE,
	UNMET_TOKEN,
	UNMET_LEVEL, /* the rule requires a deeper sandbox */
	UNMET_DIGEST,
};
/* The first constraint that no command in a sandbox of @level (NULL: unknown) meets. */
enum unmet_constraint constraints_unmet(const struct constraints *constraints, const char *level);
/* "capability token"; NULL for UNMET_NONE. */
const char *unmet_constraint_name(enum unmet_constraint unmet);

/* Does the policy let the command create sandboxes itself? @policy may be NULL. */
bool policy_is_nested(const struct policy *policy);
/* The level of the command's sandbox: "L2", or "L1" if it is nested. */
const char *policy_sandbox_level(const struct policy *policy);

/* Is it /proc/self, /proc/thread-self, or a path below one of them, which are different files for
 * each process? */
bool path_is_of_reader(const char *path);
