/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One process at a time works on a path: "PATH.sbx-lock" exists and is locked meanwhile
 *
 * A lock of flock(2) on the path itself could not be removed with it. The file is empty, has mode
 * 0600 and belongs to the user of the process: in a directory like /tmp another user could hold a
 * lock on its own file forever, so such a file is refused.
 */

/* Waits for the lock. Returns an fd for path_unlock(), or negative errno: -EPERM if the file there
 * is not an empty regular file of this user. */
int path_lock(const char *path);
/* Removes the file, and closes @fd. */
void path_unlock(int fd, const char *path);
/* Waits for the lock of the open file: 1, or 0 if it has no name any more, because the process that
 * had the lock removed it. Negative errno. */
int path_lock_open(int fd);
