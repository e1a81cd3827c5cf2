/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Copies bytes from one fd to another in the supervisor's loop
 *
 * A relay has one buffer and waits either for bytes or for room to write them. It does not own the
 * fds. A connection has two relays.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spawn/loop.h"

#define RELAY_BUFFER_SIZE 16384

struct relay {
	struct source source;
	struct loop *loop;
	int from;
	int to;
	bool to_is_socket;
	bool to_may_block; /* its flags are not ours to change: small writes, when there is room */
	bool drops_cr;	   /* CR LF becomes LF */
	bool is_paused;	   /* nothing is read; bytes that were read are still written */
	bool is_last;	   /* @from has no more than the bytes that can be read now */
	bool has_ended;	   /* the end was read, and all bytes are written or lost */
	bool has_failed;   /* a write failed */
	uint64_t *left;	   /* how many bytes may still pass, shared by relays; or NULL */
	bool is_over;	   /* more came than that: it was thrown away, and so is the rest */
	/* After every change of the two above; it may deinit the relay. */
	void (*changed)(struct relay *relay, void *userdata);
	void *userdata;
	size_t begin;
	size_t end;
	char *bytes;
};

#define RELAY_INIT                                                                                 \
	{                                                                                          \
		.from = -EBADF, .to = -EBADF                                                       \
	}

/* Do not move @relay afterwards. 0 or negative errno. */
int relay_begin(struct relay *relay, struct loop *loop, int from, int to);
void relay_pause(struct relay *relay, bool is_paused);
/* Ends the relay when the available bytes were written. @from must not block. */
void relay_drain(struct relay *relay);
void relay_deinit(struct relay *relay);

/* A second, non-blocking open file description of @fd, because the flags of the first are shared.
 * -EBADF: not possible. */
int relay_reopen(int fd);
