/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Buntime's shared memory and control socket, for workers that speak its protocol
 *
 * One segment has two halves, bun2py (the supervisor sends) and py2bun (the worker sends). A half
 * is a header of 64 bytes and then the data:
 *
 *   offset 0   u32  head: the place from which the receiver reads next
 *   offset 4   u32  tail: the place to which the sender writes next
 *   offset 8   u32  capacity: bytes of the data; capacity - 1 of them can be used
 *   offset 64  records: u32 length of the payload, payload; both continue at the begin of the data
 *
 * All numbers are little-endian, and head and tail are always less than the capacity. A line on the
 * unix socket tells the other side to look.
 *
 * Both sides map the whole segment writable, because Buntime's worker does. THIS MODE THEREFORE
 * DOES NOT PROTECT
 *   - messages in the segment: the other side can change what it was sent, and what it sends after
 *     it was published, so a message is copied out and only the copy is parsed;
 *   - the order of wake-ups: a side that does not write its lines is only found by a time-out;
 *   - against the other side's fallocate(FALLOC_FL_PUNCH_HOLE), which zeroes both halves;
 *   - third processes that read the segment: they cannot tell which side wrote a byte.
 * It does protect the process: indices and geometry are kept privately, a foreign word is loaded
 * once and checked, and the seals keep the size, so that no access raises SIGBUS. Without the
 * seals the segment is refused. A channel of <sbx/ring.h> has a file for each writer and none of
 * these gaps.
 */

#include <stddef.h>
#include <stdint.h>

#include "ring/message.h"
#include "ring/violation.h"

struct line_reader;
struct sbx_error;
struct text;

#define BUNTIME_HEAD_OFFSET 0
#define BUNTIME_TAIL_OFFSET 4
#define BUNTIME_CAPACITY_OFFSET 8
#define BUNTIME_DATA_OFFSET 64
#define BUNTIME_LENGTH_SIZE 4

/* Bytes of a segment; a multiple of 8. */
#define BUNTIME_TOTAL_MIN 4096
#define BUNTIME_TOTAL_MAX 1073741824

struct buntime {
	uint8_t *segment;
	size_t n_mapped;
	uint8_t *out, *in; /* the halves: this side sends, this side receives */
	uint32_t capacity; /* of the data of each */
	uint32_t out_head, out_tail;
	uint32_t in_head, in_tail;
	uint8_t *message; /* the last one that was received; capacity bytes */
	int violation;	  /* enum ring_violation, of the other side */
};

#define BUNTIME_INIT                                                                               \
	{                                                                                          \
		.segment = NULL                                                                    \
	}

/* Makes an empty segment, sealed against changes of its size. */
int buntime_make(size_t total_bytes, int *ret_fd, struct sbx_error *err);
/*
 * Maps a segment as @side, one of the two. -EPERM if it is not sealed, -EBADMSG if it has not the
 * size and headers of a segment. @fd stays the caller's.
 */
int buntime_attach(int fd, enum message_sender side, struct buntime *ret, struct sbx_error *err);
void buntime_deinit(struct buntime *buntime);

size_t buntime_message_max(const struct buntime *buntime);
/*
 * Never waits. 0, SBX_RING_FULL, -EMSGSIZE, or -EPROTO: see @buntime->violation, the segment is not
 * used again. Then the caller writes a line to the socket.
 */
int buntime_send(struct buntime *buntime, const void *bytes, size_t n_bytes);
/* 0 with a message that is valid until the next call, SBX_RING_EMPTY, -EPROTO. Never waits. */
int buntime_receive(struct buntime *buntime, const uint8_t **ret, size_t *ret_n_bytes);

/* The lines of the socket. */
enum buntime_line_kind {
	BUNTIME_READY, /* the worker awaits code */
	BUNTIME_DATA,  /* there are messages */
	BUNTIME_CHECK, /* the worker awaits a decision */
	BUNTIME_STATE, /* {"type":"state","event":"exec_start","data":VALUE} */
	BUNTIME_N_LINE_KINDS,
};

#define BUNTIME_EVENT_MAX 64
/* Bytes of a line; a state has the text of an exception. */
#define BUNTIME_LINE_MAX 65536

struct buntime_line {
	enum buntime_line_kind kind;
	/* Only of BUNTIME_STATE. */
	char event[BUNTIME_EVENT_MAX + 1]; /* a-z, 0-9 and '_' */
	const char *data;		   /* one JSON value of the line; NULL: none */
	size_t data_size;
};

/* Reads one line without its newline. -EBADMSG with *@ret_problem. */
int buntime_parse_line(const char *bytes, size_t n_bytes, enum message_sender sender,
		       struct buntime_line *ret, const char **ret_problem);
/* Adds a line with its newline; -EBADMSG if the reader of @sender's lines would refuse it. */
int buntime_print_line(const struct buntime_line *line, enum message_sender sender,
		       struct text *out);
/*
 * The next line of a socket: @reader has the fd, BUNTIME_LINE_MAX as its max, and refuses_long.
 * 1, or 0 at the end; -EAGAIN: the socket does not block and has no whole line; -EMSGSIZE; -EBADMSG
 * with *@ret_problem, also for a line that the end of the stream cuts. @ret is valid until the next
 * call.
 */
int buntime_next_line(struct line_reader *reader, enum message_sender sender,
		      struct buntime_line *ret, const char **ret_problem);

/* Paths above this many bytes are not used, as in Buntime; sun_path would take 107. */
#define BUNTIME_PATH_MAX 100

struct buntime_socket {
	char *path;
	int fd; /* SOCK_STREAM, listens, does not block */
};
#define BUNTIME_SOCKET_INIT                                                                        \
	{                                                                                          \
		.fd = -EBADF                                                                       \
	}

/* The first element of $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR, or "/tmp". -ENOMEM. */
int buntime_add_directory(struct text *out, char *const *environment);
/* Adds "DIRECTORY/bun-RANDOM.sock", with @random in base 36; in /tmp if that is too long. */
void buntime_add_path(struct text *out, const char *directory, uint64_t random);
/* Listens on such a path; the socket has mode 0600 from the moment at which it has a name. */
int buntime_listen(const char *directory, struct buntime_socket *ret, struct sbx_error *err);
/* Removes and closes the socket. */
void buntime_socket_deinit(struct buntime_socket *socket);
