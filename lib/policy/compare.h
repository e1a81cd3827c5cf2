/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Two policies compared: the differences in meaning, and their answers to recorded requests
 */

#include <stddef.h>

#include "policy/decide.h"
#include "policy/request.h"

struct policy;
struct text;

enum change_kind {
	CHANGE_BREAKING, /* allow → deny or review */
	CHANGE_WIDENS,	 /* deny or review → allow */
	CHANGE_OTHER,	 /* deny ↔ review, allow ↔ warn */
};

/* Compares rules by name: added, removed, changed (and which part), or only moved. Adds a line for
 * each to @out; returns the number of differences. */
size_t policy_compare(const struct policy *before, const struct policy *after, struct text *out,
		      int as_json);

struct replay {
	struct policy_engine *before;
	struct policy_engine *after;
	size_t n_replayed;
	size_t n_permitted; /* by the policy before */
	size_t n_changed;
	size_t n_breaking;
	size_t n_widening;
	size_t n_unreadable; /* lines without a complete request */
};

/* Called for a changed answer; @kind says how it changed. The arguments are valid during the call
 * only. */
typedef void replay_fn(const struct request_buffer *request, const struct policy_decision *before,
		       const struct policy_decision *after, enum change_kind kind, void *userdata);

/* Replays one line of a record: a bare request or an object whose "input" is one. */
void replay_line(struct replay *replay, const void *bytes, size_t n_bytes,
		 struct request_buffer *buffer, replay_fn *changed, void *userdata);
