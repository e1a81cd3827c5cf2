/* SPDX-License-Identifier: MIT */

/*
 * The filter of the strict profile returns SECCOMP_RET_USER_NOTIF for execve(). The supervisor lets
 * exactly one succeed: that of sbx's own code in the process that becomes the command, before
 * untrusted code runs.
 *
 * That process has the only writing end of a close-on-exec pipe. While the pipe is open, the
 * process still runs sbx's code, which searches PATH and may try several files. The kernel closes
 * it before the first instruction of the command; from then on the supervisor closes the listener
 * and every further execve() fails with ENOSYS. SECCOMP_USER_NOTIF_FLAG_CONTINUE, which is unsafe
 * if another thread can change the arguments, is only sent to this single-threaded code.
 */

#include "spawn/notify.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A newer kernel may use larger structs: both buffers have room for the sizes that it reports. */
#define ROOM 512

union request {
	struct seccomp_notif notif;
	char room[ROOM];
};

union answer {
	struct seccomp_notif_resp resp;
	char room[ROOM];
};

static int has_room(void)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -errno;
	return sizes.seccomp_notif <= ROOM && sizes.seccomp_notif_resp <= ROOM ? 0 : -E2BIG;
}

static bool has_begun(const struct notifier *notifier)
{
	struct pollfd watch = { .fd = notifier->watch.fd, .events = POLLIN };

	return poll(&watch, 1, 0) != 0;
}

static bool is_ours(const struct notifier *notifier, const struct seccomp_notif *notif)
{
	return (notif->data.nr == SYS_execve || notif->data.nr == SYS_execveat) &&
	       (notifier->pid == 0 || notifier->pid == (pid_t)notif->pid);
}

/* Any unexpected event closes the listener, so execve() and the start fail. */
static int answer(struct source *source, short events)
{
	struct notifier *notifier = source->userdata;
	union request request = { .room = { 0 } };
	union answer answer = { .room = { 0 } };

	/* Its process has ended, and the ioctl() would block. */
	if (!(events & POLLIN)) {
		notifier_deinit(notifier);
		return 0;
	}
	if (ioctl(source->fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
		/* The process was killed meanwhile. */
		if (errno != ENOENT && errno != EINTR)
			notifier_deinit(notifier);
		return 0;
	}
	/* Compare after receiving: the notification is of the process that has this pid now. */
	if (has_begun(notifier) || !is_ours(notifier, &request.notif)) {
		notifier_deinit(notifier);
		return 0;
	}
	notifier->pid = (pid_t)request.notif.pid;
	answer.resp.id = request.notif.id;
	answer.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(source->fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT)
		notifier_deinit(notifier);
	return 0;
}

static int begun(struct source *source, short events)
{
	notifier_deinit(source->userdata);
	return 0;
}

static int watch_both(struct notifier *notifier)
{
	struct source *listener = &notifier->listener, *watch = &notifier->watch;
	int r = has_room();

	if (r < 0)
		return r;
	r = loop_watch(notifier->loop, listener, listener->fd, POLLIN, answer, notifier);
	if (r < 0)
		return r;
	return loop_watch(notifier->loop, watch, watch->fd, POLLIN, begun, notifier);
}

int notifier_begin(struct notifier *notifier, struct loop *loop, int listener, int watch)
{
	int r;

	notifier->loop = loop;
	notifier->listener.fd = listener;
	notifier->watch.fd = watch;
	r = watch_both(notifier);
	if (r < 0)
		notifier_deinit(notifier);
	return r;
}

void notifier_deinit(struct notifier *notifier)
{
	if (notifier->loop) {
		loop_remove(notifier->loop, &notifier->listener);
		loop_remove(notifier->loop, &notifier->watch);
	}
	close_fd(&notifier->listener.fd);
	close_fd(&notifier->watch.fd);
	*notifier = (struct notifier)NOTIFIER_INIT;
}
