/* SPDX-License-Identifier: MIT */
#ifndef SBX_SPAWN_H
#define SBX_SPAWN_H

/*
 * Run a command in a sandbox from a program of your own
 *
 * sbx_spawn() executes the program sbx-spawn as a child of the caller, with posix_spawn(3): between
 * clone and execve no code of the caller or of this library runs in the child, so it may be called
 * from any thread of a program with threads. The sandbox is built by sbx-spawn, and so ends as
 * sbx-spawn(1) says.
 *
 *	static const char *const command[] = { "python3", "script.py", NULL };
 *	static const char *const options[] = { "--time", "30s", NULL };
 *	struct sbx_spawn_config config;
 *
 *	memset(&config, 0, sizeof(config));
 *	config.size = sizeof(config);
 *	config.policy = "policy.yaml";
 *	config.options = options;
 *	config.command = command;
 *	if (sbx_spawn(&config, &pid, &err) == 0 && sbx_spawn_wait(pid, &status, &err) == 0)
 *		...
 */

#include <stddef.h>
#include <sys/types.h>

#include <sbx/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open file for sbx-spawn: fd @fd of the caller becomes fd @as. 0, 1 and 2 are the command's
 * stdin, stdout and stderr; others are for options such as --pass-fd and --report-fd. */
struct sbx_spawn_fd {
	int fd;
	int as;
};

/* Set all bytes to 0 and @size to its size: NULL or 0 means the default. New members are added at
 * the end. */
struct sbx_spawn_config {
	size_t size;	     /* sizeof(struct sbx_spawn_config) when the caller was compiled */
	const char *program; /* path of sbx-spawn; NULL: its installed path */
	const char *policy;  /* path of a policy file, or NULL */
	const char *const *options;	/* further options of sbx-spawn(1), ended by NULL */
	const char *const *command;	/* the command and its arguments, ended by NULL */
	char *const *environment;	/* of sbx-spawn; NULL: the caller's */
	const struct sbx_spawn_fd *fds; /* fds to pass; of 0, 1 and 2 those that are */
	size_t n_fds;			/* not listed are inherited */
};

/*
 * Starts sbx-spawn. *@ret_pid is a child of the caller. The caller must wait for it with
 * sbx_spawn_wait() or waitpid(2); a waitpid(-1) elsewhere in the program would reap it. SIGTERM to
 * it ends the sandbox. Negative errno: nothing was started. -EINVAL: the configuration is wrong.
 */
SBX_API int sbx_spawn(const struct sbx_spawn_config *config, pid_t *ret_pid, struct sbx_error *err);
/* Waits until sbx-spawn exits. *@ret_status is its exit status (sbx-spawn(1)), or 128+N if signal N
 * ended sbx-spawn itself. */
SBX_API int sbx_spawn_wait(pid_t pid, int *ret_status, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
