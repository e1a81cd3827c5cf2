/* SPDX-License-Identifier: MIT */

/*
 * The module calls a service manager over a socket; the test plays the manager: it records the
 * call, sends a prepared answer, and ends the job. As root the module would use the system's
 * manager, so the test drops root first.
 */

#include "scope/scope.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "test.h"

#define NOBODY 65534
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define SCOPE "org.freedesktop.systemd1.Scope"
#define UNIT "sbx-test.scope"
#define UNIT_PATH MANAGER_PATH "/unit/sbx_2dtest_2escope"
#define JOB_PATH MANAGER_PATH "/job/7"

extern scope_start_fn sbx_scope_start;
extern scope_join_fn sbx_scope_join;

/* The behaviour of the manager, and the call that it received. */
struct manager {
	const char *refusal; /* error name to return instead of a job */
	const char *result;  /* result of the job; NULL: "done" */
	const char *cgroup;
	bool is_early;	/* JobRemoved is sent before the reply */
	bool is_gone;	/* closes the connection at the call */
	bool has_other; /* jobs of other units end before */
	bool knows_oom_policy;
	int told; /* a pipe to which it writes the properties as text */
	char runtime[64];
	pid_t pid;
	char said[1024];
};

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const struct manager *manager = userdata;
	bool is_cgroup = strcmp(property, "ControlGroup") == 0;

	if (is_cgroup && !manager->cgroup)
		return -ENOENT;
	return sd_bus_message_append(reply, "s", is_cgroup ? manager->cgroup : "stop");
}

static int end_job(sd_bus *bus, const char *path, const char *unit, const char *result)
{
	return sd_bus_emit_signal(bus, MANAGER_PATH, MANAGER, "JobRemoved", "uoss", 7, path, unit,
				  result);
}

static void tell_value(const struct manager *manager, sd_bus_message *call, const char *name,
		       const char *type)
{
	const char *text = "";
	uint64_t number = 0;
	uint32_t pid = 0, other = 0;
	int yes = 0;

	if (strcmp(type, "s") == 0)
		(void)sd_bus_message_read(call, "v", "s", &text);
	else if (strcmp(type, "t") == 0)
		(void)sd_bus_message_read(call, "v", "t", &number);
	else if (strcmp(type, "b") == 0)
		(void)sd_bus_message_read(call, "v", "b", &yes);
	else
		(void)sd_bus_message_read(call, "v", "au", SCOPE_PROCESSES, &pid, &other);
	if (*text)
		(void)dprintf(manager->told, "%s=%s ", name, text);
	else
		(void)dprintf(manager->told, "%s=%" PRIu64 " ", name,
			      number + (uint64_t)yes + (pid == (uint32_t)getppid()) +
				      (other == pid + 1));
}

static int on_start(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const struct manager *manager = userdata;
	const char *unit, *mode, *name, *type;
	sd_bus *bus = sd_bus_message_get_bus(call);

	if (manager->is_gone)
		_exit(0);
	(void)sd_bus_message_read(call, "ss", &unit, &mode);
	(void)dprintf(manager->told, "%s %s ", unit, mode);
	(void)sd_bus_message_enter_container(call, 'a', "(sv)");
	while (sd_bus_message_enter_container(call, 'r', "sv") > 0) {
		(void)sd_bus_message_read(call, "s", &name);
		(void)sd_bus_message_peek_type(call, NULL, &type);
		tell_value(manager, call, name, type);
		(void)sd_bus_message_exit_container(call);
	}
	if (manager->refusal)
		return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, manager->refusal);
	if (manager->has_other) {
		(void)end_job(bus, MANAGER_PATH "/job/6", "other.service", "failed");
		(void)end_job(bus, MANAGER_PATH "/job/8", "sbx-test2.scope", "failed");
	}
	if (manager->is_early)
		(void)end_job(bus, JOB_PATH, UNIT, manager->result ? manager->result : "done");
	(void)sd_bus_reply_method_return(call, "o", JOB_PATH);
	if (!manager->is_early)
		(void)end_job(bus, JOB_PATH, UNIT, manager->result ? manager->result : "done");
	return 1;
}

static int on_attach(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const struct manager *manager = userdata;
	const char *unit, *directory;
	uint32_t pid = 0;

	(void)sd_bus_message_read(call, "ssau", &unit, &directory, 1, &pid);
	(void)dprintf(manager->told, "%s %s %d", unit, directory, pid == (uint32_t)getppid());
	if (manager->refusal)
		return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, manager->refusal);
	return sd_bus_reply_method_return(call, NULL);
}

static const sd_bus_vtable manager_table[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("StartTransientUnit", "ssa(sv)a(sa(sv))", "o", on_start,
		      SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("AttachProcessesToUnit", "ssau", NULL, on_attach, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL("JobRemoved", "uoss", 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable scope_table[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("ControlGroup", "s", get_text, 0, 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable newer_table[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("OOMPolicy", "s", get_text, 0, 0),
	SD_BUS_VTABLE_END,
};

static void serve(struct manager *manager, int listener)
{
	sd_bus *bus = NULL;
	sd_id128_t id =
		SD_ID128_MAKE(01, 02, 03, 04, 05, 06, 07, 08, 09, 0a, 0b, 0c, 0d, 0e, 0f, 10);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
	    sd_bus_set_server(bus, 1, id) < 0 || sd_bus_start(bus) < 0)
		_exit(1);
	(void)sd_bus_add_object_vtable(bus, NULL, MANAGER_PATH, MANAGER, manager_table, manager);
	(void)sd_bus_add_object_vtable(bus, NULL, UNIT_PATH, SCOPE, scope_table, manager);
	if (manager->knows_oom_policy)
		(void)sd_bus_add_object_vtable(bus, NULL, MANAGER_PATH "/unit/init_2escope", SCOPE,
					       newer_table, manager);
	for (;;) {
		int r = sd_bus_process(bus, NULL);

		if (r < 0 || (r == 0 && sd_bus_wait(bus, UINT64_MAX) < 0))
			_exit(0);
	}
}

static void manager_begin(struct manager *manager)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), told[2];
	char directory[80];

	(void)snprintf(manager->runtime, sizeof(manager->runtime), "/tmp/test-scope-XXXXXX");
	if (!mkdtemp(manager->runtime) || pipe(told) < 0)
		abort();
	(void)snprintf(directory, sizeof(directory), "%s/systemd", manager->runtime);
	(void)mkdir(directory, 0700);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/private", directory);
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0)
		abort();
	(void)setenv("XDG_RUNTIME_DIR", manager->runtime, 1);
	manager->told = told[1];
	manager->pid = fork();
	if (manager->pid == 0)
		serve(manager, listener);
	close_fd(&listener);
	close_fd(&told[1]);
	manager->told = told[0];
}

static void manager_end(struct manager *manager)
{
	char path[96];
	ssize_t n;

	(void)waitpid(manager->pid, NULL, 0);
	n = fd_read_full(manager->told, manager->said, sizeof(manager->said) - 1);
	manager->said[n > 0 ? n : 0] = '\0';
	close_fd(&manager->told);
	(void)snprintf(path, sizeof(path), "%s/systemd/private", manager->runtime);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/systemd", manager->runtime);
	(void)rmdir(path);
	(void)rmdir(manager->runtime);
}

struct answer {
	int code;
	char *cgroup;
	char *why;
};

static void answer_deinit(struct answer *answer)
{
	free(answer->cgroup);
	free(answer->why);
}
#define ANSWER _cleanup_(answer_deinit) __attribute__((unused)) struct answer

static struct answer ask(struct manager *manager, const struct scope_limits *limits)
{
	const pid_t pids[] = { getpid(), getpid() + 1 };
	struct answer answer = { .cgroup = NULL };

	manager_begin(manager);
	answer.code = sbx_scope_start(UNIT, pids, limits, "a test", &answer.cgroup, &answer.why);
	manager_end(manager);
	return answer;
}

static const struct scope_limits none,
	all = { .memory_max_bytes = 1 << 20, .cpu_quota_usec = 500000, .tasks_max = 17 };

static bool has_unified_cgroups(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0 ||
	       access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0;
}

static void asks_for_a_delegated_scope_around_the_processes(void)
{
	struct manager manager = { .cgroup = "/sbx.slice/" UNIT };
	ANSWER answer = ask(&manager, &none);

	expect(strstr(manager.said,
		      UNIT " fail Description=a test Slice=sbx.slice PIDs=2 "
			   "Delegate=1 CollectMode=inactive-or-failed ") == manager.said);
	expect(!strstr(manager.said, "Max") && !strstr(manager.said, "OOM"));
	if (!has_unified_cgroups())
		skip("no cgroup v2 is mounted");
	expect_eq(answer.code, 0);
	expect(answer.cgroup && strncmp(answer.cgroup, "/sys/fs/cgroup/", 15) == 0);
	expect(answer.cgroup && strstr(answer.cgroup, "/sbx.slice/" UNIT));
	expect(!answer.why);
}

static void asks_for_every_limit(void)
{
	struct manager manager = { .cgroup = "/sbx.slice/" UNIT };
	ANSWER answer = ask(&manager, &all);

	expect(strstr(manager.said, "MemoryMax=1048576 MemorySwapMax=0 "));
	expect(strstr(manager.said, "CPUQuotaPerSecUSec=500000 TasksMax=17 "));
	expect(!strstr(manager.said, "OOMPolicy"));
}

static void asks_for_the_oom_policy_where_scopes_know_it(void)
{
	struct manager manager = { .cgroup = "/x/" UNIT, .knows_oom_policy = true };
	ANSWER answer = ask(&manager, &all);

	expect(strstr(manager.said, "OOMPolicy=continue"));
}

static void fails_where_a_limit_is_passed_over(void)
{
	struct manager manager = { .cgroup = "/nonexistent/" UNIT };
	ANSWER answer = ask(&manager, &all);

	if (!has_unified_cgroups())
		skip("no cgroup v2 is mounted");
	expect_eq(answer.code, -ENOTSUP);
	expect(answer.why && strstr(answer.why, "without this limit: memory.max"));
	expect(!answer.cgroup);
}

static void hears_of_a_job_that_ends_before_its_answer(void)
{
	struct manager manager = { .cgroup = "/x/" UNIT, .is_early = true };
	ANSWER answer = ask(&manager, &none);

	if (!has_unified_cgroups())
		skip("no cgroup v2 is mounted");
	expect_eq(answer.code, 0);
}

static void is_not_misled_by_other_jobs(void)
{
	struct manager manager = { .cgroup = "/x/" UNIT, .has_other = true };
	ANSWER answer = ask(&manager, &none);

	if (!has_unified_cgroups())
		skip("no cgroup v2 is mounted");
	expect_eq(answer.code, 0);
}

static void says_what_the_manager_refuses(void)
{
	struct manager manager = { .refusal = "not today" };
	ANSWER answer = ask(&manager, &none);

	expect_eq(answer.code, -EACCES);
	expect_str(answer.why, "the service manager refused: not today");
	expect(!answer.cgroup);
}

static void says_how_a_job_has_failed(void)
{
	struct manager manager = { .result = "failed" };
	ANSWER answer = ask(&manager, &none);

	expect_eq(answer.code, -ECANCELED);
	expect(answer.why && strstr(answer.why, ": failed"));
}

static void fails_where_the_scope_is_gone_already(void)
{
	struct manager manager = { .cgroup = "" };
	ANSWER answer = ask(&manager, &none);

	expect_eq(answer.code, -ESRCH);
}

static void refuses_a_cgroup_that_leads_elsewhere(void)
{
	struct manager manager = { .cgroup = "/a/../../etc" };
	ANSWER answer = ask(&manager, &none);

	expect_eq(answer.code, -ESRCH);
}

static void fails_where_the_manager_hangs_up(void)
{
	struct manager manager = { .is_gone = true };
	ANSWER answer = ask(&manager, &none);

	expect(answer.code < 0);
	expect(answer.why);
}

static void fails_where_there_is_no_manager(void)
{
	const pid_t pids[] = { getpid(), getpid() + 1 };
	ANSWER answer = { .cgroup = NULL };

	(void)setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	answer.code = sbx_scope_start(UNIT, pids, &none, "a test", &answer.cgroup, &answer.why);
	expect(answer.code < 0);
	expect(answer.why && strstr(answer.why, "cannot be reached"));
}

static void has_a_process_moved_by_the_manager(void)
{
	struct manager manager = { .told = -EBADF }, refuses = { .refusal = "not today" };

	manager_begin(&manager);
	expect_eq(sbx_scope_join(UNIT, "/sbx-a"), 0);
	manager_end(&manager);
	expect_str(manager.said, UNIT " /sbx-a 1");
	manager_begin(&refuses);
	expect_eq(sbx_scope_join(UNIT, "/sbx-a"), -EACCES);
	manager_end(&refuses);
}

static const struct test tests[] = {
	TEST(asks_for_a_delegated_scope_around_the_processes),
	TEST(asks_for_every_limit),
	TEST(asks_for_the_oom_policy_where_scopes_know_it),
	TEST(fails_where_a_limit_is_passed_over),
	TEST(hears_of_a_job_that_ends_before_its_answer),
	TEST(is_not_misled_by_other_jobs),
	TEST(says_what_the_manager_refuses),
	TEST(says_how_a_job_has_failed),
	TEST(fails_where_the_scope_is_gone_already),
	TEST(refuses_a_cgroup_that_leads_elsewhere),
	TEST(fails_where_the_manager_hangs_up),
	TEST(fails_where_there_is_no_manager),
	TEST(has_a_process_moved_by_the_manager),
	TEST_END,
};

int main(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return 1;
	return test_run(tests);
}
