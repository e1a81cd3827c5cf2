/* SPDX-License-Identifier: MIT */

/*
 * The agent: as the sandbox's user, without any right, in its user and network namespaces and in no
 * other one of it, so that nothing inside can see it
 */

#include "spawn/agent.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "spawn/child.h"
#include "spawn/signals.h"

/* A socket that cannot be made is an answer, too: one byte less. */
enum answer {
	ANSWER_SOCKET = 'y',
	ANSWER_NONE = 'n',
};

static void serve(int socket_to_us)
{
	char byte;

	/* It has nobody to reap. */
	signals_unblock_all();

	while (read(socket_to_us, &byte, sizeof(byte)) == sizeof(byte)) {
		_cleanup_close_ int fd =
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		byte = fd < 0 ? ANSWER_NONE : ANSWER_SOCKET;
		if (fd_send(socket_to_us, &byte, sizeof(byte), &fd, fd < 0 ? 0 : 1) < 0)
			break;
	}
	child_leave(0);
}

static int become_nobody(const struct place *place)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (setresgid(place->gid, place->gid, place->gid) < 0 ||
	    setresuid(place->uid, place->uid, place->uid) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, none) < 0)
		return -errno;
	return 0;
}

int agent_start(struct joined *agent, const struct place *place)
{
	int r = join_fork(agent, place->fds, place->n);

	if (r != 0)
		return r < 0 ? r : 0;
	/* Only what sockets need: the others would show it to the sandbox. */
	r = place_enter(place, CLONE_NEWUSER | CLONE_NEWNET);
	if (r == 0)
		r = become_nobody(place);
	if (r == 0)
		r = join_die_with_supervisor(agent->socket);
	if (r < 0)
		child_fail();
	serve(agent->socket);
	child_fail();
}

int agent_make_socket(const struct joined *agent)
{
	char byte = 0;
	size_t n_fds = 0;
	int fd = -EBADF;
	int r = fd_send(agent->socket, &byte, sizeof(byte), NULL, 0);
	ssize_t n;

	if (r < 0)
		return r;
	n = fd_receive(agent->socket, &byte, sizeof(byte), &fd, 1, &n_fds);
	if (n < 0)
		return (int)n;
	return n == 1 && byte == ANSWER_SOCKET && n_fds == 1 ? fd : -EPIPE;
}
