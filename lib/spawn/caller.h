/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who is at the other end of a connection to the control socket
 */

#include <stdbool.h>

/* Our own user, and in no sandbox: in the user namespace that we are in. What cannot be found out
 * is no. */
bool caller_is_own_user(int socket);
