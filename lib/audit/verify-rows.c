/* SPDX-License-Identifier: MIT */

/*
 * Runs of rows, read by this thread or by several
 *
 * A thread needs the hash of the record before its run, and takes the stored one. If that is not
 * the hash with which the run before ended, or if a run has a fault, the rows are read again in
 * sequence: so the first wrong row is the one reported, and verdict and report do not depend on the
 * number of threads.
 *
 * Threads instead of processes: they return only hashes and numbers, and SQLite connections are
 * independent of each other. Each thread has its own, so it may see records that came later; a run
 * ends where the caller asked.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/error.h>

#include "audit/entry.h"
#include "audit/shape.h"
#include "base/array.h"

#define RUN_RECORDS_MAX 8192
#define RECORDS_AT_ONCE_MAX (UINT64_C(1) << 28)
#define RUNS_AHEAD 64 /* finished runs that wait for the caller */

/* ---- a run ---- */

struct reading {
	struct audit_entry *entry;
	struct shapes *shapes;
	struct verify_run *run;
	uint64_t end; /* where the run has to end */
	bool wants_before;
};

static void reading_deinit(struct reading *reading)
{
	entry_free_ptr(&reading->entry);
	free(reading->shapes);
}

static int reading_init(struct reading *reading)
{
	reading->entry = calloc(1, sizeof(*reading->entry));
	reading->shapes = calloc(1, sizeof(*reading->shapes));
	return reading->entry && reading->shapes ? 0 : -ENOMEM;
}

static void run_deinit(struct verify_run *run)
{
	free(run->stubs);
	run->stubs = NULL;
	run->n_stubs = 0;
}

static void run_begin(struct verify_run *run, uint64_t first, const struct audit_hash *before)
{
	run_deinit(run);
	merkle_run_begin(&run->tree, first);
	run->before = run->last = *before;
	run->has_time = run->has_genesis = false;
	run->fault = RUN_GOOD;
}

static int fault(struct verify_run *run, enum run_fault which, uint64_t seq, const char *why)
{
	run->fault = which;
	run->fault_seq = seq;
	run->why = why;
	return VERIFY_STOP;
}

static void note_time(struct verify_run *run, uint64_t usec)
{
	if (!run->has_time || usec < run->first_usec)
		run->first_usec = usec;
	if (!run->has_time || usec > run->last_usec)
		run->last_usec = usec;
	run->has_time = true;
}

static int add_genesis(struct verify_run *run, const struct store_row *row)
{
	int r = chain_parse_genesis(row->body, row->n_body, &run->genesis);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fault(run, RUN_RECORD, 0, "it is not a valid first record of a log");
	run->has_genesis = true;
	return 0;
}

static int add_stub(struct verify_run *run, const struct store_row *row)
{
	struct run_stub stub = { .seq = row->seq };
	int r = stub_read(row->body, row->n_body, &stub.stub);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fault(run, RUN_STUB, row->seq, NULL);
	return ARRAY_ADD(run->stubs, run->n_stubs, &stub);
}

/* Check the hash with the previous computed hash, not the stored one. Then check that the bytes are
 * a record, on which all later readers of the log rely. */
static int add_row(struct reading *reading, const struct store_row *row)
{
	struct verify_run *run = reading->run;
	struct audit_hash hash;
	int r;

	if (row->problem)
		return fault(run, RUN_RECORD, row->seq, row->problem);
	if (row->seq != run->tree.end)
		return fault(run, RUN_MISSING, row->seq, NULL);
	r = chain_next(row->seq, &run->last, row->body, row->n_body, &hash);
	if (r < 0)
		return r;
	if (!audit_hash_equal(&hash, &row->hash))
		return fault(run, RUN_RECORD, row->seq,
			     "its hash does not match its bytes and the record before it");
	r = entry_check_stored(reading->entry, reading->shapes, row->body, row->n_body);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return fault(run, RUN_RECORD, row->seq, "its bytes are not a valid record");
	if (row->seq == 0)
		r = add_genesis(run, row);
	else if (stub_is(row->body, row->n_body))
		r = add_stub(run, row);
	if (r != 0)
		return r;
	note_time(run, reading->entry->time_usec);
	run->last = hash;
	return merkle_run_add(&run->tree, &hash);
}

/* ---- single-threaded ---- */

struct here {
	const struct verify_rows *rows;
	struct reading reading;
	struct verify_run run;
	bool is_over;
};

static uint64_t end_of_run(const struct verify_rows *rows, uint64_t first)
{
	uint64_t cut = rows->next_cut(rows->userdata, first);

	return cut - first < RUN_RECORDS_MAX ? cut : first + RUN_RECORDS_MAX;
}

static int take_run(struct here *here, struct sbx_error *err)
{
	uint64_t end = here->run.tree.end;
	int r;

	if (end == here->run.tree.first && here->run.fault == RUN_GOOD)
		return 0;
	r = here->rows->take(here->rows->userdata, &here->run, err);
	if (r == 0 && here->run.fault != RUN_GOOD)
		r = VERIFY_STOP;
	here->is_over = r != 0;
	if (r != 0)
		return r;
	run_begin(&here->run, end, &here->run.last);
	here->reading.end = end_of_run(here->rows, end);
	return 0;
}

static int see_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct here *here = userdata;
	int r = add_row(&here->reading, row);

	if (r < 0)
		return r;
	return r > 0 || here->run.tree.end >= here->reading.end ? take_run(here, err) : 0;
}

/* Reads the rows from @first to the end. */
static int read_here(const struct verify_rows *rows, uint64_t first,
		     const struct audit_hash *before, struct sbx_error *err)
{
	struct here here = { .rows = rows };
	int r = reading_init(&here.reading), last_r;

	if (r < 0) {
		reading_deinit(&here.reading);
		return r;
	}
	here.reading.run = &here.run;
	run_begin(&here.run, first, before);
	here.reading.end = end_of_run(rows, first);
	r = segment_each(rows->segment, first, UINT64_MAX, see_row, &here, err);
	/* Rows that were read before a failure still count. */
	last_r = r <= 0 && !here.is_over ? take_run(&here, err) : 0;
	run_deinit(&here.run);
	reading_deinit(&here.reading);
	return last_r != 0 ? last_r : r;
}

/* ---- multi-threaded ---- */

enum slot_state {
	SLOT_EMPTY,
	SLOT_READING,
	SLOT_READ,
};

struct slot {
	enum slot_state state;
	uint64_t first, end;
	struct verify_run run;
};

struct jobs {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct verify_rows *rows;
	struct slot slots[RUNS_AHEAD]; /* run number n is in slot n % RUNS_AHEAD */
	size_t n_given, n_taken;
	uint64_t given_end;
	size_t cut; /* first cut after given_end */
	unsigned n_running;
	bool is_over;
};

struct job {
	struct segment *segment;
	struct reading reading;
};

/* The first row is the record before the run. */
static int see_row_of_job(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct reading *reading = userdata;

	if (!reading->wants_before)
		return add_row(reading, row);
	reading->wants_before = false;
	if (row->problem || row->seq + 1 != reading->run->tree.first)
		return VERIFY_STOP;
	reading->run->before = reading->run->last = row->hash;
	return 0;
}

static void read_slot(const struct jobs *jobs, struct job *job, struct slot *slot)
{
	bool is_first = slot->first == jobs->rows->from;

	job->reading.run = &slot->run;
	job->reading.wants_before = !is_first;
	run_begin(&slot->run, slot->first, &jobs->rows->before);
	(void)store_each(job->segment->store, slot->first - !is_first, slot->end - 1,
			 see_row_of_job, &job->reading, NULL);
}

/* The next run to be read, or NULL if there is none. Needs the mutex. */
static struct slot *give_slot(struct jobs *jobs)
{
	const struct verify_rows *rows = jobs->rows;
	struct slot *slot = &jobs->slots[jobs->n_given % RUNS_AHEAD];
	uint64_t first = jobs->given_end, end;

	if (jobs->is_over || first >= rows->end)
		return NULL;
	while (jobs->cut < rows->n_cuts && rows->cuts[jobs->cut] <= first)
		jobs->cut++;
	end = rows->end - first < RUN_RECORDS_MAX ? rows->end : first + RUN_RECORDS_MAX;
	if (jobs->cut < rows->n_cuts && rows->cuts[jobs->cut] < end)
		end = rows->cuts[jobs->cut];
	slot->state = SLOT_READING;
	slot->first = first;
	slot->end = jobs->given_end = end;
	jobs->n_given++;
	return slot;
}

static struct slot *wait_for_work(struct jobs *jobs, struct slot *done)
{
	struct slot *slot;

	(void)pthread_mutex_lock(&jobs->mutex);
	if (done) {
		done->state = SLOT_READ;
		(void)pthread_cond_broadcast(&jobs->changed);
	}
	while (!jobs->is_over && jobs->n_given - jobs->n_taken == RUNS_AHEAD)
		(void)pthread_cond_wait(&jobs->changed, &jobs->mutex);
	slot = give_slot(jobs);
	(void)pthread_mutex_unlock(&jobs->mutex);
	return slot;
}

static void end_job(struct jobs *jobs, struct job *job)
{
	reading_deinit(&job->reading);
	(void)segment_free(job->segment);
	(void)pthread_mutex_lock(&jobs->mutex);
	jobs->n_running--;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->mutex);
}

static void *run_job(void *userdata)
{
	struct jobs *jobs = userdata;
	struct job job = { .segment = NULL };

	if (reading_init(&job.reading) == 0 &&
	    segment_open(jobs->rows->directory, jobs->rows->file, &job.segment, NULL) == 0 &&
	    job.segment->store)
		for (struct slot *slot = NULL; (slot = wait_for_work(jobs, slot));)
			read_slot(jobs, &job, slot);
	end_job(jobs, &job);
	return NULL;
}

/* The next run in sequence, or NULL if no thread will read it, because all have stopped early. */
static struct slot *wait_for_run(struct jobs *jobs)
{
	struct slot *slot = &jobs->slots[jobs->n_taken % RUNS_AHEAD];

	(void)pthread_mutex_lock(&jobs->mutex);
	while (slot->state != SLOT_READ && jobs->n_running > 0)
		(void)pthread_cond_wait(&jobs->changed, &jobs->mutex);
	if (slot->state != SLOT_READ)
		slot = NULL;
	(void)pthread_mutex_unlock(&jobs->mutex);
	return slot;
}

static void free_slot(struct jobs *jobs, struct slot *slot)
{
	(void)pthread_mutex_lock(&jobs->mutex);
	slot->state = SLOT_EMPTY;
	jobs->n_taken++;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->mutex);
}

static bool is_as_asked(const struct slot *slot, const struct audit_hash *before)
{
	return slot->run.fault == RUN_GOOD && slot->run.tree.end == slot->end &&
	       audit_hash_equal(&slot->run.before, before);
}

static int take_runs(struct jobs *jobs, struct sbx_error *err)
{
	const struct verify_rows *rows = jobs->rows;
	struct audit_hash before = rows->before;
	uint64_t at = rows->from;
	struct slot *slot;
	int r = 0;

	while (r == 0 && at < rows->end && (slot = wait_for_run(jobs))) {
		if (!is_as_asked(slot, &before))
			break;
		at = slot->end;
		before = slot->run.last;
		r = rows->take(rows->userdata, &slot->run, err);
		free_slot(jobs, slot);
	}
	(void)pthread_mutex_lock(&jobs->mutex);
	jobs->is_over = true;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->mutex);
	return r != 0 ? r : read_here(rows, at, &before, err);
}

static size_t start(struct jobs *jobs, pthread_t *threads, size_t n_threads)
{
	size_t n = 0;

	jobs->n_running = (unsigned)n_threads;
	while (n < n_threads && pthread_create(&threads[n], NULL, run_job, jobs) == 0)
		n++;
	(void)pthread_mutex_lock(&jobs->mutex);
	jobs->n_running -= (unsigned)(n_threads - n);
	(void)pthread_mutex_unlock(&jobs->mutex);
	return n;
}

static int read_at_once(const struct verify_rows *rows, struct sbx_error *err)
{
	size_t n = rows->n_jobs < RUNS_AHEAD ? rows->n_jobs : RUNS_AHEAD;
	pthread_t threads[RUNS_AHEAD];
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int r;

	if (!jobs)
		return -ENOMEM;
	(void)pthread_mutex_init(&jobs->mutex, NULL);
	(void)pthread_cond_init(&jobs->changed, NULL);
	jobs->rows = rows;
	jobs->given_end = rows->from;
	n = start(jobs, threads, n);
	r = take_runs(jobs, err);
	for (size_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	for (size_t i = 0; i < RUNS_AHEAD; i++)
		run_deinit(&jobs->slots[i].run);
	(void)pthread_cond_destroy(&jobs->changed);
	(void)pthread_mutex_destroy(&jobs->mutex);
	free(jobs);
	return r;
}

/* A segment can claim any size: use one thread if it is implausibly large. */
int verify_rows(const struct verify_rows *rows, struct sbx_error *err)
{
	if (rows->n_jobs > 1 && rows->segment->store && rows->end > rows->from &&
	    rows->end - rows->from <= RECORDS_AT_ONCE_MAX)
		return read_at_once(rows, err);
	return read_here(rows, rows->from, &rows->before, err);
}
