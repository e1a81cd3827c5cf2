/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sees when a file of the policy, or a link on its path, is renamed into place
 */

#include "base/cleanup.h"

struct server;
struct watch;

/*
 * Watches the policy's files as their paths lead now; a path that cannot be watched is logged. Call
 * it before a load: a file that is renamed in between is then loaded twice instead of missed.
 */
void watch_policies(struct server *server);

/* Frees the whole list. */
struct watch *watch_free(struct watch *watches);
CLEANUP_BY(struct watch, watch_free)
#define _cleanup_watch_ _cleanup_(watch_free_ptr)
