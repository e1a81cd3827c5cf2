/* SPDX-License-Identifier: MIT */

#include "spawn/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void only_those_in_the_table_are_used(void)
{
	expect_eq(signal_use(SIGTERM), SIGNAL_FORWARDED);
	expect_eq(signal_use(SIGTSTP), SIGNAL_STOPS);
	expect_eq(signal_use(SIGPIPE), SIGNAL_DROPPED);
	expect_eq(signal_use(SIGIO), SIGNAL_UNUSED);
	expect_eq(signal_use(SIGURG), SIGNAL_PAUSED);
	expect_eq(signal_use(SIGKILL), SIGNAL_UNUSED);
	expect_eq(signal_use(SIGSTOP), SIGNAL_UNUSED);
	expect_eq(signal_use(SIGCHLD), SIGNAL_UNUSED);
	expect_eq(signal_use(0), SIGNAL_UNUSED);
	expect_eq(signal_use(SIGNAL_END_ALL), SIGNAL_UNUSED);
}

static void blocked_signals_are_read_and_not_delivered(void)
{
	_cleanup_signals_ struct signals signals = SIGNALS_INIT;

	expect_eq(signals_begin(&signals), 0);
	expect_eq(signals_next(&signals), 0);
	expect_eq(kill(getpid(), SIGUSR1), 0);
	expect_eq(signals_next(&signals), SIGUSR1);
	expect_eq(signals_next(&signals), 0);
}

static void the_mask_is_put_back(void)
{
	struct signals signals = SIGNALS_INIT;
	sigset_t before, after;

	(void)sigprocmask(SIG_BLOCK, NULL, &before);
	expect_eq(signals_begin(&signals), 0);
	(void)sigprocmask(SIG_BLOCK, NULL, &after);
	expect(sigismember(&after, SIGTERM));
	/* SIGPIPE to this process must not end it. */
	expect_eq(kill(getpid(), SIGPIPE), 0);
	signals_end(&signals);
	(void)sigprocmask(SIG_BLOCK, NULL, &after);
	for (int signal = 1; signal < NSIG; signal++)
		expect_eq(sigismember(&after, signal), sigismember(&before, signal));
	signals_end(&signals);
}

static void ignored_signals_stay_ignored(void)
{
	struct signals signals = SIGNALS_INIT;
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before, during;
	sigset_t mask;

	(void)sigaction(SIGQUIT, &ignore, &before);
	expect_eq(signals_begin(&signals), 0);
	(void)sigprocmask(SIG_BLOCK, NULL, &mask);
	(void)sigaction(SIGQUIT, NULL, &during);
	expect(!sigismember(&mask, SIGQUIT));
	expect(during.sa_handler == SIG_IGN);
	expect_eq(kill(getpid(), SIGQUIT), 0);
	expect_eq(signals_next(&signals), 0);
	signals_end(&signals);
	(void)sigaction(SIGQUIT, &before, NULL);
}

/* Unread signals take effect after signals_end(), as without the signalfd. */
static void unread_signals_take_effect_at_the_end(void)
{
	struct signals signals = SIGNALS_INIT;
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (signals_begin(&signals) < 0)
			_exit(1);
		(void)kill(getpid(), SIGTERM);
		signals_end(&signals);
		_exit(2);
	}
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* The process stops once, and does not see the SIGCONT that continues it. */
static void signals_stop_ourselves_returns_after_sigcont(void)
{
	struct signals signals = SIGNALS_INIT;
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		/* The parent is in another process group of the session: the kernel does not stop
		 * an orphaned group.
		 */
		if (setpgid(0, 0) < 0 || signals_begin(&signals) < 0)
			_exit(1);
		signals_stop_ourselves(false);
		_exit(signals_next(&signals) == 0 ? 7 : 2);
	}
	expect_eq(waitpid(child, &status, WUNTRACED), child);
	expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	expect_eq(kill(child, SIGCONT), 0);
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void an_orphaned_process_group_does_not_stop(void)
{
	struct signals signals = SIGNALS_INIT;
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (setsid() < 0 || signals_begin(&signals) < 0)
			_exit(1);
		signals_stop_ourselves(true);
		_exit(7);
	}
	expect_eq(waitpid(child, &status, WUNTRACED), child);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void pid_1_waits_for_signals_with_their_senders(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		siginfo_t info;

		signals_block_all();
		if (signals_wait(false, &info) != 0)
			_exit(1);
		(void)kill(getpid(), SIGNAL_END_ALL);
		(void)kill(getpid(), SIGTERM);
		if (signals_wait(true, &info) != SIGTERM || info.si_pid != getpid() ||
		    info.si_code != SI_USER)
			_exit(2);
		_exit(signals_wait(true, &info) == SIGNAL_END_ALL ? 7 : 3);
	}
	expect_eq(waitpid(child, &status, 0), child);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static const struct test tests[] = {
	TEST(only_those_in_the_table_are_used),
	TEST(blocked_signals_are_read_and_not_delivered),
	TEST(the_mask_is_put_back),
	TEST(ignored_signals_stay_ignored),
	TEST(unread_signals_take_effect_at_the_end),
	TEST(signals_stop_ourselves_returns_after_sigcont),
	TEST(an_orphaned_process_group_does_not_stop),
	TEST(pid_1_waits_for_signals_with_their_senders),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
