/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The hand-over of a sandbox's listeners to the process that proxies for it
 *
 * The supervisor of a sandbox sends one packet with the listeners and the compiled policy, and the
 * proxy answers before the command is executed. When the sandbox has ended, END is answered with
 * the summary. The transport is a connected SOCK_SEQPACKET socket; a packet is one JSON object.
 *
 *   {"type":"LISTENERS","sandbox":"ID","project":"/p","digest":"HEX","policy":"p.yaml",
 *    "listeners":[{"kind":"http","address":"127.0.0.1","port":8080}],
 *    "limits":{"connections":64,"bytes":1048576,"rate":4096}}
 *   {"type":"END"}
 *
 * The fds of LISTENERS are the artefact, a memfd that nothing can change, and then the listeners in
 * their order. An answer is {"ok":true}, with the summary after END, or an error as sbx prints it
 * with --json. Both sides take the other one for hostile: unknown members, wrong types, too many
 * fds and fds of another kind are refused, and no fd of a refused packet stays open.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct arena;
struct sbx_error;
struct text;

/* As many as a plan makes (KERNEL_LISTENERS_MAX). */
#define HANDOVER_LISTENERS_MAX 32
#define HANDOVER_FDS_MAX (1 + HANDOVER_LISTENERS_MAX)
#define HANDOVER_BYTES_MAX ((size_t)128 * 1024)
#define HANDOVER_ARTEFACT_MAX ((size_t)64 << 20)
#define HANDOVER_DENIALS_MAX 64
#define HANDOVER_COUNTERS_MAX 64
#define HANDOVER_DIGEST_LEN 64

enum handover_listener_kind {
	HANDOVER_HTTP, /* requests to an HTTP proxy */
	N_HANDOVER_LISTENER_KINDS,
};

struct handover_listener {
	enum handover_listener_kind kind;
	const char *address; /* "127.0.0.1", "::1", or the path of a unix socket */
	uint16_t port;	     /* 0: a unix socket */
	int fd;
};

struct handover_limit {
	bool is_set;
	uint64_t value;
};

struct handover_limits {
	struct handover_limit connections; /* at the same time */
	struct handover_limit bytes;	   /* of all connections, both directions */
	struct handover_limit rate;	   /* bytes in a second */
};

struct handover {
	const char *sandbox;
	const char *project; /* NULL: none */
	const char *digest;  /* of the policy: struct artefact_header has the same */
	const char *policy;  /* its name for people */
	struct handover_listener listeners[HANDOVER_LISTENERS_MAX];
	size_t n_listeners;
	struct handover_limits limits;
	int artefact;
};
#define HANDOVER_INIT                                                                              \
	{                                                                                          \
		.artefact = -EBADF                                                                 \
	}
#define _cleanup_handover_ _cleanup_(handover_close)

/* A kind of packet that a supervisor sends; CLOSED: it has closed its socket, or has exited. */
enum handover_kind {
	HANDOVER_CLOSED,
	HANDOVER_LISTENERS,
	HANDOVER_END,
};

/* Reasons of an allowed host whose name was not resolved begin with it. */
#define HANDOVER_UNRESOLVED "name-"

/* Connections to one host and port that were denied for one reason. */
struct handover_denial {
	const char *host;
	uint16_t port;
	const char *reason; /* one word */
	const char *rule;   /* "web (p.yaml:14)"; NULL: no rule denied it */
	const char *why;    /* for users: who denied it, and the rule's own reason; or NULL */
	const char *fix;    /* what to type or to write; NULL: nothing would allow it */
	uint64_t count;
};

struct handover_counter {
	const char *name;
	uint64_t value;
};

struct handover_summary {
	struct handover_denial denials[HANDOVER_DENIALS_MAX];
	size_t n_denials;
	uint64_t n_denials_left_out;
	struct handover_counter counters[HANDOVER_COUNTERS_MAX];
	size_t n_counters;
};

/* A memfd with these bytes and all seals, which the kernel then keeps as they are. */
int handover_seal(const void *bytes, size_t n_bytes, int *ret_fd);

/* ---- the supervisor ---- */

/* The fds stay the caller's. 0 or negative errno. */
int handover_send(int socket, const struct handover *handover, struct sbx_error *err);
int handover_send_end(int socket);
/* Asks the service of the proxy for a socket, which comes with its answer. */
int handover_send_open(int socket);
/*
 * Receives an answer: 0, or the error of the other side in @err (-ECONNREFUSED), or -EBADMSG,
 * -ECONNRESET if the socket is closed, -EAGAIN. The answer without a summary has an empty one. With
 * @ret_fd the answer must contain one fd, a SOCK_SEQPACKET socket; otherwise none.
 */
int handover_receive_answer(int socket, struct arena *arena, struct handover_summary *ret,
			    int *ret_fd, struct sbx_error *err);

/* ---- the proxy ---- */

/*
 * Receives a packet: enum handover_kind, -EAGAIN, or -EBADMSG or -EMSGSIZE for one that is refused,
 * with the reason in @err. After HANDOVER_LISTENERS the fds of *@ret are the caller's and were
 * checked: the artefact cannot change, each listener accepts at its address, without blocking.
 * Texts are in @arena. Of the artefact's contents nothing is known yet.
 */
int handover_receive(int socket, struct arena *arena, struct handover *ret, struct sbx_error *err);
void handover_close(struct handover *handover);
/* 0 or negative errno */
int handover_send_ok(int socket);
int handover_send_error(int socket, const struct sbx_error *error);
/* Denials for which a packet has no room are counted as left out. */
int handover_send_summary(int socket, const struct handover_summary *summary);

/* ---- only the texts, for tests ---- */

void handover_add_text(struct text *out, const struct handover *handover);
void handover_add_summary(struct text *out, const struct handover_summary *summary);
/* enum handover_kind or -EBADMSG; every fd of *@ret is -EBADF. */
int handover_parse(const void *bytes, size_t n_bytes, struct arena *arena, struct handover *ret,
		   struct sbx_error *err);
int handover_parse_answer(const void *bytes, size_t n_bytes, struct arena *arena,
			  struct handover_summary *ret, struct sbx_error *err);
