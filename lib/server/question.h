/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One packet on its way to an answer (private to lib/server)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "policy/request.h"
#include "service/place.h"
#include "token/token.h"

struct facts;
struct generation;
struct generation_extension;
struct question;
struct server;
struct vote_slot;

/* Who asks: fixed when the connection is made. */
struct asker {
	pid_t pid;
	uid_t uid;
	uint64_t process_id;	   /* 0: nobody knows, so no token is ever its own */
	const struct facts *facts; /* of its sandbox; NULL on the main socket */
	enum place place;	   /* other than PLACE_BESIDE it is never trusted */
	bool is_trusted;
};

/* Reused from packet to packet without allocating again. */
struct question {
	struct server *server;
	struct asker asker;
	struct request_buffer request;
	bool has_request;	/* else the packet was not one */
	const char *sandbox_id; /* "" for none */
	enum token_refusal token;
	uint64_t token_nonce; /* of a valid token; else 0 */
	uint64_t now_usec;    /* one snapshot of CLOCK_BOOTTIME; 0: not taken yet */
	struct text answer;   /* without a newline */
	/* while it waits for extensions */
	struct generation *generation;
	struct question *next;
	struct vote_slot *slots;
	size_t n_open;
	void (*done)(struct question *question, void *userdata);
	void *userdata;
};

void question_deinit(struct question *question);

/*
 * 1: answered. 0: extensions have been asked, and done() is called when they have answered; until
 * then the question must not be moved, and nothing else may be asked with it.
 */
int question_begin(struct question *question, const void *packet, size_t n_bytes);
/* The same with the time given; 0: the clock's, if the packet is one that depends on it. */
int question_begin_at(struct question *question, const void *packet, size_t n_bytes,
		      uint64_t now_usec);
/* Answers deny without asking, and records why. */
void question_refuse(struct question *question, const char *cause, const struct sbx_error *err);

/* An extension has something to say. */
void question_take_votes(struct generation_extension *extension);
