/* SPDX-License-Identifier: MIT */

/*
 * A pipeline of 20,000 lines into sbx-audit append, from its start to its end: at a million lines a
 * second it would take 20 ms
 *
 * Each run uses a fresh copy of the same log (three small files), and the copying is included in
 * the time. The floor writes the same bytes to a file, with as many fsync() calls.
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
#include "bench-audit-place.h"
#include "bench-policy-tool.h"

#define N_LINES 20000u

struct append_bench {
	struct text tool;
	struct bench_place place; /* with the original log */
	char fresh[56];		  /* where it is copied to */
	char copy[56];		  /* the floor's output */
	int lines;		  /* a memfd */
	size_t n_bytes;
};

static void append_teardown(void *data)
{
	struct append_bench *bench = data;

	if (!bench)
		return;
	if (bench->lines >= 0)
		(void)close(bench->lines);
	bench_place_remove(&bench->place);
	text_deinit(&bench->tool);
	free(bench);
}

static void append_bench_free(struct append_bench **bench)
{
	append_teardown(*bench);
}

static int write_lines(struct append_bench *bench)
{
	_cleanup_text_ struct text lines = TEXT_INIT;

	for (uint64_t i = 0; i < N_LINES; i++) {
		bench_audit_add_line(&lines, i);
		text_add_char(&lines, '\n');
	}
	bench->lines = memfd_create("lines", MFD_CLOEXEC);
	if (bench->lines < 0)
		return -errno;
	bench->n_bytes = lines.len;
	return text_status(&lines) < 0 ? -ENOMEM
				       : fd_write_all(bench->lines, lines.data, lines.len);
}

static int append_setup(struct bench_state *ret, struct sbx_error *err)
{
	_cleanup_(append_bench_free) struct append_bench *bench = calloc(1, sizeof(*bench));
	int r;

	if (!bench)
		return sbx_error_what(err, -ENOMEM, "cannot set up audit_append");
	bench->lines = -EBADF;
	r = bench_find_tool("sbx-audit", &bench->tool, err);
	if (r == 0)
		r = bench_place_make(&bench->place, NULL, err);
	if (r == 0)
		r = audit_log_create(&bench->place.options, err);
	if (r < 0)
		return r;
	(void)snprintf(bench->fresh, sizeof(bench->fresh), "%s/fresh", bench->place.path);
	(void)snprintf(bench->copy, sizeof(bench->copy), "%s/copy", bench->place.path);
	r = write_lines(bench);
	if (r < 0)
		return sbx_error_what(err, r, "cannot set up audit_append");
	ret->bytes_per_op = bench->n_bytes;
	ret->data = take_ptr(bench);
	return 0;
}

/* Runs a process with the lines as its stdin; returns its exit status, or negative errno. */
static int run_with_lines(const struct append_bench *bench, const char *const argv[])
{
	char *const environment[] = { (char *)"LC_ALL=C.UTF-8", (char *)"PATH=/usr/bin:/bin",
				      NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status, r;

	if (lseek(bench->lines, 0, SEEK_SET) < 0)
		return -errno;
	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, bench->lines, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static int append_once(const struct append_bench *bench)
{
	const char *const argv[] = { bench->tool.data, "append", "--log", bench->fresh, NULL };
	int r = bench_copy_files(bench->place.log, bench->fresh);

	return r < 0 ? r : run_with_lines(bench, argv);
}

static int copy_once(const struct append_bench *bench)
{
	char output[72];
	const char *const argv[] = {
		"/bin/dd", "bs=64k", "conv=fsync", "status=none", output, NULL
	};

	(void)snprintf(output, sizeof(output), "of=%s", bench->copy);
	return run_with_lines(bench, argv);
}

static bool append_verify(const void *data)
{
	const struct append_bench *bench = data;
	struct audit_log_options options = bench->place.options;
	_cleanup_audit_log_ struct audit_log *log = NULL;

	if (append_once(bench) != 0 || copy_once(bench) != 0)
		return false;
	options.directory = bench->fresh;
	return audit_log_open(&options, &log, NULL) == 0 && audit_log_size(log) == N_LINES + 1;
}

static void append_run(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++)
		(void)append_once(data);
}

static void append_floor(void *data, uint64_t n_ops)
{
	for (uint64_t i = 0; i < n_ops; i++)
		(void)copy_once(data);
}

const struct bench bench_audit_tool[] = {
	{
		.name = "audit_append",
		.subject = "sbx-audit append of 20,000 lines, from start to exit",
		.unit = "ns/op",
		.against = "floor: dd, which writes the same bytes to a file",
		.setup = append_setup,
		.verify = append_verify,
		.run = append_run,
		.peer = append_floor,
		.teardown = append_teardown,
	},
	{ .name = NULL },
};
