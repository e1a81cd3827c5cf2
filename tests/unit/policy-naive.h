/* SPDX-License-Identifier: MIT */
#pragma once

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/decide.h"
#include "policy/model.h"

#define NAIVE_INNER_MAX 4

/* Are all components "**"? */
bool naive_only_floats(const char *text);

/* One value of a path list, without its '!'. */
bool naive_glob(const char *text, bool literal, const char *path, const char *root, bool exec);

/* Does the rule apply? */
bool naive_rule(const struct rule *rule, const struct policy_request *request);

/* Addresses that only a permission with 'cidr' reaches. */
bool naive_special(const char *address);

/* The IPv4 addresses in an IPv6 one, as texts, and the loopback. */
size_t naive_embedded(const char *address, char ret[NAIVE_INNER_MAX][INET6_ADDRSTRLEN]);

/* The verdict of the rules only, without the other built-in rules and tokens; and what it demands
 * of TLS. */
enum policy_action naive_decide(const struct policy *policy, const struct policy_request *request,
				bool *ret_is_any);
