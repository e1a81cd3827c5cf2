/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A hand-written plan, and a process that runs it
 *
 * The supervisor forks, changes signal handlers and, as root, drops supplementary groups; so each
 * run has its own process, which may also become an ordinary user. It stores the outcome in shared
 * memory. Its stdout and stderr are a file that the test reads afterwards.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "spawn/spawn.h"
#include "test.h"

#define ORDINARY 1000 /* uid and gid of a user that need not exist in /etc/passwd */
#define OWN_UID 2000000000u
#define MIB (1024 * 1024)
#define DEADLINE_SEC 60 /* of one run, so that a hang fails the test */
#define STEPS_MAX 64

struct outcome {
	bool has_run;
	int code; /* of spawn_run() */
	struct spawn_result result;
	struct sbx_error err;
	int n_fds_before;
	int n_fds_after;
	bool has_children; /* a child of the supervisor was left */
	int note;	   /* for hooks */
};

struct rig {
	struct step steps[STEPS_MAX];
	struct plan plan;
	struct spawn_options options;
	const char *argv[8];
	uid_t uid;
	int stdin_fd;
	int output_fd;
	int foreign_fd; /* an fd of the test that the supervisor must not have: our end of a pipe */
	char output[65536];
	struct outcome *outcome;	 /* shared with the process that runs it */
	int (*prepare)(struct rig *rig); /* called in that process before it changes its user */
	pid_t supervisor;
};

/* nohup and some service managers start the tests with ignored signals, which sbx-spawn would pass
 * on to the command: reset them. */
static void __attribute__((constructor)) rig_heed_signals(void)
{
	for (int signal_number = 1; signal_number < SIGRTMAX; signal_number++)
		(void)signal(signal_number, SIG_DFL);
}

static inline struct step *rig_add(struct rig *rig, struct step step)
{
	struct step *at = &rig->steps[rig->plan.n_steps++];

	if (rig->plan.n_steps > STEPS_MAX)
		abort();
	*at = step;
	return at;
}

static inline struct step *rig_find(struct rig *rig, enum step_kind kind)
{
	for (size_t i = 0; i < rig->plan.n_steps; i++)
		if (rig->steps[i].kind == kind)
			return &rig->steps[i];
	abort();
}

/* Inserts the step at the position of its kind. */
static inline void rig_insert(struct rig *rig, struct step step)
{
	size_t at = rig->plan.n_steps;

	if (at == STEPS_MAX)
		abort();
	for (; at > 0 && rig->steps[at - 1].kind > step.kind; at--)
		rig->steps[at] = rig->steps[at - 1];
	rig->steps[at] = step;
	rig->plan.n_steps++;
}

static inline void rig_add_tree(struct rig *rig)
{
	static const char *const links[][2] = {
		{ "/bin", "usr/bin" },
		{ "/lib", "usr/lib" },
		{ "/lib64", "usr/lib64" },
		{ "/sbin", "usr/sbin" },
	};

	rig_add(rig, (struct step){ .kind = STEP_ROOT, .root.size_bytes = 16 * MIB });
	rig_add(rig, (struct step){ .kind = STEP_PIVOT });
	for (size_t i = 0; i < 3; i++)
		rig_add(rig, (struct step){ .kind = STEP_LINK,
					    .link.target = links[i][0],
					    .link.points_to = links[i][1] });
	rig_add(rig, (struct step){ .kind = STEP_BIND,
				    .bind.source = "/dev/null",
				    .bind.target = "/dev/null",
				    .bind.attributes.devices = true });
	rig_add(rig, (struct step){ .kind = STEP_PTS, .pts.target = "/dev/pts" });
	rig_add(rig, (struct step){ .kind = STEP_BIND,
				    .bind.source = "/dev/tty",
				    .bind.target = "/dev/tty",
				    .bind.attributes.devices = true });
	rig_add(rig, (struct step){ .kind = STEP_PROC, .proc.target = "/proc" });
	rig_add(rig, (struct step){ .kind = STEP_LINK,
				    .link.target = "/sbin",
				    .link.points_to = "usr/sbin" });
	rig_add(rig, (struct step){ .kind = STEP_TMPFS,
				    .tmpfs.target = "/tmp",
				    .tmpfs.size_bytes = 16 * MIB,
				    .tmpfs.mode = 01777 });
	rig_add(rig, (struct step){ .kind = STEP_BIND,
				    .bind.source = "/usr",
				    .bind.target = "/usr",
				    .bind.is_directory = true,
				    .bind.attributes.is_read_only = true });
	rig_add(rig, (struct step){ .kind = STEP_SEAL, .seal.target = "/" });
}

static inline void rig_init(struct rig *rig, uid_t uid, const char *script)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	uid_t inner = uid ? uid : OWN_UID + (uid_t)getpid();

	*rig = (struct rig){
		.argv = { "/bin/sh", "-c", script, NULL },
		.uid = uid,
		.stdin_fd = open("/dev/null", O_RDWR | O_CLOEXEC),
		.output_fd = memfd_create("output", MFD_CLOEXEC),
		.foreign_fd = -EBADF,
		.options = { .control_socket = -EBADF },
		.outcome = mmap(NULL, sizeof(struct outcome), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	};
	if (rig->outcome == MAP_FAILED || rig->output_fd < 0)
		abort();
	rig->plan = (struct plan){
		.tier = TIER_FULL,
		.steps = rig->steps,
		.argv = (char *const *)rig->argv,
		.environment = (char *const *)environment,
		.id = "test",
		.uid = inner,
		.gid = inner,
		.grace_usec = 20u * 1000 * 1000,
	};
	rig_add(rig, (struct step){ .kind = STEP_NAMESPACES,
				    .namespaces.clone_flags = CLONE_NEWUSER | CLONE_NEWNS |
							      CLONE_NEWPID | CLONE_NEWIPC |
							      CLONE_NEWUTS | CLONE_NEWNET |
							      CLONE_NEWCGROUP });
	rig_add(rig,
		(struct step){ .kind = STEP_ID_MAP, .id_map.uid = inner, .id_map.gid = inner });
	rig_add_tree(rig);
	rig_add(rig, (struct step){
			     .kind = STEP_IDENTITY, .identity.uid = inner, .identity.gid = inner });
	rig_add(rig, (struct step){ .kind = STEP_CAPABILITIES });
	rig_add(rig, (struct step){ .kind = STEP_NO_NEW_PRIVILEGES });
	rig_add(rig, (struct step){ .kind = STEP_WORKING_DIRECTORY,
				    .working_directory.target = "/tmp" });
	rig_add(rig, (struct step){ .kind = STEP_EXEC });
}

static inline void rig_deinit(struct rig *rig)
{
	close_fd(&rig->stdin_fd);
	close_fd(&rig->output_fd);
	if (rig->outcome)
		(void)munmap(rig->outcome, sizeof(*rig->outcome));
}
#define _cleanup_rig_ _cleanup_(rig_deinit)
/* The initial value, for cleanup of a test that skips before rig_init(). */
#define RIG_NONE                                                                                   \
	{                                                                                          \
		.stdin_fd = -EBADF, .output_fd = -EBADF                                            \
	}

static inline void rig_limit(struct rig *rig, enum limit limit, uint64_t value)
{
	rig->plan.limits[limit] = (struct plan_limit){
		.is_set = true,
		.value = value,
		.holder = HELD_BY_SUPERVISOR,
	};
}

static inline int rig_count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static inline int rig_become(uid_t uid)
{
	if (uid == 0 || geteuid() == uid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Runs the supervisor in this process; does not return. */
static inline void rig_supervise(struct rig *rig)
{
	struct outcome *outcome = rig->outcome;
	siginfo_t info;

	(void)alarm(DEADLINE_SEC);
	close_fd(&rig->foreign_fd);
	if ((rig->prepare && rig->prepare(rig) < 0) || rig_become(rig->uid) < 0 ||
	    dup2(rig->stdin_fd, 0) < 0 || dup2(rig->output_fd, 1) < 0 ||
	    dup2(rig->output_fd, 2) < 0)
		_exit(99);
	outcome->n_fds_before = rig_count_fds();
	outcome->code = spawn_run(&rig->plan, &rig->options, &outcome->result, &outcome->err);
	outcome->n_fds_after = rig_count_fds();
	outcome->has_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	outcome->has_run = true;
	_exit(outcome->result.status);
}

/* Starts the supervisor as a child of the test. */
static inline void rig_start(struct rig *rig)
{
	(void)fflush(NULL);
	rig->supervisor = fork();
	if (rig->supervisor == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		rig_supervise(rig);
	}
	if (rig->supervisor < 0)
		abort();
}

/* Expects that no fd and no child of the supervisor is left. */
static inline void rig_expect_clean(const struct rig *rig)
{
	expect(rig->outcome->has_run);
	expect_eq(rig->outcome->n_fds_after, rig->outcome->n_fds_before);
	expect(!rig->outcome->has_children);
}

static inline void rig_read_output(struct rig *rig)
{
	ssize_t n = pread(rig->output_fd, rig->output, sizeof(rig->output) - 1, 0);

	rig->output[n > 0 ? n : 0] = '\0';
}

static inline void rig_wait(struct rig *rig)
{
	int status = 0;

	if (waitpid(rig->supervisor, &status, 0) != rig->supervisor)
		abort();
	rig_read_output(rig);
	rig_expect_clean(rig);
	if (!rig->outcome->has_run)
		printf("# the supervisor ended with %#x\n", (unsigned)status);
	if (rig->outcome->code < 0)
		printf("# %s: %s\n", rig->outcome->err.what, rig->outcome->err.why);
}

static inline void rig_run(struct rig *rig)
{
	rig_start(rig);
	rig_wait(rig);
}

static inline void rig_expect(const struct rig *rig, int status, enum spawn_reason reason)
{
	expect_eq(rig->outcome->result.status, status);
	expect_str(spawn_reason_name(rig->outcome->result.reason), spawn_reason_name(reason));
}

/* Is the fd ready within the deadline? */
static inline bool rig_is_ready(int fd, short events)
{
	struct pollfd wait = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&wait, 1, DEADLINE_SEC * 1000);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Starts the sandbox with the command's stdout connected to a pipe. */
static inline void rig_start_with_pipe(struct rig *rig, int *ret_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	(void)close(rig->output_fd);
	rig->output_fd = ends[1];
	rig->foreign_fd = ends[0];
	rig_start(rig);
	(void)close(rig->output_fd);
	rig->output_fd = memfd_create("none", MFD_CLOEXEC);
	rig->foreign_fd = -EBADF;
	*ret_end = ends[0];
}

/* Reads until @wanted was read, or end of file. */
static inline bool rig_hears(int end, const char *wanted)
{
	char heard[256] = "";
	size_t n = 0;

	while (n < sizeof(heard) - 1 && rig_is_ready(end, POLLIN)) {
		ssize_t got = read(end, heard + n, sizeof(heard) - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
		heard[n] = '\0';
		if (strstr(heard, wanted))
			return true;
	}
	printf("# heard \"%s\"\n", heard);
	return false;
}

/* Has every process closed its end of the pipe? */
static inline bool rig_is_silent(int end)
{
	char bytes[4096];
	ssize_t n;

	do
		n = rig_is_ready(end, POLLIN) ? read(end, bytes, sizeof(bytes)) : -1;
	while (n > 0);
	return n == 0;
}

static inline bool rig_has_namespaces(uid_t uid)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(rig_become(uid) < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/*
 * Declares a test that runs as root and as an ordinary user: FOR_BOTH(name) { ... uses @uid ... };
 * BOTH(name) adds its two rows. If the tests do not run as root, only the ordinary user's runs.
 */
#define FOR_BOTH(name)                                                                             \
	static void name##_for(uid_t uid);                                                         \
	static void name##_for_root(void)                                                          \
	{                                                                                          \
		if (geteuid() != 0)                                                                \
			skip("only root can try it as root");                                      \
		name##_for(0);                                                                     \
	}                                                                                          \
	static void name##_for_a_user(void)                                                        \
	{                                                                                          \
		uid_t uid = geteuid() == 0 ? ORDINARY : geteuid();                                 \
                                                                                                   \
		if (!rig_has_namespaces(uid))                                                      \
			skip("user namespaces are forbidden here");                                \
		name##_for(uid);                                                                   \
	}                                                                                          \
	static void name##_for(uid_t uid)
#define BOTH(name) TEST(name##_for_root), TEST(name##_for_a_user)
