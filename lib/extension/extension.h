/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Extension programs: rules that are written as programs
 *
 * An extension is any program that reads request lines and writes decision lines, in order:
 *
 *   → {"n":1,"request":{...}}
 *   ← {"n":1,"action":"pass|allow|warn|require_review|deny","reason":"..."}
 *
 * It lives long. The time for an answer does not run while the program starts, which ends when it
 * reads its first question (10 s at most). An answer that is late (100 ms), malformed, out of order
 * or missing is deny, and the program is killed and started again with a growing pause; until then
 * everything it is asked is denied. Its stderr is not ours to read. It gets no fds but its three,
 * and no environment but PATH and LC_ALL.
 *
 * Requests may be sent before earlier ones are answered: each has a deadline of its own, so a slow
 * program delays nobody for longer than that.
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
/* Asked and not answered: further questions are denied at once, and a program that does not read is
 * not allowed to grow our memory. */
#define EXTENSION_OPEN_MAX 256
#define EXTENSION_UNSENT_MAX (1024 * 1024)

/* @argv[0] is an absolute path. Starts the program at once; fails where it cannot be executed. */
int extension_new(const char *name, const char *const *argv, struct extension **ret,
		  struct sbx_error *err);
/* Kills the program and waits for it. */
struct extension *extension_free(struct extension *extension);
/* Another deadline than EXTENSION_DEADLINE_USEC, from the next question on: where the machine, not
 * the program, is slow. */
void extension_set_deadline(struct extension *extension, uint64_t usec);
void extension_free_ptr(struct extension **extension);
#define _cleanup_extension_ _cleanup_(extension_free_ptr)

/* @request_json is the normalised request (request_add_json()). Always answers within the deadline;
 * @ret's texts live until the next call. */
void extension_ask(struct extension *extension, const char *request_json, size_t n_bytes,
		   struct policy_vote *ret);

/*
 * The same for an event loop. extension_submit() returns the question's number, or 0 where the
 * answer is known at once: deny, in @ret. The fd (which never changes) is readable when something
 * happened or a deadline passed: then extension_next() gives one answer after the other, in the
 * order of the questions: 1 with an answer, 0 when there is none yet. Never mixed with
 * extension_ask().
 */
uint64_t extension_submit(struct extension *extension, const char *request_json, size_t n_bytes,
			  struct policy_vote *ret);
int extension_fd(const struct extension *extension);
int extension_next(struct extension *extension, uint64_t *ret_number, struct policy_vote *ret);

const char *extension_name(const struct extension *extension);
uint64_t extension_restarts(const struct extension *extension);
pid_t extension_pid(const struct extension *extension); /* 0 while it is down */
