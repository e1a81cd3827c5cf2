/* SPDX-License-Identifier: MIT */

#include "collect-rig.h"
#include "record-spool.h"
#include "base/moment.h"

/* By so much the clock of the host is slow. */
static time_t set_back_sec;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_REALTIME)
		ret->tv_sec -= set_back_sec;
	return r;
}

/* ---- groups and answers ---- */

static void a_sync_event_is_answered_behind_its_commit(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig.options.group_usec = NEVER_USEC;
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, ASYNC));
	expect(say(fd, SYNC));
	while (disk.n_commits == 0) {
		expect(!is_readable(fd));
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	}
	expect_str(hear(&rig, fd), "{\"seq\":2}");
	expect_eq(disk.n_commits, 1);
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":3}");
	/* Exactly one answer for each event. */
	expect(!is_readable(fd));
	expect_eq(found(&rig, "state_transition").n, 2);
}

static void sync_events_of_64_clients_share_a_commit(void)
{
	_cleanup_rig_ struct rig rig;
	int fds[64];

	rig_init(&rig);
	rig_start(&rig);
	for (int i = 0; i < 64; i++) {
		fds[i] = client(&rig);
		expect(say(fds[i], SYNC));
	}
	for (int i = 0; i < 64; i++)
		expect(hears(&rig, fds[i], "{\"seq\":"));
	expect(disk.n_commits <= 2);
	for (int i = 0; i < 64; i++)
		(void)close(fds[i]);
	expect_eq(found(&rig, "state_transition").n, 64);
}

static void records_are_committed_when_there_are_enough(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig.options.group_records = 10;
	rig.options.group_usec = NEVER_USEC;
	rig_start(&rig);
	fd = client(&rig);
	for (int i = 0; i < 25; i++)
		expect(say(fd, ASYNC));
	turn_all(&rig);
	expect_eq(disk.n_commits, 2);
	expect_eq(audit_log_size(rig.audit), 26);
}

static void records_are_committed_when_one_has_waited_long_enough(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	uint64_t began;

	rig_init(&rig);
	rig.options.group_usec = 50000;
	rig_start(&rig);
	fd = client(&rig);
	began = moment_now(CLOCK_MONOTONIC);
	expect(say(fd, ASYNC));
	expect(say(fd, ASYNC));
	while (disk.n_commits == 0)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(moment_now(CLOCK_MONOTONIC) - began >= 50000);
	expect(!is_readable(fd));
	expect_eq(disk.n_commits, 1);
	expect_eq(found(&rig, "syscall").n, 2);
}

static void a_commit_with_sync_events_is_signed_once_a_second(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	uint64_t signed_usec;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	/* The log's first checkpoint was made just now. */
	rig.collector->group.signed_usec -= USEC_PER_SEC;
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":1}");
	expect_eq(audit_log_checkpoint_size(rig.audit), 2);
	signed_usec = rig.collector->group.signed_usec;
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":2}");
	/* Otherwise the host was so slow that a second has passed. */
	if (moment_now(CLOCK_MONOTONIC) < signed_usec + USEC_PER_SEC)
		expect_eq(audit_log_checkpoint_size(rig.audit), 2);
	rig.collector->group.signed_usec -= USEC_PER_SEC;
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":3}");
	expect_eq(audit_log_checkpoint_size(rig.audit), 4);
}

static void unsigned_records_are_signed_before_they_are_too_old(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, ASYNC));
	turn_until_size(&rig, 2);
	while (disk.n_commits == 0)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(rig.collector->group.unsigned_usec > 0);
	rig.collector->group.unsigned_usec -= 9 * USEC_PER_SEC;
	while (audit_log_checkpoint_size(rig.audit) < 2)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect_eq(rig.collector->group.unsigned_usec, 0);
}

static void a_packet_that_is_no_record_is_refused_and_the_next_is_taken(void)
{
	static const char *const packets[] = {
		" ",
		"x",
		"[]",
		"{}",
		"{\"event\":7}",
		"{\"event\":\"syscall\"",
		"{\"event\":\"syscall\"}{}",
		"{\"event\":\"syscall\",\"event\":\"syscall\"}",
		"{\"event\":\"records_lost\"}",
		"{\"event\":\"log_created\"}",
		"{\"event\":\"syscall\",\"writer\":{\"uid\":0}}",
		"{\"event\":\"policy_decision\"}",
		"{\"event\":\"\xff\"}",
	};
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	for (size_t i = 0; i < N_ELEMENTS(packets); i++) {
		const char *answer;

		expect(say(fd, packets[i]));
		answer = hear(&rig, fd);
		expect(strncmp(answer, "{\"refused\":\"", 12) == 0 && strlen(answer) > 20);
		expect_eq(json_validate(answer, strlen(answer), NULL, NULL), 0);
	}
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":1}");
}

static void a_packet_that_is_too_long_is_refused(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;
	char *packet = zeroed(1, RECORD_BYTES_MAX + 2);
	int size = 2 * RECORD_BYTES_MAX, n;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	n = snprintf(packet, RECORD_BYTES_MAX, "{\"event\":\"state_transition\",\"x\":\"");
	memset(packet + n, 'a', (size_t)(RECORD_BYTES_MAX - n - 2));
	memcpy(packet + RECORD_BYTES_MAX - 2, "\"}", 2);
	expect(say(fd, packet));
	expect_str(hear(&rig, fd), "{\"seq\":1}");
	memcpy(packet + RECORD_BYTES_MAX - 2, "a\"}", 3);
	expect(say(fd, packet));
	expect_str(hear(&rig, fd),
		   "{\"refused\":\"the packet is too long: at most 131072 bytes are accepted\"}");
	free(packet);
}

static void answers_come_in_the_order_of_the_packets(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, ASYNC));
	expect(say(fd, "no"));
	expect(say(fd, SYNC));
	expect(say(fd, "no"));
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"refused\":"));
	expect(hears(&rig, fd, "{\"seq\":2}"));
	expect(hears(&rig, fd, "{\"refused\":"));
	expect(hears(&rig, fd, "{\"seq\":3}"));
	turn_all(&rig);
	expect(!is_readable(fd));
}

static void a_record_names_its_writer(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	fd = client_of(&rig, STRANGER);
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":1}");
	expect(strstr(found(&rig, "state_transition").body,
		      "\"writer\":{\"uid\":12345,\"pid\":4711}") != NULL);
}

/* ---- clients ---- */

static void a_client_that_hangs_up_is_read_to_the_end(void)
{
	_cleanup_rig_ struct rig rig;
	int fd;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	for (int i = 0; i < 50; i++)
		expect(say(fd, i % 10 == 9 ? SYNC : ASYNC));
	(void)close(fd);
	turn_until_size(&rig, 51);
	turn_all(&rig);
	expect_eq(clients_count(rig.collector->clients), 0);
}

static void an_empty_packet_is_the_end(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, SYNC));
	expect(say(fd, ""));
	expect_str(hear(&rig, fd), "{\"seq\":1}");
	expect_str(hear(&rig, fd), "");
	expect_eq(clients_count(rig.collector->clients), 0);
}

static void a_client_that_does_not_read_its_answers_is_not_read(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF, other = -EBADF;
	unsigned n_said = 0, n_heard = 0;

	rig_init(&rig);
	rig_start(&rig);
	fd = client(&rig);
	other = client(&rig);
	/* Until both sockets are full. */
	for (unsigned before = 1; before != n_said;) {
		before = n_said;
		while (say(fd, "no"))
			n_said++;
		turn_all(&rig);
	}
	expect(rig.collector->counts.n_refused < n_said);
	expect(say(other, SYNC));
	expect_str(hear(&rig, other), "{\"seq\":1}");
	for (; n_heard < n_said && hears(&rig, fd, "{\"refused\":"); n_heard++)
		;
	expect_eq(n_heard, n_said);
	expect(say(fd, SYNC));
	expect_str(hear(&rig, fd), "{\"seq\":2}");
}

static void one_user_does_not_take_all_the_places(void)
{
	_cleanup_rig_ struct rig rig;
	int fds[3];

	rig_init(&rig);
	rig.options.n_clients_max = 8;
	rig_start(&rig);
	fds[0] = client_of(&rig, STRANGER);
	fds[1] = client_of(&rig, STRANGER);
	expect_eq(client_of(&rig, STRANGER), -EUSERS);
	fds[2] = client_of(&rig, STRANGER + 1);
	for (int i = 0; i < 3; i++) {
		expect(say(fds[i], SYNC));
		expect(hears(&rig, fds[i], "{\"seq\":"));
		(void)close(fds[i]);
	}
	turn_all(&rig);
	expect_eq(clients_count(rig.collector->clients), 0);
}

/* ---- timers ---- */

static void the_spool_is_taken_in(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_recorder_ struct recorder recorder = RECORDER_INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct json_writer json;

	rig_init(&rig);
	expect_eq(open_spool_in(&recorder, rig.place.path, NULL), 0);
	record_begin(&recorder, &text, &json, "syscall", "test");
	expect_eq(record_send(&recorder, &text, &json, NULL), 0);
	recorder_deinit(&recorder);
	rig.options.spool = open(rig.place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_start(&rig);
	turn_until_size(&rig, 2);
	expect_eq(found(&rig, "syscall").n, 1);
}

static void a_problem_is_in_the_status_until_it_is_over(void)
{
	_cleanup_rig_ struct rig rig;
	struct recorder recorder = RECORDER_INIT;
	char path[96];
	int fd;

	rig_init(&rig);
	expect_eq(open_spool_in(&recorder, rig.place.path, NULL), 0);
	recorder_deinit(&recorder);
	(void)snprintf(path, sizeof(path), "%s/claimed-00112233445566778899aabbccddeeff",
		       rig.place.spool);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	expect(fd >= 0 && write(fd, "x\n", 2) == 2 && fchmod(fd, 0640) == 0);
	rig.options.spool = open(rig.place.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_start(&rig);
	while (rig.collector->troubles[TROUBLE_IMPORT][0] == '\0')
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect_str(rig.collector->troubles[TROUBLE_IMPORT],
		   "cannot import the spool: a file in it is not owned by the calling user alone");
	expect(fchmod(fd, 0600) == 0);
	(void)close(fd);
	rig.collector->imported_usec = 0;
	while (rig.collector->imported_usec == 0)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect_str(rig.collector->troubles[TROUBLE_IMPORT], "");
	expect_eq(found(&rig, "record_refused").n, 1);
}

static void the_key_changes_when_its_time_is_over(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig.options.epoch_usec = 1;
	rig_start(&rig);
	fd = client(&rig);
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"seq\":"));
	rig.collector->epoch_ends_usec = 0;
	while (audit_log_size(rig.audit) == rig.collector->epoch_began_size)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	for (uint64_t size = audit_log_size(rig.audit); audit_log_size(rig.audit) == size;)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	expect(found(&rig, "key_changed").n >= 1);
}

/* An administrator sets the clock back by a year. */
static void the_key_changes_although_the_clock_was_set_back(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	rig.options.epoch_usec = 1;
	rig_start(&rig);
	set_back_sec = 365 * 86400;
	fd = client(&rig);
	expect(say(fd, SYNC));
	/* The first tick of rig_start() has changed the key already. */
	expect_str(hear(&rig, fd), "{\"seq\":2}");
	for (int i = 0; audit_log_size(rig.audit) == 3 && i < 20; i++)
		(void)ready_turn(rig.ready, DEADLINE_MSEC);
	set_back_sec = 0;
	expect(found(&rig, "key_changed").n > 1);
}

static const struct test tests[] = {
	TEST(a_sync_event_is_answered_behind_its_commit),
	TEST(sync_events_of_64_clients_share_a_commit),
	TEST(records_are_committed_when_there_are_enough),
	TEST(records_are_committed_when_one_has_waited_long_enough),
	TEST(a_commit_with_sync_events_is_signed_once_a_second),
	TEST(unsigned_records_are_signed_before_they_are_too_old),
	TEST(a_packet_that_is_no_record_is_refused_and_the_next_is_taken),
	TEST(a_packet_that_is_too_long_is_refused),
	TEST(answers_come_in_the_order_of_the_packets),
	TEST(a_record_names_its_writer),
	TEST(a_client_that_hangs_up_is_read_to_the_end),
	TEST(an_empty_packet_is_the_end),
	TEST(a_client_that_does_not_read_its_answers_is_not_read),
	TEST(one_user_does_not_take_all_the_places),
	TEST(the_spool_is_taken_in),
	TEST(a_problem_is_in_the_status_until_it_is_over),
	TEST(the_key_changes_when_its_time_is_over),
	TEST(the_key_changes_although_the_clock_was_set_back),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
