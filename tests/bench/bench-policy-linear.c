/* SPDX-License-Identifier: MIT */

/* Decisions without an index: fnmatch(), string comparison, a mask, a range */

#include "bench-policy-linear.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/network.h"

static bool add_pattern(struct linear_rule *rule, int flags, const char *head, size_t head_len,
			const char *tail)
{
	struct linear_pattern *pattern = &rule->glob.patterns[rule->glob.n_patterns++];

	pattern->flags = flags;
	return snprintf(pattern->text, sizeof(pattern->text), "%.*s%s", (int)head_len, head, tail) <
	       (int)sizeof(pattern->text);
}

/*
 * FNM_LEADING_DIR matches what is below a directory. A "**" in another place becomes a "*" that may
 * match slashes, in two patterns: with the slash of "at least one directory" and without.
 */
static bool parse_glob(const char *value, struct linear_rule *ret)
{
	const char *floating = strstr(value, "/**");

	ret->glob.n_patterns = 0;
	if (!floating)
		return add_pattern(ret, FNM_PATHNAME, value, strlen(value), "");

	size_t head = (size_t)(floating - value);
	const char *rest = floating + 3;

	if (!*rest)
		return add_pattern(ret, FNM_PATHNAME | FNM_LEADING_DIR, value, head, "");
	if (strchr(value, '*') < floating || strchr(rest, '*'))
		return false; /* its "*" would match slashes, too */
	if (head == 0)
		return add_pattern(ret, 0, "*", 1, rest);

	char tail[LINEAR_PATTERN_SIZE];

	(void)snprintf(tail, sizeof(tail), "/*%s", rest);
	return add_pattern(ret, 0, value, head, tail) && add_pattern(ret, 0, value, head, rest);
}

static bool glob_matches_linearly(const struct linear_rule *rule,
				  const struct policy_request *request, uint32_t address)
{
	for (size_t i = 0; i < rule->glob.n_patterns; i++)
		if (fnmatch(rule->glob.patterns[i].text, request->path,
			    rule->glob.patterns[i].flags) == 0)
			return true;
	return false;
}

static bool parse_host(const char *value, struct linear_rule *ret)
{
	ret->host.below = strncmp(value, "*.", 2) == 0;
	ret->host.name = ret->host.below ? value + 2 : value;
	ret->host.len = strlen(ret->host.name);
	return true;
}

static bool host_matches(const struct linear_rule *rule, const struct policy_request *request,
			 uint32_t address)
{
	size_t len = strlen(request->host), own = rule->host.len;

	if (!rule->host.below)
		return len == own && strcasecmp(request->host, rule->host.name) == 0;
	return len > own + 1 && request->host[len - own - 1] == '.' &&
	       strcasecmp(request->host + len - own, rule->host.name) == 0;
}

static uint32_t load_u32(const uint8_t bytes[4])
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return ntohl(value);
}

static bool parse_network(const char *value, struct linear_rule *ret)
{
	struct network network;

	if (network_parse(value, &network, NULL) < 0 || network.is_ipv6 || network.length == 0)
		return false;
	ret->network.mask = UINT32_MAX << (32 - network.length);
	ret->network.prefix = load_u32(network.bytes);
	return true;
}

static bool network_matches(const struct linear_rule *rule, const struct policy_request *request,
			    uint32_t address)
{
	return (address & rule->network.mask) == rule->network.prefix;
}

static bool parse_ports(const char *value, struct linear_rule *ret)
{
	struct port_range range;

	if (network_parse_ports(value, strlen(value), &range, NULL) < 0)
		return false;
	ret->ports.first = range.from;
	ret->ports.last = range.to;
	return true;
}

static bool ports_match(const struct linear_rule *rule, const struct policy_request *request,
			uint32_t address)
{
	return request->port >= rule->ports.first && request->port <= rule->ports.last;
}

const struct linear_kind linear_globs = { .parse = parse_glob, .matches = glob_matches_linearly };
const struct linear_kind linear_hosts = { .parse = parse_host, .matches = host_matches };
const struct linear_kind linear_networks = { .parse = parse_network,
					     .matches = network_matches,
					     .wants_address = true };
const struct linear_kind linear_ports = { .parse = parse_ports, .matches = ports_match };

int linear_init(struct linear *linear, const struct linear_kind *kind,
		const struct bench_texts *values)
{
	linear->kind = kind;
	linear->rules = calloc(values->n, sizeof(*linear->rules));
	if (!linear->rules)
		return -ENOMEM;
	for (int action = POLICY_DENY; action > POLICY_PASS; action--)
		for (size_t i = 0; i < values->n; i++) {
			struct linear_rule *rule = &linear->rules[linear->n_rules];

			if (bench_action(i) != (enum policy_action)action)
				continue;
			if (!kind->parse(bench_texts_at(values, i), rule))
				return -EINVAL;
			rule->action = bench_action(i);
			linear->n_rules++;
		}
	return 0;
}

void linear_deinit(struct linear *linear)
{
	free(linear->rules);
}

enum policy_action linear_decide(const struct linear *linear, const struct policy_request *request)
{
	const struct linear_kind *kind = linear->kind;
	struct in_addr address = { .s_addr = 0 };

	if (kind->wants_address && inet_pton(AF_INET, request->host, &address) != 1)
		return POLICY_DENY;
	for (size_t i = 0; i < linear->n_rules; i++)
		if (kind->matches(&linear->rules[i], request, ntohl(address.s_addr)))
			return linear->rules[i].action;
	return POLICY_DENY;
}
