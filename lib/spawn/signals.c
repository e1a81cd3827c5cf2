/* SPDX-License-Identifier: MIT */

/* The signals that the supervisor forwards, in one table */

#include "spawn/signals.h"

#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/moment.h"

static const struct {
	int signal;
	enum signal_use use;
} rows[] = {
	{ SIGINT, SIGNAL_FORWARDED },
	{ SIGTERM, SIGNAL_FORWARDED },
	{ SIGHUP, SIGNAL_FORWARDED },
	{ SIGQUIT, SIGNAL_FORWARDED },
	{ SIGUSR1, SIGNAL_FORWARDED },
	{ SIGUSR2, SIGNAL_FORWARDED },
	{ SIGWINCH, SIGNAL_FORWARDED },
	{ SIGCONT, SIGNAL_FORWARDED },
	{ SIGTSTP, SIGNAL_STOPS },
	/* Blocked, so that a relay gets EPIPE from write(). */
	{ SIGPIPE, SIGNAL_DROPPED },
	/* Blocked, so that a background process can restore the terminal's modes. */
	{ SIGTTOU, SIGNAL_DROPPED },
	/* Blocked, so that read() in the background fails with EIO: it neither stops the supervisor
	 * nor takes input. */
	{ SIGTTIN, SIGNAL_DROPPED },
	/* Ignored by default, so it does no harm to a supervisor of another version. */
	{ SIGURG, SIGNAL_PAUSED },
};

enum signal_use signal_use(int signal)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].signal == signal)
			return rows[i].use;
	return SIGNAL_UNUSED;
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_begin(struct signals *signals)
{
	const int of_pid_1[] = { SIGNAL_END_ALL, SIGNAL_STOP_ALL, SIGNAL_CONT_ALL };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].use == SIGNAL_PAUSED || !is_ignored(rows[i].signal))
			(void)sigaddset(&set, rows[i].signal);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0) {
		signals->fd = -EBADF;
		return -errno;
	}
	/* PID 1 inherits this mask. The kernel drops a signal that PID 1 neither blocks nor
	 * handles, and these can be sent before PID 1 has run for the first time. */
	for (size_t i = 0; i < N_ELEMENTS(of_pid_1); i++)
		(void)sigaddset(&set, of_pid_1[i]);
	if (sigprocmask(SIG_BLOCK, &set, &signals->before) < 0)
		return -errno;
	signals->is_begun = true;
	return 0;
}

int signals_next(const struct signals *signals)
{
	struct signalfd_siginfo info;
	ssize_t n = read(signals->fd, &info, sizeof(info));

	return n == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

/* Discards pending signals that must not reach the caller: SIGPIPE would kill it. */
static void drop_pending(void)
{
	static const struct timespec now = { .tv_sec = 0 };
	sigset_t dropped;

	(void)sigemptyset(&dropped);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].use == SIGNAL_DROPPED || rows[i].use == SIGNAL_PAUSED)
			(void)sigaddset(&dropped, rows[i].signal);
	while (sigtimedwait(&dropped, NULL, &now) > 0)
		;
}

void signals_end(struct signals *signals)
{
	if (signals->is_begun) {
		drop_pending();
		(void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
	}
	close_fd(&signals->fd);
	*signals = (struct signals)SIGNALS_INIT;
}

void signals_stop_ourselves(bool whole_job)
{
	static const struct timespec now = { .tv_sec = 0 };
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	struct sigaction before;
	sigset_t stop, mask;

	if (is_ignored(SIGTSTP))
		return;
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)sigaction(SIGTSTP, &plain, &before);
	(void)kill(whole_job ? 0 : getpid(), SIGTSTP);
	/* The process stops here. SIGSTOP would also stop it in an orphaned process group, where no
	 * shell continues it. */
	(void)sigprocmask(SIG_UNBLOCK, &stop, &mask);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(SIGTSTP, &before, NULL);
	/* Take the SIGCONT that continued the process: the caller passes it on itself, and a second
	 * one would undo the next stop. */
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGCONT);
	(void)sigtimedwait(&stop, NULL, &now);
}

int signals_block_all(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	return sigprocmask(SIG_SETMASK, &all, NULL) < 0 ? -errno : 0;
}

void signals_unblock_all(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int signals_wait(bool may_wait, siginfo_t *ret)
{
	static const struct timespec now = { .tv_sec = 0 };
	sigset_t all;
	int signal;

	(void)sigfillset(&all);
	do
		signal = may_wait ? sigwaitinfo(&all, ret) : sigtimedwait(&all, ret, &now);
	while (signal < 0 && errno == EINTR);
	return signal < 0 ? 0 : signal;
}

int signals_wait_for(uint64_t usec, siginfo_t *ret)
{
	const struct timespec left = moment_timespec(usec);
	sigset_t all;
	int signal;

	(void)sigfillset(&all);
	signal = sigtimedwait(&all, ret, &left);
	return signal < 0 ? 0 : signal;
}
