/* SPDX-License-Identifier: MIT */
#pragma once

/* A temporary directory for cached filters; removed at the end of the test */

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file-place.h"

/* The number of names in it, and one of them. */
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
