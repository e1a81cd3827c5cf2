/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sandboxes from hand-written steps, for the tests of lib/kernel
 *
 * A world is a plan and a directory outside of the sandbox that steps may use. world_run() applies
 * the plan up to dropping all privileges, calls @inside there as PID 1, and returns what failed: a
 * step, or expectations of the test.
 *
 * EVERYBODY(name) { ... } is a test that runs as the current user and, if that is root, also as an
 * ordinary user.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "kernel/kernel.h"
#include "plan/plan.h"

#include "step-flags.h"
#include "test.h"

#define ORDINARY_USER 1000
#define COMMAND_USER 2000000000

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

#define MIB (1024 * 1024)

struct world {
	struct plan plan;
	struct step steps[48];
	char directory[32];
	struct kernel_failure failure; /* of world_run() */
};

#define WORLD_INIT                                                                                 \
	{                                                                                          \
		.directory = ""                                                                    \
	}

/* Shared memory in which PID 1 stores its result. */
struct world_end {
	struct kernel_failure failure;
	int r;
	bool is_inside; /* @inside was called */
	unsigned test_failures;
};

/* ---- outside ---- */

static inline bool is_root(void)
{
	return geteuid() == 0;
}

/* The path of @name in the world's directory; valid as long as the world. */
static inline const char *outside(struct world *world, const char *name)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "%s/%s", world->directory, name);

	return arena_copy(&world->plan.arena, path, (size_t)n);
}

static inline void make_directory(struct world *world, const char *name, mode_t mode)
{
	expect_eq(mkdir(outside(world, name), mode), 0);
	expect_eq(chmod(outside(world, name), mode), 0);
}

static inline void make_file(struct world *world, const char *name, const char *text, mode_t mode)
{
	_cleanup_close_ int fd =
		open(outside(world, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	expect_eq(write(fd, text, strlen(text)), strlen(text));
	expect_eq(fchmod(fd, mode), 0);
}

static inline bool holds(const char *path, const char *want)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	return file_read(AT_FDCWD, path, MIB, &text, &n, NULL) == 0 && strcmp(text, want) == 0;
}

/* ---- plans ---- */

static inline struct step *add_step(struct world *world, struct step step)
{
	if (world->plan.n_steps == N_ELEMENTS(world->steps))
		abort();
	world->steps[world->plan.n_steps] = step;
	return &world->steps[world->plan.n_steps++];
}
#define add(world, ...) add_step(world, (struct step){ __VA_ARGS__ })

/* Namespaces, identity and an empty root: the first steps of every world. */
static inline void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	(void)snprintf(world->directory, sizeof(world->directory), "/tmp/sbx-world-XXXXXX");
	if (!mkdtemp(world->directory))
		abort();
	world->plan.steps = world->steps;
	world->plan.uid = is_root() ? COMMAND_USER : geteuid();
	world->plan.gid = is_root() ? COMMAND_USER : getegid();
	add(world, .kind = STEP_NAMESPACES, .namespaces.clone_flags = NAMESPACES);
	add(world, .kind = STEP_ID_MAP, .id_map.uid = world->plan.uid,
	    .id_map.gid = world->plan.gid);
	add(world, .kind = STEP_ROOT, .root.size_bytes = MIB);
	add(world, .kind = STEP_PIVOT);
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void world_deinit(struct world *world)
{
	if (world->directory[0] == '\0')
		return;
	arena_deinit(&world->plan.arena);
	(void)nftw(world->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	expect_eq(access(world->directory, F_OK), -1);
}
#define _cleanup_world_ _cleanup_(world_deinit)

static inline void add_bind(struct world *world, const char *source, const char *target,
			    unsigned flags)
{
	(void)add_step(world, step_bind(source, target, flags));
}

/* Adds /proc of the sandbox, for tests that look at it from inside. */
static inline void add_proc(struct world *world)
{
	add(world, .kind = STEP_PROC, .proc.target = "/proc", .proc.attributes.is_read_only = true);
}

/* Adds the last steps: nothing can be mounted after them. */
static inline void add_end(struct world *world)
{
	add(world, .kind = STEP_SEAL, .seal.target = "/");
	add(world, .kind = STEP_IDENTITY, .identity.uid = world->plan.uid,
	    .identity.gid = world->plan.gid);
	add(world, .kind = STEP_CAPABILITIES);
	add(world, .kind = STEP_NO_NEW_PRIVILEGES);
}

/* ---- running ---- */

typedef void inside_fn(struct world *world);

static inline void world_enter(struct kernel *kernel, struct world *world, inside_fn *inside,
			       struct world_end *end)
{
	test_failures = 0;
	end->r = kernel_build(kernel, &end->failure);
	if (end->r == 0)
		end->r = kernel_confine(kernel, &end->failure);
	if (end->r == 0) {
		end->is_inside = true;
		inside(world);
	}
	end->test_failures = test_failures;
	(void)fflush(stdout);
	_exit(0);
}

static inline int world_clone(struct kernel *kernel, struct world *world, inside_fn *inside,
			      struct world_end *end)
{
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = kernel_clone(kernel);
	if (pid == 0)
		world_enter(kernel, world, inside, end);
	if (pid < 0) {
		end->failure.step = kernel_find_step(&world->plan, STEP_NAMESPACES);
		end->failure.code = pid;
		return pid;
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	return end->r;
}

/* 0, or the code of the failed step; then @inside was not called. */
static inline int world_run(struct world *world, inside_fn *inside)
{
	_cleanup_kernel_ struct kernel kernel = KERNEL_INIT;
	struct world_end *end =
		mmap(NULL, sizeof(*end), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r = kernel_prepare(&kernel, &world->plan, NULL, false, &end->failure);

	if (r == 0)
		r = world_clone(&kernel, world, inside, end);
	expect_eq(end->is_inside, r == 0);
	expect_eq(kernel_finish(&kernel), 0);
	world->failure = end->failure;
	test_failures += end->test_failures;
	(void)munmap(end, sizeof(*end));
	return r;
}

static inline void never(struct world *world)
{
	expect(!"this sandbox is there");
}

/* Expects that the step of @kind fails with @code and that @inside was not called. */
static inline void expect_failing(struct world *world, enum step_kind kind, int code)
{
	expect_eq(world_run(world, never), code);
	expect_eq(world->failure.code, code);
	expect(world->failure.step < world->plan.n_steps);
	if (world->failure.step < world->plan.n_steps)
		expect_eq(world->steps[world->failure.step].kind, kind);
}

/* ---- users of a test ---- */

/* Runs @body in a child that calls @first before; counts its failures. */
static inline void in_child(void (*first)(void), void (*body)(void))
{
	unsigned *failures = mmap(NULL, sizeof(*failures), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		test_failures = 0;
		first();
		body();
		*failures = test_failures;
		(void)fflush(stdout);
		_exit(0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	test_failures += *failures;
	(void)munmap(failures, sizeof(*failures));
}

static inline void become_ordinary(void)
{
	expect_eq(setgroups(0, NULL), 0);
	expect_eq(setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER), 0);
	expect_eq(setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER), 0);
}

static inline void as_everybody(void (*body)(void))
{
	body();
	if (is_root())
		in_child(become_ordinary, body);
}

/* Can a process of this user create namespaces? */
static inline bool has_namespaces(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(NAMESPACES) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

#define EVERYBODY(test)                                                                            \
	static void test##_body(void);                                                             \
	static void test(void)                                                                     \
	{                                                                                          \
		if (!has_namespaces())                                                             \
			skip("nobody may make user namespaces here");                              \
		as_everybody(test##_body);                                                         \
	}                                                                                          \
	static void test##_body(void)
