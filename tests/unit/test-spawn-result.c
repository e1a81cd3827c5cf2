/* SPDX-License-Identifier: MIT */

/*
 * What the supervisor finds out about limits at the end, from files like the kernel's in an
 * ordinary directory
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/spawn-internal.h"
#include "test.h"

#define REACHED(limit) (1u << (limit))

struct ended {
	char directory[32];
	struct plan plan;
	struct spawn spawn;
	struct spawn_result result;
};

static void ended_init(struct ended *ended)
{
	*ended = (struct ended){ .directory = "/tmp/sbx-result-XXXXXX", .spawn = SPAWN_INIT };
	if (!mkdtemp(ended->directory))
		abort();
	for (int i = 0; i < N_LIMITS; i++)
		ended->plan.limits[i] = (struct plan_limit){ .is_set = true, .value = 1 };
	ended->spawn.plan = &ended->plan;
	ended->spawn.inside.has_gone = ended->spawn.inside.has_result = true;
	ended->spawn.kernel.cgroup_fd = open(ended->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ended->spawn.inside.result.status = W_EXITCODE(0, 0);
}

static void ended_deinit(struct ended *ended)
{
	static const char *const names[] = { "memory.events", "memory.peak", "pids.events" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		(void)unlinkat(ended->spawn.kernel.cgroup_fd, names[i], 0);
	close_fd(&ended->spawn.kernel.cgroup_fd);
	(void)rmdir(ended->directory);
}
#define _cleanup_ended_ _cleanup_(ended_deinit)

static void count(const struct ended *ended, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(ended->spawn.kernel.cgroup_fd, name,
					O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		abort();
}

static void look(struct ended *ended)
{
	struct counted counted = { .init_status = 0 };

	result_look(&ended->spawn, &counted);
	expect_eq(result_make(&ended->spawn, &counted, 0, &ended->result), 0);
}

static void nothing_is_reached_where_nothing_was_counted(void)
{
	_cleanup_ended_ struct ended ended;

	ended_init(&ended);
	look(&ended);
	expect_eq(ended.result.reached, 0);
	count(&ended, "memory.events", "low 0\nhigh 0\nmax 17\noom 0\noom_kill 0\n");
	count(&ended, "pids.events", "max 0\n");
	look(&ended);
	expect_eq(ended.result.reached, 0);
	expect_eq(ended.result.reason, SPAWN_REASON_EXIT);
}

static void a_fork_that_was_refused_is_a_limit_of_processes_that_was_reached(void)
{
	_cleanup_ended_ struct ended ended;

	ended_init(&ended);
	count(&ended, "pids.events", "max 3\n");
	look(&ended);
	expect_eq(ended.result.reached, REACHED(LIMIT_PIDS));
	expect_eq(ended.result.reason, SPAWN_REASON_EXIT);
	ended.plan.limits[LIMIT_PIDS].is_set = false;
	look(&ended);
	expect_eq(ended.result.reached, 0);
}

static void a_kill_for_memory_is_of_its_own_limit_only_where_that_was_counted(void)
{
	_cleanup_ended_ struct ended ended;

	ended_init(&ended);
	ended.spawn.inside.result.status = W_EXITCODE(0, SIGKILL);
	count(&ended, "memory.events", "low 0\nhigh 0\nmax 99\noom 1\noom_kill 2\n");
	look(&ended);
	expect_eq(ended.result.reason, SPAWN_REASON_MEMORY);
	expect_eq(ended.result.reached, REACHED(LIMIT_MEMORY));
	/* The host was out of memory, or a parent cgroup. */
	count(&ended, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n");
	look(&ended);
	expect_eq(ended.result.reason, SPAWN_REASON_MEMORY);
	expect_eq(ended.result.reached, 0);
}

static void a_supervisors_limit_is_a_reached_limit(void)
{
	static const struct {
		enum spawn_reason cause;
		unsigned want;
	} cases[] = {
		{ SPAWN_REASON_TIME, REACHED(LIMIT_TIME) },
		{ SPAWN_REASON_OUTPUT, REACHED(LIMIT_OUTPUT) },
		{ SPAWN_REASON_KILLED, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_ended_ struct ended ended;

		ended_init(&ended);
		ended.spawn.ending.cause = cases[i].cause;
		look(&ended);
		expect_eq(ended.result.reached, cases[i].want);
	}
}

static void a_file_that_was_too_large_is_told_by_its_signal(void)
{
	_cleanup_ended_ struct ended ended;

	ended_init(&ended);
	ended.spawn.inside.result.status = W_EXITCODE(0, SIGXFSZ);
	look(&ended);
	expect_eq(ended.result.reached, REACHED(LIMIT_FILE_SIZE));
	ended.plan.limits[LIMIT_FILE_SIZE].is_set = false;
	look(&ended);
	expect_eq(ended.result.reached, 0);
}

static const struct test tests[] = {
	TEST(nothing_is_reached_where_nothing_was_counted),
	TEST(a_fork_that_was_refused_is_a_limit_of_processes_that_was_reached),
	TEST(a_kill_for_memory_is_of_its_own_limit_only_where_that_was_counted),
	TEST(a_supervisors_limit_is_a_reached_limit),
	TEST(a_file_that_was_too_large_is_told_by_its_signal),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
