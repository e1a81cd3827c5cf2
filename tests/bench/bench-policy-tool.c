/* SPDX-License-Identifier: MIT */

/*
 * The cost of one "may I?" in a script: a new process of sbx-policy that reads, compiles and
 * evaluates a policy
 *
 * The peer is a process that does nothing. Both are started in the same way, with the same fds.
 */

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "bench-policy-tool.h"

#define POLICY_FD 3
#define POLICY_PATH "/proc/self/fd/3"
#define N_RULES 24u

struct eval_bench {
	struct text tool;
	int policy; /* a memfd */
	posix_spawn_file_actions_t actions;
	bool has_actions;
};

static void eval_teardown(void *data)
{
	struct eval_bench *bench = data;

	if (!bench)
		return;
	if (bench->has_actions)
		(void)posix_spawn_file_actions_destroy(&bench->actions);
	if (bench->policy >= 0)
		(void)close(bench->policy);
	text_deinit(&bench->tool);
	free(bench);
}

static void eval_bench_free(struct eval_bench **bench)
{
	eval_teardown(*bench);
}

int bench_find_tool(const char *name, struct text *ret, struct sbx_error *err)
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0)
		return sbx_error_what(err, -errno, "cannot find out where sbx-bench is");
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	text_addf(ret, "%s/%s", own, name);
	if (text_status(ret) == 0 && access(text_string(ret), X_OK) == 0)
		return 0;
	(void)sbx_error_what(err, -ENOENT, "cannot measure '%s'", name);
	sbx_error_why(err, "it is not beside sbx-bench, in '%s'", own);
	sbx_error_fix(err, "install both into one directory, or leave it out with --filter");
	return -ENOENT;
}

int bench_policy_file(void)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "version: 1\ncapabilities:\n");
	for (unsigned i = 0; i < N_RULES; i++)
		text_addf(
			&text,
			"  - name: module-%u\n"
			"    match: {op: fs.read, path_glob: [\"/srv/m%u/**\", \"src/m%u/*.c\"]}\n"
			"    action: allow\n",
			i, i, i);
	if (text_status(&text) < 0)
		return text_status(&text);

	_cleanup_close_ int fd = memfd_create("policy.yaml", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;

	int r = fd_write_all(fd, text.data, text.len);

	return r < 0 ? r : take_fd(&fd);
}

static int make_actions(struct eval_bench *bench)
{
	int r = posix_spawn_file_actions_init(&bench->actions);

	bench->has_actions = r == 0;
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&bench->actions, STDOUT_FILENO, "/dev/null",
						     O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&bench->actions, bench->policy, POLICY_FD);
	return -r;
}

static int eval_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(eval_bench_free) struct eval_bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up policy_eval");
	bench->policy = -EBADF;

	int r = bench_find_tool("sbx-policy", &bench->tool, err);

	if (r < 0)
		return r;
	bench->policy = bench_policy_file();
	r = bench->policy < 0 ? bench->policy : make_actions(bench);
	if (r < 0)
		return sbx_error_what(err, r, "cannot set up policy_eval");
	ret->data = take_ptr(bench);
	return 0;
}

/* Returns the exit status, or negative errno. */
static int start_and_wait(const struct eval_bench *bench, const char *const argv[])
{
	char *const environment[] = { (char *)"LC_ALL=C.UTF-8", NULL };
	pid_t pid;
	int status, r = posix_spawn(&pid, argv[0], &bench->actions, NULL, (char *const *)argv,
				    environment);

	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static int evaluate(const struct eval_bench *bench, const char *path)
{
	const char *const argv[] = { bench->tool.data, "eval", POLICY_PATH, "fs.read", path, NULL };

	return start_and_wait(bench, argv);
}

static int do_nothing(const struct eval_bench *bench)
{
	const char *const argv[] = { "/bin/true", NULL };

	return start_and_wait(bench, argv);
}

static bool eval_verify(const void *data)
{
	return evaluate(data, "/srv/m7/x") == 0 && evaluate(data, "/srv/other") == 1 &&
	       do_nothing(data) == 0;
}

static void eval_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		int status = evaluate(data, "/srv/m7/x");

		bench_keep(&status);
	}
}

static void eval_peer(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++) {
		int status = do_nothing(data);

		bench_keep(&status);
	}
}

const struct bench bench_policy_tool[] = {
	{
		.name = "policy_eval",
		.subject = "sbx-policy eval of one request, from start to exit, 24 rules in YAML",
		.unit = "ns/op",
		.against = "peer: /bin/true, started in the same way",
		.setup = eval_setup,
		.verify = eval_verify,
		.run = eval_run,
		.peer = eval_peer,
		.teardown = eval_teardown,
	},
	{ .name = NULL },
};
