/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The peer of a decision: tests one rule after the other, as most programs do
 *
 * It is optimised as far as possible: values are parsed once, and rules are sorted by severity, so
 * that the first match is the answer. A glob becomes at most two fnmatch() patterns that mean
 * exactly the same for the globs and paths of the benchmark; setup verifies that both sides agree.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench-policy-rules.h"
#include "policy/decide.h"

#define LINEAR_PATTERN_SIZE 160

struct linear_pattern {
	char text[LINEAR_PATTERN_SIZE];
	int flags; /* of fnmatch() */
};

struct linear_rule {
	enum policy_action action;
	union {
		struct {
			struct linear_pattern patterns[2];
			size_t n_patterns;
		} glob;
		struct {
			const char *name; /* borrowed, without "*." */
			size_t len;
			bool below;
		} host;
		struct {
			uint32_t prefix;
			uint32_t mask;
		} network;
		struct {
			uint16_t first;
			uint16_t last;
		} ports;
	};
};

/* How the values of one key are stored and compared. */
struct linear_kind {
	bool (*parse)(const char *value, struct linear_rule *ret);
	/* @address is the request's host as an IPv4 address, or 0. */
	bool (*matches)(const struct linear_rule *rule, const struct policy_request *request,
			uint32_t address);
	bool wants_address;
};

struct linear {
	const struct linear_kind *kind;
	struct linear_rule *rules;
	size_t n_rules;
};

extern const struct linear_kind linear_globs, linear_hosts, linear_networks, linear_ports;

/* -ENOMEM; -EINVAL: the peer cannot express a value. */
int linear_init(struct linear *linear, const struct linear_kind *kind,
		const struct bench_texts *values);
void linear_deinit(struct linear *linear);
enum policy_action linear_decide(const struct linear *linear, const struct policy_request *request);
