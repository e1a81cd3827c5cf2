/* SPDX-License-Identifier: MIT */

/*
 * A client of a channel that writes lies into its file
 *
 * Each row of the tables is one lie. The server must name it, end the channel with -EPROTO for
 * every later call, and tell the client by its socket. The same lengths and positions first run
 * against a reader that believes them: it reads past its memory and dies.
 */
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "ring-raw.h"

#define TOTAL_BYTES (2 * SBX_RING_CAPACITY_MIN)
#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)
/* The longest that a test may take: a server that hangs ends as a failure. */
#define HANG_SECONDS 170

/* ---- a reader that believes ---- */

/* Copies a record as a reader without checks does. Memory that cannot be read follows the data. */
static void read_with_belief(const uint8_t *file, size_t capacity, uint64_t head)
{
	static uint8_t message[4096];
	uint64_t tail = raw_get(file, SBX_RING_TAIL_OFFSET);

	while (head < tail) {
		const uint8_t *at = file + SBX_RING_DATA_OFFSET + head % capacity;
		uint32_t n_bytes = raw_get_u32(at, 0);

		for (uint32_t i = 0; i < n_bytes; i++)
			message[i % sizeof(message)] = ((const volatile uint8_t *)at)[8 + i];
		head += (8 + (uint64_t)n_bytes + 7) & ~UINT64_C(7);
	}
}

/* The signal that ends a process which reads @raw's own file with belief, or 0. */
static int end_of_believer(const struct raw *raw)
{
	size_t n_file = SBX_RING_DATA_OFFSET + raw->capacity;
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		uint8_t *at = mmap(NULL, 2 * n_file, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		signal(SIGSEGV, SIG_DFL);
		(void)mmap(at, n_file, PROT_READ, MAP_SHARED | MAP_FIXED, raw->fds[1], 0);
		read_with_belief(at, raw->capacity, 0);
		_exit(0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_reader_that_believes_a_length_reads_past_its_memory(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 100, WHOLE);
	raw_publish(&raw);
	expect_eq(end_of_believer(&raw), 0);
	raw.tail = 0;
	raw_record(&raw, UINT32_MAX, WHOLE);
	expect_eq(end_of_believer(&raw), SIGSEGV);
}

/* ---- lies ---- */

/* All calls fail from now on, and the client learns it from the socket. */
static void expect_ended(struct raw *raw, const char *name, const char *violation)
{
	struct pollfd polled[2] = {
		{ .fd = sbx_ring_fd(raw->server), .events = POLLIN },
		{ .fd = raw->socket, .events = POLLIN },
	};
	const void *bytes;
	size_t n_bytes;
	void *room;
	unsigned before = test_failures;

	expect_str(sbx_ring_violation(raw->server), violation);
	expect(!sbx_ring_is_connected(raw->server));
	expect_eq(sbx_ring_receive(raw->server, &bytes, &n_bytes, SBX_RING_FOREVER), -EPROTO);
	expect_eq(sbx_ring_peek(raw->server, &bytes, &n_bytes), -EPROTO);
	expect_eq(sbx_ring_send(raw->server, "x", 1, 0, SBX_RING_FOREVER), -EPROTO);
	expect_eq(sbx_ring_reserve(raw->server, 8, &room), -EPROTO);
	expect_eq(sbx_ring_arm(raw->server, SBX_RING_READABLE), 1);
	expect_eq(sbx_ring_wait(raw->server, SBX_RING_READABLE, SBX_RING_FOREVER), 0);
	expect(poll(polled, 2, 0) == 2 && (polled[1].revents & POLLHUP));
	if (test_failures != before)
		printf("# after the lie: %s\n", name);
}

struct lie {
	const char *name;
	void (*tell)(struct raw *raw);
	const char *violation;
};

/* Receives until something else than a message comes. */
static int receive_all(struct raw *raw, unsigned *ret_n)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	*ret_n = 0;
	while ((r = sbx_ring_receive(raw->server, &bytes, &n_bytes, 0)) == 0)
		++*ret_n;
	return r;
}

static void expect_named(const struct lie *lie, int mode, int (*use)(struct raw *raw))
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned before = test_failures;

	expect(raw_open(&raw, mode, TOTAL_BYTES));
	lie->tell(&raw);
	expect_eq(use(&raw), -EPROTO);
	expect_ended(&raw, lie->name, lie->violation);
	if (test_failures != before)
		printf("# the lie: %s\n", lie->name);
}

static int use_by_receiving(struct raw *raw)
{
	unsigned n;

	return receive_all(raw, &n);
}

/* Longer than any sleep: it ends by the violation. */
static int use_by_waiting(struct raw *raw)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = sbx_ring_receive(raw->server, &bytes, &n_bytes, SBX_RING_FOREVER)) == 0)
		;
	return r;
}

static int use_by_peeking(struct raw *raw)
{
	const void *bytes;
	size_t n_bytes;
	int r;

	while ((r = sbx_ring_peek(raw->server, &bytes, &n_bytes)) == 0)
		sbx_ring_release(raw->server);
	return r;
}

/* Sends until something else than success comes; the channel fills, so the head is read. */
static int use_by_sending(struct raw *raw)
{
	static const char bytes[4000];
	int r;

	while ((r = sbx_ring_send(raw->server, bytes, sizeof(bytes), 0, 0)) == 0)
		;
	return r;
}

static void tail_beyond_the_capacity(struct raw *raw)
{
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->capacity + 8);
}

static void tail_of_all_ones(struct raw *raw)
{
	raw_put(raw, SBX_RING_TAIL_OFFSET, UINT64_MAX);
}

static void tail_of_the_highest_bit(struct raw *raw)
{
	raw_put(raw, SBX_RING_TAIL_OFFSET, UINT64_C(1) << 63);
}

static void tail_that_moves_back(struct raw *raw)
{
	unsigned n;

	for (int i = 0; i < 10; i++)
		raw_record(raw, 100, WHOLE);
	raw_publish(raw);
	expect_eq(receive_all(raw, &n), SBX_RING_EMPTY);
	expect_eq(n, 10);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->tail - 8);
}

static void tail_in_a_record(struct raw *raw)
{
	raw_record(raw, 100, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->tail - 4);
}

static void length_over_the_limit(struct raw *raw)
{
	raw_record(raw, raw->record_max + 1, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->capacity);
}

static void length_of_all_ones(struct raw *raw)
{
	raw_record(raw, UINT32_MAX, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->capacity);
}

static void length_that_overflows_with_its_padding(struct raw *raw)
{
	raw_record(raw, UINT32_MAX - 7, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->capacity);
}

static void length_beyond_the_tail(struct raw *raw)
{
	raw_record(raw, 100, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->tail - 8);
}

static void second_length_beyond_the_tail(struct raw *raw)
{
	raw_record(raw, 100, WHOLE);
	raw_record(raw, raw->record_max, WHOLE);
	raw_put(raw, SBX_RING_TAIL_OFFSET, raw->tail - 8);
}

static void kind_that_is_not_defined(struct raw *raw)
{
	raw_record(raw, 8, WHOLE | 64);
	raw_publish(raw);
}

static void kind_of_all_ones(struct raw *raw)
{
	raw_record(raw, 8, UINT32_MAX);
	raw_publish(raw);
}

static void end_without_a_beginning(struct raw *raw)
{
	raw_record(raw, 8, SBX_RING_RECORD_END);
	raw_publish(raw);
}

static void middle_without_a_beginning(struct raw *raw)
{
	raw_record(raw, raw->record_max, 0);
	raw_publish(raw);
}

static void beginning_inside_a_message(struct raw *raw)
{
	raw_record(raw, raw->record_max, SBX_RING_RECORD_BEGIN);
	raw_record(raw, 8, WHOLE);
	raw_publish(raw);
}

static void small_parts(struct raw *raw)
{
	raw_record(raw, 8, SBX_RING_RECORD_BEGIN);
	raw_publish(raw);
}

static void abort_without_a_message(struct raw *raw)
{
	raw_record(raw, 0, SBX_RING_RECORD_ABORT);
	raw_publish(raw);
}

static void abort_with_a_payload(struct raw *raw)
{
	raw_record(raw, raw->record_max, SBX_RING_RECORD_BEGIN);
	raw_record(raw, 8, SBX_RING_RECORD_ABORT);
	raw_publish(raw);
}

static void unknown_state(struct raw *raw)
{
	raw_put_u32(raw, SBX_RING_STATE_OFFSET, 7);
}

static const struct lie stream_lies[] = {
	{ "a tail beyond the capacity", tail_beyond_the_capacity, "tail_beyond_capacity" },
	{ "a tail of all ones", tail_of_all_ones, "tail_beyond_capacity" },
	{ "a tail of the highest bit", tail_of_the_highest_bit, "tail_beyond_capacity" },
	{ "a tail that moves back", tail_that_moves_back, "tail_beyond_capacity" },
	{ "a tail in a record", tail_in_a_record, "tail_not_aligned" },
	{ "a length over the limit", length_over_the_limit, "length_over_limit" },
	{ "a length of all ones", length_of_all_ones, "length_over_limit" },
	{ "a length that overflows", length_that_overflows_with_its_padding, "length_over_limit" },
	{ "a length beyond the tail", length_beyond_the_tail, "length_beyond_tail" },
	{ "a second length beyond the tail", second_length_beyond_the_tail, "length_beyond_tail" },
	{ "a kind that is not defined", kind_that_is_not_defined, "unknown_record_kind" },
	{ "a kind of all ones", kind_of_all_ones, "unknown_record_kind" },
	{ "an end without a beginning", end_without_a_beginning, "parts_out_of_order" },
	{ "a middle without a beginning", middle_without_a_beginning, "parts_out_of_order" },
	{ "small parts", small_parts, "parts_out_of_order" },
	{ "an abort without a message", abort_without_a_message, "parts_out_of_order" },
	{ "an unknown state", unknown_state, "state_unknown" },
};

static const struct lie lies_in_parts[] = {
	{ "a beginning inside a message", beginning_inside_a_message, "parts_out_of_order" },
	{ "an abort with a payload", abort_with_a_payload, "parts_out_of_order" },
};

static void every_lie_in_a_stream_is_named(void)
{
	for (size_t i = 0; i < N_ELEMENTS(stream_lies); i++) {
		expect_named(&stream_lies[i], SBX_RING_STREAM, use_by_receiving);
		expect_named(&stream_lies[i], SBX_RING_STREAM, use_by_waiting);
		expect_named(&stream_lies[i], SBX_RING_STREAM, use_by_peeking);
	}
	for (size_t i = 0; i < N_ELEMENTS(lies_in_parts); i++) {
		expect_named(&lies_in_parts[i], SBX_RING_STREAM, use_by_receiving);
		expect_named(&lies_in_parts[i], SBX_RING_STREAM, use_by_waiting);
	}
}

static void cell_over_the_limit(struct raw *raw)
{
	raw_cell(raw, raw->record_max + 1, WHOLE);
}

static void cell_of_all_ones(struct raw *raw)
{
	raw_cell(raw, UINT32_MAX, WHOLE);
}

static void cell_of_no_defined_kind(struct raw *raw)
{
	raw_cell(raw, 8, WHOLE | 64);
}

static void cell_without_a_beginning(struct raw *raw)
{
	raw_cell(raw, 8, SBX_RING_RECORD_END);
}

static const struct lie cell_lies[] = {
	{ "a cell over the limit", cell_over_the_limit, "length_over_limit" },
	{ "a cell of all ones", cell_of_all_ones, "length_over_limit" },
	{ "a cell of no defined kind", cell_of_no_defined_kind, "unknown_record_kind" },
	{ "a cell without a beginning", cell_without_a_beginning, "parts_out_of_order" },
	{ "an unknown state", unknown_state, "state_unknown" },
};

static void every_lie_in_cells_is_named(void)
{
	for (size_t i = 0; i < N_ELEMENTS(cell_lies); i++) {
		expect_named(&cell_lies[i], SBX_RING_CALL, use_by_receiving);
		expect_named(&cell_lies[i], SBX_RING_CALL, use_by_waiting);
		expect_named(&cell_lies[i], SBX_RING_CALL, use_by_peeking);
	}
}

static void a_cell_with_a_stamp_of_another_position_is_no_record(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n;

	expect(raw_open(&raw, SBX_RING_CALL, TOTAL_BYTES));
	raw_cell(&raw, 8, WHOLE);
	expect_eq(receive_all(&raw, &n), SBX_RING_EMPTY);
	expect_eq(n, 1);
	raw.tail = 0;
	raw_cell(&raw, 8, WHOLE); /* again the stamp of position 0 */
	raw_put(&raw, SBX_RING_DATA_OFFSET + SBX_RING_CELL_SIZE, raw.nonce);
	expect_eq(receive_all(&raw, &n), SBX_RING_EMPTY);
	expect_eq(n, 0);
	raw_cell(&raw, 8, WHOLE);
	expect_eq(receive_all(&raw, &n), SBX_RING_EMPTY);
	expect_eq(n, 1);
}

static void head_beyond_the_tail(struct raw *raw)
{
	raw_put(raw, SBX_RING_HEAD_OFFSET, raw->capacity);
}

static void head_of_all_ones(struct raw *raw)
{
	raw_put(raw, SBX_RING_HEAD_OFFSET, UINT64_MAX);
}

static void head_that_moves_back(struct raw *raw)
{
	expect_eq(use_by_sending(raw), SBX_RING_FULL);
	raw_put(raw, SBX_RING_HEAD_OFFSET, raw_get(raw->other, SBX_RING_TAIL_OFFSET));
	expect_eq(use_by_sending(raw), SBX_RING_FULL);
	raw_put(raw, SBX_RING_HEAD_OFFSET, 0);
}

static const struct lie head_lies[] = {
	{ "a head beyond the tail", head_beyond_the_tail, "head_beyond_tail" },
	{ "a head of all ones", head_of_all_ones, "head_beyond_tail" },
	{ "a head that moves back", head_that_moves_back, "head_beyond_tail" },
};

static void every_lie_about_what_was_read_is_named(void)
{
	for (size_t i = 0; i < N_ELEMENTS(head_lies); i++) {
		expect_named(&head_lies[i], SBX_RING_STREAM, use_by_sending);
		expect_named(&head_lies[i], SBX_RING_CALL, use_by_sending);
	}
}

/* Committed but not published: the client cannot have read it. BPF's ring buffer once believed the
 * reader's position there, and wrote over records in use (Linux commit cfa1a2329a69). */
static void an_unpublished_record_cannot_be_read_away(void)
{
	static const char bytes[904];
	const uint64_t tail = UINT64_C(71) * 912;
	_cleanup_raw_ struct raw raw = RAW_INIT;
	void *room;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	for (int i = 0; i < 71; i++)
		expect_eq(sbx_ring_send(raw.server, bytes, sizeof(bytes), SBX_RING_MORE, 0), 0);
	expect(raw_get(raw.other, SBX_RING_TAIL_OFFSET) < tail);
	raw_put(&raw, SBX_RING_HEAD_OFFSET, tail);
	expect_eq(sbx_ring_reserve(raw.server, 4000, &room), -EPROTO);
	expect_ended(&raw, "a head beyond the published tail", "head_beyond_tail");
}

/* ---- messages without an end ---- */

static void a_message_of_endless_parts_is_ended(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	uint32_t kind = SBX_RING_RECORD_BEGIN;
	uint64_t n_bytes = 0;
	unsigned n;
	int r = SBX_RING_EMPTY;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	while (r == SBX_RING_EMPTY && n_bytes < UINT64_C(2) * SBX_RING_MESSAGE_MAX) {
		raw_record(&raw, raw.record_max, kind);
		raw_publish(&raw);
		n_bytes += raw.record_max;
		kind = 0;
		r = receive_all(&raw, &n);
		expect_eq(n, 0);
	}
	expect_eq(r, -EPROTO);
	expect(n_bytes > SBX_RING_MESSAGE_MAX &&
	       n_bytes <= SBX_RING_MESSAGE_MAX + (uint64_t)raw.record_max);
	expect_ended(&raw, "endless parts", "message_over_limit");
}

/* 32 MiB fit into a record of this channel. */
static void a_message_over_the_limit_in_one_record_is_refused(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n;

	expect(raw_open(&raw, SBX_RING_STREAM, (size_t)2 * 128 * 1024 * 1024));
	raw_record(&raw, SBX_RING_MESSAGE_MAX + 1, WHOLE);
	raw_publish(&raw);
	expect_eq(receive_all(&raw, &n), -EPROTO);
	expect_eq(n, 0);
	expect(raw.record_max <= SBX_RING_MESSAGE_MAX);
}

/* ---- work without an end ---- */

/* Writes into the client's file, again and again, until the server's call has returned. */
struct liar {
	struct raw *raw;
	void (*write)(struct raw *raw, uint64_t n);
	atomic_bool is_enough;
};

static void *write_until_enough(void *context)
{
	struct liar *liar = context;

	for (uint64_t n = 0; !atomic_load(&liar->is_enough); n++)
		liar->write(liar->raw, n);
	return NULL;
}

/* One call of the server against a client that keeps writing: its result. */
static int call_against(struct raw *raw, void (*write)(struct raw *raw, uint64_t n),
			int (*call)(struct raw *raw))
{
	struct liar liar = { .raw = raw, .write = write };
	pthread_t thread;

	atomic_init(&liar.is_enough, false);
	expect_eq(pthread_create(&thread, NULL, write_until_enough, &liar), 0);

	int r = call(raw);

	atomic_store(&liar.is_enough, true);
	expect_eq(pthread_join(thread, NULL), 0);
	return r;
}

static int try_to_receive(struct raw *raw)
{
	const void *bytes;
	size_t n_bytes;

	return sbx_ring_receive(raw->server, &bytes, &n_bytes, 0);
}

static int receive_for_a_moment(struct raw *raw)
{
	const void *bytes;
	size_t n_bytes;

	return sbx_ring_receive(raw->server, &bytes, &n_bytes, 50000);
}

static int send_for_a_moment(struct raw *raw)
{
	static const char bytes[4000];

	return sbx_ring_send(raw->server, bytes, sizeof(bytes), 0, 50000);
}

static void ring_the_doorbell(struct raw *raw, uint64_t n)
{
	raw_ring_doorbell(raw);
}

static uint64_t count_sleeps(const struct raw *raw)
{
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };

	sbx_ring_get_statistics(raw->server, &statistics);
	return statistics.sleeps;
}

static void a_flood_of_doorbells_wakes_the_server_a_bounded_number_of_times(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	expect_eq(call_against(&raw, ring_the_doorbell, receive_for_a_moment), SBX_RING_EMPTY);
	/* 64 for nothing, then one a millisecond. */
	expect(count_sleeps(&raw) <= 64 + 50 + 2);
	raw_record(&raw, 8, WHOLE);
	raw_publish(&raw);
	expect_eq(try_to_receive(&raw), 0);
}

static void two_sides_that_wait_for_room_do_not_wake_each_other(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	expect_eq(use_by_sending(&raw), SBX_RING_FULL);
	raw_put_u32(&raw, SBX_RING_SLEEPING_OFFSET, SBX_RING_SLEEPING_ROOM);

	uint32_t before = raw_get_u32(raw.other, SBX_RING_DOORBELL_OFFSET);

	expect_eq(send_for_a_moment(&raw), SBX_RING_FULL);
	expect_eq(raw_get_u32(raw.other, SBX_RING_DOORBELL_OFFSET), before);
}

/* ---- frames ---- */

static void a_frame_without_a_request_id_is_named(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	const void *payload;
	size_t n_bytes;
	uint32_t request_id;
	uint8_t type;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 4, WHOLE);
	raw_publish(&raw);
	expect_eq(sbx_ring_receive_frame(raw.server, &type, &request_id, &payload, &n_bytes, 0),
		  -EPROTO);
	expect_ended(&raw, "a short frame", "frame_too_short");
}

static void raw_frame(struct raw *raw, uint32_t request_id, uint32_t n_payload)
{
	uint8_t *at = raw_data(raw, raw->tail) + SBX_RING_RECORD_HEADER_SIZE;

	at[0] = 1;
	memcpy(at + 1, &request_id, sizeof(request_id));
	raw_record(raw, 5 + n_payload, WHOLE);
	raw_publish(raw);
}

static int request_for_a_moment(struct raw *raw)
{
	const void *payload;
	size_t n_bytes;
	uint8_t type;

	return sbx_ring_request(raw->server, 2, "", 0, &type, &payload, &n_bytes, 50000);
}

static void send_frames_for_ever(struct raw *raw, uint64_t n)
{
	uint64_t n_used = raw->tail - raw_get(raw->other, SBX_RING_HEAD_OFFSET);

	if (n_used + 128 <= raw->capacity)
		raw_frame(raw, n % 2 ? 0x80000000u : 0xffffffffu, 16);
}

static void send_unasked_frames_for_ever(struct raw *raw, uint64_t n)
{
	uint64_t n_used = raw->tail - raw_get(raw->other, SBX_RING_HEAD_OFFSET);

	if (n_used + 8192 <= raw->capacity)
		raw_frame(raw, 0, 8000);
}

static void frames_that_answer_nothing_do_not_keep_a_request(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	expect_eq(call_against(&raw, send_frames_for_ever, request_for_a_moment), SBX_RING_EMPTY);
}

static void unasked_frames_take_a_bounded_amount_of_memory(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n_kept = 0;
	int r = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	for (int i = 0; i < 20; i++) {
		r = call_against(&raw, send_unasked_frames_for_ever, request_for_a_moment);
		expect(r == -ENOBUFS || r == -EPROTO || r == SBX_RING_EMPTY);
	}

	const void *payload;
	size_t n_bytes, n_all = 0;
	uint32_t request_id;
	uint8_t type;

	/* Nothing is added by the calls of this loop but what waits in the ring. */
	while (sbx_ring_receive_frame(raw.server, &type, &request_id, &payload, &n_bytes, 0) == 0) {
		n_all += n_bytes;
		n_kept++;
	}
	expect(n_kept <= 256 + 16 && n_all <= (size_t)1048576 + 2 * raw.capacity);
}

/* ---- what the server does not read again ---- */

static void words_that_are_not_of_the_protocol_change_nothing(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 100, WHOLE);
	raw_publish(&raw);
	for (size_t offset = 0; offset < SBX_RING_DATA_OFFSET; offset += 8)
		if (offset != SBX_RING_TAIL_OFFSET && offset != SBX_RING_HEAD_OFFSET &&
		    offset != SBX_RING_SLEEPING_OFFSET && offset != SBX_RING_STATE_OFFSET)
			raw_put(&raw, offset, UINT64_MAX);
	expect_eq(receive_all(&raw, &n), SBX_RING_EMPTY);
	expect_eq(n, 1);
	expect_eq(sbx_ring_send(raw.server, "hello", 5, 0, 0), 0);
	expect(memcmp(raw.other + SBX_RING_DATA_OFFSET + 8, "hello", 5) == 0);
}

static void a_control_block_changed_after_the_hello_changes_nothing(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	unsigned n, n_all = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_put(&raw, SBX_RING_CAPACITY_OFFSET, UINT64_C(1) << 30);
	raw_put(&raw, SBX_RING_SIZE_OFFSET, UINT64_C(1) << 40);
	raw_put(&raw, SBX_RING_NONCE_OFFSET, 0);
	raw_put_u32(&raw, SBX_RING_RECORD_MAX_OFFSET, UINT32_MAX);
	raw_put_u32(&raw, SBX_RING_FLAGS_OFFSET, SBX_RING_FLAG_CALL);
	/* Several laps, still of the real capacity. */
	for (int i = 0; i < 100; i++) {
		raw_record(&raw, 4000, WHOLE);
		raw_publish(&raw);
		expect_eq(receive_all(&raw, &n), SBX_RING_EMPTY);
		n_all += n;
	}
	expect_eq(n_all, 100);
	raw_record(&raw, raw.record_max + 1, WHOLE);
	raw_publish(&raw);
	expect_eq(receive_all(&raw, &n), -EPROTO);
}

static void a_received_message_no_longer_changes(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	const void *bytes = NULL;
	size_t n_bytes = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	memset(raw_data(&raw, 8), 'a', 8);
	raw_record(&raw, 8, WHOLE);
	raw_publish(&raw);
	expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, 0), 0);
	memset(raw_data(&raw, 0), 'b', 16);
	expect(n_bytes == 8 && memcmp(bytes, "aaaaaaaa", 8) == 0);

	/* The same without a copy shows what changes. */
	raw_record(&raw, 8, WHOLE);
	raw_publish(&raw);
	expect_eq(sbx_ring_peek(raw.server, &bytes, &n_bytes), 0);
	memset(raw_data(&raw, 16), 'c', 16);
	expect(n_bytes == 8 && memcmp(bytes, "cccccccc", 8) == 0);
	sbx_ring_release(raw.server);
	expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, 0), SBX_RING_EMPTY);
}

static const struct test tests[] = {
	TEST(a_reader_that_believes_a_length_reads_past_its_memory),
	TEST(every_lie_in_a_stream_is_named),
	TEST(every_lie_in_cells_is_named),
	TEST(a_cell_with_a_stamp_of_another_position_is_no_record),
	TEST(every_lie_about_what_was_read_is_named),
	TEST(an_unpublished_record_cannot_be_read_away),
	TEST(a_message_of_endless_parts_is_ended),
	TEST(a_message_over_the_limit_in_one_record_is_refused),
	TEST(a_flood_of_doorbells_wakes_the_server_a_bounded_number_of_times),
	TEST(two_sides_that_wait_for_room_do_not_wake_each_other),
	TEST(a_frame_without_a_request_id_is_named),
	TEST(frames_that_answer_nothing_do_not_keep_a_request),
	TEST(unasked_frames_take_a_bounded_amount_of_memory),
	TEST(words_that_are_not_of_the_protocol_change_nothing),
	TEST(a_control_block_changed_after_the_hello_changes_nothing),
	TEST(a_received_message_no_longer_changes),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
