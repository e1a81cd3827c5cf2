/* SPDX-License-Identifier: MIT */

/*
 * The bytes are a packet from PID 1 of a sandbox; the first one says how many fds came with it. An
 * accepted message must be one that the supervisor can handle. A failed check is an abort.
 */

#include "spawn/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_taken(const struct message *message, size_t n_fds, enum message_side side)
{
	bool is_from_supervisor = message->kind == MESSAGE_PLACED || message->kind == MESSAGE_GO;

	check(message->kind > 0 && message->kind < N_MESSAGE_KINDS);
	check(is_from_supervisor == (side == FROM_SUPERVISOR));
	check(n_fds <= MESSAGE_FDS_MAX);
	if (message->kind == MESSAGE_FAILED)
		check(message->doing < N_DOINGS && message->code < 0 && message->code > -4096);
	if (message->kind == MESSAGE_FAILED && message->doing == DOING_EXEC)
		check(message->execution.fault < N_EXEC_FAULTS &&
		      memchr(message->execution.interpreter, '\0', INTERPRETER_MAX));
	if (message->kind == MESSAGE_RESULT) {
		check(WIFEXITED(message->status) || WIFSIGNALED(message->status));
		check(message->usage.ru_utime.tv_sec >= 0 && message->usage.ru_maxrss >= 0);
	}
	if (message->kind == MESSAGE_TERMINAL)
		check(n_fds == 1);
	if (message->kind == MESSAGE_NOTIFIER || message->kind == MESSAGE_TREE)
		check(n_fds == 2);
}

static void parse(const uint8_t *bytes, size_t n_bytes, size_t n_fds, enum message_side side)
{
	struct message message, before;
	int r;

	memset(&message, 0x5a, sizeof(message));
	before = message;
	r = message_parse(bytes, n_bytes, n_fds, side, &message);
	check(r == 0 || r == -EBADMSG);
	if (r == 0) {
		check(n_bytes == sizeof(message) &&
		      memcmp((const char *)&message, bytes, n_bytes) == 0);
		check_taken(&message, n_fds, side);
	} else {
		check(memcmp((const char *)&message, (const char *)&before, sizeof(message)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	size_t n_fds;

	if (n_bytes == 0)
		return 0;
	n_fds = bytes[0];
	parse(bytes + 1, n_bytes - 1, n_fds, FROM_INSIDE);
	parse(bytes + 1, n_bytes - 1, n_fds, FROM_SUPERVISOR);
	return 0;
}
