/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Heads that leave the machine: each new checkpoint is sent to the journal and to a command
 *
 * A process that can rewrite the log can rewrite all of it; then only copies elsewhere show what it
 * was. The journal has another owner and may be forwarded to other machines, and a command can do
 * anything (a mail, a line on another host). Both get at most one head a second, always the newest,
 * and the last one at the end. 'sbx-audit verify --journal' and '--witness-file' check that the log
 * still contains them.
 *
 * The log never waits: the send to the journal does not block, and the command runs in parallel. If
 * there is no journal, nothing is sent there.
 */

#include <stdint.h>

#include "audit/log.h"
#include "base/cleanup.h"

struct heads;
struct sbx_error;

/* MESSAGE_ID of the journal's entries; their MESSAGE is the same in words. */
#define HEADS_MESSAGE_ID "609c9344974b4fc7b1e307767d9d5480"
#define HEADS_FIELD_LOG "SBX_AUDIT_LOG"	  /* the origin, sbx-audit/LOG-ID */
#define HEADS_FIELD_SIZE "SBX_AUDIT_SIZE" /* decimal */
#define HEADS_FIELD_ROOT "SBX_AUDIT_ROOT" /* base64 */
#define HEADS_FIELD_NOTE "SBX_AUDIT_NOTE" /* the whole signed note, with its newlines */

#define HEADS_WITNESS_USEC UINT64_C(10000000)
#define HEADS_NEVER UINT64_MAX

struct heads_options {
	const char *tool;      /* SYSLOG_IDENTIFIER in the journal */
	const char *journal;   /* path of the journal's socket; NULL: the system's */
	const char *witness;   /* command that /bin/sh runs with the note on stdin; NULL: none */
	uint64_t witness_usec; /* its time limit; 0: ten seconds */
};

/* Copies the texts of @options. */
int heads_new(const struct heads_options *options, struct heads **ret, struct sbx_error *err);
/* Discards unsent heads and kills a running command: see heads_finish(). */
struct heads *heads_free(struct heads *heads);
CLEANUP_BY(struct heads, heads_free)
#define _cleanup_heads_ _cleanup_(heads_free_ptr)

/* For audit_log_watch(): stores the head, sends nothing yet. */
void heads_take(void *heads, const struct audit_head *head);
/*
 * Does the work due at @now_usec (CLOCK_MONOTONIC). Returns the latest time for the next call, or
 * HEADS_NEVER. Must also be called when heads_fd() is readable, and after heads_take().
 */
uint64_t heads_turn(struct heads *heads, uint64_t now_usec);
int heads_fd(const struct heads *heads);
/* Sends unsent heads and waits for the result; for the command up to its time limit. */
void heads_finish(struct heads *heads);

struct heads_state {
	uint64_t n_sent, n_witnessed; /* to the journal; the command exited with 0 */
	uint64_t witnessed_size;      /* log size in the last such head of the command */
	uint64_t n_failed;	      /* failures of both */
	const char *problem;	      /* the present failure; "" if there is none */
};
void heads_get_state(const struct heads *heads, struct heads_state *ret);
