/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The names that a watch looks after; watch-names.c finds them in a plan, watch.c watches them
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spawn/watch.h"

#define WATCH_NONE SIZE_MAX

struct identity {
	uint64_t mount;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
};

/* One component of a path inside; what it lies in comes before it. */
struct watched {
	char *path;
	const char *name; /* its last component */
	size_t above; /* WATCH_NONE: the folder from outside, in which the others are looked for */
	struct watch_loss loss;		  /* what is lost with it */
	const struct plan_absent *absent; /* it must not be there */
	bool is_mount;
	bool is_above;	/* of others: it is open */
	bool is_bare;	/* something must not appear in it */
	bool is_socket; /* it is granted, and who serves it may make it anew */
	int fd;
	struct identity identity;
};
