/* SPDX-License-Identifier: MIT */
#pragma once

/* An extension, shared by the files of lib/extension */

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
	uint64_t limit_usec; /* deadline of one answer */
	uint64_t pause_usec;
	uint64_t restart_usec; /* when to restart it; 0: it is running */
	uint64_t n_asked;
	size_t first, n_open; /* ring buffer of open questions */
	struct question questions[EXTENSION_OPEN_MAX];
	size_t n_failed; /* the first n_failed open questions will be denied, because of fault */
	const char *fault;
	struct text unsent;
	struct text read; /* bytes after the last complete line */
	struct text reason;
	uint32_t waits_for; /* events for which its stdin is in the epoll fd; 0: it is not in it */
	bool has_begun;	    /* it has read its first bytes: the start is over */
	int n_unread;	    /* unread bytes in its stdin (SIOCOUTQ) after the last send() */
};

/* epoll_ctl() on the epoll fd of the extension. */
int extension_watch(struct extension *extension, int fd, uint32_t events, int operation);
int extension_start(struct extension *extension);
