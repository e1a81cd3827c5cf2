/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A packet between its arrival and the answer
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "policy/request.h"
#include "service/peer.h"
#include "token/token.h"

struct facts;
struct generation;
struct generation_extension;
struct question;
struct server;
struct vote_slot;

/* The peer process, identified when the connection is accepted. */
struct asker {
	pid_t pid;
	uid_t uid;
	uint64_t process_id;	   /* 0: unknown, so no token can belong to it */
	const struct facts *facts; /* of the peer's sandbox; NULL on the main socket */
	enum peer_place place;	   /* for records */
	bool is_trusted;
};

/* Reused with its buffers for the client's next packet. */
struct question {
	struct server *server;
	struct asker asker;
	struct request_buffer request;
	bool has_request;	/* the packet parsed as a request */
	const char *sandbox_id; /* "" for none */
	enum token_refusal token;
	uint64_t token_nonce; /* of a valid token, else 0 */
	uint64_t now_usec;    /* one snapshot of CLOCK_BOOTTIME; 0: not taken yet */
	struct text answer;   /* without a newline */
	/* valid while the question waits for extensions */
	struct generation *generation;
	struct question *next;
	struct vote_slot *slots;
	size_t n_open;
	void (*done)(struct question *question, void *userdata);
	void *userdata;
};

void question_deinit(struct question *question);

/*
 * 1: answered. 0: extensions were asked; done() is called when they have answered, and until then
 * the caller must neither move the question nor begin it again. @now_usec: CLOCK_BOOTTIME, or 0:
 * read it when the packet needs it.
 */
int question_begin(struct question *question, const void *packet, size_t n_bytes,
		   uint64_t now_usec);
/* Answers deny, whatever the policy says, and records the reason. */
void question_refuse(struct question *question, const char *cause, const struct sbx_error *err);

/* To be called when an extension's fd is readable. */
void question_take_votes(struct generation_extension *extension);
