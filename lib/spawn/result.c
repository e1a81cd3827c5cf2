/* SPDX-License-Identifier: MIT */

/*
 * How a sandbox ended, in a fixed order of precedence
 *
 * A wait status does not say why a process was killed. The reason is memory only if memory.events
 * of the sandbox's own cgroup counted a kill, and a limit was reached only if the kernel or the
 * supervisor counted that.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/process.h"
#include "base/text.h"
#include "spawn/explain.h"
#include "spawn/spawn-internal.h"

#define KIB 1024
#define SIGNAL_BASE 128

static const char *const reasons[] = {
	[SPAWN_REASON_NONE] = "none",	       [SPAWN_REASON_EXIT] = "exit",
	[SPAWN_REASON_SIGNAL] = "signal",      [SPAWN_REASON_TIME] = "time",
	[SPAWN_REASON_MEMORY] = "memory",      [SPAWN_REASON_OUTPUT] = "output",
	[SPAWN_REASON_SETUP] = "setup",	       [SPAWN_REASON_EXEC] = "exec",
	[SPAWN_REASON_KILLED] = "killed",      [SPAWN_REASON_PROTECTION] = "protection-lost",
	[SPAWN_REASON_PARENT] = "parent-died",
};

const char *spawn_reason_name(enum spawn_reason reason)
{
	return (size_t)reason < N_ELEMENTS(reasons) ? reasons[reason] : "none";
}

/* Reads a file of the sandbox's cgroup; "" if it does not exist. */
static void read_cgroup(const struct spawn *spawn, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = path_open_beneath(spawn->kernel.cgroup_fd, name, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
}

/* The number in the line of @text that begins with @name, or 0. */
static uint64_t find_count(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text && (strncmp(text, name, n) != 0 || text[n] != ' ')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? strtoull(text + n, NULL, 10) : 0;
}

/* pids.events counts in the cgroup that has the limit: with a scope that is the parent of the
 * sandbox's cgroup. */
static void read_pids(const struct spawn *spawn, char *text, size_t size)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	ssize_t n = 0;

	text[0] = '\0';
	if (!spawn->unit.scope.directory) {
		read_cgroup(spawn, "pids.events", text, size);
		return;
	}
	text_addf(&path, "%s/../pids.events", spawn->unit.scope.directory);
	if (text_status(&path) == 0)
		fd = open(text_string(&path), O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
}

void result_look(const struct spawn *spawn, struct counted *counted)
{
	char text[512] = "";

	read_cgroup(spawn, "memory.events", text, sizeof(text));
	counted->n_oom = find_count(text, "oom");
	counted->n_oom_kills = find_count(text, "oom_kill");
	read_pids(spawn, text, sizeof(text));
	counted->n_pids_max = find_count(text, "max");
	read_cgroup(spawn, "memory.peak", text, sizeof(text));
	if (text[0] == '\0')
		return;
	counted->has_peak = true;
	counted->peak_memory_bytes = strtoull(text, NULL, 10);
}

static void fill_memory(const struct counted *counted, struct spawn_result *ret)
{
	ret->is_peak_of_cgroup = counted->has_peak;
	ret->peak_memory_bytes = counted->has_peak ? counted->peak_memory_bytes
						   : (uint64_t)ret->usage.ru_maxrss * KIB;
}

/* RLIMIT_NPROC, RLIMIT_DATA and RLIMIT_NOFILE let a system call inside fail, which is not visible
 * outside. */
static unsigned find_reached(const struct spawn *spawn, const struct counted *counted, int signal)
{
	const bool is_reached[N_LIMITS] = {
		[LIMIT_MEMORY] = counted->n_oom > 0,
		[LIMIT_PIDS] = counted->n_pids_max > 0,
		[LIMIT_TIME] = spawn->ending.cause == SPAWN_REASON_TIME,
		[LIMIT_FILE_SIZE] = signal == SIGXFSZ,
		[LIMIT_OUTPUT] = spawn->ending.cause == SPAWN_REASON_OUTPUT,
	};
	unsigned reached = 0;

	for (unsigned i = 0; i < N_LIMITS; i++)
		if (is_reached[i] && spawn->plan->limits[i].is_set)
			reached |= 1u << i;
	return reached;
}

static void fill_end(const struct spawn *spawn, const struct counted *counted,
		     struct spawn_result *ret)
{
	/* Without a result from PID 1, it was killed, and the command with it. */
	int status = spawn->inside.has_result ? spawn->inside.result.status : counted->init_status;

	ret->usage = spawn->inside.has_result ? spawn->inside.result.usage : counted->init_usage;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	ret->reason = ret->signal ? SPAWN_REASON_SIGNAL : SPAWN_REASON_EXIT;
	ret->status = process_status(status);
	if (ret->signal == SIGKILL && counted->n_oom_kills > 0)
		ret->reason = SPAWN_REASON_MEMORY;
	if (spawn->ending.cause != SPAWN_REASON_NONE)
		ret->reason = spawn->ending.cause;
	if (spawn->ending.cause == SPAWN_REASON_TIME)
		ret->status = SPAWN_TIME_LIMIT;
	/* Also if the command ended at the same moment. */
	if (spawn->ending.cause == SPAWN_REASON_PROTECTION)
		ret->status = SIGNAL_BASE + SIGKILL;
	ret->reached = find_reached(spawn, counted, ret->signal);
	ret->lost = spawn->ending.lost.path;
	ret->lost_origin = spawn->ending.lost.origin;
	/* The command handled SIGTERM and exited with 0. */
	if (spawn->ending.cause == SPAWN_REASON_OUTPUT && ret->status == 0)
		ret->status = SIGNAL_BASE + SIGTERM;
}

static int nothing_was_run(const struct counted *counted, int r, int status,
			   struct spawn_result *ret)
{
	ret->reason = status == SPAWN_FAILED ? SPAWN_REASON_SETUP : SPAWN_REASON_EXEC;
	ret->status = status;
	ret->exit_code = -1;
	ret->usage = counted->init_usage;
	return r;
}

/* The message to begin is sent to such a PID 1, too, if its socket is still open then. */
static bool was_killed_at_birth(const struct spawn *spawn, const struct counted *counted)
{
	int status = counted->init_status;

	return !spawn->inside.has_result && counted->n_oom_kills == 0 && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL && kernel_kills_at_birth(&spawn->kernel);
}

/* PID 1 has ended without a message, so the command cannot have started. */
static int lost(const struct spawn *spawn, const struct counted *counted, bool at_birth)
{
	(void)sbx_error_what(spawn->err, -ECHILD, "cannot build the sandbox");
	if (at_birth) {
		error_explain(
			spawn->err,
			"the kernel kills each process that is started from this cgroup into another one, because cgroup.kill was written here before",
			"start sbx-spawn in a new cgroup: restart its unit, or remove this cgroup and make it again");
	} else if (counted->n_oom_kills > 0) {
		error_explain(spawn->err, "it exceeded its memory limit while it was built",
			      "raise limits.memory or --memory");
	} else {
		sbx_error_why(spawn->err, "its PID 1 was killed by signal %d",
			      WIFSIGNALED(counted->init_status) ? WTERMSIG(counted->init_status)
								: 0);
		sbx_error_fix(spawn->err, "start again");
	}
	return -ECHILD;
}

int result_make(struct spawn *spawn, const struct counted *counted, int r, struct spawn_result *ret)
{
	bool at_birth = r >= 0 && spawn->ending.cause == SPAWN_REASON_NONE &&
			!spawn->inside.has_failed && was_killed_at_birth(spawn, counted);

	*ret = (struct spawn_result){ .usec = loop_now() - spawn->begun_usec };
	if (r < 0)
		return nothing_was_run(counted, r, SPAWN_FAILED, ret);
	if (spawn->inside.has_failed && spawn->ending.cause == SPAWN_REASON_NONE)
		return nothing_was_run(counted,
				       explain_failure(spawn->plan, spawn->plan->argv[0],
						       &spawn->inside.failure, spawn->err),
				       explain_status(&spawn->inside.failure), ret);
	if (at_birth || (!spawn->inside.has_gone && spawn->ending.cause == SPAWN_REASON_NONE))
		return nothing_was_run(counted, lost(spawn, counted, at_birth), SPAWN_FAILED, ret);
	fill_end(spawn, counted, ret);
	fill_memory(counted, ret);
	return 0;
}
