/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The two files of a channel in shared memory, mapped
 *
 * The side that writes a file maps it writable. The server then seals its file against further
 * writable mappings (F_SEAL_FUTURE_WRITE), so the client can neither map it writable nor change it
 * with pwrite() or fallocate(). The client's file keeps its size (F_SEAL_SHRINK): reading it never
 * raises SIGBUS. The data is mapped twice in a row, so that a record that crosses its end is
 * contiguous.
 *
 * Geometry is checked once and then kept in private memory; the control blocks are not read again.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sbx/ring-layout.h>

struct sbx_error;

struct region {
	uint8_t *own;	      /* the file that this side writes */
	const uint8_t *other; /* the file that the other side writes */
	size_t capacity;      /* bytes of the data of each */
	size_t n_mapped;      /* of each: header and data, and the data again */
	uint64_t own_nonce, other_nonce;
	uint32_t record_max;
	bool is_call;
};

#define REGION_INIT                                                                                \
	{                                                                                          \
		.own = NULL                                                                        \
	}
void region_deinit(struct region *region);

/* The two files as fds. */
struct region_files {
	int server_fd, client_fd; /* the file that each of them writes */
};

#define REGION_FILES_INIT                                                                          \
	{                                                                                          \
		.server_fd = -EBADF, .client_fd = -EBADF                                           \
	}

/*
 * Makes both files with their control blocks. @capacity is that of one direction. The server's file
 * is not sealed yet: region_map() as the server does it. @client_pid may be 0.
 */
int region_make(size_t capacity, bool is_call, uint32_t server_pid, uint32_t client_pid,
		struct region_files *ret, struct sbx_error *err);
void region_files_deinit(struct region_files *files);
/* Makes the eventfd from which the client takes to wake the server. The fd, or negative errno. */
int region_make_eventfd(void);

/*
 * Maps both files for one role. The server then seals its own. The client refuses (-EPERM) a
 * server's file that is not sealed against writing: the process that sent it is not a server of
 * sbx. All sizes are checked against the sizes of the files: -EBADMSG.
 */
int region_map(const struct region_files *files, int role, struct region *ret,
	       struct sbx_error *err);

/* Is this fd sealed as the server's file must be before the client gets it? */
bool region_is_sealed(int server_fd);
