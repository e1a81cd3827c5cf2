/* SPDX-License-Identifier: MIT */

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define FIELDS_BEFORE_START 19

int64_t process_start_ticks(pid_t pid)
{
	char path[64], bytes[1024];
	_cleanup_close_ int fd = -EBADF;
	int64_t start = 0;
	ssize_t n;
	char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fd_read_full(fd, bytes, sizeof(bytes) - 1);
	if (n < 0)
		return n;
	bytes[n] = '\0';
	/* The name stands in parentheses and may hold anything, also ") S 1". */
	at = strrchr(bytes, ')');
	for (int i = 0; at && i <= FIELDS_BEFORE_START; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %" SCNd64, &start) == 1 && start >= 0 ? start : -EBADMSG;
}

mode_t process_open_umask(void)
{
	mode_t before = umask(0);

	(void)umask(before & ~(mode_t)S_IRWXU);
	return before;
}
