/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Closing a connection over which its peer may have sent fds that were not received
 *
 * close() of the last reference to a TCP socket with SO_LINGER waits until its data is sent or the
 * linger time, which its owner chooses, is over. If such a socket was sent in a message that was
 * not received, the process that discards the message, by recv() or by closing the connection,
 * waits.
 */

#include <stdbool.h>

/* Closes @fd, a connected unix socket for packets, without such a wait, and sets it to -EBADF.
 * False if no process can be started for that: the connection stays open until this process ends.
 */
bool unread_close(int *fd);
/* The same for a listening socket: over connections that were not accepted, messages may have been
 * sent. */
bool unread_close_listener(int *fd);
