/* SPDX-License-Identifier: MIT */

/* sbx-proxy status: the workers of the service and what they have counted */

#include "proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/table.h"

#include "tool.h"

#define ANSWER_BYTES_MAX 65536
/* For all answers, and for the connection. */
#define ANSWER_WAIT_SEC 30
#define ANSWERS_MAX 65536
#define SYSTEM_SOCKET "/run/sbx/proxy.sock"
#define NO_VALUE "-"

/* ---- the socket ---- */

/* A user's own service, if its socket is there, else the system's. */
static int find_socket(const struct proxy_values *values, struct text *ret)
{
	if (values->socket) {
		text_add(ret, values->socket);
		return text_status(ret);
	}
	if (geteuid() != 0 && service_add_path(ret, "proxy", NULL) == 0 &&
	    access(text_string(ret), F_OK) == 0)
		return 0;
	text_reset(ret);
	text_add(ret, SYSTEM_SOCKET);
	return text_status(ret);
}

static int fail_to_connect(struct sbx_error *err, int code, const char *path)
{
	(void)sbx_error_what(err, code, "cannot ask the service at '%s'", path);
	sbx_error_why(err, "%s",
		      code == -ENOENT || code == -ECONNREFUSED ? "it does not run"
							       : strerror(-code));
	if (code == -EACCES || code == -EPERM)
		sbx_error_fix(err, "ask as its user or as root; the system's service answers "
				   "members of the group sbx");
	else
		sbx_error_fix(err,
			      "systemctl start sbx-proxy.socket, or name its socket with --socket");
	return code;
}

/* connect() waits while the queue of the service is full. */
static int connect_in_time(int fd, const struct sockaddr_un *address)
{
	static const struct timeval wait = { .tv_sec = ANSWER_WAIT_SEC };

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
			       connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0
		       ? -errno
		       : 0;
}

static int ask(const char *path, int *ret_fd, struct sbx_error *err)
{
	static const char question[] = "{\"type\":\"STATUS\"}";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return fail_to_connect(err, -errno, path);
	if (strlen(path) >= sizeof(address.sun_path))
		return fail_to_connect(err, -ENAMETOOLONG, path);
	memcpy(address.sun_path, path, strlen(path));
	r = connect_in_time(fd, &address);
	if (r < 0)
		return fail_to_connect(err, r, path);
	if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) < 0)
		return fail_to_connect(err, -errno, path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* @end_usec is of CLOCK_MONOTONIC. */
static ssize_t hear(int fd, char *bytes, size_t n_bytes, uint64_t end_usec)
{
	uint64_t now_usec = moment_now(CLOCK_MONOTONIC);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (now_usec >= end_usec || poll(&wait, 1, (int)((end_usec - now_usec) / 1000)) != 1)
		return -ETIMEDOUT;
	n = recv(fd, bytes, n_bytes, 0);
	return n < 0 ? -errno : n == 0 ? -ECONNRESET : n;
}

/* ---- answers ---- */

enum column {
	COLUMN_SANDBOX,
	COLUMN_PID,
	COLUMN_UID,
	COLUMN_OPEN,
	COLUMN_REQUESTS,
	COLUMN_DENIED,
	COLUMN_UP,
	COLUMN_DOWN,
	N_COLUMNS,
};

static const struct {
	const char *title;
	const char *member;
	bool is_counter;
} columns[N_COLUMNS] = {
	[COLUMN_SANDBOX] = { "SANDBOX", "sandbox_id", false },
	[COLUMN_PID] = { "PID", "pid", false },
	[COLUMN_UID] = { "UID", "uid", false },
	[COLUMN_OPEN] = { "OPEN", "open", true },
	[COLUMN_REQUESTS] = { "REQUESTS", "requests", true },
	[COLUMN_DENIED] = { "DENIED", "denied", true },
	[COLUMN_UP] = { "UP", "bytes_up", true },
	[COLUMN_DOWN] = { "DOWN", "bytes_down", true },
};

#define CELL_SIZE 160

struct row {
	char cells[N_COLUMNS][CELL_SIZE];
};

static void take_cell(struct row *row, enum column column, const struct json_item *value)
{
	_cleanup_text_ struct text decoded = TEXT_INIT, shown = TEXT_INIT;

	if (value->kind == JSON_STRING) {
		(void)json_decode(value, &decoded);
		text_add_visible(&shown, text_string(&decoded), decoded.len);
	} else {
		text_add_bytes(&shown, value->bytes, value->n_bytes);
	}
	(void)snprintf(row->cells[column], CELL_SIZE, "%s", text_string(&shown));
}

/* The members of the innermost object. */
static int read_members(struct json_scanner *scanner, bool are_counters, struct row *row)
{
	struct json_item name, value;
	int r;

	while ((r = json_next_member(scanner, &name, &value)) == 1) {
		for (int i = 0; i < N_COLUMNS; i++)
			if (columns[i].is_counter == are_counters &&
			    json_equals(&name, columns[i].member))
				take_cell(row, (enum column)i, &value);
		if (!are_counters && json_equals(&name, "counters") &&
		    value.kind == JSON_OBJECT_BEGIN)
			r = read_members(scanner, true, row);
		else
			r = json_skip(scanner, &value);
		if (r < 0)
			return r;
	}
	return r;
}

/* 1: a worker; 0: the last answer; negative: neither */
static int read_answer(const char *bytes, size_t n_bytes, struct row *ret)
{
	struct json_scanner scanner;
	struct json_item name, value;

	for (int i = 0; i < N_COLUMNS; i++)
		(void)snprintf(ret->cells[i], CELL_SIZE, "%s", NO_VALUE);
	/* With --json the bytes are printed as they are. */
	if (json_validate(bytes, n_bytes, NULL, NULL) < 0)
		return -EBADMSG;
	json_scan(&scanner, bytes, n_bytes);
	if (json_next(&scanner, &name) != 1 || name.kind != JSON_OBJECT_BEGIN ||
	    json_next_member(&scanner, &name, &value) != 1)
		return -EBADMSG;
	if (json_equals(&name, "ok"))
		return value.kind == JSON_TRUE ? 0 : -EBADMSG;
	if (!json_equals(&name, "worker") || value.kind != JSON_OBJECT_BEGIN)
		return -EBADMSG;
	return read_members(&scanner, false, ret) < 0 ? -EBADMSG : 1;
}

static int read_answers(struct tool_run *run, int fd, struct table *table, struct sbx_error *err)
{
	uint64_t end_usec = moment_now(CLOCK_MONOTONIC) + ANSWER_WAIT_SEC * UINT64_C(1000000);
	_cleanup_free_ char *bytes = malloc(ANSWER_BYTES_MAX);
	struct row row;
	int kind, n_answers = 0;

	if (!bytes)
		return sbx_error_what(err, -ENOMEM, "cannot read the answer");
	do {
		ssize_t n = hear(fd, bytes, ANSWER_BYTES_MAX, end_usec);

		kind = n < 0			    ? (int)n
		       : n_answers++ >= ANSWERS_MAX ? -E2BIG
						    : read_answer(bytes, (size_t)n, &row);
		if (kind < 0)
			return error_fill(err, kind, NULL,
					  "see its messages: journalctl -u sbx-proxy",
					  "the service gave no complete answer");
		if (run->json) {
			text_add_bytes(&run->out, bytes, (size_t)n);
			text_add_char(&run->out, '\n');
		}
		for (int i = 0; kind == 1 && i < N_COLUMNS; i++)
			table_add(table, row.cells[i]);
	} while (kind == 1);
	return 0;
}

int proxy_verb_status(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	static const char *const used[] = { NULL };
	struct tool_run *run = context;
	_cleanup_table_ struct table table = { .n_columns = N_COLUMNS,
					       .numbers = ((1u << N_COLUMNS) - 1) & ~1u };
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_close_ int fd = -EBADF;
	int r = proxy_refuse_unused(run->values, used, "sbx-proxy status", err);

	if (r < 0)
		return TOOL_USAGE;
	if (find_socket(run->values, &path) < 0)
		return sbx_error_what(err, -ENOMEM, "cannot ask the service");
	r = ask(text_string(&path), &fd, err);
	if (r < 0)
		return r;
	for (int i = 0; i < N_COLUMNS; i++)
		table_add(&table, columns[i].title);
	r = read_answers(run, fd, &table, err);
	if (r == 0 && !run->json && run->verbosity >= 0)
		table_print(&table, &run->out);
	return r;
}
