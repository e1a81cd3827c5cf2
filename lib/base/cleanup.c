/* SPDX-License-Identifier: MIT */

/*
 * Functions of the cleanup attributes. They also run after a failed call whose errno the caller
 * still reads, so each restores errno.
 */

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

void free_ptr(void *pointer_to_pointer)
{
	int saved = errno;

	free(*(void **)pointer_to_pointer);
	errno = saved;
}

void close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(take_fd(fd));
	errno = saved;
}

void close_stream(FILE **stream)
{
	int saved = errno;

	if (*stream)
		(void)fclose(*stream);
	errno = saved;
}

void close_dir(DIR **dir)
{
	int saved = errno;

	if (*dir)
		(void)closedir(*dir);
	errno = saved;
}
