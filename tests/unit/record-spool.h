/* SPDX-License-Identifier: MIT */
#pragma once

/* A recorder whose spool is in a given state directory */

#include "record/record.h"
#include "record/spool.h"

static inline int open_spool_in(struct recorder *recorder, const char *state_directory,
				struct sbx_error *err)
{
	int fd = spool_open_in(state_directory, err);

	if (fd < 0)
		return fd;
	recorder_use_fd(recorder, fd);
	return 0;
}
