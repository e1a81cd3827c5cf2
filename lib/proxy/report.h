/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Records of a proxy, and its memory of denials for the summary at the end
 *
 * A program that is denied a host often asks again at once. Equal denials within a second become
 * one record with their count, written when the second has passed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct handover_summary;
struct recorder;
struct report;

struct report_connection {
	const char *host;
	uint16_t port;
	const char *address; /* NULL: the name was not resolved */
	const char *rule;
	const char *kind;  /* "http", "tunnel" */
	const char *cause; /* of its end: "end", "client", "server", "idle", "limit", "policy",
			      "stop", "error", or the reason why there is no connection */
	uint64_t n_requests;
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t usec;
};

struct report_denial {
	const char *host;
	uint16_t port;
	const char *reason; /* a word for programs, which outlives the report */
	const char *rule;   /* "" for the default */
	const char *why;    /* for users */
	const char *fix;
	const char *decision; /* a JSON object */
};

/* Borrows everything; @recorder may be NULL. */
int report_new(struct recorder *recorder, const char *sandbox, struct report **ret);
/* Writes what is pending. */
struct report *report_free(struct report *report);

void report_denied(struct report *report, const struct report_denial *denial, uint64_t now_usec);
/* For the summary alone. @reason: HANDOVER_UNRESOLVED and more, which outlives the report. */
void report_unresolved(struct report *report, const char *host, uint16_t port, const char *reason);
void report_connected(struct report *report, const struct report_connection *connection);
/* Writes denials whose second has passed; all of them for UINT64_MAX. Also sends again what could
 * not be written, but not more often than once in a second. */
void report_flush(struct report *report, uint64_t now_usec);
bool report_has_pending(const struct report *report);
/* Is there a record that cannot be written? Tries again. No connection may be made without one. */
bool report_is_lost(struct report *report);
/* Records that were not written until now, also those for which there was no memory. */
uint64_t report_count_lost(const struct report *report);
/* Sets the members about denials; the texts live as long as the report. */
void report_get_denials(const struct report *report, struct handover_summary *ret);
