/* SPDX-License-Identifier: MIT */

/*
 * Sandboxes in a cgroup of their own, and sandboxes without namespaces, which have only the cgroup
 *
 * The cgroup is created below the first one in which root can create others, or which is delegated
 * to the ordinary user.
 */

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "spawn-rig.h"

struct place {
	char parent[128];    /* delegated to the user */
	char home[160];	     /* cgroup of the supervisor */
	char directory[160]; /* cgroup of the sandbox */
};

static const char *find_cgroups(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC &&
		    access(places[i], W_OK) == 0)
			return places[i];
	return NULL;
}

static bool write_file(const char *directory, const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);

	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

static void hand_to(const char *directory, const char *name, uid_t uid)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (chown(path, uid, uid) < 0)
		abort();
}

/* Creates a cgroup as a service manager delegates one: directory, cgroup.procs and
 * cgroup.subtree_control belong to the user. */
static bool place_init(struct place *place, uid_t uid)
{
	static unsigned n;
	const char *cgroups = find_cgroups();

	if (!cgroups)
		return false;
	(void)snprintf(place->parent, sizeof(place->parent), "%s/sbx-test-%d-%u", cgroups,
		       (int)getpid(), n++);
	(void)snprintf(place->home, sizeof(place->home), "%s/home", place->parent);
	(void)snprintf(place->directory, sizeof(place->directory), "%s/sandbox", place->parent);
	if (mkdir(place->parent, 0755) < 0 || mkdir(place->home, 0755) < 0)
		return false;
	hand_to(place->parent, ".", uid);
	hand_to(place->parent, "cgroup.procs", uid);
	hand_to(place->parent, "cgroup.subtree_control", uid);
	hand_to(place->home, ".", uid);
	hand_to(place->home, "cgroup.procs", uid);
	return true;
}

static void place_deinit(struct place *place)
{
	expect_eq(access(place->directory, F_OK), -1);
	expect_eq(rmdir(place->home), 0);
	expect_eq(rmdir(place->parent), 0);
}

static const struct place *current; /* of this test; the child has a copy */

static int move_home(struct rig *rig)
{
	return write_file(current->home, "cgroup.procs", "0") ? 0 : -EIO;
}

static void add_cgroup(struct rig *rig, const struct place *place)
{
	current = place;
	rig->prepare = move_home;
	rig_insert(rig, (struct step){ .kind = STEP_CGROUP, .cgroup.path = place->directory });
}

/* A plan of the tier "reduced": the whole file system of the host stays visible. */
static void init_reduced(struct rig *rig, uid_t uid, const char *script)
{
	rig_init(rig, uid, script);
	rig->plan.tier = TIER_REDUCED;
	rig->plan.n_steps = 0;
	rig_add(rig, (struct step){ .kind = STEP_IDENTITY,
				    .identity.uid = rig->plan.uid,
				    .identity.gid = rig->plan.gid });
	rig_add(rig, (struct step){ .kind = STEP_CAPABILITIES });
	rig_add(rig, (struct step){ .kind = STEP_NO_NEW_PRIVILEGES });
	rig_add(rig,
		(struct step){ .kind = STEP_WORKING_DIRECTORY, .working_directory.target = "/" });
	rig_add(rig, (struct step){ .kind = STEP_EXEC });
}

#define NEEDS_CGROUPS(place, uid)                                                                  \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip("only root can hand out cgroups");                                    \
		if (!place_init(place, uid))                                                       \
			skip("there are no cgroups that we may use");                              \
	} while (0)

/* ---- */

/* Is it the sandbox's cgroup in a scope: below the scope's directory? */
static bool is_of_current(const char *cgroup)
{
	size_t n = current ? strlen(current->directory) : 0;

	return n > 0 && cgroup && strncmp(cgroup, current->directory, n) == 0 &&
	       (cgroup[n] == '\0' || strcmp(cgroup + n, "/sbx-a.b") == 0);
}

static int remember(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	struct outcome *outcome = userdata;

	outcome->note = is_of_current(cgroup) && access(cgroup, F_OK) == 0;
	return 0;
}

FOR_BOTH(the_cgroup_is_made_told_and_removed)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	struct spawn_hooks hooks = { .started = remember };

	NEEDS_CGROUPS(&place, uid);
	rig_init(&rig, uid, "grep ^0 /proc/self/cgroup");
	add_cgroup(&rig, &place);
	hooks.userdata = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_eq(rig.outcome->note, 1);
	/* In its cgroup namespace the sandbox's cgroup is the root. */
	expect_str(rig.output, "0::/\n");
	place_deinit(&place);
}

FOR_BOTH(the_cgroup_is_removed_where_nothing_was_run)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	rig_init(&rig, uid, "");
	rig.argv[0] = "no-such-command";
	add_cgroup(&rig, &place);
	rig_run(&rig);
	rig_expect(&rig, SPAWN_NOT_FOUND, SPAWN_REASON_EXEC);
	place_deinit(&place);
}

FOR_BOTH(memory_is_the_reason_only_where_the_kernel_has_counted_it)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	rig_init(&rig, uid, "kill -KILL $$");
	add_cgroup(&rig, &place);
	rig_run(&rig);
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_SIGNAL);
	place_deinit(&place);
}

static bool has_memory(const struct place *place)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/memory.max", place->home);
	return write_file(place->parent, "cgroup.subtree_control", "+memory") &&
	       access(path, F_OK) == 0;
}

#define NEEDS_MEMORY(place)                                                                        \
	do {                                                                                       \
		if (!has_memory(place)) {                                                          \
			place_deinit(place);                                                       \
			skip("cgroups here have no memory controller");                            \
		}                                                                                  \
	} while (0)

FOR_BOTH(too_much_memory_is_told_as_that)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	NEEDS_MEMORY(&place);
	rig_init(&rig, uid, "a=x; while :; do a=$a$a; done");
	add_cgroup(&rig, &place);
	rig_insert(&rig, (struct step){ .kind = STEP_CGROUP_LIMIT,
					.cgroup_limit.file = "memory.max",
					.cgroup_limit.value = "33554432" });
	rig_insert(&rig, (struct step){ .kind = STEP_CGROUP_LIMIT,
					.cgroup_limit.file = "memory.swap.max",
					.cgroup_limit.value = "0",
					.cgroup_limit.optional = true });
	rig_run(&rig);
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_MEMORY);
	expect(rig.outcome->result.is_peak_of_cgroup);
	expect(rig.outcome->result.peak_memory_bytes > 16 * MIB);
	place_deinit(&place);
}

/* ---- a scope, from a service manager that the test plays ---- */

static const char *module_directory(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	*strrchr(path, '/') = '\0';
	return path;
}

static void init_scope(struct rig *rig, uid_t uid, const struct place *place, const char *script)
{
	rig_init(rig, uid, script);
	rig->plan.id = "a.b";
	rig_insert(rig, (struct step){ .kind = STEP_SCOPE, .scope.unit = "sandbox" });
	rig_insert(rig, (struct step){ .kind = STEP_SCOPE_LIMIT,
				       .scope_limit.property = "MemoryMax",
				       .scope_limit.value = 1234 });
	rig_insert(rig, (struct step){ .kind = STEP_SCOPE_LIMIT,
				       .scope_limit.property = "TasksMax",
				       .scope_limit.value = 10 });
	rig->options.module_directory = module_directory();
	current = place;
	rig->prepare = move_home;
	if (setenv("SBX_TEST_CGROUP", place->parent, 1) < 0)
		abort();
}

static void read_text(const char *directory, const char *name, char *text, size_t size)
{
	char path[224];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);

	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
}

static bool is_populated(const char *cgroup)
{
	char text[128];

	read_text(cgroup, "cgroup.events", text, sizeof(text));
	expect(strstr(text, "populated ") != NULL);
	return strstr(text, "populated 1") != NULL;
}

static void await_empty(const char *cgroup)
{
	while (is_populated(cgroup))
		(void)sched_yield();
}

/* Waits until the process has handled its signal and sleeps again, or is gone. */
static void await_rest(pid_t pid)
{
	char directory[32], text[2048];

	(void)snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	do
		read_text(directory, "status", text, sizeof(text));
	while (text[0] != '\0' && !strstr(text, "\nState:\tZ") &&
	       !(strstr(text, "\nState:\tS") && strstr(text, "\nShdPnd:\t0000000000000000")));
}

/* SIGTERM to the process that keeps the scope, as from a service manager or a shell. */
static void ask_keeper_to_go(const struct place *place)
{
	char text[32];
	pid_t keeper;

	read_text(place->directory, "keeper/cgroup.procs", text, sizeof(text));
	keeper = (pid_t)strtol(text, NULL, 10);
	expect(keeper > 0 && kill(keeper, SIGTERM) == 0);
	await_rest(keeper);
	expect_eq(getsid(keeper), keeper);
}

/* Removes the scope's cgroups as soon as they are empty, as the service manager does. */
static void remove_scope(const struct place *place)
{
	static const char *const parts[] = { "/sbx-a.b", "/keeper", "" };

	await_empty(place->directory);
	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		char path[192];

		(void)snprintf(path, sizeof(path), "%s%s", place->directory, parts[i]);
		expect_eq(rmdir(path), 0);
	}
}

FOR_BOTH(everything_is_born_in_the_scope)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	struct spawn_hooks hooks = { .started = remember };

	NEEDS_CGROUPS(&place, uid);
	init_scope(&rig, uid, &place, "grep ^0 /proc/self/cgroup");
	hooks.userdata = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	rig_expect(&rig, 0, SPAWN_REASON_EXIT);
	expect_eq(rig.outcome->note, 1);
	expect_str(rig.output, "0::/\n");
	remove_scope(&place);
	place_deinit(&place);
}

/* Everything ends while the supervisor is stopped: the scope must stay until it has read its files.
 */
static void run_unseen(struct rig *rig, uid_t uid, struct place *place, const char *script,
		       const char *file, const char *text)
{
	_cleanup_close_ int end = -EBADF;
	char directory[192];

	init_scope(rig, uid, place, script);
	(void)snprintf(directory, sizeof(directory), "%s/sbx-a.b", place->directory);
	rig_start_with_pipe(rig, &end);
	expect(rig_hears(end, "ready\n"));
	expect_eq(kill(rig->supervisor, SIGSTOP), 0);
	expect(write_file(directory, file, text));
	await_empty(directory);
	ask_keeper_to_go(place);
	expect(is_populated(place->directory));
	expect_eq(kill(rig->supervisor, SIGCONT), 0);
	remove_scope(place);
	expect(rig_is_silent(end));
	rig_wait(rig);
	place_deinit(place);
}

FOR_BOTH(a_scope_stays_until_its_numbers_are_read)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	run_unseen(&rig, uid, &place, "echo ready; sleep 1000", "cgroup.kill", "1");
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_SIGNAL);
}

/* 16 MiB, briefly twice that */
#define USE_MUCH "a=x; while [ ${#a} -lt 16777216 ]; do a=$a$a; done; echo ready; sleep 1000"

FOR_BOTH(an_oom_kill_is_reported_although_the_supervisor_was_stopped)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	NEEDS_MEMORY(&place);
	run_unseen(&rig, uid, &place, USE_MUCH, "memory.max", "4096");
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_MEMORY);
	expect(rig.outcome->result.is_peak_of_cgroup);
	expect(rig.outcome->result.peak_memory_bytes > 16 * MIB);
}

FOR_BOTH(peak_memory_is_reported_although_the_supervisor_was_stopped)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	NEEDS_MEMORY(&place);
	run_unseen(&rig, uid, &place, USE_MUCH, "cgroup.kill", "1");
	rig_expect(&rig, 128 + SIGKILL, SPAWN_REASON_SIGNAL);
	expect(rig.outcome->result.is_peak_of_cgroup);
	expect(rig.outcome->result.peak_memory_bytes > 16 * MIB);
}

FOR_BOTH(without_its_scope_nothing_runs)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	init_scope(&rig, uid, &place, "echo ran");
	expect_eq(unsetenv("SBX_TEST_CGROUP"), 0);
	rig_run(&rig);
	expect_eq(rig.outcome->code, -ECONNREFUSED);
	rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
	expect_str(rig.outcome->err.why, "the manager does not want to");
	expect_str(rig.output, "");
	place_deinit(&place);
}

FOR_BOTH(a_limit_that_a_scope_does_not_have_is_refused)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	init_scope(&rig, uid, &place, "echo ran");
	rig_insert(&rig,
		   (struct step){ .kind = STEP_SCOPE_LIMIT, .scope_limit.property = "IOWeight" });
	rig_run(&rig);
	expect_eq(rig.outcome->code, -EINVAL);
	expect_str(rig.output, "");
	place_deinit(&place);
}

FOR_BOTH(without_the_module_nothing_runs)
{
	static const char *const directories[] = { "/nowhere", "." };

	for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
		struct place place;
		_cleanup_rig_ struct rig rig = RIG_NONE;

		NEEDS_CGROUPS(&place, uid);
		init_scope(&rig, uid, &place, "echo ran");
		rig.options.module_directory = directories[i];
		rig_run(&rig);
		expect_eq(rig.outcome->code, -ENOENT);
		expect_str(rig.output, "");
		place_deinit(&place);
	}
}

/* ---- without namespaces ---- */

FOR_BOTH(without_namespaces_the_status_is_the_commands_own)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	init_reduced(&rig, uid, "id -u; exit 7");
	add_cgroup(&rig, &place);
	rig_run(&rig);
	rig_expect(&rig, 7, SPAWN_REASON_EXIT);
	expect_eq(strtoul(rig.output, NULL, 10), rig.plan.uid);
	place_deinit(&place);
}

FOR_BOTH(without_namespaces_nothing_is_left_behind_either)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	_cleanup_close_ int end = -EBADF;

	NEEDS_CGROUPS(&place, uid);
	init_reduced(&rig, uid, "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); exit 5");
	add_cgroup(&rig, &place);
	rig_start_with_pipe(&rig, &end);
	expect(rig_is_silent(end));
	rig_wait(&rig);
	rig_expect(&rig, 5, SPAWN_REASON_EXIT);
	place_deinit(&place);
}

FOR_BOTH(without_namespaces_the_time_limit_kills_all)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	_cleanup_close_ int end = -EBADF;

	NEEDS_CGROUPS(&place, uid);
	init_reduced(&rig, uid,
		     "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000' &); "
		     "while :; do sleep 1000; done");
	add_cgroup(&rig, &place);
	rig_limit(&rig, LIMIT_TIME, 50000);
	rig.plan.grace_usec = 20000;
	rig_start_with_pipe(&rig, &end);
	expect(rig_is_silent(end));
	rig_wait(&rig);
	rig_expect(&rig, SPAWN_TIME_LIMIT, SPAWN_REASON_TIME);
	place_deinit(&place);
}

/* Normally sbx-ctl gc removes the directory; here the test does. */
FOR_BOTH(without_namespaces_kill_9_of_the_supervisor_kills_everything)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	_cleanup_close_ int end = -EBADF;

	NEEDS_CGROUPS(&place, uid);
	init_reduced(&rig, uid,
		     "(setsid sh -c 'trap \"\" TERM HUP IO; sleep 1000' &); "
		     "echo ready; while :; do sleep 1000; done");
	add_cgroup(&rig, &place);
	rig_start_with_pipe(&rig, &end);
	expect(rig_hears(end, "ready\n"));
	expect_eq(kill(rig.supervisor, SIGKILL), 0);
	expect(rig_is_silent(end));
	expect_eq(waitpid(rig.supervisor, NULL, 0), rig.supervisor);
	while (rmdir(place.directory) < 0 && errno == EBUSY)
		(void)sched_yield();
	place_deinit(&place);
}

/* Where the kernel kills PID 1 at once; on other kernels the command runs. */
FOR_BOTH(a_cgroup_whose_processes_were_killed_before_is_named)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;

	NEEDS_CGROUPS(&place, uid);
	if (!write_file(place.home, "cgroup.kill", "1")) {
		place_deinit(&place);
		skip("this kernel has no cgroup.kill");
	}
	rig_init(&rig, uid, "exit 3");
	add_cgroup(&rig, &place);
	rig_run(&rig);
	if (rig.outcome->result.status != 3) {
		rig_expect(&rig, SPAWN_FAILED, SPAWN_REASON_SETUP);
		expect(strstr(rig.outcome->err.why, "cgroup.kill was written here before"));
	}
	place_deinit(&place);
}

static int freeze_and_kill(void *userdata, pid_t init, const char *cgroup, struct sbx_error *err)
{
	struct outcome *outcome = userdata;

	outcome->note = write_file(cgroup, "cgroup.freeze", "1") && kill(init, SIGKILL) == 0;
	return 0;
}

/* As a paused sandbox whose PID 1 is killed: a process that is started in its cgroup stays frozen.
 */
FOR_BOTH(the_end_of_a_frozen_sandbox_is_noticed)
{
	struct place place;
	_cleanup_rig_ struct rig rig = RIG_NONE;
	struct spawn_hooks hooks = { .started = freeze_and_kill };

	NEEDS_CGROUPS(&place, uid);
	rig_init(&rig, uid, "exit 3");
	add_cgroup(&rig, &place);
	hooks.userdata = rig.outcome;
	rig.options.hooks = &hooks;
	rig_run(&rig);
	expect_eq(rig.outcome->note, 1);
	expect(rig.outcome->result.status != 3);
	place_deinit(&place);
}

static const struct test tests[] = {
	BOTH(the_cgroup_is_made_told_and_removed),
	BOTH(the_cgroup_is_removed_where_nothing_was_run),
	BOTH(memory_is_the_reason_only_where_the_kernel_has_counted_it),
	BOTH(too_much_memory_is_told_as_that),
	BOTH(everything_is_born_in_the_scope),
	BOTH(a_scope_stays_until_its_numbers_are_read),
	BOTH(an_oom_kill_is_reported_although_the_supervisor_was_stopped),
	BOTH(peak_memory_is_reported_although_the_supervisor_was_stopped),
	BOTH(without_its_scope_nothing_runs),
	BOTH(a_limit_that_a_scope_does_not_have_is_refused),
	BOTH(without_the_module_nothing_runs),
	BOTH(without_namespaces_the_status_is_the_commands_own),
	BOTH(without_namespaces_nothing_is_left_behind_either),
	BOTH(without_namespaces_the_time_limit_kills_all),
	BOTH(without_namespaces_kill_9_of_the_supervisor_kills_everything),
	BOTH(a_cgroup_whose_processes_were_killed_before_is_named),
	BOTH(the_end_of_a_frozen_sandbox_is_noticed),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
