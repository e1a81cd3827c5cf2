/* SPDX-License-Identifier: MIT */

/*
 * The extensions are shell scripts of one or two lines. Time is not simulated: each test waits for
 * an event, with a deadline.
 */

#include "extension/extension.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "test.h"

#define DEADLINE_MSEC 60000

static const char request[] = "{\"op\":\"fs.read\",\"path\":\"/a\"}";

/* Reads a line, extracts its number and answers with ALLOW. */
#define NUMBER "n=${line#*:}; n=${n%%,*};"
#define ANSWER(action) "printf '{\"n\":%s,\"action\":\"" action "\"}\\n' \"$n\";"
#define LOOP(body) "while read -r line; do " NUMBER body " done"

static uint64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* With the usual deadline, for tests of late answers. */
static struct extension *script_in_time(const char *text)
{
	const char *argv[] = { "/bin/sh", "-c", text, NULL };
	struct extension *extension = NULL;

	expect_eq(extension_new("probe", argv, &extension, NULL), 0);
	return extension;
}

/* With a long deadline: other tests must not depend on the speed of the host. */
static struct extension *script(const char *text)
{
	struct extension *extension = script_in_time(text);

	if (extension)
		extension_set_deadline(extension, DEADLINE_MSEC * 1000ull);
	return extension;
}

static struct policy_vote ask(struct extension *extension)
{
	struct policy_vote vote = { .action = POLICY_PASS };

	extension_ask(extension, request, sizeof(request) - 1, &vote);
	expect_str(vote.extension, "probe");
	return vote;
}

static void expect_denied(const struct policy_vote *vote, const char *why)
{
	expect_eq(vote->action, POLICY_DENY);
	expect(vote->reason && strstr(vote->reason, "'probe'") && strstr(vote->reason, why));
	if (vote->reason && !strstr(vote->reason, why))
		printf("# %s\n", vote->reason);
}

/* Waits until the extension was restarted; each turn waits for an event of it. */
static void await_restart(struct extension *extension)
{
	struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
	uint64_t end = now_usec() + DEADLINE_MSEC * 1000, number;
	struct policy_vote vote;

	while (extension_pid(extension) == 0 && now_usec() < end) {
		(void)poll(&wait, 1, DEADLINE_MSEC);
		(void)extension_next(extension, &number, &vote);
	}
	expect(extension_pid(extension) != 0);
}

static void answers_as_the_program_does(void)
{
	static const struct {
		const char *text;
		enum policy_action action;
	} rows[] = {
		{ LOOP(ANSWER("pass")), POLICY_PASS },
		{ LOOP(ANSWER("allow")), POLICY_ALLOW },
		{ LOOP(ANSWER("warn")), POLICY_WARN },
		{ LOOP(ANSWER("require_review")), POLICY_REVIEW },
		{ LOOP(ANSWER("deny")), POLICY_DENY },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_extension_ struct extension *extension = script(rows[i].text);
		struct policy_vote vote = ask(extension);

		expect_eq(vote.action, rows[i].action);
		expect(vote.reason == NULL);
	}
}

static void sees_the_request_and_gives_a_reason(void)
{
	_cleanup_extension_ struct extension *extension =
		script("read -r line; case $line in '{\"n\":1,\"request\":{\"op\":\"fs.read\","
		       "\"path\":\"/a\"}}') echo '{\"reason\":\"it is \\u00fc\",\"n\":1,"
		       "\"action\":\"allow\"}';; esac; read -r line");
	struct policy_vote vote = ask(extension);

	expect_eq(vote.action, POLICY_ALLOW);
	expect_str(vote.reason, "it is ü");
}

static void is_the_same_process_for_many_questions(void)
{
	_cleanup_extension_ struct extension *extension = script(LOOP(ANSWER("allow")));
	pid_t pid = extension_pid(extension);

	for (int i = 0; i < 200; i++)
		expect_eq(ask(extension).action, POLICY_ALLOW);
	expect_eq(extension_pid(extension), pid);
}

static void a_late_answer_is_deny_and_a_restart(void)
{
	_cleanup_extension_ struct extension *extension =
		script_in_time("read -r line; read -r line");
	pid_t pid = extension_pid(extension);
	uint64_t before = now_usec(), after;
	struct policy_vote vote = ask(extension);

	after = now_usec();
	expect_denied(&vote, "100 ms");
	expect(after - before >= EXTENSION_DEADLINE_USEC);
	expect_eq(extension_pid(extension), 0);
	await_restart(extension);
	expect(extension_pid(extension) != pid);
}

/* With a deadline of 1 us any answer would be late, if the start counted. */
static void the_time_for_an_answer_does_not_run_while_it_starts(void)
{
	char fifo[] = "/tmp/extension-XXXXXX", text[512];
	struct policy_vote vote = { .action = POLICY_PASS };
	struct extension *extension;
	struct pollfd wait;
	uint64_t number = 0;
	pid_t pid;
	int fd;

	fd = mkstemp(fifo);
	expect(fd >= 0 && close(fd) == 0 && unlink(fifo) == 0 && mkfifo(fifo, 0600) == 0);
	(void)snprintf(text, sizeof(text), "read -r x <%s; %s", fifo, LOOP(ANSWER("allow")));
	extension = script_in_time(text);
	pid = extension_pid(extension);
	extension_set_deadline(extension, 1);
	expect_eq(extension_submit(extension, request, sizeof(request) - 1, &vote), 1);
	wait = (struct pollfd){ .fd = extension_fd(extension), .events = POLLIN };
	/* No event arrives. */
	for (int i = 0; i < 3; i++) {
		expect_eq(extension_next(extension, &number, &vote), 0);
		expect_eq(poll(&wait, 1, 20), 0);
	}
	extension_set_deadline(extension, DEADLINE_MSEC * 1000ull);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	expect(fd >= 0 && write(fd, "\n", 1) == 1);
	while (extension_next(extension, &number, &vote) == 0)
		expect(poll(&wait, 1, DEADLINE_MSEC) == 1);
	expect_eq(vote.action, POLICY_ALLOW);
	expect_eq(extension_pid(extension), pid);
	(void)close(fd);
	(void)unlink(fifo);
	(void)extension_free(extension);
}

static void a_crash_is_deny_and_a_restart(void)
{
	_cleanup_extension_ struct extension *extension = script("read -r line; kill -9 $$");
	pid_t pid = extension_pid(extension);
	struct policy_vote vote = ask(extension);

	expect_denied(&vote, "ended");
	await_restart(extension);
	expect(extension_pid(extension) != pid);
}

static void is_denied_while_the_program_is_down(void)
{
	_cleanup_extension_ struct extension *extension = script("exit 1");
	struct policy_vote vote = ask(extension);

	expect_denied(&vote, "ended");
	vote = ask(extension);
	expect_denied(&vote, "ended");
}

static void works_again_after_a_crash(void)
{
	_cleanup_extension_ struct extension *extension =
		script(LOOP("case $n in 2) exit 1;; esac; " ANSWER("allow")));

	expect_eq(ask(extension).action, POLICY_ALLOW);
	expect_eq(ask(extension).action, POLICY_DENY);
	await_restart(extension);
	expect_eq(ask(extension).action, POLICY_ALLOW);
}

static void an_invalid_answer_is_deny(void)
{
	static const char *const lines[] = {
		"nonsense",
		"",
		"[]",
		"{}",
		"null",
		"{\"n\":1}",
		"{\"action\":\"allow\"}",
		"{\"n\":1,\"action\":\"ALLOW\"}",
		"{\"n\":1,\"action\":\"permit\"}",
		"{\"n\":1,\"action\":true}",
		"{\"n\":\"1\",\"action\":\"allow\"}",
		"{\"n\":1.0,\"action\":\"allow\"}",
		"{\"n\":1,\"n\":1,\"action\":\"allow\"}",
		"{\"n\":1,\"action\":\"deny\",\"action\":\"allow\"}",
		"{\"n\":1,\"action\":\"allow\",\"reason\":7}",
		"{\"n\":1,\"action\":\"allow\",\"reason\":\"a\\\\u0000b\"}",
		"{\"n\":1,\"action\":\"allow\",\"more\":1}",
		"{\"n\":1,\"action\":\"allow\"} {}",
		"{\"n\":1,\"action\":\"allow\"",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_extension_ struct extension *extension = NULL;
		struct policy_vote vote;
		char text[256];

		(void)snprintf(text, sizeof(text),
			       "read -r line; printf '%%b\\n' '%s'; read -r line", lines[i]);
		extension = script(text);
		vote = ask(extension);
		expect_denied(&vote, "not an answer");
		expect_eq(extension_pid(extension), 0);
	}
}

static void an_answer_to_another_question_is_deny(void)
{
	static const char *const lines[] = { "{\"n\":0,\"action\":\"allow\"}",
					     "{\"n\":2,\"action\":\"allow\"}" };

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_extension_ struct extension *extension = NULL;
		struct policy_vote vote;
		char text[256];

		(void)snprintf(text, sizeof(text), "read -r line; echo '%s'; read -r line",
			       lines[i]);
		extension = script(text);
		vote = ask(extension);
		expect_denied(&vote, "out of order");
	}
}

/* An answer that was written before its question was sent. */
static void an_answer_before_the_question_is_deny(void)
{
	_cleanup_extension_ struct extension *extension =
		script("echo '{\"n\":1,\"action\":\"allow\"}'; read -r line");
	struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
	struct policy_vote vote;
	uint64_t number;

	expect_eq(poll(&wait, 1, DEADLINE_MSEC), 1);
	expect_eq(extension_next(extension, &number, &vote), 0);
	expect_eq(extension_pid(extension), 0);
	vote = ask(extension);
	expect_denied(&vote, "out of order");
}

static void endless_output_is_deny(void)
{
	_cleanup_extension_ struct extension *extension =
		script("read -r line; exec cat /dev/zero");
	struct policy_vote vote = ask(extension);

	expect_denied(&vote, "too long");
}

static void a_program_that_never_reads_is_late_and_costs_no_memory(void)
{
	_cleanup_extension_ struct extension *extension = script("exec sleep 1000");
	static char big[60000];
	struct policy_vote vote = { .action = POLICY_PASS };
	size_t n_sent = 0;

	memset(big, ' ', sizeof(big));
	big[0] = '{';
	big[sizeof(big) - 1] = '}';
	while (n_sent < 1000 && extension_submit(extension, big, sizeof(big), &vote) != 0)
		n_sent++;
	expect(n_sent < EXTENSION_OPEN_MAX);
	expect_denied(&vote, "too many");
}

static void many_questions_are_answered_in_order(void)
{
	_cleanup_extension_ struct extension *extension = script(LOOP(ANSWER("allow")));
	struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
	struct policy_vote vote;
	uint64_t number, n_answered = 0;

	for (uint64_t i = 1; i <= 50; i++)
		expect_eq(extension_submit(extension, request, sizeof(request) - 1, &vote), i);
	while (n_answered < 50 && poll(&wait, 1, DEADLINE_MSEC) == 1)
		while (extension_next(extension, &number, &vote) > 0) {
			expect_eq(number, ++n_answered);
			expect_eq(vote.action, POLICY_ALLOW);
		}
	expect_eq(n_answered, 50);
}

static void all_that_wait_are_denied_when_it_crashes(void)
{
	_cleanup_extension_ struct extension *extension =
		script("read -r line; read -r line; read -r line; exit");
	struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
	struct policy_vote vote;
	uint64_t number, n_answered = 0;

	for (int i = 0; i < 3; i++)
		expect(extension_submit(extension, request, sizeof(request) - 1, &vote) != 0);
	while (n_answered < 3 && poll(&wait, 1, DEADLINE_MSEC) == 1)
		while (extension_next(extension, &number, &vote) > 0) {
			expect_eq(number, ++n_answered);
			expect_denied(&vote, "ended");
		}
	expect_eq(n_answered, 3);
}

static void too_many_open_questions_are_denied_at_once(void)
{
	_cleanup_extension_ struct extension *extension = script("exec sleep 1000");
	struct policy_vote vote = { .action = POLICY_PASS };

	for (size_t i = 0; i < EXTENSION_OPEN_MAX; i++)
		expect(extension_submit(extension, "{}", 2, &vote) != 0);
	expect_eq(extension_submit(extension, "{}", 2, &vote), 0);
	expect_denied(&vote, "too many");
}

/* Each pause is at least twice the previous one, up to the maximum; measured from before the end
 * was seen, because this process may be delayed. */
static void the_pause_before_a_start_grows(void)
{
	_cleanup_extension_ struct extension *extension = script("exit 1");

	for (int i = 0; i < 4; i++) {
		struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
		uint64_t number, down = now_usec();
		struct policy_vote vote;

		while (extension_pid(extension) != 0 && poll(&wait, 1, DEADLINE_MSEC) == 1) {
			down = now_usec();
			(void)extension_next(extension, &number, &vote);
		}
		await_restart(extension);
		expect(now_usec() - down >= (uint64_t)EXTENSION_PAUSE_FIRST_USEC << i);
	}
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static void leaves_no_process_behind(void)
{
	struct extension *extension = script("sleep 1000 & echo $!; wait");
	pid_t pid = extension_pid(extension);

	expect(is_alive(pid));
	extension = extension_free(extension);
	expect(!is_alive(pid));
	expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void leaves_no_zombies_while_it_restarts(void)
{
	_cleanup_extension_ struct extension *extension = script("exit 1");

	for (int i = 0; i < 3; i++) {
		struct pollfd wait = { .fd = extension_fd(extension), .events = POLLIN };
		struct policy_vote vote;
		uint64_t number;

		while (extension_pid(extension) != 0 && poll(&wait, 1, DEADLINE_MSEC) == 1)
			(void)extension_next(extension, &number, &vote);
		await_restart(extension);
	}
	extension = extension_free(extension);
	expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* Fds without close-on-exec, blocked signals and variables of this process are not inherited. */
static void gets_three_fds_and_nothing_else(void)
{
	_cleanup_extension_ struct extension *extension = NULL;
	int fd = open("/dev/null", O_RDONLY);
	sigset_t mask, before;
	struct policy_vote vote;

	expect(setenv("SBX_PROBE", "1", 1) == 0);
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, &before);
	extension = script("read -r line; r=; for f in /proc/self/fd/*; do r=$r${f##*/}; done; "
			   "b=$(grep SigBlk /proc/self/status); "
			   "printf '{\"n\":1,\"action\":\"pass\",\"reason\":\"%s %s %s\"}\\n' "
			   "\"$r\" \"${b##*0}\" \"$SBX_PROBE\"; read -r line");
	vote = ask(extension);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	/* The shell itself opens the directory that it lists. */
	expect(vote.reason && strncmp(vote.reason, "012", 3) == 0);
	expect(vote.reason && strstr(vote.reason, "  ") != NULL);
	expect(close(fd) == 0);
	expect(unsetenv("SBX_PROBE") == 0);
}

static void refuses_a_program_that_cannot_be_started(void)
{
	static const char *const programs[] = { "sh", "./sh", "", "/nonexistent", "/etc/passwd" };

	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		const char *argv[] = { programs[i], NULL };
		struct extension *extension = NULL;
		struct sbx_error err = { .code = 0 };

		expect(extension_new("probe", argv, &extension, &err) < 0);
		expect(extension == NULL);
		expect(strstr(err.what, "'probe'") && err.fix[0] != '\0');
	}
	expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static const struct test tests[] = {
	TEST(answers_as_the_program_does),
	TEST(sees_the_request_and_gives_a_reason),
	TEST(is_the_same_process_for_many_questions),
	TEST(a_late_answer_is_deny_and_a_restart),
	TEST(the_time_for_an_answer_does_not_run_while_it_starts),
	TEST(a_crash_is_deny_and_a_restart),
	TEST(is_denied_while_the_program_is_down),
	TEST(works_again_after_a_crash),
	TEST(an_invalid_answer_is_deny),
	TEST(an_answer_to_another_question_is_deny),
	TEST(an_answer_before_the_question_is_deny),
	TEST(endless_output_is_deny),
	TEST(a_program_that_never_reads_is_late_and_costs_no_memory),
	TEST(many_questions_are_answered_in_order),
	TEST(all_that_wait_are_denied_when_it_crashes),
	TEST(too_many_open_questions_are_denied_at_once),
	TEST(the_pause_before_a_start_grows),
	TEST(leaves_no_process_behind),
	TEST(leaves_no_zombies_while_it_restarts),
	TEST(gets_three_fds_and_nothing_else),
	TEST(refuses_a_program_that_cannot_be_started),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
