/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Audit records on their way to sbx-audit: one JSON object a line
 *
 * Without a service they go to a spool in the state folder, which sbx-audit chains later: one
 * O_APPEND write a record, so that records of many processes never mix, and a crash leaves whole
 * lines or one torn last line that the reader recognises.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_writer;
struct sbx_error;

/* A record holds a whole request (REQUEST_BYTES_MAX) and what became of it. */
#define RECORD_BYTES_MAX 131072
#define RECORD_SPOOL_NAME "records.jsonl"
/* In the state folder: what waits for sbx-audit, and its log. */
#define RECORD_SPOOL_FOLDER "sbx/spool"
#define RECORD_LOG_FOLDER "sbx/audit"
#define BOOT_ID_SIZE 37

/* Where records go. */
struct recorder {
	int fd; /* given by --audit-fd, the service, or the spool; -EBADF: nowhere yet */
	int fd_is_socket;
	/* Both NULL where the caller has given the fd, or named the spool. */
	char *state_folder;  /* of the spool */
	char *service;	     /* where its socket is */
	int is_with_service; /* the fd is the service's, not the spool's */
	int64_t asked_sec;   /* when it was last looked for */
	int is_torn; /* the last record was cut off: the next one begins a line of its own */
	char boot_id[BOOT_ID_SIZE];
};

#define RECORDER_INIT                                                                              \
	{                                                                                          \
		.fd = -EBADF, .fd_is_socket = 0                                                    \
	}
#define _cleanup_recorder_ _cleanup_(recorder_deinit)

/* Takes @fd. */
void recorder_use_fd(struct recorder *recorder, int fd);
/*
 * Connects to sbx-audit serve where it runs: /run/sbx/audit.sock, or
 * $XDG_RUNTIME_DIR/sbx/audit.sock for a user who has that. Its answers are not waited for: what was
 * sent and not committed is lost where the service is killed. If it goes away, it is looked for
 * again, and records go to the spool if it is not there; from then on it is looked for once a
 * second at most, before a record.
 *
 * Without it opens the spool: /var/lib/sbx/spool for root, $XDG_STATE_HOME/sbx/spool (or
 * ~/.local/state) else; 0600 in a 0700 folder that is ours, never through a link.
 */
int recorder_open_spool(struct recorder *recorder, char *const *environment, struct sbx_error *err);
void recorder_deinit(struct recorder *recorder);

/*
 * Begins a record in @out:
 *
 *   {"version":1,"time":"2026-01-02T03:04:05.678901Z","boot":ID,"boot_usec":N,"event":EVENT,
 *    "tool":TOOL,"pid":N
 *
 * The caller adds members with @json and hands both to record_send().
 */
void record_begin(const struct recorder *recorder, struct text *out, struct json_writer *json,
		  const char *event, const char *tool);
/* Adds the members of a finished object, "{...}" with or without a newline behind it. */
void record_add_members(struct text *record, struct json_writer *json, const char *object,
			size_t n_bytes);
/*
 * Ends the object and writes it in one go. A record that cannot be written is a negative errno: the
 * caller fails closed. A socket whose reader is stuck delays the caller by a quarter of a second at
 * most.
 */
int record_send(struct recorder *recorder, struct text *record, struct json_writer *json,
		struct sbx_error *err);
