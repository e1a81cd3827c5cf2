/* SPDX-License-Identifier: MIT */

/*
 * A process that writes into its file of a channel, at random, while the server works
 *
 * It mixes records as they should be with lies: positions, lengths, kinds, stamps, states and
 * sleeping flags, holes in its file, floods of doorbells. The server calls everything that the
 * interface has. Whatever it reads, it may neither crash nor hang nor return anything but the
 * documented results; a violation ends the channel, and the next one begins.
 *
 * Memory that cannot be read surrounds the mappings of the library. TEST_SLOW=1 runs a minute.
 */
#include "test.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "ring-raw.h"

#define HANG_SECONDS 170
#define N_CHANNELS 300
#define SLOW_NSEC (UINT64_C(61) * 1000000000)
#define CALLS_MAX 500 /* of a channel that is never violated */

/* ---- memory around the mappings ---- */

#define GUARD 65536
#define N_GUARDED 64

static struct guarded {
	uint8_t *at;
	size_t n_bytes;
} guarded[N_GUARDED];

void *__real_mmap64(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t n_bytes);
void *__wrap_mmap64(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t n_bytes);

/* The library reserves addresses for both mappings of a file. */
void *__wrap_mmap64(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset)
{
	if (at || fd >= 0 || protection != PROT_NONE)
		return __real_mmap64(at, n_bytes, protection, flags, fd, offset);
	for (size_t i = 0; i < N_GUARDED; i++)
		if (!guarded[i].at) {
			uint8_t *all = __real_mmap64(NULL, n_bytes + (size_t)2 * GUARD, PROT_NONE,
						     flags, -1, 0);

			if (all == MAP_FAILED)
				return MAP_FAILED;
			guarded[i] = (struct guarded){ all + GUARD, n_bytes };
			return all + GUARD;
		}
	abort();
}

int __wrap_munmap(void *at, size_t n_bytes)
{
	for (size_t i = 0; i < N_GUARDED; i++)
		if (guarded[i].at && guarded[i].at == at) {
			guarded[i].at = NULL;
			return __real_munmap((uint8_t *)at - GUARD, n_bytes + (size_t)2 * GUARD);
		}
	return __real_munmap(at, n_bytes);
}

/* ---- the hostile process ---- */

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t n)
{
	uint64_t z = (dice->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* A number that is often near a limit. */
static uint64_t roll_number(struct raw *raw, struct dice *dice)
{
	const uint64_t near[] = {
		0,
		raw->record_max,
		raw->capacity,
		raw->tail,
		raw_get(raw->other, SBX_RING_TAIL_OFFSET),
		raw_get(raw->other, SBX_RING_HEAD_OFFSET),
		UINT32_MAX,
		UINT64_MAX,
		SBX_RING_MESSAGE_MAX,
		UINT64_C(1) << 63,
	};
	uint64_t base = near[roll(dice, N_ELEMENTS(near))];

	return roll(dice, 4) == 0 ? roll(dice, UINT64_MAX) : base + roll(dice, 33) - 16;
}

static void add_record(struct raw *raw, uint32_t n_bytes, uint32_t kind)
{
	if (raw->is_call)
		raw_cell(raw, n_bytes, kind);
	else
		raw_record(raw, n_bytes, kind);
	raw_publish(raw);
	raw_ring_doorbell(raw);
}

static bool has_room(const struct raw *raw, uint64_t n_bytes)
{
	uint64_t n_used = raw->tail - raw_get(raw->other, SBX_RING_HEAD_OFFSET);

	return n_used + n_bytes + 128 <= raw->capacity;
}

static void do_honest_record(struct raw *raw, struct dice *dice)
{
	uint32_t n_bytes = (uint32_t)(5 + roll(dice, roll(dice, 8) ? 200 : raw->record_max - 5));

	if (has_room(raw, n_bytes))
		add_record(raw, n_bytes, SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END);
}

static void do_honest_parts(struct raw *raw, struct dice *dice)
{
	uint32_t n_bytes = (uint32_t)roll(dice, 1000);

	if (!has_room(raw, raw->record_max + n_bytes))
		return;
	add_record(raw, raw->record_max, SBX_RING_RECORD_BEGIN);
	if (roll(dice, 4))
		add_record(raw, n_bytes, SBX_RING_RECORD_END);
	else
		add_record(raw, 0, SBX_RING_RECORD_ABORT);
}

static void do_honest_head(struct raw *raw, struct dice *dice)
{
	raw_put(raw, SBX_RING_HEAD_OFFSET, raw_get(raw->other, SBX_RING_TAIL_OFFSET));
	raw_ring_doorbell(raw);
}

static void do_sleeping(struct raw *raw, struct dice *dice)
{
	raw_put_u32(raw, SBX_RING_SLEEPING_OFFSET, (uint32_t)roll(dice, 8));
}

static void do_doorbells(struct raw *raw, struct dice *dice)
{
	for (uint64_t n = roll(dice, 100); n > 0; n--)
		raw_ring_doorbell(raw);
}

static void lie_about_tail(struct raw *raw, struct dice *dice)
{
	raw_put(raw, SBX_RING_TAIL_OFFSET, roll_number(raw, dice));
}

static void lie_about_head(struct raw *raw, struct dice *dice)
{
	raw_put(raw, SBX_RING_HEAD_OFFSET, roll_number(raw, dice));
}

static void lie_about_state(struct raw *raw, struct dice *dice)
{
	raw_put_u32(raw, SBX_RING_STATE_OFFSET, (uint32_t)roll(dice, 3));
}

/* The header that the server reads next, while it may read it. */
static void lie_in_header(struct raw *raw, struct dice *dice)
{
	uint64_t at = raw_get(raw->other, SBX_RING_HEAD_OFFSET) + 8 * roll(dice, 64);
	uint8_t *header = raw_data(raw, at & ~UINT64_C(7));
	uint64_t value = roll_number(raw, dice) | roll(dice, 8) << 32;

	for (int i = 0; i < 32; i++) {
		__atomic_store_n((uint64_t *)(void *)header, value, __ATOMIC_RELAXED);
		value = roll_number(raw, dice) | roll(dice, 8) << 32;
	}
}

static void lie_about_parts(struct raw *raw, struct dice *dice)
{
	uint32_t n_bytes = roll(dice, 2) ? raw->record_max : (uint32_t)roll(dice, 100);

	add_record(raw, n_bytes, (uint32_t)roll(dice, 9));
}

static void lie_everywhere(struct raw *raw, struct dice *dice)
{
	for (int i = 0; i < 200; i++)
		*(volatile uint64_t *)(void *)raw_data(raw, 8 * roll(dice, 1 << 20)) =
			roll_number(raw, dice);
}

static void lie_in_control(struct raw *raw, struct dice *dice)
{
	raw_put(raw, 8 * roll(dice, 8), roll_number(raw, dice));
}

static void punch_hole(struct raw *raw, struct dice *dice)
{
	off_t at = (off_t)(4096 * roll(dice, raw->capacity / 4096));

	(void)fallocate(raw->fds[1], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
			(off_t)(4096 * (1 + roll(dice, 16))));
}

static void (*const honest_acts[])(struct raw *raw, struct dice *dice) = {
	do_honest_record, do_honest_record, do_honest_record, do_honest_head,
	do_honest_parts,  do_sleeping,	    do_doorbells,
};

static void (*const lies[])(struct raw *raw, struct dice *dice) = {
	lie_about_tail, lie_about_head, lie_about_state, lie_in_header,	  lie_in_header,
	lie_everywhere, lie_in_control, punch_hole,	 lie_about_parts,
};

/* The fds of a new channel, and its geometry. */
static bool take_channel(int control, struct raw *raw)
{
	uint64_t geometry[4];
	size_t n_fds = 0;
	struct raw next = RAW_INIT;

	if (recv(control, geometry, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
		return false;
	if (fd_receive(control, geometry, sizeof(geometry), next.fds, N_ELEMENTS(next.fds),
		       &n_fds) != sizeof(geometry))
		_exit(0);
	next.capacity = geometry[0];
	next.nonce = geometry[1];
	next.record_max = (uint32_t)geometry[2];
	next.is_call = geometry[3];
	raw_close(raw);
	if (!raw_map(&next))
		_exit(1);
	*raw = next;
	return true;
}

/* Until the control socket ends. */
static void be_hostile(int control, uint64_t seed)
{
	struct dice dice = { seed };
	struct raw raw = RAW_INIT;
	struct pollfd polled = { .fd = control, .events = POLLIN };
	uint64_t temper = 1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&polled, 1, -1) != 1)
		_exit(1);
	for (;;) {
		if (take_channel(control, &raw))
			temper = (uint64_t)1 << roll(&dice, 12);
		for (int i = 0; i < 64; i++) {
			if (roll(&dice, temper) == 0)
				lies[roll(&dice, N_ELEMENTS(lies))](&raw, &dice);
			else
				honest_acts[roll(&dice, N_ELEMENTS(honest_acts))](&raw, &dice);
		}
		if (poll(&polled, 1, 0) == 1 && (polled.revents & POLLHUP))
			_exit(0);
	}
}

/* ---- the server ---- */

struct tally {
	uint64_t n_channels, n_calls, n_messages, n_sent, n_bytes, n_violated, n_closed;
	uint64_t longest_nsec;
	uint64_t sum; /* of all bytes received: each is read */
	struct reason {
		const char *name;
		uint64_t n;
	} reasons[32];
};

static uint64_t now_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void count_reason(struct tally *tally, const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(tally->reasons); i++) {
		struct reason *reason = &tally->reasons[i];

		if (reason->name && strcmp(reason->name, name) != 0)
			continue;
		reason->name = name;
		reason->n++;
		return;
	}
}

static int took(struct tally *tally, int r, const uint8_t *bytes, size_t n_bytes)
{
	if (r != 0)
		return r;
	expect(n_bytes <= SBX_RING_MESSAGE_MAX);
	for (size_t i = 0; i < n_bytes; i++)
		tally->sum += bytes[i];
	tally->n_messages++;
	tally->n_bytes += n_bytes;
	return 0;
}

/* A sleep takes a millisecond at least. */
static uint64_t roll_timeout(struct dice *dice)
{
	return roll(dice, 32) ? 0 : 300;
}

static int call_receive(struct raw *raw, struct tally *tally, struct dice *dice)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r = sbx_ring_receive(raw->server, &bytes, &n_bytes, roll_timeout(dice));

	return took(tally, r, bytes, n_bytes);
}

static int call_peek(struct raw *raw, struct tally *tally, struct dice *dice)
{
	const void *bytes = NULL;
	size_t n_bytes = 0;
	int r = took(tally, sbx_ring_peek(raw->server, &bytes, &n_bytes), bytes, n_bytes);

	if (roll(dice, 3))
		sbx_ring_release(raw->server);
	return r;
}

static int call_receive_frame(struct raw *raw, struct tally *tally, struct dice *dice)
{
	const void *payload = NULL;
	size_t n_bytes = 0;
	uint32_t request_id;
	uint8_t type;
	int r = sbx_ring_receive_frame(raw->server, &type, &request_id, &payload, &n_bytes, 0);

	return took(tally, r, payload, n_bytes);
}

static int call_request(struct raw *raw, struct tally *tally, struct dice *dice)
{
	const void *payload = NULL;
	size_t n_bytes = 0;
	uint8_t type;
	int r = sbx_ring_request(raw->server, 1, "request", 7, &type, &payload, &n_bytes,
				 roll_timeout(dice));

	return took(tally, r, payload, n_bytes);
}

static int call_send(struct raw *raw, struct tally *tally, struct dice *dice)
{
	static const uint8_t bytes[100000];
	size_t n_bytes = roll(dice, roll(dice, 8) ? 300 : sizeof(bytes));
	int r = sbx_ring_send(raw->server, bytes, n_bytes, (unsigned)roll(dice, 2),
			      roll_timeout(dice));

	tally->n_sent += r == 0;
	return r;
}

static int call_reserve(struct raw *raw, struct tally *tally, struct dice *dice)
{
	size_t n_bytes = roll(dice, 3000);
	void *at;
	int r = sbx_ring_reserve(raw->server, n_bytes, &at);

	if (r != 0)
		return r;
	memset(at, 7, n_bytes);
	tally->n_sent++;
	return sbx_ring_commit(raw->server, roll(dice, n_bytes + 1), (unsigned)roll(dice, 2));
}

static int call_others(struct raw *raw, struct tally *tally, struct dice *dice)
{
	struct sbx_ring_statistics statistics = { .size = sizeof(statistics) };
	unsigned events = (unsigned)roll(dice, 4);

	sbx_ring_get_statistics(raw->server, &statistics);
	expect(statistics.now_bytes <= raw->capacity);
	(void)sbx_ring_is_connected(raw->server);
	expect(sbx_ring_arm(raw->server, events) >= 0);
	expect(sbx_ring_wait(raw->server, events, roll_timeout(dice)) >= 0);
	return sbx_ring_flush(raw->server);
}

static int (*const calls[])(struct raw *raw, struct tally *tally, struct dice *dice) = {
	call_receive, call_receive, call_peek,	  call_receive_frame, call_request,
	call_send,    call_send,    call_reserve, call_others,
};

static bool is_documented(int r)
{
	static const int results[] = { 0,	  SBX_RING_FULL, SBX_RING_EMPTY, SBX_RING_CLOSED,
				       -EMSGSIZE, -EPIPE,	 -ECONNRESET,	 -EPROTO,
				       -ENOBUFS };

	for (size_t i = 0; i < N_ELEMENTS(results); i++)
		if (results[i] == r)
			return true;
	printf("# result %d\n", r);
	return false;
}

static void use_channel(struct raw *raw, struct tally *tally, struct dice *dice)
{
	for (int i = 0; i < CALLS_MAX; i++) {
		uint64_t before = now_nsec();
		int r = calls[roll(dice, N_ELEMENTS(calls))](raw, tally, dice);
		uint64_t nsec = now_nsec() - before;

		tally->n_calls++;
		if (nsec > tally->longest_nsec)
			tally->longest_nsec = nsec;
		expect(is_documented(r));
		if (r == -EPROTO)
			break;
		tally->n_closed += r == SBX_RING_CLOSED;
	}
	if (sbx_ring_violation(raw->server)) {
		tally->n_violated++;
		count_reason(tally, sbx_ring_violation(raw->server));
		expect(!sbx_ring_is_connected(raw->server));
	}
}

static bool offer_channel(int control, struct raw *raw)
{
	const uint64_t geometry[4] = { raw->capacity, raw->nonce, raw->record_max, raw->is_call };

	return fd_send(control, geometry, sizeof(geometry), raw->fds, N_ELEMENTS(raw->fds)) == 0;
}

static void run_one_channel(int control, struct tally *tally, struct dice *dice)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	int mode = roll(dice, 2) ? SBX_RING_CALL : SBX_RING_STREAM;

	expect(raw_open(&raw, mode, (size_t)2 * SBX_RING_CAPACITY_MIN << roll(dice, 2)));
	expect(offer_channel(control, &raw));
	use_channel(&raw, tally, dice);
	tally->n_channels++;
}

static void print_tally(const struct tally *tally)
{
	printf("# %llu channels, %llu calls, %llu messages of %llu bytes received, %llu sent, %llu "
	       "channels violated, longest call %llu us (sum %llu)\n",
	       (unsigned long long)tally->n_channels, (unsigned long long)tally->n_calls,
	       (unsigned long long)tally->n_messages, (unsigned long long)tally->n_bytes,
	       (unsigned long long)tally->n_sent, (unsigned long long)tally->n_violated,
	       (unsigned long long)tally->longest_nsec / 1000, (unsigned long long)tally->sum);
	for (size_t i = 0; i < N_ELEMENTS(tally->reasons) && tally->reasons[i].name; i++)
		printf("#   %s %llu\n", tally->reasons[i].name,
		       (unsigned long long)tally->reasons[i].n);
}

static void memory_around_the_mappings_cannot_be_read(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	size_t n = 0;

	expect(raw_open(&raw, SBX_RING_STREAM, (size_t)2 * SBX_RING_CAPACITY_MIN));
	for (size_t i = 0; i < N_GUARDED; i++) {
		unsigned char is_there[1];
		int status = 0;

		if (!guarded[i].at)
			continue;
		n++;
		expect_eq(mincore(guarded[i].at, 4096, is_there), 0);

		pid_t pid = fork();

		if (pid == 0) {
			signal(SIGSEGV, SIG_DFL);
			(void)*(volatile uint8_t *)(guarded[i].at + guarded[i].n_bytes);
			_exit(0);
		}
		expect_eq(waitpid(pid, &status, 0), pid);
		expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	}
	expect_eq(n, 2);
}

static void a_process_that_writes_at_random_does_no_harm(void)
{
	struct dice dice = { 1 };
	struct tally tally = { .n_channels = 0 };
	uint64_t end = now_nsec() + SLOW_NSEC;
	int control[2], status = 0;

	expect_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)close(control[0]);
		be_hostile(control[1], 2);
	}
	(void)close(control[1]);
	while (test_is_slow() ? now_nsec() < end : tally.n_channels < N_CHANNELS)
		run_one_channel(control[0], &tally, &dice);
	(void)close(control[0]);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	print_tally(&tally);
	expect(tally.n_messages > 0 && tally.n_sent > 0 && tally.n_violated > tally.n_channels / 4);
}

static const struct test tests[] = {
	TEST(memory_around_the_mappings_cannot_be_read),
	TEST(a_process_that_writes_at_random_does_no_harm),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
