/* SPDX-License-Identifier: MIT */

/*
 * A directory for a log, and records for it
 *
 * In memory, because a disk would hide the cost of our own work; one benchmark measures commits to
 * the disk.
 */

#include "bench-audit-place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define FIRST_SECOND 1767312000u /* 2026, 12:00 UTC */
#define LINES_A_SECOND 1000u

static void add_time(struct text *out, uint64_t i)
{
	uint64_t second = i / LINES_A_SECOND % 60, minute = i / LINES_A_SECOND / 60 % 60;

	text_addf(out, "\"time\":\"2026-01-02T03:%02u:%02u.%06uZ\"", (unsigned)minute,
		  (unsigned)second, (unsigned)(i % LINES_A_SECOND * 1000 + i % 997));
}

static void add_decision(struct text *out, uint64_t i)
{
	text_add(out, "{\"version\":1,");
	add_time(out, i);
	text_addf(
		out,
		",\"boot\":\"4f9c5f0a-2f0e-4bd1-9e3b-7c1f6a0d5e21\",\"boot_usec\":%" PRIu64 ","
		"\"event\":\"policy_decision\",\"tool\":\"sbx-policy\",\"pid\":4711,"
		"\"peer\":{\"pid\":%u,\"uid\":1000,\"sandbox_id\":\"box-%u\"},"
		"\"verdict\":\"%s\",\"cause\":\"rule\",\"rules\":[{\"name\":\"module-%u\","
		"\"source\":\"team.yaml\",\"line\":%u,\"action\":\"allow\"}],"
		"\"input\":{\"op\":\"fs.read\",\"path\":\"/srv/project/src/module-%u/part.c\","
		"\"project\":\"/srv/project\",\"caller\":\"agent-%u\"},"
		"\"policy\":\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}",
		UINT64_C(5000000000) + i * 1013, (unsigned)(20000 + i % 500), (unsigned)(i % 40),
		i % 10 == 0 ? "deny" : "allow", (unsigned)(i % 24), (unsigned)(3 + i % 24 * 4),
		(unsigned)(i % 24), (unsigned)(i % 7));
}

static void add_result(struct text *out, uint64_t i)
{
	text_add(out, "{\"version\":1,");
	add_time(out, i);
	text_addf(out,
		  ",\"boot\":\"4f9c5f0a-2f0e-4bd1-9e3b-7c1f6a0d5e21\",\"event\":\"tool_result\","
		  "\"tool\":\"sbx-spawn\",\"pid\":%u,\"sandbox_id\":\"box-%u\",\"status\":0,"
		  "\"output_summary\":\"compiled module-%u, 14 tests ran, none failed\"}",
		  (unsigned)(20000 + i % 500), (unsigned)(i % 40), (unsigned)(i % 24));
}

void bench_audit_add_line(struct text *out, uint64_t i)
{
	if (i % 3 == 2)
		add_result(out, i);
	else
		add_decision(out, i);
}

size_t bench_audit_make_lines(struct arena *arena, struct bench_line ret[BENCH_LINES])
{
	_cleanup_text_ struct text line = TEXT_INIT;
	size_t n_bytes = 0;

	for (size_t i = 0; i < BENCH_LINES; i++) {
		text_reset(&line);
		bench_audit_add_line(&line, i);
		ret[i].bytes = arena_copy(arena, text_string(&line), line.len);
		ret[i].n_bytes = line.len;
		if (!ret[i].bytes || line.len == 0)
			return 0;
		n_bytes += line.len;
	}
	return n_bytes;
}

/* ---- directories ---- */

int bench_place_make(struct bench_place *place, const char *parent, struct sbx_error *err)
{
	if (!parent)
		parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(place->path, sizeof(place->path), "%s/sbx-bench-XXXXXX", parent);
	if (!mkdtemp(place->path)) {
		int r = sbx_error_what(err, -errno, "cannot make '%s'", place->path);

		place->path[0] = '\0';
		return r;
	}
	(void)snprintf(place->log, sizeof(place->log), "%s/log", place->path);
	place->options = (struct audit_log_options){ .directory = place->log };
	return 0;
}

void bench_place_remove(struct bench_place *place)
{
	char command[80];

	if (!place->path[0])
		return;
	(void)snprintf(command, sizeof(command), "rm -rf -- '%s'", place->path);
	if (system(command) != 0) /* NOLINT(cert-env33-c): the directory is our own */
		(void)fprintf(stderr, "# left behind: %s\n", place->path);
	place->path[0] = '\0';
}

static int copy_file(int from, int to, const char *name)
{
	_cleanup_close_ int source = openat(from, name, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int target =
		openat(to, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat st;

	if (source < 0 || target < 0 || fstat(source, &st) < 0)
		return -errno;
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(target, source, NULL, (size_t)left);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		left -= n;
	}
	return 0;
}

/* Calls @visit for each file in the directory. */
static int each_file(const char *path, int (*visit)(int from, int to, const char *name), int to)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = visit(dirfd(dir), to, entry->d_name);
	return r;
}

static int remove_file(int from, int to, const char *name)
{
	return unlinkat(from, name, 0) < 0 ? -errno : 0;
}

int bench_copy_files(const char *from, const char *to)
{
	_cleanup_close_ int target = -EBADF;
	int r;

	if (mkdir(to, 0700) < 0 && errno != EEXIST)
		return -errno;
	r = each_file(to, remove_file, -EBADF);
	target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r < 0 || target < 0)
		return r < 0 ? r : -errno;
	return each_file(from, copy_file, target);
}
