/* SPDX-License-Identifier: MIT */

/*
 * --no-sandbox: the command as a plain child process, without any protection
 *
 * Only on request, never as a fallback. The record of its start is written first, or nothing runs;
 * sbx-spawn stays until its end to record that. The terminal signals both processes, so only a
 * signal that was sent to sbx-spawn alone is passed on.
 */

#include "spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <spawn.h> /* NOLINT(readability-duplicate-include): that of libc, before our own */
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"
#include "tool.h"

static const int passed_on[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT };

static void block(sigset_t *ret_waited, sigset_t *ret_before)
{
	(void)sigemptyset(ret_waited);
	(void)sigaddset(ret_waited, SIGCHLD);
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++)
		(void)sigaddset(ret_waited, passed_on[i]);
	(void)sigprocmask(SIG_BLOCK, ret_waited, ret_before);
}

static int start(const struct spawn_run *run, const sigset_t *mask, pid_t *ret)
{
	posix_spawnattr_t how;
	sigset_t ignored;
	int r = -posix_spawnattr_init(&how);

	if (r < 0)
		return r;
	/* sbx-spawn ignores these, so that a write beyond the limit, or without a reader, fails. */
	(void)sigemptyset(&ignored);
	(void)sigaddset(&ignored, SIGXFSZ);
	(void)sigaddset(&ignored, SIGPIPE);
	(void)posix_spawnattr_setsigdefault(&how, &ignored);
	(void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&how, mask);
	r = -posix_spawnp(ret, run->request.argv[0], NULL, &how, run->request.argv, environ);
	(void)posix_spawnattr_destroy(&how);
	return r;
}

static int await_end(pid_t pid, const sigset_t *waited)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		siginfo_t info;
		int signal = sigwaitinfo(waited, &info);

		if (signal > 0 && signal != SIGCHLD && info.si_code <= 0)
			(void)kill(pid, signal);
	}
	return status;
}

static int refuse(struct spawn_run *run, int code, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot execute '%s'", run->request.argv[0]);
	sbx_error_fix(err, "check its name and PATH");
	run->result.exit_code = -1;
	run->result.reason = SPAWN_REASON_EXEC;
	run->result.status = code == -ENOENT ? SPAWN_NOT_FOUND : SPAWN_CANNOT_EXECUTE;
	(void)spawn_record_end(run, err, NULL);
	return run->result.status;
}

/* The command has the environment of this process. */
static int name_ring(const struct spawn_request *request, struct sbx_error *err)
{
	char number[16];

	if (!request->has_ring)
		return 0;
	(void)snprintf(number, sizeof(number), "%d", request->ring_fd);
	return setenv("SBX_RING_FD", number, 1) < 0
		       ? sbx_error_what(err, -ENOMEM, "cannot set SBX_RING_FD for the command")
		       : 0;
}

static int begin(struct spawn_run *run, struct sbx_error *err)
{
	_cleanup_text_ struct text warning = TEXT_INIT;
	int r = spawn_take_fds(run->tool->values, err);

	if (r < 0)
		return r;
	r = name_ring(&run->request, err);
	if (r < 0)
		return r;
	r = spawn_open_records(run, err);
	if (r < 0)
		return r;
	r = spawn_record_created(run, err);
	if (r < 0)
		return r;
	text_add(&warning, "running without any protection (--no-sandbox)");
	if (spawn_say_note(run, "", &warning) < 0)
		return sbx_error_what(err, -EIO, "cannot write the warning about --no-sandbox");
	return 0;
}

int spawn_run_bare(struct spawn_run *run, struct sbx_error *err)
{
	sigset_t waited, before;
	pid_t pid = 0;
	int r = begin(run, err), status;

	if (r < 0)
		return r;
	(void)umask(run->umask);
	block(&waited, &before);
	r = start(run, &before, &pid);
	if (r < 0)
		return refuse(run, r, err);
	spawn_let_ring_go(run);
	status = await_end(pid, &waited);
	run->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	run->result.reason = run->result.signal ? SPAWN_REASON_SIGNAL : SPAWN_REASON_EXIT;
	run->result.status = process_status(status);
	r = spawn_record_end(run, NULL, err);
	return r < 0 ? r : run->result.status;
}
