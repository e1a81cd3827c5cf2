/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Keys of the type "user" in the kernel's keyrings: keyrings(7)
 */

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the key @name that the session, process or thread keyring leads to. The number of bytes, or
 * -ENOKEY where there is none that can be read, -EPERM where it belongs to another user or where
 * its group or others have a right to it, -EBADMSG where it has more than @size bytes.
 */
ssize_t keyring_read(const char *name, void *bytes, size_t size);
