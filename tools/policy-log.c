/* SPDX-License-Identifier: MIT */

/*
 * The decisions in the log of sbx-audit, which is run to read them
 *
 * sbx-policy starts often, and linking the libraries of the log would make each start half as slow
 * again. So it reads the output of "sbx-audit query" from a pipe.
 */

#include "policy.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/process.h"
#include "base/start.h"
#include "base/state.h"
#include "record/record.h"

#define OWN_LOG DECISION_LOG_OWN
#define READER "sbx-audit"
#define ARGUMENTS_MAX 12
#define FOUND_NOTHING 1 /* its exit status, which is not a failure */

bool decision_log_is(const char *path)
{
	struct stat st;

	return strcmp(path, OWN_LOG) == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Where sbx-audit stores it. */
bool decision_log_is_kept(void)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	if (state_find(&path, environ, geteuid()) < 0)
		return false;
	text_add(&path, "/" RECORD_LOG_DIRECTORY);
	return text_status(&path) == 0 && access(text_string(&path), R_OK | X_OK) == 0;
}

static int fail(struct sbx_error *err, int code, const char *why, const char *fix)
{
	return error_fill(err, code, why, fix, "cannot replay the log");
}

/* In the directory of this program. */
static int find_reader(char *ret, size_t size, struct sbx_error *err)
{
	int r = path_beside_program(READER, ret, size);

	if (r < 0)
		return fail(err, r, "the path of this program cannot be determined", "mount /proc");
	if (access(ret, X_OK) == 0)
		return 0;
	return fail(err, -ENOENT, "sbx-audit is not beside sbx-policy",
		    "install it, or give a file of recorded decisions to --replay");
}

static int start_reader(const char *const *argv, int stdout_fd, pid_t *ret, struct sbx_error *err)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct start start = { .argv = argv,
				     .environment = (const char *const *)environ,
				     .stdin_fd = nothing,
				     .stdout_fd = stdout_fd };
	int r = nothing < 0 ? -errno : start_program(&start, ret);

	return r < 0 ? fail(err, r, NULL, "see whether sbx-audit can be started") : 0;
}

int decision_log_open(const char *path, uint64_t n_last, struct decision_log *ret,
		      struct sbx_error *err)
{
	_cleanup_text_ struct text last = TEXT_INIT;
	const char *argv[ARGUMENTS_MAX] = { NULL, "query", "--json", "--event", "policy_decision" };
	size_t n = 5;
	char reader[4096];
	int fds[2], r = find_reader(reader, sizeof(reader), err);

	if (r < 0)
		return r;
	argv[0] = reader;
	text_addf(&last, "--last=%" PRIu64, n_last);
	if (n_last > 0)
		argv[n++] = text_string(&last);
	if (strcmp(path, OWN_LOG) != 0) {
		argv[n++] = "--log";
		argv[n++] = path;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail(err, -errno, NULL, "close some files");
	r = start_reader(argv, fds[1], &ret->pid, err);
	(void)close(fds[1]);
	if (r < 0)
		(void)close(fds[0]);
	else
		ret->fd = fds[0];
	return r;
}

int decision_log_close(struct decision_log *log, struct sbx_error *err)
{
	int status = -1;

	if (log->pid <= 0)
		return 0;
	/* If it is still writing, it gets SIGPIPE. */
	close_fd(&log->fd);
	(void)process_wait(log->pid, &status);
	log->pid = -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= FOUND_NOTHING)
		return 0;
	return fail(err, -EIO, "sbx-audit could not read it completely",
		    "'sbx-audit query' and 'sbx-audit verify' show the reason");
}

void decision_log_end(struct decision_log *log)
{
	(void)decision_log_close(log, NULL);
}
