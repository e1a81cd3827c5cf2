/* SPDX-License-Identifier: MIT */
/*
 * A multithreaded program outside of the project that uses libsbx.so: it sends records, and starts
 * sandboxes while other threads hold the heap's locks
 *
 *   client record EVENT MEMBERS
 *   client spawn PROGRAM N COMMAND...	N sandboxes; the last status
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sbx/record.h>
#include <sbx/spawn.h>

static atomic_int is_over;

static void *hold_locks(void *unused)
{
	while (!is_over) {
		void *volatile bytes = malloc(4096);

		free(bytes);
		(void)fputs("", stdout);
	}
	return unused;
}

static int fail(const struct sbx_error *err)
{
	fprintf(stderr, "%s: %s\n", err->what, err->why);
	return 99;
}

static int record(const char *event, const char *members)
{
	struct sbx_error err = { 0 };
	struct sbx_recorder *recorder;
	int r;

	if (sbx_recorder_open(&recorder, &err) < 0)
		return fail(&err);
	r = sbx_record(recorder, event, "client", members, &err);
	sbx_recorder_close(recorder);
	return r < 0 ? fail(&err) : 0;
}

static int spawn(const char *program, int n, const char *const *command)
{
	struct sbx_spawn_config config;
	struct sbx_error err = { 0 };
	int status = 0;
	pid_t pid;

	memset(&config, 0, sizeof(config));
	config.size = sizeof(config);
	config.program = program;
	config.command = command;
	for (int i = 0; i < n; i++)
		if (sbx_spawn(&config, &pid, &err) < 0 || sbx_spawn_wait(pid, &status, &err) < 0)
			return fail(&err);
	return status;
}

int main(int argc, char *argv[])
{
	pthread_t threads[4];
	int status = 98;

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		if (pthread_create(&threads[i], NULL, hold_locks, NULL) != 0)
			return 97;
	if (argc == 4 && strcmp(argv[1], "record") == 0)
		status = record(argv[2], argv[3]);
	else if (argc > 4 && strcmp(argv[1], "spawn") == 0)
		status = spawn(argv[2], atoi(argv[3]), (const char *const *)argv + 4);
	is_over = 1;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		(void)pthread_join(threads[i], NULL);
	return status;
}
