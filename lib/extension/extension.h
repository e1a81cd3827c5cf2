/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Extension programs: policy rules written as programs
 *
 * An extension is a program that reads request lines and writes one decision line for each, in
 * order:
 *
 *    → {"n":1,"request":{...}}
 *    ← {"n":1,"action":"pass|allow|warn|require_review|deny","reason":"..."}
 *
 * The program keeps running. Its start ends when it first reads its stdin (within 10 s); the
 * deadline of an answer begins after that. A late (100 ms), malformed, out-of-order or missing
 * answer denies the request; the program is killed and restarted after a pause that doubles each
 * time, and until then every request is denied. Its stderr is inherited. It gets no other fds, and
 * only PATH and LC_ALL in its environment.
 *
 * Requests may be sent before earlier ones are answered: each has its own deadline, so a slow
 * program delays no request for longer than that.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "policy/decide.h"

struct extension;
struct sbx_error;

#define EXTENSION_DEADLINE_USEC 100000
#define EXTENSION_START_USEC 10000000
#define EXTENSION_LINE_MAX 65536
#define EXTENSION_PAUSE_FIRST_USEC 50000
#define EXTENSION_PAUSE_MAX_USEC 5000000
/* Limit of open questions; further ones are denied at once, so a program that does not read cannot
 * make the server's memory grow. */
#define EXTENSION_OPEN_MAX 256
#define EXTENSION_UNSENT_MAX (1024 * 1024)

/* @argv[0] is an absolute path. Starts the program; fails if it cannot be executed. */
int extension_new(const char *name, const char *const *argv, struct extension **ret,
		  struct sbx_error *err);
/* Kills the program and waits for it. */
struct extension *extension_free(struct extension *extension);
/* Replaces EXTENSION_DEADLINE_USEC from the next question on, for tests on slow machines. */
void extension_set_deadline(struct extension *extension, uint64_t usec);
CLEANUP_BY(struct extension, extension_free)
#define _cleanup_extension_ _cleanup_(extension_free_ptr)

/* @request_json is the normalised request (request_add_json()). Returns within the deadline; the
 * texts of @ret are valid until the next call. */
void extension_ask(struct extension *extension, const char *request_json, size_t n_bytes,
		   struct policy_vote *ret);

/*
 * The same for an event loop. extension_submit() returns the number of the question, or 0 if the
 * answer is known at once: deny, in @ret. The fd never changes; it is readable after an event or a
 * deadline. Then call extension_next() until it returns 0: 1 is an answer, in the order of the
 * questions. Do not use together with extension_ask().
 */
uint64_t extension_submit(struct extension *extension, const char *request_json, size_t n_bytes,
			  struct policy_vote *ret);
int extension_fd(const struct extension *extension);
int extension_next(struct extension *extension, uint64_t *ret_number, struct policy_vote *ret);

const char *extension_name(const struct extension *extension);
pid_t extension_pid(const struct extension *extension); /* 0 while it is not running */
