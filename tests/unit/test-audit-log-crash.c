/* SPDX-License-Identifier: MIT */

/*
 * Kills processes at random times with a timer of their own, so that over many runs each part of
 * the work is interrupted.
 */

#include "audit/log.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "audit-log-place.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "record-spool.h"
#include "record/record.h"

#define N_TRIALS 20
#define N_TRIALS_SLOW 500
#define N_PER_TRIAL 100000u /* range of numbers of one trial */
#define GROUP_MAX 30
#define N_WRITERS 4
#define N_RECORDS 400
#define N_IMPORTERS 3
#define WAIT_USEC 60000000
#define KILL_NSEC_MIN 12000000 /* for latest_kill() */
#define NSEC_PER_SEC 1000000000

static unsigned n_trials(void)
{
	return test_is_slow() ? N_TRIALS_SLOW : N_TRIALS;
}

/* The time to open the log and make ten commits. */
static long time_commits(const struct log_place *place)
{
	struct timespec begin, end;
	struct audit_log *log;

	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	log = log_opened(place);
	for (unsigned i = 0; i < 10; i++) {
		expect_eq(log_add_n(log, "kernel_start", i, NULL), 0);
		expect_eq(audit_log_commit(log, NULL), 0);
	}
	(void)audit_log_free(log);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * NSEC_PER_SEC + end.tv_nsec - begin.tv_nsec;
}

/* The latest time of a kill: after some commits, even if a sanitizer makes them slow. The minimum
 * of three measurements, because the host may be busy. */
static long latest_kill(const struct log_place *place)
{
	long nsec = time_commits(place);

	for (int i = 0; i < 2; i++) {
		long again = time_commits(place);

		nsec = again < nsec ? again : nsec;
	}
	return 4 * nsec < KILL_NSEC_MIN ? KILL_NSEC_MIN : 4 * nsec;
}

/* Arms the timer that kills this process. */
static void arm(unsigned *seed, long latest_nsec)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	long nsec = 1 + rand_r(seed) % latest_nsec;
	struct itimerspec when = { .it_value = { .tv_sec = nsec / NSEC_PER_SEC,
						 .tv_nsec = nsec % NSEC_PER_SEC } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &when, NULL) < 0)
		_exit(2);
}

static bool was_killed(pid_t pid)
{
	int status = 0;

	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

/* ---- a writer ---- */

/* Does not return: opens the log, adds groups, and after each commit writes the next number to
 * @acknowledge. */
static void write_until_killed(const struct log_place *place, unsigned trial, long latest_nsec,
			       int acknowledge)
{
	unsigned seed = trial + 1, n = trial * N_PER_TRIAL;
	struct audit_log *log = NULL;

	arm(&seed, latest_nsec);
	if (audit_log_open(&place->options, &log, NULL) < 0)
		_exit(3);
	while (n < (trial + 1) * N_PER_TRIAL - GROUP_MAX) {
		for (int i = rand_r(&seed) % GROUP_MAX; i >= 0; i--, n++)
			if (log_add_n(log, "syscall", n, NULL) != 0)
				_exit(4);
		if (rand_r(&seed) % 8 == 0 ? audit_log_checkpoint(log, NULL) < 0
					   : audit_log_commit(log, NULL) < 0)
			_exit(5);
		if (write(acknowledge, &n, sizeof(n)) != (ssize_t)sizeof(n))
			_exit(6);
		if (rand_r(&seed) % 16 == 0 && audit_log_change_key(log, NULL) < 0)
			_exit(7);
	}
	for (;;)
		(void)pause();
}

struct numbers {
	unsigned *next; /* for each trial: the next number to be seen */
	unsigned n_trials;
	unsigned n_wrong;
};

static bool read_number(const struct store_row *row, unsigned *ret)
{
	const char *at = memmem(row->body, row->n_body, "\"n\":", 4);

	return at && sscanf(at, "\"n\":%u}", ret) == 1;
}

/* Each trial's numbers must occur in order and once. */
static void see_number(void *userdata, const struct store_row *row)
{
	struct numbers *numbers = userdata;
	unsigned n, trial;

	if (!row_is_of(row, "syscall") || !read_number(row, &n))
		return;
	trial = n / N_PER_TRIAL;
	if (trial >= numbers->n_trials || n != numbers->next[trial])
		numbers->n_wrong++;
	else
		numbers->next[trial]++;
}

static void acknowledged_records_survive_a_killed_writer(void)
{
	_cleanup_log_place_ struct log_place place;
	unsigned n = n_trials();
	unsigned *acknowledged = zeroed(n, sizeof(*acknowledged));
	struct numbers numbers = { zeroed(n, sizeof(*numbers.next)), n, 0 };
	unsigned n_lost = 0, n_kept = 0;
	long latest_nsec;
	uint64_t seq;

	log_place_init(&place);
	(void)audit_log_free(log_made(&place));
	latest_nsec = latest_kill(&place);
	for (unsigned trial = 0; trial < n; trial++) {
		unsigned last = acknowledged[trial] = numbers.next[trial] = trial * N_PER_TRIAL;
		struct audit_log *log;
		int acknowledge[2];
		pid_t pid;

		expect_eq(pipe2(acknowledge, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0)
			write_until_killed(&place, trial, latest_nsec, acknowledge[1]);
		(void)close(acknowledge[1]);
		while (read(acknowledge[0], &last, sizeof(last)) == (ssize_t)sizeof(last))
			acknowledged[trial] = last;
		(void)close(acknowledge[0]);
		expect(was_killed(pid));
		log = log_opened(&place);
		expect(log && !audit_log_is_broken(log, &seq));
		(void)audit_log_free(log);
		/* The host may have become slower since latest_kill() measured. */
		if (acknowledged[trial] == trial * N_PER_TRIAL)
			latest_nsec = latest_kill(&place);
	}
	expect(verify_log(&place, see_number, &numbers) > 0);
	expect_eq(numbers.n_wrong, 0);
	for (unsigned trial = 0; trial < n; trial++) {
		n_lost += numbers.next[trial] < acknowledged[trial];
		n_kept += acknowledged[trial] - trial * N_PER_TRIAL;
	}
	expect_eq(n_lost, 0);
	/* Otherwise all writers were killed before their first commit. */
	expect(n_kept > n);
	free(acknowledged);
	free(numbers.next);
}

/* ---- the spool ---- */

/* Writes its numbers to the spool, which it sometimes reopens. */
static void write_to_spool(const struct log_place *place, unsigned writer)
{
	struct recorder recorder = RECORDER_INIT;

	for (unsigned i = 0; i < N_RECORDS; i++) {
		_cleanup_text_ struct text record = TEXT_INIT;
		struct json_writer json;

		if (i % 10 == 0) {
			recorder_deinit(&recorder);
			if (open_spool_in(&recorder, place->path, NULL) < 0)
				_exit(3);
		}
		record_begin(&recorder, &record, &json, "syscall", "test");
		json_member_u64(&json, "n", writer * N_PER_TRIAL + i);
		if (record_send(&recorder, &record, &json, NULL) < 0)
			_exit(4);
	}
	recorder_deinit(&recorder);
	_exit(0);
}

static int import_once(const struct log_place *place, struct audit_import *ret)
{
	_cleanup_close_ int spool = open(place->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_audit_log_ struct audit_log *log = NULL;
	struct sbx_error err = { .code = 0 };
	int r = audit_log_open(&place->options, &log, &err);

	if (r == 0)
		r = audit_log_import(log, spool, ret, &err);
	if (r < 0)
		printf("# %s: %s\n", err.what, err.why);
	return r;
}

static pid_t fork_importer(const struct log_place *place, unsigned seed)
{
	struct audit_import import;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	arm(&seed, KILL_NSEC_MIN);
	while (import_once(place, &import) == 0)
		;
	_exit(3);
}

static bool has_ended(pid_t pid, unsigned *n_failed)
{
	int status = 0;

	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	*n_failed += status != 0;
	return true;
}

/* Kills and restarts importers until the writers have finished. */
static void write_and_import(const struct log_place *place)
{
	pid_t writers[N_WRITERS], importers[N_IMPORTERS];
	unsigned n_running = N_WRITERS, n_failed = 0, seed = 1;

	for (unsigned i = 0; i < N_WRITERS; i++) {
		writers[i] = fork();
		if (writers[i] == 0)
			write_to_spool(place, i);
	}
	for (unsigned i = 0; i < N_IMPORTERS; i++)
		importers[i] = fork_importer(place, seed++);
	while (n_running > 0) {
		for (unsigned i = 0; i < N_IMPORTERS; i++) {
			expect(was_killed(importers[i]));
			importers[i] = fork_importer(place, seed++);
		}
		for (unsigned i = 0; i < N_WRITERS; i++)
			if (writers[i] > 0 && has_ended(writers[i], &n_failed)) {
				writers[i] = -1;
				n_running--;
			}
	}
	for (unsigned i = 0; i < N_IMPORTERS; i++)
		expect(was_killed(importers[i]));
	expect_eq(n_failed, 0);
}

struct seen {
	unsigned char n[N_WRITERS][N_RECORDS];
	unsigned n_others;
};

static void see_record(void *userdata, const struct store_row *row)
{
	struct seen *seen = userdata;
	unsigned n;

	if (read_number(row, &n) && n / N_PER_TRIAL < N_WRITERS && n % N_PER_TRIAL < N_RECORDS)
		seen->n[n / N_PER_TRIAL][n % N_PER_TRIAL]++;
	else
		seen->n_others += row->seq != 0;
}

static void each_line_of_the_spool_is_imported_once_despite_kills(void)
{
	unsigned n_wrong = 0, n_rounds = test_is_slow() ? 20 : 1;

	for (unsigned round = 0; round < n_rounds; round++) {
		_cleanup_log_place_ struct log_place place;
		struct seen *seen = zeroed(1, sizeof(*seen));
		struct audit_import import;
		struct recorder recorder = RECORDER_INIT;

		log_place_init(&place);
		place.options.wait_usec = WAIT_USEC;
		(void)audit_log_free(log_made(&place));
		expect_eq(open_spool_in(&recorder, place.path, NULL), 0);
		recorder_deinit(&recorder);
		write_and_import(&place);
		expect_eq(import_once(&place, &import), 0);
		expect_eq(import_once(&place, &import), 0);
		expect_eq(import.n_records, 0);
		expect(verify_log(&place, see_record, seen) > 0);
		for (unsigned i = 0; i < N_WRITERS; i++)
			for (unsigned j = 0; j < N_RECORDS; j++)
				n_wrong += seen->n[i][j] != 1;
		expect_eq(seen->n_others, 0);
		free(seen);
	}
	expect_eq(n_wrong, 0);
}

static const struct test tests[] = {
	TEST(acknowledged_records_survive_a_killed_writer),
	TEST(each_line_of_the_spool_is_imported_once_despite_kills),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
