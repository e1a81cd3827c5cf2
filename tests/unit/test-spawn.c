/* SPDX-License-Identifier: MIT */

/* Real commands in real sandboxes, each with a plan written by hand */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "spawn-rig.h"

/* ---- the command's process ---- */

FOR_BOTH(the_status_is_the_commands_own)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "exit 7");
	rig_run(&rig);
	expect_eq(rig.outcome->code, 0);
	rig_expect(&rig, 7, SPAWN_REASON_EXIT);
	expect_eq(rig.outcome->result.exit_code, 7);
	expect_eq(rig.outcome->result.signal, 0);
	expect(rig.outcome->result.usec > 0 && rig.outcome->result.usec < 60000000);
	expect(rig.outcome->result.peak_memory_bytes > 0);
	expect(!rig.outcome->result.is_peak_of_cgroup);
}

FOR_BOTH(a_signal_is_told_as_a_signal)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "kill -USR1 $$");
	rig_run(&rig);
	rig_expect(&rig, 128 + SIGUSR1, SPAWN_REASON_SIGNAL);
	expect_eq(rig.outcome->result.signal, SIGUSR1);
	expect_eq(rig.outcome->result.exit_code, -1);
}

FOR_BOTH(a_command_that_is_not_there_is_127)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "");
	rig.argv[0] = "no-such-command";
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ENOENT);
	rig_expect(&rig, SPAWN_NOT_FOUND, SPAWN_REASON_EXEC);
	expect(strstr(rig.outcome->err.what, "'no-such-command'") != NULL);
	expect(rig.outcome->err.why[0] && rig.outcome->err.fix[0]);
}

FOR_BOTH(a_command_that_may_not_be_executed_is_126)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "");
	rig.argv[0] = "/usr/share";
	rig_run(&rig);
	expect_eq(rig.outcome->code, -EACCES);
	rig_expect(&rig, SPAWN_CANNOT_EXECUTE, SPAWN_REASON_EXEC);
}

FOR_BOTH(the_command_has_an_id_that_the_host_does_not_use)
{
	_cleanup_rig_ struct rig rig;
	char wanted[64];

	rig_init(&rig, uid, "echo $$ $(id -u) $(ls /proc/self/fd | wc -l) $PATH; pwd; umask");
	rig_run(&rig);
	/* The command's parent is PID 1; ls has three fds and one for the directory that it reads.
	 */
	(void)snprintf(wanted, sizeof(wanted), "2 %u 4 /usr/bin:/bin\n/tmp\n", rig.plan.uid);
	expect(strncmp(rig.output, wanted, strlen(wanted)) == 0);
	if (strncmp(rig.output, wanted, strlen(wanted)) != 0)
		printf("# %s", rig.output);
}

FOR_BOTH(signals_and_rights_are_as_they_should_be)
{
	static const char *const wanted[] = {
		"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n",
		"SigCgt:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
		"CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n",
	};
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "exec cat /proc/self/status");
	rig_run(&rig);
	for (size_t i = 0; i < N_ELEMENTS(wanted); i++)
		expect(strstr(rig.output, wanted[i]) != NULL);
}

/* ---- stdio and fds ---- */

FOR_BOTH(stdin_and_stdout_are_untouched)
{
	_cleanup_rig_ struct rig rig;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	rig_init(&rig, uid, "cat; stat -L -c %F /proc/self/fd/0; echo to stderr >&2");
	(void)close(rig.stdin_fd);
	rig.stdin_fd = ends[0];
	expect_eq(fd_write_all(ends[1], "through the pipe\n", 17), 0);
	(void)close(ends[1]);
	rig_run(&rig);
	expect_str(rig.output, "through the pipe\nfifo\nto stderr\n");
}

/* Opens an fd without close-on-exec, as a careless caller does. */
static int open_carelessly(int number)
{
	int fd = open("/usr/share", O_RDONLY | O_DIRECTORY);

	if (fd < 0 || dup2(fd, number) < 0)
		abort();
	(void)close(fd);
	return number;
}

FOR_BOTH(inherited_fds_are_closed)
{
	_cleanup_rig_ struct rig rig;
	int low = open_carelessly(50), high = open_carelessly(900);

	rig_init(&rig, uid, "ls /proc/self/fd");
	rig_run(&rig);
	expect_str(rig.output, "0\n1\n2\n3\n");
	(void)close(low);
	(void)close(high);
}

FOR_BOTH(named_fds_arrive_and_no_others)
{
	static const int fds[] = { 60, 42, 61 };
	_cleanup_rig_ struct rig rig;
	int careless = open_carelessly(50);

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		expect_eq(fcntl(open_carelessly(fds[i]), F_SETFD, FD_CLOEXEC), 0);
	rig_init(&rig, uid, "ls /proc/self/fd; readlink /proc/self/fd/42");
	rig.plan.fds = fds;
	rig.plan.n_fds = N_ELEMENTS(fds);
	rig_run(&rig);
	expect_str(rig.output, "0\n1\n2\n3\n42\n60\n61\n/usr/share\n");
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		(void)close(fds[i]);
	(void)close(careless);
}

FOR_BOTH(an_fd_that_is_not_open_is_a_failure)
{
	static const int fds[] = { 77 };
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "echo ran");
	rig.plan.fds = fds;
	rig.plan.n_fds = 1;
	rig_run(&rig);
	expect_eq(rig.outcome->code, -EBADF);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect_str(rig.output, "");
	expect(rig.outcome->err.fix[0] != '\0');
}

static int close_named(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	const struct rig *rig = userdata;

	for (size_t i = 0; i < rig->plan.n_fds; i++)
		(void)close(rig->plan.fds[i]);
	/* The plan's fds were not counted before. */
	rig->outcome->n_fds_before -= (int)rig->plan.n_fds;
	return 0;
}

/* End of file when the command closes its fd: PID 1 has no copy. */
FOR_BOTH(pid_1_holds_nothing_of_the_commands)
{
	static const int fds[] = { 9 };
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	const struct spawn_hooks hooks = { .started = close_named, .userdata = &rig };
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[1], fds[0]) < 0)
		abort();
	(void)close(ends[1]);
	end = ends[0];
	rig_init(&rig, uid, "exec 9>&-; exec sleep 1000");
	rig.plan.fds = fds;
	rig.plan.n_fds = 1;
	rig.options.hooks = &hooks;
	rig_start(&rig);
	(void)close(fds[0]);
	expect(rig_is_ready(end, POLLIN));
	expect_eq(read(end, &byte, 1), 0);
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	rig_wait(&rig);
	rig_expect(&rig, 128 + SIGTERM, SPAWN_REASON_SIGNAL);
}

/* Closes the supervisor's copies of stdout and stderr, as a caller does that will not write any
 * more. */
static int close_own_output(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	const struct rig *rig = userdata;
	const int fds[] = { STDOUT_FILENO, STDERR_FILENO, rig->output_fd };

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		if (dup2(STDIN_FILENO, fds[i]) < 0)
			return -errno;
	return 0;
}

/* A reader of the command's stdout gets end of file while the command still runs. */
FOR_BOTH(pid_1_does_not_hold_the_commands_stdout_open)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	const struct spawn_hooks hooks = { .started = close_own_output, .userdata = &rig };

	rig_init(&rig, uid, "exec >/dev/null 2>&1; exec sleep 1000");
	rig.options.hooks = &hooks;
	rig_start_with_pipe(&rig, &end);
	expect(rig_is_silent(end));
	expect(!rig.outcome->has_run);
	expect_eq(kill(rig.supervisor, SIGTERM), 0);
	rig_wait(&rig);
	rig_expect(&rig, 128 + SIGTERM, SPAWN_REASON_SIGNAL);
}

/* ---- remaining processes ---- */

FOR_BOTH(orphans_are_reaped)
{
	_cleanup_rig_ struct rig rig;

	/* A grandchild, so that PID 1 becomes its parent; no zombie may be left. */
	rig_init(&rig, uid,
		 "for i in 1 2 3 4 5 6 7 8; do (sh -c 'exit 3' & ) ; done; "
		 "while pgrep -P 1 -x sh | grep -qv \"^$$\\$\"; do :; done; "
		 "grep -l '^State:.Z' /proc/[0-9]*/status; echo done");
	rig_run(&rig);
	expect_str(rig.output, "done\n");
}

FOR_BOTH(background_processes_of_the_command_are_killed)
{
	_cleanup_rig_ struct rig rig;
	_cleanup_close_ int end = -EBADF;
	int ends[2];
	char byte;

	/* The daemon has the pipe open until it exits. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	end = ends[0];
	rig_init(&rig, uid, "(setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000' &) ; exit 5");
	(void)close(rig.output_fd);
	rig.output_fd = ends[1];
	rig_start(&rig);
	(void)close(rig.output_fd);
	rig.output_fd = memfd_create("none", MFD_CLOEXEC);
	expect(rig_is_ready(end, POLLIN));
	expect_eq(read(end, &byte, 1), 0);
	rig_wait(&rig);
	rig_expect(&rig, 5, SPAWN_REASON_EXIT);
}

FOR_BOTH(a_stopped_child_does_not_hang_the_end)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "sleep 1000 & kill -STOP $!; exit 4");
	rig_run(&rig);
	rig_expect(&rig, 4, SPAWN_REASON_EXIT);
}

FOR_BOTH(the_usage_is_the_commands_and_its_childrens)
{
	_cleanup_rig_ struct rig rig;
	const struct rusage *usage;

	rig_init(&rig, uid, "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done");
	rig_run(&rig);
	usage = &rig.outcome->result.usage;
	/* The kernel splits CPU time into user and system time by sampling at its clock ticks. */
	expect((usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
		       usage->ru_utime.tv_usec + usage->ru_stime.tv_usec >
	       1000);
	expect(usage->ru_maxrss > 0);
	expect_eq(rig.outcome->result.peak_memory_bytes, (uint64_t)usage->ru_maxrss * 1024);
}

/* ---- callbacks of the caller ---- */

struct told {
	struct outcome *outcome;
	pid_t init;
	int answer;
};

static int started(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	struct told *told = userdata;

	told->outcome->note = init > 1 && kill(init, 0) == 0 && !cgroup;
	return told->answer < 0 ? sbx_error_what(err, told->answer, "not today") : 0;
}

static void stopping(void *userdata)
{
	struct told *told = userdata;

	told->outcome->note += 10;
}

static void run_told(uid_t uid, const char *script, uint64_t limit_usec, int note)
{
	_cleanup_rig_ struct rig rig;
	struct told told = { .answer = 0 };
	const struct spawn_hooks hooks = {
		.started = started,
		.stopping = stopping,
		.userdata = &told,
	};

	rig_init(&rig, uid, script);
	told.outcome = rig.outcome;
	rig.options.hooks = &hooks;
	rig_limit(&rig, LIMIT_TIME, limit_usec);
	rig_run(&rig);
	expect_eq(rig.outcome->note, note);
}

FOR_BOTH(the_caller_is_told_of_the_beginning)
{
	run_told(uid, "true", 60000000, 1);
}

FOR_BOTH(the_caller_is_told_of_an_end_that_takes_a_while)
{
	run_told(uid, "exec sleep 1000", 50000, 11);
}

static void executed(void *userdata)
{
	struct told *told = userdata;

	told->outcome->note += 100;
}

static void run_executed(uid_t uid, const char *program, enum spawn_reason reason, int note)
{
	_cleanup_rig_ struct rig rig;
	struct told told = { .answer = 0 };
	const struct spawn_hooks hooks = {
		.started = started,
		.executed = executed,
		.userdata = &told,
	};

	rig_init(&rig, uid, "true");
	rig.argv[0] = program;
	told.outcome = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_str(spawn_reason_name(rig.outcome->result.reason), spawn_reason_name(reason));
	expect_eq(rig.outcome->note, note);
}

FOR_BOTH(the_caller_is_told_that_the_command_runs)
{
	run_executed(uid, "/bin/sh", SPAWN_REASON_EXIT, 101);
	run_executed(uid, "/no/such/program", SPAWN_REASON_EXEC, 1);
	run_executed(uid, "/usr", SPAWN_REASON_EXEC, 1);
}

FOR_BOTH(the_caller_can_say_no_before_anything_runs)
{
	_cleanup_rig_ struct rig rig;
	struct told told = { .answer = -EDQUOT };
	const struct spawn_hooks hooks = {
		.started = started,
		.stopping = stopping,
		.userdata = &told,
	};

	rig_init(&rig, uid, "echo ran");
	told.outcome = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_eq(rig.outcome->code, -EDQUOT);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect_str(rig.outcome->err.what, "not today");
	expect_str(rig.output, "");
	/* A caller that has refused need not be told about the end. */
	expect_eq(rig.outcome->note, 1);
}

static int kill_it(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	_cleanup_close_ int pidfd = pidfd_of(init);

	return pidfd < 0 || pidfd_kill(pidfd, SIGKILL) < 0 || !rig_is_ready(pidfd, POLLIN) ? -EIO
											   : 0;
}

FOR_BOTH(a_pid_1_that_is_killed_while_it_builds_is_told)
{
	_cleanup_rig_ struct rig rig;
	const struct spawn_hooks hooks = { .started = kill_it };

	rig_init(&rig, uid, "echo ran");
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ECHILD);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect(strstr(rig.outcome->err.why, "signal 9") != NULL);
	expect_str(rig.output, "");
}

/* ---- failed set-up ---- */

FOR_BOTH(a_step_that_fails_is_named_and_nothing_runs)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "echo ran");
	rig_find(&rig, STEP_WORKING_DIRECTORY)->working_directory.target = "/nowhere";
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ENOENT);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect(strstr(rig.outcome->err.why, "/nowhere") != NULL);
	expect_str(rig.output, "");
}

FOR_BOTH(a_source_that_is_gone_is_a_failure)
{
	_cleanup_rig_ struct rig rig;

	rig_init(&rig, uid, "echo ran");
	rig_find(&rig, STEP_BIND)->bind.source = "/dev/no-such-device";
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ENOENT);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect_str(rig.output, "");
}

static const struct test tests[] = {
	BOTH(the_status_is_the_commands_own),
	BOTH(a_signal_is_told_as_a_signal),
	BOTH(a_command_that_is_not_there_is_127),
	BOTH(a_command_that_may_not_be_executed_is_126),
	BOTH(the_command_has_an_id_that_the_host_does_not_use),
	BOTH(signals_and_rights_are_as_they_should_be),
	BOTH(stdin_and_stdout_are_untouched),
	BOTH(inherited_fds_are_closed),
	BOTH(named_fds_arrive_and_no_others),
	BOTH(an_fd_that_is_not_open_is_a_failure),
	BOTH(pid_1_holds_nothing_of_the_commands),
	BOTH(pid_1_does_not_hold_the_commands_stdout_open),
	BOTH(orphans_are_reaped),
	BOTH(background_processes_of_the_command_are_killed),
	BOTH(a_stopped_child_does_not_hang_the_end),
	BOTH(the_usage_is_the_commands_and_its_childrens),
	BOTH(the_caller_is_told_of_the_beginning),
	BOTH(the_caller_is_told_of_an_end_that_takes_a_while),
	BOTH(the_caller_is_told_that_the_command_runs),
	BOTH(the_caller_can_say_no_before_anything_runs),
	BOTH(a_pid_1_that_is_killed_while_it_builds_is_told),
	BOTH(a_step_that_fails_is_named_and_nothing_runs),
	BOTH(a_source_that_is_gone_is_a_failure),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
