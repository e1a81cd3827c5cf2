/* SPDX-License-Identifier: MIT */
/*
 * tool_main(): each test runs a small tool of this file in a child, with the fds and environment of
 * a careless parent, and checks its output and status
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"

#include "test.h"

/* Prints the values that the tool got. */
static int report(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	struct sigaction pipe_action;
	sigset_t blocked;

	if (sigprocmask(SIG_SETMASK, NULL, &blocked) < 0 ||
	    sigaction(SIGPIPE, NULL, &pipe_action) < 0)
		return -errno;
	text_addf(&run->out, "level=%s", log_level_name(run->log.most));
	text_addf(&run->out, " setting=%s", config_get(run->config, "log_level").text);
	text_addf(&run->out, " place=%s", config_get(run->config, "log_level").place);
	text_addf(&run->out, " term=%s", sigismember(&blocked, SIGTERM) ? "blocked" : "free");
	text_addf(&run->out, " pipe=%s", pipe_action.sa_handler == SIG_DFL ? "default" : "other");
	for (int i = 0; i < n_operands; i++)
		text_addf(&run->out, " [%s]", operands[i]);
	return TOOL_YES;
}

/* Yes if stdin, stdout and stderr are open and refuse the wrong direction. */
static int judge_fds(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	bool is_fine = (fcntl(0, F_GETFL) & O_ACCMODE) == O_WRONLY &&
		       (fcntl(1, F_GETFL) & O_ACCMODE) == O_RDONLY &&
		       (fcntl(2, F_GETFL) & O_ACCMODE) == O_RDONLY;
	_cleanup_close_ int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return is_fine && next > 2 ? TOOL_YES : TOOL_NO;
}

static const struct verb_spec verbs[] = {
	{ .name = "report", .max_operands = OPERANDS_ANY, .help = "x", .run = report },
	{ .name = "repair", .ignores_config = true, .help = "x", .run = report },
	{ .name = "fds", .help = "x", .run = judge_fds },
	{ .name = NULL },
};

static const struct tool tool = {
	.command = { .name = "sbx-x", .summary = "X.", .verbs = verbs },
	.values_size = 1,
	.usage_status = TOOL_USAGE,
};

#define WORDS_MAX 8

/* How the tool is started; defaults are those of a user's shell. */
struct call {
	const char *words[WORDS_MAX];
	const char *variables[4]; /* "SBX_DEBUG", "1" */
	void (*prepare)(void);
};

struct outcome {
	int status;
	char out[512];
	char err[512];
};

static _Noreturn void run_tool(const struct call *call, int out, int err)
{
	static char name[] = "sbx-x";
	char *argv[WORDS_MAX + 2] = { name };
	int argc = 1;

	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 || clearenv() != 0 ||
	    chdir("/proc/self/fd") < 0)
		_exit(250);
	for (; argc <= WORDS_MAX && call->words[argc - 1]; argc++)
		argv[argc] = strdup(call->words[argc - 1]);
	for (size_t i = 0; i + 1 < N_ELEMENTS(call->variables) && call->variables[i]; i += 2)
		(void)setenv(call->variables[i], call->variables[i + 1], 1);
	if (call->prepare)
		call->prepare();
	_exit(tool_main(&tool, argc, argv));
}

static struct outcome outcome_of(const struct call *call)
{
	struct outcome outcome = { .status = -1 };
	int out[2], err[2];
	pid_t child;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		abort();
	child = fork();
	if (child == 0)
		run_tool(call, out[1], err[1]);
	close_fd(&out[1]);
	close_fd(&err[1]);
	expect(fd_read_full(out[0], outcome.out, sizeof(outcome.out) - 1) >= 0);
	expect(fd_read_full(err[0], outcome.err, sizeof(outcome.err) - 1) >= 0);
	close_fd(&out[0]);
	close_fd(&err[0]);
	expect_eq(waitpid(child, &outcome.status, 0), child);
	return outcome;
}

static void expect_out(const struct call *call, const char *word)
{
	struct outcome outcome = outcome_of(call);
	bool is_debug = strstr(word, "level=debug") != NULL;

	expect(WIFEXITED(outcome.status));
	expect_eq(WEXITSTATUS(outcome.status), 0);
	if (is_debug)
		expect(strstr(outcome.err, "sbx-x: version ") == outcome.err &&
		       strstr(outcome.err, "sbx-x: log_level is "));
	else
		expect_str(outcome.err, "");
	expect(strstr(outcome.out, word) != NULL);
	if (!strstr(outcome.out, word))
		printf("# got: %s; expected: %s\n", outcome.out, word);
}

static void takes_the_level_from_its_strongest_source(void)
{
	static const struct {
		struct call call;
		const char *word;
	} rows[] = {
		{ { { "report" }, { NULL }, NULL }, "level=notice setting=notice place=built in " },
		{ { { "report" }, { "SBX_LOG_LEVEL", "warning" }, NULL },
		  "level=warning setting=warning place=SBX_LOG_LEVEL " },
		{ { { "-q", "report" }, { "SBX_LOG_LEVEL", "info" }, NULL },
		  "level=error setting=error place=-q " },
		{ { { "-v", "report" }, { "SBX_LOG_LEVEL", "error" }, NULL },
		  "level=info setting=info place=-v " },
		{ { { "-vv", "report" }, { NULL }, NULL }, "level=debug setting=debug place=-v " },
		{ { { "report" }, { "SBX_DEBUG", "1" }, NULL }, "level=debug " },
		{ { { "report" }, { "SBX_DEBUG", "" }, NULL }, "level=notice " },
		{ { { "-q", "report" }, { "SBX_DEBUG", "1" }, NULL }, "level=debug " },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		expect_out(&rows[i].call, rows[i].word);
}

static void block_and_ignore(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static void starts_with_no_signal_blocked_and_sigpipe_not_ignored(void)
{
	expect_out(&(struct call){ .words = { "report" }, .prepare = block_and_ignore },
		   "term=free pipe=default");
}

static void close_all(void)
{
	(void)close(0);
	(void)close(1);
	(void)close(2);
}

static void closed_standard_fds_are_filled_with_ones_that_refuse(void)
{
	struct outcome outcome =
		outcome_of(&(struct call){ .words = { "fds" }, .prepare = close_all });

	expect(WIFEXITED(outcome.status));
	expect_eq(WEXITSTATUS(outcome.status), TOOL_YES);
}

/* Then the replacement for stdin cannot be opened. */
static void close_stdin_and_allow_no_more(void)
{
	const struct rlimit none = { 0, 0 };

	(void)close(0);
	(void)setrlimit(RLIMIT_NOFILE, &none);
}

static void says_that_it_cannot_start(void)
{
	struct outcome outcome = outcome_of(
		&(struct call){ .words = { "fds" }, .prepare = close_stdin_and_allow_no_more });

	expect_eq(WEXITSTATUS(outcome.status), TOOL_FAILED);
	expect(strstr(outcome.err, "sbx-x: cannot replace a closed stdin") != NULL);
	expect(strstr(outcome.err, "\n  fix: ") != NULL);
}

static void a_broken_configuration_stops_all_verbs_but_those_that_ignore_it(void)
{
	const struct call report_call = { .words = { "report" },
					  .variables = { "SBX_LOG_LEVEL", "loud" } };
	const struct call repair_call = { .words = { "-v", "repair" },
					  .variables = { "SBX_LOG_LEVEL", "loud" } };
	struct outcome outcome = outcome_of(&report_call);

	expect_eq(WEXITSTATUS(outcome.status), TOOL_USAGE);
	expect_str(outcome.out, "");
	expect(strstr(outcome.err, "SBX_LOG_LEVEL: 'log_level' cannot be 'loud'") != NULL);
	expect_out(&repair_call, "level=info setting=info place=-v ");
}

static void two_dashes_before_the_verb_end_the_options_for_good(void)
{
	expect_out(&(struct call){ .words = { "--", "report", "-v", "--json" } },
		   "level=notice setting=notice place=built in term=free pipe=default "
		   "[-v] [--json]");
	expect_out(&(struct call){ .words = { "report", "-v", "--", "--json" } },
		   "place=-v term=free pipe=default [--json]");
}

static const struct test tests[] = {
	TEST(takes_the_level_from_its_strongest_source),
	TEST(starts_with_no_signal_blocked_and_sigpipe_not_ignored),
	TEST(closed_standard_fds_are_filled_with_ones_that_refuse),
	TEST(says_that_it_cannot_start),
	TEST(a_broken_configuration_stops_all_verbs_but_those_that_ignore_it),
	TEST(two_dashes_before_the_verb_end_the_options_for_good),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
