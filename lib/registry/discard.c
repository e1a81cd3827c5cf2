/* SPDX-License-Identifier: MIT */

/*
 * Removes a directory that untrusted code has filled, of any depth and with any modes
 *
 * It does not recurse. A directory that is found in a directory is moved up into one flat
 * directory, until each contains only files: so neither the stack, the number of open files nor the
 * length of paths depends on the tree.
 */

#include "registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define FLAT_NAME_SIZE sizeof(".discard-18446744073709551615")

struct discard {
	int top; /* the directory to which all are moved */
	uint64_t n_moved;
	int first_failure;
};

static void note(struct discard *discard, int r)
{
	if (r < 0 && discard->first_failure == 0)
		discard->first_failure = r;
}

/* A directory without permissions cannot be emptied or moved; its owner can add them. */
static int open_up(int parent, const char *name)
{
	char path[64];
	_cleanup_close_ int fd = path_open_beneath(parent, name, O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	/* Through the fd, because chmod() by name would follow a link. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (chmod(path, 0700) < 0 && errno != EPERM)
		return -errno;
	return path_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0);
}

static int move_up(struct discard *discard, int directory, const char *name)
{
	_cleanup_close_ int fd = open_up(directory, name);
	char flat[FLAT_NAME_SIZE];

	if (fd < 0)
		return fd;
	/* Removes an empty directory at once. */
	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	do
		(void)snprintf(flat, sizeof(flat), ".discard-%" PRIu64, ++discard->n_moved);
	while (faccessat(discard->top, flat, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	return renameat(directory, name, discard->top, flat) < 0 ? -errno : 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the files and moves the directories up. */
static void empty(struct discard *discard, int directory)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(directory);
	const struct dirent *item;

	if (!dir) {
		note(discard, -errno);
		return;
	}
	while ((errno = 0, item = readdir(dir))) {
		if (is_dots(item->d_name) || unlinkat(directory, item->d_name, 0) == 0)
			continue;
		note(discard, errno == EISDIR || errno == EPERM
				      ? move_up(discard, directory, item->d_name)
				      : -errno);
	}
	note(discard, -errno);
}

/*
 * One pass over the flat directory: removes the files of each directory in it, and moves their
 * subdirectories here. True if there is more to do. Each directory is moved and removed only once.
 */
static bool remove_round(struct discard *discard)
{
	_cleanup_closedir_ DIR *dir = fd_open_dir(discard->top);
	const struct dirent *item;
	uint64_t n_moved = discard->n_moved;
	bool is_smaller = false;

	if (!dir) {
		note(discard, -errno);
		return false;
	}
	while ((item = readdir(dir))) {
		_cleanup_close_ int directory = -EBADF;

		if (is_dots(item->d_name) || unlinkat(discard->top, item->d_name, 0) == 0)
			continue;
		directory = open_up(discard->top, item->d_name);
		if (directory >= 0)
			empty(discard, directory);
		if (directory < 0 || unlinkat(discard->top, item->d_name, AT_REMOVEDIR) < 0)
			note(discard, directory < 0 ? directory : -errno);
		else
			is_smaller = true;
	}
	return is_smaller || discard->n_moved > n_moved;
}

int directory_discard(int parent, const char *name)
{
	_cleanup_close_ int top = open_up(parent, name);
	struct discard discard = { .top = top };

	if (top == -ENOENT)
		return 0;
	if (top < 0)
		return top;
	while (remove_round(&discard))
		discard.first_failure = 0;
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
		return discard.first_failure < 0 ? discard.first_failure : -errno;
	return 0;
}
