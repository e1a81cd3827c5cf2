/* SPDX-License-Identifier: MIT */

#include "ring/buntime.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <sbx/ring.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/text.h"
#include "test.h"

#define TOTAL BUNTIME_TOTAL_MIN
#define CAPACITY (TOTAL / 2 - BUNTIME_DATA_OFFSET)

/* Both sides of one segment. */
struct pair {
	int fd;
	struct buntime supervisor, worker;
};

static void pair_deinit(struct pair *pair)
{
	buntime_deinit(&pair->supervisor);
	buntime_deinit(&pair->worker);
	close_fd(&pair->fd);
}
#define _cleanup_pair_ _cleanup_(pair_deinit)

static struct pair make_pair(void)
{
	struct pair pair = { .fd = -EBADF, .supervisor = BUNTIME_INIT, .worker = BUNTIME_INIT };

	if (buntime_make(TOTAL, &pair.fd, NULL) < 0 ||
	    buntime_attach(pair.fd, MESSAGE_BY_SUPERVISOR, &pair.supervisor, NULL) < 0 ||
	    buntime_attach(pair.fd, MESSAGE_BY_WORKER, &pair.worker, NULL) < 0)
		abort();
	return pair;
}

static void store_u32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t load_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* Expects that the supervisor ends the channel, for good, and gives nothing. */
static void expect_end(struct buntime *side, int r, enum ring_violation violation)
{
	const uint8_t *bytes = NULL;
	size_t n_bytes = 77;

	expect_eq(r, -EPROTO);
	expect_eq(side->violation, violation);
	expect_eq(buntime_receive(side, &bytes, &n_bytes), -EPROTO);
	expect_eq(buntime_send(side, "x", 1), -EPROTO);
	expect(!bytes && n_bytes == 77);
}

static int receive(struct buntime *side)
{
	const uint8_t *bytes = NULL;
	size_t n_bytes = 77;
	int r = buntime_receive(side, &bytes, &n_bytes);

	if (r != 0)
		expect(!bytes && n_bytes == 77);
	return r;
}

static void the_bytes_are_those_of_buntime(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	static const uint8_t record[] = { 2, 0, 0, 0, 'h', 'i' };
	const uint8_t *half = pair.supervisor.segment;

	expect_eq(load_u32(half + 8), TOTAL / 2 - 64);
	expect_eq(load_u32(half + TOTAL / 2 + 8), TOTAL / 2 - 64);
	expect_eq(buntime_send(&pair.supervisor, "hi", 2), 0);
	expect_eq(load_u32(half), 0);
	expect_eq(load_u32(half + 4), 6);
	expect(memcmp(half + 64, record, sizeof(record)) == 0);

	expect_eq(buntime_send(&pair.worker, "yes", 3), 0);
	half += TOTAL / 2;
	expect_eq(load_u32(half + 4), 7);
	expect(memcmp(half + 64, "\3\0\0\0yes", 7) == 0);
	expect_eq(receive(&pair.supervisor), 0);
	expect_eq(load_u32(half), 7);
}

static void an_empty_message_is_a_message(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	const uint8_t *bytes = NULL;
	size_t n_bytes = 77;

	expect_eq(buntime_send(&pair.worker, NULL, 0), 0);
	expect_eq(buntime_receive(&pair.supervisor, &bytes, &n_bytes), 0);
	expect_eq(n_bytes, 0);
	expect_eq(receive(&pair.supervisor), SBX_RING_EMPTY);
}

static void a_message_may_use_all_bytes_but_one(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	_cleanup_free_ uint8_t *message = calloc(1, CAPACITY);

	expect_eq(buntime_message_max(&pair.worker), CAPACITY - 5);
	expect_eq(buntime_send(&pair.worker, message, CAPACITY - 4), -EMSGSIZE);
	expect_eq(buntime_send(&pair.worker, message, CAPACITY - 5), 0);
	expect_eq(buntime_send(&pair.worker, message, 0), SBX_RING_FULL);
	expect_eq(receive(&pair.supervisor), 0);
	expect_eq(buntime_send(&pair.worker, message, CAPACITY - 5), 0);
}

static void messages_stay_in_order_across_the_wrap(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	uint64_t state = 88172645463325252u;
	uint32_t n_sent = 0, n_received = 0;
	uint8_t message[CAPACITY];

	for (int step = 0; step < 40000; step++) {
		const uint8_t *bytes;
		size_t n_bytes;

		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		if (state >> 60 < 9) {
			size_t n = state >> 20 & 3 ? state % 90 : state % (CAPACITY - 4);

			memset(message, (int)(n_sent & 0xff), n);
			if (n >= 4)
				store_u32(message, n_sent);
			if (buntime_send(&pair.worker, message, n) == 0)
				n_sent++;
			continue;
		}
		if (buntime_receive(&pair.supervisor, &bytes, &n_bytes) != 0) {
			expect_eq(n_received, n_sent);
			continue;
		}
		if (n_bytes >= 4)
			expect_eq(load_u32(bytes), n_received);
		for (size_t i = 4; i < n_bytes; i++)
			if (bytes[i] != (n_received & 0xff))
				expect(!"another byte");
		n_received++;
	}
	expect(n_received > 5000);
	expect_eq(pair.supervisor.violation, 0);
	expect_eq(pair.worker.violation, 0);
}

static void a_length_may_be_split_by_the_wrap(void)
{
	for (uint32_t before = CAPACITY - 6; before < CAPACITY; before++) {
		_cleanup_pair_ struct pair pair = make_pair();
		uint8_t message[CAPACITY] = { 0 };
		const uint8_t *bytes;
		size_t n_bytes;

		/* Two messages that end at the place, then the one that is looked at. */
		expect_eq(buntime_send(&pair.worker, message, before / 2 - 4), 0);
		expect_eq(receive(&pair.supervisor), 0);
		expect_eq(buntime_send(&pair.worker, message, before - before / 2 - 4), 0);
		expect_eq(receive(&pair.supervisor), 0);
		expect_eq(pair.worker.out_tail, before);
		expect_eq(buntime_send(&pair.worker, "across", 6), 0);
		expect_eq(buntime_receive(&pair.supervisor, &bytes, &n_bytes), 0);
		expect(n_bytes == 6 && memcmp(bytes, "across", 6) == 0);
	}
}

static void refuses_a_tail_outside_of_the_data(void)
{
	static const uint32_t tails[] = { CAPACITY, CAPACITY + 1, 0x7fffffff, 0x80000000,
					  UINT32_MAX };

	for (size_t i = 0; i < N_ELEMENTS(tails); i++) {
		_cleanup_pair_ struct pair pair = make_pair();

		store_u32(pair.supervisor.in + BUNTIME_TAIL_OFFSET, tails[i]);
		expect_end(&pair.supervisor, receive(&pair.supervisor), RING_TAIL_BEYOND_CAPACITY);
	}
}

static void refuses_a_tail_that_moves_backwards(void)
{
	_cleanup_pair_ struct pair pair = make_pair();

	expect_eq(buntime_send(&pair.worker, "one", 3), 0);
	expect_eq(buntime_send(&pair.worker, "two", 3), 0);
	expect_eq(receive(&pair.supervisor), 0);
	store_u32(pair.supervisor.in + BUNTIME_TAIL_OFFSET, 7);
	expect_end(&pair.supervisor, receive(&pair.supervisor), RING_TAIL_BEYOND_CAPACITY);
}

static void refuses_a_head_that_no_reader_can_have(void)
{
	static const uint32_t heads[] = { 13, 5, CAPACITY - 1, CAPACITY, UINT32_MAX };

	for (size_t i = 0; i < N_ELEMENTS(heads); i++) {
		_cleanup_pair_ struct pair pair = make_pair();

		expect_eq(buntime_send(&pair.supervisor, "ab", 2), 0);
		expect_eq(receive(&pair.worker), 0);
		expect_eq(buntime_send(&pair.supervisor, "ab", 2), 0);
		/* The head was 6 and the tail is 12. */
		store_u32(pair.supervisor.out + BUNTIME_HEAD_OFFSET, heads[i]);
		expect_end(&pair.supervisor, buntime_send(&pair.supervisor, "c", 1),
			   RING_HEAD_BEYOND_TAIL);
	}
}

static void refuses_a_length_above_what_is_there(void)
{
	static const struct {
		uint32_t length;
		enum ring_violation violation;
	} cases[] = {
		{ 3, RING_LENGTH_BEYOND_TAIL },
		{ CAPACITY - 5, RING_LENGTH_BEYOND_TAIL },
		{ CAPACITY - 4, RING_LENGTH_OVER_LIMIT },
		{ CAPACITY, RING_LENGTH_OVER_LIMIT },
		{ UINT32_MAX - 3, RING_LENGTH_OVER_LIMIT },
		{ UINT32_MAX, RING_LENGTH_OVER_LIMIT },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_pair_ struct pair pair = make_pair();

		expect_eq(buntime_send(&pair.worker, "ab", 2), 0);
		store_u32(pair.supervisor.in + BUNTIME_DATA_OFFSET, cases[i].length);
		expect_end(&pair.supervisor, receive(&pair.supervisor), cases[i].violation);
	}
}

static void refuses_a_record_without_a_whole_length(void)
{
	for (uint32_t n = 1; n < 4; n++) {
		_cleanup_pair_ struct pair pair = make_pair();

		store_u32(pair.supervisor.in + BUNTIME_TAIL_OFFSET, n);
		expect_end(&pair.supervisor, receive(&pair.supervisor), RING_LENGTH_BEYOND_TAIL);
	}
}

static void own_words_in_the_segment_are_never_read_again(void)
{
	_cleanup_pair_ struct pair pair = make_pair();

	expect_eq(buntime_send(&pair.supervisor, "one", 3), 0);
	expect_eq(buntime_send(&pair.worker, "uno", 3), 0);
	for (int half = 0; half < 2; half++)
		store_u32(pair.supervisor.segment + half * TOTAL / 2 + BUNTIME_CAPACITY_OFFSET, 8);
	store_u32(pair.supervisor.out + BUNTIME_TAIL_OFFSET, 0xdeadbeef);
	store_u32(pair.supervisor.in + BUNTIME_HEAD_OFFSET, 0xdeadbeef);
	expect_eq(receive(&pair.supervisor), 0);
	expect_eq(buntime_send(&pair.supervisor, "two", 3), 0);
	expect_eq(load_u32(pair.supervisor.out + BUNTIME_TAIL_OFFSET), 14);
	expect_eq(load_u32(pair.supervisor.in + BUNTIME_HEAD_OFFSET), 7);
	expect_eq(receive(&pair.worker), 0);
	expect_eq(receive(&pair.worker), 0);
}

static void a_received_message_does_not_change_any_more(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	const uint8_t *bytes = NULL;
	size_t n_bytes = 0;

	expect_eq(buntime_send(&pair.worker, "honest", 6), 0);
	expect_eq(buntime_receive(&pair.supervisor, &bytes, &n_bytes), 0);
	memset(pair.worker.segment, 0xff, TOTAL);
	expect(n_bytes == 6 && memcmp(bytes, "honest", 6) == 0);
}

/* The tail is then 0, which looks like a lap of empty messages. */
static void a_hole_in_the_memory_raises_no_signal(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	unsigned n_received = 0;

	expect_eq(buntime_send(&pair.worker, "one", 3), 0);
	expect_eq(buntime_send(&pair.worker, "two", 3), 0);
	expect_eq(receive(&pair.supervisor), 0);
	expect_eq(fallocate(pair.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, TOTAL), 0);
	while (receive(&pair.supervisor) == 0)
		n_received++;
	expect(n_received <= CAPACITY / BUNTIME_LENGTH_SIZE);
	expect_eq(pair.supervisor.violation, RING_LENGTH_BEYOND_TAIL);
}

static void the_size_cannot_be_changed(void)
{
	_cleanup_close_ int fd = -EBADF;

	expect_eq(buntime_make(TOTAL, &fd, NULL), 0);
	expect(ftruncate(fd, 0) < 0 && errno == EPERM);
	expect(ftruncate(fd, 2 * TOTAL) < 0 && errno == EPERM);
	expect(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno == EPERM);
	expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static int make_memfd(size_t n_bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)n_bytes) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		abort();
	return fd;
}

static void refuses_memory_without_the_seals(void)
{
	static const int seals[] = { 0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL,
				     F_SEAL_SHRINK | F_SEAL_SEAL };
	struct buntime buntime = BUNTIME_INIT;

	for (size_t i = 0; i < N_ELEMENTS(seals); i++) {
		_cleanup_close_ int fd = make_memfd(TOTAL, seals[i]);

		expect_eq(buntime_attach(fd, MESSAGE_BY_WORKER, &buntime, NULL), -EPERM);
		expect(!buntime.segment);
	}
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	expect_eq(buntime_attach(null, MESSAGE_BY_WORKER, &buntime, NULL), -EPERM);
}

static void refuses_a_segment_of_another_size(void)
{
	static const size_t sizes[] = { 0, 64, TOTAL - 8, TOTAL + 1, TOTAL + 4 };
	struct buntime buntime = BUNTIME_INIT;
	int made = -EBADF;

	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		_cleanup_close_ int fd =
			make_memfd(sizes[i], F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		struct sbx_error err = { 0 };

		expect_eq(buntime_attach(fd, MESSAGE_BY_WORKER, &buntime, NULL), -EBADMSG);
		expect_eq(buntime_make(sizes[i], &made, &err), -EINVAL);
		expect(strstr(err.fix, "multiple of 8"));
	}
	expect_eq(made, -EBADF);
	expect(!buntime.segment);
}

static void refuses_headers_with_other_numbers(void)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} words[] = {
		{ BUNTIME_CAPACITY_OFFSET, 0 },
		{ BUNTIME_CAPACITY_OFFSET, CAPACITY - 1 },
		{ BUNTIME_CAPACITY_OFFSET, UINT32_MAX },
		{ BUNTIME_HEAD_OFFSET, CAPACITY },
		{ BUNTIME_TAIL_OFFSET, CAPACITY },
		{ TOTAL / 2 + BUNTIME_CAPACITY_OFFSET, 0 },
		{ TOTAL / 2 + BUNTIME_HEAD_OFFSET, UINT32_MAX },
		{ TOTAL / 2 + BUNTIME_TAIL_OFFSET, CAPACITY },
	};

	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		_cleanup_pair_ struct pair pair = make_pair();
		struct buntime buntime = BUNTIME_INIT;

		store_u32(pair.worker.segment + words[i].offset, words[i].value);
		expect_eq(buntime_attach(pair.fd, MESSAGE_BY_WORKER, &buntime, NULL), -EBADMSG);
		expect(!buntime.segment && !buntime.message);
	}
}

static void continues_a_segment_that_was_used_before(void)
{
	_cleanup_pair_ struct pair pair = make_pair();
	struct buntime again = BUNTIME_INIT;

	expect_eq(buntime_send(&pair.worker, "one", 3), 0);
	expect_eq(receive(&pair.supervisor), 0);
	expect_eq(buntime_send(&pair.worker, "two", 3), 0);
	expect_eq(buntime_attach(pair.fd, MESSAGE_BY_SUPERVISOR, &again, NULL), 0);
	expect_eq(receive(&again), 0);
	expect(memcmp(again.message, "two", 3) == 0);
	expect_eq(receive(&again), SBX_RING_EMPTY);
	buntime_deinit(&again);
}

/* Writes random words and bytes while both sides work: results are checked by the sanitizers. */
static void random_memory_is_survived(void)
{
	uint64_t state = 2463534242u;
	unsigned n_violations = 0;

	for (int trial = 0; trial < 3000; trial++) {
		_cleanup_pair_ struct pair pair = make_pair();

		for (int step = 0; step < 40 && !pair.supervisor.violation; step++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			if (state % 3 == 0)
				store_u32(pair.supervisor.segment + (state >> 8) % 2 * TOTAL / 2 +
						  (state >> 9) % 3 * 4 +
						  ((state >> 12) % 4 == 0) * BUNTIME_DATA_OFFSET,
					  state >> 16 & 1 ? (uint32_t)(state >> 32)
							  : (uint32_t)(state >> 32) % CAPACITY);
			(void)buntime_send(&pair.worker, &state, sizeof(state));
			(void)buntime_send(&pair.supervisor, &state, state % 8);
			(void)receive(&pair.supervisor);
		}
		n_violations += pair.supervisor.violation != 0;
	}
	expect(n_violations > 1000);
}

static const char *parse_line(const char *line, size_t n_bytes, enum message_sender sender)
{
	struct buntime_line parsed = { .kind = BUNTIME_N_LINE_KINDS };
	const char *problem = "";

	if (buntime_parse_line(line, n_bytes, sender, &parsed, &problem) == 0)
		return "accepted";
	expect_eq(parsed.kind, BUNTIME_N_LINE_KINDS);
	return problem;
}

static void reads_the_four_lines(void)
{
	static const char exception[] = "{\"type\": \"state\", \"event\": \"exception\", "
					"\"data\": {\"error\": \"ValueError: x\"}}";
	struct buntime_line line;
	const char *problem;

	expect_eq(buntime_parse_line("READY", 5, MESSAGE_BY_WORKER, &line, &problem), 0);
	expect_eq(line.kind, BUNTIME_READY);
	expect_eq(buntime_parse_line("DATA", 4, MESSAGE_BY_WORKER, &line, &problem), 0);
	expect_eq(line.kind, BUNTIME_DATA);
	expect_eq(buntime_parse_line("DATA", 4, MESSAGE_BY_SUPERVISOR, &line, &problem), 0);
	expect_eq(buntime_parse_line("CHECK", 5, MESSAGE_BY_WORKER, &line, &problem), 0);
	expect_eq(line.kind, BUNTIME_CHECK);
	expect_eq(buntime_parse_line(exception, sizeof(exception) - 1, MESSAGE_BY_WORKER, &line,
				     &problem),
		  0);
	expect_eq(line.kind, BUNTIME_STATE);
	expect_str(line.event, "exception");
	expect(line.data_size == 26 &&
	       memcmp(line.data, "{\"error\": \"ValueError: x\"}", 26) == 0);
}

static void refuses_lines_of_the_other_side(void)
{
	static const char *const only_of_workers[] = { "READY", "CHECK",
						       "{\"type\":\"state\",\"event\":\"e\"}" };

	for (size_t i = 0; i < N_ELEMENTS(only_of_workers); i++)
		expect_str(parse_line(only_of_workers[i], strlen(only_of_workers[i]),
				      MESSAGE_BY_SUPERVISOR),
			   "this side does not send such a line");
}

static void refuses_other_lines(void)
{
	static const char *const lines[] = {
		"",
		"ready",
		"READY ",
		" READY",
		"READY\r",
		"DATADATA",
		"CHEC",
		"STATE",
		"[]",
		"{}",
		"{\"type\":\"state\"}",
		"{\"event\":\"e\"}",
		"{\"type\":\"State\",\"event\":\"e\"}",
		"{\"type\":\"state\",\"event\":\"\"}",
		"{\"type\":\"state\",\"event\":\"a b\"}",
		"{\"type\":\"state\",\"event\":\"E\"}",
		"{\"type\":\"state\",\"event\":\"\\u0065\"}",
		"{\"type\":\"state\",\"event\":null}",
		"{\"type\":\"state\",\"event\":\"e\",\"event\":\"f\"}",
		"{\"type\":\"state\",\"event\":\"e\",\"more\":1}",
		"{\"type\":\"state\",\"event\":\"e\",\"data\":}",
		"{\"type\":\"state\",\"event\":\"e\"} ,",
		/* one letter more than an event may have */
		("{\"type\":\"state\",\"event\":"
		 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++)
		expect(strcmp(parse_line(lines[i], strlen(lines[i]), MESSAGE_BY_WORKER),
			      "accepted") != 0);
	expect(strcmp(parse_line("READY\0", 6, MESSAGE_BY_WORKER), "accepted") != 0);
	expect(strcmp(parse_line("{\"type\":\"state\",\"event\":\"e\0\"}", 28, MESSAGE_BY_WORKER),
		      "accepted") != 0);
}

static void prints_the_lines_that_it_reads(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	struct buntime_line line = { .kind = BUNTIME_READY };

	expect_eq(buntime_print_line(&line, MESSAGE_BY_WORKER, &out), 0);
	line.kind = BUNTIME_DATA;
	expect_eq(buntime_print_line(&line, MESSAGE_BY_SUPERVISOR, &out), 0);
	line = (struct buntime_line){
		.kind = BUNTIME_STATE, .event = "exec_end", .data = "{\"a\":1}", .data_size = 7
	};
	expect_eq(buntime_print_line(&line, MESSAGE_BY_WORKER, &out), 0);
	expect_str(text_string(&out),
		   "READY\nDATA\n{\"type\":\"state\",\"event\":\"exec_end\",\"data\":{\"a\":1}}\n");
	expect_eq(buntime_print_line(&line, MESSAGE_BY_SUPERVISOR, &out), -EBADMSG);
	line.data = "{\"a\":\n1";
	expect_eq(buntime_print_line(&line, MESSAGE_BY_WORKER, &out), -EBADMSG);
	line.data = "[\n1 ]  ", line.data_size = 5;
	expect_eq(buntime_print_line(&line, MESSAGE_BY_WORKER, &out), -EBADMSG);
	line.data = NULL, line.event[0] = 'E';
	expect_eq(buntime_print_line(&line, MESSAGE_BY_WORKER, &out), -EBADMSG);
	expect_eq(out.len,
		  strlen("READY\nDATA\n{\"type\":\"state\",\"event\":\"exec_end\",\"data\":"
			 "{\"a\":1}}\n"));
}

static void lines_of_a_socket_are_read_one_by_one(void)
{
	struct buntime_line line;
	const char *problem = "";
	int sockets[2];

	expect_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
	_cleanup_lines_ struct line_reader reader = { .fd = sockets[0],
						      .max = BUNTIME_LINE_MAX,
						      .refuses_long = true };
	expect_eq(write(sockets[1], "READY\nCHE", 9), 9);
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), 1);
	expect_eq(line.kind, BUNTIME_READY);
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), -EAGAIN);
	expect_eq(write(sockets[1], "CK\nDAT", 6), 6);
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), 1);
	expect_eq(line.kind, BUNTIME_CHECK);
	close(sockets[1]);
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), -EBADMSG);
	expect_str(problem, "the end of the stream cut it");
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), 0);
	close(sockets[0]);
}

static void a_line_that_never_ends_is_refused(void)
{
	static char bytes[BUNTIME_LINE_MAX + 1];
	struct buntime_line line;
	const char *problem = "";
	int pipes[2];

	memset(bytes, 'A', sizeof(bytes));
	expect_eq(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
	expect(fcntl(pipes[1], F_SETPIPE_SZ, 2 * BUNTIME_LINE_MAX) >= (int)sizeof(bytes));
	expect_eq(write(pipes[1], bytes, sizeof(bytes)), sizeof(bytes));
	_cleanup_lines_ struct line_reader reader = { .fd = pipes[0],
						      .max = BUNTIME_LINE_MAX,
						      .refuses_long = true };
	expect_eq(buntime_next_line(&reader, MESSAGE_BY_WORKER, &line, &problem), -EMSGSIZE);
	close(pipes[0]);
	close(pipes[1]);
}

static void paths_are_named_as_in_buntime(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;

	buntime_add_path(&out, "/run/user/1000", 0);
	expect_str(text_string(&out), "/run/user/1000/bun-0.sock");
	text_reset(&out);
	buntime_add_path(&out, "/run", UINT64_MAX);
	expect_str(text_string(&out), "/run/bun-3w5e11264sgsf.sock");
	text_reset(&out);
	buntime_add_path(&out, "/run", 36 * 35 + 10);
	expect_str(text_string(&out), "/run/bun-za.sock");
}

static void a_path_over_100_bytes_falls_back(void)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	char directory[120] = "/";

	/* "/bun-a.sock" has 11 bytes. */
	memset(directory + 1, 'd', 88);
	buntime_add_path(&out, directory, 10);
	expect_eq(out.len, 100);
	expect(memcmp(out.data, directory, 89) == 0);
	text_reset(&out);
	directory[89] = 'd';
	buntime_add_path(&out, directory, 10);
	expect_str(text_string(&out), "/tmp/bun-a.sock");
}

static void the_directory_is_that_of_the_unit_or_user(void)
{
	static const struct {
		char *environment[3];
		const char *directory;
	} cases[] = {
		{ { "RUNTIME_DIRECTORY=/run/a:/run/b", "XDG_RUNTIME_DIR=/run/user/1" }, "/run/a" },
		{ { "XDG_RUNTIME_DIR=/run/user/1" }, "/run/user/1" },
		{ { "RUNTIME_DIRECTORY=relative", "XDG_RUNTIME_DIR=/run/user/1" }, "/run/user/1" },
		{ { "RUNTIME_DIRECTORY=", "XDG_RUNTIME_DIR=" }, "/tmp" },
		{ { NULL }, "/tmp" },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_text_ struct text out = TEXT_INIT;

		expect_eq(buntime_add_directory(&out, cases[i].environment), 0);
		expect_str(text_string(&out), cases[i].directory);
	}
}

static void only_the_owner_can_connect(void)
{
	char directory[] = "/tmp/sbx-test-XXXXXX";
	struct buntime_socket own = BUNTIME_SOCKET_INIT;
	mode_t mask = umask(0);
	struct stat st;

	expect(mkdtemp(directory));
	expect_eq(buntime_listen(directory, &own, NULL), 0);
	(void)umask(mask);
	expect(strncmp(own.path, directory, strlen(directory)) == 0);
	expect_eq(stat(own.path, &st), 0);
	expect(S_ISSOCK(st.st_mode));
	expect_eq(st.st_mode & 07777, 0600);

	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, own.path, sizeof(address.sun_path) - 1);
	expect_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	_cleanup_free_ char *path = strdup(own.path);

	buntime_socket_deinit(&own);
	expect(path && stat(path, &st) < 0 && errno == ENOENT);
	expect_eq(rmdir(directory), 0);
}

static void refuses_to_listen_where_it_cannot(void)
{
	struct buntime_socket own = BUNTIME_SOCKET_INIT;
	struct sbx_error err = { 0 };

	expect_eq(buntime_listen("/nonexistent/directory", &own, &err), -ENOENT);
	expect(!own.path && own.fd == -EBADF);
	expect(strstr(err.what, "/nonexistent/directory/bun-"));
	expect(strstr(err.fix, "RUNTIME_DIRECTORY"));
}

static const struct test tests[] = {
	TEST(the_bytes_are_those_of_buntime),
	TEST(an_empty_message_is_a_message),
	TEST(a_message_may_use_all_bytes_but_one),
	TEST(messages_stay_in_order_across_the_wrap),
	TEST(a_length_may_be_split_by_the_wrap),
	TEST(refuses_a_tail_outside_of_the_data),
	TEST(refuses_a_tail_that_moves_backwards),
	TEST(refuses_a_head_that_no_reader_can_have),
	TEST(refuses_a_length_above_what_is_there),
	TEST(refuses_a_record_without_a_whole_length),
	TEST(own_words_in_the_segment_are_never_read_again),
	TEST(a_received_message_does_not_change_any_more),
	TEST(a_hole_in_the_memory_raises_no_signal),
	TEST(the_size_cannot_be_changed),
	TEST(refuses_memory_without_the_seals),
	TEST(refuses_a_segment_of_another_size),
	TEST(refuses_headers_with_other_numbers),
	TEST(continues_a_segment_that_was_used_before),
	TEST(random_memory_is_survived),
	TEST(reads_the_four_lines),
	TEST(refuses_lines_of_the_other_side),
	TEST(refuses_other_lines),
	TEST(prints_the_lines_that_it_reads),
	TEST(lines_of_a_socket_are_read_one_by_one),
	TEST(a_line_that_never_ends_is_refused),
	TEST(paths_are_named_as_in_buntime),
	TEST(a_path_over_100_bytes_falls_back),
	TEST(the_directory_is_that_of_the_unit_or_user),
	TEST(only_the_owner_can_connect),
	TEST(refuses_to_listen_where_it_cannot),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
