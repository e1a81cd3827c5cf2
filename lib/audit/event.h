/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What can happen: the types of records
 *
 * A synchronous event is acknowledged when it is on the disk, and everything before it with it. An
 * event of the log's own is written by the log alone: whoever else claims one is refused, because a
 * record of a deleted archive is what excuses a gap.
 */

#include <stdbool.h>
#include <stddef.h>

struct sbx_error;

#define EVENT_REQUIRED_MAX 3

struct audit_event {
	const char *name;
	bool is_sync;
	bool is_own;				  /* of the log itself */
	const char *required[EVENT_REQUIRED_MAX]; /* members beside the event and the time */
};

/* NULL for an event that nobody knows. */
const struct audit_event *event_of(const char *name, size_t n_bytes);
/* Fills @err for such a name, with the event that was probably meant; returns -EINVAL. */
int event_unknown(const char *name, size_t n_bytes, struct sbx_error *err);
/* For whoever reads: those of the log's own may be meant, too. */
int event_unknown_in_log(const char *name, size_t n_bytes, struct sbx_error *err);
/* The i-th, for lists and completions, or NULL behind the last. */
const struct audit_event *event_at(size_t i);
