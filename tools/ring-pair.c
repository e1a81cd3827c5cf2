/* SPDX-License-Identifier: MIT */

/*
 * sbx-ring pair: two commands with one end of a socket each
 *
 * The tool makes no channel: the commands do, over the socket whose number is in SBX_RING_FD. It
 * waits for both, and its status is that of the second command, as if that had been started alone.
 */

#include "ring.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

#include "base/fd.h"

#define SHELL "/bin/sh"

static const int passed_signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };

struct pair {
	struct tool_run *run;
	int sockets[2];
	int number; /* that the commands get their end under */
	sigset_t waited;
	sigset_t inherited;
	pid_t pids[2]; /* of --with and of the command; 0: has ended */
	int statuses[2];
};

enum { WITH, COMMAND };

static noreturn void become(const struct pair *pair, int which, char *const argv[])
{
	if (process_give(pair->sockets[which], pair->number, RING_FD_VARIABLE) < 0)
		_exit(TOOL_FAILED);
	(void)signal(SIGXFSZ, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &pair->inherited, NULL);
	process_exec(pair->run, argv);
}

static int start(struct pair *pair, int which, char *const argv[], struct sbx_error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return sbx_error_what(err, -errno, "cannot start '%s'", argv[0]);
	if (pid == 0)
		become(pair, which, argv);
	pair->pids[which] = pid;
	return 0;
}

static void pair_deinit(struct pair *pair)
{
	fd_close_many(pair->sockets, N_ELEMENTS(pair->sockets));
	(void)sigprocmask(SIG_SETMASK, &pair->inherited, NULL);
}

static void block_signals(struct pair *pair)
{
	(void)sigemptyset(&pair->waited);
	(void)sigaddset(&pair->waited, SIGCHLD);
	for (size_t i = 0; i < N_ELEMENTS(passed_signals); i++)
		(void)sigaddset(&pair->waited, passed_signals[i]);
	(void)sigprocmask(SIG_BLOCK, &pair->waited, &pair->inherited);
}

static void pass_signal(const struct pair *pair, const siginfo_t *info)
{
	/* A terminal has sent it to the whole group. */
	if (info->si_code == SI_KERNEL)
		return;
	for (int which = WITH; which <= COMMAND; which++)
		if (pair->pids[which] > 0)
			(void)kill(pair->pids[which], info->si_signo);
}

static void reap(struct pair *pair)
{
	for (int which = WITH; which <= COMMAND; which++) {
		int status;

		if (pair->pids[which] == 0 ||
		    waitpid(pair->pids[which], &status, WNOHANG) != pair->pids[which])
			continue;
		pair->pids[which] = 0;
		pair->statuses[which] = process_status(status);
	}
}

static int start_both(struct pair *pair, char *with[], char *command[], struct sbx_error *err)
{
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->sockets) < 0)
		return sbx_error_what(err, -errno, "cannot make the socket of the channel");
	r = start(pair, WITH, with, err);
	return r != 0 ? r : start(pair, COMMAND, command, err);
}

static void warn_of_server(const struct pair *pair)
{
	struct sbx_error warning = { .code = 0 };

	if (pair->statuses[WITH] == 0)
		return;
	(void)error_fill(&warning, -EIO, NULL, "see its own messages",
			 "the command of --with has ended with status %d", pair->statuses[WITH]);
	warning.level = SBX_LEVEL_WARN;
	sbx_error_why(&warning, "it may not have read all messages");
	tool_tell(pair->run, &warning);
}

int ring_verb_pair(void *context, int n_operands, char *operands[], struct sbx_error *err)
{
	struct tool_run *run = context;
	const struct ring_values *values = run->values;
	_cleanup_(pair_deinit) struct pair pair = { .run = run, .sockets = { -EBADF, -EBADF } };
	char *shell[] = { (char *)SHELL, (char *)"-c", (char *)values->with, NULL };
	siginfo_t info;
	int r;

	if (!values->with || values->with[0] == '\0')
		return ring_refuse(err, "no --with given", "a pair is two commands",
				   "write --with='sbx-ring recv --create' for the server's side");
	operands[n_operands] = NULL;
	block_signals(&pair);
	pair.number = process_free_number(PROCESS_FIRST_FD);
	r = start_both(&pair, shell, operands, err);
	/* The tool must not keep an end: the HUP of the other is how a command notices that one has
	 * ended. */
	fd_close_many(pair.sockets, N_ELEMENTS(pair.sockets));
	for (reap(&pair); pair.pids[WITH] > 0 || pair.pids[COMMAND] > 0; reap(&pair))
		if (sigwaitinfo(&pair.waited, &info) > 0 && info.si_signo != SIGCHLD)
			pass_signal(&pair, &info);
	if (r < 0)
		return r;
	warn_of_server(&pair);
	return pair.statuses[COMMAND];
}
