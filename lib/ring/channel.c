/* SPDX-License-Identifier: MIT */

/*
 * Messages made of the records of a transport
 *
 * A message of at most record_max bytes is one record. A longer one is sent in parts and put
 * together in memory of the channel, which grows with the parts that arrive. A message that cannot
 * be finished in time is aborted with a record of its own, so that the other side never takes a
 * part for a message.
 */

#include "ring/channel.h"

#include <stdlib.h>
#include <string.h>

#include <sbx/frame-layout.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/le32.h"
#include "ring/deadline.h"
#include "ring/memory.h"
#include "ring/violation.h"

#define ABORTS_MAX 4
#define TOTAL_BYTES_DEFAULT (2 * (size_t)SBX_RING_CAPACITY_DEFAULT)
#define TIMEOUT_USEC_DEFAULT UINT64_C(5000000)
#define SPIN_USEC_DEFAULT 100

/* ---- opening and closing ---- */

static transport_open_fn *const openers[] = {
	[SBX_RING_SHARED_MEMORY] = shared_open,
	[SBX_RING_UNIX_SOCKET] = socket_open,
	[SBX_RING_TCP] = socket_open,
};

static int refuse_config(struct sbx_error *err, const char *why, const char *fix)
{
	(void)error_fill(err, -EINVAL, why, fix, "cannot open a channel");
	return -EINVAL;
}

static int check_config(const struct sbx_ring_config *config, int role, int socket,
			struct sbx_error *err)
{
	if (config->transport < 0 || (size_t)config->transport >= N_ELEMENTS(openers))
		return refuse_config(err, "the transport is unknown",
				     "use shared memory, a unix socket or TCP");
	if ((role != SBX_RING_SERVER && role != SBX_RING_CLIENT) ||
	    config->mode < SBX_RING_STREAM || config->mode > SBX_RING_CALL ||
	    config->when_full < SBX_RING_WHEN_FULL_WAIT ||
	    config->when_full > SBX_RING_WHEN_FULL_DROP)
		return refuse_config(err, "the role, mode or policy is unknown",
				     "use the constants of <sbx/ring.h>");
	/* TCP chooses a port. */
	if (socket < 0 && !config->endpoint[0] && config->transport != SBX_RING_TCP)
		return refuse_config(err, "it has neither a socket nor an endpoint",
				     "pass a connected socket, or set the endpoint");
	if (socket >= 0 && config->endpoint[0])
		return refuse_config(err, "it has both a socket and an endpoint",
				     "leave one of them out");
	return 0;
}

/* The members that the caller's struct has, and defaults for those that are 0. */
static int complete_config(const struct sbx_ring_config *given, struct sbx_ring_config *ret,
			   struct sbx_error *err)
{
	struct sbx_ring_config config = { .size = sizeof(config) };

	if (given && (given->size < sizeof(given->size) || given->size > sizeof(config)))
		return refuse_config(err, "the size of its configuration is wrong",
				     "set 'size' to sizeof(struct sbx_ring_config)");
	if (given)
		memcpy(&config, given, given->size);
	config.size = sizeof(config);
	if (!config.endpoint)
		config.endpoint = "";
	if (config.total_bytes == 0)
		config.total_bytes = TOTAL_BYTES_DEFAULT;
	if (config.timeout_usec == 0)
		config.timeout_usec = TIMEOUT_USEC_DEFAULT;
	if (config.spin_usec == 0)
		config.spin_usec = SPIN_USEC_DEFAULT;
	*ret = config;
	return 0;
}

int sbx_ring_open(const struct sbx_ring_config *given, int role, int socket, struct sbx_ring **ret,
		  struct sbx_error *err)
{
	_cleanup_close_ int owned = socket < 0 ? -EBADF : socket;
	struct sbx_ring_config config;
	struct sbx_ring *ring = NULL;
	int r = complete_config(given, &config, err);

	if (r == 0)
		r = check_config(&config, role, owned, err);
	if (r < 0)
		return r;

	_cleanup_free_ char *endpoint = strdup(config.endpoint);

	if (!endpoint)
		return sbx_error_what(err, -ENOMEM, "cannot open a channel");
	config.endpoint = endpoint;
	r = openers[config.transport](&config, role, take_fd(&owned), &ring, err);
	if (r < 0)
		return r;
	/* A transport that chose a port has set its own. */
	if (!ring->endpoint)
		ring->endpoint = take_ptr(endpoint);
	ring->config.endpoint = ring->endpoint;
	*ret = ring;
	return 0;
}

static struct ring_kept *kept_free(struct ring_kept *kept);

void sbx_ring_close(struct sbx_ring *ring)
{
	if (!ring)
		return;
	ring->transport->close(ring);
	free(ring->message);
	(void)kept_free(ring->kept);
	(void)kept_free(ring->lent);
	free(ring->endpoint);
	free(ring);
}

int sbx_ring_reconnect(struct sbx_ring **ring, struct sbx_error *err)
{
	struct sbx_ring_config config = (*ring)->config;
	struct sbx_ring_statistics statistics = (*ring)->statistics;
	int role = (*ring)->role, r;

	if (!(*ring)->endpoint[0])
		return error_fill(err, -ENOTCONN, "it came over a socket and has no endpoint",
				  "open it with an endpoint instead of a socket",
				  "cannot open the channel again");

	_cleanup_free_ char *endpoint = strdup((*ring)->endpoint);

	if (!endpoint)
		return sbx_error_what(err, -ENOMEM, "cannot open the channel again");
	config.endpoint = endpoint;
	sbx_ring_close(*ring);
	*ring = NULL;
	r = sbx_ring_open(&config, role, -EBADF, ring, err);
	if (*ring)
		(*ring)->statistics = statistics;
	return r;
}

/* The message that was received is valid until the next call. */
static void return_lent(struct sbx_ring *ring)
{
	if (!ring->is_lent)
		return;
	ring->is_lent = false;
	ring->transport->release(ring);
}

/* ---- what is asked of the transport ---- */

int sbx_ring_watch(struct sbx_ring *ring, int pidfd)
{
	return ring->transport->watch(ring, pidfd);
}

int sbx_ring_flush(struct sbx_ring *ring)
{
	return ring->failure ? ring->failure : ring->transport->flush(ring);
}

int sbx_ring_fd(const struct sbx_ring *ring)
{
	return ring->fd;
}

int sbx_ring_arm(struct sbx_ring *ring, unsigned events)
{
	bool has_kept = (events & SBX_RING_READABLE) && ring->kept;

	return_lent(ring);
	return ring->failure || has_kept ? 1 : ring->transport->arm(ring, events);
}

int sbx_ring_wait(struct sbx_ring *ring, unsigned events, uint64_t timeout_usec)
{
	bool has_kept = (events & SBX_RING_READABLE) && ring->kept;

	return_lent(ring);
	if (timeout_usec == SBX_RING_DEFAULT_TIMEOUT)
		timeout_usec = ring->config.timeout_usec;
	return ring->failure || has_kept ? 0 : ring->transport->wait(ring, events, timeout_usec);
}

bool sbx_ring_is_connected(const struct sbx_ring *ring)
{
	return ring->failure == 0 && ring->transport->is_connected(ring);
}

const char *sbx_ring_transport_name(const struct sbx_ring *ring)
{
	return ring->transport->name;
}

const char *sbx_ring_endpoint(const struct sbx_ring *ring)
{
	return ring->endpoint;
}

const char *sbx_ring_violation(const struct sbx_ring *ring)
{
	return ring_violation_name(ring->violation);
}

int sbx_ring_resize(struct sbx_ring *ring, size_t total_bytes, struct sbx_error *err)
{
	(void)sbx_error_what(err, -EOPNOTSUPP, "cannot resize a channel to %zu bytes", total_bytes);
	sbx_error_why(err,
		      "its %zu bytes are fixed, so that neither side can take memory from the "
		      "other",
		      ring->config.total_bytes);
	sbx_error_fix(err, "close it and open another one");
	return -EOPNOTSUPP;
}

void sbx_ring_get_statistics(const struct sbx_ring *ring, struct sbx_ring_statistics *ret)
{
	struct sbx_ring_statistics now = ring->statistics;

	now.size = ret->size;
	now.now_bytes = ring->transport->count_bytes(ring);
	if (ring->transport->count_high_water)
		now.high_water_bytes = ring->transport->count_high_water(ring);
	memcpy(ret, &now, ret->size < sizeof(now) ? ret->size : sizeof(now));
}

/* ---- sending ---- */

/* A time-out of which the clock is read only when something has to wait. */
struct patience {
	uint64_t timeout_usec;
	uint64_t deadline; /* 0: nothing has waited yet */
};

static struct patience patience_of(const struct sbx_ring *ring, uint64_t timeout_usec)
{
	return (struct patience){
		.timeout_usec = timeout_usec == SBX_RING_DEFAULT_TIMEOUT ? ring->config.timeout_usec
									 : timeout_usec,
	};
}

static int wait_patiently(struct sbx_ring *ring, unsigned events, struct patience *patience)
{
	uint64_t left = patience->timeout_usec;

	if (patience->deadline == 0) {
		patience->deadline = deadline_after(left);
		return ring->transport->wait(ring, events, left);
	}
	left = deadline_left(patience->deadline);
	/* A transport is ready at once, at any time, while the other side changes a word to and
	 * fro. */
	return left == 0 ? SBX_RING_EMPTY : ring->transport->wait(ring, events, left);
}

/* An aborted message is ended before the next one begins. */
static int finish_abort(struct sbx_ring *ring)
{
	void *at;
	int r = ring->transport->reserve(ring, 0, &at);

	if (r != 0)
		return r;
	r = ring->transport->commit(ring, 0, SBX_RING_RECORD_ABORT, 0);
	if (r != 0)
		return r;
	ring->must_abort = false;
	return 0;
}

static int reserve_now(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	int r = ring->failure;

	if (r == 0 && __builtin_expect(ring->must_abort, 0))
		r = finish_abort(ring);
	return r ? r : ring->transport->reserve(ring, n_bytes, ret);
}

static int reserve_patiently(struct sbx_ring *ring, size_t n_bytes, struct patience *patience,
			     void **ret)
{
	int r = reserve_now(ring, n_bytes, ret);

	if (__builtin_expect(r != SBX_RING_FULL, 1))
		return r;
	ring->statistics.full++;
	if (ring->config.when_full != SBX_RING_WHEN_FULL_WAIT) {
		/* The reader must see what fills the channel. */
		(void)ring->transport->flush(ring);
		return reserve_now(ring, n_bytes, ret);
	}
	while (r == SBX_RING_FULL) {
		int waited = wait_patiently(ring, SBX_RING_WRITABLE, patience);

		r = waited < 0 ? waited : reserve_now(ring, n_bytes, ret);
		if (waited == SBX_RING_EMPTY)
			return r;
	}
	return r;
}

/* Two pieces of memory that are sent as one message: the start of a frame, and its payload. */
struct pieces {
	const uint8_t *first;
	size_t n_first;
	const uint8_t *second;
	size_t n_second;
};

static void copy_piece(uint8_t **to, const uint8_t **from, size_t *n_from, size_t *n_left)
{
	size_t n = *n_from < *n_left ? *n_from : *n_left;

	if (n == 0)
		return;
	memcpy(*to, *from, n);
	*to += n;
	*from += n;
	*n_from -= n;
	*n_left -= n;
}

static int send_part(struct sbx_ring *ring, struct pieces *pieces, uint32_t kind, unsigned flags,
		     struct patience *patience)
{
	size_t n_all = pieces->n_first + pieces->n_second;
	size_t n_bytes = n_all < ring->record_max ? n_all : ring->record_max;
	size_t n_left = n_bytes;
	void *at;
	int r = reserve_patiently(ring, n_bytes, patience, &at);

	if (r != 0)
		return r;

	uint8_t *to = at;

	copy_piece(&to, &pieces->first, &pieces->n_first, &n_left);
	copy_piece(&to, &pieces->second, &pieces->n_second, &n_left);
	if (n_bytes == n_all)
		kind |= SBX_RING_RECORD_END;
	return ring->transport->commit(ring, n_bytes, kind,
				       kind & SBX_RING_RECORD_END ? flags : SBX_RING_MORE);
}

static int send_parts(struct sbx_ring *ring, struct pieces pieces, unsigned flags,
		      struct patience *patience)
{
	uint32_t kind = SBX_RING_RECORD_BEGIN;
	int r;

	do {
		r = send_part(ring, &pieces, kind, flags, patience);
		if (r != 0) {
			/* An abort that is still due stays due. */
			if (kind != SBX_RING_RECORD_BEGIN)
				ring->must_abort = true;
			return r;
		}
		kind = 0;
	} while (pieces.n_first + pieces.n_second > 0);
	return 0;
}

static int count_sent(struct sbx_ring *ring, size_t n_bytes)
{
	ring->statistics.messages_sent++;
	ring->statistics.bytes_sent += n_bytes;
	return 0;
}

static int count_unsent(struct sbx_ring *ring, int r)
{
	if (r == 0)
		return 0;
	ring->statistics.send_failures++;
	if (r != SBX_RING_FULL || ring->config.when_full != SBX_RING_WHEN_FULL_DROP)
		return r;
	ring->statistics.dropped++;
	return SBX_RING_DROPPED;
}

static int send_pieces(struct sbx_ring *ring, const struct pieces *pieces, unsigned flags,
		       uint64_t timeout_usec)
{
	struct patience patience = patience_of(ring, timeout_usec);
	size_t n_bytes = pieces->n_first + pieces->n_second;
	int r = n_bytes > SBX_RING_MESSAGE_MAX || n_bytes < pieces->n_second
			? -EMSGSIZE
			: send_parts(ring, *pieces, flags, &patience);

	return r == 0 ? count_sent(ring, n_bytes) : count_unsent(ring, r);
}

static __attribute__((__noinline__)) int send_slowly(struct sbx_ring *ring, const void *bytes,
						     size_t n_bytes, unsigned flags,
						     uint64_t timeout_usec)
{
	const struct pieces pieces = { .second = bytes, .n_second = n_bytes };

	return send_pieces(ring, &pieces, flags, timeout_usec);
}

int sbx_ring_send(struct sbx_ring *ring, const void *bytes, size_t n_bytes, unsigned flags,
		  uint64_t timeout_usec)
{
	int r = TRANSPORT_NOT_DONE;

	ring->has_reserved = false;
	if (__builtin_expect(ring->transport->put && n_bytes <= ring->record_max &&
				     !ring->must_abort && ring->failure == 0,
			     1))
		r = ring->transport->put(ring, bytes, n_bytes, flags);
	if (__builtin_expect(r == 0, 1))
		return count_sent(ring, n_bytes);
	return r < 0 ? count_unsent(ring, r)
		     : send_slowly(ring, bytes, n_bytes, flags, timeout_usec);
}

int sbx_ring_reserve(struct sbx_ring *ring, size_t n_bytes, void **ret)
{
	int r;

	ring->n_reserved = 0;
	ring->has_reserved = false;
	if (n_bytes > ring->record_max)
		return -EMSGSIZE;
	r = reserve_now(ring, n_bytes, ret);
	if (r == SBX_RING_FULL)
		ring->statistics.full++;
	if (r != 0)
		return r;
	ring->n_reserved = n_bytes;
	ring->has_reserved = true;
	return 0;
}

int sbx_ring_commit(struct sbx_ring *ring, size_t n_bytes, unsigned flags)
{
	int r;

	if (!ring->has_reserved || n_bytes > ring->n_reserved)
		return -EINVAL;
	ring->has_reserved = false;
	r = ring->transport->commit(ring, n_bytes, RING_RECORD_WHOLE, flags);
	return r == 0 ? count_sent(ring, n_bytes) : count_unsent(ring, r);
}

size_t sbx_ring_reserve_max(const struct sbx_ring *ring)
{
	return ring->record_max;
}

/* ---- receiving ---- */

static int make_room(struct sbx_ring *ring, size_t n_bytes)
{
	size_t n_wanted = ring->n_allocated ? ring->n_allocated : 4096;
	uint8_t *grown;

	if (n_bytes <= ring->n_allocated)
		return 0;
	while (n_wanted < n_bytes)
		n_wanted *= 2;
	grown = realloc(ring->message, n_wanted);
	if (!grown)
		return -ENOMEM;
	ring->message = grown;
	ring->n_allocated = n_wanted;
	return 0;
}

/* May a record of @kind follow the ones before? An honest side fills each part but the last, so the
 * number of parts, and the work of a call, is bounded. */
static int check_order(struct sbx_ring *ring, size_t n_bytes, uint32_t kind)
{
	bool begins = kind & SBX_RING_RECORD_BEGIN, ends = kind & SBX_RING_RECORD_END;

	if (kind & SBX_RING_RECORD_ABORT)
		return kind == SBX_RING_RECORD_ABORT && n_bytes == 0 && ring->is_partial
			       ? 0
			       : ring_violated(ring, RING_PARTS_OUT_OF_ORDER);
	if (begins == ring->is_partial || (!ends && n_bytes != ring->record_max))
		return ring_violated(ring, RING_PARTS_OUT_OF_ORDER);
	if (ring->is_partial && ring->message_size + n_bytes > SBX_RING_MESSAGE_MAX)
		return ring_violated(ring, RING_MESSAGE_OVER_LIMIT);
	return 0;
}

/* Adds one record to the message. 0: it is complete; SBX_RING_EMPTY: more parts follow. */
static int take_part(struct sbx_ring *ring, const void *bytes, size_t n_bytes, uint32_t kind)
{
	int r = check_order(ring, n_bytes, kind);

	if (r < 0)
		return r;
	if (ring->transport->is_private && kind == RING_RECORD_WHOLE) {
		ring->received = bytes;
		ring->message_size = n_bytes;
		ring->is_lent = true;
		return 0;
	}
	if (kind & SBX_RING_RECORD_BEGIN)
		ring->message_size = 0;
	r = make_room(ring, ring->message_size + n_bytes);
	if (r < 0)
		return r;
	if (n_bytes > 0)
		shared_copy(ring->message + ring->message_size, bytes, n_bytes);
	ring->received = ring->message;
	ring->message_size += n_bytes;
	ring->is_partial = !(kind & (SBX_RING_RECORD_END | SBX_RING_RECORD_ABORT));
	ring->transport->release(ring);
	return kind & SBX_RING_RECORD_END ? 0 : SBX_RING_EMPTY;
}

/* The record that take has found, or the next one. */
static int next_record(struct sbx_ring *ring, struct record *ret)
{
	if (!ring->found.bytes)
		return ring->transport->peek(ring, &ret->bytes, &ret->n_bytes, &ret->kind);
	*ret = ring->found;
	ring->found.bytes = NULL;
	return 0;
}

/* Takes records until a message is complete or none is left. A channel has room for the first parts
 * of ABORTS_MAX messages; a side that adds more aborted ones meanwhile must not keep this call. */
static int take_message(struct sbx_ring *ring)
{
	struct record record;
	unsigned n_aborted = 0;
	int r;

	do {
		r = next_record(ring, &record);
		if (r != 0)
			return r;
		r = take_part(ring, record.bytes, record.n_bytes, record.kind);
	} while (r == SBX_RING_EMPTY && (ring->is_partial || ++n_aborted <= ABORTS_MAX));
	return r;
}

/* The usual message, in one call of the transport. */
static inline int take_whole(struct sbx_ring *ring)
{
	if (!ring->transport->take || ring->is_partial || ring->failure)
		return TRANSPORT_NOT_DONE;
	ring->received = ring->message;
	return ring->transport->take(ring);
}

/* An answer that comes within a microsecond or two is found without a wait. */
static int take_quickly(struct sbx_ring *ring)
{
	int r = SBX_RING_EMPTY;

	for (unsigned i = 0; i < ring->n_quick_peeks && r == SBX_RING_EMPTY; i++) {
		shared_pause();
		r = take_whole(ring);
	}
	return r == 0 ? 0 : take_message(ring);
}

static int take_patiently(struct sbx_ring *ring, uint64_t timeout_usec)
{
	struct patience patience = patience_of(ring, timeout_usec);
	int r;

	(void)ring->transport->flush(ring);
	/* A second look at a socket is a system call, and waiting looks as well. */
	r = ring->transport->is_private ? SBX_RING_EMPTY : take_quickly(ring);
	while (r == SBX_RING_EMPTY) {
		int waited = wait_patiently(ring, SBX_RING_READABLE, &patience);

		if (waited < 0)
			return waited;
		r = take_message(ring);
		if (waited == SBX_RING_EMPTY)
			return r;
	}
	return r;
}

static __attribute__((__noinline__)) int receive_slowly(struct sbx_ring *ring,
							uint64_t timeout_usec)
{
	int r = ring->failure ? ring->failure : SBX_RING_EMPTY;

	if (r == SBX_RING_EMPTY && (ring->found.bytes || timeout_usec == 0))
		r = take_message(ring);
	if (r == SBX_RING_EMPTY && timeout_usec != 0)
		r = take_patiently(ring, timeout_usec);
	if (r != 0)
		ring->statistics.receive_failures += r != SBX_RING_CLOSED;
	return r;
}

/* The next message in ring->received. */
static inline __attribute__((__always_inline__)) int receive_message(struct sbx_ring *ring,
								     uint64_t timeout_usec)
{
	int r;

	return_lent(ring);
	ring->has_peeked = false;
	r = take_whole(ring);
	if (__builtin_expect(r != 0, 0)) {
		r = receive_slowly(ring, timeout_usec);
		if (r != 0)
			return r;
	}
	ring->statistics.messages_received++;
	ring->statistics.bytes_received += ring->message_size;
	return 0;
}

int sbx_ring_receive(struct sbx_ring *ring, const void **ret_bytes, size_t *ret_n_bytes,
		     uint64_t timeout_usec)
{
	int r = receive_message(ring, timeout_usec);

	if (r != 0)
		return r;
	*ret_bytes = ring->received;
	*ret_n_bytes = ring->message_size;
	return 0;
}

int sbx_ring_peek(struct sbx_ring *ring, const void **ret_bytes, size_t *ret_n_bytes)
{
	uint32_t kind;
	int r;

	return_lent(ring);
	r = ring->failure ? ring->failure
			  : ring->transport->peek(ring, ret_bytes, ret_n_bytes, &kind);
	if (r != 0)
		return r;
	r = check_order(ring, *ret_n_bytes, kind);
	if (r < 0)
		return r;
	if (ring->is_partial || kind != RING_RECORD_WHOLE)
		return -EMSGSIZE;
	ring->n_peeked = *ret_n_bytes;
	ring->has_peeked = true;
	return 0;
}

void sbx_ring_release(struct sbx_ring *ring)
{
	if (!ring->has_peeked)
		return;
	ring->has_peeked = false;
	ring->transport->release(ring);
	ring->statistics.messages_received++;
	ring->statistics.bytes_received += ring->n_peeked;
}

/* ---- frames ---- */

#define FRAME_START (SBX_FRAME_PAYLOAD_OFFSET - SBX_FRAME_TYPE_OFFSET)
#define LATE_MAX 1024
#define KEPT_MAX 256
#define KEPT_BYTES_MAX (size_t)1048576

/* A frame that arrived while a response was awaited. */
struct ring_kept {
	struct ring_kept *next;
	size_t n_bytes;
	uint8_t bytes[];
};

static struct ring_kept *kept_free(struct ring_kept *kept)
{
	while (kept) {
		struct ring_kept *next = kept->next;

		free(kept);
		kept = next;
	}
	return NULL;
}

static int keep(struct sbx_ring *ring)
{
	struct ring_kept **at = &ring->kept, *kept;
	size_t n_kept = 0, n_bytes = 0;

	for (; *at; at = &(*at)->next) {
		n_kept++;
		n_bytes += (*at)->n_bytes;
	}
	/* The other side decides how many come: a frame over the limit is lost, and said to be. */
	if (n_kept >= KEPT_MAX || (n_kept > 0 && n_bytes + ring->message_size > KEPT_BYTES_MAX))
		return -ENOBUFS;
	kept = malloc(sizeof(*kept) + ring->message_size);
	if (!kept)
		return -ENOMEM;
	kept->next = NULL;
	kept->n_bytes = ring->message_size;
	memcpy(kept->bytes, ring->received, ring->message_size);
	*at = kept;
	return 0;
}

static uint32_t read_request_id(const uint8_t *bytes)
{
	return le32_load(bytes + SBX_FRAME_REQUEST_ID_OFFSET - SBX_FRAME_TYPE_OFFSET);
}

static int receive_checked_frame(struct sbx_ring *ring, uint64_t timeout_usec)
{
	int r = receive_message(ring, timeout_usec);

	return r == 0 && ring->message_size < FRAME_START
		       ? ring_violated(ring, RING_FRAME_TOO_SHORT)
		       : r;
}

int sbx_ring_send_frame(struct sbx_ring *ring, uint8_t type, uint32_t request_id,
			const void *payload, size_t n_bytes, unsigned flags, uint64_t timeout_usec)
{
	uint8_t start[FRAME_START] = { type };
	const struct pieces pieces = {
		.first = start,
		.n_first = sizeof(start),
		.second = payload,
		.n_second = n_bytes,
	};

	le32_store(start + SBX_FRAME_REQUEST_ID_OFFSET - SBX_FRAME_TYPE_OFFSET, request_id);
	return send_pieces(ring, &pieces, flags, timeout_usec);
}

/* Parts of the next message may stand in ring->message: a kept frame stays where it is. */
static const uint8_t *lend_kept(struct sbx_ring *ring, size_t *ret_n_bytes)
{
	ring->lent = ring->kept;
	ring->kept = ring->lent->next;
	ring->lent->next = NULL;
	*ret_n_bytes = ring->lent->n_bytes;
	return ring->lent->bytes;
}

int sbx_ring_receive_frame(struct sbx_ring *ring, uint8_t *ret_type, uint32_t *ret_request_id,
			   const void **ret_payload, size_t *ret_n_bytes, uint64_t timeout_usec)
{
	const uint8_t *bytes;
	size_t n_bytes;
	int r = 0;

	ring->lent = kept_free(ring->lent);
	if (ring->kept) {
		bytes = lend_kept(ring, &n_bytes);
	} else {
		r = receive_checked_frame(ring, timeout_usec);
		bytes = ring->received;
		n_bytes = ring->message_size;
	}
	if (r != 0)
		return r;
	*ret_type = bytes[0];
	*ret_request_id = read_request_id(bytes);
	*ret_payload = bytes + FRAME_START;
	*ret_n_bytes = n_bytes - FRAME_START;
	return 0;
}

/* Until the frame with @request_id is in ring->received. After the time-out, only frames that are
 * there already, and not without end. */
static int receive_response(struct sbx_ring *ring, uint32_t request_id, uint64_t deadline)
{
	uint64_t left = deadline_left(deadline);

	for (unsigned n_late = 0; n_late < LATE_MAX; n_late += left == 0) {
		int r = receive_checked_frame(ring, left);
		uint32_t id = r == 0 ? read_request_id(ring->received) : 0;

		if (r != 0 || id == request_id)
			return r;
		r = id == 0 ? keep(ring) : 0;
		if (r < 0)
			return r;
		left = deadline_left(deadline);
	}
	return SBX_RING_EMPTY;
}

int sbx_ring_request(struct sbx_ring *ring, uint8_t type, const void *payload, size_t n_bytes,
		     uint8_t *ret_type, const void **ret_payload, size_t *ret_n_bytes,
		     uint64_t timeout_usec)
{
	uint64_t left = patience_of(ring, timeout_usec).timeout_usec;
	uint64_t deadline = deadline_after(left);
	int r;

	if (++ring->last_request_id == 0)
		ring->last_request_id = 1;
	r = sbx_ring_send_frame(ring, type, ring->last_request_id, payload, n_bytes, 0, left);
	if (r == 0)
		r = receive_response(ring, ring->last_request_id, deadline);
	if (r != 0)
		return r;
	*ret_type = ring->received[0];
	*ret_payload = ring->received + FRAME_START;
	*ret_n_bytes = ring->message_size - FRAME_START;
	return 0;
}
