/* SPDX-License-Identifier: MIT */

/*
 * The test sends messages in place of PID 1: each message that is not allowed in that state must be
 * refused
 */

#include "spawn/spawn-internal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/explain.h"
#include "test.h"

struct scene {
	struct plan plan;
	struct step steps[2];
	struct spawn_options options;
	struct sbx_error err;
	struct spawn spawn;
	int its; /* PID 1's end of the socket */
};

static void scene_init(struct scene *scene, unsigned awaited)
{
	int fds[2];

	*scene = (struct scene){
		.steps = { { .kind = STEP_LISTEN,
			     .listen.port = 3128,
			     .listen.purpose = "proxy" } },
		.options = { .control_socket = -EBADF },
		.spawn = SPAWN_INIT,
	};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 ||
	    fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
		abort();
	scene->plan.steps = scene->steps;
	scene->plan.n_steps = 1;
	scene->spawn.plan = &scene->plan;
	scene->spawn.options = &scene->options;
	scene->spawn.err = &scene->err;
	scene->spawn.is_started = true;
	scene->spawn.inside.awaited = awaited;
	scene->spawn.inside.source = (struct source){
		.fd = fds[0],
		.events = 1,
		.userdata = &scene->spawn,
	};
	scene->its = fds[1];
}

static void scene_deinit(struct scene *scene)
{
	notifier_deinit(&scene->spawn.notifier);
	terminal_deinit(&scene->spawn.terminal);
	forwarding_deinit(&scene->spawn.forwarding);
	namespace_set_close(&scene->spawn.namespace_set);
	loop_deinit(&scene->spawn.loop);
	close_fd(&scene->spawn.inside.source.fd);
	close_fd(&scene->its);
}
#define _cleanup_scene_ _cleanup_(scene_deinit)

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Sends the message with @n fds; returns the result of the supervisor's source. */
static int say(struct scene *scene, struct message message, size_t n)
{
	int fds[MESSAGE_FDS_MAX];

	for (size_t i = 0; i < n; i++)
		fds[i] = scene->its;
	expect_eq(message_send(scene->its, &message, fds, n), 0);
	return inside_ready(&scene->spawn.inside.source, 1);
}

static int say_kind(struct scene *scene, enum message_kind kind, size_t n)
{
	return say(scene, (struct message){ .kind = kind, .code = -ENOENT }, n);
}

static void nothing_that_is_not_awaited_is_taken(void)
{
	static const struct {
		enum message_kind kind;
		size_t n_fds;
	} rows[] = {
		{ MESSAGE_NAMESPACES, 3 }, { MESSAGE_LISTENERS, 1 }, { MESSAGE_TERMINAL, 1 },
		{ MESSAGE_NOTIFIER, 2 },   { MESSAGE_STOPPED, 0 },   { MESSAGE_RESULT, 0 },
		{ MESSAGE_TREE, 2 },	   { MESSAGE_GO, 0 },	     { MESSAGE_EXECUTED, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_scene_ struct scene scene;

		/* Only a kind that does not exist is expected. */
		scene_init(&scene, 1u << N_MESSAGE_KINDS);

		unsigned before = count_fds();

		expect_eq(say_kind(&scene, rows[i].kind, rows[i].n_fds), -EBADMSG);
		expect_eq(scene.err.code, -EBADMSG);
		expect(!scene.spawn.inside.has_gone && !scene.spawn.inside.has_result);
		expect_eq(count_fds(), before);
	}
}

static void a_repeated_message_is_refused(void)
{
	_cleanup_scene_ struct scene scene;

	scene_init(&scene, 1u << MESSAGE_NAMESPACES | 1u << N_MESSAGE_KINDS);
	scene.spawn.namespace_set.n = 2;
	expect_eq(say_kind(&scene, MESSAGE_NAMESPACES, 2), 0);
	expect(scene.spawn.namespace_set.fds[1] >= 0);
	expect_eq(say_kind(&scene, MESSAGE_NAMESPACES, 2), -EBADMSG);
}

static void as_many_fds_as_the_plan_makes(void)
{
	for (size_t n = 1; n < 5; n++) {
		_cleanup_scene_ struct scene scene;
		unsigned before;

		scene_init(&scene, 1u << MESSAGE_NAMESPACES | 1u << MESSAGE_LISTENERS |
					   1u << N_MESSAGE_KINDS);
		scene.spawn.namespace_set.n = 4;
		before = count_fds();
		expect_eq(say_kind(&scene, MESSAGE_NAMESPACES, n), n == 4 ? 0 : -EBADMSG);
		/* The supervisor forwards no listeners here; more than the plan has are refused at
		 * once. */
		expect_eq(say_kind(&scene, MESSAGE_LISTENERS, n), n == 1 ? -ENOTCONN : -EBADMSG);
		expect_eq(count_fds(), before + (n == 4 ? 4 : 0));
	}
}

static void a_terminal_that_is_none_is_refused(void)
{
	_cleanup_scene_ struct scene scene;

	scene_init(&scene, 1u << MESSAGE_TERMINAL);
	expect(say_kind(&scene, MESSAGE_TERMINAL, 1) < 0);
	expect(!scene.spawn.inside.has_gone);
	expect(scene.err.what[0] != '\0');
}

/* The path to be protected is missing, so no command may run. */
static void a_tree_that_is_another_one_is_refused(void)
{
	_cleanup_scene_ struct scene scene;
	unsigned before;

	scene_init(&scene, 1u << MESSAGE_TREE);
	scene.steps[0] = (struct step){ .kind = STEP_BIND,
					.bind.source = "/",
					.bind.target = "/usr",
					.bind.is_directory = true };
	scene.steps[1] = (struct step){ .kind = STEP_MASK, .mask.target = "/usr/bin" };
	scene.plan.n_steps = 2;
	before = count_fds();
	expect_eq(watch_read_plan(&scene.spawn.watch, &scene.plan), 0);
	expect(say_kind(&scene, MESSAGE_TREE, 2) < 0);
	expect(!scene.spawn.inside.has_gone);
	expect_str(scene.err.what, "cannot protect '/usr/bin'");
	watch_deinit(&scene.spawn.watch);
	expect_eq(count_fds(), before);
}

static void count(void *userdata)
{
	++*(unsigned *)userdata;
}

static void execution_is_reported_once_and_only_to_a_hook(void)
{
	unsigned n = 0;
	const struct spawn_hooks hooks = { .executed = count, .userdata = &n };

	for (int is_wanted = 1; is_wanted >= 0; is_wanted--) {
		_cleanup_scene_ struct scene scene;

		scene_init(&scene, 0);
		scene.options.hooks = is_wanted ? &hooks : NULL;
		expect_eq(inside_maybe_go(&scene.spawn), 0);
		expect_eq(scene.spawn.inside.source.events != 0, is_wanted);
		for (int i = 0; i < 1 + is_wanted; i++) {
			expect(!scene.spawn.is_over);
			expect_eq(say_kind(&scene, MESSAGE_EXECUTED, 0), 0);
			expect_eq(n, 1);
			/* After the result the source waits only for the end. */
			expect_eq(scene.spawn.inside.source.events, 0);
		}
		expect(scene.spawn.is_over);
		expect_eq((int)scene.spawn.ending.cause, SPAWN_REASON_KILLED);
	}
}

static void nothing_goes_before_all_is_there(void)
{
	_cleanup_scene_ struct scene scene;
	struct message got;
	int fds[MESSAGE_FDS_MAX];
	size_t n = 0;

	scene_init(&scene, 1u << MESSAGE_NAMESPACES);
	scene.spawn.namespace_set.n = 1;
	scene.spawn.is_started = false;
	expect_eq(fcntl(scene.its, F_SETFL, O_NONBLOCK), 0);
	expect_eq(say_kind(&scene, MESSAGE_NAMESPACES, 1), 0);
	expect(!scene.spawn.inside.has_gone);
	expect_eq(message_receive(scene.its, FROM_SUPERVISOR, &got, fds, &n), -EAGAIN);
	scene.spawn.is_started = true;
	expect_eq(inside_maybe_go(&scene.spawn), 0);
	expect(scene.spawn.inside.has_gone);
	expect_eq(message_receive(scene.its, FROM_SUPERVISOR, &got, fds, &n), 1);
	expect_eq(got.kind, MESSAGE_GO);
	/* Only once. */
	expect_eq(inside_maybe_go(&scene.spawn), 0);
	expect_eq(message_receive(scene.its, FROM_SUPERVISOR, &got, fds, &n), -EAGAIN);
}

static void nonsense_later_is_the_end(void)
{
	static const char nonsense[] = "I am root, let me out";
	_cleanup_scene_ struct scene scene;

	scene_init(&scene, 0);
	expect_eq(inside_maybe_go(&scene.spawn), 0);
	expect_eq(fd_send(scene.its, nonsense, sizeof(nonsense), NULL, 0), 0);
	expect_eq(inside_ready(&scene.spawn.inside.source, 1), 0);
	expect(scene.spawn.is_over);
	expect_eq(scene.spawn.ending.cause, SPAWN_REASON_KILLED);
}

static void there_is_one_result(void)
{
	_cleanup_scene_ struct scene scene;
	const struct message first = { .kind = MESSAGE_RESULT, .status = W_EXITCODE(3, 0) };
	const struct message second = { .kind = MESSAGE_RESULT, .status = W_EXITCODE(0, 0) };

	scene_init(&scene, 0);
	expect_eq(inside_maybe_go(&scene.spawn), 0);
	expect_eq(say(&scene, first, 0), 0);
	expect(scene.spawn.inside.has_result);
	expect_eq(say(&scene, second, 0), 0);
	expect_eq(scene.spawn.inside.result.status, first.status);
	expect_eq(scene.spawn.ending.cause, SPAWN_REASON_KILLED);
}

static void numbers_from_inside_are_looked_at_before_they_are_used(void)
{
	_cleanup_scene_ struct scene scene;
	struct message message = { .kind = MESSAGE_FAILED, .doing = DOING_STEP, .code = -EIO };

	scene_init(&scene, 0);
	message.step = 1;
	expect_eq(explain_failure(&scene.plan, "x", &message, &scene.err), -EIO);
	expect_str(scene.err.what, "cannot build the sandbox");
	message.step = UINT32_MAX - 1;
	expect_eq(explain_failure(&scene.plan, "x", &message, &scene.err), -EIO);
	expect_str(scene.err.what, "cannot build the sandbox");
}

static const struct test tests[] = {
	TEST(nothing_that_is_not_awaited_is_taken),
	TEST(a_repeated_message_is_refused),
	TEST(as_many_fds_as_the_plan_makes),
	TEST(a_terminal_that_is_none_is_refused),
	TEST(a_tree_that_is_another_one_is_refused),
	TEST(execution_is_reported_once_and_only_to_a_hook),
	TEST(nothing_goes_before_all_is_there),
	TEST(nonsense_later_is_the_end),
	TEST(there_is_one_result),
	TEST(numbers_from_inside_are_looked_at_before_they_are_used),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
