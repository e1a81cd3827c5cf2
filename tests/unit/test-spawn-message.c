/* SPDX-License-Identifier: MIT */

#include "spawn/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

static int parse(const struct message *message, size_t n_fds, enum message_side side)
{
	struct message parsed;

	return message_parse(message, sizeof(*message), n_fds, side, &parsed);
}

static int parse_from_inside(struct message message, size_t n_fds)
{
	return parse(&message, n_fds, FROM_INSIDE);
}

static void a_result_comes_through(void)
{
	struct message sent = { .kind = MESSAGE_RESULT, .status = W_EXITCODE(7, 0) }, got;

	sent.usage.ru_utime.tv_usec = 999999;
	sent.usage.ru_maxrss = 4321;
	expect_eq(message_parse(&sent, sizeof(sent), 0, FROM_INSIDE, &got), 0);
	expect_eq(memcmp((const char *)&sent, (const char *)&got, sizeof(sent)), 0);
}

static void refuses_another_size(void)
{
	struct message message = { .kind = MESSAGE_STOPPED }, ret = { .kind = 0 };
	char longer[sizeof(message) + 1] = "";

	memcpy(longer, &message, sizeof(message));
	expect_eq(message_parse(&message, sizeof(message), 0, FROM_INSIDE, &ret), 0);
	ret.kind = 99;
	expect_eq(message_parse(longer, sizeof(longer), 0, FROM_INSIDE, &ret), -EBADMSG);
	expect_eq(message_parse(&message, sizeof(message) - 1, 0, FROM_INSIDE, &ret), -EBADMSG);
	expect_eq(message_parse(&message, 0, 0, FROM_INSIDE, &ret), -EBADMSG);
	expect_eq(ret.kind, 99);
}

static void refuses_kinds_that_are_none(void)
{
	expect_eq(parse_from_inside((struct message){ .kind = 0 }, 0), -EBADMSG);
	expect_eq(parse_from_inside((struct message){ .kind = N_MESSAGE_KINDS }, 0), -EBADMSG);
	expect_eq(parse_from_inside((struct message){ .kind = UINT32_MAX }, 0), -EBADMSG);
}

static void refuses_what_the_other_side_says(void)
{
	const struct message go = { .kind = MESSAGE_GO }, stopped = { .kind = MESSAGE_STOPPED };

	expect_eq(parse(&go, 0, FROM_SUPERVISOR), 0);
	expect_eq(parse(&go, 0, FROM_INSIDE), -EBADMSG);
	expect_eq(parse(&stopped, 0, FROM_SUPERVISOR), -EBADMSG);
}

static void refuses_fds_that_do_not_belong_to_it(void)
{
	static const struct {
		enum message_kind kind;
		size_t least, most;
	} rows[] = {
		{ MESSAGE_EXECUTED, 0, 0 },
		{ MESSAGE_STOPPED, 0, 0 },
		{ MESSAGE_TERMINAL, 1, 1 },
		{ MESSAGE_NOTIFIER, 2, 2 },
		{ MESSAGE_TREE, 2, 2 },
		{ MESSAGE_LISTENERS, 1, MESSAGE_FDS_MAX },
		{ MESSAGE_NAMESPACES, 1, MESSAGE_FDS_MAX },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		for (size_t n = 0; n <= MESSAGE_FDS_MAX + 1; n++)
			expect_eq(parse_from_inside((struct message){ .kind = rows[i].kind }, n),
				  n >= rows[i].least && n <= rows[i].most ? 0 : -EBADMSG);
}

static int parse_failure(uint32_t doing, int32_t code)
{
	return parse_from_inside(
		(struct message){ .kind = MESSAGE_FAILED, .doing = doing, .code = code }, 0);
}

static void refuses_failures_that_are_none(void)
{
	expect_eq(parse_failure(DOING_EXEC, -ENOENT), 0);
	expect_eq(parse_failure(DOING_EXEC, 0), -EBADMSG);
	expect_eq(parse_failure(DOING_EXEC, 1), -EBADMSG);
	expect_eq(parse_failure(DOING_EXEC, -4096), -EBADMSG);
	expect_eq(parse_failure(DOING_EXEC, INT32_MIN), -EBADMSG);
	expect_eq(parse_failure(N_DOINGS, -ENOENT), -EBADMSG);
	expect_eq(parse_failure(UINT32_MAX, -ENOENT), -EBADMSG);
}

static void refuses_what_could_not_be_executed_without_an_end_to_its_name(void)
{
	struct message message = { .kind = MESSAGE_FAILED, .doing = DOING_EXEC, .code = -ENOENT };

	message.execution.fault = EXEC_FAULT_INTERPRETER;
	memset(message.execution.interpreter, 'a', INTERPRETER_MAX - 1);
	expect_eq(parse_from_inside(message, 0), 0);
	message.execution.interpreter[INTERPRETER_MAX - 1] = 'a';
	expect_eq(parse_from_inside(message, 0), -EBADMSG);
	message.execution.interpreter[0] = '\0';
	expect_eq(parse_from_inside(message, 0), 0);
	message.execution.fault = N_EXEC_FAULTS;
	expect_eq(parse_from_inside(message, 0), -EBADMSG);
}

static int parse_result(int32_t status, long seconds, long usec, long size)
{
	struct message message = { .kind = MESSAGE_RESULT, .status = status };

	message.usage.ru_stime.tv_sec = seconds;
	message.usage.ru_stime.tv_usec = usec;
	message.usage.ru_maxrss = size;
	return parse_from_inside(message, 0);
}

static void refuses_results_that_are_none(void)
{
	expect_eq(parse_result(W_EXITCODE(255, 0), 1, 999999, 1), 0);
	expect_eq(parse_result(W_EXITCODE(0, SIGKILL), 0, 0, 0), 0);
	/* Wait statuses of a stopped and a continued process. */
	expect_eq(parse_result(W_STOPCODE(SIGSTOP), 0, 0, 0), -EBADMSG);
	expect_eq(parse_result(0xffff, 0, 0, 0), -EBADMSG);
	expect_eq(parse_result(0, -1, 0, 0), -EBADMSG);
	expect_eq(parse_result(0, 0, 1000000, 0), -EBADMSG);
	expect_eq(parse_result(0, 0, -1, 0), -EBADMSG);
	expect_eq(parse_result(0, 0, 0, -1), -EBADMSG);
}

/* ---- over a socket ---- */

struct pair {
	int ours;
	int its;
};

static void pair_deinit(struct pair *pair)
{
	close_fd(&pair->ours);
	close_fd(&pair->its);
}
#define _cleanup_pair_ _cleanup_(pair_deinit)

static struct pair pair_make(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 ||
	    fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
		abort();
	return (struct pair){ .ours = fds[0], .its = fds[1] };
}

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void fds_arrive_with_a_message(void)
{
	_cleanup_pair_ struct pair pair = pair_make();
	const struct message message = { .kind = MESSAGE_TERMINAL };
	struct message got;
	int fds[MESSAGE_FDS_MAX];
	size_t n = 0;

	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), -EAGAIN);
	expect_eq(message_send(pair.its, &message, &pair.its, 1), 0);
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), 1);
	expect_eq(got.kind, MESSAGE_TERMINAL);
	expect_eq(n, 1);
	expect_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	fd_close_many(fds, n);
}

static void what_is_refused_leaves_no_fd(void)
{
	_cleanup_pair_ struct pair pair = pair_make();
	const struct message stopped = { .kind = MESSAGE_STOPPED };
	const struct message listeners = { .kind = MESSAGE_LISTENERS };
	int many[MESSAGE_FDS_MAX + 1], fds[MESSAGE_FDS_MAX];
	unsigned before = count_fds();
	struct message got;
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(many); i++)
		many[i] = pair.its;
	expect_eq(fd_send(pair.its, &stopped, sizeof(stopped), many, 2), 0);
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), -EBADMSG);
	expect_eq(fd_send(pair.its, &listeners, sizeof(listeners), many, N_ELEMENTS(many)), 0);
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), -EBADMSG);
	expect_eq(fd_send(pair.its, "short", 5, many, 1), 0);
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), -EBADMSG);
	expect_eq(count_fds(), before);
}

/* The kernel reports ECONNRESET for data that the peer has not read, before it returns the peer's
 * last message. */
static void the_last_words_are_heard(void)
{
	_cleanup_pair_ struct pair pair = pair_make();
	const struct message go = { .kind = MESSAGE_GO };
	const struct message last = { .kind = MESSAGE_FAILED, .code = -ENOENT };
	int fds[MESSAGE_FDS_MAX];
	struct message got;
	size_t n = 0;

	expect_eq(message_send(pair.ours, &go, NULL, 0), 0);
	expect_eq(message_send(pair.its, &last, NULL, 0), 0);
	(void)close(pair.its);
	pair.its = -EBADF;
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), 1);
	expect_eq(got.code, -ENOENT);
	expect_eq(message_receive(pair.ours, FROM_INSIDE, &got, fds, &n), 0);
	expect_eq(message_send(pair.ours, &go, NULL, 0), -EPIPE);
}

static const struct test tests[] = {
	TEST(a_result_comes_through),
	TEST(refuses_another_size),
	TEST(refuses_kinds_that_are_none),
	TEST(refuses_what_the_other_side_says),
	TEST(refuses_fds_that_do_not_belong_to_it),
	TEST(refuses_failures_that_are_none),
	TEST(refuses_what_could_not_be_executed_without_an_end_to_its_name),
	TEST(refuses_results_that_are_none),
	TEST(fds_arrive_with_a_message),
	TEST(what_is_refused_leaves_no_fd),
	TEST(the_last_words_are_heard),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
