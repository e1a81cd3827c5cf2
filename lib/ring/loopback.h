/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The user at the other end of a TCP connection on the loopback
 */

#include <sys/types.h>

/*
 * The effective user of the process that made the other end of @socket, or, while no process has
 * accepted it, of the process that listens there. 0 or negative errno: -ENOTCONN if the other end
 * has been closed.
 */
int loopback_find_user(int socket, uid_t *ret);
