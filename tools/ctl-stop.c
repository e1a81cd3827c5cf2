/* SPDX-License-Identifier: MIT */

/*
 * sbx-ctl stop, kill: through the supervisor if it reacts, without it otherwise
 *
 * The supervisor forwards a signal to the command and cleans up after it. Killing PID 1 of the
 * sandbox ends all processes inside at once, and the supervisor still cleans up; only if the
 * supervisor does not react either, it is killed, too, and sbx-ctl cleans up.
 */

#include "ctl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/fd.h"
#include "base/units.h"

#include "tool.h"

#define DEFAULT_GRACE_USEC (UINT64_C(10) * 1000 * 1000)
#define TIDY_WAIT_USEC (UINT64_C(5) * 1000 * 1000)

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "KILL", SIGKILL }, { "TERM", SIGTERM }, { "INT", SIGINT },   { "HUP", SIGHUP },
	{ "QUIT", SIGQUIT }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
};

int stop_read_time(const struct ctl_values *values, uint64_t *ret, struct sbx_error *err)
{
	*ret = DEFAULT_GRACE_USEC;
	return values->time ? units_parse_time(values->time, ret, err) : 0;
}

/* Kills all processes inside, whatever the state of the supervisor. */
static int kill_inside(const struct sandbox_entry *entry)
{
	_cleanup_close_ int init = process_open(entry->init, entry->init_start);
	_cleanup_close_ int cgroup = cgroup_open(entry);
	int r = init < 0 ? init : pidfd_kill(init, SIGKILL), n;

	if (cgroup >= 0) {
		n = cgroup_kill_all(cgroup);
		r = n < 0 ? n : 0;
	}
	return r;
}

/* The supervisor has exited without cleaning up: clean up here. */
static int tidy_up(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	_cleanup_registration_ struct registration registration = REGISTRATION_INIT;
	struct cleanup cleanup;
	int r = cleanup_claim(&cleanup, ctl, id, &registration, NULL);

	/* It has cleaned up, or another process is cleaning up. */
	if (r == -ENOENT || r == -EBUSY)
		return 0;
	if (r < 0)
		return ctl_fail(err, r, "clean up after", id, NULL, "repeat with 'sbx-ctl gc'");
	cleanup.is_quiet = true;
	return ctl_has_ended(&cleanup.entry) ? 0 : cleanup_run(&cleanup, err);
}

static int end_by_force(struct ctl *ctl, const char *id, struct target *target, int supervisor,
			struct sbx_error *err)
{
	struct target now;
	int r;

	/* The supervisor may have written PID 1 after the entry was read. */
	if (ctl_read(ctl, id, &now, NULL) == 0 &&
	    now.entry.supervisor == target->entry.supervisor &&
	    now.entry.supervisor_start == target->entry.supervisor_start)
		*target = now;
	(void)kill_inside(&target->entry);
	r = wait_for_pidfd(supervisor, TIDY_WAIT_USEC);
	if (r == 0) {
		(void)pidfd_kill(supervisor, SIGKILL);
		r = wait_for_pidfd(supervisor, TIDY_WAIT_USEC);
	}
	if (r > 0)
		return 0;
	return ctl_fail(
		err, r == 0 ? -ETIMEDOUT : r, "end", id,
		"its supervisor does not exit, although it was killed",
		"it probably waits for a device or a network file system; see 'sbx-ctl inspect ID'");
}

static int open_supervisor(struct ctl *ctl, const char *id, struct target *target,
			   struct sbx_error *err)
{
	int r = ctl_read(ctl, id, target, err);

	if (r < 0)
		return r;
	if (!target->is_alive && target->entry.waits)
		return ctl_fail(err, -ECHILD, "stop", id, "it was not started",
				"remove it: sbx-ctl remove ID");
	if (target->is_alive && target->entry.supervisor == 0)
		return ctl_fail(err, -EBUSY, "stop", id, "it is just being built",
				"repeat it in a moment");
	if (!target->is_alive)
		return -ESRCH;
	return process_open(target->entry.supervisor, target->entry.supervisor_start);
}

/* An ended sandbox only needs cleanup. */
static int already_gone(struct ctl *ctl, const char *id, int r, struct sbx_error *err)
{
	if (r == -ESRCH)
		return tidy_up(ctl, id, err);
	return r == -ECHILD ? -ESRCH : r;
}

int stop_sandbox(struct ctl *ctl, const char *id, uint64_t grace_usec, struct sbx_error *err)
{
	struct target target;
	_cleanup_close_ int supervisor = open_supervisor(ctl, id, &target, err);
	int r;

	if (supervisor < 0)
		return already_gone(ctl, id, supervisor, err);
	r = pidfd_kill(supervisor, SIGTERM);
	/* A stopped or frozen process receives the signal only when it is resumed. */
	if (r == 0 && target.entry.is_paused) {
		_cleanup_close_ int cgroup = cgroup_open(&target.entry);

		(void)(cgroup >= 0 ? cgroup_freeze(cgroup, false)
				   : processes_hold(&target.entry, false));
	}
	if (r == -ESRCH)
		return tidy_up(ctl, id, err);
	if (r == 0)
		r = wait_for_pidfd(supervisor, grace_usec);
	if (r < 0)
		return ctl_fail(err, r, "stop", id, NULL, "try it as root");
	if (r == 0)
		r = end_by_force(ctl, id, &target, supervisor, err);
	return r < 0 ? r : tidy_up(ctl, id, err);
}

static int stop_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	uint64_t grace_usec;
	int r = stop_read_time(ctl->values, &grace_usec, err);

	return r < 0 ? r : stop_sandbox(ctl, id, grace_usec, err);
}

int ctl_verb_stop(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, stop_one, err);
}

/* A signal that only the command gets reaches nothing in a sandbox that has ended. */
static int send_signal(const char *id, int supervisor, int signal, struct sbx_error *err)
{
	int r = supervisor < 0 ? supervisor : pidfd_kill(supervisor, signal);

	if (r == -ESRCH)
		return ctl_fail(err, r, "signal", id, "it has ended",
				"'sbx-ctl create' creates another");
	if (supervisor < 0)
		return r == -ECHILD ? -ESRCH : r;
	return r < 0 ? ctl_fail(err, r, "signal", id, NULL, "try it as root") : 0;
}

static int kill_one(struct ctl *ctl, const char *id, struct sbx_error *err)
{
	const char *name = ctl->values->signal ? ctl->values->signal : signals[0].name;
	struct target target;
	_cleanup_close_ int supervisor = open_supervisor(ctl, id, &target, err);
	size_t i = 0;
	int r;

	while (strcmp(signals[i].name, name) != 0)
		i++;
	if (signals[i].number != SIGKILL)
		return send_signal(id, supervisor, signals[i].number, err);
	if (supervisor < 0)
		return already_gone(ctl, id, supervisor, err);
	r = end_by_force(ctl, id, &target, supervisor, err);
	return r < 0 ? r : tidy_up(ctl, id, err);
}

int ctl_verb_kill(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	return ctl_each(context, n_operands, operands, kill_one, err);
}
