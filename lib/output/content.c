/* SPDX-License-Identifier: MIT */

/*
 * The command can create a file of any size with one system call: 64 GiB of holes. So holes are
 * never read. libarchive expects as many bytes as the file has, but does not access those of a
 * hole: they are passed from a mapping of which no page is touched. The deadline is checked between
 * two blocks.
 */

#include "output/content.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "output/output.h"

#include "base/moment.h"

#define BLOCK_BYTES 65536
#define ZEROS_BYTES (INT64_C(1) << 30)

int content_init(struct content *content)
{
	void *zeros = mmap(NULL, ZEROS_BYTES, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (zeros == MAP_FAILED)
		return -ENOMEM;
	content->zeros = zeros;
	return 0;
}

void content_deinit(struct content *content)
{
	(void)munmap((void *)(uintptr_t)content->zeros, ZEROS_BYTES);
}

static int fail(struct content *content, int code, const char *why)
{
	content->why = why;
	return code;
}

static int fail_in_archive(struct content *content)
{
	const char *why = archive_error_string(content->archive);

	return fail(content, -EIO, why ? why : "cannot be written");
}

int content_check_clock(struct content *content)
{
	const struct output_options *options = content->options;

	if (options->advanced)
		options->advanced(options->userdata, content->n_names);
	if (options->deadline_usec == OUTPUT_NO_DEADLINE)
		return 0;
	if (moment_now(CLOCK_MONOTONIC) < options->deadline_usec)
		return 0;
	return fail(content, -ETIME, "the time limit was reached while it was being archived");
}

/* The next data range from @at on (SEEK_DATA, SEEK_HOLE); a file system without support for holes
 * reports the whole file as data. */
static int find_next(struct content *content, int fd, off_t at, off_t size, off_t *ret_from,
		     off_t *ret_to)
{
	off_t from = lseek(fd, at, SEEK_DATA), to = size;

	if (from < 0 && errno != ENXIO)
		return fail(content, -errno, "cannot be read");
	if (from < 0 || from > size)
		from = size;
	if (from < size)
		to = lseek(fd, from, SEEK_HOLE);
	if (to < 0)
		return fail(content, -errno, "cannot be read");
	*ret_from = from;
	*ret_to = to < size ? to : size;
	return 0;
}

int content_find(struct content *content, struct archive_entry *entry, int fd, off_t size)
{
	off_t from = 0, to = 0;

	while (to < size) {
		int r = content_check_clock(content);

		if (r < 0)
			return r;
		r = find_next(content, fd, to, size, &from, &to);
		if (r < 0)
			return r;
		archive_entry_sparse_add_entry(entry, from, to - from);
	}
	return 0;
}

static int write_hole(struct content *content, off_t size)
{
	while (size > 0) {
		size_t n = (size_t)(size < ZEROS_BYTES ? size : ZEROS_BYTES);
		int r = content_check_clock(content);

		if (r < 0)
			return r;
		if (archive_write_data(content->archive, content->zeros, n) != (ssize_t)n)
			return fail_in_archive(content);
		size -= (off_t)n;
	}
	return 0;
}

static int write_bytes(struct content *content, int fd, off_t from, off_t to)
{
	char block[BLOCK_BYTES];

	while (from < to) {
		size_t wanted = to - from < BLOCK_BYTES ? (size_t)(to - from) : BLOCK_BYTES;
		ssize_t n;
		int r = content_check_clock(content);

		if (r < 0)
			return r;
		n = pread(fd, block, wanted, from);
		if (n <= 0)
			return fail(content, -EIO, "cannot be read completely");
		if (archive_write_data(content->archive, block, (size_t)n) != n)
			return fail_in_archive(content);
		from += n;
	}
	return 0;
}

int content_write(struct content *content, int fd, off_t size)
{
	off_t at = 0;

	while (at < size) {
		off_t from = at, to = size;
		int r = find_next(content, fd, at, size, &from, &to);

		if (r < 0)
			return r;
		r = write_hole(content, from - at);
		if (r < 0)
			return r;
		r = write_bytes(content, fd, from, to);
		if (r < 0)
			return r;
		at = to;
	}
	return 0;
}
