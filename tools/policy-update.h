/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A new policy on its way into the place of an old one: shown, reviewed, installed
 */

#include <stdbool.h>

#include "policy.h"

struct update {
	struct tool_run *run;
	const struct policy_values *values;
	const char *path; /* what is replaced */
	char *target;	  /* where a link at the path that was given leads; NULL: it was none */
	const char *from; /* for messages and the metadata */
	char *old_bytes;  /* NULL: there was none */
	size_t n_old_bytes;
	bool has_before; /* what was there can be read as a policy */
	struct judge before;
	struct judge after;
	struct replay replay;
	char digest[65]; /* SHA-256 of the new file, as sha256sum prints it */
	char old_digest[65];
};

#define _cleanup_update_ _cleanup_(update_close)
void update_close(struct update *update);

/* Reads both and prints what changes. */
int update_open(struct tool_run *run, const char *path, const char *from, struct update *ret,
		struct sbx_error *err);
/* policy-update-review.c: a tool_status: TOOL_YES approved, TOOL_NO refused, TOOL_REVIEW nobody
 * could be asked. Nobody but a person, or a script that knows the digest and the phrase, approves.
 */
int update_review(const struct update *update, struct sbx_error *err);
/* policy-update-install.c: puts the new policy into force; nothing has changed where it fails,
 * unless
 * @err says so. */
int update_install(const struct update *update, struct sbx_error *err);

/* Asks on the terminal; false at the end of input. The answer without its newline. */
bool review_ask(const char *question, char *answer, size_t size);
