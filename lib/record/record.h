/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Audit records on their way to sbx-audit: one JSON object a line
 *
 * Without a service they are appended to a spool in the state directory, which sbx-audit imports
 * later: one O_APPEND write() per record, so that records of several processes are not interleaved,
 * and a crash leaves at most one torn line at the end, which the reader recognises.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_writer;
struct sbx_error;

/* A record contains a complete request (REQUEST_BYTES_MAX) and its decision. */
#define RECORD_BYTES_MAX 131072
#define RECORD_SPOOL_NAME "records.jsonl"
/* In the state directory: the spool and the log of sbx-audit. */
#define RECORD_SPOOL_DIRECTORY "sbx/spool"
#define RECORD_LOG_DIRECTORY "sbx/audit"
#define BOOT_ID_SIZE 37

/* The destination of records. */
struct recorder {
	int fd; /* given by --audit-fd, the service, or the spool; -EBADF: nowhere yet */
	int fd_is_socket;
	/* Both NULL if the caller has given the fd, or the path of the spool. */
	char *state_directory; /* of the spool */
	char *service;	       /* path of its socket */
	int is_fallback;       /* the spool is in the runtime directory: see base/state.h */
	int is_with_service;   /* the fd is the service's, not the spool's */
	int64_t asked_sec;     /* when the last connection was tried */
	int is_torn;	       /* the last record was cut off: the next one begins with a newline */
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
 * Connects to sbx-audit serve if it runs: /run/sbx/audit.sock, or $XDG_RUNTIME_DIR/sbx/audit.sock
 * for a user with that variable. Its answers are not awaited: if the service is killed, records
 * that it has not committed are lost. If the connection is closed, a new one is tried, and on
 * failure records are written to the spool; then a connection is tried before a record, at most
 * once a second.
 *
 * Otherwise opens the spool: sbx/spool in the state directory (base/state.h: /var/lib for root,
 * $XDG_STATE_HOME, ~/.local/state or a fallback for others); 0600 in a 0700 directory of the
 * caller, never through a link.
 */
int recorder_open_spool(struct recorder *recorder, char *const *environment, struct sbx_error *err);
/* Takes @fd, of --audit-fd, if it is one, but a copy of stdin, stdout and stderr; else the same as
 * recorder_open_spool(). */
int recorder_open(struct recorder *recorder, int fd, char *const *environment,
		  struct sbx_error *err);
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
/* Adds the members of a complete object, "{...}" with or without a newline after it. */
void record_add_members(struct text *record, struct json_writer *json, const char *object,
			size_t n_bytes);
/*
 * Ends the object and writes it with one system call. Returns a negative errno if it cannot be
 * written: the caller must fail closed. A socket that is not read delays the caller by at most a
 * quarter of a second.
 */
int record_send(struct recorder *recorder, struct text *record, struct json_writer *json,
		struct sbx_error *err);
