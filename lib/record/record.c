/* SPDX-License-Identifier: MIT */

/*
 * Writing audit records to the service or to the spool
 *
 * A full disk or a crash can cut a record; then the next one begins with a newline, so that it is
 * not joined with the torn one.
 */

#include "record/record.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/state.h"
#include "record/spool.h"

#define SYSTEM_RUNTIME "/run"
#define SERVICE_SOCKET "/sbx/audit.sock"
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define SEND_WAIT_USEC 250000
/* For one record, of which the service gives one answer at most: more of them do not keep us. */
#define ANSWERS_MAX 128

static void read_boot_id(char ret[BOOT_ID_SIZE])
{
	_cleanup_close_ int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : fd_read_full(fd, ret, BOOT_ID_SIZE - 1);

	ret[n > 0 ? n : 0] = '\0';
}

/* Takes @fd; the paths of service and spool stay set. */
static void change_fd(struct recorder *recorder, int fd)
{
	struct stat st;

	close_fd(&recorder->fd);
	recorder->fd = fd;
	recorder->is_torn = 0;
	(void)fd_set_cloexec(fd);
	recorder->fd_is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

void recorder_use_fd(struct recorder *recorder, int fd)
{
	recorder_deinit(recorder);
	change_fd(recorder, fd);
	read_boot_id(recorder->boot_id);
}

void recorder_deinit(struct recorder *recorder)
{
	close_fd(&recorder->fd);
	free(recorder->state_directory);
	free(recorder->service);
	*recorder = (struct recorder)RECORDER_INIT;
}

/* ---- the service ---- */

/* The fd, or -ENOENT. Never blocks: a service with a full queue counts as not running. */
static int connect_service(const char *path)
{
	int fd = fd_connect(path, SOCK_NONBLOCK);

	return fd < 0 ? -ENOENT : fd;
}

static int64_t now_sec(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

static int ask_service(struct recorder *recorder)
{
	recorder->asked_sec = now_sec();
	return connect_service(recorder->service);
}

/* If the service runs, the spool is not opened, but its path is kept. */
static int open_either(struct recorder *recorder, struct sbx_error *err)
{
	int fd = ask_service(recorder);

	recorder->is_with_service = fd >= 0;
	if (fd < 0 && recorder->is_fallback)
		fd = spool_open_fallback(recorder->state_directory, err);
	else if (fd < 0)
		fd = spool_open(recorder->state_directory, err);
	if (fd < 0)
		return fd;
	change_fd(recorder, fd);
	return 0;
}

int recorder_open_spool(struct recorder *recorder, char *const *environment, struct sbx_error *err)
{
	const char *runtime =
		geteuid() == 0 ? NULL : environment_find_directory(environment, "XDG_RUNTIME_DIR");
	_cleanup_text_ struct text directory = TEXT_INIT, service = TEXT_INIT;
	int place = state_find(&directory, environment, geteuid()), r;

	text_addf(&service, "%s" SERVICE_SOCKET, runtime ? runtime : SYSTEM_RUNTIME);
	recorder_deinit(recorder);
	recorder->state_directory = text_take(&directory);
	recorder->service = text_take(&service);
	recorder->is_fallback = place == STATE_FALLBACK;
	if (place < 0 || !recorder->state_directory || !recorder->service) {
		recorder_deinit(recorder);
		return spool_fail(err, -ENOMEM, "sbx", NULL, "free some memory");
	}
	r = open_either(recorder, err);
	if (r < 0)
		recorder_deinit(recorder);
	else
		read_boot_id(recorder->boot_id);
	return r;
}

int recorder_open(struct recorder *recorder, int fd, char *const *environment,
		  struct sbx_error *err)
{
	if (fd < 0)
		return recorder_open_spool(recorder, environment, err);
	/* The tool prints its error on stderr after the recorder is closed. */
	if (fd <= STDERR_FILENO) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (fd < 0)
			return sbx_error_what(err, -errno, "cannot write audit records");
	}
	recorder_use_fd(recorder, fd);
	return 0;
}

/* Connects to a new instance of the service at the same path, or else opens the spool. If both
 * fail, the next record tries again. */
static int leave_service(struct recorder *recorder)
{
	int r = open_either(recorder, NULL);

	recorder->is_with_service |= r < 0;
	return r;
}

/* Only for later records: the service imports the spool itself. */
static void return_to_service(struct recorder *recorder)
{
	int fd;

	if (!recorder->service || recorder->is_with_service || now_sec() == recorder->asked_sec)
		return;
	fd = ask_service(recorder);
	if (fd < 0)
		return;
	change_fd(recorder, fd);
	recorder->is_with_service = 1;
}

/* Reads and discards the service's answers, which would fill the socket. False if the service has
 * closed the connection. */
static bool hear_service(const struct recorder *recorder)
{
	char answer[4096];
	ssize_t n = 1;

	for (int i = 0; i < ANSWERS_MAX && n > 0; i++)
		do
			n = recv(recorder->fd, answer, sizeof(answer), MSG_DONTWAIT);
		while (n < 0 && errno == EINTR);
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void add_time(struct json_writer *json)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	moment_add(&text, moment_now(CLOCK_REALTIME));
	json_member_string(json, "time", text_string(&text));
}

void record_begin(const struct recorder *recorder, struct text *out, struct json_writer *json,
		  const char *event, const char *tool)
{
	json_begin_object(json, out);
	json_member_u64(json, "version", 1);
	add_time(json);
	json_member_string(json, "boot", recorder->boot_id);
	json_member_u64(json, "boot_usec", moment_now(CLOCK_BOOTTIME));
	json_member_string(json, "event", event);
	json_member_string(json, "tool", tool);
	json_member_i64(json, "pid", getpid());
}

void record_add_members(struct text *record, struct json_writer *json, const char *object,
			size_t n_bytes)
{
	size_t end = n_bytes;

	while (end > 0 && object[end - 1] != '}')
		end--;
	if (end < 3 || object[0] != '{')
		return;
	if (json->needs_comma)
		text_add_char(record, ',');
	text_add_bytes(record, object + 1, end - 2);
	json->needs_comma = true;
}

/* --audit-fd may be a pipe without a reader: SIGPIPE would kill the tool before it has reported the
 * error and cleaned up. The kernel sends it to the thread that writes. */
static ssize_t write_without_signal(int fd, const struct text *out)
{
	static const struct timespec now = { .tv_sec = 0 };
	sigset_t pipe, before;
	ssize_t n;

	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &pipe, &before);
	n = write(fd, out->data, out->len);
	n = n < 0 ? -errno : n;
	if (n == -EPIPE && !sigismember(&before, SIGPIPE))
		(void)sigtimedwait(&pipe, NULL, &now);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

/* After a torn record a newline is prepended, in the same write() as the record. */
static int append(struct recorder *recorder, const struct text *record)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	const struct text *out = record;
	ssize_t n;

	if (recorder->is_torn) {
		text_add_char(&line, '\n');
		text_add_bytes(&line, record->data, record->len);
		if (text_status(&line) < 0)
			return -ENOMEM;
		out = &line;
	}
	(void)flock(recorder->fd, LOCK_SH);
	do
		n = write_without_signal(recorder->fd, out);
	while (n == -EINTR);
	(void)flock(recorder->fd, LOCK_UN);
	if (n < 0)
		return (int)n;
	recorder->is_torn = (size_t)n < out->len;
	return recorder->is_torn ? -ENOSPC : 0;
}

/* A signal of the program that uses libsbx interrupts poll(), but does not end the wait. */
static int send_packet(const struct recorder *recorder, const struct text *record)
{
	struct pollfd wait = { .fd = recorder->fd, .events = POLLOUT };
	uint64_t now_usec, end_usec = 0;

	for (;;) {
		if (send(recorder->fd, record->data, record->len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EAGAIN)
			return -errno;
		now_usec = moment_now(CLOCK_MONOTONIC);
		if (end_usec == 0)
			end_usec = now_usec + SEND_WAIT_USEC;
		if (now_usec >= end_usec)
			return -EAGAIN;
		(void)poll(&wait, 1, (int)((end_usec - now_usec + 999) / 1000));
	}
}

/* 1 if the service has closed the connection, and the fd is now the spool's. */
static int send_to_service(struct recorder *recorder, const struct text *record)
{
	int r = hear_service(recorder) ? send_packet(recorder, record) : -EPIPE;

	if (r != -EPIPE && r != -ECONNRESET && r != -ENOTCONN)
		return r;
	r = leave_service(recorder);
	return r < 0 ? r : recorder->is_with_service ? send_packet(recorder, record) : 1;
}

/* A packet is the record itself, a line of a file ends with a newline. */
static int write_record(struct recorder *recorder, struct text *record)
{
	int r = text_status(record);

	if (r < 0)
		return r;
	if (recorder->fd < 0)
		return -EBADF;
	if (record->len >= RECORD_BYTES_MAX)
		return -EMSGSIZE;
	return_to_service(recorder);
	if (recorder->is_with_service) {
		r = send_to_service(recorder, record);
		if (r <= 0)
			return r;
	}
	if (recorder->fd_is_socket)
		return send_packet(recorder, record);
	text_add_char(record, '\n');
	r = text_status(record);
	return r < 0 ? r : append(recorder, record);
}

/* Why a record cannot be written, where the text of errno is not enough, and what to do. */
static const struct {
	int code; /* 0: any other */
	const char *why;
	const char *fix;
} failures[] = {
	{ -EFBIG, "File too large: the caller's limit of file sizes is reached",
	  "raise it with ulimit -f; sbx-spawn --file-size limits only the command" },
	{ -EPIPE, NULL, "keep the reader of --audit-fd running, or restart sbx-audit" },
	{ -ENOSPC, NULL, "free space on the file system of the records" },
	{ -EDQUOT, NULL, "free space on the file system of the records" },
	{ 0, NULL, "check --audit-fd or the place of the records, or restart sbx-audit" },
};

int record_send(struct recorder *recorder, struct text *record, struct json_writer *json,
		struct sbx_error *err)
{
	size_t i = 0;
	int r;

	json_end_object(json);
	r = write_record(recorder, record);
	if (r == 0)
		return 0;
	while (failures[i].code != 0 && failures[i].code != r)
		i++;
	return error_fill(err, r, failures[i].why, failures[i].fix,
			  "cannot write the audit record");
}
