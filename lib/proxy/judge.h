/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Decisions about hosts: the proxy's questions to the one evaluator
 *
 * A request is decided twice: host and port before the name is resolved, then with each address
 * that it resolves to. The evaluator holds the special addresses, so nothing here knows any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostname.h"
#include "policy/decide.h"
#include "policy/request.h"

struct proxy_policy;
struct resolver_address;
struct text;

struct judge {
	const struct proxy_policy *policy; /* replaced by a reload */
	const char *project;
	/* The last question and its answer; the texts of the request point into here. */
	char host[HOSTNAME_TEXT_SIZE];
	char address[HOSTNAME_TEXT_SIZE];
	struct request_buffer request;
	struct policy_decision decision;
};

enum judgement {
	JUDGED_ALLOWED,
	/* Denied, but a permission that names both the host and its network may hold for the
	 * address, so that the name may be resolved. Never for an address. */
	JUDGED_BY_ADDRESS,
	JUDGED_DENIED,
};

/* May the sandbox connect to this host and port? @address may be NULL: not known. */
enum judgement judge_host(struct judge *judge, const struct hostname *host, uint16_t port,
			  const struct resolver_address *address);

/* Of the last judgement: may the tunnel carry something other than TLS with the host's name? */
bool judge_allows_any_bytes(const struct judge *judge);
/* "name (p.yaml:14)" of the first rule that determined the last judgement, the name of a built-in
 * rule, or nothing for the default. */
void judge_add_rule(struct text *out, const struct judge *judge);
/* The reason for people, and what to type; each without a newline at its end. */
void judge_add_why(struct text *out, const struct judge *judge);
void judge_add_fix(struct text *out, const struct judge *judge);
/* The members of its record: an object as decision_add_json() writes it, with a newline. */
void judge_add_json(struct text *out, const struct judge *judge);

/* The record of a tunnel that is refused for what the client says in it: the last judgement allows
 * the host, but the constraint 'tls' does not hold. @name: the server name, or NULL. */
void judge_add_constraint_json(struct text *out, const struct judge *judge, const char *reason,
			       const char *name, const char *fix);

/* The address as a host. */
void judge_print_address(const struct resolver_address *address, char ret[HOSTNAME_TEXT_SIZE]);
