/* SPDX-License-Identifier: MIT */

/*
 * One sandbox from its beginning to its end
 *
 * Begin: prepare, clone, and while PID 1 builds, tell our caller. Watch: a loop over what PID 1
 * says, signals, its end and the clock. End, on every way out: kill PID 1 and with it everything,
 * reap it, let the last output through, remove the cgroup. What fails before the command may go
 * fails as a whole.
 */

#include "spawn/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/init.h"
#include "spawn/spawn-internal.h"

static int fail(struct spawn *spawn, int code, const char *what)
{
	return sbx_error_what(spawn->err, code, "%s", what);
}

static int fail_step(struct spawn *spawn, const struct kernel_failure *failure)
{
	kernel_explain(spawn->plan, failure, spawn->err);
	return failure->code;
}

static bool has_step(const struct spawn *spawn, enum step_kind kind)
{
	return kernel_find_step(spawn->plan, kind) != KERNEL_NO_STEP;
}

/* Somebody will join it later. */
static bool hands_namespaces(const struct spawn *spawn)
{
	return spawn->plan->n_inward > 0 ||
	       (spawn->plan->may_exec && spawn->options->control_socket >= 0);
}

static void await(struct spawn *spawn, enum message_kind kind, bool is_awaited)
{
	if (is_awaited)
		spawn->awaited |= 1u << kind;
}

static int read_plan(struct spawn *spawn)
{
	int r = watch_read_plan(&spawn->watch, spawn->plan);

	spawn->namespaces = place_namespaces(spawn->plan);
	spawn->place.uid = spawn->plan->uid;
	spawn->place.gid = spawn->plan->gid;
	place_list(&spawn->place, spawn->namespaces);
	await(spawn, MESSAGE_NAMESPACES, hands_namespaces(spawn) && spawn->place.n > 0);
	await(spawn, MESSAGE_LISTENERS, has_step(spawn, STEP_LISTEN));
	await(spawn, MESSAGE_TERMINAL, has_step(spawn, STEP_TERMINAL));
	await(spawn, MESSAGE_NOTIFIER, spawn->options->filter_notifies);
	await(spawn, MESSAGE_TREE, watch_is_needed(&spawn->watch));
	return r < 0 ? fail(spawn, r, "cannot read the plan") : 0;
}

/* A terminal is read by us anyway. */
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
	return r < 0 ? fail(spawn, r, "cannot limit the command's output") : 0;
}

static int prepare_terminal(struct spawn *spawn)
{
	int r;

	output_get_inner(&spawn->output, spawn->stdio);
	if (has_step(spawn, STEP_TERMINAL))
		return 0;
	r = terminal_lend(&spawn->terminal, &spawn->loop, spawn_output_left(spawn), spawn->stdio);
	if (r >= 0)
		return 0;
	(void)fail(spawn, r, "cannot make a terminal for the command");
	if (r == -ENOTUNIQ)
		sbx_error_why(spawn->err, "stdin, stdout and stderr are different terminals");
	sbx_error_fix(spawn->err, "redirect them: '</dev/null 2>&1 | cat'");
	return r;
}

static int prepare(struct spawn *spawn)
{
	const struct spawn_options *options = spawn->options;
	struct kernel_failure failure = { .step = KERNEL_NO_STEP };
	int r = signals_begin(&spawn->signals);

	if (r < 0)
		return fail(spawn, r, "cannot watch for signals");
	r = services_begin(&spawn->services, &spawn->loop, spawn->plan, spawn->err);
	if (r == 0)
		r = prepare_output(spawn);
	if (r == 0)
		r = prepare_terminal(spawn);
	if (r < 0)
		return r;
	spawn->kernel.umask = options->umask;
	if (kernel_prepare(&spawn->kernel, spawn->plan, options->filter, options->filter_notifies,
			   &failure) < 0)
		return fail_step(spawn, &failure);
	if (spawn->kernel.unmapped && options->hooks && options->hooks->unmapped)
		options->hooks->unmapped(options->hooks->userdata, spawn->kernel.unmapped);
	return 0;
}

/* In the new process. */
static noreturn void become_init(struct spawn *spawn, int socket, int supervisor_socket)
{
	struct init init = {
		.kernel = &spawn->kernel,
		.plan = spawn->plan,
		.socket = socket,
		.supervisor_socket = supervisor_socket,
		.namespaces = spawn->namespaces,
		.hands_namespaces = (spawn->awaited & (1u << MESSAGE_NAMESPACES)) != 0,
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
		return fail(spawn, -errno, "cannot make a socket");
	ours = pair[0];
	its = pair[1];
	/* Each end has its own flags. */
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return fail(spawn, -errno, "cannot make a socket");
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
	spawn->inside.fd = take_fd(&ours);
	/* Our memory is nobody's business from here on: the policy, the environment. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	output_close_inner(&spawn->output);
	return 0;
}

static int add_source(struct spawn *spawn, struct source *source, int fd,
		      int (*ready)(struct source *source, short events))
{
	*source = (struct source){
		.fd = fd,
		.events = POLLIN,
		.ready = ready,
		.userdata = spawn,
	};
	return loop_add(&spawn->loop, source);
}

static int add_sources(struct spawn *spawn)
{
	int r = add_source(spawn, &spawn->outside, spawn->signals.fd, outside_ready);

	if (r == 0)
		r = add_source(spawn, &spawn->inside, spawn->inside.fd, inside_ready);
	if (r == 0)
		r = add_source(spawn, &spawn->end, spawn->kernel.pidfd, inside_end_ready);
	return r < 0 ? fail(spawn, r, "cannot watch the sandbox") : 0;
}

/* PID 1 builds meanwhile; the command waits until our caller agrees. */
static int tell_started(struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;
	uint32_t step = kernel_find_step(spawn->plan, STEP_CGROUP);
	const char *cgroup =
		step == KERNEL_NO_STEP ? spawn->scope.folder : spawn->plan->steps[step].cgroup.path;
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
	if (r == 0)
		r = prepare(spawn);
	if (r == 0)
		r = clone_init(spawn);
	if (r == 0)
		r = add_sources(spawn);
	if (r == 0)
		r = unit_begin(spawn);
	if (r == 0)
		r = tell_started(spawn);
	return r < 0 ? r : inside_maybe_go(spawn);
}

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

/* Blocks until the kernel has killed all of it. */
static void reap(struct spawn *spawn)
{
	siginfo_t info = { .si_status = 0 };
	long r;

	if (spawn->kernel.pidfd < 0)
		return;
	limits_kill(spawn);
	/* The C library's waitid() has no room for the usage. */
	do
		r = syscall(SYS_waitid, P_PIDFD, spawn->kernel.pidfd, &info, WEXITED,
			    &spawn->init_usage);
	while (r < 0 && errno == EINTR);
	spawn->init_status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
							: W_EXITCODE(0, info.si_status);
}

/* The reader of our output may be slow; who does not want to wait for him sends a signal. */
static void drain(struct spawn *spawn)
{
	spawn->is_over = true;
	loop_remove(&spawn->loop, &spawn->inside);
	loop_remove(&spawn->loop, &spawn->end);
	loop_remove(&spawn->loop, &spawn->watch.changes);
	relay_pause(&spawn->terminal.input, true);
	terminal_drain(&spawn->terminal);
	output_drain(&spawn->output);
	while (!spawn->gives_up &&
	       !(output_has_ended(&spawn->output) && terminal_has_ended(&spawn->terminal))) {
		limits_tell(spawn);
		if (loop_turn(&spawn->loop, LOOP_NO_DEADLINE) < 0)
			break;
	}
}

static void end(struct spawn *spawn)
{
	door_close(&spawn->door);
	services_deinit(&spawn->services);
	reap(spawn);
	result_look(spawn);
	joined_deinit(&spawn->keeper);
	/* What nobody has told us yet: was it held to the end? */
	limits_check_watch(spawn);
	drain(spawn);
	terminal_deinit(&spawn->terminal);
	output_deinit(&spawn->output);
}

static void deinit(struct spawn *spawn)
{
	notifier_deinit(&spawn->notifier);
	watch_deinit(&spawn->watch);
	place_close(&spawn->place);
	close_fd(&spawn->inside.fd);
	/* What cannot be removed now, sbx-ctl gc removes. */
	(void)kernel_finish(&spawn->kernel);
	kernel_deinit(&spawn->kernel);
	loop_deinit(&spawn->loop);
	signals_end(&spawn->signals);
	free_ptr(&spawn->scope.folder);
	(void)prctl(PR_SET_DUMPABLE, spawn->was_dumpable, 0, 0, 0);
}

int spawn_run(const struct plan *plan, const struct spawn_options *options,
	      struct spawn_result *ret, struct sbx_error *err)
{
	struct spawn spawn = SPAWN_INIT;
	int r;

	spawn.plan = plan;
	spawn.options = options;
	spawn.err = err;
	spawn.was_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	r = begin(&spawn);
	if (r == 0)
		r = watch(&spawn);
	end(&spawn);
	r = result_make(&spawn, r, ret);
	deinit(&spawn);
	return r;
}
