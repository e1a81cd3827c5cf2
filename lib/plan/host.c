/* SPDX-License-Identifier: MIT */

/*
 * Facts about the host: looking one up
 */

#include "plan/host.h"

#include <string.h>

const struct host_path *host_find_path(const struct host *host, const char *path)
{
	size_t low = 0, high = host->n_paths;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, host->paths[middle].path);

		if (order == 0)
			return &host->paths[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
