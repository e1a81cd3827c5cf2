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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/process.h"
#include "base/start.h"
#include "base/state.h"
#include "record/record.h"

#define OWN_LOG DECISION_LOG_OWN
#define READER "sbx-audit"
#define ARGUMENTS_MAX 12
#define MESSAGES_MAX 16384 /* read at once */
#define FOUND_NOTHING 1	   /* its exit status, which is not a failure */

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

static int start_reader(const char *const *argv, int stdout_fd, struct decision_log *log,
			struct sbx_error *err)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct start start = { .argv = argv,
				     .environment = (const char *const *)environ,
				     .stdin_fd = nothing,
				     .stdout_fd = stdout_fd,
				     .stderr_fd = log->messages_fd };
	int r = nothing < 0 ? -errno : start_program(&start, &log->pid);

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
	ret->messages_fd = memfd_create("messages", MFD_CLOEXEC);
	if (ret->messages_fd < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return fail(err, -errno, NULL, "close some files");
	r = start_reader(argv, fds[1], ret, err);
	(void)close(fds[1]);
	if (r < 0)
		(void)close(fds[0]);
	else
		ret->fd = fds[0];
	return r;
}

/* Adds the member of the object @line; nothing if there is none. */
static void add_member(struct text *out, const char *line, size_t n, const char *name)
{
	struct json_scanner scanner;
	struct json_item key, value;

	json_scan(&scanner, line, n);
	if (json_next(&scanner, &value) <= 0 || value.kind != JSON_OBJECT_BEGIN)
		return;
	while (json_next_member(&scanner, &key, &value) > 0) {
		if (json_equals(&key, name) && value.kind == JSON_STRING)
			(void)json_decode(&value, out);
		if (json_skip(&scanner, &value) < 0)
			return;
	}
}

/* Repeats the error of sbx-audit, the last line of its messages, which are JSON as its records are.
 */
static int explain_reader(int messages_fd, struct sbx_error *err)
{
	_cleanup_text_ struct text what = TEXT_INIT, why = TEXT_INIT, fix = TEXT_INIT;
	char messages[MESSAGES_MAX];
	off_t end = lseek(messages_fd, 0, SEEK_END);
	ssize_t n_read = pread(messages_fd, messages, sizeof(messages),
			       end > MESSAGES_MAX ? end - MESSAGES_MAX : 0);
	size_t n_messages = n_read < 0 ? 0 : (size_t)n_read;
	const char *before = n_messages > 0 ? memrchr(messages, '\n', n_messages - 1) : NULL;
	const char *line = before ? before + 1 : messages;
	size_t n = n_messages - (size_t)(line - messages);

	add_member(&what, line, n, "what");
	add_member(&why, line, n, "why");
	add_member(&fix, line, n, "fix");
	if (what.len == 0 || fix.len == 0)
		return fail(err, -EIO, "sbx-audit could not read it completely",
			    "'sbx-audit query' and 'sbx-audit verify' show the reason");
	(void)fail(err, -EIO, NULL, NULL);
	sbx_error_why(err, "sbx-audit: %s%s%s", text_string(&what), why.len > 0 ? ": " : "",
		      text_string(&why));
	sbx_error_fix(err, "%s", text_string(&fix));
	return -EIO;
}

static void pass_on(int messages_fd)
{
	char bytes[MESSAGES_MAX];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(messages_fd, bytes, sizeof(bytes), at)) > 0 &&
	       fd_write_all(STDERR_FILENO, bytes, (size_t)n) >= 0)
		at += n;
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
	if (!WIFEXITED(status) || WEXITSTATUS(status) > FOUND_NOTHING)
		return explain_reader(log->messages_fd, err);
	pass_on(log->messages_fd);
	return 0;
}

void decision_log_end(struct decision_log *log)
{
	(void)decision_log_close(log, NULL);
	close_fd(&log->messages_fd);
}
