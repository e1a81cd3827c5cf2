/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An extension, as the files of this folder see it
 */

#include <stdbool.h>

#include "base/text.h"
#include "extension/extension.h"
#include "extension/program.h"

struct question {
	uint64_t number;
	uint64_t deadline_usec;
};

struct extension {
	char *name;
	const char *const *argv;
	struct program program;
	int epoll_fd;
	int timer_fd;
	uint64_t n_starts;
	uint64_t limit_usec; /* for one answer */
	uint64_t pause_usec;
	uint64_t restart_usec; /* 0: it runs */
	uint64_t n_asked;
	size_t first, n_open; /* a ring of questions */
	struct question questions[EXTENSION_OPEN_MAX];
	size_t n_failed; /* of the open ones, the first ones: to be denied, for this: */
	const char *fault;
	struct text unsent;
	struct text read; /* what came and is no whole line yet */
	struct text reason;
	uint32_t waits_for; /* what its stdin is in the epoll fd for; 0: it is not */
	bool has_begun;	    /* it has read something: it is not starting up any more */
	int n_unread;	    /* what it had not read when something was sent last */
};

/* Changes what the extension's epoll fd waits for. */
int extension_watch(struct extension *extension, int fd, uint32_t events, int operation);
int extension_start(struct extension *extension);
