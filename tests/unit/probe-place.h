/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A directory in /tmp for tests that probe the file system; created before the tests, removed after
 */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel-rig.h"

static char place[] = "/tmp/sbx-test-probe-XXXXXX";

/* The path of @name in it, valid for four more calls. */
static inline const char *in_place(const char *name)
{
	static char paths[4][256];
	static unsigned turn;
	char *path = paths[turn++ % N_ELEMENTS(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", place, name);
	return path;
}

/* Creates the directory and its parents. */
static inline void make_directory(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/", in_place(name));
	for (char *at = path + strlen(place) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			abort();
		*at = '/';
	}
}

/* '@' in @text stands for the path of the directory. */
static inline void make_file(const char *name, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(in_place(name), "we");

	if (!file)
		abort();
	for (; *text; text++)
		if ((*text == '@' ? fputs(place, file) : fputc(*text, file)) < 0)
			abort();
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

/* @make creates the files that the tests need; may be NULL. */
static inline int run_in_place(const struct test *tests, void (*make)(void))
{
	int r;

	if (!mkdtemp(place) || chmod(place, 0755) < 0)
		abort();
	if (make)
		make();
	r = test_run(tests);
	(void)nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return r;
}
