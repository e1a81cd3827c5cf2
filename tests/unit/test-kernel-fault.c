/* SPDX-License-Identifier: MIT */

/*
 * Lets each system call of the set-up fail in turn, with EPERM and ENOSYS, as on a kernel without
 * it or that does not permit it: no command may run then. TEST_SLOW tries every call with ENOSYS,
 * too.
 */

#include <sys/resource.h>

#include "world-rig.h"

/* One step of each kind that needs only namespaces. */
static void add_everything(struct world *world)
{
	make_directory(world, "bound", 0777);
	make_directory(world, "bound/masked", 0777);
	make_file(world, "file", "", 0644);
	add_bind(world, outside(world, "bound"), "/bound", STEP_IS_DIRECTORY | STEP_READ_ONLY);
	add(world, .kind = STEP_MASK, .mask.target = "/bound/masked", .mask.is_directory = true);
	add_bind(world, "/dev/null", "/dev/null", STEP_DEVICES);
	add(world, .kind = STEP_PTS, .pts.target = "/dev/pts");
	add(world, .kind = STEP_FILE, .file.source = outside(world, "file"), .file.target = "/file",
	    .file.mode = 0400);
	add(world, .kind = STEP_DIRECTORY, .directory.target = "/home/somebody",
	    .directory.mode = 0755);
	add(world, .kind = STEP_LINK, .link.target = "/lib", .link.points_to = "usr/lib");
	add(world, .kind = STEP_MASK, .mask.target = "/masked");
	add_proc(world);
	add(world, .kind = STEP_TMPFS, .tmpfs.target = "/tmp", .tmpfs.size_bytes = MIB,
	    .tmpfs.mode = 01777);
	add(world, .kind = STEP_SEAL, .seal.target = "/");
	add(world, .kind = STEP_HOSTNAME, .hostname.name = "sandbox");
	add(world, .kind = STEP_LOOPBACK);
	add(world, .kind = STEP_RLIMIT, .rlimit.name = "core", .rlimit.resource = RLIMIT_CORE);
	add(world, .kind = STEP_IDENTITY, .identity.uid = world->plan.uid,
	    .identity.gid = world->plan.gid);
	add(world, .kind = STEP_CAPABILITIES);
	add(world, .kind = STEP_NO_NEW_PRIVILEGES);
}

static void add_overlay(struct world *world)
{
	make_directory(world, "lower", 0777);
	make_directory(world, "upper", 0777);
	make_directory(world, "work", 0777);
	add(world, .kind = STEP_OVERLAY, .overlay.source = outside(world, "lower"),
	    .overlay.target = "/project", .overlay.upper = outside(world, "upper"),
	    .overlay.work = outside(world, "work"), .overlay.owner.is_set = is_root(),
	    .overlay.owner.uid = 0, .overlay.owner.gid = 0);
	add_end(world);
}

static void arrive(struct world *world)
{
	/* Reached only if no step failed. */
	expect_eq(getpid(), 1);
}

/* Runs one sandbox in a child, where faults count its system calls from the first. */
static int run_with_fault(void (*fill)(struct world *world), const char *name, const char *code,
			  unsigned number)
{
	int *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	char fault[64];
	pid_t pid;

	(void)snprintf(fault, sizeof(fault), "%s:%s:%u", name, code, number);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct world world = WORLD_INIT;

		test_failures = 0;
		world_init(&world);
		fill(&world);
		(void)setenv("SBX_FAULT", fault, 1);
		*r = world_run(&world, arrive);
		(void)chmod(outside(&world, "work/work"), 0700);
		world_deinit(&world);
		(void)fflush(stdout);
		_exit(test_failures != 0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	if (status != 0)
		printf("# with SBX_FAULT=%s\n", fault);
	expect_eq(status, 0);
	status = *r;
	(void)munmap(r, sizeof(*r));
	return status;
}

/* Lets the first call fail, then the second, and so on, until there is no further call. */
static void fail_each(void (*fill)(struct world *world), const char *name, const char *code,
		      int number)
{
	unsigned n = 1;
	int first = run_with_fault(fill, name, code, n);

	if (first != number)
		printf("# %s with %s is never asked for, or not minded\n", name, code);
	expect_eq(first, number);
	if (number == -ENOSYS && !test_is_slow())
		return;
	/* A later failure may also be detected by checking the result, with another errno. */
	while (n < 200 && run_with_fault(fill, name, code, n) < 0)
		n++;
	expect(n > 1 && n < 200);
}

static void fail_all(void (*fill)(struct world *world), const char *const *names)
{
	for (; *names; names++) {
		fail_each(fill, *names, "EPERM", -EPERM);
		fail_each(fill, *names, "ENOSYS", -ENOSYS);
	}
}

EVERYBODY(nothing_runs_where_a_call_of_the_set_up_fails)
{
	static const char *const names[] = {
		"clone3",     "write",	 "openat2",   "open_tree", "mount_setattr",
		"move_mount", "fsopen",	 "fsconfig",  "fsmount",   "fchdir",
		"pivot_root", "umount2", "mkdirat",   "mknodat",   "symlinkat",
		"openat",     "fstat",	 "sendfile",  "prctl",	   "sethostname",
		"socket",     "ioctl",	 "setresgid", "setresuid", NULL,
	};

	fail_all(add_everything, names);
	/* setgroups() may fail with EPERM in a user namespace, where the groups are checked
	 * instead. */
	fail_each(add_everything, "setgroups", "ENOSYS", -ENOSYS);
}

EVERYBODY(nothing_runs_where_a_call_for_an_overlay_fails)
{
	static const char *const names[] = { "openat2",	 "open",    "fchdir", "fsopen",
					     "fsconfig", "fsmount", NULL };
	static const char *const of_root[] = { "open_tree", "mount_setattr", "move_mount", "pipe2",
					       "write",	    "clone3",	     "statx",	   NULL };

	fail_all(add_overlay, names);
	if (is_root())
		fail_all(add_overlay, of_root);
}

static const struct test tests[] = {
	TEST(nothing_runs_where_a_call_of_the_set_up_fails),
	TEST(nothing_runs_where_a_call_for_an_overlay_fails),
	TEST_END,
};

int main(void)
{
	return test_run(tests);
}
