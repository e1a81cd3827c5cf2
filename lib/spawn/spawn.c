/* SPDX-License-Identifier: MIT */

/*
 * One sandbox from its begin to its end
 *
 * Begin: prepare, clone, and call the caller's hook while PID 1 builds. Watch: a loop over messages
 * of PID 1, signals, its end and the clock. End, in every case: kill PID 1 and with it all
 * processes, reap it, write the last output, remove the cgroup. If anything fails before the
 * command may run, the whole start fails.
 */

#include "spawn/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "spawn/init.h"
#include "spawn/join.h"
#include "spawn/spawn-internal.h"

#define WAKE_AGAIN_USEC 100000

int spawn_fail(struct spawn *spawn, int code, const char *what)
{
	return sbx_error_what(spawn->err, code, "%s", what);
}

/* ---- ending: SIGTERM first, SIGKILL after the grace time ---- */

static bool stop_is_paused(const struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	return hooks && hooks->is_paused && hooks->is_paused(hooks->userdata);
}

static bool is_held_by_us(const struct plan_limit *limit)
{
	return limit->is_set && limit->holder == HELD_BY_SUPERVISOR;
}

uint64_t *spawn_output_left(struct spawn *spawn)
{
	return is_held_by_us(&spawn->plan->limits[LIMIT_OUTPUT]) ? &spawn->output.left : NULL;
}

static void limits_begin(struct spawn *spawn)
{
	const struct plan_limit *time = &spawn->plan->limits[LIMIT_TIME];

	spawn->begun_usec = loop_now();
	if (is_held_by_us(time))
		spawn->ending.limit_usec = loop_after(spawn->begun_usec, time->value);
}

static uint64_t limits_next(const struct spawn *spawn)
{
	uint64_t limit_usec =
		spawn->ending.paused_usec ? LOOP_NO_DEADLINE : spawn->ending.limit_usec;

	return limit_usec < spawn->ending.kill_usec ? limit_usec : spawn->ending.kill_usec;
}

static void limits_tell(struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	if (!spawn->ending.is_told && spawn->is_started && hooks && hooks->stopping)
		hooks->stopping(hooks->userdata);
	spawn->ending.is_told = true;
}

/* The cgroup itself is removed after its counters were read. */
static void kill_cgroup(struct spawn *spawn)
{
	if (kernel_write_cgroup(spawn->kernel.cgroup_fd, "cgroup.kill", "1") < 0)
		(void)kernel_finish(&spawn->kernel);
}

void limits_kill(struct spawn *spawn)
{
	if (spawn->kernel.pidfd >= 0)
		(void)pidfd_kill(spawn->kernel.pidfd, SIGKILL);
	if (!(spawn->namespaces & CLONE_NEWPID))
		kill_cgroup(spawn);
	spawn->ending.kill_usec = LOOP_NO_DEADLINE;
}

/* A protection is lost: SIGKILL at once, without the TERM grace, even if another limit is already
 * ending the sandbox. */
void limits_check_watch(struct spawn *spawn)
{
	if (spawn->ending.lost.path)
		return;
	spawn->ending.lost = watch_check(&spawn->watch);
	if (!spawn->ending.lost.path)
		return;
	spawn->ending.cause = SPAWN_REASON_PROTECTION;
	limits_kill(spawn);
}

static void limits_await_end(struct spawn *spawn)
{
	uint64_t then = loop_after(loop_now(), spawn->plan->grace_usec);

	/* A second SIGTERM does not extend the grace. */
	if (then < spawn->ending.kill_usec)
		spawn->ending.kill_usec = then;
	limits_tell(spawn);
}

static void limits_end(struct spawn *spawn, enum spawn_reason cause)
{
	if (spawn->ending.cause != SPAWN_REASON_NONE)
		return;
	spawn->ending.cause = cause;
	spawn->ending.limit_usec = LOOP_NO_DEADLINE;
	(void)pidfd_kill(spawn->kernel.pidfd, SIGNAL_END_ALL);
	limits_await_end(spawn);
}

static void limits_check_pause(struct spawn *spawn)
{
	bool is_paused = stop_is_paused(spawn);
	uint64_t now = loop_now();

	if (is_paused == (spawn->ending.paused_usec != 0))
		return;
	if (!is_paused)
		spawn->ending.limit_usec =
			loop_after(spawn->ending.limit_usec, now - spawn->ending.paused_usec);
	spawn->ending.paused_usec = is_paused ? now : 0;
}

/* SIGURG for a pause may be pending still: look at the pause itself before the time limit ends the
 * sandbox. */
static bool time_is_over(struct spawn *spawn, uint64_t now)
{
	if (spawn->ending.paused_usec || now < spawn->ending.limit_usec)
		return false;
	limits_check_pause(spawn);
	return !spawn->ending.paused_usec;
}

static void limits_check(struct spawn *spawn)
{
	uint64_t next = limits_next(spawn);
	uint64_t now = next == LOOP_NO_DEADLINE ? 0 : loop_now();

	if (time_is_over(spawn, now))
		limits_end(spawn, SPAWN_REASON_TIME);
	if (output_is_over(&spawn->output) || spawn->terminal.output.is_over)
		limits_end(spawn, SPAWN_REASON_OUTPUT);
	if (now < spawn->ending.kill_usec)
		return;
	if (spawn->ending.cause == SPAWN_REASON_NONE)
		spawn->ending.cause = SPAWN_REASON_KILLED;
	limits_kill(spawn);
}

/* ---- the process with which the sandbox ends ---- */

/* Before the command runs, so that none is started for a process that has ended already. */
static int check_parent(struct spawn *spawn)
{
	const int *parent = spawn->options->parent;
	struct pollfd end = { .fd = parent ? *parent : -EBADF, .events = POLLIN };

	if (!parent || poll(&end, 1, 0) == 0)
		return 0;
	return error_fill(spawn->err, -ECANCELED, "it has ended", "start it again",
			  "the sandbox ends with the process that has started it");
}

/* A reader of the output that does not read must not keep the supervisor for ever. */
static void drain_within_grace(struct spawn *spawn)
{
	spawn->ending.drain_usec = loop_after(loop_now(), spawn->plan->grace_usec);
}

static int parent_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;

	source->events = 0;
	spawn->ending.is_left = true;
	if (spawn->is_over)
		drain_within_grace(spawn);
	else
		limits_end(spawn, SPAWN_REASON_PARENT);
	return 0;
}

/* ---- stopping: all processes inside first, then the supervisor and its job ---- */

/*
 * A stopped supervisor cannot enforce the time limit, and the shell that stopped it may never
 * continue it. So a waker, a helper process in its own session, sends SIGCONT to the supervisor at
 * the limit; if no waker can be started, nothing is stopped.
 *
 * A process inside could continue itself with a POSIX timer that sends SIGCONT. The freezer of the
 * sandbox's cgroup stops it anyway; without a cgroup there is only SIGSTOP.
 */

static int freeze(const struct spawn *spawn, const char *state)
{
	return kernel_write_cgroup(spawn->kernel.cgroup_fd, "cgroup.freeze", state);
}

/* SIGCONT discards a pending SIGTSTP, and has no effect on a supervisor that stops only afterwards:
 * so send it again until the supervisor ends the waker. */
static noreturn void wake(pid_t supervisor, uint64_t deadline_usec)
{
	siginfo_t info = { .si_signo = 0 };
	uint64_t now;

	join_become_helper();
	for (;;) {
		now = loop_now();
		if (now >= deadline_usec) {
			(void)kill(supervisor, SIGCONT);
			deadline_usec = now + WAKE_AGAIN_USEC;
		}
		if (signals_wait_for(deadline_usec - now, &info) == JOINED_END &&
		    info.si_pid == supervisor)
			child_leave(0);
	}
}

static int start_waker(const struct spawn *spawn, struct joined *ret)
{
	uint64_t deadline_usec = limits_next(spawn);
	pid_t supervisor = getpid();
	int r;

	if (deadline_usec == LOOP_NO_DEADLINE)
		return 0;
	r = join_fork(ret, NULL, 0);
	if (r == 0)
		wake(supervisor, deadline_usec);
	return r < 0 ? r : 0;
}

static void stop_job(struct spawn *spawn, bool whole_job)
{
	struct joined waker = JOINED_INIT;

	if (start_waker(spawn, &waker) < 0)
		return;
	terminal_release(&spawn->terminal);
	signals_stop_ourselves(whole_job);
	terminal_seize(&spawn->terminal);
	joined_deinit(&waker);
}

void stop_with_job(struct spawn *spawn, bool whole_job)
{
	bool is_frozen = freeze(spawn, "1") == 0;

	if (!is_frozen)
		(void)pidfd_kill(spawn->kernel.pidfd, SIGNAL_STOP_ALL);
	stop_job(spawn, whole_job);
	/* 'sbx-ctl pause' uses the same freezer: a sandbox that it paused is resumed only by 'sbx-
	 * ctl resume'. */
	if (is_frozen && !stop_is_paused(spawn))
		(void)freeze(spawn, "0");
	(void)pidfd_kill(spawn->kernel.pidfd, is_frozen ? SIGCONT : SIGNAL_CONT_ALL);
}

/* ---- signals of the supervisor ---- */

/* PID 1 passes the signal on to the command's process group. That is in another session, so the
 * terminal does not send it a second time. */
static void pass_on(const struct spawn *spawn, int signal)
{
	(void)pidfd_kill(spawn->kernel.pidfd, signal);
}

static void forward(struct spawn *spawn, int signal)
{
	bool has_terminal = spawn->terminal.master >= 0;

	/* TIOCSWINSZ sends SIGWINCH to the foreground job inside. */
	if (signal == SIGWINCH && has_terminal) {
		terminal_resize(&spawn->terminal);
		return;
	}
	/* The supervisor may be in the foreground now. */
	if (signal == SIGCONT && has_terminal)
		terminal_seize(&spawn->terminal);
	pass_on(spawn, signal);
	if (signal == SIGTERM)
		limits_await_end(spawn);
}

static int outside_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;
	int signal = signals_next(&spawn->signals);

	if (spawn->is_over)
		spawn->ending.gives_up = spawn->ending.gives_up || signal == SIGINT ||
					 signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
	else if (signal_use(signal) == SIGNAL_STOPS)
		stop_with_job(spawn, false);
	else if (signal_use(signal) == SIGNAL_FORWARDED)
		forward(spawn, signal);
	else if (signal_use(signal) == SIGNAL_PAUSED)
		limits_check_pause(spawn);
	return 0;
}

static void outside_check(struct spawn *spawn)
{
	if (!spawn->terminal.has_hung_up)
		return;
	/* The kernel sends SIGHUP only to the session leader, which is PID 1 inside. */
	pass_on(spawn, SIGHUP);
	pass_on(spawn, SIGCONT);
	spawn->terminal.has_hung_up = false;
}

/* ---- begin ---- */

static int fail_step(struct spawn *spawn, const struct kernel_failure *failure)
{
	kernel_explain(spawn->plan, failure, spawn->err);
	return failure->code;
}

static bool has_step(const struct spawn *spawn, enum step_kind kind)
{
	return plan_find_step(spawn->plan, kind);
}

/* True if a process joins the namespaces later: the agent of --listen, or 'sbx-ctl exec'. */
static bool hands_namespaces(const struct spawn *spawn)
{
	return spawn->plan->n_inward > 0 ||
	       (spawn->plan->may_exec && spawn->options->control_socket >= 0);
}

static void await(struct spawn *spawn, enum message_kind kind, bool is_awaited)
{
	if (is_awaited)
		spawn->inside.awaited |= 1u << kind;
}

static int read_plan(struct spawn *spawn)
{
	int r = watch_read_plan(&spawn->watch, spawn->plan);

	spawn->namespaces = namespace_set_of_plan(spawn->plan);
	spawn->namespace_set.uid = spawn->plan->uid;
	spawn->namespace_set.gid = spawn->plan->gid;
	namespace_set_list(&spawn->namespace_set, spawn->namespaces);
	await(spawn, MESSAGE_NAMESPACES, hands_namespaces(spawn) && spawn->namespace_set.n > 0);
	await(spawn, MESSAGE_LISTENERS, has_step(spawn, STEP_LISTEN));
	await(spawn, MESSAGE_TERMINAL, has_step(spawn, STEP_TERMINAL));
	await(spawn, MESSAGE_NOTIFIER, spawn->options->filter_notifies);
	await(spawn, MESSAGE_TREE, watch_is_needed(&spawn->watch));
	return r < 0 ? spawn_fail(spawn, r, "cannot read the plan") : 0;
}

/* With a terminal its relay counts the output. */
static int prepare_output(struct spawn *spawn)
{
	const uint64_t *left = spawn_output_left(spawn);
	int r;

	if (!left)
		return 0;
	spawn->output.left = spawn->plan->limits[LIMIT_OUTPUT].value;
	if (has_step(spawn, STEP_TERMINAL))
		return 0;
	r = output_begin(&spawn->output, &spawn->loop, spawn->output.left);
	return r < 0 ? spawn_fail(spawn, r, "cannot limit the command's output") : 0;
}

static int prepare_terminal(struct spawn *spawn)
{
	int r;

	output_get_inner(&spawn->output, spawn->stdio);
	if (has_step(spawn, STEP_TERMINAL))
		return 0;
	r = terminal_lend(&spawn->terminal, &spawn->loop, spawn_output_left(spawn), spawn->stdio);
	if (r > 0)
		r = terminal_give(&spawn->terminal, spawn->plan->uid);
	if (r >= 0)
		return 0;
	(void)spawn_fail(spawn, r, "cannot make a terminal for the command");
	if (r == -ENOTUNIQ)
		sbx_error_why(spawn->err, "stdin, stdout and stderr are different terminals");
	sbx_error_fix(spawn->err, "redirect them: '</dev/null 2>&1 | cat'");
	return r;
}

static void tell_unmapped(const struct spawn *spawn, const char *path, bool is_of_system)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	if (path && hooks && hooks->unmapped)
		hooks->unmapped(hooks->userdata, path, is_of_system);
}

static int prepare(struct spawn *spawn)
{
	const struct spawn_options *options = spawn->options;
	struct kernel_failure failure = { .step = KERNEL_NO_STEP };
	int r = signals_begin(&spawn->signals);

	if (r < 0)
		return spawn_fail(spawn, r, "cannot watch for signals");
	r = forwarding_begin(&spawn->forwarding, &spawn->loop, spawn->plan, spawn->err);
	if (r < 0)
		return r;
	r = prepare_output(spawn);
	if (r < 0)
		return r;
	r = prepare_terminal(spawn);
	if (r < 0)
		return r;
	memcpy(spawn->kernel.streams, spawn->stdio, sizeof(spawn->kernel.streams));
	spawn->kernel.umask = options->umask;
	if (kernel_prepare(&spawn->kernel, spawn->plan, options->filter, options->filter_notifies,
			   &failure) < 0)
		return fail_step(spawn, &failure);
	tell_unmapped(spawn, spawn->kernel.unmapped, false);
	tell_unmapped(spawn, spawn->kernel.of_system, true);
	return 0;
}

/* Runs in the new process. */
static noreturn void become_init(struct spawn *spawn, int socket, int supervisor_socket)
{
	struct init init = {
		.kernel = &spawn->kernel,
		.plan = spawn->plan,
		.socket = socket,
		.supervisor_socket = supervisor_socket,
		.namespaces = spawn->namespaces,
		.hands_namespaces = (spawn->inside.awaited & (1u << MESSAGE_NAMESPACES)) != 0,
		.hands_tree = watch_is_needed(&spawn->watch),
		.tells_execution = inside_tells_execution(spawn),
		.awaits_place = has_step(spawn, STEP_SCOPE),
		.terminal = spawn->terminal.inner,
	};

	memcpy(init.stdio, spawn->stdio, sizeof(init.stdio));
	init_run(&init);
}

static int clone_init(struct spawn *spawn)
{
	_cleanup_close_ int ours = -EBADF, its = -EBADF;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return spawn_fail(spawn, -errno, "cannot make a socket");
	ours = pair[0];
	its = pair[1];
	/* O_NONBLOCK applies to this end only. */
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return spawn_fail(spawn, -errno, "cannot make a socket");
	pid = kernel_clone(&spawn->kernel);
	if (pid == 0)
		become_init(spawn, its, ours);
	if (pid < 0) {
		const struct kernel_failure failure = {
			.step = kernel_find_step(spawn->plan, STEP_NAMESPACES),
			.code = pid,
		};

		return fail_step(spawn, &failure);
	}
	spawn->inside.source.fd = take_fd(&ours);
	/* Not dumpable from here on: its memory has the policy and the environment. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	output_close_inner(&spawn->output);
	return 0;
}

static int add_sources(struct spawn *spawn)
{
	struct loop *loop = &spawn->loop;
	struct source *inside = &spawn->inside.source;
	int r = loop_watch(loop, &spawn->outside, spawn->signals.fd, POLLIN, outside_ready, spawn);

	if (r < 0)
		return r;
	r = loop_watch(loop, inside, inside->fd, POLLIN, inside_ready, spawn);
	if (r < 0)
		return r;
	if (spawn->options->parent)
		r = loop_watch(loop, &spawn->parent, *spawn->options->parent, POLLIN, parent_ready,
			       spawn);
	if (r < 0)
		return r;
	return loop_watch(loop, &spawn->end, spawn->kernel.pidfd, POLLIN, inside_end_ready, spawn);
}

/* PID 1 builds the sandbox meanwhile; the command waits for MESSAGE_GO, after started(). */
static int tell_started(struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;
	const struct step *step = plan_find_step(spawn->plan, STEP_CGROUP);
	const char *cgroup = step ? step->cgroup.path : spawn->unit.scope.directory;
	int r = 0;

	if (hooks && hooks->started)
		r = hooks->started(hooks->userdata, spawn->kernel.pid, cgroup, spawn->err);
	spawn->is_started = r >= 0;
	return r;
}

static int begin(struct spawn *spawn)
{
	int r = read_plan(spawn);

	limits_begin(spawn);
	if (r < 0)
		return r;
	r = check_parent(spawn);
	if (r < 0)
		return r;
	r = prepare(spawn);
	if (r < 0)
		return r;
	r = clone_init(spawn);
	if (r < 0)
		return r;
	r = add_sources(spawn);
	if (r < 0)
		return spawn_fail(spawn, r, "cannot watch the sandbox");
	r = unit_begin(spawn);
	if (r < 0)
		return r;
	r = tell_started(spawn);
	return r < 0 ? r : inside_maybe_go(spawn);
}

/* ---- watch and end ---- */

static int watch(struct spawn *spawn)
{
	while (!spawn->is_over) {
		uint64_t limit = limits_next(spawn), look = terminal_next(&spawn->terminal);
		int r = loop_turn(&spawn->loop, look < limit ? look : limit);

		if (r < 0)
			return r;
		terminal_check(&spawn->terminal);
		outside_check(spawn);
		limits_check(spawn);
	}
	return 0;
}

/* Blocks until the kernel has killed all processes of the PID namespace. */
static void reap(struct spawn *spawn, struct counted *counted)
{
	siginfo_t info = { .si_status = 0 };
	long r;

	if (spawn->kernel.pidfd < 0)
		return;
	limits_kill(spawn);
	/* waitid() of the C library has no rusage argument. */
	do
		r = syscall(SYS_waitid, P_PIDFD, spawn->kernel.pidfd, &info, WEXITED,
			    &counted->init_usage);
	while (r < 0 && errno == EINTR);
	counted->init_status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
							  : W_EXITCODE(0, info.si_status);
}

/* Drain without a deadline: the reader of stdout may be slow. A signal aborts it, and the end of
 * the process with which the sandbox ends sets one. */
static void drain(struct spawn *spawn)
{
	spawn->is_over = true;
	loop_remove(&spawn->loop, &spawn->inside.source);
	loop_remove(&spawn->loop, &spawn->end);
	loop_remove(&spawn->loop, &spawn->watch.changes);
	relay_pause(&spawn->terminal.input, true);
	terminal_drain(&spawn->terminal);
	output_drain(&spawn->output);
	if (spawn->ending.is_left)
		drain_within_grace(spawn);
	while (!spawn->ending.gives_up && loop_now() < spawn->ending.drain_usec &&
	       !(output_has_ended(&spawn->output) && terminal_has_ended(&spawn->terminal))) {
		limits_tell(spawn);
		if (loop_turn(&spawn->loop, spawn->ending.drain_usec) < 0)
			break;
	}
}

static void end(struct spawn *spawn, struct counted *counted)
{
	door_close(&spawn->door);
	forwarding_deinit(&spawn->forwarding);
	reap(spawn, counted);
	result_look(spawn, counted);
	joined_deinit(&spawn->unit.keeper);
	/* A protecting mount may have been lost just before the end. */
	limits_check_watch(spawn);
	drain(spawn);
	terminal_deinit(&spawn->terminal);
	output_deinit(&spawn->output);
}

static void deinit(struct spawn *spawn)
{
	notifier_deinit(&spawn->notifier);
	watch_deinit(&spawn->watch);
	namespace_set_close(&spawn->namespace_set);
	close_fd(&spawn->inside.source.fd);
	/* 'sbx-ctl gc' removes what cannot be removed now. */
	(void)kernel_finish(&spawn->kernel);
	kernel_deinit(&spawn->kernel);
	loop_deinit(&spawn->loop);
	signals_end(&spawn->signals);
	free_ptr(&spawn->unit.scope.directory);
	(void)prctl(PR_SET_DUMPABLE, spawn->was_dumpable, 0, 0, 0);
}

int spawn_run(const struct plan *plan, const struct spawn_options *options,
	      struct spawn_result *ret, struct sbx_error *err)
{
	struct spawn spawn = SPAWN_INIT;
	struct counted counted = { .init_status = 0 };
	int r;

	spawn.plan = plan;
	spawn.options = options;
	spawn.err = err;
	spawn.was_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	r = begin(&spawn);
	if (r == 0)
		r = watch(&spawn);
	end(&spawn, &counted);
	r = result_make(&spawn, &counted, r, ret);
	deinit(&spawn);
	return r;
}
