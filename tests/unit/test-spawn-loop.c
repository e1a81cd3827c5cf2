/* SPDX-License-Identifier: MIT */

#include "spawn/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

/* A pipe with a byte in it, and what its source does when it is dispatched. */
struct probe {
	struct source source;
	struct loop *loop;
	int write_end;
	unsigned n_calls;
	int answer;
	struct source *removes;
	struct source *silences;
	struct source *adds;
};

static int called(struct source *source, short events)
{
	struct probe *probe = source->userdata;

	probe->n_calls++;
	if (probe->removes)
		loop_remove(probe->loop, probe->removes);
	if (probe->silences)
		probe->silences->events = 0;
	if (probe->adds)
		expect_eq(loop_add(probe->loop, probe->adds), 0);
	probe->adds = NULL;
	return probe->answer;
}

static void probe_init(struct probe *probe, struct loop *loop)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], "x", 1) != 1)
		abort();
	*probe = (struct probe){ .loop = loop, .write_end = ends[1] };
	probe->source = (struct source){
		.fd = ends[0],
		.events = POLLIN,
		.ready = called,
		.userdata = probe,
	};
}

static void probe_deinit(struct probe *probe)
{
	close_fd(&probe->source.fd);
	close_fd(&probe->write_end);
}
#define _cleanup_probe_ _cleanup_(probe_deinit)

static void hands_out_all_that_is_ready(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	struct probe probes[40];

	for (size_t i = 0; i < N_ELEMENTS(probes); i++) {
		probe_init(&probes[i], &loop);
		expect_eq(loop_add(&loop, &probes[i].source), 0);
	}
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), 0);
	for (size_t i = 0; i < N_ELEMENTS(probes); i++) {
		expect_eq(probes[i].n_calls, 1);
		probe_deinit(&probes[i]);
	}
}

static void does_not_call_what_was_removed_or_silenced_meanwhile(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	_cleanup_probe_ struct probe first, second, third, fourth;

	probe_init(&first, &loop);
	probe_init(&second, &loop);
	probe_init(&third, &loop);
	probe_init(&fourth, &loop);
	expect_eq(loop_add(&loop, &first.source), 0);
	expect_eq(loop_add(&loop, &second.source), 0);
	expect_eq(loop_add(&loop, &third.source), 0);
	first.removes = &second.source;
	first.silences = &third.source;
	first.adds = &fourth.source;
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), 0);
	expect_eq(first.n_calls, 1);
	expect_eq(second.n_calls, 0);
	expect_eq(third.n_calls, 0);
	expect_eq(fourth.n_calls, 0);
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), 0);
	expect_eq(first.n_calls, 2);
	expect_eq(second.n_calls, 0);
	expect_eq(third.n_calls, 0);
	expect_eq(fourth.n_calls, 1);
}

static void a_source_may_remove_itself(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	_cleanup_probe_ struct probe probe, other;

	probe_init(&probe, &loop);
	probe_init(&other, &loop);
	probe.removes = &probe.source;
	expect_eq(loop_add(&loop, &probe.source), 0);
	expect_eq(loop_add(&loop, &other.source), 0);
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), 0);
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), 0);
	expect_eq(probe.n_calls, 1);
	expect_eq(other.n_calls, 2);
	loop_remove(&loop, &probe.source);
}

static void a_source_without_events_hears_of_nothing(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	_cleanup_probe_ struct probe probe;

	probe_init(&probe, &loop);
	probe.source.events = 0;
	expect_eq(loop_add(&loop, &probe.source), 0);
	/* poll() reports the closed other end. */
	(void)close(probe.write_end);
	probe.write_end = -EBADF;
	expect_eq(loop_turn(&loop, 1), 0);
	expect_eq(probe.n_calls, 0);
}

static void a_failure_comes_out_of_the_turn(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	_cleanup_probe_ struct probe probe;

	probe_init(&probe, &loop);
	probe.answer = -ENOLINK;
	expect_eq(loop_add(&loop, &probe.source), 0);
	expect_eq(loop_turn(&loop, LOOP_NO_DEADLINE), -ENOLINK);
}

static void waits_until_the_deadline_and_not_longer(void)
{
	_cleanup_loop_ struct loop loop = LOOP_INIT;
	uint64_t then = loop_after(loop_now(), 3000);

	expect_eq(loop_turn(&loop, then), 0);
	expect(loop_now() >= then);
	/* A deadline that has passed. */
	expect_eq(loop_turn(&loop, 1), 0);
}

static void the_end_of_time_is_not_passed(void)
{
	expect_eq(loop_after(5, 7), 12);
	expect(loop_after(5, UINT64_MAX) == LOOP_NO_DEADLINE);
	expect(loop_after(5, UINT64_MAX - 5) == LOOP_NO_DEADLINE);
	expect(loop_after(5, UINT64_MAX - 6) == LOOP_NO_DEADLINE - 1);
}

static const struct test tests[] = {
	TEST(hands_out_all_that_is_ready),
	TEST(does_not_call_what_was_removed_or_silenced_meanwhile),
	TEST(a_source_may_remove_itself),
	TEST(a_source_without_events_hears_of_nothing),
	TEST(a_failure_comes_out_of_the_turn),
	TEST(waits_until_the_deadline_and_not_longer),
	TEST(the_end_of_time_is_not_passed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
