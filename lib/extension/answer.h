/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses one line that an extension wrote; the line is untrusted */

#include <stddef.h>
#include <stdint.h>

#include "policy/model.h"

struct text;

struct answer {
	uint64_t number;
	enum policy_action action;
	bool has_reason;
};

/* @reason gets the decoded reason. -EBADMSG unless @line is exactly one complete answer. */
int answer_parse(const char *line, size_t n_bytes, struct answer *ret, struct text *reason);
