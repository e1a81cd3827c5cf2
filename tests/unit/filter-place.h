/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A folder for cached filters, gone at the end of the test
 */

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct place {
	char path[64];
	int fd;
};
#define _cleanup_place_ _cleanup_(place_deinit)

static inline int place_remove_one(const char *path, const struct stat *status, int type,
				   struct FTW *ftw)
{
	return remove(path);
}

static inline void place_deinit(struct place *place)
{
	close_fd(&place->fd);
	(void)nftw(place->path, place_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline struct place place_make(void)
{
	struct place place = { .path = "/tmp/sbx-test-filter-XXXXXX" };

	if (!mkdtemp(place.path))
		abort();
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place;
}

/* How many names there are, and one of them. */
static inline unsigned place_names(const struct place *place, char name[256])
{
	_cleanup_closedir_ DIR *dir = opendir(place->path);
	const struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(name, 256, "%s", entry->d_name);
		n++;
	}
	return n;
}
