/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The file in which records wait for sbx-audit
 */

struct sbx_error;

/*
 * Opens FOLDER/sbx/spool/records.jsonl for appending, 0600 in a directory of 0700 that are ours
 * alone, never through a link. The fd, or negative errno. spool_open() makes FOLDER first, which
 * must exist for root and for spool_open_in().
 */
int spool_open_in(const char *state_folder, struct sbx_error *err);
/* Writes in @state_folder while it works. */
int spool_open(char *state_folder, struct sbx_error *err);

/* "cannot open the spool of records": returns @code. @why may be NULL. */
int spool_fail(struct sbx_error *err, int code, const char *folder, const char *why,
	       const char *fix);
