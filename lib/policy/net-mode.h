/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a command under a policy is connected to the network: the one reading of net.mode, of the
 * templates' modes and of rules about the network without a mode
 *
 * The planner makes the network of this mode, check refuses what this version cannot make, and the
 * evaluator judges by the rules that the mode implies; so an answer about the network is what the
 * command meets.
 */

#include <stdbool.h>
#include <stddef.h>

#include "policy/model.h"

enum net_mode {
	NET_NONE,     /* a network namespace without a way out, and no IP sockets in it */
	NET_LOOPBACK, /* a network namespace in which only the loopback is up */
	NET_HOST,     /* the host's network namespace */
	NET_PROXY,    /* what the rules allow, through sbx-proxy */
	NET_TRANSPARENT,
	NET_VETH,
	N_NET_MODES,
};

/* Ports of the host's loopback that one sandbox can connect to: what the kernel's side can carry.
 */
#define LOOPBACK_PORTS_MAX 32

const char *net_mode_name(enum net_mode mode);
/* False where there is no such mode. */
bool net_mode_find(const char *name, enum net_mode *ret);

struct net_choice {
	enum net_mode mode;
	/* What says so: net.mode or isolation.template; a rule; else both are NULL, and NET_PROXY
	 * means defaults.net. */
	const struct setting *setting;
	const struct rule *rule;
	bool is_of_policy; /* else @template, or nothing, says it */
};

/*
 * In this order: net.mode; proxy, where a rule or the default of the class grants anything of the
 * network; the mode of the template @template, or of isolation.template where that is NULL; none.
 * @policy may be NULL; then it is the template's mode, or loopback where @template is NULL, too.
 */
struct net_choice policy_net_choice(const struct policy *policy, const char *template);
enum net_mode policy_net_mode(const struct policy *policy);

#define NET_RULES_MAX 2

/*
 * The rules that the mode implies, called "net.mode", at the place of the setting: none denies
 * net.*, host allows it, loopback allows it and denies what is not of the loopback. Where no
 * setting says the mode there are none. Returns how many; they borrow from @policy.
 */
size_t policy_net_rules(const struct policy *policy, struct rule ret[NET_RULES_MAX]);
#define NET_RULE_NAME "net.mode"
/* Is a denial of this name and reason (which may be NULL) one of them? */
bool net_rule_is_denial(const char *name, const char *reason);

/*
 * Of the loopback are 127.0.0.0/8 and ::1, the addresses 0.0.0.0 and :: (to listen on all
 * addresses; connecting to them reaches the loopback), and the name localhost.
 *
 * May @condition hold for a request that is of it? Only for such ones?
 */
bool net_loopback_meets(const struct condition *condition);
bool net_loopback_contains(const struct condition *condition);
