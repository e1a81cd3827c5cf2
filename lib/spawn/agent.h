/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A process of ours that lives in the network namespace of a sandbox and does one thing: it makes
 * sockets there
 *
 * A socket belongs to the namespace in which it was made, and the supervisor cannot go there and
 * come back. Nothing from the sandbox reaches the agent: it reads one byte at a time from us.
 */

#include "spawn/join.h"

int agent_start(struct joined *agent, const struct place *place);
/* A stream socket in the sandbox that does not block, or negative errno. */
int agent_make_socket(const struct joined *agent);
