/* SPDX-License-Identifier: MIT */

/*
 * Error messages for the failures that processes inside report as numbers
 */

#include "spawn/explain.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "plan/plan.h"
#include "spawn/foresee.h"
#include "spawn/spawn.h"

static const char *const doings[N_DOINGS] = {
	[DOING_STEP] = "cannot build the sandbox",
	[DOING_EXEC] = "cannot execute the command",
	[DOING_START] = "cannot create a process in the sandbox",
	[DOING_FDS] = "cannot give the command its file descriptors",
	[DOING_CLOSE] = "cannot close the supervisor's file descriptors in the sandbox",
	[DOING_SPEAK] = "lost the connection to the sandbox",
	[DOING_INIT_FILTER] = "cannot confine PID 1 of the sandbox",
	[DOING_JOIN] = "cannot enter the sandbox",
};

/* Explanations for errnos of execve(); the first matching row applies. "%s" is the interpreter or
 * loader that the file names. */
static const struct {
	enum exec_fault fault;
	int code; /* 0: any */
	const char *why;
	const char *fix;
} executions[] = {
	{ EXEC_FAULT_DIRECTORY, 0, "it is a directory", "name a program in it" },
	{ EXEC_FAULT_MODE, 0, "the file has no execute permission",
	  "chmod +x it, or name its interpreter: 'sh FILE'" },
	{ EXEC_FAULT_INTERPRETER, 0, "it needs %s, which does not exist in the sandbox",
	  "install that, or show it with --read" },
	{ EXEC_FAULT_NONE, -ENOENT, "there is no such program in the sandbox",
	  "check the name; --read PATH shows more, and 'sbx-spawn --print-plan' says what is "
	  "shown" },
	{ EXEC_FAULT_NONE, -ENOTDIR, "a component of its path is not a directory",
	  "check the path" },
	{ EXEC_FAULT_NONE, -EACCES,
	  "the sandbox does not let it be executed, or not its interpreter or loader",
	  "allow both with --exec PATH or by rules with 'syscall: [exec, fs.read]'; 'sbx-spawn "
	  "--print-plan' says what can be executed" },
	{ EXEC_FAULT_NONE, -ENOEXEC,
	  "it is neither a program for this machine nor a script that begins with '#!'",
	  "name its interpreter: 'sh FILE'" },
	{ EXEC_FAULT_NONE, -E2BIG, "its arguments and environment are too long", "shorten them" },
	{ EXEC_FAULT_NONE, -ENOMEM, "the sandbox has not enough memory for it",
	  "raise limits.memory or --memory" },
	{ EXEC_FAULT_NONE, -EAGAIN, "the sandbox may have no more processes",
	  "raise limits.pids or --pids" },
	{ EXEC_FAULT_NONE, -EPERM, "the kernel refuses it inside the sandbox",
	  "'sbx-spawn --print-plan -v' shows the filter and the rules" },
};

/* The same for others. */
static const struct {
	enum doing doing;
	int code;
	const char *why;
	const char *fix;
} others[] = {
	{ DOING_START, -EAGAIN, "the sandbox or the calling user may have no more processes",
	  "raise limits.pids or --pids, or the caller's limit (ulimit -u)" },
	{ DOING_FDS, -EISDIR,
	  "its stdin, stdout or stderr is a directory, through which it could reach files outside the sandbox",
	  "redirect it to a file, a pipe or /dev/null; use --read or --write for a directory" },
	{ DOING_FDS, -ESOCKTNOSUPPORT,
	  "it would inherit an unconnected or datagram Unix socket, and in the reduced tier could reach any socket of its user through it",
	  "give it a pipe or a connected stream socket" },
	{ DOING_FDS, -EBADF, "one of the descriptors to be inherited is not open",
	  "open it, as in '--pass-fd 5 5<file', or leave it out" },
};

static void explain_why(const char *why, const char *interpreter, struct sbx_error *err)
{
	const char *place = strstr(why, "%s"), *quote = interpreter[0] ? "'" : "";

	if (place)
		sbx_error_why(err, "%.*s%s%s%s%s", (int)(place - why), why, quote,
			      interpreter[0] ? interpreter : "an interpreter or loader", quote,
			      place + 2);
	else
		sbx_error_why(err, "%s", why);
}

/* "#!/bin/sh" with a CR LF line end: the kernel takes the carriage return as part of the name. */
static bool explain_line_end(const char *command, const char *interpreter, struct sbx_error *err)
{
	size_t n = strlen(interpreter);

	if (n < 2 || interpreter[n - 1] != '\r')
		return false;
	sbx_error_why(err,
		      "its lines end with a carriage return (CRLF), so its interpreter would be "
		      "'%s'",
		      interpreter);
	error_fix_word(err, "convert it: sed -i 's/\\r$//' ", command, "");
	return true;
}

/* The mask that hides the path, whose links may have to be resolved first. */
static const struct step *find_mask(const struct plan *plan, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	const struct step *carrier = real ? plan_find_carrier(plan, real) : NULL;

	return carrier && carrier->kind == STEP_MASK ? carrier : NULL;
}

/* /lib64/ld-linux.so may be reached through a link in /lib: a rule that shows only one of them is
 * not enough, and the real path, which may be visible, is not the one that the file names. */
static bool explain_hidden(const struct plan *plan, const char *interpreter, struct sbx_error *err)
{
	_cleanup_text_ struct text reads = TEXT_INIT;
	const struct step *mask;
	char hidden[PATH_MAX];

	if (!interpreter[0] || !foresee_find_hidden(plan, interpreter, hidden))
		return false;
	if (strcmp(hidden, interpreter) == 0)
		sbx_error_why(err, "it needs '%s', which the sandbox does not show", interpreter);
	else
		sbx_error_why(err,
			      "it needs '%s', whose path leads through '%.300s', which the "
			      "sandbox does not show",
			      interpreter, hidden);
	mask = find_mask(plan, hidden);
	if (mask && mask->origin.text) {
		sbx_error_fix(err, "leave out what denies it: %s", mask->origin.text);
		return true;
	}
	foresee_add_hidden(plan, NULL, interpreter, &reads);
	sbx_error_fix(err, "show what it needs:%s, or add that to the paths of a rule",
		      text_string(&reads));
	return true;
}

/*
 * A command that exists outside and not inside
 *
 * It is looked up as the caller's shell would, in the command's PATH, and only after execve()
 * failed, so a start that succeeds does not pay for it.
 */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_joined(char ret[static PATH_MAX], const char *directory, size_t n, const char *name)
{
	int len = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, directory, name);

	return len > 0 && len < PATH_MAX && is_program(ret);
}

static bool find_outside(const struct plan *plan, const char *name, char ret[static PATH_MAX])
{
	const char *at = kernel_search_path(plan->environment);

	if (name[0] == '/')
		return is_joined(ret, "", 0, name + 1);
	if (strchr(name, '/')) {
		at = plan_working_directory(plan);
		return is_joined(ret, at, strlen(at), name);
	}
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (at[0] == '/' && is_joined(ret, at, n, name))
			return true;
	}
	return false;
}

/* Only a bind mount shows programs of the host. */
static bool is_shown(const struct plan *plan, const char *path)
{
	const struct step *carrier = plan_find_carrier(plan, path);

	return carrier && (carrier->kind == STEP_BIND || carrier->kind == STEP_OVERLAY);
}

/* A program may need files beside it, so the fix names its directory, except for /home and a home
 * itself. */
static bool is_wide(const struct plan *plan, const char *path, size_t n)
{
	const char *home = environment_find_directory(plan->environment, "HOME");
	_cleanup_free_ char *real = home ? realpath(home, NULL) : NULL;

	return !memchr(path + 1, '/', n - 1) ||
	       (real && strlen(real) == n && memcmp(real, path, n) == 0);
}

/* True with why and fix if @command, whose execution failed with @code, exists outside at a path
 * that the plan does not show. */
static bool explain_absent(const struct plan *plan, const char *command, int code,
			   struct sbx_error *err)
{
	_cleanup_text_ struct text reads = TEXT_INIT, word = TEXT_INIT;
	_cleanup_free_ char *real = NULL;
	char path[PATH_MAX], *slash;
	bool is_file;

	if ((code != -ENOENT && code != -EACCES) || plan->tier != TIER_FULL ||
	    !find_outside(plan, command, path))
		return false;
	real = realpath(path, NULL);
	slash = real ? strrchr(real, '/') : NULL;
	if (!slash || slash == real || is_shown(plan, real))
		return false;
	/* The path that was typed may have ".." without leading through a link. */
	if (strcmp(path, real) == 0 || path_has_no_links(path))
		sbx_error_why(err, "outside it is '%.300s', which the sandbox does not show", real);
	else
		sbx_error_why(err,
			      "outside it is '%.300s', a link to '%.300s', which the sandbox does "
			      "not show",
			      path, real);
	is_file = is_wide(plan, real, (size_t)(slash - real));
	if (!is_file)
		*slash = '\0';
	foresee_add_hidden(plan, real, path, &reads);
	text_add_word_string(&word, real);
	sbx_error_fix(err, "show the %s%s: --read %s%s",
		      is_file ? "file" : "directory of the program",
		      reads.len > 0 ? " and what executes it" : "", text_string(&word),
		      text_string(&reads));
	return true;
}

/* The mask of a file that a rule denies is an empty file without permissions. */
static bool explain_masked(const struct plan *plan, const char *path, struct sbx_error *err)
{
	const struct step *mask = find_mask(plan, path);

	if (!mask || !mask->origin.text)
		return false;
	sbx_error_why(err, "%s hides '%.300s'", mask->origin.text, path);
	sbx_error_fix(err, "leave out what denies reading it, or name another program");
	return true;
}

/* The kernel reads a program that it executes. */
static bool explain_unread(const struct plan *plan, const char *path, struct sbx_error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	if (!real || !is_shown(plan, real) || plan_permits_read(plan, real))
		return false;
	sbx_error_why(err,
		      "'%.300s' may not be read in the sandbox, and the kernel reads a program "
		      "that it executes",
		      real);
	error_fix_word(err, "allow both by a rule with 'syscall: [exec, fs.read]', or add --exec ",
		       real, "; a rule that denies one takes precedence");
	return true;
}

/* The kernel says the same whether the file or what executes it is denied. */
static bool explain_denied_interpreter(const struct plan *plan, const char *path,
				       struct sbx_error *err)
{
	char interpreter[INTERPRETER_MAX];
	const struct step *mask;

	if (!foresee_find_denied(plan, path, interpreter))
		return false;
	mask = find_mask(plan, interpreter);
	if (mask && mask->origin.text) {
		sbx_error_why(err, "it needs '%s', which %s hides", interpreter, mask->origin.text);
		sbx_error_fix(err, "leave out what denies reading that, or name another program");
		return true;
	}
	sbx_error_why(err, "it needs '%s', which may not be executed in the sandbox", interpreter);
	error_fix_word(err, "allow that by an exec rule, or add --exec ", interpreter,
		       "; a rule that denies it takes precedence");
	return true;
}

static bool explain_denied(const struct plan *plan, const char *command, int code,
			   struct sbx_error *err)
{
	char path[PATH_MAX];

	return code == -EACCES && plan->tier == TIER_FULL && find_outside(plan, command, path) &&
	       (explain_masked(plan, path, err) || explain_unread(plan, path, err) ||
		explain_denied_interpreter(plan, path, err));
}

static void explain_exec(const struct plan *plan, const char *command,
			 const struct message *message, struct sbx_error *err)
{
	const struct exec_failure *execution = &message->execution;

	(void)sbx_error_what(err, message->code, "cannot execute '%s'", command);
	if (explain_denied(plan, command, message->code, err))
		return;
	if (execution->fault == EXEC_FAULT_NONE &&
	    explain_absent(plan, command, message->code, err))
		return;
	if (execution->fault == EXEC_FAULT_INTERPRETER &&
	    (explain_line_end(command, execution->interpreter, err) ||
	     explain_hidden(plan, execution->interpreter, err)))
		return;
	for (size_t i = 0; i < N_ELEMENTS(executions); i++) {
		if (executions[i].fault != execution->fault ||
		    (executions[i].code && executions[i].code != message->code))
			continue;
		explain_why(executions[i].why, execution->interpreter, err);
		sbx_error_fix(err, "%s", executions[i].fix);
		return;
	}
}

/* The step number comes from inside: check it before use. */
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
		explain_exec(plan, command, message, err);
	else
		(void)sbx_error_what(err, message->code, "%s", doings[message->doing]);
	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (message->doing == others[i].doing && message->code == others[i].code)
			error_explain(err, others[i].why, others[i].fix);
	return message->code;
}

int explain_status(const struct message *message)
{
	if (message->doing != DOING_EXEC)
		return SPAWN_FAILED;
	return message->code == -ENOENT ? SPAWN_NOT_FOUND : SPAWN_CANNOT_EXECUTE;
}
