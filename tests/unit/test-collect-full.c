/* SPDX-License-Identifier: MIT */

#include "collect-rig.h"
#include "base/moment.h"

/* ---- a log that cannot be written ---- */

static void clients_wait_while_the_log_cannot_be_written(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int a = -EBADF, b = -EBADF;
	unsigned n = 1;
	int late;

	rig_init(&rig);
	rig_start(&rig);
	a = client(&rig);
	b = client(&rig);
	disk.failure = -ENOSPC;
	expect(say(a, SYNC));
	turn_all(&rig);
	expect(rig.collector->group.is_stuck);
	expect_str(rig.collector->group.problem,
		   "cannot write the segment: No space left on device");
	/* No client is read, so its socket fills up. */
	while (say(b, ASYNC))
		n++;
	late = client(&rig);
	expect(say(late, ASYNC));
	(void)close(late);
	n++;
	turn_all(&rig);
	expect_eq(rig.collector->group.queue.n, 1);
	expect(!is_readable(a));
	disk.failure = 0;
	expect_str(hear(&rig, a), "{\"seq\":1}");
	turn_until_size(&rig, n + 1);
	expect(!rig.collector->group.is_stuck);
	expect_eq(rig.collector->counts.n_lost, 0);
	expect_eq(found(&rig, "records_lost").n, 0);
}

static void what_waits_is_read_at_the_end_if_the_log_can_be_written_again(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	uint64_t size;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	disk.failure = -ENOSPC;
	expect(say(fd, SYNC));
	turn_all(&rig);
	expect(say(fd, ASYNC) && say(fd, ASYNC));
	turn_all(&rig);
	disk.failure = 0;
	size = audit_log_size(rig.audit);
	expect_eq(collector_finish(rig.collector, NULL), 0);
	expect_eq(audit_log_size(rig.audit), size + 3);
}

static void a_commit_that_fails_loses_no_record(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	/* On a slow host the usual group time would end before all records are read. */
	rig.options.group_usec = NEVER_USEC;
	rig_start(&rig);
	fd = client(&rig);
	for (int i = 0; i < 20; i++)
		expect(say(fd, ASYNC));
	expect(say(fd, SYNC));
	disk.failure = -EIO;
	turn_all(&rig);
	expect_eq(audit_log_size(rig.audit), 1);
	expect_eq(rig.collector->group.queue.n, 21);
	disk.failure = 0;
	expect_str(hear(&rig, fd), "{\"seq\":21}");
	expect_eq(found(&rig, "syscall").n, 20);
}

static void a_lock_that_stays_does_not_stop_the_loop(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_store_ struct store *other = NULL;
	_cleanup_close_ int fd = -EBADF;
	uint64_t began;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect_eq(store_open(rig.options.directory, SEGMENT, &other, NULL), 0);
	expect_eq(store_begin(other, NULL), 0);
	expect(say(fd, SYNC));
	began = moment_now(CLOCK_MONOTONIC);
	while (!rig.collector->group.is_stuck)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	/* Without audit_log_set_patience() the log would have waited that long for the lock. */
	expect(moment_now(CLOCK_MONOTONIC) < began + STORE_PATIENCE_MSEC * UINT64_C(1000));
	expect(strstr(rig.collector->group.problem, "database is locked") != NULL);
	store_rollback(other);
	other = store_free(other);
	expect_str(hear(&rig, fd), "{\"seq\":1}");
}

static void when_shedding_the_log_says_how_many_records_were_lost(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	struct search lost;
	size_t n_kept;
	char count[32];

	rig_init(&rig);
	rig.options.is_shedding = true;
	rig.options.queue_bytes_max = 4096;
	rig_start(&rig);
	fd = client(&rig);
	disk.failure = -ENOSPC;
	for (int i = 0; i < 100; i++) {
		expect(say(fd, ASYNC));
		turn_all(&rig);
	}
	/* The commit of the group may already have failed. */
	while (!rig.collector->group.is_stuck)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	for (int i = 0; i < 100; i++) {
		expect(say(fd, ASYNC));
		turn_all(&rig);
	}
	n_kept = rig.collector->group.queue.n;
	expect(n_kept > 5 && n_kept < 100);
	expect_eq(rig.collector->counts.n_lost, 200 - n_kept);
	disk.failure = 0;
	turn_until_size(&rig, 1 + n_kept + 1);
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"seq\":"));
	(void)snprintf(count, sizeof(count), "\"count\":%zu,", 200 - n_kept);
	lost = found(&rig, "records_lost");
	expect_eq(lost.n, 1);
	expect(strstr(lost.body, count) != NULL);
}

static void when_shedding_a_sync_event_without_room_is_refused(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF, patient = -EBADF;

	rig_init(&rig);
	rig.options.is_shedding = true;
	rig.options.queue_bytes_max = 1024;
	rig_start(&rig);
	fd = client(&rig);
	patient = client(&rig);
	disk.failure = -ENOSPC;
	expect(say(patient, SYNC));
	turn_all(&rig);
	/* This client waits for an answer, and its next record is not read before that. */
	expect(say(patient, ASYNC));
	for (int i = 0; i < 50; i++)
		expect(say(fd, ASYNC));
	/* Longer than the other records, so that there is no room for it either. */
	expect(say(fd,
		   "{" LOG_TIME ",\"x\":{\"event\":\"syscall\"},\"event\":\"state_transition\"}"));
	turn_all(&rig);
	expect(rig.collector->counts.n_lost > 1);
	disk.failure = 0;
	expect_str(hear(&rig, patient), "{\"seq\":1}");
	expect_str(hear(&rig, fd), "{\"refused\":\"the log cannot be written, and the queue is "
				   "full\"}");
	expect_eq(found(&rig, "records_lost").n, 1);
}

static void a_packet_that_turns_out_to_be_no_record_is_refused_then(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig.options.is_shedding = true;
	rig_start(&rig);
	fd = client(&rig);
	disk.failure = -ENOSPC;
	expect(say(fd, ASYNC));
	while (!rig.collector->group.is_stuck)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(say(fd, "no"));
	expect(say(fd, ASYNC));
	turn_all(&rig);
	disk.failure = 0;
	expect(hears(&rig, fd, "{\"refused\":"));
	expect_eq(found(&rig, "syscall").n, 2);
}

/* ---- the end ---- */

static void records_sent_before_the_end_are_taken_and_signed(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int a = -EBADF, b = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	a = client(&rig);
	b = client(&rig);
	for (int i = 0; i < 150; i++)
		expect(say(i % 2 ? a : b, ASYNC));
	expect(say(a, SYNC));
	expect_eq(collector_finish(rig.collector, NULL), 0);
	expect_eq(audit_log_size(rig.audit), 152);
	expect_eq(audit_log_checkpoint_size(rig.audit), 152);
	/* The client that connected first is read first: its 75 records, then this event. */
	expect_str(hear(&rig, a), "{\"seq\":76}");
}

static void an_end_without_room_says_how_much_is_lost(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	struct sbx_error err = { .code = 0 };

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, ASYNC));
	expect(say(fd, ASYNC));
	disk.failure = -ENOSPC;
	expect_eq(collector_finish(rig.collector, &err), -ENOSPC);
	expect_str(err.what, "2 accepted records are not in the log");
	expect_str(err.fix, "free some space on the file system, and start the service again");
	disk.failure = -EIO;
	expect_eq(collector_finish(rig.collector, &err), -EIO);
	expect_str(err.fix, "check the file system, and start the service again");
}

static const struct test tests[] = {
	TEST(clients_wait_while_the_log_cannot_be_written),
	TEST(what_waits_is_read_at_the_end_if_the_log_can_be_written_again),
	TEST(a_commit_that_fails_loses_no_record),
	TEST(a_lock_that_stays_does_not_stop_the_loop),
	TEST(when_shedding_the_log_says_how_many_records_were_lost),
	TEST(when_shedding_a_sync_event_without_room_is_refused),
	TEST(a_packet_that_turns_out_to_be_no_record_is_refused_then),
	TEST(records_sent_before_the_end_are_taken_and_signed),
	TEST(an_end_without_room_says_how_much_is_lost),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
