/* SPDX-License-Identifier: MIT */

/*
 * The scope of a sandbox whose limits the service manager holds
 *
 * libsystemd stays out of every other start: the module that speaks to the manager is opened only
 * here. PID 1 waits for MESSAGE_PLACED before it does anything, so whatever it starts is born in
 * the scope.
 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/module.h"
#include "base/path.h"
#include "base/text.h"
#include "scope/scope.h"
#include "spawn/spawn-internal.h"

static const struct {
	const char *property;
	size_t offset;
} properties[] = {
	{ "MemoryMax", offsetof(struct scope_limits, memory_max_bytes) },
	{ "CPUQuotaPerSecUSec", offsetof(struct scope_limits, cpu_quota_usec) },
	{ "TasksMax", offsetof(struct scope_limits, tasks_max) },
};

/* A limit that we do not know is not one that is held. */
static int read_limit(const struct step *step, struct scope_limits *limits)
{
	for (size_t i = 0; i < N_ELEMENTS(properties); i++) {
		if (strcmp(properties[i].property, step->text) != 0)
			continue;
		memcpy((char *)limits + properties[i].offset, &step->value, sizeof(step->value));
		return 0;
	}
	return -EINVAL;
}

static int fail(struct spawn *spawn, int code, const char *unit, const char *why)
{
	(void)sbx_error_what(spawn->err, code, "cannot make the scope '%s' for the sandbox", unit);
	if (why)
		sbx_error_why(spawn->err, "%s", why);
	sbx_error_fix(spawn->err, "see 'sbx-spawn --check', or accept limits that are not held: "
				  "--best-effort-limits");
	return code;
}

/* Stays open until our process ends: it is libsystemd's to say when it can go. */
static scope_start_fn *open_module(struct spawn *spawn, const char *unit)
{
	union {
		void *symbol;
		scope_start_fn *start;
	} found = { .symbol = NULL };
	_cleanup_text_ struct text path = TEXT_INIT;
	const char *folder = spawn->options->module_folder, *why = "it is no module of ours";
	void *module = NULL;

	text_addf(&path, "%s/scope.so", folder && folder[0] == '/' ? folder : ".");
	if (text_status(&path) == 0)
		module = module_open(text_string(&path), &why);
	if (module)
		found.symbol = module_symbol(module, SCOPE_MODULE_SYMBOL);
	if (!found.symbol)
		(void)fail(spawn, -ENOENT, unit, why);
	return found.start;
}

/* Each reading makes it tell of the next change; of a cgroup that is gone it tells for ever. */
static int memory_ready(struct source *source, short events)
{
	struct spawn *spawn = source->userdata;
	char byte;

	if (pread(source->fd, &byte, 1, 0) < 0)
		source->events = 0;
	else
		result_look(spawn);
	return 0;
}

/* Who runs out of memory is killed as a whole, and nobody is left inside to keep the scope. */
static int watch_memory(struct spawn *spawn)
{
	int fd = path_open_beneath(spawn->kernel.cgroup_fd, "memory.events", O_RDONLY, 0);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	spawn->memory_events = (struct source){
		.fd = fd,
		.events = POLLPRI,
		.ready = memory_ready,
		.userdata = spawn,
	};
	return loop_add(&spawn->loop, &spawn->memory_events);
}

static int start(struct spawn *spawn, const char *unit, const struct scope_limits *limits)
{
	_cleanup_text_ struct text description = TEXT_INIT;
	_cleanup_free_ char *why = NULL;
	scope_start_fn *start_scope = open_module(spawn, unit);
	int r;

	if (!start_scope)
		return -ENOENT;
	text_addf(&description, "Sandbox %s", spawn->plan->id ? spawn->plan->id : "");
	r = start_scope(unit, spawn->kernel.pid, limits, text_string(&description),
			&spawn->scope_folder, &why);
	if (r < 0)
		return fail(spawn, r, unit, why);
	spawn->kernel.cgroup_fd = open(spawn->scope_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spawn->kernel.cgroup_fd < 0) {
		r = -errno;
		spawn->kernel.cgroup_fd = -EBADF;
		return fail(spawn, r, unit, "its cgroup cannot be opened");
	}
	r = watch_memory(spawn);
	return r < 0 ? fail(spawn, r, unit, "its cgroup cannot be watched") : 0;
}

int unit_begin(struct spawn *spawn)
{
	const struct message placed = { .kind = MESSAGE_PLACED };
	struct scope_limits limits = { .memory_max_bytes = 0 };
	const char *unit = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spawn->plan->n_steps; i++) {
		const struct step *step = &spawn->plan->steps[i];

		if (step->kind == STEP_SCOPE)
			unit = step->text;
		else if (step->kind == STEP_SCOPE_LIMIT)
			r = read_limit(step, &limits);
	}
	if (!unit)
		return 0;
	if (r < 0)
		return fail(spawn, r, unit, "a limit that we do not know is asked of it");
	r = start(spawn, unit, &limits);
	return r < 0 ? r : message_send(spawn->inside.fd, &placed, NULL, 0);
}
