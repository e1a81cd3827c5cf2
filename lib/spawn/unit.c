/* SPDX-License-Identifier: MIT */

/*
 * The scope of a sandbox whose limits the service manager enforces
 *
 * libsystemd is loaded only here, by a module, so other starts do not pay for it. PID 1 waits for
 * MESSAGE_PLACED before it does anything, so every process that it starts is born in the scope. The
 * manager removes an empty scope. If all processes were killed for lack of memory, it may do so
 * before the supervisor has read the counters; so a keeper process stays in the scope until then.
 */

#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/module.h"
#include "base/text.h"
#include "scope/scope.h"
#include "spawn/join.h"
#include "spawn/spawn-internal.h"

static const struct {
	const char *property;
	size_t offset;
} properties[] = {
	{ "MemoryMax", offsetof(struct scope_limits, memory_max_bytes) },
	{ "CPUQuotaPerSecUSec", offsetof(struct scope_limits, cpu_quota_usec) },
	{ "TasksMax", offsetof(struct scope_limits, tasks_max) },
};

/* An unknown limit does not count as enforced. */
static int read_limit(const struct step *step, struct scope_limits *limits)
{
	for (size_t i = 0; i < N_ELEMENTS(properties); i++) {
		if (strcmp(properties[i].property, step->scope_limit.property) != 0)
			continue;
		memcpy((char *)limits + properties[i].offset, &step->scope_limit.value,
		       sizeof(step->scope_limit.value));
		return 0;
	}
	return -EINVAL;
}

static int fail(struct spawn *spawn, int code, const char *unit, const char *why)
{
	return error_fill(
		spawn->err, code, why,
		"see 'sbx-spawn --check', or accept limits that are not enforced with --best-effort-limits",
		"cannot create the scope '%s' for the sandbox", unit);
}

/* Never closed: libsystemd may still use its own state. */
static int open_module(struct spawn *spawn, const char *unit, scope_start_fn **ret_start,
		       scope_join_fn **ret_join)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	const char *directory = spawn->options->module_directory,
		   *why = "it is not a module of sbx";
	scope_start_fn *start = NULL;
	scope_join_fn *join = NULL;
	void *module = NULL;

	text_addf(&path, "%s/scope.so", directory && directory[0] == '/' ? directory : ".");
	if (text_status(&path) == 0)
		module = module_open(text_string(&path), &why);
	if (module) {
		start = (scope_start_fn *)module_symbol(module, SCOPE_START_SYMBOL);
		join = (scope_join_fn *)module_symbol(module, SCOPE_JOIN_SYMBOL);
	}
	if (!start || !join) {
		(void)fail(spawn, -ENOENT, unit, why);
		return -ENOENT;
	}
	*ret_start = start;
	*ret_join = join;
	return 0;
}

/* The keeper stays in the scope until the counters were read. It ignores signals to the
 * supervisor's process group and to the scope, because the sandbox may take time to end. */
static noreturn void keep(pid_t supervisor)
{
	siginfo_t info;
	int signal;

	join_become_helper();
	do
		signal = signals_wait(true, &info);
	while (signal != JOINED_END || info.si_code != SI_USER || info.si_pid != supervisor);
	child_leave(0);
	child_fail();
}

static const char *id_of(const struct spawn *spawn)
{
	return spawn->plan->id ? spawn->plan->id : "";
}

/* The directory has the same name as a cgroup without a scope. */
static int divide(struct spawn *spawn, const char *scope)
{
	_cleanup_text_ struct text directory = TEXT_INIT;
	int r;

	text_addf(&directory, "%s/sbx-%s", scope, id_of(spawn));
	r = text_status(&directory);
	if (r < 0)
		return r;
	r = kernel_divide_scope(&spawn->kernel, text_string(&directory), spawn->unit.keeper.pid);
	if (r < 0)
		return r;
	spawn->unit.scope.directory = text_take(&directory);
	return 0;
}

static int start(struct spawn *spawn, const char *unit, const struct scope_limits *limits)
{
	_cleanup_text_ struct text description = TEXT_INIT;
	_cleanup_free_ char *scope = NULL, *why = NULL;
	pid_t pids[SCOPE_PROCESSES] = { spawn->kernel.pid }, supervisor = getpid();
	scope_start_fn *start_scope = NULL;
	int r = open_module(spawn, unit, &start_scope, &spawn->unit.scope.join);

	if (r < 0)
		return r;
	r = join_fork(&spawn->unit.keeper, NULL, 0);
	if (r == 0)
		keep(supervisor);
	if (r < 0)
		return fail(spawn, r, unit, "the process that would keep it cannot be created");
	pids[1] = spawn->unit.keeper.pid;
	spawn->unit.scope.unit = unit;
	text_addf(&description, "Sandbox %s", id_of(spawn));
	r = start_scope(unit, pids, limits, text_string(&description), &scope, &why);
	if (r < 0)
		return fail(spawn, r, unit, why);
	r = divide(spawn, scope);
	return r < 0 ? fail(spawn, r, unit, "its cgroup cannot be divided") : 0;
}

int unit_begin(struct spawn *spawn)
{
	struct scope_limits limits = { .memory_max_bytes = 0 };
	const char *unit = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spawn->plan->n_steps; i++) {
		const struct step *step = &spawn->plan->steps[i];

		if (step->kind == STEP_SCOPE)
			unit = step->scope.unit;
		else if (step->kind == STEP_SCOPE_LIMIT)
			r = read_limit(step, &limits);
	}
	if (!unit)
		return 0;
	if (r < 0)
		return fail(spawn, r, unit, "the plan has a limit that scopes do not support");
	r = start(spawn, unit, &limits);
	if (r < 0)
		return r;
	r = message_send_kind(spawn->inside.source.fd, MESSAGE_PLACED, NULL, 0);
	/* PID 1 has ended: its messages are read when its pidfd is handled. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return fail(spawn, r, unit, "PID 1 of the sandbox cannot be reached");
	return 0;
}
