/* SPDX-License-Identifier: MIT */

/*
 * The cost of one command in a sandbox, from the start of the tool to its exit
 *
 * Each row runs /usr/bin/true. The peers are started in the same way, by the same user, with the
 * same environment, alternating with sbx-spawn: bubblewrap with as much isolation as it offers, a
 * hand-written program with the same system calls only, the bare command. If root runs the
 * benchmark, the rows "user" drop root first, because most sandboxes are started without root.
 */

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bench-policy-tool.h"

#define USER 1000u /* user after dropping root; need not exist */
#define ARGUMENTS_MAX 48

enum side { SUBJECT, PEER };

struct spawn_bench {
	struct text program[2];
	const char *argv[2][ARGUMENTS_MAX];
	bool as_user;
	char home[64]; /* for records and the registry */
	char state[96], runtime[96], policy[96];
};

static const char *const bwrap_flags[] = {
	"--unshare-all",
	"--die-with-parent",
	"--new-session",
	"--ro-bind",
	"/usr",
	"/usr",
	"--symlink",
	"usr/bin",
	"/bin",
	"--symlink",
	"usr/lib",
	"/lib",
	"--symlink",
	"usr/lib64",
	"/lib64",
	"--symlink",
	"usr/sbin",
	"/sbin",
	"--ro-bind",
	"/etc",
	"/etc",
	"--proc",
	"/proc",
	"--dev",
	"/dev",
	"--tmpfs",
	"/tmp",
	"--clearenv",
	"--cap-drop",
	"ALL",
	"--",
	NULL,
};

static void spawn_teardown(void *data)
{
	struct spawn_bench *bench = data;
	char command[160];

	if (!bench)
		return;
	if (bench->home[0]) {
		(void)snprintf(command, sizeof(command), "rm -rf -- '%s'", bench->home);
		if (system(command) != 0) /* NOLINT(cert-env33-c): the directory is our own */
			(void)fprintf(stderr, "# left behind: %s\n", bench->home);
	}
	text_deinit(&bench->program[SUBJECT]);
	text_deinit(&bench->program[PEER]);
	free(bench);
}

static void spawn_bench_free(struct spawn_bench **bench)
{
	spawn_teardown(*bench);
}

static int make_home(struct spawn_bench *bench)
{
	(void)snprintf(bench->home, sizeof(bench->home), "%s/sbx-bench-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(bench->home)) {
		bench->home[0] = '\0';
		return -errno;
	}
	(void)snprintf(bench->state, sizeof(bench->state), "XDG_STATE_HOME=%s", bench->home);
	(void)snprintf(bench->runtime, sizeof(bench->runtime), "XDG_RUNTIME_DIR=%s", bench->home);
	if (bench->as_user && chown(bench->home, USER, USER) < 0)
		return -errno;
	return 0;
}

/* Arguments of the program: flags, then the command. */
static void set_words(struct spawn_bench *bench, enum side side, const char *const *flags)
{
	size_t n = 0;

	bench->argv[side][n++] = text_string(&bench->program[side]);
	for (; *flags && n < ARGUMENTS_MAX - 2; flags++)
		bench->argv[side][n++] = *flags;
	bench->argv[side][n++] = "/usr/bin/true";
	bench->argv[side][n] = NULL;
}

static void become_user(const struct spawn_bench *bench)
{
	if (bench->as_user && (setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 ||
			       setresuid(USER, USER, USER) < 0))
		_exit(120);
}

/* Returns the exit status, or negative errno. */
static int start_and_wait(const struct spawn_bench *bench, enum side side)
{
	const char *const environment[] = { "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", bench->state,
					    bench->runtime, NULL };
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		become_user(bench);
		(void)execve(bench->argv[side][0], (char *const *)bench->argv[side],
			     (char *const *)environment);
		_exit(121);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* A missing peer is not an error: its column stays empty. */
static bool spawn_verify(const void *data)
{
	const struct spawn_bench *bench = data;

	return start_and_wait(bench, SUBJECT) == 0 &&
	       (access(bench->argv[PEER][0], X_OK) < 0 || start_and_wait(bench, PEER) == 0);
}

static void run_side(void *data, enum side side, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		int status = start_and_wait(data, side);

		bench_keep(&status);
	}
}

static void spawn_run_subject(void *data, uint64_t n_ops)
{
	run_side(data, SUBJECT, n_ops);
}

static void spawn_run_peer(void *data, uint64_t n_ops)
{
	run_side(data, PEER, n_ops);
}

static int begin(bool as_user, struct spawn_bench **ret, struct sbx_error *err)
{
	_cleanup_(spawn_bench_free) struct spawn_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench) {
		(void)sbx_error_what(err, -ENOMEM, "cannot set up the start of a sandbox");
		return -ENOMEM;
	}
	bench->as_user = as_user && geteuid() == 0;
	r = bench_find_tool("sbx-spawn", &bench->program[SUBJECT], err);
	if (r < 0)
		return r;
	r = make_home(bench);
	if (r < 0) {
		(void)sbx_error_what(err, r, "cannot create a directory for records");
		return r;
	}
	*ret = take_ptr(bench);
	return 0;
}

static const char *const no_flags[] = { "--quiet", "--", NULL };

/* A peer that is a separate program; if it is not installed the row is shown without it. */
static void set_peer(struct spawn_bench *bench, const char *path, const char *const *flags,
		     const char *missing, struct bench_state *ret)
{
	text_add(&bench->program[PEER], path);
	set_words(bench, PEER, flags);
	if (access(path, X_OK) < 0)
		ret->peer_missing = missing;
}

static int setup_beside_bwrap(bool as_user, struct bench_state *ret, struct sbx_error *err)
{
	struct spawn_bench *bench = NULL;
	int r = begin(as_user, &bench, err);

	if (r < 0)
		return r;
	set_words(bench, SUBJECT, no_flags);
	set_peer(bench, "/usr/bin/bwrap", bwrap_flags, "bubblewrap (not installed)", ret);
	ret->data = bench;
	return 0;
}

static int setup_user(struct bench_state *ret, struct sbx_error *err)
{
	return setup_beside_bwrap(true, ret, err);
}

static int setup_root(struct bench_state *ret, struct sbx_error *err)
{
	return setup_beside_bwrap(false, ret, err);
}

static int setup_bare(struct bench_state *ret, struct sbx_error *err)
{
	static const char *const nothing[] = { NULL };
	struct spawn_bench *bench = NULL;
	int r = begin(true, &bench, err);

	if (r < 0)
		return r;
	set_words(bench, SUBJECT, no_flags);
	set_peer(bench, "/usr/bin/env", nothing, "env (not installed)", ret);
	bench->argv[PEER][0] = "/usr/bin/true";
	bench->argv[PEER][1] = NULL;
	ret->data = bench;
	return 0;
}

/* The floor is only in the build directory. */
static int setup_floor(struct bench_state *ret, struct sbx_error *err)
{
	static const char *const nothing[] = { NULL };
	struct spawn_bench *bench = NULL;
	char path[PATH_MAX];
	int r = begin(true, &bench, err), len;

	if (r < 0)
		return r;
	set_words(bench, SUBJECT, no_flags);
	len = (int)strlen(text_string(&bench->program[SUBJECT])) - (int)strlen("tools/sbx-spawn");
	(void)snprintf(path, sizeof(path), "%.*stests/bench/spawn-floor", len > 0 ? len : 0,
		       text_string(&bench->program[SUBJECT]));
	set_peer(bench, path, nothing, "spawn-floor (only beside a build)", ret);
	ret->data = bench;
	return 0;
}

static const char *const policy_flags[] = { "--quiet", "--policy", NULL, "--", NULL };

static int setup_policy(struct bench_state *ret, struct sbx_error *err)
{
	static const char text[] =
		"version: 1\n"
		"capabilities:\n"
		"  - name: runtime\n"
		"    match: {op: [fs.read, fs.list], path: [/usr, /bin, /lib, "
		"/lib64, /sbin, /etc]}\n"
		"    action: allow\n"
		"  - name: programs\n"
		"    match: {op: exec, path: [/usr, /bin, /lib, /lib64, /sbin]}\n"
		"    action: allow\n"
		"isolation: {template: code-executor}\n";
	struct spawn_bench *bench = NULL;
	int r = begin(true, &bench, err), fd;
	const char *flags[N_ELEMENTS(policy_flags)];

	if (r < 0)
		return r;
	(void)snprintf(bench->policy, sizeof(bench->policy), "%s/policy.yaml", bench->home);
	fd = open(bench->policy, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1) {
		spawn_teardown(bench);
		return sbx_error_what(err, -EIO, "cannot write a policy to measure");
	}
	(void)close(fd);
	memcpy(flags, policy_flags, sizeof(flags));
	flags[2] = bench->policy;
	set_words(bench, SUBJECT, flags);
	text_add(&bench->program[PEER], text_string(&bench->program[SUBJECT]));
	set_words(bench, PEER, no_flags);
	ret->data = bench;
	return 0;
}

#define SPAWN_ROW(row, what, peer_text, set_up)                                                    \
	{                                                                                          \
		.name = row, .subject = what, .unit = "ns/op", .against = peer_text,               \
		.setup = set_up, .verify = spawn_verify, .run = spawn_run_subject,                 \
		.peer = spawn_run_peer, .teardown = spawn_teardown                                 \
	}

const struct bench bench_spawn[] = {
	SPAWN_ROW("spawn_user", "sbx-spawn -- /usr/bin/true, every layer, a record; ordinary user",
		  "peer: bubblewrap, every namespace, /usr /etc /proc /dev /tmp", setup_user),
	SPAWN_ROW("spawn_root", "the same, started by whoever runs sbx-bench",
		  "peer: bubblewrap, the same", setup_root),
	SPAWN_ROW("spawn_floor", "sbx-spawn -- /usr/bin/true; ordinary user",
		  "floor: a program by hand with the same system calls", setup_floor),
	SPAWN_ROW("spawn_policy", "sbx-spawn --policy with the same view in YAML",
		  "peer: sbx-spawn without a policy", setup_policy),
	SPAWN_ROW("spawn_bare", "sbx-spawn -- /usr/bin/true; ordinary user",
		  "peer: /usr/bin/true, not isolated", setup_bare),
	{ .name = NULL },
};
