/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Heads that leave the machine: each new checkpoint goes to the journal and to a command
 *
 * A process that can rewrite the log can rewrite it whole; what it was before is then known
 * elsewhere only. The
 * journal has another owner and goes to other machines by its own ways, and a command can do
 * anything (a mail, a line on another host). Both get at most one head a second, always the newest,
 * and the last one at the end. 'sbx-audit verify --journal' and '--witness-file' look whether the
 * log still has them.
 *
 * The log never waits: the journal is asked whether it takes the head now, the command runs beside
 * us. Where there is no journal, nothing is sent there.
 */

#include <stdint.h>

#include "audit/log.h"
#include "base/cleanup.h"

struct heads;
struct sbx_error;

/* Of the journal's entries, whose MESSAGE says the same for people. */
#define HEADS_MESSAGE_ID "609c9344974b4fc7b1e307767d9d5480"
#define HEADS_FIELD_LOG "SBX_AUDIT_LOG"	  /* origin: sbx-audit/LOG-ID */
#define HEADS_FIELD_SIZE "SBX_AUDIT_SIZE" /* decimal */
#define HEADS_FIELD_ROOT "SBX_AUDIT_ROOT" /* base64 */
#define HEADS_FIELD_NOTE "SBX_AUDIT_NOTE" /* the whole signed note, with its newlines */

#define HEADS_WITNESS_USEC UINT64_C(10000000)
#define HEADS_NEVER UINT64_MAX

struct heads_options {
	const char *tool;      /* SYSLOG_IDENTIFIER in the journal */
	const char *journal;   /* its socket; NULL: the system's */
	const char *witness;   /* what /bin/sh runs with the note on its stdin; NULL: nothing */
	uint64_t witness_usec; /* how long it may take until it is killed; 0: ten seconds */
};

/* The texts of @options are copied. */
int heads_new(const struct heads_options *options, struct heads **ret, struct sbx_error *err);
/* What waits is lost, what runs is killed: see heads_finish(). */
struct heads *heads_free(struct heads *heads);
void heads_free_ptr(struct heads **heads);
#define _cleanup_heads_ _cleanup_(heads_free_ptr)

/* For audit_log_watch(): remembers the head, and sends nothing yet. */
void heads_take(void *heads, const struct audit_head *head);
/*
 * Does what is due at @now_usec (CLOCK_MONOTONIC). Returns when it has to be called again at the
 * latest, or HEADS_NEVER; and it has to be when heads_fd() is readable, and after heads_take().
 */
uint64_t heads_turn(struct heads *heads, uint64_t now_usec);
int heads_fd(const struct heads *heads);
/* Sends what still waits, and waits for it: for the command as long as it may take. */
void heads_finish(struct heads *heads);

struct heads_state {
	uint64_t n_sent, n_witnessed;	    /* to the journal; the command ended with 0 */
	uint64_t sent_size, witnessed_size; /* of the last ones */
	uint64_t n_failed;		    /* of both */
	const char *problem;		    /* what fails now; "" while all works */
};
void heads_get_state(const struct heads *heads, struct heads_state *ret);
