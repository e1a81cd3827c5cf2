/* SPDX-License-Identifier: MIT */

/*
 * Other programs: a pipeline through "sbx-ring pipe", the same through cat, and the peers
 *
 * Peers are data structures of C++ libraries. A program of their own runs them (ring-peers.cc), so
 * that this one needs no C++; it prints the time of a message.
 */

#include "ring-bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "ring-place.h"

#define PIECE_SIZE 65536

/* ---- starting ---- */

/* 0, or negative errno. @in and @out become stdin and stdout; -EBADF: inherited. */
static int start(const char *const argv[], int in, int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	if (in >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (r == 0 && out >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int await_success(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* ---- pipelines ---- */

/* An operation is PIECE_SIZE bytes. */
static int feed(int fd, uint64_t n_pieces)
{
	static const uint8_t piece[PIECE_SIZE];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < n_pieces; i++)
		r = fd_write_all(fd, piece, sizeof(piece));
	return r;
}

/* Starts @argv with a pipe as its stdin, and feeds it. */
static int time_pipeline(struct pair_run *run, const char *const argv[], int out)
{
	_cleanup_close_ int reader = -EBADF;
	_cleanup_close_ int writer = -EBADF;
	uint64_t start_ns = pair_now_ns();
	int ends[2], r;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	r = start(argv, reader, out, &pid);
	close_fd(&reader);
	if (r < 0)
		return r;
	r = feed(writer, run->n_operations);
	close_fd(&writer);
	if (r == 0)
		r = await_success(pid);
	if (r == 0)
		pair_add_time(run, (double)(pair_now_ns() - start_ns) / (double)run->n_operations);
	return r;
}

static int open_null(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* producer | sbx-ring pipe -- cat >/dev/null */
int ring_pipe_near(struct pair_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text program = TEXT_INIT;
	_cleanup_close_ int null = open_null();
	int r = null < 0 ? null : ring_place_of("sbx-ring", &program, err);

	if (r == 0) {
		const char *const argv[] = {
			text_string(&program), "pipe", "--", "cat", NULL,
		};

		r = time_pipeline(run, argv, null);
	}
	return r < 0 ? sbx_error_what(err, r, "cannot measure 'sbx-ring pipe'") : 0;
}

/* producer | cat | cat >/dev/null */
int ring_cat_near(struct pair_run *run, struct sbx_error *err)
{
	static const char *const consumer[] = { "cat", NULL };
	_cleanup_close_ int null = open_null();
	_cleanup_close_ int reader = -EBADF;
	_cleanup_close_ int writer = -EBADF;
	int ends[2], r = null < 0 ? null : 0;
	pid_t pid = 0;

	if (r == 0 && pipe2(ends, O_CLOEXEC) < 0)
		r = -errno;
	if (r < 0)
		return sbx_error_what(err, r, "cannot make a pipeline");
	reader = ends[0];
	writer = ends[1];
	r = start(consumer, reader, null, &pid);
	close_fd(&reader);
	if (r == 0)
		r = time_pipeline(run, consumer, writer);
	close_fd(&writer);
	if (r == 0)
		r = await_success(pid);
	return r < 0 ? sbx_error_what(err, r, "cannot measure 'cat'") : 0;
}

/* ---- peers ---- */

static int read_time(int fd, double *ret_ns)
{
	char bytes[64];
	ssize_t n = fd_read_full(fd, bytes, sizeof(bytes) - 1);
	char *end;

	if (n < 0)
		return (int)n;
	bytes[n] = '\0';
	*ret_ns = strtod(bytes, &end);
	return end != bytes && *ret_ns > 0 ? 0 : -EBADMSG;
}

static int run_peer(const char *const argv[], double *ret_ns)
{
	_cleanup_close_ int reader = -EBADF;
	_cleanup_close_ int writer = -EBADF;
	int ends[2], r;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	r = start(argv, -EBADF, writer, &pid);
	close_fd(&writer);
	if (r < 0)
		return r;

	int read_result = read_time(reader, ret_ns);

	r = await_success(pid);
	return r < 0 ? r : read_result;
}

/* Two threads of the program use the CPUs that this process, which is pinned, may not. */
int ring_peer_near(struct pair_run *run, struct sbx_error *err)
{
	const struct contender *contender = run->contender;
	_cleanup_text_ struct text program = TEXT_INIT;
	double ns = 0;
	int r = ring_place_of(RING_PEERS, &program, err);

	if (r < 0)
		return r;

	char n_bytes[32], block[32], n_blocks[32], near[16], far[16];

	(void)snprintf(n_bytes, sizeof(n_bytes), "%zu", contender->n_bytes);
	(void)snprintf(block, sizeof(block), "%u", contender->block);
	(void)snprintf(n_blocks, sizeof(n_blocks), "%llu",
		       (unsigned long long)(run->n_operations / contender->block));
	(void)snprintf(near, sizeof(near), "%d", run->cpus[PAIR_NEAR]);
	(void)snprintf(far, sizeof(far), "%d", run->cpus[PAIR_FAR]);

	const char *const argv[] = {
		text_string(&program),
		contender->program,
		n_bytes,
		block,
		n_blocks,
		near,
		far,
		NULL,
	};

	r = run_peer(argv, &ns);
	if (r < 0)
		return sbx_error_what(err, r, "cannot measure '%s'", contender->program);
	pair_add_time(run, ns);
	return 0;
}
