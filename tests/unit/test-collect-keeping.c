/* SPDX-License-Identifier: MIT */

/*
 * Retention of closed segments by a service: archiving waits here until the test lets it continue
 */

#include "collect-rig.h"

#include <semaphore.h>
#include <sys/mman.h>

#define ARCHIVE "00000000000000000000.tar.zst"

void __real_retention_work(struct retention *retention);
void __wrap_retention_work(struct retention *retention);

static struct {
	sem_t may_go_on;
	atomic_uint n_begun;
} worker;

void __wrap_retention_work(struct retention *retention)
{
	atomic_fetch_add(&worker.n_begun, 1);
	while (sem_wait(&worker.may_go_on) < 0)
		;
	__real_retention_work(retention);
}

static unsigned count_segments(const struct rig *rig)
{
	DIR *dir = opendir(rig->place.log);
	const struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		abort();
	while ((entry = readdir(dir)))
		n += strlen(entry->d_name) == strlen(SEGMENT) && strstr(entry->d_name, ".db");
	(void)closedir(dir);
	return n;
}

/* Every segment with at least one record counts as large. */
static void keep(struct rig *rig, uint64_t store_usec, uint64_t max_bytes)
{
	expect_eq(sem_init(&worker.may_go_on, 0, 0), 0);
	atomic_store(&worker.n_begun, 0);
	rig->options.keeping = (struct collector_keeping){
		.rotation = ROTATION_NONE,
		.segment_bytes = 1,
		.policy = { .archive_usec = RETAIN_DAYS * RETAIN_USEC_PER_DAY,
			    .store_usec = store_usec,
			    .max_bytes = max_bytes },
	};
}

/* A client whose record 1 is in a closed segment. */
static int client_of_a_closed_segment(struct rig *rig)
{
	int fd;

	rig_start(rig);
	fd = client(rig);
	expect(say(fd, SYNC));
	expect(hears(rig, fd, "{\"seq\":1}"));
	rig->collector->keeping.rotated_usec = 0;
	for (unsigned n = count_segments(rig); count_segments(rig) == n;)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	return fd;
}

static bool has_archive(const struct rig *rig)
{
	return faccessat(rig->options.directory, ARCHIVE, F_OK, 0) == 0;
}

static void turn_until_begun(struct rig *rig, unsigned n)
{
	for (int i = 0; atomic_load(&worker.n_begun) < n && i < 1000000; i++)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	expect_eq(atomic_load(&worker.n_begun), n);
}

static void turn_until_done(struct rig *rig)
{
	for (int i = 0; rig->collector->keeping.retention && i < 1000000; i++)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	expect(!rig->collector->keeping.retention);
}

static void a_large_segment_is_closed_and_writing_goes_on(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	keep(&rig, RETAIN_STORE_DAYS * RETAIN_USEC_PER_DAY, RETAIN_MAX_BYTES);
	fd = client_of_a_closed_segment(&rig);
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"seq\":2}"));
	expect_eq(collector_finish(rig.collector, NULL), 0);
	expect_eq(audit_log_checkpoint_size(rig.audit), audit_log_size(rig.audit));
}

/* With a maximum of one byte, the first tick closes the segment that setup has made. */
static void clients_are_served_while_a_segment_is_packed_and_deleted(void)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int fd = -EBADF;

	rig_init(&rig);
	keep(&rig, 0, 1);
	rig_start(&rig);
	turn_until_begun(&rig, 1);
	fd = client(&rig);
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"seq\":1}"));
	expect(!has_archive(&rig));
	expect_eq(count_segments(&rig), 2);
	expect_eq(sem_post(&worker.may_go_on), 0);
	turn_until_begun(&rig, 2);
	expect(has_archive(&rig));
	expect_eq(count_segments(&rig), 1);
	expect(say(fd, SYNC));
	expect(hears(&rig, fd, "{\"seq\":2}"));
	expect_eq(sem_post(&worker.may_go_on), 0);
	turn_until_done(&rig);
	expect(!has_archive(&rig));
	/* The record about the deletion, and two about how full the directory is. */
	expect_eq(audit_log_size(rig.audit), 6);
}

/* Waits long enough for a service that does not wait for the archive to end. */
static void *let_it_go_on_soon(void *userdata)
{
	(void)poll(NULL, 0, 100);
	expect_eq(sem_post(&worker.may_go_on), 0);
	return NULL;
}

static void the_end_waits_for_the_segment_that_is_being_packed(void)
{
	_cleanup_rig_ struct rig rig;
	pthread_t helper;

	rig_init(&rig);
	keep(&rig, 0, 1);
	rig_start(&rig);
	turn_until_begun(&rig, 1);
	expect_eq(collector_finish(rig.collector, NULL), 0);
	expect_eq(pthread_create(&helper, NULL, let_it_go_on_soon, NULL), 0);
	rig_stop(&rig);
	expect(has_archive(&rig));
	(void)pthread_join(helper, NULL);
}

/* The new policy chooses the next segments, and cancels the deletion of the one that was ready. */
static void a_new_policy_ends_the_retention_of_the_old_one(void)
{
	_cleanup_rig_ struct rig rig;
	struct collector_keeping keeping;

	rig_init(&rig);
	keep(&rig, 0, 1);
	rig_start(&rig);
	turn_until_begun(&rig, 1);
	expect_eq(sem_post(&worker.may_go_on), 0);
	turn_until_begun(&rig, 2);
	expect(has_archive(&rig));
	keeping = rig.options.keeping;
	keeping.policy.max_bytes = RETAIN_MAX_BYTES;
	collector_set_keeping(rig.collector, &keeping);
	expect_eq(sem_post(&worker.may_go_on), 0);
	turn_until_done(&rig);
	expect(has_archive(&rig));
	expect_eq(audit_log_size(rig.audit), 1);
}

static void retain_once(struct rig *rig)
{
	rig->collector->keeping.rotated_usec = rig->collector->keeping.retained_usec = 0;
	while (rig->collector->keeping.retained_usec == 0)
		(void)ready_turn(rig->ready, DEADLINE_MSEC);
	expect(!rig->collector->keeping.retention);
}

/* The believed time of a log that has never been retained is that of its oldest file. The message
 * has the date of the clock, so that there is one a day. */
static void a_clock_that_has_jumped_is_reported_once(void)
{
	_cleanup_rig_ struct rig rig;
	struct timespec old[2] = { { .tv_sec = 86400 }, { .tv_sec = 86400 } };
	char text[4096];
	const char *first;
	ssize_t n;

	rig_init(&rig);
	close_fd(&rig.log.stderr_fd);
	rig.log.stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
	rig.log.most = LOG_LEVEL_WARNING;
	keep(&rig, RETAIN_STORE_DAYS * RETAIN_USEC_PER_DAY, RETAIN_MAX_BYTES);
	rig.options.keeping.segment_bytes = UINT64_MAX;
	expect_eq(audit_log_rotate(rig.audit, NULL), 1);
	expect_eq(utimensat(rig.options.directory, SEGMENT, old, 0), 0);
	(void)utimensat(rig.options.directory, SEGMENT "-wal", old, 0);
	rig_start(&rig);
	retain_once(&rig);
	retain_once(&rig);
	expect(strstr(rig.collector->troubles[TROUBLE_CLOCK], "the clock has jumped") != NULL);
	expect_eq(count_segments(&rig), 2);
	n = pread(rig.log.stderr_fd, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	first = strstr(text, "the clock has jumped");
	expect(first && !strstr(first + 1, "the clock has jumped"));
}

static const struct test tests[] = {
	TEST(a_large_segment_is_closed_and_writing_goes_on),
	TEST(clients_are_served_while_a_segment_is_packed_and_deleted),
	TEST(the_end_waits_for_the_segment_that_is_being_packed),
	TEST(a_new_policy_ends_the_retention_of_the_old_one),
	TEST(a_clock_that_has_jumped_is_reported_once),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
