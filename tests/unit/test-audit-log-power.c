/* SPDX-License-Identifier: MIT */

/*
 * Power cuts at any write or fsync: acknowledged records survive, the chain is valid, and only
 * records after the last commit are lost
 */

#include "audit/log.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "audit-log-place.h"
#include "audit/verify.h"
#include "vfs-shim.h"

#define N_TRIALS 20 /* with one log */
#define N_LOGS_SLOW 25
#define N_WRITES_MAX 6000
#define GROUP_MAX 60
#define LOG_TIME_USEC UINT64_C(1767323045678901) /* of each record */

/* What the writer has acknowledged before the power cut. */
struct told {
	unsigned n_added;
	unsigned n_acknowledged;
};

struct power {
	struct log_place place;
	struct told *told; /* shared with the writer */
	unsigned n;	   /* records before it */
};

static void power_deinit(struct power *power)
{
	(void)munmap(power->told, sizeof(*power->told));
	log_place_deinit(&power->place);
}
#define _cleanup_power_ _cleanup_(power_deinit)

static void power_init(struct power *power)
{
	*power = (struct power){ .n = 0 };
	log_place_init(&power->place);
	power->told = mmap(NULL, sizeof(*power->told), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(power->told != MAP_FAILED);
	(void)audit_log_free(log_made(&power->place));
}

/* Sometimes a record needs a synchronous commit, which ends the group. */
static void add_group(struct power *power, struct audit_log *log, unsigned *seed)
{
	for (int i = rand_r(seed) % GROUP_MAX; i >= 0; i--) {
		bool is_sync = rand_r(seed) % 40 == 0;

		if (log_add_n(log, is_sync ? "kernel_start" : "syscall",
			      power->n + power->told->n_added, NULL) != 0)
			_exit(4);
		power->told->n_added++;
		if (is_sync)
			break;
	}
}

/* Does not return. */
static void write_until_cut(struct power *power, unsigned seed, bool swallows_syncs)
{
	struct audit_log *log = NULL;
	struct shim *shim = zeroed(1, sizeof(*shim));

	shim_install(shim, seed, (unsigned)rand_r(&seed) % N_WRITES_MAX);
	shim->swallows_syncs = swallows_syncs;
	if (swallows_syncs)
		shim->loss = SHIM_LOSES_ALL;
	if (audit_log_open(&power->place.options, &log, NULL) < 0)
		_exit(3);
	for (;;) {
		add_group(power, log, &seed);
		if ((rand_r(&seed) % 8 == 0 ? audit_log_checkpoint(log, NULL)
					    : audit_log_commit(log, NULL)) < 0)
			_exit(5);
		power->told->n_acknowledged = power->told->n_added;
	}
}

static void write_and_cut(struct power *power, unsigned seed, bool swallows_syncs)
{
	int status = -1;
	pid_t pid;

	*power->told = (struct told){ .n_added = 0 };
	pid = fork();
	if (pid == 0)
		write_until_cut(power, seed, swallows_syncs);
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
}

static unsigned n_after_cut(const struct power *power)
{
	struct audit_log *log = log_opened(&power->place);
	uint64_t seq;
	unsigned n;

	if (!log)
		return 0;
	expect(!audit_log_is_broken(log, &seq));
	n = (unsigned)audit_log_size(log) - 1;
	(void)audit_log_free(log);
	return n;
}

static enum verify_verdict verdict_of(const struct power *power)
{
	struct verify_options options = {
		.directory = open(power->place.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.now_usec = LOG_TIME_USEC,
	};
	struct verify_report report = { .verdict = VERIFY_UNREADABLE };

	expect_eq(verify_directory(&options, &report, NULL, NULL), 0);
	(void)close(options.directory);
	return report.verdict;
}

struct numbers {
	unsigned next, n_wrong;
};

static void see_number(void *userdata, const struct store_row *row)
{
	struct numbers *numbers = userdata;
	char wanted[32];
	size_t n = (size_t)snprintf(wanted, sizeof(wanted), "\"n\":%u}", numbers->next);

	if (row->seq == 0)
		return;
	numbers->n_wrong += !memmem(row->body, row->n_body, wanted, n);
	numbers->next++;
}

struct tally {
	unsigned n_acknowledged, n_lost;
};

static void cut_again_and_again(unsigned first_seed, struct tally *tally)
{
	_cleanup_power_ struct power power;
	struct numbers numbers = { 0, 0 };

	power_init(&power);
	for (unsigned trial = 0; trial < N_TRIALS; trial++) {
		unsigned n;

		write_and_cut(&power, first_seed + trial, false);
		n = n_after_cut(&power) - power.n;
		expect(n >= power.told->n_acknowledged);
		expect(n <= power.told->n_added);
		tally->n_acknowledged += power.told->n_acknowledged;
		tally->n_lost += power.told->n_added - n;
		power.n += n;
		expect_eq(verdict_of(&power), VERIFY_INTACT);
	}
	expect_eq(verify_log(&power.place, see_number, &numbers), (long long)power.n + 1);
	expect_eq(numbers.n_wrong, 0);
}

static void acknowledged_records_survive_a_power_cut(void)
{
	unsigned n_logs = test_is_slow() ? N_LOGS_SLOW : 1;
	struct tally tally = { 0, 0 };

	for (unsigned i = 0; i < n_logs; i++)
		cut_again_and_again(1 + i * N_TRIALS, &tally);
	/* Otherwise the test could not have lost anything. */
	expect(tally.n_acknowledged > 50 * N_TRIALS * n_logs);
	expect(tally.n_lost > 0);
}

/* A disk that ignores fsync() loses acknowledged records; the test must detect that. */
static void a_disk_that_swallows_syncs_is_found_out(void)
{
	_cleanup_power_ struct power power;
	unsigned n_found = 0;

	power_init(&power);
	for (unsigned trial = 0; trial < 5; trial++) {
		write_and_cut(&power, trial + 1, true);
		n_found += n_after_cut(&power) < power.told->n_acknowledged;
	}
	expect(n_found > 0);
}

/* Some unsynced writes survive: the shim does tear and reorder writes. */
static void the_disk_keeps_some_of_what_was_not_synced(void)
{
	bool is_kept = false, is_lost = false;

	for (unsigned seed = 1; seed < 200; seed++) {
		struct shim shim = { .seed = seed };
		struct shim_image image = { .path = "" };
		unsigned char bytes[2 * SHIM_SECTOR];
		size_t n_own = 0;

		memset(bytes, 'x', sizeof(bytes));
		for (size_t i = 0; i < 8; i++)
			shim_keep(&image, bytes, sizeof(bytes), i * sizeof(bytes));
		if (seed % 2 == 0)
			shim_lose_end(&shim, &image);
		else
			shim_lose_some(&shim, &image);
		for (size_t i = 0; i < image.bytes.len; i++)
			n_own += image.bytes.data[i] == 'x';
		expect(n_own <= 8 * sizeof(bytes));
		expect_eq(n_own % SHIM_SECTOR, 0);
		is_kept |= n_own > 0;
		is_lost |= n_own < 8 * sizeof(bytes);
		text_deinit(&image.bytes);
		text_deinit(&image.payload);
		text_deinit(&image.writes);
	}
	expect(is_kept && is_lost);
}

static const struct test tests[] = {
	TEST(acknowledged_records_survive_a_power_cut),
	TEST(a_disk_that_swallows_syncs_is_found_out),
	TEST(the_disk_keeps_some_of_what_was_not_synced),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
