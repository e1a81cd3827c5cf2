/* SPDX-License-Identifier: MIT */

/*
 * A client that changes its memory between two readings of the server
 *
 * The library is built with RING_HOOKS: it calls ring_shared_read() before each reading of the
 * client's memory, so that the change comes at the worst moment every time. A reader that checks a
 * length and then reads it again shows that the change would succeed.
 */
#include "test.h"

#include <stdint.h>
#include <time.h>

#include "ring-fetches.h"
#include "ring-raw.h"
#include "ring/memory.h"

#define TOTAL_BYTES (2 * FETCHES_CAPACITY)
#define WHOLE (SBX_RING_RECORD_BEGIN | SBX_RING_RECORD_END)
#define HANG_SECONDS 170
#define MOMENT_USEC 2000

/* What happens before each reading. */
struct attack {
	void (*before)(struct attack *attack, const volatile void *at, size_t n_bytes);
	struct raw *raw;
	struct fetches *fetches;
	uint64_t n_reads;	/* of all words, in this call */
	uint64_t n_late;	/* readings after the time-out of the call */
	uint64_t deadline_nsec; /* 0: none */
	uint64_t n_changes;
	uint64_t n_quiet; /* readings of the word before the first change */
	size_t offset;	  /* where to change something, and to what */
	uint32_t value;
};

static struct attack *attack_now;

static uint64_t now_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void ring_shared_read(const volatile void *at, size_t n_bytes)
{
	struct attack *attack = attack_now;

	if (!attack)
		return;
	attack->n_reads++;
	if (attack->deadline_nsec && now_nsec() > attack->deadline_nsec)
		attack->n_late++;
	attack_now = NULL; /* the attack itself reads too */
	attack->before(attack, at, n_bytes);
	attack_now = attack;
}

/* ---- a length that changes ---- */

/* The payload is about to be copied: the length was checked. */
static void change_the_word(struct attack *attack, const volatile void *at, size_t n_bytes)
{
	if (attack->n_reads < 2)
		return;
	raw_put_u32(attack->raw, attack->offset, attack->value);
	attack->n_changes++;
}

/* As a reader does that takes the header for its own memory. */
static uint32_t read_length_twice(const uint8_t *header, uint32_t max)
{
	if (shared_load_u32(header) > max)
		return 0;
	return shared_load_u32(header);
}

static void a_length_that_is_read_twice_can_be_changed_in_between(void)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	struct attack attack = {
		.before = change_the_word,
		.raw = &raw,
		.offset = SBX_RING_DATA_OFFSET,
		.value = UINT32_MAX,
	};

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	raw_record(&raw, 8, WHOLE);
	attack_now = &attack;
	expect_eq(read_length_twice(raw.own + SBX_RING_DATA_OFFSET, 100), UINT32_MAX);
	attack_now = NULL;
}

static void receive_while_changing(int mode, size_t offset)
{
	_cleanup_raw_ struct raw raw = RAW_INIT;
	struct attack attack = {
		.before = change_the_word,
		.raw = &raw,
		.offset = SBX_RING_DATA_OFFSET + offset,
		.value = UINT32_MAX,
	};
	const void *bytes = NULL;
	size_t n_bytes = 0;

	expect(raw_open(&raw, mode, TOTAL_BYTES));
	memset(raw_data(&raw, 0), 'a', 64);
	if (mode == SBX_RING_CALL)
		raw_cell(&raw, 24, WHOLE);
	else
		raw_record(&raw, 24, WHOLE);
	raw_publish(&raw);
	attack_now = &attack;
	(void)sbx_ring_receive(raw.server, &bytes, &n_bytes, 0);
	attack_now = NULL;
	expect(attack.n_changes > 0);
	expect(n_bytes == 0 ||
	       (n_bytes == 24 && memcmp(bytes, "aaaaaaaaaaaaaaaaaaaaaaaa", 24) == 0));
}

static void a_length_or_kind_that_changes_after_its_check_is_not_seen(void)
{
	receive_while_changing(SBX_RING_STREAM, 0);
	receive_while_changing(SBX_RING_STREAM, 4);
	receive_while_changing(SBX_RING_CALL, SBX_RING_CELL_LENGTH_OFFSET);
	receive_while_changing(SBX_RING_CALL, SBX_RING_CELL_KIND_OFFSET);
}

/* ---- bytes read twice ---- */

static void note_fetch(struct attack *attack, const volatile void *at, size_t n_bytes)
{
	fetches_note(attack->fetches, at, n_bytes);
}

/* Finds where the library has mapped the client's file: the first reading is of a known word. */
static void learn_mapping(struct attack *attack, const volatile void *at, size_t n_bytes)
{
	if (!attack->fetches->file)
		attack->fetches->file = (const uint8_t *)at - attack->offset;
}

static void prepare_detector(struct attack *attack, struct fetches *fetches, struct raw *raw,
			     int mode)
{
	const void *bytes;
	size_t n_bytes;

	*attack = (struct attack){ .before = learn_mapping, .raw = raw, .fetches = fetches };
	fetches_init(fetches, NULL, FETCHES_CAPACITY, mode == SBX_RING_CALL);
	attack->offset = mode == SBX_RING_CALL ? SBX_RING_DATA_OFFSET : SBX_RING_TAIL_OFFSET;
	attack_now = attack;
	expect_eq(sbx_ring_receive(raw->server, &bytes, &n_bytes, 0), SBX_RING_EMPTY);
	attack->before = note_fetch;
}

static void the_detector_finds_a_byte_that_is_read_twice(void)
{
	static struct fetches fetches;
	_cleanup_raw_ struct raw raw = RAW_INIT;
	struct attack attack;

	expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
	prepare_detector(&attack, &fetches, &raw, SBX_RING_STREAM);
	fetches.file = raw.own;
	fetches_begin(&fetches);
	(void)read_length_twice(raw.own + SBX_RING_DATA_OFFSET, 100);
	attack_now = NULL;
	expect_eq(fetches.n_twice, 4);
}

static void write_message(struct raw *raw, int mode, uint32_t n_bytes)
{
	if (mode == SBX_RING_CALL)
		raw_cell(raw, n_bytes, WHOLE);
	else
		raw_record(raw, n_bytes, WHOLE);
	raw_publish(raw);
}

static void expect_each_byte_once(int mode, bool by_peeking)
{
	static struct fetches fetches;
	_cleanup_raw_ struct raw raw = RAW_INIT;
	struct attack attack;
	uint64_t n_done = 0;

	expect(raw_open(&raw, mode, TOTAL_BYTES));
	prepare_detector(&attack, &fetches, &raw, mode);
	for (uint32_t n = 0; n <= raw.record_max; n += 1 + n / 7) {
		const void *bytes;
		size_t n_bytes = 0;

		write_message(&raw, mode, n);
		fetches_begin(&fetches);
		if (by_peeking)
			expect_eq(sbx_ring_peek(raw.server, &bytes, &n_bytes), 0);
		else
			expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, SBX_RING_FOREVER),
				  0);
		sbx_ring_release(raw.server);
		expect_eq(n_bytes, n);
		n_done++;
	}
	attack_now = NULL;
	expect(n_done > 20 && fetches.n_reads > n_done);
	expect_eq(fetches.n_twice, 0);
}

static void no_byte_of_a_record_is_read_twice_in_a_call(void)
{
	expect_each_byte_once(SBX_RING_STREAM, false);
	expect_each_byte_once(SBX_RING_STREAM, true);
	expect_each_byte_once(SBX_RING_CALL, false);
	expect_each_byte_once(SBX_RING_CALL, true);
}

/* ---- calls without an end ---- */

/* Readings after the time-out, or records in a call that does not wait: an attack that has kept the
 * server for so many stops. */
#define KEPT_MAX 100000

/* Each second reading of the word finds something else: something to do when the server asks
 * whether to sleep, and nothing when it looks for it. */
static void change_each_time(struct attack *attack, const volatile void *at, size_t n_bytes)
{
	size_t offset = (size_t)((const volatile uint8_t *)at - attack->fetches->file);

	if (offset != attack->offset || attack->n_late > KEPT_MAX)
		return;
	if (attack->n_quiet > 0) {
		attack->n_quiet--;
		return;
	}
	raw_put(attack->raw, offset, attack->n_changes++ % 2 ? 0 : attack->value);
}

static void expect_in_time(struct raw *raw, struct attack *attack, bool is_send)
{
	static const char message[4000];
	const void *bytes;
	size_t n_bytes;

	attack->n_late = 0;
	attack->deadline_nsec = now_nsec() + (uint64_t)MOMENT_USEC * 1000;
	attack_now = attack;
	if (is_send)
		(void)sbx_ring_send(raw->server, message, sizeof(message), 0, MOMENT_USEC);
	else
		(void)sbx_ring_receive(raw->server, &bytes, &n_bytes, MOMENT_USEC);
	attack_now = NULL;
	attack->deadline_nsec = 0;
	expect(attack->n_late < KEPT_MAX);
	expect(attack->n_changes > 0);
}

static void a_tail_that_comes_and_goes_does_not_keep_a_call(void)
{
	static struct fetches fetches;
	/* A call looks several times before it asks whether to sleep. */
	for (uint64_t n_quiet = 0; n_quiet < 200; n_quiet++) {
		_cleanup_raw_ struct raw raw = RAW_INIT;
		struct attack attack;

		expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
		prepare_detector(&attack, &fetches, &raw, SBX_RING_STREAM);
		attack.before = change_each_time;
		attack.offset = SBX_RING_TAIL_OFFSET;
		attack.value = 16;
		attack.n_quiet = n_quiet;
		attack.n_changes = 1; /* the first change is to 0 again */
		expect_in_time(&raw, &attack, false);
	}
}

static void a_state_that_comes_and_goes_does_not_keep_a_call(void)
{
	static struct fetches fetches;

	for (int is_send = 0; is_send < 2; is_send++)
		for (uint64_t phase = 0; phase < 2; phase++) {
			_cleanup_raw_ struct raw raw = RAW_INIT;
			struct attack attack;
			void *room;

			expect(raw_open(&raw, SBX_RING_STREAM, TOTAL_BYTES));
			prepare_detector(&attack, &fetches, &raw, SBX_RING_STREAM);
			attack_now = NULL;
			while (is_send && sbx_ring_reserve(raw.server, 4000, &room) == 0)
				expect_eq(sbx_ring_commit(raw.server, 4000, 0), 0);
			attack.before = change_each_time;
			attack.offset = SBX_RING_STATE_OFFSET;
			attack.value = SBX_RING_STATE_CLOSED;
			attack.n_changes = phase;
			expect_in_time(&raw, &attack, is_send);
		}
}

/* Whenever the server looks for a record there is a part, and then its abort. */
static void add_aborted_part(struct attack *attack, const volatile void *at, size_t n_bytes)
{
	struct raw *raw = attack->raw;
	size_t offset = (size_t)((const volatile uint8_t *)at - attack->fetches->file);
	bool is_look = attack->fetches->is_call
			       ? offset >= SBX_RING_DATA_OFFSET && n_bytes == 8 &&
					 (offset - SBX_RING_DATA_OFFSET) % raw->capacity ==
						 raw->tail % raw->capacity
			       : offset == SBX_RING_TAIL_OFFSET;

	if (!is_look || attack->n_changes >= KEPT_MAX / 100)
		return;
	attack->n_changes++;
	if (attack->fetches->is_call) {
		raw_cell(raw, raw->record_max, SBX_RING_RECORD_BEGIN);
		raw_cell(raw, 0, SBX_RING_RECORD_ABORT);
	} else {
		raw_record(raw, raw->record_max, SBX_RING_RECORD_BEGIN);
		raw_record(raw, 0, SBX_RING_RECORD_ABORT);
		raw_publish(raw);
	}
}

static void parts_that_are_aborted_for_ever_do_not_keep_a_call(void)
{
	static struct fetches fetches;
	static const int modes[] = { SBX_RING_STREAM, SBX_RING_CALL };

	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		_cleanup_raw_ struct raw raw = RAW_INIT;
		struct attack attack;
		const void *bytes;
		size_t n_bytes;

		expect(raw_open(&raw, modes[i], TOTAL_BYTES));
		prepare_detector(&attack, &fetches, &raw, modes[i]);
		attack.before = add_aborted_part;
		expect_eq(sbx_ring_receive(raw.server, &bytes, &n_bytes, 0), SBX_RING_EMPTY);
		attack_now = NULL;
		expect(attack.n_changes > 0 && attack.n_changes < 100);
	}
}

static const struct test tests[] = {
	TEST(a_length_that_is_read_twice_can_be_changed_in_between),
	TEST(a_length_or_kind_that_changes_after_its_check_is_not_seen),
	TEST(the_detector_finds_a_byte_that_is_read_twice),
	TEST(no_byte_of_a_record_is_read_twice_in_a_call),
	TEST(a_tail_that_comes_and_goes_does_not_keep_a_call),
	TEST(a_state_that_comes_and_goes_does_not_keep_a_call),
	TEST(parts_that_are_aborted_for_ever_do_not_keep_a_call),
	TEST_END,
};

int main(void)
{
	(void)alarm(HANG_SECONDS);
	return test_run(tests);
}
