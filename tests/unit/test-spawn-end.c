/* SPDX-License-Identifier: MIT */

/*
 * The end of sandboxes: by forwarded signals, by limits, and by the death of the supervisor
 *
 * A script writes to a pipe when it is ready; end of file on the pipe shows that all processes that
 * had it open are gone.
 */

#include <sys/socket.h>

#include "spawn-rig.h"

/* ---- signals ---- */

/* Sends @signal to the supervisor when the script is ready. */
static void run_with_signal(struct rig *rig, int signal)
{
	_cleanup_close_ int end = -EBADF;

	rig_start_with_pipe(rig, &end);
	expect(rig_hears(end, "ready"));
	expect_eq(kill(rig->supervisor, signal), 0);
	expect(rig_is_silent(end));
	rig_wait(rig);
}

FOR_BOTH(signals_are_passed_on)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH
	};

	for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
		_cleanup_rig_ struct rig rig;
		char script[128];

		(void)snprintf(script, sizeof(script),
			       "trap 'exit 9' %d; echo ready; while :; do sleep 1000 & wait; done",
			       signals[i]);
		rig_init(&rig, uid, script);
		run_with_signal(&rig, signals[i]);
		rig_expect(&rig, 9, SPAWN_REASON_EXIT);
	}
}

FOR_BOTH(the_whole_group_of_the_command_gets_them)
{
	_cleanup_rig_ struct rig rig;

	/* The shell handles the trap after its foreground command has ended. */
	rig_init(&rig, uid, "trap 'echo shell' INT; (echo ready; exec sleep 1000); exit 6");
	run_with_signal(&rig, SIGINT);
	rig_expect(&rig, 6, SPAWN_REASON_EXIT);
}

FOR_BOTH(a_command_that_dies_of_a_signal_dies_of_that_signal)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "echo ready; exec sleep 1000");
	run_with_signal(&rig, SIGTERM);
	rig_expect(&rig, 128 + SIGTERM, SPAWN_REASON_SIGNAL);
	expect_eq(rig.outcome->result.signal, SIGTERM);
}

FOR_BOTH(a_command_that_ignores_term_is_killed_after_the_grace)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "trap '' TERM; echo ready; while :; do sleep 1000; done");
	rig.plan.grace_usec = 20000;
	run_with_signal(&rig, SIGTERM);
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_KILLED);
}

static void ignore(int signal)
{
	(void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

static void heed(int signal)
{
	(void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

FOR_BOTH(signals_that_the_caller_ignores_stay_ignored)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;

	rig_init(&rig, uid, "echo ready; grep ^SigIgn /proc/self/status; exec sleep 1000");
	ignore(SIGHUP);
	rig_start_with_pipe(&rig, &end);
	heed(SIGHUP);
	expect(rig_hears(end, "SigIgn:\t0000000000000001\n"));
	expect_eq(kill(rig.supervisor, SIGHUP), 0);
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	rig_wait(&rig);
	rig_expect(&rig, 128 + SIGTERM, SPAWN_REASON_SIGNAL);
}

/* The supervisor stops together with the sandbox; SIGCONT continues both. */
FOR_BOTH(tstp_stops_everything_and_cont_continues_it)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	siginfo_t info = { .si_pid = 0 };

	rig_init(&rig, uid,
		 "trap '' TSTP; (exec sleep 1000) & child=$!; echo ready; "
		 "until grep -q '^State:.T' /proc/$child/status; do :; done; exit 3");
	/* In its own process group with a parent in another group of the session: the kernel does
	 * not stop an orphaned group. */
	rig_start_with_pipe(&rig, &end);
	expect_eq(setpgid(rig.supervisor, rig.supervisor), 0);
	expect(rig_hears(end, "ready"));
	expect_eq(kill(rig.supervisor, SIGTSTP), 0);
	expect_eq(waitid(P_PID, (id_t)rig.supervisor, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
	expect_eq(info.si_code, CLD_STOPPED);
	expect_eq(kill(rig.supervisor, SIGCONT), 0);
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	rig_wait(&rig);
	expect(rig.outcome->result.signal == SIGTERM || rig.outcome->result.exit_code == 3);
}

/* ---- limits ---- */

/* Runs a script with a time limit; again with a longer one if it ran out before the script was
 * ready. */
static void run_out_of_time(struct rig *rig, uid_t uid, const char *script, uint64_t grace_usec)
{
	for (uint64_t limit_usec = 300000;; limit_usec *= 4) {
		rig_init(rig, uid, script);
		rig_limit(rig, LIMIT_TIME, limit_usec);
		rig->plan.grace_usec = grace_usec;
		rig_run(rig);
		if (strstr(rig->output, "ready\n") || limit_usec > DEADLINE_SEC / 4 * 1000000u)
			return;
		rig_deinit(rig);
	}
}

FOR_BOTH(the_time_limit_sends_term_to_all_processes)
{
	_cleanup_rig_ struct rig rig = RIG_NONE;

	run_out_of_time(&rig, uid,
			"(trap 'echo child; exit' TERM; : >/tmp/child; "
			"while :; do sleep 1000 & wait; done) & "
			"trap 'wait; echo parent; exit 3' TERM; "
			"until test -e /tmp/child; do :; done; echo ready; while :; do wait; done",
			20000000);
	rig_expect(&rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
	expect_eq(rig.outcome->result.exit_code, 3);
	expect_str(rig.output, "ready\nchild\nparent\n");
}

FOR_BOTH(the_time_limit_kills_a_command_that_ignores_term)
{
	_cleanup_rig_ struct rig rig = RIG_NONE;

	run_out_of_time(&rig, uid,
			"trap '' TERM; (trap '' TERM; while :; do :; done) & echo ready; "
			"while :; do :; done",
			20000);
	rig_expect(&rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
	expect_eq(rig.outcome->result.signal, SIGKILL);
	/* Even if PID 1 could not report it. */
	expect(rig.outcome->result.usage.ru_maxrss > 0);
}

FOR_BOTH(the_time_limit_ends_what_has_stopped)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "kill -STOP $$; exit 3");
	rig_limit(&rig, LIMIT_TIME, 50000);
	rig_run(&rig);
	rig_expect(&rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
	expect_eq(rig.outcome->result.signal, SIGTERM);
}

/* SIGTERM reaches the command although PID 1 has not run yet when the supervisor sends it. */
FOR_BOTH(a_time_limit_that_is_over_at_once_sends_term)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "exec sleep 1000");
	rig_limit(&rig, LIMIT_TIME, 1);
	rig_run(&rig);
	rig_expect(&rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
	expect_eq(rig.outcome->result.signal, SIGTERM);
}

FOR_BOTH(a_command_that_ends_in_time_has_no_limit_reported)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "exit 0");
	rig_limit(&rig, LIMIT_TIME, UINT64_MAX - 1);
	rig_run(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
}

FOR_BOTH(output_below_the_limit_passes_in_its_order)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "for i in 1 2 3; do echo out $i; echo err $i >&2; done");
	rig_limit(&rig, LIMIT_OUTPUT, 36);
	rig_run(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	expect_str(rig.output, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

FOR_BOTH(output_above_the_limit_is_cut_and_ends_the_command)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "while :; do echo 0123456789; done");
	rig_limit(&rig, LIMIT_OUTPUT, 5000);
	rig_run(&rig);
	rig_expect(&rig, 128 + SIGTERM, SPAWN_REASON_OUTPUT);
	expect_eq(strlen(rig.output), 5000);
}

FOR_BOTH(a_command_whose_reader_goes_away_sees_it)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;

	rig_init(&rig, uid, "echo ready; while echo more; do :; done");
	rig_limit(&rig, LIMIT_OUTPUT, 1u << 30);
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready"));
	(void)close(end);
	end = -EBADF;
	rig_wait(&rig);
	rig_expect(&rig, 128 + SIGPIPE, SPAWN_REASON_SIGNAL);
}

/* ---- the whole tree ---- */

FOR_BOTH(nothing_of_a_fork_bomb_is_left)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;

	rig_init(&rig, uid,
		 "bomb() { (bomb) 2>/dev/null & (bomb) 2>/dev/null & }; bomb; echo ready; "
		 "while :; do :; done");
	rig_insert(&rig, (struct step){ .kind = STEP_RLIMIT,
					.rlimit.name = "nproc",
					.rlimit.resource = 6, /* RLIMIT_NPROC */
					.rlimit.limit = 200 });
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready"));
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	expect(rig_is_silent(end));
	rig_wait(&rig);
}

/* End of file when all processes that have the pipe are gone; PID 1 has closed its copy. */
static void kill_supervisor(struct rig *rig, const char *when)
{
	_cleanup_close_ int end = -EBADF;

	rig_start_with_pipe(rig, &end);
	if (when)
		expect(rig_hears(end, when));
	expect_eq(kill(rig->supervisor, SIGKILL), 0);
	expect(rig_is_silent(end));
	expect_eq(waitpid(rig->supervisor, NULL, 0), rig->supervisor);
}

FOR_BOTH(kill_9_of_the_supervisor_kills_everything)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid,
		 "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" HUP; sleep 1000' &); "
		 "echo ready; while :; do sleep 1000; done");
	kill_supervisor(&rig, "ready");
}

/* Kills at many moments of the set-up; end of file on the pipe shows that nothing is left. */
FOR_BOTH(kill_9_at_any_moment_leaves_nothing)
{
	int n = test_is_slow() ? 400 : 60;

	for (int i = 0; i < n; i++) {
		_cleanup_rig_ struct rig rig;
		_cleanup_close_ int end = -EBADF;
		const struct timespec moment = { .tv_nsec = (long)i * 3000000 / n };

		rig_init(&rig, uid, "exec sleep 1000");
		rig_start_with_pipe(&rig, &end);
		(void)nanosleep(&moment, NULL);
		expect_eq(kill(rig.supervisor, SIGKILL), 0);
		expect(rig_is_silent(end));
		expect_eq(waitpid(rig.supervisor, NULL, 0), rig.supervisor);
	}
}

static const struct test tests[] = {
	BOTH(signals_are_passed_on),
	BOTH(the_whole_group_of_the_command_gets_them),
	BOTH(a_command_that_dies_of_a_signal_dies_of_that_signal),
	BOTH(a_command_that_ignores_term_is_killed_after_the_grace),
	BOTH(signals_that_the_caller_ignores_stay_ignored),
	BOTH(tstp_stops_everything_and_cont_continues_it),
	BOTH(the_time_limit_sends_term_to_all_processes),
	BOTH(the_time_limit_kills_a_command_that_ignores_term),
	BOTH(the_time_limit_ends_what_has_stopped),
	BOTH(a_time_limit_that_is_over_at_once_sends_term),
	BOTH(a_command_that_ends_in_time_has_no_limit_reported),
	BOTH(output_below_the_limit_passes_in_its_order),
	BOTH(output_above_the_limit_is_cut_and_ends_the_command),
	BOTH(a_command_whose_reader_goes_away_sees_it),
	BOTH(nothing_of_a_fork_bomb_is_left),
	BOTH(kill_9_of_the_supervisor_kills_everything),
	BOTH(kill_9_at_any_moment_leaves_nothing),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
