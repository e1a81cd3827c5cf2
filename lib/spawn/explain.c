/* SPDX-License-Identifier: MIT */

/*
 * Failures inside are numbers; here, where the plan is, they become words
 */

#include "spawn/explain.h"

#include <errno.h>
#include <sys/wait.h>

#include <sbx/error.h>

#include "kernel/kernel.h"
#include "spawn/spawn.h"

#define SIGNAL_BASE 128

static const char *const doings[N_DOINGS] = {
	[DOING_STEP] = "cannot build the sandbox",
	[DOING_EXEC] = "cannot execute the command",
	[DOING_START] = "cannot make a process of the sandbox",
	[DOING_FDS] = "cannot give the command its file descriptors",
	[DOING_CLOSE] = "cannot close our file descriptors in the sandbox",
	[DOING_SPEAK] = "lost the connection to the sandbox",
	[DOING_REAPER] = "cannot confine PID 1 of the sandbox",
	[DOING_JOIN] = "cannot enter the sandbox",
};

/* What execve() says, for a command that is looked for inside. */
static const struct {
	int code;
	const char *why;
	const char *fix;
} executions[] = {
	{ -ENOENT, "it is not there inside the sandbox, or the interpreter that it names is not",
	  "check the name; 'sbx-spawn --print-plan' shows what is visible, --exec PATH adds to it" },
	{ -EACCES,
	  "it may not be executed inside the sandbox, or what starts it may not: the interpreter in "
	  "its first line, the program loader that it names",
	  "allow both in the policy's exec rules or with --exec PATH ('sbx-spawn --print-plan' shows "
	  "what may be executed); check that its mode has x" },
	{ -ENOEXEC, "it is neither a program of this machine nor a script that begins with '#!'",
	  "name its interpreter: 'sh FILE'" },
	{ -E2BIG, "its arguments and environment are too long", "shorten them" },
	{ -ENOMEM, "the sandbox has not enough memory for it", "raise limits.memory or --memory" },
	{ -EAGAIN, "the sandbox may have no more processes", "raise limits.pids or --pids" },
	{ -EPERM, "the kernel refuses it inside the sandbox",
	  "'sbx-spawn --print-plan' shows why" },
};

static void explain_exec(const char *command, int code, struct sbx_error *err)
{
	(void)sbx_error_what(err, code, "cannot execute '%s'", command);
	for (size_t i = 0; i < N_ELEMENTS(executions); i++) {
		if (executions[i].code != code)
			continue;
		sbx_error_why(err, "%s", executions[i].why);
		sbx_error_fix(err, "%s", executions[i].fix);
	}
}

/* A step number from inside is looked at before it is used. */
static bool names_step(const struct plan *plan, const struct message *message)
{
	return message->doing == DOING_STEP &&
	       (message->step < plan->n_steps || message->step == KERNEL_NO_STEP);
}

int explain_failure(const struct plan *plan, const char *command, const struct message *message,
		    struct sbx_error *err)
{
	const struct kernel_failure failure = { .step = message->step, .code = message->code };

	if (names_step(plan, message))
		kernel_explain(plan, &failure, err);
	else if (message->doing == DOING_EXEC)
		explain_exec(command, message->code, err);
	else
		(void)sbx_error_what(err, message->code, "%s", doings[message->doing]);
	if (message->doing == DOING_FDS && message->code == -EISDIR) {
		sbx_error_why(err, "its standard input, output or error is a folder, from which "
				   "everything outside can be reached");
		sbx_error_fix(err, "give it a file, a pipe or /dev/null; a folder is shown by "
				   "--read or --write");
	}
	if (message->doing == DOING_FDS && message->code == -ESOCKTNOSUPPORT) {
		sbx_error_why(err,
			      "it would inherit a Unix socket that is not connected, or one for "
			      "datagrams, and in the tier reduced could reach any socket of "
			      "its user through it");
		sbx_error_fix(err, "give it a pipe, or a socket of a connected stream");
	}
	if (message->doing == DOING_FDS && message->code == -EBADF) {
		sbx_error_why(err, "one of those that it shall inherit is not open");
		sbx_error_fix(err, "open it, as in '--pass-fd 5 5<file', or leave it out");
	}
	return message->code;
}

int explain_status(const struct message *message)
{
	if (message->doing != DOING_EXEC)
		return SPAWN_FAILED;
	return message->code == -ENOENT ? SPAWN_NOT_FOUND : SPAWN_CANNOT_EXECUTE;
}

int explain_wait_status(int status)
{
	return WIFSIGNALED(status) ? SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status);
}
