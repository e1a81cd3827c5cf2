/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the verbs of sbx-ring: the values of options, one open side of a channel, its records
 *
 * One file for each verb: tools/ring-NAME.c. The tables are in sbx-ring.c.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/options.h"
#include "base/process.h"
#include "record/record.h"
#include "ring/named.h"
#include "service/peer.h"

struct clients;
struct keeper;
struct log;
struct ready;
struct text;
struct tool_run;

#define RING_FD_VARIABLE "SBX_RING_FD"
#define RING_SERVER_FD_VARIABLE "SBX_RING_SERVER_FD"

struct ring_values {
	/* of a channel */
	uint64_t size; /* of both directions together; 0: the default */
	const char *mode;

	/* of the keeper */
	bool keep;
	bool fds;

	/* of one side */
	const char *transport, *endpoint, *role, *when_full;
	struct option_list properties;
	int fd;
	bool create;
	bool datagram;
	uint64_t timeout_usec; /* 0: for ever */
	bool by_nul, by_length;
	bool follow;
	int audit_fd; /* -EBADF: the service of sbx-audit, or the spool */

	const char *with; /* pair */
	bool serve;	  /* call */
	bool watch, dump; /* inspect */
	uint64_t n_dumped;

	/* bench */
	const char *filter;
	uint64_t n_repetitions; /* 0: the default */
	bool list, quick;
};

verb_fn ring_verb_create, ring_verb_send, ring_verb_recv, ring_verb_call, ring_verb_pair;
verb_fn ring_verb_pipe, ring_verb_inspect, ring_verb_ls, ring_verb_bench;

/* Fills @err; returns TOOL_USAGE. */
int ring_refuse(struct sbx_error *err, const char *what, const char *why, const char *fix);

/* Words of options, NULL-terminated, by the enums of <sbx/ring.h>. */
extern const char *const ring_modes[];
extern const char *const ring_roles[];
extern const char *const ring_full_policies[];

/* The capacity of one direction of a channel of @size, where 0 is the default. -EINVAL with @err.
 */
int ring_check_size(uint64_t size, size_t *ret, struct sbx_error *err);

/* ---- ring-record.c: records about the end of a channel ---- */

/* How it ended, as in sbx-audit-layout(7). */
enum ring_end {
	RING_END_CLOSED,
	RING_END_DIED,
	RING_END_VIOLATION,
	RING_END_FAILED,
};

struct ring_ending {
	const char *channel;	 /* its name; NULL: random digits stand for it */
	const struct peer *peer; /* NULL: unknown */
	const char *transport;
	int role;
	enum ring_end end;
	const char *violation; /* its name, for RING_END_VIOLATION */
	struct sbx_ring_statistics statistics;
};

/* Opens the target of records: --audit-fd, the service of sbx-audit, or the spool. */
int ring_record_open(const struct ring_values *values, struct recorder *ret, struct sbx_error *err);
/* Writes ring_violation, if there was one, and ring_closed. */
int ring_record_end(struct recorder *recorder, const struct ring_ending *ending,
		    struct sbx_error *err);

/* ---- ring-side.c: one side of a channel ---- */

struct side {
	struct tool_run *run;
	const struct ring_values *values;
	struct sbx_ring *ring;
	struct recorder recorder;
	struct peer peer;
	bool has_peer;
	const char *name; /* of the channel, or NULL */
	int role;
	uint64_t timeout_usec;
	struct sbx_ring_config config; /* for opening it again */
};

#define SIDE_INIT(the_run, the_role)                                                               \
	{                                                                                          \
		.run = (the_run), .values = (the_run)->values, .recorder = RECORDER_INIT,          \
		.peer = PEER_INIT, .role = (the_role)                                              \
	}
/* Closes the channel, as one that failed if it is still open. */
void side_deinit(struct side *side);

/*
 * Opens the channel that the command line names: a NAME (@name, may be NULL), --endpoint, --fd or
 * $SBX_RING_FD. side->role is the default of the verb, which --role and --create change. Returns 0,
 * an exit status with @err, or negative errno with @err.
 */
int side_open(struct side *side, const char *name, struct sbx_error *err);
/* The exit status of negative errno @r: a refusal by the other side and wrong input are answers,
 * the rest is a failure (@r itself). */
int side_status(int r);
/* The same as side_open() over @socket, which is taken. */
int side_open_socket(struct side *side, int socket, struct sbx_error *err);
/* Waits at the endpoint for another side. 0; RING_NO_MORE if there will be none; or as
 * side_open(). */
#define RING_NO_MORE 64
int side_reconnect(struct side *side, struct sbx_error *err);
/* Closes the channel and records its end: @r is 0 or SBX_RING_CLOSED, or the result that ended it.
 * 0, or an exit status or negative errno if the record cannot be written. */
int side_close(struct side *side, int r, struct sbx_error *err);
/* Waits until the transport has taken all that was sent, which sbx_ring_close() does for some
 * seconds only. 0, or the result of the ring: SBX_RING_FULL after the time-out. */
int side_flush(struct side *side);
/*
 * A call with the ring has returned @r < 0, or a positive result that is a failure here. Closes the
 * channel, records that and fills @err: what could not be done is "cannot DOING". Returns an exit
 * status or @r.
 */
int side_fail(struct side *side, int r, const char *doing, struct sbx_error *err);

/* ---- ring-input.c: records of stdin ---- */

enum framing {
	FRAMING_LINES,
	FRAMING_NUL,
	FRAMING_LENGTH, /* u32 little-endian, then so many bytes */
};

int ring_framing(const struct ring_values *values, enum framing *ret, struct sbx_error *err);

struct input {
	int fd;
	enum framing framing;
	char *bytes;
	size_t n_allocated, begin, end;
	uint64_t number; /* of the last record, from 1 */
	bool is_at_end;
};

void input_deinit(struct input *input);
/* Is a whole record in the buffer? */
bool input_is_ready(struct input *input);
#define INPUT_END 1000 /* no exit status, which a verb may have in the same variable */
/* Reads once, waiting for it: 0, and at the end sets is_at_end; or as input_next(). */
int input_read(struct input *input);
/* 0 with the next record, valid until the next call; INPUT_END; -EMSGSIZE (longer than a message),
 * -EBADMSG (the end is inside of a record), or another errno. */
int input_next(struct input *input, const void **ret, size_t *ret_n_bytes);
/* What a negative result means for a user. Returns an exit status or @r. */
int input_fail(const struct input *input, int r, struct sbx_error *err);

/* ---- ring-output.c: messages to an fd ---- */

struct output {
	int fd;
	enum framing framing;
	char *bytes;
	size_t n_bytes;
	bool is_terminal; /* set with the first message */
};

void output_deinit(struct output *output);
/* Writes or keeps one message. 0 or negative errno. */
int output_add(struct output *output, const void *bytes, size_t n_bytes);
int output_flush(struct output *output);
/* What a failed write to stdout means for a user: closes @side and fills @err. If the reader has
 * gone, the process ends as by SIGPIPE. */
int output_fail(struct side *side, int r, struct sbx_error *err);

/* ---- ring-process.c: commands ---- */

/* The first number of @from and above under which a command inherits no fd yet. */
#define PROCESS_FIRST_FD 3
int process_free_number(int from);
/* A command that is executed inherits @fd as @number, which the environment @variable says. 0 or
 * negative errno. */
int process_give(int fd, int number, const char *variable);
/* Never returns: executes argv, or writes an error as tools do and exits with 126 or 127. */
noreturn void process_exec(const struct tool_run *run, char *const argv[]);

/* ---- ring-status.c: what keepers tell ---- */

struct ring_status {
	char name[NAMED_NAME_MAX + 1];
	char state[32], mode[16];
	uint64_t capacity;
	uint64_t keeper_pid;
	uint64_t pids[2];    /* of server and client; 0: none */
	uint64_t n_bytes[2]; /* on their way from server and client */
};

/* Reads the members of a STATUS or INSPECT answer; unknown ones are ignored. 0 or -EBADMSG. */
int ring_status_parse(const char *bytes, size_t n_bytes, struct ring_status *ret);
/* Asks the keeper of the channel; also -ENOENT: it is dead, -EPERM: it is another user's. */
int ring_status_ask(const char *name, struct ring_status *ret);

/*
 * ---- ring-keeper.c: gives out the roles of one channel (see ring/named.h for the protocol) ----
 *
 * A generation is one channel from the server's TAKE until both sides have left.
 */

struct keeper_options {
	const char *name;
	size_t capacity; /* of one direction */
	bool is_call;
	bool keeps; /* a new generation when both sides have left; else is_over() */
	const struct log *log;
	struct ready *ready;
	/* Both sides have left, and there will be no other generation. */
	void (*on_over)(void *userdata);
	void *userdata;
};

int keeper_new(const struct keeper_options *options, struct keeper **ret);
struct keeper *keeper_free(struct keeper *keeper);
CLEANUP_BY(struct keeper, keeper_free)
#define _cleanup_keeper_ _cleanup_(keeper_free_ptr)

struct clients *keeper_clients(const struct keeper *keeper);

/*
 * ---- ring-dump.c: the records of one direction that the other side has not read ----
 *
 * Everything in the file was written by a process that is not trusted. A record is shown only if
 * its header is valid; at the first one that is not, decoding ends with the reason, and the bytes
 * from there on are shown as bytes.
 */

struct dump {
	int fd;
	const char *from; /* "server" */
	bool is_call;
	uint64_t capacity;
	uint64_t head, tail;
	uint64_t nonce; /* mode call */
	uint32_t record_max;
	uint64_t n_bytes; /* at most */
};

void dump_add_text(struct text *out, const struct dump *dump);
/* {"from":"server","records":[{"position":0,"bytes":5,"kind":"whole",...}],...} and a newline. */
void dump_add_json(struct text *out, const struct dump *dump);
