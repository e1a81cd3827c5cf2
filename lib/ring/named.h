/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Named channels in shared memory: the client of a keeper ("sbx-ring create NAME")
 *
 * A name is a unix socket, <runtime directory>/sbx/rings/NAME.sock, on which a keeper of the same
 * user listens. It gives each role to one process. The server maps its file writable, seals it and
 * says so; only then does the keeper give the client its fds, so that the client never has an fd of
 * a server's file that it could map writable.
 *
 *   server:  named_take(), region_map() (which seals), named_tell_sealed()
 *   client:  named_take(), which waits for the server; region_map()
 *
 * One packet each way, JSON, with fds beside it. The connection stays open for as long as the side
 * uses the channel: its end tells the keeper that the side has left.
 *
 *   {"type":"TAKE","role":"server"}    {"ok":true,...} and four fds: server's file, client's file,
 *                                      eventfd, one end of a socketpair
 *   {"type":"SEALED"}                  {"ok":true}
 *   {"type":"STATUS"}                  {"ok":true,...}
 *   {"type":"INSPECT","data":false}    {"ok":true,...} and two fds: server's file, a copy of the
 *                                      client's file (its header; with "data" all of it)
 *
 * A refusal is {"ok":false,"error":"busy","what":...,"why":...,"fix":...}.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "ring/region.h"

struct sbx_error;
struct text;

#define NAMED_NAME_MAX 64
#define NAMED_SUFFIX ".sock"
#define NAMED_BYTES_MAX 4096 /* of a packet */
#define NAMED_N_FDS_TAKEN 4
#define NAMED_N_FDS_INSPECTED 2

/* What one side gets. All fds are the caller's. */
struct named_channel {
	struct region_files files; /* the server's is sealed for the client, and not yet for the
				      server */
	int eventfd;		   /* wakes the server */
	int socket;		   /* connected to the other side; SOCK_SEQPACKET */
	int keeper;		   /* to be closed when the side leaves the channel, not before */
	char name[NAMED_NAME_MAX + 1];
};

#define NAMED_CHANNEL_INIT                                                                         \
	{                                                                                          \
		.files = { -EBADF, -EBADF }, .eventfd = -EBADF, .socket = -EBADF, .keeper = -EBADF \
	}
#define _cleanup_named_channel_ _cleanup_(named_channel_deinit)
void named_channel_deinit(struct named_channel *channel);

/*
 * Takes one role (enum sbx_ring_role) of the channel @name. The client waits until the server has
 * sealed its file. -EINVAL (a name that cannot be one), -ENOENT (no keeper), -EBUSY (the role is
 * taken), -EPERM (the keeper belongs to another user), -ETIMEDOUT (no server), -EPROTO; all with
 * @err. SBX_RING_FOREVER is allowed.
 */
int named_take(const char *name, int role, uint64_t timeout_usec, struct named_channel *ret,
	       struct sbx_error *err);
/* The server has mapped and sealed its file: the keeper may admit a client. */
int named_tell_sealed(const struct named_channel *channel, uint64_t timeout_usec,
		      struct sbx_error *err);

/* ---- for the keeper, and for tools that ask one ---- */

/* [A-Za-z0-9_.-], at most NAMED_NAME_MAX, no leading dot. */
bool named_is_valid(const char *name);
/* -EINVAL with @err unless it is valid. */
int named_check(const char *name, struct sbx_error *err);
/* Adds the directory of the sockets: /run/sbx/rings for root, $XDG_RUNTIME_DIR/sbx/rings, or
 * /tmp/sbx-UID/rings. */
int named_add_directory(struct text *out, char *const *environment);
/* Connects to the keeper and checks that it is the caller's or root's. The fd, or negative errno
 * with @err. */
int named_connect(const char *name, struct sbx_error *err);
/*
 * Sends @question and receives the answer, up to the time-out, with up to @n_fds fds. 0 if it is
 * {"ok":true,...}; then *@ret_n_fds fds in @fds are the caller's. Else negative errno, with the
 * keeper's reason in @err. @bytes has NAMED_BYTES_MAX + 1 bytes and gets a NUL after the answer.
 */
int named_ask(int keeper, const char *name, const char *question, uint64_t timeout_usec,
	      char *bytes, size_t *ret_n_bytes, int *fds, size_t n_fds, size_t *ret_n_fds,
	      struct sbx_error *err);
