/* SPDX-License-Identifier: MIT */

/*
 * The rows of a segment, by several threads
 *
 * What is slow about a record needs no other record: its hash follows from its bytes and from the
 * stored hash of the one before, and whether it is a record from its bytes. So threads look at
 * that, for ranges of any records; whether a range begins at a checkpoint makes no difference.
 * Where every link holds, the stored hashes are the chain, and what is left to be done one behind
 * the other is less: the numbers, the tree, the times and the checkpoints. That is done by the same
 * code as ever, which sees the records in their order and looks at all of those that a thread has
 * not found right. So the verdict and the report do not depend on how many there are.
 *
 * Threads and not processes: they have to give back a number and two hashes, and SQLite's
 * connections do not know of each other. Each has its own, so it may see records that came later;
 * those that both see have the same hashes, which those at both ends of a range show. A record that
 * excuses missing ones is hashed again from the bytes that are read.
 */

#include "audit/verify-internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define RANGE_RECORDS 8192
#define RECORDS_AT_ONCE_MAX (UINT64_C(1) << 28)

struct range {
	uint64_t first, end;
	uint64_t good_end;	  /* the records before are right, if their hashes are these: */
	struct audit_hash before; /* of the record before the first */
	struct audit_hash last;	  /* of the last good one */
	bool is_done;
};

struct jobs {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int folder;
	const struct segment_file *file;
	struct range *ranges;
	size_t n_ranges, next;
	unsigned n_running;
	bool is_over;
};

struct job {
	struct segment *segment;
	struct hasher *hasher;
	struct entry_reader reader;
	struct range range; /* a copy */
};

/* ---- one of the threads ---- */

static int see_before(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct job *job = userdata;

	if (row->problem)
		return VERIFY_STOP;
	job->range.before = job->range.last = row->hash;
	return 0;
}

/* Workers only confirm rows; a doubtful row is left to the sequential verifier, which reports it.
 */
static int see_row(void *userdata, const struct store_row *row, struct sbx_error *err)
{
	struct job *job = userdata;
	struct range *range = &job->range;
	struct entry_said said;
	struct audit_hash hash;

	if (row->problem || row->seq != range->good_end ||
	    chain_next(job->hasher, row->seq, &range->last, row->body, row->n_body, &hash) < 0 ||
	    !audit_hash_equal(&hash, &row->hash) ||
	    entry_reader_read(&job->reader, row->body, row->n_body, &said) < 0)
		return VERIFY_STOP;
	range->last = hash;
	range->good_end++;
	return 0;
}

static void see_range(struct job *job)
{
	struct range *range = &job->range;
	struct store *store = job->segment->store;

	range->good_end = range->first;
	if (store_each(store, range->first - 1, range->first - 1, see_before, job, NULL) == 0)
		(void)store_each(store, range->first, range->end - 1, see_row, job, NULL);
	range->is_done = true;
}

static bool take_range(struct jobs *jobs, struct range *ret)
{
	bool has_one;

	(void)pthread_mutex_lock(&jobs->mutex);
	has_one = !jobs->is_over && jobs->next < jobs->n_ranges;
	if (has_one)
		*ret = jobs->ranges[jobs->next++];
	(void)pthread_mutex_unlock(&jobs->mutex);
	return has_one;
}

static void give_range(struct jobs *jobs, const struct range *range)
{
	(void)pthread_mutex_lock(&jobs->mutex);
	jobs->ranges[(range->first - jobs->ranges[0].first) / RANGE_RECORDS] = *range;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->mutex);
}

static void end_job(struct jobs *jobs, struct job *job)
{
	entry_reader_deinit(&job->reader);
	(void)hasher_free(job->hasher);
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

	if (hasher_new(&job.hasher) == 0 &&
	    segment_open(jobs->folder, jobs->file, &job.segment, NULL) == 0 && job.segment->store)
		while (take_range(jobs, &job.range)) {
			see_range(&job);
			give_range(jobs, &job.range);
		}
	end_job(jobs, &job);
	return NULL;
}

/* ---- who asked ---- */

/* A range that nobody has seen has no good records. */
static struct range wait_for(struct jobs *jobs, size_t i)
{
	struct range range;

	(void)pthread_mutex_lock(&jobs->mutex);
	while (!jobs->ranges[i].is_done && jobs->n_running > 0)
		(void)pthread_cond_wait(&jobs->changed, &jobs->mutex);
	range = jobs->ranges[i];
	(void)pthread_mutex_unlock(&jobs->mutex);
	return range;
}

static int verify_range(struct verification *v, const struct range *range, struct sbx_error *err)
{
	struct store *store = v->segment->store;
	int r = 0;

	if (range->good_end > range->first) {
		if (!audit_hash_equal(&v->now.head, &range->before))
			return -ESTALE;
		v->linked_end = range->good_end;
		r = store_each(store, range->first, range->good_end - 1, verify_row, v, err);
	}
	if (r == 0 && range->good_end > range->first &&
	    !audit_hash_equal(&v->now.head, &range->last))
		return -ESTALE;
	if (r == 0 && range->good_end < range->end)
		r = store_each(store, range->good_end, range->end - 1, verify_row, v, err);
	return r;
}

static int verify_ranges(struct verification *v, struct jobs *jobs, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < jobs->n_ranges; i++) {
		struct range range = wait_for(jobs, i);

		r = verify_range(v, &range, err);
	}
	(void)pthread_mutex_lock(&jobs->mutex);
	jobs->is_over = true;
	(void)pthread_mutex_unlock(&jobs->mutex);
	return r;
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

static int run(struct verification *v, struct jobs *jobs, struct sbx_error *err)
{
	size_t n = v->options->n_jobs < jobs->n_ranges ? v->options->n_jobs : jobs->n_ranges;
	_cleanup_free_ pthread_t *threads = calloc(n, sizeof(*threads));
	int r;

	if (!threads)
		return -ENOMEM;
	n = start(jobs, threads, n);
	r = verify_ranges(v, jobs, err);
	for (size_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	return r;
}

static int make_ranges(struct jobs *jobs, uint64_t first, uint64_t end)
{
	jobs->n_ranges = (size_t)((end - first + RANGE_RECORDS - 1) / RANGE_RECORDS);
	jobs->ranges = calloc(jobs->n_ranges, sizeof(*jobs->ranges));
	if (!jobs->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < jobs->n_ranges; i++) {
		uint64_t from = first + i * RANGE_RECORDS, left = end - from;

		jobs->ranges[i] = (struct range){
			.first = from,
			.end = left < RANGE_RECORDS ? end : from + RANGE_RECORDS,
			.good_end = from,
		};
	}
	return 0;
}

int verify_rows_at_once(struct verification *v, struct sbx_error *err)
{
	struct jobs jobs = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER,
			     .folder = v->options->folder,
			     .file = v->file };
	uint64_t first = v->now.frontier.size;
	int r;

	/* The record before the first one may be in another segment. */
	r = store_each(v->segment->store, first, first, verify_row, v, err);
	if (r != 0)
		return r;
	/* What a number far away promises is not believed: a gap is found without threads. */
	if (v->end <= first + 1 || v->end - first > RECORDS_AT_ONCE_MAX)
		return store_each(v->segment->store, v->now.frontier.size, UINT64_MAX, verify_row,
				  v, err);
	r = make_ranges(&jobs, first + 1, v->end);
	if (r == 0)
		r = run(v, &jobs, err);
	free(jobs.ranges);
	return r;
}
