/* SPDX-License-Identifier: MIT */
#pragma once

/* A temporary directory of one test; removed with its content at the end */

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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
	struct place place = { .path = "/tmp/sbx-test-XXXXXX" };

	if (!mkdtemp(place.path))
		abort();
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place;
}
