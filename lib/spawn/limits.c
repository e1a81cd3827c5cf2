/* SPDX-License-Identifier: MIT */

/*
 * Ending a sandbox: first it is asked, then it is killed
 *
 * Killing PID 1 kills everything inside; the kernel sees to it. Without a pid namespace the cgroup
 * takes that part.
 */

#include <fcntl.h>
#include <sched.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "spawn/spawn-internal.h"

static bool is_held_by_us(const struct plan_limit *limit)
{
	return limit->is_set && limit->holder == HELD_BY_SUPERVISOR;
}

uint64_t *spawn_output_left(struct spawn *spawn)
{
	return is_held_by_us(&spawn->plan->limits[LIMIT_OUTPUT]) ? &spawn->output.left : NULL;
}

void limits_begin(struct spawn *spawn)
{
	const struct plan_limit *time = &spawn->plan->limits[LIMIT_TIME];

	spawn->begun_usec = loop_now();
	if (is_held_by_us(time))
		spawn->limit_usec = loop_after(spawn->begun_usec, time->value);
}

uint64_t limits_next(const struct spawn *spawn)
{
	uint64_t limit_usec = spawn->paused_usec ? LOOP_NO_DEADLINE : spawn->limit_usec;

	return limit_usec < spawn->kill_usec ? limit_usec : spawn->kill_usec;
}

void limits_tell(struct spawn *spawn)
{
	const struct spawn_hooks *hooks = spawn->options->hooks;

	if (!spawn->is_ending && spawn->is_started && hooks && hooks->stopping)
		hooks->stopping(hooks->userdata);
	spawn->is_ending = true;
}

/* It stays until its numbers have been read. */
static void kill_cgroup(struct spawn *spawn)
{
	_cleanup_close_ int fd =
		spawn->kernel.cgroup_fd < 0
			? -EBADF
			: path_open_beneath(spawn->kernel.cgroup_fd, "cgroup.kill", O_WRONLY, 0);

	if (fd < 0 || fd_write_all(fd, "1", 1) < 0)
		(void)kernel_finish(&spawn->kernel);
}

void limits_kill(struct spawn *spawn)
{
	if (spawn->kernel.pidfd >= 0)
		(void)pidfd_kill(spawn->kernel.pidfd, SIGKILL);
	if (!(spawn->namespaces & CLONE_NEWPID))
		kill_cgroup(spawn);
	spawn->kill_usec = LOOP_NO_DEADLINE;
}

/* Nobody may use it for a moment longer, so nobody is asked; whatever else was going to end it. */
void limits_check_watch(struct spawn *spawn)
{
	if (spawn->lost.path)
		return;
	spawn->lost = watch_check(&spawn->watch);
	if (!spawn->lost.path)
		return;
	spawn->cause = SPAWN_REASON_PROTECTION;
	limits_kill(spawn);
}

void limits_await_end(struct spawn *spawn)
{
	uint64_t then = loop_after(loop_now(), spawn->plan->grace_usec);

	/* Who asks twice does not give it more time. */
	if (then < spawn->kill_usec)
		spawn->kill_usec = then;
	limits_tell(spawn);
}

void limits_end(struct spawn *spawn, enum spawn_reason cause)
{
	if (spawn->cause != SPAWN_REASON_NONE)
		return;
	spawn->cause = cause;
	spawn->limit_usec = LOOP_NO_DEADLINE;
	(void)pidfd_kill(spawn->kernel.pidfd, SIGNAL_END_ALL);
	limits_await_end(spawn);
}

void limits_check_pause(struct spawn *spawn)
{
	bool is_paused = stop_is_paused(spawn);
	uint64_t now = loop_now();

	if (is_paused == (spawn->paused_usec != 0))
		return;
	if (!is_paused)
		spawn->limit_usec = loop_after(spawn->limit_usec, now - spawn->paused_usec);
	spawn->paused_usec = is_paused ? now : 0;
}

/* The signal that tells of a pause may come in the same moment. */
static bool time_is_over(struct spawn *spawn, uint64_t now)
{
	if (spawn->paused_usec || now < spawn->limit_usec)
		return false;
	limits_check_pause(spawn);
	return !spawn->paused_usec;
}

void limits_check(struct spawn *spawn)
{
	uint64_t next = limits_next(spawn);
	uint64_t now = next == LOOP_NO_DEADLINE ? 0 : loop_now();

	if (time_is_over(spawn, now))
		limits_end(spawn, SPAWN_REASON_TIME);
	if (output_is_over(&spawn->output) || spawn->terminal.output.is_over)
		limits_end(spawn, SPAWN_REASON_OUTPUT);
	if (now < spawn->kill_usec)
		return;
	if (spawn->cause == SPAWN_REASON_NONE)
		spawn->cause = SPAWN_REASON_KILLED;
	limits_kill(spawn);
}
