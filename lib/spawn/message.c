/* SPDX-License-Identifier: MIT */

/*
 * The messages of a sandbox: one table has the sender of each kind and its number of fds
 */

#include "spawn/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/moment.h"

#define ERRNO_MAX 4095

static const struct {
	enum message_side side;
	size_t min_fds;
	size_t max_fds;
} kinds[N_MESSAGE_KINDS] = {
	[MESSAGE_PLACED] = { FROM_SUPERVISOR, 0, 0 },
	[MESSAGE_GO] = { FROM_SUPERVISOR, 0, 0 },
	[MESSAGE_FAILED] = { FROM_INSIDE, 0, 0 },
	[MESSAGE_NAMESPACES] = { FROM_INSIDE, 1, MESSAGE_FDS_MAX },
	[MESSAGE_LISTENERS] = { FROM_INSIDE, 1, MESSAGE_FDS_MAX },
	[MESSAGE_TERMINAL] = { FROM_INSIDE, 1, 1 },
	[MESSAGE_NOTIFIER] = { FROM_INSIDE, 2, 2 },
	[MESSAGE_EXECUTED] = { FROM_INSIDE, 0, 0 },
	[MESSAGE_STOPPED] = { FROM_INSIDE, 0, 0 },
	[MESSAGE_READS] = { FROM_INSIDE, 0, 0 },
	[MESSAGE_RESULT] = { FROM_INSIDE, 0, 0 },
	[MESSAGE_TREE] = { FROM_INSIDE, 2, 2 },
};

static bool is_time(const struct timeval *time)
{
	return time->tv_sec >= 0 && time->tv_usec >= 0 && time->tv_usec < (suseconds_t)USEC_PER_SEC;
}

/* Only members that are printed or compared; the rest of struct rusage is passed on unchecked. */
static bool is_usage(const struct rusage *usage)
{
	return is_time(&usage->ru_utime) && is_time(&usage->ru_stime) && usage->ru_maxrss >= 0;
}

static bool is_execution(const struct exec_failure *execution)
{
	return (unsigned)execution->fault < N_EXEC_FAULTS &&
	       memchr(execution->interpreter, '\0', sizeof(execution->interpreter));
}

static bool has_meaning(const struct message *message)
{
	if (message->kind == MESSAGE_FAILED)
		return message->doing < N_DOINGS && message->code < 0 &&
		       message->code >= -ERRNO_MAX &&
		       (message->doing != DOING_EXEC || is_execution(&message->execution));
	if (message->kind == MESSAGE_RESULT)
		return (WIFEXITED(message->status) || WIFSIGNALED(message->status)) &&
		       is_usage(&message->usage);
	return true;
}

int message_parse(const void *bytes, size_t n_bytes, size_t n_fds, enum message_side side,
		  struct message *ret)
{
	struct message message;

	if (n_bytes != sizeof(message))
		return -EBADMSG;
	memcpy(&message, bytes, sizeof(message));
	/* Kind 0 has a row of zeroes, so check for it explicitly. */
	if (message.kind == 0 || message.kind >= N_MESSAGE_KINDS ||
	    kinds[message.kind].side != side || n_fds < kinds[message.kind].min_fds ||
	    n_fds > kinds[message.kind].max_fds || !has_meaning(&message))
		return -EBADMSG;
	*ret = message;
	return 0;
}

int message_send(int socket, const struct message *message, const int *fds, size_t n_fds)
{
	return fd_send(socket, message, sizeof(*message), fds, n_fds);
}

int message_send_kind(int socket, enum message_kind kind, const int *fds, size_t n_fds)
{
	const struct message message = { .kind = kind };

	return message_send(socket, &message, fds, n_fds);
}

int message_receive(int socket, enum message_side side, struct message *ret, int *fds,
		    size_t *ret_n_fds)
{
	char bytes[sizeof(struct message)];
	size_t n_fds = 0;
	ssize_t n;
	int r;

	/* The other end was closed with unread data: the kernel reports ECONNRESET once, before the
	 * messages that it sent. */
	do
		n = fd_receive(socket, bytes, sizeof(bytes), fds, MESSAGE_FDS_MAX, &n_fds);
	while (n == -ECONNRESET);
	if (n == 0)
		return 0;
	if (n < 0)
		return n == -EMSGSIZE ? -EBADMSG : (int)n;
	r = message_parse(bytes, (size_t)n, n_fds, side, ret);
	if (r < 0) {
		fd_close_many(fds, n_fds);
		return r;
	}
	*ret_n_fds = n_fds;
	return 1;
}
