/* SPDX-License-Identifier: MIT */
#ifndef SBX_RING_LAYOUT_H
#define SBX_RING_LAYOUT_H

/*
 * The bytes of a channel in shared memory. Data only.
 *
 * A channel has two files, one for each side: a side writes only its own file and reads the other.
 * Each file is a header of SBX_RING_DATA_OFFSET bytes and then the data that the side sends. The
 * position of that data (the tail) and the position up to which the side has read the other file
 * (the head) are both in the side's own file.
 *
 * All numbers are little-endian and aligned. Positions are bytes since the channel was made, never
 * reduced; the place in the data is position modulo capacity. Words that change have lines of their
 * own, so that the two sides do not contend for them.
 */

#define SBX_RING_MAGIC 0xCDAF5000u
#define SBX_RING_VERSION 1u

/* The control block: 64 bytes that do not change after the channel was made. */
#define SBX_RING_CONTROL_SIZE 64
#define SBX_RING_MAGIC_OFFSET 0	      /* u32 */
#define SBX_RING_VERSION_OFFSET 4     /* u32 */
#define SBX_RING_SIZE_OFFSET 8	      /* u64: bytes of this file */
#define SBX_RING_FLAGS_OFFSET 16      /* u32: SBX_RING_FLAG_* */
#define SBX_RING_READERS_OFFSET 20    /* u32: 1 */
#define SBX_RING_WRITERS_OFFSET 24    /* u32: 1 */
#define SBX_RING_SERVER_PID_OFFSET 28 /* u32: the process that made the channel */
#define SBX_RING_CLIENT_PID_OFFSET 32 /* u32: of SO_PEERCRED; 0: unknown */
#define SBX_RING_DATA_AT_OFFSET 36    /* u32: SBX_RING_DATA_OFFSET */
#define SBX_RING_CAPACITY_OFFSET 40   /* u64: bytes of the data, a power of two */
#define SBX_RING_NONCE_OFFSET 48      /* u64: random, of the stamps of cells */
#define SBX_RING_RECORD_MAX_OFFSET 56 /* u32: the largest payload of a record */
#define SBX_RING_RESERVED_OFFSET 60   /* u32: 0 */

#define SBX_RING_FLAG_CALL 1u	/* cells instead of a byte stream */
#define SBX_RING_FLAG_CLIENT 2u /* the file that the client writes */

/* Words that the file's owner changes. */
#define SBX_RING_LINE_SIZE 128
#define SBX_RING_TAIL_OFFSET 128     /* u64: the end of the data sent */
#define SBX_RING_HEAD_OFFSET 256     /* u64: what this side has read of the other file */
#define SBX_RING_SLEEPING_OFFSET 384 /* u32: SBX_RING_SLEEPING_* */
#define SBX_RING_DOORBELL_OFFSET 512 /* u32: futex; increases with each wake-up */
#define SBX_RING_STATE_OFFSET 640    /* u32: SBX_RING_STATE_* */
#define SBX_RING_COUNTERS_OFFSET 768 /* u64[SBX_RING_N_COUNTERS] */

#define SBX_RING_DATA_OFFSET 4096

/* What the owner of the file waits for; 0 while it does not wait. */
#define SBX_RING_SLEEPING_DATA 1u   /* for the other side's tail (or cell) */
#define SBX_RING_SLEEPING_ROOM 2u   /* for the other side's head */
#define SBX_RING_SLEEPING_SOCKET 4u /* wake it with a byte on the socket instead of the futex */

#define SBX_RING_STATE_OPEN 0u
#define SBX_RING_STATE_CLOSED 1u /* the owner has sent its last message */

/* Counters, written for observers when the owner publishes; see struct sbx_ring_statistics. */
enum sbx_ring_counter {
	SBX_RING_COUNTER_SENT = 0,
	SBX_RING_COUNTER_RECEIVED = 1,
	SBX_RING_COUNTER_SEND_FAILURES = 2,
	SBX_RING_COUNTER_RECEIVE_FAILURES = 3,
	SBX_RING_COUNTER_BYTES_SENT = 4,
	SBX_RING_COUNTER_BYTES_RECEIVED = 5,
	SBX_RING_COUNTER_DROPPED = 6,
	SBX_RING_COUNTER_FULL = 7,	  /* times that a message found no room */
	SBX_RING_COUNTER_SLEEPS = 8,	  /* times that the side slept in the kernel */
	SBX_RING_COUNTER_WAKES = 9,	  /* wake-ups sent to the other side */
	SBX_RING_COUNTER_HIGH_WATER = 10, /* most bytes in the data at once */
	SBX_RING_COUNTER_VIOLATION = 11,  /* the other side's first violation; 0: none */
};
#define SBX_RING_N_COUNTERS 12

/*
 * Mode stream: records follow each other at multiples of 8 bytes, across the end of the data too.
 *
 *   offset 0  u32  length of the payload, at most the record maximum
 *   offset 4  u32  SBX_RING_RECORD_*
 *   offset 8  payload, then up to 7 bytes of padding
 */
#define SBX_RING_RECORD_HEADER_SIZE 8
#define SBX_RING_RECORD_ALIGN 8
#define SBX_RING_RECORD_BEGIN 1u /* the first part of a message */
#define SBX_RING_RECORD_END 2u	 /* the last part; a whole message has both */
#define SBX_RING_RECORD_ABORT 4u /* alone, without payload: discard the parts before it */

/* A longer message is sent in parts; every part but the last has exactly the record maximum, which
 * is a quarter of the capacity less 16 bytes, or the longest message if that is shorter. */

/*
 * Mode call: a record is one or more cells of 64 bytes.
 *
 *   offset 0   u64  stamp: (position of the record + 64) xor the nonce of the file; written last
 *   offset 8   u32  length of the payload
 *   offset 12  u32  SBX_RING_RECORD_*
 *   offset 16  payload, continued in the next cells without another header
 */
#define SBX_RING_CELL_SIZE 64
#define SBX_RING_CELL_STAMP_OFFSET 0
#define SBX_RING_CELL_LENGTH_OFFSET 8
#define SBX_RING_CELL_KIND_OFFSET 12
#define SBX_RING_CELL_PAYLOAD_OFFSET 16

/* Capacities of one direction. */
#define SBX_RING_CAPACITY_MIN 65536	 /* 64 KiB: the largest page size of Linux */
#define SBX_RING_CAPACITY_MAX 1073741824 /* 1 GiB */
#define SBX_RING_CAPACITY_DEFAULT 524288 /* half of 1 MiB */

/* The longest message, in parts: the payload of a frame and its type and request id. */
#define SBX_RING_MESSAGE_MAX (16777216 + 5)

/*
 * The first message on the socket of a channel: 8 bytes and three fds (the server's file, the
 * client's file, the eventfd that wakes the server).
 */
#define SBX_RING_HELLO_SIZE 8
#define SBX_RING_HELLO_MAGIC_OFFSET 0	/* u32: SBX_RING_MAGIC */
#define SBX_RING_HELLO_VERSION_OFFSET 4 /* u32: SBX_RING_VERSION */
#define SBX_RING_HELLO_N_FDS 3
/* What the eventfd counts to when it is made: the wake-ups that can be taken from it. */
#define SBX_RING_DOORBELLS 4611686018427387904

#endif
