/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The spool: the file from which sbx-audit imports records
 */

struct sbx_error;

/*
 * Opens STATE/sbx/spool/records.jsonl for appending, mode 0600 in a directory of mode 0700, both
 * owned by the caller, never through a link. The fd, or negative errno. spool_open() creates the
 * state directory first, except for root; spool_open_in() requires it.
 */
int spool_open_in(const char *state_directory, struct sbx_error *err);
/* Modifies @state_directory temporarily. */
int spool_open(char *state_directory, struct sbx_error *err);
/* The same for a STATE_FALLBACK, whose parent must not be another user's. */
int spool_open_fallback(char *state_directory, struct sbx_error *err);

/* Fills @err: "cannot open the spool of audit records". Returns @code. @why may be NULL. */
int spool_fail(struct sbx_error *err, int code, const char *directory, const char *why,
	       const char *fix);
