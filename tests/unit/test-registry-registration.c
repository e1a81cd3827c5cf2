/* SPDX-License-Identifier: MIT */

#include "registry/registry.h"

#include "registry-rig.h"

#include <sched.h>
#include <sys/file.h>

static void its_directory_is_closed_to_others(void)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT;
	struct stat st;
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	expect_str(made.id, "a");
	expect_eq(fstat(made.directory, &st), 0);
	expect_eq(st.st_mode & 07777, 0700);
	expect_eq(fcntl(made.directory, F_GETFD), FD_CLOEXEC);
}

static void one_name_has_one_sandbox(void)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT,
						   second = REGISTRATION_INIT;
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	expect_eq(registration_create(rig.registry, "a", &second, &rig.err), -EEXIST);
	expect(strstr(rig.err.fix, "--id"));
	expect_eq(second.directory, -EBADF);
	/* Nor after its supervisor has exited. */
	registration_deinit(&made);
	expect_eq(registration_create(rig.registry, "a", &second, &rig.err), -EEXIST);
}

static bool is_alive(struct rig *rig, const char *id)
{
	struct sandbox_entry entry;
	bool alive = false;

	expect_eq(registry_read(rig->registry, id, &rig->arena, &entry, &alive, &rig->err), 0);
	return alive;
}

static void is_alive_as_long_as_it_is_held(void)
{
	struct registration made = REGISTRATION_INIT;
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	expect(is_alive(&rig, "a"));
	expect(is_alive(&rig, "a"));
	registration_deinit(&made);
	expect(!is_alive(&rig, "a"));
}

static pid_t start_supervisor(struct rig *rig, const char *id)
{
	int ready[2];
	char byte;
	pid_t child;

	if (pipe(ready) < 0)
		abort();
	child = fork();
	if (child == 0) {
		struct registration made = REGISTRATION_INIT;
		struct sandbox_entry entry = rig_entry(id);

		if (registration_create(rig->registry, id, &made, NULL) < 0 ||
		    registration_write(&made, &entry, NULL) < 0)
			_exit(1);
		(void)fd_write_all(ready[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	close_fd(&ready[1]);
	expect_eq(read(ready[0], &byte, 1), 1);
	close_fd(&ready[0]);
	return child;
}

static void a_killed_supervisor_leaves_an_unlocked_directory(void)
{
	struct registration claimed = REGISTRATION_INIT;
	RIG;
	pid_t child = start_supervisor(&rig, "a");

	expect(is_alive(&rig, "a"));
	expect_eq(registration_claim(rig.registry, "a", &claimed, &rig.err), -EBUSY);
	rig_end(child);
	expect(!is_alive(&rig, "a"));
	expect_eq(registration_claim(rig.registry, "a", &claimed, &rig.err), 0);
	expect_eq(registration_remove(rig.registry, &claimed), 0);
}

#define N_ROUNDS 500

/* Makes a sandbox as sbx-ctl create does, and removes it, again and again. */
static void make_and_remove(int registry)
{
	const struct sandbox_entry entry = { .id = "a", .state = SANDBOX_CREATING, .cwd = "/" };

	for (int i = 0; i < N_ROUNDS; i++) {
		struct registration made = REGISTRATION_INIT;

		if (registration_create(registry, "a", &made, NULL) < 0 ||
		    registration_write(&made, &entry, NULL) < 0)
			_exit(1);
		rig_put(made.directory, SANDBOX_CONFIGURATION_NAME, "/");
		registration_deinit(&made);
		if (registration_claim(registry, "a", &made, NULL) < 0 ||
		    registration_remove(registry, &made) < 0)
			_exit(1);
	}
	_exit(0);
}

/* One that has been made waits, until it is removed. Only the name may be there already. */
static bool is_as_it_was(int registry)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	struct sbx_error err = { .code = 0 };
	struct sandbox_entry entry;
	bool alive;
	int r = registry_read(registry, "a", &arena, &entry, &alive, &err);

	if (r == -ENOENT)
		return strstr(err.what, "there is no sandbox 'a'");
	return r == 0 && err.code == 0 && (alive || entry.waits || !entry.cwd);
}

static void a_reader_sees_a_sandbox_or_none(void)
{
	int status = -1;
	size_t n_wrong = 0;
	RIG;
	pid_t child = fork();

	if (child == 0)
		make_and_remove(rig.registry);
	while (waitpid(child, &status, WNOHANG) == 0)
		n_wrong += !is_as_it_was(rig.registry);
	expect_eq(status, 0);
	expect_eq(n_wrong, 0);
}

static void adopts_what_waits_to_be_started(void)
{
	struct registration adopted = REGISTRATION_INIT;
	RIG;

	rig_make(&rig, "a");
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), 0);
	expect_str(adopted.id, "a");
	expect(is_alive(&rig, "a"));
	registration_deinit(&adopted);
}

static void adopts_nothing_that_is_not_there(void)
{
	struct registration adopted = REGISTRATION_INIT;
	RIG;

	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), -ENOENT);
	expect_eq(adopted.directory, -EBADF);
}

static void a_sandbox_is_adopted_once(void)
{
	struct registration adopted = REGISTRATION_INIT, second = REGISTRATION_INIT;
	RIG;

	rig_make(&rig, "a");
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), 0);
	expect_eq(registration_adopt(rig.registry, "a", &second, &rig.err), -EBUSY);
	registration_deinit(&adopted);
}

static void refuses_to_run_again_what_has_run(void)
{
	struct registration adopted = REGISTRATION_INIT;
	struct sandbox_entry entry = rig_entry("a");
	RIG;

	rig_make(&rig, "a");
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), 0);
	entry.state = SANDBOX_DESTROYED;
	expect_eq(registration_write(&adopted, &entry, &rig.err), 0);
	registration_deinit(&adopted);
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), -EEXIST);
	expect(strstr(rig.err.why, "has already run"));
	expect_eq(adopted.directory, -EBADF);
}

static void refuses_to_adopt_what_a_killed_supervisor_had_taken(void)
{
	struct registration adopted = REGISTRATION_INIT;
	struct sandbox_entry entry = rig_entry("a");
	RIG;

	rig_make(&rig, "a");
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), 0);
	entry.state = SANDBOX_CREATING;
	entry.supervisor = getpid();
	expect_eq(registration_write(&adopted, &entry, &rig.err), 0);
	registration_deinit(&adopted);
	expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), -EEXIST);
}

static void refuses_to_adopt_what_was_not_made_for_it(void)
{
	struct registration made = REGISTRATION_INIT;
	RIG;

	/* A supervisor that was killed before it wrote state.json. */
	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	registration_deinit(&made);
	expect_eq(registration_adopt(rig.registry, "a", &made, &rig.err), -EEXIST);
}

static void removes_the_directory_with_all_that_it_put_there(void)
{
	static const char *const names[] = { SANDBOX_CONTROL_NAME, SANDBOX_CONFIGURATION_NAME,
					     SANDBOX_LOG_NAME, SANDBOX_PAUSED_NAME };
	struct registration made = REGISTRATION_INIT;
	struct sandbox_entry entry = rig_entry("a");
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	expect_eq(registration_write(&made, &entry, &rig.err), 0);
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		rig_put(made.directory, names[i], "");
	expect_eq(registration_remove(rig.registry, &made), 0);
	expect_eq(made.directory, -EBADF);
	expect_eq(faccessat(rig.registry, "a", F_OK, 0), -1);
	expect_eq(registration_remove(rig.registry, &made), 0);
}

/* Creates the log once in each directory, after its configuration was removed: as a start does that
 * has read that before. */
static void make_logs(int registry)
{
	bool had_any = false;

	for (;;) {
		_cleanup_close_ int directory =
			openat(registry, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		_cleanup_close_ int log = -EBADF;

		if (directory < 0)
			continue;
		while (faccessat(directory, SANDBOX_CONFIGURATION_NAME, F_OK, 0) == 0)
			had_any = true;
		if (had_any)
			log = openat(directory, SANDBOX_LOG_NAME, O_RDWR | O_CREAT | O_CLOEXEC,
				     0600);
		had_any = false;
	}
}

static void a_log_that_is_made_meanwhile_is_removed_too(void)
{
	size_t n_wrong = 0;
	RIG;
	pid_t child = fork();

	if (child == 0)
		make_logs(rig.registry);
	for (int i = 0; i < N_ROUNDS && n_wrong == 0; i++) {
		_cleanup_registration_ struct registration made = REGISTRATION_INIT;

		expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
		rig_put(made.directory, SANDBOX_CONFIGURATION_NAME, "/");
		n_wrong += registration_remove(rig.registry, &made) < 0;
	}
	rig_end(child);
	expect_eq(n_wrong, 0);
}

static void removing_what_is_gone_already_succeeds(void)
{
	struct registration made = REGISTRATION_INIT;
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	expect_eq(unlinkat(rig.registry, "a", AT_REMOVEDIR), 0);
	expect_eq(registration_remove(rig.registry, &made), 0);
}

static void keeps_a_directory_with_a_file_of_another_program(void)
{
	struct registration made = REGISTRATION_INIT;
	RIG;

	expect_eq(registration_create(rig.registry, "a", &made, &rig.err), 0);
	rig_put(made.directory, "notes", "");
	expect_eq(registration_remove(rig.registry, &made), -ENOTEMPTY);
	expect_eq(faccessat(rig.registry, "a/notes", F_OK, 0), 0);
	registration_deinit(&made);
}

static void a_reader_sees_one_whole_state(void)
{
	struct sandbox_entry entry = rig_entry("a");
	bool alive;
	RIG;
	pid_t writer = fork();

	if (writer == 0) {
		struct registration made = REGISTRATION_INIT;

		if (registration_create(rig.registry, "a", &made, NULL) < 0)
			_exit(1);
		for (entry.init = 1;; entry.init++)
			if (registration_write(&made, &entry, NULL) < 0)
				_exit(1);
	}
	while (faccessat(rig.registry, "a/state.json", F_OK, 0) < 0)
		;
	for (int i = 0; i < 2000; i++) {
		pid_t before = entry.init;

		expect_eq(registry_read(rig.registry, "a", &rig.arena, &entry, &alive, &rig.err),
			  0);
		expect(entry.init >= before && alive);
	}
	rig_end(writer);
}

/* Runs @work in a child at the same time as the parent. */
static pid_t beside(struct rig *rig, void (*work)(struct rig *rig))
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			work(rig);
	return child;
}

static void collect(struct rig *rig)
{
	struct registration claimed = REGISTRATION_INIT;

	if (registration_claim(rig->registry, "a", &claimed, NULL) == 0)
		(void)registration_remove(rig->registry, &claimed);
	registration_deinit(&claimed);
}

static void a_collector_takes_nothing_from_a_creator(void)
{
	int n_made = 0;
	RIG;
	pid_t collector = beside(&rig, collect);

	while (n_made < 200) {
		_cleanup_registration_ struct registration made = REGISTRATION_INIT;
		struct sandbox_entry entry = rig_entry("a");
		int r = registration_create(rig.registry, "a", &made, &rig.err);

		/* Try again until gc has removed the directory. */
		if (r == -EEXIST && sched_yield() == 0)
			continue;
		n_made++;
		expect_eq(r, 0);
		expect_eq(registration_write(&made, &entry, &rig.err), 0);
		expect_eq(faccessat(rig.registry, "a/state.json", F_OK, 0), 0);
	}
	rig_end(collector);
}

static void look(struct rig *rig)
{
	_cleanup_(arena_deinit) struct arena arena = ARENA_INIT;
	struct sandbox_entry entry;
	bool alive;

	(void)registry_read(rig->registry, "a", &arena, &entry, &alive, NULL);
}

static void a_shared_lock_of_a_reader_is_no_supervisor(void)
{
	RIG;

	rig_make(&rig, "a");

	pid_t first = beside(&rig, look), second = beside(&rig, look);

	for (int i = 0; i < 3000; i++) {
		struct registration adopted = REGISTRATION_INIT;

		expect_eq(registration_adopt(rig.registry, "a", &adopted, &rig.err), 0);
		registration_deinit(&adopted);
	}
	rig_end(first);
	rig_end(second);
}

static unsigned long count_waits(pid_t pid)
{
	static const char name[] = "voluntary_ctxt_switches:";
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64], line[256];
	unsigned long n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (strncmp(line, name, strlen(name)) == 0)
			n = strtoul(line + strlen(name), NULL, 10);
	return n;
}

/* A reader may be preempted while it holds the shared lock. */
static void a_long_shared_lock_of_a_reader_is_waited_for(void)
{
	int status = 0;
	pid_t child, ended = 0;
	RIG;

	rig_make(&rig, "a");

	_cleanup_close_ int looking = openat(rig.registry, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	expect_eq(flock(looking, LOCK_SH), 0);
	child = fork();
	if (child == 0) {
		struct registration adopted = REGISTRATION_INIT;

		(void)close(looking);
		_exit(registration_adopt(rig.registry, "a", &adopted, NULL) < 0);
	}
	while (ended == 0 && count_waits(child) < 2000)
		ended = waitpid(child, &status, WNOHANG);
	expect_eq(ended, 0);
	expect_eq(flock(looking, LOCK_UN), 0);
	if (ended == 0)
		expect_eq(waitpid(child, &status, 0), child);
	expect_eq(status, 0);
}

#define N_CLAIMERS 4

static pid_t fork_claimer(const struct rig *rig, int begin, int end)
{
	pid_t child = fork();

	if (child == 0) {
		struct registration adopted = REGISTRATION_INIT;
		char byte;
		int r;

		if (read(begin, &byte, 1) != 1)
			_exit(1);
		r = registration_adopt(rig->registry, "a", &adopted, NULL);
		/* The one that got the lock keeps it until all have tried. */
		if (write(end, r == 0 ? "y" : "n", 1) != 1)
			_exit(1);
		(void)pause();
	}
	return child;
}

static void one_of_many_competitors_gets_the_lock(void)
{
	pid_t claimers[N_CLAIMERS];
	int begin[2], end[2];
	char said[N_CLAIMERS + 1] = "";
	size_t n_yes = 0;
	RIG;

	rig_make(&rig, "a");
	if (pipe(begin) < 0 || pipe(end) < 0)
		abort();
	for (size_t i = 0; i < N_CLAIMERS; i++)
		claimers[i] = fork_claimer(&rig, begin[0], end[1]);
	expect_eq(write(begin[1], "beginbegin", N_CLAIMERS), N_CLAIMERS);
	for (size_t i = 0; i < N_CLAIMERS; i++) {
		expect_eq(read(end[0], said + i, 1), 1);
		n_yes += said[i] == 'y';
	}
	expect_eq(n_yes, 1);
	for (size_t i = 0; i < N_CLAIMERS; i++)
		rig_end(claimers[i]);
	for (int i = 0; i < 2; i++) {
		(void)close(begin[i]);
		(void)close(end[i]);
	}
}

static const struct test tests[] = {
	TEST(its_directory_is_closed_to_others),
	TEST(one_name_has_one_sandbox),
	TEST(is_alive_as_long_as_it_is_held),
	TEST(a_killed_supervisor_leaves_an_unlocked_directory),
	TEST(a_reader_sees_a_sandbox_or_none),
	TEST(adopts_what_waits_to_be_started),
	TEST(adopts_nothing_that_is_not_there),
	TEST(a_sandbox_is_adopted_once),
	TEST(refuses_to_run_again_what_has_run),
	TEST(refuses_to_adopt_what_a_killed_supervisor_had_taken),
	TEST(refuses_to_adopt_what_was_not_made_for_it),
	TEST(removes_the_directory_with_all_that_it_put_there),
	TEST(a_log_that_is_made_meanwhile_is_removed_too),
	TEST(removing_what_is_gone_already_succeeds),
	TEST(keeps_a_directory_with_a_file_of_another_program),
	TEST(a_reader_sees_one_whole_state),
	TEST(a_collector_takes_nothing_from_a_creator),
	TEST(a_shared_lock_of_a_reader_is_no_supervisor),
	TEST(a_long_shared_lock_of_a_reader_is_waited_for),
	TEST(one_of_many_competitors_gets_the_lock),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
