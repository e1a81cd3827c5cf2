/* SPDX-License-Identifier: MIT */

/*
 * Creates a transient scope for processes that wait for it
 *
 * The request goes to the manager's private socket, which needs no message bus; if that does not
 * exist, over the bus. The reply only says that a job was queued: the processes are in their new
 * cgroup when the job is done, so this waits for JobRemoved.
 */

#include "scope/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/moment.h"

#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE MANAGER ".Manager"
#define SCOPE_INTERFACE MANAGER ".Scope"
#define KNOWN_SCOPE MANAGER_PATH "/unit/init_2escope" /* exists in every manager */
#define SYSTEM_SOCKET "unix:path=/run/systemd/private"
#define SLICE "sbx.slice"
#define WAIT_USEC (UINT64_C(10) * 1000 * 1000)

#define _cleanup_bus_ _cleanup_(sd_bus_flush_close_unrefp)
#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_slot_ _cleanup_(sd_bus_slot_unrefp)
#define _cleanup_bus_error_ _cleanup_(sd_bus_error_free)

/* The end of the job, from its signal. */
struct job {
	const char *path; /* NULL until the reply, before which signals may arrive */
	const char *unit;
	bool is_over;
	bool is_done;
	char result[32];
};

static int fail(char **ret_why, int code, const char *what, const char *detail)
{
	if (asprintf(ret_why, "%s: %s", what, detail ? detail : strerror(-code)) < 0)
		*ret_why = NULL;
	return code;
}

static int connect_to(const char *address, sd_bus **ret)
{
	_cleanup_bus_ sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r < 0)
		return r;
	r = sd_bus_set_address(bus, address);
	if (r < 0)
		return r;
	r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = take_ptr(bus);
	return 0;
}

/* Over the bus the manager sends JobRemoved only to subscribers. */
static int open_bus(int (*open)(sd_bus **ret), sd_bus **ret)
{
	_cleanup_bus_ sd_bus *bus = NULL;
	int r = open(&bus);

	if (r < 0)
		return r;
	r = sd_bus_call_method(bus, MANAGER, MANAGER_PATH, MANAGER_INTERFACE, "Subscribe", NULL,
			       NULL, NULL);
	if (r < 0)
		return r;
	*ret = take_ptr(bus);
	return 0;
}

static int open_manager(sd_bus **ret)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	_cleanup_free_ char *socket = NULL;

	if (geteuid() == 0)
		return connect_to(SYSTEM_SOCKET, ret) >= 0 ? 0 : open_bus(sd_bus_open_system, ret);
	/* These characters would have to be escaped in a D-Bus address. */
	if (runtime && !strpbrk(runtime, ",;%\\") &&
	    asprintf(&socket, "unix:path=%s/systemd/private", runtime) > 0 &&
	    connect_to(socket, ret) >= 0)
		return 0;
	return open_bus(sd_bus_open_user, ret);
}

/* Scopes got OOMPolicy= later than services; older managers never stop a scope on an out-of-memory
 * kill. */
static bool has_oom_policy(sd_bus *bus)
{
	_cleanup_free_ char *value = NULL;

	return sd_bus_get_property_string(bus, MANAGER, KNOWN_SCOPE, SCOPE_INTERFACE, "OOMPolicy",
					  NULL, &value) >= 0;
}

static int add_limit(sd_bus_message *call, const char *name, uint64_t value)
{
	return sd_bus_message_append(call, "(sv)", name, "t", value);
}

static int add_memory(sd_bus_message *call, uint64_t bytes, bool oom_policy)
{
	int r = add_limit(call, "MemoryMax", bytes);

	if (r < 0)
		return r;
	r = add_limit(call, "MemorySwapMax", 0);
	if (r < 0 || !oom_policy)
		return r;
	return sd_bus_message_append(call, "(sv)", "OOMPolicy", "s", "continue");
}

static int add_limits(sd_bus_message *call, const struct scope_limits *limits, bool oom_policy)
{
	int r = limits->memory_max_bytes > 0
			? add_memory(call, limits->memory_max_bytes, oom_policy)
			: 0;

	if (r < 0)
		return r;
	r = limits->cpu_quota_usec > 0
		    ? add_limit(call, "CPUQuotaPerSecUSec", limits->cpu_quota_usec)
		    : 0;
	if (r < 0)
		return r;
	return limits->tasks_max > 0 ? add_limit(call, "TasksMax", limits->tasks_max) : 0;
}

static int make_call(sd_bus *bus, const char *unit, const pid_t *pids,
		     const struct scope_limits *limits, const char *description,
		     sd_bus_message **ret)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, MANAGER, MANAGER_PATH, MANAGER_INTERFACE,
					       "StartTransientUnit");

	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "ss", unit, "fail");
	if (r < 0)
		return r;
	r = sd_bus_message_open_container(call, 'a', "(sv)");
	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "(sv)(sv)(sv)(sv)(sv)", "Description", "s", description,
				  "Slice", "s", SLICE, "PIDs", "au", SCOPE_PROCESSES,
				  (uint32_t)pids[0], (uint32_t)pids[1], "Delegate", "b", 1,
				  "CollectMode", "s", "inactive-or-failed");
	if (r < 0)
		return r;
	r = add_limits(call, limits, limits->memory_max_bytes > 0 && has_oom_policy(bus));
	if (r < 0)
		return r;
	r = sd_bus_message_close_container(call);
	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "a(sa(sv))", 0);
	if (r < 0)
		return r;
	*ret = take_ptr(call);
	return 0;
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct job *job = userdata;
	const char *path, *unit, *result;
	uint32_t id;

	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0 ||
	    strcmp(unit, job->unit) != 0 || (job->path && strcmp(path, job->path) != 0))
		return 0;
	job->is_over = true;
	job->is_done = strcmp(result, "done") == 0;
	(void)snprintf(job->result, sizeof(job->result), "%s", result);
	return 0;
}

static int wait_for(sd_bus *bus, const struct job *job)
{
	uint64_t end = moment_now(CLOCK_MONOTONIC) + WAIT_USEC;

	while (!job->is_over) {
		uint64_t now = moment_now(CLOCK_MONOTONIC);
		int r = sd_bus_process(bus, NULL);

		if (r == 0)
			r = now >= end ? -ETIMEDOUT : sd_bus_wait(bus, end - now);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return job->is_done ? 0 : -ECANCELED;
}

/* The mount point of cgroup v2, which is /sys/fs/cgroup/unified in the hybrid layout. */
static const char *cgroup_mount(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return places[i];
	return NULL;
}

static int find_cgroup(sd_bus *bus, const char *unit, char **ret, sd_bus_error *error)
{
	_cleanup_free_ char *path = NULL, *cgroup = NULL;
	const char *mount = cgroup_mount();
	int r = sd_bus_path_encode(MANAGER_PATH "/unit", unit, &path);

	if (r >= 0)
		r = sd_bus_get_property_string(bus, MANAGER, path, SCOPE_INTERFACE, "ControlGroup",
					       error, &cgroup);
	if (r < 0)
		return r;
	/* The empty path: the processes have exited, and the scope was removed. */
	if (cgroup[0] != '/' || cgroup[1] == '\0' || strstr(cgroup, "/../"))
		return -ESRCH;
	if (!mount)
		return -ENOENT;
	return asprintf(ret, "%s%s", mount, cgroup) < 0 ? -ENOMEM : 0;
}

/* The manager ignores limits whose controller is missing; then nothing may run, so read the limit
 * back. */
static bool holds(const char *cgroup, const char *name, uint64_t limit)
{
	char path[PATH_MAX], first = 'm';
	_cleanup_close_ int fd = -EBADF;

	if (limit == 0)
		return true;
	(void)snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* "max": no limit. */
	return fd >= 0 && read(fd, &first, 1) == 1 && first != 'm';
}

static int check_limits(const char *cgroup, const struct scope_limits *limits, char **ret_why)
{
	const struct {
		const char *file;
		uint64_t limit;
	} checks[] = {
		{ "memory.max", limits->memory_max_bytes },
		{ "cpu.max", limits->cpu_quota_usec },
		{ "pids.max", limits->tasks_max },
	};

	for (size_t i = 0; i < N_ELEMENTS(checks); i++)
		if (!holds(cgroup, checks[i].file, checks[i].limit))
			return fail(ret_why, -ENOTSUP,
				    "the service manager created a scope without this limit",
				    checks[i].file);
	return 0;
}

static int start(sd_bus *bus, sd_bus_message *call, struct job *job, char **ret_why)
{
	_cleanup_bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_message_ sd_bus_message *answer = NULL;
	int r = sd_bus_call(bus, call, 0, &error, &answer);

	if (r >= 0)
		r = sd_bus_message_read(answer, "o", &job->path);
	if (r < 0)
		return fail(ret_why, r, "the service manager refused", error.message);
	r = wait_for(bus, job);
	job->path = NULL; /* freed with the reply */
	if (r < 0)
		return fail(ret_why, r, "the service manager could not start the scope",
			    job->is_over ? job->result : NULL);
	return 0;
}

/* The module's symbols. */
__attribute__((__visibility__("default"))) scope_start_fn sbx_scope_start;
__attribute__((__visibility__("default"))) scope_join_fn sbx_scope_join;

int sbx_scope_start(const char *unit, const pid_t pids[SCOPE_PROCESSES],
		    const struct scope_limits *limits, const char *description, char **ret_cgroup,
		    char **ret_why)
{
	_cleanup_bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_bus_ sd_bus *bus = NULL;
	_cleanup_slot_ sd_bus_slot *slot = NULL;
	_cleanup_message_ sd_bus_message *call = NULL;
	_cleanup_free_ char *cgroup = NULL;
	struct job job = { .unit = unit };
	int r = open_manager(&bus);

	*ret_why = NULL;
	if (r < 0)
		return fail(ret_why, r, "the service manager cannot be reached", NULL);
	/* Before the call, because the job may end before the reply is read. */
	r = sd_bus_match_signal(bus, &slot, NULL, MANAGER_PATH, MANAGER_INTERFACE, "JobRemoved",
				on_job_removed, &job);
	if (r >= 0)
		r = make_call(bus, unit, pids, limits, description, &call);
	if (r < 0)
		return fail(ret_why, r, "the service manager did not accept the request", NULL);
	r = start(bus, call, &job, ret_why);
	if (r < 0)
		return r;
	r = find_cgroup(bus, unit, &cgroup, &error);
	if (r < 0)
		return fail(ret_why, r,
			    "the service manager did not return the cgroup of the scope",
			    error.message);
	r = check_limits(cgroup, limits, ret_why);
	if (r < 0)
		return r;
	*ret_cgroup = take_ptr(cgroup);
	return 0;
}

/* A user's manager that lacks the permission delegates the move to the system's manager, and
 * replies after it. */
int sbx_scope_join(const char *unit, const char *directory)
{
	_cleanup_bus_ sd_bus *bus = NULL;
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = open_manager(&bus);

	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus, &call, MANAGER, MANAGER_PATH, MANAGER_INTERFACE,
					   "AttachProcessesToUnit");
	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "ssau", unit, directory, 1, (uint32_t)getpid());
	if (r < 0)
		return r;
	r = sd_bus_call(bus, call, WAIT_USEC, NULL, NULL);
	return r < 0 ? r : 0;
}
