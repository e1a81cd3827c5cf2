/* SPDX-License-Identifier: MIT */

/*
 * All benchmarks of channels, in the order in which they run
 *
 * The size of blocks: for messages in one direction some laps of the ring, so that a block contains
 * full and empty moments in their true proportion; for sleeping sides a few round trips.
 */

#include "ring-bench.h"

#include <sbx/ring.h>

#include "ring-place.h"

/* ---- contenders ---- */

/* clang-format off */
#define CHANNEL(near_function, far_function, bytes, ...)                                           \
	{ .near = (near_function), .far = (far_function), .n_bytes = (bytes), .n_blocks = 24,      \
	  __VA_ARGS__ }

/* About four laps of 256 KiB. */
#define BLOCK_OF(bytes) .block = 4 * 256 * 1024 / ((bytes) + 8)

/* Cells that neither side has touched yet cost more: wait for the second lap. */
#define LAP_OF_CELLS (SBX_RING_CAPACITY_DEFAULT / SBX_RING_CELL_SIZE)

#define SEND(bytes) CHANNEL(ring_send_near, ring_send_far, bytes, BLOCK_OF(bytes))
#define REFERENCE(bytes) CHANNEL(ring_reference_near, ring_reference_far, bytes, BLOCK_OF(bytes))
#define PING CHANNEL(ring_ping_near, ring_ping_far, 8, .block = 100)
#define TRIP(...) CHANNEL(ring_trip_near, ring_trip_far, 64, .block = 20, .spin_usec = 1, __VA_ARGS__)
#define BARE_TRIP(...) CHANNEL(ring_bare_trip_near, ring_bare_trip_far, 64, .block = 20, __VA_ARGS__)
#define PEER(name, bytes)                                                                          \
	{ .near = ring_peer_near, .program = (name), .n_bytes = (bytes), .n_blocks = 24,           \
	  .is_unpinned = true, BLOCK_OF(bytes) }
#define PIPELINE(function)                                                                         \
	{ .near = (function), .n_bytes = 65536, .block = 512, .n_blocks = 6, .is_unpinned = true }
/* clang-format on */

#define PLAIN_RING "a plain ring of slots, both indices cached"
#define BOOST "peer: boost::lockfree::spsc_queue"

const struct ring_bench ring_benches[] = {
	{
		.name = "stream_64",
		.what = "send and receive 64 bytes, published together",
		.against = PLAIN_RING,
		.at_most = 0.45,
		.needs_two_cpus = true,
		.subject = SEND(64),
		.reference = REFERENCE(64),
	},
	{
		.name = "stream_8",
		.what = "send and receive 8 bytes, published together",
		.against = PLAIN_RING,
		.at_most = 0.25,
		.needs_two_cpus = true,
		.subject = SEND(8),
		.reference = REFERENCE(8),
	},
	{
		.name = "stream_1024",
		.what = "send and receive 1 KiB, published together",
		.against = PLAIN_RING,
		.at_most = 0.95,
		.needs_two_cpus = true,
		.subject = SEND(1024),
		.reference = REFERENCE(1024),
	},
	{
		.name = "stream_16384",
		.what = "send and receive 16 KiB, published together",
		.against = "copying out memory that the other CPU wrote",
		.unit = RING_GB_PER_S,
		.at_least = 0.60,
		.needs_two_cpus = true,
		.subject = SEND(16384),
		.reference = CHANNEL(ring_memory_near, ring_memory_far, 16384, .block = 8),
	},
	{
		.name = "single_64",
		.what = "send and receive 64 bytes, each published at once",
		.against = PLAIN_RING,
		.needs_two_cpus = true,
		.subject = CHANNEL(ring_single_near, ring_send_far, 64, BLOCK_OF(64)),
		.reference = REFERENCE(64),
	},
	{
		.name = "zero_copy_64",
		.what = "64 bytes made in place and looked at in place",
		.against = PLAIN_RING,
		.needs_two_cpus = true,
		.subject = CHANNEL(ring_zero_copy_near, ring_zero_copy_far, 64, BLOCK_OF(64)),
		.reference = REFERENCE(64),
	},
	{
		.name = "call_48",
		.what = "48 bytes there and back, mode call",
		.against = "a cache line there and back",
		.at_most = 0.90,
		.needs_two_cpus = true,
		.subject = CHANNEL(ring_trip_near, ring_trip_far, 48, .block = 50,
				   .n_warm_up = LAP_OF_CELLS / 50, .mode = SBX_RING_CALL),
		.reference = PING,
	},
	{
		.name = "checks_stream",
		.what = "64 bytes through the flow of the mode stream, checked",
		.against = "the same without checks",
		.at_most = 1.10,
		.needs_two_cpus = true,
		.subject = CHANNEL(ring_checked_stream_near, ring_checked_stream_far, 64,
				   BLOCK_OF(64)),
		.reference = CHANNEL(ring_unchecked_stream_near, ring_unchecked_stream_far, 64,
				     BLOCK_OF(64)),
	},
	{
		.name = "checks_call",
		.what = "48 bytes there and back through the flow of the mode call, checked",
		.against = "the same without checks",
		.at_most = 1.10,
		.needs_two_cpus = true,
		.subject = CHANNEL(ring_checked_call_near, ring_checked_call_far, 48, .block = 50,
				   .n_warm_up = LAP_OF_CELLS / 50),
		.reference = CHANNEL(ring_unchecked_call_near, ring_unchecked_call_far, 48,
				     .block = 50, .n_warm_up = LAP_OF_CELLS / 50),
	},
	{
		.name = "beside_unix_64",
		.what = "send and receive 64 bytes, published together",
		.against = "a unix stream socket, one write each, large reads",
		.at_most = 0.02,
		.needs_two_cpus = true,
		.subject = SEND(64),
		.reference =
			CHANNEL(ring_stream_socket_near, ring_stream_socket_far, 64, .block = 256),
	},
	{
		.name = "transport_unix",
		.what = "64 bytes there and back over unix_socket",
		.against = "send and recv on a unix stream socket",
		.unit = RING_US,
		.at_most = 1.10,
		.subject = TRIP(.transport = SBX_RING_UNIX_SOCKET),
		.reference = BARE_TRIP(.transport = SBX_RING_UNIX_SOCKET),
	},
	{
		.name = "transport_seqpacket",
		.what = "64 bytes there and back over unix_socket, datagrams",
		.against = "send and recv on a unix seqpacket socket",
		.unit = RING_US,
		.at_most = 1.10,
		.subject = TRIP(.transport = SBX_RING_UNIX_SOCKET, .is_datagram = true),
		.reference = BARE_TRIP(.transport = SBX_RING_UNIX_SOCKET, .is_datagram = true),
	},
	{
		.name = "transport_tcp",
		.what = "64 bytes there and back over tcp",
		.against = "send and recv on a TCP socket, TCP_NODELAY",
		.unit = RING_US,
		.at_most = 1.10,
		.subject = TRIP(.transport = SBX_RING_TCP),
		.reference = BARE_TRIP(.transport = SBX_RING_TCP),
	},
	{
		.name = "blocking",
		.what = "64 bytes there and back, both sides sleep",
		.against = "an eventfd there and another one back",
		.unit = RING_US,
		.at_most = 1.15,
		.subject = TRIP(.transport = SBX_RING_SHARED_MEMORY),
		.reference = CHANNEL(ring_eventfd_near, ring_eventfd_far, 8, .block = 20),
	},
	{
		.name = "seed_1024",
		.what = "100,000 messages of 1 KiB, each published at once",
		.against = "CDMF published 800 to 1500 MB/s",
		.unit = RING_MB_PER_S,
		.needs_two_cpus = true,
		.subject = { .near = ring_single_near,
			     .far = ring_send_far,
			     .n_bytes = 1024,
			     .block = 3846,
			     .n_blocks = 24 },
	},
	{
		.name = "pipe",
		.what = "64 KiB through 'producer | sbx-ring pipe -- cat'",
		.against = "the same through 'producer | cat | cat'",
		.unit = RING_MB_PER_S,
		.subject = PIPELINE(ring_pipe_near),
		.reference = PIPELINE(ring_cat_near),
		.program = "sbx-ring",
	},
	{
		.name = "open",
		.what = "open both sides, and close them",
		.against = "make and map two files of the same size",
		.unit = RING_US,
		.subject = { .near = ring_open_near, .block = 1, .n_blocks = 20 },
		.reference = { .near = ring_files_near, .block = 1, .n_blocks = 20 },
	},
	{
		.name = "death",
		.what = "from kill -9 of the client to -ECONNRESET in the sleeping server",
		.unit = RING_US,
		.subject = { .near = ring_death_near,
			     .far = ring_death_far,
			     .block = 1,
			     .n_blocks = 1,
			     .far_is_killed = true },
	},
	{
		.name = "peer_boost_64",
		.what = "send and receive 64 bytes, published together",
		.against = BOOST,
		.needs_two_cpus = true,
		.subject = SEND(64),
		.reference = PEER("boost", 64),
		.program = RING_PEERS,
	},
	{
		.name = "peer_boost_8",
		.what = "send and receive 8 bytes, published together",
		.against = BOOST,
		.needs_two_cpus = true,
		.subject = SEND(8),
		.reference = PEER("boost", 8),
		.program = RING_PEERS,
	},
	{
		.name = "peer_boost_1024",
		.what = "send and receive 1 KiB, published together",
		.against = BOOST,
		.needs_two_cpus = true,
		.subject = SEND(1024),
		.reference = PEER("boost", 1024),
		.program = RING_PEERS,
	},
	{ .name = NULL },
};
