/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The life of one worker: from the hand-over of a sandbox's listeners to the summary at its end
 *
 * The supervisor sends LISTENERS and later END over the hand-over socket (registry/handover.h). A
 * supervisor that closes the socket instead has been killed: then the worker ends, too. Without a
 * socket the tool begins it with its own listeners and ends it on a signal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "proxy/proxy.h"

struct handover;
struct handover_limits;
struct log;
struct proxy_policy;
struct ready;
struct recorder;
struct resolver;
struct sbx_error;
struct sd_event;
struct worker;

#define WORKER_TEXT_SIZE 128

/* What a worker shows to the service: in shared memory, written by the worker alone. */
struct worker_page {
	char sandbox[WORKER_TEXT_SIZE]; /* cut if it is longer */
	char policy[WORKER_TEXT_SIZE];
	struct proxy_counters counters;
};

/* Everything is borrowed and outlives the worker, except fd. */
struct worker_options {
	struct sd_event *event; /* exits when the worker has ended */
	struct ready *ready;
	const struct log *log;
	struct resolver *resolver;
	struct recorder *recorder;
	const char *tool;	   /* its name in records */
	const char *const *layers; /* that confine this process, for the record; ends with NULL */
	struct proxy_timeouts timeouts;
	struct proxy_limits limits; /* LISTENERS may ask for less */
	struct worker_page *page;
	int fd;	   /* the hand-over socket, taken even on failure; or -EBADF */
	uid_t uid; /* of the sandbox's owner */
};

/* How long a worker waits for LISTENERS. */
#define WORKER_WAIT_USEC UINT64_C(30000000)

int worker_new(const struct worker_options *options, struct worker **ret, struct sbx_error *err);
/* Records the end, if none was recorded. */
struct worker *worker_free(struct worker *worker);
CLEANUP_BY(struct worker, worker_free)
#define _cleanup_worker_ _cleanup_(worker_free_ptr)

/*
 * Checks the policy, accepts on the listeners and records that the proxy has started; if that
 * record cannot be written, it has not. Takes the listeners, even on failure; copies the texts.
 */
int worker_begin(struct worker *worker, struct handover *handover, struct sbx_error *err);
/* Puts another policy into force, also if that cannot be recorded; takes it. */
void worker_replace_policy(struct worker *worker, struct proxy_policy *policy);
/* Records that another policy could not be loaded. */
void worker_record_error(const struct worker *worker, const struct sbx_error *what);
